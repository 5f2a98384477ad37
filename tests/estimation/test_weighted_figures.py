"""Weights for what there is beside shares: amounts, strata, words, cells, comparisons.

With next to no noise figures are those of the answers, weighted person by person with factors that
are found here. Coverage is of people who are drawn anew, with noise: 4 standard errors, and what is
not weighted does not cover.
"""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.cli.app import app
from incrowd.errors import TableError
from incrowd.estimation.amounts import of_a_sample, quantile
from incrowd.estimation.crosstab import crosstab
from incrowd.estimation.weighting.known_margins import known_margins
from incrowd.estimation.weighting.weighting import release_shares
from incrowd.reports.tally_files import load_tally
from tests.conftest import grouped, slowly

FACULTIES = ("law", "arts", "music")
QUESTIONS = [
    {"id": "faculty", "type": "choice", "options": list(FACULTIES), "open": True},
    {"id": "sex", "type": "choice", "options": ["f", "m"]},
    {"id": "cost", "type": "amount", "edges": [0, 10, 50], "optional": True},
    {"id": "visits", "type": "number", "edges": [0, 2, 5, 9]},
    {"id": "drink", "type": "choice", "options": ["x", "y", "z"], "cells": True},
    {"id": "home", "type": "text", "block": 64, "cohorts": 1, "hashes": 3},
]
OPEN = {"faculty": {"law": 200, "arts": 500, "music": 300}}
BOTH = OPEN | {"sex": {"f": 0.5, "m": 0.5}}
SHARES = np.array([0.2, 0.5, 0.3])
CITIES = ("berlin", "paris", "rome", "oslo")
PEOPLE = 5000


@cache
def plan(epsilon=250.0):
    raw = {"name": "F", "crowd": 300, "privacy": {"epsilon": epsilon, "analysis": "local"}}
    return incrowd.plan(incrowd.Survey.of(raw | grouped(QUESTIONS)))


@cache
def answers():
    """Amounts are edges, so that nothing is rounded."""
    generator = np.random.default_rng(1)
    faculty = generator.choice(FACULTIES, PEOPLE, p=[0.6, 0.2, 0.2])
    law, sex = faculty == "law", generator.choice(["f", "m"], PEOPLE, p=[0.7, 0.3])
    dear = generator.random(PEOPLE) < 0.2 + 0.3 * (sex == "m") + 0.2 * law
    cost = np.where(dear, 50.0, generator.choice([0.0, 10.0], PEOPLE))
    visits = generator.poisson(2 + 3 * (sex == "m") + 2 * law)
    drink = np.where(law, *generator.choice(["x", "y", "z"], (2, PEOPLE), p=[0.7, 0.2, 0.1]))
    drink = np.where(~law & (generator.random(PEOPLE) < 0.5), "z", drink)
    home = np.where(law, "berlin", generator.choice(["paris", "rome"], PEOPLE))
    cost = np.where(generator.random(PEOPLE) < 0.1, np.nan, cost)
    return {"faculty": faculty, "sex": sex, "cost": cost, "visits": visits} | {
        "drink": drink,
        "home": home,
    }


@cache
def reports(epsilon=250.0):
    columns = answers()
    cost = pa.array(columns["cost"], from_pandas=True)
    return list(
        incrowd.randomize(plan(epsilon), pa.table(columns | {"cost": cost}), simulation_seed=2)
    )


def estimate(margins=None, epsilon=250.0, **options):
    return incrowd.estimate(plan(epsilon), reports(epsilon), margins=margins, **options)


def weights(margins, columns):
    """One weight a person: each margin in turn is made right, until all are."""
    found = np.ones(len(columns["sex"]))
    for _ in range(200):
        for id, shares in margins.items():
            for answer, share in shares.items():
                own = columns[id] == answer
                found[own] *= share / sum(shares.values()) * found.sum() / found[own].sum()
    return found / found.sum()


def shares_of(id, each, said):
    return np.array([each[answers()[id] == answer].sum() for answer in said])


def binned(each):
    bins = np.digitize(answers()["visits"], [0, 2, 5, 9])
    return np.array([each[bins == place].sum() for place in (1, 2, 3, 4)])


# --- amounts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("margins", [OPEN, *slowly(BOTH)])
@pytest.mark.parametrize("answered", [False, True])
def test_amounts_are_those_of_weighted_people(margins, answered):
    found = estimate(margins, tables=[["cost"], ["visits"]], of_those_who_answered=answered)
    each, cost = weights(margins, answers()), answers()["cost"]
    gave = ~np.isnan(cost)
    mean = each[gave] @ cost[gave] / each[gave].sum()
    made = found.amounts["cost"]
    assert made.mean.estimate == pytest.approx(mean, abs=1e-3)
    assert made.total.estimate == pytest.approx(PEOPLE * each[gave] @ cost[gave], rel=1e-4)
    said = made.note(found.tables[0].provenance.weighted_to)
    assert said.startswith("of those who answered, weighted to known margins of faculty")
    assert abs(mean - cost[gave].mean()) > 1
    asked, values = plan().survey.question("visits"), np.append(1.0, binned(each))
    known = of_a_sample(asked, values, np.zeros((5, 5)), PEOPLE)
    for place, share in enumerate((0.1, 0.25, 0.5, 0.75, 0.9)):
        one = found.amounts["visits"].quantiles[place]
        exact = quantile(known, share)
        assert (one.least, one.most) == (exact.least, exact.most)


@pytest.mark.parametrize("people", [1.0, *slowly(1000.0, 10e6)])
def test_totals_and_counts_are_of_the_people_whom_margins_state(people):
    """Shares state no number of people, and fewer than took part are ratios: then it is those who
    took part. The same mean, the same relative error. Wrong: always those who took part."""
    shares = {"faculty": {"law": 0.2, "arts": 0.5, "music": 0.3}}
    stated = {"faculty": {name: people * share for name, share in shares["faculty"].items()}}
    whole = max(people, PEOPLE)
    made = estimate(stated, tables=[["cost"]]).amounts["cost"]
    each, cost = weights(OPEN, answers()), answers()["cost"]
    gave = ~np.isnan(cost)
    assert made.total_of == whole
    assert made.total.estimate == pytest.approx(whole * each[gave] @ cost[gave], rel=1e-4)
    plain = estimate(shares, tables=[["cost"]]).amounts["cost"]
    assert made.mean == plain.mean
    for name in ("standard_error", "influence", "low", "high"):
        scaled = getattr(plain.total, name) * whole / PEOPLE
        assert getattr(made.total, name) == pytest.approx(scaled)
    assert [row[0] for row in made.lines][1] == f"total of {whole:,.0f} people"
    crossed = crosstab(plan(), reports(), "faculty", "sex", margins=stated)
    assert crossed.people == pytest.approx(whole)
    assert crossed.counts[:-1, -1] == pytest.approx(whole * SHARES, rel=1e-6)


@pytest.mark.slow
def test_amounts_without_weights_stay_as_they_are():
    """Of those who answered is what a mean is anyway."""
    plain, answered = estimate(epsilon=14.0), estimate(epsilon=14.0, of_those_who_answered=True)
    for id in ("cost", "visits"):
        for first, second in zip(
            (*filter(None, (plain.amounts[id].mean, plain.amounts[id].total)),),
            (*filter(None, (answered.amounts[id].mean, answered.amounts[id].total)),),
            strict=True,
        ):
            assert vars(first) == pytest.approx(vars(second), rel=1e-9)
        assert plain.amounts[id].quantiles == answered.amounts[id].quantiles


HALVES = {"town": {"n": 1, "s": 1}, "sex": {"f": 1, "m": 1}}
DRAWN = [
    {"id": "town", "type": "choice", "options": ["n", "s"], "open": True},
    {"id": "sex", "type": "choice", "options": ["f", "m"]},
    {"id": "cost", "type": "amount", "edges": [0, 10, 50], "optional": True},
    {"id": "sick", "type": "choice", "options": ["no", "yes"]},
]
COSTS = np.array([[5.0, 30.0], [12.0, 40.0]])  # by town and sex
SICK = np.array([[0.1, 0.7], [0.3, 0.8]])


def drawn(generator, people=4000):
    """Who takes part, by town and sex apart; answers depend on both."""
    south, man = generator.random(people) < 0.3, generator.random(people) < 0.25
    middle = COSTS[south * 1, man * 1]
    cost = np.where(generator.random(people) < 0.2, None, middle + generator.uniform(-5, 5, people))
    sick = generator.random(people) < SICK[south * 1, man * 1]
    said = {"town": ("n", "s"), "sex": ("f", "m"), "sick": ("no", "yes")}
    found = {"town": south, "sex": man, "sick": sick}
    columns = {id: np.array(said[id])[each * 1] for id, each in found.items()}
    return pa.table(columns | {"cost": pa.array(cost.tolist())})


def intervals(found):
    """Of the mean cost, and of the share of the sick in the south."""
    mean, south = found.amounts["cost"].mean, found.strata[1].tables[1]
    return (mean.low, mean.high), (south.low[1], south.high[1])


@pytest.mark.slow
@pytest.mark.parametrize("trials", [25, 1000])
def test_weighted_means_and_shares_in_a_stratum_cover(trials):
    """4 standard errors of the coverage. Without weights neither does."""
    raw = {"name": "D", "crowd": 500, "privacy": {"epsilon": 14.0, "analysis": "local"}}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": DRAWN}))
    generator, hits, truth = np.random.default_rng(4), [], (COSTS.mean(), SICK[1].mean())
    for seed in range(trials):
        sent = list(incrowd.randomize(made, drawn(generator), simulation_seed=seed))
        options = {"tables": [["cost"], ["sick"]]}
        weighted = incrowd.estimate(made, sent, margins=HALVES, **options)
        plain = incrowd.estimate(made, sent, **options)
        ends = [end for one in (weighted, plain) for end in intervals(one)]
        hits.append([low <= t <= high for (low, high), t in zip(ends, 2 * truth, strict=True)])
    slack = 4 * np.sqrt(0.05 * 0.95 / trials)
    *right, mean, stratum = np.abs(np.mean(hits, axis=0) - 0.95)
    assert max(right) < slack < min(mean, stratum)


# --- strata --------------------------------------------------------------------------------------


@pytest.mark.parametrize("answered", [False, *slowly(True)])
def test_strata_beside_weights_to_answers_are_of_the_weighted_people_in_them(answered):
    found = estimate(BOTH, tables=[["visits"], ["cost"]], of_those_who_answered=answered)
    each, columns = weights(BOTH, answers()), answers()
    for stratum in found.strata:
        own = each * (columns["faculty"] == stratum.name)
        own /= own.sum()
        assert stratum.tables[0].estimate == pytest.approx(binned(own), abs=1e-4)
        gave = ~np.isnan(columns["cost"])
        mean = own[gave] @ columns["cost"][gave] / own[gave].sum()
        assert stratum.amounts["cost"].mean.estimate == pytest.approx(mean, abs=1e-3)
        assert stratum.tables[0].provenance.weighted_to == ("faculty", "sex")
        whole = own[gave].sum() if answered else 1
        shares = np.array([own[columns["cost"] == edge].sum() for edge in (0, 10, 50)]) / whole
        assert stratum.tables[1].estimate[:3] == pytest.approx(shares, abs=1e-4)


def test_strata_need_no_weights_where_all_their_people_have_the_same():
    options = {"epsilon": 14.0, "tables": [["cost"]]}
    plain, weighted = estimate(**options), estimate(OPEN, **options)
    answered = estimate(OPEN, of_those_who_answered=True, **options)
    for first, second, third in zip(plain.strata, weighted.strata, answered.strata, strict=True):
        assert second.tables[0].estimate == pytest.approx(first.tables[0].estimate)
        assert second.tables[0].standard_error == pytest.approx(first.tables[0].standard_error)
        alone = incrowd.estimate(
            plan(14.0),
            [each for each in reports(14.0) if each.strata == third.names],
            tables=[["cost"]],
            of_those_who_answered=True,
        )
        assert third.tables[0].estimate == pytest.approx(alone.tables[0].estimate)
        assert third.tables[0].standard_error == pytest.approx(alone.tables[0].standard_error)
        assert third.tables[0].provenance.whose == "those who answered"
    assert len(estimate(BOTH, tables=[["faculty"]]).strata) == 3


def test_a_survey_without_open_questions_has_no_strata():
    raw = {"name": "D", "crowd": 500, "privacy": {"epsilon": 60.0, "analysis": "local"}}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": DRAWN[1:]}))
    people = drawn(np.random.default_rng(6))
    sent = incrowd.randomize(made, people, simulation_seed=1)
    found = incrowd.estimate(made, sent, margins={"sex": HALVES["sex"]}, tables=[["sick"]])
    sick, sex = np.array(people["sick"]) == "yes", np.array(people["sex"])
    rate = np.mean([sick[sex == each].mean() for each in "fm"])
    assert found.strata == () and found.tables[0].estimate[1] == pytest.approx(rate, abs=1e-3)
    weighted = {"outcome": "sick", "on": ["sex"], "margins": {"sex": HALVES["sex"]}}
    assert incrowd.regress(made, sent, **weighted).estimable


# --- words and cells -----------------------------------------------------------------------------


def test_cells_are_averaged_over_strata_with_known_shares():
    """sum of P_s share_s, with the variance sum of P_s^2 Var_s; of the noise alone as well."""
    for noise_only in (False, True):
        found = estimate(OPEN, epsilon=14.0, tables=[["drink"]], noise_only=noise_only).tables[0]
        plain = estimate(epsilon=14.0, tables=[["drink"]], noise_only=noise_only)
        strata = [each.tables[0] for each in plain.strata]
        assert found.estimate == pytest.approx(
            sum(w * each.estimate for w, each in zip(SHARES, strata, strict=True))
        )
        errors = [(w * each.standard_error) ** 2 for w, each in zip(SHARES, strata, strict=True)]
        assert found.standard_error == pytest.approx(np.sqrt(sum(errors)))
        assert found.provenance.weighted_to == ("faculty",) and found.provenance.error_ratio > 1
    exact = estimate(OPEN, tables=[["drink"]]).tables[0].estimate
    assert exact == pytest.approx(shares_of("drink", weights(OPEN, answers()), "xyz"), abs=1e-4)


def test_words_are_weighted_as_well():
    found = estimate(OPEN, tables=[["home"]], candidates={"home": CITIES}).words["home"]
    truth = shares_of("home", weights(OPEN, answers()), CITIES)
    assert found.estimate == pytest.approx(truth, abs=1e-3)
    assert found.present.tolist() == [True, True, True, False]
    assert found.others == pytest.approx(0, abs=1e-3)
    assert "weighted to known margins of faculty" in found.present_note
    plain = estimate(tables=[["home"]], candidates={"home": CITIES}).words["home"]
    assert np.abs(found.estimate - plain.estimate).max() > 0.1
    known = [
        (w * s.words["home"].standard_error) ** 2 for w, s in zip(SHARES, _strata(), strict=True)
    ]
    assert found.standard_error == pytest.approx(np.sqrt(sum(known)), rel=0.05)


def _strata():
    return estimate(tables=[["home"]], candidates={"home": CITIES}).strata


def test_words_that_nobody_looks_for_collide_alike_in_all_strata():
    """A few unknown words of everybody: absent candidates are as far off as their errors say (rms
    of 80 within 4 standard errors of 1). Wrong: errors of strata added up as if independent."""
    columns = answers() | {"home": np.random.default_rng(5).choice(["v1", "v2", "v3"], PEOPLE)}
    columns["cost"] = np.full(PEOPLE, 10.0)
    raw = {"name": "W", "crowd": 300, "privacy": {"epsilon": 60.0, "analysis": "local"}}
    text = {"id": "home", "type": "text", "block": 16, "cohorts": 32}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": [QUESTIONS[0], QUESTIONS[1], text]}))
    sent = list(incrowd.randomize(made, pa.table(columns), simulation_seed=3))
    words = tuple(f"nowhere {number}" for number in range(80))
    asked = {"tables": [["home"]], "candidates": {"home": words}}
    found = incrowd.estimate(made, sent, margins=OPEN, **asked).words["home"]
    plain = incrowd.estimate(made, sent, **asked)
    apart = np.sqrt(
        sum(
            (w * each.words["home"].standard_error) ** 2
            for w, each in zip(SHARES, plain.strata, strict=True)
        )
    )
    slack = 4 / np.sqrt(2 * len(words))
    off = [
        np.sqrt(np.mean((found.estimate / error) ** 2)) for error in (found.standard_error, apart)
    ]
    assert abs(off[0] - 1) < slack < off[1] - 1
    assert abs(found.others - 1) < 5 * found.others_error


def test_the_shares_of_strata_are_those_of_raking_with_the_errors_of_who_takes_part():
    """Of two open questions, by numerical derivatives."""
    questions = [
        {"id": "a", "type": "yesno", "open": True},
        {"id": "b", "type": "yesno", "open": True},
        {"id": "c", "type": "yesno"},
    ]
    raw = {"name": "R", "crowd": 50, "privacy": {"epsilon": 5.0, "analysis": "local"}}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": questions}))
    counts = np.array([[100, 300], [250, 150]])
    cells = np.repeat(np.arange(4), counts.ravel())
    said = {"a": cells // 2, "b": cells % 2, "c": cells % 2}
    said = {id: np.array(["no", "yes"])[each] for id, each in said.items()}
    tally = incrowd.count(made, incrowd.randomize(made, pa.table(said)), tables=[["c"]])
    known = known_margins(made.survey, {"a": {"no": 0.4, "yes": 0.6}, "b": {"no": 0.7, "yes": 0.3}})

    def raked(shares):
        found = shares.reshape(2, 2).copy()
        for _ in range(200):
            found *= np.array([[0.4], [0.6]]) / found.sum(axis=1, keepdims=True)
            found *= np.array([0.7, 0.3]) / found.sum(axis=0)
        return found.ravel()

    shares = counts.ravel() / counts.sum()
    steps = np.eye(4) * 1e-6
    slopes = np.array([(raked(shares + s) - raked(shares - s)) / 2e-6 for s in steps]).T
    sampling = (np.diag(shares) - np.outer(shares, shares)) / counts.sum()
    found, covariance = release_shares(made, tally, known)
    assert found == pytest.approx(raked(shares))
    assert covariance == pytest.approx(slopes @ sampling @ slopes.T, rel=1e-5, abs=1e-12)
    assert release_shares(made, tally, known[:1])[1].any()  # `b` is not known


# --- tallies -------------------------------------------------------------------------------------


def test_a_tally_of_pairs_of_the_joint_table_is_enough():
    """In any order: the tables of some of its questions follow from it."""
    counted = incrowd.count(plan(14.0), reports(14.0), tables=[["sex", "cost"]], kind="pairs")
    options = {"margins": BOTH, "tables": [["cost"], ["sex"]]}
    found = incrowd.estimate(plan(14.0), counted, **options)
    whole = incrowd.estimate(plan(14.0), reports(14.0), **options)
    for first, second in zip(found.tables, whole.tables, strict=True):
        assert first.estimate == pytest.approx(second.estimate)
        assert first.standard_error == pytest.approx(second.standard_error)
        assert first.provenance.error_ratio == pytest.approx(second.provenance.error_ratio)
    with pytest.raises(TableError, match="incrowd tally --table visits"):
        incrowd.estimate(plan(14.0), counted, margins=BOTH, tables=[["visits"]])
    singles = incrowd.count(plan(14.0), reports(14.0), tables=[["sex", "cost"]])
    assert incrowd.estimate(plan(14.0), singles, tables=[["cost"]]).tables[0].estimate == (
        pytest.approx(incrowd.estimate(plan(14.0), reports(14.0)).tables[2].estimate)
    )
    with pytest.raises(TableError, match="incrowd tally --pairs"):
        incrowd.estimate(plan(14.0), singles, **options)


def test_the_command_counts_what_margins_need(tmp_path):
    (tmp_path / "plan.json").write_text(plan(14.0).dumps())
    incrowd.save_reports(reports(14.0), tmp_path / "r")
    (tmp_path / "m.toml").write_text(
        "[faculty]\nlaw = 2\narts = 5\nmusic = 3\n[sex]\nf = 5\nm = 5\n"
    )
    asked = ["--margins", tmp_path / "m.toml", "--table", "cost"]
    command = ["tally", tmp_path / "plan.json", tmp_path / "r", "-o", tmp_path / "t.json"]
    app(args=list(map(str, [*command, *asked])), standalone_mode=False)
    counted = load_tally(tmp_path / "t.json")
    assert counted.kind == "pairs" and counted.tables == (("cost",), ("cost", "sex"))
    options = {"tables": [["cost"]], "margins": incrowd.load_margins(tmp_path / "m.toml")}
    found = incrowd.estimate(plan(14.0), counted, **options).tables[0]
    whole = estimate(BOTH, epsilon=14.0, tables=[["cost"]]).tables[0]
    assert (
        found.estimate == pytest.approx(whole.estimate)
        and found.provenance.weighted_to == whole.provenance.weighted_to
    )


# --- comparisons ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_groups_are_compared_among_weighted_people():
    found = incrowd.compare(plan(), reports(), "faculty", "visits", margins=BOTH)
    each, columns = weights(BOTH, answers()), answers()
    few = np.digitize(columns["visits"], [0, 2, 5, 9]) == 1
    law, arts = (
        each[few & (columns["faculty"] == name)].sum() / each[columns["faculty"] == name].sum()
        for name in FACULTIES[:2]
    )
    difference = found.differences[0]
    assert difference.estimate == pytest.approx(arts - law, abs=1e-3)
    assert found.weighted_to == ("faculty", "sex") and found.error_ratio > 0
    assert "weighted to known margins of faculty and sex" in found._repr_html_()
    plain = incrowd.compare(plan(), reports(), "faculty", "visits")
    assert abs(plain.differences[0].estimate - difference.estimate) > 0.005
    noise = incrowd.compare(plan(), reports(), "sex", "visits", margins=BOTH, noise_only=True)
    assert noise.differences[0].errors == "noise alone"


def test_a_comparison_that_the_margins_tell_has_no_test():
    known = {"faculty | sex": {f"{f} | {s}": 1 for f in FACULTIES for s in "fm"}}
    found = incrowd.compare(plan(14.0), reports(14.0), "faculty", "sex", margins=known)
    assert not found.independence.estimable and found.error_ratio == 0
    assert found.shares[0].estimate == pytest.approx(0.5)
