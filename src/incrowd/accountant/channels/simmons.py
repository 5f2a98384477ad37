"""Simmons' unrelated question: with some probability, another question is answered instead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from incrowd.accountant.channels.base import Makers, Range, rounded_down
from incrowd.accountant.channels.bit import Bit, BitDevice
from incrowd.accountant.channels.bit_flip import (
    DENOMINATOR,
    ProbabilityNumerator,
    check_numerator,
    first_within,
    scaled,
    towards_half,
)
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import Sentence, sentence

COIN = DENOMINATOR // 2


@checked_class
@dataclass(frozen=True)
class Simmons(BitDevice):
    """A device that asks an unrelated question instead, with some probability.

    Parameters
    ----------
    unrelated : int
        The probability f of the unrelated question: a numerator over 2^32.
    prevalence : int
        The probability that its answer is 1: a numerator over 2^32. The default is a fair coin,
        which gives a bit flip with q = f / 2; otherwise the channel is not symmetric.

    Raises
    ------
    PrivacyError
        Unless both numerators are above 0 and below 2^32.

    References
    ----------
    Greenberg, Abul-Ela, Simmons, and Horvitz (1969); Vinterbo (2018), section 5.1.

    Examples
    --------
    >>> from incrowd import accountant
    >>> device = accountant.Simmons.from_probabilities(f=0.5)
    >>> device.matrix
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    unrelated: ProbabilityNumerator
    prevalence: ProbabilityNumerator = COIN

    kind = "simmons"
    parameters: ClassVar = {
        "unrelated": Range(0, 1),
        "prevalence": Range(0, 1),
        "epsilon": Range(0),
    }

    @classmethod
    def makers(cls) -> Makers:
        """Return the constructors by the two probabilities, and by epsilon."""
        return {
            ("unrelated",): cls.from_probabilities,
            ("unrelated", "prevalence"): cls.from_probabilities,
            ("epsilon",): cls.from_epsilon,
        }

    def __post_init__(self) -> None:
        check_numerator("unrelated", self.unrelated, 1, DENOMINATOR - 1)
        check_numerator("prevalence", self.prevalence, 1, DENOMINATOR - 1)

    def __str__(self) -> str:
        """State the probabilities."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """The device, with f rounded down."""
        f = rounded_down(self.f)
        if self.prevalence == COIN:
            return sentence("accountant.unrelated-question", f=f)
        yes = self.prevalence / DENOMINATOR
        return sentence("accountant.unrelated-question-with-prevalence", f=f, yes=yes)

    @classmethod
    def from_probabilities(cls, f: float, prevalence: float = 0.5) -> Simmons:
        """Return the device with these probabilities, rounded toward more privacy.

        Parameters
        ----------
        f : float
            The probability of the unrelated question, rounded up.
        prevalence : float
            The probability that its answer is 1, rounded toward 1/2.

        Raises
        ------
        PrivacyError
            Unless both are strictly between 0 and 1.
        """
        unrelated = math.ceil(scaled("unrelated", f))
        return cls(unrelated, towards_half(scaled("prevalence", prevalence)))

    @classmethod
    def from_epsilon(cls, epsilon: float, prevalence: float = 0.5) -> Simmons:
        """Return the smallest f, up to rounding, for which one report is epsilon-private.

        f = 1 / (1 + m (e^epsilon - 1)), where m is the smaller one of the prevalence and its
        complement: Vinterbo (2018), section 4.3, for a fair coin.

        Parameters
        ----------
        epsilon : float
            The local epsilon of a report.
        prevalence : float
            The probability that the answer to the unrelated question is 1.

        Raises
        ------
        PrivacyError
            If no f < 1 is enough.
        """
        yes = towards_half(scaled("prevalence", prevalence))
        check_numerator("prevalence", yes, 1, DENOMINATOR - 1)
        rarer = min(yes, DENOMINATOR - yes) / DENOMINATOR
        f = 1 / (1 + rarer * math.expm1(min(max(0.0, epsilon), 700.0)))
        unrelated = range(math.ceil(f * DENOMINATOR), DENOMINATOR)
        return first_within(epsilon, (cls(numerator, yes) for numerator in unrelated))

    @property
    def f(self) -> float:
        """The probability of the unrelated question; exact in double precision."""
        return self.unrelated / DENOMINATOR

    def as_bit(self) -> Bit:
        """Return the bit channel P(1 | 0) = f r and P(1 | 1) = 1 - f + f r, r being the prevalence.

        Fractions of 2^-32 are rounded so that the two probabilities become closer: more privacy.
        """
        product = self.unrelated * self.prevalence
        low = -(-product // DENOMINATOR)
        high = DENOMINATOR - self.unrelated + product // DENOMINATOR
        return Bit(low, high)
