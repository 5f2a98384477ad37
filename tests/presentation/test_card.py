"""The guarantee card: what a board reads is true of the plan, and user text stays text."""

import math
import re
from datetime import date

import pytest

import incrowd
from incrowd.accountant.codes import WorstPair
from incrowd.errors import PlanError
from incrowd.plans import Plan
from incrowd.presentation.card import MOST_ROWS, certified_card, html
from incrowd.presentation.guarantee_text import assumption_text, worst_pair
from incrowd.presentation.plan_text import leak_with_names
from tests.conftest import local_plan, one_in, second_round, with_less_noise, yes_no_question
from tests.presentation.conftest import PLANS, carded, outlier, texts, wide


def forged(plan: Plan, **changes: object) -> Plan:
    """A plan that claims more than it keeps, with a digest that fits."""
    guarantee = plan.guarantee.model_copy(update=changes)
    return Plan.loads(plan.model_copy(update={"guarantee": guarantee}).dumps())


def recomputed(card):
    """The figures that were computed again; they certify nothing if the result is no guarantee."""
    return card.facts["certified" if card.proved else "computed"]


class TestCard:
    @pytest.mark.parametrize("name", one_in(2, PLANS))
    def test_says_all_that_a_board_asks(self, name):
        plan, text = PLANS[name](), texts(carded(name))
        promise = plan.guarantee
        for question in plan.survey.questions:
            assert question.id in text
        figures = [f"{plan.survey.crowd:,} people", plan.digest, f"incrowd verify {name}.json"]
        figures += [
            assumption_text(promise),
            f"e^{promise.epsilon:g}",
            "Device",
            "Shuffler",
            "Public",
        ]
        for figure in figures:
            assert figure in text

    @pytest.mark.parametrize("name", one_in(2, PLANS))
    def test_is_dated_today(self, name):
        before = date.today()
        facts = recomputed(certified_card(PLANS[name]()))
        assert facts["on"] in {before.isoformat(), date.today().isoformat()}
        assert facts["version"] in carded(name).kind
        assert facts["delta"] <= PLANS[name]().guarantee.delta

    def test_says_what_each_device_sends(self):
        text, message = texts(carded("wide")), wide().messages[-1]
        assert f"{1 + 2000 * message.noise.q:,.1f} pieces on average" in text
        chance = math.floor(message.noise.q * 1e4) / 1e4
        assert f"each bit is flipped with probability {chance:.4g}" in text
        own = math.exp(0.1) / (math.exp(0.1) + 2)
        other = 1 / (math.exp(0.1) + 2)
        own, other = math.ceil(own * 1e4) / 1e4, math.floor(other * 1e4) / 1e4
        words = f"sent with probability {own:.4g}, each other one with {other:.4g}"
        assert f"spun (k-ary): the answer is {words}" in text
        assert "site 11; … (2,000 in all)" in text and "site 12" not in text
        assert "0 to <18; 18 to <65; 65 or more" in text
        assert "at most 2 of a; b; c; d; or no answer" in text

    def test_rounds_permanent_responses_and_colluders(self):
        text, plan = texts(carded("rounds")), second_round()
        assert f"Round <one> (900 people, plan {plan.earlier[0].digest[:12]}…)" in text
        assert "up to 50 may cooperate with the analyst: the other 950" in text
        assert "the guarantee relies on only 850" in text and plan.guarantee.crowd == 900 - 50
        assert "drug: the device draws the response once" in text
        assert "flipped with probability 0.35, then a 0 is sent as 1 with probability 0.25" in text
        assert "keeps a secret key" in text

    def test_without_them_the_card_says_so(self):
        text = texts(carded("outlier"))
        assert (
            "None are covered" in text and "assuming that none cooperates with the analyst" in text
        )
        assert "secret key" not in text and "Permanent" not in text

    def test_an_outlier_plan_has_no_guarantee(self):
        made = carded("outlier")
        assert made.heading == "Privacy, no guarantee" and made.kind.startswith("Privacy card")
        assert "differential privacy" not in texts(made) and "promise" not in texts(made)
        assert "delta 0.01 is at least 1 / crowd" in texts(made)
        assert 'class="promise unproved"' in html(made)
        assert 'class="promise unproved"' not in html(carded("rounds"))

    def test_a_local_plan_needs_no_shuffler(self):
        text = texts(carded("nasty"))
        assert "Not relied on" in text and "If the shuffler fails" not in text

    def test_what_remains_without_the_shuffler(self):
        text, local_epsilon = texts(carded("rounds")), second_round().guarantee.local_epsilon
        shown = float(re.search(r"ε = ([\d.]+), δ = 0\. The odds", text)[1])
        assert local_epsilon <= shown <= local_epsilon * 1.01

    def test_messages_of_one_question_share_a_line(self):
        message = [{"questions": [f"q{i}"]} for i in range(30)] + [{"questions": ["a", "b"]}]
        plan = local_plan(
            *(yes_no_question(f"q{i}") for i in range(30)),
            yes_no_question("a"),
            yes_no_question("b"),
            message=message,
        )
        sent = next(s for s in certified_card(plan).sections if s.title == "What is sent")
        ids = ", ".join(f"q{i}" for i in range(30))
        assert [row[0] for row in sent.grid.rows] == [f"each alone: {ids}", "a, b"]
        assert "reports of one person are counted together" in " ".join(sent.paragraphs)

    def test_long_tables_are_cut_and_say_so(self):
        many = [{"id": f"q{i}", "type": "number", "edges": [0, i]} for i in range(1, MOST_ROWS + 4)]
        asked = next(
            s for s in certified_card(local_plan(*many)).sections if s.title == "What is asked"
        )
        assert len(asked.grid.rows) == MOST_ROWS + 1
        assert asked.grid.rows[-1] == ("and 3 more, in the plan", "")


class TestRefusals:
    def test_a_plan_that_does_not_hold_has_no_card(self):
        with pytest.raises(PlanError, match="too small for the guarantee"):
            certified_card(with_less_noise(local_plan(yes_no_question("a"))))
        with pytest.raises(PlanError, match="too small for the guarantee"):
            certified_card(forged(outlier(), certified_delta=1e-9))

    def test_a_plan_that_lies_about_what_remains_has_no_card(self):
        with pytest.raises(PlanError, match="too small for the guarantee"):
            certified_card(forged(second_round(), local_epsilon=0.01))


def test_the_public_verification_agrees():
    """A card is made of plans that `verify` accepts."""
    for name in PLANS:
        assert incrowd.verify(PLANS[name]()).holds


def test_the_card_says_what_a_shuffler_could_infer():
    """By Bayes' rule, written out: of a yes/no flipped with chance q and sent in two copies."""
    raw = {"name": "x", "crowd": 1000, "copies": 2, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": [yes_no_question("a")]}))
    q = made.messages[0].noise.q
    odds = 3 / 7 * ((1 - q) / q) ** 2
    sure = math.ceil(100 * odds / (1 + odds))
    said = texts(certified_card(made))
    assert f"right 30% of the time could become one that is right {sure}% of the time" in said


def test_the_card_says_what_is_drawn_once():
    kinds = {"type": "choice", "options": list("abc"), "memoized": True}
    plan = local_plan({"id": "site", "cells": True, **kinds}, {"id": "day", **kinds})
    text = texts(certified_card(plan))
    assert text.count("drawn once and reused") == 2
    assert "site, day: the device draws the response once" in text
    again = local_plan({"id": "site", "cells": True, "type": "choice", "options": list("abc")})
    assert "drawn once" not in texts(certified_card(again))


ROUNDS = {"kind": "rappor", "f": 0.7, "one_if_zero": 0.25, "one_if_one": 0.75}


def leak(*questions, **rest):
    """What a cheating shuffler learns of the question that tells most, by the plan's noise."""
    raw = {"name": "x", "crowd": 1000, "privacy": {"epsilon": 40.0, "analysis": "local"}}
    made = incrowd.plan(incrowd.Survey.of(raw | rest | {"question": list(questions)}))
    return leak_with_names(made, made.survey.questions[0]), made.guarantee.local_epsilon


def test_a_shuffler_that_cheats_sees_every_round():
    """Nine rounds tell as much as nine copies; of one question that is the whole local epsilon."""
    copied = leak(yes_no_question("a"), copies=9)
    rounds = leak(yes_no_question("a"), rounds=9)
    assert rounds == pytest.approx(copied) and rounds[0] == pytest.approx(rounds[1])
    assert leak(yes_no_question("a"))[0] > 9 / 2  # one round of the whole budget


def test_permanent_responses_are_the_same_in_every_round():
    kept = yes_no_question("a", randomizer=ROUNDS | {"memoized": True})
    once, often = leak(kept, copies=3), leak(kept, rounds=9)
    assert often == pytest.approx(once) and once[0] == pytest.approx(once[1])
    drawn = yes_no_question("a", randomizer=ROUNDS)
    assert leak(drawn, rounds=9)[0] == pytest.approx(9 * leak(drawn)[0])


def test_the_worst_pair_is_for_experts():
    """It stands in symbols, and in no sentence for a board."""
    for name in PLANS:
        found = carded(name)
        pairs = (WorstPair(**each) for each in recomputed(found)["worst"])
        assert (worst := str(worst_pair(tuple(pairs)))) in found.symbols
        assert texts(found).count(worst) == 1


ENGLISH_WORDS = re.compile(
    r"\b(the|of|and|is|are|that|which|with|people|answers|sends|collector|shuffler|never|each)\b"
)


@pytest.mark.parametrize("name", PLANS)
def test_a_german_card_has_no_english_sentence(name):
    """Answers and wordings are the survey's own; the names of answers in bits are not words."""
    plan = PLANS[name]()
    card = certified_card(plan, language="de")
    own = " ".join(
        [*plan.survey.languages, *(str(each.in_words()) for each in plan.survey.questions)]
    )
    said = [card.kind, card.heading, card.claim, card.strength, *card.symbols, *card.warnings]
    for section in card.sections:
        said += [section.title, *section.paragraphs]
        if not section.title.startswith("Was gefragt wird"):
            rows = section.grid.rows if section.grid else ()
            said += [text for row in rows for text in row]
    wrong = [text for text in said if ENGLISH_WORDS.search(text) and text not in own]
    assert wrong == []
    assert '<html lang="de">' in html(card) and "In Symbolen" in html(card)
