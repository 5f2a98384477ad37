"""Shares of those who were asked a question: their estimates and intervals.

Collections are drawn by the exact law of cells (tests/oracles/cell_collections.py). A share of
2,000 has a standard error of .0049 near .95, so that right intervals fall 3.3 of these below .945
or above .97 with a probability below .001 each. The wrong variant is the error of the share of all
people, which is that of the ratio only if everybody is asked.
"""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from scipy.stats import norm

import incrowd
from incrowd.errors import TableError
from incrowd.estimation.crosstab import crosstab
from incrowd.presentation.terminal import terminal
from tests.oracles.cell_collections import CellCollections, noise_of

Z = norm.ppf(0.975)
FILTER = {"id": "smokes", "type": "yesno"}
COUNT = {"id": "count", "type": "choice", "options": ["few", "some", "many"]}
ASKED = COUNT | {"asked_if": "smokes = yes"}
KINDS = {0: ["a"], 1: ["a", "b"], 2: [], None: None}
AMONG = np.array([0.6, 0.35, 0.05])  # of those who are asked


def collections(asked: float, people: int, noisy: float = 10.0) -> CellCollections:
    """asked: the share of people who smoke. noisy: of how many people the noise of a cell is."""
    law = np.zeros((2, 4))
    law[0, 3], law[1, :3] = 1 - asked, asked * AMONG
    q = noise_of(noisy, people)
    return CellCollections((FILTER, ASKED), (("smokes",), ("count",)), (q, q), law)


def estimates(asked: float, people: int, trials: int, seed: int = 1):
    made = collections(asked, people)
    for tally in made.tallies(people, trials, seed):
        yield incrowd.estimate(made.plan, tally, tables=[("count",)], accept_smaller_crowd=True)


def fieller(whole: np.ndarray, noise: float, people: int, place: int, share: float) -> float:
    """How many squared standard errors a share is away: that of a - p (1 - n), by its mean and its
    variance under the hypothesis. whole: the shares of all people, n that of "not asked". noise: of
    one cell; the four cells are projected to the known number of people."""
    asked = 1 - whole[-1]
    off = whole[place] - share * asked
    drawn = max(asked, 0) * share * (1 - share) / people
    variance = noise * (1 + share**2 - (1 + share) ** 2 / 4) + drawn
    return float(off**2 / variance)


def test_the_interval_ends_where_the_test_rejects():
    people = 1000
    made = collections(0.4, people)
    (each,) = estimates(0.4, people, 1)
    table, whole = each.asked["count"], each["count"].estimate
    q = made.noises[1]
    noise = q * (1 - q) / (1 - 2 * q) ** 2 / people
    assert table.answers == (("few", "some", "many"),)
    assert table.provenance.whose == "those who were asked"
    assert table.estimate == pytest.approx(whole[:-1] / (1 - whole[-1]))
    for place in range(3):
        for end in (table.low[place], table.high[place]):
            squared = fieller(whole, noise, people, place, end)
            inside = 0 < end < 1  # a share has no other ends than possible ones
            assert squared == pytest.approx(Z**2, rel=1e-3) if inside else squared < Z**2


def test_the_delta_method_has_the_same_error():
    """By the formula of a ratio (Cochran 1977, section 6.3), for noise and sampling together."""
    people = 20_000
    made = collections(0.4, people)
    (each,) = estimates(0.4, people, 1)
    whole, table = each["count"].estimate, each.asked["count"]
    q = made.noises[1]
    noise = q * (1 - q) / (1 - 2 * q) ** 2 / people
    asked, shares = 1 - whole[-1], table.estimate
    projected = 1 + shares**2 - (1 + shares) ** 2 / 4
    expected = noise * projected + asked * shares * (1 - shares) / people
    assert table.standard_error == pytest.approx(np.sqrt(expected) / asked, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "people"), [(0.4, 1000), (0.4, 20_000), (0.15, 2000), (0.8, 400)]
)
def test_intervals_of_those_who_were_asked_cover(asked, people):
    trials, margin = 2000, 3.3 * np.sqrt(0.95 * 0.05 / 2000)
    hits, wrong, made = np.zeros(3), np.zeros(3), 0
    for each in estimates(asked, people, trials):
        if "count" not in each.asked:
            continue
        made += 1
        table, whole = each.asked["count"], each["count"]
        hits += (table.low <= AMONG) & (table.high >= AMONG)
        wrong += np.abs(table.estimate - AMONG) <= Z * whole.standard_error[:-1]
    assert made > 0.98 * trials
    assert nominal(hits / made, margin), hits / made
    assert not nominal(wrong / made, margin)


def nominal(covered: np.ndarray, margin: float) -> bool:
    return bool(((covered >= 0.945 - margin) & (covered <= 0.97 + margin)).all())


@pytest.mark.slow
def test_intervals_of_few_people_by_services_cover():
    """60 people, noise of the services; exact tests never cover clearly less often than 95%."""
    raw = {
        "name": "Few",
        "crowd": 60,
        "privacy": {"epsilon": 2.0, "delta": 1e-5, "noise": "services"},
        "question": [FILTER, ASKED],
    }
    plan = incrowd.plan(incrowd.Survey.of(raw))
    generator, hits, made = np.random.default_rng(1), np.zeros(3), 0
    for trial in range(600):
        smokes = generator.random(60) < 0.6
        count = np.where(smokes, generator.choice(COUNT["options"], 60, p=AMONG), None)
        people = pa.table({"smokes": np.where(smokes, "yes", "no"), "count": count})
        reports = incrowd.randomize(plan, people, simulation_seed=trial)
        table = incrowd.estimate(plan, reports, tables=[("count",)]).asked.get("count")
        if table is not None:
            made += 1
            hits += (table.low <= AMONG) & (table.high >= AMONG)
    assert made > 500
    assert (hits / made >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / made)).all(), hits / made


def test_nobody_learns_of_shares_of_hardly_anybody():
    """If the number of those who were asked is not clear, the reason is given instead."""
    made = collections(0.01, 1000, noisy=30.0)
    (tally,) = made.tallies(1000, 1, 3)
    each = incrowd.estimate(made.plan, tally, tables=[("count",)], accept_smaller_crowd=True)
    assert each.asked == {}
    assert [missing.questions for missing in each.not_made] == [("count",)]
    assert "those who were asked count" in each.not_made[0].reason


def survey(**keys: object) -> incrowd.Survey:
    raw = {"name": "H", "crowd": 1000, "privacy": {"epsilon": 2.0}, "question": [FILTER, ASKED]}
    return incrowd.Survey.of(raw | keys)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    generator = np.random.default_rng(1)
    smokes = generator.random(4000) < 0.4
    count = np.where(smokes, generator.choice(COUNT["options"], 4000, p=AMONG), None)
    return pa.table({"smokes": np.where(smokes, "yes", "no"), "count": count})


@pytest.mark.parametrize(
    "keys",
    [{}, {"tables": "any"}, {"message": [{"questions": ["smokes", "count"], "cells": True}]}],
)
def test_every_kind_of_message_gives_the_same_shares(keys, people):
    """Six standard errors: a false alarm in 10^8 runs."""
    plan = incrowd.plan(survey(**keys))
    reports = incrowd.randomize(plan, people, simulation_seed=1)
    table = incrowd.estimate(plan, reports).asked["count"]
    true = np.array([people["count"].to_pylist().count(each) for each in COUNT["options"]])
    assert (np.abs(table.estimate - true / true.sum()) < 6 * table.standard_error).all()
    assert (table.standard_error < 0.1).all()


def test_they_are_in_every_form_of_the_results(people, tmp_path):
    plan = incrowd.plan(survey())
    estimates = incrowd.estimate(plan, incrowd.randomize(plan, people, simulation_seed=1))
    facts = [each.get("shares_of") for each in estimates.facts()["tables"]]
    assert facts == [None, None, "those who were asked"]
    rows = estimates.to_arrow().to_pylist()
    assert [row["answer"] for row in rows if row["shares_of"] != "people"] == COUNT["options"]
    printed = io.StringIO()
    Console(file=printed, width=100).print(terminal(estimates))
    assert "% of those who were asked" in printed.getvalue()
    incrowd.save_estimates(estimates, tmp_path / "page.html")
    assert "those who were asked" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
def test_several_answers_of_those_who_were_asked_have_the_errors_of_a_share():
    """The noise is a hundredth of the sampling here. Wrong: "not asked" is independent of options,
    with which nobody gives it; then the error is a half larger."""
    smokes = np.arange(20_000) % 5 < 2
    kinds = np.where(smokes, np.arange(20_000) % 3, None)
    table = pa.table({"smokes": np.where(smokes, "yes", "no"), "kinds": [KINDS[k] for k in kinds]})
    several = {"id": "kinds", "type": "multi", "options": ["a", "b"], "at_most": 2}
    asked = [FILTER, several | {"optional": True, "asked_if": "smokes = yes"}]
    plan = incrowd.plan(survey(question=asked, crowd=20_000, privacy={"epsilon": 5.0}))
    reports = incrowd.randomize(plan, table, simulation_seed=1)
    among = incrowd.estimate(plan, reports).asked["kinds"]
    answered = incrowd.estimate(plan, reports, of_those_who_answered=True).table("kinds")
    for found in (among, answered):
        shares = found.estimate[:2]
        drawn = np.sqrt(shares * (1 - shares) / 8000)
        assert found.standard_error[:2] == pytest.approx(drawn, rel=0.05)
        half = (found.high - found.low)[:2] / 2
        assert half == pytest.approx(Z * found.standard_error[:2], rel=0.02)


def test_a_filter_is_not_compared_with_what_it_decides(people):
    """Everybody who is asked how many said yes to the filter; of all people, both can differ."""
    plan = incrowd.plan(survey(tables="any"))
    reports = incrowd.randomize(plan, people, simulation_seed=1)
    for pair in (("smokes", "count"), ("count", "smokes")):
        with pytest.raises(TableError, match="asked 'count', 'smokes' is 'yes'"):
            incrowd.compare(plan, reports, *pair)
    whole = incrowd.compare(plan, reports, "smokes", "count", of_those_who_answered=False)
    assert whole.answers == (*COUNT["options"], "not asked")
    merge = {"count": [["some", "many"]]}
    with pytest.raises(TableError, match="'smokes' is 'yes'"):
        incrowd.compare(plan, reports, "smokes", "count", merge=merge)
    merge = {"count": [["few", "not asked"]]}
    merged = incrowd.compare(plan, reports, "smokes", "count", merge=merge)
    assert merged.groups == ("no", "yes")


def test_groups_of_which_nobody_is_asked_are_left_out_of_comparisons():
    """Of three groups two are asked. Within six standard errors: a false alarm in 10^8 runs."""
    group = np.arange(6000) % 3
    count = np.where(group > 0, (np.arange(6000) // 3 + group) % 3, None)
    town = {"id": "town", "type": "choice", "options": ["north", "east", "west"]}
    asked = COUNT | {"asked_if": "town != north"}
    table = pa.table(
        {
            "town": np.array(town["options"])[group],
            "count": [None if each is None else COUNT["options"][each] for each in count],
        }
    )
    plan = incrowd.plan(survey(tables="any", question=[town, asked]))
    reports = incrowd.randomize(plan, table, simulation_seed=1)
    for noise_only in (False, True):
        found = incrowd.compare(plan, reports, "town", "count", noise_only=noise_only)
        assert found.groups == ("east", "west")
        assert found.answered == pytest.approx(2 / 3, abs=0.05)
        for each in found.shares:
            assert abs(each.estimate - 1 / 3) < 6 * each.standard_error
    turned = incrowd.compare(plan, reports, "count", "town")
    assert turned.answers == ("east", "west")
    crossed = crosstab(plan, reports, "town", "count")
    assert crossed.rows == ("east", "west")


def test_a_model_says_that_people_were_not_asked(people):
    ages = np.random.default_rng(2).choice(["young", "old"], len(people))
    age = {"id": "age", "type": "choice", "options": ["young", "old"]}
    plan = incrowd.plan(survey(tables="any", question=[FILTER, ASKED, age]))
    reports = incrowd.randomize(plan, people.append_column("age", [ages]), simulation_seed=1)
    model = incrowd.regress(plan, reports, outcome="count=few", on=["age"])
    assert 0.5 < model.left_out < 0.7
    assert "left out: they were not asked, or did not answer" in " ".join(model.notes())
