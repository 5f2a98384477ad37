"""Amounts on every way from answers to reports: in one piece, piece by piece, from a device."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import incrowd
from incrowd.collection.device import sending
from incrowd.encoding.amounts import Adjusted, outside
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import IncrowdWarning
from incrowd.sampling import streaming
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import randomize_files
from tests.conftest import run

# All but the tests of the warning itself have amounts beyond the edges, and read no more of it.
pytestmark = pytest.mark.filterwarnings("ignore:hours. .* answers lie")
ALMOST_NO_NOISE = {"epsilon": 160.0, "delta": 1e-6, "analysis": "local"}


def planned(**question):
    asked = {"id": "hours", "type": "amount", "edges": [0, 10, 40], **question}
    raw = {"name": "Hours", "crowd": 2000, "privacy": ALMOST_NO_NOISE, "question": [asked]}
    return incrowd.plan(incrowd.Survey.of(raw))


def answers(number=2000):
    return pd.DataFrame({"hours": np.random.default_rng(1).uniform(-2, 44, number)})


def close(found, numbers):
    """Within five standard errors of the rounding, which are at most half of the widest bin."""
    right = np.clip(numbers["hours"], 0, 40).mean()
    return abs(found.amounts["hours"].mean.estimate - right) < 5 * 15 / np.sqrt(len(numbers))


def test_a_file_in_pieces_is_rounded_as_one_in_one_piece(tmp_path, monkeypatch):
    plan, given = planned(), answers()
    given.to_csv(tmp_path / "a.csv", index=False)
    whole = incrowd.randomize(plan, given, simulation_seed=3)
    assert close(incrowd.estimate(plan, whole), given)
    randomize_files(plan, tmp_path / "a.csv", tmp_path / "one.parquet", simulation_seed=3)
    one = incrowd.load_reports(tmp_path / "one.parquet")[0]
    assert np.array_equal(one.packed, whole[0].packed)
    monkeypatch.setattr(streaming, "BATCH_ROWS", 300)
    randomize_files(plan, tmp_path / "a.csv", tmp_path / "few.parquet", simulation_seed=3)
    few = incrowd.load_reports(tmp_path / "few.parquet")
    assert len(few[0]) == 2000 and close(incrowd.estimate(plan, few), given)


def test_a_device_rounds_once_and_draws_its_noise_again(monkeypatch):
    """A bundle with too few slots at first: what is drawn again is of the same edge."""
    plan, seen = planned(), []

    class Bundle:
        slots, pools, shape, lanes = (1,), ((0,),), None, ()

    Bundle.plan = plan

    def too_many_at_first(plan, message, person, *rest):
        seen.append(person.encoded["hours"].places.tolist())
        return np.zeros((2 if len(seen) % 3 else 1, 1), np.uint8)

    monkeypatch.setattr(sending, "randomize_message", too_many_at_first)
    monkeypatch.setattr(sending, "filled", lambda *_: [])
    person = EncodedAnswers.of(plan.survey, pa.table({"hours": [25.0]}))
    keystream = Keystream.for_simulation(2)
    for _ in range(200):
        sending.plaintexts(Bundle, person, keystream)
    draws = np.array(seen).reshape(200, 3)
    assert (draws == draws[:, :1]).all() and set(draws[:, 0]) == {1, 2}
    assert abs((draws[:, 0] == 2).mean() - 0.5) < 4 * 0.5 / np.sqrt(200)  # 6e-5 of false alarm


@pytest.mark.slow
def test_a_simulation_rounds_anew_or_keeps_both():
    survey = planned(optional=True).survey.model_copy(update={"crowd": 300})
    given = answers(400)
    given.iloc[::7] = np.nan
    for fixed in (False, True):
        (table,) = incrowd.simulate(survey, given, trials=60, fixed_people=fixed, seed=4).tables
        assert (np.abs(table.bias) <= 5 * table.bias_error + 1e-9).all()
        assert table.mean_standard_error == pytest.approx(
            table.theoretical_error, rel=0.1, abs=1e-6
        )


def test_no_answer_is_no_amount():
    plan, given = planned(optional=True), answers()
    given.iloc[:500] = np.nan
    found = incrowd.estimate(plan, incrowd.randomize(plan, given, simulation_seed=5))
    kept = given.dropna()
    assert close(found, kept)
    figures = found.amounts["hours"]
    assert figures.total.estimate == pytest.approx(1500 * figures.mean.estimate, rel=1e-6)


@pytest.mark.slow
def test_the_table_the_page_and_the_json_have_the_mean(tmp_path):
    plan = planned()
    found = incrowd.estimate(plan, incrowd.randomize(plan, answers(), simulation_seed=6))
    for ending in ("json", "html"):
        incrowd.save_estimates(found, tmp_path / f"a.{ending}")
    (table,) = pd.read_json(tmp_path / "a.json", typ="series")["tables"]
    assert table["mean"]["estimate"] == found.amounts["hours"].mean.estimate
    assert {"standard_error", "low", "high"} <= set(table["mean"]) == set(table["total"])
    assert [each["share"] for each in table["quantiles"]] == [0.1, 0.25, 0.5, 0.75, 0.9]
    page = (tmp_path / "a.html").read_text()
    assert f"{found.amounts['hours'].mean.estimate:.2f}" in page and "median" in page


@pytest.mark.slow
def test_shares_of_edges_are_not_called_shares_of_people(tmp_path):
    """1.4% of the people work 10 hours or more, but far more answers are rounded to 10. Every way
    to show the table says so; a table without amounts is of people."""
    asked = {"id": "hours", "type": "amount", "edges": [0, 10, 40]}
    night = {"id": "night", "type": "yesno"}
    raw = {"name": "Hours", "crowd": 2000, "privacy": ALMOST_NO_NOISE, "question": [asked, night]}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"table": [{"questions": ["hours", "night"]}]}))
    hours = np.where(np.arange(2000) % 70 == 0, 10.0, 1.0)
    people = pd.DataFrame({"hours": hours, "night": np.arange(2000) % 2 == 0})
    reports = incrowd.randomize(plan, people, simulation_seed=7)
    found = incrowd.estimate(plan, reports, tables=[["hours"], ["night"], ["hours", "night"]])
    assert found.tables[0].estimate[1] > 0.09 > 3 * np.mean(hours == 10)
    words = " after rounding hours at random to edges"
    assert [table.provenance.rounding for table in found.tables] == [words, "", words]
    incrowd.save_reports(reports, tmp_path / "r.parquet")
    (tmp_path / "plan.json").write_text(plan.dumps())
    files = tmp_path / "plan.json", tmp_path / "r.parquet"
    for ending in ("html", "json", "csv", "R"):
        incrowd.save_estimates(found, tmp_path / f"a.{ending}")
        assert words in (tmp_path / f"a.{ending}").read_text()
    shown = run("estimate", *files, "--table", "hours", "--table", "hours,night").stdout
    assert " ".join(shown.split()).count(f"% of people{words}") == 2
    for option in ([], ["--crosstab"]):
        compared = " ".join(run("compare", *files, "night", "hours", *option).stdout.split())
        assert "shares are of rounded amounts" in compared


def test_correlations_of_amounts_are_those_of_rounded_amounts():
    """Rounding keeps the covariance and adds its own variance (x - a)(b - x), within 5 standard
    errors; the output says so. Wrong: the correlation of the amounts themselves."""
    asked = {"id": "hours", "type": "amount", "edges": [0, 10, 40]}
    night = {"id": "night", "type": "yesno"}
    raw = {"name": "Hours", "crowd": 2000, "privacy": ALMOST_NO_NOISE, "question": [asked, night]}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"table": [{"questions": ["hours", "night"]}]}))
    hours = np.random.default_rng(3).uniform(0, 40, 2000)
    people = pd.DataFrame({"hours": hours, "night": hours > 20})
    reports = incrowd.randomize(plan, people, simulation_seed=7)
    found = incrowd.correlate(plan, reports)
    a, b = np.where(hours < 10, [[0.0], [10.0]], [[10.0], [40.0]])
    spread = np.sqrt(np.var(hours) + np.mean((hours - a) * (b - hours)))
    exact = np.corrcoef(hours, hours > 20)[0, 1]
    [pair] = found.pairs
    assert abs(pair.estimate - exact * np.std(hours) / spread) < 5 * pair.standard_error
    assert exact - pair.estimate > 5 * pair.standard_error
    assert found.rounded == ("hours",)
    assert any("closer to 0" in note for note in found.view().notes)
    tables = incrowd.postprocess(plan, reports, tables=[["hours"], ["night"]])
    assert sum("rounded" in note for note in tables.view().notes) == 1


def test_an_amount_is_an_outcome_without_bias():
    """Regressed on nothing but another question that tells nothing: the mean of the group."""
    asked = [
        {"id": "hours", "type": "amount", "edges": [0, 10, 40]},
        {"id": "night", "type": "yesno"},
    ]
    raw = {"name": "Hours", "crowd": 2000, "privacy": ALMOST_NO_NOISE, "question": asked}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"table": [{"questions": ["hours", "night"]}]}))
    given = answers().assign(night=["yes", "no"] * 1000)
    given.loc[given.night == "yes", "hours"] = 12.0
    reports = incrowd.randomize(plan, given, simulation_seed=7)
    fit = incrowd.regress(plan, reports, outcome="hours", on=["night"], family="linear")
    means = np.clip(given.hours, 0, 40).groupby(given.night).mean()
    first, second = fit.coefficients
    assert abs(first.estimate - means["no"]) < 5 * first.standard_error
    assert abs(second.estimate - (means["yes"] - means["no"])) < 5 * second.standard_error
    assert second.standard_error < 1


WITH_CODES = [-99.0] * 60 + [999.0] * 20 + [-3.0] * 5 + [41.0] * 15 + [20.0] * 200
BELOW = (
    "hours: 65 of 300 answers lie below the first edge, 0, and count as 0; "
    "use missing = [-99] for codes that mean no answer"
)
ABOVE = (
    "hours: 35 of 300 answers lie above the last edge, 40, and count as 40; "
    "use missing = [999] for codes that mean no answer"
)


def said(call):
    """What is told of amounts beyond the edges."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if "answers lie" in str(each.message)]


def test_amounts_beyond_the_edges_of_a_file_are_counted(tmp_path, monkeypatch):
    plan, given = planned(optional=True), pd.DataFrame({"hours": [*WITH_CODES, None]})
    given.to_csv(tmp_path / "a.csv", index=False)
    assert said(lambda: incrowd.randomize(plan, given)) == [BELOW, ABOVE]
    assert said(lambda: incrowd.truth(plan, given)) == [BELOW, ABOVE]
    survey = plan.survey.model_copy(update={"crowd": 300})
    assert said(lambda: incrowd.simulate(survey, given, trials=2)) == [BELOW, ABOVE]
    file = tmp_path / "a.csv"
    assert said(lambda: randomize_files(plan, file, tmp_path / "one.parquet")) == [BELOW, ABOVE]
    monkeypatch.setattr(streaming, "BATCH_ROWS", 70)
    assert said(lambda: randomize_files(plan, file, tmp_path / "few.parquet")) == [BELOW, ABOVE]


def test_codes_for_no_answer_are_no_amounts():
    """What the warning advises gives the mean of those who answered, and no warning of codes."""
    coded = planned(optional=True, missing=[-99, 999])
    given = pd.DataFrame({"hours": WITH_CODES})
    assert [line.partition(" lie")[0] for line in said(lambda: incrowd.truth(coded, given))] == [
        "hours: 5 of 220 answers",
        "hours: 15 of 220 answers",
    ]
    (shares,) = incrowd.truth(coded, given)
    assert shares @ [0, 10, 40, 0] == pytest.approx((15 * 40 + 200 * 20) / 300)


def test_a_likely_amount_is_called_no_code():
    """99 may be an age; 999 hardly; -1 is a temperature where others are below zero too."""
    ages = outside([0, 80], np.array([99.0, 999.0, 50.0, -1.0]))
    assert ages == Adjusted(4, 1, 2, frozenset({999, -1}))
    assert outside([-20, 30], np.array([-99.0, 99.0])) == Adjusted(2, 1, 1, frozenset({99}))


def test_amounts_between_the_edges_are_not_spoken_of():
    given = pd.DataFrame({"hours": [0.0, 40.0, 10.0] * 700})
    assert said(lambda: incrowd.randomize(planned(), given)) == []


def test_fewer_people_than_the_crowd_are_told(tmp_path, monkeypatch):
    plan = planned()
    few = "1,999 people are randomized, but the plan's guarantee needs 2,000: collect more"
    answers(1999).to_csv(tmp_path / "a.csv", index=False)
    with pytest.warns(IncrowdWarning, match=few):
        incrowd.randomize(plan, answers(1999))
    monkeypatch.setattr(streaming, "BATCH_ROWS", 700)
    with pytest.warns(IncrowdWarning, match=few):
        randomize_files(plan, tmp_path / "a.csv", tmp_path / "few.parquet")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        incrowd.randomize(plan, answers(2000))
    assert not [each for each in caught if "people are randomized" in str(each.message)]
