"""Intervals of coefficients in simulated interview surveys: of right ones, 95% cover.

A share of 2,000 surveys has a standard error of .0049 near .95, so that a right interval falls
outside [.925, .975] with a probability below 1e-6; a share of 300 has .0126, and a right one falls
outside [.90, .99] with a probability below 1e-3. Seeds are fixed.
"""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.hidden_fit import fit_hidden_answers, mean_differences
from incrowd.interviews.items import ItemMatrices, ReportedItem

HALF_WIDTH = 1.959964
FORCED = ItemMatrices(np.array([[[5 / 6, 1 / 6], [1 / 6, 5 / 6]]]))
# unrelated question with a prevalence that is not known, in two groups
UNRELATED = ItemMatrices(
    np.array([[[1.0, 1 - p], [0.0, p]] for p in (0.8, 0.4)]),
    np.array([[[[p - 1, p - 1], [1 - p, 1 - p]] for p in (0.8, 0.4)]]),
    ("unrelated",),
)
BETA, EFFECT, GAMMA, THETA = np.array([-0.2, 0.5]), 1.0, np.array([-0.4, 0.7]), 0.3
pytestmark = pytest.mark.slow


def interviews(rng, matrices, family, people=1000, added=0.0):
    x = np.column_stack([np.ones(people), rng.normal(size=people)])
    true = (rng.random(people) < expit(x @ GAMMA)).astype(int)
    group = rng.integers(matrices.groups, size=people)
    yes = matrices.at(np.array([THETA]))[group, 1, true]
    item = ReportedItem((rng.random(people) < yes).astype(int), group, matrices)
    height = x @ BETA + EFFECT * true + added
    y = rng.random(people) < expit(height) if family == "logistic" else rng.normal(height, 1.5)
    designs = np.stack([np.column_stack([x, np.full(people, a)]) for a in (0.0, 1.0)])
    return HiddenAnswerModel(item, x, ObservedOutcome(family, y.astype(float), designs), "outcome")


def truths(family, unknown):
    sigma = [np.log(1.5)] if family == "linear" else []
    return np.array([*BETA, EFFECT, *sigma, *GAMMA, *([np.log(THETA / (1 - THETA))] * unknown)])


@pytest.mark.parametrize("family", ["logistic", "linear"])
@pytest.mark.parametrize(("matrices", "seed"), [(FORCED, 1), (UNRELATED, 2)])
def test_intervals_of_all_parameters_cover(matrices, seed, family):
    rng = np.random.default_rng(seed)
    true = truths(family, len(matrices.names))
    covered, naive, tried = np.zeros(len(true)), 0, 2000
    for _ in range(tried):
        model = interviews(rng, matrices, family)
        fit = fit_hidden_answers(model)
        assert fit.determined
        errors = np.sqrt(np.diag(fit.covariance))
        covered += np.abs(fit.parameters - true) < HALF_WIDTH * errors
        # the wrong variant takes the report as the answer
        columns = model.outcome.designs[model.item.reported, np.arange(model.people)]
        of = sm.Logit if family == "logistic" else sm.OLS
        wrong = of(model.outcome.values, columns).fit(disp=0)
        naive += abs(wrong.params[2] - EFFECT) < HALF_WIDTH * wrong.bse[2]
    assert (np.abs(covered / tried - 0.95) < 0.025).all(), covered / tried
    assert naive / tried < 0.5


def test_clustered_errors_cover_where_others_do_not():
    """Villages differ in the outcome, and their interviews are all of one kind of people."""
    rng = np.random.default_rng(3)
    covered, naive, tried = 0, 0, 300
    for _ in range(tried):
        people, villages = 1200, np.arange(1200) % 100
        model = interviews(rng, FORCED, "linear", people, rng.normal(size=100)[villages])
        same = rng.normal(size=100)[villages]
        x = np.column_stack([np.ones(people), same])
        designs = model.outcome.designs.copy()
        designs[:, :, 1] = same
        values = model.outcome.values + 0.5 * (same - model.x[:, 1])
        changed = HiddenAnswerModel(model.item, x, ObservedOutcome("linear", values, designs))
        for errors in ("cluster", "observed"):
            fit = fit_hidden_answers(changed, errors=errors, clusters=villages)
            hit = abs(fit.parameters[1] - 0.5) < HALF_WIDTH * np.sqrt(fit.covariance[1, 1])
            covered, naive = (
                covered + hit * (errors == "cluster"),
                naive + hit * (errors != "cluster"),
            )
    assert 0.90 < covered / tried < 0.99
    assert naive / tried < 0.85


def test_random_intercepts_cover():
    rng, tau, tried = np.random.default_rng(4), 0.8, 300
    true = truths("logistic", 0)
    covered, variance, plain = np.zeros(len(true)), 0, 0
    for _ in range(tried):
        village = np.arange(900) % 60
        model = interviews(rng, FORCED, "logistic", 900, tau * rng.normal(size=60)[village])
        fit = fit_hidden_answers(model, groups=village)
        errors = np.sqrt(np.diag(fit.covariance))
        covered += np.abs(fit.parameters - true) < HALF_WIDTH * errors
        mixed = fit.intercepts
        variance += abs(mixed.variance - tau**2) < HALF_WIDTH * mixed.variance_error
        # the wrong variant ignores villages: its slopes are too flat, its errors too small
        without = fit_hidden_answers(model)
        plain += abs(without.parameters[1] - BETA[1]) < HALF_WIDTH * np.sqrt(
            without.covariance[1, 1]
        )
    assert (np.abs(covered / tried - 0.945) < 0.045).all(), covered / tried
    assert variance / tried > 0.88
    assert plain / tried < 0.9


def test_without_variation_the_test_of_the_variance_keeps_its_level():
    """Of 300 surveys, 10% reject: the share has a standard error of .017, and is outside of
    [.04, .16] with a probability below 1e-3. Without half of the probability at zero, a tail of
    chi-square rejects half as often."""
    rng, rejected, wrong, tried = np.random.default_rng(5), 0, 0, 300
    for _ in range(tried):
        village = np.arange(400) % 40
        fit = fit_hidden_answers(interviews(rng, FORCED, "linear", 400), groups=village)
        rejected += fit.intercepts.p_value < 0.1
        wrong += 2 * fit.intercepts.p_value < 0.1
    assert 0.04 < rejected / tried < 0.16
    assert wrong / rejected < 0.75


def test_differences_of_means_cover():
    rng, tried, covered = np.random.default_rng(6), 2000, 0
    for _ in range(tried):
        model = interviews(rng, FORCED, "logistic")
        height = model.x @ BETA
        true = np.mean(expit(height + EFFECT) - expit(height))
        difference, error = mean_differences(fit_hidden_answers(model))
        covered += abs(difference[0] - true) < HALF_WIDTH * error[0]
    assert 0.925 < covered / tried < 0.975
