"""Counterexamples to the conjecture that homogeneous crowds with an outlier are the worst.

Sufficient DP, section 1.2, claim 1, and the assumption of January 2016, section 0.1.
Counterexamples: docs/mathematics.md#what-is-false.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.enumeration import enumerate_one
from incrowd.accountant.one_bit import one_bit


@dataclass(frozen=True)
class Mixed:
    """delta of the opposite pair, ones against zeros, by the others' composition.

    delta: the larger of both orders, shape (N,), by how many of the others hold ones; the first
    and the last are the homogeneous crowds.
    """

    channel: BitFlip
    N: int
    L: int
    epsilon: float
    delta: np.ndarray

    @property
    def homogeneous(self) -> float:
        """The conjectured worst."""
        return float(max(self.delta[0], self.delta[-1]))

    @property
    def worst(self) -> float:
        """The worst of these compositions."""
        return float(self.delta.max())

    @property
    def ones(self) -> int:
        """How many of the others hold ones there; the fewest if there are several."""
        return int(self.delta.argmax())


def two_bits() -> Mixed:
    """Return L = 2, N = 8, q = .1095, e^epsilon = 7.389: exact, by enumeration."""
    flip, N, epsilon = BitFlip.at_least(0.1095), 8, 2.0
    delta = [_two_bit_delta(flip, N, ones, epsilon) for ones in range(N)]
    return Mixed(flip, N, 2, epsilon, np.array(delta))


def _two_bit_delta(flip: BitFlip, N: int, ones: int, epsilon: float) -> float:
    others = ((0b00, N - 1 - ones), (0b11, ones))
    pairs = ((0b11, 0b00), (0b00, 0b11))
    return max(enumerate_one(2, flip, pair, others, epsilon)[0] for pair in pairs)


def one_bit_crowd() -> Mixed:
    """Return L = 1, N = 39, q = .0256, epsilon = .036: exact, all collections."""
    flip, N, epsilon = BitFlip.at_least(0.0256), 39, 0.036
    delta = one_bit(flip, N, epsilon).delta  # x = 1 against x' = 0; reversed it is the other order
    return Mixed(flip, N, 1, epsilon, np.maximum(delta, delta[::-1]))
