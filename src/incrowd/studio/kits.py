"""The kit of a survey of interviews: what is printed, typed into, and shown to respondents.

A kit is written once, as each has other random lists; another one gets a folder of its own.
"""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Mapping
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.errors import IncrowdError, UsageError
from incrowd.files import new_folder
from incrowd.interviews.assignment import random_lists
from incrowd.presentation.interview_kit import kit_files
from incrowd.studio.chosen_values import number
from incrowd.studio.exports import attachment
from incrowd.studio.interview_designs import Expectation
from incrowd.studio.language import LANGUAGES, Phrase, phrase
from incrowd.studio.pages import Studio, form_of, language_of, lines, render, route
from incrowd.studio.projects import Project
from incrowd.studio.question_form import text_of
from incrowd.studio.stages import time_of

PATH = "/p/{name}/kit"
MOST = 10_000  # interviews of a kit
KIT = "kit"  # with which the names of folders of kits begin
# A page of the kit runs its own script, apart from the studio and everything else.
PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'unsafe-inline'; "
    "frame-ancestors 'none'; sandbox allow-scripts allow-modals"
)
FILES: Mapping[str, tuple[Phrase, Phrase]] = {
    "instructions.html": (
        phrase("Instructions for interviewers"),
        phrase("What interviewers need, do, and read aloud, with the promise."),
    ),
    "self-test.html": (
        phrase("Self-test for interviewers"),
        phrase("Ten questions, with the answers on another page."),
    ),
    "cards-for-respondents.html": (
        phrase("Cards for respondents"),
        phrase("What to do with the device, in large print; one for each question."),
    ),
    "cards-to-cut-out.html": (
        phrase("Packs of cards to cut out"),
        phrase("As many of each kind as the probabilities need."),
    ),
    "spinner.html": (phrase("Spinner"), phrase("To print on thick paper.")),
    "interview-sheets.html": (
        phrase("Interview sheets"),
        phrase("One for each interview, with its number and its group."),
    ),
    "random-list.html": (
        phrase("Random lists"),
        phrase("Which interview belongs to which group."),
    ),
    "random-list.csv": (phrase("Random lists for programs"), phrase("The same as a table.")),
    "demonstration.html": (
        phrase("Demonstration for respondents"),
        phrase("A page, also for a phone, that shows why nobody can know. It sends nothing."),
    ),
    "answers.xlsx": (
        phrase("Spreadsheet for the answers"),
        phrase("With the right columns and the allowed values; it is read as it is."),
    ),
    "answers.csv": (
        phrase("Table for the answers"),
        phrase("With the right columns; it is read as it is."),
    ),
}


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    return [
        route(studio, PATH, show, methods=("GET",)),
        route(studio, PATH, make, methods=("POST",)),
        route(studio, f"{PATH}/{{folder}}", download_all, methods=("GET",)),
        route(studio, f"{PATH}/{{folder}}/{{file}}", download, methods=("GET",)),
    ]


class KitFile(NamedTuple):
    """A file of a kit. is_page: whether it can be looked at in the browser."""

    name: str
    label: Phrase | str
    about: Phrase | str
    is_page: bool


class WrittenKit(NamedTuple):
    """A kit in a project. outdated: whether the survey was changed afterward."""

    folder: str
    time: datetime
    files: tuple[KitFile, ...]
    outdated: bool


def kits_of(project: Project) -> list[WrittenKit]:
    """Return the kits of a project, the newest first."""
    folders = [each for each in project.path.glob(f"{KIT}*") if each.is_dir()]
    kits = [_kit(project, each) for each in folders]
    return sorted(kits, key=lambda each: each.time, reverse=True)


def _kit(project: Project, folder: Path) -> WrittenKit:
    there = {each.name for each in folder.iterdir() if each.is_file()}
    order = [*(name for name in FILES if name in there), *sorted(there - FILES.keys())]
    named = ((name, FILES.get(name, (name, ""))) for name in order)
    files = (KitFile(name, label, about, name.endswith(".html")) for name, (label, about) in named)
    written = time_of(folder)
    return WrittenKit(folder.name, written, tuple(files), time_of(project.survey_path) > written)


async def show(studio: Studio, request: Request) -> Response:
    """Return the page."""
    return await asyncio.to_thread(_page, request, studio.interviews(request))


def _page(
    request: Request, project: Project, problems: tuple[str, ...] = (), **typed: str
) -> Response:
    raw = project.document().content
    mistakes: tuple[str, ...] = ()
    try:
        project.interviews()
    except IncrowdError as error:
        mistakes = lines(error, language_of(request)) if raw.get("question") else ()
    people = Expectation.of(raw).people
    usual = {"interviews": str(people), "interviewers": "1", "language": language_of(request)}
    return render(
        request,
        "interview_kit.html",
        status=422 if problems else 200,
        project=project,
        problems=problems,
        mistakes=mistakes,
        is_ready=bool(raw.get("question")) and not mistakes,
        kits=kits_of(project),
        typed=usual | typed,
        tags=LANGUAGES,
        here=f"/p/{project.name}/kit",
    )


async def make(studio: Studio, request: Request) -> Response:
    """Write a kit, and show its files."""
    project, form = studio.interviews(request), await form_of(request)
    try:
        await asyncio.to_thread(written, project, form)
    except IncrowdError as error:
        typed = {key: text_of(form, key) for key in ("interviews", "interviewers", "language")}
        problems = lines(error, language_of(request))
        return await asyncio.to_thread(lambda: _page(request, project, problems, **typed))
    return RedirectResponse(f"/p/{project.name}/kit", 303)


def written(project: Project, form: FormData) -> Path:
    """Write a kit into a new folder, completely or not at all. Raises UsageError or SurveyError."""
    survey, language = project.interviews(), text_of(form, "language")
    if language not in LANGUAGES:
        raise UsageError.of("language", "shared.use-one-of", value=language, choices=[*LANGUAGES])
    interviews, interviewers = _whole(form, "interviews"), _whole(form, "interviewers")
    lists = random_lists(interviews, survey.groups, interviewers=interviewers)
    files = kit_files(survey, lists, language)
    names = (f"{KIT}{f'-{place}' * (place > 1)}" for place in count(1))
    folder = next(each for name in names if not (each := project.path / name).exists())
    with new_folder(folder) as temporary:
        for name, content in files.items():
            (temporary / name).write_bytes(content)
    return folder


def _whole(form: FormData, name: str) -> int:
    value = number(text_of(form, name), int)
    if not isinstance(value, int) or value > MOST:
        raise UsageError.of(name, "studio.no-number-of-sheets", value=value, most=MOST)
    return value


async def download(studio: Studio, request: Request) -> Response:
    """Return a file of a kit: a page to look at and to print, or a file to save."""
    project, name = studio.interviews(request), request.path_params["file"]
    kit = _chosen(project, request)
    if name not in {each.name for each in kit.files}:
        raise UsageError.of("file", "studio.no-kit", name=name)
    content = await asyncio.to_thread((project.path / kit.folder / name).read_bytes)
    ending = name.rpartition(".")[2]
    if ending == "html" and "save" not in request.query_params:
        headers = {"Content-Security-Policy": PAGE_POLICY}
        return Response(content, media_type="text/html; charset=utf-8", headers=headers)
    return attachment(content, ending, name)


async def download_all(studio: Studio, request: Request) -> Response:
    """Return a kit as one archive."""
    project = studio.interviews(request)
    kit = _chosen(project, request)
    body = await asyncio.to_thread(_zipped, project.path / kit.folder)
    return attachment(body, "zip", f"{project.name}-{kit.folder}.zip")


def _chosen(project: Project, request: Request) -> WrittenKit:
    folder = request.path_params["folder"]
    kit = next((each for each in kits_of(project) if each.folder == folder), None)
    if kit is None:
        raise UsageError.of("kit", "studio.no-kit", name=folder)
    return kit


def _zipped(folder: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for each in sorted(folder.iterdir()):
            file.write(each, f"{folder.name}/{each.name}")
    return archive.getvalue()
