"""Cells: a person sends the number of each bit of her record that is set after flipping.

A record of c bits of which few are set makes about 1 + q c reports. No zero travels: how many
people did not set a bit follows from who took part, which is public.
"""

from __future__ import annotations

import numpy as np

from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.sampling.flip import packed_width
from incrowd.sampling.gaps import flip_positions
from incrowd.sampling.keystream import Keystream

BATCH_FLIPS = 1 << 22
BATCH_BITS = 1 << 60


def set_bits(
    rows: np.ndarray,
    places: np.ndarray,
    shape: tuple[int, int],
    noise: BitFlip,
    keystream: Keystream,
) -> np.ndarray:
    """The numbers of the bits that are set after flipping, person after person.

    rows, places: the set bits of the records, sorted by row then place, each once. shape: people
    and bits of a record. Returns int64 from 0 to bits - 1, each of which is one report.
    """
    people, bits = shape
    each = max(1, min(BATCH_BITS // bits, BATCH_FLIPS * DENOMINATOR // (noise.numerator * bits)))
    found = [np.zeros(0, np.int64)]
    for start in range(0, people, each):
        size = min(each, people - start)
        first, last = np.searchsorted(rows, [start, start + size])
        given = (rows[first:last] - start) * bits + places[first:last]
        flipped = flip_positions(noise.numerator, size * bits, keystream)
        found.append(np.setxor1d(given, flipped, assume_unique=True) % bits)
    return np.concatenate(found)


def as_reports(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers as packed reports of constant length: uint8, shape (reports, ceil(bits / 8))."""
    whole = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(whole[:, : packed_width(bits)])
