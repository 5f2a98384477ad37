"""The page on which a survey is renamed, copied, put away, or deleted."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.errors import IncrowdError, UsageError
from incrowd.files import write_text
from incrowd.studio.document import Raw, SurveyDocument, apply, version
from incrowd.studio.evidence import CODES, PRINTED
from incrowd.studio.imports import data_name
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.operations import SetValue, questions
from incrowd.studio.pages import Studio, expected_version, form_of, render, route
from incrowd.studio.projects import PLAN, STUDIO, SURVEY, Project, Projects
from incrowd.studio.publication import FOLDERS
from incrowd.studio.question_form import text_of
from incrowd.studio.rehearsal import FOLDER as REHEARSAL
from incrowd.survey.options_files import KEY as OPTIONS_FILE

BASE = "/p/{name}/manage"


class ProjectPart(NamedTuple):
    """Something in the folder of a survey. is_key: whether what people have sent can never be
    opened or counted without it."""

    label: Phrase
    is_key: bool = False


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    return [
        route(studio, BASE, show, methods=("GET",)),
        route(studio, f"{BASE}/rename", rename, methods=("POST",)),
        route(studio, f"{BASE}/copy", copy, methods=("POST",)),
        route(studio, f"{BASE}/archive", archive, methods=("POST",)),
        route(studio, f"{BASE}/delete", confirm, methods=("GET",)),
        route(studio, f"{BASE}/delete", delete, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """Return the page."""
    project = studio.any_project(request)
    seen = ""
    with suppress(IncrowdError):  # a survey that cannot be read can still be deleted
        seen = version(await asyncio.to_thread(project.text))
    return render(request, "manage.html", project=project, title=project.title, seen=seen)


async def rename(studio: Studio, request: Request) -> Response:
    """Give the survey another name. Its folder keeps its own."""
    project, form = studio.any_project(request), await form_of(request)
    title = _typed_title(text_of(form, "title"))
    edit = SetValue(("name",), title)
    await asyncio.to_thread(project.change, edit, expected=expected_version(form))
    return RedirectResponse("/", 303)


async def copy(studio: Studio, request: Request) -> Response:
    """Begin a new survey with the text of this one, and open it."""
    project, form = studio.any_project(request), await form_of(request)
    title = _typed_title(text_of(form, "title"))
    new = await asyncio.to_thread(copied, studio.projects, project, title)
    return RedirectResponse(f"/p/{new.name}/design", 303)


async def archive(studio: Studio, request: Request) -> Response:
    """Put the survey out of the list, or back into it."""
    form = await form_of(request)
    studio.any_project(request).archive(text_of(form, "archived") == "yes")
    return RedirectResponse("/", 303)


async def confirm(studio: Studio, request: Request) -> Response:
    """Say what is lost if the survey is deleted."""
    return await _confirmation(studio, request)


async def _confirmation(studio: Studio, request: Request, changed: bool = False) -> Response:
    """Return the page on which the deletion is confirmed. changed: whether more would be lost by
    now than the person has been shown."""
    project = studio.any_project(request)
    there = await asyncio.to_thread(parts_of, project)
    return render(
        request,
        "delete.html",
        status=409 if changed else 200,
        project=project,
        title=project.title,
        parts=there,
        shown=shown(there),
        has_keys=any(part.is_key for part in there),
        changed=changed,
    )


async def delete(studio: Studio, request: Request) -> Response:
    """Delete the survey with everything in its folder, if the person has been shown all of it."""
    project, form = studio.any_project(request), await form_of(request)
    there = await asyncio.to_thread(parts_of, project)
    if text_of(form, "shown") != shown(there):
        return await _confirmation(studio, request, changed=True)
    if any(part.is_key for part in there) and text_of(form, "keys") != "yes":
        raise UsageError.of("keys", "studio.keys-stay")
    studio.jobs.stop_within(project.path)
    await asyncio.to_thread(studio.projects.remove, project.name)
    return RedirectResponse("/", 303)


def _typed_title(title: str) -> str:
    if not title:
        raise UsageError.of("name", "studio.no-title")
    return title


def copied(
    projects: Projects, project: Project, title: str, more: Mapping[str, str] | None = None
) -> Project:
    """Return a new project with the survey of another: without its data, plan, keys and results.

    Lists of options in its folder are copied with it. more: texts of further files of the new
    project, by their names. Raises SurveyError if it is not TOML.
    """
    document = apply(SurveyDocument(project.text()), SetValue(("name",), title))
    with projects.temporary() as folder:
        files: dict[str, Path] = {}
        for name in options_files(document.content):
            if (project.path / name).is_file():
                files[name] = folder / str(len(files))
                shutil.copyfile(project.path / name, files[name])
        for name, text in (more or {}).items():
            files[name] = folder / str(len(files))
            write_text(files[name], text)
        return projects.create(title, document.text, files)


def options_files(raw: Raw) -> tuple[str, ...]:
    """Return the names of the files of options in the folder of a survey."""
    named = (each.get(OPTIONS_FILE) for each in questions(raw))
    inside = (
        name
        for name in named
        if isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts
    )
    return tuple(dict.fromkeys(inside))


def parts_of(project: Project) -> tuple[ProjectPart, ...]:
    """Return what is in the folder of a survey, the keys last."""
    folder = project.path
    versions = len({each.version for each in project.history()})
    keys = [name for name in (*FOLDERS.values(), CODES, PRINTED) if (folder / name).exists()]
    reports = sorted(
        str(each.relative_to(folder))
        for pattern in ("reports*", "tally*", "collector/opened/release-*")
        for each in folder.glob(pattern)
    )
    data = data_name(project)
    named = {SURVEY, PLAN, STUDIO, REHEARSAL, data, *keys, *reports}
    others = sorted(each.name for each in folder.iterdir() if each.name not in named)
    parts = [ProjectPart(phrase("The survey and its versions ({number})", number=versions))]
    listed: list[tuple[object, Phrase]] = [
        (data, phrase("The data that were imported: {names}", names=data)),
        (project.plan_path.exists(), phrase("The plan with its guarantee")),
        ((folder / REHEARSAL).exists(), phrase("The rehearsal")),
        (reports, phrase("Reports and results: {names}", names=", ".join(reports))),
        (others, phrase("Other files: {names}", names=", ".join(others))),
    ]
    parts += [ProjectPart(label) for there, label in listed if there]
    if keys:
        label = phrase("Private keys and invitations: {names}", names=", ".join(keys))
        parts.append(ProjectPart(label, is_key=True))
    return tuple(parts)


def shown(parts: tuple[ProjectPart, ...]) -> str:
    """Return what changes if another part would be lost than those that a page has shown."""
    return version("\n".join(str(part.label) for part in parts))
