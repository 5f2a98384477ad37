"""Intervals in 2,000 simulated surveys in which 5% or 20% of people do not follow the rules.

The false-alarm rate of each test is below 1 in 10,000 if intervals cover in 95% of surveys: 4
standard errors of a share of 2,000 surveys. Estimates that ignore these people are the wrong
variant: they must be rejected.
"""

import math

import numpy as np
import pytest

from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.interviews import honesty_models as models
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.shares import design_effects, profile_ratio
from tests.oracles.interview_rules import forced, mangat, reports, warner

SURVEYS, PEOPLE = 2000, 2000
LEAST = 0.95 - 4 * math.sqrt(0.95 * 0.05 / SURVEYS)
GROUP = np.arange(PEOPLE) % 2


def item(reported, *matrices):
    group = GROUP if len(matrices) > 1 else 0 * GROUP
    return ReportedItem(reported, group, ItemMatrices(np.array(matrices)))


def randomized(rng, answers, *matrices):
    return reports(rng, answers, np.array(matrices)[GROUP % len(matrices)])


def covers(modeled, name, truth):
    """Whether the profile-likelihood interval holds the truth, without computing its ends."""
    shares = modeled.shares()
    place = modeled.parameters[name]
    effect = design_effects([modeled.item], modeled.weights, modeled.clusters)[place]
    return profile_ratio(shares, place, truth) / effect <= HALF_WIDTH**2


def liars(rng, breakers):
    """Half of all people are carriers; some of them deny it."""
    devices = mangat(1 / 6), mangat(5 / 6)
    carriers = rng.random(PEOPLE) < 0.5
    reported = randomized(rng, carriers.astype(int), *devices)
    reported[carriers & (rng.random(PEOPLE) < 2 * breakers)] = 0
    given = item(reported, *devices)
    right = covers(models.lies(given), "carriers", 0.5)
    honest = covers(models.lies(given), "honesty", 1 - 2 * breakers)
    return right, honest, covers(models.everyone_follows(given), "carriers", 0.5)


def cheating(rng, breakers):
    """Some people, with and without the trait, say no whatever the device says."""
    devices = forced(0.25, 0), forced(0.75, 0)
    reported = randomized(rng, (rng.random(PEOPLE) < 0.3).astype(int), *devices)
    reported[rng.random(PEOPLE) < breakers] = 0
    given = item(reported, *devices)
    modeled = models.cheaters(given)
    right = covers(modeled, "honest-yes", 0.3 * (1 - breakers))
    share = covers(modeled, "cheaters", breakers)
    return right, share, covers(models.everyone_follows(given), "carriers", 0.3)


def guessing(rng, breakers):
    """Some people answer the question and its anchor at random."""
    guesses = rng.random(PEOPLE) < breakers
    device, of_anchor = warner(0.15), warner(0.25)
    answers = (rng.random(PEOPLE) < 0.1).astype(int)
    both = [
        item(np.where(guesses, rng.integers(0, 2, PEOPLE), randomized(rng, each, matrix)), matrix)
        for each, matrix in ((answers, device), (0 * answers, of_anchor))
    ]
    modeled = models.anchored(*both, 0)
    right = covers(modeled, "carriers", 0.1)
    attention = covers(modeled, "attention", 1 - breakers)
    return right, attention, covers(models.everyone_follows(both[0]), "carriers", 0.1)


def silent(rng, breakers):
    """Some people say no to three questions."""
    device = forced(1 / 6, 1 / 6)
    silence = rng.random(PEOPLE) < breakers
    trait = rng.random(PEOPLE) < 0.5  # makes answers to the questions dependent
    items = []
    for share in (0.3, 0.2, 0.4):
        answers = rng.random(PEOPLE) < np.where(trait, 1.5, 0.5) * share
        reported = randomized(rng, answers.astype(int), device)
        items.append(item(np.where(silence, 0, reported), device))
    fit = models.always_no(items)
    inside = (fit.intervals[:, 0] <= [breakers, 0.3, 0.2, 0.4]) & (
        fit.intervals[:, 1] >= [breakers, 0.3, 0.2, 0.4]
    )
    return inside[3], inside[0], covers(models.everyone_follows(items[2]), "carriers", 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("breakers", [0.05, 0.2])
@pytest.mark.parametrize("survey", [liars, cheating, guessing, silent])
def test_models_cover_where_ignoring_the_rules_does_not(survey, breakers):
    rng = np.random.default_rng(int(100 * breakers))
    covered = np.mean([survey(rng, breakers) for _ in range(SURVEYS)], axis=0)
    of_trait, of_breakers, uncorrected = covered
    assert of_trait > LEAST, covered
    assert of_breakers > LEAST, covered
    assert uncorrected < LEAST, covered


# Breakers, and the least and the largest share of surveys in which the test should reject.
REJECTED = [(0, 0.03, 0.07), (0.05, 0.2, 1), (0.2, 0.9, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("breakers", "low", "high"), REJECTED)
def test_the_extended_crosswise_test_finds_those_who_prefer_one_report(breakers, low, high):
    """Without them, 5% of the tests reject; more than 7% with a probability of 1 in 25,000."""
    rng = np.random.default_rng(7)
    devices = warner(0.75), warner(0.25)
    rejected = 0
    for _ in range(SURVEYS):
        answers = (rng.random(PEOPLE) < 0.2).astype(int)
        reported = randomized(rng, answers, *devices)
        reported[rng.random(PEOPLE) < breakers] = 1
        modeled = models.everyone_follows(item(reported, *devices))
        rejected += modeled.test(modeled.shares()).p_value < 0.05
    assert low < rejected / SURVEYS <= high, rejected


def test_models_cover_in_a_few_surveys():
    """Fewer than 5 of 12 intervals cover with a probability of 1 in a million."""
    rng = np.random.default_rng(1)
    results = np.array([cheating(rng, 0.2) for _ in range(6)])
    assert results[:, :2].sum() >= 5
    assert results[:, 2].sum() <= 2
