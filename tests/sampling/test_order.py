"""The order of what is streamed: uniform, whatever came when, in buckets of any size.

Statistical tests use fixed seeds; each states how often it would fail by chance, and rejects a
wrong variant.
"""

from contextlib import ExitStack
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2

from incrowd.kernels import threads
from incrowd.sampling import shuffle
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import Disk, branch, shuffled, spread
from tests.sampling.conftest import by_batch

ALARM = 1e-6


def by_input_order(packed, buckets, keystream):
    """The wrong variant: which bucket a report goes to follows from where it stands."""
    return np.array_split(packed, buckets)


# --- the order -------------------------------------------------------------------------------


def order(count, batches, buckets, folder, keystream, choose=spread):
    """Where reports 0 to count - 1 stand after both passes: they carry their number."""
    numbers = np.arange(count, dtype="<u4").view(np.uint8).reshape(count, 4)
    with ExitStack() as open_files:
        disk = Disk(folder, open_files)
        made = disk.buckets(buckets, 4)
        for batch in np.array_split(numbers, batches):
            for bucket, packed in zip(made, choose(batch, buckets, keystream), strict=True):
                bucket.add(packed)
        pieces = list(shuffled(made, keystream, disk, lambda _: None))
    return np.concatenate(pieces).view("<u4").ravel()


def uniform(folder, choose):
    """Chi-square over all 24 orders of four reports, 480 draws: whether they look uniform."""
    stream, seen = Keystream.for_simulation(1), dict.fromkeys(permutations(range(4)), 0)
    for _ in range(480):
        seen[tuple(order(4, 2, 2, folder, stream, choose).tolist())] += 1
    statistic = sum((count - 20) ** 2 / 20 for count in seen.values())
    return statistic < chi2.isf(ALARM, 23)


@pytest.mark.slow
@pytest.mark.parametrize("most", [100, pytest.param(1, marks=pytest.mark.slow)])
def test_every_order_is_equally_likely(tmp_path, monkeypatch, most):
    """Also where buckets with more than one report are spread again. False alarm 1e-6. Wrong:
    the buckets follow the input, report by report or batch by batch."""
    monkeypatch.setattr(threads, "MOST_THREADS", 1)
    monkeypatch.setattr(shuffle, "FILES", 4)
    monkeypatch.setattr(shuffle, "SHUFFLE_BYTES", most * (shuffle.ORDER_BYTES + 8))
    assert uniform(tmp_path, spread)
    if most > 1:
        assert not uniform(tmp_path, by_input_order)
        assert not uniform(tmp_path, by_batch(10_000))


def test_a_place_tells_nothing_of_the_input(tmp_path):
    """20,000 numbered reports in 40 batches and 16 buckets: the correlation of the place in the
    output with the place in the input, times sqrt(n), is a standard normal number: 5 is exceeded
    once in 1.7 million times. Wrong: buckets by input order."""
    stream = Keystream.for_simulation(2)

    def score(choose):
        places = order(20_000, 40, 16, tmp_path, stream, choose)
        assert sorted(places) == list(range(20_000))
        return np.corrcoef(places, np.arange(20_000))[0, 1] * np.sqrt(20_000)

    assert abs(score(spread)) < 5
    assert score(by_batch(40)) > 5


def test_buckets_are_equally_likely():
    """160,000 reports in 16 buckets, chi-square at 1e-6. Wrong: a byte modulo 12 for 12 buckets,
    of which four get 22 of 256 reports and eight 21; such a number is refused."""

    def even(sizes):
        expected = sum(sizes) / len(sizes)
        statistic = sum((size - expected) ** 2 / expected for size in sizes)
        return statistic < chi2.isf(ALARM, len(sizes) - 1)

    packed = np.arange(160_000, dtype="<u4").view(np.uint8).reshape(-1, 4)
    parts = spread(packed, 16, Keystream.for_simulation(3))
    assert np.array_equal(np.sort(np.concatenate(parts).view("<u4").ravel()), np.arange(160_000))
    assert even(list(map(len, parts)))
    drawn = Keystream.for_simulation(3).words(20_000).view(np.uint8)
    assert not even(np.bincount(drawn % 12).tolist())
    with pytest.raises(AssertionError):
        spread(packed, 12, Keystream.for_simulation(3))


def test_branches_of_a_simulation_repeat_and_real_ones_do_not():
    one, other = (
        [branch(stream).words(2).tolist() for _ in range(2)]
        for stream in (Keystream.for_simulation(5), Keystream.for_simulation(5))
    )
    assert one == other and one[0] != one[1]
    real = Keystream.from_system()
    assert not branch(real).simulation
    assert branch(real).words(2).tolist() != branch(real).words(2).tolist()
