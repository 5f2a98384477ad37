"""A model from the words of a person: `smoker`, `health=poor`, `age:smoker`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from incrowd.errors import UsageError, likely
from incrowd.estimation.regression.model import Family, Model
from incrowd.estimation.regression.variables import (
    Variable,
    against_others,
    overlapping,
    scores_of,
    whole,
)
from incrowd.survey import Amount, AnyQuestion, Number, Survey, Text, YesNo

FAMILIES: tuple[Family, ...] = ("logistic", "linear")
BETWEEN = ":"  # variables of an interaction
IS = "="  # a question and its answer


def model_of(
    survey: Survey,
    outcome: str,
    on: Sequence[str],
    *,
    reference: Mapping[str, str] | None = None,
    family: Family | None = None,
    scores: Sequence[float] | None = None,
    open: Collection[str] = (),
) -> Model:
    """The model that is meant. Raises UsageError for what cannot be.

    outcome, on: ids of questions, or QUESTION=ANSWER for one answer against all others; `a:b` is
    the interaction of two predictors. reference: for a question the answer with which the others
    are compared; by default its first. family: by default logistic for two levels, else linear.
    scores: the value of each answer to the outcome of a linear model; by default the middle of a
    bin. open: the questions that are asked in clear.
    """
    explained = _variable(survey, "outcome", outcome)
    singles = [text for text in on if not _parts(survey, text)]
    predictors = [_variable(survey, "on", text) for text in singles]
    _check_apart([explained, *predictors])
    named = dict(zip(singles, _with_references(predictors, reference or {}), strict=True))
    interactions = [_interaction(survey, text, named) for text in on if _parts(survey, text)]
    family = family or ("linear" if scores or _is_number(explained) else "logistic")
    if family not in FAMILIES:
        raise UsageError.of("family", family, f"use one of {', '.join(FAMILIES)}")
    _check_amounts(explained, predictors, family)
    values = _linear(explained, scores) if family == "linear" else _binary(explained, scores)
    hidden = frozenset(open)
    if explained.question.id in hidden:
        allowed = "it is asked in clear; the outcome should be a question with noise"
        raise UsageError.of("outcome", outcome, allowed)
    return Model(family, explained, values, tuple(named.values()), tuple(interactions), hidden)


def _variable(survey: Survey, field: str, text: str) -> Variable:
    known = {question.id: question for question in survey.questions}
    if question := known.get(text):
        return _whole(field, question)
    for place in (at for at, letter in enumerate(text) if letter == IS):
        if question := known.get(text[:place]):
            return _one_answer(field, question, text[place + 1 :])
    allowed = f"no question has this id; {likely(text, known)}use {', '.join(known)}"
    raise UsageError.of(field, text, allowed)


def _whole(field: str, question: AnyQuestion) -> Variable:
    if isinstance(question, Text):
        allowed = "it is a text question, of which reports tell no category; use another question"
        raise UsageError.of(field, question.id, allowed)
    if question.unlinked:
        allowed = "its set bits travel unlinked, so that no report tells an answer; use another"
        raise UsageError.of(field, question.id, allowed)
    if overlapping(question):
        allowed = f"its answers overlap; name one, as in {question.id}{IS}{question.answers[0]}"
        raise UsageError.of(field, question.id, allowed)
    return whole(question)


def _one_answer(field: str, question: AnyQuestion, answer: str) -> Variable:
    if answer not in question.answers:
        known = ", ".join(question.answers) or "another question: this one is text"
        raise UsageError.of(field, answer, f"it is no answer to {question.id}; use {known}")
    return against_others(question, answer)


def _parts(survey: Survey, text: str) -> list[str]:
    """The variables of an interaction; none, if the text names one variable."""
    names = [q.id for q in survey.questions]
    names += [f"{q.id}{IS}{answer}" for q in survey.questions for answer in q.answers]
    alone = text in names or BETWEEN not in text
    return [] if alone else [part.strip() for part in text.split(BETWEEN)]


def _interaction(survey: Survey, text: str, named: Mapping[str, Variable]) -> tuple[Variable, ...]:
    parts = _parts(survey, text)
    for part in parts:
        if part not in named:
            allowed = f"{part!r} should stand among the predictors by itself as well"
            raise UsageError.of("on", text, allowed)
    if len(set(parts)) < len(parts):
        raise UsageError.of("on", text, "should name each predictor once")
    return tuple(named[part] for part in parts)


def _check_apart(variables: Sequence[Variable]) -> None:
    """Raises UsageError if a question stands in a model twice, or if nothing explains."""
    if len(variables) == 1:
        raise UsageError.of("on", (), "name at least one predictor")
    ids = [variable.question.id for variable in variables]
    for id in ids:
        if ids.count(id) > 1:
            allowed = "it stands in the model more than once; use each question once"
            raise UsageError.of("on", id, allowed)


def _check_amounts(explained: Variable, predictors: Sequence[Variable], family: Family) -> None:
    """Raises UsageError for an amount that is more than an outcome: only its mean is kept."""
    right = family == "linear" and explained.name == explained.question.id
    for variable in predictors if right else (explained, *predictors):
        if isinstance(variable.question, Amount):
            allowed = (
                "of an amount only the mean is kept: it should be the outcome of a linear model; "
                "as a predictor use a question of type number"
            )
            raise UsageError.of("amount", variable.name, allowed)


def _with_references(
    predictors: Sequence[Variable], reference: Mapping[str, str]
) -> list[Variable]:
    """The predictors, compared with the levels that were asked for."""
    known = {variable.question.id: variable for variable in predictors}
    for id, answer in reference.items():
        if id not in known or known[id].name != id:
            whole = [variable.name for variable in predictors if variable.name in known]
            named = f"should be of {', '.join(whole)}" if whole else "leave it out"
            allowed = f"no predictor has all the answers of that question; {named}"
            raise UsageError.of("reference", f"{id}{IS}{answer}", allowed)
        if answer not in known[id].levels:
            allowed = f"{id} has no such answer; use one of {', '.join(known[id].levels)}"
            raise UsageError.of("reference", answer, allowed)
    return [_referring(variable, reference) for variable in predictors]


def _referring(variable: Variable, reference: Mapping[str, str]) -> Variable:
    level = reference.get(variable.question.id)
    return variable if level is None else replace(variable, reference=variable.levels.index(level))


def _is_number(variable: Variable) -> bool:
    return isinstance(variable.question, Number | Amount) and variable.name == variable.question.id


def _levels(variable: Variable) -> list[str]:
    return [level for level, held in zip(variable.levels, variable.counted, strict=True) if held]


def _binary(outcome: Variable, scores: Sequence[float] | None) -> tuple[float, ...]:
    """1 for the second level, which is yes or the answer that was named."""
    if scores:
        allowed = "a logistic model takes none; leave them out, or use family='linear'"
        raise UsageError.of("scores", list(scores), allowed)
    if len(levels := _levels(outcome)) != 2:
        id, (first, *_) = outcome.question.id, levels
        allowed = f"a logistic outcome has two levels; name an answer, as in {id}{IS}{first}"
        raise UsageError.of("outcome", id, allowed)
    return tuple(float(place == 1) for place in range(len(outcome.levels)))


def _linear(outcome: Variable, scores: Sequence[float] | None) -> tuple[float, ...]:
    """A number for each level; anything for those that are left out."""
    levels = _levels(outcome)
    found = tuple(scores or ())
    if not found and _is_number(outcome) and isinstance(outcome.question, Number | Amount):
        found = scores_of(outcome.question)
    if not found and (len(levels) == 2 or isinstance(outcome.question, YesNo)):
        found = (0.0, 1.0)
    if len(found) != len(levels):
        allowed = f"should be a number for each of {', '.join(levels)}"
        raise UsageError.of("scores", list(found), allowed)
    return (*found, *[0.0] * (len(outcome.levels) - len(levels)))
