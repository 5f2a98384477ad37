"""The sentences: every code has one, and what they say of three records is true of them."""

import math
import re
from typing import get_args

import pytest

from incrowd.accountant.codes import AssumptionCode, WorstCode, WorstPair
from incrowd.catalog.sentences import in_words, text_of
from incrowd.plans.plan import Assumption, PlanAssumption, Reduction
from incrowd.presentation import guarantee_text
from incrowd.presentation.guarantee_text import (
    assumption_sentence,
    guarantee_line,
    guess_left,
    guess_sentence,
    reduced_sentence,
    strength_sentence,
    strength_words,
    worst_pair,
)
from tests.conftest import services_plan

PEOPLE_ASKED = [{"survey": "P1", "questions": ["ill"]}]


def between(x, other, place="bit"):
    """Two records, written out as bits, and the record of the crowd, all zeros."""
    one = {place for place, bit in enumerate(x) if bit == "1"}
    two = {place for place, bit in enumerate(other) if bit == "1"}
    numbers = {"x": len(one), "other": len(two), "both": len(one & two)}
    return WorstPair(code="relation", place=place, crowd="alike", **numbers)


@pytest.mark.parametrize(
    ("x", "other", "words"),
    [
        ("1110", "1101", "two records that each differ from the crowd's in 3 bits, 2 of them the"),
        ("1100", "0011", "two records that each differ from the crowd's in 2 bits, none of them"),
        ("1110", "0100", "two records that differ from the crowd's in 3 and in 1 bit, 1 of them"),
        ("1111", "0000", "the crowd's record, and one that differs from it in 4 bits."),
    ],
)
def test_the_words_say_how_three_records_lie(x, other, words):
    assert str(worst_pair([between(x, other)])).startswith(f"Worst pair: {words}")


def test_answers_that_are_sent_whole_are_places():
    assert str(worst_pair([between("11", "11", "place")])).endswith(
        "in 2 places, 2 of them the same."
    )


def test_several_kinds_of_reports_have_a_pair_each():
    bit, seat = WorstPair(code="any-crowd"), WorstPair(code="any-pair").named("seat")
    text = "Worst pair: either answer, in any crowd; any pair of records, in any crowd (by seat)."
    assert str(worst_pair([bit, seat])) == text


@pytest.mark.parametrize("code", [*get_args(AssumptionCode), *get_args(PlanAssumption)])
def test_every_assumption_has_a_sentence_with_its_numbers_and_names(code):
    given = {"number": 1234, "questions": ["town"], "asked": PEOPLE_ASKED}
    sentence = assumption_sentence(Assumption.model_validate({"code": code} | given))
    text, template = str(sentence), text_of(sentence.code, "en")
    assert text.endswith(".") and "{" not in text and text[0].isupper()
    assert in_words(sentence, "de").endswith(".")
    assert ("{number" in template) is ("1,234" in text)
    assert ("{questions}" in template) is ("town, which is" in text)
    assert ("{asked}" in template) is ("P1: ill" in text)


@pytest.mark.parametrize("code", get_args(PlanAssumption))
@pytest.mark.parametrize("language", ["en", "de"])
def test_one_line_names_every_assumption(code, language):
    of = {"code": code, "number": 1234, "questions": ["town"], "asked": PEOPLE_ASKED}
    more = Assumption.model_validate(of)
    plan = services_plan()
    for crowd, kind in ((5000, "whole-crowd"), (None, "services-apart"), (None, "nobody-trusted")):
        update = {"crowd": crowd, "assumptions": (Assumption(code=kind), more)}
        guarantee = plan.guarantee.model_copy(update=update)
        line = in_words(guarantee_line(guarantee), language)
        assert in_words(assumption_sentence(more), language) in line
        if crowd:
            assert ("5,000" if language == "en" else "5.000") in line
        else:
            assumed = in_words(assumption_sentence(Assumption(code=kind)), language)
            assert assumed[1:] in line
        assert re.search(r"\(ε[,;] δ\) = \(2[,;] 1e-05\)", line) and "{" not in line


@pytest.mark.parametrize("language", ["en", "de"])
def test_one_line_says_once_that_nothing_is_protected(language):
    update = {"crowd": 5000, "assumptions": (Assumption(code="whole-crowd"),)}
    weak = services_plan().guarantee.model_copy(update=update | {"epsilon": 20.0})
    line = in_words(guarantee_line(weak), language)
    words = {"en": "practically no protection", "de": "praktisch kein schutz"}[language]
    assert line.casefold().count(words) == 1
    fair = in_words(guarantee_line(weak.model_copy(update={"epsilon": 1.0})), language)
    assert words not in fair.casefold()


def test_every_other_code_has_a_sentence():
    assert guarantee_text._PAIRS.keys() == set(get_args(WorstCode))
    assert guarantee_text._REDUCED.keys() == set(get_args(Reduction))
    assert guarantee_text._JOINTS.keys() == set(get_args(AssumptionCode))


def test_what_a_guess_can_become_is_stated_with_delta():
    """At epsilon 1, odds of 1 to 4 become 2.718 to 4, which is 40.46%, rounded up."""
    assert str(guess_sentence(1.0, 1e-6)) == (
        "A guess about one person's answer that is right with a chance of 20% can become one that "
        "is right with a chance of 41% at most; to this adds an allowance of one in a million "
        "(delta)."
    )
    assert "höchstens 41 % zu; hinzu kommt ein Zuschlag von eins zu einer Million" in in_words(
        guess_sentence(1.0, 1e-6), "de"
    )
    assert str(guess_sentence(20.0)).endswith("can become practically certain.")
    assert str(strength_words("practically-none")) == "practically no protection"


def test_the_strength_names_who_can_read_every_answer():
    apart = services_plan().guarantee
    assert str(strength_sentence(apart)) == "moderate protection"
    alone = apart.model_copy(update={"service_epsilon": math.inf})
    assert str(strength_sentence(alone)) == (
        "moderate protection against readers of the results; none against whoever runs the services"
    )
    assert str(guess_left(alone)).startswith("For somebody who knows only the results: A guess")
    assert str(guess_left(apart)).startswith("A guess")


def test_of_a_rehearsal_no_guarantee_remains():
    local = services_plan().guarantee.model_copy(
        update={"analysis": "local", "reduced_by": ("one-party", "rehearsal")}
    )
    assert "guarantee remains" not in str(reduced_sentence(local))
    real = local.model_copy(update={"reduced_by": ("one-party",)})
    assert "Only the local guarantee remains" in str(reduced_sentence(real))
