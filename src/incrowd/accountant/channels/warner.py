"""Warner's spinner: it selects which of two opposite statements a person confirms or denies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.accountant.channels.base import Makers, Range, rounded_down, rounded_up
from incrowd.accountant.channels.bit import Bit, BitDevice
from incrowd.accountant.channels.bit_flip import (
    DENOMINATOR,
    BitFlip,
    ProbabilityNumerator,
    check_numerator,
    scaled,
    towards_half,
)
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import Sentence, sentence


@checked_class
@dataclass(frozen=True)
class Warner(BitDevice):
    """A spinner that selects which of two opposite statements a person confirms or denies.

    Parameters
    ----------
    numerator : int
        The probability a of the sensitive statement is numerator / 2^32, strictly between 0 and 1.
        Below 1/2 most reports are reversed, which estimates take into account.

    Raises
    ------
    PrivacyError
        If the numerator is out of range.

    Notes
    -----
    It is equivalent to a symmetric bit channel with p = a: Vinterbo (2018), section 5.2.

    References
    ----------
    Warner (1965).

    Examples
    --------
    >>> from incrowd import accountant
    >>> spinner = accountant.Warner.from_probability(0.75)
    >>> spinner.simplest == accountant.BitFlip.at_least(0.25)
    True
    """

    numerator: ProbabilityNumerator

    kind = "warner"
    parameters: ClassVar = {"spinner": Range(0, 1), "epsilon": Range(0)}

    @classmethod
    def makers(cls) -> Makers:
        """Return the constructors by the probability of the sensitive statement, and by epsilon."""
        return {("spinner",): cls.from_probability, ("epsilon",): cls.from_epsilon}

    def __post_init__(self) -> None:
        check_numerator("spinner", self.numerator, 1, DENOMINATOR - 1)

    def __str__(self) -> str:
        """State the probability."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """The device, with the probability rounded away from 1/2."""
        shown = rounded_up(self.a) if self.a > 0.5 else rounded_down(self.a)
        return sentence("accountant.spinner", a=shown)

    @classmethod
    def from_probability(cls, a: float) -> Warner:
        """Return the spinner with probability a, rounded toward 1/2: more privacy.

        Raises
        ------
        PrivacyError
            Unless 0 < a < 1.
        """
        return cls(towards_half(scaled("spinner", a)))

    @classmethod
    def from_epsilon(cls, epsilon: float) -> Warner:
        """Return the spinner with the largest a for which one report is epsilon-private.

        a = e^epsilon / (1 + e^epsilon): Vinterbo (2018), section 4.3.

        Raises
        ------
        PrivacyError
            If epsilon is not positive, or so small that only a = 1/2 is left.
        """
        return cls(DENOMINATOR - BitFlip.from_epsilon(epsilon).numerator)

    @property
    def a(self) -> float:
        """The probability of the sensitive statement; exact in double precision."""
        return self.numerator / DENOMINATOR

    def as_bit(self) -> Bit:
        """Return the bit channel P(1 | 0) = 1 - a, P(1 | 1) = a."""
        return Bit(DENOMINATOR - self.numerator, self.numerator)
