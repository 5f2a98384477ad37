"""The noise that services add to counts: the smallest with which every view keeps its promise.

Two services each add a number from the same law to every cell. Each service knows its own number,
and may see the counts with that of the other; readers see them with the sum of both.
Proof: docs/mathematics.md#noise-from-the-services.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from incrowd.accountant.additive import (
    LOG_NEVER,
    AdditiveNoise,
    gaussian_weights,
    laplace_weights,
    polya_weights,
)
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.base import rounded_up
from incrowd.accountant.schema import Contribution, ShiftCounts, check_epsilon
from incrowd.accountant.search import gaussian_signal
from incrowd.catalog.sentences import sentence
from incrowd.errors import PrecisionError, PrivacyError

ANALYSIS: Final = "shuffle"  # of reports beside the counts
LEAST_PER_SHIFT = 1e-15  # of delta: chances are multiples of 2^-64
LEAST_CHANCE = 2.0**-60  # of the largest number that can be added
MOST_LOSS = 40.0  # of one step: with more, that chance would be smaller
MOST_REACH = 20_000
MOST_LOG = 80.0  # of a variance
FIRST, CLOSE = 0.01, 4e-4  # of a bracket of the logarithm of the variance, at first and at last


class LawFamily(NamedTuple):
    """Laws of one shape.

    parameter: of the law with a variance. weights, law: of that parameter. shares: those of delta
    that the edges of the laws may take; the more they take, the fewer messages are invented.
    """

    parameter: Callable[[float], float]
    weights: Callable[[float, int], list[float]]
    law: Callable[..., AdditiveNoise]
    shares: tuple[float, ...]


def _loss(variance: float) -> float:
    """Return the loss of the discrete Laplace law with that variance, 1 / (cosh loss - 1)."""
    return min(math.acosh(1 + 1 / variance), MOST_LOSS)


def _loss_of_both(variance: float) -> float:
    """Return the loss of the sum of two halves, each with that variance."""
    return _loss(2 * variance)


def _deviation(variance: float) -> float:
    return math.sqrt(max(variance, 0.5 / MOST_LOSS))


LAPLACE = LawFamily(_loss, laplace_weights, AdditiveNoise.laplace, (0.95, 0.3))
GAUSSIAN = LawFamily(_deviation, gaussian_weights, AdditiveNoise.gaussian, (0.3, 0.05))
POLYA = LawFamily(_loss_of_both, polya_weights, AdditiveNoise.polya, (0.95, 0.3))


class NoiseView(NamedTuple):
    """What one party sees: counts with a law made of one service's, and an epsilon to keep."""

    law: Callable[[AdditiveNoise], AdditiveNoise]
    epsilon: float


class NoiseSolution(NamedTuple):
    """Laws that keep what is promised, and their mean variance in proportion to the wanted one."""

    size: float
    laws: tuple[AdditiveNoise, ...]


class NoiseProblem(NamedTuple):
    """The views that must keep their epsilons with delta, whatever is beside the counts."""

    shifts: Sequence[int]
    variances: Sequence[float]
    views: Sequence[NoiseView]
    delta: float
    beside: Contribution
    crowd: int | None

    def laws(
        self, family: LawFamily, share: float, scale: float
    ) -> tuple[AdditiveNoise, ...] | None:
        """Return the laws of one scale, whose edges take at most a share of delta.

        None if they would be too long.
        """
        edge = share * self.delta / sum(self.shifts)
        each = {v: _law(family, scale * v, edge) for v in set(self.variances)}
        laws = tuple(law for v in self.variances if (law := each[v]))
        return laws if len(laws) == len(self.variances) else None

    def excess(self, laws: Sequence[AdditiveNoise]) -> float:
        """Return the logarithm of the largest delta over the wanted one; of the first view that
        has too large a delta."""
        excess = -math.inf
        for view in self.views:
            delta = certify(ANALYSIS, self.seen(view, laws), self.crowd, view.epsilon).delta.upper
            excess = max(excess, math.log(max(delta, 1e-300) / self.delta))
            if excess > 0:
                break
        return excess

    def seen(self, view: NoiseView, laws: Sequence[AdditiveNoise]) -> Contribution:
        """Return everything that one person's change affects, in one view."""
        every = [*zip(laws, self.shifts, strict=True), *self.beside.shifts]
        added = {law: view.law(law) for law in dict(every)}
        shifts = Contribution((), shifts=_counted((added[law], count) for law, count in every))
        beside = self.beside
        return Contribution(beside.reports, beside.linked, beside.redraws).also(shifts)

    def size(self, laws: Sequence[AdditiveNoise]) -> float:
        """Return the mean variance, as a multiple of what was asked for."""
        sizes = [law.variance / v for law, v in zip(laws, self.variances, strict=True)]
        return math.fsum(sizes) / len(sizes)


def _counted(shifts: Iterable[tuple[AdditiveNoise, int]]) -> ShiftCounts:
    counted: Counter[AdditiveNoise] = Counter()
    for law, count in shifts:
        counted[law] += count
    return tuple(counted.items())


def _law(family: LawFamily, variance: float, edge: float) -> AdditiveNoise | None:
    """Return the shortest law whose largest number has a chance of at most `edge`.

    None if it would be too long.
    """
    reach = math.ceil(LOG_NEVER * math.sqrt(max(variance, 1.0)))
    if reach > 20 * MOST_REACH:
        return None
    parameter = family.parameter(variance)
    weights = np.array(family.weights(parameter, reach))
    chances = weights / (2 * np.cumsum(weights) - weights[0])  # of the last number of each law
    small = np.flatnonzero((chances <= edge) & (chances > 0))
    most = int(np.flatnonzero(chances >= LEAST_CHANCE)[-1])
    reach = min(int(small[0]), most) if len(small) else most
    return family.law(parameter, most=2 * reach) if reach <= MOST_REACH else None


def added_noise(
    shifts: Sequence[int],
    variances: Sequence[float],
    epsilon: float,
    delta: float,
    *,
    service_epsilon: float | None = None,
    beside: Contribution | None = None,
    crowd: int | None = None,
) -> tuple[AdditiveNoise, ...]:
    """Return the smallest noise of one service, for each message, that keeps what is promised.

    Each service, which knows its own noise, learns at most (service_epsilon, delta); readers of the
    counts with the noise of both learn at most (epsilon, delta).

    Parameters
    ----------
    shifts : sequence of int
        By how many cells of each message one person's change shifts the counts.
    variances : sequence of float
        The proportions of the variances; equal ones have one law.
    epsilon, delta : float
        The guarantee for readers.
    service_epsilon : float or None
        What each service alone may learn, at least epsilon; None for epsilon.
    beside : Contribution or None
        What else one person sends. Its own shifts have the noise of one service.
    crowd : int or None
        The number of honest people, if that counts on them.

    Returns
    -------
    tuple of AdditiveNoise
        The law for each message: the best of truncated discrete Laplace and Gaussian laws, and of
        halves of a discrete Laplace law, by the resulting variance.

    Raises
    ------
    PrivacyError
        If a value is out of range, or no noise is enough beside everything else.

    Examples
    --------
    >>> from incrowd import accountant
    >>> (noise,) = accountant.added_noise([1], [1.0], epsilon=2.0, delta=1e-5)
    >>> round(noise.deviation, 2), noise.most
    (0.6, 12)
    """
    shifts, variances = [*map(int, shifts)], [*map(float, variances)]
    _check(shifts, variances, epsilon, delta, service_epsilon)
    views = [NoiseView(lambda law: law, service_epsilon or epsilon)]
    if service_epsilon:
        views.append(NoiseView(lambda law: law.plus(law), epsilon))
    problem = NoiseProblem(shifts, variances, views, delta, beside or Contribution(()), crowd)
    _check_beside(problem)
    families = sorted((LAPLACE, GAUSSIAN), key=lambda family: _start(problem, family))
    if service_epsilon:  # last: alone, halves may need to be very wide
        families.append(POLYA)
    best: NoiseSolution | None = None
    for family in families:
        for share in family.shares:
            best = _smaller(problem, family, share, best) or best
    if best is None:
        raise PrivacyError.of("privacy", "accountant.long-noise", most=2 * MOST_REACH)
    return best.laws


def _check(
    shifts: Sequence[int],
    variances: Sequence[float],
    epsilon: float,
    delta: float,
    service_epsilon: float | None,
) -> None:
    """Raise PrivacyError if an argument is out of range."""
    if not shifts or len(shifts) != len(variances):
        raise PrivacyError.of(
            "variances", "accountant.as-many", value=len(variances), most=max(len(shifts), 1)
        )
    if min(shifts) < 1:
        raise PrivacyError.of("shifts", "accountant.at-least-one", value=min(shifts))
    for name, value in (("variances", min(variances)), ("epsilon", epsilon)):
        if not 0 < value < math.inf:
            raise PrivacyError.of(name, "accountant.above-0", value=value)
    check_epsilon(epsilon)
    if service_epsilon is not None:
        check_epsilon(service_epsilon)
        if service_epsilon < epsilon:
            raise PrivacyError.of(
                "service_epsilon", "accountant.from-epsilon", value=service_epsilon, least=epsilon
            )
    if not 0 < delta < 1:
        raise PrivacyError.of("delta", "shared.between-0-and-1", value=delta)
    least = LEAST_PER_SHIFT * sum(shifts)
    if delta < least:
        counts = sentence("accountant.counts-together", cells=sum(shifts))
        raise PrecisionError.of(
            "delta", "accountant.small-delta", value=delta, reports=counts, least=rounded_up(least)
        )


def _check_beside(problem: NoiseProblem) -> None:
    """Raise PrivacyError if what is beside the counts leaves no delta for them."""
    beside = problem.beside
    if beside.every or beside.shifts:
        nothing = problem._replace(shifts=(), variances=())
        times = math.exp(nothing.excess(()))
        if times >= 1:
            raise PrivacyError.of("privacy", "accountant.no-noise-of-counts", times=times)


def _start(problem: NoiseProblem, family: LawFamily) -> float:
    """Return a scale of the variances that may be near the smallest one."""
    service, *readers = (view.epsilon for view in problem.views)
    pairs = list(zip(problem.shifts, problem.variances, strict=True))
    if family is GAUSSIAN:
        signals = [gaussian_signal(service, problem.delta)]
        signals += [math.sqrt(2) * gaussian_signal(epsilon, problem.delta) for epsilon in readers]
        return sum(count / v for count, v in pairs) / min(signals) ** 2
    epsilon, part = (readers[0], 2.0) if family is POLYA else (service, 1.0)
    low, high = -MOST_LOG, MOST_LOG
    while high - low > CLOSE:
        scale = math.exp((low + high) / 2)
        loss = sum(count * _loss(part * scale * v) for count, v in pairs)
        low, high = ((low + high) / 2, high) if loss > epsilon else (low, (low + high) / 2)
    return math.exp(high)


def _smaller(
    problem: NoiseProblem, family: LawFamily, share: float, best: NoiseSolution | None
) -> NoiseSolution | None:
    """Return the smallest laws of a family, if they are smaller than the best; otherwise None."""
    solutions: list[NoiseSolution] = []

    def holds(log_scale: float) -> bool:
        laws = problem.laws(family, share, math.exp(log_scale))
        if not laws or problem.excess(laws) > 0:
            return False
        solutions.append(NoiseSolution(problem.size(laws), laws))
        return True

    top = MOST_LOG if best is None else math.log(best.size * (1 - CLOSE))
    low = high = min(math.log(_start(problem, family)), top)
    step = FIRST
    if holds(high):
        low = high - step
        while low > -MOST_LOG and holds(low):
            step *= 2
            low, high = low - step, low
    else:
        high = min(low + step, top)
        while not holds(high):
            if high >= top:
                return None
            step *= 2
            low, high = high, min(high + step, top)
    while high - low > CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    smallest = min(solutions, key=lambda each: each.size)
    return smallest if best is None or smallest.size < best.size else None
