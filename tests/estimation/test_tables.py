"""Counts and estimates against explicit matrices, exact enumeration and simulation."""

import itertools
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.decoders import decoder
from incrowd.estimation.tables import along_axes, estimate_table
from incrowd.reports.moments import moments
from incrowd.survey import Choice, Multi, YesNo
from tests.conftest import slowly

FLIP = BitFlip.at_least(0.2)


def patterns(bits):
    """All bit strings, shape (2^bits, bits)."""
    return np.array(list(itertools.product([0, 1], repeat=bits)), np.uint8)


def pack(bits):
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")


@given(st.data())
@settings(max_examples=60)
def test_moments_count_the_reports_that_meet_all_conditions(data):
    widths = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    rows = data.draw(st.integers(0, 50))
    seed = data.draw(st.integers(0, 2**32 - 1))
    bits = np.random.default_rng(seed).integers(0, 2, (rows, sum(widths)))
    ends = np.cumsum([0, *widths])
    axes = [slice(a, b) for a, b in itertools.pairwise(ends)]
    chosen = axes[::-1]  # a table may name the questions in any order
    found = moments(pack(bits), chosen)
    for place in np.ndindex(*found.shape):
        columns = [axis.start + i - 1 for axis, i in zip(chosen, place, strict=True) if i]
        assert found[place] == bits[:, columns].all(axis=1).sum()


def test_both_ways_of_counting_agree():
    from incrowd.reports import moments as module

    bits = np.random.default_rng(1).integers(0, 2, (999, 9)).astype(np.uint8)
    for widths in ([4, 5], [2, 3, 4], [9], [1] * 9):
        ends = np.cumsum([0, *widths])
        axes = [slice(a, b) for a, b in itertools.pairwise(ends)]
        for conditions in (module._singles, module._with_pairs):
            histogram = module.histogram(pack(bits), axes)
            one = module._by_histogram(histogram, conditions)
            assert np.array_equal(one, module._by_products(pack(bits), axes, conditions))


def test_yes_no_tables_are_the_inverse_kronecker_product():
    """Oracle: the explicit 2^n x 2^n inverse applied to the histogram (Vinterbo, theorem 4.4)."""
    reports = np.random.default_rng(2).integers(0, 2, (500, 4))
    questions = [YesNo(id=str(i)) for i in range(4)]
    counts = moments(pack(reports), [slice(i, i + 1) for i in range(4)])
    found = estimate_table("0123", [decoder(q, FLIP.inverse) for q in questions], counts)
    histogram = np.bincount(reports @ [8, 4, 2, 1], minlength=16)
    inverse = reduce(np.kron, [np.linalg.inv(FLIP.matrix)] * 4)
    assert np.allclose(found.estimate.ravel(), inverse @ histogram / 500, rtol=1e-12, atol=1e-13)


QUESTIONS = [
    YesNo(id="a"),
    Choice(id="b", options=("x", "y", "z")),
    Multi(id="c", options=("u", "v"), at_most=1),
]
RECORDS = {
    "a": [[0], [1]],
    "b": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "c": [[0, 0], [1, 0], [0, 1]],
}
MEANING = {"a": [[1, 0], [0, 1]], "b": np.eye(3), "c": [[0, 0], [1, 0], [0, 1]]}


def exact_moments(record, channel):
    """E of the moment tensor of one report of a record, by enumerating all reports."""
    p, q = channel.p, channel.q
    reports = patterns(len(record))
    flips = (reports != record).sum(axis=1)
    chance = q**flips * p ** (len(record) - flips)
    axes = [slice(0, 1), slice(1, 4), slice(4, 6)]
    each = np.array([moments(pack(r[None]), axes) for r in reports])
    return np.tensordot(chance, each, 1), chance, each


def test_estimates_are_unbiased_and_errors_are_exact_by_enumeration():
    """For every record, E[estimate] is the record's own cell; E[g^2] gives its variance."""
    decoders = [decoder(q, FLIP.inverse) for q in QUESTIONS]
    for indices in itertools.product(range(2), range(3), range(3)):
        rows = [RECORDS[q.id][i] for q, i in zip(QUESTIONS, indices, strict=True)]
        cells = [np.array(MEANING[q.id][i]) for q, i in zip(QUESTIONS, indices, strict=True)]
        truth = reduce(np.multiply.outer, cells)
        mean, chance, each = exact_moments(np.concatenate(rows), FLIP)
        assert np.allclose(along_axes([d.mean for d in decoders], mean), truth, atol=1e-12)
        values = np.array([along_axes([d.mean for d in decoders], t) for t in each])
        second = np.tensordot(chance, values**2, 1)
        assert np.allclose(along_axes([d.square for d in decoders], mean), second, atol=1e-11)


def test_one_copy_has_the_sample_variance():
    """Oracle: the variance of the debiased reports themselves, row by row."""
    bits = np.random.default_rng(3).integers(0, 2, (400, 4))
    questions = [QUESTIONS[0], QUESTIONS[1]]
    counts = moments(pack(bits), [slice(0, 1), slice(1, 4)])
    found = estimate_table("ab", [decoder(q, FLIP.inverse) for q in questions], counts)
    g = (bits - FLIP.q) / (FLIP.p - FLIP.q)
    rows = np.stack([1 - g[:, 0], g[:, 0]], axis=1)[:, :, None] * g[:, None, 1:]
    assert np.allclose(found.estimate, rows.mean(axis=0), atol=1e-12)
    assert np.allclose(found.standard_error, rows.std(axis=0) / 20, rtol=1e-9)


def spread(copies, fixed, trials=4000, people=300):
    """Spread of simulated estimates of a share, and the mean error stated."""
    generator = np.random.default_rng(copies + fixed)
    estimates, stated = [], []
    question = decoder(YesNo(id="a"), FLIP.inverse)
    for _ in range(trials):
        ones = people // 3 if fixed else generator.binomial(people, 1 / 3)
        truth = np.repeat(np.arange(people) < ones, copies)
        reports = truth ^ (generator.random(people * copies) < FLIP.q)
        counts = np.array([len(reports), reports.sum()])
        found = estimate_table("a", [question], counts, copies, noise_only=fixed)
        estimates.append(found.estimate[1])
        stated.append(found.standard_error[1] ** 2)
    return np.std(estimates), np.sqrt(np.mean(stated))


@pytest.mark.parametrize(
    ("copies", "fixed"), [(1, False), *slowly((1, True), (4, False), (4, True))]
)
def test_standard_errors_match_the_spread(copies, fixed):
    """4,000 trials: the spread has a relative error of 1.1%; 5 of those is a false alarm rate
    below 1e-6. The wrong variant, errors as if copies were people, is off by more."""
    found, stated = spread(copies, fixed)
    tolerance = 5 / np.sqrt(2 * 4000)
    assert abs(found / stated - 1) < tolerance
    if copies > 1 and not fixed:
        wrong = stated / np.sqrt(copies)
        assert abs(found / wrong - 1) > tolerance
