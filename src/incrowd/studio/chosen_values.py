"""Values of a survey as people type them in forms, and the operations that write them.

Text that is not a number is written as it was typed: the survey says what is wrong with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from incrowd.characters import on_one_line
from incrowd.studio.document import Operation, Raw
from incrowd.studio.operations import SetQuestion, SetValue, answers, whole_questions
from incrowd.survey.questions import type_of
from incrowd.survey.words import LANGUAGE
from incrowd.survey.written import LEAST

Typed = Mapping[str, str]
PERCENT = 100
YES = "yes"  # in the field of a value that is true or not stated
MOST_SHARES = 12  # answers whose expected shares can be typed


class ValueField(NamedTuple):
    """A value of the survey as a whole: its name in forms, and its keys in the file.

    kind: the kind of the value, as it is typed. default: what no value means.
    """

    name: str
    keys: tuple[str, ...]
    kind: type
    default: Any = None


VALUES = (
    ValueField("name", ("name",), str),
    ValueField("language", ("language",), str, LANGUAGE),
    ValueField("crowd", ("crowd",), int),
    ValueField("rounds", ("rounds",), int, 1),
    ValueField("rows_per_person", ("rows_per_person",), int, 1),
    ValueField("colluding", ("colluding",), int, 0),
    ValueField("reports_per_person", ("reports_per_person",), int),
    ValueField("least", ("least",), int, LEAST),
    ValueField("census", ("census",), bool),
    ValueField("epsilon", ("privacy", "epsilon"), float),
    ValueField("delta", ("privacy", "delta"), float),
    ValueField("local_epsilon", ("privacy", "local_epsilon"), float),
    ValueField("noise", ("privacy", "noise"), str, "devices"),
    ValueField("service_epsilon", ("privacy", "service_epsilon"), float),
)

_GROUPED = re.compile(r"\d{1,3}([.,\s_']\d{3})+")


def number(text: str, kind: type = float) -> float | int | str:
    """Return the number that was typed, with a point or a comma; the text if it is not a finite
    one."""
    text = text.strip()
    plain = re.sub(r"\D", "", text) if kind is int and _GROUPED.fullmatch(text) else text
    try:
        value = float(plain.replace(",", "."))
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    return int(value) if kind is int and value.is_integer() else value


def typed_values(content: Raw) -> dict[str, str]:
    """Return the text of each field for the content of a file."""
    typed = {each.name: _shown(_value(content, each.keys)) for each in VALUES}
    for place, asked in enumerate(whole_questions(content)):
        shares = asked.get("shares", {})
        for number, answer in enumerate(_answers(asked)):
            typed[share_name(place, number)] = _percent(shares.get(answer))
    return typed


def share_name(question: int, answer: int) -> str:
    """Return the name of the field of the expected share of an answer, by their numbers."""
    return f"share-{question}-{answer}"


def value_operations(content: Raw, typed: Typed) -> list[Operation]:
    """Return the operations that write typed values of the survey as a whole, if they differ."""
    operations: list[Operation] = []
    for each in VALUES:
        if each.name in typed:
            new = _read(typed[each.name].strip(), each.kind)
            now = _value(content, each.keys)
            if new != now and (new, now) != (each.default, None):
                operations.append(SetValue(each.keys, new))
    return operations


def _read(text: str, kind: type) -> Any:
    """Return the value of a field; None for an empty one."""
    if not text:
        return None
    if kind is bool:
        return True if text == YES else text
    return on_one_line(text) if kind is str else number(text, kind)


def share_operations(content: Raw, typed: Typed) -> list[Operation]:
    """Return the operations that write typed shares into a valid survey, if they differ."""
    return [
        SetQuestion(asked["id"], {"shares": shares or None})
        for place, asked in enumerate(whole_questions(content))
        if (shares := _shares(place, asked, typed)) != asked.get("shares", {})
    ]


def _shares(place: int, asked: Raw, typed: Typed) -> dict[str, Any]:
    """Return the expected shares of a question, with those that were typed."""
    stated: dict[str, Any] = dict(asked.get("shares", {}))
    for number_of, answer in enumerate(_answers(asked)):
        text = typed.get(share_name(place, number_of))
        if text is None or text.strip() == _percent(stated.get(answer)):
            continue
        stated.pop(answer, None)
        if text.strip():
            share = number(text.strip().rstrip("%"))
            stated[answer] = share if isinstance(share, str) else round(share / PERCENT, 8)
    return stated


def _answers(asked: Raw) -> tuple[str, ...]:
    """Return the answers whose shares can be typed: those of questions with few answers."""
    if asked.get("open"):
        return ()
    kind = type_of(asked)
    listed = answers(asked) if kind and kind.named and kind.exclusive else ()
    return listed if len(listed) <= MOST_SHARES else ()


def _value(content: Raw, keys: tuple[str, ...]) -> Any:
    value: Any = content
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return YES if value else ""
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def _percent(share: Any) -> str:
    if not isinstance(share, int | float):
        return "" if share is None else str(share)
    return f"{PERCENT * share:.10g}"


class ShareFields(NamedTuple):
    """The fields for the expected shares of one question: names and answers."""

    question: str
    fields: tuple[tuple[str, str], ...]


def share_fields(content: Raw) -> tuple[ShareFields, ...]:
    """Return the fields for expected shares, for each question that has any."""
    return tuple(
        ShareFields(
            str(asked.get("id", "")),
            tuple((share_name(place, number), each) for number, each in enumerate(answers)),
        )
        for place, asked in enumerate(whole_questions(content))
        if (answers := _answers(asked))
    )
