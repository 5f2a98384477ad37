"""How long the hot loops take, beside what numpy offers for the same work."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from hashlib import sha256

import numpy as np

from bench.measure import row
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.kernels.axes import transform
from incrowd.kernels.codes import histogram
from incrowd.kernels.counts import count_bits
from incrowd.kernels.lanes import decide_words
from incrowd.sampling.flips import flip_mask, fraction_digits
from incrowd.sampling.keystream import Keystream

RUNS = 9
FLIPS = 2**21
REPORTS = 2**24
TEN_BITS = range(0, 60, 6)
AXES = 20
KEYSTREAM_WORDS = 7  # that 64 lanes need on average, about
PIECE = 2**15


def numerator(q):
    return BitFlip.at_least(q).numerator


def flips(stream, q=0.35):
    return decide_words(fraction_digits(numerator(q)), FLIPS, stream.words, True)


def flips_in_one_line(q=0.35, piece=2**17):
    generator = np.random.default_rng()
    for _ in range(FLIPS // piece):
        np.packbits(generator.random((piece, 64)) < q, axis=1)


def bits_as_numbers(packed):
    """Unpack, choose, weigh, count: a piece at a time, as one would without a kernel."""
    weights = 1 << np.arange(len(TEN_BITS))[::-1]
    for piece in np.array_split(packed, 64):
        bits = np.unpackbits(piece, axis=1, bitorder="little")[:, TEN_BITS]
        np.bincount(bits @ weights, minlength=1 << len(TEN_BITS))


def along_axes(matrices, tensor):
    def along(tensor, axis_and_matrix):
        axis, matrix = axis_and_matrix
        return np.moveaxis(np.tensordot(matrix, tensor, (1, axis)), 0, axis)

    return reduce(along, enumerate(matrices), tensor)


def bare(stream):
    """As many words of keystream as the flips take, unused: the limit."""
    for _ in range(FLIPS * KEYSTREAM_WORDS // PIECE):
        stream.words(PIECE)


def flip_rows():
    stream = Keystream.from_system()
    yield (
        f"flips, q = .35, {FLIPS:,} reports of 64 bits, one core, AES included",
        partial(flips, stream),
        f"the bare keystream, {KEYSTREAM_WORDS} words for 64 flips",
        partial(bare, stream),
        "",
    )
    yield (
        f"flips, q = .35, {FLIPS:,} reports of 64 bits, one core, AES included",
        partial(flips, stream),
        "numpy in one line, not cryptographic, not exact",
        flips_in_one_line,
        "at least 8",
    )
    yield (
        f"flips, q = .001, {FLIPS:,} reports of 64 bits",
        partial(flip_mask, numerator(0.001), (FLIPS, 64), stream),
        "q = .35",
        partial(flips, stream),
        "at least 3",
    )


def in_two_threads(work, halves):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, halves))


def core_rows(packed):
    """What two cores of this machine can gain at most: for calculations, and for memory."""
    halves = np.array_split(packed.reshape(-1).view(np.uint64), 2)
    for what, work in (("SHA-256", sha256), ("np.sum", np.sum)):
        yield (
            f"the machine itself: {what} of {packed.nbytes >> 20} MiB, two cores",
            partial(in_two_threads, work, halves),
            "one core",
            partial(lambda work: [work(half) for half in halves], work),
            "",
        )


def tally_rows(packed):
    bits = 8 * packed.shape[1]
    cores = {threads: partial(count_bits, packed, bits, threads, True) for threads in (1, 2)}
    what = f"set bits of {len(packed):,} reports of {bits} bits"
    words = packed.reshape(-1).view(np.uint64)
    yield f"{what}, one core", cores[1], "np.sum of the same bytes", words.sum, "at least .30"
    yield f"{what}, two cores", cores[2], "one core", cores[1], "at least 1.6"


def joint_rows(packed):
    cores = {threads: partial(histogram, packed, TEN_BITS, threads, True) for threads in (1, 2)}
    what = f"10 bits of {len(packed):,} reports of 64, counted jointly"
    plainly = partial(bits_as_numbers, packed)
    yield f"{what}, one core", cores[1], "unpackbits, bincount", plainly, ""
    most = f"at most {1e3 * len(packed) / 1e8:.0f} ms (100 million/s)"
    yield f"{what}, two cores", cores[2], "one core", cores[1], most


def axis_rows():
    generator = np.random.default_rng(0)
    matrices = generator.random((AXES, 2, 2))
    tensor = generator.random((2,) * AXES)
    yield (
        f"a 2 x 2 matrix along each of {AXES} axes",
        partial(transform, matrices, tensor, True),
        "tensordot axis by axis",
        partial(along_axes, matrices, tensor),
        "",
    )


def rows():
    """Every measurement."""
    generator = np.random.default_rng(0)
    packed = generator.integers(0, 256, (REPORTS, 8), dtype=np.uint8)
    narrow = packed.reshape(-1)[: REPORTS * 5].reshape(-1, 5)
    tallies = core_rows(packed), tally_rows(packed), tally_rows(narrow)
    pieces = (flip_rows(), *tallies, joint_rows(packed), axis_rows())
    for piece in pieces:
        for what, work, beside, peer, bar in piece:
            yield row(what, work, beside, peer, RUNS, bar)
