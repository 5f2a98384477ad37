"""How x, x' and another person's record z can lie to one another: the classes that can be worst.

A question is one or more places (its bits, or an answer as a whole), and at each place x, x'
and z are of one of a few `kinds`; where all three agree a report tells nothing. So a class is a
vector of counts of kinds. The law of (P_x, P_x') / P_z under P_z belongs to it alone.

Which classes are left out: those whose G = A - e^epsilon B is below another's in the convex order,
whatever the other places add (`exceeds`). Sums of independent terms keep that order, and so do
products with the other places' ratios. Proof: docs/empty-seat.md#the-statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from incrowd.accounting.parts import AnyChannel
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import FREE_BIT
from incrowd.channels.answers import AnswerChannel, takes_answers
from incrowd.channels.bit_flip import BitFlip
from incrowd.numerics.precision import UNIT
from incrowd.survey import Domain

# Records (x, x') where z = 0, and where z = 1: only x, only x', both differ from z.
DIFFER = (((1, 0), (0, 1), (1, 1)), ((0, 1), (1, 0), (0, 0)))
ANY_FLIP = BitFlip(1)


class Kind(NamedTuple):
    """Which of x and x' differ from z at a place, and the ratios there."""

    x: bool
    other: bool
    ratios: Ratios


@lru_cache(maxsize=256)
def kinds(channel: AnyChannel) -> tuple[Kind, ...]:
    """The kinds of places: three, six where ones and zeros are not alike; of answers many.

    Raises PrivacyError for a channel of too many answers.
    """
    if takes_answers(channel):
        return tuple(_of_answers(channel))
    log_chance = np.log(channel.matrix)
    found = [
        Kind(x != z, other != z, _ratios(log_chance[:, x], log_chance[:, other], log_chance[:, z]))
        for z in ((0,) if channel.alike else (0, 1))
        for x, other in DIFFER[z]
    ]
    return tuple(found)


def _ratios(
    log_x: np.ndarray, log_other: np.ndarray, log_z: np.ndarray, log_ways: np.ndarray | float = 0.0
) -> Ratios:
    return Ratios(log_x - log_z, log_other - log_z, log_z + log_ways)


def of_flips(channel: BitFlip, only_x: int, only_other: int, both: int) -> Ratios:
    """The ratios of so many flipped bits of each kind, all at once.

    With a, b and c of them reversed ln A is a multiple of ln p/q, 2 (a + c) less the bits in which
    x differs, and ln B likewise with b: whole numbers, so that equal atoms need not be looked for.
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


def _of_answers(channel: AnswerChannel) -> Iterator[Kind]:
    """Of whole answers: any three that are not all equal."""
    for x, other, z in channel.threes:
        numerators, _, ways = channel.laws((x, other, z))
        logs = np.array([[math.log(n / channel.denominator) for n in row] for row in numerators])
        log_ways = np.array([math.log(number) for number in ways])
        log_x, log_other, log_z = logs.T
        yield Kind(x != z, other != z, _ratios(log_x, log_other, log_z, log_ways))


@lru_cache(maxsize=256)
def of_question(domain: Domain, channel: AnyChannel) -> np.ndarray:
    """The classes of one question (x = x' allowed) that can be the worst, one a row."""
    bits, fewest, most = domain
    if channel.of_answers or domain == FREE_BIT:
        return np.eye(len(kinds(channel)), dtype=int)
    if (fewest, most) == (0, bits):
        return of_questions(((FREE_BIT, bits),), channel)
    lacks, holds = _by_options(domain)
    return largest(lacks + holds if channel.alike else np.hstack([lacks, holds]))


def _by_options(domain: Domain) -> tuple[np.ndarray, np.ndarray]:
    """Every class of a question, by how many options lie in each part of the Venn diagram.

    Of the options that z lacks, and of those that z holds, how many only x, only x' and both have
    otherwise; one class a row. The rest all three hold, or none of them.
    """
    bits, fewest, most = domain
    few = np.indices((most + 1,) * 3).reshape(3, -1).T
    few = few[few.sum(axis=1) <= bits]
    one, other = np.indices((len(few), len(few))).reshape(2, -1)
    lacks, holds = few[one], few[other]
    x = lacks[:, 0] + lacks[:, 2] + holds[:, 1]
    x_other = lacks[:, 1] + lacks[:, 2] + holds[:, 0]
    sizes = np.stack([x, x_other, holds.sum(axis=1)])  # but for options that all three hold
    needed = np.maximum(fewest - sizes.min(axis=0), 0)
    room = np.minimum(bits - lacks.sum(axis=1) - holds.sum(axis=1), most - sizes.max(axis=0))
    return lacks[needed <= room], holds[needed <= room]


def of_questions(questions: tuple[tuple[Domain, int], ...], channel: AnyChannel) -> np.ndarray:
    """The classes of several questions with one channel, that can be the worst.

    Those of a bit flip are the same whatever its noise.
    """
    return _of_questions(questions, ANY_FLIP if channel.is_flip else channel)


@lru_cache(maxsize=256)
def _of_questions(questions: tuple[tuple[Domain, int], ...], channel: AnyChannel) -> np.ndarray:
    total = np.zeros((1, len(kinds(channel))), dtype=int)
    for domain, count in questions:
        total = _sums(total, _repeated(domain, channel, count), channel)
    return total


def _repeated(domain: Domain, channel: AnyChannel, count: int) -> np.ndarray:
    """Of equal questions, by repeated doubling."""
    one = of_question(domain, channel)
    if count == 1:
        return one
    half = _repeated(domain, channel, count // 2)
    doubled = _sums(half, half, channel)
    return _sums(doubled, one, channel) if count % 2 else doubled


def _sums(one: np.ndarray, other: np.ndarray, channel: AnyChannel) -> np.ndarray:
    sums = (one[:, None] + other[None]).reshape(-1, one.shape[1])
    return np.unique(sums, axis=0) if channel.of_answers else largest(sums)


def largest(classes: np.ndarray) -> np.ndarray:
    """Of classes of bits, those that no other one exceeds.

    One exceeds another if it is reached by more places at which some record differs from z, or by
    turning places at which x and x' both differ from z into twice as many at which one does:
    then A and B no longer rise and fall together, so that A - e^epsilon B spreads.
    """
    classes = np.unique(classes, axis=0)
    classes = classes[np.argsort(-classes.sum(axis=1), kind="stable")]  # those exceeded come later
    parts, kept = classes.reshape(len(classes), -1, 3), np.zeros(len(classes), dtype=bool)
    for i, one in enumerate(parts):
        kept[i] = not _exceed(parts[:i][kept[:i]], one).any()
    return np.asarray(classes[kept])


def _exceed(parts: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Which classes exceed one."""
    turned = np.maximum(one[:, 2] - parts[:, :, 2], 0)
    spare = (parts[:, :, :2] - one[:, :2]).min(axis=2)
    return np.asarray((spare >= turned).all(axis=1))
