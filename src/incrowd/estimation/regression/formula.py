"""A model from the words of a person: `smoker`, `health=poor`, `score(health)`, `age:smoker`."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from incrowd.errors import UsageError
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.variables import (
    Variable,
    against_others,
    predictor_scores,
    sloped,
    whole,
)
from incrowd.survey import Survey
from incrowd.survey.formulas import Family, Formula, Meant, Named, Penalty, formula_problems, meant


def model_of(survey: Survey, formula: Formula) -> Model:
    """The model that is meant. Raises UsageError for what cannot be."""
    questions = {question.id: question for question in survey.questions}
    if problems := tuple(formula_problems(formula, questions)):
        raise UsageError(*problems)
    found = meant(formula, questions)
    predictors = {text: _predictor(each, formula) for text, each in found.singles.items()}
    return Model(
        cast(Family, found.family),
        _variable(found.outcome),
        _values(formula, found),
        tuple(predictors.values()),
        tuple(tuple(predictors[text] for text in each) for each in found.interactions),
        frozenset(question.id for question in survey.open),
        cast(Penalty | None, formula.penalty),
    )


def _variable(found: Named) -> Variable:
    question, answer = found.question, found.answer
    return whole(question) if answer is None else against_others(question, answer)


def _predictor(found: Named, formula: Formula) -> Variable:
    """A predictor, with its scores or compared with the level that was asked for."""
    question = found.question
    if found.scored:
        stated = formula.predictor_scores.get(question.id)
        return sloped(question, stated or predictor_scores(question))
    variable, level = _variable(found), formula.reference.get(question.id)
    return variable if level is None else replace(variable, reference=variable.levels.index(level))


def _values(formula: Formula, found: Meant) -> tuple[float, ...]:
    """Of each level of the outcome; anything for those that are left out.

    Of two levels 1 for the second, which is yes or the answer that was named.
    """
    question, values = found.outcome.question, formula.scores or (0.0, 1.0)
    if found.family == "linear" and not formula.scores and found.outcome.is_number:
        values = question.values or ()
    return (*values, *[0.0] * (len(_variable(found.outcome).levels) - len(values)))
