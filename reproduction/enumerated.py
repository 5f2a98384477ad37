"""Every outcome of randomizing a few records, with its probability: exact, for small cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from incrowd.accountant.channels.bit_flip import BitFlip

Record = tuple[int, ...]  # bits; a report has the same form
Collection = tuple[Record, ...]


def all_records(L: int) -> list[Record]:
    """Return the 2^L records of L bits, the first bit changing slowest."""
    return list(product((0, 1), repeat=L))


def chance(channel: BitFlip, report: Record, record: Record) -> float:
    """Return P(report | record), bit by bit."""
    pairs = zip(report, record, strict=True)
    return math.prod(channel.p if shown == bit else channel.q for shown, bit in pairs)


def outcomes(channel: BitFlip, records: Sequence[Record]) -> Iterator[tuple[float, Collection]]:
    """Yield every ordered outcome of randomizing the records, with its probability.

    2^(N L) of them for N records of L bits.
    """
    reports = all_records(len(records[0]))
    laws = [[chance(channel, report, record) for report in reports] for record in records]
    for chosen in product(range(len(reports)), repeat=len(records)):
        mass = math.prod(law[report] for law, report in zip(laws, chosen, strict=True))
        yield mass, tuple(reports[report] for report in chosen)


def mean(
    channel: BitFlip, records: Sequence[Record], value: Callable[[Collection], float]
) -> float:
    """Return the expectation of a function of the reports, over every outcome."""
    return math.fsum(mass * value(reports) for mass, reports in outcomes(channel, records))


def variance(
    channel: BitFlip, records: Sequence[Record], value: Callable[[Collection], float]
) -> float:
    """Return the variance of a function of the reports, over every outcome."""
    center = mean(channel, records, value)
    return mean(channel, records, lambda reports: (value(reports) - center) ** 2)


def count_law(channel: BitFlip, records: Sequence[Record]) -> list[float]:
    """Return P[s bits set in all reports together] for s = 0, ..., all bits."""
    law = [0.0] * (sum(map(len, records)) + 1)
    for mass, reports in outcomes(channel, records):
        law[sum(map(sum, reports))] += mass
    return law


def outlier(N: int, L: int, k: int = 1) -> list[Record]:
    """Return k times the record of ones and k (N - 1) times that of zeros: a collection D_m with
    copies.

    It is the papers' homogeneous collection with an outlier, with one record for each report.
    """
    return [(1,) * L] * k + [(0,) * L] * (k * (N - 1))


def homogeneous(N: int, L: int, k: int = 1) -> list[Record]:
    """Return k N times the record of zeros."""
    return [(0,) * L] * (k * N)
