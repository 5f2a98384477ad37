"""The undated note "K-Randomization" by Zhilyaev and Zeber, recomputed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.simmons import Simmons
from reproduction.enumerated import Record, all_records, chance, outcomes
from reproduction.row import Row, always, by, equal, wrong

FLIPS = tuple(map(BitFlip.at_least, (0.05, 0.2, 0.4)))
NOISES = "q = .05, .2, .4"
row = partial(Row, "K-Randomization note (undated)")


def rows() -> Iterator[Row]:
    """Yield every definition and formula of the note."""
    yield from _one_bit()
    yield from _vectors()
    yield from _collections()


def _one_bit() -> Iterator[Row]:
    bits = list(product(FLIPS, (0, 1), (0, 1)))
    yield row(
        "1, definition",
        "R(b) = (1 - b) X + b (1 - X), X ~ Ber(q), lies with probability q",
        *equal(
            [_by_definition(*case) for case in bits],
            [chance(flip, (shown,), (bit,)) for flip, bit, shown in bits],
            f"enumerated for {NOISES}",
        ),
    )
    shares = (0.1, 0.5, 0.9)
    yield row(
        "1, first remark",
        "a fair coin in place of the bit with probability f: q = f/2",
        *equal(
            [BitFlip.at_least(f / 2).matrix for f in shares],
            [Simmons.from_probabilities(f).matrix for f in shares],
            "of the device itself, f = .1, .5, .9",
        ),
    )
    coin = Bit.from_probabilities(0.5, 0.5).matrix
    yield row(
        "1, second remark",
        "q = 1/2: R(0) and R(1) have the same law",
        *equal(coin[:, 0], coin[:, 1], "of the channel"),
    )


def _vectors() -> Iterator[Row]:
    cases = [
        (flip, report, record)
        for flip, L in product(FLIPS, (1, 2, 3))
        for report, record in product(all_records(L), repeat=2)
    ]
    yield row(
        "1, law of R(v)",
        "P[R(v) = s] = q^(L-m) p^m, m bits of v and s agreeing",
        *equal(
            [_by_agreement(*case) for case in cases],
            [chance(*case) for case in cases],
            f"enumerated for L = 1, 2, 3; {NOISES}",
        ),
    )
    yield row(
        "1, law of R(v)",
        "largest for m = L, smallest for m = 0",
        *always((_ordered(*case) for case in cases), f"enumerated for L = 1, 2, 3; {NOISES}"),
    )


def _by_definition(flip: BitFlip, bit: int, shown: int) -> float:
    """Return P[R(b) = s], summed over X."""
    return sum(
        mass for x, mass in ((1, flip.q), (0, flip.p)) if (1 - bit) * x + bit * (1 - x) == shown
    )


def _by_agreement(flip: BitFlip, report: Record, record: Record) -> float:
    agreeing = sum(shown == bit for shown, bit in zip(report, record, strict=True))
    return flip.q ** (len(record) - agreeing) * flip.p**agreeing


def _ordered(flip: BitFlip, report: Record, record: Record) -> bool:
    opposite = tuple(1 - bit for bit in record)
    low, high = chance(flip, opposite, record), chance(flip, record, record)
    return low <= chance(flip, report, record) <= high


def _collections() -> Iterator[Row]:
    records = [(0, 0), (0, 1), (1, 1)]
    cases = list(product(FLIPS, all_records(2)))
    yield row(
        "1, a collection T",
        "P[s in R(T)] = 1 - prod over v of (1 - P[R(v) = s])",
        *equal(
            [1 - math.prod(1 - chance(f, s, record) for record in records) for f, s in cases],
            [sum(c for c, reports in outcomes(f, records) if s in reports) for f, s in cases],
            f"enumerated for T = {{00, 01, 11}}; {NOISES}",
        ),
    )
    yield row(
        "2, definition",
        "P[R(T) in S] / P[R(T_v) in S] <= e^epsilon, T_v = T without v",
        "P[R(T) in S] / 0 for collections S of N reports",
        by(math.inf, "T_v never sends N reports"),
        wrong("removing a record changes the number of reports; the later papers replace one"),
    )
