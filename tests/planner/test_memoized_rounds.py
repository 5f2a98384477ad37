"""Questions whose planned noise is drawn once are charged once, and all others in every round."""

import copy

import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant.certificates import certify
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from incrowd.errors import PlanError
from incrowd.guarantees.rounds import check_left, spent
from incrowd.planner.search import ways
from incrowd.planner.task import task_of
from incrowd.plans.ledger import Ledger, repeats
from incrowd.plans.sent import sent_by
from incrowd.presentation.guarantee_text import assumption_text
from tests.conftest import grouped, slowly
from tests.oracles.published import Published

WIDE = {"id": "m", "type": "choice", "options": list("abc"), "cells": True, "memoized": True}
TWO = WIDE | {"options": list("ab")}
FEW = WIDE | {"type": "multi", "at_most": 2}
JOINT = {"id": "m", "type": "choice", "options": list("ab"), "memoized": True}
STAGES = {"kind": "rappor", "f": 0.6, "one_if_zero": 0.25, "one_if_one": 0.75, "memoized": True}
RAPPOR = {"id": "s", "type": "yesno", "randomizer": STAGES}
FRESH = {"id": "a", "type": "yesno"}


def asked(*questions, rounds=1, crowd=3, epsilon=1.5, delta=0.2, by="shuffle", **more):
    privacy = {"epsilon": epsilon, "delta": delta, "analysis": by}
    raw = {"name": "weekly", "crowd": crowd, "rounds": rounds, "privacy": privacy}
    return incrowd.Survey.of(raw | grouped(questions) | more)


def one_bit(message):
    """What a crowd counts on in one bit of a message of yes/no questions, or in one cell."""
    return Schema.of([Part(FREE_BIT, message.noise)])


def forgetful(content):
    """A wrong device: it draws anew in every round what was charged once."""
    found = copy.deepcopy(content)
    for question in found["survey"]["question"]:
        question.pop("memoized", None)
        if question["randomizer"]:
            question["randomizer"]["memoized"] = False
    return found


# --- what it hides ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("questions", "rounds"),
    [
        ([WIDE], 2),
        *slowly(([FEW], 2), ([TWO], 3)),
        ([TWO, FRESH], 2),
        *slowly(([JOINT], 3), ([JOINT, RAPPOR], 2)),
    ],
)
def test_all_rounds_together_keep_the_promise(questions, rounds):
    """Three people: every collection of all rounds, every crowd and pair of answers, by listing.
    Wrong: the device draws anew."""
    weak = {"delta": 0.3} if RAPPOR in questions else {}
    plan = incrowd.plan(asked(*questions, rounds=rounds, **weak))
    promise = plan.guarantee
    truth = Published(plan.content, 3).delta(promise.epsilon)
    assert 0.3 * promise.delta < truth <= promise.certified_delta <= promise.delta
    assert Published(forgetful(plan.content), 3).delta(promise.epsilon) > promise.delta


def test_what_is_drawn_anew_is_charged_for_every_round():
    """Wrong: a plan for one round, carried out twice."""
    once = incrowd.plan(asked(TWO, FRESH)).content
    once["survey"]["rounds"] = 2
    assert Published(once, 3).delta(1.5) > 0.2


# --- what it costs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "by"),
    [(WIDE, "blanket"), (FEW, "local"), *slowly((JOINT, "blanket")), (JOINT, "local")],
)
def test_many_rounds_need_the_noise_of_one(question, by):
    rest = {"crowd": 900, "by": by}
    one, many = (incrowd.plan(asked(question, rounds=n, **rest)) for n in (1, 52))
    assert many.messages == one.messages
    assert many.guarantee.certified_delta == one.guarantee.certified_delta
    assert many.guarantee.local_epsilon == one.guarantee.local_epsilon
    again = {key: value for key, value in question.items() if key != "memoized"}
    assert incrowd.plan(asked(again, rounds=52, **rest)).messages[0].noise.q > (
        1.2 * one.messages[0].noise.q
    )


@pytest.mark.slow
def test_others_of_the_survey_share_what_is_left():
    """Counted by hand: two one-bit collections of the choice, and one of the other a round."""
    plan = incrowd.plan(asked(WIDE, FRESH, rounds=52, crowd=300, by="blanket"))
    fresh, kept = map(one_bit, plan.messages)
    assert sent_by(plan) == Contribution.of(fresh, 52).also(Contribution.of(kept, 2))
    assert incrowd.verify(plan).holds
    every = Contribution.of(fresh, 52).also(Contribution.of(kept, 104))
    assert certify("blanket", every, 300, 1.5).delta.upper > 0.2
    assert "everything else is covered for 52 rounds" in assumption_text(plan.guarantee)


@pytest.mark.slow
def test_it_stands_by_itself_and_is_sent_once():
    """Copies would be the same, so that the budget goes to the others."""
    narrow = {"id": "n", "type": "yesno", "memoized": True}
    wide = WIDE | {"options": [f"o{i}" for i in range(1001)], "cells": False}
    budget = {"crowd": 3000, "reports_per_person": 20, "tables": "any"}
    others = [{"id": id, "type": "choice", "options": list("xyz")} for id in "ab"]
    task = task_of(asked(wide, narrow, *others, **budget))
    best, *_ = ways(task)
    sent = {task.names(message.order): message.copies for message in best.messages}
    assert sent["m",] == sent["n",] == 1 < max(sent.values())
    both = incrowd.plan(asked(narrow, RAPPOR, wide, epsilon=9.0, by="local"))
    assert [message.ids for message in both.messages] == [("n", "s"), ("m",)]
    assert both.memoized == ("n", "s", "m")


def test_a_plan_that_was_edited_to_send_copies_of_it_is_refused():
    plan = incrowd.plan(asked(JOINT, by="local", reports_per_person=9))
    content = plan.content
    content["messages"][0]["copies"] = 2
    with pytest.raises(ValueError, match="in copies, which would all be equal"):
        incrowd.Plan.model_validate(content)


def test_surveys_without_it_are_as_they_were():
    said = asked(WIDE | {"memoized": False}, FRESH)
    plain = asked({key: value for key, value in WIDE.items() if key != "memoized"}, FRESH)
    assert said == plain and "memoized" not in said.model_dump_json(by_alias=True)
    assert "memoized" in asked(WIDE).model_dump_json(by_alias=True)
    assert incrowd.Plan.loads(incrowd.plan(asked(WIDE)).dumps()).survey == asked(WIDE)


# --- round after round -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def weekly():
    return incrowd.plan(
        asked(WIDE, FRESH, rounds=4, crowd=300, epsilon=1.0, delta=1e-3, by="blanket")
    )


@pytest.mark.slow
def test_a_ledger_spends_it_once(weekly):
    """Wrong: every round for itself, which would have spent the promise long before the last."""
    known, before = Ledger(), 0.0
    for done in range(1, 5):
        known = known.with_plan(weekly, 300)
        found = spent(known)
        assert (found.done, found.left) == (done, 4 - done)
        assert before < found.epsilon <= 1.0 * (1 + 1e-3)
        before = found.epsilon
    assert before > 0.95
    fresh, kept = map(one_bit, weekly.messages)
    assert sent_by(weekly) == Contribution.of(fresh, 4).also(Contribution.of(kept, 2))
    each = Contribution.of(fresh, 4).also(Contribution.of(kept, 8))
    assert certify("blanket", each, 300, 1.0).delta.upper > 1e-3


@pytest.mark.slow
def test_a_ledger_of_nothing_else_never_ends_early():
    plan = incrowd.plan(asked(WIDE, rounds=52, crowd=300, epsilon=1.0, delta=1e-3, by="blanket"))
    known = Ledger()
    for _ in range(52):
        check_left(known, plan)
        known = known.with_plan(plan, 300)
    assert spent(known).epsilon == pytest.approx(spent(Ledger().with_plan(plan, 300)).epsilon)
    with pytest.raises(PlanError, match="all its 52 rounds"):
        check_left(known, plan)


@pytest.mark.slow
def test_fewer_people_leave_fewer_rounds_of_what_is_drawn_anew(weekly):
    """As many more as the certificate of all together says; tried one by one."""
    known = Ledger().with_plan(weekly, 240)
    fresh, kept = map(one_bit, weekly.messages)
    rounds = 1
    while rounds < 4:
        together = Contribution.of(fresh, rounds + 1).also(Contribution.of(kept, 2))
        if certify("blanket", together, 240, 1.0).delta.upper > 1e-3:
            break
        rounds += 1
    assert spent(known).left == rounds - 1


@pytest.mark.slow
def test_a_later_plan_counts_the_rounds_of_an_earlier_one_as_they_were(weekly):
    known = Ledger().with_plan(weekly, 300).with_plan(weekly, 300)
    later = incrowd.plan(
        asked({"id": "b", "type": "yesno"}, epsilon=99.0, by="local"), earlier=known.asked
    )
    assert sent_by(later).copies == 1 + 2 + 2


def test_later_rounds_are_known_to_repeat_it(weekly):
    """By the rounds of one plan, and by the series of another: the same noise draws the same."""
    first = incrowd.plan(asked(WIDE))
    assert repeats(weekly) and not repeats(first)
    asked_before = Ledger().with_plan(first, 3).asked
    content = first.model_copy(update={"earlier": asked_before})
    assert repeats(content)
    other = incrowd.plan(asked(WIDE | {"options": list("abd")}, epsilon=3.0), earlier=asked_before)
    assert not repeats(other)


def responses(plan):
    """What 100 devices send: each has a key of its own, and they all have the same answer."""
    answers = pa.table({"id": [str(i) for i in range(100)], "m": [0.5] * 100})
    key = incrowd.DeviceKey(bytes(32))
    (reports,) = incrowd.randomize(plan, answers, id="id", device_key=key)
    return sorted(reports.packed.tolist())


def test_a_plan_with_minus_zero_repeats_the_responses_of_the_plan_with_its_digest():
    """Canonical JSON has one zero, and so have the names by which responses are drawn. Wrong: two
    names, and so two draws of which a ledger charges one."""
    question = {"id": "m", "type": "number", "edges": [0.0, 1.0], "memoized": True}
    plan = incrowd.plan(asked(question, rounds=2))
    text = plan.dumps()
    edited = incrowd.Plan.loads(text.replace(" 0.0,\n", " -0.0,\n"))
    assert " -0.0,\n" not in text and edited.digest == plan.digest
    carried_out = plan.content if responses(edited) == responses(plan) else forgetful(plan.content)
    promise = plan.guarantee
    assert Published(carried_out, 3).delta(promise.epsilon) <= promise.delta
    assert Published(forgetful(plan.content), 3).delta(promise.epsilon) > promise.delta
