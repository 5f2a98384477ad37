"""Noise from the services, in words: whom one has to trust, and that nothing else is left."""

import json
import math
import re
from types import SimpleNamespace

import pytest

from incrowd.cli import show_plans
from incrowd.estimation import receipts
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import against
from incrowd.plans import Guarantee
from incrowd.plans.claims import Claims
from incrowd.plans.slots import lanes
from incrowd.presentation import guarantee_text, verified
from incrowd.presentation.card import certified_card, markdown
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.example import examples
from incrowd.presentation.guarantee_text import (
    against_sentence,
    guarantee_formula,
    guarantee_heading,
    guarantee_sentence,
    guarantee_symbols,
    recorded_sentence,
    warnings,
    without_shuffler,
    worst_pair,
)
from incrowd.presentation.shell import rendered
from incrowd.verification import verify
from tests.conftest import services_plan

INFINITE = re.compile(r"\b(inf|nan|NaN|[Ii]nfinity|None(?! (is|are)))\b|∞|10\^|\d,\d{3},\d{3}")
CLAIMS = {"bundle": "0" * 64, "codes": True, "colluding": 0, "mixers": 1, "places": 2, "tail": 0.0}


def collected(plan, people=60, **changes):
    """The guarantee of a collection over a network."""
    stated = {"local_only": False, "thinned": False} | CLAIMS | changes
    return guarantee_of(plan, people, [Claims.model_validate(stated)])


KINDS = {
    "plan": lambda: services_plan().guarantee,
    "network": lambda: collected(services_plan()),
    "service epsilon": lambda: collected(services_plan(3.0)),
    "one party": lambda: collected(services_plan(), local_only=True),
    "curator": lambda: guarantee_of(services_plan(), 60),
    "simulation": lambda: guarantee_of(services_plan(), 60, seed=1),
    "joint": lambda: services_plan(joint=True).guarantee,
    "joint, few": lambda: collected(services_plan(joint=True), 2),
    "joint, one party": lambda: collected(services_plan(joint=True), local_only=True),
}


def sentences(guarantee: Guarantee):
    """Everything that is said about a guarantee."""
    yield str(guarantee_heading(guarantee))
    yield guarantee_sentence(guarantee)
    yield str(guarantee_symbols(guarantee))
    yield str(guarantee_formula(guarantee))
    yield str(against_sentence(guarantee))
    yield str(without_shuffler(guarantee))
    yield str(guarantee_text.local_figures(guarantee))
    yield from (str(recorded_sentence(guarantee, each)) for each in (True, False))
    yield str(worst_pair(guarantee.worst))
    yield from map(str, warnings(guarantee))


@pytest.mark.parametrize("kind", KINDS)
def test_no_sentence_has_an_infinite_figure(kind):
    guarantee = KINDS[kind]()
    assert guarantee.local_epsilon == math.inf
    for text in sentences(guarantee):
        assert not INFINITE.search(text), text


@pytest.mark.parametrize("kind", KINDS)
def test_facts_are_json_and_say_unbounded(kind):
    text = json.dumps(guarantee_facts(KINDS[kind]()), allow_nan=False)
    assert json.loads(text)["local_epsilon"] == "unbounded"
    assert "null" not in json.dumps(json.loads(text)["against"])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("plan", "the shuffler and the collector each add noise"),
        ("network", "both together could remove the noise and read every answer"),
        ("service epsilon", "the shuffler alone, or the collector alone, can conclude"),
        ("one party", "not from whoever runs the services, who can read every answer"),
        ("curator", "not from that party, which can read every answer"),
        ("joint", "the whole crowd of honest people sends as the plan specifies"),
    ],
)
def test_the_promise_says_whom_to_trust(kind, words):
    assert words in guarantee_sentence(KINDS[kind]())


@pytest.mark.parametrize("kind", ["plan", "network", "one party", "curator"])
def test_no_crowd_is_asked_for(kind):
    guarantee = KINDS[kind]()
    said = guarantee_sentence(guarantee)
    assert "any number of people" in said and "crowd of" not in str(guarantee_symbols(guarantee))


def test_a_joint_report_beside_the_cells_still_needs_its_crowd():
    assert "for a crowd of 60" in str(guarantee_symbols(KINDS["joint"]()))
    assert "for any number of people" in str(guarantee_symbols(KINDS["plan"]()))


def test_each_party_has_its_own_figure():
    said = str(against_sentence(KINDS["service epsilon"]()))
    assert "the shuffler alone: ε = 3.00" in said
    assert "everyone who reads the results: ε = 2.00" in said
    assert "both together: nothing is left, every answer can be read" in said
    curator = str(against_sentence(KINDS["curator"]()))
    assert "whoever holds the answers: nothing is left" in curator and "shuffler" not in curator


def test_readers_keep_the_promise_whoever_runs_the_services():
    for kind in ("one party", "curator"):
        limits = against(KINDS[kind]()).afterwards
        assert limits["readers"].epsilon == 2.0
        assert max(limit.epsilon for limit in limits.values()) == math.inf
    assert str(guarantee_heading(KINDS["one party"]())) == "Reduced guarantee"


def pages(plan, promise=None):
    """The card, as text and data, and the JSON of a plan and of its verification."""
    card = certified_card(plan, promise=promise)
    yield markdown(card)
    yield json.dumps(card.facts, allow_nan=False)
    yield json.dumps(show_plans.plan_facts(plan), allow_nan=False)
    verification = verify(plan)
    yield json.dumps(verified.facts(plan, verification, ()), allow_nan=False)
    yield "\n".join(verified.view(plan, verification, ()).notes)


@pytest.mark.parametrize("plan", [services_plan(), services_plan(3.0), services_plan(joint=True)])
@pytest.mark.parametrize("kind", [None, "one party", "curator"])
def test_no_page_has_an_infinite_figure(plan, kind):
    promise = (
        kind
        and {
            "one party": lambda: collected(plan, local_only=True),
            "curator": lambda: guarantee_of(plan, 60),
        }[kind]()
    )
    for text in pages(plan, promise):
        assert not INFINITE.search(text), text


def test_the_card_says_that_cells_are_sent_as_they_are():
    plan = services_plan()
    (example,) = examples(plan)
    assert str(example.record) == str(example.report) == "“no / north”"
    assert str(example.odds) == "sent as it is" and example.facts["log_ratio"] == "unbounded"
    card = markdown(certified_card(plan))
    assert "changes them at random" not in card
    assert "what the two services add to its count" in card
    assert "The device seals the cells that the answers are in, as they are" in card
    assert "a release needs 10" in card
    curated = markdown(certified_card(plan, promise=guarantee_of(plan, 60)))
    assert "The party that holds the answers counts them" in curated
    assert "The device seals" not in curated


def test_a_plan_says_what_the_shuffler_seals(capsys):
    """60 for each of 6 cells; none for the joint report; 2 e^-.9 / (1 - e^-.9)^2 is 1.52^2."""
    plan = services_plan()
    assert sum(lane.invented for lane in lanes(plan)) == 360
    show_plans.plan(plan, (), None, False, verbose=True)
    printed = " ".join(capsys.readouterr().out.split())
    assert "the shuffler seals 360 invented reports, dummies included" in printed
    assert "about 0.054 seconds" in printed
    assert "± 1.52 people by each" in printed
    assert not INFINITE.search(printed)
    assert show_plans.plan_facts(services_plan(joint=True))["invented_reports"] == 360


@pytest.mark.parametrize(
    ("joint", "randomized", "counted"),
    [(False, False, "Answers"), (True, True, "For the other tables, answers")],
)
def test_the_guide_says_what_was_added(joint, randomized, counted):
    estimates = SimpleNamespace(plan=services_plan(joint=joint), releases=(1,), truth=None)
    words = dict.fromkeys(("at_once", "singly", "several_answers"), False)
    words |= {"errors": (), "noise_and_sampling": "", "level": 0.95}
    guide = rendered("guide.html", estimates=estimates, receipts=receipts, **words)
    text = " ".join(guide.split())
    assert ("each bit is flipped" in text) is randomized
    assert f"{counted} were counted as they are." in text
    assert "up or down, with a known law" in text
