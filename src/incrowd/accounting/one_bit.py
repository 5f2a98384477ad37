"""For the analysis `exact`, of one bit: delta and eta for every collection of the others.

Somebody holds 1 or 0; of the others m hold 1 and N - 1 - m hold 0. They send T ones, a sum of two
binomials, with law f. What matters is whether f(t - 1) / f(t), which rises with t, exceeds
c = (e^epsilon p - q) / (p - e^epsilon q). Tilting the law of T by c^t, the same for every m,
puts the mode of each tilted law at its threshold, so that 1e-300 has as many digits as 0.1.
Proof: docs/mathematics.md#enumeration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from incrowd.accounting.enumeration import Case
from incrowd.accounting.schema import check_crowd, check_epsilon
from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import PrivacyError
from incrowd.numerics.binomial import log_binomial
from incrowd.numerics.convolution import convolved
from incrowd.numerics.precision import ENUMERATED, SMALLEST, TIED_RATIO

BLOCK = 64  # collections treated together: they share the law of all but so many people
SPREAD, REST = 9.0, 36.0  # a binomial law is cut at 9 standard deviations and 36 beyond

Law = tuple[float, float]  # probabilities of the reports 0 and 1
Window = tuple[int, np.ndarray]  # the first count and the probabilities from there on


@dataclass(frozen=True)
class OneBit:
    """delta and eta for x = 1 against x' = 0; shape (N,), by how many of the others hold 1.

    delta is rounded up by 1e-9 of it, and never below 1e-300 unless it is 0.
    """

    delta: np.ndarray
    eta: np.ndarray

    @property
    def worst_delta(self) -> Case:
        """The largest delta over both orders and all collections."""
        return _worst(self.delta)

    @property
    def worst_eta(self) -> Case:
        """The largest eta over both orders and all collections."""
        return _worst(self.eta)


def _worst(values: np.ndarray) -> Case:
    """x = 0 against x' = 1 is the same with all bits reversed, so one order has the largest."""
    ones = int(values.argmax())
    return Case(float(values[ones]), (1, 0), ((0, len(values) - 1 - ones), (1, ones)))


def one_bit(channel: BitFlip, crowd: int, epsilon: float) -> OneBit:
    """delta(epsilon) and eta(epsilon) of one bit for every collection of N - 1 others.

    crowd: N. delta = sum over t of max(0, P[t ones | x] - e^epsilon P[t ones | x']); eta =
    P[ratio > e^epsilon | x]; for x = 0, x' = 1 read both backwards. About 1 s for N = 1e5.
    Raises PrivacyError unless N >= 2 and 0 <= epsilon < 700.
    """
    tilt = _Tilt.of(channel, crowd, epsilon)
    size = min(BLOCK, crowd)
    found = np.zeros((2, crowd))
    if tilt is not None:
        for first in [*range(0, crowd - size, size), crowd - size]:
            found[:, first : first + size] = tilt.block(first, size)
    return OneBit(*found)


def one_bit_at(channel: BitFlip, crowd: int, epsilon: float, ones: int) -> tuple[float, float]:
    """(delta, eta) for x = 1 against x' = 0 when so many of the N - 1 others hold 1.

    As `one_bit`, for one collection only; N = 1e7 takes some milliseconds.
    Raises PrivacyError unless N >= 2, 0 <= epsilon < 700 and 0 <= ones < N.
    """
    tilt = _Tilt.of(channel, crowd, epsilon)
    if not 0 <= ones < crowd:
        raise PrivacyError.of("ones", ones, f"should be from 0 to {crowd - 1}, the crowd less one")
    delta, eta = (0.0, 0.0) if tilt is None else tilt.block(ones, 1)[:, 0]
    return float(delta), float(eta)


@dataclass(frozen=True)
class _Tilt:
    """The tilt by c^t that puts every law's mode at its threshold."""

    channel: BitFlip
    crowd: int
    excess: float  # c - 1
    gain: float  # e^epsilon p - q

    @classmethod
    def of(cls, channel: BitFlip, crowd: int, epsilon: float) -> _Tilt | None:
        """None if no report of one bit reveals as much as epsilon: then delta = eta = 0."""
        check_crowd(crowd)
        check_epsilon(epsilon)
        if epsilon >= channel.epsilon:
            return None
        rest = -channel.p * math.expm1(epsilon - channel.epsilon)  # p - e^epsilon q
        gain = channel.p * math.expm1(epsilon) + (channel.p - channel.q)
        return cls(channel, crowd, math.expm1(epsilon) / rest, gain)

    @property
    def log_c(self) -> float:
        """ln c."""
        return math.log1p(self.excess)

    @property
    def reports(self) -> tuple[Law, Law]:
        """The tilted laws of the report of who holds 1 and of who holds 0."""
        p, q, c = self.channel.p, self.channel.q, 1 + self.excess
        one, zero = q + p * c, p + q * c
        return (q / one, p * c / one), (p / zero, q * c / zero)

    def block(self, first: int, size: int) -> np.ndarray:
        """delta and eta, shape (2, size), when first, ..., first + size - 1 others hold 1.

        With f the tilted law and M its total before, P_1(t) = M c^-t (p c f(t-1) + q f(t)) and
        P_1(t) - e^epsilon P_0(t) = M c^-t gain (f(t-1) - f(t)), positive beyond the mode s. So
        both are sums of f(s) and of the tail r = sum over t > s of c^(s-t) f(t).
        """
        ones = np.arange(first, first + size)
        floors, law, tail = self._at_modes(first, size)
        later = law[1] * (1 + TIED_RATIO) >= law[0]
        here, beyond = np.where(later, law[1], law[0]), np.where(later, tail[1], tail[0])
        drop = (here - beyond * self.excess) / (1 + self.excess)
        eta = self.channel.p * (here + beyond) + self.channel.q * beyond
        log_scale = self._log_total(ones) - self.log_c * (floors + later)
        both = np.stack([self.gain * drop * (1 + ENUMERATED), eta])
        return np.asarray(np.maximum(np.exp(log_scale) * both, SMALLEST))

    def _log_total(self, ones: np.ndarray) -> np.ndarray:
        """ln E[c^T]."""
        channel, zeros = self.channel, self.crowd - 1 - ones
        log_one, log_zero = np.log1p(np.array([channel.p, channel.q]) * self.excess)
        return np.asarray(ones * log_one + zeros * log_zero)

    def _at_modes(self, first: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Floors of the tilted means, and there and one further on the law and its tail r.

        A mode is less than 1 from the mean (Darroch 1964). Shapes (size,), (2, size), (2, size).
        """
        ones = np.arange(first, first + size)
        one, zero = self.reports
        means = ones * one[1] + (self.crowd - 1 - ones) * zero[1]
        floors = np.floor(means).astype(np.int64)
        low, high = int(floors[0]) - size, int(floors[-1]) + 1
        common, tail = self._common(first, size, low, high)
        place = np.array([0, 1])[:, None, None] + floors - np.arange(size)[:, None] - low
        kernels = _kernels(size, one, zero)
        return floors, (kernels * common[place]).sum(axis=1), (kernels * tail[place]).sum(axis=1)

    def _common(self, first: int, size: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """The tilted law of all but size - 1 of the others at low, ..., high, and its tail r."""
        one, zero = self.reports
        start, mass = _convolved(
            _binomial(first, *one), _binomial(self.crowd - first - size, *zero)
        )
        padded = np.pad(mass, (max(0, start - low), max(0, high + 1 - start - len(mass))))
        law, rest = np.split(padded[max(0, low - start) :], [high - low + 1])
        tail = float(np.exp(-self.log_c * np.arange(1, len(rest) + 1)) @ rest)
        tails = accumulate(law[:0:-1], lambda r, f: (f + r) / (1 + self.excess), initial=tail)
        return law, np.array([*tails])[::-1]


def _binomial(trials: int, miss: float, hit: float) -> Window:
    """Where Bin(trials, hit) has all but a negligible mass."""
    reach = SPREAD * math.sqrt(trials * hit * miss) + REST
    first = max(0, math.floor(trials * hit - reach))
    last = min(trials, math.ceil(trials * hit + reach))
    return first, np.exp(log_binomial(trials, math.log(miss), math.log(hit), first, last))


def _convolved(one: Window, other: Window) -> Window:
    """The law of the sum of two independent counts."""
    return one[0] + other[0], convolved(one[1], other[1])


@lru_cache(maxsize=4)
def _kernels(size: int, one: Law, zero: Law) -> np.ndarray:
    """Bin(j, one) * Bin(size - 1 - j, zero), columns j = 0, ..., size - 1, all counts."""
    powers = [[np.ones(1)], [np.ones(1)]]
    for found, law in zip(powers, (one, zero), strict=True):
        for _ in range(size - 1):
            found.append(np.convolve(found[-1], law))
    columns = [np.convolve(powers[0][j], powers[1][size - 1 - j]) for j in range(size)]
    return np.stack(columns, axis=1)
