"""The ready surveys of the package in the studio: to look around in, or to begin with."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.drafts.ready_surveys import ready_text
from incrowd.errors import UsageError
from incrowd.studio.document import SurveyDocument, apply
from incrowd.studio.language import Phrase, in_language, phrase
from incrowd.studio.operations import SetValue
from incrowd.studio.pages import Studio, form_of, language_of, route
from incrowd.studio.question_form import text_of


class ReadySurvey(NamedTuple):
    """A survey of the package. name: of its file. about: whom it is for, and what it shows."""

    name: str
    title: Phrase
    about: Phrase

    def document(self) -> SurveyDocument:
        """Return the survey file."""
        return SurveyDocument(ready_text(self.name))


READY_SURVEYS = (
    ReadySurvey(
        "health",
        phrase("Health survey"),
        phrase("Thousands of people: how they are, by age."),
    ),
    ReadySurvey(
        "works-council",
        phrase("Climate at work"),
        phrase("A works council asks everybody in a company."),
    ),
    ReadySurvey(
        "harassment",
        phrase("Harassment at work"),
        phrase("A department of 90 people: even so few can be asked."),
    ),
    ReadySurvey(
        "sensitive-behavior",
        phrase("Rules that people break"),
        phrase("Undeclared work, driving, drugs: what people seldom admit."),
    ),
    ReadySurvey(
        "students",
        phrase("Studying and living"),
        phrase("A faculty asks its students about cheating, money, and giving up."),
    ),
    ReadySurvey(
        "telemetry",
        phrase("How the program is used"),
        phrase("A program reports on its use, without anyone learning what one user does."),
    ),
)
EXAMPLES = READY_SURVEYS[:3]


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the route of new surveys that begin with a ready one."""
    return [route(studio, "/ready", create, methods=("POST",))]


async def create(studio: Studio, request: Request) -> Response:
    """Create a survey from a ready one, in the language of the studio."""
    form = await form_of(request)
    language = language_of(request)
    ready = ready_survey(text_of(form, "survey"))
    title = text_of(form, "title") or in_language(ready.title, language)
    project = studio.projects.create(title, begun(ready, title, language))
    return RedirectResponse(f"/p/{project.name}/design", 303)


def ready_survey(name: str) -> ReadySurvey:
    """Return the ready survey with a name. Raises UsageError for another name."""
    by_name = {each.name: each for each in READY_SURVEYS}
    if name not in by_name:
        raise UsageError.of("survey", "shared.use-one-of", value=name, choices=[*by_name])
    return by_name[name]


def begun(ready: ReadySurvey, title: str, language: str) -> str:
    """Return the text of a survey that begins with a ready one. language: its main one."""
    main = (SetValue(("language",), language),) if language != "en" else ()
    return apply(ready.document(), SetValue(("name",), title), *main).text
