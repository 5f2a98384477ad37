"""Exact delta and eta over all collections, for few bits and few people: the analysis `exact`.

The law of the count vector (how many reports there are of each kind) is built up one person at a
time, for every multiset of the others' records. For a single bit, `one_bit` is used instead.
Proof: docs/mathematics.md#enumeration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, combinations_with_replacement, product
from math import comb
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.numerics.precision import ENUMERATED, TIED_RATIO, UNIT
from incrowd.accountant.schema import Domain, check_crowd, check_epsilon
from incrowd.catalog.sentences import sentence
from incrowd.errors import PrivacyError

MOST_STEPS = 1 << 30  # collections times count vectors times kinds of reports: under a minute
MOST_ENTRIES = 1 << 24  # in the tables of all count vectors, 4 bytes each
MOST_PEOPLE = 500  # the depth of the recursion

RecordPair = tuple[int, int]  # records x and x'; bit i of a record has the value 2^i
Others = tuple[tuple[int, int], ...]  # (record, how many of the others hold it)
RecordPlaces = tuple[int, ...]  # places of records, in order
ONE = np.ones(1)  # the law of no reports


class Case(NamedTuple):
    """A value of delta or eta, the pair (x, x'), and the others as (record, how many hold it).

    doubt: how much of delta may be due only to rounding, where probabilities are nearly equal.
    """

    value: float
    pair: RecordPair
    others: Others
    doubt: float = 0.0


class WorstCases(NamedTuple):
    """The largest delta and the largest eta; their collections need not be the same."""

    delta: Case
    eta: Case


def enumerate_all(domain: Domain, channel: BitFlip, crowd: int, epsilon: float) -> WorstCases:
    """Return the largest delta(epsilon) and eta(epsilon) over all collections and pairs of records.

    crowd: N. domain: the records one question allows. Every multiset of the others' records is
    tried; of the pairs that differ only by the order of the options (or, if every record is
    allowed, by reversed bits) one is tried. delta is rounded up: its doubt, and a share of 1e-9,
    are added. Raises PrivacyError unless N >= 2 and 0 <= epsilon < 700, or if there are too many
    collections.
    """
    check_epsilon(epsilon)
    check_crowd(crowd)
    sizes = range(domain.fewest, domain.most + 1)
    _check_size(domain.bits, sum(comb(domain.bits, size) for size in sizes), crowd)
    records = allowed_records(domain)
    sent = _sent(domain.bits, channel, records)
    tables = [_predecessors(people, 1 << domain.bits) for people in range(1, crowd + 1)]
    pairs = list(_pairs(domain))
    columns = np.array([[records.index(record) for record in pair] for pair in pairs]).T
    best = [Case(-1.0, (0, 0), ()), Case(-1.0, (0, 0), ())]
    precision = _precision(crowd, domain.bits)
    for others, law in _laws(tables[:-1], sent):
        *figures, doubt = _divergences(_joined(tables[-1], law, sent), columns, epsilon, precision)
        for i, figure in enumerate(figures):
            place = int(figure.argmax())
            if figure[place] > best[i].value:
                held = tuple(Counter(records[other] for other in others).items())
                best[i] = Case(float(figure[place]), pairs[place], held, float(doubt[place]))
    return WorstCases(*best)


def enumerate_one(
    bits: int, channel: BitFlip, pair: RecordPair, others: Others, epsilon: float
) -> tuple[float, float]:
    """Return (delta, eta) of the pair x, x' for one collection; others: (record, how many hold it).

    Exact, as in `enumerate_all`; the time grows with the number of count vectors of 2^bits kinds.
    Raises PrivacyError unless 0 <= epsilon < 700, or if there are too many count vectors.
    """
    check_epsilon(epsilon)
    held = [record for record, people in others for _ in range(people)]
    _check_size(bits, 1, len(held) + 1)
    law = ONE
    for people, record in enumerate(held, 1):
        law = _joined(_predecessors(people, 1 << bits), law, _sent(bits, channel, [record])[:, 0])
    reports = _joined(_predecessors(len(held) + 1, 1 << bits), law, _sent(bits, channel, pair))
    precision = _precision(len(held) + 1, bits)
    (delta,), (eta,), _ = _divergences(reports, np.array([[0], [1]]), epsilon, precision)
    return float(delta), float(eta)


def allowed_records(domain: Domain) -> list[int]:
    """Return the allowed records in order, bit i at 2^i."""
    sizes = range(domain.fewest, domain.most + 1)
    return [record for record in range(1 << domain.bits) if record.bit_count() in sizes]


def _pairs(domain: Domain) -> Iterator[RecordPair]:
    """Yield one ordered pair of records for each number of options in x only, in x' only,
    in both."""
    seen, records = set(), allowed_records(domain)
    free = len(records) == 1 << domain.bits  # reversing bits makes x' = 0
    for other, x in product(records[:1] if free else records, records):
        kind = ((x & ~other).bit_count(), (other & ~x).bit_count(), (x & other).bit_count())
        if x != other and kind not in seen:
            seen.add(kind)
            yield x, other


def _sent(bits: int, channel: BitFlip, records: Iterable[int]) -> np.ndarray:
    """Return P(report | record), shape (2^bits, records)."""
    differing = np.bitwise_count(np.arange(1 << bits)[:, None] ^ np.array(list(records)))
    return np.asarray(channel.q**differing * channel.p ** (bits - differing))


def _laws(
    tables: list[np.ndarray], sent: np.ndarray, chosen: RecordPlaces = (), law: np.ndarray = ONE
) -> Iterator[tuple[RecordPlaces, np.ndarray]]:
    """Yield every multiset of records (columns of `sent`), one for each table, and its reports'
    law.

    chosen, law: the records chosen so far, in order, and the law of their reports.
    """
    if len(chosen) == len(tables):
        yield chosen, law
        return
    first = chosen[-1] if chosen else 0
    laws = _joined(tables[len(chosen)], law, sent[:, first:])
    for place, next_law in enumerate(laws.T, first):
        yield from _laws(tables, sent, (*chosen, place), next_law)


def _joined(table: np.ndarray, law: np.ndarray, sent: np.ndarray) -> np.ndarray:
    """Return the law of the count vector after one more person has sent a report."""
    return np.asarray(np.append(law, 0.0)[table] @ sent)


def _precision(people: int, bits: int) -> float:
    """Return the error of the difference of two probabilities of a count vector, relative to the
    larger.

    Each probability is a sum of positive products, built up one person at a time.
    """
    return float(UNIT * (people + 1) * ((1 << bits) + bits + 8))


def _divergences(
    reports: np.ndarray, columns: np.ndarray, epsilon: float, precision: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return delta, eta, and the doubt of delta for pairs of columns (2, pairs) of count vector
    laws."""
    here, there = reports[:, columns[0]], np.exp(epsilon) * reports[:, columns[1]]
    near = here > there * (1 - precision)
    doubt = precision * np.where(near, here, 0.0).sum(axis=0)
    delta = np.maximum(here - there, 0).sum(axis=0) * (1 + ENUMERATED) + doubt
    return delta, np.where(here > there * (1 + TIED_RATIO), here, 0.0).sum(axis=0), doubt


def _predecessors(people: int, kinds: int) -> np.ndarray:
    """Return, for every count vector of one report per person, the places of those with one report
    fewer.

    Shape (vectors, kinds); if there is no such report to remove, one place past the end.
    """
    chosen = chain.from_iterable(combinations_with_replacement(range(kinds), people))
    kind = np.fromiter(chosen, np.int32).reshape(-1, people)[::-1]
    counts = np.zeros((len(kind), kinds), np.int32)
    np.add.at(counts, (np.arange(len(kind))[:, None], kind), 1)
    table = np.full((len(kind), kinds), comb(people + kinds - 2, kinds - 1), np.int32)
    for report in range(kinds):
        has = counts[:, report] > 0
        table[has, report] = _rank(counts[has] - (np.arange(kinds) == report))
    return table


def _rank(counts: np.ndarray) -> np.ndarray:
    """Return the place of each count vector in lexicographic order among those with the same sum.

    If r reports are left for k kinds, C(r - c + k - 1, k - 1) vectors begin with c or more.
    """
    more = np.arange(counts.shape[1])[::-1]
    left = counts[:, ::-1].cumsum(axis=1)[:, ::-1]
    steps = scipy.special.comb(left + more, more) - scipy.special.comb(left - counts + more, more)
    return np.asarray(np.rint(steps.sum(axis=1)).astype(np.int64))


def _check_size(bits: int, records: int, crowd: int) -> None:
    """Raise PrivacyError, with a suggestion, for too many count vectors or collections."""
    if _fits(bits, records, crowd):
        return
    most = max((n for n in range(1, MOST_PEOPLE) if _fits(bits, records, n)), default=1)
    raise PrivacyError.of(
        "crowd",
        "accountant.many-collections",
        value=crowd,
        collections=comb(crowd + records - 2, crowd - 1),
        bits=bits,
        fewer=sentence("accountant.fewer-people", most=most) if most > 1 else "",
    )


def _fits(bits: int, records: int, crowd: int) -> bool:
    kinds = 1 << bits
    entries = kinds * comb(crowd + kinds, kinds)
    steps = comb(crowd + records - 2, crowd - 1) * comb(crowd + kinds - 1, crowd) * kinds
    return crowd <= MOST_PEOPLE and entries <= MOST_ENTRIES and steps <= MOST_STEPS
