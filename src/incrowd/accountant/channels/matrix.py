"""A channel that is stated as a matrix of probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from incrowd.accountant.channels.answers import AnswerChannel
from incrowd.accountant.channels.base import (
    ChannelMatrix,
    ExactIntegers,
    exact_inverse,
    rounded_up,
)
from incrowd.arguments import checked_class, presentable
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import IncrowdError, PrivacyError

MOST_SIDE = 64  # answers, and reports
MOST_DENOMINATOR = 2**63
NEARLY = Fraction(1, 10**9)  # a sum of rounded numbers that is meant to be 1 is that close to it
GRID = 2**62  # the denominator of rounded probabilities
LARGEST_INVERSE = 1e9  # in a column: what is inverted in floating point has at least 6 digits
PROBABILITY = re.compile(r"\d{1,19}/\d{1,19}|(\d{1,3}\.?\d{0,25}|\.\d{1,25})(e-?\d{1,2})?")

Probability = float | str | Fraction
ProbabilityRows = Sequence[Sequence[Probability]]


@checked_class
@dataclass(frozen=True)
class MatrixChannel(AnswerChannel):
    """A channel that is stated as a matrix: a row for each report, and a column for each answer.

    There may be more reports than answers, or fewer. `of` takes probabilities.

    Parameters
    ----------
    rows : tuple of tuple of int
        P(report r | answer x), times any number: whole numbers, whose columns all add up to the
        same sum of at most 2^63.

    Raises
    ------
    PrivacyError
        If the rows are not equally long, there are fewer than 2 or more than 64 of either, an entry
        is not a whole number, a row has only zeros, or the columns do not have the same sum.

    References
    ----------
    Vinterbo (2018), section 3.2: the matrix C.

    Examples
    --------
    >>> from incrowd import accountant
    >>> dice = accountant.MatrixChannel.of([["5/6", "1/6"], ["1/6", "5/6"]])
    >>> dice == accountant.MatrixChannel(((5, 1), (1, 5)))
    True
    >>> round(dice.epsilon, 4)  # ln 5
    1.6094
    >>> accountant.smallest_epsilon("shuffle", dice, 10_000, 1e-6) < 0.08
    True
    """

    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        rows = _rows_of(self.rows)
        for r, row in enumerate(rows, 1):
            for x, entry in enumerate(row, 1):
                if type(entry) is not int or entry < 0:
                    raise _wrong_entry("accountant.matrix-numerator", r, x, entry)
            if not any(row):
                raise PrivacyError.of("matrix", "accountant.matrix-empty-row", row=r)
        sums = [sum(column) for column in zip(*rows, strict=True)]
        if not 0 < sums[0] <= MOST_DENOMINATOR:
            raise _wrong_sum("accountant.matrix-denominator", 1, sums[0])
        for x, total in enumerate(sums, 1):
            if total != sums[0]:
                raise _wrong_sum("accountant.matrix-unequal", x, total, wanted=sums[0])
        common = math.gcd(*(entry for row in rows for entry in row))
        lowest = tuple(tuple(entry // common for entry in row) for row in rows)
        object.__setattr__(self, "rows", lowest)

    @classmethod
    def of(cls, matrix: ProbabilityRows) -> MatrixChannel:
        """Return the channel with a matrix of probabilities.

        Text, such as "5/6" or "0.8", and fractions are exact. Other numbers count as the decimals
        that Python shows for them. If a column then adds up to exactly 1, nothing is rounded.
        Otherwise the sum may differ from 1 by a billionth, as it does if 5/6 is a float: then all
        probabilities become multiples of 2^-62, rounded toward more privacy.

        Parameters
        ----------
        matrix : sequence of sequence of float, str, or Fraction
            A row for each report, and a column for each answer; an array, or nested lists.

        Raises
        ------
        PrivacyError
            If an entry is not a probability, a column does not add up to 1, or rounding could
            reveal more because different answers have nearly the same reports.

        Notes
        -----
        The rounded channel is a post-processing of the matrix that was stated: a report is very
        rarely replaced. So it reveals no more.
        """
        stated = _rows_of(matrix)
        exact = np.array([[_exact(entry) for entry in row] for row in stated], dtype=object)
        for r, x in zip(*np.nonzero(exact == None), strict=True):  # noqa: E711
            raise _wrong_entry("accountant.matrix-entry", r + 1, x + 1, stated[r][x])
        sums = exact.sum(axis=0)
        for x, total in enumerate(sums, 1):
            if abs(total - 1) > NEARLY:
                transposed = all(abs(row - 1) <= NEARLY for row in exact.sum(axis=1))
                code = "accountant.matrix-transposed" if transposed else "accountant.matrix-column"
                raise _wrong_sum(code, x, float(total))
        denominator = math.lcm(*(entry.denominator for entry in exact.flat))
        if all(sums == 1) and denominator <= MOST_DENOMINATOR:
            return cls(_integers(exact * denominator))
        return cls(_more_private(exact / sums))

    def __str__(self) -> str:
        """State how many answers and reports there are, and the local epsilon."""
        return str(self.description)

    @property
    def description(self) -> Sentence:
        """The number of answers and reports, and the local epsilon, rounded up."""
        reports, answers = len(self.rows), self.options
        epsilon = rounded_up(self.epsilon)
        return sentence("accountant.matrix", answers=answers, reports=reports, epsilon=epsilon)

    @property
    def options(self) -> int:  # type: ignore[override]
        """The number of answers."""
        return len(self.rows[0])

    @cached_property
    def numerators(self) -> ExactIntegers:
        """P(report r | answer x) times `denominator`, shape (reports, answers)."""
        return np.array(self.rows, dtype=object)

    @property
    def denominator(self) -> int:
        """The sum of each column."""
        return sum(row[0] for row in self.rows)

    @cached_property
    def inverse(self) -> ChannelMatrix:
        """A matrix that gives unbiased estimates from the shares of all reports, as for any
        channel."""
        matrix = self.numerators
        inverse = exact_inverse(matrix.T @ matrix)  # of the least squares
        if inverse is None:
            raise self.not_invertible()
        return np.asarray(inverse @ matrix.T * self.denominator, np.float64)


def _rows_of(matrix: Any) -> list[list[Any]]:
    """Return the rows of a matrix as lists. Raises PrivacyError unless they are equally long, and
    neither too few nor too many."""
    listed = matrix.tolist() if hasattr(matrix, "tolist") else matrix
    nested = isinstance(listed, list | tuple) and all(
        hasattr(row, "tolist") or isinstance(row, list | tuple) for row in listed
    )
    rows = [row.tolist() if hasattr(row, "tolist") else [*row] for row in listed] if nested else []
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or not all(2 <= size <= MOST_SIDE for size in (len(rows), *lengths)):
        entries = ", ".join(map(str, sorted(lengths))) or "0"
        raise PrivacyError.of(
            "matrix", "accountant.matrix-shape", rows=len(rows), entries=entries, most=MOST_SIDE
        )
    return rows


def _exact(entry: Any) -> Fraction | None:
    """Return a probability without rounding, or None if it is not one."""
    if isinstance(entry, str):
        written = entry.replace(" ", "").lower()
        if not PROBABILITY.fullmatch(written) or written.endswith("/0"):
            return None
        entry = written
    elif isinstance(entry, bool) or not isinstance(entry, int | float | Fraction):
        return None
    elif isinstance(entry, float):
        if not math.isfinite(entry):
            return None
        entry = repr(float(entry))
    value = Fraction(entry)
    return value if 0 <= value <= 1 else None


def _integers(values: ExactIntegers) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, row)) for row in values)


def _more_private(exact: ExactIntegers) -> tuple[tuple[int, ...], ...]:
    """Return numerators over `GRID` of a post-processing of a matrix of fractions.

    M is the matrix, L M = 1, there are R rows, and rounding adds E to (1 - m) M + m / R. The result
    is T M for T = (1 - m) 1 + m / R + E L, whose columns add up to 1, as those of E add up to 0. T
    is a channel if none of its entries is negative: if the columns of |L| add up to at most
    m GRID / R, because |E| is below 1 / GRID. For K with K M = 1 + F, these sums are at most those
    of |K| over 1 - |F|, so twice those of |K| are enough; half of them is for floating point.

    Raises PrivacyError if L is too large, or does not exist.
    """
    near, reports = exact.astype(float), len(exact)
    inverse = np.linalg.pinv(near)
    size = float(abs(inverse).sum(axis=0).max())
    missing = float(abs(inverse @ near - np.eye(len(inverse))).sum(axis=0).max())
    if not (missing < 1 / 4 and size < LARGEST_INVERSE):
        raise PrivacyError.of("matrix", "accountant.matrix-rounding")
    often = GRID // (4 * math.ceil(size) * reports)  # m = 1 / often
    mixed = exact * Fraction(often - 1, often) + Fraction(1, often * reports)
    rounded = mixed * GRID // 1
    short = GRID - rounded.sum(axis=0)
    return _integers(rounded + (np.arange(reports)[:, None] < short))


def _wrong_entry(code: str, row: int, column: int, value: object) -> IncrowdError:
    return PrivacyError.of("matrix", code, row=row, column=column, value=presentable(value))


def _wrong_sum(code: str, column: int, total: float, **more: int) -> IncrowdError:
    return PrivacyError.of("matrix", code, column=column, total=total, **more)
