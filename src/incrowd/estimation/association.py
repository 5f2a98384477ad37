"""Association of two questions: a test of independence and Cramer's V, valid under the noise.

Proof: docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.errors import TableError
from incrowd.estimation.delta_method import Shares, pick
from incrowd.estimation.ratios import Comparison, Unbounded
from incrowd.estimation.tables import LEVEL, TableEstimate

# The length of a vector that is estimated with noise, with an interval by inverting a test.
#
# The squared length of a nearly normal estimate is a sum of noncentral chi-squares. It depends on
# the unknown direction of the vector, not only on its length r. The direction with the largest
# noise is assumed, in which the squared length varies most. If the noise is the same in all
# directions, the interval has exactly its level, otherwise at least its level.


DRAWS = 50_000
SEED = 20160224  # any fixed number: the same data give the same interval
STEPS = 25


@dataclass(frozen=True)
class Length:
    """The length of a vector, from an estimate and its covariance."""

    vector: np.ndarray
    covariance: np.ndarray

    @property
    def square(self) -> float:
        """The squared length of the estimate; its bias is the trace of the covariance."""
        return float(self.vector @ self.vector)

    @property
    def estimate(self) -> float:
        """The root of the squared length minus its bias; zero if that is negative."""
        return math.sqrt(max(self.square - float(np.trace(self.covariance)), 0.0))

    @property
    def standard_error(self) -> float:
        """That of the length of the estimate, along its direction."""
        variance = float(self.vector @ self.covariance @ self.vector)
        return math.sqrt(max(variance, 0.0) / self.square) if self.square else math.nan

    def interval(self, level: float, largest: float) -> tuple[float, float]:
        """The lengths, at most `largest`, that neither of two one-sided tests rejects.

        For the upper end, a square below its mean at length zero counts as that mean, so that a
        lucky draw does not count as evidence.
        """
        tail, least = (1 - level) / 2, float(np.trace(self.covariance))
        first, rest = _draws(self.covariance)

        def below(length: float, square: float) -> float:
            return float(np.mean((first + length) ** 2 + rest <= square))

        low = _crossing(lambda r: 1 - below(r, self.square) >= tail, largest)
        high = _crossing(lambda r: below(r, max(self.square, least)) < tail, largest)
        return low, high


def _draws(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The noise in its largest direction, and the squared noise in all others."""
    variances = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    generator, rest = np.random.default_rng(SEED), np.zeros(DRAWS)
    for variance in variances[:-1]:
        rest += variance * generator.standard_normal(DRAWS) ** 2
    return math.sqrt(float(variances[-1])) * generator.standard_normal(DRAWS), rest


def _crossing(reached: Callable[[float], bool], largest: float) -> float:
    """The least length from which on a condition holds."""
    if reached(0.0):
        return 0.0
    low, high = 0.0, largest
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


MARGIN = 5.0  # standard errors above zero that an answer's margin needs to be used in V
FALSE_ALARMS = 0.05  # the probability that an answer nobody gave counts as given
UNKNOWN_OVERLAP = (
    "cells do not show how many people chose two options together; plan a joint report of both "
    "questions to test this"
)
BEYOND = 0.001  # the probability that the effect of omitted answers is underestimated


@dataclass(frozen=True)
class IndependenceTest:
    """A Wald test that two questions are independent.

    statistic: under independence, chi-square with `degrees_of_freedom`. errors: whether the people
    are treated as a sample or as fixed. left_out: answers that cannot be distinguished from answers
    that nobody gave, so that they are no evidence about independence. If `estimable` is false,
    `reason` says why; the figures are nan.
    """

    questions: tuple[str, str]
    statistic: float
    degrees_of_freedom: int
    p_value: float
    errors: str
    estimable: bool = True
    reason: str = ""
    left_out: tuple[str, ...] = ()


def independence_test(table: TableEstimate) -> IndependenceTest:
    """Test pi_ij - pi_i. pi_.j = 0 for all i, j with the delta-method covariance of the estimates.

    For a question with exclusive answers, whose deviations sum to zero, orthonormal contrasts are
    used: (I - 1) (J - 1) degrees of freedom for I x J answers; an axis of J overlapping options
    counts as J. Answers that do not rise above the noise are left out, except for the two largest
    shares: if the questions are independent, the deviations of the others are zero as well,
    whichever they are. A chi-square test of the estimates as if they were counts has the wrong
    level, and one of the randomized counts has the wrong hypothesis. With errors of the noise
    alone, the test is about independence among exactly these people. Raises TableError unless the
    table is of two questions with margins.
    """
    names = (table.questions[0], table.questions[1])
    if not table.overlaps:
        return IndependenceTest(names, math.nan, 0, math.nan, table.errors, False, UNKNOWN_OVERLAP)
    _, jacobian, deviations, shares = _deviations(table)
    ends = _margins(table.noise_alone())
    used = [each.above_noise for each in ends]
    kinds = [scipy.linalg.helmert if exclusive else np.eye for exclusive in table.exclusive]
    contrast = np.kron(
        *(
            kind(each.sum()) @ np.eye(len(each))[each]
            for kind, each in zip(kinds, used, strict=True)
        )
    )
    left_out = tuple(
        f"{end.question} = {answer}"
        for end, each in zip(ends, used, strict=True)
        for answer in compress(end.answers, ~each)
    )
    values, linear = contrast @ deviations, contrast @ jacobian
    covariance = linear @ shares.with_few() @ linear.T
    if np.linalg.eigvalsh(covariance)[0] <= np.trace(covariance) * 1e-10:
        reason = "the covariance of the deviations is singular; collect more reports"
        figures = math.nan, len(values), math.nan
        return IndependenceTest(names, *figures, table.errors, False, reason, left_out)
    statistic = float(values @ np.linalg.solve(covariance, values))
    p_value = float(scipy.special.chdtrc(len(values), statistic))
    figures = statistic, len(values), p_value
    return IndependenceTest(names, *figures, table.errors, left_out=left_out)


def cramers_v(table: TableEstimate) -> Comparison:
    """Cramer's V: sqrt(phi2 / (min(I, J) - 1)), phi2 = sum (pi_ij - pi_i. pi_.j)^2 / pi_i. pi_.j.

    phi2 is the squared length of a vector whose estimate is nearly normal, and the interval holds
    the lengths that a test does not reject (see `Length`); near independence it reaches zero. The
    variances of the estimates are subtracted from their squares; a negative result counts as zero.
    Answers whose margins are less than 5 standard errors above zero are left out of the sum. The
    estimate and the lower end are then those of the other answers, and V is at least that large;
    the upper end allows for the most that the omitted answers can add. If both questions have such
    answers, there is no upper end. Raises TableError unless the table is of two questions with
    exclusive answers and margins.
    """
    if not all(table.exclusive):
        raise TableError.of("table", table.questions, "its options overlap; use exclusive ones")
    ends = _margins(table)
    value, error, low, high = math.nan, math.nan, 0.0, 1.0
    reason = "" if all(each.clear.all() for each in ends) else _left_out(ends)
    if all(each.clear.any() for each in ends):
        length = Length(*standardized(table))
        largest = math.sqrt(min(len(answers) for answers in table.answers) - 1)
        low, high = (end / largest for end in _interval(length, ends, largest))
        if any(each.clear.all() for each in ends):
            value, error = min(length.estimate / largest, 1.0), length.standard_error / largest
        if low <= 0 and high >= 1:
            reason = reason or "the data leave every value open; collect more reports"
    limit: Unbounded = "above" if low > 0 else "everywhere"
    return Comparison(
        name=f"Cramer's V of {table.questions[0]} and {table.questions[1]}",
        estimate=value,
        standard_error=error,
        low=low,
        high=high,
        scale="linear",
        level=LEVEL,
        errors=table.errors,
        estimable=not math.isnan(value),
        reason=reason,
        unbounded="no" if high < 1 or not reason else limit,
    )


class _Margin(NamedTuple):
    """The shares of a question's answers with their errors."""

    question: str
    answers: tuple[str, ...]
    values: np.ndarray
    errors: np.ndarray

    @property
    def clear(self) -> np.ndarray:
        """Which shares are at least five standard errors above zero."""
        return np.asarray((self.values > 0) & (self.values >= MARGIN * self.errors))

    @property
    def above_noise(self) -> np.ndarray:
        """Which answers somebody gave, if the errors are of the noise alone; always the two largest
        shares."""
        limit = float(scipy.special.ndtri(1 - FALSE_ALARMS / len(self.values))) * self.errors
        return np.asarray((self.values > limit) | (self.values >= np.sort(self.values)[-2:][0]))


def _margins(table: TableEstimate) -> list[_Margin]:
    """The margins of the rows and of the columns."""
    margins = []
    for question, answers in zip(table.questions, table.answers, strict=True):
        shares = pick(table, [{question: answer} for answer in answers])
        errors = np.sqrt(np.maximum(np.diagonal(shares.covariance), 0.0))
        margins.append(_Margin(question, answers, shares.values, errors))
    return margins


def _interval(length: Length, ends: Sequence[_Margin], largest: float) -> tuple[float, float]:
    """An interval for the length of the whole vector, of which some answers may be left out.

    Answer j adds pi_.j times the sum over i of (P(i | j) - pi_i.)^2 / pi_i. to the square, and that
    sum is at most 1 / min pi_i. - 1. The bounds of these shares jointly fail with probability 0.1%.
    """
    first, second = sorted(ends, key=lambda each: bool(each.clear.all()))
    if first.clear.all():
        return length.interval(LEVEL, largest)
    low, high = length.interval(LEVEL + BEYOND, largest)
    if not second.clear.all():
        return low, largest
    wide = float(scipy.special.ndtri(1 - BEYOND / (len(first.values) + len(second.values))))
    most = np.maximum(first.values + wide * first.errors, 0.0)[~first.clear].sum()
    least = float((second.values - wide * second.errors).min())
    added = most * (1 / least - 1) if least > 0 else math.inf
    return low, min(math.sqrt(high**2 + added), largest)


def _left_out(ends: Sequence[_Margin]) -> str:
    """The reason for leaving answers out of V."""
    names = [
        f"{each.question} = {answer} ({value:.2%}, standard error {error:.2%})"
        for each in ends
        for answer, value, error, clear in zip(
            each.answers, each.values, each.errors, each.clear, strict=True
        )
        if not clear
    ]
    return (
        f"Cramer's V is at least that of the answers without {', '.join(names)}: under "
        f"{MARGIN:g} standard errors from zero; collect more reports"
    )


def standardized(table: TableEstimate) -> tuple[np.ndarray, np.ndarray]:
    """(pi_ij - pi_i. pi_.j) / sqrt(pi_i. pi_.j) and its covariance.

    Sums over i weighted by sqrt(pi_i.) are zero, and so are those over j. In these directions there
    is only noise, so contrasts orthogonal to them are used. (The errors of these directions have
    only a second-order effect on the length.) Answers that are not clearly above the noise are left
    out; then nothing is known about the sums over the other answers to their question.
    """
    expected, jacobian, deviations, shares = _deviations(table)
    ends = _margins(table)
    by_margins = jacobian.copy()
    by_margins[:, : len(expected)] = 0  # in the margins, minus the Jacobian of `expected`
    used = np.outer(ends[0].clear, ends[1].clear).ravel()
    expected, deviations, jacobian, by_margins = (
        each[used] for each in (expected, deviations, jacobian, by_margins)
    )
    root = np.sqrt(expected)
    slope = jacobian / root[:, None] + by_margins * (deviations / (2 * root * expected))[:, None]
    contrasts = []  # directions in which the vector can point, for the answers that are used
    for end in ends:
        roots = np.sqrt(end.values[end.clear])
        free = scipy.linalg.null_space(roots[None]).T if end.clear.all() else np.eye(len(roots))
        contrasts.append(free)
    contrast = np.kron(*contrasts)
    linear = contrast @ slope
    return contrast @ (deviations / root), linear @ shares.covariance @ linear.T


def _deviations(table: TableEstimate) -> tuple[np.ndarray, np.ndarray, np.ndarray, Shares]:
    """pi_i. pi_.j, the Jacobian of the deviations, the deviations pi_ij - pi_i. pi_.j, the shares.

    The shares are the cells in C order, then the margins of the rows and those of the columns.
    """
    if len(table.questions) != 2 or not all(table.margins):
        allowed = "should have two questions, whose decoders were created with margin=True"
        raise TableError.of("table", table.questions, allowed)
    (row, column), (left, right) = table.questions, table.answers
    cells = [{row: a, column: b} for a in left for b in right]
    shares = pick(table, [*cells, *({row: a} for a in left), *({column: b} for b in right)])
    row_margin, column_margin = np.split(shares.values[len(cells) :], [len(left)])
    jacobian = np.hstack(
        [
            np.eye(len(cells)),
            -np.kron(np.eye(len(left)), column_margin[:, None]),
            -np.kron(row_margin[:, None], np.eye(len(right))),
        ]
    )
    expected = np.outer(row_margin, column_margin).ravel()
    return expected, jacobian, shares.values[: len(cells)] - expected, shares
