"""Good contours for `modulus_bound`: the search for theta, eta and the cut.

Nothing here can make a bound wrong, since every contour gives one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from incrowd.numerics.crowd_laws import Crowd
from incrowd.numerics.extrema import valley
from incrowd.numerics.modulus_bound import (
    Contour,
    certified,
    largest_term,
    log_ceilings,
    log_decisive,
    log_term,
)
from incrowd.numerics.precision import EXPONENT_TO_MULTIPLY, SMALLEST

# Chosen by trial: where the search ends soon and the bound is within a per cent of the best found.
MOST_ETA = 0.9
UNLABELED = 9.0  # those whom nobody hides should count e^-9 of the rest, roughly
CUTS = (1.2, 1.6, 2.2)  # times n (e^epsilon - 1), which a single value has to exceed to decide
AROUND, ROUGH, CLOSE = 0.25, 5e-2, 4e-3  # of ln theta, in the search with sums
ROUNDS = 5
HIGHEST = 1e100  # in the place of infinity


def least_bound(crowd: Crowd, sharp: bool = True) -> tuple[float, int]:
    """The certified bound of delta with good contours, and the place of the worst class.

    sharp: search theta with the sums over t, and try every cut; else theta by M(theta) alone and
    the cut that then looks best, which is some per cent looser and several times as quick.
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


def cuts(crowd: Crowd) -> list[float]:
    """None, and those above which a value decides the sum by itself, if there are such values."""
    level = crowd.others * crowd.gain
    if float(crowd.value.max()) <= CUTS[0] * level:
        return [math.inf]
    return [math.inf, *(share * level for share in CUTS)]


@dataclass(frozen=True)
class _Chosen:
    """A contour, and the places of the classes that it was chosen for."""

    contour: Contour
    active: tuple[int, ...]

    @classmethod
    def at(cls, crowd: Crowd, cut: float, active: tuple[int, ...] = ()) -> _Chosen:
        """The contour whose quick bound is least, for the classes that are then the worst."""
        if not active:
            active = (int(np.argmax(crowd.means(np.minimum(crowd.value, cut) ** 2))),)
        for _ in range(ROUNDS):
            contour = _contour(crowd, active, _rough_theta(crowd, active, cut), cut)
            worst = int(np.argmax(log_ceilings(crowd, contour)))
            if worst in active:
                break
            active = (*active, worst)
        return cls(contour, active)

    def ceiling(self, crowd: Crowd) -> float:
        """ln of the quick bound of every T_z."""
        decisive = log_decisive(crowd, self.contour)
        return float(np.logaddexp(log_ceilings(crowd, self.contour), decisive).max())

    def refined(self, crowd: Crowd, close: float) -> Contour:
        """The contour of least bound near it, by the sums over t of the active classes."""
        around = math.log(self.contour.theta)

        def contour(log_theta: float) -> Contour:
            return _contour(crowd, self.active, math.exp(log_theta), self.contour.cut)

        def height(log_theta: float) -> float:
            chosen = contour(log_theta)
            term = max(log_term(crowd, chosen, place) for place in self.active)
            return math.log(certified(crowd, chosen.eta, term))

        return contour(_least(height, around - AROUND, around + AROUND, close))


def _settled(
    crowd: Crowd, chosen: _Chosen, sharp: bool, known: float = math.inf
) -> tuple[float, int]:
    """The bound of all classes; if another one is the worst, theta is chosen for that one too.

    known: a bound that is at hand already; what is not below it is of no use.
    """
    best = math.inf, 0
    for _ in range(ROUNDS):
        contour = chosen.contour
        if sharp or len(chosen.active) > 1:  # of several, which is the largest has to be balanced
            contour = chosen.refined(crowd, CLOSE if sharp else ROUGH)
        enough = math.log(min(known, best[0]))
        term, place = largest_term(crowd, contour, enough)
        best = min(best, (certified(crowd, contour.eta, term), place))
        if place in chosen.active:
            break
        chosen = _Chosen.at(crowd, contour.cut, (*chosen.active, place))
    return best


def _contour(crowd: Crowd, active: tuple[int, ...], theta: float, cut: float) -> Contour:
    """The contour through theta: its spread and eta are those that suit the classes."""
    powers, spreads = zip(*(_tilted(crowd, place, theta, cut) for place in active), strict=True)
    log_term = max(powers) - math.log(2 * theta * crowd.others)
    needed = math.log(crowd.local) - log_term + UNLABELED
    eta = min(max(needed, 1.0) / (crowd.common * crowd.others), MOST_ETA)
    return Contour(theta, max(spreads), eta, cut)


def _tilted(crowd: Crowd, place: int, theta: float, cut: float) -> tuple[float, float]:
    """n ln M(theta) of a class, and the standard deviation of the tilted sum."""
    law = crowd.ordinary(place, cut)
    weight = law.tilted(theta)
    variance = float(weight @ (law.value - weight @ law.value) ** 2)
    spread = math.sqrt(max(crowd.others * variance, SMALLEST))
    return crowd.others * law.log_moment(theta), spread


def _rough_theta(crowd: Crowd, active: tuple[int, ...], cut: float) -> float:
    """Where the largest M(theta)^n / theta^2 is least: about the saddlepoint of the integrals."""
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
    """Where a function with one valley is least."""

    def finite(x: float) -> float:
        return min(max(height(x), -HIGHEST), HIGHEST)

    return valley(finite, low, high, close)
