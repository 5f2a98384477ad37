"""Regressions whose predictors are partly asked in clear, end to end."""

import warnings
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

import incrowd
from incrowd.errors import IncrowdWarning, ReportsError
from incrowd.presentation.layouts import page
from tests.conftest import slowly

TOWNS = ("north", "south", "east", "west")
SIZES = (5000, 4000, 300, 250)
EFFECT = np.array([0.0, 0.8, -0.5, 0.4])
QUESTIONS = [
    {"id": "ill", "type": "yesno"},
    {"id": "town", "type": "choice", "options": list(TOWNS), "open": True},
    {"id": "smokes", "type": "yesno"},
]
BOTH = ["smokes", "town"]


@cache
def answers():
    generator = np.random.default_rng(7)
    town = generator.permutation(np.repeat(np.arange(4), SIZES))
    smokes = generator.random(len(town)) < np.array([0.3, 0.5, 0.4, 0.4])[town]
    height = -0.6 + 0.7 * smokes + EFFECT[town]
    ill = generator.random(len(town)) < 1 / (1 + np.exp(-height))
    said = {"ill": np.where(ill, "yes", "no"), "smokes": np.where(smokes, "yes", "no")}
    return pa.table(said | {"town": np.array(TOWNS)[town]})


@cache
def collected(crowd=200, rule="delete", copies=2, towns=TOWNS):
    raw = {"name": "towns", "crowd": crowd, "privacy": {"epsilon": 6.0, "analysis": "local"}}
    asked = [q | {"options": list(towns)} if q["id"] == "town" else q for q in QUESTIONS]
    said = answers().filter(pa.compute.is_in(answers()["town"], pa.array(towns)))
    raw |= {"question": asked, "small_strata": rule, "copies": copies}
    plan = incrowd.plan(incrowd.Survey.of(raw))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IncrowdWarning)
        return plan, list(incrowd.randomize(plan, said, simulation_seed=3))


def figures(found):
    assert found.estimable, found.reason
    return {c.term: (c.estimate, c.standard_error) for c in found.coefficients}


def test_a_predictor_in_clear_is_exact_and_near_the_truth():
    """Five coefficients at 4.5 standard errors. What is known without noise is sharper than it
    would be with it: the town's errors are those of the outcome's noise alone."""
    plan, reports = collected()
    found = incrowd.regress(plan, reports, outcome="ill", on=BOTH)
    values = figures(found)
    wanted = {"smokes=yes": 0.7, "town=south": 0.8, "town=east": -0.5, "town=west": 0.4}
    assert all(abs(values[t][0] - v) < 4.5 * values[t][1] for t, v in wanted.items())
    assert values["town=south"][1] < values["smokes=yes"][1] < values["town=east"][1]
    assert found.people == sum(SIZES) and found.left_out == 0


def test_pairs_and_table_agree_over_strata():
    plan, reports = collected()
    asked = {"outcome": "ill", "on": [*BOTH, "smokes:town"], "family": "linear"}
    table, pairs = (incrowd.regress(plan, reports, method=m, **asked) for m in ("table", "pairs"))
    assert np.allclose(table.covariance, pairs.covariance, rtol=1e-7, atol=1e-14)
    values = [[c.estimate for c in each.coefficients] for each in (table, pairs)]
    assert np.allclose(*values, rtol=1e-7, atol=1e-10)


def test_an_outcome_alone_with_noise_is_compared_over_towns():
    """Log odds of each town are those of its own share, for one town as the model is saturated."""
    plan, reports = collected()
    for method in ("table", "pairs"):
        asked = {"outcome": "ill", "on": ["town"], "family": "linear", "method": method}
        values = figures(incrowd.regress(plan, reports, **asked))
        estimates = incrowd.estimate(plan, reports, tables=[["ill"]])
        shares = {each.names[0]: each.tables[0].estimate[1] for each in estimates.strata}
        assert values["(intercept)"][0] == pytest.approx(shares["north"])
        assert values["town=west"][0] == pytest.approx(shares["west"] - shares["north"])


def test_likelihood_over_strata_is_near_the_table():
    plan, reports = collected(copies=1)
    table = figures(incrowd.regress(plan, reports, outcome="ill", on=BOTH))
    likely = figures(incrowd.regress(plan, reports, outcome="ill", on=BOTH, method="likelihood"))
    assert all(abs(table[t][0] - likely[t][0]) < table[t][1] for t in table)


LARGE = {"(intercept)", "smokes=yes", "town=south"}
METHODS = [
    {"method": "table"},
    {"family": "linear", "method": "pairs"},
    {"method": "likelihood"},
    {"margins": {"smokes": {"no": 0.5, "yes": 0.5}}},
]


@pytest.mark.parametrize("rule", ["merge", *slowly("delete")])
@pytest.mark.parametrize("asked", METHODS, ids=["table", "pairs", "likelihood", "margins"])
def test_towns_that_nobody_was_released_of_have_no_coefficient(rule, asked):
    """East and west are below the crowd. The other coefficients are those of a survey that has
    never heard of these two towns; merged, their people are left out, and that is said."""
    plan, reports = collected(500, rule, copies=1)
    found = incrowd.regress(plan, reports, outcome="ill", on=BOTH, **asked)
    assert set(values := figures(found)) == LARGE
    assert found.absent == ("town=east", "town=west")
    merged = 550 / sum(SIZES) if rule == "merge" else 0
    assert found.merged == found.left_out == pytest.approx(merged, rel=0.05)  # weighted: nearly
    if rule == "delete":
        other, kept = collected(500, rule, 1, TOWNS[:2])
        told = figures(incrowd.regress(other, kept, outcome="ill", on=BOTH, **asked))
        assert all(values[term] == pytest.approx(told[term], rel=1e-4) for term in LARGE)


@pytest.mark.slow
def test_what_became_of_such_towns_is_said_everywhere():
    plan, reports = collected(500, "merge")
    found = incrowd.regress(plan, reports, outcome="ill", on=BOTH)
    said = " ".join(found.notes())
    assert "no coefficient for town=east, town=west: no released stratum is known to have" in said
    assert "5.8% of the people are left out: they were released together with people who" in said
    assert "did not answer" not in said
    assert list(found.facts()["absent"]) == ["town=east", "town=west"]
    assert found.facts()["merged"] == found.merged
    assert "No coefficient for town=east" in page(found)


def test_a_reference_that_nobody_was_released_of_is_the_first_that_is_left():
    plan, reports = collected(500, "merge")
    asked = {"outcome": "ill", "on": BOTH, "reference": {"town": "west"}}
    found = incrowd.regress(plan, reports, **asked)
    assert set(figures(found)) == LARGE and "town=north" in found.references


def test_interactions_have_no_such_towns_either():
    plan, reports = collected(500, "merge")
    found = incrowd.regress(plan, reports, outcome="ill", on=[*BOTH, "smokes:town"])
    assert set(figures(found)) == LARGE | {"smokes=yes:town=south"}


def test_one_town_alone_explains_nothing():
    plan, reports = collected(4500, "delete")
    with pytest.raises(ReportsError, match="town: only north was released"):
        incrowd.regress(plan, reports, outcome="ill", on=BOTH)


def test_a_town_that_is_not_named_may_be_merged():
    plan, reports = collected(500, "merge")
    south = incrowd.regress(plan, reports, outcome="ill", on=["smokes", "town=south"])
    assert set(figures(south)) == {"(intercept)", "smokes=yes", "town=south"}
    assert south.left_out == 0
    everybody = incrowd.regress(plan, reports, outcome="ill", on=["smokes"])
    assert everybody.left_out == 0 and figures(everybody)


def test_releases_that_tell_nothing_apart_are_refused():
    plan, reports = collected(500, "merge")
    merged = [part for part in reports if len(part.strata) > 1]
    with pytest.raises(ReportsError, match="released as one"):
        incrowd.regress(plan, merged, outcome="ill", on=BOTH)


def test_a_forecast_has_the_crowd_in_every_stratum():
    plan, _ = collected()
    shares = {"ill": [0.5, 0.5], "smokes": [0.5, 0.5]}
    found = incrowd.forecast_regression(plan, outcome="ill", on=BOTH, shares=shares)
    assert found.people == 4 * 200 and len(found.coefficients) == 5
