"""A published survey: membership in civic groups, and armed groups as its predictor.

R's package rr 1.4.2 does not maximize a likelihood. Its figures are those of its steps, which the
method "rr" repeats; the maximum of the likelihood is elsewhere, and more likely.
"""

import numpy as np
import pytest

from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.hidden_fit import fit_hidden_answers
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.weighted_reports import LIMIT, fit_weighted_reports
from tests.oracles.interview_rules import shared_columns
from tests.oracles.rr_predictor import STOPS, errors_of_rr, of_rr

FORCED = ItemMatrices(np.array([[[5 / 6, 1 / 6], [1 / 6, 5 / 6]]]))
# intercept, assets, married, age / 10, its square, education, female, armed groups
OUTCOME = np.array([-2.83808, 0.11212, 0.31914, 0.94090, -0.10259, 0.08606, -0.02533, 0.38398])
ERRORS = np.array([0.31178, 0.02271, 0.13342, 0.15851, 0.01676, 0.02513, 0.08852, 0.15977])
FEMALE, FEMALE_ERROR = -0.56193, 0.16241  # in the model of the item


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


def test_the_method_rr_gives_the_printed_digits(model):
    fit = fit_weighted_reports(model)
    errors = np.sqrt(np.diag(fit.covariance))
    np.testing.assert_array_equal(fit.parameters[:8].round(5), OUTCOME)
    np.testing.assert_array_equal(errors[:8].round(5), ERRORS)
    # rr's last digit in the model of the item depends on where it begins
    assert fit.parameters[14] == pytest.approx(FEMALE, abs=1e-5)
    assert errors[14].round(5) == FEMALE_ERROR


@pytest.mark.slow
def test_the_figures_of_rr_are_those_of_its_steps(data, model):
    x = data[0]
    gamma, beta, units = of_rr(*data)
    np.testing.assert_allclose(beta / np.append(units, 1), OUTCOME, atol=0.5e-5 + 1e-8)
    assert gamma[6] / units[6] == pytest.approx(FEMALE, abs=STOPS / units[6])
    errors = errors_of_rr(gamma, beta, units, *data)
    np.testing.assert_allclose(errors[x.shape[1] :], ERRORS, atol=0.6e-5)
    assert errors[6] == pytest.approx(FEMALE_ERROR, abs=0.6e-5)
    # where its steps lead to if they go on is not within the printed digits
    end = of_rr(*data, stops=LIMIT)[1]
    assert abs(end[-1] - OUTCOME[-1]) > 0.5e-5
    assert fit_weighted_reports(model, stop=LIMIT).parameters[7] == pytest.approx(end[-1], rel=1e-7)


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
