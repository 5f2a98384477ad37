"""Regressions of randomized items, against likelihoods written out, other packages, and R."""

import math
from functools import partial

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import special, stats
from statsmodels.miscmodels.ordinal_model import OrderedModel

from incrowd.interviews.answer_models import CumulativeLogit, MultinomialLogit
from incrowd.interviews.covariates import model_matrix
from incrowd.interviews.formula import parse_formula
from incrowd.interviews.items import ItemMatrices
from incrowd.interviews.logistic import ItemRows, RandomizedLogit, fit_logit, fit_restricted
from tests.oracles import interview_logits as oracle
from tests.oracles.cases import slowly_except
from tests.oracles.interview_rules import forced, shared_columns, warner

WARNER = ItemMatrices(np.array([warner(0.8)]))
BOTH = MultinomialLogit(2)
PEOPLE_BY_HAND = 120
THREE = np.array([[0.7, 0.1, 0.2], [0.1, 0.7, 0.1], [0.1, 0.1, 0.6], [0.1, 0.1, 0.1]])


def simulated(model, coefficients, matrices, n, seed, groups=1):
    """Interviews with an intercept, a number, and an indicator."""
    rng = np.random.default_rng(seed)
    values = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.4])
    shares = model.shares(model.loadings(values) @ coefficients).shares
    group = rng.integers(groups, size=n)
    law = np.einsum("nra,na->nr", matrices[group], shares)
    reported = (rng.random((n, 1)) > law.cumsum(axis=1)).sum(axis=1)
    return values, reported, group


def rows(values, reported, group, matrices=WARNER, **options):
    return ItemRows(values, reported, group, matrices, **options)


CASES = {
    "warner": (BOTH, oracle.multinomial, WARNER, [-0.5, 0.8, -0.6], 1),
    "two groups": (
        BOTH,
        oracle.multinomial,
        ItemMatrices(np.array([warner(0.7), forced(1 / 6, 1 / 6)])),
        [-1, 0.5, 0.7],
        2,
    ),
    "more reports than answers": (
        MultinomialLogit(3),
        oracle.multinomial,
        ItemMatrices(THREE[None]),
        [-0.5, 0.8, -0.6, 0.3, -0.5, 0.5],
        1,
    ),
    "ordered": (CumulativeLogit(3), oracle.ordinal, ItemMatrices(THREE[None]), [-1, 1, 0.9, -1], 1),
}


@pytest.fixture(params=slowly_except(CASES, "warner", "two groups", "ordered"))
def case(request):
    model, shares, matrices, coefficients, groups = CASES[request.param]
    given = simulated(
        model, np.array(coefficients), matrices.at(np.zeros(0)), PEOPLE_BY_HAND, 4, groups
    )
    weights = np.random.default_rng(5).uniform(0.5, 1.5, PEOPLE_BY_HAND)
    log_likelihood = partial(
        oracle.log_likelihood,
        shares,
        values=given[0],
        reported=given[1],
        matrices=matrices.at(np.zeros(0))[given[2]],
    )
    return model, rows(*given, matrices), weights, log_likelihood


def test_likelihood_and_information_of_the_textbook(case):
    model, given, weights, by_hand = case
    for weight in (None, weights):
        likelihood = RandomizedLogit(model, ItemRows(**vars(given) | {"weights": weight}))
        fit = fit_logit(model, likelihood.rows)
        at = fit.parameters
        expected = by_hand(at, weights=weight)
        assert fit.converged and fit.diverging == ()
        assert fit.log_likelihood == pytest.approx(expected, abs=1e-9)
        curvature = oracle.curvature(partial(by_hand, weights=weight), at)
        assert likelihood.observed(at) == pytest.approx(curvature, rel=1e-3, abs=2e-3)
        steps = np.eye(len(at)) * 1e-5
        slopes = [by_hand(at + e, weights=weight) - by_hand(at - e, weights=weight) for e in steps]
        assert np.array(slopes) / 2e-5 == pytest.approx(np.zeros(len(at)), abs=1e-4)


@pytest.mark.slow
def test_another_optimizer_finds_nothing_better(case):
    model, given, _, by_hand = case
    fit = fit_logit(model, given)
    best, where = oracle.maximum(by_hand, np.clip(fit.parameters, -1, 1) * 0.7)
    assert best == pytest.approx(fit.log_likelihood, abs=1e-6)
    assert where == pytest.approx(fit.parameters, abs=2e-3)


def test_expected_information_is_the_mean_over_reports(case):
    model, given, weights, _ = case
    likelihood = RandomizedLogit(model, ItemRows(**vars(given) | {"weights": weights}))
    at = fit_logit(model, given).parameters
    total = np.zeros((len(at), len(at)))
    for report in range(given.matrices.reports):
        every = ItemRows(**vars(given) | {"reported": np.full(len(weights), report)})
        other = RandomizedLogit(model, every)
        law = np.einsum(
            "na,na->n",
            given.matrices.at(np.zeros(0))[given.group, report],
            other.shares(at).shares,
        )
        scores = other.scores(at)
        total += scores.T @ (scores * (law * weights)[:, None])
    assert likelihood.expected(at) == pytest.approx(total)


def lies(*probabilities):
    """The stochastic lie detector, by its definition: carriers say yes with probability t."""
    base = np.array([[[p, 1], [1 - p, 0]] for p in probabilities])
    change = np.array([[[[0, -1.0], [0, 1]]] * len(probabilities)])
    return ItemMatrices(base, change, ("t",))


def test_unknown_probabilities_are_estimated_along():
    matrices = lies(0.2, 0.85)
    truth = np.array([0.5, 0.8, -0.4])
    given = simulated(BOTH, truth, matrices.at(np.array([0.7])), 400, 8, 2)
    fit = fit_logit(BOTH, rows(*given, matrices))

    def by_hand(parameters):
        t = 1 / (1 + math.exp(-parameters[-1]))
        two = np.array([[[p, 1 - t], [1 - p, t]] for p in (0.2, 0.85)])
        return oracle.log_likelihood(
            oracle.multinomial, parameters[:-1], given[0], given[1], two[given[2]]
        )

    assert fit.log_likelihood == pytest.approx(by_hand(fit.parameters))
    observed = oracle.curvature(by_hand, fit.parameters)
    assert fit.likelihood.observed(fit.parameters) == pytest.approx(observed, rel=1e-3, abs=5e-3)
    errors = np.sqrt(np.diag(fit.covariance("observed")))
    assert (abs(fit.coefficients - truth) < 4 * errors[:-1]).all()
    assert abs(special.logit(0.7) - fit.parameters[-1]) < 4 * errors[-1]


def test_an_unknown_probability_at_its_bound_is_held_there():
    matrices = lies(0.2, 0.8)
    group = np.repeat([0, 1], 300)
    # More "yes" than even honest carriers can produce with the shares of both groups.
    reported = (np.arange(600) % 300 < np.where(group, 215, 290)).astype(int)
    values = np.column_stack([np.ones(600), np.tile([0.0, 1, 2], 200)])
    fit = fit_logit(BOTH, rows(values, reported, group, matrices))
    assert fit.unknowns.tolist() == [1.0] and fit.free.tolist() == [True, True, False]
    held = ItemMatrices(matrices.at(np.ones(1)))
    other = fit_logit(BOTH, rows(values, reported, group, held))
    assert fit.coefficients == pytest.approx(other.coefficients, abs=1e-6)
    assert fit.covariance("observed")[:2, :2] == pytest.approx(other.covariance("observed"))


# The identity as matrix: other packages.


def direct(model, n=500, seed=2):
    answers = model.answers
    size = len(model.columns(3))
    truth = np.linspace(-1, 1, size)
    matrices = ItemMatrices(np.eye(answers)[None])
    given = simulated(model, truth, matrices.at(np.zeros(0)), n, seed)
    clusters = np.random.default_rng(seed).integers(40, size=n)
    return fit_logit(model, rows(*given, matrices, clusters=clusters)), *given[:2], clusters


def test_direct_answers_have_the_logit_of_statsmodels():
    fit, values, answers, clusters = direct(BOTH)
    other = sm.Logit(answers, values)
    result = other.fit(disp=0)
    assert fit.coefficients == pytest.approx(result.params, abs=1e-7)
    assert fit.log_likelihood == pytest.approx(result.llf)
    for errors in ("observed", "expected"):  # the same for a canonical link
        assert fit.covariance(errors) == pytest.approx(result.cov_params(), rel=1e-5)
    n, groups = len(answers), len(set(clusters))
    robust = other.fit(disp=0, cov_type="HC0").cov_params() * n / (n - 1)
    assert fit.covariance("robust") == pytest.approx(robust, rel=1e-5)
    grouped = {"groups": clusters, "use_correction": False}
    clustered = other.fit(disp=0, cov_type="cluster", cov_kwds=grouped).cov_params()
    assert fit.covariance("cluster") == pytest.approx(clustered * groups / (groups - 1), rel=1e-5)


def test_direct_answers_have_the_multinomial_logit_of_statsmodels():
    fit, values, answers, _ = direct(MultinomialLogit(3))
    result = sm.MNLogit(answers, values).fit(disp=0)
    assert fit.coefficients == pytest.approx(result.params.T.ravel(), abs=1e-6)
    assert np.sqrt(np.diag(fit.covariance("observed"))) == pytest.approx(
        result.bse.T.ravel(), rel=1e-5
    )


def test_direct_answers_have_the_ordinal_logit_of_statsmodels():
    fit, values, answers, _ = direct(CumulativeLogit(4))
    other = OrderedModel(answers, values[:, 1:], distr="logit")
    result = other.fit(method="bfgs", disp=0, gtol=1e-8)
    thresholds = other.transform_threshold_params(result.params)[1:-1]
    assert fit.coefficients[3:] == pytest.approx(result.params[:2], abs=1e-4)
    assert fit.coefficients[:3] == pytest.approx(thresholds, abs=1e-4)
    assert fit.log_likelihood == pytest.approx(result.llf)
    errors = np.sqrt(np.diag(fit.covariance("observed")))
    assert errors[3:] == pytest.approx(result.bse[:2], rel=1e-3)


def test_integer_weights_are_copies_of_interviews():
    values, reported, group = simulated(BOTH, np.array([-0.5, 0.8, -0.6]), WARNER.base, 150, 3)
    copies = np.random.default_rng(1).integers(1, 4, 150)
    weighted = fit_logit(BOTH, rows(values, reported, group, weights=copies.astype(float)))
    repeat = np.repeat(np.arange(150), copies)
    repeated = rows(values[repeat], reported[repeat], group[repeat], clusters=repeat)
    copied = fit_logit(BOTH, repeated)
    assert weighted.parameters == pytest.approx(copied.parameters, abs=1e-6)
    assert weighted.covariance("observed") == pytest.approx(copied.covariance("observed"), rel=1e-5)
    assert weighted.covariance("robust") == pytest.approx(copied.covariance("cluster"), rel=1e-5)
    assert not np.allclose(weighted.covariance("observed"), weighted.covariance("robust"), rtol=0.1)


def test_units_of_predictors_do_not_matter():
    values, reported, group = simulated(BOTH, np.array([-0.5, 0.8, -0.6]), WARNER.base, 300, 3)
    units = np.array([1, 1e-6, 1e5])
    fit = fit_logit(BOTH, rows(values, reported, group))
    other = fit_logit(BOTH, rows(values * units, reported, group))
    assert other.coefficients * units == pytest.approx(fit.coefficients, abs=1e-6)


def test_a_group_without_the_answer_is_named():
    """Fewer "yes" than the device forces: the best share of the group is 0."""
    matrices = ItemMatrices(np.array([forced(1 / 6, 1 / 6)]))
    group = np.repeat([0.0, 1.0], 300)
    reported = (np.arange(600) % 300 < np.where(group, 30, 120)).astype(int)
    rng = np.random.default_rng(1)
    values = np.column_stack([np.ones(600), rng.normal(size=600), group])
    fit = fit_logit(BOTH, rows(values, reported, np.zeros(600, int), matrices))
    assert fit.diverging == (2,)
    few = fit_logit(BOTH, rows(values[:, :2], reported, np.zeros(600, int), matrices))
    assert few.diverging == () and few.converged


def test_separated_direct_answers_are_named():
    matrices = ItemMatrices(np.eye(2)[None])
    x = np.linspace(-1, 1, 100)
    values = np.column_stack([np.ones(100), np.tile([0.0, 1], 50), x])
    fit = fit_logit(BOTH, rows(values, (x > 0.1).astype(int), np.zeros(100, int), matrices))
    assert 2 in fit.diverging


def test_restricted_models_are_less_likely():
    values, reported, group = simulated(BOTH, np.array([-0.5, 0.8, 0.0]), WARNER.base, 400, 6)
    fit = fit_logit(BOTH, rows(values, reported, group))
    without = fit_restricted(fit, np.array([False, False, True]), 0.0)
    other = fit_logit(BOTH, rows(values[:, :2], reported, group))
    assert without.log_likelihood == pytest.approx(other.log_likelihood)
    assert without.parameters[:2] == pytest.approx(other.parameters, abs=1e-7)


# R's numbers.


def armed(formula, errors):
    columns = shared_columns("nigeria_rr.csv")
    complete = ~np.isnan(np.array([*columns.values()])).any(axis=0)
    matrix = model_matrix(parse_formula(formula), columns, complete)
    reported = columns["armed_groups_die"][matrix.used].astype(int)
    matrices = ItemMatrices(np.array([forced(1 / 6, 1 / 6)]))
    fit = fit_logit(BOTH, rows(matrix.values, reported, np.zeros(len(reported), int), matrices))
    return fit, np.sqrt(np.diag(fit.covariance(errors)))


def test_rrlog_has_errors_of_the_observed_information():
    """RRlog stops within 1e-5 of the maximum."""
    fit, errors = armed("armed ~ female + married", "observed")
    assert len(fit.likelihood.rows.reported) == 2423
    assert fit.coefficients == pytest.approx([-0.61414, -0.60382, -0.34827], abs=1.6e-5)
    assert errors == pytest.approx([0.11225, 0.16103, 0.15361], abs=5.1e-6)
    assert round(fit.log_likelihood, 3) == -1543.349
    for held, expected in enumerate((32.2975, 15.0654, 5.2096)):
        without = fit_restricted(fit, np.arange(3) == held, 0.0)
        statistic = 2 * (fit.log_likelihood - without.log_likelihood)
        assert statistic == pytest.approx(expected, abs=5.1e-5)


def test_rrreg_has_errors_of_squared_scores():
    formula = "armed ~ asset_index + married + age/10 + (age/10)^2 + education + female"
    fit, errors = armed(formula, "scores")
    coefficients = [-0.34017, 0.07896, -0.26743, -0.35283, 0.04099, -0.00691, -0.55439]
    assert fit.coefficients == pytest.approx(coefficients, abs=1.1e-5)
    expected = [0.50856, 0.04136, 0.25451, 0.26423, 0.02603, 0.04558, 0.16244]
    assert errors == pytest.approx(expected, abs=5.1e-6)
    shares = fit.likelihood.shares(fit.parameters).shares[:, 1]
    assert round(float(shares.mean()), 5) == 0.26213


def minarets(formula, conditions):
    columns = shared_columns("minarets_rr.csv")
    columns["randomized"] = np.where(columns["condition"] == 0, -1.0, 1.0)
    for name in ("age", "left_right"):
        columns[name] = columns[name] - columns[name].mean()
    matrix = model_matrix(
        parse_formula(formula), columns, np.isin(columns["condition"], conditions)
    )
    lie = lies(2 / 12, 10 / 12)
    base = np.concatenate([np.eye(2)[None], lie.at(np.zeros(1))])
    change = np.concatenate([np.zeros((1, 1, 2, 2)), lie.unknown], axis=1)
    group = columns["condition"][matrix.used].astype(int)
    reported = columns["answer"][matrix.used].astype(int)
    given = rows(matrix.values, reported, group, ItemMatrices(base, change, ("t",)))
    fit = fit_logit(BOTH, given)
    slope = fit.unknowns * (1 - fit.unknowns)
    return fit, np.sqrt(np.diag(fit.covariance("observed"))) * [
        *[1] * len(fit.coefficients),
        *slope,
    ]


def test_the_lie_detector_with_a_direct_question():
    fit, errors = minarets("answer ~ randomized*left_right", (0, 1, 2))
    expected = [0.76516, 1.05568, 0.47765, 0.09676]
    assert fit.coefficients == pytest.approx(expected, abs=1.1e-5)
    assert errors == pytest.approx([0.17804, 0.17804, 0.08001, 0.08001, 0.01805], abs=5.1e-6)
    assert round(float(fit.unknowns[0]), 5) == 0.65300
    assert round(fit.log_likelihood, 3) == -1051.466


def test_the_lie_detector_with_predictors():
    """RRlog stops within 3e-5 of the maximum, whose likelihood is the same to all its digits."""
    fit, errors = minarets("answer ~ left_right + age", (1, 2))
    assert fit.coefficients == pytest.approx([2.08917, 0.66372, 0.08834], abs=3.5e-5)
    assert errors == pytest.approx([0.47979, 0.17938, 0.08947, 0.01782], abs=2.5e-5)
    assert round(float(fit.unknowns[0]), 5) == 0.64876
    assert round(fit.log_likelihood, 4) == -822.0838
    at_r = np.array([2.08917, 0.66372, 0.08834, special.logit(0.64876)])
    assert fit.likelihood.log_likelihood(at_r) <= fit.log_likelihood


# Coverage.

TRUTH = np.array([-0.8, 0.7, -0.5])
SURVEYS, PEOPLE = 2000, 600
# A false alarm in one of 20,000 for each of the three coefficients and kinds of errors.
LEAST = stats.binom(SURVEYS, 0.95).ppf(5e-5) / SURVEYS


def covered(matrices, assumed):
    """The share of surveys in which each 95% interval holds the truth, by the kind of errors."""
    rng = np.random.default_rng(20)
    hits = {errors: np.zeros(3) for errors in ("observed", "expected", "robust")}
    x = np.column_stack([np.ones(PEOPLE), rng.normal(size=PEOPLE), rng.random(PEOPLE) < 0.5])
    yes = special.expit(x @ TRUTH)
    group = np.arange(PEOPLE) % len(matrices.base)
    law = matrices.base[group, 1, 0] * (1 - yes) + matrices.base[group, 1, 1] * yes
    for _ in range(SURVEYS):
        reported = (rng.random(PEOPLE) < law).astype(int)
        fit = fit_logit(BOTH, rows(x, reported, group, assumed))
        for errors, counted in hits.items():
            error = np.sqrt(np.diag(fit.covariance(errors)))
            counted += abs(fit.coefficients - TRUTH) < 1.959964 * error
    return np.array([*hits.values()]) / SURVEYS


GROUPS = ItemMatrices(np.array([forced(0.1, 0.2), forced(0.2, 0.1)]))


@pytest.mark.slow
@pytest.mark.parametrize("matrices", [WARNER, GROUPS], ids=["warner", "two groups"])
def test_intervals_cover_the_truth(matrices):
    assert (covered(matrices, matrices) >= LEAST).all()


@pytest.mark.slow
def test_reports_taken_as_answers_are_rejected():
    naive = ItemMatrices(np.eye(2)[None])
    assert (covered(WARNER, naive) < LEAST).any(axis=1).all()
