"""The commands `privacy`: figures as JSON and curves, rounded towards the weaker promise."""

import json
import re

import pytest

from incrowd import Plan
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
