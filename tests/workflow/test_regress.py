"""Regressions end to end: plans, real reports, what people see."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import ReportsError
from incrowd.presentation.regressions import forest_plot, notes, page, rows, title

AGES = ("young", "middle", "old")
BETA = np.array([-0.5, 0.9, 0.3, 0.7])  # 1, smokes, middle, old
ASKED = {"outcome": "ill", "on": ["smokes", "age"]}


QUESTIONS = [
    {"id": "ill", "type": "yesno"},
    {"id": "smokes", "type": "yesno"},
    {"id": "age", "type": "choice", "options": list(AGES)},
    {"id": "visits", "type": "number", "edges": [0, 2, 6]},
]


PRIVACY = {"epsilon": 14.0, "analysis": "local"}


def survey(**changed):
    raw = {"name": "health", "crowd": 12_000, "privacy": PRIVACY, "question": QUESTIONS}
    return incrowd.Survey.of(raw | changed)


@cache
def people(number=12_000):
    generator = np.random.default_rng(5)
    smokes, age = generator.random(number) < 0.4, generator.integers(3, size=number)
    height = BETA[0] + BETA[1] * smokes + np.array([0, *BETA[2:]])[age]
    ill = generator.random(number) < 1 / (1 + np.exp(-height))
    visits = generator.poisson(1 + 2 * ill)
    said = {"ill": ill, "smokes": smokes}
    said = {id: np.where(values, "yes", "no") for id, values in said.items()}
    return pa.table(said | {"age": np.array(AGES)[age], "visits": visits.astype(str)})


K_ARY = {"randomizer": {"kind": "k-ary", "keep": 0.85}}
CHANGED = {
    "one message": {},
    "three copies": {"copies": 3},
    "two messages": {
        "message": [
            {"questions": ["ill", "smokes", "age"]},
            {"questions": [question["id"] for question in QUESTIONS], "copies": 2},
        ]
    },
    "k-ary": {"question": [q | K_ARY if q["id"] == "age" else q for q in QUESTIONS]},
}


@cache
def collected(name):
    plan = incrowd.plan(survey(**CHANGED[name]))
    return plan, incrowd.randomize(plan, people(), simulation_seed=6)


@pytest.mark.parametrize("name", CHANGED)
def test_coefficients_are_near_the_true_ones(name):
    """Four at 4.5 standard errors; the errors are what was forecast, up to a third."""
    plan, reports = collected(name)
    found = incrowd.regress(plan, reports, **ASKED)
    values = np.array([c.estimate for c in found.coefficients])
    errors = np.array([c.standard_error for c in found.coefficients])
    assert found.people == 12_000 and found.seed == 6 and found.estimable
    assert np.all(np.abs(values - BETA) < 4.5 * errors)
    expected = incrowd.forecast_regression(plan, **ASKED)
    forecast = np.array([c.standard_error for c in expected.coefficients])
    assert np.all(np.abs(errors / forecast - 1) < 0.35)


@pytest.mark.parametrize("name", CHANGED)
def test_linear_models_are_alike_by_table_and_by_pairs(name):
    plan, reports = collected(name)
    asked = {"outcome": "ill", "on": ["smokes", "age"], "family": "linear"}
    found = [incrowd.regress(plan, reports, method=m, **asked) for m in ("table", "pairs")]
    if name != "two messages":  # whose weights are of the table, or of pairs
        assert np.allclose(found[0].covariance, found[1].covariance, rtol=1e-6)
    values = [np.array([c.estimate for c in each.coefficients]) for each in found]
    errors = np.array([c.standard_error for c in found[0].coefficients])
    assert np.all(np.abs(values[0] - values[1]) < errors)


def test_the_noise_alone_is_less_than_noise_and_sampling():
    plan, reports = collected("one message")
    for method in ("table", "pairs"):
        asked = ASKED | {"family": "linear", "method": method}
        both = incrowd.regress(plan, reports, **asked)
        noise = incrowd.regress(plan, reports, noise_only=True, **asked)
        assert noise.errors == "noise alone"
        pairs = zip(noise.coefficients, both.coefficients, strict=True)
        assert all(a.standard_error < b.standard_error for a, b in pairs)


def test_likelihood_is_sharper_and_near():
    plan, reports = collected("one message")
    table = incrowd.regress(plan, reports, **ASKED)
    likely = incrowd.regress(plan, reports, method="likelihood", **ASKED)
    errors = [np.array([c.standard_error for c in f.coefficients]) for f in (table, likely)]
    values = np.array([c.estimate for c in likely.coefficients])
    assert np.all(errors[1] < 1.02 * errors[0])
    assert np.all(np.abs(values - BETA) < 4.5 * errors[1])


def test_a_number_is_explained_in_its_own_units():
    plan, reports = collected("one message")
    found = incrowd.regress(plan, reports, outcome="visits", on=["ill"])
    assert found.family == "linear" and found.outcome == "visits"
    visits = np.array([float(v) for v in people()["visits"].to_pylist()])
    score = np.array([1.0, 4.0, 8.0])[np.digitize(visits, [2, 6])]
    ill = np.array(people()["ill"].to_pylist()) == "yes"
    slope = found.coefficients[1]
    assert abs(slope.estimate - (score[ill].mean() - score[~ill].mean())) < 4 * slope.standard_error


def test_an_amount_is_explained_by_its_mean():
    """Rounded at random to an edge, so that means are kept: the slope is the difference of the
    means of the amounts themselves, at 4 standard errors. Wrong: of the nearest edges."""
    generator = np.random.default_rng(8)
    smokes = np.arange(6000) % 2 == 0
    cost = generator.uniform(0, 4, 6000) + 2 * smokes
    questions = [{"id": "cost", "type": "amount", "edges": [0, 10]}, QUESTIONS[1]]
    plan = incrowd.plan(survey(question=questions, crowd=6000, privacy=PRIVACY))
    said = {"cost": cost, "smokes": np.where(smokes, "yes", "no")}
    reports = incrowd.randomize(plan, pa.table(said), simulation_seed=2)
    found = incrowd.regress(plan, reports, outcome="cost", on=["smokes"])
    slope = found.coefficients[1]
    true = cost[smokes].mean() - cost[~smokes].mean()
    nearest = 10 * ((cost > 5)[smokes].mean() - (cost > 5)[~smokes].mean())
    assert found.family == "linear"
    assert abs(slope.estimate - true) < 4 * slope.standard_error
    assert abs(nearest - true) > 3 * slope.standard_error


def test_too_few_people_are_refused():
    plan, _ = collected("one message")
    few = incrowd.randomize(plan, people().slice(0, 50), simulation_seed=1)
    with pytest.raises(ReportsError, match="a crowd of 50"):
        incrowd.regress(plan, few, **ASKED)
    found = incrowd.regress(plan, few, accept_smaller_crowd=True, **ASKED)
    assert not found.estimable and found.reason and not found.odds_ratios
    assert "cannot be estimated" in notes(found)[0]


# --- what is shown ---------------------------------------------------------------------------


def test_people_see_odds_ratios_and_machines_the_same_numbers():
    plan, reports = collected("one message")
    found = incrowd.regress(plan, reports, **ASKED)
    first = found.coefficients[1]
    ratio = found.odds_ratios[1]
    assert (ratio.ratio, ratio.low) == (np.exp(first.estimate), np.exp(first.low))
    assert "log odds of ill=yes" in title(found) and len(rows(found)) == 4
    assert found.to_arrow().num_rows == 4 and "simulation" in found.to_arrow().column_names
    assert "odds ratio" in page(found) and "<svg" in found._repr_html_()
    drawn = str(forest_plot(found))
    assert all(term in drawn for term in ("smokes=yes", "age=old")) and "(intercept)" not in drawn
