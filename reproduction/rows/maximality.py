"""Sufficient Differential Privacy, section 1.2: which collection is the worst."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from incrowd.accountant import outlier_ratios
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.one_bit import one_bit
from incrowd.accountant.pairs import pair_eta
from reproduction.enumerated import Record, all_records, outcomes
from reproduction.february_2016 import privacy_ratio
from reproduction.maximality import two_bits
from reproduction.row import Row, by, equal, wrong
from reproduction.rows.sufficient_dp import FLIPS, row


def rows() -> Iterator[Row]:
    """Yield the two claims."""
    yield from _maximality()
    yield from _symmetry()


def _maximality() -> Iterator[Row]:
    flip = BitFlip.at_least(0.15)
    presence, absence = (
        pair_eta(outlier_ratios.ratios(flip, pair), 200, 1.0) for pair in ((2, 0, 0), (0, 2, 0))
    )
    yield row(
        "1.2, claim 1",
        "P[R > e^epsilon] is largest if D_m holds the outlier",
        presence,
        by(absence, "exact, the outlier in D: q = .15, L = 2, N = 200, epsilon = 1"),
        wrong(f"the other order of the same pair is {absence / presence:.0f} times as bad"),
    )
    every = one_bit(BitFlip.at_least(0.0325), 1000, math.log(2))
    fewest = min(people for _, people in every.worst_eta.others)
    yield row(
        "1.2, claim 1",
        "... and if the others are all alike",
        max(every.eta[0], every.eta[-1]),
        by(every.worst_eta.value, "all collections of one bit: q = .0325, N = 1000, lambda = 2"),
        wrong(f"{fewest} of the others that differ from the rest are worse"),
    )
    mixed = two_bits()
    yield row(
        "1.2, claim 1",
        "... so also for delta (L = 2, N = 8, q = .1095, e^epsilon = 7.389)",
        mixed.homogeneous,
        by(mixed.worst, "exact, the others hold 4 x 00 and 3 x 11, or 3 x 00 and 4 x 11"),
        wrong("homogeneous crowds are the worst only in the limit of large N"),
    )


def _symmetry() -> Iterator[Row]:
    records = [(flip, record) for flip in FLIPS for record in all_records(2)]
    yield row(
        "1.2, claim 2",
        "the law of R(S) is the same whatever vector the others hold",
        *equal(
            [_moments(flip, (0, 0)) for flip, _ in records],
            [_moments(flip, record) for flip, record in records],
            "three moments of R by the definition, enumerated for L = 2, N = 3; q = .05, .2, .4",
        ),
    )


def _moments(flip: BitFlip, record: Record) -> list[float]:
    """Return E R, E R^2 and E R^3 where two hold the record and the third holds its opposite."""
    opposite = tuple(1 - bit for bit in record)
    before, after = np.array([record] * 3), np.array([opposite, record, record])
    ratios = [
        (mass, privacy_ratio(flip, before, after, np.array(reports)))
        for mass, reports in outcomes(flip, [opposite, record, record])
    ]
    return [math.fsum(mass * ratio**power for mass, ratio in ratios) for power in (1, 2, 3)]
