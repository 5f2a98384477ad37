"""Messages of cells: the law of what is sent, and what is told of it."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import TableError
from incrowd.reports.tally import cell_counts
from incrowd.sampling import records
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import randomize_message
from incrowd.sampling.records import as_reports, in_one_of, set_bits
from tests.conftest import cells_survey, examples, planned

RARE = 1e-6  # false alarms


# --- the law of what is sent -----------------------------------------------------------------


def fits(seen, expected):
    """Pearson's chi-square at a false-alarm rate of 1e-6; every expected count is over 5."""
    assert expected.min() > 5
    statistic = ((seen - expected) ** 2 / expected).sum()
    return statistic < chi2.isf(RARE, len(seen) - 1)


def test_three_bits_have_the_exact_law():
    """300,000 times three bits of which the second is set: all eight patterns. Wrong: 3% more
    noise, and flips that only add."""
    q, times = 0.25, 300_000
    given = 3 * np.arange(times) + 1
    stream = Keystream.for_simulation(1)
    shape = (1, 3 * times)
    found = set_bits(np.zeros(times, int), given, shape, BitFlip.at_least(q), stream)
    bits = np.zeros(3 * times, int)
    bits[found] = 1
    seen = np.bincount(bits.reshape(-1, 3) @ [4, 2, 1], minlength=8)

    def law(q, set_again=0.0):
        chance = (q, (1 - q) + q * set_again, q)
        pairs = [[(1 - c), c] for c in chance]
        return times * np.array([np.prod(cell) for cell in itertools.product(*pairs)])

    assert fits(seen, law(q))
    assert not fits(seen, law(1.03 * q))
    assert not fits(seen, law(q, set_again=0.05))


@pytest.mark.slow
def test_people_come_one_after_the_other_with_their_own_bits():
    """Two people, two bits, the first of the first person set: the numbers of all set bits in
    turn, 1,500 times, against the law by listing 16 outcomes. Wrong: the person who set the bit
    is the second."""
    q, times = 0.3, 1500
    stream = Keystream.for_simulation(2)
    rows, places = np.array([0]), np.array([0])
    draws = (set_bits(rows, places, (2, 2), BitFlip.at_least(q), stream) for _ in range(times))
    seen = Counter(tuple(found.tolist()) for found in draws)

    def law(record):
        found = Counter()
        for shown_bits in itertools.product([0, 1], repeat=4):
            flips = sum(s != r for s, r in zip(shown_bits, record, strict=True))
            sent = tuple(i % 2 for i in range(4) if shown_bits[i])
            found[sent] += times * q**flips * (1 - q) ** (4 - flips)
        return found

    right, wrong = law((1, 0, 0, 0)), law((0, 0, 0, 1))
    counts = np.array([seen[key] for key in right])
    assert counts.sum() == times
    assert fits(counts, np.array(list(right.values())))
    assert not fits(counts, np.array([wrong[key] for key in right]))


@pytest.mark.parametrize(("flips", "bits"), [(3, 1 << 60), (1 << 22, 40), (1 << 22, 1 << 60)])
def test_batches_neither_lose_nor_repeat_a_person(flips, bits, monkeypatch):
    """With next to no noise exactly the given bits come out, in order, however they are cut."""
    monkeypatch.setattr(records, "BATCH_FLIPS", flips)
    monkeypatch.setattr(records, "BATCH_BITS", bits)
    rows, places = np.repeat(np.arange(30), 2), np.tile([2, 17], 30)
    found = set_bits(rows, places, (30, 20), BitFlip(1), Keystream.for_simulation(3))
    assert np.array_equal(found, places)


def test_batches_have_the_same_law(monkeypatch):
    """40 people in batches of three: the share of set bits, 5 standard errors."""
    monkeypatch.setattr(records, "BATCH_BITS", 3 * 500)
    stream = Keystream.for_simulation(4)
    found = set_bits(np.zeros(0, int), np.zeros(0, int), (40, 500), BitFlip.at_least(0.2), stream)
    assert abs(len(found) / 20_000 - 0.2) < 5 * math.sqrt(0.16 / 20_000)
    assert found.min() >= 0 and found.max() < 500


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
@examples(100)
def test_a_flip_of_a_set_bit_clears_it(some, others):
    arrays = [np.array(sorted(numbers), np.int64) for numbers in (some, others)]
    assert in_one_of(*arrays).tolist() == sorted(some ^ others)


@pytest.mark.parametrize("bits", [2, 8, 9, 256, 257, 1 << 16, (1 << 16) + 1])
def test_reports_have_one_length_and_hold_the_number(bits):
    numbers = np.array([0, 1, bits // 2, bits - 1])
    width = (bits - 1).bit_length()
    packed = as_reports(numbers, width)
    assert packed.shape == (4, -(-width // 8)) and packed.dtype == np.uint8
    assert [int.from_bytes(row.tobytes(), "little") for row in packed] == numbers.tolist()


# --- what is told of it ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    plan = incrowd.plan(cells_survey(list("abcdefghij")))
    generator = np.random.default_rng(5)
    table = pa.table({"home": generator.choice(list("abc"), 2000, p=[0.6, 0.3, 0.1])})
    return plan, table, incrowd.randomize(plan, table, simulation_seed=6)


def test_the_number_of_people_is_told_and_kept(small, tmp_path):
    """No zero travels, so that the number of reports tells nothing of how many took part."""
    plan, _, reports = small
    (message,) = plan.messages
    assert (message.cells, message.copies, message.bits, message.record_bits) == (
        *(True, 1, 4, 10),
    )
    assert reports[0].people == 2000 and len(reports[0]) > 2000
    path = tmp_path / "r.parquet"
    incrowd.save_reports(reports, path)
    assert incrowd.load_reports(path)[0].people == 2000
    streamed = incrowd.estimate(plan, incrowd.stream_reports(path))
    whole = incrowd.estimate(plan, reports)
    assert streamed.crowd == whole.crowd == 2000
    assert np.array_equal(streamed.tables[0].estimate, whole.tables[0].estimate)


def test_parts_of_a_file_count_the_people_once(small, tmp_path, monkeypatch):
    plan, _, reports = small
    monkeypatch.setattr("incrowd.reports.collection.group_rows", lambda width: 500)
    incrowd.save_reports(reports, tmp_path / "r.parquet")
    parts = list(incrowd.stream_reports(tmp_path / "r.parquet"))
    assert len(parts) > 4
    assert incrowd.estimate(plan, parts).crowd == 2000
    assert incrowd.estimate(plan, parts[::-1]).crowd == 2000


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8])
def test_cells_are_counted_at_any_width(width):
    """Of the same numbers as Python counts, at every other row of a wider array."""
    generator, cells = np.random.default_rng(width), 200
    numbers = [*range(0, 190, 3), 199, 199, *(300, 256**width - 1) * (width > 1)]
    rows = [list(number.to_bytes(width, "little")) for number in numbers]
    packed = generator.integers(0, 256, (2 * len(rows), width + 1), np.uint8)
    packed[::2, :width] = rows
    counted, expected = cell_counts(packed[::2, :width], cells), Counter(numbers)
    assert counted.tolist() == [expected[cell] for cell in range(cells)]


def test_numbers_that_are_no_bit_are_rejected(small):
    plan, _, reports = small
    packed = reports[0].packed.copy()
    packed[7] = 10
    found = incrowd.estimate(plan, replace(reports[0], packed=packed))
    assert (found.rejected, found.reports) == (1, len(packed) - 1)
    with pytest.raises(incrowd.ReportsError, match="how many people took part"):
        incrowd.estimate(plan, replace(reports[0], people=None))


def test_the_order_of_the_reports_is_lost(small):
    """The first half of the people say a, the others b: 5 standard errors of the first half of the
    reports. The wrong variant, before the shuffle, is far away."""
    plan, _, _ = small
    table = pa.table({"home": ["a"] * 1000 + ["b"] * 1000})

    def gap(packed):
        ones = packed[:, 0] == 0
        half = len(ones) // 2
        return abs(ones[:half].mean() - ones[half:].mean()) / np.sqrt(ones.var() * 4 / len(ones))

    assert gap(incrowd.randomize(plan, table, simulation_seed=7)[0].packed) < 5
    people, stream = EncodedAnswers.of(plan.survey, table), Keystream.for_simulation(7)
    assert gap(randomize_message(plan, plan.messages[0], people, stream)) > 5


# --- wrong use -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_table_with_another_question_is_refused():
    questions = [
        {"id": "home", "type": "choice", "options": list("abc"), "cells": True},
        {"id": "old", "type": "yesno"},
    ]
    plan = planned(questions, crowd=2000)
    table = pa.table({"home": ["a", "b"] * 1000, "old": [True, False] * 1000})
    reports = incrowd.randomize(plan, table, simulation_seed=12)
    assert [message.cells for message in plan.messages] == [False, True]
    for use in (
        lambda: incrowd.estimate(plan, reports, tables=[("home", "old")]),
        lambda: incrowd.compare(plan, reports, "home", "old"),
        lambda: incrowd.postprocess(plan, reports, tables=[("old", "home")]),
    ):
        with pytest.raises(TableError, match=r"what travels together: \(old\), \(home\)"):
            use()
