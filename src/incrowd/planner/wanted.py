"""The tables that a plan is made for."""

from __future__ import annotations

import math
from itertools import chain, combinations

from incrowd.estimation.regression.formula import model_of
from incrowd.estimation.regression.model import Model
from incrowd.survey import Survey
from incrowd.survey.crossings import cell_answers

Ids = tuple[str, ...]
FEW = 2  # times the cells of a model's parts, up to which its whole table is sent in their place


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


def parts(survey: Survey, model: Model) -> tuple[Ids, ...]:
    """The small tables that tell nearly all of a model, which has few questions in each term of its
    score: all pairs of its questions, and the outcome with the questions of each interaction.

    None, if the whole table has at most twice the cells of these together.
    """
    crossed = ({model.ids[0], *(v.question.id for v in each)} for each in model.interactions)
    found: list[Ids] = [*combinations(model.ids, 2)]
    found += [tuple(id for id in model.ids if id in each) for each in crossed if len(each) > 2]
    few = FEW * sum(cells(survey, ids) for ids in found)
    return tuple(dict.fromkeys(found)) if cells(survey, model.ids) > few else ()


def cells(survey: Survey, ids: Ids) -> int:
    """The combinations of answers to some questions."""
    return math.prod(len(cell_answers(survey.question(id))) for id in ids)


def _read_from(survey: Survey, model: Model) -> tuple[Ids, ...]:
    """Of a linear model the pairs of the outcome with each predictor, and where the survey fixes
    messages none of which holds all questions, those of predictors as well; of another the table
    of all questions, or the parts with the outcome; none, if that table is too large to be made."""
    outcome, *others = model.ids
    whole = any(group.holds(model.ids) for group in survey.messages)
    if model.fits_pairs and survey.messages and not whole:
        return tuple(combinations(model.ids, 2))
    if model.fits_pairs:
        return tuple((outcome, id) for id in others)
    if not model.fits_a_table:
        return ()
    return tuple(ids for ids in parts(survey, model) if ids[0] == outcome) or (model.ids,)
