"""Formulas of regressions, as people write them.

`smoker` is a question, `health=poor` one of its answers against all others, `score(health)` one
slope over all its answers, `age:smoker` the interaction of two predictors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from incrowd.catalog.sentences import likely, sentence
from incrowd.errors import Problem
from incrowd.methods import FAMILIES, PENALTIES
from incrowd.survey.asking import answers_of_asked, decided
from incrowd.survey.merging import merge_problems, merged_questions
from incrowd.survey.question import NOT_ASKED, AnyQuestion
from incrowd.survey.toml import Frozen, Real

QuestionsById = Mapping[str, AnyQuestion]

BETWEEN = ":"  # variables of an interaction
IS = "="  # a question and its answer
OTHERS = "any other"  # all answers but one
SCORE = "score({})"  # of the answers to a question


def scored(id: str) -> str:
    """Return a question as a predictor with one slope over the scores of its answers."""
    return SCORE.format(id)


def _none(value: object) -> bool:
    return not value


class Formula(Frozen):
    """A wanted regression.

    outcome, on: the outcome and its predictors. reference: for a predictor, the answer that the
    others are compared with; by default its first. family: by default logistic for two levels,
    otherwise linear. scores: the value of each answer to the outcome of a linear model; by default
    the middle of a bin. predictor_scores: the same for predictors `score(...)`; by default the
    middle of a bin, or 1, 2, 3 and so on. merge: for some questions groups of answers that are read
    as one, or a name for each group. penalty: "firth" for Firth's penalized likelihood.
    """

    outcome: str = Field(min_length=1)
    on: tuple[str, ...] = Field(min_length=1)
    reference: dict[str, str] = Field(default_factory=dict, exclude_if=_none)
    family: str | None = Field(default=None, exclude_if=_none)
    scores: tuple[Real, ...] = Field(default=(), exclude_if=_none)
    predictor_scores: dict[str, tuple[Real, ...]] = Field(default_factory=dict, exclude_if=_none)
    merge: dict[str, dict[str, tuple[str, ...]] | tuple[tuple[str, ...], ...]] = Field(
        default_factory=dict, exclude_if=_none
    )
    penalty: str | None = Field(default=None, exclude_if=_none)

    def __hash__(self) -> int:
        """Hash outcome and predictors only: tables are not hashable."""
        return hash((self.outcome, self.on))

    def __str__(self) -> str:
        return f"{self.outcome} on {', '.join(self.on)}"


class NamedAnswers(NamedTuple):
    """A question of a regression, one answer to it against all others, or its score."""

    question: AnyQuestion
    answer: str | None = None
    scored: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        """The categories of the variable, without "no answer"."""
        return self.question.substantive if self.answer is None else (OTHERS, self.answer)

    def level(self, answer: str) -> str:
        """Return the category of somebody who gave that answer of a record."""
        answer = self.question.read_as(answer)
        return answer if self.answer in (None, answer) else OTHERS

    @property
    def is_number(self) -> bool:
        """Whether its levels are numbers."""
        return self.answer is None and self.question.of_numbers and not self.question.merged

    @property
    def whole(self) -> bool:
        """Whether each level has a coefficient, except the reference."""
        return self.answer is None and not self.scored


class Meant(NamedTuple):
    """A parsed formula. singles: the predictors that are not interactions, by their text."""

    outcome: NamedAnswers
    singles: Mapping[str, NamedAnswers]
    interactions: tuple[tuple[str, ...], ...]
    family: str

    @property
    def questions(self) -> tuple[AnyQuestion, ...]:
        """The question of the outcome, then those of the predictors."""
        return tuple(each.question for each in (self.outcome, *self.singles.values()))


def named_id(text: str, ids: Collection[str]) -> str | None:
    """Return the id of the question that a variable is about, or None.

    `q`, `score(q)`, and `q=answer` are about `q`. If several ids precede an equals sign, it is the
    shortest.
    """
    if text in ids:
        return text
    if score := next((id for id in ids if text == scored(id)), None):
        return score
    return min((id for id in ids if text.startswith(f"{id}{IS}")), key=len, default=None)


def named(text: str, questions: QuestionsById) -> NamedAnswers | None:
    """Parse the name of a question, of one of its answers, or of its score; None if it has none."""
    id = named_id(text, questions.keys())
    if id is None:
        return None
    if text == id:
        return NamedAnswers(questions[id])
    if text == scored(id):
        return NamedAnswers(questions[id], scored=True)
    return NamedAnswers(questions[id], text.removeprefix(f"{id}{IS}"))


def parts(text: str, questions: QuestionsById) -> tuple[str, ...]:
    """Return the variables of an interaction; empty if the text names one variable."""
    variable = named(text, questions)
    alone = variable and (variable.answer is None or variable.answer in variable.question.answers)
    return () if alone or BETWEEN not in text else tuple(map(str.strip, text.split(BETWEEN)))


def meant(formula: Formula, questions: QuestionsById) -> Meant:
    """Return what a formula without problems says."""
    questions = merged_questions(tuple(questions.values()), formula.merge)
    outcome = named(formula.outcome, questions)
    singles = {text: each for text in formula.on if (each := _single(text, questions))}
    crossed = tuple(filter(None, (parts(text, questions) for text in formula.on)))
    assert outcome is not None
    linear = formula.scores or outcome.is_number
    family = formula.family or ("linear" if linear else "logistic")
    return Meant(outcome, singles, crossed, family)


def _single(text: str, questions: QuestionsById) -> NamedAnswers | None:
    return None if parts(text, questions) else named(text, questions)


# Mistakes in formulas.

CLOSE = 1e-6  # tolerance of a sum of shares that should be 1


def formula_problems(formula: Formula, questions: QuestionsById) -> Iterator[Problem]:
    """Yield the mistakes in a formula. If it has unknown names, only those."""
    if unmerged := tuple(merge_problems(questions, formula.merge)):
        yield from unmerged
        return
    questions = merged_questions(tuple(questions.values()), formula.merge)
    singles = [text for text in formula.on if not parts(text, questions)]
    places = [("outcome", formula.outcome), *(("on", text) for text in singles)]
    unknown = [each for place in places for each in _name_problems(*place, questions)]
    if unknown:
        yield from unknown
        return
    if not formula.on:
        yield Problem("on", "survey.no-predictor")
    model = meant(formula, questions)
    yield from _twice_problems(model, singles)
    yield from _reference_problems(formula, model)
    yield from _predictor_score_problems(formula, model)
    yield from _penalty_problems(formula, model)
    for text in formula.on:
        yield from _interaction_problems(text, parts(text, questions), model.singles)
    yield from _outcome_problems(formula, model)
    yield from _asked_problems(formula, model, tuple(questions.values()))


def _name_problems(field: str, text: str, questions: QuestionsById) -> Iterator[Problem]:
    variable = named(text, questions)
    if variable is None:
        close, ids = likely(text.partition(IS)[0], questions), list(questions)
        yield Problem(field, "survey.unknown-id", value=text, meant=close, ids=ids)
    elif reason := variable.question.not_explained:
        yield Problem(field, "survey.unfit", value=variable.question.id, reason=reason)
    elif variable.answer is None and not variable.question.exclusive:
        example = f"{variable.question.id}{IS}{variable.question.answers[0]}"
        yield Problem(field, "survey.overlapping-answers", value=text, example=example)
    elif variable.scored and field == "outcome":
        id = variable.question.id
        yield Problem(field, "survey.score-of-outcome", value=text, id=id)
    elif variable.answer is not None and variable.answer not in variable.question.answers:
        answers = variable.question.answers
        yield Problem(
            field,
            "survey.no-such-answer",
            value=variable.answer,
            id=variable.question.id,
            meant=likely(variable.answer, answers),
            answers=answers,
        )


def _twice_problems(model: Meant, singles: Sequence[str]) -> Iterator[Problem]:
    """Yield questions that are in a model more than once."""
    ids = [model.outcome.question.id, *(model.singles[text].question.id for text in singles)]
    for id in dict.fromkeys(id for id in ids if ids.count(id) > 1):
        yield Problem("on", "survey.twice-in-model", value=id)


def _reference_problems(formula: Formula, model: Meant) -> Iterator[Problem]:
    whole = {text: each for text, each in model.singles.items() if each.whole}
    for id, answer in formula.reference.items():
        if id not in whole:
            given = f"{id}{IS}{answer}"
            if whole:
                yield Problem(
                    "reference", "survey.reference-of-another", value=given, ids=list(whole)
                )
            else:
                yield Problem("reference", "survey.useless-reference", value=given)
        elif answer not in whole[id].levels:
            yield Problem(
                "reference",
                "survey.unknown-reference",
                value=answer,
                id=id,
                meant=likely(answer, whole[id].levels),
                answers=whole[id].levels,
            )


def _predictor_score_problems(formula: Formula, model: Meant) -> Iterator[Problem]:
    """Check that each predictor with one slope has a number for each answer."""
    sloped = {each.question.id: each for each in model.singles.values() if each.scored}
    for id in formula.predictor_scores:
        if id not in sloped:
            hint = (
                sentence("survey.scores-for", ids=list(sloped))
                if sloped
                else sentence("survey.name-score", score=scored(id))
            )
            yield Problem("predictor_scores", "survey.no-scored", value=id, hint=hint)
    for id, each in sloped.items():
        path = ("predictor_scores", id)
        values = formula.predictor_scores.get(id)
        if values is None:
            if each.question.of_numbers and each.question.merged:
                yield Problem(path, "survey.merged-without-scores", answers=each.levels)
        elif len(values) != len(each.levels) or len(set(values)) < 2:
            yield Problem(
                path, "survey.wrong-predictor-scores", value=list(values), answers=each.levels
            )


def _penalty_problems(formula: Formula, model: Meant) -> Iterator[Problem]:
    if formula.penalty is None:
        return
    if formula.penalty not in PENALTIES:
        names = list(PENALTIES)
        yield Problem("penalty", "survey.unknown-penalty", value=formula.penalty, names=names)
    elif model.family == "linear":
        yield Problem("penalty", "survey.needless-penalty", value=formula.penalty)


def _interaction_problems(
    text: str, crossed: Sequence[str], singles: Mapping[str, NamedAnswers]
) -> Iterator[Problem]:
    for part in dict.fromkeys(crossed):
        if part not in singles:
            yield Problem("on", "survey.only-in-interaction", value=text, part=part)
    if len(set(crossed)) < len(crossed):
        yield Problem("on", "survey.predictor-twice", value=text)


def _outcome_problems(formula: Formula, model: Meant) -> Iterator[Problem]:
    """Check that the outcome is randomized and fits the family."""
    if model.outcome.question.open:
        yield Problem("outcome", "survey.open-outcome", value=formula.outcome)
    if model.family not in FAMILIES:
        names = list(FAMILIES)
        yield Problem("family", "shared.use-one-of", value=model.family, choices=names)
        return
    yield from _amount_problems(model)
    yield from (_linear_problems if model.family == "linear" else _logistic_problems)(
        formula, model.outcome
    )


def _asked_problems(
    formula: Formula, model: Meant, questions: Sequence[AnyQuestion]
) -> Iterator[Problem]:
    """Yield variables that are the same for everybody who is asked another question of the model:
    only people who are asked all questions are part of it."""
    variables = [("outcome", formula.outcome, model.outcome)]
    variables += [("on", text, each) for text, each in model.singles.items()]
    asked = [each.question for _, _, each in variables if each.answer != NOT_ASKED]
    conditional = [each for each in asked if NOT_ASKED in each.answers]
    if not conditional or not decided(questions):
        return
    for field, text, each in variables:
        for other in conditional:
            levels = set(map(each.level, answers_of_asked(each.question, other, questions)))
            if other.id != each.question.id and len(levels) == 1 < len(each.levels):
                yield Problem(
                    field,
                    "survey.one-level-of-asked",
                    value=text,
                    other=other.id,
                    answer=levels.pop(),
                )


def _amount_problems(model: Meant) -> Iterator[Problem]:
    """Yield amounts that are used other than as the outcome of a linear model: only their mean is
    known."""
    means = model.family == "linear" and model.outcome.answer is None
    places = [("on", each) for each in model.singles.values()]
    places += [] if means else [("outcome", model.outcome)]
    for field, each in places:
        if each.question.rounded:
            yield Problem(field, "survey.amount-in-model", value=each.question.id)


def _logistic_problems(formula: Formula, outcome: NamedAnswers) -> Iterator[Problem]:
    """Check that a logistic outcome has two levels, and no scores."""
    if formula.scores:
        yield Problem("scores", "survey.useless-scores", value=list(formula.scores))
    if len(outcome.levels) != 2:
        id, (first, *_) = outcome.question.id, outcome.levels
        yield Problem("outcome", "survey.many-levels", value=id, example=f"{id}{IS}{first}")


def _linear_problems(formula: Formula, outcome: NamedAnswers) -> Iterator[Problem]:
    """Check that each level has a value; bins have their midpoint, and two levels are 0 and 1."""
    valued = outcome.is_number or len(outcome.levels) == 2
    if len(formula.scores) != len(outcome.levels) and (formula.scores or not valued):
        if formula.scores:
            given = list(formula.scores)
            yield Problem("scores", "survey.wrong-scores", value=given, answers=outcome.levels)
        else:
            yield Problem("scores", "survey.no-scores", answers=outcome.levels)


def share_problems(
    shares: Mapping[str, Sequence[float]], formula: Formula, questions: QuestionsById
) -> Iterator[Problem]:
    """Check the expected shares for a forecast against a valid formula."""
    model = meant(formula, questions)
    noisy = {each.id: each for each in model.questions if not each.open}
    for id, values in shares.items():
        question = noisy.get(id)
        if question is None or not question.exclusive:
            one = [id for id, each in noisy.items() if each.exclusive]
            hint = sentence("survey.use-these", ids=one) if one else ""
            yield Problem("shares", "survey.shares-of-another", value=id, hint=hint)
            continue
        fits = len(values) == len(question.recorded) and min(values) >= 0
        if not fits or abs(sum(values) - 1) > CLOSE:
            yield Problem(
                "shares",
                "survey.no-shares-of-answers",
                value=list(values),
                answers=question.recorded,
            )
