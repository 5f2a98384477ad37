"""Scores, merged answers and the penalty with whatever else a survey has: strata, margins, copies,
several messages, k-ary responses.

Oracle: statsmodels' fit to the answers themselves, recoded in numpy, where there is hardly any
noise. Its errors are White's. Firth's penalty of 8,000 people is far below them.
"""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy.special import expit

import incrowd
from incrowd.errors import IncrowdError
from incrowd.survey import Survey
from tests.conftest import grouped, one_in

LEVELS = ["a", "b", "c", "d"]
TOWNS = ["x", "y", "z"]
PEOPLE = 8000
WAYS = {
    "one report": {"tables": "any"},
    "three copies": {"copies": 3},
    "two messages": {"message": [{"questions": ["ill", "q", "n"]}, {"questions": ["ill", "q"]}]},
    "k-ary": {"tables": "any"},
}


def drawn(seed=3):
    generator = np.random.default_rng(seed)
    q, town = (generator.choice(n, PEOPLE, p=p) for n, p in ((4, [0.4, 0.3, 0.2, 0.1]), (3, None)))
    n = generator.integers(3, size=PEOPLE)
    ill = generator.random(PEOPLE) < expit(-1 + 0.4 * q - 0.3 * (town == 1) + 0.2 * n)
    return {"q": q, "town": town, "n": n, "ill": ill * 1}


@cache
def collected(way):
    keep = {"randomizer": {"kind": "k-ary", "keep": 0.9999}} if way == "k-ary" else {}
    questions = [
        {"id": "ill", "type": "yesno"},
        {"id": "q", "type": "choice", "options": LEVELS, **keep},
        {"id": "n", "type": "number", "edges": [0, 1, 3]},
        {"id": "town", "type": "choice", "options": TOWNS, "open": True},
    ]
    raw = {"name": "r", "crowd": 1000, "question": questions, **WAYS[way]}
    raw |= {"privacy": {"epsilon": 400.0, "analysis": "local"}}
    plan = incrowd.plan(Survey.of(raw))
    people = drawn()
    answers = {
        "ill": np.array(["no", "yes"])[people["ill"]],
        "q": np.array(LEVELS)[people["q"]],
        "n": np.array([0.5, 2.0, 5.0])[people["n"]],
        "town": np.array(TOWNS)[people["town"]],
    }
    return plan, incrowd.randomize(plan, pa.table(answers), simulation_seed=5)


def logit(*columns, weights=None):
    people, x = drawn(), np.column_stack([np.ones(PEOPLE), *columns])
    family = sm.families.Binomial()
    return sm.GLM(people["ill"], x, family=family, freq_weights=weights).fit(cov_type="HC0")


def checked(found, oracle):
    assert found.estimable, found.reason
    estimates = [each.estimate for each in found.coefficients]
    assert estimates == pytest.approx(oracle.params, abs=0.01)
    errors = [each.standard_error for each in found.coefficients]
    assert errors == pytest.approx(oracle.bse, rel=0.05)


@pytest.mark.parametrize("way", one_in(2, WAYS))
@pytest.mark.parametrize("penalty", [None, "firth"])
def test_merged_answers_are_recoded_answers(way, penalty):
    """Of a randomized and of an open predictor, in the same model."""
    people = drawn()
    merge = {"q": {"low": ["a", "c"]}, "town": [["x", "z"]]}
    found = incrowd.regress(
        *collected(way), outcome="ill", on=["q", "town"], merge=merge, penalty=penalty
    )
    assert [each.term for each in found.coefficients[1:]] == ["q=b", "q=d", "town=y"]
    recoded = [people["q"] == 1, people["q"] == 3, people["town"] == 1]
    checked(found, logit(*recoded))


@pytest.mark.parametrize("penalty", [None, "firth"])
def test_slopes_of_answers_of_bins_and_of_open_answers(penalty):
    """Scores 1, 2, 3, 4; the middles of bins, .5, 2 and 4; and stated ones. Also crossed."""
    people = drawn()
    on = ["score(q)", "score(n)", "score(town)", "score(q):score(town)"]
    found = incrowd.regress(
        *collected("one report"),
        outcome="ill",
        on=on,
        predictor_scores={"town": [0, 5, 1]},
        penalty=penalty,
    )
    assert [each.term for each in found.coefficients[1:]] == on
    q, n = people["q"] + 1.0, np.array([0.5, 2.0, 4.0])[people["n"]]
    town = np.array([0.0, 5.0, 1.0])[people["town"]]
    checked(found, logit(q, n, town, q * town))


@pytest.mark.parametrize("method", ["table", "pairs"])
def test_linear_models_have_slopes_too(method):
    people = drawn()
    found = incrowd.regress(
        *collected("one report"),
        outcome="n",
        on=["score(q)", "score(town)", "score(q):score(town)"],
        method=method,
    )
    q, town = people["q"] + 1.0, people["town"] + 1.0
    x = np.column_stack([np.ones(PEOPLE), q, town, q * town])
    oracle = sm.OLS(np.array([0.5, 2.0, 4.0])[people["n"]], x).fit(cov_type="HC0")
    checked(found, oracle)


@pytest.mark.parametrize("penalty", [None, "firth"])
def test_weights_know_merged_answers_and_slopes(penalty):
    """A margin of the merged answers, as they were asked; the oracle weights each person."""
    people, merge = drawn(), {"q": [["a", "b"]]}
    margins = {"q": {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}}
    found = incrowd.regress(
        *collected("one report"),
        outcome="ill",
        on=["score(q)"],
        merge=merge,
        margins=margins,
        penalty=penalty,
    )
    level = np.array([0, 0, 1, 2])[people["q"]]
    weights = np.array([0.3, 0.3, 0.4])[level] / np.bincount(level)[level] * PEOPLE
    estimates = [each.estimate for each in found.coefficients]
    assert estimates == pytest.approx(logit(level + 1.0, weights=weights).params, abs=0.01)


def test_what_cannot_go_together_is_refused_with_a_reason():
    plan, reports = collected("one report")
    for changed in ({"method": "likelihood"}, {"method": "likelihood", "on": ["score(q)"]}):
        with pytest.raises(IncrowdError, match="no merged answers, no scores"):
            incrowd.regress(
                *(plan, reports),
                **({"outcome": "ill", "on": ["q"], "merge": {"q": [["a", "b"]]}} | changed),
            )
    cells = {"id": "u", "type": "choice", "options": LEVELS, "cells": True}
    raw = {"name": "u", "crowd": 100, "privacy": {"epsilon": 4.0, "analysis": "local"}}
    alone = incrowd.plan(Survey.of(raw | grouped([{"id": "ill", "type": "yesno"}, cells])))
    with pytest.raises(IncrowdError, match="no message has all of these"):
        incrowd.forecast_regression(alone, outcome="ill", on=["score(u)"])
