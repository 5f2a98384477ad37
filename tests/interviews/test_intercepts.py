"""Random intercepts, beside sums over a fine grid and the normal likelihood in closed form."""

import numpy as np
import pytest
import scipy
import statsmodels.api as sm
from scipy.special import expit

from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.hidden_fit import fit_hidden_answers
from incrowd.interviews.intercepts import (
    group_likelihood,
    group_nodes,
    zero_variance_p_value,
)
from incrowd.interviews.items import ItemMatrices, ReportedItem

FORCED = ItemMatrices(np.array([[[5 / 6, 1 / 6], [1 / 6, 5 / 6]]]))
DIRECT = ItemMatrices(np.eye(2)[None])
KINDS = ("item", "logistic", "linear")
ONE_QUICKLY = [KINDS[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])]


def invented(kind, seed, *, matrices=FORCED, people=300, groups=20, tau=0.9):
    """A model of interviews in villages, and the village of each."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(people), rng.normal(size=people)])
    village = np.append(np.arange(groups), rng.integers(groups, size=people - groups))
    added = tau * rng.normal(size=groups)[village]
    true = (rng.random(people) < expit(x @ [-0.3, 0.8] + added * (kind == "item"))).astype(int)
    wrong = rng.random(people) < matrices.base[0, 1, 0]
    item = ReportedItem(np.where(wrong, 1 - true, true), np.zeros(people, int), matrices)
    if kind == "item":
        return HiddenAnswerModel(item, x), village
    designs = np.stack([np.column_stack([x, np.full(people, a)]) for a in (0.0, 1.0)])
    height = x @ [0.2, -0.5] + true + added
    y = rng.random(people) < expit(height) if kind == "logistic" else rng.normal(height, 1.5)
    outcome = ObservedOutcome(kind, y.astype(float), designs)
    return HiddenAnswerModel(item, x, outcome, "outcome"), village


def on_a_grid(model, parameters, village):
    """The log-likelihood of all villages: sums over 401 equally spaced intercepts."""
    grid = np.linspace(-8, 8, 401)
    logs = np.zeros((village.max() + 1, len(grid)))
    for column, u in enumerate(grid):
        shift = np.full(model.people, u)
        each = model.evaluated(parameters[:-1], parameters[-1], shift).log
        logs[:, column] = np.bincount(village, each) + scipy.stats.norm.logpdf(u)
    return scipy.special.logsumexp(logs, axis=1).sum() + len(logs) * np.log(grid[1] - grid[0])


@pytest.mark.parametrize("kind", ONE_QUICKLY)
@pytest.mark.parametrize("tau", [pytest.param(0.3, marks=pytest.mark.slow), 2.0])
def test_the_quadrature_is_the_integral(kind, tau):
    model, village = invented(kind, 1, people=60, groups=3, tau=tau)
    parameters = np.append(np.random.default_rng(2).normal(size=model.size) / 3, tau)
    nodes = group_nodes(model, parameters, village)
    value = group_likelihood(model, parameters, village, nodes)[0]
    assert value == pytest.approx(on_a_grid(model, parameters, village), abs=5e-5)
    if kind != "linear":  # whose integral is normal
        few = group_nodes(model, parameters, village, nodes=1)
        assert abs(group_likelihood(model, parameters, village, few)[0] - value) > 1e-3


@pytest.mark.parametrize("kind", ONE_QUICKLY)
def test_derivatives_are_those_of_the_quadrature(kind):
    model, village = invented(kind, 3, people=60, groups=4)
    point = np.append(np.random.default_rng(4).normal(size=model.size) / 3, 0.7)
    nodes = group_nodes(model, point, village, nodes=7)

    def at(point):
        return group_likelihood(model, point, village, nodes)

    steps = 1e-5 * np.eye(len(point))
    slopes = [(at(point + h)[0] - at(point - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(at(point)[1], slopes, atol=1e-6)
    bends = [(at(point + h)[1] - at(point - h)[1]) / 2e-5 for h in steps]
    np.testing.assert_allclose(at(point)[2], bends, atol=1e-5)


def test_with_direct_answers_a_linear_model_is_that_of_statsmodels():
    model, village = invented("linear", 5, matrices=DIRECT, people=90, groups=9)
    columns = model.outcome.designs[model.item.reported, np.arange(90)]
    wanted = sm.MixedLM(model.outcome.values, columns, village).fit(reml=False)
    fit = fit_hidden_answers(model, groups=village)
    item = sm.Logit(model.item.reported, model.x).fit(disp=0)
    assert fit.determined
    assert fit.log_likelihood == pytest.approx(wanted.llf + item.llf, abs=1e-5)
    np.testing.assert_allclose(fit.parameters[:3], wanted.fe_params, atol=1e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance))[:3], wanted.bse_fe, rtol=1e-2)
    assert np.exp(2 * fit.parameters[3]) == pytest.approx(wanted.scale, rel=1e-3)
    assert fit.intercepts.variance == pytest.approx(wanted.cov_re[0, 0], rel=1e-2)


def normal_likelihood(model, village, beta, sigma, tau):
    """The likelihood of a linear model whose answers are known, village by village."""
    total = 0.0
    for each in range(village.max() + 1):
        rows = np.flatnonzero(village == each)
        mean = model.outcome.designs[model.item.reported[rows], rows] @ beta
        covariance = sigma**2 * np.eye(len(rows)) + tau**2
        law = scipy.stats.multivariate_normal(mean, covariance)
        total += law.logpdf(model.outcome.values[rows])
    return total


@pytest.mark.slow
def test_the_variance_and_its_error_are_those_of_the_normal_likelihood():
    model, village = invented("linear", 6, matrices=DIRECT, people=100, groups=10)
    fit = fit_hidden_answers(model, groups=village)
    point = np.append(fit.parameters[:4], fit.intercepts.parameters[-1])

    def at(point):
        return normal_likelihood(model, village, point[:3], np.exp(point[3]), point[4])

    h = 1e-3 * np.eye(5)
    bends = [
        [(at(point + a + b) - at(point + a - b) - at(point - a + b) + at(point - a - b)) for b in h]
        for a in h
    ]
    covariance = np.linalg.inv(-np.array(bends) / 4e-6)
    np.testing.assert_allclose(np.diag(fit.covariance)[:4], np.diag(covariance)[:4], rtol=1e-3)
    error = 2 * point[4] * np.sqrt(covariance[4, 4])
    assert fit.intercepts.variance_error == pytest.approx(error, rel=1e-3)
    slopes = [(at(point + each) - at(point - each)) / 2e-3 for each in h]
    np.testing.assert_allclose(slopes, np.zeros(5), atol=1e-3)


def test_without_variation_the_variance_is_zero_and_the_rest_is_unchanged():
    # The estimate is zero in about half of all surveys without variation; seed 1 gives one.
    model, village = invented("logistic", 1, tau=0.0, people=100, groups=8)
    fit, plain = fit_hidden_answers(model, groups=village), fit_hidden_answers(model)
    np.testing.assert_allclose(fit.parameters, plain.parameters, atol=1e-8)
    np.testing.assert_allclose(fit.covariance, plain.covariance, rtol=1e-6)
    assert fit.intercepts.variance == 0
    assert fit.log_likelihood == pytest.approx(plain.log_likelihood)
    assert fit.intercepts.p_value == 1.0
    assert np.isnan(fit.intercepts.variance_error)
    # just above zero, no variance is likelier
    above = np.append(plain.parameters, 0.2)
    nodes = group_nodes(model, above, village)
    assert group_likelihood(model, above, village, nodes)[0] < plain.log_likelihood


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_neighbor_is_likelier_than_the_maximum(kind):
    model, village = invented(kind, 7, people=150, groups=10, tau=1.5)
    fit = fit_hidden_answers(model, groups=village)
    assert fit.intercepts.variance > 0
    best, size = fit.intercepts.parameters, len(fit.intercepts.parameters)

    def at(point):
        return group_likelihood(model, point, village, group_nodes(model, point, village))[0]

    assert at(best) == pytest.approx(fit.log_likelihood)
    for step in 0.01 * np.eye(size):
        assert max(at(best + step), at(best - step)) < fit.log_likelihood


def test_half_of_the_statistics_of_no_variance_are_zero():
    assert zero_variance_p_value(0.0) == 1.0
    # the 90% quantile of chi-square with one degree of freedom
    assert zero_variance_p_value(2.705543454) == pytest.approx(0.05)


def test_groups_of_one_answer_have_intercepts_without_a_bound():
    """Everybody in a third of the groups reports yes, nobody elsewhere: more than a die forces."""
    rows = np.arange(60)
    item = ReportedItem(rows % 3 % 2, np.zeros(60, int), FORCED)
    fit = fit_hidden_answers(HiddenAnswerModel(item, np.ones((60, 1))), groups=rows % 6)
    assert fit.groups_decide
    model, village = invented("item", 1, people=100, groups=10)
    assert not fit_hidden_answers(model, groups=village).groups_decide
