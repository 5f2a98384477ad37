"""The forms of a question type: how people answer it, and how the studio designs it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Texts = Mapping[str, str]  # one text by language; there is always an English one


class PageField(NamedTuple):
    """The field of a question on the survey page.

    control: what people answer with, one of those in `collection/page/static/controls.js`: "one"
    or "several" of `answers`, a number that counts as its "range" or as one of the two "edges"
    around it, or a "word". answers: in the order in which people read them; empty for the options
    that the survey lists. most: how many can be chosen. hint: a text below every question of the
    type.
    """

    control: str
    answers: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    most: int = 1
    hint: Texts = MappingProxyType({})


class KeyInput(NamedTuple):
    """The input of the studio for one key of a question.

    key: in the survey file; it means the same in every type that has it. kind: "lines" for a list
    of texts, "numbers" for a list of numbers, or "count" for a whole number. default: the default
    of a new question.
    """

    key: str
    kind: Literal["lines", "numbers", "count"]
    label: Texts
    default: Any


class DesignForm(NamedTuple):
    """The form in which the studio designs questions of a type.

    name: the label in the list of types. about: an explanation below it. inputs: for the keys that
    only this type has.
    """

    name: Texts
    about: Texts
    inputs: tuple[KeyInput, ...] = ()


OPTIONS = KeyInput(
    "options",
    "lines",
    {"en": "Answers, one per line", "de": "Antworten, eine je Zeile"},
    ("A", "B"),
)
EDGES = KeyInput(
    "edges",
    "numbers",
    {
        "en": "Limits of the ranges, such as 0, 18, 65",
        "de": "Grenzen der Bereiche, etwa 0, 18, 65",
    },
    (0, 10, 20),
)
