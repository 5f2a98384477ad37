"""Channels of whole answers: the input is one of several options, and so is the report."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from itertools import permutations, product
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from incrowd.accountant.channels.base import (
    AnswerCodes,
    Channel,
    ChannelMatrix,
    Coins,
    ExactIntegers,
    PackedBits,
    rounded_up,
)
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import AnswersError, PrivacyError

MOST_RELATIONS = 1 << 13  # of three answers; each is listed with the probabilities of all reports

AnswerNumbers = tuple[int, ...]


class Laws(NamedTuple):
    """The reports of some answers: numerators of P(report | answer), shape (reports, answers).

    least: for each report, the numerator of its least probability over all answers. ways: how many
    equivalent reports a row represents. Both have shape (reports,).
    """

    numerators: ExactIntegers
    least: ExactIntegers
    ways: npt.NDArray[np.int64]


@checked_class
class AnswerChannel(Channel):
    """A channel that takes the whole answer and reports one of the same options.

    The base class for your own channel. A subclass has to define only `options`, `numerators`,
    `denominator`, and `__str__`: sampling, decoding, sentences, and all analyses follow from them.
    A channel with more symmetry, such as k-ary response, also overrides `pairs`, `equal_or_not`,
    `threes`, and `laws`.

    Attributes
    ----------
    options : int
        The number of answers, and of reports.

    Examples
    --------
    >>> import numpy as np
    >>> from incrowd import accountant
    >>> class Neighbors(accountant.AnswerChannel):
    ...     '''Half of the reports are the answer itself, a quarter each of the others.'''
    ...
    ...     options = 3
    ...     denominator = 4
    ...     numerators = np.array([[2, 1, 1], [1, 2, 1], [1, 1, 2]], dtype=object)
    ...
    ...     def __str__(self):
    ...         return "neighbors"
    >>> round(Neighbors().epsilon, 4)  # ln 2
    0.6931
    """

    of_answers = True
    options: int  # the number of answers, and of reports

    @property
    @abstractmethod
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times `denominator`: Python integers, shape (options, options)."""

    @cached_property
    def pairs(self) -> tuple[AnswerNumbers, ...]:
        """Pairs of different answers (x, x'); only the first of those with equal laws."""
        return self._different(permutations(range(self.options), 2))

    @cached_property
    def equal_or_not(self) -> tuple[AnswerNumbers, ...]:
        """Pairs of any answers (x, x'), like `pairs`.

        If x and x' also differ in another question, equal answers to this one may reveal the most.
        """
        return self._different(product(range(self.options), repeat=2))

    @cached_property
    def threes(self) -> tuple[AnswerNumbers, ...]:
        """Triples of answers (x, x', z) that are not all equal, like `pairs`.

        Raises
        ------
        PrivacyError
            If there are too many to list.
        """
        number = self.options**3
        if number > MOST_RELATIONS:
            raise PrivacyError.of(
                "options", "accountant.many-triples", triples=number, most=MOST_RELATIONS
            )
        every = product(range(self.options), repeat=3)
        return self._different(answers for answers in every if len(set(answers)) > 1)

    def _different(self, relations: Iterable[AnswerNumbers]) -> tuple[AnswerNumbers, ...]:
        first: dict[object, AnswerNumbers] = {}
        numerators, least = self.numerators.tolist(), self._least.tolist()
        for answers in relations:
            rows = zip(numerators, least, strict=True)
            laws = ((*(row[x] for x in answers), low) for row, low in rows)
            first.setdefault(tuple(sorted(laws)), answers)
        return tuple(first.values())

    @cached_property
    def _least(self) -> ExactIntegers:
        return np.asarray(self.numerators.min(axis=1))

    def laws(self, answers: AnswerNumbers) -> Laws:
        """Return the laws of the reports of these answers, one row per report."""
        ways = np.ones(len(self.numerators), np.int64)
        return Laws(self.numerators[:, list(answers)], self._least, ways)

    @property
    def losses(self) -> tuple[float, float]:
        """The largest log-likelihood ratio of two answers, and 0: nothing else is revealed."""
        return max(self.log_ratios), 0.0

    @property
    def log_phis(self) -> tuple[float, float]:
        """The largest ln E[P(s|x) / P(s|x')] of two answers, s a report of x, and 0."""
        x, other = self.matrix[:, :, None], self.matrix[:, None, :]
        return math.log1p(float(((x - other) ** 2 / other).sum(axis=0).max())), 0.0

    @property
    def set_rates(self) -> ChannelMatrix:
        """The probability that a bit of the report is set, for each possible answer."""
        return self.matrix

    def reported(self, bits: int) -> ChannelMatrix:
        """Return E[(1, the report's bits) | record], as for any channel.

        Raises
        ------
        PrivacyError
            Unless there is one bit per option.
        """
        if bits != self.options:
            raise PrivacyError.of(
                "bits", "accountant.other-number-of-bits", value=bits, options=self.options
            )
        rates = self.set_rates
        matrix = np.zeros((1 + len(rates), 1 + bits))
        matrix[0, 0], matrix[1:, 1:] = 1.0, rates
        return matrix

    @cached_property
    def inverse(self) -> ChannelMatrix:
        """The inverse matrix, as for any channel."""
        return super().inverse

    @property
    def sentence(self) -> Sentence:
        """A sentence on what happens to an answer."""
        sent = rounded_up(float(self.matrix.diagonal().max()))
        return sentence("accountant.sends-answer", sent=sent)

    def respond(self, packed: PackedBits, bits: int, coins: Coins) -> PackedBits:
        """Randomize records; in both records and reports, each row has one set bit."""
        answers = np.unpackbits(packed, axis=1, count=bits, bitorder="little").argmax(axis=1)
        reports = self.chosen(answers.astype(np.int64), coins)
        rows = np.asarray(reports[:, None] == np.arange(bits), np.uint8)
        return np.packbits(rows, axis=1, bitorder="little")

    def chosen(self, answers: AnswerCodes, coins: Coins) -> AnswerCodes:
        """Draw a report for each answer, with the exact probabilities.

        Parameters
        ----------
        answers : int64 array of any shape
            Numbers of options, from 0.
        coins : Coins
            The source of randomness.

        Returns
        -------
        int64 array
            The reports, of the same shape.

        Raises
        ------
        AnswersError
            If a number is out of range.
        """
        self.check_answers(answers)
        drawn = coins.below(self.denominator, answers.size).astype(np.uint64)
        flat, reports = answers.ravel(), np.empty(answers.size, np.int64)
        for answer in np.unique(flat):
            below = np.array(np.cumsum(self.numerators[:, answer]).tolist(), np.uint64)
            here = flat == answer
            reports[here] = np.searchsorted(below, drawn[here], side="right")
        return reports.reshape(answers.shape)

    def check_answers(self, answers: npt.NDArray[Any]) -> None:
        """Raise AnswersError unless all numbers are from 0 to options - 1."""
        wrong = answers[(answers < 0) | (answers >= self.options)]
        if wrong.size:
            first, most = int(wrong[0]), self.options - 1
            raise AnswersError.of("codes", "accountant.from-0", value=first, most=most)


def takes_answers(channel: Channel) -> TypeGuard[AnswerChannel]:
    """Return whether a channel takes the answer as a whole."""
    return channel.of_answers
