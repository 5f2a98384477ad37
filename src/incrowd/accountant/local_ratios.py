"""The ratios of one pair of records without a crowd, for the analysis `local`.

Proof: docs/mathematics.md#the-devices.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from incrowd.accountant.channels.answers import AnswerChannel, takes_answers
from incrowd.accountant.channels.base import Channel
from incrowd.accountant.numerics.precision import PROBABILITY, UNIT
from incrowd.accountant.ratios import Ratios, product
from incrowd.accountant.schema import Domain, bit_log_ratios, farthest, log_ratio

LocalPair = tuple[int, int]  # |x minus x'|, |x' minus x|; for channels of whole answers, x and x'


def pairs(domain: Domain, channel: Channel) -> tuple[LocalPair, ...]:
    """Return the pairs of records that can be the worst without a crowd.

    Bits that are equal reveal nothing, and each bit that differs reveals more: only the largest
    pairs count, and a single one if a bit reveals as much in either order.
    """
    if takes_answers(channel):
        return tuple((x, other) for x, other in channel.pairs)
    largest = farthest(domain)
    return (max(largest, key=sum),) if channel.alike else largest


@lru_cache(maxsize=1024)
def ratios(channel: Channel, pair: LocalPair) -> Ratios:
    """Return the ratios of one question, with the law of the reports of x' as the cover: B = 1."""
    if takes_answers(channel):
        return _answers(channel, pair)
    (p00, p01), (p10, p11) = np.log(channel.matrix)
    log_ratios = np.array(bit_log_ratios(channel))
    error = 4 * UNIT * float(np.abs(log_ratios).max())
    one = Ratios(log_ratios, np.zeros(2), np.array([p00, p10]), error)
    zero = Ratios(-log_ratios, np.zeros(2), np.array([p01, p11]), error)
    return product([(one, pair[0]), (zero, pair[1])])


def _answers(channel: AnswerChannel, pair: LocalPair) -> Ratios:
    numerators, _, ways = channel.laws(pair)
    log_a = np.array([log_ratio(*row) for row in numerators])
    mass = np.array(numerators[:, 1] * ways, float) / channel.denominator
    return Ratios(log_a, np.zeros(len(ways)), np.log(mass), 4 * UNIT * float(np.abs(log_a).max()))


def delta(ratios: Ratios, wanted: float, side: int = 1) -> float:
    """Return sum over reports of max(0, P(s|x) - e^epsilon P(s|x')), for a pair without a crowd.

    side: 1 for an upper bound, -1 for a lower bound.
    """
    excess = -np.expm1(-np.maximum(ratios.gaps(wanted, side), 0.0))
    rounding = 1 + side * (PROBABILITY + 4 * ratios.error)
    return float(np.exp(ratios.log_mass + ratios.log_a) @ excess) * rounding


def eta(ratios: Ratios, wanted: float) -> float:
    """Return P[P(s|x) > e^epsilon P(s|x')] for a report s of x, for a pair without a crowd."""
    above = ratios.gaps(wanted, 0) > 0
    return float(np.exp(ratios.log_mass + ratios.log_a)[above].sum())
