"""One small matrix for each question, from what a report shows to unbiased shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.errors import TableError
from incrowd.survey import AnyQuestion

SMALL = 1 << 12  # entries of a matrix that needs no sparse library, which is slow to load

Matrix: TypeAlias = "np.ndarray | scipy.sparse.csr_array"


@dataclass(frozen=True)
class Decoder:
    """How one question of a table is read out of the reports.

    mean and square: shape (answers, 1 + bits). For each answer they give, as a linear function of
    (1, the report's bits), an unbiased estimate g of "this person gave this answer", and what has
    the mean of g^2. low, high: between which g lies, whatever a report says. given: shape
    (answers, 2), the mean of g^2 over the reports of a person who gave another answer (the least of
    these), and of one who gave this one (the least of those that are read as it).
    """

    answers: tuple[str, ...]
    mean: np.ndarray
    square: np.ndarray
    low: float
    high: float
    given: np.ndarray


def question_decoder(question: AnyQuestion, channel: Channel) -> Decoder:
    """The decoder of a question whose bits, or (k-ary) whose answers, went through the channel.

    A k-ary response is sent as one set bit: g of answer i is inverse[i, report].
    """
    if not channel.of_answers:
        return decoder(question, channel.inverse)
    merge = merging(question)
    inverse = merge @ channel.inverse
    mean, square = (np.pad(g, [(0, 0), (1, 0)]) for g in (inverse, inverse**2))
    low, high = float(inverse.min()), float(inverse.max())
    return Decoder(question.answers, mean, square, low, high, squares_given(channel.inverse, merge))


def squares_given(inverse: np.ndarray, merge: Matrix) -> np.ndarray:
    """`Decoder.given` of a channel of whole answers. merge: which answers are read as which."""
    means = (merge @ inverse) ** 2 @ np.linalg.inv(inverse)  # over reports, by the answer behind
    same = dense(merge) > 0
    others = np.where(same, np.inf, means).min(axis=1)
    return np.stack([others, np.where(same, means, np.inf).min(axis=1)], axis=1)


def decoder(question: AnyQuestion, inverse: np.ndarray) -> Decoder:
    """The decoder of a question whose bits went through a channel with that 2 x 2 inverse.

    A report bit s of an option debiases to inverse[1, s], which is (s - q) / (p - q) for the bit
    flip (Vinterbo, corollary 1 with n = 1). A plain yes/no shows both of its cells.
    """
    bits = question.domain.bits
    values = inverse if bits == 1 else np.tile(inverse[1], (bits, 1))  # at s = 0, at s = 1
    mean, square = _affine(values, bits), _affine(values**2, bits)
    merge = merging(question)
    most = float(merge.sum(axis=1).max())  # of the answers that are read as one
    low, high = most * float(values.min()), most * float(values.max())
    given = bits_given(values, merge)
    return Decoder(question.answers, merge @ mean, merge @ square, low, high, given)


def bits_given(values: np.ndarray, merge: Matrix | None = None) -> np.ndarray:
    """`Decoder.given` of g that take two values, a row of both for each answer of a record.

    (g - low)(g - high) = 0, so that g^2 = (low + high) g - low high, and the mean of g is 0 or 1.
    merge: which answers are read as which; mean squares add up, as `merging` says.
    """
    others, more = -values.prod(axis=1), values.sum(axis=1)
    if merge is None:
        return np.stack([others, others + more], axis=1)
    own = [others[row].sum() + more[row].min() for row in _read_as(merge)]
    return np.stack([merge @ others, own], axis=1)


def _read_as(merge: Matrix) -> list[np.ndarray]:
    """For each answer the places of those that are read as it."""
    rows, places = merge.nonzero()
    return np.split(places, np.searchsorted(rows, np.arange(1, merge.shape[0])))


def least_noise(given: Sequence[np.ndarray]) -> np.ndarray:
    """The variance of a report's product of one g of each question is no less, whoever sent it.

    given: as `Decoder.given`. Unless she gave all answers of a cell the product has the mean 0, and
    the mean square of a product is the product of mean squares; if she gave all, it has the mean 1.
    """
    least = reduce(np.multiply.outer, [each.min(axis=1) for each in given])
    own = reduce(np.multiply.outer, [each[:, 1] for each in given])
    return np.asarray(np.maximum(np.minimum(least, own - 1), 0.0))


def merging(question: AnyQuestion) -> Matrix:
    """Shape (answers, answers of a record): which answers of a record are read as which; sparse if
    it is large.

    g of several answers is the sum of theirs. A person gives one of them at most, and the noise of
    their bits is independent, so that the mean of g^2 is the sum of those of its parts: a product
    of two has the mean of two indicators that exclude each other, which is 0.
    """
    places = {answer: place for place, answer in enumerate(question.answers)}
    rows = [places[question.read_as(answer)] for answer in question.recorded]
    size = len(rows)
    if len(places) * size <= SMALL:
        return np.equal.outer(np.arange(len(places)), rows) * 1.0
    return scipy.sparse.csr_array(
        (np.ones(size), (rows, np.arange(size))), shape=(len(places), size)
    )


def dense(matrix: Matrix) -> np.ndarray:
    """A matrix, sparse or not, as an array."""
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _affine(values: np.ndarray, bits: int) -> np.ndarray:
    """Rows (a, 0, .., b, .., 0) with a + b s = value at s, b at the place of the row's bit."""
    return np.hstack([values[:, :1], np.diff(values) * np.eye(bits)])


# Channels of whole questions, for histograms of report patterns (`incrowd.reports.moments`).


MOST_BITS = 16  # of one question: a channel of 65,536 rows


def channel_matrix(question: AnyQuestion, matrix: np.ndarray) -> np.ndarray:
    """P(report pattern | answer) of a question whose bits each go through a 2 x 2 channel.

    matrix: column-stochastic, shape (2, 2). Returns shape (2^bits, answers); the first bit is the
    most significant digit of a pattern. Raises TableError for a `multi` question, whose options
    overlap, and above 16 bits.
    """
    check_exclusive(question)
    bits = _few_bits(question)
    records = np.arange(2)[:, None] if bits == 1 else np.eye(bits, dtype=np.int64)
    return np.stack([reduce(np.kron, matrix[:, record].T) for record in records], axis=1)


def check_exclusive(question: AnyQuestion) -> None:
    """Raises TableError for a `multi` question, whose options overlap."""
    if not question.exclusive:
        allowed = "its options overlap; use a question with one answer"
        raise TableError.of("question", question.id, allowed)


def inverse_matrix(question: AnyQuestion, inverse: np.ndarray) -> np.ndarray:
    """The unbiased estimate of the shares as a linear function of the histogram.

    inverse: of the 2 x 2 channel of a bit. Returns shape (answers, 2^bits), a left inverse of
    `channel_matrix`. Raises TableError above 16 bits.
    """
    bits = _few_bits(question)
    patterns = np.arange(1 << bits) >> np.arange(bits)[::-1, None] & 1
    conditions = np.vstack([np.ones((1, 1 << bits)), patterns])
    return np.asarray(decoder(question, inverse).mean @ conditions)


def _few_bits(question: AnyQuestion) -> int:
    bits = question.domain.bits
    if bits > MOST_BITS:
        allowed = f"it has {bits} bits; use one of at most {MOST_BITS}"
        raise TableError.of("question", question.id, allowed)
    return bits
