"""Tables of several randomized items: against Kronecker products and another optimizer."""

import itertools
import math

import numpy as np
import pytest
import scipy

from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.joint import independence, odds_ratio
from incrowd.interviews.shares import likelihood, moments, profile_interval
from tests.oracles.cases import one_in
from tests.oracles.randomized_items import (
    KUK_TWICE,
    LIE_DETECTOR,
    THREE,
    UNRELATED,
    drawn,
    infinitesimal_jackknife,
    matrices_of,
)

FORCED = matrices_of((5 / 6, 1 / 6))
WARNER = matrices_of((0.8, 0.2))


def people(joint, n, rng):
    """Return true answers that are drawn from a joint distribution, one array for each item."""
    cells = rng.choice(joint.size, size=n, p=joint.ravel())
    return np.unravel_index(cells, joint.shape)


def three_items(n, seed):
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    true = people(joint, n, rng)
    return [drawn(m, x, rng) for m, x in zip((FORCED, THREE, WARNER), true, strict=True)]


def test_moments_are_the_inverse_kronecker_product_with_its_covariance():
    items = three_items(500, 1)
    product = np.kron(np.kron(FORCED.base[0], THREE.base[0]), WARNER.base[0])
    places = np.ravel_multi_index([item.reported for item in items], (2, 3, 2))
    frequencies, inverse = np.bincount(places, minlength=12) / 500, np.linalg.inv(product)
    shares = moments(items)
    assert shares.table.ravel() == pytest.approx(inverse @ frequencies, abs=1e-12)
    spread = np.diag(frequencies) - np.outer(frequencies, frequencies)
    assert shares.covariance == pytest.approx(inverse @ spread @ inverse.T / 499, abs=1e-12)


@pytest.mark.parametrize("seed", one_in(3, range(3)))
def test_the_likelihood_agrees_with_another_optimizer(seed):
    items = three_items(400, 10 + seed)
    product = np.kron(np.kron(FORCED.base[0], THREE.base[0]), WARNER.base[0])
    places = np.ravel_multi_index([item.reported for item in items], (2, 3, 2))
    counts = np.bincount(places, minlength=12)
    pi = np.full(12, 1 / 12)
    for _ in range(30_000):  # expectation and maximization
        pi = pi * (product.T @ (counts / (product @ pi))) / 400
    shares = likelihood(items)
    assert shares.log_likelihood == pytest.approx(counts @ np.log(product @ pi), abs=1e-4)
    assert shares.log_likelihood >= counts @ np.log(product @ pi) - 1e-9
    assert shares.table.ravel() == pytest.approx(pi, abs=1e-2)
    slopes = product.T @ (counts / (product @ shares.table.ravel()))
    assert np.all(slopes <= 400 + 1e-5) and shares.table.sum() == pytest.approx(1)
    assert np.any(shares.at_end) or seed != 0


def test_one_axis_at_a_time_never_needs_the_whole_matrix():
    """With 13 items the Kronecker product would have 67 million entries (512 MB)."""
    import tracemalloc

    rng = np.random.default_rng(5)
    items = [drawn(WARNER, rng.integers(2, size=300), rng) for _ in range(13)]
    mixture = moments(items[:2]).mixture
    tracemalloc.start()
    many = type(mixture).of(items, np.ones(300))
    uniform = np.full(many.size, 1 / many.size)
    raised = many.raised(uniform)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert raised.sum() == pytest.approx(1) and peak < 20e6


def test_groups_open_factors_and_missing_reports():
    rng = np.random.default_rng(6)
    n = 4000
    a = (rng.random(n) < 0.3).astype(int)
    factor = np.where(a == 1, rng.integers(3, size=n), rng.integers(2, size=n))
    matrices = matrices_of((1, 0), (0.8, 0.2))
    item = drawn(matrices, a, rng)
    item = ReportedItem(np.where(rng.random(n) < 0.1, MISSING, item.reported), item.group, matrices)
    opened = ReportedItem(factor, np.zeros(n, int), ItemMatrices(np.eye(3)[None]))
    inverse = np.linalg.inv(matrices.base)
    seen = item.reported != MISSING
    scores = inverse[item.group[seen], :, item.reported[seen]]
    for level in range(3):
        expected = (scores * (factor[seen] == level)[:, None]).sum(axis=0) / seen.sum()
        assert moments([item, opened]).table[:, level] == pytest.approx(expected, abs=1e-12)
    fitted = likelihood([item, opened])
    assert fitted.people == seen.sum()
    assert fitted.table.sum(axis=0) == pytest.approx(np.bincount(factor[seen]) / seen.sum())
    assert fitted.table[0, 2] < 0.05 and fitted.table[1, 2] == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize(
    ("people", "cells"),
    [(60, [3]), *(pytest.param(n, range(6), marks=pytest.mark.slow) for n in (2, 3, 60))],
)
def test_intervals_of_a_table_with_an_open_column_end_where_the_likelihood_is_too_small(
    people, cells
):
    """Against expectation and maximization with one share held; near 0 the information explodes."""
    rng = np.random.default_rng(people)
    item = drawn(THREE, rng.integers(3, size=people), rng)
    openly = ReportedItem(
        np.arange(people) % 2, np.zeros(people, int), ItemMatrices(np.eye(2)[None])
    )
    product = np.kron(THREE.base[0], np.eye(2))
    counts = np.bincount(2 * item.reported + openly.reported, minlength=6)
    shares = likelihood([item, openly])

    def loss(cell, value):
        others = np.arange(6) != cell
        pi = np.where(others, (1 - value) / 5, value)
        for _ in range(1_000):
            likely = np.where(counts > 0, product @ pi, 1)
            pi = np.where(others, pi * (product.T @ (counts / likely)), 0)
            pi = np.where(others, pi * (1 - value) / pi.sum(), value)
        return 2 * (shares.log_likelihood - scipy.special.xlogy(counts, product @ pi).sum())

    most = scipy.stats.chi2.ppf(0.95, 1)
    for cell in cells:
        low, high = profile_interval(shares, cell)
        assert low <= shares.parameters[cell] <= high
        for end in (low, high):
            assert end in (0, 1) or loss(cell, end) == pytest.approx(most, abs=1e-3)


@pytest.mark.parametrize("matrices", [UNRELATED, LIE_DETECTOR], ids=["unrelated", "lie detector"])
def test_an_unknown_probability_is_estimated_along(matrices):
    """The errors are those of an infinitesimal jackknife, which knows no formula."""
    rng = np.random.default_rng(7)
    joint = np.array([[0.2, 0.2], [0.15, 0.45]])
    true = people(joint, 300, rng)
    items = [drawn(matrices, true[0], rng, theta=[0.7]), drawn(WARNER, true[1], rng)]
    shares = moments(items)
    keys = np.stack([each for item in items for each in (item.reported, item.group)], axis=1)
    spread = infinitesimal_jackknife(lambda weights: moments(items, weights).parameters, keys)
    errors = np.sqrt(np.diagonal(spread))
    assert shares.standard_errors == pytest.approx(errors, rel=0.01)
    fitted = likelihood(items)
    assert fitted.parameters == pytest.approx(shares.parameters, abs=3 * errors.max())
    assert fitted.log_likelihood >= fitted.mixture.log_likelihood(np.append(joint, 0.7))


def test_several_reports_in_a_table_of_two_items():
    rng = np.random.default_rng(8)
    true = people(np.array([[0.5, 0.2], [0.1, 0.2]]), 20_000, rng)
    items = [drawn(KUK_TWICE, true[0], rng), drawn(WARNER, true[1], rng)]
    for shares in (moments(items), likelihood(items)):
        off = (shares.table.ravel() - [0.5, 0.2, 0.1, 0.2]) / shares.standard_errors
        assert np.abs(off).max() < 4


def test_independence_is_the_chi_square_of_a_table_that_was_asked_openly():
    """For two yes/no items without noise, by the delta method written out."""
    rng = np.random.default_rng(9)
    true = people(np.array([[0.3, 0.2], [0.2, 0.3]]), 500, rng)
    direct = matrices_of((1, 0))
    items = [drawn(direct, x, rng) for x in true]
    p = np.bincount(2 * true[0] + true[1]) / 500
    row, column = p[2] + p[3], p[1] + p[3]
    difference = p[0] - (1 - row) * (1 - column)
    score = np.array(
        [
            ((1 - x) - (1 - row)) * ((1 - y) - (1 - column))
            for x, y in itertools.product((0, 1), repeat=2)
        ]
    )
    variance = (p @ score**2 - (p @ score) ** 2) / 499
    test = independence(moments(items))
    assert test.statistic == pytest.approx(difference**2 / variance)
    assert (test.freedom, test.clusters) == (1, None)
    assert test.p_value == pytest.approx(scipy.stats.chi2.sf(test.statistic, 1))
    odds = odds_ratio(moments(items))
    assert odds.estimate == pytest.approx(p[0] * p[3] / (p[1] * p[2]))
    assert odds.log_error == pytest.approx(math.sqrt(np.sum(1 / p) / 499))
    assert odds.low < odds.estimate < odds.high
    clusters = rng.integers(20, size=500)
    with_clusters = independence(moments(items, None, clusters), clusters)
    assert with_clusters.clusters == 20
    expected = scipy.stats.f.sf(with_clusters.statistic, 1, 19)
    assert with_clusters.p_value == pytest.approx(expected)


def test_no_odds_ratio_of_a_share_below_zero():
    items = [
        ReportedItem(np.array([0] * 30 + [1] * 10), np.zeros(40, int), WARNER),
        ReportedItem(np.array([0] * 30 + [0] * 10), np.zeros(40, int), WARNER),
    ]
    odds = odds_ratio(moments(items))
    assert math.isnan(odds.estimate) and (odds.low, odds.high) == (0, math.inf)


@pytest.mark.slow
def test_independence_is_rejected_as_often_as_stated():
    """2,000 surveys; 5% stated. The count of false alarms is within 4 standard errors (1 in
    16,000). The wrong variant takes reports of a dependent device at face value."""
    rng = np.random.default_rng(11)
    rejected = wrong = 0
    for _ in range(2000):
        items = [drawn(FORCED, (rng.random(600) < 0.4).astype(int), rng) for _ in range(2)]
        rejected += independence(moments(items)).p_value < 0.05
        same = [items[0], ReportedItem(items[0].reported, items[0].group, FORCED)]
        wrong += independence(moments(same)).p_value < 0.05
    band = 4 * math.sqrt(2000 * 0.05 * 0.95)
    assert abs(rejected - 100) < band < abs(wrong - 100)
