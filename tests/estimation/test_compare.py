"""Comparisons end to end: real reports against the truth in the answers."""

import html
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import TableError
from incrowd.estimation.ratios import Comparison
from incrowd.estimation.wording import interval_words, notes, row
from incrowd.presentation.data import json_ready
from tests.conftest import run

EXAMPLES = Path(__file__).parents[2] / "examples"
FIRST, SECOND = "physical_limitation", "self_rated_health"


@pytest.fixture(scope="module")
def health():
    raw = incrowd.Survey.load(EXAMPLES / "health.toml").model_dump(by_alias=True)
    raw["privacy"] = {"epsilon": 16.0, "analysis": "local"}  # sharp enough to compare
    survey = incrowd.Survey.of(raw)
    answers = incrowd.load_answers(EXAMPLES / "rand_hie.csv", survey)
    made = incrowd.plan(survey)
    return made, answers, incrowd.randomize(made, answers, simulation_seed=11)


def counts(answers):
    pairs = list(zip(answers[FIRST].to_pylist(), answers[SECOND].to_pylist(), strict=True))
    return lambda group, answer: sum(p == (group, answer) for p in pairs)


def test_shares_differences_and_odds_are_near_the_truth(health):
    """Sixteen figures at 5 standard errors; the wrong variant, the other group's share, fails."""
    made, answers, reports = health
    found, n = incrowd.compare(made, reports, FIRST, SECOND), counts(answers)
    options = ("excellent", "good", "fair", "poor")
    groups = {g: sum(n(g, o) for o in options) for g in ("no", "yes")}
    truth = [n(g, o) / groups[g] for g in ("no", "yes") for o in options]
    values = np.array([s.estimate for s in found.shares])
    errors = np.array([s.standard_error for s in found.shares])
    assert np.all(np.abs(values - truth) < 5 * errors)
    assert np.any(np.abs(values - truth[::-1]) > 5 * errors)
    for item, option in zip(found.differences, options, strict=True):
        true = n("yes", option) / groups["yes"] - n("no", option) / groups["no"]
        assert abs(item.estimate - true) < 5 * item.standard_error
    odds = found.odds_ratios[0]
    no, yes = (n(g, "excellent") / (groups[g] - n(g, "excellent")) for g in ("no", "yes"))
    assert odds.estimable and abs(np.log(odds.estimate * no / yes)) < 5 * odds.standard_error
    assert found.independence.p_value < 1e-6 and found.seed == 11


def test_another_group_can_be_the_reference(health):
    """Against the other group: the same difference with the other sign."""
    made, _, reports = health
    first = incrowd.compare(made, reports, FIRST, SECOND)
    other = incrowd.compare(made, reports, FIRST, SECOND, reference="yes")
    for left, right in zip(first.differences, other.differences, strict=True):
        assert right.name.endswith("no against physical_limitation = yes")
        assert right.estimate == pytest.approx(-left.estimate)
    assert other.shares == first.shares
    with pytest.raises(TableError, match="did you mean yes"):
        incrowd.compare(made, reports, FIRST, SECOND, reference="Yes")


@pytest.mark.parametrize("reference", ["no", "yes"])
def test_a_regression_compares_the_same_way(health, reference):
    """One answer on one question: the coefficient is the logarithm of the same odds ratio, but for
    the noise's bias of it; the other direction has the other sign."""
    made, _, reports = health
    found = incrowd.compare(made, reports, FIRST, SECOND, reference=reference)
    [ratio] = [each for each in found.odds_ratios if f"{SECOND} = excellent" in each.name]
    asked = {"outcome": f"{SECOND}=excellent", "on": [FIRST], "reference": {FIRST: reference}}
    slope = incrowd.regress(made, reports, **asked).coefficients[-1]
    assert slope.estimate == pytest.approx(np.log(ratio.estimate), abs=slope.standard_error)
    assert abs(slope.estimate) > 2 * slope.standard_error


def test_unrelated_questions_and_unknown_ones(health):
    made, _, reports = health
    with pytest.raises(TableError):
        incrowd.compare(made, reports, FIRST, "nothing")
    with pytest.raises(TableError):
        incrowd.compare(made, reports, FIRST, FIRST)


def test_the_command_compares_as_json_and_as_tables(health, tmp_path):
    made, _, reports = health
    (tmp_path / "plan.json").write_text(made.dumps())
    incrowd.save_reports(reports, tmp_path / "r.parquet")
    arguments = ("compare", tmp_path / "plan.json", tmp_path / "r.parquet", FIRST, SECOND)
    data = json.loads(run(*arguments, "--json").stdout)
    assert data["questions"] == [FIRST, SECOND] and len(data["shares"]) == 8
    people = run(*arguments)
    assert people.returncode == 0 and "independence" in people.stdout
    assert run(*arguments[:-1], "nothing").returncode == 2


def test_the_test_and_the_crosstab_come_first_and_no_end_is_impossible(tmp_path):
    """100 people say too little, but an interval holds only values that are possible."""
    (tmp_path / "survey.toml").write_text(SMALL.replace("crowd = 200", "crowd = 100"))
    made = incrowd.plan(incrowd.Survey.load(tmp_path / "survey.toml"))
    people = pa.table({"smokes": ["yes", "no"] * 50, "sex": ["f"] * 70 + ["m"] * 30})
    reports = incrowd.randomize(made, people, simulation_seed=1)
    incrowd.save_reports(reports, tmp_path / "r.parquet")
    (tmp_path / "plan.json").write_text(made.dumps())
    arguments = ("compare", tmp_path / "plan.json", tmp_path / "r.parquet", "sex", "smokes")
    shown = run(*arguments)
    assert shown.returncode == 0
    text = shown.stdout
    first = text.index("independence"), text.index("smokes among each sex"), text.index("Cramer")
    assert list(first) == sorted(first)
    found = incrowd.compare(made, reports, "sex", "smokes")
    told = found.view()
    headings, lines = told.tables[0].headings, told.tables[0].lines
    assert headings == ("sex", "no", "yes") and [line[0] for line in lines] == ["f", "m", "x"]
    cells = [cell for line in lines for cell in line[1:]]
    assert all(0 <= share.low < share.high <= 1 for share in found.shares if bounded(share))
    assert all(-1 <= each.low < each.high <= 1 for each in found.differences if bounded(each))
    assert any(share.low == 0 for share in found.shares)
    page = html.unescape(found._repr_html_())
    assert page.index(f">{cells[0]}<") < page.index("Cramer")


def bounded(figure):
    return figure.unbounded == "no"


def test_options_that_nobody_chose_are_named_beside_the_test(health):
    made, _, reports = health
    found = incrowd.compare(made, reports, FIRST, SECOND).independence
    assert found.left_out == () and "without" not in found.sentence
    without = replace(found, left_out=("a = x",), degrees_of_freedom=1)
    assert without.sentence.endswith("; excluding a = x, which may be zero")
    assert "on 1 degree of freedom" in without.sentence


SMALL = """
name = "small"
crowd = 200
[privacy]
epsilon = 2.0
analysis = "local"

[[question]]
id = "smokes"
type = "yesno"

[[question]]
id = "sex"
type = "choice"
options = ["f", "m", "x"]
"""


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def test_an_open_interval_is_words_for_people_and_null_with_a_flag_for_machines(tmp_path):
    """Nobody answered x, and 200 people at epsilon 2 tell little: seed 3, one of many that have
    intervals open above, everywhere and nowhere."""
    (tmp_path / "survey.toml").write_text(SMALL)
    survey = incrowd.Survey.load(tmp_path / "survey.toml")
    made = incrowd.plan(survey)
    people = pa.table({"smokes": ["yes", "no"] * 100, "sex": ["f"] * 150 + ["m"] * 50})
    incrowd.save_reports(incrowd.randomize(made, people, simulation_seed=3), tmp_path / "r.parquet")
    (tmp_path / "plan.json").write_text(made.dumps())
    arguments = ("compare", tmp_path / "plan.json", tmp_path / "r.parquet", "sex", "smokes")
    data = json.loads(run(*arguments, "--json").stdout, parse_constant=no_constant)
    items = [data["cramers_v"], *data["shares"], *data["differences"], *data["odds_ratios"]]
    for item in items:
        assert (item["high"] is None) == (item["unbounded"] in ("above", "everywhere")) or (
            item is data["cramers_v"]
        )
        assert (item["estimate"] is None) != item["estimable"]
        assert bool(item["reason"]) == (item["unbounded"] != "no")
    kinds = {item["unbounded"] for item in items}
    assert {"everywhere", "no"} <= kinds
    text = run(*arguments).stdout
    assert text.count("anything") == sum(item["unbounded"] == "everywhere" for item in items)
    assert "inf" not in text and "nan" not in text


@pytest.mark.parametrize(
    ("low", "high", "unbounded", "words"),
    [
        (0.2, 0.3, "no", "0.2 to 0.3"),
        (0.8, math.inf, "above", "above 0.8"),
        (-math.inf, 0.3, "below", "below 0.3"),
        (0.0, math.inf, "everywhere", "anything"),
    ],
)
def test_intervals_in_words(low, high, unbounded, words):
    item = Comparison("a", 0.25, 0.1, low, high, "linear", 0.95, "noise", unbounded=unbounded)
    assert interval_words(item) == words


def test_the_methods_of_the_intervals_are_named(health):
    """In words, and in JSON; a group has its effective number of people, which noise lowers."""
    made, _, reports = health
    found = incrowd.compare(made, reports, FIRST, SECOND)
    name = f"Cramer's V of {FIRST} and {SECOND}"
    words = f"intervals: by a score test, that of {name} by a test of its length"
    assert words in found.view().notes
    assert any("an odds ratio is" in each for each in found.view().notes)
    facts = json.loads(json.dumps(json_ready(found)))
    assert facts["cramers_v"]["method"] == "length"
    assert facts["independence"]["method"] == ("score" if made.messages[0].cells else "Wald")
    assert {item["method"] for item in facts["odds_ratios"]} == {"score"}
    assert [each["group"] for each in facts["precision"]] == ["no", "yes"]
    assert all(0 < each["effective_people"] < each["people"] for each in facts["precision"])
    assert found.view().tables[-1].headings[1:] == ("participants", "effective n", "design effect")
    assert incrowd.compare(made, reports, FIRST, SECOND, noise_only=True).precision == ()


def test_shares_are_in_percent_and_reasons_are_numbered():
    item = Comparison("a", 0.25, 0.1, 0.2, 0.3, "linear", 0.95, "noise")
    assert row(item, "share") == ("a", "25.0%", "20.0% to 30.0%")
    assert row(item, "difference") == ("a", "25.0 pp", "20.0 pp to 30.0 pp")
    assert row(item) == ("a", "0.25", "0.2 to 0.3")
    open_ended = replace(
        item, estimable=False, reason="rare", unbounded="above", standard_error=math.nan
    )
    assert row(open_ended, "share", mark=" (1)") == ("a", "none", "above 20.00% (1)")
    assert notes([item, open_ended])[0] == "(1) rare"
