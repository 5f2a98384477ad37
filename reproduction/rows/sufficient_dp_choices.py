"""Sufficient Differential Privacy, section 5: vectors with few bits set."""

from __future__ import annotations

import math
from collections.abc import Iterator

from incrowd.accountant import outlier_ratios
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.pairs import pair_eta
from incrowd.accountant.worst import delta
from reproduction import sufficient_dp as paper
from reproduction.enumerated import Record, all_records, chance
from reproduction.row import Row, by, equal, wrong
from reproduction.rows.sufficient_dp import FLIPS, row

SET_BITS = (1, 2, 3)


def rows() -> Iterator[Row]:
    """Yield the rows that show that the pair is that of 2k free bits, and not the worst."""
    yield row(
        "5, (5.1) to (5.10)",
        "the setup is equivalent to 00 and 11",
        *equal(
            [_moments(flip, (0, 0), (1, 1)) for flip in FLIPS],
            [_moments(flip, (1, 0, 0, 0), (0, 1, 0, 0)) for flip in FLIPS],
            "moments 2, 3, 4 of the weight, enumerated for L = 4; q = .05, .2, .4",
        ),
    )
    yield row(
        "5",
        "noise for 2 free bits protects exclusive bits",
        _delta((0, 2, 0)),
        by(
            _delta((1, 1, 1)),
            "delta, the crowd holds a third option: q = .1, N = 1000, epsilon = .8",
        ),
        wrong("a crowd that holds a third option is worse than one that holds x or x'"),
    )
    flip = BitFlip.at_least(0.1)
    yield row(
        "5",
        "... the signal N mu^2 is phi^2 - 1",
        flip.phi**2 - 1,
        by(_signal(flip), "third option, enumerated: 2 phi (phi - 1), q = .1"),
        wrong("the worst signal of exclusive bits is 2 phi (phi - 1)"),
    )
    for bits in SET_BITS:
        yield _at_most(bits)


def _moments(flip: BitFlip, crowd: Record, x: Record) -> list[float]:
    """Return E w^2, E w^3 and E w^4 of the weight w = P(s|x) / P(s|z) of a report s from the
    crowd's z."""
    reports = all_records(len(crowd))
    pairs = [(chance(flip, s, crowd), chance(flip, s, x)) for s in reports]
    return [math.fsum(z * (a / z) ** power for z, a in pairs) for power in (2, 3, 4)]


def _delta(relation: outlier_ratios.Relation) -> float:
    ratios = outlier_ratios.ratios(BitFlip.at_least(0.1), relation)
    return delta(ratios, 1000, 0.8).upper


def _signal(flip: BitFlip) -> float:
    """Return E (P(s|x) - P(s|x'))^2 / P(s|z)^2 for s from z, three options and a choice each."""
    x, other, crowd = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    return math.fsum(
        (chance(flip, s, x) - chance(flip, s, other)) ** 2 / chance(flip, s, crowd)
        for s in all_records(3)
    )


def _at_most(bits: int) -> Row:
    """Return eta of the pair at the noise for 2k free bits, and with a crowd on other options."""
    N, epsilon = 1000, math.log(2)
    flip = paper.noise_3_12(2, N, 2 * bits)
    opposite, third = (
        pair_eta(outlier_ratios.ratios(flip, relation), N, epsilon)
        for relation in ((2 * bits, 0, 0), (bits, bits, bits))
    )
    return row(
        f"5, at most k = {bits}",
        f"noise for {2 * bits} free bits is enough (lambda = 2, N = 1000, q = {flip.q:.4f})",
        opposite,
        by(third, "P[ratio > 2], the crowd holds other options; numerical"),
        wrong(f"{third / opposite:.0f} times as likely to exceed lambda"),
    )
