"""Rounds that can show single permanent responses, or that no shuffler hid, count as named.

Every promise is compared with the exact law of all that is published by a few people, by listing
what everybody's devices may have drawn.
"""

import math
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import incrowd
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from incrowd.errors import PlanError, PrivacyError, ReportsError, SurveyError
from incrowd.guarantees.assumed import assumptions
from incrowd.guarantees.certified import local_guarantee
from incrowd.guarantees.rounds import check_left, spent
from incrowd.plans import EarlierPlan, JointReport
from incrowd.plans.ledger import Ledger, repeats, rounds_before, rounds_planned
from incrowd.plans.plan import Assumption, Collected
from incrowd.plans.sent import sent_before, sent_by
from incrowd.plans.strata import releases
from incrowd.presentation.guarantee_text import assumption_sentence, assumption_text
from incrowd.presentation.terminal_tables import ledger_lines
from tests.conftest import RECEIPT, grouped, slowly
from tests.oracles.one_bit_crowds import worst_delta

TOWN = {"id": "town", "type": "choice", "options": ["A", "B", "C"], "open": True}
ILL = {"id": "ill", "type": "yesno", "memoized": True}
RAPPOR = ILL | {"memoized": False, "randomizer": {"kind": "rappor", "f": 0.4, "memoized": True}}
BITS = {"id": "ill", "type": "choice", "options": list("abc"), "cells": True, "memoized": True}
MOOD = {"id": "mood", "type": "yesno"}
NAMED = "as if they carried names"


def asked(*questions, crowd=200, rounds=52, epsilon=1.0, delta=1e-6, by="shuffle", **more):
    privacy = {"epsilon": epsilon, "delta": delta, "analysis": by}
    raw = {"name": "P1", "crowd": crowd, "rounds": rounds, "privacy": privacy}
    sent = grouped(questions)
    joint = {} if "message" in sent else {"tables": "any"}
    return incrowd.Survey.of(raw | joint | sent | more)


def excess(one, other, epsilon):
    """The larger hockey-stick divergence of two laws, in both orders."""
    keys = one.keys() | other.keys()
    p, q = (np.array([law.get(key, 0.0) for key in keys]) for law in (one, other))
    factor = math.exp(epsilon)
    return max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum())


def published(rounds, others, q, epsilon, rule="delete", least=3):
    """delta of one yes/no answer of person 0: all releases of all rounds, her permanent response
    and everybody's drawn once. rounds: everybody's stratum in each. others: their answers."""
    groups = [
        [[i for i, s in enumerate(where) if s in g] for g in releases(Counter(where), least, rule)]
        for where in rounds
    ]
    laws = ({}, {})
    for bits in product((0, 1), repeat=len(rounds[0])):
        shown = tuple(sum(bits[i] for i in group) for found in groups for group in found)
        for answer, law in enumerate(laws):
            flips = sum(bit != said for bit, said in zip(bits, (answer, *others), strict=True))
            chance = q**flips * (1 - q) ** (len(bits) - flips)
            law[shown] = law.get(shown, 0.0) + chance
    return excess(*laws, epsilon)


MOVES = [(0, 0, 0, 1, 1, 1, 0), (1, 0, 0, 1, 1, 1, 0)]  # Ann moves; the last makes A large enough
MERGES = [(2, 1, 1, 0, 0, 0, 0), (2, 1, 1, 0, 0, 0, 1)]  # B + C are released, then B; Ann is in C


@pytest.mark.parametrize("rounds, rule", [(MOVES, "delete"), *slowly((MERGES, "merge"))])
def test_releases_of_strata_can_show_a_single_permanent_response(rounds, rule):
    """The noise for one release, which was taken for all, breaks the promise: a person who moves is
    the difference of her town's totals, and a stratum that is merged once is another difference.
    The noise of today keeps it. Wrong: that everybody stays."""
    one_release = incrowd.plan(asked(ILL, TOWN, rounds=1)).messages[0].noise.q
    plan = incrowd.plan(asked(ILL, TOWN, small_strata=rule))
    noise = plan.messages[0].noise.q
    worst = {
        q: max(published(rounds, others, q, 1.0, rule) for others in product((0, 1), repeat=6))
        for q in (one_release, noise)
    }
    assert worst[one_release] == pytest.approx(0.5817, abs=1e-4)
    assert worst[noise] <= plan.guarantee.certified_delta * (1 + 1e-9) <= 1e-6
    stay = [rounds[0]] * 2
    assert published(stay, (0,) * 6, one_release, 1.0, rule) < 0.5


def test_three_and_three_people():
    """Towns of three, from which she goes and to which she comes; no release is deleted."""
    q = incrowd.plan(asked(ILL, TOWN, rounds=1)).messages[0].noise.q
    found = published([(0, 0, 0, 1, 1, 1), (1, 0, 0, 1, 1, 1)], (0,) * 5, q, 1.0, least=1)
    assert found == pytest.approx(1 - q - math.e * q) == pytest.approx(0.5817, abs=1e-4)


@pytest.mark.parametrize("question", [ILL, RAPPOR, BITS])
@pytest.mark.parametrize("rule", ["delete", "merge"])
def test_survey_plan_and_ledger_agree_that_it_is_local(question, rule):
    """Whatever kind of permanent response: what is promised is what it leaks with a name on it."""
    plan = incrowd.plan(asked(question, TOWN, epsilon=2.0, small_strata=rule))
    promise = plan.guarantee
    assert promise.local_epsilon <= 2.0 * (1 + 1e-5) and promise.certified_delta <= 1e-6
    assert NAMED in assumption_text(promise) and incrowd.verify(plan).holds
    assert sent_by(plan).reports == () and not repeats(plan)
    assert local_guarantee(plan, 200).epsilon == pytest.approx(promise.local_epsilon)
    known = Ledger().with_plan(plan, 200).with_plan(plan, 200)
    assert spent(known).left == 50
    assert sent_before(known.asked) == sent_by(plan)
    assert "the same people take part" not in assumption_text(promise)


@pytest.mark.slow
def test_one_release_hides_in_its_stratum():
    plan = incrowd.plan(asked(ILL, TOWN, rounds=1))
    assert sent_by(plan).linked == () and "in one release" in assumption_text(plan.guarantee)
    later = incrowd.plan(asked(MOOD, rounds=1, epsilon=2.0, by="blanket"), earlier=[plan.asked])
    assert sent_by(later).linked == ()
    again = incrowd.plan(
        asked(RAPPOR, TOWN, rounds=1, epsilon=9.0, by="blanket"),
        earlier=[incrowd.plan(asked(RAPPOR, rounds=1, epsilon=3.0, by="blanket")).asked],
    )
    assert sent_by(again).reports == ()  # the same series, once in strata and once not


def test_beside_permanent_responses_fresh_ones_hide_in_the_crowd():
    """Listed for three people in one town, two rounds: her permanent bit with her name, and two
    collections of fresh bits. Wrong: the noise of the plan without the town."""
    plan = incrowd.plan(asked(ILL, MOOD, TOWN, crowd=3, rounds=2, epsilon=2.0, delta=0.1))
    wrong = incrowd.plan(asked(ILL, MOOD, crowd=3, rounds=2, epsilon=2.0, delta=0.1))

    def truth(made):
        noise = {message.ids: message.noise.q for message in made.messages}
        kept, fresh = noise["ill",], noise["mood",]
        worst = 0.0
        for ones in range(3):
            rest = np.convolve(binom.pmf(range(ones + 1), ones, 1 - fresh),
                               binom.pmf(range(3 - ones), 2 - ones, fresh))  # fmt: skip
            laws = [np.convolve(rest, law) for law in ((1 - fresh, fresh), (fresh, 1 - fresh))]
            bit = [np.array([1 - kept, kept]), np.array([kept, 1 - kept])]
            for x, y in ((0, 1), (1, 0)):
                p, q = (
                    np.multiply.outer(np.outer(laws[a], laws[a]), bit[b])
                    for a, b in ((0, x), (1, y))
                )
                for one, other in ((p, q), (q, p)):
                    worst = max(worst, np.maximum(one - math.exp(2) * other, 0).sum())
        return worst

    assert 0.5 * 0.1 < truth(plan) <= plan.guarantee.certified_delta <= 0.1
    assert truth(wrong) > 0.1
    assert sent_by(plan).linked and sent_by(plan).reports


def test_rows_under_one_key_are_refused():
    """Equal answers of one person give equal responses. Listed for two rows each of five people,
    the others' equal: an odd total says that hers differ. The composition promised .00064."""
    q, epsilon = 0.4, 0.7
    sent = Contribution.of(Schema.of([Part(FREE_BIT, BitFlip.at_least(q))]), 2)
    promised = certify("shuffle", sent, 5, epsilon).delta.upper
    others = np.zeros(9)
    others[::2] = binom.pmf(range(5), 4, 1 - q)
    twice, apart = np.array([1 - q, 0, q]), np.convolve([1 - q, q], [q, 1 - q])
    laws = [dict(enumerate(np.convolve(others, own))) for own in (twice, apart)]
    assert excess(*laws, epsilon) == pytest.approx(0.52) and promised < 1e-3
    for question in (ILL, RAPPOR, BITS):
        with pytest.raises(SurveyError, match="rows_per_person: got 2; 'ill' is memoized"):
            asked(question, rows_per_person=2)


# --- what a later plan has to charge ---------------------------------------------------------


@pytest.fixture(scope="module")
def panel():
    return incrowd.plan(asked(ILL, crowd=1000, rounds=3))


def later(earlier, epsilon):
    survey = asked(MOOD, crowd=1000, rounds=1, epsilon=epsilon, by="blanket")
    return incrowd.plan(survey.model_copy(update={"name": "P2"}), earlier=earlier)


def with_named(named, q, crowd, epsilon):
    """delta of a bit with a name on it, and of one in a collection of people who all say no."""
    rest = binom.pmf(range(crowd), crowd - 1, q)
    laws = [np.convolve(rest, own) for own in ((1 - q, q), (q, 1 - q))]
    pairs = zip(laws, ((1 - named, named), (named, 1 - named)), strict=True)
    return excess(*(dict(enumerate(np.outer(*pair).ravel())) for pair in pairs), epsilon)


@pytest.mark.slow
def test_rounds_of_other_people_are_charged_with_names_by_later_plans(panel):
    """1,000 came and then 999: the thousandth is the difference. At 1.5 its delta is .831 alone."""
    q = panel.messages[0].noise.q
    left_out = excess({1: 1 - q, 0: q}, {0: 1 - q, 1: q}, 1.5)  # T1 - T2, listed
    assert left_out == pytest.approx(0.831, abs=1e-3)
    known = Ledger().with_plan(panel, 1000).with_plan(panel, 999)
    with pytest.raises(PrivacyError, match=r"have spent epsilon 3\.4"):
        later(known.asked, 1.5)
    with pytest.raises(PlanError, match="its guarantee covers no further"):
        check_left(known, panel)
    plan = later(known.asked, 4.0)
    assert f"(P1: ill) are charged {NAMED}" in assumption_text(plan.guarantee)
    truth = with_named(q, plan.messages[0].noise.q, 999, 4.0)
    assert 1e-8 < truth <= plan.guarantee.certified_delta <= 1e-6
    assert incrowd.verify(plan).holds and not repeats(plan)


@pytest.mark.slow
def test_the_same_number_of_people_is_charged_once_and_the_condition_is_kept(panel):
    known = Ledger().with_plan(panel, 1000).with_plan(panel, 1000)
    plan = later(known.asked, 1.5)
    assert "(P1: ill) are covered for as long as the same people took" in assumption_text(
        plan.guarantee
    )
    assert repeats(plan) and not repeats(later(known.asked[:1], 1.5))
    blind = plan.model_copy(update={"earlier": known.asked[:1]})
    assert not incrowd.verify(blind).plan_holds


@pytest.mark.parametrize(
    "first, second",
    [
        ({"people": (1001,)}, {"people": (1000,)}),  # more than planned: the crowds are equal
        ({"people": (1000,), "reports": (1000,)}, {"people": (1000,), "reports": (999,)}),
        ({"bundle": "b1"}, {}),  # nobody signs who sent
        ({}, {"people": (1004,)}),  # as planned, and counted
        ({"local_only": True}, {}),
    ],
)
def test_what_can_be_other_people_is_charged_with_names(panel, first, second):
    earlier = [panel.asked_of(1000, Collected(**each)) for each in (first, second)]
    assert sent_before(earlier).reports == () != sent_before(earlier).linked
    assert sent_before(earlier[1:]).linked == ()


@pytest.mark.slow
def test_a_plan_that_hides_what_the_rounds_showed_is_not_noted(panel):
    """It was made before they were counted; all crowds are as large as it says."""
    plan = later([panel.asked, panel.asked], 1.5)
    known = Ledger().with_plan(panel, 1001).with_plan(panel, 1000)
    with pytest.raises(PlanError, match="the same people gave all permanent"):
        known.with_plan(plan, 1000)
    assert Ledger().with_plan(panel, 1000).with_plan(panel, 1000).with_plan(plan, 1000)


# --- what earlier rounds assume, a later plan assumes too ------------------------------------


def quickly(*questions, **more):
    return asked(*questions, **{"rounds": 1, "name": "P"} | more)


def codes(assumptions):
    found = [each.model_dump(exclude_defaults=True) for each in assumptions]
    return {each.pop("code"): each for each in found}


def test_an_open_answer_of_an_earlier_round_is_not_covered():
    """The numbers of people in the strata show it with certainty: delta is 1 at any epsilon."""
    home, moved = ({tuple(Counter(where).items()): 1.0} for where in MOVES)
    assert excess(home, moved, 1.5) == 1
    first = incrowd.plan(quickly(TOWN, MOOD, name="P1", epsilon=1.0))
    later = incrowd.plan(quickly(MOOD, epsilon=1.5), earlier=[first.asked])
    assert "does not cover what was sent openly in earlier rounds (P1: town)" in assumption_text(
        later.guarantee
    )
    assert incrowd.verify(later).holds
    kept = tuple(each for each in later.guarantee.assumptions if each.code != "earlier-open")
    silent = later.guarantee.model_copy(update={"assumptions": kept})
    assert not incrowd.verify(later.model_copy(update={"guarantee": silent})).plan_holds
    known = Ledger().with_plan(first, None).with_plan(later, None)
    assert "earlier-open" in codes(spent(known).assumptions)


def test_the_rows_of_an_earlier_round_are_assumed():
    """Whoever had three rows where two are assumed is protected less than is promised for both."""
    first = incrowd.plan(quickly(MOOD, name="P1", rows_per_person=2, epsilon=1.0))
    later = incrowd.plan(quickly(MOOD, epsilon=1.05), earlier=[first.asked])
    q, people = first.messages[0].noise.q, first.guarantee.crowd
    assert worst_delta([(q, 2)], people, 1.05) <= 1e-6 < worst_delta([(q, 3)], people, 1.05)
    assert codes(later.guarantee.assumptions) == {
        "whole-crowd": {},
        "earlier-rows": {"number": 2, "asked": ({"survey": "P1"},)},
    }
    assert "more than 2 rows in the answers of P1" in assumption_text(later.guarantee)


def carried_out(digest, *groups, **more):
    """A round of a plan that nobody certified: a message for each group of questions."""
    sent = [group for group in groups if group != (TOWN,)]
    raw = {"name": "P", "crowd": 60, "privacy": {"epsilon": 1.0}}
    raw |= {"question": [question for group in groups for question in group]}
    raw |= {"message": [{"questions": [each["id"] for each in group]} for group in sent]}
    survey = incrowd.Survey.of(raw | more)
    messages = [
        JointReport(
            questions=[survey.question(question["id"]) for question in group],
            noise_numerator=None if group[0].get("randomizer") else 2**30,
        )
        for group in sent
    ]
    return EarlierPlan(digest=digest, crowd=survey.honest, survey=survey, messages=messages)


def assumed(earlier, *groups, **more):
    now = carried_out("now", *groups, **more)
    planned = rounds_planned(now.survey, now.messages)
    return codes(assumptions([*rounds_before(earlier), planned], "whole-crowd"))


def test_every_assumption_of_every_earlier_plan_is_one_of_a_later_plan():
    """Also of two plans with one name, of which the last has nothing to assume."""
    each = [
        carried_out("a", (MOOD,), (TOWN,), name="P1"),
        carried_out("b", (RAPPOR,), (MOOD,), (TOWN,), name="P1"),
        carried_out("c", (MOOD,), name="P1"),
        carried_out("d", (MOOD,), name="P2", rows_per_person=3),
    ]
    once = {"asked": ({"survey": "P1", "questions": ("ill",)},)}
    union = {
        "whole-crowd": {},
        "earlier-permanent-one-release": once,
        "earlier-open": {"asked": ({"survey": "P1", "questions": ("town",)},)},
        "earlier-rows": {"number": 3, "asked": ({"survey": "P2"},)},
    }
    for earlier in (each, each[::-1]):
        assert assumed(earlier, (MOOD,)) == union
        assert union.pop("earlier-permanent-one-release") == once
        shown = {"permanent-linked": {"number": 1}, "earlier-permanent-linked": once}
        assert assumed(earlier, (RAPPOR,), name="P1") == union | shown
        union["earlier-permanent-one-release"] = once


def test_of_permanent_responses_of_which_some_are_shown_the_others_need_the_same_people():
    """One question was asked before, over a network; of two rounds of the other one nothing shows
    who took part."""
    sad = RAPPOR | {"id": "sad"}
    before = carried_out("a", (RAPPOR,))
    networked = before.model_copy(update={"collected": Collected(bundle="b1")})
    found = assumed([networked], (RAPPOR,), (sad,), rounds=2)
    assert found["permanent-linked"] == {"number": 2, "questions": ("ill",)}
    assert found["permanent-same-people"] == {"number": 2, "questions": ("sad",)}
    text = str(
        assumption_sentence(Assumption(code="permanent-same-people", number=2, questions=("sad",)))
    )
    assert "responses to sad are repeated" in text and "the same people take part" in text
    assert assumed([before], (RAPPOR,), (sad,), rounds=2)["permanent-same-people"] == {"number": 2}


# --- rounds without a shuffler ---------------------------------------------------------------


@pytest.mark.slow
def test_a_round_by_the_local_analysis_is_a_local_pair_of_later_plans():
    """epsilon 2 with names alone has delta .557 at 1."""
    first = incrowd.plan(asked(MOOD, crowd=1000, rounds=1, epsilon=2.0, by="local"))
    q = first.messages[0].noise.q
    named = excess({1: 1 - q, 0: q}, {0: 1 - q, 1: q}, 1.0)
    assert named == pytest.approx(0.557, abs=1e-3)
    assert certify("shuffle", sent_before([first.asked]), 2, 1.0).delta.upper == pytest.approx(
        named
    )
    with pytest.raises(PrivacyError, match="have spent epsilon 2 at"):
        later([first.asked], 1.0)
    plan = later([first.asked], 3.0)
    assert f"that mixing did not protect (P1) are charged {NAMED}" in assumption_text(
        plan.guarantee
    )
    noise = plan.messages[0].noise.q
    assert 1e-7 < with_named(q, noise, 1000, 3.0) <= plan.guarantee.certified_delta <= 1e-6
    blind = incrowd.plan(asked(MOOD, crowd=1000, rounds=1, epsilon=2.0))  # wrong: as shuffled
    wrong = later([blind.asked], 3.0).messages[0].noise.q
    assert with_named(q, wrong, 1000, 3.0) > 1e-6
    few = later([first.asked_of(10)], 3.0)
    assert few.guarantee.crowd == 1000  # of whom nobody hid in the first round


@pytest.fixture
def path(tmp_path):
    incrowd.new_ledger(tmp_path / "ledger.json")
    return tmp_path / "ledger.json"


def of_people(plan, people):
    return incrowd.randomize(plan, pa.table({"mood": [True] * people}))


def received(**changes):
    return replace(RECEIPT, **changes)


@pytest.mark.parametrize(
    "facts, collected",
    [
        ({}, (False, None, 0)),
        *slowly(
            ({"local_only": True}, (True, None, 0)),
            ({"received": [received(tail=1e-9)]}, (False, "b", 1e-9)),
            ({"received": [received(local_only=True, bundle="c")]}, (True, "c", 0)),
            ({"received": [received(thinned=True)]}, (True, "b", 0)),
            ({"received": [received(), received(contradicted=True)]}, (True, "b", 0)),
        ),
    ],
)
def test_the_ledger_says_how_reports_were_collected(path, facts, collected):
    """By receipts, or at the word of who notes them; what was noted cannot be taken as hidden."""
    first = incrowd.plan(asked(MOOD, crowd=1000, rounds=1))
    noted = incrowd.note(path, first, of_people(first, 1000), **facts)
    found = noted.asked[0].collected
    assert (found.local_only, found.bundle, found.tail) == collected
    assert found.people == found.reports == (1000,) and Ledger.load(path) == noted
    alone, sent = found.local_only, sent_before(noted.asked)
    assert bool(sent.linked) == alone != bool(sent.reports)
    assert (sent.redraws > 0) == (found.tail > 0)
    assert ("not protected by mixing" in " ".join(ledger_lines(noted))) == alone
    if alone:
        other = incrowd.plan(asked(RAPPOR, rounds=1, epsilon=9.0, by="local"))
        plan = other.model_copy(update={"earlier": (first.asked,)})
        with pytest.raises(PlanError, match="relies on mixing in 'P1', which did not protect"):
            noted.with_plan(plan, 1000)


def test_reports_of_two_bundles_are_two_rounds(path):
    weekly = incrowd.plan(asked(MOOD, crowd=1000, rounds=1))
    both = [received(), received(bundle="c")]
    with pytest.raises(ReportsError, match="of the bundles b, c; each bundle is a separate round"):
        incrowd.note(path, weekly, of_people(weekly, 1000), received=both)


# --- noise that was drawn again --------------------------------------------------------------


@pytest.mark.slow
def test_redraws_of_earlier_rounds_are_charged():
    """Closed form: each round costs -N ln(1 - t) in epsilon, and delta e^epsilon times as much."""
    first = incrowd.plan(asked(MOOD, crowd=1000, rounds=2, by="blanket"))
    over = Collected(bundle="b", tail=1e-11)
    earlier = [first.asked_of(1000, over), first.asked_of(1000, over)]
    plan = later(earlier, 2.0)
    sent, cost = sent_by(plan), -2 * 1000 * math.log1p(-1e-11)
    assert sent.redraws * 1000 == pytest.approx(cost, rel=1e-12)
    plain = certify("blanket", Contribution(sent.reports), 1000, 2.0 - cost).delta.upper
    charged = plain * math.exp(cost) + math.exp(2 - cost) * math.expm1(cost)
    assert plan.guarantee.certified_delta == pytest.approx(charged, rel=1e-9)
    assert plan.guarantee.certified_delta <= 1e-6
    without = plan.model_copy(update={"earlier": (first.asked,) * 2})
    uncharged = certify("blanket", Contribution(sent.reports), 1000, 2.0).delta.upper
    assert uncharged < 0.9 * plan.guarantee.certified_delta
    assert plan.guarantee.local_epsilon == pytest.approx(
        Contribution(sent.reports).local_epsilon + cost / 1000
    )
    with pytest.raises(PlanError, match="does not account for noise that was drawn again in 'P1'"):
        Ledger(asked=tuple(earlier)).with_plan(without, 1000)
    with pytest.raises(PrivacyError, match="have spent epsilon"):
        later([first.asked_of(1000, Collected(tail=0.01))], 2.0)
