"""What is regressed on what, in the words of a person.

`smoker` is a question, `health=poor` one of its answers against all others, `score(health)` one
slope over all its answers, `age:smoker` the interaction of two predictors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from pydantic import Field, FiniteFloat

from incrowd.survey.frozen import Frozen
from incrowd.survey.merging import merged_questions
from incrowd.survey.question import AnyQuestion

Family = Literal["logistic", "linear"]
Penalty = Literal["firth"]
Questions = Mapping[str, AnyQuestion]

FAMILIES: tuple[Family, ...] = get_args(Family)
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
BETWEEN = ":"  # variables of an interaction
IS = "="  # a question and its answer
OTHERS = "any other"  # all answers but one
SCORE = "score({})"  # of the answers to a question


def scored(id: str) -> str:
    """A question as a predictor with one slope over the scores of its answers."""
    return SCORE.format(id)


def _none(value: object) -> bool:
    return not value


class Formula(Frozen):
    """A wanted regression.

    outcome, on: what is explained, and by what. reference: for a predictor the answer with which
    the others are compared; by default its first. family: by default logistic for two levels,
    else linear. scores: the value of each answer to the outcome of a linear model; by default the
    middle of a bin. predictor_scores: the same for predictors `score(...)`; by default the middle
    of a bin, or 1, 2, 3 and so on. merge: for some questions groups of answers that are read as
    one, or a name for each group. penalty: "firth" for Firth's penalized likelihood.
    """

    outcome: str = Field(min_length=1)
    on: tuple[str, ...] = Field(min_length=1)
    reference: dict[str, str] = Field(default_factory=dict, exclude_if=_none)
    family: str | None = Field(default=None, exclude_if=_none)
    scores: tuple[FiniteFloat, ...] = Field(default=(), exclude_if=_none)
    predictor_scores: dict[str, tuple[FiniteFloat, ...]] = Field(
        default_factory=dict, exclude_if=_none
    )
    merge: dict[str, dict[str, tuple[str, ...]] | tuple[tuple[str, ...], ...]] = Field(
        default_factory=dict, exclude_if=_none
    )
    penalty: str | None = Field(default=None, exclude_if=_none)

    def __hash__(self) -> int:
        """Tables of references and scores have none of their own."""
        return hash((self.outcome, self.on))

    def __str__(self) -> str:
        return f"{self.outcome} on {', '.join(self.on)}"


class Named(NamedTuple):
    """A question of a regression, one answer to it against all others, or its score."""

    question: AnyQuestion
    answer: str | None = None
    scored: bool = False

    @property
    def levels(self) -> tuple[str, ...]:
        """What people can be on, those left out who did not answer."""
        return self.question.substantive if self.answer is None else (OTHERS, self.answer)

    @property
    def is_number(self) -> bool:
        """Whether its levels have values of their own."""
        return self.answer is None and self.question.of_numbers and not self.question.merged

    @property
    def whole(self) -> bool:
        """Whether each of its levels has a coefficient, but for one that they are compared with."""
        return self.answer is None and not self.scored


class Meant(NamedTuple):
    """A formula that was understood. singles: the predictors as they are written, by text."""

    outcome: Named
    singles: Mapping[str, Named]
    interactions: tuple[tuple[str, ...], ...]
    family: str

    @property
    def questions(self) -> tuple[AnyQuestion, ...]:
        """The outcome's, then those of the predictors."""
        return tuple(each.question for each in (self.outcome, *self.singles.values()))


def named(text: str, questions: Questions) -> Named | None:
    """The question, or the answer to one, that a text names; None if no question is meant."""
    if question := questions.get(text):
        return Named(question)
    for question in questions.values():
        if text == scored(question.id):
            return Named(question, scored=True)
    for place in (at for at, letter in enumerate(text) if letter == IS):
        if question := questions.get(text[:place]):
            return Named(question, text[place + 1 :])
    return None


def parts(text: str, questions: Questions) -> tuple[str, ...]:
    """The variables of an interaction; none, if the text names one variable."""
    found = named(text, questions)
    alone = found and (found.answer is None or found.answer in found.question.answers)
    return () if alone or BETWEEN not in text else tuple(map(str.strip, text.split(BETWEEN)))


def meant(formula: Formula, questions: Questions) -> Meant:
    """What a formula without problems says."""
    questions = merged_questions(tuple(questions.values()), formula.merge)
    outcome = named(formula.outcome, questions)
    singles = {text: each for text in formula.on if (each := _single(text, questions))}
    crossed = tuple(filter(None, (parts(text, questions) for text in formula.on)))
    assert outcome is not None
    linear = formula.scores or outcome.is_number
    family = formula.family or ("linear" if linear else "logistic")
    return Meant(outcome, singles, crossed, family)


def _single(text: str, questions: Questions) -> Named | None:
    return None if parts(text, questions) else named(text, questions)
