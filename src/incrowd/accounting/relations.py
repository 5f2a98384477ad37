"""The relations of x, x' and a homogeneous crowd that can be the worst, for `outlier`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import product

from incrowd.accounting import outlier
from incrowd.accounting.candidate import Candidate, check_number
from incrowd.accounting.outlier import Relation
from incrowd.accounting.parts import flip_of
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.ratios import product as independent
from incrowd.accounting.schema import Schema
from incrowd.channels.bit_flip import BitFlip
from incrowd.survey import Domain

MOST_MIXED = 60  # relations up to which every mixture of kinds is tried

Questions = tuple[tuple[Domain, int], ...]  # with one noise, equal ones counted
Kind = Callable[[Relation], tuple[int, ...]]


def outlier_candidates(schema: Schema) -> list[Candidate]:
    """The largest relations of x, x' and a homogeneous crowd z.

    Every one, if they are few. Else, of the questions in which x and x' differ, all have the
    relation of the same kind: z = x, z = x', or all three different; the others are those in
    which both differ from z: docs/mathematics.md#the-worst-pairs. Large crowds need no mixtures.
    Raises PrivacyError for a channel that is no bit flip, or for too many relations.
    """
    by_noise = _by_noise(schema)
    every = [_sums(questions, None) for questions in by_noise.values()]
    chosen = set(product(*every)) if math.prod(map(len, every)) <= MOST_MIXED else set()
    for kind in KINDS if not chosen else ():
        chosen |= set(product(*(_sums(questions, kind) for questions in by_noise.values())))
    check_number(len(chosen))
    return [
        Candidate(_words(relations), _factors(tuple(by_noise), relations))
        for relations in sorted(chosen)
        if any(only_x + only_other for only_x, only_other, _ in relations)
    ]


def _by_noise(schema: Schema) -> dict[BitFlip, Questions]:
    found: dict[BitFlip, Questions] = {}
    for part, count in schema.parts:
        channel = flip_of(part, "outlier")
        found[channel] = (*found.get(channel, ()), (part.domain, count))
    return found


@lru_cache(maxsize=256)
def _sums(questions: Questions, kind: Kind | None) -> tuple[Relation, ...]:
    """The largest sums of relations, one for each question, of a kind if one is named.

    Without a kind only as far as they are few.
    """
    total: tuple[Relation, ...] = ((0, 0, 0),)
    for domain, count in questions:
        found = outlier.relations(domain) if kind is None else _of_kind(domain, kind)
        for _ in range(count):
            if kind is None and len(total) > MOST_MIXED:
                return total
            total = outlier.add(total, found)
    return total


def _of_kind(domain: Domain, kind: Kind) -> tuple[Relation, ...]:
    """The largest relation of a kind, and the largest in which x = x'."""
    found = outlier.relations(domain)
    return max(found, key=kind), max(found, key=lambda r: (r[2], -r[0] - r[1]))


KINDS: tuple[Kind, ...] = (
    lambda r: (r[0], r[2]),
    lambda r: (r[1], r[2]),
    lambda r: (min(r[0], r[1]), r[2]),
)


def _factors(
    channels: tuple[BitFlip, ...], chosen: tuple[Relation, ...]
) -> tuple[tuple[Ratios, int], ...]:
    """The ratios of a whole report for one relation a noise level."""
    pairs = zip(channels, chosen, strict=True)
    return tuple((outlier.ratios(channel, relation), 1) for channel, relation in pairs)


def papers_pair(schema: Schema, presence: bool) -> Ratios:
    """The papers' own pair: records as far apart as allowed, the crowd holding one of them.

    presence: the collection that holds the outlier against the one that does not; else reversed.
    Raises PrivacyError for a channel that is no bit flip.
    """
    by_noise = _by_noise(schema)
    bits = [sum(domain.distance * n for domain, n in found) for found in by_noise.values()]
    chosen = tuple((far, 0, 0) if presence else (0, far, 0) for far in bits)
    return independent(_factors(tuple(by_noise), chosen))


def _words(chosen: tuple[Relation, ...]) -> str:
    only_x, only_other, both = (sum(counts) for counts in zip(*chosen, strict=True))
    return (
        f"from the crowd's record differ x in {only_x + both} bits, x' in {only_other + both}, "
        f"both in {both}"
    )
