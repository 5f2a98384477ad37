"""Formulas: which regression is requested, its model, and formulas that work where one does not.

A formula is written as in `smokes ~ age + health=poor + score(income) + age:sex`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from incrowd.catalog.sentences import sentence, translatable
from incrowd.errors import UsageError
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.results import ModelFit
from incrowd.estimation.regression.variables import (
    ModelVariable,
    against_others,
    predictor_scores,
    sloped,
    whole,
)
from incrowd.methods import Family, Penalty
from incrowd.survey import Survey
from incrowd.survey.formulas import (
    BETWEEN,
    IS,
    Formula,
    Meant,
    NamedAnswers,
    formula_problems,
    meant,
    named,
    scored,
)
from incrowd.survey.merging import Merge, merged_answers, merged_questions
from incrowd.survey.question import MERGED

TILDE = "~"  # between the outcome and its predictors
_PLUS = re.compile(r"\s+\+\s+")  # between predictors; an answer may be called 18+
MergedGroups = Mapping[
    str, Mapping[str, tuple[str, ...]]
]  # by question: answers, by their merged name


def formula_of(
    survey: Survey,
    outcome: str | None,
    on: Sequence[str] | None,
    reference: Mapping[str, str] | None = None,
    family: str | None = None,
    scores: Sequence[float] | None = None,
    predictor_scores: Mapping[str, Sequence[float]] | None = None,
    merge: Merge | None = None,
    penalty: str | None = None,
) -> Formula:
    """Return the requested formula. The other arguments override what the survey says.

    outcome may be a whole formula, such as "smokes ~ age + sex"; then there is no `on`. Without
    `on`, the formula is the survey's only regression, or its only one with that outcome. Raises
    UsageError if there is no such regression, or more than one.
    """
    outcome, on = _parsed(survey, outcome, on)
    options = {
        "reference": dict(reference or {}),
        "family": family,
        "scores": () if scores is None else tuple(scores),
        "predictor_scores": dict(predictor_scores or {}),
        "merge": dict(merge or {}),
        "penalty": penalty,
    }
    given = {name: value for name, value in options.items() if value}
    if outcome is not None and on is not None:
        written = Formula.model_construct(outcome=outcome, on=tuple(on))
        return written.model_copy(update=given)
    wanted = [each for each in survey.regressions if outcome in (None, each.outcome)]
    if on is None and len(wanted) == 1:
        return wanted[0].model_copy(update=given)
    raise UsageError.of(
        "outcome" if outcome is None else "on",
        "estimation.no-formula",
        regressions=[f"'{each}'" for each in survey.regressions] or sentence("shared.none"),
    )


def _parsed(
    survey: Survey, outcome: str | None, on: Sequence[str] | None
) -> tuple[str | None, Sequence[str] | None]:
    """Return the outcome and predictors of a formula such as "smokes ~ age + sex:age"; anything
    else is returned as it is."""
    questions = {question.id: question for question in survey.questions}
    if outcome is None or TILDE not in outcome or named(outcome, questions):
        return outcome, on
    if on is not None:
        raise UsageError.of("on", "estimation.predictors-twice", value=list(on), formula=outcome)
    explained, _, predictors = outcome.partition(TILDE)
    terms = _PLUS.split(predictors.strip())
    if not explained.strip() or not all(terms):
        raise UsageError.of("outcome", "estimation.not-a-formula", value=outcome)
    return explained.strip(), terms


def model_of(survey: Survey, formula: Formula) -> Model:
    """Return the model of a formula. Raises UsageError for an impossible formula."""
    questions = {question.id: question for question in survey.questions}
    if problems := tuple(formula_problems(formula, questions)):
        raise UsageError(*problems)
    parts = meant(formula, questions)
    predictors = {text: _predictor(each, formula) for text, each in parts.singles.items()}
    outcome = _variable(parts.outcome)
    return Model(
        cast(Family, parts.family),
        outcome,
        _scores(formula, parts, len(outcome.levels)),
        tuple(predictors.values()),
        tuple(tuple(predictors[text] for text in each) for each in parts.interactions),
        frozenset(question.id for question in survey.open),
        cast(Penalty | None, formula.penalty),
    )


def _variable(name: NamedAnswers) -> ModelVariable:
    question, answer = name.question, name.answer
    return whole(question) if answer is None else against_others(question, answer)


def _predictor(name: NamedAnswers, formula: Formula) -> ModelVariable:
    """Return a predictor with its scores, or with its reference level."""
    question = name.question
    if name.scored:
        stated = formula.predictor_scores.get(question.id)
        return sloped(question, stated or predictor_scores(question))
    variable, level = _variable(name), formula.reference.get(question.id)
    return variable if level is None else replace(variable, reference=variable.levels.index(level))


def _scores(formula: Formula, parts: Meant, levels: int) -> tuple[float, ...]:
    """Return the score of each level of the outcome; arbitrary for levels that are left out.

    Of two levels the second has 1: yes, or the answer that was named.
    """
    scores = formula.scores or (0.0, 1.0)
    if parts.family == "linear" and not formula.scores and parts.outcome.is_number:
        scores = parts.outcome.question.values or ()
    return (*scores, *[0.0] * (levels - len(scores)))


# --- ways out of separation -------------------------------------------------------------------


class WayOut(NamedTuple):
    """A formula that can be estimated in place of another, and how to request it."""

    words: str
    formula: Formula


def ways_out(
    survey: Survey, formula: Formula, refused: ModelFit, fitted: Callable[[Formula], ModelFit]
) -> Iterator[WayOut]:
    """Yield the ways out of separation that work: merged answers, one slope. Firth's penalty, which
    needs no other model, is not among them.

    refused: the fit of the formula. fitted: fits another formula.
    """
    if not refused.separated or formula.penalty:
        return
    candidates = [
        _merged(survey, formula, refused, fitted),
        *(_scored(survey, formula, id) for id in dict.fromkeys(id for id, _ in refused.separated)),
    ]
    yield from (way for way in candidates if way and not fitted(way.formula).reason)


def _merged(
    survey: Survey, formula: Formula, refused: ModelFit, fitted: Callable[[Formula], ModelFit]
) -> WayOut | None:
    """Return the formula with each unseen answer merged with its neighbor, until all are seen."""
    groups: MergedGroups = {id: dict(merged_answers(each)) for id, each in formula.merge.items()}
    before, changed = groups, formula
    while refused.separated:
        step = next(_merged_further(survey, formula, groups, refused), None)
        if step is None:
            return None
        groups = {**groups, **step}
        questions = merged_questions(survey.questions, groups)
        read_as = {id: questions[id].read_as(level) for id, level in formula.reference.items()}
        reference = {id: level for id, level in read_as.items() if level in questions[id].answers}
        changed = formula.model_copy(update={"merge": groups, "reference": reference})
        refused = fitted(changed)
    each = [
        f'"{id}: {MERGED.join(answers)}"'
        for id, named in groups.items()
        for name, answers in named.items()
        if name not in before.get(id, {})
    ]
    return WayOut(translatable("estimation.merge-answers", groups=each), changed)


def _merged_further(
    survey: Survey, formula: Formula, groups: MergedGroups, refused: ModelFit
) -> Iterator[MergedGroups]:
    """Yield, for each question with an unseen answer, its groups with one more merge."""
    questions = merged_questions(survey.questions, groups)
    for id, level in refused.separated:
        levels = questions[id].substantive
        if id not in formula.on or level not in levels or len(levels) < 3:
            continue  # one answer against all others, a slope, or only two groups
        place = levels.index(level)
        outward = place - 1 if place < len(levels) / 2 else place + 1
        other = outward if 0 <= outward < len(levels) else 2 * place - outward
        named = dict(groups.get(id, {}))
        parts = [named.pop(levels[each], (levels[each],)) for each in sorted((place, other))]
        answers = (*parts[0], *parts[1])
        yield {id: {**named, MERGED.join(answers): answers}}


def _scored(survey: Survey, formula: Formula, id: str) -> WayOut | None:
    """Return the formula with one slope in place of the levels of a predictor."""
    question = merged_questions(survey.questions, formula.merge)[id]
    if id not in formula.on or question.rounded or not question.exclusive:
        return None
    if question.merged or len(question.substantive) < 3:
        return None

    def replaced(text: str) -> str:
        return BETWEEN.join(scored(id) if part == id else part for part in text.split(BETWEEN))

    on = tuple(text if IS in text else replaced(text) for text in formula.on)
    reference = {key: level for key, level in formula.reference.items() if key != id}
    words = translatable("estimation.one-slope", question=id, predictor=scored(id))
    return WayOut(words, formula.model_copy(update={"on": on, "reference": reference}))
