"""What is said in the studio about surveys of interviews."""

import asyncio
from types import SimpleNamespace

from incrowd.studio import home, interview_design, pages
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


CASES = {
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
