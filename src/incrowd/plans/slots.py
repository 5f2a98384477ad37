"""How many reports a person sends at most: the slots of an upload, and the tail above them.

Proof: docs/protocol.md, "Slots".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from incrowd.plans.message import Message
from incrowd.plans.plan import Plan
from incrowd.survey import Survey

TAIL = 1e-9  # of all the crowd together: the chance that anybody's reports exceed the slots
HEADER_BYTES = 50  # of an upload: the bundle's digest, the code, the stratum
SEALED_BYTES = 58  # of a slot, besides the packed report


def slots(plan: Plan) -> tuple[int, ...]:
    """Places for the reports of each message in an upload.

    As many as there are copies of a joint report. Of cells the number of reports is random: the
    fewest places whose tail t keeps crowd * t <= 1e-9, the sum over such messages.
    """
    return slots_of(plan.survey, plan.messages)


def slots_of(survey: Survey, messages: Sequence[Message]) -> tuple[int, ...]:
    """The same for messages that are no plan yet."""
    random = sum(message.cells for message in messages)
    wanted = TAIL / (survey.crowd * max(random, 1))
    return tuple(_places(message, wanted) for message in messages)


def upload_bytes(survey: Survey, messages: Sequence[Message]) -> int:
    """The bytes of one person's upload."""
    packed = max(-(-message.bits // 8) for message in messages)
    return HEADER_BYTES + sum(slots_of(survey, messages)) * (SEALED_BYTES + packed)


def slots_within(survey: Survey) -> float:
    """How many slots the upload may have, if a cell's number has two bytes; infinite if any."""
    if survey.upload_bytes is None:
        return math.inf
    return (survey.upload_bytes - HEADER_BYTES) // (SEALED_BYTES + 2)


def tail(plan: Plan, places: tuple[int, ...]) -> float:
    """At most the chance that one person's reports of some message exceed its places.

    The largest over all answers. A device that finds more draws all noise again.
    """
    each = (_tail(message, n) for message, n in zip(plan.messages, places, strict=True))
    return min(1.0, math.fsum(each))


def _places(message: Message, wanted: float) -> int:
    if not message.cells:
        return message.copies
    least, most = -1, message.record_bits  # above which nothing is sent
    return _first(lambda places: _tail(message, places) <= wanted, least, most)


def _first(holds: Callable[[int], bool], wrong: int, right: int) -> int:
    """The first whole number that holds, between one that does not and one that does."""
    while right - wrong > 1:
        middle = (wrong + right) // 2
        wrong, right = (wrong, middle) if holds(middle) else (middle, right)
    return right


def _tail(message: Message, places: int) -> float:
    """P[reports > places], for who chose as much as is allowed: more set bits, more reports.

    The set bits that stay set and the others that are flipped are two independent binomials.
    """
    if not message.cells:
        return 0.0 if places >= message.copies else 1.0
    from incrowd.numerics.binomial import at_least, log_binomial  # scipy: slow to load, seldom used

    chosen = message.crossing.most
    others = message.record_bits - chosen
    noise = message.noise
    stay = np.exp(log_binomial(chosen, math.log(noise.q), math.log(noise.p)))
    flipped = at_least(others, noise.q, places + 1 - np.arange(chosen + 1))
    return math.fsum(stay * flipped)
