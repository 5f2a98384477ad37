"""What people read about a collection with two mixers: who could cheat, and what is left then."""

import html
import io
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from rich.console import Console

import incrowd
from incrowd.collection.claims import bundle_guarantee, organizations_of, sealed_by
from incrowd.collection.device.promising import promised, terms
from incrowd.estimation.receipts import Received, receipt_sentences, unaccounted, without_receipt
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import EACH, MIXERS, against, coalitions, is_undone
from incrowd.presentation import card, verified
from incrowd.presentation.data import guarantee_facts, json_ready
from incrowd.presentation.guarantee_text import (
    against_sentence,
    guarantee_sentence,
    promise_sentence,
    recorded_sentence,
)
from incrowd.presentation.layouts import page
from incrowd.presentation.terminal import terminal
from incrowd.reports.collection import Collection
from tests.oracles import mixers
from tests.oracles.releases import claims, digest, stated_release

PEOPLE = 2000
LETTERS = {"I": "inviter", "A": "first mixer", "B": "second mixer", "C": "collector"}

# Who works together, and what is left: afterwards, planned for joint reports, planned for cells.
TABLE = {
    "": "GGG",
    "C": "GGG",
    "B": "GGG",
    "BC": "GGG",
    "A": "GGL",
    "AC": "GGL",
    "AB": "GGL",
    "ABC": "LLL",
    "I": "GLL",
    "IC": "GLL",
    "IA": "GLL",
    "IAC": "GLL",
    "IB": "GLL",
    "IBC": "GLL",
    "IAB": "GLL",
    "IABC": "LLL",
}


def services(letters):
    return frozenset(LETTERS[letter] for letter in letters)


def planned(cells=False, **changes):
    questions = [{"id": "ill", "type": "yesno"}, {"id": "old", "type": "yesno"}]
    raw = {"name": "s", "crowd": PEOPLE, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
    message = [{"questions": ["ill", "old"], "cells": cells}]
    return incrowd.plan(
        incrowd.Survey.of(raw | {"question": questions, "message": message} | changes)
    )


PLANS = {"joint": planned(), "cells": planned(cells=True)}


def bundle(plan, **runs):
    names = {
        "inviter": "Works council",
        "first": "University A",
        "second": "University B",
        "collector": "Institute",
    }
    return mixers.bundle(plan, runs=names | runs)


def texts(lines):
    return "\n".join(": ".join(line) for line in lines)


class TestWhoCouldCheat:
    @pytest.mark.parametrize("together", TABLE)
    def test_every_row_of_the_table(self, together):
        found = (
            is_undone(services(together), cells=cells, planned=planned)
            for cells, planned in [(False, False), (False, True), (True, True)]
        )
        assert "".join("L" if undone else "G" for undone in found) == TABLE[together]
        afterwards = is_undone(services(together), cells=True, planned=False)
        assert afterwards is (TABLE[together][0] == "L"), "cells make no difference afterwards"

    @pytest.mark.parametrize("kind", PLANS)
    def test_limits_are_the_plans_guarantee_or_the_local_one(self, kind):
        plan = PLANS[kind]
        guarantee = guarantee_of(plan, claims=[claims(mixers=2)])
        limits = against(guarantee)
        parties = {
            "readers": "",
            "collector": "C",
            "inviter": "I",
            "first mixer": "A",
            "second mixer": "B",
            "both mixers": "AB",
            "second mixer and collector": "BC",
            "first mixer and collector": "AC",
            "inviter and collector": "IC",
            "both mixers and collector": "ABC",
        }
        assert limits.afterwards.keys() == limits.planned.keys() == parties.keys()
        local = plan.guarantee.local_epsilon, 0.0, True
        whole = plan.guarantee.epsilon, plan.guarantee.delta, True
        for party, together in parties.items():
            row = TABLE[together]
            assert limits.afterwards[party] == (local if row[0] == "L" else whole)
            worst = row[2 if kind == "cells" else 1]
            assert limits.planned[party] == (local if worst == "L" else whole)

    @pytest.mark.parametrize("cells", [False, True])
    @pytest.mark.parametrize("planned", [False, True])
    @pytest.mark.parametrize(
        "runs", [["I", "A", "B", "C"], ["I", "A", "BC"], ["I", "AB", "C"], ["IA", "B", "C"]]
    )
    def test_coalitions_are_the_smallest_groups_of_organizations(self, runs, cells, planned):
        """By the table: groups of which every smaller group leaves G."""

        def letter(group):
            together = "".join(sorted("".join(group), key="IABC".index))
            return TABLE[together][(2 if cells else 1) if planned else 0]

        groups = [g for size in range(1, len(runs) + 1) for g in combinations(runs, size)]
        smallest = {
            frozenset(map(services, group))
            for group in groups
            if letter(group) == "L" and all(letter(set(group) - {each}) == "G" for each in group)
        }
        found = coalitions(map(services, runs), cells=cells, planned=planned)
        assert set(map(frozenset, found)) == smallest and len(found) == len(smallest)

    def test_of_a_shuffler_and_of_mixers_all_parties_are_named(self):
        """Reports of both kinds: each person sent one upload, and nobody knows which."""
        both = guarantee_of(PLANS["joint"], claims=[claims("a"), claims("b", mixers=2)])
        assert both.mixed_by == ("shuffler", "two-mixers")
        found = against(both).afterwards
        assert {"shuffler and collector", "both mixers and collector"} <= found.keys()
        assert "shuffler alone" in str(against_sentence(both))
        assert "the first mixer, the second mixer" in str(against_sentence(both))
        assert "the shuffler removes" in guarantee_sentence(both)
        assert "the two mixers do not both" in guarantee_sentence(both)


class TestSentences:
    def test_no_single_party_and_afterwards_no_two(self):
        guarantee = guarantee_of(PLANS["joint"], claims=[claims(mixers=2)])
        said = str(against_sentence(guarantee))
        assert "Afterwards, from everything that was recorded, no single party and no two" in said
        assert "more than this: ε = 1.00, δ = " in said
        assert "Only the first mixer, the second mixer and the collector together can" in said
        assert "If planned from the start, the inviter could invent the people" in said
        assert "single reports" not in said and "nobody" not in said.lower()
        assert said in guarantee_sentence(guarantee)
        assert said not in str(promise_sentence(guarantee))
        assert "the inviter admits real people only" in str(promise_sentence(guarantee))
        assert "shuffler" not in guarantee_sentence(guarantee)

    def test_of_cells_a_first_mixer_could_thin_sets(self):
        guarantee = guarantee_of(PLANS["cells"], claims=[claims(mixers=2)])
        said = str(against_sentence(guarantee))
        assert "the first mixer could pass on single reports of many people" in said
        assert "the first mixer passes on whole uploads only" in str(promise_sentence(guarantee))

    def test_organizations_are_named_with_what_they_run(self):
        said = self.said()
        assert "University A (first mixer), University B (second mixer) and Institute (coll" in said
        assert "If planned from the start, Works council (inviter) could" in said
        assert "An organization that runs several" not in said

    @pytest.mark.parametrize("name", ["institute", "  INSTITUTE "])
    def test_an_organization_that_runs_two_services_counts_as_both(self, name):
        """Then two organizations can cheat afterwards, so that nothing is said of two."""
        said = self.said(second=name)
        assert "University A (first mixer) and" in said
        assert re.search(r"\(second mixer and collector\) together can", said)
        assert "no two" not in said and "no single party can" in said

    def test_two_mixers_of_one_organization_are_one_shuffler(self):
        said = self.said(second="university a")
        assert "University A (first mixer and second mixer) and Institute (collector)" in said
        assert "no two" not in said

    def test_an_inviter_that_mixes_as_well(self):
        said = self.said(inviter="University A", kind="cells")
        assert (
            "University A (inviter and first mixer) could invent the people that hide a person or"
            in said
        )
        assert said.count("If planned") == 1

    def said(self, kind="joint", **runs):
        of = bundle(PLANS[kind], **runs)
        return str(against_sentence(bundle_guarantee(of), organizations_of(of)))


class TestWhatHolds:
    def test_the_collector_runs_the_first_mixer(self):
        """Joint reports are still mixed; about sets of cells that it chose, nothing is proved."""
        joint, cells = (
            bundle_guarantee(bundle(plan, first=" instiTUTE")) for plan in PLANS.values()
        )
        assert joint.reduced_by == () and joint.epsilon == 1.0
        assert cells.reduced_by == ("thinned-cells",)
        assert cells.epsilon == pytest.approx(PLANS["cells"].guarantee.local_epsilon, rel=1e-6)
        assert "Against everybody, whoever works together" in str(against_sentence(cells))
        assert {*against(cells).planned.values()} == {*against(cells).afterwards.values()}

    @pytest.mark.parametrize("kind", PLANS)
    def test_the_collector_runs_both_mixers(self, kind):
        of = bundle(PLANS[kind], first="Institute", second="institute")
        found = bundle_guarantee(of)
        assert found.reduced_by[0] == "one-party" and found.analysis == "local"
        assert "both mixers and the collector are the same party" in texts(terms(of, promised(of)))

    def test_on_one_machine_only_the_local_guarantee_holds(self):
        of = bundle(PLANS["joint"])
        changes = {
            name: getattr(of, name).model_copy(update={"address": f"http://127.0.0.1:{port}"})
            for port, name in enumerate(("inviter", "first", "second", "collector"), 8001)
        }
        assert bundle_guarantee(of.model_copy(update=changes)).reduced_by == ("one-party",)
        del changes["first"]
        assert bundle_guarantee(of.model_copy(update=changes)).reduced_by == ()

    def test_permanent_responses_from_the_second_release(self):
        plan = planned(
            message=[],
            question=[{"id": "ill", "type": "yesno", "memoized": True}],
        )
        (one, two) = claims("a", mixers=2), claims("b", mixers=2)
        assert guarantee_of(plan, claims=[one]).reduced_by == ()
        several = guarantee_of(plan, claims=[one, two])
        assert several.reduced_by == ("permanent-responses",)
        assert several.mixed_by == ("two-mixers",)

    def test_a_mixer_that_contradicts_itself(self):
        found = bundle_guarantee(bundle(PLANS["joint"]), contradicted=True)
        assert found.reduced_by == ("contradicted",)
        assert "signed two different statements" in guarantee_sentence(found)
        assert "shuffler" not in guarantee_sentence(found)

    def test_a_local_plan_is_local_against_everybody(self):
        plan = planned(privacy={"epsilon": 4.0, "analysis": "local"})
        found = bundle_guarantee(bundle(plan))
        assert found.reduced_by == () and str(against_sentence(found)).startswith(
            "Against everybody"
        )

    def test_those_who_collude_hide_nobody(self):
        plan = planned(colluding=100)
        assert bundle_guarantee(bundle(plan)).crowd == PEOPLE - 100
        assert "100 of them may work with the analyst" in texts(
            terms(bundle(plan), promised(bundle(plan)))
        )

    def test_a_plan_does_not_say_who_mixes(self):
        said = PLANS["joint"].guarantee.model_copy(update={"mixed_by": ("two-mixers",)})
        assert "mixed_by" not in PLANS["joint"].dumps()
        with pytest.raises(incrowd.errors.PlanError, match="mixed_by"):
            incrowd.Plan.loads(PLANS["joint"].model_copy(update={"guarantee": said}).dumps())


# --- every output --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports():
    """Coins that came over a network, through two mixers."""
    plan = PLANS["joint"]
    came = stated_release(mixers=2, people=PEOPLE)
    packed = np.random.default_rng(0).integers(0, 4, (PEOPLE, 1), np.uint8)
    return [Collection(plan.digest, 0, 2, packed, id=came.collection(0), release=came)]


@pytest.fixture(scope="module")
def results(reports):
    plan = PLANS["joint"]
    return {
        "estimate": incrowd.estimate(plan, reports),
        "compare": incrowd.compare(plan, reports, "ill", "old"),
        "regress": incrowd.regress(plan, reports, outcome="ill", on=["old"]),
    }


SAID = "no single party and no two together can learn more"


@pytest.mark.parametrize("name", ["estimate", "compare", "regress"])
def test_notebooks_and_pages_say_who_could_cheat(results, name):
    text = " ".join(html.unescape(results[name]._repr_html_()).split())
    assert SAID in text or SAID in html.unescape(text)


def test_terminal_page_and_json_say_the_same(results, reports):
    estimates, plan = results["estimate"], PLANS["joint"]
    console = Console(width=100_000, record=True, file=io.StringIO())
    console.print(terminal(estimates))
    facts = [
        json_ready(estimates)["guarantee"],
        json_ready(results["regress"])["guarantee"],
        verified.facts(plan, incrowd.verify(plan, reports), ())["guarantee"],
        guarantee_facts(incrowd.postprocess(plan, reports, tables=[["ill"]]).guarantee),
    ]
    for text in (console.export_text(), page(estimates), *(each["sentence"] for each in facts)):
        assert SAID in " ".join(text.split())
    for each in facts:
        assert each["mixed_by"] == ["two-mixers"]
        assert each["against"]["both mixers and collector"]["delta"] == 0.0
        assert each["against_if_planned"]["inviter"]["delta"] == 0.0
        assert each["against"]["inviter"]["epsilon"] == 1.0


def test_a_card_names_the_organizations():
    of = bundle(PLANS["cells"])
    written = card.certified_card(of.plan, promise=bundle_guarantee(of), sealed=sealed_by(of))
    for text in (card.markdown(written), html.unescape(card.html(written))):
        assert "University A (first mixer), University B (second mixer) and Institute" in text
        assert "Works council (inviter) could invent" in text
        assert "First mixer, University A" in text and "Both mixers and the collector" in text
        assert "If they cheated and recorded" in text and "sealed with X-Wing" in text
        assert "huffler" not in text
    facts = written.facts["guarantee"]
    assert facts["organizations"]["second mixer"] == "University B"
    assert facts["against_if_planned"]["first mixer"]["delta"] == 0.0


def test_a_device_shows_who_runs_what():
    plan = planned(
        question=[
            {"id": "ill", "type": "yesno"},
            {"id": "old", "type": "yesno"},
            {"id": "town", "type": "yesno", "open": True},
        ],
    )
    names = ("no", "yes")
    runs = {"inviter": "W", "first": "A", "second": "B", "collector": "C"}
    classical = mixers.bundle(plan, second=mixers.SECOND_CLASSICAL, strata=names, runs=runs)
    said = dict(terms(classical, promised(classical)))
    assert [said[name] for name in ("Inviter", "First mixer", "Second mixer", "Collector")] == [
        *"WABC"
    ]
    assert "A (first mixer), B (second mixer) and C (collector) together" in said["Against"]
    assert "to the first mixer, which sees your address" in said["Sent openly"]
    guarantee = promised(classical).guarantee
    assert said["Recorded traffic"] == str(recorded_sentence(guarantee, post_quantum=False))
    assert "is left with the local guarantee" in said["Recorded traffic"]
    assert "shuffler" not in texts(terms(classical, promised(classical))).lower()


def test_each_service_is_one_of_the_four():
    assert frozenset().union(*EACH) == services("IABC") and services("AB") == MIXERS
    assert organizations_of(bundle(PLANS["joint"])).keys() == services("IABC")


RECEIPT = Received(
    release=digest("a release"),
    bundle="B",
    strata=("north",),
    people=100,
    issued=150,
    reports=500,
    rejected={"token": 2},
    opened_people=99,
    crowded=((0, 320, 300),),
    places=5,
    tail=0.0,
    colluding=0,
    local_only=False,
    mixers=2,
    used=130,
    tokens=(300, 200),
)


class TestReceipts:
    def test_says_who_signed_what_and_what_it_does_not_prove(self):
        said = " ".join(receipt_sentences(RECEIPT))
        assert "the first mixer signed that 100 people sent an upload" in said
        assert "the second mixer that 500 sealed reports have a token of the inviter" in said
        assert "(by message: 300, 200; dummies included)" in said
        assert "signed that 130 of 150 invitations were used" in said
        assert "2 without a valid token" in said and "does not prove that the reports" in said
        assert "Message 1 has 320 reports" in said and "filled slots" not in said

    def test_invitations_without_people_are_a_hint(self):
        south = replace(RECEIPT, strata=("south",), people=20)
        (hint,) = unaccounted([RECEIPT, south])
        assert hint.startswith("10 more invitations were used than there are people")
        assert list(unaccounted([RECEIPT, replace(south, people=30)])) == []
        (hint,) = unaccounted([RECEIPT, replace(south, people=31)])
        assert hint.startswith("1 fewer invitation was used") and "numbers are wrong" in hint
        assert list(unaccounted([replace(RECEIPT, used=None), replace(RECEIPT, tokens=None)])) == []

    def test_verify_lists_signatures_tokens_and_counts(self, reports):
        plan = PLANS["joint"]
        shown = plan, incrowd.verify(plan, reports, received=[RECEIPT]), [RECEIPT]
        notes = " ".join(verified.view(*shown).notes)
        for words in ("The signatures prove", "300, 200", "have a token of the inviter", "30 more"):
            assert words in notes
        (receipt,) = verified.facts(*shown)["receipts"]
        assert receipt["tokens"] == (300, 200) and receipt["used"] == 130

    def test_without_a_receipt_nobody_verified_the_mixers(self):
        (said,) = without_receipt([stated_release(mixers=2)], [])
        assert "what the mixers signed" in said
