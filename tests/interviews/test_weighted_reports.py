"""The steps of R's package rr: beside the same steps by other means, and their equations."""

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

import incrowd
from incrowd.errors import UsageError
from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.outcome_models import regress_outcome
from incrowd.interviews.weighted_reports import LIMIT, fit_weighted_reports, truth_chances
from incrowd.presentation.data import json_ready
from incrowd.presentation.layouts import page
from tests.oracles.rr_predictor import errors_of_rr, of_rr

YES, NO = 1 / 6, 1 / 3  # forced
FORCED = {"kind": "forced", "yes": "1/6", "no": "1/3"}
MATRICES = ItemMatrices(np.array([[[1 - YES, NO], [YES, 1 - NO]]]))
PEOPLE = 300


def data(seed=1):
    """Invented people: covariates, their reports to a die, and an outcome."""
    rng = np.random.default_rng(seed)
    age, female = rng.integers(18, 70, PEOPLE).astype(float), rng.integers(2, size=PEOPLE)
    armed = rng.random(PEOPLE) < expit(0.02 * (age - 40) - 0.6 * female)
    die = rng.integers(1, 7, PEOPLE)
    reports = np.where(die == 6, 1, np.where(die < 3, 0, armed))
    civic = rng.random(PEOPLE) < expit(-0.5 + 0.03 * (age - 40) + 0.9 * armed)
    return np.column_stack([np.ones(PEOPLE), age, female]), reports, civic.astype(float)


def answers(x, reports, civic, design=FORCED, columns=None, **more):
    raw = {"name": "Arms", "device": {"kind": "die"}}
    raw |= {"question": [{"id": "armed", "type": "yesno", "design": design}]}
    survey = incrowd.InterviewSurvey.of(raw | ({"columns": columns} if columns else {}))
    table = {"age": x[:, 1], "female": x[:, 2], "civic": civic}
    table["armed"] = np.array(["no", "yes"])[reports]
    return incrowd.read_answers(survey, pa.table(table | more))


def of_rows(x, reports, y):
    """The model of rows of covariates, the item being the last predictor."""
    designs = np.stack([np.column_stack([x, np.full(len(x), a)]) for a in (0.0, 1.0)])
    item = ReportedItem(reports, np.zeros(len(x), int), MATRICES)
    return HiddenAnswerModel(item, x, ObservedOutcome("logistic", y, designs))


def test_the_method_repeats_the_steps_of_rr():
    people = data()
    found = regress_outcome(answers(*people), "civic ~ armed + age + female", method="rr")
    gamma, beta, units = of_rr(*people, yes=YES, no=NO)
    errors = errors_of_rr(gamma, beta, units, *people, yes=YES, no=NO)
    order = [0, 2, 3, 1]  # of the oracle's terms: the item is its last
    outcome, item = found.coefficients, found.item_coefficients
    wanted = beta / np.append(units, 1)
    np.testing.assert_allclose([outcome[i].estimate for i in order], wanted, rtol=1e-7)
    np.testing.assert_allclose([each.estimate for each in item], gamma / units, rtol=1e-7)
    np.testing.assert_allclose([outcome[i].standard_error for i in order], errors[3:], rtol=1e-4)
    np.testing.assert_allclose([each.standard_error for each in item], errors[:3], rtol=1e-4)
    beyond = of_rr(*people, yes=YES, no=NO, stops=LIMIT)[1] / np.append(units, 1)
    np.testing.assert_allclose([found.limit[i] for i in order], beyond, rtol=1e-7)
    assert found.method == "rr"
    # the wrong variant: forced answers exchanged
    wrong = of_rr(*people, yes=NO, no=YES)[1]
    assert np.abs(wrong / np.append(units, 1) - wanted).max() > 0.01


def test_the_equations_have_the_mean_0_at_the_truth():
    """Over all reports and outcomes, with their probabilities; not without the weights."""
    rows = np.array([[1, -0.5], [1, 0.2], [1, 1.5]])
    beta, gamma = np.array([-0.4, 0.7, 1.1]), np.array([-0.3, 0.9])
    cases = [*product(rows, (0, 1), (0, 1))]
    x, reports = np.array([case[0] for case in cases]), np.array([case[1] for case in cases])
    y = np.array([float(case[2]) for case in cases])
    holds, sign = expit(x @ gamma), 2 * y - 1
    if_yes, if_no = expit(sign * (x @ beta[:2] + beta[2])), expit(sign * (x @ beta[:2]))
    chances = holds * if_yes * MATRICES.base[0][reports, 1]
    chances += (1 - holds) * if_no * MATRICES.base[0][reports, 0]
    assert chances.sum() == pytest.approx(len(rows))
    with_report = np.column_stack([x, reports])
    scores = np.hstack(
        [
            (y - expit(with_report @ beta))[:, None] * with_report,
            (reports - holds)[:, None] * x,
        ]
    )
    weights = truth_chances(of_rows(x, reports, y), np.concatenate([beta, gamma]))
    np.testing.assert_allclose((chances * weights) @ scores, 0, atol=1e-14)
    assert (chances * weights).sum() == pytest.approx(len(rows) * (1 - YES - NO))
    assert np.abs(chances @ scores).max() > 0.05


def test_weights_and_clusters_of_the_survey_are_not_used():
    people, formula = data(), "civic ~ age + armed"
    columns = {"weight": "w", "cluster": "v"}
    more = {"w": np.linspace(1, 2, PEOPLE), "v": np.arange(PEOPLE) % 9}
    plain = regress_outcome(answers(*people), formula, method="rr")
    weighted = regress_outcome(answers(*people, columns=columns, **more), formula, method="rr")
    assert weighted.coefficients == plain.coefficients
    assert not weighted.weighted


def test_the_result_says_whose_steps_it_is():
    found = regress_outcome(answers(*data()), "civic ~ age + armed", method="rr")
    notes = " ".join(found.view().notes)
    assert "as the package rr estimates them" in found.view().title
    assert "Cauchy priors" in notes and "published figures" in notes
    assert "nobody's true answer to armed is known; its model is armed ~ age" in notes
    assert "nach den Schritten des R-Pakets rr" in page(found, "de")
    facts = json.loads(json.dumps(json_ready(found)))
    assert facts["method"] == "rr" and len(facts["limit"]) == 3
    assert regress_outcome(answers(*data()), "civic ~ age + armed").limit == ()


@pytest.mark.parametrize(
    ("formula", "options", "code"),
    [
        ("age ~ armed", {}, "rr-linear"),
        ("civic ~ age + armed + armed:age", {}, "rr-interaction"),
        ("civic ~ armed", {"intercepts": "female"}, "not-with-rr"),
        ("civic ~ armed", {"errors": "robust"}, "not-with-rr"),
    ],
)
def test_what_rr_does_not_have_is_refused(formula, options, code):
    with pytest.raises(UsageError) as problem:
        regress_outcome(answers(*data()), formula, method="rr", **options)
    assert problem.value.problems[0].code == f"interview_outcomes.{code}"


@pytest.mark.parametrize(
    "design",
    [
        {"kind": "warner", "p": "5/6"},
        {"kind": "matrix", "columns": {"no": ["5/6", "1/6"], "yes": ["1/6", "5/6"]}},
    ],
)
def test_another_design_is_refused(design):
    with pytest.raises(UsageError) as problem:
        regress_outcome(answers(*data(), design), "civic ~ armed", method="rr")
    assert problem.value.problems[0].code == "interview_outcomes.rr-design"


def test_there_are_no_errors_where_the_likelihood_with_priors_is_not_concave():
    rng = np.random.default_rng(7)
    x = np.column_stack([np.ones(40), rng.random(40) < 0.3])
    reports, civic = (rng.random(40) < 0.7).astype(int), 1.0 * (rng.random(40) < 0.5)
    gamma, beta, units = of_rr(x, reports, civic, yes=YES, no=NO)
    with np.errstate(invalid="ignore"):
        errors = errors_of_rr(gamma, beta, units, x, reports, civic, yes=YES, no=NO)
    assert np.isnan(errors).any()
    fit = fit_weighted_reports(of_rows(x, reports, civic))
    assert not fit.determined and np.isnan(fit.covariance).all()


def test_repeated_answers_are_refused():
    x, reports, civic = data()
    counts = np.array(["0", "2"])[reports]
    read = answers(x, reports, civic, FORCED | {"repeats": 2}, armed=counts)
    with pytest.raises(UsageError, match="not one"):
        regress_outcome(read, "civic ~ armed", method="rr")
