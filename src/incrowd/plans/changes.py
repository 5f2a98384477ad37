"""In how many bits of each message what one person sends can differ, counted for all together.

Proof: docs/mathematics.md#parities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from incrowd.plans.message import Cells, Message

MOST = 24  # ways in which all messages together can differ; more are counted as fewer worse ones


class Family(NamedTuple):
    """Messages in which the same answers show, so that not all can differ as much as each can.

    The parities of some questions, then the single bits of these questions, least noise first; or
    one message of any kind.
    """

    messages: tuple[Message, ...]

    @property
    def alternating(self) -> bool:
        """Whether it depends on how many answers change which of its messages differ most."""
        return self.messages[0].parities

    def differences(self, times: int, most: int = MOST) -> Iterator[tuple[int, ...]]:
        """How many bits of each message can differ: all tuples that no other exceeds.

        times: of how many rows and rounds, in each of which other answers can change. most: tuples;
        where there are more, one stands for several, and is no less than any of them.

        Of K questions D that change are D (K - D) parities and D single bits. If S change in
        all, the parities are most if S is spread evenly. Fewer than half are as many parities as
        the others would be, and fewer single bits.
        """
        if not self.alternating:
            yield (self.messages[0].repeats * times,)
            return
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


def families(messages: Sequence[Message]) -> list[Family]:
    """All messages, each in one family: a single bit in that of the first parities of its question,
    where several tell the same question the one with the least noise."""
    bits: dict[str, Cells] = {}
    for message in messages:
        if message.cells and not message.parities and message.record_bits == 1:
            question = message.ids[0]
            known = bits.setdefault(question, message)
            if message.noise_numerator < known.noise_numerator:
                bits[question] = message
    found: list[Family] = []
    for parities in (message for message in messages if message.parities):
        own = [bits.pop(question) for question in parities.ids if question in bits]
        found.append(Family((parities, *sorted(own, key=lambda each: each.noise_numerator))))
    together = {id(message) for family in found for message in family.messages}
    return [*found, *(Family((each,)) for each in messages if id(each) not in together)]
