"""A channel for the answers of a secret sample of people: Poisson sampling before a channel.

Proof: docs/mathematics.md#hidden-samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from incrowd.accountant.channels.answers import AnswerChannel, takes_answers
from incrowd.accountant.channels.base import Channel, ChannelMatrix, ExactIntegers, rounded_up
from incrowd.accountant.channels.bit_flip import (
    DENOMINATOR,
    ProbabilityNumerator,
    check_numerator,
    scaled,
)
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import PrivacyError


@checked_class
@dataclass(frozen=True)
class HiddenSample(AnswerChannel):
    """A channel behind a secret coin, which decides whether a person takes part.

    Everyone tosses her own coin, anew for each report, and nobody else learns how it fell.
    With probability `rate` she takes part, and her answer passes the channel. Otherwise she sends
    nothing, or a report on a fixed answer. How many people there are is public; who takes part is
    not. Neighbors differ in one person's answer.

    Parameters
    ----------
    channel : Channel
        What the answers of those who take part pass: a channel of one bit, or of whole answers,
        without a permanent stage.
    numerator : int
        The rate is numerator / 2^32. `of` takes a probability.
    blank : int, optional
        The answer that all others report on, from 0. By default they send nothing, so the number
        of reports is visible.

    Raises
    ------
    PrivacyError
        If the numerator or the blank answer is out of range, or the channel is of another kind.

    Notes
    -----
    If reports are linked to people, whether a person sent something shows whether she took part. So
    without a blank answer, `local` has rate times the delta of the channel, at the same epsilon.
    The sample has to be drawn anew for every report: if one coin decides about several of them,
    their curves must not be composed.

    References
    ----------
    docs/mathematics.md#hidden-samples; Balle, Barthe, and Gaboardi (2018).

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> sample = accountant.HiddenSample.of(flip, 0.1, participation="hidden")
    >>> tenth = accountant.smallest_epsilon("shuffle", sample, 10_000, 1e-6)
    >>> tenth < accountant.smallest_epsilon("shuffle", flip, 10_000, 1e-6)
    True
    >>> blank = accountant.HiddenSample.of(flip, 0.1, participation="hidden", blank=0)
    >>> round(blank.epsilon, 3)  # ln(1 + 0.1 (e^2 - 1))
    0.494
    """

    channel: Channel
    numerator: ProbabilityNumerator
    blank: int | None = None

    alone = True

    def __post_init__(self) -> None:
        check_numerator("rate", self.numerator, 1, DENOMINATOR - 1)
        channel = self.channel
        answers = channel.options if takes_answers(channel) else 2
        if channel.numerators.shape != (answers, answers) or channel.remembers:
            name = channel.description
            raise PrivacyError.of("channel", "accountant.unsupported-channel", channel=name)
        if self.blank is not None and not 0 <= self.blank < answers:
            raise PrivacyError.of("blank", "accountant.from-0", value=self.blank, most=answers - 1)

    @classmethod
    def of(
        cls,
        channel: Channel,
        rate: float,
        *,
        participation: str,
        blank: int | None = None,
    ) -> HiddenSample:
        """Return a channel behind a secret coin; the rate is rounded up, so that delta only rises.

        Parameters
        ----------
        channel : Channel
            What the answers of those who take part pass.
        rate : float
            The probability that a person takes part. A guarantee also holds for lower rates.
        participation : {"hidden", "public"}
            Who learns whether a person takes part: only "hidden", nobody, has a guarantee that is
            better than that of the channel.
        blank : int, optional
            The answer that people who do not take part report on; by default they send nothing.

        Raises
        ------
        PrivacyError
            If participation is public, or a value is out of range.
        """
        if participation != "hidden":
            raise PrivacyError.of(
                "participation", "accountant.public-participation", value=participation
            )
        numerator = math.ceil(scaled("rate", rate))
        if not 0 < rate < 1:
            raise PrivacyError.of("rate", "shared.between-0-and-1", value=rate)
        return cls(channel, numerator, blank)

    def __str__(self) -> str:
        """State the channel and the rate."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """The channel and the rate, rounded up."""
        rate = rounded_up(self.rate)
        return sentence("accountant.hidden-sample", channel=self.channel.description, rate=rate)

    @property
    def rate(self) -> float:
        """The probability that a person takes part; exact in double precision."""
        return self.numerator / DENOMINATOR

    @property
    def options(self) -> int:  # type: ignore[override]
        """The number of answers."""
        return len(self.channel.numerators)

    @cached_property
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times `denominator`; without a blank answer, a last row for
        sending nothing."""
        sent = self.channel.numerators.astype(object) * self.numerator
        rest, denominator = DENOMINATOR - self.numerator, self.channel.denominator
        if self.blank is None:
            nothing = np.full((1, self.options), rest * denominator, dtype=object)
            return np.vstack([sent, nothing])
        return np.asarray(sent + rest * self.channel.numerators[:, [self.blank]].astype(object))

    @property
    def denominator(self) -> int:
        """That of the channel times 2^32."""
        return self.channel.denominator * DENOMINATOR

    @property
    def set_rates(self) -> ChannelMatrix:
        """The probability that a bit of the report is set, for each possible answer."""
        return self.matrix[: self.options]

    @cached_property
    def inverse(self) -> ChannelMatrix:
        """A matrix that gives unbiased estimates from the shares of all reports; that of sending
        nothing is the last one."""
        if self.blank is not None:
            return super().inverse
        nothing = np.zeros((self.options, 1))
        return np.hstack([self.channel.inverse / self.rate, nothing])
