"""The pairs of records (and crowds) that can be the worst, as ratios with a name for people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement, product

from incrowd.accounting import blanket, outlier
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.ratios import product as independent
from incrowd.accounting.schema import Part, Schema
from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import PrivacyError
from incrowd.survey import Domain

MOST_CANDIDATES = 20_000
MOST_MIXED = 60  # relations up to which every mixture of kinds is tried

Candidate = tuple[str, Ratios]


def blanket_candidates(schema: Schema) -> list[Candidate]:
    """Every class of pairs of records that can be the worst under the blanket.

    Raises PrivacyError if there are too many to try all of them.
    """
    choices = [_pair_counts(part, count) for part, count in schema.parts]
    _check_number(math.prod(map(len, choices)))
    return [
        (_pair_words(schema, chosen), independent(_pair_ratios(schema, chosen)))
        for chosen in product(*choices)
        if any(u + v for counts in chosen for (u, v, _) in counts)
    ]


PairCounts = Counter[blanket.Pair]


def _pair_counts(part: Part, count: int) -> list[PairCounts]:
    """How many of the equal questions have which class of pairs."""
    classes = blanket.pairs(part.domain)
    return [Counter(chosen) for chosen in combinations_with_replacement(classes, count)]


def _pair_ratios(schema: Schema, chosen: tuple[PairCounts, ...]) -> Iterator[tuple[Ratios, int]]:
    for (part, _), counts in zip(schema.parts, chosen, strict=True):
        for pair, times in counts.items():
            yield blanket.ratios(part.domain, part.channel, pair), times


def _pair_words(schema: Schema, chosen: tuple[PairCounts, ...]) -> str:
    bits = sum(times * (u + v) for counts in chosen for (u, v, _), times in counts.items())
    farthest = sum(part.domain.distance * count for part, count in schema.parts)
    which = "the farthest pair" if bits == farthest else "a nearer pair"
    return f"x and x' {bits} bits apart ({which})"


def outlier_candidates(schema: Schema) -> list[Candidate]:
    """The largest relations of x, x' and a homogeneous crowd z.

    Every one, if they are few. Else, of the questions in which x and x' differ, all have the
    relation of the same kind: z = x, z = x', or all three different; the others are those in
    which both differ from z (DESIGN 3.3). In the limit of large N mixtures are never worse.
    """
    every = _relation_sets(schema, [list(outlier.relations(p.domain)) for p, _ in schema.parts])
    if math.prod(len(options) for options in every.values()) > MOST_MIXED:
        chosen: dict[tuple[outlier.Relation, ...], None] = {}
        for kind in KINDS:
            of_kind = [_of_kind(part.domain, kind) for part, _ in schema.parts]
            chosen |= dict.fromkeys(product(*_relation_sets(schema, of_kind).values()))
    else:
        chosen = dict.fromkeys(product(*every.values()))
    _check_number(len(chosen))
    return [
        (_relation_words(relation), outlier_ratios(tuple(every), relation))
        for relation in chosen
        if any(only_x + only_other for only_x, only_other, _ in relation)
    ]


KINDS: tuple[Callable[[outlier.Relation], tuple[int, ...]], ...] = (
    lambda r: (r[0], r[2]),
    lambda r: (r[1], r[2]),
    lambda r: (min(r[0], r[1]), r[2]),
)


def _of_kind(domain: Domain, kind: Callable[[outlier.Relation], tuple[int, ...]]) -> Relations:
    """The largest relation of a kind, and the largest in which x = x'."""
    found = outlier.relations(domain)
    return [max(found, key=kind), max(found, key=lambda r: (r[2], -r[0] - r[1]))]


Relations = list[outlier.Relation]


def _relation_sets(
    schema: Schema, options: list[Relations]
) -> dict[BitFlip, tuple[outlier.Relation, ...]]:
    """For each noise level the largest sums of relations, one for each of its questions."""
    sums: dict[BitFlip, tuple[outlier.Relation, ...]] = {}
    for (part, count), found in zip(schema.parts, options, strict=True):
        for _ in range(count):
            known = sums.get(part.channel, ((0, 0, 0),))
            sums[part.channel] = outlier.add(known, tuple(found))
    return sums


def outlier_ratios(channels: tuple[BitFlip, ...], chosen: tuple[outlier.Relation, ...]) -> Ratios:
    """The ratios of a whole report for one relation a noise level."""
    pairs = zip(channels, chosen, strict=True)
    return independent((outlier.ratios(channel, relation), 1) for channel, relation in pairs)


def papers_pair(schema: Schema, presence: bool) -> Ratios:
    """The papers' own pair: records as far apart as allowed, the crowd holding one of them.

    presence: the collection that holds the outlier against the one that does not; else reversed.
    """
    counted: dict[BitFlip, int] = {}
    for part, count in schema.parts:
        bits = part.domain.distance * count
        counted[part.channel] = counted.get(part.channel, 0) + bits
    chosen = tuple((bits, 0, 0) if presence else (0, bits, 0) for bits in counted.values())
    return outlier_ratios(tuple(counted), chosen)


def _relation_words(chosen: tuple[outlier.Relation, ...]) -> str:
    only_x, only_other, both = (sum(counts) for counts in zip(*chosen, strict=True))
    return (
        f"from the crowd's record differ x in {only_x + both} bits, x' in {only_other + both}, "
        f"both in {both}"
    )


def _check_number(count: int) -> None:
    if count > MOST_CANDIDATES:
        allowed = (
            f"use fewer kinds of questions in one report (at most {MOST_CANDIDATES} relations)"
        )
        raise PrivacyError.of("questions", f"{count:,} relations of records", allowed)
