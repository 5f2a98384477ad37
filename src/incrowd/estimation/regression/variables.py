"""A question as a variable of a model: its levels, and how reports are decoded into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incrowd.estimation.decoders import merging
from incrowd.survey import AnyQuestion
from incrowd.survey.formulas import OTHERS, scored
from incrowd.survey.question import UNANSWERED

SLOPE = ""  # in the place of a level


@dataclass(frozen=True)
class ModelVariable:
    """A question, with levels of which each person is on exactly one.

    name: as in the model: `health`, or `health=poor` for one answer against all others. matrix:
    shape (levels, answers + 1), from the shares of the answers and of "any answer", which has no
    noise, to the shares of the levels. reference: the place of the level with which the others are
    compared. slope: a score for each level, if the variable has a single coefficient: the change of
    the outcome when the score rises by one. absent: levels of an open question that no released
    person is known to have.
    """

    name: str
    question: AnyQuestion
    levels: tuple[str, ...]
    matrix: np.ndarray
    reference: int = 0
    slope: tuple[float, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def answered(self) -> np.ndarray:
        """The levels that are answers. "No answer" and "not asked" are only if they were requested
        by name."""
        named = [state for state in UNANSWERED if self.name == f"{self.question.id}={state}"]
        return np.array([level not in UNANSWERED or level in named for level in self.levels])

    @property
    def counted(self) -> np.ndarray:
        """Whether people on each level are part of the model."""
        present = [level not in self.absent for level in self.levels]
        return np.asarray(self.answered & present)

    @property
    def others(self) -> tuple[str, ...]:
        """The levels that have coefficients; for a slope, SLOPE."""
        if self.slope:
            return (SLOPE,)
        return tuple(
            level
            for place, (level, counted) in enumerate(zip(self.levels, self.counted, strict=True))
            if counted and place != self.reference
        )

    def without(self, absent: tuple[str, ...]) -> ModelVariable:
        """Return the variable without some levels; the first other level replaces a missing
        reference."""
        left = replace(self, absent=absent)
        if self.levels[self.reference] not in absent:
            return left
        return replace(left, reference=int(np.argmax(left.counted)))

    def level_of(self, answer: str) -> str:
        """Return the level of somebody who gave that answer."""
        answer = self.question.read_as(answer)
        return answer if answer in self.levels else OTHERS

    def term(self, level: str) -> str:
        """Return the name of a level's coefficient."""
        return self.name if level == SLOPE else f"{self.question.id}={level}"

    def values(self, level: str) -> np.ndarray:
        """Return, for each level, the factor of the coefficient of one level, or of the slope."""
        if level == SLOPE:
            return np.array(self.slope)
        return np.array([each == level for each in self.levels], float)


def whole(question: AnyQuestion) -> ModelVariable:
    """Return a question with all its answers as levels.

    What noise adds to the sum of all answers is subtracted from them in equal parts (from a merged
    answer, a part for each of its answers), so that the levels of each report sum to exactly one:
    the least squares estimate under that condition. The sum over the levels of one question is then
    the table of the others, with no more noise.
    """
    parts = merging(question).sum(axis=1)[:, None] / len(question.recorded)
    matrix = np.hstack([np.eye(len(parts)) - parts, parts])
    return ModelVariable(question.id, question, question.answers, matrix)


def sloped(question: AnyQuestion, scores: Sequence[float]) -> ModelVariable:
    """Return a question with one slope over all its answers. scores: the scores of each except "no
    answer"."""
    variable = whole(question)
    unscored = [0.0] * (len(variable.levels) - len(scores))
    return replace(variable, name=scored(question.id), slope=(*scores, *unscored))


def predictor_scores(question: AnyQuestion) -> tuple[float, ...]:
    """Return the scores of answers if none are stated: the middle of a bin, or 1, 2,
    3 and so on."""
    if question.of_numbers and question.values:
        return question.values
    return tuple(float(place) for place, _ in enumerate(question.substantive, 1))


def against_others(question: AnyQuestion, answer: str) -> ModelVariable:
    """Return one answer of a question against all others; for a `multi` question, whether it was
    given."""
    one = np.eye(len(question.answers) + 1)
    named = [answer]
    named += [state for state in question.unanswered if state != answer]
    rows = [one[question.answers.index(each)] for each in named]
    matrix = np.vstack([one[-1] - sum(rows), *rows])
    return ModelVariable(f"{question.id}={answer}", question, (OTHERS, *named), matrix)
