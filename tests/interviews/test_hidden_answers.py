"""Models in which the true answer is hidden, beside a likelihood that is written out by hand."""

import numpy as np
import pytest
import scipy
import statsmodels.api as sm
from scipy.special import expit

from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.hidden_fit import fit_hidden_answers, mean_differences
from incrowd.interviews.influence import score_covariance
from incrowd.interviews.items import ItemMatrices, ReportedItem
from tests.oracles.cases import slowly

FORCED = ItemMatrices(np.array([[[5 / 6, 1 / 6], [1 / 6, 5 / 6]]]))
DIRECT = ItemMatrices(np.eye(2)[None])
# Two groups; carriers say "yes" with the unknown probability t, others with probability 1 - p.
HONESTY = ItemMatrices(
    np.array([[[p, 1.0], [1 - p, 0.0]] for p in (2 / 12, 10 / 12)]),
    np.array([[[[0.0, -1.0], [0.0, 1.0]]] * 2]),
    ("honesty",),
)
THREE = ItemMatrices(np.array([[[0.7, 0.1, 0.15], [0.2, 0.8, 0.15], [0.1, 0.1, 0.7]]]))


def invented(matrices, family, seed, people=400, theta=(), effect=1.2):
    """Invented interviews: a model, and the true answers."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(people), rng.normal(size=people), rng.random(people) < 0.4])
    others = matrices.answers - 1
    heights = np.column_stack(
        [np.zeros(people)] + [x @ [-0.4, 0.6, 0.5 * k] for k in range(others)]
    )
    true = (heights + rng.gumbel(size=heights.shape)).argmax(axis=1)
    group = rng.integers(matrices.groups, size=people)
    chances = matrices.at(np.array(theta))[group, :, true]
    reported = (rng.random((people, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    item = ReportedItem(reported, group, matrices)
    if family is None:
        return HiddenAnswerModel(item, x), true
    indicators = np.eye(matrices.answers)[:, 1:]
    designs = np.stack([np.column_stack([x, np.tile(row, (people, 1))]) for row in indicators])
    height = x @ [0.3, -0.5, 0.4] + effect * true
    values = rng.random(people) < expit(height) if family == "logistic" else rng.normal(height, 1.5)
    return HiddenAnswerModel(item, x, ObservedOutcome(family, values.astype(float), designs)), true


def by_hand(model, parameters):
    """The log-likelihood of each interview: a loop over interviews and true answers."""
    parameters = list(parameters)
    logs = []
    if model.outcome:
        size = model.outcome.designs.shape[2]
        beta, parameters = parameters[:size], parameters[size:]
        sigma = np.exp(parameters.pop(0)) if model.outcome.family == "linear" else None
    k, others = model.x.shape[1], model.answers - 1
    gamma = [parameters[a * k : (a + 1) * k] for a in range(others)]
    theta = [1 / (1 + np.exp(-each)) for each in parameters[others * k :]]
    unknown = model.item.matrices.unknown[: len(theta)]
    for i in range(model.people):
        odds = [1.0] + [np.exp(np.dot(model.x[i], each)) for each in gamma]
        total = 0.0
        for answer in range(model.answers):
            place = model.item.group[i], model.item.reported[i], answer
            report = model.item.matrices.base[place]
            report += sum(t * u[place] for t, u in zip(theta, unknown, strict=True))
            density = 1.0
            if model.outcome:
                mean = np.dot(model.outcome.designs[answer, i], beta)
                y = model.outcome.values[i]
                if sigma is None:
                    density = expit(mean) if y else 1 - expit(mean)
                else:
                    density = np.exp(-(((y - mean) / sigma) ** 2) / 2) / sigma / np.sqrt(2 * np.pi)
            total += density * odds[answer] / sum(odds) * report
        logs.append(np.log(total))
    return np.array(logs)


CASES = {
    "forced, logistic": (FORCED, "logistic", ()),
    "forced, linear": (FORCED, "linear", ()),
    "forced, no outcome": (FORCED, None, ()),
    "three answers, linear": (THREE, "linear", ()),
    "three answers, logistic": (THREE, "logistic", ()),
    "honesty, logistic": (HONESTY, "logistic", (0.7,)),
    "honesty, no outcome": (HONESTY, None, (0.7,)),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    matrices, family, theta = CASES[request.param]
    return invented(matrices, family, 1, people=60, theta=theta)[0]


def test_the_likelihood_is_the_sum_over_the_answers(case):
    parameters = np.random.default_rng(2).normal(size=case.size) / 2
    np.testing.assert_allclose(case.evaluated(parameters).log, by_hand(case, parameters))


def test_scores_and_second_derivatives_are_those_of_the_likelihood(case):
    rng = np.random.default_rng(3)
    weights, lever = rng.random(case.people), rng.normal(size=case.people)
    point = np.append(rng.normal(size=case.size) / 2, 0.4)

    def at(point):
        return case.evaluated(point[:-1], point[-1], lever)

    steps = 1e-5 * np.eye(len(point))
    slopes = [(at(point + h).log - at(point - h).log) / 2e-5 for h in steps]
    np.testing.assert_allclose(at(point).scores.T, slopes, atol=1e-7)
    bends = [(weights @ (at(point + h).scores - at(point - h).scores)) / 2e-5 for h in steps]
    np.testing.assert_allclose(at(point).hessian(weights), bends, atol=1e-6)


@pytest.mark.parametrize("shifted", ["item", "outcome"])
@pytest.mark.parametrize("matrices", [FORCED, THREE], ids=["two", "three"])
@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_derivatives_in_a_shift_are_those_of_the_likelihood(shifted, matrices, family):
    model = invented(matrices, family, 4, people=20)[0]
    model = HiddenAnswerModel(model.item, model.x, model.outcome, shifted)
    parameters = np.random.default_rng(5).normal(size=model.size) / 2
    ones, h = np.ones(model.people), 1e-4

    def at(shift):
        return model.evaluated(parameters, shift, ones).log

    slope, bend = model.evaluated(parameters, 0.3, ones).by_shift
    np.testing.assert_allclose(slope, (at(0.3 + h) - at(0.3 - h)) / (2 * h), atol=1e-7)
    wanted = (at(0.3 + h) - 2 * at(0.3) + at(0.3 - h)) / h**2
    np.testing.assert_allclose(bend, wanted, atol=1e-6)


@pytest.mark.parametrize(
    "name", [*slowly("forced, logistic"), "forced, linear", "honesty, no outcome"]
)
def test_the_maximum_is_that_of_an_optimizer_without_derivatives(name):
    matrices, family, theta = CASES[name]
    model = invented(matrices, family, 6, people=80, theta=theta, effect=2.5)[0]
    fit = fit_hidden_answers(model)
    assert fit.determined
    best = scipy.optimize.minimize(
        lambda point: -by_hand(model, point).sum(),
        fit.parameters + 0.02,
        method="BFGS",
        options={"maxiter": 25},
    )
    assert fit.log_likelihood == pytest.approx(by_hand(model, fit.parameters).sum())
    assert fit.log_likelihood >= -best.fun
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-3)


def test_with_direct_answers_a_model_is_two_regressions():
    model, true = invented(DIRECT, "logistic", 7)
    columns, y = np.column_stack([model.x, true]), model.outcome.values
    outcome, item = sm.Logit(y, columns).fit(disp=0), sm.Logit(true, model.x).fit(disp=0)
    fit = fit_hidden_answers(model)
    np.testing.assert_allclose(fit.parameters, [*outcome.params, *item.params], atol=1e-6)
    errors = np.sqrt(np.diag(fit.covariance))
    np.testing.assert_allclose(errors, [*outcome.bse, *item.bse], atol=1e-6)
    assert fit.log_likelihood == pytest.approx(outcome.llf + item.llf)
    margins = sm.Logit(y, columns).fit(disp=0).get_margeff(dummy=True, at="overall").summary_frame()
    difference, error = mean_differences(fit)
    assert difference[0] == pytest.approx(margins.iloc[-1, 0], abs=1e-6)
    assert error[0] == pytest.approx(margins.iloc[-1, 1], abs=1e-6)


def test_with_direct_answers_a_linear_model_is_that_of_least_squares():
    model, true = invented(DIRECT, "linear", 8)
    squares = sm.OLS(model.outcome.values, np.column_stack([model.x, true])).fit()
    fit = fit_hidden_answers(model)
    np.testing.assert_allclose(fit.parameters[:4], squares.params, atol=1e-6)
    # by likelihood, the variance of the residuals is divided by n, not by n - 4
    errors = np.sqrt(np.diag(fit.covariance))[:4] * np.sqrt(400 / 396)
    np.testing.assert_allclose(errors, squares.bse, atol=1e-6)
    assert np.exp(fit.parameters[4]) == pytest.approx(np.sqrt(squares.ssr / 400))
    difference, error = mean_differences(fit)
    assert (difference[0], error[0]) == pytest.approx(
        (fit.parameters[3], errors[3] * np.sqrt(0.99))
    )


@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_robust_and_clustered_errors_are_those_of_statsmodels(family):
    model, true = invented(DIRECT, family, 9)
    columns, clusters = np.column_stack([model.x, true]), np.arange(400) // 8
    of = sm.Logit if family == "logistic" else sm.OLS
    by = {"cov_kwds": {"groups": clusters, "use_correction": False}}
    kinds = {"robust": ("HC0", {}, 400), "cluster": ("cluster", by, 50)}
    for errors, (kind, told, units) in kinds.items():
        wanted = of(model.outcome.values, columns).fit(disp=0, cov_type=kind, **told).bse
        fit = fit_hidden_answers(model, errors=errors, clusters=clusters)
        got = np.sqrt(np.diag(fit.covariance))[:4] / np.sqrt(units / (units - 1))
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_weight_of_two_is_a_second_interview():
    model = invented(FORCED, "linear", 10, people=120)[0]
    weights = np.where(np.arange(120) < 40, 2.0, 1.0)
    twice = np.repeat(np.arange(120), weights.astype(int))
    item = ReportedItem(model.item.reported[twice], model.item.group[twice], FORCED)
    outcome = model.outcome
    outcome = ObservedOutcome("linear", outcome.values[twice], outcome.designs[:, twice])
    double = HiddenAnswerModel(item, model.x[twice], outcome)
    weighted = fit_hidden_answers(model, weights=weights, errors="robust")
    clustered = fit_hidden_answers(double, errors="cluster", clusters=twice)
    np.testing.assert_allclose(weighted.parameters, clustered.parameters, atol=1e-6)
    np.testing.assert_allclose(weighted.covariance, clustered.covariance, rtol=1e-4, atol=1e-8)
    scaled = fit_hidden_answers(model, weights=7 * weights, errors="robust")
    np.testing.assert_allclose(scaled.covariance, weighted.covariance)
    naive = fit_hidden_answers(double)
    assert np.abs(np.diag(naive.covariance) / np.diag(weighted.covariance) - 1).max() > 0.1


def test_the_spread_of_clusters_is_that_of_their_sums():
    scores = np.array([[1.0], [3.0], [-2.0], [-2.0]])
    assert score_covariance(scores, None) == pytest.approx(18 * 4 / 3)
    assert score_covariance(scores, np.array([0, 0, 1, 1])) == pytest.approx(32 * 2)


def test_a_separated_outcome_does_not_determine_the_coefficients():
    model, true = invented(DIRECT, "logistic", 11)
    outcome = ObservedOutcome("logistic", true.astype(float), model.outcome.designs)
    assert not fit_hidden_answers(HiddenAnswerModel(model.item, model.x, outcome)).determined


def test_fewer_yes_than_are_forced_do_not_determine_the_model_of_the_item():
    item = ReportedItem((np.arange(400) % 10 == 0).astype(int), np.zeros(400, int), FORCED)
    assert not fit_hidden_answers(HiddenAnswerModel(item, np.ones((400, 1)))).determined


def test_an_unknown_probability_at_its_end_is_fixed():
    model = invented(HONESTY, None, 12, people=300, theta=(1.0,))[0]
    # the reports of the first group say "yes" always, those of the second follow its device
    item = ReportedItem(
        np.where(model.item.group == 0, 1, model.item.reported), model.item.group, HONESTY
    )
    fit = fit_hidden_answers(HiddenAnswerModel(item, np.ones((300, 1))))
    assert fit.determined
    assert fit.unknown == pytest.approx([1.0], abs=1e-4)
    assert fit.fixed.tolist() == [False, True]
    assert fit.unknown_errors == pytest.approx([0.0])
    assert np.isfinite(fit.covariance).all()
