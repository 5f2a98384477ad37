"""One small matrix for each question, from the bits of reports to unbiased shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TypeAlias

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.errors import TableError
from incrowd.survey import AnyQuestion

SMALL = 1 << 12  # entries of a matrix that needs no sparse library, which is slow to load

DecoderMatrix: TypeAlias = "np.ndarray | scipy.sparse.csr_array"


@dataclass(frozen=True)
class Decoder:
    """The decoder of one question of a table.

    mean and square: shape (entries, 1 + bits), an entry for each answer. They are linear functions
    of (1, the report's bits): an unbiased estimate g of "this person gave this answer", and a
    function with the mean of g^2. given: shape (entries, 2), the mean of g^2 over the reports of a
    person who gave another answer (the smallest such mean), and of one who gave this answer (the
    smallest among merged answers). low, high: bounds on g for any report; nan where not needed.
    exclusive: each person gives exactly one of the answers. margin: the entry "any answer" follows
    the answers. one_hot: each report sets exactly one bit, as a k-ary response does.

    `single`, `product` and `both` are for the covariance of all cells. They act on the counts of
    `incrowd.reports.moments.pair_moments`, whose entries are 1, the bits, and all pairs of bits.
    """

    answers: tuple[str, ...]
    mean: np.ndarray
    square: np.ndarray
    given: np.ndarray
    low: float = math.nan
    high: float = math.nan
    exclusive: bool = True
    margin: bool = False
    one_hot: bool = False

    def with_margin(self) -> Decoder:
        """Return the same decoder with the entry "any answer"."""
        if self.one_hot:  # its products need no constant
            any_answer = np.append(0.0, np.ones((1, self.mean.shape[1] - 1)))[None]
        else:
            any_answer = np.eye(1, self.mean.shape[1])
        return replace(
            self,
            mean=np.vstack([self.mean, any_answer]),
            square=np.vstack([self.square, any_answer]),
            given=np.vstack([self.given, np.ones((1, 2))]),
            margin=True,
        )

    @cached_property
    def single(self) -> scipy.sparse.csr_array:
        """A row for each entry: `mean`."""
        bits = self.mean.shape[1] - 1
        entries = 1 + bits + bits * (bits - 1) // 2
        return scipy.sparse.csr_array(self.mean) @ scipy.sparse.eye_array(
            1 + bits, entries, format="csr"
        )

    @cached_property
    def product(self) -> scipy.sparse.csr_array:
        """A row for each pair of entries (the second runs faster): g g'."""
        size, bits = len(self.mean), self.mean.shape[1] - 1
        if not self.one_hot:
            mean = scipy.sparse.csr_array(self.mean)
            return scipy.sparse.kron(mean, mean, "csr") @ _fold(bits)
        options = self.mean[:, 1:]  # of two different bits never both are set
        rows = (options[:, None] * options[None]).reshape(size**2, bits)
        return scipy.sparse.csr_array(rows) @ _single_bits(bits)

    @cached_property
    def both(self) -> scipy.sparse.csr_array:
        """The same rows: an unbiased estimate of "this person gave both".

        An answer together with itself, or with "any answer", is the answer. Exclusive answers are
        never both given. Other answers have different bits, whose noise is independent, so the
        product of their g's is unbiased.
        """
        size = len(self.mean)
        first, second = np.divmod(np.arange(size**2), size)
        single = (first == second) | (self.margin & (np.maximum(first, second) == size - 1))
        alone = scipy.sparse.diags_array(single * 1.0) @ self.single[np.minimum(first, second)]
        if self.exclusive:
            return alone.tocsr()
        return (alone + scipy.sparse.diags_array(~single * 1.0) @ self.product).tocsr()


def _fold(bits: int) -> scipy.sparse.csr_array:
    """Return products of two of (1, bits), ((1 + bits)^2 rows), as entries of the pair moments.

    A bit times itself is itself, and the order does not matter.
    """
    place = np.zeros((1 + bits, 1 + bits), np.int64)
    first, second = np.triu_indices(bits, 1)
    place[0] = place[:, 0] = np.arange(1 + bits)
    place[np.arange(1 + bits), np.arange(1 + bits)] = np.arange(1 + bits)
    place[first + 1, second + 1] = place[second + 1, first + 1] = 1 + bits + np.arange(len(first))
    rows, shape = np.arange(place.size), (place.size, 1 + bits + len(first))
    return scipy.sparse.csr_array((np.ones(place.size), (rows, place.ravel())), shape=shape)


def _single_bits(bits: int) -> scipy.sparse.csr_array:
    """Return the bits as entries of the pair moments."""
    return scipy.sparse.eye_array(bits, 1 + bits + bits * (bits - 1) // 2, k=1, format="csr")


def by_axis(matrices: Sequence[DecoderMatrix], tensor: np.ndarray) -> np.ndarray:
    """Apply a matrix along each axis: each step takes the first axis and puts it last."""
    for matrix in matrices:
        applied = matrix @ tensor.reshape(len(tensor), -1)
        tensor = applied.T.reshape(*tensor.shape[1:], -1)
    return tensor


def question_decoder(question: AnyQuestion, channel: Channel, margin: bool = False) -> Decoder:
    """Return the decoder of a question whose bits, or (k-ary) whose answers, went through the
    channel.

    A k-ary response is sent as one set bit: g of answer i is inverse[i, report]. margin: add the
    entry "any answer", which has no noise, unlike a sum of the noisy cells of a choice.
    """
    if margin:
        return question_decoder(question, channel).with_margin()
    if not channel.of_answers:
        return decoder(question, channel.inverse)
    merge = merging(question)
    inverse = merge @ channel.inverse
    mean, square = (np.pad(g, [(0, 0), (1, 0)]) for g in (inverse, inverse**2))
    given = squares_given(channel.inverse, merge)
    low, high = float(inverse.min()), float(inverse.max())
    return Decoder(question.answers, mean, square, given, low, high, one_hot=True)


def squares_given(inverse: np.ndarray, merge: DecoderMatrix) -> np.ndarray:
    """Return `Decoder.given` for a channel of whole answers. merge: as `merging` returns."""
    means = (merge @ inverse) ** 2 @ np.linalg.inv(inverse)  # over reports, by true answer
    same = dense(merge) > 0
    others = np.where(same, np.inf, means).min(axis=1)
    return np.stack([others, np.where(same, means, np.inf).min(axis=1)], axis=1)


def decoder(question: AnyQuestion, inverse: np.ndarray) -> Decoder:
    """Return the decoder of a question whose bits went through a channel with that 2 x 2 inverse.

    A report bit s of an option debiases to inverse[1, s], which is (s - q) / (p - q) for the bit
    flip (Vinterbo, corollary 1 with n = 1). A plain yes/no shows both of its cells.
    """
    bits = question.domain.bits
    values = inverse if bits == 1 else np.tile(inverse[1], (bits, 1))  # at s = 0, at s = 1
    mean, square = _affine(values, bits), _affine(values**2, bits)
    merge = merging(question)
    most = float(merge.sum(axis=1).max())  # answers that are merged into one
    low, high = most * float(values.min()), most * float(values.max())
    given, exclusive = bits_given(values, merge), question.exclusive
    return Decoder(question.answers, merge @ mean, merge @ square, given, low, high, exclusive)


def bits_given(values: np.ndarray, merge: DecoderMatrix | None = None) -> np.ndarray:
    """Return `Decoder.given` for a g that takes two values, a row of both for each answer of a
    record.

    (g - low)(g - high) = 0, so that g^2 = (low + high) g - low high, and the mean of g is 0 or 1.
    merge: as `merging` returns; mean squares of merged answers add up, as explained there.
    """
    others, more = -values.prod(axis=1), values.sum(axis=1)
    if merge is None:
        return np.stack([others, others + more], axis=1)
    rows, places = merge.nonzero()
    read_as = np.split(places, np.searchsorted(rows, np.arange(1, merge.shape[0])))
    same = [others[row].sum() + more[row].min() for row in read_as]
    return np.stack([merge @ others, same], axis=1)


def least_noise(given: Sequence[np.ndarray]) -> np.ndarray:
    """Return a lower bound, for each cell, on the variance by noise of the product of one g per
    question.

    given: as `Decoder.given`. The mean square of the product is the product of mean squares. Its
    mean is 1 if the sender gave all answers of the cell, and 0 otherwise.
    """
    least = reduce(np.multiply.outer, [each.min(axis=1) for each in given])
    inside = reduce(np.multiply.outer, [each[:, 1] for each in given])
    return np.asarray(np.maximum(np.minimum(least, inside - 1), 0.0))


def merging(question: AnyQuestion) -> DecoderMatrix:
    """Return shape (answers, answers of a record): 1 where an answer of a record is merged into an
    answer; sparse if it is large.

    g of a merged answer is the sum of the g's of its parts. A person gives at most one of them, and
    the noise of their bits is independent, so the mean of g^2 is the sum of those of the parts: the
    product of two has the mean of two indicators that exclude each other, which is 0.
    """
    places = {answer: place for place, answer in enumerate(question.answers)}
    rows = [places[question.read_as(answer)] for answer in question.recorded]
    size = len(rows)
    if len(places) * size <= SMALL:
        return np.equal.outer(np.arange(len(places)), rows) * 1.0
    return scipy.sparse.csr_array(
        (np.ones(size), (rows, np.arange(size))), shape=(len(places), size)
    )


def dense(matrix: DecoderMatrix) -> np.ndarray:
    """Return a matrix, sparse or not, as an array."""
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _affine(values: np.ndarray, bits: int) -> np.ndarray:
    """Return rows (a, 0, .., b, .., 0) with a + b s = value at s,
    b at the place of the row's bit."""
    return np.hstack([values[:, :1], np.diff(values) * np.eye(bits)])


# Channels of whole questions, for histograms of report patterns (`incrowd.reports.moments`).


MOST_BITS = 16  # of one question: a channel of 65,536 rows


def channel_matrix(question: AnyQuestion, matrix: np.ndarray) -> np.ndarray:
    """Return P(report pattern | answer) of a question whose bits each go through a 2 x 2 channel.

    matrix: column-stochastic, shape (2, 2). Returns shape (2^bits, answers); the first bit is the
    most significant digit of a pattern. Raises TableError for a `multi` question, whose options
    overlap, and above 16 bits.
    """
    check_exclusive(question)
    bits = _few_bits(question)
    records = np.arange(2)[:, None] if bits == 1 else np.eye(bits, dtype=np.int64)
    return np.stack([reduce(np.kron, matrix[:, record].T) for record in records], axis=1)


def check_exclusive(question: AnyQuestion) -> None:
    """Raise TableError for a `multi` question, whose options overlap."""
    if not question.exclusive:
        raise TableError.of("question", "estimation.overlapping-question", value=question.id)


def inverse_matrix(question: AnyQuestion, inverse: np.ndarray) -> np.ndarray:
    """Return the unbiased estimate of the shares as a linear function of the histogram.

    inverse: the inverse of the 2 x 2 channel of a bit. Returns shape (answers, 2^bits), a left
    inverse of `channel_matrix`. Raises TableError above 16 bits.
    """
    bits = _few_bits(question)
    patterns = np.arange(1 << bits) >> np.arange(bits)[::-1, None] & 1
    conditions = np.vstack([np.ones((1, 1 << bits)), patterns])
    return np.asarray(decoder(question, inverse).mean @ conditions)


def _few_bits(question: AnyQuestion) -> int:
    bits = question.domain.bits
    if bits > MOST_BITS:
        raise TableError.of(
            "question", "estimation.too-many-bits", value=question.id, bits=bits, most=MOST_BITS
        )
    return bits
