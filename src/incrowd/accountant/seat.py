"""The analysis `seat`, the empty seat: a guarantee for every collection, and nearly exact.

The person in question takes the seat of somebody who sends a report drawn from the part that all
answers have in common. All others may be identified; it remains hidden whose seat she took.
`numerics.contours` computes the bound. This module provides the laws that it needs, for every class
of x, x', and another person's z that can be the worst. Mixed crowds of any kind are bounded by the
worst single class. Proof: docs/empty-seat.md#the-statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from incrowd.accountant import blanket_ratios, local_ratios
from incrowd.accountant.channels.answers import AnswerChannel, takes_answers
from incrowd.accountant.channels.base import Channel
from incrowd.accountant.channels.bit_flip import BitFlip, is_flip
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.numerics.contours import ContourBound, least_bound
from incrowd.accountant.numerics.laws import log_sum_exp
from incrowd.accountant.numerics.precision import (
    EXPONENT_TO_MULTIPLY,
    LOG_SMALLEST,
    PROBABILITY,
    UNIT,
)
from incrowd.accountant.pairs import local_candidates
from incrowd.accountant.ratios import LEAST_ATOMS, ONE, Ratios, thinned
from incrowd.accountant.ratios import product as independent
from incrowd.accountant.schema import (
    FREE_BIT,
    Contribution,
    Domain,
    DomainCounts,
    Part,
    Schema,
    as_flip,
    at_most_flip,
    check_crowd,
    check_epsilon,
    widened,
)
from incrowd.errors import PrivacyError

# The relations of x, x', and another person's record z, and which of these classes can be worst.
#
# A question consists of one or more places (its bits, or an answer as a whole). At each place the
# triple (x, x', z) is of one of a few `kinds`; places where all three agree reveal nothing. So a
# class is a vector of counts of kinds, and it determines the law of (P_x, P_x') / P_z under P_z.
#
# A class is left out if its G = A - e^epsilon B is below another's in the convex order, for any
# contribution of the other places (`largest`). Sums of independent terms preserve that order, and
# so do products with the ratios of other places. Proof: docs/empty-seat.md#the-statement.


# (x, x') for z = 0, and for z = 1: only x, only x', or both differ from z.
DIFFER = (((1, 0), (0, 1), (1, 1)), ((0, 1), (1, 0), (0, 0)))
ANY_FLIP = BitFlip(1)


class PlaceKind(NamedTuple):
    """A kind of place: which of x and x' differ from z there, and the ratios."""

    x: bool
    other: bool
    ratios: Ratios


@lru_cache(maxsize=256)
def kinds(channel: Channel) -> tuple[PlaceKind, ...]:
    """Return the kinds of places: three, six if the channel is not symmetric, or many for whole
    answers.

    Raises PrivacyError if the channel has too many answers.
    """
    if takes_answers(channel):
        return tuple(_of_answers(channel))
    log_chance = np.log(channel.matrix)
    result = [
        PlaceKind(
            x != z, other != z, _ratios(log_chance[:, x], log_chance[:, other], log_chance[:, z])
        )
        for z in ((0,) if channel.alike else (0, 1))
        for x, other in DIFFER[z]
    ]
    return tuple(result)


def _ratios(
    log_x: np.ndarray, log_other: np.ndarray, log_z: np.ndarray, log_ways: np.ndarray | float = 0.0
) -> Ratios:
    return Ratios(log_x - log_z, log_other - log_z, log_z + log_ways)


def of_flips(channel: BitFlip, only_x: int, only_other: int, both: int) -> Ratios:
    """Return the ratios of bit flips, given the number of bits of each kind.

    If a, b, and c of these bits are reversed, ln A is a multiple of ln p/q, namely 2 (a + c) minus
    the number of bits in which x differs from z; for ln B, replace a by b. These are integers, so
    equal atoms do not have to be searched for.
    """
    one, other, common = (
        np.array([math.comb(n, k) for k in range(n + 1)], float)
        * channel.q ** np.arange(n + 1)
        * channel.p ** np.arange(n, -1, -1)
        for n in (only_x, only_other, both)
    )
    mass = np.zeros((only_x + both + 1, only_other + both + 1))
    for c, chance in enumerate(common):
        mass[c : c + only_x + 1, c : c + only_other + 1] += chance * np.outer(one, other)
    logs = [-channel.logit * np.arange(-n + 1, n, 2.0) for n in mass.shape]
    log_a, log_b = (grid.ravel() for grid in np.meshgrid(*logs, indexing="ij"))
    possible = mass.ravel() > 0
    error = 8 * UNIT * float(sum(mass.shape)) * -channel.logit
    return Ratios(log_a[possible], log_b[possible], np.log(mass.ravel()[possible]), error)


def _of_answers(channel: AnswerChannel) -> Iterator[PlaceKind]:
    """Yield the kinds for whole answers: any three answers that are not all equal."""
    for x, other, z in channel.threes:
        numerators, _, ways = channel.laws((x, other, z))
        logs = np.array([[math.log(n / channel.denominator) for n in row] for row in numerators])
        log_ways = np.array([math.log(number) for number in ways])
        log_x, log_other, log_z = logs.T
        yield PlaceKind(x != z, other != z, _ratios(log_x, log_other, log_z, log_ways))


@lru_cache(maxsize=256)
def of_question(domain: Domain, channel: Channel) -> np.ndarray:
    """Return the classes of one question (x = x' allowed) that can be the worst, one per row."""
    bits, fewest, most = domain
    if channel.of_answers or domain == FREE_BIT:
        return np.eye(len(kinds(channel)), dtype=int)
    if (fewest, most) == (0, bits):
        return of_questions(((FREE_BIT, bits),), channel)
    lacks, holds = _by_options(domain)
    return largest(lacks + holds if channel.alike else np.hstack([lacks, holds]))


def _by_options(domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    """Return every class of a question, by how many options lie in each part of the Venn diagram.

    Two arrays, one class per row: among the options that z lacks, and among those that z holds, in
    how many only x, only x', and both differ from z.
    """
    bits, fewest, most = domain
    few = np.indices((most + 1,) * 3).reshape(3, -1).T
    few = few[few.sum(axis=1) <= bits]
    one, other = np.indices((len(few), len(few))).reshape(2, -1)
    lacks, holds = few[one], few[other]
    x = lacks[:, 0] + lacks[:, 2] + holds[:, 1]
    x_other = lacks[:, 1] + lacks[:, 2] + holds[:, 0]
    sizes = np.stack([x, x_other, holds.sum(axis=1)])  # without the options that all three hold
    needed = np.maximum(fewest - sizes.min(axis=0), 0)
    room = np.minimum(bits - lacks.sum(axis=1) - holds.sum(axis=1), most - sizes.max(axis=0))
    return lacks[needed <= room], holds[needed <= room]


def of_questions(questions: tuple[tuple[Domain, int], ...], channel: Channel) -> np.ndarray:
    """Return the classes of several questions with the same channel that can be the worst.

    For a bit flip they do not depend on the noise.
    """
    return _of_questions(questions, ANY_FLIP if channel.is_flip else channel)


@lru_cache(maxsize=256)
def _of_questions(questions: tuple[tuple[Domain, int], ...], channel: Channel) -> np.ndarray:
    total = np.zeros((1, len(kinds(channel))), dtype=int)
    for domain, count in questions:
        total = _sums(total, _of_equal_questions(domain, channel, count), channel)
    return total


def _of_equal_questions(domain: Domain, channel: Channel, count: int) -> np.ndarray:
    """Return the classes of `count` equal questions, by repeated doubling."""
    one = of_question(domain, channel)
    if count == 1:
        return one
    half = _of_equal_questions(domain, channel, count // 2)
    doubled = _sums(half, half, channel)
    return _sums(doubled, one, channel) if count % 2 else doubled


def _sums(one: np.ndarray, other: np.ndarray, channel: Channel) -> np.ndarray:
    sums = (one[:, None] + other[None]).reshape(-1, one.shape[1])
    return np.unique(sums, axis=0) if channel.of_answers else largest(sums)


def largest(classes: np.ndarray) -> np.ndarray:
    """Return those classes of bits that no other class exceeds.

    A class exceeds another if it has additional places at which some record differs from z, or if
    it has, instead of places at which both x and x' differ from z, twice as many at which one does:
    then A and B no longer rise and fall together, so A - e^epsilon B spreads.
    """
    classes = np.unique(classes, axis=0)
    classes = classes[np.argsort(-classes.sum(axis=1), kind="stable")]  # those exceeded come later
    parts, maximal = classes.reshape(len(classes), -1, 3), np.zeros(len(classes), dtype=bool)
    for i, one in enumerate(parts):
        maximal[i] = not _exceed(parts[:i][maximal[:i]], one).any()
    return np.asarray(classes[maximal])


def _exceed(parts: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Return which of the classes `parts` exceed the class `one`."""
    turned = np.maximum(one[:, 2] - parts[:, :, 2], 0)
    spare = (parts[:, :, :2] - one[:, :2]).min(axis=2)
    return np.asarray((spare >= turned).all(axis=1))


MOST_CLASSES = 2200  # of x, x', and z; if there are more, some noises are taken as smaller
MOST_ATOMS = 1 << 22  # of all classes together
TOO_SMALL = 0.5  # the probability of no report from the common part: then D/2 at least is left
MOST_HELD = {True: 12, False: 4}  # options in a record, by whether the channel is symmetric

KindCounts = tuple[int, ...]  # the number of places of each kind, for one channel
PairClass = tuple[KindCounts, ...]
ChannelGroups = dict[
    Channel, DomainCounts
]  # the questions of each channel; equal questions are counted


@dataclass(frozen=True)
class SeatBound:
    """A bound of delta for every collection, and the worst class."""

    delta: float
    worst: WorstPair


@dataclass(frozen=True, eq=False)
class Seats:
    """The quantities that a schema determines for every crowd and epsilon.

    common: gamma. classes, ratios: each class of x, x', and z. alone: the ratios of the pairs that
    can be the worst without a crowd.
    """

    common: float
    classes: tuple[WorstPair, ...]
    ratios: tuple[Ratios, ...]
    alone: tuple[Ratios, ...]


@lru_cache(maxsize=1024)
def bound(
    schema: Schema, crowd: int, epsilon: float, sharp: bool = True, most: int = 0
) -> SeatBound:
    """Return a certified bound of delta(epsilon) over all collections of a crowd of honest people.

    sharp: as in `least_bound`; if False, a few percent looser and several times as fast. most: use
    only that many classes, those that reveal the most in a large crowd; 0 means all. With fewer
    than all it is not a bound, and is only for searching. Raises PrivacyError if the crowd is below
    2, epsilon is out of range, or there are too many classes.
    """
    check_crowd(crowd)
    check_epsilon(epsilon)
    if epsilon >= schema.local_epsilon:
        return SeatBound(0.0, WorstPair(code="beyond-local"))
    data = seats(schema, most)
    laws = [ratios.law(epsilon) for ratios in data.ratios]
    without = max(
        local_ratios.delta(ratios, epsilon - PROBABILITY * (1 + epsilon)) for ratios in data.alone
    )
    if (crowd - 1) * math.log1p(-data.common) > math.log(TOO_SMALL):
        return SeatBound(min(without, 1.0), WorstPair(code="crowd-too-small"))
    members = ContourBound(laws, data.common, crowd - 1, math.expm1(epsilon), min(without, 1.0))
    value, place = least_bound(members, sharp)
    return SeatBound(value, data.classes[place])


@lru_cache(maxsize=16)
def seats(schema: Schema, most: int = 0) -> Seats:
    """Return the common mass, the classes, and the pairs of a schema; most: as in `bound`."""
    groups = _few_enough(schema)
    classes = list(product(*(_rows(channel, questions) for channel, questions in groups.items())))
    if 0 < most < len(classes):
        classes = [classes[place] for place in np.argsort(-_signals(groups))[:most]]
    atoms = max(MOST_ATOMS // len(classes), LEAST_ATOMS)
    pairs = tuple(_worst_pair(groups, rows) for rows in classes)
    ratios = tuple(thinned(_of_class(groups, rows), atoms) for rows in classes)
    alone = tuple(candidate.ratios for candidate in local_candidates(Contribution.of(schema)))
    return Seats(_common(groups), pairs, ratios, alone)


def _few_enough(schema: Schema) -> ChannelGroups:
    """Return the questions by channel; if there are too many classes, with channels that reveal
    more.

    Each channel is a post-processing of its replacement, so the whole report reveals no more.
    """
    groups = _grouped((_plain(part), count) for part, count in schema.parts)
    if _number(groups) > MOST_CLASSES:
        parts = [(Part(d, c), n) for c, questions in groups.items() for d, n in questions]
        groups = _grouped((at_most_flip(part), count) for part, count in parts)
    while _number(groups) > MOST_CLASSES:
        groups = _nearest_joined(groups)
    return groups


def _plain(part: Part) -> Part:
    """Return the part, or one that reveals at least as much if it has too many classes to list."""
    if part.domain.fewest:
        return part
    if part.domain.most > MOST_HELD[part.channel.alike]:
        part = at_most_flip(part)
    return widened(part) if part.domain.most > MOST_HELD[True] else part


def _grouped(parts: Iterator[tuple[Part, int]]) -> ChannelGroups:
    groups: ChannelGroups = {}
    for (domain, given), count in parts:
        channel = as_flip(given) or given
        free = (domain.fewest, domain.most) == (0, domain.bits)
        question = (FREE_BIT, count * domain.bits) if free else (domain, count)
        groups[channel] = (*groups.get(channel, ()), question)
    return groups


def _number(groups: ChannelGroups) -> int:
    return math.prod(len(of_questions(questions, channel)) for channel, questions in groups.items())


def _nearest_joined(groups: ChannelGroups) -> ChannelGroups:
    """Give the two bit flips with the nearest noises the smaller of both.

    Raises PrivacyError if there are fewer than two bit flips.
    """
    flips = sorted(channel for channel in groups if is_flip(channel))
    if len(flips) < 2:
        raise PrivacyError.of(
            "questions", "accountant.many-classes", classes=_number(groups), most=MOST_CLASSES
        )
    less, more = min(pairwise(flips), key=lambda p: p[1].logit - p[0].logit)
    joined = {channel: questions for channel, questions in groups.items() if channel != more}
    return joined | {less: groups[less] + groups[more]}


def _common(groups: ChannelGroups) -> float:
    """Return gamma of the whole report, rounded down:
    the product over the independent questions."""
    log_common = sum(
        count * math.log(_question_common(domain, channel))
        for channel, questions in groups.items()
        for domain, count in questions
    )
    return math.exp(log_common) * (1 - PROBABILITY)


def _question_common(domain: Domain, channel: Channel) -> float:
    pair = blanket_ratios.part_pairs(domain, channel)[0]
    return float(np.exp(blanket_ratios.ratios(domain, channel, pair).log_mass).sum())


def _rows(channel: Channel, questions: DomainCounts) -> list[KindCounts]:
    """Return every class of one channel that can be the worst."""
    return [tuple(map(int, row)) for row in of_questions(questions, channel)]


def _signals(groups: ChannelGroups) -> np.ndarray:
    """Return E[(A - B)^2] of every class, in the order of `product`:
    its signal in a large crowd."""
    logs = np.zeros((1, 3))
    for channel, questions in groups.items():
        moments = np.array([_log_moments(kind.ratios) for kind in kinds(channel)])
        rows = of_questions(questions, channel) @ moments
        logs = (logs[:, None] + rows[None]).reshape(-1, 3)
    squares = np.exp(np.minimum(logs, EXPONENT_TO_MULTIPLY))
    return np.asarray(squares[:, 0] + squares[:, 1] - 2 * squares[:, 2])


def _log_moments(ratios: Ratios) -> tuple[float, float, float]:
    """Return ln E[A^2], ln E[B^2] and ln E[AB]."""
    a, b = ratios.log_a, ratios.log_b
    first, second, both = (
        float(log_sum_exp(exponent + ratios.log_mass)) for exponent in (2 * a, 2 * b, a + b)
    )
    return first, second, both


def _of_class(groups: ChannelGroups, rows: PairClass) -> Ratios:
    """Return the ratios of a class, from its counts for each channel."""
    ratios = ONE
    for channel, row in zip(groups, rows, strict=True):
        ratios = _both(ratios, _of_channel(channel, row))
    return ratios


@lru_cache(maxsize=1024)
def _of_channel(channel: Channel, row: KindCounts) -> Ratios:
    """Return the ratios of the given numbers of places of each kind."""
    if is_flip(channel) and sum(row) * math.log(channel.q) > LOG_SMALLEST:
        return of_flips(channel, *row)
    return _of_kinds(channel, row)


@lru_cache(maxsize=1024)
def _of_kinds(channel: Channel, row: KindCounts) -> Ratios:
    """Do the same as `_of_channel` for the first kinds; common beginnings of rows are computed
    once."""
    if not row:
        return ONE
    if not row[-1] and channel.of_answers:  # most of many kinds
        return _of_kinds(channel, row[:-1])
    return _both(_of_kinds(channel, row[:-1]), _repeated(channel, len(row) - 1, row[-1]))


def _both(one: Ratios, other: Ratios) -> Ratios:
    return other if one is ONE else independent([(one, 1), (other, 1)])


@lru_cache(maxsize=1024)
def _repeated(channel: Channel, place: int, count: int) -> Ratios:
    """Return the ratios of `count` places of one kind."""
    return independent([(kinds(channel)[place].ratios, count)])


def _worst_pair(groups: ChannelGroups, rows: PairClass) -> WorstPair:
    counts = [
        (kind, count)
        for channel, row in zip(groups, rows, strict=True)
        for kind, count in zip(kinds(channel), row, strict=True)
    ]
    x = sum(count for kind, count in counts if kind.x)
    other = sum(count for kind, count in counts if kind.other)
    both = sum(count for kind, count in counts if kind.x and kind.other)
    return WorstPair(
        code="relation",
        x=x,
        other=other,
        both=both,
        place="place" if any(channel.of_answers for channel in groups) else "bit",
        crowd="each",
    )
