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

# The length of a vector that is known up to noise, with an interval by inverting a test.
#
# The squared length of a nearly normal estimate is a sum of noncentral chi-squares. Which direction
# the vector has is not known, only its length r is asked for: the direction of the largest noise is
# taken, which spreads the squared length the most. With the same noise in all directions that is
# the noncentral chi-square itself, and the interval has its level exactly; else at least.


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
        """The squared length of the estimate: too large by the trace of the covariance."""
        return float(self.vector @ self.vector)

    @property
    def estimate(self) -> float:
        """The root of the squared length, its bias taken off; zero if nothing is left."""
        return math.sqrt(max(self.square - float(np.trace(self.covariance)), 0.0))

    @property
    def standard_error(self) -> float:
        """That of the length of the estimate, along its direction."""
        variance = float(self.vector @ self.covariance @ self.vector)
        return math.sqrt(max(variance, 0.0) / self.square) if self.square else math.nan

    def interval(self, level: float, largest: float) -> tuple[float, float]:
        """The lengths, `largest` at most, that neither of two tests refuses.

        A square below its mean for the length zero counts as that mean for the upper end: a lucky
        draw is not taken as more evidence than none.
        """
        tail, least = (1 - level) / 2, float(np.trace(self.covariance))
        first, rest = _draws(self.covariance)

        def below(length: float, square: float) -> float:
            return float(np.mean((first + length) ** 2 + rest <= square))

        low = _crossing(lambda r: 1 - below(r, self.square) >= tail, largest)
        high = _crossing(lambda r: below(r, max(self.square, least)) < tail, largest)
        return low, high


def _draws(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The noise in the direction where it is largest, the squared noise in all others."""
    variances = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    generator, rest = np.random.default_rng(SEED), np.zeros(DRAWS)
    for variance in variances[:-1]:
        rest += variance * generator.standard_normal(DRAWS) ** 2
    return math.sqrt(float(variances[-1])) * generator.standard_normal(DRAWS), rest


def _crossing(reached: Callable[[float], bool], largest: float) -> float:
    """The least length at which something is reached that holds from there on."""
    if reached(0.0):
        return 0.0
    low, high = 0.0, largest
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


MARGIN = 5.0  # standard errors of a margin above zero, under which V leaves an answer out
FALSE_ALARMS = 0.05  # the chance that an answer nobody gave counts as given
UNKNOWN_OVERLAP = (
    "cells do not tell how many people chose two options together; plan a joint report of both "
    "questions to test this"
)
BEYOND = 0.001  # the chance that what answers that are left out may add is underestimated


@dataclass(frozen=True)
class IndependenceTest:
    """A Wald test that two questions are independent.

    statistic: chi-square with so many degrees of freedom if they are. errors: whether the people
    count as a sample or as fixed. left_out: answers that cannot be told from ones nobody gave, so
    that they say nothing of independence. If `estimable` is false, `reason` says why; the figures
    are nan.
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

    Of a question with exclusive answers, whose deviations sum to zero, orthonormal contrasts are
    used: (I - 1) (J - 1) degrees of freedom for I x J answers; an axis of J overlapping options
    counts J. Answers that do not rise above the noise are left out, down to the two largest shares:
    of independent questions the deviations of the others are zero as well, and do not depend on
    which these are. A chi-square test of the estimates as if they were counts, or of the randomized
    counts, has the wrong level or the wrong hypothesis. With errors of the noise alone it tests
    independence among these very people. Raises TableError unless the joint estimate is of two
    questions with margins.
    """
    names = (table.questions[0], table.questions[1])
    if not table.overlaps:
        return IndependenceTest(names, math.nan, 0, math.nan, table.errors, False, UNKNOWN_OVERLAP)
    _, jacobian, deviations, shares = _deviations(table)
    ends = _margins(table.noise_alone())
    kept = [each.above_noise for each in ends]
    kinds = [scipy.linalg.helmert if exclusive else np.eye for exclusive in table.exclusive]
    contrast = np.kron(
        *(
            kind(each.sum()) @ np.eye(len(each))[each]
            for kind, each in zip(kinds, kept, strict=True)
        )
    )
    left_out = tuple(
        f"{end.question} = {answer}"
        for end, each in zip(ends, kept, strict=True)
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

    phi2 is the squared length of a vector whose estimate is nearly normal, and the interval is of
    the lengths that a test of it does not refuse, see `spheres`; near independence it reaches to
    zero. The squares hold the estimates' own variances, which are taken off the estimate; that is
    zero if nothing is left. Answers whose margins are under 5 standard errors from zero are left
    out of the sum: the estimate and the lower end are of the rest, which V is never below, and the
    upper end allows for the most that they can add. If both questions have such answers, they can
    add anything: then there is a lower end alone.
    Raises TableError unless the joint estimate is of two questions of exclusive answers, with
    margins.
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
    """The shares of a question's answers, their errors, and which are clear of the noise."""

    question: str
    answers: tuple[str, ...]
    values: np.ndarray
    errors: np.ndarray

    @property
    def clear(self) -> np.ndarray:
        """Five standard errors above zero."""
        return np.asarray((self.values > 0) & (self.values >= MARGIN * self.errors))

    @property
    def above_noise(self) -> np.ndarray:
        """Which answers somebody gave, as tables tell it, if the errors are of the noise alone; the
        two largest shares in any case."""
        limit = float(scipy.special.ndtri(1 - FALSE_ALARMS / len(self.values))) * self.errors
        return np.asarray((self.values > limit) | (self.values >= np.sort(self.values)[-2:][0]))


def _margins(table: TableEstimate) -> list[_Margin]:
    """Those of the rows and of the columns."""
    found = []
    for question, answers in zip(table.questions, table.answers, strict=True):
        shares = pick(table, [{question: answer} for answer in answers])
        errors = np.sqrt(np.maximum(np.diagonal(shares.covariance), 0.0))
        found.append(_Margin(question, answers, shares.values, errors))
    return found


def _interval(length: Length, ends: Sequence[_Margin], largest: float) -> tuple[float, float]:
    """The length of the whole vector, some answers of which may be left out.

    The answer j adds pi_.j times the sum of (P(i | j) - pi_i.)^2 / pi_i. over i to the square,
    which is 1 / min pi_i. - 1 at most. The bounds of these shares miss with 0.1% together.
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
    """Which answers are left out of V, and why."""
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

    Sums over i weighted by sqrt(pi_i.) are zero, and so over j: in these directions there is noise
    alone, and contrasts orthogonal to them are taken. (Their own errors matter not: they turn a
    vector about, and do not change its length but by their square.) Answers that are not clear of
    the noise are left out, and nothing is known of the sums over those of their question.
    """
    expected, jacobian, deviations, shares = _deviations(table)
    ends = _margins(table)
    moved = jacobian.copy()
    moved[:, : len(expected)] = 0  # off the cells the Jacobian is minus that of `expected`
    kept = np.outer(ends[0].clear, ends[1].clear).ravel()
    expected, deviations, jacobian, moved = (
        each[kept] for each in (expected, deviations, jacobian, moved)
    )
    root = np.sqrt(expected)
    slope = jacobian / root[:, None] + moved * (deviations / (2 * root * expected))[:, None]
    contrast = np.kron(*map(_contrasts, ends))
    linear = contrast @ slope
    return contrast @ (deviations / root), linear @ shares.covariance @ linear.T


def _contrasts(margin: _Margin) -> np.ndarray:
    """Directions in which a vector can point, for the answers of one question that are kept."""
    kept = np.sqrt(margin.values[margin.clear])
    return scipy.linalg.null_space(kept[None]).T if margin.clear.all() else np.eye(len(kept))


def _deviations(table: TableEstimate) -> tuple[np.ndarray, np.ndarray, np.ndarray, Shares]:
    """pi_i. pi_.j, the Jacobian of the deviations, pi_ij - pi_i. pi_.j, the shares themselves.

    Cells come in C order, then follow the margins of the rows and those of the columns.
    """
    if len(table.questions) != 2 or not all(table.margins):
        allowed = "should be of two questions, with decoders made with margin=True"
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
