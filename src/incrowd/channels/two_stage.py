"""Two channels in sequence: what the first reports is the answer of the second."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from incrowd.channels.base import Channel, Coins, Integers, Matrix, Packed
from incrowd.errors import InWords, PrivacyError


class Staged(Channel):
    """Channels in sequence: the matrix product of the stages, without rounding."""

    @property
    @abstractmethod
    def stages(self) -> tuple[Channel, ...]:
        """The channels a report goes through, one after the other."""

    def respond(self, packed: Packed, bits: int, coins: Coins) -> Packed:
        """Reports from records, stage by stage."""
        for stage in self.stages:
            packed = stage.respond(packed, bits, coins)
        return packed

    @property
    def numerators(self) -> Integers:
        """P(report r | answer x) times `denominator`: the last stage times those before it."""
        last_first = [stage.numerators for stage in reversed(self.stages)]
        return np.asarray(reduce(np.matmul, last_first))

    @property
    def denominator(self) -> int:
        """The product of the stages' denominators."""
        return prod(stage.denominator for stage in self.stages)


@dataclass(frozen=True)
class TwoStage(Staged):
    """The matrix product of two channels, second times first; Vinterbo, section 5.3.

    Raises PrivacyError unless the first reports as many options as the second takes.
    """

    first: Channel
    second: Channel

    def __post_init__(self) -> None:
        reported, taken = len(self.first.numerators), self.second.numerators.shape[1]
        if reported != taken:
            allowed = f"it takes {taken} options; should take the {reported} that the first reports"
            raise PrivacyError.of("second stage", InWords(self.second), allowed)

    def __str__(self) -> str:
        """In words, stage by stage."""
        return f"{self.first}, then {self.second}"

    @property
    def stages(self) -> tuple[Channel, ...]:
        """The stages of the first, then those of the second."""
        return self.first.stages + self.second.stages

    @property
    def inverse(self) -> Matrix:
        """The stages undone in reverse. Raises PrivacyError if one of them cannot be."""
        inverse: Matrix = self.first.inverse @ self.second.inverse
        return inverse
