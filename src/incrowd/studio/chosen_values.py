"""The values on the page of precision: as typed, and as a change of the survey.

A slider changes nothing in the file. What a survey with the typed values promises is computed from
the same change that is written when the values are kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from incrowd.errors import Problem, UsageError
from incrowd.studio.edits import Changes, SetQuestion, SetValue, SurveyChange, questions
from incrowd.studio.survey_text import Raw

ValuePath = tuple[str, ...]
Typed = Mapping[str, str]
PERCENT = 100


class Field(NamedTuple):
    """One value: its name on the page, its keys in the file, and whether it is a whole number."""

    name: str
    keys: ValuePath
    whole: bool
    optional: bool = False


FIELDS = (
    Field("crowd", ("crowd",), True),
    Field("epsilon", ("privacy", "epsilon"), False),
    Field("delta", ("privacy", "delta"), False),
    Field("local_epsilon", ("privacy", "local_epsilon"), False, optional=True),
    Field("reports_per_person", ("reports_per_person",), True, optional=True),
)


def typed_values(raw: Mapping[str, Any]) -> dict[str, str]:
    """What the fields of the page show for the content of a file."""
    typed = {each.name: _shown(_value(raw, each.keys)) for each in FIELDS}
    for number, question in enumerate(raw.get("question", ())):
        shares = question.get("shares", {}) if isinstance(question, dict) else {}
        for place, answer in enumerate(_answers(question)):
            typed[share_name(number, place)] = _percent(shares.get(answer))
    return typed


def share_name(question: int, answer: int) -> str:
    """The name of the field of the expected share of an answer, by their numbers."""
    return f"share-{question}-{answer}"


def typed_change(raw: Raw, typed: Typed) -> SurveyChange:
    """The change that writes the typed values into a survey; equal values stay as they are.

    Raises UsageError for what is not a number.
    """
    values = _values(typed).items()
    changes: list[SurveyChange] = [
        SetValue(keys, value) for keys, value in values if value != _value(raw, keys)
    ]
    for asked, shares in zip(questions(raw), _shares(raw, typed), strict=True):
        if shares != asked.get("shares", {}):
            changes.append(SetQuestion(asked["id"], {"shares": shares or None}))
    return Changes(tuple(changes))


def _values(typed: Typed) -> dict[ValuePath, float | int | None]:
    """The typed values by their keys; None for one that is left empty. Raises UsageError."""
    values: dict[ValuePath, float | int | None] = {}
    problems: list[Problem] = []
    for field in FIELDS:
        if field.name not in typed:
            continue
        text = typed[field.name].strip()
        number = number_in(text)
        if not text and field.optional:
            values[field.keys] = None
        elif number is None or (field.whole and number != int(number)):
            kind = "a whole number, such as 5000" if field.whole else "a number, such as 0.5"
            problems.append(Problem(".".join(field.keys), text, f"should be {kind}"))
        else:
            values[field.keys] = int(number) if field.whole else number
    if problems:
        raise UsageError(*problems)
    return values


def _shares(raw: Raw, typed: Typed) -> list[dict[str, float]]:
    """The expected shares of each question; those of a question without fields stay."""
    return [_shares_of(number, asked, typed) for number, asked in enumerate(questions(raw))]


def _shares_of(number: int, question: Mapping[str, Any], typed: Typed) -> dict[str, float]:
    stated: dict[str, float] = dict(question.get("shares", {}))
    for place, answer in enumerate(_answers(question)):
        text = typed.get(share_name(number, place))
        if text is None or text.strip() == _percent(stated.get(answer)):
            continue
        stated.pop(answer, None)
        if text.strip():
            share = number_in(text.strip().rstrip("%"))
            if share is None:
                allowed = f"the expected share of {answer!r} should be a percentage, such as 30"
                raise UsageError.of(f"shares of {question.get('id', '')}", text, allowed)
            stated[answer] = round(share / PERCENT, 8)
    return stated


def _answers(question: Any) -> tuple[str, ...]:
    """The answers whose shares can be typed: those of questions with few answers."""
    if not isinstance(question, dict) or question.get("open"):
        return ()
    if question.get("type") == "yesno" and not question.get("optional"):
        return ("no", "yes")
    options = question.get("options", ()) if question.get("type") == "choice" else ()
    return tuple(options) if len(options) <= MOST_SHARES else ()


MOST_SHARES = 12


def _value(raw: Mapping[str, Any], keys: ValuePath) -> Any:
    value: Any = raw
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def number_in(text: str) -> float | None:
    """The number that was typed, with a point or a comma; None if it is not a finite one."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def _percent(share: Any) -> str:
    if not isinstance(share, int | float):
        return ""
    return f"{PERCENT * share:.10g}"


class ShareFields(NamedTuple):
    """The fields for the expected shares of one question: names and answers."""

    question: str
    fields: tuple[tuple[str, str], ...]


def share_fields(raw: Mapping[str, Any]) -> tuple[ShareFields, ...]:
    """The fields for expected shares, for each question that has any."""
    return tuple(
        ShareFields(
            str(question.get("id", "")),
            tuple((share_name(number, place), each) for place, each in enumerate(answers)),
        )
        for number, question in enumerate(raw.get("question", ()))
        if (answers := _answers(question))
    )
