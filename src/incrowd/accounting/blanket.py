"""The analysis `blanket`: a guarantee for every collection (Balle, Bell, Gascon, Nissim 2019).

Every allowed record sends the report s with at least the probability omega(s) = min over records
of P(s|record). The crowd's common part is a blanket of Bin(N - 1, gamma) reports drawn from
omega / gamma, whatever its answers are.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import gammaln

from incrowd.accounting.ratios import Ratios
from incrowd.channels.bit_flip import BitFlip
from incrowd.survey import Domain

Pair = tuple[int, int, int]  # |x minus x'|, |x' minus x|, |x and x'|

ASSUMPTION = (
    "The anonymiser removes every link between a report and its sender, and the whole crowd of "
    "honest people sends as the plan says; nothing is assumed about their answers."
)


@cache
def pairs(domain: Domain) -> tuple[Pair, ...]:
    """Classes of pairs of records that can be the worst, by what x and x' have apart and in common.

    Exchanging two options i and j leaves omega as it is. Let x and x' both hold i and not j, and
    let x'' be x' with j in the place of i. For each report s with s_i != s_j and its exchange, A
    takes two values H > l, and B two values in the same order for x', in reverse for x''. So
    alpha A - beta B + t has the same mean over the two, but spreads wider for x'': the pair
    (x, x'') is at least as bad, whatever other questions say. Hence nothing in common while an
    unused option is left. (A yes/no question is the same with a bit and its complement.)
    """
    bits, fewest, most = domain
    if bits == 1:
        return ((1, 0, 0),)
    found = [
        (u, v, w)
        for w in range(most + 1)
        for u in range(most - w + 1)
        for v in range(most - w + 1)
        if u + v > 0 and u + v + w <= bits and fewest <= min(u, v) + w
    ]
    return tuple((u, v, w) for u, v, w in found if w == 0 or u + v + w == bits)


@cache
def ratios(domain: Domain, channel: BitFlip, pair: Pair) -> Ratios:
    """The ratios of one question for a class of pairs; the cover's mass is its gamma.

    A report is described by how many options it sets of x minus x', x' minus x, both, neither.
    """
    u, v, w = pair
    counts = np.indices((u + 1, v + 1, w + 1, domain.bits - u - v - w + 1)).reshape(4, -1)
    i, j, k, rest = counts
    sizes = np.array([u, v, w, domain.bits - u - v - w])[:, None]
    log_ways = (gammaln(sizes + 1) - gammaln(counts + 1) - gammaln(sizes - counts + 1)).sum(axis=0)
    farthest = _farthest(domain, counts.sum(axis=0))
    from_x = (u - i) + (w - k) + j + rest
    from_other = (v - j) + (w - k) + i + rest
    log_p, log_q = np.log(channel.p), np.log(channel.q)
    return Ratios(
        log_a=(farthest - from_x) * (log_p - log_q),
        log_b=(farthest - from_other) * (log_p - log_q),
        log_mass=log_ways + farthest * log_q + (domain.bits - farthest) * log_p,
    )


def _farthest(domain: Domain, set_bits: np.ndarray) -> np.ndarray:
    """Distance from a report with that many set bits to the farthest allowed record.

    A record of t options is farthest when it avoids the report's as far as it can.
    """
    size = np.clip(domain.bits - set_bits, domain.fewest, domain.most)
    return np.asarray(set_bits + size - 2 * np.maximum(0, size + set_bits - domain.bits))
