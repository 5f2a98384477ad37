"""The bit channel: ones and zeros are reversed with different probabilities."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from incrowd.accountant.channels.base import (
    Channel,
    Coins,
    ExactIntegers,
    Makers,
    PackedBits,
    Range,
    rounded_down,
    rounded_up,
)
from incrowd.accountant.channels.bit_flip import (
    DENOMINATOR,
    BitFlip,
    ProbabilityNumerator,
    check_numerator,
    scaled,
)
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import Sentence, sentence


class BitDevice(Channel):
    """A randomizing device for one bit, defined by the bit channel that it is equivalent to."""

    @abstractmethod
    def as_bit(self) -> Bit:
        """Return the bit channel that this device is equivalent to."""

    def respond(self, packed: PackedBits, bits: int, coins: Coins) -> PackedBits:
        """Randomize records: zeros may be raised, and ones lowered."""
        channel, shape = self.as_bit(), (len(packed), bits)
        raised = coins.mask(channel.one_if_zero, shape)
        lowered = coins.mask(DENOMINATOR - channel.one_if_one, shape)
        reports: PackedBits = packed ^ (packed & lowered | ~packed & raised)
        return reports

    @property
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times 2^32, shape (2, 2)."""
        channel = self.as_bit()
        ones = [channel.one_if_zero, channel.one_if_one]
        return np.array([[DENOMINATOR - one for one in ones], ones], dtype=object)

    @property
    def denominator(self) -> int:
        """2^32."""
        return DENOMINATOR

    @property
    def stages(self) -> tuple[Channel, ...]:
        """The bit channel itself."""
        return (self.as_bit(),)

    @property
    def simplest(self) -> Channel:
        """A bit flip, if ones and zeros are reversed with the same probability below 1/2."""
        bit = self.as_bit()
        flips = bit.symmetric and 0 < bit.one_if_zero < DENOMINATOR // 2
        return BitFlip(bit.one_if_zero) if flips else self


@checked_class
@dataclass(frozen=True)
class Bit(BitDevice):
    """A channel that reports a bit as 1 with a probability that depends on the bit.

    Parameters
    ----------
    one_if_zero, one_if_one : int
        The probabilities that a 0 and a 1 are reported as 1: numerators over 2^32, from 0 to 2^32.

    Raises
    ------
    PrivacyError
        If a numerator is out of range.

    References
    ----------
    Vinterbo (2018), section 3.2 with n = 1.

    Examples
    --------
    >>> from incrowd import accountant
    >>> bit = accountant.Bit.from_probabilities(0.25, 0.75)
    >>> bit.one_if_zero == 2**30
    True
    >>> bit.symmetric
    True
    """

    one_if_zero: ProbabilityNumerator
    one_if_one: ProbabilityNumerator

    kind = "bit"
    parameters: ClassVar = {"one_if_zero": Range(0, 1, True), "one_if_one": Range(0, 1, True)}

    @classmethod
    def makers(cls) -> Makers:
        """Return the constructor by the probabilities that a 0 and a 1 are sent as 1."""
        return {("one_if_zero", "one_if_one"): cls.from_probabilities}

    def __post_init__(self) -> None:
        check_numerator("one_if_zero", self.one_if_zero)
        check_numerator("one_if_one", self.one_if_one)

    def __str__(self) -> str:
        """State the probabilities."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """The probabilities; the smaller one is rounded down, the larger one up."""
        zero, one = self.matrix[1]
        low = rounded_down(min(zero, one))
        high = low if zero == one else rounded_up(max(zero, one))
        zero_text, one_text = (low, high) if zero <= one else (high, low)
        return sentence("accountant.bit", zero=zero_text, one=one_text)

    @classmethod
    def from_probabilities(cls, one_if_zero: float, one_if_one: float) -> Bit:
        """Return the channel with two probabilities, each rounded toward the other: more privacy.

        Probabilities that differ by less than 2^-32 become equal, and reports then reveal nothing.

        Parameters
        ----------
        one_if_zero, one_if_one : float
            The probabilities that a 0 and a 1 are reported as 1.

        Raises
        ------
        PrivacyError
            Unless both are between 0 and 1.
        """
        zero = scaled("one_if_zero", one_if_zero)
        one = scaled("one_if_one", one_if_one)
        low, high = math.ceil(min(zero, one)), math.floor(max(zero, one))
        low = min(low, high)
        return cls(low, high) if zero <= one else cls(high, low)

    @classmethod
    def from_flip(cls, flip: BitFlip) -> Bit:
        """Return the symmetric channel of a bit flip, without rounding."""
        return cls(flip.numerator, DENOMINATOR - flip.numerator)

    @property
    def symmetric(self) -> bool:
        """Whether ones and zeros are reversed with the same probability."""
        return self.one_if_zero + self.one_if_one == DENOMINATOR

    def as_bit(self) -> Bit:
        """Return the channel itself."""
        return self


def as_bit(channel: Channel) -> Bit | None:
    """Return the equivalent bit channel with denominator 2^32, or None."""
    if channel.of_answers or channel.denominator != DENOMINATOR:
        return None
    return Bit(*map(int, channel.numerators[1]))
