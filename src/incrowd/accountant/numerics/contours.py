"""The bound of the empty seat, and the search for good contours: theta, eta, and the cut.

Every contour gives a valid bound, so the search cannot make it wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from incrowd.accountant.numerics.extrema import valley
from incrowd.accountant.numerics.laws import Law, log_sum_exp
from incrowd.accountant.numerics.precision import (
    EXPONENT_TO_MULTIPLY,
    PER_PERSON,
    SMALLEST,
    relative,
)

SIDE = 21  # the square root of the number of points t >= 0
NEGLIGIBLE = 1e-17  # tilted masses up to this are added to the modulus without their phase


class OrdinaryLaw(NamedTuple):
    """The values that are not decisive, their probabilities, and the mass of the decisive ones."""

    value: np.ndarray
    mass: np.ndarray
    decisive: float

    def log_moment(self, theta: float) -> float:
        """Return ln M(theta), computed from M - 1, which is often tiny."""
        with np.errstate(over="ignore"):
            excess = float(self.mass @ np.expm1(theta * self.value)) - self.decisive
        return math.log1p(excess) if excess > -1 else -math.inf

    def tilted(self, theta: float) -> np.ndarray:
        """Return probabilities proportional to mass times exp(theta value)."""
        exponent = np.log(self.mass) + theta * self.value
        raised = np.exp(exponent - exponent.max())
        return np.asarray(raised / raised.sum())

    def moduli(self, theta: float, step: float) -> np.ndarray:
        """Return |M(theta + it)| / M(theta) at SIDE^2 points t, starting at zero.

        The product of two short tables; negligible masses are added without their phase.
        """
        tilted = self.tilted(theta)
        counted = tilted > NEGLIGIBLE
        value, share = self.value[counted], tilted[counted]
        fine = np.exp(1j * np.outer(step * np.arange(SIDE), value))
        coarse = np.exp(1j * np.outer(step * SIDE * np.arange(SIDE), value)) * share
        # A matrix product would start the threads of BLAS, which take longer than this small sum.
        summed = np.einsum("ik,jk->ij", coarse, fine).ravel()
        return np.asarray(np.abs(summed) + tilted[~counted].sum())


@dataclass(frozen=True)
class ContourBound:
    """Everything that the bound depends on.

    laws: the complete law of G_z for each class z (its masses add up to 1). common: gamma, or a
    lower bound. others: n. gain: e^epsilon - 1, which is minus the mean of every law. local: D, or
    an upper bound.
    """

    laws: Sequence[Law]
    common: float
    others: int
    gain: float
    local: float

    @cached_property
    def value(self) -> np.ndarray:
        """The values of all laws, concatenated."""
        return np.concatenate([law.value for law in self.laws])

    @cached_property
    def mass(self) -> np.ndarray:
        """The probabilities of these values, raised to at least the smallest positive number."""
        return np.asarray(np.maximum(np.concatenate([law.mass for law in self.laws]), SMALLEST))

    @cached_property
    def ends(self) -> np.ndarray:
        """The indices at which the laws begin, and the end of the last one."""
        return np.asarray(np.cumsum([0] + [len(law.value) for law in self.laws]))

    def means(self, values: np.ndarray) -> np.ndarray:
        """Return the mean, under each law, of a function that has these values at `value`."""
        return np.asarray(np.add.reduceat(self.mass * values, self.ends[:-1]))

    @cached_property
    def _laws_below(self) -> dict[tuple[int, float], OrdinaryLaw]:
        """The results of `ordinary`: a search asks for few of them, each a hundred times."""
        return {}

    def ordinary(self, place: int, cut: float) -> OrdinaryLaw:
        """Return the law of one class up to the cut."""
        if (place, cut) not in self._laws_below:
            self._laws_below[place, cut] = self._ordinary(place, cut)
        return self._laws_below[place, cut]

    def _ordinary(self, place: int, cut: float) -> OrdinaryLaw:
        rows = slice(self.ends[place], self.ends[place + 1])
        value, mass = self.value[rows], self.mass[rows]
        below = value <= cut
        return OrdinaryLaw(value[below], mass[below], float(mass[~below].sum()))

    def unlabeled(self, eta: float) -> float:
        """Return the probability that nobody draws a label of at most eta."""
        return math.exp(self.others * math.log1p(-eta * self.common))


# The empty seat: a bound of delta that holds for every crowd, from moduli of exponential moments.
#
# There are n others, gamma is the mass of the common part of the reports, D is the local delta. For
# every class z of records, let G_z = (P_x - e^epsilon P_x') / P_z under P_z, M_z(w) = E exp(w G_z):
#
#     delta <= (1 - eta gamma)^n D + max_z T_z,
#     T_z = gamma int_0^eta du/(1-u) 1/(2 pi) int dt exp(h^2 (theta^2 - t^2) / 2)
#           [u (1 - gamma) + (1-u) |M_z(theta + it)|]^n / (theta^2 + t^2)  +  H_z
#
# for any theta > 0, h > 0, 0 < eta < 1, and any cut; H_z accounts for values above the cut, which
# M_z then omits. Both integrals are replaced by trapezoidal sums, which are larger. So every
# `Contour` gives a bound: a bad one is loose, never wrong. Proof: docs/empty-seat.md#the-statement.


# Chosen by experiment: finer sums over u and t and a smaller h change the bound by less than one
# percent, and take proportionally longer. No choice can make the bound wrong.
INTERVALS = 40  # of u; the last is STRETCH times as long as the first
STRETCH = 1 + INTERVALS / 4
GROWN = np.expm1(np.linspace(0, math.log(STRETCH), INTERVALS + 1))  # ends of the intervals
SMOOTHING = 0.02  # h, in spreads of the sum
PERIOD = 6.5  # the distance of aliases, in spreads
FLOOR, DROP = 0.01, 40.0  # |M(theta + it)| is raised to FLOOR or 1 - DROP/n, times M(theta)
TAILS = np.geomspace(12, 300, 5)  # values of t times `spare` to try in `missing`
LOWEST = 8.0  # K t


@dataclass(frozen=True)
class Contour:
    """The free parameters of the bound.

    theta: where the line of integration crosses the real axis. spread: h is proportional to it, and
    the step of t to its inverse; the best value is the standard deviation of the tilted sum. eta:
    the last label. cut: values above it are decisive and are bounded separately.
    """

    theta: float
    spread: float
    eta: float
    cut: float = math.inf

    @property
    def smoothing(self) -> float:
        """The width h of the smoothing."""
        return SMOOTHING * self.spread

    @property
    def step(self) -> float:
        """The step of t."""
        return 2 * math.pi / (PERIOD * self.spread)


def certified(crowd: ContourBound, eta: float, log_term: float) -> float:
    """Return the bound of delta, given ln max T_z.

    Rounded up by a relative allowance that grows with n, since the n-th power multiplies the error
    of ln M.
    """
    slack = 1 + relative(PER_PERSON * crowd.others)
    total = math.exp(min(log_term, 1.0)) + crowd.unlabeled(eta) * crowd.local
    return min(max(total * slack, SMALLEST), crowd.local)


def largest_term(
    crowd: ContourBound, contour: Contour, enough: float = math.inf
) -> tuple[float, int]:
    """Return ln of the largest T_z, and its index; or of the first that exceeds `enough`.

    |M(theta + it)| <= M(theta) bounds all classes at once; the sums over t are computed in the
    order of that bound, until it rules out the rest.
    """
    decisive = log_decisive(crowd, contour)
    ceilings = np.logaddexp(log_ceilings(crowd, contour), decisive)
    largest, worst = -math.inf, 0
    for place in np.argsort(-ceilings):
        if ceilings[place] <= largest or largest > enough:
            break
        term = log_term(crowd, contour, int(place), float(decisive[place]))
        if term > largest:
            largest, worst = term, int(place)
    return largest, worst


def log_ceilings(crowd: ContourBound, contour: Contour) -> np.ndarray:
    """Return ln of a quick bound of every T_z without H_z,
    since int dt/(theta^2 + t^2) = pi/theta."""
    with np.errstate(over="ignore"):
        raised = np.expm1(contour.theta * crowd.value)
    excess = crowd.means(np.where(crowd.value > contour.cut, -1.0, raised))
    smoothed = (contour.smoothing * contour.theta) ** 2 / 2
    return _log_over_labels(crowd, contour.eta, excess) + smoothed - math.log(2 * contour.theta)


def log_term(
    crowd: ContourBound, contour: Contour, place: int, decisive: float = -math.inf
) -> float:
    """Return ln T_z of one class; decisive: ln H_z.

    Why the sum over t is an upper bound: with phi = |M(theta + it)| / M(theta), the power is a sum
    of a_k phi^k, a_k >= 0. For even k, phi^k is a characteristic function; up to factors, so are
    1/(theta^2 + t^2) and the smoothing. By Poisson's formula, a trapezoidal sum of their product is
    the integral plus its aliases, which are all positive. For odd k, phi^k is at most the mean of
    its neighbors: the factor (phi + 1/phi) / 2 compensates for that, and rises if phi is raised.
    """
    theta, h = contour.theta, contour.smoothing
    law = crowd.ordinary(place, contour.cut)
    log_moment = law.log_moment(theta)
    if not math.isfinite(log_moment):
        return math.inf if log_moment > 0 else decisive
    t = contour.step * np.arange(SIDE**2)
    floor = max(FLOOR, 1 - DROP / crowd.others)
    phi = np.clip(law.moduli(theta, contour.step), floor, 1.0)
    higher = ~(phi <= floor)  # only a few are; NaN stays NaN
    excess = np.expm1(log_moment + np.log(np.append(phi[higher], floor)))
    *above, lowest = _log_over_labels(crowd, contour.eta, excess)
    powers = np.full(len(phi), lowest)
    powers[higher] = above
    both_sides = np.where(t > 0, 2.0, 1.0)
    weight = both_sides * contour.step * (phi + 1 / phi) / 2 / (theta**2 + t**2)
    log_sum = log_sum_exp(powers + np.log(weight) - (h * t) ** 2 / 2)
    # Beyond the last t, phi and its factor are at most 1 and 1/floor, and the sum over 1/t^2 is at
    # most 1/t, once for each side.
    past = powers[0] - (h * t[-1]) ** 2 / 2 + math.log(2 / floor / t[-1])
    log_integral = np.logaddexp(log_sum, past) + (h * theta) ** 2 / 2 - math.log(2 * math.pi)
    return float(np.logaddexp(log_integral, decisive))


def _log_over_labels(crowd: ContourBound, eta: float, excess: np.ndarray) -> np.ndarray:
    """Return ln of gamma int_0^eta du/(1-u) [u (1 - gamma) + (1-u) M]^n, for M - 1 = `excess`.

    The integrand is convex in u, so the trapezoidal sum is an upper bound: with [a + bu]^n,
    X = b/(a + bu), and Y = 1/(1-u), its second derivative is n(n-1) X^2 + 2n XY + 2 Y^2 times the
    integrand. For n >= 2 this form is never negative; for n = 1 it is 2 Y (X + Y) with
    a + b = 1 - gamma.
    """
    u = _labels(eta)
    weight = np.convolve(np.diff(u), [0.5, 0.5])
    log_weight = np.log(crowd.common * weight) - np.log1p(-u)
    base = np.maximum(np.multiply.outer(excess, 1 - u) - crowd.common * u, -1.0)
    with np.errstate(divide="ignore"):  # M = 0
        exponent = crowd.others * np.log1p(base) + log_weight
    total = log_sum_exp(exponent)
    return np.asarray(np.where(np.isfinite(total), total, math.inf))


def _labels(eta: float) -> np.ndarray:
    """Return the values of u from 0 to eta, denser near zero."""
    return np.asarray(eta * GROWN / GROWN[-1])


def log_decisive(crowd: ContourBound, contour: Contour) -> np.ndarray:
    """Return ln H_z of each class, which accounts for values above the cut.

    E[max(0, S); somebody's value v is decisive] <= E(v + R), where R is the sum of the others, plus
    `missing` for v + R < 0. The mean of R is -(n-1) gain, except for reports that do not count: on
    average at most a share (1 - eta gamma)^n + 1/(gamma (n+1)).
    """
    if contour.cut == math.inf:
        return np.full(len(crowd.laws), -math.inf)
    n, gamma = crowd.others, crowd.common
    counted = max(1 - crowd.unlabeled(contour.eta) - 1 / (gamma * (n + 1)), 0.0)
    net = crowd.value - (n - 1) * crowd.gain * counted + missing(crowd, contour.cut)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(crowd.means(np.where(crowd.value > contour.cut, net, 0.0))))


def missing(crowd: ContourBound, cut: float) -> float:
    """Return a bound of E max(0, v + R) - v - E R for v > cut and the sum R of any n - 1 of the
    classes.

    Values below -K are raised to -K, which raises max(0, v + R) and the mean. Then
    max(0, s) = s + max(0, -s), and max(0, -s) <= exp(-t s - 1) / t. Any K, t > 0 give a bound.
    """
    others, spare = crowd.others - 1, cut - (crowd.others - 1) * crowd.gain
    best = math.inf
    for t in TAILS / max(spare, 1 / HIGHEST) if spare > 0 else ():
        lowest = -LOWEST / t
        raised = others * float(crowd.means(np.maximum(lowest - crowd.value, 0.0)).max())
        shrunk = np.exp(-t * np.maximum(crowd.value, lowest))
        log_moment = max(0.0, math.log(float(crowd.means(shrunk).max())))
        exponent = min(others * log_moment - t * cut - 1, EXPONENT_TO_MULTIPLY)
        best = min(best, raised + math.exp(exponent) / t)
    return best


# Chosen by experiment: the search is short, and the bound within one percent of the best one.
MOST_ETA = 0.9
UNLABELED = 9.0  # the term (1 - eta gamma)^n D should be about e^-9 of the rest
CUTS = (1.2, 1.6, 2.2)  # times n (e^epsilon - 1), which a single value has to exceed to decide
AROUND, ROUGH, CLOSE = 0.25, 5e-2, 4e-3  # in ln theta: range and precisions of the search with sums
ROUNDS = 5
HIGHEST = 1e100  # in place of infinity


def least_bound(crowd: ContourBound, sharp: bool = True) -> tuple[float, int]:
    """Return the certified bound of delta with a good contour, and the index of the worst class.

    sharp: search theta with the sums over t, and try every cut. If False, choose theta by M(theta)
    alone and use the cut that then looks best, which is a few percent looser and several times as
    fast.
    """
    if not crowd.local:
        return 0.0, 0
    tried = [_Chosen.at(crowd, cut) for cut in cuts(crowd)]
    if not sharp:
        return _settled(crowd, min(tried, key=lambda one: one.ceiling(crowd)), sharp)
    best = math.inf, 0
    for chosen in sorted(tried, key=lambda one: one.ceiling(crowd)):
        best = min(best, _settled(crowd, chosen, sharp, best[0]))
    return best


def cuts(crowd: ContourBound) -> list[float]:
    """Return cuts to try: infinity, and levels above which one value decides the sum, if there are
    any."""
    level = crowd.others * crowd.gain
    if float(crowd.value.max()) <= CUTS[0] * level:
        return [math.inf]
    return [math.inf, *(share * level for share in CUTS)]


@dataclass(frozen=True)
class _Chosen:
    """A contour, and the indices of the classes that it was chosen for."""

    contour: Contour
    active: tuple[int, ...]

    @classmethod
    def at(cls, crowd: ContourBound, cut: float, active: tuple[int, ...] = ()) -> _Chosen:
        """Return the contour with the smallest quick bound, for the classes that are then the
        worst."""
        if not active:
            active = (int(np.argmax(crowd.means(np.minimum(crowd.value, cut) ** 2))),)
        for _ in range(ROUNDS):
            contour = _contour(crowd, active, _rough_theta(crowd, active, cut), cut)
            worst = int(np.argmax(log_ceilings(crowd, contour)))
            if worst in active:
                break
            active = (*active, worst)
        return cls(contour, active)

    def ceiling(self, crowd: ContourBound) -> float:
        """Return ln of the quick bound of every T_z."""
        decisive = log_decisive(crowd, self.contour)
        return float(np.logaddexp(log_ceilings(crowd, self.contour), decisive).max())

    def refined(self, crowd: ContourBound, close: float) -> Contour:
        """Return the nearby contour with the smallest bound, by the sums over t of the active
        classes."""
        around = math.log(self.contour.theta)

        def contour(log_theta: float) -> Contour:
            return _contour(crowd, self.active, math.exp(log_theta), self.contour.cut)

        def height(log_theta: float) -> float:
            chosen = contour(log_theta)
            term = max(log_term(crowd, chosen, place) for place in self.active)
            return math.log(certified(crowd, chosen.eta, term))

        return contour(_least(height, around - AROUND, around + AROUND, close))


def _settled(
    crowd: ContourBound, chosen: _Chosen, sharp: bool, bound: float = math.inf
) -> tuple[float, int]:
    """Return the bound of all classes; if another class is the worst, theta is chosen for that one
    too.

    bound: an earlier bound; the computation ends once it cannot be improved.
    """
    best = math.inf, 0
    for _ in range(ROUNDS):
        contour = chosen.contour
        if sharp or len(chosen.active) > 1:  # several classes have to be balanced
            contour = chosen.refined(crowd, CLOSE if sharp else ROUGH)
        enough = math.log(min(bound, best[0]))
        term, place = largest_term(crowd, contour, enough)
        best = min(best, (certified(crowd, contour.eta, term), place))
        if place in chosen.active:
            break
        chosen = _Chosen.at(crowd, contour.cut, (*chosen.active, place))
    return best


def _contour(crowd: ContourBound, active: tuple[int, ...], theta: float, cut: float) -> Contour:
    """Return the contour through theta, with a spread and an eta that suit the classes."""
    powers, spreads = zip(*(_tilted(crowd, place, theta, cut) for place in active), strict=True)
    log_term = max(powers) - math.log(2 * theta * crowd.others)
    needed = math.log(crowd.local) - log_term + UNLABELED
    eta = min(max(needed, 1.0) / (crowd.common * crowd.others), MOST_ETA)
    return Contour(theta, max(spreads), eta, cut)


def _tilted(crowd: ContourBound, place: int, theta: float, cut: float) -> tuple[float, float]:
    """Return n ln M(theta) of a class, and the standard deviation of the tilted sum."""
    law = crowd.ordinary(place, cut)
    weight = law.tilted(theta)
    variance = float(weight @ (law.value - weight @ law.value) ** 2)
    spread = math.sqrt(max(crowd.others * variance, SMALLEST))
    return crowd.others * law.log_moment(theta), spread


def _rough_theta(crowd: ContourBound, active: tuple[int, ...], cut: float) -> float:
    """Return the theta that minimizes max_z M(theta)^n / theta^2,
    about the integrals' saddlepoint."""
    laws = [crowd.ordinary(place, cut) for place in active]
    largest = max(float(np.abs(law.value).max()) for law in laws)
    top = max(float(law.value.max()) for law in laws)
    lowest = math.log(0.02 / math.sqrt(crowd.others) / largest)
    highest = math.log(EXPONENT_TO_MULTIPLY / max(top, 1e-3 * largest))

    def height(log_theta: float) -> float:
        moment = max(law.log_moment(math.exp(log_theta)) for law in laws)
        return crowd.others * moment - 2 * log_theta

    return math.exp(_least(height, lowest, highest, 1e-3))


def _least(height: Callable[[float], float], low: float, high: float, close: float) -> float:
    """Return the minimum of a function with one valley, which may be infinite."""

    def finite(x: float) -> float:
        return min(max(height(x), -HIGHEST), HIGHEST)

    return valley(finite, low, high, close)
