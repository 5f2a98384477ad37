"""The commands `privacy`: figures as JSON and curves, rounded towards the weaker promise."""

import json
import re

import pytest

from incrowd import Plan, certify
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from tests.cli.conftest import SURVEY
from tests.conftest import run


def test_the_figures_as_json_are_those_of_the_accountant():
    shown = ("privacy", "delta", "--noise", "0.3", "--bits", "2", "--crowd", "120", "--json")
    data = json.loads(run(*shown, "--epsilon", "0.7", "--analysis", "outlier").stdout)
    keys = [
        "analysis",
        "epsilon",
        "delta",
        "delta_lower",
        "delta_estimate",
        "eta",
        "noise",
        "worst",
        "assumption",
    ]
    assert set(keys) <= set(data)
    assert data["presence"]["delta"] == pytest.approx(2.364161e-12, rel=1e-4)
    assert data["absence"]["eta"] == pytest.approx(7.514439e-07, rel=1e-5)
    assert data["delta_lower"] <= data["delta_estimate"] <= data["delta"]
    found = ("privacy", "epsilon", *shown[2:], "--delta", "1e-6")
    assert 0 < json.loads(run(*found).stdout)["epsilon"] < 2
    data = json.loads(
        run("privacy", "noise", "--survey", SURVEY, "--crowd", "5000", "--json").stdout
    )
    assert data["delta"] <= 1e-6 and 0.2 < data["noise"] < 0.5


WEEKLY = """
name = "weekly"
crowd = 90
rounds = {rounds}
{more}
colluding = 2
tables = "any"
[privacy]
epsilon = 3.0
delta = 1e-3
[[question]]
id = "ill"
type = "yesno"
[[question]]
id = "old"
type = "yesno"
{memoized}
"""
TWICE = {"more": "copies = 2\nrows_per_person = 3", "memoized": "", "crowd": 28, "messages": 1}
KEPT = {"more": "", "memoized": "memoized = true", "crowd": 88, "messages": 2}


@pytest.mark.parametrize("asked", [TWICE, KEPT], ids=["copies and rows", "permanent"])
def test_of_a_survey_all_rounds_rows_and_copies_count_as_in_its_plan(call, tmp_path, asked):
    """The noise of the plan is just enough; of one round, or of one row, less would be. Permanent
    responses have their own message, and stay the same."""
    plan, survey = tmp_path / "plan.json", tmp_path / "survey.toml"
    survey.write_text(WEEKLY.format(rounds=2, **asked))
    assert call("plan", survey, "-o", plan, "--no-side-by-side")[0] == 0
    made = Plan.load(plan)
    assert len(made.messages) == asked["messages"]
    noise = min(message.noise.q for message in made.messages)
    shown = ("privacy", "delta", "--survey", survey, "--noise", noise, "--json")
    figures = json.loads(call(*shown)[1])
    assert figures["crowd"] == made.guarantee.crowd == asked["crowd"]
    if asked is TWICE:
        assert figures["delta"] == pytest.approx(made.guarantee.certified_delta, rel=1e-6)
    else:  # the noisier of two messages is left out
        assert figures["delta"] >= made.guarantee.certified_delta
        both = [
            Contribution.of(Schema.of([Part(FREE_BIT, BitFlip.at_least(noise))]), n) for n in (2, 1)
        ]
        truth = certify("shuffle", both[0].also(both[1]), 88, 3.0).delta.upper
        assert figures["delta"] == pytest.approx(truth, rel=1e-9)
    survey.write_text(WEEKLY.format(rounds=1, **asked))
    assert json.loads(call(*shown)[1])["delta"] < 0.9 * figures["delta"]


@pytest.mark.parametrize("ending", ["csv", "html"])
def test_a_curve_has_every_analysis(tmp_path, ending):
    out = tmp_path / f"c.{ending}"
    options = ("--noise", "0.3", "--bits", "2", "--crowd", "500", "--points", "5", "-o", out)
    assert run("privacy", "curve", *options).returncode == 0
    text = out.read_text()
    assert "blanket" in text and "outlier" in text and "local" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("delta", "--noise", "0.5", "--bits", "2", "--crowd", "9", "--epsilon", "1"), "noise"),
        (("delta", "--noise", "0.3", "--crowd", "9", "--epsilon", "1"), "--bits"),
        (("delta", "--noise", "0.3", "--bits", "70", "--crowd", "9", "--epsilon", "1"), "1 to 64"),
        (("delta", "--noise", "0.3", "--bits", "2", "--crowd", "1", "--epsilon", "1"), "crowd"),
        (("delta", "--noise", "0.3", "--bits", "2", "--epsilon", "1"), "--crowd"),
        (("delta", "--noise", "0.3", "--bits", "2", "--crowd", "9"), "--epsilon"),
        (("noise", "--bits", "2", "--crowd", "9", "--epsilon", "1", "--delta", "0"), "delta"),
        (("epsilon", "--noise", "0.3", "--bits", "2", "--crowd", "9", "--delta", "2"), "delta"),
    ],
)
def test_wrong_options_are_named(arguments, message):
    done = run("privacy", *arguments)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


# --- in the same process -----------------------------------------------------------------------


ASKED = ("privacy", "delta", "--noise", 0.3, "--bits", 2, "--crowd", 120, "--epsilon", 0.7)


def test_printed_guarantees_are_rounded_towards_the_weaker(made, call):
    facts = json.loads(call(*ASKED, "--json")[1])
    delta = float(re.search(r"shuffle +│ +0.7 │ +(\S+) ", call(*ASKED)[1])[1])
    assert facts["delta"] <= delta < facts["delta"] * 1.00001
    exact = Plan.load(made / "plan.json").messages[0].noise.q
    _, out, _ = call("plan", made / "survey.toml", "--no-side-by-side")
    shown = float(re.search(r" (0\.\d+) ", out)[1])
    assert exact * (1 - 1e-3) < shown <= exact
