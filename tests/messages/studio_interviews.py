"""What is said in the studio about surveys of interviews."""

import asyncio
from types import SimpleNamespace

from starlette.datastructures import QueryParams

from incrowd.studio import home, interview_design, interview_report, pages
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


CASES = {
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
