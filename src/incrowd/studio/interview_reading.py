"""Answers of interviews in a project: the file that was typed, how it is read, and what was read.

The file stays as it was added. What is read from it is written to `interviews.parquet`, which the
commands take, whenever the file or the survey has changed.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.catalog.sentences import Sentence
from incrowd.encoding.answers import load_data
from incrowd.encoding.sources import AnswersSource, certain_encoding, source_of
from incrowd.errors import IncrowdError, SurveyError
from incrowd.files import private_folder, write_text
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.arrivals import overview
from incrowd.interviews.reading import read_with_notes
from incrowd.interviews.survey import InterviewSurvey
from incrowd.presentation import layouts
from incrowd.studio.calculations import Cache
from incrowd.studio.document import Operation, Raw
from incrowd.studio.imports import READING, base_name, check_unpacked, copy_upload, ending, reading
from incrowd.studio.language import phrase
from incrowd.studio.names import within
from incrowd.studio.operations import SetEntries, ids
from incrowd.studio.pages import (
    Studio,
    chosen_file,
    expected_version,
    form_of,
    language_of,
    lines,
    render,
    route,
)
from incrowd.studio.projects import INTERVIEWS, TYPED, Project
from incrowd.studio.question_form import text_of
from incrowd.studio.sources import fingerprint

PATH = "/p/{name}/answers"
NAMED = {  # columns that the survey names
    "group": phrase("Group of the interview"),
    "weight": phrase("Survey weight"),
    "cluster": phrase("What was drawn together, such as a village"),
}


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    cache = Cache()
    return [
        route(studio, PATH, partial(show, cache), methods=("GET",)),
        route(studio, PATH, partial(add, cache), methods=("POST",)),
        route(studio, f"{PATH}/columns", name_columns, methods=("POST",)),
    ]


# --- what is in a project -------------------------------------------------------------------------


def source(project: Project) -> AnswersSource | None:
    """Return the file of answers that was added last, as it is read; None if there is none. Raises
    AnswersError if it cannot be read."""
    path = project.typed_answers
    if path is None:
        return None
    stated = reading(path)
    return source_of(path, encoding=stated.get("encoding"), sheet=stated.get("sheet"))


class ReadInterviews(NamedTuple):
    """Answers, and what people should know about how they were read."""

    answers: InterviewAnswers
    notes: tuple[Sentence, ...] = ()


def answers_in(project: Project) -> ReadInterviews | None:
    """Return the answers, read as the survey is now; None if there are none.

    What was read is in `interviews.parquet` afterward. Raises SurveyError or AnswersError with
    every mistake.
    """
    path, data = project.path / INTERVIEWS, source(project)
    if data is None:
        return ReadInterviews(InterviewAnswers.load(path)) if path.exists() else None
    survey = project.interviews()
    read = ReadInterviews(*read_with_notes(survey, load_data(data)))
    if not _is_written(project, path, survey):
        read.answers.save(path)
    return read


def _is_written(project: Project, path: Path, survey: InterviewSurvey) -> bool:
    """Return whether a file has the answers that were added last, read by this survey."""
    typed = project.typed_answers
    if typed is None or not path.exists() or path.stat().st_mtime_ns < typed.stat().st_mtime_ns:
        return False
    with suppress(IncrowdError):
        return InterviewAnswers.load(path).survey.dumps() == survey.dumps()
    return False


def known_answers(cache: Cache, project: Project) -> ReadInterviews | None:
    """Return the answers, which are read again only if a file has changed."""
    files = (project.survey_path, project.typed_answers, project.path / INTERVIEWS)
    key = tuple(fingerprint(each) for each in files if each is not None and each.exists())
    read: ReadInterviews | None = cache.get(key)
    if read is None and (read := answers_in(project)) is not None:
        key = tuple(fingerprint(each) for each in files if each is not None and each.exists())
        cache.put(key, read)
    return read


# --- the page -------------------------------------------------------------------------------------


async def show(cache: Cache, studio: Studio, request: Request) -> Response:
    """Show what was read, or what is wrong with the file."""
    return await asyncio.to_thread(_page, cache, request, studio.interviews(request))


def _page(
    cache: Cache,
    request: Request,
    project: Project,
    refused: Sequence[str] = (),
    typed: dict[str, str] | None = None,
) -> Response:
    """Return the page. refused: why a file was not added. typed: what was typed beside it."""
    language, path, document = language_of(request), project.typed_answers, project.document()
    wrong, view, is_ready = [*refused], None, False
    notes: tuple[Sentence, ...] = ()
    try:
        project.interviews()
        is_ready = True
        if (read := known_answers(cache, project)) is not None:
            view, notes = layouts.parts(overview(read.answers), language)["view"], read.notes
    except SurveyError as error:
        wrong += _named(error, project, language) if document.content.get("question") else ()
    except IncrowdError as error:
        wrong += _named(error, project, language)
    except OSError as error:
        wrong += lines(error, language)
    columns = document.content.get("columns")
    stated: Raw = columns if isinstance(columns, dict) else {}
    return render(
        request,
        "interview_answers.html",
        status=422 if wrong else 200,
        project=project,
        problems=wrong,
        view=view,
        notes=notes,
        is_ready=is_ready,
        file=path.name if path else "",
        seen=document.version,
        columns=[(key, label, str(stated.get(key, ""))) for key, label in NAMED.items()],
        missing=", ".join(map(str, stated.get("missing", ()))),
        names=_names(project, document.content),
        typed=typed or _read_as(path),
        here=f"/p/{project.name}/answers",
    )


def _read_as(path: Path | None) -> dict[str, str]:
    """Return the encoding and the sheet that a file is read with, as they are typed."""
    stated = reading(path) if path is not None else {}
    return {key: stated.get(key) or "" for key in ("encoding", "sheet")}


def _named(error: IncrowdError, project: Project, language: str) -> list[str]:
    return [within(each, project.path).text(language) for each in error.problems]


def _names(project: Project, raw: Raw) -> list[str]:
    """Return the columns of the file that are not questions; none if it cannot be read."""
    with suppress(IncrowdError, OSError):
        if (data := source(project)) is not None:
            asked = {str(id) for id in ids(raw)}
            return [each for each in load_data(data).table.column_names if each not in asked]
    return []


async def add(cache: Cache, studio: Studio, request: Request) -> Response:
    """Add a file of answers. One that cannot be opened is refused; mistakes in its rows are shown
    beside it, and it stays."""
    project = studio.interviews(request)
    async with request.form(max_files=1) as form:
        typed = {key: str(form.get(key, "")).strip() for key in ("encoding", "sheet")}
        with studio.projects.temporary() as folder:
            try:
                file = chosen_file(form)
                path = folder / base_name(file.filename or "")
                await copy_upload(file, path)
                options = {key: text or None for key, text in typed.items()}
                await asyncio.to_thread(_added, project, path, options)
            except IncrowdError as error:
                named = [within(each, folder).text(language_of(request)) for each in error.problems]
                return await asyncio.to_thread(_page, cache, request, project, named, typed)
    return RedirectResponse(f"/p/{project.name}/answers", 303)


def _added(project: Project, path: Path, options: dict[str, str | None]) -> None:
    """Move a file into a project, under a new name: earlier ones stay. Raises AnswersError or
    UsageError if it is not a table."""
    check_unpacked(path)
    options["encoding"] = options["encoding"] or certain_encoding(path)
    load_data(source_of(path, encoding=options["encoding"], sheet=options["sheet"]))
    private_folder(project.hidden)
    write_text(project.path / READING, json.dumps(options))
    last = ending(path.name).lower()
    names = (f"{TYPED}{f'-{number}' * (number > 1)}{last}" for number in count(1))
    new = next(each for name in names if not (each := project.path / name).exists())
    os.utime(path)
    path.rename(new)


async def name_columns(studio: Studio, request: Request) -> Response:
    """Name the columns of the group, the weight, and the cluster, and codes for missing values, in
    the survey."""
    project, form = studio.interviews(request), await form_of(request)
    edits = await asyncio.to_thread(_edits, project, form)
    await asyncio.to_thread(project.change, *edits, expected=expected_version(form))
    return RedirectResponse(f"/p/{project.name}/answers", 303)


def _edits(project: Project, form: FormData) -> list[Operation]:
    """Return the changes of the table of columns that a form describes."""
    before = project.seen(text_of(form, "seen")) or project.document()
    columns = before.content.get("columns")
    stated: Raw = columns if isinstance(columns, dict) else {}
    entries: Raw = {
        key: text or None
        for key in NAMED
        if key in form and (text := text_of(form, key)) != str(stated.get(key, ""))
    }
    codes = [each.strip() for each in text_of(form, "missing").split(",") if each.strip()]
    if codes != [str(each) for each in stated.get("missing", ())]:
        entries["missing"] = codes or None
    return [SetEntries("columns", entries)] if entries else []
