"""Intervals of shares cover as often as they state, in simulated surveys of each design.

By moments 2,000 surveys, by the slower likelihood every fourth of them. The stated level is 95%. A
count of n surveys is accepted within 4 standard errors (39 of 2,000; one false alarm in 16,000 for
each) and n/200 more for the normal approximation. Each test also has a wrong variant that this
band must reject.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.interviews.influence import half_width
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.shares import design_effects, likelihood, moments, profile_ratio
from tests.oracles.randomized_items import (
    KUK_TWICE,
    LIE_DETECTOR,
    ONE_GROUP,
    THREE,
    UNRELATED,
    drawn,
    matrices_of,
)

SURVEYS, PART = 2000, 4  # the likelihood is computed for one survey in four
LIMIT = chi2.ppf(0.95, 1)
# A design, the unknown probability, the true shares, and the number of people.
DESIGNS = {each.name: (each.matrices, (), (0.7, 0.3), 500) for each in ONE_GROUP} | {
    "Kuk, two draws": (KUK_TWICE, (), (0.7, 0.3), 500),
    "three answers": (THREE, (), (0.5, 0.3, 0.2), 500),
    "direct or Warner": (matrices_of((1, 0), (0.75, 0.25)), (), (0.7, 0.3), 500),
    "unrelated, unknown": (UNRELATED, (0.6,), (0.7, 0.3), 1000),
    "lie detector": (LIE_DETECTOR, (0.6,), (0.2, 0.8), 1500),
}


def off(covered, surveys=SURVEYS):
    """Return by how many bands a count of intervals that hold is off, negative if it is low."""
    band = 4 * np.sqrt(surveys * 0.95 * 0.05) + surveys / 200
    return (covered - 0.95 * surveys) / band


def at_face_value(item):
    """Return the reports as if the last report were the last answer, and the first the first."""
    places = np.linspace(0, item.matrices.answers - 1, item.matrices.reports).round().astype(int)
    direct = ItemMatrices(np.eye(item.matrices.answers)[np.newaxis])
    return ReportedItem(places[item.reported], np.zeros(len(item.group), int), direct)


def holds(shares, truth, half=HALF_WIDTH):
    """Return whether the intervals by moments of the last share and of what is unknown hold."""
    distance = np.abs(shares.parameters - truth)[shares.mixture.cells - 1 :]
    return distance <= half * shares.standard_errors[shares.mixture.cells - 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_of_each_design_cover(name):
    matrices, theta, pi, n = DESIGNS[name]
    truth, rng = np.array([*pi, *theta]), np.random.default_rng(60)
    last = len(pi) - 1
    by_moments, by_likelihood, naive = np.zeros(1 + len(theta)), np.zeros(1 + len(theta)), 0
    for survey in range(SURVEYS):
        item = drawn(matrices, rng.choice(len(pi), size=n, p=pi), rng, theta=theta)
        by_moments += holds(moments([item]), truth)
        if survey % PART == 0:
            fitted = likelihood([item])
            by_likelihood += [
                profile_ratio(fitted, place, truth[place]) <= LIMIT
                for place in range(last, len(truth))
            ]
        naive += holds(moments([at_face_value(item)]), truth[: last + 1])[0]
    assert np.all(np.abs(off(by_moments)) < 1), by_moments
    assert np.all(np.abs(off(by_likelihood, SURVEYS // PART)) < 1), by_likelihood
    if name != "direct":
        assert off(naive) < -1, naive


@pytest.mark.slow
def test_intervals_cover_with_weights_and_clusters():
    """Wrong variants: the errors ignore the weights, or the clusters."""
    rng, matrices = np.random.default_rng(61), matrices_of((5 / 6, 1 / 6))
    truth, clusters = np.array([0.7, 0.3]), np.repeat(np.arange(60), 10)
    right, part, wrong = ({"weights": 0, "clusters": 0} for _ in range(3))
    for survey in range(SURVEYS):
        weights = np.exp(rng.normal(size=600))
        item = drawn(matrices, (rng.random(600) < 0.3).astype(int), rng)
        weighted, alike = moments([item], weights), moments([item])
        right["weights"] += holds(weighted, truth)[0]
        wrong["weights"] += (
            abs(weighted.parameters[1] - 0.3) <= HALF_WIDTH * alike.standard_errors[1]
        )
        if survey % PART == 0:
            effect = design_effects([item], weights)[1]
            ratio = profile_ratio(likelihood([item], weights), 1, 0.3) / effect
            part["weights"] += ratio <= LIMIT
        shares = np.clip(rng.beta(0.6, 1.4, size=60), 0, 1)  # of the clusters, with the mean 0.3
        item = drawn(matrices, (rng.random(600) < shares[clusters]).astype(int), rng)
        together, apart = moments([item], None, clusters), moments([item])
        half = half_width(together.used, clusters)
        right["clusters"] += holds(together, truth, half)[0]
        wrong["clusters"] += holds(apart, truth)[0]
        if survey % PART == 0:
            effect = design_effects([item], None, clusters)[1]
            ratio = profile_ratio(likelihood([item], None, clusters), 1, 0.3) / effect
            part["clusters"] += ratio <= half**2
    assert all(abs(off(each)) < 1 for each in right.values()), right
    assert all(abs(off(each, SURVEYS // PART)) < 1 for each in part.values()), part
    assert all(off(each) < -1 for each in wrong.values()), wrong


@pytest.mark.slow
def test_intervals_of_a_joint_table_cover():
    """One cell of the table of two items; the wrong variant takes the reports at face value."""
    rng, joint = np.random.default_rng(62), np.array([0.45, 0.2, 0.15, 0.2])
    matrices, direct = matrices_of((0.85, 0.1)), matrices_of((1, 0))
    by_moments = by_likelihood = naive = 0
    for survey in range(SURVEYS):
        a, b = divmod(rng.choice(4, size=700, p=joint), 2)
        items = [drawn(matrices, each, rng) for each in (a, b)]
        shares = moments(items)
        by_moments += abs(shares.parameters[3] - 0.2) <= HALF_WIDTH * shares.standard_errors[3]
        if survey % PART == 0:
            by_likelihood += profile_ratio(likelihood(items), 3, 0.2) <= LIMIT
        faces = moments([ReportedItem(each.reported, each.group, direct) for each in items])
        naive += abs(faces.parameters[3] - 0.2) <= HALF_WIDTH * faces.standard_errors[3]
    assert abs(off(by_moments)) < 1, by_moments
    assert abs(off(by_likelihood, SURVEYS // PART)) < 1, by_likelihood
    assert off(naive) < -1, naive


@pytest.mark.slow
def test_an_interval_at_zero_covers_at_least_as_often_as_stated():
    """Nobody says "yes"; half of the estimates are at the end. The wrong variant is the estimate
    itself, as an interval of length 0."""
    rng, matrices = np.random.default_rng(63), matrices_of((5 / 6, 1 / 6))
    covered = at_end = 0
    surveys = SURVEYS // PART
    for _ in range(surveys):
        fitted = likelihood([drawn(matrices, np.zeros(300, int), rng)])
        covered += profile_ratio(fitted, 1, 0.0) <= LIMIT
        at_end += fitted.at_end[1]
    assert off(covered, surveys) > -1
    assert off(at_end, surveys) < -1 and abs(at_end / surveys - 0.5) < 0.1
