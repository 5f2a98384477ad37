"""Models of an outcome from a formula: beside the same model on arrays that are built by hand."""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit, logit, stdtrit

import incrowd
from incrowd.interviews.hidden import HiddenAnswerModel, ObservedOutcome
from incrowd.interviews.hidden_fit import fit_hidden_answers
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.outcome_models import regress_outcome
from incrowd.interviews.varying import regress_with_intercepts
from incrowd.presentation.data import json_ready
from incrowd.presentation.layouts import page

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}
MATRICES = ItemMatrices(np.array([[[5 / 6, 1 / 6], [1 / 6, 5 / 6]]]))
PEOPLE = 900


def survey(columns=None, groups=None, **question):
    question = {"id": "armed", "type": "yesno", "design": FORCED} | question
    raw = {"name": "Arms", "device": {"kind": "die"}, "question": [question]}
    return incrowd.InterviewSurvey.of(
        raw | ({"columns": columns} if columns else {}) | ({"groups": groups} if groups else {})
    )


def data(seed=1):
    """Invented people: columns as arrays, and their reports to a die."""
    rng = np.random.default_rng(seed)
    age, region = rng.integers(18, 70, PEOPLE).astype(float), rng.integers(3, size=PEOPLE)
    armed = rng.random(PEOPLE) < expit(-0.6 + 0.02 * (age - 40))
    die = rng.integers(1, 7, PEOPLE)
    village = rng.integers(30, size=PEOPLE)
    height = -0.5 + 0.03 * (age - 40) + 0.9 * armed + 0.4 * (region == 2)
    height += 0.6 * rng.normal(size=30)[village]
    return {
        "armed": np.where(die == 6, 1, np.where(die == 1, 0, armed)),
        "age": age,
        "region": region,
        "village": village,
        "civic": (rng.random(PEOPLE) < expit(height)).astype(float),
        "income": 1000 * (3 + height + rng.normal(size=PEOPLE)),
        "w": rng.uniform(0.5, 2, PEOPLE),
    }


def answers(columns, asked=None, **changed):
    table = {name: pa.array(values) for name, values in columns.items()}
    table["armed"] = np.array(["no", "yes"])[columns["armed"]]
    table["region"] = np.array(["east", "north", "west"])[columns["region"]]
    table["village"] = [f"v{each:02}" for each in columns["village"]]
    return incrowd.read_answers(asked or survey(), pa.table(table | changed))


def by_hand(columns, family, outcome, interaction=False):
    """The model `outcome ~ age + region + armed`, and with `armed:age`."""
    age, region = columns["age"], columns["region"]
    x = np.column_stack([np.ones(len(age)), age, region == 1, region == 2])
    designs = [
        np.column_stack([x, np.full(len(age), a), *([a * age] * interaction)]) for a in (0.0, 1.0)
    ]
    item = ReportedItem(columns["armed"], np.zeros(len(age), int), MATRICES)
    outcome = ObservedOutcome(family, columns[outcome], np.stack(designs))
    return HiddenAnswerModel(item, x, outcome, "outcome")


@pytest.mark.parametrize("interaction", [False, True])
@pytest.mark.parametrize(("family", "outcome"), [("logistic", "civic"), ("linear", "income")])
def test_a_formula_is_the_model_that_is_built_by_hand(family, outcome, interaction):
    columns = data()
    more = " + armed:age" if interaction else ""
    found = regress_outcome(answers(columns), f"{outcome} ~ age + region + armed{more}")
    wanted = fit_hidden_answers(by_hand(columns, family, outcome, interaction))
    assert found.family == family
    np.testing.assert_allclose(np.diag(found.covariance), np.diag(wanted.covariance), rtol=1e-6)
    size = 5 + interaction
    estimates = [each.estimate for each in found.coefficients]
    np.testing.assert_allclose(estimates, wanted.parameters[:size], rtol=1e-5)
    terms = ["(intercept)", "age", "region=north", "region=west", "armed=yes"]
    assert [each.term for each in found.coefficients][:5] == terms
    assert [each.term for each in found.item_coefficients] == terms[:4]
    assert found.item_formula == "armed ~ age + region"
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood)
    assert (found.people, found.left_out, found.errors) == (PEOPLE, 0, "observed")
    assert (found.sigma is None) == (family == "logistic")
    assert len(found.labels) == len(found.covariance)


def test_interviews_with_missing_values_are_left_out():
    columns = data()
    age, civic = columns["age"].copy(), columns["civic"].copy()
    reports = np.array(["no", "yes"], object)[columns["armed"]]
    age[:10], civic[5:20], reports[100:103] = np.nan, np.nan, None
    gone = {"age": pa.array(age, from_pandas=True), "civic": pa.array(civic, from_pandas=True)}
    found = regress_outcome(answers(columns, **gone, armed=reports), "civic ~ age + armed")
    assert (found.people, found.left_out) == (PEOPLE - 23, 23)
    kept = np.r_[20:100, 103:PEOPLE]
    rest = {name: values[kept] for name, values in columns.items()}
    wanted = regress_outcome(answers(rest), "civic ~ age + armed")
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood)


def test_another_reference_turns_the_signs():
    found = regress_outcome(answers(data()), "civic ~ armed")
    named = answers(data(), civic=np.array(["no", "yes"])[data()["civic"].astype(int)])
    turned = regress_outcome(named, "civic ~ armed", reference={"armed": "yes", "civic": "yes"})
    assert (found.outcome, turned.outcome) == ("civic", "civic=no")
    assert turned.coefficients[1].term == "armed=no"
    assert turned.coefficients[1].estimate == pytest.approx(found.coefficients[1].estimate)
    ends = sum(each.estimate for each in found.coefficients)
    assert turned.coefficients[0].estimate == pytest.approx(-ends)
    assert turned.differences[0].estimate == pytest.approx(-found.differences[0].estimate)


def test_the_model_of_the_item_may_have_other_predictors():
    found = regress_outcome(answers(data()), "civic ~ age + armed", item="armed ~ region")
    assert [each.term for each in found.item_coefficients][1:] == ["region=north", "region=west"]
    assert found.item_formula == "armed ~ region"


def test_weights_and_clusters_choose_the_errors():
    columns = data()
    weighted = regress_outcome(
        answers(columns, survey({"weight": "w"})), "civic ~ age + region + armed"
    )
    model = by_hand(columns, "logistic", "civic")
    wanted = fit_hidden_answers(model, weights=columns["w"], errors="robust")
    assert (weighted.errors, weighted.weighted) == ("robust", True)
    np.testing.assert_allclose(weighted.covariance, wanted.covariance, rtol=1e-5, atol=1e-9)
    asked = survey({"cluster": "village"})
    clustered = regress_outcome(answers(columns, asked), "civic ~ age + region + armed")
    wanted = fit_hidden_answers(model, errors="cluster", clusters=columns["village"])
    assert clustered.errors == "cluster"
    np.testing.assert_allclose(clustered.covariance, wanted.covariance, rtol=1e-5, atol=1e-9)
    armed = clustered.coefficients[4]
    assert armed.high - armed.estimate == pytest.approx(stdtrit(29, 0.975) * armed.standard_error)


def test_random_intercepts_are_those_of_the_column():
    columns = {name: values[:240] for name, values in data().items()}
    columns["village"] = np.arange(240) % 8
    found = regress_outcome(answers(columns), "civic ~ age + region + armed", intercepts="village")
    wanted = fit_hidden_answers(by_hand(columns, "logistic", "civic"), groups=columns["village"])
    variation, mixed = found.variation, wanted.intercepts
    assert (variation.column, variation.groups) == ("village", 8)
    assert variation.variance == pytest.approx(mixed.variance, rel=1e-4)
    assert variation.p_value == pytest.approx(mixed.p_value, rel=1e-3)
    assert variation.part == pytest.approx(
        mixed.variance / (mixed.variance + np.pi**2 / 3), rel=1e-4
    )
    assert found.differences == ()
    assert "random intercepts of 8 groups of village" in "".join(found.view().notes)


def test_a_regression_with_intercepts_is_that_of_the_arrays():
    columns = {name: values[:240] for name, values in data().items()}
    columns["village"] = np.arange(240) % 8
    found = regress_with_intercepts(answers(columns), "armed ~ age + region", "village")
    x = by_hand(columns, "logistic", "civic").x
    item = ReportedItem(columns["armed"], np.zeros(240, int), MATRICES)
    wanted = fit_hidden_answers(HiddenAnswerModel(item, x), groups=columns["village"])
    estimates = [each.estimate for each in found.coefficients]
    np.testing.assert_allclose(estimates, wanted.parameters, rtol=1e-4)
    assert found.log_likelihood == pytest.approx(wanted.log_likelihood)
    assert found.variation.variance == pytest.approx(wanted.intercepts.variance, abs=1e-4)
    facts = json.loads(json.dumps(json_ready(found)))
    assert facts["intercepts"]["groups"] == 8
    assert len(found.to_arrow()) == 4
    assert "zufällige Achsenabschnitte von 8 Gruppen" in page(found, "de")
    assert repr(found) == "VaryingRegression(armed ~ age + region, by village, 240 interviews)"


def test_unknown_probabilities_are_estimated_along():
    rng, columns = np.random.default_rng(3), data()
    group = rng.integers(2, size=PEOPLE)
    p = np.where(group, 0.4, 0.8)
    reported = np.where(rng.random(PEOPLE) < p, rng.random(PEOPLE) < 0.4, rng.random(PEOPLE) < 0.2)
    designs = [{"kind": "unrelated", "p": "4/5"}, {"kind": "unrelated", "p": "2/5"}]
    raw = {
        "name": "Arms",
        "device": {"kind": "spinner", "sectors": 100},
        "columns": {"group": "version", "cluster": "village"},
        "groups": {"codes": ["A", "B"]},
        "question": [{"id": "armed", "type": "yesno", "designs": designs}],
    }
    asked = incrowd.InterviewSurvey.of(raw)
    columns["armed"] = reported.astype(int)
    found = regress_outcome(
        answers(columns, asked, version=np.array(["A", "B"])[group]), "income ~ age + armed"
    )
    (share,) = found.unknown
    assert share.term == "unrelated"
    assert share.low < 0.2 < share.high
    half = stdtrit(29, 0.975) * share.standard_error / (share.estimate * (1 - share.estimate))
    ends = expit(logit(share.estimate) + half * np.array([-1, 1]))  # of 30 villages
    assert [share.low, share.high] == pytest.approx(ends)
    assert len(found.labels) == len(found.covariance) == 3 + 1 + 2 + 1


def test_several_answers_have_a_model_each():
    rng, columns = np.random.default_rng(4), data()
    true = rng.integers(3, size=PEOPLE)
    forced = {"kind": "forced", "forced": {"never": "1/6", "often": "1/6"}}
    asked = survey(type="choice", options=["never", "once", "often"], design=forced)
    die = rng.integers(1, 7, PEOPLE)
    names = np.array(["never", "once", "often"])
    reported = np.where(die == 1, "never", np.where(die == 6, "often", names[true]))
    income = 1000.0 * (2 * true + rng.normal(size=PEOPLE))
    found = regress_outcome(
        answers(columns, asked, armed=reported, income=income), "income ~ age + armed"
    )
    assert [each.term for each in found.coefficients][2:] == ["armed=once", "armed=often"]
    terms = ["once: (intercept)", "once: age", "often: (intercept)", "often: age"]
    assert [each.term for each in found.item_coefficients] == terms
    once, often = found.differences
    assert once.low < 2000 < once.high
    assert often.low < 4000 < often.high


def test_the_result_has_every_form():
    found = regress_outcome(answers(data()), "civic ~ age + region + armed")
    facts = json.loads(json.dumps(json_ready(found)))
    assert facts["coefficients"][4]["term"] == "armed=yes"
    assert facts["answers"] == ["no", "yes"]
    table = found.to_arrow()
    assert table["part"].to_pylist() == ["outcome"] * 5 + ["item"] * 4 + ["difference"]
    english, german = page(found, "en"), page(found, "de")
    assert "log odds of civic, 900 interviews" in english
    assert "Log-Odds von civic, 900 Interviews" in german
    assert "armed ~ age + region" in german
    assert found.squares()[0].values.shape == (9, 9)
    assert (
        repr(found) == "OutcomeRegression(logistic, civic ~ age + region + armed, 900 interviews)"
    )
