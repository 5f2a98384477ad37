"""The ratios of three records x, x', and z, for the analysis `outlier`.

Everybody else holds the same record z. Exact for such homogeneous crowds, and a lower bound on the
worst case: mixed crowds can be worse. Every relation of x, x', and z is tried, in both orders.

Proof: docs/mathematics.md#the-worst-pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import scipy

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.numerics.precision import UNIT
from incrowd.accountant.ratios import Ratios, product
from incrowd.accountant.schema import Domain, bit_log_ratios

Relation = tuple[int, int, int]  # bits in which only x, only x', and both differ from z


def ratios(channel: BitFlip, relation: Relation) -> Ratios:
    """Return the ratios of all bits with that noise; bits in which x and x' equal z reveal nothing.

    Under z, a bit of the report differs from z with probability q. That multiplies the ratio of a
    record that differs from z in this bit by p/q; if the bit equals z, by q/p.
    """
    log_ratio = bit_log_ratios(channel)[1]
    only_x, only_other, both = (_bits(channel, bits) for bits in relation)
    step_a = np.array([1.0, 0.0, 1.0]) * log_ratio
    step_b = np.array([0.0, 1.0, 1.0]) * log_ratio
    parts = [
        (Ratios(a * excess, b * excess, log_mass, 8 * UNIT * log_ratio * float(excess[-1])), 1)
        for (excess, log_mass), a, b in zip((only_x, only_other, both), step_a, step_b, strict=True)
    ]
    return product(parts)


def _bits(channel: BitFlip, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of flipped minus unflipped bits,
    and ln of its probabilities under noise q."""
    shown = np.arange(bits + 1)
    log_ways = (
        scipy.special.gammaln(bits + 1)
        - scipy.special.gammaln(shown + 1)
        - scipy.special.gammaln(bits - shown + 1)
    )
    log_mass = log_ways + shown * np.log(channel.q) + (bits - shown) * np.log(channel.p)
    return 2.0 * shown - bits, log_mass


@cache
def relations(domain: Domain) -> tuple[Relation, ...]:
    """Return the largest relations that three records of one question can have (x = x' allowed).

    Another bit on which x, x', or both differ from z multiplies A, B, or both by an independent
    factor of mean one: the mean of G stays and its spread grows, so delta can only rise. Relations
    that another one exceeds in every count are left out.
    """
    return maximal(set(_all_relations(domain)))


def _all_relations(domain: Domain) -> Iterator[Relation]:
    """Yield every relation, by how many options lie in each part of the Venn diagram of x, x', and
    z."""
    bits, fewest, most = domain
    for shared, a0, b0, e0 in _within(4, most):  # of z: held by both, x' only, x only, neither
        if shared + a0 + b0 + e0 < fewest:
            continue
        for e1 in range(most - shared - min(a0, b0) + 1):  # held by both, not of z
            for a1 in range(most - shared - b0 - e1 + 1):
                for b1 in range(most - shared - a0 - e1 + 1):
                    x, other = shared + b0 + e1 + a1, shared + a0 + e1 + b1
                    used = shared + a0 + b0 + e0 + a1 + b1 + e1
                    if fewest <= x and fewest <= other and used <= bits:
                        yield (a0 + a1, b0 + b1, e0 + e1)


def _within(parts: int, total: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `parts` counts that add up to at most the total."""
    if parts == 0:
        yield ()
        return
    for first in range(total + 1):
        for rest in _within(parts - 1, total - first):
            yield (first, *rest)


def add(one: tuple[Relation, ...], other: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """Return the largest relations of two questions together."""
    sums = np.add(np.array(one)[:, None], np.array(other)[None]).reshape(-1, 3)
    return maximal({(int(a), int(b), int(e)) for a, b, e in np.unique(sums, axis=0)})


def maximal(relations: set[Relation]) -> tuple[Relation, ...]:
    """Return the relations for which no other one is at least as large in every count."""
    array = np.array(sorted(relations, reverse=True))
    keep = [bool(np.all(array >= row, axis=1).sum() == 1) for row in array]
    return tuple((int(a), int(b), int(e)) for a, b, e in array[keep])
