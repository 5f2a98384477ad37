"""The largest number of reports per person: the slots of an upload, and the tail beyond them.

Proof: docs/protocol.md, "Slots".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.plans.message import CellsMessage, Message
from incrowd.plans.plan import Outline, Plan
from incrowd.survey import Survey

TAIL = 1e-9  # the probability, for the whole crowd together, that anyone's reports exceed the slots
HEADER_BYTES = 50  # of an upload: the bundle's digest, the code, the stratum
SEALED_BYTES = 58  # of a slot, in addition to the packed report
NEGLIGIBLE = 93.0  # exp(-93) < 1e-40: the part of a binomial law that is left out


Pools = tuple[tuple[int, ...], ...]  # the numbers of the messages whose reports share slots


def shared(messages: Sequence[Message]) -> Pools:
    """Return the pools of messages in an upload to one shuffler.

    A permanent set has separate slots, since it is drawn once and has to fit whatever else is
    drawn. All other messages share the first pool. If services add noise, each message has slots of
    its own (`lanes`).
    """
    if any(message.by_services for message in messages):
        return separate(messages)
    sets = [number for number, message in enumerate(messages) if message.cells and message.memoized]
    shared = tuple(number for number in range(len(messages)) if number not in sets)
    return tuple(pool for pool in (shared, *((number,) for number in sets)) if pool)


def separate(messages: Sequence[Message]) -> Pools:
    """Return pools of one message each: with two mixers, every slot belongs to a message."""
    return tuple((number,) for number in range(len(messages)))


def slots(plan: Outline) -> tuple[int, ...]:
    """Return the number of slots of each pool of messages in an upload to one shuffler.

    One for each copy of a joint report, and one for each lane of cells to which services add noise.
    The number of reports of other cells is random: they get the fewest slots whose tail t keeps
    crowd * t <= 1e-9, summed over the pools with such messages.
    """
    return slots_of(plan.survey, plan.messages)


def slots_of_messages(plan: Outline) -> tuple[int, ...]:
    """Return the number of slots of each message in an upload to two mixers."""
    return slots_of(plan.survey, plan.messages, separate(plan.messages))


def slots_of(
    survey: Survey, messages: Sequence[Message], pools: Pools | None = None
) -> tuple[int, ...]:
    """Return the same for messages that are not yet part of a plan, by default for one shuffler."""
    together = [[messages[number] for number in pool] for pool in pools or shared(messages)]
    random = sum(any(map(_is_random, pool)) for pool in together)
    return tuple(_fewest(pool, TAIL / (survey.crowd * max(random, 1))) for pool in together)


def most_reports(
    messages: Sequence[Message], slots: Sequence[int], pools: Pools | None = None
) -> tuple[int, ...]:
    """Return the most reports of each message that an honest person sends. slots: the slots of each
    pool, by default for one shuffler."""
    most = [message.copies for message in messages]
    for pool, places in zip(pools or shared(messages), slots, strict=True):
        fixed = sum(messages[number].copies for number in pool if not messages[number].cells)
        for number in pool:
            if messages[number].cells:
                most[number] = places - fixed
    return tuple(most)


def fit(slots: Sequence[int], reports: Sequence[int], pools: Pools) -> bool:
    """Return whether the numbers of reports of each message fit into the slots of the pools."""
    pairs = zip(pools, slots, strict=True)
    return all(sum(reports[number] for number in pool) <= places for pool, places in pairs)


def upload_bytes(survey: Survey, messages: Sequence[Message]) -> int:
    """Return the size of one person's upload in bytes."""
    packed = max(-(-message.bits // 8) for message in messages)
    return HEADER_BYTES + sum(slots_of(survey, messages)) * (SEALED_BYTES + packed)


def slots_within(survey: Survey) -> float:
    """Return how many slots the upload may have if a cell's number takes two bytes; infinite if the
    survey sets no limit."""
    if survey.upload_bytes is None:
        return math.inf
    return (survey.upload_bytes - HEADER_BYTES) // (SEALED_BYTES + 2)


def tail(plan: Plan, slots: Sequence[int], pools: Pools | None = None) -> float:
    """Return an upper bound of the probability that one person's reports of some pool exceed its
    slots.

    The largest over all answers. A device with more reports draws all noise again.
    """
    pairs = zip(pools or shared(plan.messages), slots, strict=True)
    laws = [(_law([plan.messages[number] for number in pool]), places) for pool, places in pairs]
    return min(1.0, math.fsum(law.above(places) for law, places in laws))


class Lane(NamedTuple):
    """What shares a number on the wire if services add noise: the cells of a message of which a
    person is in one at most, or a message to which devices add the noise.

    Each person has `slots` for it, and the mixing service adds `invented` sealed reports, always as
    many. cells: their numbers in the message; empty if devices add the noise.
    """

    message: int
    cells: tuple[int, ...]
    slots: int
    invented: int


def lanes(plan: Outline) -> tuple[Lane, ...]:
    """Return the lanes of an upload to a service that adds noise, in order."""
    each = zip(plan.messages, slots(plan), strict=True)
    return tuple(lane for number, pair in enumerate(each) for lane in _of(number, *pair))


def invented(plan: Outline) -> int:
    """Return how many reports the mixing service invents and seals for each stratum.

    It is always the same number; 0 if devices add all noise.
    """
    return sum(lane.invented for lane in lanes(plan)) if plan.by_services else 0


def _of(number: int, message: Message, slots: int) -> Iterator[Lane]:
    if message.added is None:
        yield Lane(number, (), slots, 0)
    elif isinstance(message, CellsMessage):
        for cells in message.crossing.lanes:
            yield Lane(number, cells, 1, len(cells) * message.added.most)


class _Law(NamedTuple):
    """A law on whole numbers: the probabilities of `first` and on; those below 1e-40 are left
    out."""

    first: int
    chances: np.ndarray

    def above(self, number: int) -> float:
        """Return P[X > number]."""
        return math.fsum(self.chances[max(0, number + 1 - self.first) :])

    def plus(self, other: _Law) -> _Law:
        """Return the law of the sum of two independent numbers."""
        return _Law(self.first + other.first, np.convolve(self.chances, other.chances))


def _fewest(messages: Sequence[Message], wanted: float) -> int:
    """Return the fewest slots whose tail is at most `wanted`."""
    law = _law(messages)
    at_least = np.append(np.cumsum(law.chances[::-1])[::-1], 0.0)  # P[reports >= first + i]
    return law.first + int(np.argmax(at_least <= wanted)) - 1


def _law(messages: Sequence[Message]) -> _Law:
    """Return the law of the number of reports of some messages together, for a person who chose as
    many options as allowed: the more bits are set, the more reports there are."""
    law = _Law(0, np.ones(1))
    for message in messages:
        if isinstance(message, CellsMessage) and message.by_services:
            law = law.plus(_Law(len(message.crossing.lanes), np.ones(1)))
        elif isinstance(message, CellsMessage):  # bits that stay set, and others that are flipped
            chosen, noise = message.crossing.most, message.flips
            law = law.plus(_binomial(chosen, noise.p))
            law = law.plus(_binomial(message.record_bits - chosen, noise.q))
        else:
            law = law.plus(_Law(message.copies, np.ones(1)))
    return law


def _is_random(message: Message) -> bool:
    """Return whether the number of a person's reports is random."""
    return message.cells and not message.by_services


def _binomial(trials: int, chance: float) -> _Law:
    """Return the binomial law; by Bernstein all but 1e-40 of it lies within `reach` of the mean."""
    from incrowd.accountant.numerics.laws import log_binomial  # scipy: slow to load, seldom used

    mean, variance = trials * chance, trials * chance * (1 - chance)
    reach = NEGLIGIBLE / 3 + math.sqrt((NEGLIGIBLE / 3) ** 2 + 2 * NEGLIGIBLE * variance)
    first, last = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
    logarithms = math.log1p(-chance), math.log(chance)
    return _Law(first, np.exp(log_binomial(trials, *logarithms, first, last)))
