"""Noise that services add to counts, drawn exactly as it is certified."""

from __future__ import annotations

import numpy as np

from incrowd.accountant.additive import BITS, AdditiveNoise
from incrowd.encoding.records import EncodedAnswers, set_cells
from incrowd.plans import CellsMessage
from incrowd.sampling.keystream import Keystream


def draw(law: AdditiveNoise, words: np.ndarray) -> np.ndarray:
    """Return numbers from -m to m with exactly the probabilities of a law over 2^64: int64.

    words: uint64, uniform, one for each number. Number z is drawn if the word is below the sum of
    the numerators up to z, and not below that of the numbers before.
    """
    assert law.bits == BITS, "a sum of laws is not drawn from one word"
    ends = np.cumsum(np.array(law.whole[:-1], np.uint64))  # the last end, 2^64, exceeds all words
    return np.searchsorted(ends, words, side="right") - law.reach


def people_in_cells(message: CellsMessage, people: EncodedAnswers) -> np.ndarray:
    """Return how many people are in each cell of a message: int64, shape (cells,).

    Amounts have to be rounded before, once for all messages.
    """
    blocks, questions = message.crossing.blocks, message.questions
    _, numbers = set_cells(blocks, questions, people.encoded, people.number)
    return np.bincount(numbers, minlength=message.record_bits)


def with_noise(
    counts: np.ndarray, law: AdditiveNoise, draws: int, keystream: Keystream
) -> np.ndarray:
    """Return counts with noise added so many times, independently for each count: int64."""
    for _ in range(draws):
        counts = counts + draw(law, keystream.words(len(counts)))
    return counts
