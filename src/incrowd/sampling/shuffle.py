"""Exactly uniform permutations. Proof: docs/mathematics.md#buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from incrowd.accountant.channels.base import PackedBits
from incrowd.kernels.order import order_of
from incrowd.kernels.threads import in_order
from incrowd.reports.folder import Bucket
from incrowd.sampling.keystream import Keystream


def permutation(count: int, keystream: Keystream) -> npt.NDArray[np.int64]:
    """Return a uniform random order of 0..count-1, shape (count,).

    It sorts independent 64-bit keys. Given that no two keys are equal, every order of them is
    equally likely, so all keys are drawn again until they differ. This is exact, and rarely needed
    (for 10^6 keys about once in 4 * 10^7 times).
    """
    while True:
        if (order := order_of(keystream.words(count))) is not None:
            return order


# Random buckets: shuffling more reports than fit in memory.
#
# Each report goes to a bucket drawn independently; each bucket is shuffled in memory (if it is
# still too large, it is spread over buckets again); then the buckets are concatenated.
#
# Every order of the reports is equally likely: docs/mathematics.md#buckets. The output does not
# show where a bucket ends.


MOST_BUCKETS = 256
BRANCH_WORDS = 2


def branch(keystream: Keystream) -> Keystream:
    """Return a separate stream for one thread.

    It comes from the operating system, unless the given stream is a simulation: then its next 128
    bits are the seed of the branch, so that the speed of threads does not matter.
    """
    if not keystream.simulation:
        return Keystream.from_system()
    words = keystream.words(BRANCH_WORDS).astype("<u8")
    return Keystream.for_simulation(int.from_bytes(words.tobytes(), "little"))


def spread(packed: PackedBits, buckets: int, keystream: Keystream) -> list[PackedBits]:
    """Distribute reports over buckets; every report draws its bucket uniformly.

    packed: uint8, shape (reports, bytes). buckets: a power of two, at most 256, so that the low
    bits of one random byte are exactly uniform.
    """
    assert 0 < buckets <= MOST_BUCKETS and buckets & (buckets - 1) == 0
    words = keystream.words(-(-len(packed) // 8)).astype("<u8")
    drawn = words.view(np.uint8)[: len(packed)] & np.uint8(buckets - 1)
    ordered = np.take(packed, np.argsort(drawn, kind="stable"), axis=0)
    ends = np.cumsum(np.bincount(drawn, minlength=buckets))
    return np.split(ordered, ends[:-1])


# The two passes that randomize and shuffle more answers than fit in memory.
#
# First every batch of answers is randomized and its reports are spread over random buckets; then
# every bucket is shuffled.


FILES = 128  # for all messages in the first pass; spreading a bucket again takes half as many
SHUFFLE_BYTES = 5 << 26  # for a bucket in memory: 8 million reports of 64 bits
ORDER_BYTES = 24  # per report while shuffling: its key, its place, the key in its place

Advance = Callable[[int], object]  # by a number of people
AnswerTables = Iterable[tuple[pa.Table, int]]  # of answers, and by how much each advances
DrawReports = Callable[
    [pa.Table, int, Keystream], list[np.ndarray]
]  # answers, how many came before


class Disk(NamedTuple):
    """The folder of the buckets, and the stack that closes them."""

    folder: Path
    open_files: ExitStack

    def buckets(self, number: int, width: int) -> list[Bucket]:
        """Create empty buckets for reports of `width` bytes."""
        empty = (closing(Bucket(self.folder, width)) for _ in range(number))
        return [self.open_files.enter_context(bucket) for bucket in empty]


class Rows(NamedTuple):
    """What is drawn of each message. width: the bytes of a row.

    counted: whether the rows are counts of cells, which stay in order, or reports, which are
    spread over random buckets.
    """

    width: int
    counted: bool = False

    def cut(self, drawn: np.ndarray, buckets: int, keystream: Keystream) -> list[np.ndarray]:
        """Return the rows of one batch for each bucket: for one only if they are counts."""
        return [drawn] if self.counted else spread(drawn, buckets, keystream)


class _Batch(NamedTuple):
    answers: pa.Table
    before: int  # rows of the file that come before
    read: int
    keystream: Keystream


def spread_answers(
    draw: DrawReports,
    kinds: Sequence[Rows],
    tables: AnswerTables,
    keystream: Keystream,
    disk: Disk,
    done: Advance,
) -> tuple[int, list[list[Bucket]]]:
    """Run the first pass; return the number of rows, and the buckets of each message.

    draw: makes the rows of each message. kinds: what they are. done: called with the amount read
    when a table's reports are in their buckets. Raises what `draw` does.
    """
    number = 1 << max(FILES // len(kinds), 1).bit_length() - 1  # a power of two
    buckets = [disk.buckets(1 if kind.counted else number, kind.width) for kind in kinds]
    rows = 0
    work = partial(_spread_batch, draw, kinds, number)
    for batch, parts in in_order(work, _batches(tables, keystream)):
        for bucket, packed in zip(chain.from_iterable(buckets), parts, strict=True):
            bucket.add(packed)
        rows += batch.answers.num_rows
        done(batch.read)
    return rows, buckets


def _batches(tables: AnswerTables, keystream: Keystream) -> Iterator[_Batch]:
    before = 0
    for table, read in tables:
        yield _Batch(table, before, read, branch(keystream))
        before += table.num_rows


def _spread_batch(
    draw: DrawReports, kinds: Sequence[Rows], number: int, batch: _Batch
) -> tuple[_Batch, list[np.ndarray]]:
    """Return the rows of one batch, for each message and each of its buckets."""
    parts = []
    drawn = draw(batch.answers, batch.before, batch.keystream)
    for kind, packed in zip(kinds, drawn, strict=True):
        parts += kind.cut(packed, number, batch.keystream)
    return batch, parts


def mixed(
    pieces: Iterable[np.ndarray], width: int, keystream: Keystream, disk: Disk
) -> Iterator[np.ndarray]:
    """Shuffle reports of `width` bytes uniformly, in bounded memory."""
    buckets = disk.buckets(FILES, width)
    for packed in pieces:
        for bucket, part in zip(buckets, spread(packed, FILES, keystream), strict=True):
            bucket.add(part)
    yield from shuffled(buckets, keystream, disk, lambda _: None)


def shuffled(
    buckets: list[Bucket], keystream: Keystream, disk: Disk, done: Advance
) -> Iterator[np.ndarray]:
    """Run the second pass: yield the reports of all buckets in uniform order, a bucket at a time.

    done: called with the number of reports of each bucket.
    """
    most = SHUFFLE_BYTES // (ORDER_BYTES + 2 * buckets[0].width)
    small = _small(buckets, most, keystream, disk)
    for packed in in_order(_shuffle, ((bucket, branch(keystream)) for bucket in small)):
        yield packed
        done(len(packed))


def _small(buckets: list[Bucket], most: int, keystream: Keystream, disk: Disk) -> Iterator[Bucket]:
    """Yield the nonempty buckets; those with more than `most` reports are spread again."""
    for bucket in buckets:
        if len(bucket) > most:
            finer = disk.buckets(FILES // 2, bucket.width)
            for packed in bucket.take(most):
                for one, part in zip(finer, spread(packed, len(finer), keystream), strict=True):
                    one.add(part)
            yield from _small(finer, most, keystream, disk)
        elif len(bucket):
            yield bucket


def _shuffle(item: tuple[Bucket, Keystream]) -> np.ndarray:
    bucket, keystream = item
    (packed,) = bucket.take(len(bucket))
    return np.take(packed, permutation(len(packed), keystream), axis=0)
