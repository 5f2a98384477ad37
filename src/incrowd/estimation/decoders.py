"""One small matrix for each question, from what a report shows to unbiased shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.channels.base import Channel
from incrowd.survey import AnyQuestion


@dataclass(frozen=True)
class Decoder:
    """How one question of a table is read out of the reports.

    mean and square: shape (answers, 1 + bits). For each answer they give, as a linear function of
    (1, the report's bits), an unbiased estimate g of "this person gave this answer", and g^2.
    low, high: between which g lies, whatever a report says.
    """

    answers: tuple[str, ...]
    mean: np.ndarray
    square: np.ndarray
    low: float
    high: float


def question_decoder(question: AnyQuestion, channel: Channel) -> Decoder:
    """The decoder of a question whose bits, or (k-ary) whose answers, went through the channel."""
    made = answer_decoder if channel.of_answers else decoder
    return made(question, channel.inverse)


def decoder(question: AnyQuestion, inverse: np.ndarray) -> Decoder:
    """The decoder of a question whose bits went through a channel with that 2 x 2 inverse.

    A report bit s of an option debiases to inverse[1, s], which is (s - q) / (p - q) for the bit
    flip (Vinterbo, corollary 1 with n = 1). A plain yes/no shows both of its cells.
    """
    bits = question.domain.bits
    values = [inverse[1]] * bits  # value at s = 0, value at s = 1
    if bits == 1:
        values = [inverse[0], inverse[1]]
    places = np.arange(len(values)) % bits
    table = np.array(values)
    mean, square = _affine(table, places, bits), _affine(table**2, places, bits)
    return Decoder(question.answers, mean, square, float(table.min()), float(table.max()))


def answer_decoder(question: AnyQuestion, inverse: np.ndarray) -> Decoder:
    """The decoder of a k-ary response, sent as one set bit: g of answer i is inverse[i, report]."""
    nothing = np.zeros((len(inverse), 1))
    mean, square = np.hstack([nothing, inverse]), np.hstack([nothing, inverse**2])
    return Decoder(question.answers, mean, square, float(inverse.min()), float(inverse.max()))


def _affine(values: np.ndarray, places: np.ndarray, bits: int) -> np.ndarray:
    """Rows (a, 0, .., b, .., 0) with a + b s = value at s, b at the place of the row's bit."""
    matrix = np.zeros((len(values), 1 + bits))
    matrix[:, 0] = values[:, 0]
    matrix[np.arange(len(values)), 1 + places] = values[:, 1] - values[:, 0]
    return matrix
