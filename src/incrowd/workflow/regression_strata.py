"""The people of a regression by what they answered in clear."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from incrowd.errors import InWords, ReportsError
from incrowd.estimation.regression.model import Levels, Model
from incrowd.estimation.regression.variables import Variable
from incrowd.plans import Plan
from incrowd.plans.strata import Names, strata
from incrowd.tally.consistency import smallest
from incrowd.tally.tally import Tally


class Stratum(NamedTuple):
    """People who gave the same answers in clear: those, their counts, the releases they are in."""

    levels: Levels
    counted: Tally
    names: frozenset[Names]


def strata_by_answers(plan: Plan, model: Model, counted: Tally) -> list[Stratum]:
    """The people by what they answered in clear to the predictors of a model.

    Strata that were released as one and differ in it are left out. Raises ReportsError if all are.
    """
    clear = [each for each in model.predictors if each.question.id in model.open]
    if not clear:
        return [Stratum({}, counted, frozenset(counted.strata))]
    apart: dict[tuple[str, ...], list[Names]] = {}
    for names in counted.strata:
        said = _levels(plan, clear, names)
        if len(said) == 1:
            apart.setdefault(said.pop(), []).append(names)
    ids = [variable.question.id for variable in clear]
    if not apart:
        allowed = "they tell none of its answers apart; leave it out of the model"
        raise ReportsError.of(ids[0], InWords("strata were released as one"), allowed)
    return [
        Stratum(dict(zip(ids, levels, strict=True)), counted.only(names), frozenset(names))
        for levels, names in apart.items()
    ]


def _levels(plan: Plan, clear: Sequence[Variable], names: Names) -> set[tuple[str, ...]]:
    """On which levels of some variables in clear the people of a release may be."""
    asked = plan.survey.open
    answers = dict(zip(strata(plan.survey), product(*(q.answers for q in asked)), strict=True))
    places = [[question.id for question in asked].index(each.question.id) for each in clear]
    return {
        tuple(each.level_of(answers[name][at]) for each, at in zip(clear, places, strict=True))
        for name in names
    }


def present(plan: Plan, found: Sequence[Stratum], counted: Tally) -> float:
    """The share of the people who are in some strata."""
    people = sum(smallest(plan, each.counted.messages) for each in found)
    return min(people / smallest(plan, counted.messages), 1.0)
