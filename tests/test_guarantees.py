"""What holds for a collection: one function, which every result asks."""

import ast
import functools
import itertools
import math
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest

import incrowd
from incrowd.accountant.analyses import ANALYSES
from incrowd.accountant.certificates import certify, redrawn, smallest_epsilon
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import NOT_PROVED
from incrowd.accountant.schema import FREE_BIT, Contribution, Schema
from incrowd.collection.mixer.init import make_bundle
from incrowd.collection.page.files import PageContent, page_files
from incrowd.errors import PlanError, PrivacyError, ProtocolError, ReportsError, UsageError
from incrowd.estimation.receipts import UPLOADS, Received
from incrowd.guarantees.certified import guarantee_for
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import against
from incrowd.guarantees.rounds import spent
from incrowd.plans import Plan
from incrowd.plans.ledger import Ledger
from incrowd.plans.sent import sent_before
from incrowd.presentation.card import certified_card
from incrowd.presentation.guarantee_text import guarantee_heading, guarantee_sentence
from incrowd.presentation.verified import view as verified_view
from incrowd.reports.collection import Collection
from incrowd.survey.written import Privacy
from tests.conftest import one_in
from tests.oracles import crowds
from tests.oracles.published import Published
from tests.oracles.releases import claims, digest, stated_release
from tests.oracles.source import nodes_of
from tests.oracles.terms import stated

PEOPLE = 2000
RECEIPT = Received(
    release=digest("a release"),
    bundle="b",
    strata=("all",),
    people=PEOPLE,
    issued=None,
    reports=PEOPLE,
    rejected={},
    opened_people=PEOPLE,
    crowded=(),
    places=1,
    tail=0.0,
    colluding=0,
    local_only=False,
)


def planned(**changes):
    raw = {
        "name": "s",
        "crowd": PEOPLE,
        "tables": "any",
        "privacy": {"epsilon": 1.0, "delta": 1e-6},
    }
    questions = [{"id": "ill", "type": "yesno"}, {"id": "old", "type": "yesno"}]
    table = [{"questions": ["ill", "old"]}]
    return incrowd.plan(incrowd.Survey.of(raw | {"question": questions, "table": table} | changes))


def quick(**changes):
    """One question, by an analysis that is soon done."""
    privacy = {"epsilon": 1.0, "delta": 1e-6, "analysis": "blanket"}
    question = [{"id": "ill", "type": "yesno"}]
    return planned(privacy=privacy, question=question, table=[], **changes)


def memoized_plan(f=0.3, **changes):
    permanent = {"kind": "rappor", "f": f, "memoized": True}
    question = {"id": "ill", "type": "yesno", "randomizer": permanent}
    raw = {"name": "p", "crowd": PEOPLE, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
    return incrowd.plan(incrowd.Survey.of(raw | {"question": [question]} | changes))


@pytest.fixture(scope="module")
def plan():
    return planned()


@pytest.fixture(scope="module")
def weekly():
    return memoized_plan(rounds=2)


def collection(plan, came=None, people=PEOPLE, seed=None):
    """Coins, which any plan can give."""
    (message,) = plan.messages
    packed = np.random.default_rng(0).integers(0, 1 << message.bits, (people, 1), np.uint8)
    about = {"id": came.collection(0) if came else digest(people), "release": came, "seed": seed}
    return Collection(plan.digest, 0, message.bits, packed, **about)


def same_figures(guarantee, plan):
    return guarantee.model_copy(update={"mixed_by": ()}) == plan.guarantee


def local_epsilon(plan):
    """By hand: all of a person's bits differ, in every copy; permanent ones count once."""
    (message,) = plan.messages
    noise = [
        (each.permanent_stage if plan.memoized else each).q for each in message.channels.values()
    ]
    return message.independent_copies * sum(math.log((1 - q) / q) for q in noise)


RESULTS = {
    "verify": lambda plan, each, **more: incrowd.verify(plan, each, **more),
    "estimate": lambda plan, each, **more: incrowd.estimate(plan, each, **more),
    "estimate a tally": lambda plan, each, **more: incrowd.estimate(
        plan, incrowd.count(plan, each), **more
    ),
    "compare": lambda plan, each, **more: incrowd.compare(plan, each, "ill", "old", **more),
    "regress": lambda plan, each, **more: incrowd.regress(
        plan, each, outcome="ill", on=["old"], **more
    ),
    "postprocess": lambda plan, each, **more: incrowd.postprocess(
        plan, each, tables=[["ill"]], **more
    ),
}


CHEATED = {"received": [replace(RECEIPT, contradicted=True)]}
REDUCED = {  # why only the local guarantee is left: what a collection states, and its receipts
    None: (stated_release(), {"received": [RECEIPT]}),
    "one-party": (stated_release(local_only=True), {}),
    "thinned-cells": (stated_release(mixers=2, thinned=True), {}),
    "contradicted": (stated_release(), CHEATED),
}


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize(
    ("came", "more", "reasons"),
    [
        (None, {}, ()),
        (stated_release(), {}, ()),
        (stated_release(local_only=True), {}, ("one-party",)),
        (stated_release(), CHEATED, ("contradicted",)),
        (stated_release(mixers=2), {}, ()),
        (stated_release(mixers=2, thinned=True), {}, ("thinned-cells",)),
    ],
    ids=["a file", "two parties", "one party", "a cheat", "two mixers", "the collector's mixer"],
)
def test_every_result_has_the_guarantee_that_holds(plan, result, came, more, reasons):
    """Without a receipt too: what was claimed is in the collection itself."""
    found = RESULTS[result](plan, [collection(plan, came)], **more).guarantee
    assert found.reduced_by == reasons
    mixed_by = ("two-mixers" if came.claims.mixers == 2 else "shuffler",) if came else ()
    assert found.mixed_by == mixed_by
    if reasons:
        assert (found.analysis, found.delta) == ("local", 0)
        assert found.epsilon == pytest.approx(local_epsilon(plan), rel=1e-9)
        assert found.epsilon > 3 * plan.guarantee.epsilon
    else:
        assert same_figures(found, plan)


@pytest.mark.parametrize("reason", REDUCED)
def test_a_ledger_charges_what_is_left_of_a_collection(plan, reason, tmp_path):
    """Whatever `verify` says: if only the local guarantee is left, no crowd hides a report."""
    came, more = REDUCED[reason]
    each = [collection(plan, came)]
    left = incrowd.verify(plan, each, **more).guarantee
    incrowd.new_ledger(tmp_path / "ledger.json")
    noted = incrowd.note(tmp_path / "ledger.json", plan, each, **more)
    assert left.reduced_by == (() if reason is None else (reason,))
    charged = sent_before(noted.asked)
    assert charged.local_epsilon == pytest.approx(left.local_epsilon, rel=1e-12)
    assert (not charged.reports) == (left.analysis == "local") == (reason is not None)


@pytest.mark.slow
def test_a_contradicted_release_leaves_nothing_for_a_later_round(tmp_path):
    """With two releases of one stratum, one report can be singled out: its delta is
    p - e^epsilon q. The program promised (1.5, 1e-6) for both rounds."""
    first, path = quick(), tmp_path / "ledger.json"
    incrowd.new_ledger(path)
    noted = incrowd.note(path, first, [collection(first, stated_release())], **CHEATED)
    q = first.messages[0].noise.q
    singled = 1 - q - math.exp(1.5) * q
    assert (
        singled > 0.89
        and certify("blanket", sent_before(noted.asked), PEOPLE, 1.5).delta.upper >= singled
    )
    privacy = {"epsilon": 1.5, "delta": 1e-6, "analysis": "blanket"}
    survey = first.survey.model_copy(update={"privacy": Privacy(**privacy), "name": "later"})
    with pytest.raises(PrivacyError, match="the earlier rounds alone have spent"):
        incrowd.plan(survey, earlier=noted.asked)
    assert incrowd.plan(survey, earlier=[first.asked]).guarantee.epsilon == 1.5  # not contradicted


@pytest.mark.parametrize("result", RESULTS)
def test_of_a_simulation_nothing_is_promised(plan, result):
    found = RESULTS[result](plan, [collection(plan, seed=3)]).guarantee
    assert found.reduced_by == ("simulation",)
    assert str(guarantee_heading(found)) == "No guarantee"
    assert "protect nobody" in guarantee_sentence(found)


@pytest.mark.parametrize("result", one_in(3, RESULTS))
def test_fewer_people_than_planned_are_protected_less(plan, result):
    accept = {} if result == "verify" else {"accept_smaller_crowd": True}
    found = RESULTS[result](plan, [collection(plan, people=900)], **accept).guarantee
    assert found.reduced_by == ("fewer-people",)
    assert found.epsilon == guarantee_for(plan, 900).epsilon > plan.guarantee.epsilon


def test_a_small_release_is_a_crowd_of_its_own():
    """1,900 and 150 people, two strata of one bundle: whoever is in the second hides among 150."""
    plan = quick()
    each = [
        collection(plan, stated_release("one", 1900), people=1900),
        collection(plan, stated_release("two", 150, strata=(1,)), people=150),
    ]
    with pytest.raises(ReportsError, match="a crowd of 150"):
        incrowd.estimate(plan, each)
    found = incrowd.estimate(plan, each, accept_smaller_crowd=True).guarantee
    assert found.crowd == 150 and found.epsilon > 2
    checked = incrowd.verify(plan, each)
    assert not checked.holds and checked.missing == PEOPLE - 150
    assert checked.guarantee == found


@pytest.mark.parametrize("rounds", [1, 3])
def test_noise_that_may_have_been_drawn_again_costs_what_the_formula_says(rounds):
    """In each of the rounds that the promise covers, for everybody who hides the person."""
    plan = quick(rounds=rounds)
    found = guarantee_of(plan, claims=[claims(tail=1e-6)])
    said = plan.guarantee.epsilon, plan.guarantee.delta
    times = -PEOPLE * rounds * math.log1p(-1e-6)
    assert found.epsilon == pytest.approx(said[0] + times, rel=1e-12)
    delta = said[1] * math.exp(times) + math.exp(said[0]) * math.expm1(times)
    assert found.delta == pytest.approx(delta, rel=1e-12)
    assert found.reduced_by == ()
    assert redrawn(*said, tail=1e-6, crowd=PEOPLE * rounds) == (found.epsilon, found.delta)
    alone = guarantee_of(plan, claims=[claims(tail=1e-6, local_only=True)])
    own = plan.guarantee.local_epsilon - rounds * math.log1p(-1e-6)
    assert alone.epsilon == alone.local_epsilon == pytest.approx(own, rel=1e-12)


class TestPermanentResponses:
    def test_of_several_rounds_over_a_network_promise_the_local_guarantee(self, weekly):
        found = guarantee_of(weekly, claims=[claims()])
        assert (found.analysis, found.reduced_by) == ("local", ("permanent-responses",))
        assert found.epsilon == pytest.approx(local_epsilon(weekly), rel=1e-9)
        assert "permanent responses are repeated" in guarantee_sentence(found)
        assert guarantee_of(weekly) == weekly.guarantee, "one party that holds all answers"

    def test_in_two_bundles_of_one_plan_are_two_rounds(self):
        """Nothing in either bundle says so, both together do; not so with fresh noise."""
        once, fresh, two = memoized_plan(), planned(), [claims("one"), claims("two")]
        assert guarantee_of(once, claims=two).reduced_by == ("permanent-responses",)
        assert same_figures(guarantee_of(once, claims=two[:1]), once)
        assert same_figures(guarantee_of(fresh, claims=two), fresh)

    def test_that_a_device_gave_before_are_repeated(self):
        found = guarantee_of(memoized_plan(), claims=[claims()], repeated=True)
        assert found.reduced_by == ("permanent-responses",)


@pytest.mark.slow
def test_nothing_known_of_a_collection_raises_its_promise(plan):
    """Each of all that can be known, added to any set of the others: epsilon never falls."""
    known = {"people": 700, "claims": [claims(tail=1e-7)]}
    known |= {"repeated": True, "contradicted": True, "seed": 1}
    found = {
        names: guarantee_of(plan, **{name: known[name] for name in names})
        for size in range(len(known) + 1)
        for names in map(frozenset, itertools.combinations(known, size))
    }
    for names, before in found.items():
        for name in known.keys() - names:
            after = found[names | {name}]
            assert after.epsilon >= before.epsilon >= plan.guarantee.epsilon
            assert {*before.reduced_by} - {"fewer-people"} <= {*after.reduced_by}


def test_a_promise_that_the_devices_keep_by_themselves_always_holds():
    """f = 0.8 alone gives ln(1.5), where epsilon 1 is promised."""
    plan = memoized_plan(0.8, rounds=2)
    for known in ({"claims": [claims(local_only=True)]}, {"people": 700}, {"people": 1}):
        found = guarantee_of(plan, **known)
        assert found.reduced_by == () and found.epsilon <= math.log(1.5) + 1e-9


def test_without_a_shuffler_nothing_is_lost_if_one_party_mixes(plan):
    alone = planned(privacy={"epsilon": 4.0, "analysis": "local"})
    found = guarantee_of(alone, 900, [claims(local_only=True)], contradicted=True)
    assert same_figures(found, alone)


def test_a_plan_promises_what_its_noise_gives_and_no_less(plan):
    """What is left in the place of a promise is of a collection, never of a plan."""
    less = plan.guarantee.model_copy(update={"reduced_by": ("one-party",)})
    with pytest.raises(PlanError, match="reduced_by"):
        Plan.loads(plan.model_copy(update={"guarantee": less}).dumps())
    assert "reduced_by" not in plan.dumps()


def test_the_promise_is_to_who_sends_once():
    assert "each person who sends once" in UPLOADS


# --- three people: every promise against the definition, by enumeration --------------------------


THREE = 3
EPSILON, DELTA = 1.5, 0.05
SETTINGS = {
    "one report": {},
    "two copies": {"copies": 2},
    "two rounds": {"rounds": 2},
    "permanent responses": {"rounds": 2, "memoized": True},
    "one colludes": {"colluding": 1},
    "two rows each": {"crowd": 6, "rows_per_person": 2},
}


def of_three(copies=1, memoized=False, crowd=THREE, **more):
    question = {"id": "ill", "type": "yesno"} | ({"memoized": True} if memoized else {})
    message = {} if memoized else {"message": [{"questions": ["ill"], "copies": copies}]}
    privacy = {"epsilon": EPSILON, "delta": DELTA}
    raw = {"name": "s", "crowd": crowd, "privacy": privacy, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(raw | message | more))


def times_sent(plan):
    """How often each person's answer goes through fresh noise."""
    (message,) = plan.messages
    assert not message.cells
    rounds = 1 if plan.memoized else plan.survey.rounds
    return message.independent_copies * rounds * plan.survey.rows_per_person


def enumerated(plan, people, epsilon):
    """delta of one yes/no answer sent so often, each time mixed with those of all others.

    The law of all collections is that of independent counts, of one and the same crowd each time.
    """
    q = plan.messages[0].noise.q
    mechanism, largest = np.array([[1 - q, q], [q, 1 - q]]), 0.0
    for _, law in crowds.crowds(mechanism, people - 1):
        pair = [crowds.joined(law, column).ravel() for column in mechanism.T]
        several = [functools.reduce(np.multiply.outer, [one] * times_sent(plan)) for one in pair]
        for x, other in (several, several[::-1]):
            largest = max(largest, np.maximum(x - math.exp(epsilon) * other, 0).sum())
    return largest


@pytest.fixture(scope="module", params=SETTINGS)
def three(request):
    return of_three(**SETTINGS[request.param])


def test_of_three_people_a_plan_keeps_its_promise(three):
    promise = three.guarantee
    truth = enumerated(three, promise.crowd, promise.epsilon)
    assert truth <= promise.certified_delta * (1 + 1e-9) <= DELTA * (1 + 1e-9)
    if times_sent(three) == 1:
        assert truth == pytest.approx(promise.certified_delta, rel=1e-3)
    assert enumerated(three, promise.crowd, 0.6 * EPSILON) > DELTA, "a smaller epsilon is refused"


def test_of_three_people_two_are_a_smaller_crowd(three):
    """One who stays away costs as much as one who colludes; the last one is on her own."""
    rows, colluding = three.survey.rows_per_person, three.survey.colluding
    for people in (2, 1):
        promise = guarantee_of(three, people * rows)
        if people - colluding < 2:
            assert promise.analysis == "local" and promise.epsilon == promise.local_epsilon
        else:
            truth = enumerated(three, people - colluding, promise.epsilon)
            assert truth <= DELTA * (1 + 1e-9) < enumerated(three, people, EPSILON)
        assert promise.reduced_by == ("fewer-people",)


def test_of_three_people_nobody_who_reads_with_names_learns_more(three):
    """Every report with its name beside it: the ratio of all that one person sends."""
    q = three.messages[0].noise.q
    local = times_sent(three) * math.log((1 - q) / q)
    alone = guarantee_of(three, claims=[claims(local_only=True)])
    assert alone.epsilon == pytest.approx(local, rel=1e-9)
    sealed = three.guarantee.model_copy(update={"mixed_by": ("shuffler",)})
    limits = against(sealed).afterwards
    assert limits["shuffler and collector"][:2] == (three.guarantee.local_epsilon, 0.0)
    assert limits["shuffler and collector"].epsilon == pytest.approx(local, rel=1e-9)
    assert limits["shuffler"] == limits["collector"] == limits["readers"]
    assert limits["collector"][:2] == (three.guarantee.epsilon, three.guarantee.delta)
    unsealed = against(three.guarantee).afterwards
    assert unsealed["shuffler"] == unsealed["shuffler and collector"]
    assert {*against(alone).afterwards.values()} == {(alone.epsilon, 0.0, True)}


def test_assumptions_are_codes_with_numbers():
    def codes(**changes):
        found = of_three(**changes).guarantee.assumptions
        return [each.model_dump(exclude_defaults=True) for each in found]

    whole = {"code": "whole-crowd"}
    assert codes() == [whole]
    assert codes(rounds=2) == [whole, {"code": "rounds", "number": 2}]
    rows = {"code": "rows", "number": 2}
    assert codes(crowd=6, rows_per_person=2) == [whole, rows]
    permanent = {"code": "permanent-same-people", "number": 2}
    assert codes(rounds=2, memoized=True) == [whole, {"code": "rounds", "number": 2}, permanent]


def test_a_ledger_of_three_people_says_what_two_rounds_spent():
    """One of two rounds is done: of both the promise was made; then nothing is left."""
    plan = of_three(rounds=2)
    known = Ledger().with_plan(plan, 3)
    once, left = spent(known), of_three(rounds=2).survey.rounds - 1
    assert (once.done, once.left) == (1, left)
    q = plan.messages[0].noise.q
    mechanism = np.array([[1 - q, q], [q, 1 - q]])
    assert max(each.max() for each in crowds.deltas(mechanism, 3, once.epsilon)) <= DELTA
    twice = spent(known.with_plan(plan, 3))
    assert (twice.done, twice.left) == (2, 0) and once.epsilon < twice.epsilon
    assert enumerated(plan, 3, twice.epsilon) <= DELTA * (1 + 1e-9)


# --- the house: nobody else says what is promised ------------------------------------------------


SOURCE = Path(incrowd.__file__).parent
FIGURES = ("ε = ", "δ = ", "ε, δ")
STATED = {"guarantees/certified.py", "guarantees/collected.py", "presentation/guarantee_text.py"}


def promises_in(text):
    """What a module says of promises by itself: a Guarantee that it makes or alters, and figures
    of one that it writes out."""
    for node in nodes_of(text):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called.endswith(("Guarantee", "Guarantee.model_construct")):
                yield called
            if called.endswith("guarantee.model_copy"):
                yield called
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (figure for figure in FIGURES if figure in node.value)


def test_nobody_else_says_what_is_promised():
    found = {
        str(file.relative_to(SOURCE)): said
        for file in SOURCE.rglob("*.py")
        if (said := list(promises_in(file.read_text())))
    }
    assert found.keys() <= STATED, found
    assert "Guarantee" in found["guarantees/certified.py"]
    figures = {
        file.stem
        for file in (SOURCE / "catalog").rglob("*.toml")
        if any(figure in file.read_text("utf-8") for figure in FIGURES)
    }
    assert figures == {"promises", "cards", "devices"}


@pytest.mark.parametrize(
    "text", ["f(Guarantee(epsilon=1))", "plan.guarantee.model_copy(update={})", "f'ε = {x}'"]
)
def test_the_rule_sees_others(text):
    assert list(promises_in(text))


@pytest.fixture(scope="module")
def huge():
    """A bit in 64 copies with so little noise that names would reveal nearly everything."""
    device = {"kind": "bit flip", "noise": 2.0**-20}
    question = [{"id": "ill", "type": "yesno", "randomizer": device}]
    privacy = {"epsilon": 12.0, "delta": 1e-3}
    message = [{"questions": ["ill"], "copies": 64}]
    changes = {"crowd": 10**8, "tables": None, "table": [], "message": message}
    return planned(question=question, privacy=privacy, **changes)


def exact_delta(epsilon):
    """delta of 64 flips of one bit that carry a name, from the definition, in 60 digits."""
    with mpmath.workdps(60):
        q = mpmath.mpf(2) ** -20
        loss = mpmath.log((1 - q) / q)
        return sum(
            mpmath.binomial(64, same)
            * (1 - q) ** same
            * q ** (64 - same)
            * max(0, 1 - mpmath.exp(epsilon - (2 * same - 64) * loss))
            for same in range(65)
        )


def test_a_local_guarantee_holds_beyond_what_e_can_be_raised_to_in_doubles(huge):
    """e^699 is nearly the largest number; the odds can change by more. Wrong: (699, 0)."""
    assert exact_delta(699) > 0.98
    one_party = guarantee_of(huge, claims=[claims(local_only=True)])
    round_of_one = spent(Ledger().with_plan(huge, 1))
    for epsilon, delta in (
        (huge.guarantee.local_epsilon, 0.0),
        (guarantee_for(huge, 1).epsilon, guarantee_for(huge, 1).delta),
        (one_party.epsilon, one_party.delta),
        (round_of_one.epsilon, round_of_one.delta),
        *((limit.epsilon, limit.delta) for limit in against(one_party).afterwards.values()),
    ):
        assert exact_delta(epsilon) <= delta
        assert epsilon < 700 or exact_delta(epsilon * (1 - 1e-9)) > 0
    assert "practically no protection is left" in guarantee_sentence(one_party)
    content = PageContent(huge, ("https://shuffler.example.org",), one_party)
    assert '"local_factor": "practically-none"' in page_files(content, {})["index.html"].decode()


def test_any_finite_epsilon_is_certified_without_a_crowd():
    """The exact delta lies between the bounds, for an epsilon whose exponential overflows too."""
    sent = Contribution.of(Schema.uniform([FREE_BIT], BitFlip(2**12)), 64)
    for epsilon in (1.0, 690.0, 699.0, 720.0, 800.0, 850.0, 880.0, 900.0):
        bounds = certify("local", sent, 2, epsilon).delta
        assert bounds.lower <= exact_delta(epsilon) <= bounds.upper
    assert smallest_epsilon("local", sent, 2, 1e-12) > 800


@pytest.fixture(scope="module")
def outlier():
    """Two bits in a crowd of 8, by the analysis of homogeneous crowds."""
    device = {"kind": "bit flip", "noise": 0.1095}
    question = [{"id": id, "type": "yesno", "randomizer": device} for id in ("ill", "old")]
    privacy = {"epsilon": 2.0, "delta": 0.16, "analysis": "outlier"}
    return planned(crowd=8, question=question, privacy=privacy)


def test_a_plan_that_is_not_a_guarantee_is_promised_to_nobody(outlier, tmp_path):
    """Its figures do not hold: another crowd has more. So there is no page and no bundle, whatever
    is still to come has its mark, and nothing is certified."""
    assert Published(outlier.content, 8).delta(2.0) > 1.2 * outlier.guarantee.delta
    with pytest.raises(UsageError, match="not a guarantee"):
        page_files(PageContent(outlier, ("https://mix.example",), outlier.guarantee), {})
    with pytest.raises(ProtocolError, match="not a guarantee"):
        make_bundle(outlier, stated(questions={"ill": "Ill?", "old": "Old?"}))
    fewer = guarantee_of(outlier, 5)
    assert fewer.reduced_by and not fewer.proved
    for promise in (outlier.guarantee, fewer):
        assert str(guarantee_heading(promise)) == "Privacy, no guarantee"
        card = certified_card(outlier, promise=promise)
        assert not card.proved and "certified" not in {card.kind, *card.facts}
    verdict = "\n".join(verified_view(outlier, incrowd.verify(outlier), ()).notes)
    assert "outlier (not a guarantee)" in verdict and "ertified" not in verdict


def test_only_the_local_guarantee_of_such_a_plan_is_one(outlier):
    """If one party sees the reports with their senders, the epsilon is large, but it holds."""
    left = guarantee_of(outlier, claims=[claims(local_only=True)])
    assert left.proved and left.delta == 0
    assert str(guarantee_heading(left)) == "Reduced guarantee"
    assert left.epsilon == pytest.approx(2 * math.log(0.8905 / 0.1095), rel=1e-6)


def test_the_analyses_that_are_not_proved_have_one_list():
    assert {name for name, by in ANALYSES.items() if not by.proved} == NOT_PROVED
