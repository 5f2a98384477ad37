"""The pairs of records that can be the worst, as ratios with a name for people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import TypeVar

from incrowd.accounting import blanket, local
from incrowd.accounting.candidate import Candidate, check_number
from incrowd.accounting.parts import Part, alike, at_most_flip, widened
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.relations import outlier_candidates, papers_pair
from incrowd.accounting.schema import Schema, Sent
from incrowd.channels.k_ary import KAry
from incrowd.errors import PrivacyError

__all__ = [
    "CANDIDATES",
    "Candidate",
    "blanket_candidates",
    "candidates",
    "local_candidates",
    "outlier_candidates",
    "papers_pair",
]


FEW_CLASSES, MOST_CLASSES = 16, 400  # classes of pairs of a report, tried one by one

Kind = TypeVar("Kind", bound=tuple[int, ...])  # a class of pairs of records of one question
Parts = tuple[tuple[Part, int], ...]


def blanket_candidates(schema: Schema, most: int = MOST_CLASSES) -> list[Candidate]:
    """Every class of pairs of records that can be the worst under the blanket.

    Where there are many, a few that cover them all: see `parts.widened` and `parts.at_most_flip`.
    Raises PrivacyError if there are still too many.
    """
    parts = _covering(schema.parts, most)
    return [
        Candidate(_pair_words(parts, chosen), _factors(parts, chosen, _blanket_ratios))
        for chosen in _mixtures(parts, _blanket_pairs)
        if any(u + v for counts in chosen for (u, v, _) in counts)
    ]


def _covering(parts: Parts, most: int) -> Parts:
    """The parts, or others that tell at least as much and have fewer classes of pairs."""
    if _number(parts, _blanket_pairs) > FEW_CLASSES:
        parts = tuple((widened(part), count) for part, count in parts)
    if _number(parts, _blanket_pairs) > most:
        parts = tuple((at_most_flip(part), count) for part, count in parts)
    return parts


def _blanket_pairs(part: Part) -> Sequence[blanket.Pair]:
    if isinstance(part.channel, KAry):
        return (blanket.APART,)
    return blanket.pairs(part.domain, alike(part.channel))


def _blanket_ratios(part: Part, pair: blanket.Pair) -> Ratios:
    return blanket.ratios(*part, pair)


def local_candidates(sent: Sent) -> list[Candidate]:
    """The pairs that can be the worst without a crowd, in everything that is sent.

    Raises PrivacyError if there are too many to try all of them.
    """
    words = "the farthest pair, without a crowd"
    return [
        Candidate(words, _factors(sent.parts, chosen, _local_ratios))
        for chosen in _mixtures(sent.parts, lambda part: local.pairs(*part))
    ]


def _local_ratios(part: Part, pair: local.Apart) -> Ratios:
    return local.ratios(part.channel, pair)


def _mixtures(
    parts: Parts, kinds_of: Callable[[Part], Sequence[Kind]]
) -> Iterator[tuple[Counter[Kind], ...]]:
    """All ways to give every question a class of pairs: how many of the equal ones have which."""
    check_number(_number(parts, kinds_of))
    every = (combinations_with_replacement(kinds_of(part), count) for part, count in parts)
    return product(*([Counter(chosen) for chosen in mixed] for mixed in every))


def _number(parts: Parts, kinds_of: Callable[[Part], Sequence[Kind]]) -> int:
    """How many mixtures there are."""
    return math.prod(math.comb(len(kinds_of(part)) + count - 1, count) for part, count in parts)


def _factors(
    parts: Parts, chosen: tuple[Counter[Kind], ...], ratios_of: Callable[[Part, Kind], Ratios]
) -> tuple[tuple[Ratios, int], ...]:
    return tuple(
        (ratios_of(part, kind), times)
        for (part, _), counts in zip(parts, chosen, strict=True)
        for kind, times in counts.items()
    )


def _pair_words(parts: Parts, chosen: tuple[Counter[blanket.Pair], ...]) -> str:
    bits = sum(times * (u + v) for counts in chosen for (u, v, _), times in counts.items())
    farthest = sum(part.domain.distance * count for part, count in parts)
    which = "the farthest pair" if bits == farthest else "a nearer pair"
    return f"x and x' {bits} bits apart ({which})"


CANDIDATES: dict[str, Callable[[Schema], list[Candidate]]] = {
    "blanket": blanket_candidates,
    "outlier": outlier_candidates,
}


def candidates(analysis: str, schema: Schema) -> list[Candidate]:
    """The pairs that an analysis of a crowd has to try. Raises PrivacyError if it is unknown."""
    if analysis not in CANDIDATES:
        allowed = "is no analysis of a crowd; use blanket or outlier"
        raise PrivacyError.of("analysis", analysis, allowed)
    return CANDIDATES[analysis](schema)
