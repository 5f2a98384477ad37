"""How many reports a person sends at most: the slots of an upload, and the tail above them.

Proof: docs/protocol.md, "Slots".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from incrowd.plans.message import Message
from incrowd.plans.plan import Plan
from incrowd.survey import Survey

TAIL = 1e-9  # of all the crowd together: the chance that anybody's reports exceed the slots
HEADER_BYTES = 50  # of an upload: the bundle's digest, the code, the stratum
SEALED_BYTES = 58  # of a slot, besides the packed report
NEGLIGIBLE = 93.0  # exp(-93) < 1e-40: what is left out of a binomial law


def pools(messages: Sequence[Message]) -> tuple[tuple[int, ...], ...]:
    """The numbers of the messages whose reports share slots.

    A permanent set has slots of its own, since it is drawn once and has to fit whatever else is
    drawn beside it. All other messages share the first pool.
    """
    sets = [number for number, message in enumerate(messages) if message.cells and message.memoized]
    shared = tuple(number for number in range(len(messages)) if number not in sets)
    return tuple(pool for pool in (shared, *((number,) for number in sets)) if pool)


def slots(plan: Plan) -> tuple[int, ...]:
    """Places for the reports of each pool of messages in an upload.

    One for each copy of a joint report. Of cells the number of reports is random: the fewest places
    whose tail t keeps crowd * t <= 1e-9, the sum over the pools that hold such messages.
    """
    return slots_of(plan.survey, plan.messages)


def slots_of(survey: Survey, messages: Sequence[Message]) -> tuple[int, ...]:
    """The same for messages that are no plan yet."""
    together = [[messages[number] for number in pool] for pool in pools(messages)]
    random = sum(any(message.cells for message in pool) for pool in together)
    return tuple(_fewest(pool, TAIL / (survey.crowd * max(random, 1))) for pool in together)


def most_reports(messages: Sequence[Message], slots: Sequence[int]) -> tuple[int, ...]:
    """How many reports of each message an honest person sends at most. slots: of each pool."""
    found = [message.copies for message in messages]
    for pool, places in zip(pools(messages), slots, strict=True):
        fixed = sum(messages[number].copies for number in pool if not messages[number].cells)
        for number in pool:
            if messages[number].cells:
                found[number] = places - fixed
    return tuple(found)


def fit(messages: Sequence[Message], slots: Sequence[int], reports: Sequence[int]) -> bool:
    """Whether so many reports of each message fit into the slots of the pools."""
    pairs = zip(pools(messages), slots, strict=True)
    return all(sum(reports[number] for number in pool) <= places for pool, places in pairs)


def upload_bytes(survey: Survey, messages: Sequence[Message]) -> int:
    """The bytes of one person's upload."""
    packed = max(-(-message.bits // 8) for message in messages)
    return HEADER_BYTES + sum(slots_of(survey, messages)) * (SEALED_BYTES + packed)


def slots_within(survey: Survey) -> float:
    """How many slots the upload may have, if a cell's number has two bytes; infinite if any."""
    if survey.upload_bytes is None:
        return math.inf
    return (survey.upload_bytes - HEADER_BYTES) // (SEALED_BYTES + 2)


def tail(plan: Plan, slots: Sequence[int]) -> float:
    """At most the chance that one person's reports of some pool exceed its slots.

    The largest over all answers. A device that finds more draws all noise again.
    """
    pairs = zip(pools(plan.messages), slots, strict=True)
    laws = [(_law([plan.messages[number] for number in pool]), places) for pool, places in pairs]
    return min(1.0, math.fsum(law.above(places) for law, places in laws))


class _Law(NamedTuple):
    """A law on whole numbers: chances of `first` and those after it. Below 1e-40 is left out."""

    first: int
    chances: np.ndarray

    def above(self, number: int) -> float:
        """P[X > number]."""
        return math.fsum(self.chances[max(0, number + 1 - self.first) :])

    def plus(self, other: _Law) -> _Law:
        """The law of the sum of independent numbers."""
        return _Law(self.first + other.first, np.convolve(self.chances, other.chances))


def _fewest(messages: Sequence[Message], wanted: float) -> int:
    """The fewest places whose tail is no more than wanted."""
    law = _law(messages)
    at_least = np.append(np.cumsum(law.chances[::-1])[::-1], 0.0)  # P[reports >= first + i]
    return law.first + int(np.argmax(at_least <= wanted)) - 1


def _law(messages: Sequence[Message]) -> _Law:
    """Of the number of reports of some messages together, for who chose as much as is allowed: the
    more bits are set, the more reports there are."""
    law = _Law(0, np.ones(1))
    for message in messages:
        if message.cells:  # the set bits that stay set, and the others that are flipped
            chosen, noise = message.crossing.most, message.noise
            law = law.plus(_binomial(chosen, noise.p))
            law = law.plus(_binomial(message.record_bits - chosen, noise.q))
        else:
            law = law.plus(_Law(message.copies, np.ones(1)))
    return law


def _binomial(trials: int, chance: float) -> _Law:
    """The binomial law; by Bernstein all but 1e-40 of it lies within `reach` of the mean."""
    from incrowd.accountant.numerics.laws import log_binomial  # scipy: slow to load, seldom used

    mean, variance = trials * chance, trials * chance * (1 - chance)
    reach = NEGLIGIBLE / 3 + math.sqrt((NEGLIGIBLE / 3) ** 2 + 2 * NEGLIGIBLE * variance)
    first, last = max(0, math.floor(mean - reach)), min(trials, math.ceil(mean + reach))
    logarithms = math.log1p(-chance), math.log(chance)
    return _Law(first, np.exp(log_binomial(trials, *logarithms, first, last)))
