"""Sealed reports that stand in a release more than once: an honest shuffler sends none."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

CHUNK_BYTES = 1 << 24
PASS_REPORTS = 1 << 23  # whose fingerprints are in memory at a time


def repeated(body: np.ndarray) -> np.ndarray:
    """The places, rising, of rows that are equal to one before them.

    body: uint8, shape (reports, bytes), perhaps a file in memory's clothing. Rows are sorted by
    fingerprints with secret random multipliers, and compared themselves where two agree; of many
    rows in several passes, so that memory is bounded.
    """
    words = -(-body.shape[1] // 8)
    multipliers = np.frombuffer(os.urandom(8 * words), np.uint64) | np.uint64(1)
    passes = 1 + len(body) // PASS_REPORTS
    found = [_repeated(body, multipliers, number, passes) for number in range(passes)]
    return np.sort(np.concatenate(found))


def chunks(body: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Rows with the place of the first of them, some megabytes at a time."""
    rows = max(CHUNK_BYTES // body.shape[1], 1)
    return ((at, body[at : at + rows]) for at in range(0, len(body), rows))


def _repeated(body: np.ndarray, multipliers: np.ndarray, number: int, passes: int) -> np.ndarray:
    """Those whose fingerprint belongs to one pass."""
    prints, places = [], []
    for at, rows in chunks(body):
        made = _fingerprints(rows, multipliers)
        chosen = np.flatnonzero(made % np.uint64(passes) == number)
        prints.append(made[chosen])
        places.append(chosen + at)
    mark, place = np.concatenate(prints), np.concatenate(places)
    order = np.argsort(mark, kind="stable")
    mark, place = mark[order], place[order]
    same = np.flatnonzero(mark[1:] == mark[:-1])
    found, seen, last = [], set[bytes](), None
    for at in same.tolist():
        if mark[at] != last:
            last, seen = mark[at], {body[place[at]].tobytes()}
        row = body[place[at + 1]].tobytes()
        if row in seen:
            found.append(int(place[at + 1]))
        seen.add(row)
    return np.array(found, np.int64)


def _fingerprints(rows: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    padded = np.zeros((len(rows), 8 * len(multipliers)), np.uint8)
    padded[:, : rows.shape[1]] = rows
    made = padded.view(np.uint64) @ multipliers
    return np.asarray(made ^ made >> np.uint64(32))
