"""What is said in the studio about surveys of interviews."""

import asyncio
from types import SimpleNamespace

from starlette.datastructures import FormData, QueryParams

from incrowd.studio import home, interview_design, interview_report, kits, pages
from incrowd.studio.calculations import Cache
from incrowd.studio.interview_calls import analysis_of
from incrowd.studio.projects import Projects
from incrowd.studio.work import Jobs
from tests.messages.studio_design import handled, project, request

NO_QUESTION = 'name = "Groups"\n\n[device]\nkind = "die"\n'


def of_interviews(handler, **form):
    """What the handler of a request says about a survey of interviews."""

    def handling(folder):
        project(folder, NO_QUESTION)
        asyncio.run(handler(pages.Studio(Projects(folder), Jobs()), request(**form)))

    return handling


def collected(folder):
    of = project(folder, NO_QUESTION)
    studio = pages.Studio(Projects(folder), Jobs())
    studio.project(SimpleNamespace(path_params={"name": of.name}))


def reported(handler, **choices):
    """What a file of the report says."""

    def handling(folder):
        project(folder, NO_QUESTION)
        asking = request()
        asking.query_params, asking.cookies = QueryParams(choices), {}
        asyncio.run(handler(Cache(), pages.Studio(Projects(folder), Jobs()), asking))

    return handling


ONE_QUESTION = (
    NO_QUESTION
    + """
[[question]]
id = "armed"
type = "yesno"
design = { kind = "forced", yes = "1/6", no = "1/6" }
"""
)


def kit(**form):
    """What is said of a kit that cannot be made."""

    def handling(folder):
        kits.written(project(folder, ONE_QUESTION), FormData(form))

    return handling


def kit_file(folder_name, file=""):
    """What is said of a file that is not in a kit."""

    def handling(folder):
        of = project(folder, ONE_QUESTION)
        kits.written(of, FormData({"language": "en", "interviews": "2", "interviewers": "1"}))
        asking = request()
        asking.path_params |= {"folder": folder_name, "file": file}
        asyncio.run(kits.download(pages.Studio(Projects(folder), Jobs()), asking))

    return handling


CASES = {
    "a kit in an unknown language": kit(language="tlh"),
    "a kit for no number": kit(language="en", interviews="many"),
    "an unknown kit": kit_file("kit-7"),
    "an unknown file of a kit": kit_file("kit", "dice.html"),
    "an unknown analysis of interviews": lambda _: analysis_of(QueryParams("view=pie")),
    "no number": lambda _: analysis_of(QueryParams("view=estimate&threshold=old")).call,
    "an unknown format of a report": reported(interview_report.download, format="pdf"),
    "a report before a choice": reported(interview_report.download, format="csv"),
    "interviews on a page for collections": collected,
    "a collection on a page for interviews": handled(interview_design.change),
    "an unknown device": handled(home.create_interviews, title="A", device="oracle"),
    "an unknown change of interviews": of_interviews(interview_design.change, do="cook"),
    "another unknown device": of_interviews(interview_design.change, do="survey", device="oracle"),
    "an unknown design": of_interviews(
        interview_design.change, do="add", type="yesno", text="A?", design="magic"
    ),
    "an unknown question of interviews": of_interviews(interview_design.change, do="set", of="a"),
}
