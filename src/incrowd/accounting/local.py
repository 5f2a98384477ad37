"""The analysis `local`: no anonymiser is trusted. A guarantee, whatever the crowd."""

from __future__ import annotations

import math

import numpy as np

from incrowd.accounting.ratios import Ratios
from incrowd.channels.bit_flip import BitFlip

ASSUMPTION = "Nobody need be trusted: it holds for all that a person sends, even with a name on it."


def epsilon(channel: BitFlip, distance: int, copies: int = 1) -> float:
    """d k ln(p/q), rounded up; d the largest Hamming distance of two allowed records.

    Pure differential privacy (delta = 0) of everything one person sends. Sufficient DP (4.1),
    with the distance in the place of L.
    """
    return math.nextafter(distance * copies * channel.epsilon, math.inf)


def noise(wanted: float, distance: int, copies: int = 1) -> BitFlip:
    """The smallest noise n / 2^32 for which `epsilon` is at most `wanted`. Sufficient DP (4.2).

    Raises PrivacyError if no noise below 1/2 reaches it.
    """
    channel = BitFlip.from_epsilon(wanted / (distance * copies))
    while epsilon(channel, distance, copies) > wanted:
        channel = BitFlip(channel.numerator + 1)
    return channel


def delta(ratios: Ratios, wanted: float) -> float:
    """sum over reports of max(0, P(s|x) - e^epsilon P(s|x')), for a pair without a crowd."""
    loss = ratios.log_a - ratios.log_b
    excess = -np.expm1(np.minimum(wanted - loss, 0.0))
    return float(np.exp(ratios.log_mass + ratios.log_a) @ excess)


def eta(ratios: Ratios, wanted: float) -> float:
    """P[P(s|x) > e^epsilon P(s|x')], s a report of x, for a pair without a crowd."""
    above = ratios.log_a - ratios.log_b > wanted
    return float(np.exp(ratios.log_mass + ratios.log_a)[above].sum())
