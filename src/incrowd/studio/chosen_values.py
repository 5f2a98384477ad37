"""The values on the page of precision: as typed, in a survey, and in the text of its file.

A slider changes nothing in the file. What a survey with the typed values promises is computed from
the same changes that are written when the values are kept.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import tomlkit

from incrowd.errors import Problem, SurveyError, UsageError
from incrowd.studio.edits import set_value
from incrowd.studio.projects import Project
from incrowd.survey import Survey
from incrowd.survey.options_files import with_options

Keys = tuple[str, ...]
Typed = Mapping[str, str]
PERCENT = 100


class Field(NamedTuple):
    """One value: its name on the page, its keys in the file, and whether it is a whole number."""

    name: str
    keys: Keys
    whole: bool
    optional: bool = False


FIELDS = (
    Field("crowd", ("crowd",), True),
    Field("epsilon", ("privacy", "epsilon"), False),
    Field("delta", ("privacy", "delta"), False),
    Field("local_epsilon", ("privacy", "local_epsilon"), False, optional=True),
    Field("reports_per_person", ("reports_per_person",), True, optional=True),
)


def parsed(text: str, project: Project) -> dict[str, Any]:
    """The content of a survey's text. Raises SurveyError if it is not TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        allowed = f"it is not TOML: {error}; correct it there"
        raise SurveyError.of("survey", str(project.survey_path), allowed) from None


def survey_of(raw: Mapping[str, Any], project: Project) -> Survey:
    """The survey with some content, with the files of options beside it. Raises SurveyError."""
    filled, missing = with_options(raw, project.path)
    if missing:
        raise SurveyError(*missing)
    return Survey.of(filled)


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


def with_typed(raw: Mapping[str, Any], typed: Typed) -> dict[str, Any]:
    """The content of a file with the typed values. Raises UsageError for what is not a number."""
    changed = {**raw, "privacy": dict(raw.get("privacy", {}))}
    for keys, value in _values(typed).items():
        table = changed["privacy"] if len(keys) > 1 else changed
        table.pop(keys[-1], None)
        if value is not None:
            table[keys[-1]] = value
    questions = [dict(question) for question in raw.get("question", ())]
    for question, shares in zip(questions, _shares(questions, typed), strict=True):
        question.pop("shares", None)
        if shares:
            question["shares"] = shares
    return changed | ({"question": questions} if questions else {})


def text_with_typed(text: str, raw: Mapping[str, Any], typed: Typed) -> str:
    """The text of a file with the typed values; everything else in it, and equal values, stay."""
    for keys, value in _values(typed).items():
        if value != _value(raw, keys):
            text = set_value(text, keys, value)
    questions = raw.get("question", ())
    for number, shares in enumerate(_shares(questions, typed)):
        if shares != questions[number].get("shares", {}):
            text = _with_shares(text, number, shares)
    return text


def _values(typed: Typed) -> dict[Keys, float | int | None]:
    """The typed values by their keys; None for one that is left empty. Raises UsageError."""
    values: dict[Keys, float | int | None] = {}
    problems: list[Problem] = []
    for field in FIELDS:
        if field.name not in typed:
            continue
        text = typed[field.name].strip()
        number = _number(text)
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


def _shares(questions: Iterable[Mapping[str, Any]], typed: Typed) -> list[dict[str, float]]:
    """The expected shares of each question; those of a question without fields stay."""
    return [_shares_of(number, question, typed) for number, question in enumerate(questions)]


def _shares_of(number: int, question: Mapping[str, Any], typed: Typed) -> dict[str, float]:
    stated: dict[str, float] = dict(question.get("shares", {}))
    for place, answer in enumerate(_answers(question)):
        text = typed.get(share_name(number, place))
        if text is None or text.strip() == _percent(stated.get(answer)):
            continue
        stated.pop(answer, None)
        if text.strip():
            share = _number(text.strip().rstrip("%"))
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


def _with_shares(text: str, question: int, shares: Mapping[str, float]) -> str:
    document: Any = tomlkit.parse(text)
    table = document["question"][question]
    table.pop("shares", None)
    if shares:
        inline = tomlkit.inline_table()
        inline.update(shares)
        table["shares"] = inline
    return tomlkit.dumps(document)


def _value(raw: Mapping[str, Any], keys: Keys) -> Any:
    value: Any = raw
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _number(text: str) -> float | None:
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
