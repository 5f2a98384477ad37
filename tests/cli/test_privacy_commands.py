"""The commands `privacy`: figures as JSON and curves, rounded towards the weaker promise."""

import itertools
import json
import math
import re

import numpy as np
import pytest

from incrowd import Plan, certify
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.hidden_sample import HiddenSample
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.matrix import MatrixChannel
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from tests.cli.conftest import SURVEY
from tests.conftest import one_in, run
from tests.oracles.crowds import deltas


@pytest.mark.slow
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


@pytest.mark.parametrize("asked", one_in(2, [TWICE, KEPT]), ids=["copies and rows", "permanent"])
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
    _, out, _ = call("plan", made / "survey.toml", "--no-side-by-side", "-v")
    shown = float(re.search(r" (0\.\d+) ", out)[1])
    assert exact * (1 - 1e-3) < shown <= exact


PANEL = """
name = "panel"
crowd = 200
rounds = 52
tables = "any"
[privacy]
epsilon = 1.0
delta = 1e-6
[[question]]
id = "ill"
type = "yesno"
memoized = true
"""
TOWN = """
[[question]]
id = "town"
type = "choice"
options = ["A", "B"]
open = true
"""


def who_moves(q, epsilon):
    """delta of her permanent response: with two others, she is in town A and then in B."""
    laws = ({}, {})
    for bits in itertools.product((0, 1), repeat=3):
        hers, a, b = bits
        shown = (hers + a, b, a, hers + b)  # of A and B, in two rounds
        for answer, law in enumerate(laws):
            flips = (hers != answer) + a + b
            law[shown] = law.get(shown, 0) + q**flips * (1 - q) ** (3 - flips)
    one, other = laws
    return sum(max(one[key] - math.exp(epsilon) * other[key], 0) for key in one)


@pytest.mark.parametrize("analysis", ["shuffle", "exact", "blanket", "local"])
def test_a_permanent_response_of_a_person_who_moves_is_charged(call, tmp_path, analysis):
    """A guarantee of 4.85e-6 was printed for all 52 rounds, which is that of one release."""
    survey = tmp_path / "panel.toml"
    survey.write_text(PANEL + TOWN)
    words = ("privacy", "delta", "--survey", survey, "--noise", 0.1, "--analysis", analysis)
    figures = json.loads(call(*words, "--json")[1])
    truth = who_moves(figures["noise"], 1.0)
    assert truth == pytest.approx(0.628, abs=1e-3)
    assert truth * (1 - 1e-14) <= figures["delta"] <= truth * (1 + 1e-6)
    codes = {each["code"] for each in figures["assumptions"]}
    kept = "permanent-same-answers" if analysis == "local" else "permanent-linked"
    assert {kept, "rounds", "open"} <= codes
    noise = json.loads(call(*words[:1], "noise", *words[2:4], *words[6:], "--json")[1])["noise"]
    if analysis != "local":
        assert who_moves(noise, 1.0) <= 1e-6 < who_moves(noise * (1 - 1e-5), 1.0)


@pytest.mark.slow
def test_what_figures_assume_is_printed(call, tmp_path):
    survey, page = tmp_path / "panel.toml", tmp_path / "curve.csv"
    survey.write_text(PANEL)
    noise = ("--survey", survey, "--noise", 0.1)
    for words in (("delta",), ("epsilon",), ("curve", "--points", 2, "-o", page)):
        code, out, err = call("privacy", *words, *noise)
        assert code == 0 and "as long as the same people take part" in out + err
    rows = PANEL.replace("memoized = true", "").replace("rounds = 52", "rows_per_person = 4")
    survey.write_text(rows)
    _, out, err = call("privacy", "delta", *noise)
    assert "more than 4 rows" in out + err and "same people" not in out + err
    _, out, err = call(
        "privacy", "delta", "--bits", 1, "--crowd", 90, "--noise", 0.1, "--epsilon", 1
    )
    assert "nothing is assumed about their answers" in out + err


# --- other channels ----------------------------------------------------------------------------

OF_A_CHANNEL = [
    (("--channel", "k-ary", "--keep", "0.8", "--options", "5"), KAry.from_probabilities(0.8, 5)),
    (("--channel", "warner", "--spinner", "0.7", "--bits", "1"), Warner.from_probability(0.7)),
    (
        ("--channel", "simmons", "--unrelated", "0.4", "--prevalence", "0.3", "--bits", "1"),
        Simmons.from_probabilities(0.4, 0.3),
    ),
    (
        ("--channel", "bit", "--one-if-zero", "0.1", "--one-if-one", "0.8", "--bits", "1"),
        Bit.from_probabilities(0.1, 0.8),
    ),
    (("--channel", "rappor", "--local-epsilon", "2", "--bits", "1"), Rappor.from_epsilon(2.0)),
    (("--channel", "matrix", "--matrix", "5/6,1/6;1/6,5/6"), MatrixChannel(((5, 1), (1, 5)))),
    (
        ("--noise", "0.2", "--bits", "1", "--taking-part", "0.3"),
        HiddenSample.of(BitFlip.at_least(0.2), 0.3, participation="hidden"),
    ),
]


@pytest.mark.parametrize(("options", "channel"), OF_A_CHANNEL, ids=lambda one: str(one)[:30])
def test_every_channel_has_the_figures_of_the_accountant(call, options, channel):
    shown = ("--crowd", "150", "--epsilon", "0.3", "--analysis", "blanket", "--json")
    figures = json.loads(call("privacy", "delta", *options, *shown)[1])
    assert figures["delta"] == certify("blanket", channel, 150, 0.3).delta.upper
    assert figures["local_epsilon"] == channel.epsilon
    wrong = certify("blanket", channel, 151, 0.3).delta.upper
    assert figures["delta"] != wrong


def test_rounds_are_composed_but_what_is_remembered_counts_once(call):
    shown = ("--crowd", "150", "--epsilon", "0.3", "--json", "--rounds", "3", "--bits", "1")
    bit = ("--channel", "bit", "--one-if-zero", "0.2", "--one-if-one", "0.8")
    figures = json.loads(call("privacy", "delta", *bit, *shown)[1])
    sent = Contribution.of(Schema.of([Part(FREE_BIT, Bit.from_probabilities(0.2, 0.8))]), 3)
    assert figures["delta"] == certify("shuffle", sent, 150, 0.3).delta.upper
    kept = ("--channel", "rappor", "--f", "0.5", *bit[2:])
    figures = json.loads(call("privacy", "delta", *kept, *shown)[1])
    stage = certify("shuffle", BitFlip.at_least(0.25), 150, 0.3).delta.upper
    assert figures["delta"] == stage


def test_the_noise_of_k_ary_response_is_enough(call):
    shown = ("--channel", "k-ary", "--options", "4", "--crowd", "300", "--analysis", "blanket")
    done = call("privacy", "noise", *shown, "--epsilon", "1", "--delta", "1e-3", "--json")
    figures = json.loads(done[1])
    assert figures["channel"] == "k-ary" and 0.5e-3 < figures["delta"] <= 1e-3


def test_a_matrix_in_a_file_is_above_every_small_crowd(call, tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("\ufeff1/2, 1/8, 1/4\n1/4,1/2,1/8\n\n1/4,3/8,5/8\n", encoding="utf-8")
    matrix = np.array([[4, 1, 2], [2, 4, 1], [2, 3, 5]]) / 8
    shown = ("--channel", "matrix", "--matrix", path, "--crowd", "4", "--json")
    figures = json.loads(call("privacy", "delta", *shown, "--epsilon", "0.3")[1])
    truth = max(map(np.max, deltas(matrix, 4, 0.3)))
    assert truth <= figures["delta"] < max(map(np.max, deltas(matrix, 3, 0.3))) * 2
    assert figures["channel"] == "matrix"
    smaller = json.loads(call("privacy", "delta", *shown, "--epsilon", "0.6")[1])["delta"]
    assert smaller < truth  # what would be refuted


def test_of_a_hidden_sample_the_assumption_is_printed(call):
    shown = ("--noise", "0.2", "--bits", "1", "--taking-part", "0.3", "--crowd", "4")
    shown = ("privacy", "delta", *shown, "--epsilon", "0.3")
    figures = json.loads(call(*shown, "--json")[1])
    sample = np.array([[0.24, 0.06], [0.06, 0.24], [0.7, 0.7]])
    assert max(map(np.max, deltas(sample, 4, 0.3))) <= figures["delta"] < 0.1
    assert figures["assumptions"][-1] == {"code": "hidden-sample", "taking_part": 0.3}
    _, out, err = call(*shown)
    assert "takes part with probability 0.3 at most" in out + err
    assert "takes part" not in "".join(call(*shown[:6], *shown[8:])[1:])


def test_changed_bits_are_reports_of_their_own(call):
    shown = ("--changed-bits", "2", "--rounds", "3", "--crowd", "150", "--epsilon", "0.5")
    figures = json.loads(call("privacy", "delta", "--noise", "0.3", *shown, "--json")[1])
    sent = Contribution.of(Schema.of([Part(FREE_BIT, BitFlip.at_least(0.3))]), 6)
    assert figures["delta"] == certify("shuffle", sent, 150, 0.5).delta.upper
