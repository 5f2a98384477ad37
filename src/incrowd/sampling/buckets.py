"""Secretly random buckets: how more reports than fit in memory come into one uniform order.

Each report goes to a bucket drawn for it alone; each bucket is shuffled in memory (one that is
still too large is spread over buckets again); then the buckets follow one another.

Every order of the reports is equally likely: docs/mathematics.md#buckets. Nothing in the output
says where a bucket ends.
"""

from __future__ import annotations

import numpy as np

from incrowd.channels.base import Packed
from incrowd.sampling.keystream import Keystream

MOST_BUCKETS = 256
BRANCH_WORDS = 2


def branch(keystream: Keystream) -> Keystream:
    """A stream of its own for one thread.

    From the operating system, unless the given stream is a simulation: then its next 128 bits are
    the seed of the branch, so that it does not matter which thread is faster.
    """
    if not keystream.simulation:
        return Keystream.from_system()
    words = keystream.words(BRANCH_WORDS).astype("<u8")
    return Keystream.for_simulation(int.from_bytes(words.tobytes(), "little"))


def spread(packed: Packed, buckets: int, keystream: Keystream) -> list[Packed]:
    """The reports of each bucket; every report draws its bucket, all equally likely.

    packed: uint8, shape (reports, bytes). buckets: a power of two, at most 256, so that the low
    bits of one random byte are exactly uniform.
    """
    assert 0 < buckets <= MOST_BUCKETS and buckets & (buckets - 1) == 0
    words = keystream.words(-(-len(packed) // 8)).astype("<u8")
    drawn = words.view(np.uint8)[: len(packed)] & np.uint8(buckets - 1)
    ordered = np.take(packed, np.argsort(drawn, kind="stable"), axis=0)
    ends = np.cumsum(np.bincount(drawn, minlength=buckets))
    return np.split(ordered, ends[:-1])
