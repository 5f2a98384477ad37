"""The people of a regression by what they answered in clear."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, product
from typing import NamedTuple

from incrowd.errors import InWords, ReportsError
from incrowd.estimation.regression.model import Levels, Model, Term
from incrowd.estimation.regression.variables import Variable
from incrowd.plans import Plan
from incrowd.plans.strata import Names, answers_in
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


def of_the_released(plan: Plan, model: Model, counted: Tally) -> Model:
    """A model without the levels in clear that none of the released people are known to be on.

    Raises ReportsError if fewer than two levels of a predictor are left, which explain nothing, or
    if nobody is on some levels of an interaction.
    """
    found = [each.levels for each in strata_by_answers(plan, model, counted)]
    clear = [each for each in model.predictors if each.question.id in model.open]
    left = model.without({each.name: _absent(each, found) for each in clear})
    for each in left.predictors:
        if each.counted.sum() < 2:
            only = ", ".join(compress(each.levels, each.counted)) or "nobody who answered"
            allowed = "it tells no released people apart; leave it out of the model"
            raise ReportsError.of(each.name, InWords(f"{only} alone was released"), allowed)
    for among in left.interactions:
        _check_there([each for each in among if each.question.id in model.open], found)
    return left


def _absent(variable: Variable, found: Sequence[Levels]) -> tuple[str, ...]:
    there = {variable.level_of(levels[variable.question.id]) for levels in found}
    return tuple(level for level in variable.levels if level not in there)


def _check_there(clear: Sequence[Variable], found: Sequence[Levels]) -> None:
    """Raises ReportsError if no released people are on some combination of levels."""
    there = {tuple(v.level_of(levels[v.question.id]) for v in clear) for levels in found}
    for wanted in product(*(compress(each.levels, each.counted) for each in clear)):
        if wanted not in there:
            said = Term(tuple(zip(clear, wanted, strict=True))).name
            allowed = "by itself; leave the interaction out of the model"
            raise ReportsError.of("on", InWords(f"nobody with {said} was released"), allowed)


def _levels(plan: Plan, clear: Sequence[Variable], names: Names) -> set[tuple[str, ...]]:
    """On which levels of some variables in clear the people of a release may be."""
    answers, ids = answers_in(plan.survey), [question.id for question in plan.survey.open]
    places = [ids.index(each.question.id) for each in clear]
    return {
        tuple(each.level_of(answers[name][at]) for each, at in zip(clear, places, strict=True))
        for name in names
    }


def present(plan: Plan, found: Sequence[Stratum], counted: Tally) -> float:
    """The share of the people who are in some strata."""
    people = sum(smallest(plan, each.counted.messages) for each in found)
    return min(people / smallest(plan, counted.messages), 1.0)
