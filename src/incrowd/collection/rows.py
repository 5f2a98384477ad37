"""Rows of bytes that need not fit in memory: those that repeat, and how many each message has."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

MESSAGES = 1 << 16  # numbers of two bytes
CHUNK_BYTES = 1 << 24
PASS_REPORTS = 1 << 23  # fingerprints in memory at a time


def repeated(body: np.ndarray) -> np.ndarray:
    """Return the indices, ascending, of rows that equal an earlier row.

    body: uint8, shape (reports, bytes), perhaps memory-mapped. Rows are sorted by fingerprints
    with secret random multipliers, and compared in full where fingerprints agree. Many rows take
    several passes, so that memory is bounded.
    """
    words = -(-body.shape[1] // 8)
    multipliers = np.frombuffer(os.urandom(8 * words), np.uint64) | np.uint64(1)
    passes = 1 + len(body) // PASS_REPORTS
    places = [_repeated(body, multipliers, number, passes) for number in range(passes)]
    return np.sort(np.concatenate(places))


def chunks(body: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield rows with the index of the first one, some megabytes at a time."""
    rows = max(CHUNK_BYTES // body.shape[1], 1)
    return ((at, body[at : at + rows]) for at in range(0, len(body), rows))


def _repeated(body: np.ndarray, multipliers: np.ndarray, number: int, passes: int) -> np.ndarray:
    """Return the repeats among rows whose fingerprint belongs to one pass."""
    prints, places = [], []
    for at, rows in chunks(body):
        fingerprints = _fingerprints(rows, multipliers)
        chosen = np.flatnonzero(fingerprints % np.uint64(passes) == number)
        prints.append(fingerprints[chosen])
        places.append(chosen + at)
    mark, place = np.concatenate(prints), np.concatenate(places)
    order = np.argsort(mark, kind="stable")
    mark, place = mark[order], place[order]
    same = np.flatnonzero(mark[1:] == mark[:-1])
    repeats, seen, last = [], set[bytes](), None
    for at in same.tolist():
        if mark[at] != last:
            last, seen = mark[at], {body[place[at]].tobytes()}
        row = body[place[at + 1]].tobytes()
        if row in seen:
            repeats.append(int(place[at + 1]))
        seen.add(row)
    return np.array(repeats, np.int64)


def _fingerprints(rows: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    padded = np.zeros((len(rows), 8 * len(multipliers)), np.uint8)
    padded[:, : rows.shape[1]] = rows
    products = padded.view(np.uint64) @ multipliers
    return np.asarray(products ^ products >> np.uint64(32))


def message_counts(rows: np.ndarray) -> npt.NDArray[np.int64]:
    """Return the number of rows of each message, whose number is their first two bytes.

    rows: uint8, shape (reports, at least 2), perhaps memory-mapped. Shape (65536,).
    """
    counts = np.zeros(MESSAGES, np.int64)
    for _, some in chunks(rows):
        counts += np.bincount(some[:, 0].astype(np.int64) << 8 | some[:, 1], minlength=MESSAGES)
    return counts
