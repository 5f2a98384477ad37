"""The history of a survey: what every change did, versions with names, and the way back to them.

Every saved state of the survey file is kept in `.studio/versions`. An edit after "undo" deletes the
versions that were undone; one with a name is kept as well in `.studio/named`, until its name is
removed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.errors import SurveyError, UsageError
from incrowd.files import private_folder, write_bytes
from incrowd.studio.document import Difference, SurveyDocument, in_toml
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.pages import Studio, expected_version, form_of, render, route
from incrowd.studio.projects import Project
from incrowd.studio.question_form import text_of

BASE = "/p/{name}/history"
MOST_LISTED = 50  # versions, unless all are requested
MOST_CHANGES = 6  # of one version, in the list
MOST_SHOWN = 160  # characters of a value
LONGEST_NAME = 100
NAMED = "named"  # a folder in the hidden folder
FIRST = phrase("The survey was begun.")
ADDED = {
    "question": phrase("Question {id} was added."),
    "section": phrase("Section {id} was added."),
    "matrix": phrase("Matrix {id} was added."),
}
REMOVED = {
    "question": phrase("Question {id} was removed."),
    "section": phrase("Section {id} was removed."),
    "matrix": phrase("Matrix {id} was removed."),
}


@dataclass(frozen=True)
class KeptVersion:
    """A version of the survey. time: when it was written. label: the name that a person gave it,
    or ""."""

    document: SurveyDocument
    time: datetime
    label: str = ""

    @property
    def version(self) -> str:
        """The digest of its text."""
        return self.document.version


class HistoryLine(NamedTuple):
    """A version in the list. changes: what it did, in words. more: how many further changes it
    made."""

    past: KeptVersion
    changes: tuple[Phrase, ...]
    more: int
    is_current: bool


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the history."""
    one = f"{BASE}/{{version}}"
    return [
        route(studio, BASE, show, methods=("GET",)),
        route(studio, one, look, methods=("GET",)),
        route(studio, f"{one}/name", give_name, methods=("POST",)),
        route(studio, f"{one}/restore", restore, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """List the versions, the newest first."""
    project = studio.any_project(request)
    every = "all" in request.query_params
    current = await asyncio.to_thread(project.current_version)
    past = await asyncio.to_thread(lambda: [*kept_versions(project)])
    shown = past if every else past[: MOST_LISTED + 1]
    listed = await asyncio.to_thread(lines_of_history, shown, current)
    return render(
        request,
        "history.html",
        project=project,
        listed=listed if every else listed[:MOST_LISTED],
        named=await asyncio.to_thread(named_versions, project),
        number=len(past),
        most=MOST_LISTED,
        every=every,
    )


async def look(studio: Studio, request: Request) -> Response:
    """Show one version, and what would change if it was restored."""
    project = studio.any_project(request)
    current = await asyncio.to_thread(project.current_version)
    past = await asyncio.to_thread(version_of, project, request.path_params["version"])
    changes = await asyncio.to_thread(lambda: [*changes_between(project.document(), past.document)])
    return render(
        request,
        "history_version.html",
        project=project,
        past=past,
        current=current,
        changes=changes,
        longest=LONGEST_NAME,
    )


async def give_name(studio: Studio, request: Request) -> Response:
    """Give a version a name, and keep it; without a name, remove the one that it has."""
    project, form = studio.any_project(request), await form_of(request)
    past = await asyncio.to_thread(version_of, project, request.path_params["version"])
    label = " ".join(text_of(form, "label").split())[:LONGEST_NAME]
    await asyncio.to_thread(save_name, project, past, label)
    return RedirectResponse(f"/p/{project.name}/history/{past.version}", 303)


async def restore(studio: Studio, request: Request) -> Response:
    """Write a version as the newest one; the others stay."""
    project, form = studio.any_project(request), await form_of(request)
    past = await asyncio.to_thread(version_of, project, request.path_params["version"])
    expected = expected_version(form)
    await asyncio.to_thread(project.save, past.document.text, expected=expected)
    return RedirectResponse(f"/p/{project.name}/design", 303)


# --- what is kept ---------------------------------------------------------------------------------


def kept_versions(project: Project) -> Iterator[KeptVersion]:
    """Yield all versions in the order in which they follow each other, the newest first."""
    labels = {each.version: each.label for each in named_versions(project)}
    for path in project.version_files():
        document = SurveyDocument(path.read_bytes().decode("utf-8"))
        time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        yield KeptVersion(document, time, labels.get(document.version, ""))


def named_versions(project: Project) -> list[KeptVersion]:
    """Return the versions that have names, the newest first. A damaged file is not one of them."""
    versions = []
    for path in (project.hidden / NAMED).glob("*.json"):
        with suppress(OSError, ValueError, LookupError, TypeError):
            versions.append(_read(path))
    return sorted(versions, key=lambda each: each.time, reverse=True)


def _read(path: Path) -> KeptVersion:
    facts = json.loads(path.read_text(encoding="utf-8"))
    time = datetime.fromisoformat(facts["time"])
    return KeptVersion(SurveyDocument(str(facts["text"])), time, str(facts["label"]))


def version_of(project: Project, wanted: str) -> KeptVersion:
    """Return a version. Raises UsageError if it is not kept."""
    every = (*named_versions(project), *kept_versions(project))
    past = next((each for each in every if each.version == wanted), None)
    if past is None:
        raise UsageError.of("version", "studio.no-such-version", version=wanted)
    return past


def save_name(project: Project, past: KeptVersion, label: str) -> None:
    """Keep a version under a name; "" removes its name."""
    folder = project.hidden / NAMED
    path = folder / f"{past.version}.json"
    if not label:
        path.unlink(missing_ok=True)
        return
    private_folder(project.hidden)
    private_folder(folder)
    facts = {"label": label, "time": past.time.isoformat(), "text": past.document.text}
    write_bytes(path, json.dumps(facts, ensure_ascii=False).encode())


# --- what was changed -----------------------------------------------------------------------------


def lines_of_history(past: Sequence[KeptVersion], current: str) -> list[HistoryLine]:
    """Return the lines of some versions that follow each other, the newest first. The last of them
    counts as the first version. current: the version in the survey file."""
    listed, marked = [], False
    for each, before in zip(past, (*past[1:], None), strict=True):
        changes = [*changes_between(before.document, each.document)] if before else [FIRST]
        is_current = each.version == current and not marked
        marked = marked or is_current
        more = max(0, len(changes) - MOST_CHANGES)
        listed.append(HistoryLine(each, tuple(changes[:MOST_CHANGES]), more, is_current))
    return listed


def changes_between(before: SurveyDocument, after: SurveyDocument) -> Iterator[Phrase]:
    """Yield what leads from a version to another, in words."""
    try:
        differences = before.differences(after)
    except SurveyError:
        yield phrase("The text was edited; one of the two versions is not a valid survey file.")
        return
    if not differences and before.version != after.version:
        yield phrase("Only comments or spaces were changed.")
    for each in differences:
        if len(each.path) == 1 and each.path[0] in ADDED and None in (each.before, each.after):
            yield from map(change_in_words, _one_by_one(each))
        else:
            yield change_in_words(each)


def _one_by_one(difference: Difference) -> Iterator[Difference]:
    """Yield the first questions, sections or matrices of a survey, or the last ones to go."""
    for table in difference.after or difference.before:
        is_new = difference.before is None
        path = (*difference.path, str(table.get("id")))
        yield Difference(path, None if is_new else table, table if is_new else None)


def change_in_words(difference: Difference) -> Phrase:
    """Return what was changed, in words."""
    path, before, after = difference
    if len(path) == 1 and path[0] in ADDED and isinstance(before, list) and isinstance(after, list):
        return phrase("The order was changed: {order}.", order=_short(", ".join(map(str, after))))
    if len(path) == 2 and path[0] in ADDED and None in (before, after):
        words = ADDED if before is None else REMOVED
        return phrase(words[path[0]].english, id=path[1])
    place = ".".join(path[1:] if path[0] in ADDED and len(path) > 2 else path)
    if before is None:
        return phrase("{place} is now {now}.", place=place, now=_value(after))
    if after is None:
        return phrase("{place} was {was}, and was removed.", place=place, was=_value(before))
    return phrase(
        "{place} was {was}, and is now {now}.", place=place, was=_value(before), now=_value(after)
    )


def _value(value: object) -> str:
    return _short(str(in_toml(value)))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 2]} …"
