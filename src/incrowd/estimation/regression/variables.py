"""A question as a variable of a model: its levels, and how they are read out of the reports."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from incrowd.survey import Amount, AnyQuestion, Number
from incrowd.survey.formulas import OTHERS
from incrowd.survey.questions import NO_ANSWER


@dataclass(frozen=True)
class Variable:
    """A question of which each person is on exactly one level.

    name: as the model names it: `health`, or `health=poor` for one answer against all others.
    matrix: shape (levels, answers + 1), the shares of the levels out of those of the answers and
    of "any answer", which is read without noise. reference: the place of the level that the
    others are compared with. counted: for each level whether people on it are part of the model;
    those who did not answer are not.
    """

    name: str
    question: AnyQuestion
    levels: tuple[str, ...]
    matrix: np.ndarray
    reference: int = 0

    @property
    def counted(self) -> np.ndarray:
        """Which levels are answers. "No answer" is one only if it was asked for by name."""
        asked = self.name == f"{self.question.id}={NO_ANSWER}"
        return np.array([asked or level != NO_ANSWER for level in self.levels])

    @property
    def others(self) -> tuple[str, ...]:
        """The levels with a coefficient of their own."""
        return tuple(
            level
            for place, (level, counted) in enumerate(zip(self.levels, self.counted, strict=True))
            if counted and place != self.reference
        )

    def level_of(self, answer: str) -> str:
        """The level of somebody who gave that answer."""
        return answer if answer in self.levels else OTHERS

    def term(self, level: str) -> str:
        """What the coefficient of a level is called."""
        return f"{self.question.id}={level}"


def whole(question: AnyQuestion) -> Variable:
    """A question with all its answers as levels.

    What noise adds to the sum of all answers is taken off every one of them in equal parts, so
    that the levels of each report sum to exactly one: the least squares estimate under that
    condition. Sums over the levels of one question then leave the table of the others, no noisier.
    """
    size = len(question.answers)
    matrix = np.hstack([np.eye(size) - 1 / size, np.full((size, 1), 1 / size)])
    return Variable(question.id, question, question.answers, matrix)


def against_others(question: AnyQuestion, answer: str) -> Variable:
    """One answer of a question against all others; of a `multi` question whether it was given."""
    one = np.eye(len(question.answers) + 1)
    named = [answer]
    if question.optional and answer != NO_ANSWER:
        named.append(NO_ANSWER)
    rows = [one[question.answers.index(each)] for each in named]
    matrix = np.vstack([one[-1] - sum(rows), *rows])
    return Variable(f"{question.id}={answer}", question, (OTHERS, *named), matrix)


def scores_of(question: Number | Amount) -> tuple[float, ...]:
    """A number for each bin or edge. Edges are without bias: amounts are rounded to them so."""
    return question.edges if isinstance(question, Amount) else midpoints(question)


def midpoints(question: Number) -> tuple[float, ...]:
    """A score for each bin: its middle; of the last, which is open, as if it were as wide as the
    one before."""
    edges = question.edges
    closed = [(a + b) / 2 for a, b in pairwise(edges)]
    return (*closed, edges[-1] + (edges[-1] - edges[-2]) / 2)
