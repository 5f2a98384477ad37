"""Merged answers in tables: the sum of the answers' estimates, with the errors of a sum.

The oracle is the covariance of all cells as they were asked, summed: Var(sum) = 1' Sigma 1. Wrong
variants leave the covariances out.
"""

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.survey import Survey
from tests.conftest import grouped, one_in

OPTIONS = ["a", "b", "c", "d"]
GROUPS = {"q": {"bd": ["b", "d"]}}
SUM = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]])  # a, b + d, c
N = 3000


def collected(copies=1, optional=False, seed=1, **question):
    asked = [
        {"id": "q", "type": "choice", "options": OPTIONS, "optional": optional, **question},
        {"id": "ill", "type": "yesno"},
        {"id": "town", "type": "choice", "options": ["x", "y", "z"], "open": True},
    ]
    raw = {"name": "m", "crowd": 300, "copies": copies, "question": asked}
    raw |= {"privacy": {"epsilon": 4.0 * copies, "analysis": "local"}}
    raw |= {"table": [{"questions": ["ill", "q"]}]}
    plan = incrowd.plan(Survey.of(raw))
    generator = np.random.default_rng(seed)
    answers = {
        "q": generator.choice(OPTIONS, N, p=[0.5, 0.1, 0.35, 0.05]),
        "ill": generator.choice(["no", "yes"], N, p=[0.8, 0.2]),
        "town": generator.choice(list("xyz"), N),
    }
    return plan, incrowd.randomize(plan, pa.table(answers), simulation_seed=seed)


def table(estimates, *ids):
    return next(each for each in estimates.tables if each.questions == ids)


KINDS = {
    "bits": {},
    "copies": {"copies": 3},
    "k-ary": {"randomizer": {"kind": "k-ary", "keep": 0.7}},
    "optional": {"optional": True},
}


@pytest.mark.parametrize("kind", one_in(2, KINDS))
def test_merged_cells_are_sums_with_the_errors_of_sums(kind):
    plan, reports = collected(**KINDS[kind])
    plain = incrowd.estimate(plan, reports, covariance=True)
    merged = incrowd.estimate(plan, reports, merge=GROUPS, covariance=True)
    assert merged.guarantee == plain.guarantee
    rows = np.pad(SUM, [(0, 1), (0, 1)]) if KINDS[kind].get("optional") else SUM.astype(float)
    if KINDS[kind].get("optional"):
        rows = rows.astype(float)
        rows[-1, -1] = 1
    sums = np.kron(np.eye(2), rows)
    for before, after in zip(plain.tables, merged.tables, strict=True):
        if before.questions != ("ill", "q"):
            continue
        cells = sums @ before.estimate.ravel()
        assert after.estimate.ravel() == pytest.approx(cells, abs=1e-12)
        # sampling is of shares cut to [0, 1], so that only the noise is linear in the cells
        expected = sums @ before.error.noise_covariance @ sums.T
        assert after.error.noise_covariance == pytest.approx(expected, abs=1e-12)
        alone = sums @ np.diag(np.diagonal(before.error.covariance)) @ sums.T
        assert not np.allclose(np.diagonal(after.error.covariance), np.diagonal(alone), rtol=1e-4)
    found = table(merged, "ill", "q")
    assert found.answers[1][:3] == ("a", "bd", "c")
    assert found.error.noise.ravel() == pytest.approx(
        np.sqrt(np.diagonal(found.error.noise_covariance)), rel=0.05
    )


def test_open_answers_are_merged_by_adding_their_people():
    """Also where a third question is crossed with them: the people of both towns together."""
    plan, reports = collected()
    merge = {"town": [["x", "z"]]}
    town = table(incrowd.estimate(plan, reports, merge=merge), "town")
    plain = table(incrowd.estimate(plan, reports), "town")
    assert town.answers == (("x + z", "y"),)
    assert town.estimate == pytest.approx([plain.estimate[[0, 2]].sum(), plain.estimate[1]])
    crossed = [["town", "ill"]]
    before, after = (
        incrowd.estimate(plan, reports, tables=crossed, merge=each).tables[0].estimate
        for each in ({}, merge)
    )
    assert after[0] == pytest.approx(before[0] + before[2], abs=1e-9)


@pytest.mark.slow
def test_margins_are_given_for_the_answers_as_asked_or_as_merged():
    plan, reports = collected()
    as_asked = {"q": {"a": 0.4, "b": 0.2, "c": 0.3, "d": 0.1}}
    as_merged = {"q": {"a": 0.4, "bd": 0.3, "c": 0.3}}
    first, second = (
        incrowd.estimate(plan, reports, merge=GROUPS, margins=each)
        for each in (as_asked, as_merged)
    )
    assert table(first, "q").estimate == pytest.approx([0.4, 0.3, 0.3])
    for one, other in zip(first.tables, second.tables, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
        assert one.standard_error == pytest.approx(other.standard_error, abs=1e-12)


def test_groups_of_merged_answers_are_compared():
    plan, reports = collected()
    found = incrowd.compare(plan, reports, "q", "ill", merge=GROUPS)
    joint = incrowd.estimate(plan, reports, merge=GROUPS, covariance=True).tables[-1].estimate
    share = next(each for each in found.figures if each.name == "share of ill = yes among q = bd")
    assert share.estimate == pytest.approx(joint[1, 1] / joint[:, 1].sum(), rel=1e-3)


@pytest.mark.parametrize("method", ["likelihood", "simplex", "consistent"])
def test_changed_shares_add_up(method):
    plan, reports = collected()
    asked = [["ill", "q"]]
    plain, merged = (
        incrowd.postprocess(plan, only_town(reports), tables=asked, method=method, merge=each)[0]
        for each in ({}, GROUPS)
    )
    if method == "consistent":
        assert merged.estimate.shape == (2, 3)
        return
    assert merged.estimate == pytest.approx(plain.estimate @ SUM.T, abs=1e-9)
    assert merged.raw == pytest.approx(plain.raw @ SUM.T, abs=1e-9)


def only_town(reports):
    return reports


def test_cells_are_summed_with_the_noise_that_the_known_sum_leaves():
    """Each bit is a report of its own. The oracle: independent noise of four cells less its mean;
    the count of two bits that nobody set is binomial in twice as many trials."""
    from scipy.stats import binom

    raw = {"name": "u", "crowd": 300, "privacy": {"epsilon": 4.0, "analysis": "local"}}
    asked = {"id": "q", "type": "choice", "options": OPTIONS, "cells": True}
    plan = incrowd.plan(Survey.of(raw | grouped([asked])))
    answers = pa.table({"q": ["a"] * 500 + ["b"] * 400 + ["c"] * 100})
    reports = incrowd.randomize(plan, answers, simulation_seed=3)
    (plain,), (merged,) = (
        incrowd.estimate(plan, reports, merge=each).tables for each in ({}, GROUPS)
    )
    assert merged.answers == (("a", "bd", "c"),)
    assert merged.estimate == pytest.approx(SUM @ plain.estimate)
    flip = plan.messages[0].noise
    variance = flip.p * flip.q / (flip.p - flip.q) ** 2 / 1000
    left = SUM @ (np.eye(4) - 1 / 4) @ SUM.T
    assert merged.error.noise**2 == pytest.approx(variance * np.diagonal(left))
    assert plain.error.noise**2 == pytest.approx(np.full(4, variance * 3 / 4))
    (counts,) = incrowd.count(plan, reports).messages[0].tables.values()
    set_bits, q = SUM @ counts[1:], plan.messages[0].noise.q
    trials = SUM.sum(axis=1) * counts[0]
    assert merged.error.p_values == pytest.approx(binom.sf(set_bits - 1, trials, q), rel=1e-6)
