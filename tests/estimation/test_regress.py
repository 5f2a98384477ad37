"""Regressions end to end: plans, real reports, what people see."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import ReportsError
from incrowd.presentation.layouts import page
from incrowd.presentation.regression_page import forest_plot

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
    """Four at 4.5 standard errors; the errors are what was forecast for the shares of the answers,
    up to a third."""
    plan, reports = collected(name)
    found = incrowd.regress(plan, reports, **ASKED)
    values = np.array([c.estimate for c in found.coefficients])
    errors = np.array([c.standard_error for c in found.coefficients])
    assert found.people == 12_000 and found.seed == 6 and found.estimable
    assert np.all(np.abs(values - BETA) < 4.5 * errors)
    shares = {}
    for id in ("ill", "smokes", "age"):
        given = people()[id].to_pylist()
        shares[id] = [given.count(each) / len(given) for each in plan.survey.question(id).answers]
    expected = incrowd.forecast_regression(plan, **ASKED, shares=shares)
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
    said = "answers to visits count as 0 to <2 = 1, 2 to <6 = 4, 6 or more = 8: the middle of each"
    assert any(text.startswith(said) and "the last assumed" in text for text in found.notes())
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
    few = incrowd.randomize(plan, people().slice(0, 10), simulation_seed=1)
    with pytest.raises(ReportsError, match="a crowd of 10"):
        incrowd.regress(plan, few, **ASKED)
    found = incrowd.regress(plan, few, accept_smaller_crowd=True, **ASKED)
    assert not found.estimable and found.reason and not found.odds_ratios
    assert "cannot be estimated" in found.notes()[0]


# --- what is shown ---------------------------------------------------------------------------


def test_people_see_odds_ratios_and_machines_the_same_numbers():
    plan, reports = collected("one message")
    found = incrowd.regress(plan, reports, **ASKED)
    first = found.coefficients[1]
    ratio = found.odds_ratios[1]
    assert (ratio.ratio, ratio.low) == (np.exp(first.estimate), np.exp(first.low))
    assert "log odds of ill=yes" in found.title and len(found.rows()) == 4
    assert found.to_arrow().num_rows == 4 and "simulation" in found.to_arrow().column_names
    assert "odds ratio" in page(found) and "&lt;svg" in found._repr_html_()
    drawn = str(forest_plot(found))
    assert all(f">{text}<" in drawn for text in ("smokes", "yes", "age", "middle", "old"))
    assert ">young<" not in drawn and "(intercept)" not in drawn


# --- the page --------------------------------------------------------------------------------

ASK = "Were you <ill> last year?"
LABELS = {"middle": "30 to 60", "old": "above 60", "young": "below 30"}


@cache
def worded(outcome, crossed=()):
    """A model of a survey with wordings, as people read it, and as its page shows it."""
    more = {"ill": {"text": ASK}, "age": {"text": "How old are you?", "labels": LABELS}}
    plan = incrowd.plan(survey(question=[q | more.get(q["id"], {}) for q in QUESTIONS]))
    reports = incrowd.randomize(plan, people(), simulation_seed=6)
    found = incrowd.regress(plan, reports, outcome=outcome, on=["smokes", "age", *crossed])
    return found, page(found)


def test_a_page_speaks_the_words_of_the_survey():
    found, shown = worded(outcome="ill")
    assert "<h1>health</h1>" in shown and "<h2>Were you &lt;ill&gt; last year?</h2>" in shown
    assert "How old are you?" in shown and ">above 60</th>" in shown
    assert "age, against below 30" in shown and "age=old" not in shown
    assert found.plan.digest in shown and "12,000; 12,000 planned" in shown


def test_a_page_says_what_its_clearest_odds_ratio_is():
    found, shown = worded(outcome="ill")
    first = found.odds_ratios[1]
    said = (
        f"ratio of {first.ratio:.3g} at “yes” (smokes) means that these odds are "
        f"{first.ratio:.3g} times those at “no”, among people whose other answers are the same"
    )
    assert said in shown and f"{first.low:.3g} to {first.high:.3g} times" in shown


def test_a_page_says_what_a_difference_is_and_of_interactions_whose():
    _, shown = worded(outcome="visits")
    assert "means that the mean of “visits” is" in shown and "count as 0 to &lt;2 = 1" in shown
    _, crossed = worded(outcome="visits", crossed=("smokes:age",))
    assert "whose other answers are the reference answers" in crossed
    assert "smokes × How old are you?" in crossed and ">yes × above 60</th>" in crossed


def test_a_page_has_the_banner_first_and_technical_words_last():
    _, shown = worded(outcome="ill")
    place = shown.index
    banner = '<p class="banner" role="note">Invented people: a simulation.'
    assert place(banner) < place('<div class="promise')
    assert place("How to read this page") < place("In symbols") < place("nbiased estimating")
    assert "did not answer" not in shown and "released as one" not in shown


def test_figures_stand_under_their_headings_and_charts_are_as_wide_as_their_screens():
    """Headings of figures to the right, as the figures; a second chart for narrow screens; the
    table scrolls in its own box. (Looked at in a browser, 380 and 1,100 pixels wide.)"""
    _, shown = worded(outcome="ill")
    assert '<th scope="col" class="figure">odds ratio</th>' in shown
    assert '<div class="numbers"><table>' in shown
    assert [shown.count(f'<div class="{size}"><svg') for size in ("wide", "narrow")] == [1, 1]


def test_a_forecast_has_a_page_as_well():
    plan, _ = collected("one message")
    shown = page(incrowd.forecast_regression(plan, **ASKED))
    assert "detectable odds ratio" in shown and "People planned for" in shown
    assert "How to read" not in shown and "<svg" not in shown


@pytest.mark.slow
def test_a_formula_says_outcome_and_predictors():
    plan, reports = collected("one message")
    asked = {"outcome": "ill", "on": ["smokes", "age=old", "smokes:age=old"]}
    expected = incrowd.regress(plan, reports, **asked)
    for formula in (
        "ill ~ smokes + age=old + smokes:age=old",
        " ill~smokes + age=old + smokes:age=old",
    ):
        found = incrowd.regress(plan, reports, formula)
        assert found.coefficients == expected.coefficients
        assert incrowd.regress(plan, reports, outcome=formula).terms == expected.terms
        ahead = incrowd.forecast_regression(plan, formula)
        assert ahead.terms == incrowd.forecast_regression(plan, **asked).terms


@pytest.mark.parametrize(
    ("formula", "on", "said"),
    [
        ("ill ~", None, "outcome: got 'ill ~'; should be a formula such as 'smokes ~ age + sex'"),
        ("ill ~ smokes +", None, "on: got 'smokes +'"),
        ("ill ~ a + ", None, "on: got 'a +'"),
        ("~ smokes", None, "outcome: got '~ smokes'; should be a formula"),
        ("ill ~ smokes", ["age"], "on: got a list of 'age'; the formula 'ill ~ smokes' already"),
    ],
)
def test_what_is_no_formula(formula, on, said):
    plan, reports = collected("one message")
    with pytest.raises(incrowd.UsageError) as error:
        incrowd.regress(plan, reports, formula, on=on)
    assert str(error.value).startswith(said)
