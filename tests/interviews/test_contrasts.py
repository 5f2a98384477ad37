"""Shares in groups of people, their differences, and the tests that they are equal."""

import math

import numpy as np
import pytest
import scipy

from incrowd.interviews.contrasts import holm, homogeneity, shares_by_group, wald_test
from incrowd.interviews.shares import likelihood, moments
from tests.oracles.randomized_items import THREE, drawn, matrices_of, of_yes, shared_columns

FORCED = matrices_of((5 / 6, 1 / 6))


def test_groups_of_independent_people_are_independent():
    rng = np.random.default_rng(1)
    item = drawn(FORCED, (rng.random(900) < 0.3).astype(int), rng)
    codes = rng.integers(-1, 3, size=900)
    by_group = shares_by_group(item, codes, 3, moments)
    shares, errors = [], []
    for level in range(3):
        reports = item.reported[codes == level]
        shares.append((reports.mean() - 1 / 6) * 1.5)
        errors.append(1.5 * reports.std(ddof=1) / math.sqrt(len(reports)))
    assert by_group.shares[:, 1] == pytest.approx(shares)
    values, spread = by_group.differences([(0, 1), (2, 0)])
    assert values[:, 1] == pytest.approx([shares[0] - shares[1], shares[2] - shares[0]])
    assert spread[:, 1] == pytest.approx(
        [math.hypot(*errors[:2]), math.hypot(errors[2], errors[0])]
    )
    inverse = 1 / np.square(errors)
    center = inverse @ shares / inverse.sum()
    statistic = inverse @ (np.array(shares) - center) ** 2  # the chi-square of a fixed mean
    test = homogeneity(by_group)
    assert test.statistic == pytest.approx(statistic) and test.freedom == 2
    assert test.p_value == pytest.approx(scipy.stats.chi2.sf(statistic, 2))


def test_clusters_in_several_groups_make_them_dependent():
    """People of one cluster give the same answer, so that differences within it are certain."""
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(60), 20)
    direct = matrices_of((1, 0))
    item = drawn(direct, np.repeat(rng.integers(2, size=60), 20), rng)
    codes = np.tile([0, 1], 600)
    by_group = shares_by_group(item, codes, 2, moments, None, clusters)
    _, error = by_group.differences([(0, 1)])
    assert error[0, 1] < 1e-6 < by_group.each[0].standard_errors[1]


def test_a_share_at_an_end_has_no_error():
    reports = np.array([0.0] * 40 + [0.0, 1.0] * 30)
    item, codes = of_yes(FORCED, reports), np.repeat([0, 1], [40, 60])
    values, errors = shares_by_group(item, codes, 2, likelihood).differences([(1, 0)])
    assert values[0, 1] == pytest.approx(0.5) and np.isnan(errors[0, 1])


def test_holms_method():
    assert holm(np.array([0.04, 0.01, 0.03])) == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.9, 0.6])) == pytest.approx([1.0, 1.0])


def test_a_test_with_few_clusters_has_no_p_value():
    test = wald_test(np.ones(3), np.eye(3), np.array([0, 0, 1]))
    assert math.isnan(test.p_value) and test.clusters == 2


def test_women_and_men_in_nigeria():
    data = shared_columns("nigeria_rr.csv")
    rows = ~np.isnan(np.stack([*data.values()])).any(axis=0)
    item = of_yes(FORCED, data["armed_groups_die"][rows])
    by_group = shares_by_group(item, data["female"][rows].astype(int), 2, moments)
    errors = [part.standard_errors[1] for part in by_group.each]
    figures = [*by_group.shares[:, 1], *errors]
    expected = ["0.316947", "0.196237", "0.020126", "0.020536"]
    assert [f"{each:.6f}" for each in figures] == expected
    assert homogeneity(by_group).statistic == pytest.approx(
        (0.316947 - 0.196237) ** 2 / (0.020126**2 + 0.020536**2), rel=1e-4
    )


@pytest.mark.slow
def test_false_alarms_are_as_frequent_as_stated():
    """2,000 surveys of equal groups, 5% stated; within 4 standard errors (1 in 16,000) and 0.5
    points for the approximations. Ignored clusters are rejected."""
    rng = np.random.default_rng(3)
    alarms = grouped = ignored = 0
    for _ in range(2000):
        true = rng.choice(3, size=900, p=[0.5, 0.3, 0.2])
        item, codes = drawn(THREE, true, rng), rng.integers(3, size=900)
        alarms += homogeneity(shares_by_group(item, codes, 3, moments)).p_value < 0.05
        clusters = np.repeat(np.arange(90), 10)
        item = drawn(THREE, np.repeat(true[:90], 10), rng)
        codes = np.repeat(rng.integers(3, size=90), 10)
        by_group = shares_by_group(item, codes, 3, moments, None, clusters)
        grouped += homogeneity(by_group, clusters).p_value < 0.05
        ignored += homogeneity(shares_by_group(item, codes, 3, moments)).p_value < 0.05
    band = 4 * math.sqrt(2000 * 0.05 * 0.95) + 10
    assert abs(alarms - 100) < band and abs(grouped - 100) < 2 * band
    assert ignored - 100 > 2 * band
