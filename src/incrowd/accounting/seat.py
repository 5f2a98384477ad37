"""The analysis `seat`, the empty seat: a guarantee for every collection, and nearly exact.

The person in question takes the seat of somebody who sends a report of the common part of all
answers. All others may be named: she hides in who is missing. `numerics.modulus_bound` has the
bound; here are the laws that it needs, of every class of x, x' and another person's z that can be
the worst. Crowds that are mixed in any way are bounded by the worst single class.
Proof: docs/empty-seat.md#the-statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product

import numpy as np

from incrowd.accounting import blanket_ratios, local_ratios
from incrowd.accounting.pairs import local_candidates
from incrowd.accounting.parts import AnyChannel, Part, as_flip, at_most_flip, widened
from incrowd.accounting.ratios import LEAST_ATOMS, ONE, Ratios, thinned
from incrowd.accounting.ratios import product as independent
from incrowd.accounting.relation_words import relation_words
from incrowd.accounting.schema import FREE_BIT, Schema, Sent, check_crowd, check_epsilon
from incrowd.accounting.seat_classes import kinds, of_flips, of_questions
from incrowd.channels.bit_flip import is_flip
from incrowd.errors import InWords, PrivacyError
from incrowd.numerics.contours import least_bound
from incrowd.numerics.crowd_laws import Crowd
from incrowd.numerics.law import log_sum_exp
from incrowd.numerics.precision import EXPONENT_TO_MULTIPLY, LOG_SMALLEST, PROBABILITY
from incrowd.survey import Domain

MOST_CLASSES = 2200  # of x, x' and z; beyond that some noises are taken to be less than they are
MOST_ATOMS = 1 << 22  # of all classes together
HARDLY = 0.5  # if that is the chance that nobody sends what all have in common, half of D is left
MOST_HELD = {True: 12, False: 4}  # options in a record; whether ones and zeros are alike

Row = tuple[int, ...]  # places of each kind, of one channel
Rows = tuple[Row, ...]
Questions = tuple[tuple[Domain, int], ...]
Groups = dict[AnyChannel, Questions]  # the questions of each channel, equal ones counted


@dataclass(frozen=True)
class Bound:
    """delta for every collection is at most this; and the class that was the worst, in words."""

    delta: float
    worst: str


@dataclass(frozen=True, eq=False)
class Seats:
    """What is known of a schema whatever the crowd and epsilon.

    common: gamma. words, ratios: of each class of x, x' and z. alone: the pairs that can be the
    worst without a crowd.
    """

    common: float
    words: tuple[str, ...]
    ratios: tuple[Ratios, ...]
    alone: tuple[Ratios, ...]


@lru_cache(maxsize=1024)
def bound(schema: Schema, crowd: int, epsilon: float, sharp: bool = True, most: int = 0) -> Bound:
    """A certified bound of delta(epsilon) over all collections of a crowd of honest people.

    sharp: as in `least_bound`; without it some per cent looser, and several times as quick.
    most: of how many classes, those that tell the most in a large crowd; 0 for all of them. With
    some of them it is no certificate, and serves a search.
    Raises PrivacyError for a crowd below 2, an epsilon out of range, or too many classes.
    """
    check_crowd(crowd)
    check_epsilon(epsilon)
    if epsilon >= schema.local_epsilon:
        return Bound(0.0, "none: that much is promised without a crowd")
    found = seats(schema, most)
    laws = [ratios.law(epsilon) for ratios in found.ratios]
    without = max(
        local_ratios.delta(ratios, epsilon - PROBABILITY * (1 + epsilon)) for ratios in found.alone
    )
    if (crowd - 1) * math.log1p(-found.common) > math.log(HARDLY):
        return Bound(min(without, 1.0), "as if her report had her name: hardly any other hides it")
    members = Crowd(laws, found.common, crowd - 1, math.expm1(epsilon), min(without, 1.0))
    value, place = least_bound(members, sharp)
    return Bound(value, found.words[place])


@lru_cache(maxsize=16)
def seats(schema: Schema, most: int = 0) -> Seats:
    """The common mass, the classes and the pairs of a schema; most: as in `bound`."""
    groups = _few_enough(schema)
    classes = list(product(*(_rows(channel, found) for channel, found in groups.items())))
    if 0 < most < len(classes):
        classes = [classes[place] for place in np.argsort(-_signals(groups))[:most]]
    atoms = max(MOST_ATOMS // len(classes), LEAST_ATOMS)
    words = tuple(_words(groups, rows) for rows in classes)
    ratios = tuple(thinned(_of_class(groups, rows), atoms) for rows in classes)
    alone = tuple(candidate.ratios for candidate in local_candidates(Sent.of(schema)))
    return Seats(_common(groups), words, ratios, alone)


def _few_enough(schema: Schema) -> Groups:
    """The questions by channel; where classes would be too many, of channels that tell more.

    That a channel that is post-processing of another tells no more holds for all of a report.
    """
    groups = _grouped((_plain(part), count) for part, count in schema.parts)
    if _number(groups) > MOST_CLASSES:
        parts = [(Part(d, c), n) for c, found in groups.items() for d, n in found]
        groups = _grouped((at_most_flip(part), count) for part, count in parts)
    while _number(groups) > MOST_CLASSES:
        groups = _nearest_joined(groups)
    return groups


def _plain(part: Part) -> Part:
    """The part, or one that tells at least as much if its classes would be too many to list."""
    if part.domain.fewest:
        return part
    if part.domain.most > MOST_HELD[part.channel.alike]:
        part = at_most_flip(part)
    return widened(part) if part.domain.most > MOST_HELD[True] else part


def _grouped(parts: Iterator[tuple[Part, int]]) -> Groups:
    groups: Groups = {}
    for (domain, given), count in parts:
        channel = as_flip(given) or given
        free = (domain.fewest, domain.most) == (0, domain.bits)
        question = (FREE_BIT, count * domain.bits) if free else (domain, count)
        groups[channel] = (*groups.get(channel, ()), question)
    return groups


def _number(groups: Groups) -> int:
    return math.prod(len(of_questions(found, channel)) for channel, found in groups.items())


def _nearest_joined(groups: Groups) -> Groups:
    """Of the bit flips those two whose noises are nearest, both with the smaller noise.

    Raises PrivacyError if there are no two.
    """
    flips = sorted(channel for channel in groups if is_flip(channel))
    if len(flips) < 2:
        allowed = f"at most {MOST_CLASSES:,} can be tried; use fewer channels"
        raise PrivacyError.of(
            "questions", InWords(f"{_number(groups):,} classes of records"), allowed
        )
    less, more = min(pairwise(flips), key=lambda p: p[1].logit - p[0].logit)
    joined = {channel: found for channel, found in groups.items() if channel != more}
    return joined | {less: groups[less] + groups[more]}


def _common(groups: Groups) -> float:
    """gamma of the whole report, rounded down: that of independent questions multiplies."""
    log_common = sum(
        count * math.log(_question_common(domain, channel))
        for channel, found in groups.items()
        for domain, count in found
    )
    return math.exp(log_common) * (1 - PROBABILITY)


def _question_common(domain: Domain, channel: AnyChannel) -> float:
    pair = blanket_ratios.part_pairs(domain, channel)[0]
    return float(np.exp(blanket_ratios.ratios(domain, channel, pair).log_mass).sum())


def _rows(channel: AnyChannel, questions: Questions) -> list[Row]:
    """Every class of one channel that can be the worst."""
    return [tuple(map(int, row)) for row in of_questions(questions, channel)]


def _signals(groups: Groups) -> np.ndarray:
    """E[(A - B)^2] of every class, in the order of `product`: what it tells in a large crowd."""
    logs = np.zeros((1, 3))
    for channel, found in groups.items():
        moments = np.array([_log_moments(kind.ratios) for kind in kinds(channel)])
        rows = of_questions(found, channel) @ moments
        logs = (logs[:, None] + rows[None]).reshape(-1, 3)
    squares = np.exp(np.minimum(logs, EXPONENT_TO_MULTIPLY))
    return np.asarray(squares[:, 0] + squares[:, 1] - 2 * squares[:, 2])


def _log_moments(ratios: Ratios) -> tuple[float, float, float]:
    """ln E[A^2], ln E[B^2] and ln E[AB]."""
    a, b = ratios.log_a, ratios.log_b
    first, second, both = (
        float(log_sum_exp(exponent + ratios.log_mass)) for exponent in (2 * a, 2 * b, a + b)
    )
    return first, second, both


def _of_class(groups: Groups, rows: Rows) -> Ratios:
    """The ratios of a class, from its counts for each channel."""
    found = ONE
    for channel, row in zip(groups, rows, strict=True):
        found = _both(found, _of_channel(channel, row))
    return found


@lru_cache(maxsize=1024)
def _of_channel(channel: AnyChannel, row: Row) -> Ratios:
    """Of so many places of each kind."""
    if is_flip(channel) and sum(row) * math.log(channel.q) > LOG_SMALLEST:
        return of_flips(channel, *row)
    return _of_kinds(channel, row)


@lru_cache(maxsize=1024)
def _of_kinds(channel: AnyChannel, row: Row) -> Ratios:
    """Of so many places of the first kinds; what rows begin with alike is worked out once."""
    if not row:
        return ONE
    return _both(_of_kinds(channel, row[:-1]), _repeated(channel, len(row) - 1, row[-1]))


def _both(one: Ratios, other: Ratios) -> Ratios:
    return other if one is ONE else independent([(one, 1), (other, 1)])


@lru_cache(maxsize=1024)
def _repeated(channel: AnyChannel, place: int, count: int) -> Ratios:
    """Of so many places of one kind."""
    return independent([(kinds(channel)[place].ratios, count)])


def _words(groups: Groups, rows: Rows) -> str:
    found = [
        (kind, count)
        for channel, row in zip(groups, rows, strict=True)
        for kind, count in zip(kinds(channel), row, strict=True)
    ]
    x = sum(count for kind, count in found if kind.x)
    other = sum(count for kind, count in found if kind.other)
    both = sum(count for kind, count in found if kind.x and kind.other)
    place = "place" if any(channel.of_answers for channel in groups) else "bit"
    return relation_words("the others'", x, other, both, place)
