"""The bit flip: each bit is sent unchanged with probability p and reversed with probability q."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeGuard, TypeVar

import numpy as np

from incrowd.accountant.channels.base import (
    ROUNDING,
    Channel,
    ChannelMatrix,
    Coins,
    ExactIntegers,
    Makers,
    PackedBits,
    Range,
    rounded_down,
)
from incrowd.arguments import checked_class, presentable
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import PrivacyError

DENOMINATOR = 2**32
ProbabilityNumerator = int  # of a probability n / 2^32; each class checks it, and says what it is


@checked_class
@dataclass(frozen=True, order=True)
class BitFlip(Channel):
    """A channel that flips each bit with probability q = numerator / 2^32.

    Parameters
    ----------
    numerator : int
        Above 0 and below 2^31, so that 0 < q < 1/2. `at_least` takes a probability, and
        `from_epsilon` a local epsilon.

    Raises
    ------
    PrivacyError
        If the numerator is out of range.

    References
    ----------
    Warner (1965), with p = 1 - q.

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> round(flip.q, 4)  # 1 / (1 + e^2)
    0.1192
    >>> flip.epsilon <= 2.0
    True
    """

    numerator: ProbabilityNumerator

    kind = "bit flip"
    is_flip = True
    parameters: ClassVar = {"noise": Range(0, 0.5), "epsilon": Range(0)}

    @classmethod
    def makers(cls) -> Makers:
        """Return the constructors by the probability of a flip, and by the local epsilon."""
        return {("noise",): cls.at_least, ("epsilon",): cls.from_epsilon}

    def __post_init__(self) -> None:
        if type(self.numerator) is int and 0 < self.numerator < DENOMINATOR // 2:
            return
        hint: Sentence | str = ""
        if isinstance(self.numerator, float) and 0 < self.numerator < 0.5:
            hint = sentence("accountant.takes-probability", call=f"({self.numerator!r})")
        value = presentable(self.numerator)
        raise PrivacyError.of("numerator", "accountant.no-numerator", value=value, hint=hint)

    def __str__(self) -> str:
        """State q."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """The channel, with q rounded down."""
        return sentence("accountant.bit-flip", q=rounded_down(self.q))

    @property
    def sentence(self) -> Sentence:
        """A sentence on what happens to a bit; q is rounded down."""
        return sentence("accountant.flips-bits", q=rounded_down(self.q))

    def respond(self, packed: PackedBits, bits: int, coins: Coins) -> PackedBits:
        """Randomize records: each bit is flipped independently."""
        return packed ^ coins.flips(self.numerator, (len(packed), bits))

    @classmethod
    def at_least(cls, q: float) -> BitFlip:
        """Return the smallest noise n / 2^32 that is at least q: rounded toward more privacy.

        Parameters
        ----------
        q : float
            The probability of a flip.

        Raises
        ------
        PrivacyError
            Unless 0 < q < 1/2 after rounding.
        """
        if not 0 < q < 0.5:
            raise PrivacyError.of("noise", "accountant.between-0-and-half", value=q)
        return cls(math.ceil(q * DENOMINATOR))

    @classmethod
    def from_logit(cls, logit: float) -> BitFlip:
        """Return the smallest noise with ln(q/p) >= `logit`, within the possible range.

        Raises
        ------
        PrivacyError
            If `logit` is not a number.
        """
        if math.isnan(logit):
            raise PrivacyError.of("logit", "accountant.no-logit", value=logit)
        numerator = math.ceil(DENOMINATOR / (1 + math.exp(min(-logit, 700.0))))
        return cls(min(max(numerator, 1), DENOMINATOR // 2 - 1))

    @property
    def logit(self) -> float:
        """ln(q/p)."""
        return -math.log1p((self.p - self.q) / self.q)

    @classmethod
    def from_epsilon(cls, epsilon: float) -> BitFlip:
        """Return the smallest noise for which one bit is epsilon-differentially private by itself.

        q = 1 / (1 + e^epsilon): Sufficient DP, equation (4.2) with L = 1.

        Parameters
        ----------
        epsilon : float
            The local epsilon.

        Raises
        ------
        PrivacyError
            If epsilon is not positive, or so small that no noise below 1/2 reaches it.
        """
        if not epsilon > 0:
            raise PrivacyError.of("epsilon", "accountant.above-0", value=epsilon)
        first = math.ceil(DENOMINATOR / (1 + math.exp(min(epsilon, 700.0))))
        for numerator in range(first, DENOMINATOR // 2):
            if (channel := cls(numerator)).epsilon <= epsilon:
                return channel
        raise PrivacyError.of("epsilon", "accountant.small-epsilon", value=epsilon)

    @classmethod
    def from_excess(cls, excess: float) -> BitFlip:
        """Return the noise with phi - 1 = `excess`, rounded up, within the possible range.

        phi + 1 = 2 cosh(logit), so that phi - 1 = 4 sinh(logit / 2)^2.

        Raises
        ------
        PrivacyError
            If `excess` is not positive.
        """
        if not excess > 0:
            raise PrivacyError.of("excess", "accountant.above-0", value=excess)
        return cls.from_logit(-2 * math.asinh(math.sqrt(excess) / 2))

    @property
    def q(self) -> float:
        """The flip probability; exact in double precision."""
        return self.numerator / DENOMINATOR

    @property
    def p(self) -> float:
        """1 - q; exact in double precision."""
        return (DENOMINATOR - self.numerator) / DENOMINATOR

    @property
    def epsilon(self) -> float:
        """The local epsilon of one bit, ln(p/q), rounded up."""
        return math.log1p((self.p - self.q) / self.q) * (1 + ROUNDING)

    @property
    def losses(self) -> tuple[float, float]:
        """The log-likelihood ratios of a bit that is 1 against one that is 0, and reversed."""
        return self.epsilon, self.epsilon

    @property
    def phi(self) -> float:
        """phi = p/q + q/p - 1, Sufficient DP (3.14)."""
        return self.p / self.q + self.q / self.p - 1

    @property
    def excess(self) -> float:
        """phi - 1 = (p - q)^2 / (p q), accurate even if the noise is close to 1/2."""
        return (self.p - self.q) ** 2 / (self.p * self.q)

    @property
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times 2^32."""
        same = DENOMINATOR - self.numerator
        return np.array([[same, self.numerator], [self.numerator, same]], dtype=object)

    @property
    def denominator(self) -> int:
        """2^32."""
        return DENOMINATOR

    @property
    def matrix(self) -> ChannelMatrix:
        """The 2 x 2 column-stochastic matrix P(report r | answer x)."""
        return np.array([[self.p, self.q], [self.q, self.p]])

    @property
    def inverse(self) -> ChannelMatrix:
        """The inverse matrix: Vinterbo (2018), theorem 4.4. Much faster than the general method."""
        return np.array([[self.p, -self.q], [-self.q, self.p]]) / (self.p - self.q)


def is_flip(channel: Channel) -> TypeGuard[BitFlip]:
    """Return whether a channel is a `BitFlip`, for type checkers as well."""
    return channel.is_flip


# Probabilities as numerators over 2^32, and the search for the one that epsilon allows.


AnyChannel = TypeVar("AnyChannel", bound=Channel)


def check_numerator(field: str, numerator: int, low: int = 0, high: int = DENOMINATOR) -> None:
    """Raise PrivacyError unless `numerator` is an integer with low <= numerator <= high."""
    if type(numerator) is not int or not low <= numerator <= high:
        value = presentable(numerator)
        raise PrivacyError.of(
            field, "accountant.numerator-between", value=value, low=low, high=high
        )


def scaled(field: str, probability: float) -> float:
    """Return `probability` times 2^32, without rounding. Raises PrivacyError unless it is in [0,
    1]."""
    if not 0 <= probability <= 1:
        raise PrivacyError.of(field, "shared.from-0-to-1", value=probability)
    return probability * DENOMINATOR


def towards_half(numerator: float) -> int:
    """Return the numerator rounded to an integer in the direction of 1/2."""
    return math.floor(numerator) if numerator > DENOMINATOR // 2 else math.ceil(numerator)


def first_within(epsilon: float, channels: Iterable[AnyChannel]) -> AnyChannel:
    """Return the first channel whose local epsilon is positive and at most epsilon.

    Raises PrivacyError if epsilon is not positive, or if no channel qualifies.
    """
    if not epsilon > 0:
        raise PrivacyError.of("epsilon", "accountant.above-0", value=epsilon)
    for channel in channels:
        if 0 < channel.epsilon <= epsilon:
            return channel
    raise PrivacyError.of("epsilon", "accountant.no-information", value=epsilon)
