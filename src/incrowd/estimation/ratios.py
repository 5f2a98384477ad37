"""Ratios of estimates and comparisons of shares, with intervals that cover at any size.

A value r is a possible ratio of A to B if the data do not reject A - r B = 0. The estimate of A - r
B is nearly normal even where B is near zero and the ratio of the estimates is not. The interval
holds all values that the test does not reject (Fieller 1954). It has its level at any size, so
nothing is left out; leaving out noisy figures would show mainly overestimates. In return, the
interval has no end where the data set no limit.

The shares of one or two groups are tested in the same way, with the variance that the sampling of
people has under the hypothesis (a score test, as Wilson 1927 and Miettinen and Nurminen 1985 have
it without noise). The test that two shares are equal, the interval of their difference, and that of
their odds ratio are one construction, so that they never contradict each other.
Proof: docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import scipy

from incrowd.catalog.sentences import translatable
from incrowd.estimation.delta_method import ShareTerm, TableShares, pick
from incrowd.estimation.intervals import LEVEL
from incrowd.estimation.small_groups import GroupCounts, SmallGroup, small_group
from incrowd.estimation.tables import TableEstimate

TINY = 1e-300
TOLERANCE = 1e-9  # of an end
QuestionAnswer = tuple[str, str]  # a question and one of its answers
Scale = Literal["linear", "log"]
Unbounded = Literal["no", "above", "below", "everywhere"]
IntervalMethod = Literal["score", "exact", "length", "Wald"]


@dataclass(frozen=True)
class Comparison:
    """A figure computed from a table: estimate, standard error, interval.

    low, high: the interval; -inf, inf where the data set no limit. unbounded: "above" if there is
    no upper limit, "below" if there is no lower one, "everywhere" if no possible value is excluded.
    scale: "log" if the standard error is that of the estimate's logarithm, otherwise "linear"; the
    error is nan if the interval is unbounded or the logarithm is of zero. If `estimable` is false,
    there is no estimate (nan), but the interval is still valid. reason: why an end is open, or a
    figure is missing or left out. errors: whether the people are treated as a sample or as fixed.
    """

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float
    scale: Scale
    level: float
    errors: str
    estimable: bool = True
    reason: str = ""
    unbounded: Unbounded = "no"
    method: IntervalMethod = "score"


@dataclass(frozen=True)
class Quotient:
    """A / B with B >= 0, estimates that are jointly nearly normal; positive: A >= 0 as well."""

    over: float
    under: float
    over_variance: float
    covariance: float
    under_variance: float
    positive: bool

    @property
    def estimate(self) -> float:
        """The possible ratio that fits the data best; nan if it is not finite."""
        if self.under <= 0:
            return math.nan
        return max(self.over / self.under, 0.0 if self.positive else -math.inf)

    @property
    def spread(self) -> float:
        """The standard error of A - r B at the estimate r."""
        r = self.estimate
        variance = self.over_variance - 2 * r * self.covariance + r * r * self.under_variance
        return math.sqrt(max(variance, 0.0))

    def interval(self, level: float) -> tuple[float, float]:
        """Return all possible r with (A - r B)^2 <= c Var(A - r B), c the chi-square quantile.

        An A or B below zero is impossible; its square in standard errors (the likelihood ratio
        against the possible values) is added to c, so that no noise makes an interval empty or too
        short. Where B may be zero, r has no limit on the side of A's sign.
        """
        c = float(scipy.special.ndtri((1 + level) / 2)) ** 2 + _below_zero(
            self.under, self.under_variance
        )
        c += _below_zero(self.over, self.over_variance) if self.positive else 0.0
        a = self.under**2 - c * self.under_variance
        b = self.over * self.under - c * self.covariance
        d = self.over**2 - c * self.over_variance
        bounded = a > 0 < self.under
        low, high = _between_roots(a, b, d) if bounded else _beyond_root(a, b, d, self.over)
        return (max(low, 0.0), high) if self.positive else (low, high)


def _below_zero(value: float, variance: float) -> float:
    return min(value, 0.0) ** 2 / variance if variance > 0 else 0.0


def _between_roots(a: float, b: float, d: float) -> tuple[float, float]:
    """Return where a r^2 - 2 b r + d <= 0, for a > 0;
    both roots are computed without cancellation."""
    far = b + math.copysign(math.sqrt(max(b * b - a * d, 0.0)), b)
    roots = (far / a, d / far if far else 0.0)
    return min(roots), max(roots)


def _beyond_root(a: float, b: float, d: float, over: float) -> tuple[float, float]:
    """Return the same where B may be zero, a <= 0: all r, or those beyond a root, on the side of A.

    If A is not zero (d > 0), neither is r, and it has the sign of A.
    """
    if d <= 0:
        return -math.inf, math.inf
    far = b + math.copysign(math.sqrt(max(b * b - a * d, 0.0)), over)
    root = d / far if far else math.copysign(math.inf, over)
    return (root, math.inf) if over > 0 else (-math.inf, root)


# --- shares of groups -------------------------------------------------------------------------

EXACT = 1e-9  # the standard error of a share that is known exactly
GRID = np.linspace(0.0, 1.0, 33)  # of a parameter; each round takes the neighbors of the best point
ROUNDS = 5
FINE = np.linspace(0.0, 1.0, 4097), 2  # the same where distances have steps
LEAST_EFFECT = 0.1  # of weights: known margins take away some of the sampling, but never all
INSIDE = 1e-6  # how far inside its range a share is from which an end is searched for
LOGITS = 12.0  # the range of the middle of two logits
STEPS = [0.1 * 2.0**power for power in range(13)]  # of a logarithm, in the search for an end
ShareCurve = Callable[[float, np.ndarray], np.ndarray]


class Contrast(NamedTuple):
    """A figure of the shares of one or two groups.

    at: the figure of some shares. curve: shares at which the figure has a given value; parameters
    from 0 to 1, of shape (n,), run through all of them, of shape (n, groups); if there is only one,
    of shape (1, groups). least, most: the
    range of the figure. no_effect: its value if the shares are equal; None for one group. positive:
    whether it is on the log scale.
    """

    at: Callable[[np.ndarray], float]
    curve: ShareCurve
    least: float
    most: float
    no_effect: float | None = None
    positive: bool = False


def _bent(parameters: np.ndarray) -> np.ndarray:
    """Return shares from 0 to 1, closer together at the ends."""
    return np.asarray(np.sin(parameters * (math.pi / 2)) ** 2)


def _one_share(value: float, parameters: np.ndarray) -> np.ndarray:
    return np.array([[value]])


def _shares_apart(value: float, parameters: np.ndarray) -> np.ndarray:
    """Return two shares whose difference has a value."""
    first = max(value, 0.0) + (1 - abs(value)) * _bent(parameters)
    return np.stack([first, first - value], axis=1)


def _odds_apart(value: float, parameters: np.ndarray) -> np.ndarray:
    """Return two shares whose odds ratio has a value;
    zero and infinity are limits of such curves."""
    if value == 0 or math.isinf(value):
        sides = [_bent(np.clip(2 * parameters - start, 0.0, 1.0)) for start in (0, 1)]
        return np.stack(sides if value else sides[::-1], axis=1)
    half = math.log(value) / 2
    middle = (2 * parameters - 1) * (LOGITS + abs(half))
    return np.asarray(scipy.special.expit(np.stack([middle + half, middle - half], axis=1)))


def _odds_ratio(shares: np.ndarray) -> float:
    first, second = np.clip(shares, INSIDE, 1 - INSIDE)
    return float(first * (1 - second) / ((1 - first) * second))


SHARE = Contrast(lambda shares: float(shares[0]), _one_share, 0.0, 1.0)
DIFFERENCE = Contrast(
    lambda shares: float(shares[0] - shares[1]), _shares_apart, -1.0, 1.0, no_effect=0.0
)
ODDS = Contrast(_odds_ratio, _odds_apart, 0.0, math.inf, no_effect=1.0, positive=True)


@dataclass(frozen=True)
class GroupShares:
    """Those who gave an answer and those who did not in each group, as shares of all people.

    values: for each group two estimates. noise: their covariance by noise. sampling: for each group
    the variance that the sampling of people adds to an answer that all people give or not with even
    chances, times four; 0 if the people are fixed. few: the tests of each group by the law of its
    noise, used instead of these, if the people are few.
    """

    values: np.ndarray
    noise: np.ndarray
    sampling: np.ndarray
    few: tuple[SmallGroup, ...] = ()

    @property
    def method(self) -> IntervalMethod:
        """The method of tests and intervals."""
        return "exact" if self.few else "score"

    def distances(self, shares: np.ndarray) -> np.ndarray:
        """Return how far the estimates are from given shares within the groups, in squared errors.

        shares: shape (n, groups). For a group with the estimates a and a', (1 - p) a - p a' has the
        mean zero if p is its share. Its variance is that under this hypothesis.
        """
        if self.few:
            pairs = zip(self.few, shares.T, strict=True)
            return np.asarray(sum(group.distances(each) for group, each in pairs))
        number, groups = shares.shape
        weights = np.zeros((number, groups, 2 * groups))
        for group in range(groups):
            weights[:, group, 2 * group] = 1 - shares[:, group]
            weights[:, group, 2 * group + 1] = -shares[:, group]
        sizes = np.maximum(self.values.reshape(groups, 2).sum(axis=1), 0.0)
        variance = weights @ self.noise @ weights.transpose(0, 2, 1)
        drawn = self.sampling * sizes * shares * (1 - shares)
        variance[:, range(groups), range(groups)] += drawn + EXACT**2
        off = weights @ self.values
        if groups == 1:
            return np.asarray((off**2)[:, 0] / variance[:, 0, 0])
        (one, both), (_, two) = variance[:, 0].T, variance[:, 1].T
        x, y = off.T
        numerator = x * x * two - 2 * x * y * both + y * y * one
        return np.asarray(numerator / np.maximum(one * two - both * both, TINY))

    @cached_property
    def nearest(self) -> tuple[np.ndarray, float]:
        """The possible shares that are nearest to the estimates, and their distance."""
        if self.few:
            each = np.array([group.nearest for group in self.few])
            return each[:, 0], float(each[:, 1].sum())
        pairs = self.values.reshape(-1, 2)
        if self.values.min() >= 0 and np.all(pairs.sum(axis=1) > 0):
            return pairs[:, 0] / pairs.sum(axis=1), 0.0
        grids = [GRID] * len(pairs)
        for _ in range(ROUNDS):
            mesh = np.stack([each.ravel() for each in np.meshgrid(*grids)], axis=1)
            distances = self.distances(_bent(mesh))
            best = int(np.argmin(distances))
            grids = [_nearer(grid, at) for grid, at in zip(grids, mesh[best], strict=True)]
        return _bent(mesh[best]), float(distances[best])

    def excess(self, contrast: Contrast, value: float) -> float:
        """Return how much farther than the nearest possible shares those are at which a figure has
        a value: chi-square with one degree of freedom if it has this value."""
        least, (grid, rounds) = math.inf, FINE if self.few else (GRID, ROUNDS)
        for _ in range(rounds):
            distances = self.distances(contrast.curve(value, grid))
            best = int(np.argmin(distances))
            least = float(distances[best])
            if len(distances) == 1:
                break
            grid = _nearer(grid, grid[best])
        return max(least - self.nearest[1], 0.0)

    def interval(self, contrast: Contrast, level: float) -> tuple[float, float]:
        """Return all values of a figure that the test does not reject.

        It holds the value without effect if and only if the test does not reject that.
        """
        limit = math.sqrt(2) * float(scipy.special.erfinv(level))  # of |z|

        def off(value: float) -> float:
            return math.sqrt(self.excess(contrast, value)) - limit

        def end(inner: float, outer: float) -> float:
            null = contrast.no_effect
            if null is not None and (inner < null < outer or outer < null < inner):
                inner, outer = (inner, null) if off(null) > 0 else (null, outer)
            if off(outer) <= 0:
                return outer
            if off(inner) >= 0:
                return inner
            if not contrast.positive:
                return float(scipy.optimize.brentq(off, inner, outer, xtol=TOLERANCE))
            start, side = math.log(inner), math.copysign(1.0, outer - inner)
            last = math.log(outer) if outer > 0 else -math.inf
            for step in STEPS:
                place = start + side * step
                place = min(place, last) if side > 0 else max(place, last)
                if off(math.exp(place)) > 0:
                    root = scipy.optimize.brentq(
                        lambda each: off(math.exp(each)), start, place, xtol=TOLERANCE
                    )
                    return math.exp(float(root))
            return outer

        start = contrast.at(self.nearest[0])
        return end(start, contrast.least), end(start, contrast.most)


def groups_of(
    table: TableEstimate, of: QuestionAnswer, *given: QuestionAnswer
) -> tuple[TableShares, GroupShares]:
    """Return the shares of those who gave an answer and those who did not, for one or two groups.

    of: the answer; given: for each group the answer that defines it. The readings of two exclusive
    answers do not add up exactly to that of "any answer"; in a comparison, what is missing is
    divided equally between them, so that it does not matter which one is compared. If people can be
    in both groups, the covariance of the sampling is that of the estimate, enlarged for few counts.
    Raises TableError if the table has no such answer or lacks a margin.
    """
    question = of[0]
    others: tuple[str, ...] = ()
    if question in table.questions and table.exclusive[table.questions.index(question)]:
        answers = table.answers[table.questions.index(question)]
        if len(given) == len(answers) == 2:
            others = tuple(answer for answer in answers if answer != of[1])
    selections = [
        selection
        for group in given
        for selection in (
            dict([of, group]),
            dict([group]),
            *(dict([(question, answer), group]) for answer in others),
        )
    ]
    picked = pick(table, selections)
    having = np.zeros(2 + len(others))
    having[0] = 1.0
    if others:
        missing = np.array([-1.0, 1.0, *(-1.0 for _ in others)])
        having += missing / (1 + len(others))
    lacking = -having
    lacking[1] += 1
    shares = picked.combined(np.kron(np.eye(len(given)), np.stack([having, lacking])))
    disjoint = len(given) == 1 or table.exclusive[table.questions.index(given[0][0])]
    few: tuple[SmallGroup, ...] = ()
    if disjoint and picked.published and table.exclusive[table.questions.index(question)]:
        starts = range(0, len(selections), len(having))
        few = tuple(
            small_group(GroupCounts.pair(picked.published, start, table.error.noise_only))
            for start in starts
        )
    if table.error.noise_only:
        return shares, GroupShares(shares.values, shares.noise, np.zeros(len(given)), few)
    if not disjoint:
        return shares, GroupShares(shares.values, shares.with_few(), np.zeros(len(given)))
    effects = np.array([weighting_effect(table, group, question) for group in given])
    return shares, GroupShares(shares.values, shares.noise, effects / table.people, few)


def weighting_effect(table: TableEstimate, group: QuestionAnswer, of: str) -> float:
    """Return how much weights enlarge the sampling variance of the answers to a question in a
    group.

    The sum of the variances of all shares within the group, divided by that of a simple random
    sample (Kish 1965); 1 without weights.
    """
    if not isinstance(table.error.person, np.ndarray):
        return 1.0
    most = float(np.max(table.error.person)) * table.people
    within = WithinGroup.of(table, group, of)
    if not within.spread > 0:
        return most
    effect = float(np.trace(within.sampling)) * table.people * within.size / within.spread
    return min(max(effect, LEAST_EFFECT), most)


class WithinGroup(NamedTuple):
    """The shares of the answers to a question within a group, by the delta method.

    size: the share of the group. spread: the sum of p (1 - p). covariance, sampling: those of all
    shares, by noise and sampling, and by sampling alone.
    """

    size: float
    spread: float
    covariance: np.ndarray
    sampling: np.ndarray

    @classmethod
    def of(cls, table: TableEstimate, group: QuestionAnswer, question: str) -> WithinGroup:
        """Return the shares within the groups of a table of two questions with margins."""
        answers = table.answers[table.questions.index(question)]
        shares = pick(
            table, [*({question: each} | dict([group]) for each in answers), dict([group])]
        )
        size = float(shares.values[-1])
        if size <= 0:
            nothing = np.zeros((len(answers), len(answers)))
            return cls(size, 0.0, nothing, nothing)
        within = np.clip(shares.values[:-1] / size, 0.0, 1.0)
        parts = shares.combined(np.hstack([np.eye(len(answers)), -within[:, None]]) / size)
        spread = float(within @ (1 - within))
        return cls(size, spread, parts.covariance, parts.covariance - parts.noise)


@dataclass(frozen=True)
class GroupPrecision:
    """The precision of the answers to a question within a group.

    people: the estimated number of participants in the group, without weights. effective_people:
    how many people of a simple random sample without noise would give the same sum of squared
    errors of the shares within the group. design_effect: people / effective_people, the factor of
    noise and weights (Kish 1965). Both are nan if the group or the answers cannot be distinguished
    from nothing.
    """

    group: str
    people: float
    effective_people: float
    design_effect: float


def precision_of(
    table: TableEstimate, unweighted: TableEstimate | None = None
) -> tuple[GroupPrecision, ...]:
    """Return the precision in each group of the first question; none if the people are fixed.

    unweighted: the same table without weights, if `table` is weighted. It shows how many people
    took part, and that is the size of the simple random sample to compare with.
    """
    if table.error.noise_only:
        return ()
    (first, second), groups = table.questions, table.answers[0]
    rows = []
    for group in groups:
        within = WithinGroup.of(table, (first, group), second)
        there = WithinGroup.of(unweighted, (first, group), second) if unweighted else within
        people = there.size * (unweighted or table).people
        variance = float(np.trace(within.covariance))
        effective = within.spread / variance if within.spread > 0 and variance > 0 else math.nan
        rows.append(GroupPrecision(group, people, effective, people / effective))
    return tuple(rows)


def _nearer(grid: np.ndarray, best: float) -> np.ndarray:
    """Return a grid between the neighbors of the best point of another."""
    step = (grid[-1] - grid[0]) / (len(grid) - 1)
    low, high = max(best - step, grid[0]), min(best + step, grid[-1])
    return np.linspace(low, high, len(grid))


def compared(
    name: str,
    over: ShareTerm,
    under: ShareTerm,
    shares: TableShares,
    factors: Mapping[str, np.ndarray],
    groups: GroupShares,
    contrast: Contrast,
) -> Comparison:
    """Return over / under as a figure, with the interval of a contrast of groups.

    shares: the shares of people who are in one of these groups only. factors: sums of shares, with
    names; if one of them is zero, so is `under`.
    """
    scale: Scale = "log" if contrast.positive else "linear"
    parts = Quotient(
        over=over.value,
        under=under.value,
        over_variance=float(over.gradient @ shares.covariance @ over.gradient),
        covariance=float(over.gradient @ shares.covariance @ under.gradient),
        under_variance=float(under.gradient @ shares.covariance @ under.gradient),
        positive=contrast.positive,
    )
    low, high = groups.interval(contrast, LEVEL)
    unbounded: Unbounded = "above" if math.isinf(high) else "no"
    if (low, high) == (contrast.least, contrast.most):
        low, high = (low, high) if contrast.positive else (-math.inf, math.inf)
        unbounded = "everywhere"
    unit = parts.over if scale == "log" else parts.under
    bounded = unbounded == "no"
    return Comparison(
        name=name,
        estimate=min(max(parts.estimate, low), high) if parts.under > 0 else math.nan,
        standard_error=parts.spread / unit if bounded and unit > 0 else math.nan,
        low=low,
        high=high,
        scale=scale,
        level=LEVEL,
        errors=shares.errors,
        estimable=not math.isnan(parts.estimate),
        reason="" if bounded else _nearest_to_zero(shares, factors),
        unbounded=unbounded,
        method=groups.method,
    )


def _nearest_to_zero(shares: TableShares, factors: Mapping[str, np.ndarray]) -> str:
    """Return the factor that is the fewest standard errors above zero, as a reason."""
    sums = shares.combined(np.array(list(factors.values())))
    errors = np.sqrt(np.maximum(np.diagonal(sums.covariance), TINY))
    place = int(np.argmin(sums.values / errors))
    return translatable(
        "estimation.near-zero",
        name=list(factors)[place],
        share=float(sums.values[place]),
        error=float(errors[place]),
    )
