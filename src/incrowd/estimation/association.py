"""Association of two questions: a test of independence and Cramer's V, valid under the noise.

Proof: docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.catalog.sentences import text_list, translatable
from incrowd.errors import TableError
from incrowd.estimation.cell_errors import at_least
from incrowd.estimation.delta_method import TableShares, pick
from incrowd.estimation.intervals import LEVEL
from incrowd.estimation.ratios import (
    DIFFERENCE,
    EXACT,
    TINY,
    Comparison,
    GroupShares,
    Unbounded,
    groups_of,
    weighting_effect,
)
from incrowd.estimation.tables import TableEstimate

# The length of a vector that is estimated with noise, with an interval by inverting a test.
#
# The squared length of a nearly normal estimate is a sum of noncentral chi-squares. It depends on
# the unknown direction of the vector, not only on its length r: the noise along it counts. For each
# r, the vector of this length is taken that is nearest to the estimate in standard errors, so that
# the directions in which there is little noise decide.

STEPS = 25
CLOSE = 1e-9  # relative, of multipliers
NEAR_MEAN = 1e-3  # where the saddlepoint approximation is replaced by its limit


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
        """The standard error of the length of the estimate, along its direction."""
        variance = float(self.vector @ self.covariance @ self.vector)
        return math.sqrt(max(variance, 0.0) / self.square) if self.square else math.nan

    @cached_property
    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        """The variances along the axes of the covariance, and the estimate in these."""
        variances, directions = np.linalg.eigh(self.covariance)
        return np.maximum(variances, EXACT**2), directions.T @ self.vector

    def nearest(self, length: float) -> np.ndarray:
        """Return the vector of some length that is the fewest standard errors from the estimate, in
        the axes of the covariance.

        With Lagrange's multiplier t it is y / (1 + t variance), whose length falls with t.
        """
        variances, values = self._axes

        def excess(t: float) -> float:
            return float(np.linalg.norm(values / (1 + t * variances))) - length

        edge = -1 / float(variances[-1])
        far = edge * (1 - CLOSE)
        if length <= 0:
            return np.zeros(len(values))
        if excess(far) <= 0:  # the rest of the length is along the direction of the largest noise
            near = values / (1 + far * variances)
            near[-1] = math.copysign(
                math.sqrt(max(length**2 - float(near[:-1] @ near[:-1]), 0.0)), values[-1]
            )
            return near
        top = 1 / float(variances[-1])
        while excess(top) > 0:
            top *= 4
        t = float(scipy.optimize.brentq(excess, far, top, rtol=CLOSE))
        return values / (1 + t * variances)

    def below(self, length: float, square: float) -> float:
        """Return the probability of a smaller squared estimate, if the length is this."""
        variances, _ = self._axes
        return quadratic_form(square, variances, self.nearest(length) ** 2 / variances)

    def interval(self, level: float, largest: float) -> tuple[float, float]:
        """Return the lengths, at most `largest`, that neither of two one-sided tests rejects.

        For the upper end, a square below its mean at length zero counts as that mean, so that a
        lucky draw does not count as evidence.
        """
        tail, least = (1 - level) / 2, float(np.trace(self.covariance))
        low = _crossing(lambda r: 1 - self.below(r, self.square) >= tail, largest)
        high = _crossing(lambda r: self.below(r, max(self.square, least)) < tail, largest)
        return low, high


def quadratic_form(value: float, weights: np.ndarray, noncentralities: np.ndarray) -> float:
    """Return the probability that a sum of weighted noncentral chi-squares, each with one degree of
    freedom, is at most `value`, by the saddlepoint approximation (Kuonen 1999)."""

    def slope(t: float) -> float:
        room = 1 - 2 * t * weights
        terms: list[float] = (weights / room + weights * noncentralities / room**2).tolist()
        return math.fsum(terms) - value

    if value <= 0:
        return 0.0
    high, low = (1 - CLOSE) / (2 * float(weights.max())), -1 / value
    if slope(high) <= 0:
        return 1.0
    while slope(low) > 0:
        low *= 2
    t = float(scipy.optimize.brentq(slope, low, high, xtol=TINY, rtol=CLOSE))
    room = 1 - 2 * t * weights
    logarithm = float(np.sum(t * weights * noncentralities / room - np.log(room) / 2))
    w = math.copysign(math.sqrt(max(2 * (t * value - logarithm), 0.0)), t)
    if abs(w) < NEAR_MEAN:
        second, third = (
            scale * float(np.sum(weights**power * (1 + power * noncentralities)))
            for power, scale in ((2, 2), (3, 8))
        )
        return float(0.5 + third / (6 * math.sqrt(2 * math.pi) * second**1.5))
    second = float(np.sum(2 * weights**2 / room**2 + 4 * weights**2 * noncentralities / room**3))
    return float(scipy.special.ndtr(w + math.log(t * math.sqrt(second) / w) / w))


def _crossing(reached: Callable[[float], bool], largest: float) -> float:
    """Return the least length from which on a condition holds."""
    if reached(0.0):
        return 0.0
    low, high = 0.0, largest
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


MARGIN = 2.0  # standard errors above zero; V takes no share of an answer to be less than these
FALSE_ALARMS = 0.05  # the probability that an answer nobody gave counts as given
UNKNOWN_OVERLAP = translatable("estimation.unknown-overlap")
BEYOND = 0.001  # the probability that the effect of rare answers is underestimated


@dataclass(frozen=True)
class IndependenceTest:
    """A test that two questions are independent.

    method: "exact" with the law of the noise in two groups of few people, "score" with the
    covariance under independence, "Wald" with that at the estimate, where
    the noise is estimated as well. statistic: under independence, chi-square with
    `degrees_of_freedom`. errors: whether the people are treated as a sample or as fixed. left_out:
    answers that cannot be distinguished from answers that nobody gave, so that they are no evidence
    about independence. If `estimable` is false, `reason` says why; the figures are nan.
    """

    questions: tuple[str, str]
    statistic: float
    degrees_of_freedom: int
    p_value: float
    errors: str
    estimable: bool = True
    reason: str = ""
    left_out: tuple[str, ...] = ()
    method: str = "score"

    @property
    def sentence(self) -> str:
        """The test in words, or why it is not estimable."""
        if not self.estimable:
            return translatable("estimation.independence-untested", reason=self.reason)
        tested = translatable(
            "estimation.independence",
            statistic=self.statistic,
            degrees=self.degrees_of_freedom,
            method=translatable(_TESTS[self.method]),
            p=self.p_value,
        )
        if not self.left_out:
            return tested
        without = translatable("estimation.excluding", answers=[*self.left_out])
        return text_list((tested, without))


_TESTS = {
    "score": "estimation.score-test",
    "exact": "estimation.exact-test",
    "Wald": "estimation.wald-test",
}


def independence_test(table: TableEstimate) -> IndependenceTest:
    """Test pi_ij - pi_i. pi_.j = 0 for all i, j with the covariance under independence.

    Of two questions with two exclusive answers each, the test is that of equal shares in both
    groups, so that it agrees with the intervals of the difference and of the odds ratio. Otherwise,
    for a question with exclusive answers, whose deviations sum to zero, orthonormal contrasts are
    used: (I - 1) (J - 1) degrees of freedom for I x J answers; an axis of J overlapping options
    counts as J. Answers that do not rise above the noise are left out, except for the two largest
    shares: if the questions are independent, the deviations of the others are zero as well,
    whichever they are. A chi-square test of the estimates as if they were counts has the wrong
    level, and one of the randomized counts has the wrong hypothesis. With errors of the noise
    alone, the test is about independence among exactly these people. Raises TableError unless the
    table is of two questions with margins.
    """
    names, errors = (table.questions[0], table.questions[1]), table.error.includes
    if not table.error.overlaps:
        return IndependenceTest(names, math.nan, 0, math.nan, errors, False, UNKNOWN_OVERLAP)
    _, jacobian, deviations, shares = _deviations(table)
    if all(table.exclusive) and len(deviations) == 4:
        groups = equal_shares(table)
        statistic = groups.excess(DIFFERENCE, 0.0)
        figures = statistic, 1, _chance(1, statistic)
        return IndependenceTest(names, *figures, errors, method=groups.method)
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
    values = contrast @ deviations
    if table.error.constant:
        covariance = jacobian @ shares.noise @ jacobian.T + _sampling_if_independent(table)
    else:  # the noise is estimated too, from few reports if answers are rare
        covariance = jacobian @ shares.with_few() @ jacobian.T
    covariance = contrast @ covariance @ contrast.T
    if np.linalg.eigvalsh(covariance)[0] <= np.trace(covariance) * 1e-10:
        reason = "the covariance of the deviations is singular; collect more reports"
        figures = math.nan, len(values), math.nan
        return IndependenceTest(names, *figures, errors, False, reason, left_out)
    statistic = float(values @ np.linalg.solve(covariance, values))
    figures = statistic, len(values), _chance(len(values), statistic)
    method = "score" if table.error.constant else "Wald"
    return IndependenceTest(names, *figures, errors, left_out=left_out, method=method)


def _chance(degrees: int, statistic: float) -> float:
    return float(scipy.special.chdtrc(degrees, statistic))


def equal_shares(table: TableEstimate) -> GroupShares:
    """Return the shares that are compared to test that both groups of a 2 x 2 table give the same
    answers."""
    (first, second), (groups, answers) = table.questions, table.answers
    given = [(first, group) for group in reversed(groups)]
    _, shares = groups_of(table, (second, answers[-1]), *given)
    return shares


def _sampling_if_independent(table: TableEstimate) -> np.ndarray:
    """Return the covariance that the sampling of people gives to the deviations, under
    independence."""
    cells = math.prod(map(len, table.answers))
    if table.error.noise_only:
        return np.zeros((cells, cells))
    spreads = []
    for end, exclusive in zip(_margins(table), table.exclusive, strict=True):
        if exclusive:
            values = np.maximum(end.values, 0.0)
            values = values / max(float(values.sum()), TINY)
            spreads.append(np.diag(values) - np.outer(values, values))
        else:
            spreads.append(at_least(end.sampling * table.people, np.zeros(len(end.values))))
    row, column = table.questions
    effects = [weighting_effect(table, (row, answer), column) for answer in table.answers[0]]
    sizes = np.maximum(_margins(table)[0].values, 0.0)
    effect = float(np.average(effects, weights=sizes)) if sizes.any() else 1.0
    return np.asarray(np.kron(*spreads) * effect / table.people)


def cramers_v(table: TableEstimate) -> Comparison:
    """Return Cramer's V: sqrt(phi2 / (min(I, J) - 1)), phi2 = sum (pi_ij - pi_i. pi_.j)^2 / pi_i.
    pi_.j.

    phi2 is the squared length of a vector whose estimate is nearly normal, and the interval holds
    the lengths that a test does not reject (see `Length`); near independence it reaches zero. The
    variances of the estimates are subtracted from their squares; a negative result counts as zero.
    A divisor is not known where the share of an answer is within 2 standard errors of zero; it is
    then taken to be 2 standard errors. V is at least that large, and the upper end allows for the
    most that is missing. If both questions have such answers, there is neither an estimate nor an
    upper end. Raises TableError unless the table is of two questions with exclusive answers and
    margins.
    """
    if not all(table.exclusive):
        raise TableError.of("table", "estimation.overlapping-table", value=table.questions)
    ends = _margins(table)
    largest = math.sqrt(min(len(answers) for answers in table.answers) - 1)
    length = Length(*standardized(table))
    low, high = (end / largest for end in _interval(length, ends, largest))
    value, error = min(length.estimate / largest, 1.0), length.standard_error / largest
    reason = "" if all(each.clear.all() for each in ends) else _too_rare(ends)
    if not any(each.clear.all() for each in ends):
        value, error = math.nan, math.nan
    if low <= 0 and high >= 1:
        reason = reason or translatable("estimation.every-value-open")
    limit: Unbounded = "above" if low > 0 else "everywhere"
    return Comparison(
        name=translatable(
            "estimation.cramers-v", first=table.questions[0], second=table.questions[1]
        ),
        estimate=value,
        standard_error=error,
        low=low,
        high=high,
        scale="linear",
        level=LEVEL,
        errors=table.error.includes,
        estimable=not math.isnan(value),
        reason=reason,
        unbounded="no" if high < 1 or not reason else limit,
        method="length",
    )


class _QuestionShares(NamedTuple):
    """The shares of a question's answers, their errors, and their covariance by sampling."""

    question: str
    answers: tuple[str, ...]
    values: np.ndarray
    errors: np.ndarray
    sampling: np.ndarray

    @property
    def clear(self) -> np.ndarray:
        """The shares that are at least two standard errors above zero."""
        return np.asarray((self.values > 0) & (self.values >= MARGIN * self.errors))

    @property
    def divisors(self) -> np.ndarray:
        """The shares, but no less than two standard errors."""
        return np.asarray(np.maximum(np.maximum(self.values, MARGIN * self.errors), EXACT))

    @property
    def above_noise(self) -> np.ndarray:
        """The answers that somebody gave, if the errors are of the noise alone; always the two
        largest shares."""
        limit = float(scipy.special.ndtri(1 - FALSE_ALARMS / len(self.values))) * self.errors
        return np.asarray((self.values > limit) | (self.values >= np.sort(self.values)[-2:][0]))


def _margins(table: TableEstimate) -> list[_QuestionShares]:
    """Return the margins of the rows and of the columns."""
    margins = []
    for question, answers in zip(table.questions, table.answers, strict=True):
        shares = pick(table, [{question: answer} for answer in answers])
        errors = np.sqrt(np.maximum(np.diagonal(shares.covariance), 0.0))
        sampling = shares.covariance - shares.noise
        margins.append(_QuestionShares(question, answers, shares.values, errors, sampling))
    return margins


def _interval(
    length: Length, ends: Sequence[_QuestionShares], largest: float
) -> tuple[float, float]:
    """Return an interval for the length of the whole vector, where some divisors may be too large.

    Answer j adds pi_.j times the sum over i of (P(i | j) - pi_i.)^2 / pi_i. to the square, and that
    sum is at most 1 / min pi_i. - 1. With the divisor f instead of pi_.j it is pi_.j / f of that,
    so at most f / 4 times the sum is missing. The bounds of pi_i. jointly fail with probability
    0.1%.
    """
    first, second = sorted(ends, key=lambda each: bool(each.clear.all()))
    if first.clear.all():
        return length.interval(LEVEL, largest)
    low, high = length.interval(LEVEL + BEYOND, largest)
    if not second.clear.all():
        return low, largest
    wide = float(scipy.special.ndtri(1 - BEYOND / len(second.values)))
    least = float((second.values - wide * second.errors).min())
    most = first.divisors[~first.clear].sum() / 4
    added = most * (1 / least - 1) if least > 0 else math.inf
    return low, min(math.sqrt(high**2 + added), largest)


def _too_rare(ends: Sequence[_QuestionShares]) -> str:
    """Return the reason why V may exceed its estimate."""
    names = [
        translatable(
            "estimation.rare-share",
            question=each.question,
            answer=answer,
            value=float(value),
            error=float(error),
        )
        for each in ends
        for answer, value, error, clear in zip(
            each.answers, each.values, each.errors, each.clear, strict=True
        )
        if not clear
    ]
    return translatable("estimation.too-rare", cells=text_list(names), margin=MARGIN)


def standardized(table: TableEstimate) -> tuple[np.ndarray, np.ndarray]:
    """Return (pi_ij - pi_i. pi_.j) / sqrt(pi_i. pi_.j) and its covariance.

    Sums over i weighted by sqrt(pi_i.) are zero, and so are those over j. In these directions there
    is only noise, so contrasts orthogonal to them are used. (The errors of these directions have
    only a second-order effect on the length.) Divisors are those of `_QuestionShares.divisors`; one
    that is not the estimated share is a constant.
    """
    _, jacobian, deviations, shares = _deviations(table)
    first, second = _margins(table)
    rows, columns = first.divisors, second.divisors
    expected = np.outer(rows, columns).ravel()
    by_margins = np.zeros_like(jacobian)
    size, free = len(expected), len(rows)
    by_margins[:, size : size + free] = np.kron(np.diag(first.clear), columns[:, None])
    by_margins[:, size + free :] = np.kron(rows[:, None], np.diag(second.clear))
    root = np.sqrt(expected)
    slope = jacobian / root[:, None] - by_margins * (deviations / (2 * root * expected))[:, None]
    contrast = np.kron(
        *(scipy.linalg.null_space(np.sqrt(each)[None]).T for each in (rows, columns))
    )
    linear = contrast @ slope
    return contrast @ (deviations / root), linear @ shares.covariance @ linear.T


def _deviations(table: TableEstimate) -> tuple[np.ndarray, np.ndarray, np.ndarray, TableShares]:
    """Return pi_i. pi_.j, the Jacobian of the deviations, the deviations pi_ij - pi_i. pi_.j, the
    shares.

    The shares are the cells in C order, then the margins of the rows and those of the columns.
    """
    if len(table.questions) != 2 or not all(table.margins):
        raise TableError.of("table", "estimation.two-questions", value=table.questions)
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
