"""The truth about small crowds, by enumeration: every crowd, every pair of records.

Written apart from the accounting: a mechanism is a matrix P[report, record], and a collection the
vector of how often each report occurs.
"""

from collections.abc import Iterator
from itertools import product
from math import comb

import numpy as np


def records(options: int, fewest: int, most: int) -> list[tuple[int, ...]]:
    """The records of a question, as tuples of bits."""
    return [r for r in product((0, 1), repeat=options) if fewest <= sum(r) <= most]


def of_bits(bit: np.ndarray, options: int, fewest: int, most: int) -> np.ndarray:
    """P[report, record] of a question each bit of which goes through the channel bit[out, in]."""
    reports = list(product((0, 1), repeat=options))
    allowed = records(options, fewest, most)
    return np.array(
        [
            [np.prod([bit[o, i] for o, i in zip(s, r, strict=True)]) for r in allowed]
            for s in reports
        ]
    )


def together(*mechanisms: np.ndarray) -> np.ndarray:
    """Of independent questions in one report."""
    joint = np.ones((1, 1))
    for one in mechanisms:
        joint = np.kron(joint, one)
    return joint


def merged(mechanism: np.ndarray) -> np.ndarray:
    """Reports with the same row of likelihood ratios made one, which keeps every delta."""
    scaled = np.round(mechanism / mechanism.sum(axis=1, keepdims=True), 12)
    _, group = np.unique(scaled, axis=0, return_inverse=True)
    return np.array([mechanism[group.ravel() == g].sum(axis=0) for g in range(group.max() + 1)])


def joined(law: np.ndarray, person: np.ndarray) -> np.ndarray:
    """The law of the counts of all reports but the last, with one more person."""
    total = law * person[-1]
    for report, chance in enumerate(person[:-1]):
        moved = np.zeros_like(law)
        ahead = [slice(None)] * law.ndim
        behind = [slice(None)] * law.ndim
        ahead[report], behind[report] = slice(1, None), slice(None, -1)
        moved[tuple(ahead)] = law[tuple(behind)]
        total = total + chance * moved
    return total


def crowds(mechanism: np.ndarray, people: int) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Every multiset of so many people's records, with the law of their reports' counts.

    There is room for one person more.
    """
    reports, known = mechanism.shape
    start = np.zeros((people + 2,) * (reports - 1))
    start[(0,) * (reports - 1)] = 1.0

    def grown(held: tuple[int, ...], law: np.ndarray):
        if len(held) == people:
            yield held, law
            return
        for record in range(held[-1] if held else 0, known):
            yield from grown((*held, record), joined(law, mechanism[:, record]))

    return grown((), start)


def deltas(mechanism: np.ndarray, crowd: int, epsilon: float) -> Iterator[np.ndarray]:
    """delta(epsilon) of every ordered pair of records, for every crowd of the others' records."""
    pairs = [(x, y) for x, y in product(range(mechanism.shape[1]), repeat=2) if x != y]
    for _, law in crowds(mechanism, crowd - 1):
        with_each = [joined(law, column).ravel() for column in mechanism.T]
        yield np.array(
            [np.maximum(with_each[x] - np.exp(epsilon) * with_each[y], 0).sum() for x, y in pairs]
        )


def size(mechanism: np.ndarray, crowd: int) -> tuple[int, int]:
    """How many truths there are, and how many numbers each of the laws has."""
    reports, known = mechanism.shape
    multisets = comb(known + crowd - 2, crowd - 1)
    return multisets * known * (known - 1), (crowd + 1) ** (reports - 1)


def labeled(
    mechanism: np.ndarray, others: tuple[int, ...], target: int, u: float, taken: bool = True
) -> np.ndarray:
    """The law of the multiset given that the least label is u, in the proof's labeled mechanism.

    The target sits where somebody sat who sent a draw of the common part; the remaining people
    send what is left of their laws. taken: whether the labels beyond u were taken off those.
    """
    common = mechanism.min(axis=1)
    gamma = common.sum()
    left = (mechanism - u * common[:, None]) / (1 - u * gamma) if taken else mechanism
    law = np.zeros((len(others) + 2,) * (len(mechanism) - 1))
    law[(0,) * (len(mechanism) - 1)] = 1.0
    law = joined(joined(law, common / gamma), mechanism[:, target])
    total = np.zeros_like(law)
    for seat in range(len(others)):
        mixed = law
        for record in (*others[:seat], *others[seat + 1 :]):
            mixed = joined(mixed, left[:, record])
        total = total + mixed / len(others)
    return total


def positive_part(values: list[np.ndarray], chances: list[np.ndarray]) -> float:
    """E max(0, sum of independent terms), over all their values."""
    total, chance = np.zeros(1), np.ones(1)
    for value, weight in zip(values, chances, strict=True):
        total = np.add.outer(total, value).ravel()
        chance = np.multiply.outer(chance, weight).ravel()
    return float(chance @ np.maximum(total, 0))
