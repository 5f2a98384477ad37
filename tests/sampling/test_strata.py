"""Open strata from answers to estimates: each right by itself, and all of them together."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.special import bdtr, bdtrc, chdtrc

import incrowd
from incrowd.errors import AnswersError, IncrowdWarning, ReportsError
from incrowd.estimation.readings import table as table_across
from incrowd.presentation.layouts import page
from incrowd.reports.tally_files import as_text, of_text
from incrowd.sampling import randomize as randomizing
from tests.conftest import grouped, rewritten, slowly

FACULTIES = ["law", "arts", "science", "music"]
RATES = {"law": 0.3, "arts": 0.1, "science": 0.55, "music": 0.8}
FACULTY = {"id": "faculty", "type": "choice", "options": FACULTIES, "open": True}
QUESTIONS = [
    FACULTY,
    {"id": "sick", "type": "yesno"},
    {"id": "drinks", "type": "choice", "options": ["x", "y", "z"]},
]
TABLES = [{"questions": ["faculty", "sick"]}, {"questions": ["sick", "drinks"]}]
TRIALS = 200
SIZES = (2600, 1900, 1500, 300)


def plan(rule="delete", questions=QUESTIONS, tables=TABLES, crowd=1000, **more):
    raw = {"name": "F", "crowd": crowd, "privacy": {"epsilon": 3.0, "delta": 1e-4}}
    raw |= {**grouped(questions), "table": list(tables), "small_strata": rule}
    sent = {} if "message" in more else {"tables": "any"}
    return incrowd.plan(incrowd.Survey.of(raw | sent | more))


def answers(sizes=SIZES, seed=1):
    generator = np.random.default_rng(seed)
    faculty = generator.permutation(np.repeat(FACULTIES, sizes))
    sick = generator.random(len(faculty)) < np.vectorize(RATES.get)(faculty)
    drinks = np.where(sick, "z", generator.choice(["x", "y", "z"], len(faculty)))
    return pa.table({"faculty": faculty, "sick": sick, "drinks": drinks})


@pytest.fixture(scope="module")
def made():
    return plan()


@pytest.fixture(scope="module")
def merging():
    return plan("merge")


@pytest.fixture(scope="module")
def known():
    return answers()


@pytest.fixture(scope="module")
def reports(made, known):
    with pytest.warns(IncrowdWarning, match="not released: music"):
        return incrowd.randomize(made, known, simulation_seed=11)


def of(known, faculty):
    return known.filter(pa.compute.equal(known["faculty"], faculty))


def shares(known):
    """The true joint shares of sick and drinks."""
    sick = np.array(known["sick"])
    drinks = np.array(known["drinks"])
    return np.array([[np.mean((sick == s) & (drinks == d)) for d in "xyz"] for s in (False, True)])


def distance(plan, reports, known):
    """The p value of "each stratum's table is the truth but for the noise", over all strata."""
    found = incrowd.estimate(
        plan, reports, tables=[["sick", "drinks"]], noise_only=True, covariance=True
    )
    total, freedom = 0.0, 0
    for stratum in found.strata:
        (table,), (name,) = stratum.tables, stratum.names
        away = (table.estimate - shares(of(known, name))).ravel()[:-2]
        total += away @ np.linalg.solve(table.error.covariance[:-2, :-2], away)
        freedom += len(away)
    return float(chdtrc(freedom, total))


# --- estimates -----------------------------------------------------------------------------------


def test_each_stratum_tells_the_truth_about_itself(made, reports, known):
    """False alarm 1e-4. With the names of two strata exchanged it is refused."""
    assert distance(made, reports, known) > 1e-4
    exchanged = {("law",): ("arts",), ("arts",): ("law",)}
    mixed = [replace(each, strata=exchanged.get(each.strata, each.strata)) for each in reports]
    assert distance(made, mixed, known) < 1e-12


def test_all_together_is_the_sum_over_strata_weighted_by_people(made, reports):
    """And the noise adds up: the strata are independent."""
    found = incrowd.estimate(made, reports, covariance=True, noise_only=True)
    assert [stratum.names for stratum in found.strata] == [("law",), ("arts",), ("science",)]
    weights = np.array([stratum.people for stratum in found.strata]) / found.people
    tables = {table.questions: n for n, table in enumerate(found.tables)}
    for n, own in enumerate(found.strata[0].tables):
        place = tables[own.questions]
        each = [(w, s.tables[n]) for w, s in zip(weights, found.strata, strict=True)]
        estimate = sum(w * table.estimate for w, table in each)
        noise = sum(w**2 * table.error.noise_covariance for w, table in each)
        np.testing.assert_allclose(found.tables[place].estimate, estimate, rtol=1e-9)
        np.testing.assert_allclose(found.tables[place].error.covariance, noise, atol=1e-12)


@pytest.mark.parametrize("ids", [("faculty", "sick"), ("sick", "faculty"), ("faculty",)])
def test_errors_across_strata_are_those_of_the_people_themselves(made, reports, ids):
    """Every person is one vector: her stratum, times the debiased report. No formula of ours.

    The covariance of the mean of such vectors is what noise and sampling make together.
    """
    q = made.messages[0].noise.q
    place = made.messages[0].layout["sick"].start
    rows = []
    for column, collection in enumerate(reports):
        bit = collection.packed[:, place // 8] >> place % 8 & 1
        yes = (bit - q) / (1 - 2 * q)
        vectors = np.zeros((len(collection), 3, 2))
        vectors[:, column] = np.stack([1 - yes, yes], 1)
        rows.append(vectors)
    people = np.concatenate(rows)
    if ids == ("faculty",):
        people = people.sum(axis=2)
    elif ids == ("sick", "faculty"):
        people = people.transpose(0, 2, 1)
    flat = people.reshape(len(people), -1)
    expected = np.cov(flat.T, bias=True) / len(flat)
    counted = incrowd.count(made, reports, tables=[ids], kind="pairs")
    joint = table_across(made, counted, ids, covariance=True)
    table = incrowd.estimate(made, reports, tables=[ids]).tables[0]
    np.testing.assert_allclose(joint.error.covariance, expected, atol=1e-15)
    np.testing.assert_allclose(table.estimate, people.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(joint.estimate, table.estimate, atol=1e-12)
    np.testing.assert_allclose(table.standard_error, joint.standard_error, rtol=1e-9)
    assert table.questions == ids and table.answers == joint.answers


def test_margins_of_an_open_question_are_exact(made, reports):
    counted = incrowd.count(made, reports, tables=[["faculty", "sick"]], kind="pairs")
    joint = table_across(
        made, counted, ("faculty", "sick"), noise_only=True, covariance=True, margin=True
    )
    assert joint.estimate.shape == (4, 3)
    np.testing.assert_allclose(joint.estimate[:3, -1], np.array(SIZES[:3]) / sum(SIZES[:3]))
    assert joint.standard_error[:, -1].max() < 1e-12 < joint.standard_error[:, 0].min()
    exact = incrowd.estimate(made, reports, tables=[["faculty"]], noise_only=True).tables[0]
    assert exact.standard_error.max() == 0.0
    one = incrowd.estimate(made, reports, simultaneous="max-t", noise_only=True).simultaneous
    assert np.isfinite(one[0].low).all() and (one[0].low <= exact.estimate + 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [False, *slowly(True)])
def test_simulated_collections_are_unbiased_and_covered(fixed):
    """200 collections; a false alarm of 1e-5 in each of about 30 cells on either side."""
    survey = plan("merge", crowd=400).survey
    small = answers((800, 500, 300, 200))
    found = incrowd.simulate(survey, small, trials=TRIALS, fixed_people=fixed, seed=5)
    for table in found.tables:
        assert (np.abs(table.bias) <= 4.5 * table.bias_error + 1e-15).all()
        noisy = table.theoretical_error > 0
        hits = np.round(table.coverage[noisy] * TRIALS)
        assert (bdtr(hits, TRIALS, 0.95) > 1e-5).all()
        assert (bdtrc(hits - 1, TRIALS, 0.95) > 1e-5).all()
        assert 0.6 < table.efficiency < 1.7
    assert found.tables[3].coverage.shape == (3, 2)  # science and music are one


def test_true_shares_are_of_whoever_is_released(made, known):
    truth = dict(zip(made.survey.wanted, incrowd.truth(made, known), strict=True))
    kept = known.filter(pa.compute.not_equal(known["faculty"], "music"))
    np.testing.assert_allclose(truth["sick", "drinks"], shares(kept))
    each = [
        shares(of(known, name)).sum(axis=1) * n
        for name, n in zip(FACULTIES, SIZES[:3], strict=False)
    ]
    np.testing.assert_allclose(truth["faculty", "sick"], np.array(each) / sum(SIZES[:3]))


def test_groups_are_compared_by_an_open_question(made, reports):
    found = incrowd.compare(made, reports, "faculty", "sick")
    assert found.independence.p_value < 1e-6 and len(found.shares) == 6
    for faculty, size in zip(FACULTIES[:3], SIZES, strict=False):
        of_it = incrowd.estimate(made, reports, tables=[["sick"]]).strata[FACULTIES.index(faculty)]
        (share,) = [f for f in found.shares if f"sick = yes among faculty = {faculty}" in f.name]
        assert share.estimate == pytest.approx(of_it.tables[0].estimate[1]), size


# --- which strata are released -------------------------------------------------------------------


def names(reports):
    return [each.strata for each in reports]


def test_small_strata_are_left_out_or_merged_and_it_is_said(made, merging, known, reports):
    assert names(reports) == [("law",), ("arts",), ("science",)]
    found = incrowd.estimate(made, reports)
    assert found.left_out == ("music",) and found.crowd == 1500 and found.people == 6000
    small = answers((2000, 1500, 600, 500))
    with pytest.warns(IncrowdWarning, match=r"released as one: science \+ music"):
        merged = incrowd.randomize(merging, small, simulation_seed=1)
    assert names(merged) == [("law",), ("arts",), ("science", "music")]
    assert incrowd.estimate(merging, merged).tables[0].answers == (
        ("law", "arts", "science + music"),
    )
    with pytest.warns(IncrowdWarning, match=r"not released: science, music \(700 people\)"):
        few = incrowd.randomize(merging, answers((2000, 1500, 400, 300)), simulation_seed=1)
    assert names(few) == [("law",), ("arts",)]
    with pytest.raises(AnswersError, match="900 people in the largest stratum"):
        incrowd.randomize(made, answers((900, 800, 10, 5)))


@pytest.mark.parametrize("rule", ["delete", "merge"])
def test_files_in_many_batches_hold_the_same_strata(tmp_path, monkeypatch, rule):
    """Written bit by bit, in folders named by strata; read again, estimated, verified."""
    made, known = plan(rule), answers((2600, 1500, 700, 600))
    pa.csv.write_csv(known, tmp_path / "a.csv")
    monkeypatch.setattr(randomizing, "batch_rows", lambda _: 900)
    with pytest.warns(IncrowdWarning):
        written = randomizing.randomize_files(
            made, tmp_path / "a.csv", tmp_path / "reports", simulation_seed=4
        )
    with pytest.warns(IncrowdWarning):
        whole = incrowd.randomize(made, known, simulation_seed=4)
    loaded = incrowd.load_reports(tmp_path / "reports")
    assert names(loaded) == names(whole) == list(written.strata)
    assert list(map(len, loaded)) == list(map(len, whole)) == list(written.reports)
    assert written.files[0].name == "stratum-1-law.parquet"
    found = incrowd.verify(made, loaded)
    assert found.plan_holds and not found.missing and not found.impossible
    assert distance(made, [each for each in loaded if len(each.strata) == 1], known) > 1e-4


def test_several_messages_copies_and_cells(tmp_path):
    """Every way of sending has its strata: 2 copies of one message, and cells."""
    local = {"epsilon": 12.0, "analysis": "local"}
    tables = [{"questions": ["faculty", "sick"]}]
    sent = [{"questions": ["sick"], "copies": 2}, {"questions": ["drinks"], "cells": True}]
    made = plan(tables=tables, message=sent, privacy=local)
    known = answers()
    with pytest.warns(IncrowdWarning):
        written = incrowd.randomize(made, known, simulation_seed=3)
    files = incrowd.save_reports(written, tmp_path / "reports")
    assert [file.name for file in files[:2]] == [
        "stratum-1-law-message-1.parquet",
        "stratum-1-law-message-2.parquet",
    ]
    found = incrowd.estimate(made, incrowd.load_reports(tmp_path / "reports"))
    assert [stratum.people for stratum in found.strata] == list(SIZES[:3])
    for stratum in found.strata:
        sick, drinks = stratum.tables
        truth = shares(of(known, stratum.name))
        assert (np.abs(sick.estimate - truth.sum(1)) < 5 * sick.standard_error).all()
        assert (np.abs(drinks.estimate - truth.sum(0)) < 5 * drinks.standard_error).all()
    (crossed,) = incrowd.estimate(
        made, incrowd.load_reports(tmp_path / "reports"), tables=[["faculty", "drinks"]]
    ).tables
    released = [stratum.people / sum(SIZES[:3]) for stratum in found.strata]
    each = [stratum.tables[1].estimate for stratum in found.strata]
    assert crossed.estimate == pytest.approx(np.multiply(np.array(released)[:, None], each))


# --- what does not belong together ---------------------------------------------------------------


def test_a_stratum_below_the_crowd_is_found(made, reports):
    short = [
        replace(each, packed=each.packed[:400]) if each.strata == ("arts",) else each
        for each in reports
    ]
    found = incrowd.verify(made, short)
    assert not found.holds and found.missing == 600 and found.people["arts",] == 400
    with pytest.raises(ReportsError, match="a crowd of 400"):
        incrowd.estimate(made, short)
    weaker = incrowd.estimate(made, short, accept_smaller_crowd=True)
    assert weaker.guarantee.crowd == 400 and weaker.guarantee.epsilon > made.guarantee.epsilon


@pytest.mark.parametrize(
    ("strata", "said"),
    [
        ((), "of no stratum"),
        (("history",), "the plan's strata are law, arts"),
        (("arts", "arts"), "the plan's strata are"),
        (("arts", "law"), "does not merge strata"),
    ],
)
def test_names_that_the_plan_does_not_have_are_refused(made, reports, strata, said):
    with pytest.raises(ReportsError, match=said):
        incrowd.verify(made, [replace(reports[0], strata=strata)])


def test_a_stratum_stands_in_one_release(merging, known):
    with pytest.warns(IncrowdWarning):
        released = incrowd.randomize(merging, known)
    both = replace(released[1], strata=("arts", "law"))
    for use in (incrowd.verify, incrowd.estimate):
        with pytest.raises(ReportsError, match="law is in 2 releases"):
            use(merging, [released[0], both])


def test_a_file_with_another_name_in_it_is_refused(made, reports, tmp_path):
    """The names are under the digest of the file."""
    law, *_ = incrowd.save_reports(reports, tmp_path / "reports")
    rewritten(law, strata=json.dumps(["music"]))
    with pytest.raises(ReportsError, match="the digest does not match"):
        incrowd.load_reports(tmp_path / "reports")


def test_a_plan_without_strata_takes_none():
    bare = incrowd.plan(incrowd.Survey.of(
        {"name": "B", "crowd": 50, "privacy": {"epsilon": 3.0, "analysis": "local"}}
        | {"question": [QUESTIONS[1]]}
    ))  # fmt: skip
    (one,) = incrowd.randomize(bare, pa.table({"sick": ["yes", "no"] * 40}))
    with pytest.raises(ReportsError, match="the plan has no strata"):
        incrowd.estimate(bare, [replace(one, strata=("law",))])


# --- tallies, ledgers, what is shown -------------------------------------------------------------


def test_tallies_keep_strata_apart(made, reports):
    """Counted one by one, as files, in any order: the same as at once."""
    parts = [of_text(as_text(incrowd.count(made, each))) for each in reversed(reports)]
    total = parts[0] + parts[1] + parts[2]
    at_once = incrowd.estimate(made, reports)
    found = incrowd.estimate(made, total)
    assert {s.names for s in found.strata} == {s.names for s in at_once.strata}
    for one, other in zip(found.tables, at_once.tables, strict=True):
        assert one.answers == other.answers
        np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-12)


def test_a_ledger_notes_the_smallest_stratum(made, known, tmp_path):
    with pytest.warns(IncrowdWarning):
        real = incrowd.randomize(made, known)
    incrowd.new_ledger(tmp_path / "l.json")
    noted = incrowd.note(tmp_path / "l.json", made, real[:2])
    assert noted.asked[0].crowd == made.survey.crowd  # never more than planned
    short = replace(real[1], packed=real[1].packed[:700])
    incrowd.new_ledger(tmp_path / "m.json")
    assert incrowd.note(tmp_path / "m.json", made, [real[0], short]).asked[0].crowd == 700


@pytest.mark.slow
def test_pages_and_data_tell_strata_apart(made, reports, tmp_path):
    found = incrowd.estimate(made, reports)
    for ending in ("html", "json", "csv", "parquet"):
        incrowd.save_estimates(found, tmp_path / f"e.{ending}")
    facts = json.loads((tmp_path / "e.json").read_text())
    assert facts["crowd"] == 1500 and facts["people"] == 6000
    assert facts["not_released"] == ["music"]
    assert [each["strata"] for each in facts["strata"]] == [["law"], ["arts"], ["science"]]
    law = facts["strata"][0]["tables"][0]
    assert law["questions"] == ["sick"] and law["people"] == 2600
    assert np.allclose([c["estimate"] for c in law["cells"]], found.strata[0].tables[0].estimate)
    rows = pa.csv.read_csv(tmp_path / "e.csv")
    assert set(rows["stratum"].to_pylist()) == {"all", "law", "arts", "science"}
    page = (tmp_path / "e.html").read_text()
    assert "law: 2,600 people" in page and "too few people or none: music" in page
    assert "does not cover faculty" in page


@pytest.mark.slow
def test_the_page_has_each_stratum_folded_away(made, known, reports):
    """Its tables are those of the file: the same estimates, of its own people."""
    found = incrowd.estimate(made, reports)
    html = page(found)
    parts = re.findall(
        r"<details><summary>(.*?): ([\d,]+) people</summary>(.*?)</details>", html, re.S
    )
    assert [(name, int(people.replace(",", ""))) for name, people, _ in parts] == [
        (stratum.name, stratum.people) for stratum in found.strata
    ]
    for (_, _, text), stratum in zip(parts, found.strata, strict=True):
        shown = re.findall(r'class="main">([−\d.]+)<', text)
        expected = [value for table in stratum.tables for value in table.estimate.ravel()]
        assert len(shown) == len(expected)
        for percent, value in zip(shown, expected, strict=True):
            assert float(percent.replace("−", "-")) == pytest.approx(100 * value, abs=0.051)
    assert "for each stratum separately: at the end of this page" in html
    assert "<details" not in page(replace(found, strata=()))
