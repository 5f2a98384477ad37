"""Edits of the parts of a questionnaire as plain data: sections and matrices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from incrowd.errors import UsageError
from incrowd.studio.document import Raw, same
from incrowd.studio.operations import (
    PARTS,
    AddQuestion,
    answers,
    existing,
    fit_answers,
    join,
    move,
    part,
    parts,
    put_tables,
    put_value,
    questions,
    rename_answers,
    whole_questions,
)
from incrowd.survey.layout import MATRIX_KEYS
from incrowd.survey.questions import type_of

OF_QUESTION = ("id", "text", "help", "matrix", "asked_if", "shares", "values", "missing")


@dataclass(frozen=True)
class AddSection:
    """A new section of some questions, which are moved together."""

    entries: Mapping[str, Any]
    questions: tuple[str, ...]

    def edit(self, content: Raw) -> None:
        """Add the section. Raises UsageError if a question is gone, or conditions do not allow the
        new order."""
        put_tables(content, "section", [*parts(content, "section"), dict(self.entries)])
        for id in self.questions:
            asked = existing(content, id)
            in_matrix = part(content, "matrix", str(asked.get("matrix")))
            put_value(in_matrix or asked, "section", self.entries["id"])
        members = [each for each in questions(content) if each.get("id") in self.questions]
        join(content, members, "section")


@dataclass(frozen=True)
class AddMatrix:
    """A new matrix: of existing questions with the same answers, or of new ones.

    entries: of the matrix; for new questions, also their type and answers. items: new questions.
    questions: existing ones.
    """

    entries: Mapping[str, Any]
    items: tuple[Mapping[str, Any], ...] = ()
    questions: tuple[str, ...] = ()

    def edit(self, content: Raw) -> None:
        """Add the matrix. Raises UsageError if the questions do not have the same answers."""
        asked = [existing(content, id) for id in self.questions]
        shared = _shared_answers(asked)
        matrix = {**self.entries, **shared}
        put_tables(content, "matrix", [*parts(content, "matrix"), matrix])
        for each in asked:
            for key in shared:
                each.pop(key, None)
            each["matrix"] = matrix["id"]
        if asked:
            join(content, asked, "matrix")
        for item in self.items:
            AddQuestion({**item, "matrix": matrix["id"]}).edit(content)


@dataclass(frozen=True)
class SetPart:
    """New values for keys of a section or a matrix; None removes one.

    renamed: options of a matrix with a new name; what refers to them follows.
    """

    kind: str
    id: str
    entries: Mapping[str, Any]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def edit(self, content: Raw) -> None:
        """Set the values. Raises UsageError if the part is gone."""
        there = _part(content, self.kind, self.id)
        before = answers(there)
        items = [each for each in questions(content) if each.get(self.kind) == self.id]
        for item in items if self.renamed else ():
            rename_answers(content, item, str(item.get("id")), self.renamed)
        if self.renamed:
            rename_answers(content, there, "", self.renamed)
        for key, value in self.entries.items():
            put_value(there, key, value)
        if answers(there) != before:
            fit_answers(there)
        if "section" in self.entries and items:
            join(content, items, "section")


@dataclass(frozen=True)
class MovePart:
    """A section or a matrix to move with its questions. step: 1 down, -1 up."""

    kind: str
    id: str
    step: int

    def edit(self, content: Raw) -> None:
        """Move it; at the end of the list it stays. Raises UsageError if it is gone, or conditions
        do not allow the new order."""
        _part(content, self.kind, self.id)
        whole = enumerate(whole_questions(content))
        places = [place for place, each in whole if each.get(self.kind) == self.id]
        if places and len(places) == places[-1] - places[0] + 1:
            move(content, range(places[0], places[-1] + 1), self.step)


@dataclass(frozen=True)
class RemovePart:
    """A section or a matrix to remove. Its questions stay, with what it stated for them."""

    kind: str
    id: str

    def edit(self, content: Raw) -> None:
        """Remove it. Raises UsageError if it is gone."""
        gone = _part(content, self.kind, self.id)
        for each, full in zip(questions(content), whole_questions(content), strict=True):
            if full.get(self.kind) == self.id:
                stated = own_keys(gone) if self.kind == "matrix" else {}
                each |= {key: value for key, value in stated.items() if key not in each}
                if self.kind == "section" and "asked_if" in gone:
                    each["asked_if"] = full["asked_if"]
                each.pop(self.kind, None)
        for each in parts(content, "matrix"):
            if self.kind == "section" and each.get("section") == self.id:
                del each["section"]
        left = [each for each in parts(content, self.kind) if each is not gone]
        put_tables(content, self.kind, left)


def _part(content: Raw, kind: str, id: str) -> Raw:
    if kind not in PARTS:
        raise UsageError.of("part", "shared.use-one-of", value=kind, choices=PARTS)
    there = part(content, kind, id)
    if there is None:
        raise UsageError.of(kind, "studio.gone")
    return there


def _shared_answers(asked: list[Raw]) -> Raw:
    """Return the keys that questions of a matrix share. Raises UsageError if they differ in one, or
    if one is in a matrix already."""
    if not asked:
        return {}
    shared = [{k: v for k, v in each.items() if k not in OF_QUESTION} for each in asked]
    for each, keys in zip(asked, shared, strict=True):
        if not same(keys, shared[0]) or "matrix" in each:
            ids = {"value": each["id"], "first": asked[0]["id"]}
            raise UsageError.of("matrix", "studio.unlike-answers", **ids)
    return shared[0]


def fits_matrix(asked: Raw) -> bool:
    """Return whether a question can be in a matrix: one with exactly one of some answers."""
    kind = type_of(asked)
    question = kind.without_wording(asked) if kind else None
    return question is not None and question.page_field.control == "one" and not question.wide


def own_keys(matrix: Raw) -> Raw:
    """Return what a matrix states for its questions."""
    return {key: value for key, value in matrix.items() if key not in MATRIX_KEYS}
