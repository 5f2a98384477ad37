"""The regressions of a raw survey: what is wrong with them, and which questions they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import ValidationError

from incrowd.errors import Problem
from incrowd.survey.formulas import BETWEEN, IS, Formula, Questions, formula_problems, meant
from incrowd.survey.questions import TYPES

Raw = Mapping[str, Any]


class Wanted(NamedTuple):
    """A regression of a raw survey. field: where it stands. closed: what reports tell of it."""

    field: str
    problems: tuple[Problem, ...]
    closed: tuple[str, ...]


def wanted_regressions(questions: Sequence[Raw], regressions: Sequence[Raw]) -> Iterator[Wanted]:
    """Those that can be understood, for they name no question that is itself a mistake."""
    if not regressions:
        return
    known = {question["id"]: _read(question) for question in questions}
    right = {id: question for id, question in known.items() if question is not None}
    for number, raw in enumerate(regressions, 1):
        formula = _formula(raw)
        if formula and not _names(formula, known.keys() - right.keys()):
            yield _wanted(f"regression[{number}]", formula, right)


def _wanted(field: str, formula: Formula, questions: Questions) -> Wanted:
    found = formula_problems(formula, questions)
    problems = tuple(replace(each, field=f"{field}.{each.field}") for each in found)
    asked = () if problems else meant(formula, questions).questions
    return Wanted(field, problems, tuple(each.id for each in asked if not each.open))


def _read(raw: Raw) -> Any:
    """A question; None if it has a mistake of its own."""
    kind = TYPES.get(raw.get("type", ""))
    try:
        return kind and kind.model_validate(raw)
    except ValidationError:
        return None


def _formula(raw: Raw) -> Formula | None:
    try:
        return Formula.model_validate(raw)
    except ValidationError:
        return None


def _names(formula: Formula, ids: set[str]) -> bool:
    """Whether a formula may be about one of these questions."""
    texts = (part.strip() for text in formula.on for part in text.split(BETWEEN))
    return any(text.split(IS)[0] in ids for text in (formula.outcome, *texts))
