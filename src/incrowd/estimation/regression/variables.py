"""A question as a variable of a model: its levels, and how they are read out of the reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incrowd.estimation.decoders import merging
from incrowd.survey import AnyQuestion
from incrowd.survey.formulas import OTHERS, scored
from incrowd.survey.question import NO_ANSWER

SLOPE = ""  # in the place of a level


@dataclass(frozen=True)
class Variable:
    """A question of which each person is on exactly one level.

    name: as the model names it: `health`, or `health=poor` for one answer against all others.
    matrix: shape (levels, answers + 1), the shares of the levels out of those of the answers and
    of "any answer", which is read without noise. reference: the place of the level that the
    others are compared with. slope: a score for each level, if the variable has one coefficient for
    all of them: how much a step of one in the score changes the outcome. absent: levels of a
    question in clear that none of the released people are known to be on.
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
        """Which levels are answers. "No answer" is one only if it was asked for by name."""
        asked = self.name == f"{self.question.id}={NO_ANSWER}"
        return np.array([asked or level != NO_ANSWER for level in self.levels])

    @property
    def counted(self) -> np.ndarray:
        """For each level whether people on it are part of the model."""
        there = [level not in self.absent for level in self.levels]
        return np.asarray(self.answered & there)

    @property
    def others(self) -> tuple[str, ...]:
        """The levels with a coefficient of their own; of a slope it is SLOPE."""
        if self.slope:
            return (SLOPE,)
        return tuple(
            level
            for place, (level, counted) in enumerate(zip(self.levels, self.counted, strict=True))
            if counted and place != self.reference
        )

    def without(self, absent: tuple[str, ...]) -> Variable:
        """Some levels left out; if one of them was the reference, it is the first that is left."""
        left = replace(self, absent=absent)
        if self.levels[self.reference] not in absent:
            return left
        return replace(left, reference=int(np.argmax(left.counted)))

    def level_of(self, answer: str) -> str:
        """The level of somebody who gave that answer."""
        answer = self.question.read_as(answer)
        return answer if answer in self.levels else OTHERS

    def term(self, level: str) -> str:
        """What the coefficient of a level is called."""
        return self.name if level == SLOPE else f"{self.question.id}={level}"

    def values(self, level: str) -> np.ndarray:
        """For each level, the value that the coefficient of one of them, or the slope, is for."""
        if level == SLOPE:
            return np.array(self.slope)
        return np.array([each == level for each in self.levels], float)


def whole(question: AnyQuestion) -> Variable:
    """A question with all its answers as levels.

    What noise adds to the sum of all answers is taken off every one of them in equal parts (off
    merged answers as many), so that the levels of each report sum to exactly one: the least squares
    estimate under that condition. Sums over the levels of one question then leave the table of the
    others, no noisier.
    """
    parts = merging(question).sum(axis=1)[:, None] / len(question.recorded)
    matrix = np.hstack([np.eye(len(parts)) - parts, parts])
    return Variable(question.id, question, question.answers, matrix)


def sloped(question: AnyQuestion, scores: Sequence[float]) -> Variable:
    """A question with one slope over all its answers. scores: of each but "no answer"."""
    found = whole(question)
    unscored = [0.0] * (len(found.levels) - len(scores))
    return replace(found, name=scored(question.id), slope=(*scores, *unscored))


def predictor_scores(question: AnyQuestion) -> tuple[float, ...]:
    """The scores of answers if none are stated: the middle of a bin, or 1, 2, 3 and so on."""
    if question.of_numbers and question.values:
        return question.values
    return tuple(float(place) for place, _ in enumerate(question.substantive, 1))


def against_others(question: AnyQuestion, answer: str) -> Variable:
    """One answer of a question against all others; of a `multi` question whether it was given."""
    one = np.eye(len(question.answers) + 1)
    named = [answer]
    if question.optional and answer != NO_ANSWER:
        named.append(NO_ANSWER)
    rows = [one[question.answers.index(each)] for each in named]
    matrix = np.vstack([one[-1] - sum(rows), *rows])
    return Variable(f"{question.id}={answer}", question, (OTHERS, *named), matrix)
