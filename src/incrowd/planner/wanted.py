"""The tables that a plan is made for."""

from __future__ import annotations

from itertools import chain, combinations

from incrowd.estimation.regression.formula import model_of
from incrowd.estimation.regression.model import Model
from incrowd.survey import Survey

Ids = tuple[str, ...]


def weighed(survey: Survey) -> tuple[Ids, ...]:
    """The tables whose errors a plan makes small: the wanted ones, then those that the wanted
    regressions are read from. Of the randomized questions, each table once."""
    read = (_read_from(survey, model) for model in models(survey))
    tables = (*survey.counted, *chain.from_iterable(read))
    first: dict[frozenset[str], Ids] = {}
    for ids in tables:
        first.setdefault(frozenset(ids), ids)
    return tuple(first.values())


def models(survey: Survey) -> list[Model]:
    """Those of the wanted regressions."""
    return [model_of(survey, formula) for formula in survey.regressions]


def _read_from(survey: Survey, model: Model) -> tuple[Ids, ...]:
    """Of a linear model the pairs of the outcome with each predictor, and where the survey fixes
    messages none of which holds all questions, those of predictors as well; of another the table
    of all questions; none, if that is too large to be made."""
    outcome, *others = model.ids
    whole = any(group.holds(model.ids) for group in survey.messages)
    if model.fits_pairs and survey.messages and not whole:
        return tuple(combinations(model.ids, 2))
    if model.fits_pairs:
        return tuple((outcome, id) for id in others)
    return (model.ids,) if model.fits_a_table else ()
