"""Copies of the report on one yes/no question: what they gain at the same guarantee."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

import incrowd

CROWD, EPSILON, DELTA = 500, 2.0, 1e-5


def noise_of_count(q, copies):
    """The standard error of a count of people, by the noise alone."""
    return math.sqrt(CROWD * q * (1 - q) / copies) / (1 - 2 * q)


def delta_among_yes(q):
    """The least delta of one report each, if all others say yes: their sum tells all. Exact."""
    counts = np.arange(CROWD + 1)
    others = binom.pmf(counts[:-1], CROWD - 1, 1 - q)
    yes, no = np.convolve(others, [q, 1 - q]), np.convolve(others, [1 - q, q])
    orders = ((yes, no), (no, yes))
    return max(np.maximum(one - math.exp(EPSILON) * two, 0).sum() for one, two in orders)


def gaussian_noise():
    """The noise of the Gaussian mechanism with the same guarantee (Balle and Wang 2018, eq. 6)."""

    def delta(s):
        below, above = norm.cdf([1 / (2 * s) - EPSILON * s, -1 / (2 * s) - EPSILON * s])
        return below - math.exp(EPSILON) * above

    return brentq(lambda s: delta(s) - DELTA, 0.1, 100)


def planned(copies):
    raw = {"name": "copies", "crowd": CROWD, "copies": copies}
    raw["privacy"] = {"epsilon": EPSILON, "delta": DELTA}
    raw["question"] = [{"id": "a", "type": "yesno"}]
    (message,) = incrowd.plan(incrowd.Survey.of(raw)).messages
    assert message.copies == copies
    return message.noise.q


def test_four_copies_have_noise_that_one_report_must_not_have():
    """Of one report, that noise breaks the guarantee, by an exact bound: copies of one bit do gain,
    but no more than the Gaussian mechanism has."""
    q = planned(4)
    noise = noise_of_count(q, 4)
    alone = brentq(lambda q: noise_of_count(q, 1) - noise, 1e-9, 0.4)
    assert delta_among_yes(alone) > 10 * DELTA
    assert gaussian_noise() < noise


@pytest.mark.slow
def test_more_copies_approach_the_gaussian_mechanism():
    one, *more = [noise_of_count(planned(copies), copies) for copies in (1, 2, 4, 16)]
    assert delta_among_yes(planned(1)) <= DELTA
    assert one > more[0] > more[1] > more[2] > gaussian_noise() > 0.9 * more[2]
    assert one > 1.5 * more[1]  # the square root of the leak says: as much as one
