"""The interface of every channel, and how it acts on the bits of a question.

Local epsilon: docs/mathematics.md#the-devices.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from incrowd.accountant.numerics.precision import OPERATIONS
from incrowd.arguments import checked_class
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import IncrowdError, PrivacyError

# Numbers of a channel as text, rounded so that they never promise too much.


def rounded_down(value: float, significant: int = 4) -> str:
    """Return a number rounded down to `significant` digits: noise never looks larger than it is."""
    return _rounded(value, significant, ROUND_FLOOR)


def rounded_up(value: float, significant: int = 4, whole: bool = False) -> str:
    """Return a number rounded up to `significant` digits: a bound never looks tighter than it is.

    whole: keep all digits before the decimal point, for instance 2980.96 is "2,981".
    """
    return _rounded(value, significant, ROUND_CEILING, whole)


def _rounded(value: float, significant: int, rounding: str, whole: bool = False) -> str:
    """Return the shortest decimal representation of `value`, rounded, in the format of "%g"."""
    value = float(value)
    if not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(repr(value))
    place = exact.adjusted() - significant + 1
    digits = exact.quantize(Decimal(1).scaleb(min(place, 0) if whole else place), rounding)
    return f"{digits:,f}" if whole else f"{float(digits):.{significant}g}"


ChannelMatrix = npt.NDArray[np.float64]
ExactIntegers = npt.NDArray[np.object_]  # Python integers: products of stages can exceed 64 bits
PackedBits = npt.NDArray[np.uint8]  # rows of bits, bit i of a row in byte i // 8 at place i % 8
AnswerCodes = npt.NDArray[np.int64]  # numbers of answers

MOST_COUNTED = 2**15  # bits whose joint counts have a matrix
ROUNDING = OPERATIONS  # the relative error of a logarithm of a ratio


class Range(NamedTuple):
    """The range of a channel's parameter, without its limits, or with them if it is closed."""

    low: float
    high: float = math.inf
    closed: bool = False


Makers = Mapping[tuple[str, ...], Callable[..., "Channel"]]


class Coins(Protocol):
    """Exact randomness, which is all that a channel needs to draw reports."""

    def flips(self, numerator: int, shape: tuple[int, int]) -> PackedBits:
        """Return packed bits, each 1 with probability numerator / 2^32; fast if that is small."""

    def mask(self, numerator: int, shape: tuple[int, int]) -> PackedBits:
        """Return packed bits, each 1 with probability numerator / 2^32, which may be 0 or 1."""

    def heads(self, numerator: int, count: int) -> npt.NDArray[np.bool_]:
        """Return `count` booleans, each True with probability numerator / 2^32."""

    def below(self, size: int, count: int) -> AnswerCodes:
        """Return `count` independent integers, uniform on 0 .. size - 1."""


@checked_class
class Channel(ABC):
    """A randomizer of each bit of a question, or of whole answers (`of_answers`).

    The base class of all channels. Probabilities are integers over one denominator, and everything
    else is computed from them.

    Attributes
    ----------
    kind : str
        The name in surveys; "" if surveys cannot use the channel.
    parameters : mapping of str to Range
        The range of each number that a survey can state.
    of_answers : bool
        Whether the channel takes the whole answer and reports one option.
    is_flip : bool
        Whether the channel flips each bit with a probability below 1/2.
    alone : bool
        Whether a part with this channel has to be the only part of a report.
    remembers : bool
        Whether a device can remember a permanent stage.
    instantaneous : Channel or None
        The stage that is drawn for each report, if the channel remembers another one.

    References
    ----------
    Vinterbo (2018), section 3.2.

    Examples
    --------
    >>> from incrowd.accountant import BitFlip, Channel
    >>> flip = BitFlip.at_least(0.25)
    >>> isinstance(flip, Channel)
    True
    >>> flip.matrix
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """

    kind: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Range]] = {}
    of_answers: ClassVar[bool] = False  # it takes the answer as a whole, and reports one set bit
    is_flip: ClassVar[bool] = False  # it flips each bit, with q < 1/2
    alone: ClassVar[bool] = False  # its part is the only one of a report
    remembers: ClassVar[bool] = False  # it has a permanent stage that a device can remember
    instantaneous: Channel | None = None  # the stage that is drawn for each report, if remembers

    @classmethod
    def makers(cls) -> Makers:
        """Return the constructor for each set of parameters, in the order of its arguments.

        Constructors of channels of whole answers also take the number of answers as `options`.
        """
        return {}

    @property
    @abstractmethod
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times `denominator`, exactly: Python integers, shape (r, x)."""

    @property
    @abstractmethod
    def denominator(self) -> int:
        """The sum of each column of `numerators`."""

    @property
    def stages(self) -> tuple[Channel, ...]:
        """The channels that are applied one after the other."""
        return (self,)

    @abstractmethod
    def respond(self, packed: PackedBits, bits: int, coins: Coins) -> PackedBits:
        """Randomize records; every bit and every stage is drawn independently.

        Parameters
        ----------
        packed : uint8 array, shape (rows, ceil(bits / 8))
            The records, padded with zeros.
        bits : int
            The number of bits of a record.
        coins : Coins
            The source of randomness.

        Returns
        -------
        uint8 array
            The reports, of the same shape and also padded with zeros.
        """

    @property
    def permanent_stage(self) -> Channel:
        """The noise that protects any number of rounds, if the device remembers it."""
        return self

    @property
    def simplest(self) -> Channel:
        """The same channel as a bit flip with q < 1/2, if it is one."""
        return self

    @property
    def permanent_epsilon(self) -> float | None:
        """The local epsilon of all reports of one bit together, rounded up.

        None if each report is drawn anew.
        """
        return None

    @property
    def alike(self) -> bool:
        """Whether a channel of bits is symmetric."""
        numerators = self.numerators
        return bool(numerators[0, 0] == numerators[1, 1])

    @property
    def description(self) -> Sentence | str:
        """The name of the channel with its probabilities, in any language."""
        return str(self)

    @property
    def sentence(self) -> Sentence:
        """A sentence on what happens to an answer; its probabilities never look more private."""
        zero, one = map(float, self.matrix[1])
        low, high = rounded_down(min(zero, one)), rounded_up(max(zero, one))
        shown = (low, high) if zero <= one else (high, low)
        return sentence("accountant.sends-ones", zero=shown[0], one=shown[1])

    @property
    def matrix(self) -> ChannelMatrix:
        """The column-stochastic matrix C[r, x] = P(report r | answer x); Vinterbo, section 3.2."""
        return np.asarray(self.numerators / self.denominator, np.float64)

    @property
    def inverse(self) -> ChannelMatrix:
        """The inverse matrix, every entry correctly rounded, which gives unbiased estimates.

        Raises
        ------
        PrivacyError
            If different answers have the same reports.

        References
        ----------
        Vinterbo (2018), section 3.2.
        """
        inverse = exact_inverse(self.numerators)
        if inverse is None:
            raise self.not_invertible()
        return np.asarray(inverse * self.denominator, np.float64)

    @property
    def epsilon(self) -> float:
        """The local epsilon of one report, rounded up: the largest log-likelihood ratio.

        The maximum over reports r and answers x, x' of ln(C[r, x] / C[r, x']): Vinterbo (2018),
        section 4.3. Infinite if a report is possible for only some of the answers.
        """
        return max(self.log_ratios)

    @property
    def log_ratios(self) -> list[float]:
        """The largest log-likelihood ratio of each possible report, rounded up."""
        return [_log_ratio(max(row), min(row)) for row in self.numerators if any(row)]

    @property
    def losses(self) -> tuple[float, float]:
        """The largest log-likelihood ratios of a 1 against a 0, and of a 0 against a 1.

        For whole answers: the largest ratio of any two, and 0.
        """
        if_zero, if_one = self.log_ratios
        rising = self.numerators[1, 1] > self.numerators[1, 0]
        return (if_one, if_zero) if rising else (if_zero, if_one)

    @property
    def log_phis(self) -> tuple[float, float]:
        """ln E[P(s|x) / P(s|x')], where s is a report of x, for the bits (1, 0) and (0, 1).

        For whole answers: the largest value for any two, and 0.
        """
        (p00, p01), (p10, p11) = self.matrix
        square = (p11 - p10) ** 2  # the difference is exact, so that phi - 1 keeps its digits
        return math.log1p(square / (p10 * p00)), math.log1p(square / (p11 * p01))

    @property
    def set_rates(self) -> ChannelMatrix:
        """The probability that a bit of the report is set, for every possible input."""
        return np.asarray(self.matrix[1])

    def reported(self, bits: int) -> ChannelMatrix:
        """Return E[(1, the report's bits) | record], which is linear in (1, the record's bits).

        Parameters
        ----------
        bits : int
            The number of bits of a record.

        Returns
        -------
        array, shape (1 + bits, 1 + bits)
            The action on joint counts of set bits, along an axis.

        Raises
        ------
        PrivacyError
            Unless bits is from 1 to 2^15.
        """
        if not 1 <= bits <= MOST_COUNTED:
            raise PrivacyError.of(
                "bits", "accountant.whole-between", value=bits, low=1, high=MOST_COUNTED
            )
        zero, one = self.set_rates
        matrix = np.eye(1 + bits)
        matrix[1:, 0] = zero
        matrix[1:, 1:] *= one - zero
        return matrix

    def not_invertible(self) -> IncrowdError:
        """Return the error for a channel without an inverse."""
        return PrivacyError.of("channel", "accountant.no-inverse", channel=self.description)


def _log_ratio(larger: int, smaller: int) -> float:
    """Return ln(larger / smaller) rounded up, for integers 0 <= smaller <= larger, larger > 0."""
    if smaller == 0:
        return math.inf
    # The difference is exact, so that ratios near 1 keep all their digits.
    return math.log1p((larger - smaller) / smaller) * (1 + ROUNDING)


def exact_inverse(integers: ExactIntegers) -> ExactIntegers | None:
    """Return the inverse of a square matrix of integers as fractions, or None if there is none.

    Gauss-Jordan elimination without rounding, so that a singular matrix is recognized with
    certainty, and noise near 1/2 costs no digits.
    """
    size = len(integers)
    rows: ExactIntegers = np.hstack([integers, np.eye(size, dtype=int)]) * Fraction(1)
    for step in range(size):
        pivots = np.flatnonzero(rows[step:, step])
        if not pivots.size:
            return None
        rows[[step, step + pivots[0]]] = rows[[step + pivots[0], step]]
        rows[step] /= rows[step, step]
        others = np.arange(size) != step
        rows[others] -= np.outer(rows[others, step], rows[step])
    return rows[:, size:]
