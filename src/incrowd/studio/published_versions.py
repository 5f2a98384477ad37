"""Versions of a published survey: the survey is locked, and a new version is a project of its own.

People answer the questions of the bundle, whatever becomes of the file, so that edits of the file
would only mislead.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.collection.folders import BUNDLE
from incrowd.errors import IncrowdError, UsageError
from incrowd.studio.evidence import read_bundle
from incrowd.studio.language import in_language, phrase
from incrowd.studio.managing import copied
from incrowd.studio.pages import Studio, language_of, route
from incrowd.studio.projects import FORMER, Project, Projects
from incrowd.studio.publication import FILE, Publication, load_publication
from incrowd.survey import Survey

# What a new version takes from the choices of the old one: keys, addresses and times are new.
TAKEN = ("mixers", "here", "organizations", "language", "introduction")
_NUMBERED = re.compile(r"(?P<name>.*), (?P<word>\w+) (?P<number>[1-9][0-9]{0,3})")
_WORDS = ("Version", "version")


class SurveyVersions(NamedTuple):
    """A survey among its versions.

    locked: whether it is published. changed: whether its file differs from the published survey.
    former: the project that it is a new version of, if it is still there. newer: new versions of
    it.
    """

    locked: bool
    changed: bool
    former: Project | None
    newer: tuple[Project, ...]


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the buttons."""
    return [
        route(studio, "/p/{name}/new-version", start, methods=("POST",)),
        route(studio, "/p/{name}/restore", restore, methods=("POST",)),
    ]


def versions_of(projects: Projects, project: Project) -> SurveyVersions:
    """Return what the pages of a survey show of its versions."""
    every = {name: projects.open(name) for name in projects.names()}
    newer = tuple(each for each in every.values() if each.former == project.name)
    former = every.get(project.former)
    return SurveyVersions(project.is_published, _is_changed(project), former, newer)


def published_surveys(project: Project) -> Iterator[Survey]:
    """Yield the survey of each bundle in a project that can be read."""
    for path in sorted(project.path.glob(f"*/{BUNDLE}")):
        with suppress(IncrowdError, OSError):
            yield read_bundle(path).plan.survey


def _is_changed(project: Project) -> bool:
    published = [*published_surveys(project)]
    try:
        return bool(published) and project.survey().as_planned not in published
    except IncrowdError:
        return True


def new_version(projects: Projects, project: Project, language: str) -> Project:
    """Return a copy of a survey as a new project: questions, texts, expectations, and the choices
    of who runs what. language: of the studio, in which the copy is named."""
    more = {FORMER: f"{project.name}\n"}
    with suppress(IncrowdError):  # choices that cannot be read are made again
        before, _ = load_publication(project)
        more[FILE] = Publication(**{name: getattr(before, name) for name in TAKEN}).dumps()
    return copied(projects, project, new_title(projects, project.title, language), more)


def new_title(projects: Projects, title: str, language: str) -> str:
    """Return the title of the next version of a survey that no other survey has."""
    numbered = _NUMBERED.fullmatch(title)
    first = 2
    if numbered and numbered["word"] in _WORDS:
        title, first = numbered["name"], int(numbered["number"]) + 1
    there = {projects.open(name).title for name in projects.names()}
    titles = (
        in_language(phrase("{name}, version {number}", name=title, number=number), language)
        for number in range(first, first + len(there) + 1)
    )
    return next(each for each in titles if each not in there)


async def start(studio: Studio, request: Request) -> Response:
    """Start a new version, and open it."""
    project = studio.project(request)
    arguments = (studio.projects, project, language_of(request))
    new = await asyncio.to_thread(new_version, *arguments)
    return RedirectResponse(f"/p/{new.name}/design", 303)


async def restore(studio: Studio, request: Request) -> Response:
    """Write the published survey to the file again. Raises UsageError if it is not known."""
    project = studio.project(request)

    def restored() -> bool:
        return any(project.restore(each) for each in published_surveys(project))

    if not await asyncio.to_thread(restored):
        raise UsageError.of("survey", "studio.nothing-to-restore", path=str(project.survey_path))
    return RedirectResponse(f"/p/{project.name}/design", 303)
