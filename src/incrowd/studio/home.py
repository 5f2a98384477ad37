"""The first page: the surveys of a folder, how far each is, and ways to begin a new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.drafts.examples import EXAMPLES as PACKAGED
from incrowd.drafts.writing import quoted
from incrowd.errors import IncrowdError, Problem, UsageError
from incrowd.files import write_bytes
from incrowd.interviews.devices import DEVICES
from incrowd.studio.document import SurveyDocument
from incrowd.studio.interview_words import DEVICE_NAMES
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.pages import Studio, form_of, language_of, render, route
from incrowd.studio.projects import TYPED, Project, Projects
from incrowd.studio.ready_surveys import EXAMPLES, READY_SURVEYS
from incrowd.studio.stages import STAGES, SurveyStage, interview_stage_of, last_change, stage_of
from incrowd.survey.words import LANGUAGE

EXAMPLE_INTERVIEWS = PACKAGED["interviews"]
FEW = 6  # surveys that are listed without a search


class SurveySummary(NamedTuple):
    """One line of the list of surveys. people: those who are expected to answer; 0 if that is not
    stated. invited: those who are invited, if that is known. interviews: whether they are
    interviewed."""

    name: str
    title: str
    questions: int
    people: int
    stage: SurveyStage
    changed: datetime
    archived: bool = False
    invited: int = 0
    interviews: bool = False


Order = Callable[[SurveySummary], Any]
ORDERS: Mapping[str, tuple[Phrase, Order]] = {
    "changed": (phrase("last change"), lambda each: -each.changed.timestamp()),
    "title": (phrase("name"), lambda each: each.title.casefold()),
    "stage": (phrase("stage"), lambda each: [*STAGES].index(each.stage.name)),
}


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the first page."""
    return [
        route(studio, "/", show, methods=("GET",)),
        route(studio, "/new", create, methods=("POST",)),
        route(studio, "/new-interviews", create_interviews, methods=("POST",)),
        route(studio, "/example-interviews", create_example, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """List the surveys, those that were changed last first."""
    every = await asyncio.to_thread(summaries, studio.projects)
    wanted, order = request.query_params.get("q", ""), request.query_params.get("order", "")
    order = order if order in ORDERS else "changed"
    return render(
        request,
        "home.html",
        every=every,
        surveys=[each for each in chosen(every, wanted, order) if not each.archived],
        archived=[each for each in chosen(every, wanted, order) if each.archived],
        wanted=wanted,
        order=order,
        orders={name: label for name, (label, _) in ORDERS.items()},
        few=FEW,
        stages=STAGES,
        examples=EXAMPLES,
        devices=DEVICE_NAMES,
        ready=READY_SURVEYS,
        folder=studio.projects.folder,
    )


async def create(studio: Studio, request: Request) -> Response:
    """Begin an empty survey."""
    form = await form_of(request)
    title = str(form.get("title", "")).strip()
    project = studio.projects.create(title, empty(title, language_of(request)))
    return RedirectResponse(f"/p/{project.name}/design", 303)


async def create_interviews(studio: Studio, request: Request) -> Response:
    """Begin a survey that is answered in interviews, with a device in the person's hand."""
    form = await form_of(request)
    title, device = str(form.get("title", "")).strip(), str(form.get("device", ""))
    if device not in DEVICES:
        raise UsageError.of("device", "shared.use-one-of", value=device, choices=[*DEVICES])
    text = interviews_begun(title, device, language_of(request))
    project = studio.projects.create(title, text)
    return RedirectResponse(f"/p/{project.name}/interview", 303)


async def create_example(studio: Studio, request: Request) -> Response:
    """Begin with interviews that are done: a survey with invented answers, to look around in."""
    project = await asyncio.to_thread(_example, studio.projects)
    return RedirectResponse(f"/p/{project.name}/report", 303)


def _example(projects: Projects) -> Project:
    survey, answers = EXAMPLE_INTERVIEWS.files
    document = SurveyDocument(survey.read_text("utf-8"))
    with projects.temporary() as folder:
        copy = folder / answers.name
        write_bytes(copy, answers.read_bytes())
        files = {f"{TYPED}{answers.suffix}": copy}
        return projects.create(str(document.content["name"]), document.text, files)


def chosen(every: Sequence[SurveySummary], wanted: str, order: str) -> list[SurveySummary]:
    """Return the surveys whose title or folder contains all words that are wanted, in an order."""
    words = wanted.casefold().split()
    there = [each for each in every if all(word in _searched(each) for word in words)]
    return sorted(there, key=ORDERS[order][1])


def _searched(each: SurveySummary) -> str:
    return f"{each.title} {each.name}".casefold()


def summaries(projects: Projects) -> list[SurveySummary]:
    """Return the lines of all surveys; one that is removed in the meantime has none."""
    lines = []
    for name in projects.names():
        with suppress(FileNotFoundError):
            lines.append(summary(Project(projects.folder / name)))
    return lines


def summary(project: Project) -> SurveySummary:
    """Return the line of a survey."""
    changed, archived = last_change(project), project.is_archived
    if project.has_interviews:
        return _of_interviews(project)._replace(changed=changed, archived=archived)
    try:
        survey = project.survey()
    except IncrowdError as error:
        return _unfinished(project, error.problems[0])._replace(changed=changed, archived=archived)
    stage, asked = stage_of(project, survey), len(survey.questions)
    invited, people = stage.invited, survey.crowd
    if survey.people is not None:
        invited = invited or survey.people.invited
        people = survey.people.answering(invited)
    return SurveySummary(
        project.name, survey.name, asked, people, stage, changed, archived, invited
    )


def _of_interviews(project: Project) -> SurveySummary:
    """Return the line of a survey of interviews."""
    stage, now = interview_stage_of(project), datetime.now(UTC)
    people = questions = 0
    title = project.title
    with suppress(IncrowdError):
        survey = project.interviews()
        people, questions = survey.aim.people or 0, len(survey.items)
    return SurveySummary(project.name, title, questions, people, stage, now, interviews=True)


def _unfinished(project: Project, problem: Problem) -> SurveySummary:
    """Return the line of a survey with errors. A survey without questions is only unfinished."""
    broken, now = SurveyStage("broken", problem=problem), datetime.now(UTC)
    try:
        raw = project.document().content
    except IncrowdError:
        return SurveySummary(project.name, project.name, 0, 0, broken, now)
    title, crowd, asked = project.title, raw.get("crowd"), raw.get("question")
    if asked is None and (isinstance(crowd, int) or isinstance(raw.get("people"), dict)):
        people = crowd if isinstance(crowd, int) else 0
        return SurveySummary(project.name, title, 0, people, SurveyStage("empty"), now)
    number = len(asked) if isinstance(asked, list) else 0
    return SurveySummary(project.name, title, number, 0, broken, now)


def empty(title: str, language: str = LANGUAGE) -> str:
    """Return the text of a survey without questions. language: of the texts that it will have."""
    return f"{_head(title, language)}crowd = 1000\n\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n"


def interviews_begun(title: str, device: str, language: str = LANGUAGE) -> str:
    """Return the text of a survey of interviews without questions."""
    return f"{_head(title, language)}\n[device]\nkind = {quoted(device)}\n"


def _head(title: str, language: str) -> str:
    main = "" if language == LANGUAGE else f"language = {quoted(language)}\n"
    return f"name = {quoted(title)}\n{main}"
