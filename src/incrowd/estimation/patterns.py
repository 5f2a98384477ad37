"""Channels of whole questions, for histograms of report patterns (`incrowd.tally.moments`)."""

from __future__ import annotations

from functools import reduce

import numpy as np

from incrowd.errors import TableError
from incrowd.estimation.decoders import decoder
from incrowd.survey import AnyQuestion

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
