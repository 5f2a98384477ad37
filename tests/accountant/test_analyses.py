"""Analyses are objects: a new one is registered, and works everywhere without another change."""

import ast
import json
import sys
from pathlib import Path

import pytest

import incrowd
from incrowd import IncrowdError, Plan, PlanError, PrivacyError, Survey, certify, plan, verify
from incrowd.accountant.analyses import ANALYSES, Analysis, analysis, plannable
from incrowd.accountant.analyses.base import AnalysisResult
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import NOT_PROVED
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.schema import FREE_BIT, Contribution, Schema
from incrowd.accountant.search import smallest
from incrowd.cli.app import main
from incrowd.errors import PrecisionError
from incrowd.guarantees.certified import guarantee_for
from incrowd.plans.plan import Assumption
from tests.oracles.source import nodes_of

SURVEY = """
name = "clubs"
crowd = 1000
[privacy]
epsilon = 1.0
delta = 1e-4
analysis = "{analysis}"
[[question]]
id = "member"
type = "yesno"
[[question]]
id = "how"
type = "choice"
options = ["a", "b", "c"]
"""


class Twice(Analysis):
    """A toy: twice the delta of the blanket, so that it needs more noise and nobody doubts it."""

    name = "twice"
    assumption = "whole-crowd"

    def certificate(self, sent: Contribution, crowd: int, epsilon: float) -> AnalysisResult:
        delta, worst, _ = ANALYSES["blanket"].certificate(sent, crowd, epsilon)
        bounds = (delta.lower, delta.estimate, delta.upper)
        return AnalysisResult(
            DeltaBounds(*(min(2 * value, 1.0) for value in bounds)),
            tuple(pair.named("twice") for pair in worst),
        )


@pytest.fixture
def twice(monkeypatch):
    monkeypatch.setitem(ANALYSES, "twice", Twice())


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        return done.value.code or 0, capsys.readouterr()

    return run


def survey_file(folder, name):
    path = folder / f"{name[:20]}.toml"
    path.write_text(SURVEY.format(analysis=name))
    return path


def survey(name):
    raw = {"crowd": 1000, "name": "clubs", "question": [{"id": "member", "type": "yesno"}]}
    return Survey.of(raw | {"privacy": {"epsilon": 1.0, "delta": 1e-4, "analysis": name}})


@pytest.mark.slow
def test_a_toy_works_in_every_command(twice, command, tmp_path):
    survey, made = survey_file(tmp_path, "twice"), tmp_path / "plan.json"
    code, said = command("plan", survey, "--no-side-by-side", "-o", made, "--json")
    assert code == 0, said.err
    facts = json.loads(said.out)
    cautious = Plan.load(made)
    usual = plan(Survey.load(survey_file(tmp_path, "blanket")))
    assert facts["analysis"] == cautious.guarantee.analysis == "twice"
    assert cautious.messages[0].noise > usual.messages[0].noise
    assert cautious.guarantee.proved and cautious.guarantee.worst[0].by == "twice"
    assert cautious.guarantee.certified_delta <= 1e-4
    code, said = command("verify", made, "--json")
    assert code == 0 and json.loads(said.out)["certificate"]["analysis"] == "twice", said.err
    code, said = command("card", made, "-o", tmp_path / "card.md")
    card = (tmp_path / "card.md").read_text()
    assert code == 0 and "removes every link" in card and 'analysis "twice"' in card, said.err
    code, said = command("plan", survey, "--no-side-by-side")
    assert code == 0 and "(by twice)" in said.out + said.err


@pytest.mark.slow
def test_a_toy_answers_every_privacy_command(twice, command):
    common = ("--bits", 2, "--crowd", 100, "--analysis", "twice", "--json")
    _, said = command("privacy", "noise", "--epsilon", 1, "--delta", 1e-5, *common)
    noise = json.loads(said.out)["noise"]
    _, said = command("privacy", "delta", "--noise", noise, "--epsilon", 1, *common)
    found = json.loads(said.out)
    report = Contribution.of(Schema.uniform([FREE_BIT] * 2, BitFlip.at_least(noise)))
    delta = certify("blanket", report, 100, 1.0).delta.upper
    assert found["analysis"] == "twice" and found["guarantee"]
    assert found["delta"] == pytest.approx(2 * delta, rel=1e-9) and found["delta"] <= 1e-5
    assert found["delta"] <= found["eta"] <= 1
    _, said = command("privacy", "epsilon", "--noise", noise, "--delta", 1e-5, *common)
    assert json.loads(said.out)["epsilon"] == pytest.approx(1.0, rel=1e-3)
    _, said = command("privacy", "delta", "--noise", noise, "--epsilon", 1, *common[:-1])
    cells = [line.split("│") for line in said.out.splitlines() if line.startswith("│")]
    assert [name for _, cell, *_ in cells if (name := cell.strip())] == list(ANALYSES)


@pytest.mark.slow
def test_fewer_people_than_planned_weaken_a_toys_promise(twice):
    made = plan(survey("twice"))
    weaker = guarantee_for(made, 700)
    assert weaker.analysis == "twice" and weaker.epsilon > made.guarantee.epsilon
    assert guarantee_for(made, 1).analysis == "local"


def test_plans_know_which_analyses_are_no_guarantee():
    assert {name for name, by in ANALYSES.items() if not by.proved} == NOT_PROVED != set()


def test_nothing_outside_compares_an_analysis_by_its_name():
    """Its name is read where the others are not known, and written nowhere but in its module."""
    source = Path(incrowd.__file__).parent
    found = []
    for file in source.rglob("*.py"):
        if file.parent.name == "analyses":
            continue
        for node in nodes_of(file.read_text()):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                values = {s.value for s in sides if isinstance(s, ast.Constant)}
                if values & {*ANALYSES, "enumerate"}:
                    found.append(f"{file}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize("name", ["magic", "exact", "enumerate", "BLANKET", "x" * 500])
def test_a_plan_needs_an_analysis_that_can_be_planned(name, command, tmp_path):
    code, said = command("plan", survey_file(tmp_path, name))
    assert code == 2
    shown = name if len(name) < 100 else name[:40]
    assert f"privacy.analysis: got '{shown}" in said.err
    assert "use one of shuffle, seat, blanket, outlier, local" in said.err.replace("\n", " ")
    with pytest.raises(PrivacyError, match=r"privacy\.analysis"):
        incrowd.solve(survey(name), "epsilon", error=0.05)


@pytest.mark.parametrize("named", [analysis, plannable])
def test_an_unknown_analysis_is_answered_with_those_that_are_known(named):
    with pytest.raises(PrivacyError, match="use one of shuffle, seat, blanket, outlier, local"):
        named("enumerate")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("proved", True, "proved"),
        ("delta", 0.0, "delta"),
        ("analysis", "magic", "analysis"),
        ("analysis", "exact", "analysis"),
    ],
)
def test_a_plan_says_of_its_analysis_what_the_analysis_says(field, value, said):
    """A changed plan with a right digest: read, but neither certified nor estimated from."""
    made = plan(survey("outlier"))
    content = made.content
    content["guarantee"][field] = value
    if field == "analysis":
        content["survey"]["privacy"][field] = value
    changed = Plan.model_validate(content)
    for use in (verify, lambda plan: guarantee_for(plan, 1000)):
        with pytest.raises(PlanError, match=rf"plan\.guarantee\.{said}"):
            use(changed)


@pytest.mark.slow
def test_no_other_assumptions_pass():
    made = plan(survey("blanket"))
    promise = made.guarantee
    assert promise.assumptions == (Assumption(code="whole-crowd"),) and verify(made).holds
    for codes in ((), ("nobody-trusted",), ("whole-crowd", "rounds")):
        other = tuple(Assumption(code=code) for code in codes)
        changed = promise.model_copy(update={"assumptions": other})
        assert not verify(made.model_copy(update={"guarantee": changed})).holds


def test_only_precision_ends_a_search_quietly():
    """Where double precision ends noise is too small; any other error reaches the caller."""

    def bound(error):
        def found(sent):
            if sent.parts[0][0].channel.q < 0.2:
                raise error
            return 1e-3

        return found

    def family(flip):
        return Schema.uniform([FREE_BIT], flip)

    # the words of neither decide, only the class
    precision = PrecisionError.of("anything", "shared.no-path", type="beyond")
    other = PrivacyError.of("likelihood ratio", "shared.no-path", type="something else")
    noise = smallest(family, 100, 1.0, 1e-3, [(bound(precision), 0.9)])
    assert noise.q >= 0.2
    with pytest.raises(IncrowdError, match="something else"):
        smallest(family, 10**9, 1.0, 1e-3, [(bound(other), 0.9)])
