"""A bank of questions and batteries, in English and German, to insert into a survey."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.errors import UsageError
from incrowd.studio.design import languages_in
from incrowd.studio.document import Operation, Raw, changed
from incrowd.studio.operations import AddQuestion, SetQuestion, ids, parts, questions
from incrowd.studio.pages import Studio, form_of, language_of, render, route
from incrowd.studio.projects import Project
from incrowd.studio.question_form import named_answers
from incrowd.studio.questionnaire import AddMatrix

BASE = "/p/{name}/question-bank"
ORDER = (
    "yes-no",
    "agreement",
    "frequency",
    "satisfaction",
    "stress",
    "harassment",
    "age",
    "gender",
    "department",
    "working-time",
)
WORDS = ("text", "help")


@dataclass(frozen=True)
class BankItem:
    """Questions of the bank that belong together. title, about: by language. content: their tables,
    as in a survey."""

    name: str
    title: Mapping[str, str]
    about: Mapping[str, str]
    content: Raw


@cache
def bank() -> Mapping[str, BankItem]:
    """Return the items of the bank by their names."""
    folder = files(__package__) / "bank"
    items = {}
    for name in ORDER:
        raw = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
        title, about = raw.pop("title"), raw.pop("about", {})
        items[name] = BankItem(name, title, about, raw)
    return items


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the bank."""
    return [
        route(studio, BASE, show, methods=("GET",)),
        route(studio, BASE, insert, methods=("POST",)),
    ]


async def show(studio: Studio, request: Request) -> Response:
    """List the questions, as people would read them in the language of the studio."""
    project = studio.project(request)
    document = await asyncio.to_thread(project.document)
    language, tags = language_of(request), languages_in(document.content)
    return render(
        request,
        "question_bank.html",
        project=project,
        items=bank().values(),
        shown={each.name: _shown(each, language) for each in bank().values()},
        untranslated=[tag for tag in tags if _base(tag) not in ("en", "de")],
    )


async def insert(studio: Studio, request: Request) -> Response:
    """Insert the chosen questions at the end of the survey, as one version; open the first."""
    project, form = studio.project(request), await form_of(request)
    chosen = [item_of(str(each)) for each in form.getlist("item")]
    if not chosen:
        raise UsageError.of("item", "studio.no-bank-item")
    first = await asyncio.to_thread(inserted, project, chosen)
    query = urlencode({"open": first})
    return RedirectResponse(f"/p/{project.name}/design?{query}#questions", 303)


def item_of(name: str) -> BankItem:
    """Return the item with a name. Raises UsageError for another name."""
    if name not in bank():
        raise UsageError.of("item", "shared.use-one-of", value=name, choices=[*bank()])
    return bank()[name]


def inserted(project: Project, items: Sequence[BankItem]) -> str:
    """Insert items into the survey of a project, as one version; return the first new id."""
    document = project.document()
    edits = insertions(document.content, items)
    difference = project.change(*edits, expected=document.version)
    there = ids(difference.before.content)
    return next(str(each) for each in ids(difference.after.content) if each not in there)


def insertions(content: Raw, items: Iterable[BankItem]) -> list[Operation]:
    """Return the operations that insert items at the end of a survey, with ids that are not yet
    used, and with the languages of the survey."""
    tags = languages_in(content)
    edits: list[Operation] = []
    for item in items:
        new = _insertion(changed(content, *edits), item, tags)
        edits += new
    return edits


def _insertion(content: Raw, item: BankItem, tags: Sequence[str]) -> list[Operation]:
    """Return the operations that insert one item."""
    taken = [*ids(content), *(each.get("id") for each in parts(content, "matrix"))]
    fragment = changed(item.content)
    for id in ids(fragment):
        new = _free(id, taken)
        taken.append(new)
        fragment = changed(fragment, SetQuestion(id, {"id": new}))
    edits: list[Operation] = []
    for matrix in parts(fragment, "matrix"):
        members = [each for each in questions(fragment) if each.get("matrix") == matrix["id"]]
        rows = tuple(_without(_worded(each, tags), "matrix") for each in members)
        entries = _worded(matrix, tags) | {"id": _free(matrix["id"], taken)}
        edits.append(AddMatrix(entries, rows))
    alone = (each for each in questions(fragment) if "matrix" not in each)
    return edits + [AddQuestion(_worded(each, tags)) for each in alone]


def _free(id: str, taken: Sequence[Any]) -> str:
    """Return an id, with a number if it is taken."""
    names = (id, *(f"{id}_{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _without(table: Raw, key: str) -> Raw:
    return {name: value for name, value in table.items() if name != key}


def _base(tag: str) -> str:
    return tag.partition("-")[0].lower()


def _worded(table: Raw, tags: Sequence[str]) -> Raw:
    """Return a table with its texts in the languages of a survey only. tags: the main one first,
    which gets the English text if there is no other."""

    def words(texts: Mapping[str, str]) -> str | dict[str, str]:
        there = {tag: texts[_base(tag)] for tag in tags if _base(tag) in texts}
        main = there.get(tags[0], texts["en"])
        return {tags[0]: main, **there} if len({tags[0], *there}) > 1 else main

    worded = {key: words(value) if key in WORDS else value for key, value in table.items()}
    if "labels" in table:
        worded["labels"] = {answer: words(texts) for answer, texts in table["labels"].items()}
    return worded


def _shown(item: BankItem, language: str) -> Raw:
    """Return what the page shows of an item: a text above its rows, its questions, its answers."""
    matrix = next(iter(parts(item.content, "matrix")), None)
    listed = questions(item.content)
    labels = (matrix or listed[0]).get("labels", {})
    plain = named_answers(matrix or listed[0])
    answers = [texts[language] for texts in labels.values()] or plain
    return {
        "text": matrix["text"][language] if matrix else "",
        "questions": [each["text"][language] for each in listed],
        "answers": answers,
    }
