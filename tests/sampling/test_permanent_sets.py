"""Permanent responses of cells: their law, and what repeats them."""

import hashlib
import itertools
import math
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.encoding.records import EncodedAnswers
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import CHUNK_NUMBERS, DeviceKey, permanent_set, remembering
from incrowd.sampling.randomize import randomize_message
from tests.conftest import grouped
from tests.oracles import wire
from tests.sampling.conftest import FALSE_ALARM

KEY = DeviceKey(bytes(range(32)))
NOISE = BitFlip.at_least(0.25)
OPTIONS = list("abcdefgh")


def devices(number):
    return [DeviceKey(hashlib.sha256(b"%d" % i).digest()) for i in range(number)]


def drawn(key=KEY, chosen=(1,), bits=64, noise=NOISE, series="s", question="q", most=None):
    found = permanent_set(key, np.array(chosen, int), bits, noise, series, question, most=most)
    return tuple(found.tolist())


# --- one device ------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [64, 12, 9])
def test_the_numbers_are_those_of_the_protocol(most):
    """Read a second time from the document, by cryptography's own AES."""
    for chosen, question in [((), "q"), ((5, 63), "Straße"), ((0,), "")]:
        _, found = wire.permanent_set(
            KEY.secret, "s", [question], chosen, 64, NOISE.numerator, most
        )
        assert drawn(chosen=chosen, question=question, most=most) == tuple(found)


@pytest.mark.parametrize("bits", [CHUNK_NUMBERS - 1, CHUNK_NUMBERS, 2 * CHUNK_NUMBERS + 3])
def test_numbers_are_those_of_one_stream_however_many_are_drawn_at_once(bits):
    """Oracle: the document's, all at once."""
    rare = BitFlip.at_least(0.001)
    _, found = wire.permanent_set(KEY.secret, "s", ["q"], (1,), bits, rare.numerator, bits)
    assert drawn(bits=bits, noise=rare) == tuple(found)


def test_a_set_of_many_cells_takes_little_memory():
    """4 million numbers of four bytes are 16 MB. A first call fills what stays in memory."""
    drawn(bits=1 << 16)
    tracemalloc.start()
    drawn(bits=1 << 22, noise=BitFlip.at_least(1e-5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 1024**2


def test_the_same_device_and_answer_give_the_same_set():
    assert drawn() == drawn() and drawn(most=64) == drawn()
    assert drawn(most=15) == drawn(most=15) and len(drawn(most=15)) <= 15


@pytest.mark.parametrize(
    "other",
    [
        {"key": DeviceKey(bytes(32))},
        {"series": "sq", "question": ""},  # the same text, cut elsewhere
        {"question": "q1", "chosen": ()},
        {"chosen": (2,)},
        {"chosen": (1, 2)},
    ],
)
def test_anything_else_draws_anew(other):
    """Flips of 64 bits agree by chance with probability (5/8)^64 < 1e-13."""
    changed = set(drawn()) ^ set(other.get("chosen", (1,))) ^ {1}
    assert set(drawn(**other)) != changed


def law(q, chosen, bits):
    """The chance of every set, by listing."""
    found = {}
    for shown in itertools.product([0, 1], repeat=bits):
        flips = sum(s != (i in chosen) for i, s in enumerate(shown))
        key = tuple(i for i in range(bits) if shown[i])
        found[key] = q**flips * (1 - q) ** (bits - flips)
    return found


def fits(seen, chances):
    """Pearson's chi-square at a false-alarm rate of 1e-6."""
    assert set(seen) <= set(chances) and min(chances.values()) * sum(seen.values()) > 5
    times = sum(seen.values())
    square = sum((seen.get(s, 0) - times * p) ** 2 / (times * p) for s, p in chances.items())
    return square < chi2.isf(FALSE_ALARM, len(chances) - 1)


def seen_of(**given):
    found = {}
    for key in devices(12_000):
        one = drawn(key, **given)
        found[one] = found.get(one, 0) + 1
    return found


@pytest.mark.slow
def test_sets_have_the_exact_law():
    """Of 12,000 devices. Wrong: a tenth more noise."""
    seen = seen_of(chosen=(1,), bits=3)
    assert fits(seen, law(0.25, {1}, 3))
    assert not fits(seen, law(0.275, {1}, 3))


@pytest.mark.slow
def test_where_there_is_no_room_the_law_is_that_of_the_sets_which_fit():
    """Wrong: the law of a device that leaves out what is too much."""
    seen = seen_of(chosen=(1,), bits=4, most=2)
    every = law(0.25, {1}, 4)
    room = {one: chance for one, chance in every.items() if len(one) <= 2}
    total = math.fsum(room.values())
    assert total < 0.9
    assert fits(seen, {one: chance / total for one, chance in room.items()})
    cut = dict.fromkeys(room, 0.0)
    for one, chance in every.items():
        cut[one[:2]] += chance
    assert not fits(seen, cut)


# --- a crowd ---------------------------------------------------------------------------------


def survey(crowd=300, **changes):
    said = {"type": "multi", "at_most": 2, "options": OPTIONS, "cells": True, "memoized": True}
    fresh = {"id": "a", "type": "choice", "options": OPTIONS, "cells": True}
    raw = {"name": "weekly", "crowd": crowd, "privacy": {"epsilon": 12.0, "analysis": "local"}}
    return incrowd.Survey.of(raw | grouped([{"id": "m", **said}, fresh]) | changes)


def answers(rows, first=0):
    chance = np.random.default_rng(5)
    said = [";".join(chance.permutation(OPTIONS)[: chance.integers(3)]) for _ in range(rows)]
    ids = [str(first + i) for i in range(rows)]
    return pa.table({"id": ids, "m": [one or "none" for one in said], "a": ["a"] * rows})


@pytest.fixture(scope="module")
def plan():
    return incrowd.plan(survey())


def numbers(reports):
    """The reports of both messages, sorted."""
    return [np.sort(each.packed[:, 0]).tolist() for each in reports]


def test_rounds_repeat_the_set_and_only_that(plan):
    """In another order each time; the question beside it is drawn anew, and another device draws
    all anew."""
    table = answers(300)
    one, other = (incrowd.randomize(plan, table, id="id", device_key=KEY) for _ in range(2))
    assert numbers(one)[0] == numbers(other)[0] and numbers(one)[1] != numbers(other)[1]
    assert not np.array_equal(one[0].packed, other[0].packed)
    for changed in (
        incrowd.randomize(plan, table, id="id", device_key=DeviceKey(bytes(32))),
        incrowd.randomize(plan, answers(300, first=1), id="id", device_key=KEY),
    ):
        assert numbers(changed)[0] != numbers(one)[0]


def test_a_person_sends_the_same_whoever_else_is_there(plan):
    """And however a file puts the options in order."""
    table, message = answers(40), plan.messages[0]
    memory = remembering(plan, 40, table["id"].to_pylist(), KEY)
    people, stream = EncodedAnswers.of(plan.survey, table), Keystream.for_simulation(1)
    assert message.ids == ("m",)
    all_of_them = randomize_message(plan, message, people, stream, memory)
    turned = pa.array([";".join(reversed(one.split(";"))) for one in table["m"].to_pylist()])
    again = EncodedAnswers.of(plan.survey, table.set_column(1, "m", turned))
    each = [
        randomize_message(plan, message, again.take(np.array([row])), stream, memory[row : row + 1])
        for row in range(40)
    ]
    assert np.array_equal(np.concatenate(each), all_of_them)


def test_another_noise_draws_anew(plan):
    """With one number and two thresholds the flips of the smaller noise would be among those of
    the larger; 40 people of 8 bits, q = q' = 0.2 or so."""
    table = answers(40)
    other = incrowd.plan(survey(privacy={"epsilon": 9.0, "analysis": "local"}))
    found = []
    for each in (plan, other):
        memory = remembering(each, 40, table["id"].to_pylist(), KEY)
        people, message = EncodedAnswers.of(each.survey, table), each.messages[0]
        wide = people.encoded["m"]
        bits = np.zeros((40, 8), int)
        bits[wide.rows, wide.places] = 1
        for row in range(40):
            one = people.take(np.array([row]))
            made = randomize_message(each, message, one, None, memory[row : row + 1])[:, 0]
            bits[row, made] ^= 1
        found.append(bits)
    assert found[0].sum() < found[1].sum() and (found[0] & ~found[1]).any()


def errors(reports, noise, true):
    """Of the shares of three options over their standard errors, by hand: debiased counts, brought
    to the known sum of 1, which takes a third of their variance."""
    counts = np.bincount(reports[0].packed[:, 0], minlength=3)
    found = (counts / 300 - noise.q) / (noise.p - noise.q)
    found += (1 - found.sum()) / 3
    scale = (noise.p - noise.q) * math.sqrt(300 / (noise.p * noise.q))
    return (found - true) * scale / math.sqrt(2 / 3)


@pytest.mark.slow
def test_the_second_round_is_estimated_without_bias_and_with_its_errors(monkeypatch):
    """40 crowds of 300 with devices of their own: the mean errors and their sum of squares, false
    alarms 1e-6. Wrong: all devices with one secret, whose noise is the same."""
    said = {"type": "choice", "options": list("abc"), "cells": True, "memoized": True}
    privacy = {"epsilon": 4.0, "analysis": "local"}
    plan = incrowd.plan(survey(**grouped([{"id": "m", **said}]), privacy=privacy))
    true = np.array([150, 100, 50]) / 300
    said = np.repeat(["a", "b", "c"], [150, 100, 50])
    table = pa.table({"id": [str(i) for i in range(300)], "m": said})

    def second_rounds(number):
        for key in devices(number):
            incrowd.randomize(plan, table, id="id", device_key=key)
            yield incrowd.randomize(plan, table, id="id", device_key=key)

    found = []
    for reports in second_rounds(40):
        found.append(errors(reports, plan.messages[0].noise, true))
        (one,) = incrowd.estimate(plan, reports, noise_only=True).tables
        np.testing.assert_allclose((one.estimate - true) / one.standard_error, found[-1], 1e-6)
    assert np.abs(np.mean(found, axis=0)).max() * math.sqrt(40) < 5.1
    low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 80)  # two of three are free
    assert low < np.square(found).sum() * 2 / 3 < high
    monkeypatch.setattr(DeviceKey, "derive", lambda key, name: key)
    wrong = [errors(reports, plan.messages[0].noise, true) for reports in second_rounds(5)]
    assert np.square(wrong).sum() * 2 / 3 > chi2.isf(FALSE_ALARM, 10)
