"""K-Randomization, 24 February 2016, sections 1, 2, 5 and (3.1): collections as multisets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import february_2016 as february
from reproduction.enumerated import (
    Record,
    all_records,
    chance,
    outcomes,
)
from reproduction.row import MISPRINT, Row, always, by, equal

FLIPS = tuple(map(BitFlip.at_least, (0.05, 0.2, 0.4)))
BEFORE: list[Record] = [(0, 0), (0, 1), (1, 1)]
AFTER: list[Record] = [(1, 1), (0, 1), (1, 1)]
GRID = "enumerated for x = {00, 01, 11}, x' = {11, 01, 11}; q = .05, .2, .4"
row = partial(Row, "K-Randomization, February 2016")


def rows() -> Iterator[Row]:
    """Yield what holds of vectors of any length."""
    yield from _events()
    yield from _laws()
    yield from _conditioning()
    yield from _old_stuff()


def _events() -> Iterator[Row]:
    before, after = _multisets(FLIPS[1], BEFORE), _multisets(FLIPS[1], AFTER)
    largest = max(after[key] / before[key] for key in before)
    keys = list(before)[:8]
    yield row(
        "Proposition 1.1",
        "a limit of the ratio of every outcome is one of every event",
        *always(
            (
                _mass(after, keys, event) <= largest * _mass(before, keys, event)
                for event in product((0, 1), repeat=len(keys))
            ),
            "every event of 8 outcomes, x = {00, 01, 11}, x' = {11, 01, 11}, q = .2",
        ),
    )


def _laws() -> Iterator[Row]:
    pairs = [
        (flip, report, record)
        for flip, L in product(FLIPS, (1, 3))
        for report, record in product(all_records(L), repeat=2)
    ]
    yield row(
        "2.1",
        "P[R(x) = y] = p^(L - delta(x, y)) q^delta(x, y), delta the Hamming distance",
        *equal(
            [_by_distance(*pair) for pair in pairs],
            [chance(*pair) for pair in pairs],
            "enumerated for L = 1, 3; q = .05, .2, .4",
        ),
    )
    cases = [(flip, records) for flip in FLIPS for records in (BEFORE, AFTER)]
    laws = [(flip, records, _multisets(flip, records)) for flip, records in cases]
    yield row(
        "(2.1)",
        "P[A(x) = s] = sum over y with counts s of p^(nL - delta) q^delta",
        *equal(
            [_probability(flip, records, key) for flip, records, law in laws for key in law],
            [mass for *_, law in laws for mass in law.values()],
            GRID,
        ),
    )


def _by_distance(flip: BitFlip, report: Record, record: Record) -> float:
    distance = sum(shown != bit for shown, bit in zip(report, record, strict=True))
    return flip.p ** (len(record) - distance) * flip.q**distance


Multiset = tuple[Record, ...]


def _multisets(flip: BitFlip, records: list[Record]) -> dict[Multiset, float]:
    """Return the law of the multiset of reports, from all ordered outcomes."""
    law: dict[Multiset, float] = {}
    for mass, reports in outcomes(flip, records):
        key = tuple(sorted(reports))
        law[key] = law.get(key, 0.0) + mass
    return law


def _mass(law: dict[Multiset, float], keys: list[Multiset], event: tuple[int, ...]) -> float:
    return math.fsum(law[key] for key, inside in zip(keys, event, strict=True) if inside)


def _probability(flip: BitFlip, records: list[Record], reports: Multiset) -> float:
    return february.probability(flip, np.array(records), np.array(reports))


def _conditioning() -> Iterator[Row]:
    laws = [(flip, _multisets(flip, BEFORE), _multisets(flip, AFTER)) for flip in FLIPS]
    yield row(
        "(3.1)",
        "pi = quotient of two sums over the report of the changed record",
        *equal(
            [_conditioned(flip, key) for flip, before, _ in laws for key in before],
            [after[key] / before[key] for _, before, after in laws for key in before],
            GRID,
        ),
    )


def _conditioned(flip: BitFlip, reports: Multiset) -> float:
    """Return (3.1), the first record being changed, the others' reports by enumeration."""
    others = _multisets(flip, BEFORE[1:])
    sums = [
        math.fsum(
            chance(flip, report, records[0]) * others[_without(reports, report)]
            for report in set(reports)
        )
        for records in (BEFORE, AFTER)
    ]
    return sums[1] / sums[0]


def _without(reports: Multiset, report: Record) -> Multiset:
    place = reports.index(report)
    return reports[:place] + reports[place + 1 :]


def _old_stuff() -> Iterator[Row]:
    flip = FLIPS[1]
    yield row(
        "5",
        "DP holds if P[A_0(x) = s] <= epsilon P[A_0(x') = s]",
        flip.epsilon,
        by(flip.p / flip.q, "largest ratio of one bit, q = .2; the limit should be e^epsilon"),
        MISPRINT,
    )
