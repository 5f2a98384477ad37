"""Questions that are pasted as text: what is understood is shown before it is inserted.

The text is read as `incrowd init` reads a questionnaire: a question with a question mark, its
answers on the same line or below it.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.drafts.data import draft
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import write_text
from incrowd.studio.document import Raw
from incrowd.studio.operations import AddQuestion, ids, questions
from incrowd.studio.pages import Studio, expected_version, form_of, render, route
from incrowd.studio.projects import Project, Projects
from incrowd.studio.published_versions import versions_of
from incrowd.studio.question_form import summary, text_of
from incrowd.survey.questions import TYPES

PATH = "/p/{name}/paste"
FILE = "pasted.md"  # Markdown is never taken for a table of answers


@dataclass(frozen=True)
class PastedQuestion:
    """A question that was understood. entries: its table. summary: its answers in one line. doubts:
    what the person should decide."""

    entries: Raw
    summary: str
    doubts: tuple[str, ...]

    @property
    def type_name(self) -> Any:
        """The name of its type, by language."""
        return TYPES[self.entries["type"]].design_form.name


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    return [
        route(studio, PATH, show, methods=("GET",)),
        route(studio, PATH, paste, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """Return the page on which questions are pasted."""
    project = studio.project(request)
    seen = await asyncio.to_thread(project.current_version)
    return _page(studio, request, project, seen)


def _page(
    studio: Studio, request: Request, project: Project, seen: str, status: int = 200, **parts: Any
) -> Response:
    shown = {"text": "", "pasted": (), "problems": ()} | parts
    versions = versions_of(studio.projects, project)
    return render(
        request,
        "paste.html",
        status=status,
        project=project,
        seen=seen,
        versions=versions,
        **shown,
    )


async def paste(studio: Studio, request: Request) -> Response:
    """Show what is understood of a text, or insert the questions that were chosen."""
    project, form = studio.project(request), await form_of(request)
    text, seen = text_of(form, "text"), text_of(form, "seen")
    try:
        pasted = await asyncio.to_thread(pasted_questions, studio.projects, text)
        if "insert" in form:
            places = [str(each) for each in form.getlist("take")]
            chosen = [each for place, each in enumerate(pasted) if str(place) in places]
            first = await asyncio.to_thread(inserted, project, chosen, expected_version(form))
            query = urlencode({"open": first})
            return RedirectResponse(f"/p/{project.name}/design?{query}#questions", 303)
    except IncrowdError as error:
        parts = {"text": text, "problems": error.problems}
        return _page(studio, request, project, seen, 422, **parts)
    return _page(studio, request, project, seen, text=text, pasted=pasted)


def pasted_questions(projects: Projects, text: str) -> tuple[PastedQuestion, ...]:
    """Return the questions in a text. Raises UsageError if there are none."""
    with projects.temporary() as folder, suppress(IncrowdError):  # it has no question
        write_text(folder / FILE, f"{text}\n")
        drafted = draft(folder / FILE)
        doubts = {each.id: each.undecided for each in drafted.questions}
        tables = questions(tomllib.loads(drafted.toml))
        return _pasted(tables, doubts)
    raise UsageError.of("text", "studio.nothing-pasted")


def _pasted(
    tables: Iterable[Raw], doubts: Mapping[str, tuple[str, ...]]
) -> tuple[PastedQuestion, ...]:
    return tuple(
        PastedQuestion(entries, summary(entries), tuple(doubts.get(each["id"], ())))
        for each in tables
        if (entries := _without_codes(each))
    )


def _without_codes(table: Raw) -> Raw:
    """Return a question without codes that are the names of its answers."""
    codes = table.get("values")
    if isinstance(codes, dict) and all(code == answer for code, answer in codes.items()):
        return {key: value for key, value in table.items() if key != "values"}
    return table


def inserted(project: Project, chosen: Sequence[PastedQuestion], expected: str) -> str:
    """Insert questions at the end of a survey, as one version; return the first new id."""
    if not chosen:
        raise UsageError.of("take", "studio.nothing-chosen")
    edits = insertions(ids(project.document().content), chosen)
    project.change(*edits, expected=expected)
    return str(edits[0].entries["id"])


def insertions(there: Iterable[Any], chosen: Iterable[PastedQuestion]) -> list[AddQuestion]:
    """Return the operations that add questions, with ids that are not yet used."""
    taken = [*there]
    edits = []
    for each in chosen:
        id = each.entries["id"]
        names = (id, *(f"{id}_{number}" for number in range(2, len(taken) + 3)))
        taken.append(next(name for name in names if name not in taken))
        edits.append(AddQuestion({**each.entries, "id": taken[-1]}))
    return edits
