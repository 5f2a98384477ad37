"""A published survey: membership in civic groups, and armed groups as its predictor.

R's package rr 1.4.2 does not maximize a likelihood. Its steps estimate the probability that each
report is a true answer, and fit both models to the reports with these weights; what people with
forced answers say about the outcome is left out. It shrinks coefficients by Cauchy priors (package
arm), stops when no coefficient moves by more than 1e-4, and takes errors from the second
derivatives of the whole likelihood with priors at that point. `of_rr` does the same and gives its
figures; the maximum of the likelihood is elsewhere, and more likely.
"""

import numpy as np
import pytest
from scipy.special import expit

from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.predictor import fit_hidden_answers
from tests.oracles.interview_rules import shared_columns

FORCED = ItemMatrices(np.array([[[5 / 6, 1 / 6], [1 / 6, 5 / 6]]]))
TRUTH, FORCED_YES = 2 / 3, 1 / 6
# intercept, assets, married, age / 10, its square, education, female, armed groups
OUTCOME = np.array([-2.83808, 0.11212, 0.31914, 0.94090, -0.10259, 0.08606, -0.02533, 0.38398])
ERRORS = np.array([0.31178, 0.02271, 0.13342, 0.15851, 0.01676, 0.02513, 0.08852, 0.15977])
FEMALE, FEMALE_ERROR = -0.56193, 0.16241  # in the model of the item
STOPS = 1e-4


@pytest.fixture(scope="module")
def data():
    columns = shared_columns("nigeria_rr.csv")
    x = [columns[name] for name in ("asset_index", "married", "age", "education", "female")]
    reports, outcome = columns["armed_groups_die"], columns["civic"]
    whole = np.isfinite(np.stack([*x, reports, outcome])).all(axis=0)
    assets, married, age, education, female = (each[whole] for each in x)
    age = age / 10
    ones = np.ones(whole.sum())
    matrix = np.column_stack([ones, assets, married, age, age**2, education, female])
    return matrix, reports[whole].astype(int), outcome[whole]


@pytest.fixture(scope="module")
def model(data):
    x, reports, outcome = data
    designs = np.stack([np.column_stack([x, np.full(len(x), a)]) for a in (0.0, 1.0)])
    item = ReportedItem(reports, np.zeros(len(x), int), FORCED)
    return HiddenAnswerModel(item, x, ObservedOutcome("logistic", outcome, designs))


def prior_scales(columns):
    """The scales of arm's priors: 2.5 over the range of two values, or over twice the deviation."""
    scales = []
    for column in columns.T:
        values = len(np.unique(column))
        of = np.ptp(column) if values == 2 else 2 * column.std(ddof=1) if values > 2 else 1.0
        scales.append(2.5 / of)
    return np.array(scales)


def shrunk(columns, y, weights, shrink):
    """Logistic regression by arm's bayesglm: scale mixtures of normal priors, by its own steps."""
    scales = prior_scales(columns)
    spread, chance, before = scales, (weights * y + 0.5) / (weights + 1), np.inf
    height = np.log(chance / (1 - chance))
    while True:
        steep = chance * (1 - chance)
        left = columns.T @ (columns * (weights * steep)[:, None])
        left += shrink * np.diag(spread**-2.0)
        right = columns.T @ (weights * (steep * height + y - chance))
        beta = np.linalg.solve(left, right)
        spread = np.sqrt((beta**2 + np.diag(np.linalg.inv(left)) + scales**2) / 2)
        height = columns @ beta
        chance = expit(height)
        deviance = -2 * weights @ np.log(np.where(y == 1, chance, 1 - chance))
        if abs(deviance - before) < 1e-8 * (0.1 + abs(deviance)):
            return beta
        before = deviance


def parts_of(gamma, beta, x, reports, y):
    """P(yes | x), and the probability of the outcome if the answer is yes, or no."""
    sign = 2 * y - 1
    return expit(x @ gamma), expit(sign * (x @ beta[:-1] + beta[-1])), expit(sign * (x @ beta[:-1]))


def of_rr(x, reports, y, shrink=True, start=1.0, stops=STOPS):
    """The coefficients of the outcome and of the item by rr's steps, in its units and in ours."""
    units = np.append(1, x[:, 1:].std(axis=0, ddof=1))
    scaled, forced = x / units, np.where(reports == 1, FORCED_YES, 1 - TRUTH - FORCED_YES)
    with_report = np.column_stack([scaled, reports])
    gamma, beta = np.full(x.shape[1], start), np.full(x.shape[1] + 1, start)
    while True:
        yes, if_yes, if_no = parts_of(gamma, beta, scaled, reports, y)
        told = TRUTH * np.where(reports == 1, yes * if_yes, (1 - yes) * if_no)
        true = told / (told + forced * (yes * if_yes + (1 - yes) * if_no))
        new_gamma = shrunk(scaled, reports, true, shrink)
        new_beta = shrunk(with_report, y, true, shrink)
        moved = max(abs(new_gamma - gamma).max(), abs(new_beta - beta).max())
        gamma, beta = new_gamma, new_beta
        if moved < stops:
            return gamma, beta, units


def errors_of_rr(gamma, beta, units, x, reports, y):
    """Errors from the likelihood with Cauchy priors of scale 2.5, by second differences."""
    scaled = x / units

    def value(point):
        split = x.shape[1]
        yes, if_yes, if_no = parts_of(point[:split], point[split:], scaled, reports, y)
        chances = FORCED.base[0][reports]
        likelihood = (1 - yes) * if_no * chances[:, 0] + yes * if_yes * chances[:, 1]
        return np.log(likelihood).sum() - np.log1p((point / 2.5) ** 2).sum()

    point, h = np.append(gamma, beta), 1e-3 * np.eye(len(gamma) + len(beta))
    bends = [
        [
            value(point + a + b)
            - value(point + a - b)
            - value(point - a + b)
            + value(point - a - b)
            for b in h
        ]
        for a in h
    ]
    errors = np.sqrt(np.diag(np.linalg.inv(-np.array(bends) / 4e-6)))
    return errors / np.concatenate([units, units, [1.0]])


@pytest.mark.slow
def test_the_figures_of_rr_are_those_of_its_steps(data):
    x = data[0]
    gamma, beta, units = of_rr(*data)
    np.testing.assert_allclose(beta / np.append(units, 1), OUTCOME, atol=0.5e-5 + 1e-8)
    assert gamma[6] / units[6] == pytest.approx(FEMALE, abs=STOPS / units[6])
    errors = errors_of_rr(gamma, beta, units, *data)
    np.testing.assert_allclose(errors[x.shape[1] :], ERRORS, atol=0.6e-5)
    assert errors[6] == pytest.approx(FEMALE_ERROR, abs=0.6e-5)
    # where its steps lead to if they go on is not within the printed digits
    assert abs(of_rr(*data, stops=1e-9)[1][-1] - OUTCOME[-1]) > 0.5e-5


def test_the_maximum_of_the_likelihood_is_near_those_figures(model):
    fit = fit_hidden_answers(model)
    assert fit.determined
    errors = np.sqrt(np.diag(fit.covariance))
    assert (np.abs(fit.parameters[:8] - OUTCOME) < 1.5 * errors[:8]).all()
    assert errors[7] == pytest.approx(ERRORS[7], rel=0.02)
    assert fit.parameters[7] == pytest.approx(OUTCOME[7], abs=0.2 * errors[7])
    assert fit.parameters[14] == pytest.approx(FEMALE, abs=0.1 * errors[14])


@pytest.mark.slow
def test_the_figures_of_rr_are_not_the_maximum_even_without_priors(data, model):
    def slopes(parameters):
        return np.abs(model.evaluated(parameters).scores[:, :-1].sum(axis=0) / model.scale).max()

    fit = fit_hidden_answers(model)
    gamma, beta, units = of_rr(*data, shrink=False)
    theirs = np.concatenate([beta / np.append(units, 1), gamma / units])
    assert slopes(fit.parameters) < 1e-6
    assert slopes(theirs) > 1
    assert fit.log_likelihood > model.evaluated(theirs).log.sum() + 0.5
