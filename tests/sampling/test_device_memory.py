"""Permanent responses: what is drawn once for a device, a question and an answer, and repeated."""

import math

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import UsageError
from incrowd.sampling.permanent import remembered, remembering
from tests.conftest import DRINKS, MEMOIZED, choice_toml, drinking, load_survey, survey_toml

KEY, OTHER_KEY = incrowd.DeviceKey(bytes(32)), incrowd.DeviceKey(bytes([1]) * 32)
ROWS = 100


def remembered_bits(folder, said=MEMOIZED, key=KEY, rows=ROWS, crowd=ROWS, table=None, shift=0):
    """The permanent bits of some people and the true ones, shape (rows, bits)."""
    plan = incrowd.plan(load_survey(folder, survey_toml(choice_toml(said), crowd=crowd)))
    table = drinking(rows) if table is None else table
    ids = pa.array([str(i + shift) for i in range(rows)])
    table = pa.table({"id": ids, "drinks": table["drinks"]})
    message = plan.messages[0]
    encoded = EncodedAnswers.of(plan.survey, table)
    truth = np.zeros((rows, 3), np.uint8)
    truth[np.arange(rows), encoded.encoded["drinks"].places] = 1
    records = np.packbits(truth, axis=1, bitorder="little")
    memory = remembering(plan, rows, ids.to_pylist(), key)
    found = remembered(plan, message, records, memory)
    return np.unpackbits(found, axis=1, count=3, bitorder="little"), truth


def test_the_same_device_and_answer_repeat_the_same_bits(tmp_path):
    """In a later round by another plan (of another crowd) of the same survey too."""
    first, truth = remembered_bits(tmp_path)
    again, _ = remembered_bits(tmp_path)
    later, _ = remembered_bits(tmp_path, crowd=ROWS - 10)
    assert np.array_equal(first, again) and np.array_equal(first, later)
    assert 0.25 < np.mean(first != truth) < 0.55  # q = .4; 5 standard errors of 300 bits


@pytest.mark.parametrize("change", ["key", "id", "noise"])
def test_another_device_or_noise_draws_anew(change, tmp_path):
    """Flips agree as independent ones do: with q = q' = .4 in .52 of 300 bits, +- 5 standard
    errors. With one number and two thresholds the flips of the smaller noise would be among
    those of the larger."""
    first, truth = remembered_bits(tmp_path)
    changes = {"key": {"key": OTHER_KEY}, "id": {"shift": ROWS}, "noise": {}}
    said = MEMOIZED.replace("0.8", "0.7") if change == "noise" else MEMOIZED
    other, _ = remembered_bits(tmp_path, said, **changes[change])
    flips, others = first != truth, other != truth
    q = 0.35 if change == "noise" else 0.4
    agree = 0.4 * q + 0.6 * (1 - q)
    assert abs(np.mean(flips == others) - agree) < 5 * math.sqrt(agree * (1 - agree) / 300)
    assert np.any(others & ~flips)


def test_another_answer_draws_anew(tmp_path):
    """Of those who change their answer nearly all change bits that both answers leave alone."""
    table = drinking(ROWS)
    first, truth = remembered_bits(tmp_path, table=table)
    moved = [DRINKS[(DRINKS.index(drink) + 1) % 3] for drink in table["drinks"].to_pylist()]
    other, moved_truth = remembered_bits(tmp_path, table=pa.table({"drinks": moved}))
    spare = (truth == 0) & (moved_truth == 0)
    assert spare.sum() == ROWS
    assert abs(np.mean(first[spare] == other[spare]) - 0.52) < 5 * math.sqrt(0.52 * 0.48 / ROWS)


def test_rounds_repeat_the_permanent_bits_and_only_those(tmp_path):
    """One-time: two rounds send the same reports. Two stages: the instantaneous one is new."""
    for said, same in ((MEMOIZED, True), (f"{MEMOIZED}, one_if_zero = 0.2, one_if_one = 0.8", 0)):
        plan = incrowd.plan(load_survey(tmp_path, survey_toml(choice_toml(said), crowd=ROWS)))
        table = drinking(ROWS).select(["id", "drinks"])
        rounds = [incrowd.randomize(plan, table, id="id", device_key=KEY)[0] for _ in range(2)]
        first, second = (np.sort(found.packed[:, 0]) for found in rounds)
        assert np.array_equal(first, second) == bool(same)
    fresh = [incrowd.randomize(plan, table, id="id", device_key=OTHER_KEY)[0] for _ in range(2)]
    assert not np.array_equal(*(np.sort(found.packed[:, 0]) for found in fresh))


def test_permanent_responses_need_a_key_and_ids(tmp_path):
    plan = incrowd.plan(load_survey(tmp_path, survey_toml(choice_toml(MEMOIZED), crowd=2)))
    table = drinking(3).select(["id", "drinks"])
    with pytest.raises(
        UsageError, match=r"device_key.*permanent response to .drinks. needs a device key"
    ):
        incrowd.randomize(plan, table, id="id")
    with pytest.raises(UsageError, match=r"id: is missing.*several rows mean several devices"):
        incrowd.randomize(plan, table, device_key=KEY)
    assert len(incrowd.randomize(plan, table.slice(0, 1), device_key=KEY)[0]) == 1
