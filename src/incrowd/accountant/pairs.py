"""The pairs of records (and crowds) that can be the worst, as ratios."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, product
from typing import TypeVar

from incrowd.accountant import blanket_ratios, local_ratios, outlier_ratios
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.numerics.exceedance import positive_chance
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.outlier_ratios import Relation
from incrowd.accountant.ratios import Ratios
from incrowd.accountant.ratios import product as independent
from incrowd.accountant.schema import (
    Contribution,
    Domain,
    DomainCounts,
    Part,
    Schema,
    at_most_flip,
    flip_of,
    widened,
)
from incrowd.errors import PrivacyError

MOST_CANDIDATES = 20_000
FEW_CLASSES, MOST_CLASSES = 16, 400  # classes of pairs of a report, tried one by one
MOST_MIXED = 60  # up to so many relations, every mixture of kinds is tried

K = TypeVar("K", bound=tuple[int, ...])  # a class of pairs of records of one question
PartCounts = tuple[tuple[Part, int], ...]
RelationKey = Callable[[Relation], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class PairRatios:
    """One pair (and crowd), and the ratios of each kind of question."""

    pair: WorstPair
    factors: tuple[tuple[Ratios, int], ...]

    @cached_property
    def ratios(self) -> Ratios:
        """The ratios of the whole report, computed on demand."""
        return independent(self.factors)

    @property
    def swapped(self) -> PairRatios:
        """The same pair in the other order."""
        return PairRatios(self.pair, tuple((r.swapped, count) for r, count in self.factors))


def check_number(count: int) -> None:
    """Raise PrivacyError if there are more candidates than can be tried."""
    if count > MOST_CANDIDATES:
        raise PrivacyError.of(
            "questions", "accountant.many-relations", relations=count, most=MOST_CANDIDATES
        )


def blanket_candidates(schema: Schema, most: int = MOST_CLASSES) -> list[PairRatios]:
    """Return every class of pairs of records that can be the worst under the blanket.

    If there are many, a few that cover them all: see `schema.widened` and `schema.at_most_flip`.
    Raises PrivacyError if there are still too many.
    """
    parts = _covering(schema.parts, most)
    return [
        PairRatios(_distance(parts, chosen), _factors(parts, chosen, _blanket_ratios))
        for chosen in _mixtures(parts, _blanket_pairs)
        if any(u + v for counts in chosen for (u, v, *_) in counts)
    ]


def _covering(parts: PartCounts, most: int) -> PartCounts:
    """Return the parts, or others that reveal at least as much and have fewer classes of pairs."""
    if _number(parts, _blanket_pairs) > FEW_CLASSES:
        parts = tuple((widened(part), count) for part, count in parts)
    if _number(parts, _blanket_pairs) > most:
        parts = tuple((at_most_flip(part), count) for part, count in parts)
    return parts


def _blanket_pairs(part: Part) -> Sequence[blanket_ratios.BlanketPair]:
    return blanket_ratios.part_pairs(*part)


def _blanket_ratios(part: Part, pair: blanket_ratios.BlanketPair) -> Ratios:
    return blanket_ratios.ratios(*part, pair)


def local_candidates(sent: Contribution) -> list[PairRatios]:
    """Return the pairs that can be the worst without a crowd, in everything that is sent.

    Raises PrivacyError if there are too many to try.
    """
    pair = WorstPair(code="no-crowd")
    return [
        PairRatios(pair, _factors(sent.parts, chosen, _local_ratios))
        for chosen in _mixtures(sent.parts, lambda part: local_ratios.pairs(*part))
    ]


def _local_ratios(part: Part, pair: local_ratios.LocalPair) -> Ratios:
    return local_ratios.ratios(part.channel, pair)


def _mixtures(
    parts: PartCounts, kinds_of: Callable[[Part], Sequence[K]]
) -> Iterator[tuple[Counter[K], ...]]:
    """Return all ways to assign a class of pairs to each question: class -> how many equal
    questions."""
    check_number(_number(parts, kinds_of))
    every = (combinations_with_replacement(kinds_of(part), count) for part, count in parts)
    return product(*([Counter(chosen) for chosen in mixed] for mixed in every))


def _number(parts: PartCounts, kinds_of: Callable[[Part], Sequence[K]]) -> int:
    """Return the number of mixtures."""
    return math.prod(math.comb(len(kinds_of(part)) + count - 1, count) for part, count in parts)


def _factors(
    parts: PartCounts, chosen: tuple[Counter[K], ...], ratios_of: Callable[[Part, K], Ratios]
) -> tuple[tuple[Ratios, int], ...]:
    return tuple(
        (ratios_of(part, kind), times)
        for (part, _), counts in zip(parts, chosen, strict=True)
        for kind, times in counts.items()
    )


def _distance(
    parts: PartCounts, chosen: tuple[Counter[blanket_ratios.BlanketPair], ...]
) -> WorstPair:
    bits = sum(times * (u + v) for counts in chosen for (u, v, *_), times in counts.items())
    farthest = sum(part.domain.distance * count for part, count in parts)
    return WorstPair(code="apart", bits=bits, farthest=bits == farthest)


def outlier_candidates(schema: Schema) -> list[PairRatios]:
    """Return the largest relations of x, x', and the record z of a homogeneous crowd.

    All of them, if they are few. Otherwise, all questions in which x and x' differ have a relation
    of the same kind (z = x, z = x', or all three different), and in the other questions both differ
    from z: docs/mathematics.md#the-worst-pairs. Large crowds do not need mixtures of kinds.
    Raises PrivacyError if a channel is not a bit flip, or if there are too many relations.
    """
    by_noise = _by_noise(schema)
    every = [_sums(questions, None) for questions in by_noise.values()]
    chosen = set(product(*every)) if math.prod(map(len, every)) <= MOST_MIXED else set()
    for kind in KINDS if not chosen else ():
        chosen |= set(product(*(_sums(questions, kind) for questions in by_noise.values())))
    check_number(len(chosen))
    return [
        PairRatios(_relation(relations), _relation_factors(tuple(by_noise), relations))
        for relations in sorted(chosen)
        if any(only_x + only_other for only_x, only_other, _ in relations)
    ]


def _by_noise(schema: Schema) -> dict[BitFlip, DomainCounts]:
    questions: dict[BitFlip, DomainCounts] = {}
    for part, count in schema.parts:
        channel = flip_of(part, "outlier")
        questions[channel] = (*questions.get(channel, ()), (part.domain, count))
    return questions


@lru_cache(maxsize=256)
def _sums(questions: DomainCounts, kind: RelationKey | None) -> tuple[Relation, ...]:
    """Return the largest sums of relations, one for each question, all of one kind if it is given.

    Without a kind, the sum stops early if there are many.
    """
    total: tuple[Relation, ...] = ((0, 0, 0),)
    for domain, count in questions:
        relations = outlier_ratios.relations(domain) if kind is None else _of_kind(domain, kind)
        for _ in range(count):
            if kind is None and len(total) > MOST_MIXED:
                return total
            total = outlier_ratios.add(total, relations)
    return total


def _of_kind(domain: Domain, kind: RelationKey) -> tuple[Relation, ...]:
    """Return the largest relation of a kind, and the largest in which x = x'."""
    relations = outlier_ratios.relations(domain)
    return max(relations, key=kind), max(relations, key=lambda r: (r[2], -r[0] - r[1]))


KINDS: tuple[RelationKey, ...] = (
    lambda r: (r[0], r[2]),
    lambda r: (r[1], r[2]),
    lambda r: (min(r[0], r[1]), r[2]),
)


def _relation_factors(
    channels: tuple[BitFlip, ...], chosen: tuple[Relation, ...]
) -> tuple[tuple[Ratios, int], ...]:
    """Return the ratios of a whole report, from one relation for each noise level."""
    pairs = zip(channels, chosen, strict=True)
    return tuple((outlier_ratios.ratios(channel, relation), 1) for channel, relation in pairs)


def papers_pair(schema: Schema, presence: bool) -> Ratios:
    """Return the papers' pair: records as far apart as allowed, and a crowd that holds one of them.

    presence: compare the collection with the outlier to the one without; if False, the reverse.
    Raises PrivacyError if a channel is not a bit flip.
    """
    by_noise = _by_noise(schema)
    bits = [sum(domain.distance * n for domain, n in questions) for questions in by_noise.values()]
    chosen = tuple((far, 0, 0) if presence else (0, far, 0) for far in bits)
    return independent(_relation_factors(tuple(by_noise), chosen))


def _relation(chosen: tuple[Relation, ...]) -> WorstPair:
    only_x, only_other, both = (sum(counts) for counts in zip(*chosen, strict=True))
    return WorstPair(
        code="relation",
        x=only_x + both,
        other=only_other + both,
        both=both,
        place="bit",
        crowd="alike",
    )


# eta, which the papers use instead of delta: P[ratio > e^epsilon]. See docs/mathematics.md#eta.


def largest_eta(worst: Ratios, schema: Schema, crowd: int, epsilon: float) -> float:
    """Return the largest eta of one relation and of the papers' pair, in a homogeneous crowd."""
    tried = (worst, papers_pair(schema, presence=True), papers_pair(schema, presence=False))
    return max(pair_eta(ratios, crowd, epsilon) for ratios in tried)


def pair_eta(ratios: Ratios, crowd: int, epsilon: float) -> float:
    """Return P[G(s_0) + G_1 + ... + G_(N-1) > 0], where s_0 is a report of x and all others are of
    z.

    For a homogeneous crowd. Exact if there are few kinds of reports, otherwise numerical.
    """
    law = ratios.law(epsilon)
    report = Law(law.value, ratios.log_mass + ratios.log_a)
    return min(positive_chance(report, law, crowd - 1), 1.0)
