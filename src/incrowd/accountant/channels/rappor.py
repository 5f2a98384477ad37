"""RAPPOR: a permanent response that is memoized, and an instantaneous one for each report."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import ClassVar

import numpy as np

from incrowd.accountant.channels.base import (
    Channel,
    ChannelMatrix,
    Coins,
    ExactIntegers,
    Makers,
    PackedBits,
    Range,
)
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import PrivacyError


class Staged(Channel):
    """Channels in sequence, each applied to the report of the previous one.

    The matrix is the product of the matrices of the stages, without rounding.
    """

    @property
    @abstractmethod
    def stages(self) -> tuple[Channel, ...]:
        """The channels that are applied one after the other."""

    def respond(self, packed: PackedBits, bits: int, coins: Coins) -> PackedBits:
        """Randomize records, stage by stage."""
        for stage in self.stages:
            packed = stage.respond(packed, bits, coins)
        return packed

    @property
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times `denominator`: the product of the stages, last one first."""
        last_first = [stage.numerators for stage in reversed(self.stages)]
        return np.asarray(reduce(np.matmul, last_first))

    @property
    def denominator(self) -> int:
        """The product of the stages' denominators."""
        return prod(stage.denominator for stage in self.stages)


@checked_class
@dataclass(frozen=True)
class TwoStage(Staged):
    """Two channels in sequence.

    Parameters
    ----------
    first, second : Channel
        The second channel is applied to the report of the first.

    Raises
    ------
    PrivacyError
        Unless the first channel reports as many options as the second takes.

    Notes
    -----
    The matrix is the product of both matrices, second times first: Vinterbo (2018), section 5.3.

    Examples
    --------
    >>> from incrowd import accountant
    >>> once = accountant.BitFlip.at_least(0.25)
    >>> accountant.TwoStage(once, once).matrix  # 0.75^2 + 0.25^2 = 0.625
    array([[0.625, 0.375],
           [0.375, 0.625]])
    """

    first: Channel
    second: Channel

    def __post_init__(self) -> None:
        reported, taken = len(self.first.numerators), self.second.numerators.shape[1]
        if reported != taken:
            raise PrivacyError.of(
                "second stage",
                "accountant.second-stage",
                channel=self.second.description,
                taken=taken,
                reported=reported,
            )

    def __str__(self) -> str:
        """State both stages."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """Both stages."""
        first, second = self.first.description, self.second.description
        return sentence("accountant.stages", first=first, second=second)

    @property
    def stages(self) -> tuple[Channel, ...]:
        """The stages of the first channel, then those of the second."""
        return self.first.stages + self.second.stages

    @property
    def inverse(self) -> ChannelMatrix:
        """The product of the inverses.

        Raises
        ------
        PrivacyError
            If a channel cannot be inverted.
        """
        inverse: ChannelMatrix = self.first.inverse @ self.second.inverse
        return inverse


@checked_class
@dataclass(frozen=True)
class Rappor(Staged):
    """A channel for one bit of RAPPOR: a permanent response, and a new one for each report.

    Parameters
    ----------
    permanent : BitFlip
        The stage with q = f / 2, which is drawn once for each device and answer.
    instantaneous : Bit or None
        The stage that is drawn for each report; None for one-time RAPPOR.

    References
    ----------
    Erlingsson, Pihur, and Korolova (2014); Vinterbo (2018), section 5.3.

    Examples
    --------
    >>> from incrowd import accountant
    >>> rappor = accountant.Rappor.from_probabilities(f=0.5, p_ir=0.5, q_ir=0.75)
    >>> rappor.permanent_stage.q
    0.25
    >>> rappor.epsilon < rappor.permanent_epsilon  # one report, and all reports together
    True
    """

    permanent: BitFlip
    instantaneous: Bit | None = None

    kind = "rappor"
    parameters: ClassVar = {"f": Range(0, 1), "epsilon": Range(0), **Bit.parameters}
    remembers = True

    @classmethod
    def makers(cls) -> Makers:
        """Return the constructors by f or epsilon, each with and without an instantaneous stage."""

        def both(epsilon: float, one_if_zero: float, one_if_one: float) -> Rappor:
            return cls.from_epsilon(epsilon, Bit.from_probabilities(one_if_zero, one_if_one))

        again = ("one_if_zero", "one_if_one")
        return {
            ("f",): cls.one_time,
            ("epsilon",): cls.from_epsilon,
            ("f", *again): cls.from_probabilities,
            ("epsilon", *again): both,
        }

    def __str__(self) -> str:
        """State each stage."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """Each stage."""
        permanent = self.permanent.description
        if self.instantaneous is None:
            return sentence("accountant.permanent", permanent=permanent)
        again = self.instantaneous.description
        return sentence("accountant.permanent-and-again", permanent=permanent, again=again)

    @classmethod
    def one_time(cls, f: float) -> Rappor:
        """Return the permanent response alone, q = f / 2 rounded up: more privacy.

        Parameters
        ----------
        f : float
            Twice the probability of a flip.

        Raises
        ------
        PrivacyError
            Unless 0 < f < 1.
        """
        if not 0 < f < 1:
            raise PrivacyError.of("f", "shared.between-0-and-1", value=f)
        return cls(BitFlip.at_least(f / 2))

    @classmethod
    def from_probabilities(cls, f: float, p_ir: float, q_ir: float) -> Rappor:
        """Return both stages, rounded toward more privacy.

        Parameters
        ----------
        f : float
            Twice the flip probability of the permanent stage, rounded up.
        p_ir, q_ir : float
            The probabilities that a permanent 0 and a permanent 1 are reported as 1, each rounded
            toward the other.

        Raises
        ------
        PrivacyError
            Unless 0 < f < 1, and the others are between 0 and 1.
        """
        return cls(cls.one_time(f).permanent, Bit.from_probabilities(p_ir, q_ir))

    @classmethod
    def from_epsilon(cls, epsilon: float, instantaneous: Bit | None = None) -> Rappor:
        """Return the smallest f for which all reports of one bit together are epsilon-private.

        Parameters
        ----------
        epsilon : float
            The local epsilon of all reports of one bit; it depends on the permanent stage only.
        instantaneous : Bit or None
            The stage of each report, if any.

        Raises
        ------
        PrivacyError
            As `BitFlip.from_epsilon` does.
        """
        return cls(BitFlip.from_epsilon(epsilon), instantaneous)

    @property
    def stages(self) -> tuple[Channel, ...]:
        """The permanent stage, then the instantaneous one, if any."""
        remembered = Bit.from_flip(self.permanent)
        return (remembered, self.instantaneous) if self.instantaneous else (remembered,)

    @property
    def symmetric(self) -> bool:
        """Whether the channel of a report is symmetric: one-time mode, or p_ir = 1 - q_ir."""
        return self.instantaneous is None or self.instantaneous.symmetric

    @property
    def permanent_stage(self) -> BitFlip:
        """The permanent response, the noise that protects any number of rounds.

        Reports of all rounds come from the same permanent bits, so together they reveal at most
        what one collection of the permanent bits would. Never compose the guarantee of one round.
        """
        return self.permanent

    @property
    def sentence(self) -> Sentence:
        """A sentence on what happens to a bit, once and then in each report."""
        if self.instantaneous is None:
            return self.permanent.sentence
        stages = self.permanent.sentence, self.instantaneous.sentence
        return sentence("accountant.in-each-report", first=stages[0], second=stages[1])

    @property
    def simplest(self) -> Channel:
        """The permanent bit flip, if there is no other stage."""
        return self if self.instantaneous else self.permanent

    @property
    def permanent_epsilon(self) -> float:
        """The local epsilon of all reports of one bit together, rounded up."""
        return self.permanent.epsilon
