"""Correlations of randomized items: R's figure, a jackknife, and coverage."""

import math

import numpy as np
import pytest

from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.scores import OpenNumber, ScoredItem, correlation
from tests.oracles.randomized_items import (
    LIE_DETECTOR,
    THREE,
    drawn,
    infinitesimal_jackknife,
    matrices_of,
    of_yes,
    shared_columns,
)

FORCED, YES = matrices_of((5 / 6, 1 / 6)), np.array([0.0, 1.0])


def test_the_correlation_with_age_in_nigeria():
    """R's RRcor, to all printed digits."""
    data = shared_columns("nigeria_rr.csv")
    rows = ~np.isnan(np.stack([*data.values()])).any(axis=0)
    item = of_yes(FORCED, data["armed_groups_die"][rows])
    result = correlation(ScoredItem(item, YES), OpenNumber(data["age"][rows]))
    assert (f"{result.estimate:.6f}", result.people) == ("-0.031035", 2423)


def test_it_is_that_of_the_reports_over_the_attenuation_of_the_device():
    """Fox and Tracy 1984: var(true) / var(reports) from the design, for one group."""
    rng = np.random.default_rng(1)
    true = (rng.random(3000) < 0.4).astype(int)
    number = true + rng.normal(size=3000)
    item = drawn(FORCED, true, rng)
    share = item.reported.mean()
    pi = (share - 1 / 6) * 1.5
    lowered = (2 / 3) * math.sqrt(pi * (1 - pi) / (share * (1 - share)))
    expected = np.corrcoef(item.reported, number)[0, 1] / lowered
    result = correlation(ScoredItem(item, YES), OpenNumber(number))
    assert result.estimate == pytest.approx(expected, abs=1e-12)


def test_two_open_numbers_have_their_ordinary_correlation():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 100))
    x[:5] = np.nan
    result = correlation(OpenNumber(x), OpenNumber(y))
    assert result.estimate == pytest.approx(np.corrcoef(x[5:], y[5:])[0, 1], abs=1e-12)
    assert result.people == 95 and result.low < result.estimate < result.high


@pytest.mark.parametrize("matrices", [FORCED, LIE_DETECTOR], ids=["forced", "lie detector"])
def test_errors_are_those_of_an_infinitesimal_jackknife(matrices):
    rng = np.random.default_rng(3)
    a = (rng.random(300) < 0.6).astype(int)
    b = np.where(rng.random(300) < 0.7, a, rng.integers(3, size=300))
    items = [drawn(matrices, a, rng, theta=[0.7] * len(matrices.names)), drawn(THREE, b, rng)]
    pair = [ScoredItem(items[0], YES), ScoredItem(items[1], np.array([0.0, 1.0, 5.0]))]
    keys = np.stack([each for item in items for each in (item.reported, item.group)], axis=1)
    variance = infinitesimal_jackknife(
        lambda weights: np.array([correlation(*pair, weights).estimate]), keys
    )
    error = math.sqrt(variance[0, 0])
    assert correlation(*pair).standard_error == pytest.approx(error, rel=0.01)
    clusters = np.random.default_rng(4).integers(30, size=300)
    assert correlation(*pair, None, clusters).standard_error == pytest.approx(error, rel=0.4)


def test_no_variance_no_correlation():
    item = of_yes(FORCED, np.array([0.0] * 30 + [np.nan]))
    result = correlation(ScoredItem(item, YES), OpenNumber(np.arange(31.0)))
    assert math.isnan(result.estimate) and (result.low, result.high) == (-1, 1)
    assert result.people == 30 and item.reported[-1] == MISSING


@pytest.mark.slow
def test_intervals_cover():
    """2,000 surveys, 95% stated; within 4 standard errors (1 in 16,000) and 0.4 points for the
    normal approximation. Reports at face value, and clusters ignored, are rejected."""
    rng = np.random.default_rng(5)
    joint = np.array([[0.45, 0.15], [0.1, 0.3]])
    a, b = np.repeat([0, 1], 2), np.tile([0, 1], 2)
    p = joint.ravel()
    truth = (p[3] - (p[2] + p[3]) * (p[1] + p[3])) / math.sqrt(
        np.prod([p[2] + p[3], p[0] + p[1], p[1] + p[3], p[0] + p[2]])
    )
    direct = matrices_of((1, 0))
    right = naive = grouped = ignored = 0
    for _ in range(2000):
        cell = rng.choice(4, size=800, p=p)
        items = [drawn(FORCED, each[cell], rng) for each in (a, b)]
        result = correlation(*(ScoredItem(each, YES) for each in items))
        right += result.low <= truth <= result.high
        faced = [ScoredItem(ReportedItem(e.reported, e.group, direct), YES) for e in items]
        result = correlation(*faced)
        naive += result.low <= truth <= result.high
        cell, clusters = np.repeat(rng.choice(4, size=160, p=p), 10), np.repeat(np.arange(160), 10)
        items = [ScoredItem(drawn(FORCED, each[cell], rng), YES) for each in (a, b)]
        result = correlation(*items, None, clusters)
        grouped += result.low <= truth <= result.high
        result = correlation(*items)
        ignored += result.low <= truth <= result.high
    band = 4 * math.sqrt(2000 * 0.95 * 0.05) + 8
    assert abs(right - 1900) < band and abs(grouped - 1900) < band + 10
    assert 1900 - naive > band and 1900 - ignored > band
