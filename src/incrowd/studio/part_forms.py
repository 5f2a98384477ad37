"""The forms of sections and matrices: the edits that a filled form describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import FormData

from incrowd.errors import UsageError
from incrowd.studio import operations
from incrowd.studio.condition_form import typed_condition
from incrowd.studio.document import Operation, Raw
from incrowd.studio.question_form import lines_of, new_id, put, put_words, text_of
from incrowd.studio.questionnaire import AddMatrix, AddSection, MovePart, RemovePart, SetPart
from incrowd.survey.forms import OPTIONS
from incrowd.survey.types.choice import Choice
from incrowd.survey.words import LANGUAGE

TEXTS = {"section": ("title", "text"), "matrix": ("text", "help")}


def add_section(raw: Raw, form: FormData) -> list[Operation]:
    """Return a new section of the selected questions."""
    title, chosen = text_of(form, "title"), tuple(map(str, form.getlist("q")))
    if not title or not chosen:
        raise UsageError.of("section", "studio.empty-section")
    entries = {"id": _new_id(raw, "section", title), "title": title}
    return [AddSection(entries, chosen)]


def add_matrix(raw: Raw, form: FormData) -> list[Operation]:
    """Return a new matrix: of the selected questions, or of one new question for each line."""
    text, chosen = text_of(form, "text"), tuple(map(str, form.getlist("q")))
    options, items = lines_of(form, "options"), lines_of(form, "items")
    new = not chosen and len(options) > 1 and items
    if not text or not (len(chosen) > 1 or new):
        raise UsageError.of("matrix", "studio.empty-matrix")
    entries: Raw = {"id": _new_id(raw, "matrix", text), "text": text}
    if not new:
        return [AddMatrix(entries, questions=chosen)]
    ids, added = [*operations.ids(raw)], []
    for item in items:
        ids.append(new_id(item, ids))
        added.append({"id": ids[-1], "text": item})
    return [AddMatrix({**entries, "type": Choice.type_name(), OPTIONS.key: options}, tuple(added))]


def _new_id(raw: Raw, kind: str, text: str) -> str:
    return new_id(text, [each.get("id") for each in operations.parts(raw, kind)])


def set_part(raw: Raw, form: FormData) -> list[Operation]:
    """Return everything in the form of a section or a matrix that differs from the file."""
    kind, id = text_of(form, "kind"), str(form.get("of", ""))
    before = operations.part(raw, kind, id) if kind in operations.PARTS else None
    if before is None:
        raise UsageError.of("part", "studio.gone")
    language = raw.get("language", LANGUAGE)
    main = language if isinstance(language, str) else LANGUAGE
    wanted, renamed = dict(before), {}
    put_words(wanted, form, TEXTS[kind], main)
    put(wanted, "asked_if", typed_condition(form, before, earlier_than(raw, kind, id), main))
    if kind == "matrix":
        put(wanted, "section", text_of(form, "section") or None)
        put(wanted, "optional", "is.optional" in form or None, keep=before.get("optional") is False)
        if OPTIONS.key in form and OPTIONS.key in before:
            wanted[OPTIONS.key] = options = lines_of(form, OPTIONS.key)
            renamed = _renamed([*map(str, before[OPTIONS.key])], options)
    differing = {
        key: wanted.get(key) for key in {**before, **wanted} if wanted.get(key) != before.get(key)
    }
    return [SetPart(kind, id, differing, renamed)] if differing else []


def earlier_than(raw: Raw, kind: str, id: str) -> list[Raw]:
    """Return the questions before a section or a matrix."""
    whole = operations.whole_questions(raw)
    first = next((n for n, each in enumerate(whole) if each.get(kind) == id), len(whole))
    return whole[:first]


def _renamed(before: list[str], after: list[str]) -> dict[str, str]:
    """Return which options have a new name: those that another one replaces on the same line."""
    if len(before) != len(after):
        return {}
    pairs = zip(before, after, strict=True)
    return {old: new for old, new in pairs if old not in after and new not in before}


def order(_: Raw, form: FormData) -> list[Operation]:
    """Move or remove a section or a matrix, as its buttons request."""
    kind = text_of(form, "kind")
    for button, step in (("up", -1), ("down", 1)):
        if button in form:
            return [MovePart(kind, str(form[button]), step)]
    return [RemovePart(kind, str(form.get("remove", "")))]


ACTIONS: Mapping[str, Callable[[Raw, FormData], list[Any]]] = {
    "add-section": add_section,
    "add-matrix": add_matrix,
    "part": set_part,
    "part-order": order,
}
