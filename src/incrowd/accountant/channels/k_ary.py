"""k-ary response: the answer itself, or each of the other options with equal probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from incrowd.accountant.channels.answers import AnswerChannel, AnswerNumbers, Laws
from incrowd.accountant.channels.base import (
    ROUNDING,
    AnswerCodes,
    ChannelMatrix,
    Coins,
    ExactIntegers,
    Makers,
    Range,
    rounded_down,
    rounded_up,
)
from incrowd.accountant.channels.bit_flip import (
    DENOMINATOR,
    ProbabilityNumerator,
    check_numerator,
    first_within,
    scaled,
)
from incrowd.arguments import checked_class, presentable
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import PrivacyError

MOST_OPTIONS = 2**31  # so that the denominator is below 2^63


@checked_class
@dataclass(frozen=True)
class KAry(AnswerChannel):
    """A channel that keeps one of several answers, or sends any other one with equal probability.

    Parameters
    ----------
    keep : int
        The probability that the answer itself is sent: a numerator over 2^32. `from_probabilities`
        takes a probability, and `from_epsilon` a local epsilon.
    options : int
        The number of answers.

    Raises
    ------
    PrivacyError
        Unless options >= 2 and 1 / options <= keep / 2^32 < 1.

    References
    ----------
    Kairouz, Oh, and Viswanath (2014).

    Examples
    --------
    >>> from incrowd import accountant
    >>> channel = accountant.KAry.from_probabilities(0.5, 3)
    >>> channel.matrix
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """

    keep: ProbabilityNumerator
    options: int

    kind = "k-ary"
    parameters: ClassVar = {"keep": Range(0, 1), "epsilon": Range(0)}

    @classmethod
    def makers(cls) -> Makers:
        """Return the constructors by the probability of the answer itself, and by epsilon."""
        return {("keep",): cls.from_probabilities, ("epsilon",): cls.from_epsilon}

    def __post_init__(self) -> None:
        _check_options(self.options)
        check_numerator("keep", self.keep, _least(self.options), DENOMINATOR - 1)

    def __str__(self) -> str:
        """State the probability that the answer itself is sent."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """The channel, with the probability that the answer itself is sent, rounded up."""
        sent = rounded_up(self.keep / DENOMINATOR)
        return sentence("accountant.k-ary", options=self.options, keep=sent)

    @classmethod
    def from_probabilities(cls, keep: float, options: int) -> KAry:
        """Return the channel that keeps an answer with a probability, rounded down: more privacy.

        Parameters
        ----------
        keep : float
            The probability that the answer itself is sent.
        options : int
            The number of answers.

        Raises
        ------
        PrivacyError
            Unless 1 / options <= keep < 1 after rounding.
        """
        _check_options(options)
        numerator = math.floor(scaled("keep", keep))
        if not _least(options) <= numerator < DENOMINATOR:
            raise PrivacyError.of("keep", "accountant.no-keep", value=keep, options=options)
        return cls(numerator, options)

    @classmethod
    def from_epsilon(cls, epsilon: float, options: int) -> KAry:
        """Return the channel that keeps answers most often, if a report has a local epsilon.

        keep = e^epsilon / (e^epsilon + options - 1): Kairouz, Oh, and Viswanath (2014).

        Parameters
        ----------
        epsilon : float
            The local epsilon of a report.
        options : int
            The number of answers.

        Raises
        ------
        PrivacyError
            If epsilon is not positive, or so small that no multiple of 2^-32 reaches it.
        """
        _check_options(options)
        wanted = DENOMINATOR / (1 + (options - 1) * math.exp(-max(0.0, epsilon)))
        # Start one above the result of the formula, so that rounding cannot miss the largest.
        most = min(math.floor(wanted) + 1, DENOMINATOR - 1)
        keeps = range(most, _least(options) - 1, -1)
        return first_within(epsilon, (cls(keep, options) for keep in keeps))

    @property
    def weights(self) -> tuple[int, int]:
        """P(the answer itself) and P(a given other option), times the denominator.

        Computed without the matrix, which is large if there are many options.
        """
        return self.keep * (self.options - 1), DENOMINATOR - self.keep

    @property
    def pairs(self) -> tuple[AnswerNumbers, ...]:
        """One pair of options: all pairs are equivalent."""
        return ((0, 1),)

    @property
    def equal_or_not(self) -> tuple[AnswerNumbers, ...]:
        """The pair of two different answers: they reveal the most.

        Proof: docs/mathematics.md#the-worst-pairs.
        """
        return self.pairs

    @property
    def threes(self) -> tuple[AnswerNumbers, ...]:
        """One triple for each way in which answers can be equal; nothing else matters."""
        named = ((1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 2, 0))
        return named if self.options > 2 else named[:3]

    def laws(self, answers: AnswerNumbers) -> Laws:
        """Return a row for each report that equals one of the answers, and one for all others.

        Parameters
        ----------
        answers : tuple of int
            Numbers of answers, from 0; some may be equal.
        """
        same, other = self.weights
        named = min(self.options, len(answers))
        ways = np.array([*[1] * named, self.options - named][: self.options], np.int64)
        reports = range(len(ways))
        rows = [[same if report == answer else other for answer in answers] for report in reports]
        return Laws(np.array(rows, object), np.array([other] * len(ways), object), ways)

    @property
    def losses(self) -> tuple[float, float]:
        """The log-likelihood ratio of two answers, and 0: nothing else is revealed."""
        same, other = self.weights
        return math.log1p((same - other) / other), 0.0

    @property
    def log_ratios(self) -> list[float]:
        """The largest log-likelihood ratio, which is that of every report, rounded up."""
        return [self.losses[0] * (1 + ROUNDING)]

    @property
    def log_phis(self) -> tuple[float, float]:
        """ln E[P(s|x) / P(s|x')] of two answers, and 0."""
        same, other = self.weights
        excess = (same - other) ** 2 * (same + other) / (same * other * self.denominator)
        return math.log1p(excess), 0.0

    @property
    def sentence(self) -> Sentence:
        """A sentence on what happens to an answer."""
        same, other = (float(chance) for chance in self.matrix[0, :2])
        sent, others = rounded_up(same), rounded_down(other)
        return sentence("accountant.keeps-answer", sent=sent, others=others)

    def chosen(self, answers: AnswerCodes, coins: Coins) -> AnswerCodes:
        """Return the answer, or move 1 to options - 1 places from it, all equally likely.

        Raises AnswersError if a number is out of range.
        """
        self.check_answers(answers)
        stays = coins.heads(self.keep, answers.size).reshape(answers.shape)
        steps = 1 + coins.below(self.options - 1, answers.size).reshape(answers.shape)
        return np.where(stays, answers, (answers + steps) % self.options)

    @property
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times `denominator`, shape (options, options)."""
        same, other = self.weights
        result = np.full((self.options, self.options), other, dtype=object)
        np.fill_diagonal(result, same)
        return result

    @property
    def denominator(self) -> int:
        """2^32 (options - 1)."""
        return DENOMINATOR * (self.options - 1)

    @cached_property
    def inverse(self) -> ChannelMatrix:
        """The inverse matrix: C = u I + v J with u + v options = 1 has (I - v J) / u.

        Raises PrivacyError if all options are equally likely whatever the answer.
        """
        same, other = self.weights
        if same == other:
            raise self.not_invertible()
        result = np.full((self.options, self.options), -other / (same - other))
        np.fill_diagonal(result, (self.denominator - other) / (same - other))
        return result


def _check_options(options: object) -> None:
    """Raise PrivacyError unless there are at least two options."""
    if type(options) is not int or not 2 <= options <= MOST_OPTIONS:
        raise PrivacyError.of("options", "accountant.few-options", value=presentable(options))


def _least(options: int) -> int:
    """Return the smallest numerator over 2^32 of a probability of at least 1 / options."""
    return -(-DENOMINATOR // options)
