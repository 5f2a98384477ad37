"""How time grows: with people N, bits L and columns k, over three decades or as far as it goes."""

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure import Row, medians
from bench.whole import estimated, wide_plan, written
from incrowd.accountant.certificates import smallest_noise
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import FREE_BIT, Contribution, Schema
from incrowd.kernels.codes import histogram
from incrowd.kernels.counts import count_bits
from incrowd.sampling.flips import flip_mask
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import randomize_files

SIZES = (10**4, 10**5, 10**6, 10**7)
WIDTHS = (8, 64, 512, 4096, 8192)
COLUMNS = (1, 5, 10, 15, 20)
NUMERATOR = BitFlip.at_least(0.35).numerator


def flips(reports, bits):
    stream = Keystream.from_system()
    return lambda: flip_mask(NUMERATOR, (reports, bits), stream)


def tallies(reports, bits):
    packed = np.random.default_rng(0).integers(0, 256, (reports, bits // 8), np.uint8)
    return lambda: count_bits(packed, bits, machine_code=True)


def joint(columns, reports=10**7):
    packed = np.random.default_rng(0).integers(0, 256, (reports, 8), np.uint8)
    return lambda: histogram(packed, range(0, 3 * columns, 3), machine_code=True)


def noise(exponent, bits=40):
    def calibrate():
        report = lambda flip: Contribution.of(Schema.uniform([FREE_BIT] * bits, flip))  # noqa: E731
        return smallest_noise("blanket", report, 10**exponent, 1.0, 1e-8)

    return calibrate


def curve(what, works, runs=3):
    """One row for each size, with how many times as long as the row above it takes."""
    before = None
    for size, work in works:
        (spent,) = medians([work], runs)
        times = f"{spent / before:.3g} times the row above" if before else ""
        yield Row(f"{what}{size:,}", spent, times)
        before = spent


def files(size, plan, folder):
    """A Parquet file of yes/no answers, and a file for its reports."""
    generator = np.random.default_rng(0)
    columns = {f"q{i}": generator.random(size) < 0.3 for i in range(8)}
    answers = folder / f"answers-{size}.parquet"
    pq.write_table(pa.table(columns), answers)
    return lambda: randomize_files(plan, answers, folder / f"reports-{size}.parquet")


def estimates(plan):
    """Each file is there while it is measured."""
    for n in SIZES:
        with written(plan, n) as path:
            yield n, partial(estimated, plan, path)


def rows():
    yield from curve("flips of 64-bit reports, N = ", ((n, flips(n, 64)) for n in SIZES))
    widths = ((bits, flips(2**26 // bits, bits)) for bits in WIDTHS)
    yield from curve("flips of 67 million bits, L = ", widths)
    yield from curve("tally of 64-bit reports, N = ", ((n, tallies(n, 64)) for n in SIZES))
    widths = ((bits, tallies(2**28 // bits, bits)) for bits in WIDTHS)
    yield from curve("tally of 268 million bits, L = ", widths)
    yield from curve("joint histogram of 10^7 reports, k = ", ((k, joint(k)) for k in COLUMNS))
    plan = wide_plan(8)
    with tempfile.TemporaryDirectory() as folder:
        made = ((n, files(n, plan, Path(folder))) for n in SIZES)
        yield from curve("randomize a file of 8 yes/no answers, N = ", made, runs=1)
    yield from curve("estimate 64 tables from a file, N = ", estimates(wide_plan(64)))
    calibrated = ((10**e, noise(e)) for e in (4, 5, 6, 7, 8, 9))
    yield from curve("noise for 40 yes/no questions, N = ", calibrated, runs=1)
