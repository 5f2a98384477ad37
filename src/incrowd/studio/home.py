"""The first page: the surveys of a folder, and ways to begin a new one."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.drafts.writing import quoted
from incrowd.errors import IncrowdError, Problem
from incrowd.studio.pages import Studio, form_of, render, route
from incrowd.studio.projects import Project, Projects


class SurveySummary(NamedTuple):
    """One line of the list of surveys. problem: why the survey cannot be used."""

    name: str
    title: str
    questions: int
    crowd: int
    problem: Problem | None


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the first page."""
    return [
        route(studio, "/", show, methods=("GET",)),
        route(studio, "/new", create, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """List the surveys."""
    surveys = await asyncio.to_thread(summaries, studio.projects)
    return render(request, "home.html", surveys=surveys, folder=studio.projects.folder)


async def create(studio: Studio, request: Request) -> Response:
    """Begin an empty survey."""
    form = await form_of(request)
    title = str(form.get("title", "")).strip()
    project = studio.projects.create(title, empty(title))
    return RedirectResponse(f"/p/{project.name}/design", 303)


def summaries(projects: Projects) -> list[SurveySummary]:
    """Return the lines of all surveys."""
    return [summary(projects.open(name)) for name in projects.names()]


def summary(project: Project) -> SurveySummary:
    """Return the line of a survey."""
    try:
        survey = project.survey()
    except IncrowdError as error:
        return _unfinished(project, error.problems[0])
    return SurveySummary(project.name, survey.name, len(survey.questions), survey.crowd, None)


def _unfinished(project: Project, problem: Problem) -> SurveySummary:
    """Return the line of a survey with errors. A survey without questions is only unfinished."""
    try:
        raw = project.document().content
    except IncrowdError:
        return SurveySummary(project.name, project.name, 0, 0, problem)
    name, crowd = raw.get("name"), raw.get("crowd")
    title = name if isinstance(name, str) and name else project.name
    if "question" not in raw and isinstance(crowd, int):
        return SurveySummary(project.name, title, 0, crowd, None)
    return SurveySummary(project.name, title, 0, 0, problem)


def empty(title: str) -> str:
    """Return the text of a survey without questions."""
    return f"name = {quoted(title)}\ncrowd = 1000\n\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n"
