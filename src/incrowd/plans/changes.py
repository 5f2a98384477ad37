"""The number of bits of each message that a change of one person's answers can affect.

Proof: docs/mathematics.md#parities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeGuard

from incrowd.plans.message import CellsMessage, Message

MOST = 24  # ways in which all messages together can differ; more are merged into fewer worse ones

Differences = tuple[int, ...]  # how many bits of each message of a family differ


class MessageFamily(NamedTuple):
    """Messages about the same answers, which cannot all differ as much as each of them can.

    Either the parities of some questions, then the single bits of these questions, least noise
    first; or one message of any kind.
    """

    messages: tuple[Message, ...]

    @property
    def alternating(self) -> bool:
        """Whether the number of changed answers decides which messages differ most."""
        return self.messages[0].parities

    def differences(self, times: int, most: int = MOST) -> list[Differences]:
        """Return how many bits of each message can differ: all tuples that no other exceeds.

        times: the number of rows and rounds, in each of which other answers can change. most: the
        most tuples; if there are more, one tuple replaces several and is at least as large as each.

        If the answers to D of K questions change, D (K - D) parities and D single bits change. For
        a total of S changed answers, most parities change if S is spread evenly. If fewer than half
        of the answers change, the parities are the same as if all the others did, and fewer single
        bits change.
        """
        if not self.alternating:
            return [(self.messages[0].repeats * times,)]
        tuples = dict.fromkeys(self._of_parities(times, most))
        return [one for one in tuples if not any(_exceeds(other, one) for other in tuples)]

    def _of_parities(self, times: int, most: int) -> Iterator[Differences]:
        """Yield tuples of which some may exceed others."""
        questions, bits = len(self.messages[0].ids), self.messages[1:]
        first, last = -(-questions * times // 2), questions * times
        step = -(-(last - first + 1) // most)
        for start in range(first, last + 1, step):
            each, more = divmod(start, times)
            pairs = (times - more) * each * (questions - each)
            pairs += more * (each + 1) * (questions - each - 1)
            changed = min(start + step - 1, last)
            full, rest = divmod(changed, times)
            singles = [times] * full + [rest] + [0] * len(bits)
            yield (pairs, *singles[: len(bits)])


def _exceeds(one: Differences, other: Differences) -> bool:
    """Return whether one tuple is at least as large as another in every place,
    and not equal to it."""
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def families(messages: Sequence[Message]) -> list[MessageFamily]:
    """Return all messages, each in one family. A single bit is in the family of the first parities
    of its question; of several bits of one question, the one with the least noise."""
    bits: dict[str, CellsMessage] = {}
    for message in messages:
        if _single_flip(message):
            question = message.ids[0]
            quietest = bits.setdefault(question, message)
            if message.flips.numerator < quietest.flips.numerator:
                bits[question] = message
    result: list[MessageFamily] = []
    for parities in (message for message in messages if message.parities):
        singles = [bits.pop(question) for question in parities.ids if question in bits]
        result.append(
            MessageFamily((parities, *sorted(singles, key=lambda each: each.flips.numerator)))
        )
    together = {id(message) for family in result for message in family.messages}
    return [*result, *(MessageFamily((each,)) for each in messages if id(each) not in together)]


def _single_flip(message: Message) -> TypeGuard[CellsMessage]:
    """Return whether a message is a single bit that the devices flip."""
    if not isinstance(message, CellsMessage) or message.parities or message.by_services:
        return False
    return message.record_bits == 1
