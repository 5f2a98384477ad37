"""The empty seat: a bound of delta that holds for every crowd, from moduli of exponential moments.

n others, gamma the mass of the reports' common part, D the local delta, and for every class z of
records the law of G_z = (P_x - e^epsilon P_x') / P_z under P_z, with M_z(w) = E exp(w G_z):

    delta <= (1 - eta gamma)^n D + max_z T_z,
    T_z = gamma int_0^eta du/(1-u) 1/(2 pi) int dt exp(h^2 (theta^2 - t^2) / 2)
          [u (1 - gamma) + (1-u) |M_z(theta + it)|]^n / (theta^2 + t^2)  +  H_z

for any theta > 0, h > 0, 0 < eta < 1 and any cut; H_z is for values above the cut, which M_z then
leaves out. Both integrals are trapezoidal sums, and these lie above them. So every `Contour`
gives a bound: a bad one is loose, never wrong. Proof: docs/empty-seat.md#the-statement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incrowd.numerics.crowd_laws import SIDE, Crowd
from incrowd.numerics.law import log_sum_exp
from incrowd.numerics.precision import EXPONENT_TO_MULTIPLY, PER_PERSON, SMALLEST, relative

# Chosen by trial: finer sums over u and t and a smaller h change the bound by under a per cent,
# and take longer in proportion. None of them can make the bound wrong.
INTERVALS = 40  # of u, the last STRETCH times as long as the first
STRETCH = 1 + INTERVALS / 4
SMOOTHING = 0.02  # h, in spreads of the sum
PERIOD = 6.5  # aliases lie so many spreads from each other
FLOOR, DROP = 0.01, 40.0  # a share of M(theta), or 1 - DROP/n: |M(theta + it)| is raised to it
TAILS = np.geomspace(12, 300, 5)  # t to try for the reports that are missing, over what is spare
LOWEST = 8.0  # K t


@dataclass(frozen=True)
class Contour:
    """What may be chosen freely.

    theta: where the line of integration crosses the axis. spread: a length, of which h is a share
    and the step of t a multiple of the inverse; best the tilted sum's standard deviation.
    eta: the last label. cut: values above it are decisive, and bounded by themselves.
    """

    theta: float
    spread: float
    eta: float
    cut: float = math.inf

    @property
    def smoothing(self) -> float:
        """h."""
        return SMOOTHING * self.spread

    @property
    def step(self) -> float:
        """Of t."""
        return 2 * math.pi / (PERIOD * self.spread)


def certified(crowd: Crowd, eta: float, log_term: float) -> float:
    """delta, given ln max T_z.

    Rounded up by a relative allowance that grows with n, since the n-th power multiplies the error
    of ln M.
    """
    slack = 1 + relative(PER_PERSON * crowd.others)
    total = math.exp(min(log_term, 1.0)) + crowd.unlabeled(eta) * crowd.local
    return min(max(total * slack, SMALLEST), crowd.local)


def largest_term(crowd: Crowd, contour: Contour, enough: float = math.inf) -> tuple[float, int]:
    """ln of the largest T_z, and its place; or of one that is more than `enough`.

    |M(theta + it)| <= M(theta) bounds all classes at once; the sums over t are worked out in the
    order of that bound, until it dismisses the rest.
    """
    decisive = log_decisive(crowd, contour)
    ceilings = np.logaddexp(log_ceilings(crowd, contour), decisive)
    largest, worst = -math.inf, 0
    for place in np.argsort(-ceilings):
        if ceilings[place] <= largest or largest > enough:
            break
        found = log_term(crowd, contour, int(place), float(decisive[place]))
        if found > largest:
            largest, worst = found, int(place)
    return largest, worst


def log_ceilings(crowd: Crowd, contour: Contour) -> np.ndarray:
    """ln of a quick bound of every T_z but for H_z, as int dt/(theta^2 + t^2) = pi/theta."""
    with np.errstate(over="ignore"):
        raised = np.expm1(contour.theta * crowd.value)
    excess = crowd.means(np.where(crowd.value > contour.cut, -1.0, raised))
    smoothed = (contour.smoothing * contour.theta) ** 2 / 2
    return _log_over_labels(crowd, contour.eta, excess) + smoothed - math.log(2 * contour.theta)


def log_term(crowd: Crowd, contour: Contour, place: int, decisive: float = -math.inf) -> float:
    """ln T_z of one class; decisive: ln H_z.

    Why the sum over t is an upper bound: with phi = |M(theta + it)| / M(theta) the power is a sum
    of a_k phi^k, a_k >= 0. For even k phi^k is a characteristic function; so are 1/(theta^2 + t^2)
    and the smoothing, but for factors. By Poisson's formula a trapezoidal sum of their product is
    the integral plus its aliases, all positive. For odd k phi^k is at most the mean of its
    neighbors. So the factor (phi + 1/phi) / 2 makes up for that, and rises if phi is raised.
    """
    theta, h = contour.theta, contour.smoothing
    law = crowd.ordinary(place, contour.cut)
    log_moment = law.log_moment(theta)
    if not math.isfinite(log_moment):
        return math.inf if log_moment > 0 else decisive
    t = contour.step * np.arange(SIDE**2)
    floor = max(FLOOR, 1 - DROP / crowd.others)
    phi = np.clip(law.moduli(theta, contour.step), floor, 1.0)
    different, place_of = np.unique(phi, return_inverse=True)  # most have the floor
    excess = np.expm1(log_moment + np.log(different))
    powers = _log_over_labels(crowd, contour.eta, excess)[place_of]
    both_sides = np.where(t > 0, 2.0, 1.0)
    weight = both_sides * contour.step * (phi + 1 / phi) / 2 / (theta**2 + t**2)
    log_sum = log_sum_exp(powers + np.log(weight) - (h * t) ** 2 / 2)
    # Beyond the last t: phi and its factor are at most 1 and 1/floor, the sum over 1/t^2 at most
    # 1/t, once for each side.
    past = powers[0] - (h * t[-1]) ** 2 / 2 + math.log(2 / floor / t[-1])
    log_integral = np.logaddexp(log_sum, past) + (h * theta) ** 2 / 2 - math.log(2 * math.pi)
    return float(np.logaddexp(log_integral, decisive))


def _log_over_labels(crowd: Crowd, eta: float, excess: np.ndarray) -> np.ndarray:
    """ln of gamma int_0^eta du/(1-u) [u (1 - gamma) + (1-u) M]^n, for M - 1 = `excess`.

    The integrand is convex in u, so that the trapezoidal sum lies above it: with [a + bu]^n,
    X = b/(a + bu), Y = 1/(1-u) its second derivative is n(n-1) X^2 + 2n XY + 2 Y^2 times itself,
    for n >= 2 a form that is never negative; for n = 1 it is 2 Y (X + Y) with a + b = 1 - gamma.
    """
    u = _labels(eta)
    weight = np.convolve(np.diff(u), [0.5, 0.5])
    log_weight = np.log(crowd.common * weight) - np.log1p(-u)
    base = np.maximum(np.multiply.outer(excess, 1 - u) - crowd.common * u, -1.0)
    with np.errstate(divide="ignore"):  # M = 0, where the power is the chance of never
        exponent = crowd.others * np.log1p(base) + log_weight
    found = log_sum_exp(exponent)
    return np.asarray(np.where(np.isfinite(found), found, math.inf))


def _labels(eta: float) -> np.ndarray:
    """From 0 to eta, denser near zero."""
    grown = np.expm1(np.linspace(0, math.log(STRETCH), INTERVALS + 1))
    return np.asarray(eta * grown / grown[-1])


def log_decisive(crowd: Crowd, contour: Contour) -> np.ndarray:
    """ln H_z of each class: what reports above the cut add.

    E[max(0, S); somebody's value v is decisive] <= E(v + R), R the others' sum, plus what v + R < 0
    adds, `missing`. R has the mean -(n-1) gain, but for those whose reports do not count: on
    average at most a share (1 - eta gamma)^n + 1/(gamma (n+1)).
    """
    if contour.cut == math.inf:
        return np.full(len(crowd.laws), -math.inf)
    n, gamma = crowd.others, crowd.common
    counted = max(1 - crowd.unlabeled(contour.eta) - 1 / (gamma * (n + 1)), 0.0)
    net = crowd.value - (n - 1) * crowd.gain * counted + missing(crowd, contour.cut)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(crowd.means(np.where(crowd.value > contour.cut, net, 0.0))))


def missing(crowd: Crowd, cut: float) -> float:
    """A bound of E max(0, v + R) - v - E R for v > cut, R the sum of any n - 1 of the classes.

    Values below -K are raised to -K, which raises max(0, v + R) and the mean. Then
    max(0, s) = s + max(0, -s), and max(0, -s) <= exp(-t s - 1) / t. Any K, t > 0 give a bound.
    """
    others, spare = crowd.others - 1, cut - (crowd.others - 1) * crowd.gain
    best = math.inf
    for t in TAILS / spare if spare > 0 else ():
        lowest = -LOWEST / t
        raised = others * float(crowd.means(np.maximum(lowest - crowd.value, 0.0)).max())
        shrunk = np.exp(-t * np.maximum(crowd.value, lowest))
        log_moment = max(0.0, math.log(float(crowd.means(shrunk).max())))
        exponent = min(others * log_moment - t * cut - 1, EXPONENT_TO_MULTIPLY)
        best = min(best, raised + math.exp(exponent) / t)
    return best
