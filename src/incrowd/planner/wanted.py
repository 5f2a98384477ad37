"""The tables that a plan is made for."""

from __future__ import annotations

import math
from itertools import chain, combinations

from incrowd.estimation.regression.formula import model_of
from incrowd.estimation.regression.model import Model
from incrowd.survey import Survey
from incrowd.survey.crossings import cell_answers
from incrowd.survey.question import QuestionIds

FEW = 2  # a model's whole table is sent if it has at most so many times the cells of its parts


def wanted_tables(survey: Survey) -> tuple[QuestionIds, ...]:
    """Return the tables whose errors a plan minimizes: those of the survey, then those of its
    regressions.

    Each table is listed once, with its randomized questions only.
    """
    of_models = (_model_tables(survey, model) for model in models(survey))
    tables = (*survey.counted, *chain.from_iterable(of_models))
    first: dict[frozenset[str], QuestionIds] = {}
    for ids in tables:
        first.setdefault(frozenset(ids), ids)
    return tuple(first.values())


def models(survey: Survey) -> list[Model]:
    """Return the models of the survey's regressions."""
    return [model_of(survey, formula) for formula in survey.regressions]


def parts(survey: Survey, model: Model) -> tuple[QuestionIds, ...]:
    """Return small tables with nearly all the information about a model, if its whole table is
    large.

    They are all pairs of its questions, and the outcome with the questions of each interaction.
    Empty if the whole table has at most twice as many cells as these tables together.
    """
    crossed = ({model.ids[0], *(v.question.id for v in each)} for each in model.interactions)
    tables: list[QuestionIds] = [*combinations(model.ids, 2)]
    tables += [tuple(id for id in model.ids if id in each) for each in crossed if len(each) > 2]
    few = FEW * sum(cells(survey, ids) for ids in tables)
    return tuple(dict.fromkeys(tables)) if cells(survey, model.ids) > few else ()


def cells(survey: Survey, ids: QuestionIds) -> int:
    """Return the number of combinations of answers to some questions."""
    return math.prod(len(cell_answers(survey.question(id))) for id in ids)


def _model_tables(survey: Survey, model: Model) -> tuple[QuestionIds, ...]:
    """Return the tables from which a regression is fitted.

    For a linear model: the pairs of the outcome with each predictor, and also the pairs of
    predictors if the survey fixes messages none of which has all questions. For any other model:
    the table of all questions, or its parts with the outcome; none if that table is too large.
    """
    outcome, *others = model.ids
    whole = any(group.holds(model.ids) for group in survey.messages)
    if model.fits_pairs and survey.messages and not whole:
        return tuple(combinations(model.ids, 2))
    if model.fits_pairs:
        return tuple((outcome, id) for id in others)
    if not model.fits_a_table:
        return ()
    return tuple(ids for ids in parts(survey, model) if ids[0] == outcome) or (model.ids,)
