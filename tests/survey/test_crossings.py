"""Cells of questions: the records made of them, and in how many bits two of them differ.

The oracle reads a question's type and its numbers alone, and lists every answer to all questions.
"""

import itertools
from typing import NamedTuple

import pytest

import incrowd
from incrowd.errors import SurveyError
from incrowd.survey import Choice, Multi, Number, Text, YesNo
from incrowd.survey.crossings import (
    NONE_CHOSEN,
    cell_answers,
    crossing,
    crossing_problem,
    parities_problem,
    parities_record,
)

A = YesNo(id="a")
OLD = YesNo(id="old", optional=True)
C = Choice(id="c", options=("x", "y", "z"))
D = Choice(id="d", options=("x", "y"), optional=True)
TWO = Choice(id="two", options=("x", "y"))
N = Number(id="n", edges=(0, 1, 5))
BELOW = Number(id="below", edges=(0, 1))
M = Multi(id="m", options=("u", "v", "w"), at_most=2)
ALL = Multi(id="all", options=("u", "v"), at_most=2)
MANY = Multi(id="many", options=tuple("abcde"), at_most=2)
LATE = Multi(id="late", options=("u", "v", "w"), at_most=3, optional=True)
ONE = Multi(id="one", options=("u", "v"), at_most=1)
SELDOM = Multi(id="seldom", options=("u", "v"), at_most=1, optional=True)


# --- every record, by listing --------------------------------------------------------------------


def options_chosen(question):
    """Every answer to a `multi` question, as the options that are chosen."""
    some = [
        set(chosen)
        for number in range(question.at_most + 1)
        for chosen in itertools.combinations(question.options, number)
    ]
    return [*some, {"no answer"}] if question.optional else some


def one_each(question):
    """Every answer to a question of which exactly one is given."""
    if question.type == "multi":  # of one option at most
        kinds = [*question.options, *(["no answer"] * question.optional), "none"]
    elif question.type == "yesno":
        kinds = ["no", "yes"] + ["no answer"] * question.optional
    else:
        number = len(question.options if question.type == "choice" else question.edges)
        kinds = [*range(number)] + ["no answer"] * question.optional
    return kinds


def several(question):
    return question.type == "multi" and question.at_most > 1


def records(questions):
    """The set cells of every answer to all questions, each named by what it says."""
    kinds = [options_chosen(q) if several(q) else one_each(q) for q in questions]
    for answer in itertools.product(*kinds):
        rest = [a for a, q in zip(answer, questions, strict=True) if not several(q)]
        chosen = [a for a, q in zip(answer, questions, strict=True) if several(q)]
        if not chosen:
            if len(questions) == 1 and len(kinds[0]) == 2:
                yield frozenset({"second"} if answer[0] == kinds[0][1] else ())
            else:
                yield frozenset({tuple(rest)})
        else:
            options = {(option, *rest) for option in chosen[0]}
            yield frozenset(options | ({("any", *rest)} if rest else set()))


CASES = {
    "a yes/no question": [A],
    "an optional yes/no question": [OLD],
    "a choice": [C],
    "a choice of two": [TWO],
    "an optional choice of two": [D],
    "a number": [N],
    "a number below and above": [BELOW],
    "some options": [M],
    "all options": [ALL],
    "two of five options": [MANY],
    "optional options": [LATE],
    "one option at most": [ONE],
    "one option at most, or no answer": [SELDOM],
    "two questions": [A, C],
    "two yes/no questions": [A, TWO],
    "three questions": [OLD, D, N],
    "one option at most, crossed": [C, ONE],
    "options crossed with yes and no": [M, A],
    "options in the middle": [C, M, A],
    "two of five options, crossed": [MANY, A],
    "optional options, crossed": [OLD, LATE],
}


@pytest.mark.parametrize("questions", CASES.values(), ids=CASES)
def test_cells_and_distance_are_those_of_all_records(questions):
    """How many cells anybody can be in, how many of them one person sets, and the largest number
    of bits in which two records differ."""
    record, every = crossing(tuple(questions)), set(records(questions))
    assert record.cells == len(frozenset().union(*every))
    assert record.fewest == min(map(len, every)) and record.most == max(map(len, every))
    assert record.distance == max(len(x ^ y) for x in every for y in every)


@pytest.mark.parametrize("questions", CASES.values(), ids=CASES)
def test_everybody_is_in_one_cell_of_an_exclusive_block(questions):
    """So that its counts add up to the number of people; a single bit stands for two answers."""
    record = crossing(tuple(questions))
    exclusive = [block for block in record.blocks if block.exclusive]
    assert len(exclusive) == (len(questions) > 1 or not several(questions[0]))
    for block in exclusive:
        for cells in records(questions):
            inside = [cell for cell in cells if not any(map(several, questions)) or "any" in cell]
            assert len(inside) == 1 or block.shape == (1,)


@pytest.mark.parametrize("questions", CASES.values(), ids=CASES)
def test_blocks_are_consecutive_and_hold_an_axis_for_each_question(questions):
    end, ids = 0, tuple(question.id for question in questions)
    for block in crossing(tuple(questions)).blocks:
        assert block.cells == slice(end, end + block.size)
        end += block.size
        assert block.questions == tuple(id for id in ids if id in block.questions)
        assert len(block.shape) == len(block.questions)
    assert end == crossing(tuple(questions)).cells


def test_a_crossed_question_differs_in_more_cells():
    """Wrong: the distance 2m of the question alone, once it is crossed: other people answer the
    crossed question differently, and the cells "any" differ as well."""
    assert crossing((MANY,)).distance == 2 * 2
    assert crossing((MANY, A)).distance == 2 * 2 + 2
    assert crossing((M,)).distance == 3  # of three options two and two have one in common
    assert crossing((M, A)).distance == 2 * 2 + 2


def test_answers_are_named_along_an_axis():
    assert cell_answers(OLD) == ("no", "yes", "no answer")
    assert cell_answers(ONE) == ("u", "v", NONE_CHOSEN)
    assert cell_answers(SELDOM) == ("u", "v", "no answer", NONE_CHOSEN)
    assert cell_answers(M) == ("u", "v", "w")


# --- what has none -------------------------------------------------------------------------------


class Wrong(NamedTuple):
    questions: list
    why: str


WORD = Text(id="word", block=4, hashes=2, cohorts=8)
DEVICE = YesNo(id="own", randomizer={"kind": "warner", "spinner": 0.8})
KEPT = YesNo(id="kept", memoized=True)
OPEN = YesNo(id="town", open=True)
LARGE = [Choice(id=f"l{n}", options=tuple(map(str, range(900)))) for n in range(4)]


@pytest.mark.parametrize(
    ("questions", "why"),
    [
        Wrong([A, WORD], "'word' is a text question"),
        Wrong([DEVICE], "'own' has its own randomizer"),
        Wrong([A, OPEN], "'town' is open"),
        Wrong([M, C, ALL], "'m' and 'all' both allow several answers at once"),
        Wrong([A, KEPT], "some of its questions are memoized and others are not"),
        Wrong(LARGE, "they have 656,100,000,000 cells, more than 4,294,967,296"),
    ],
)
def test_why_some_questions_have_no_cells(questions, why):
    assert str(crossing_problem(questions)) == why


@pytest.mark.parametrize("questions", [*CASES.values(), [KEPT], LARGE[:3]])
def test_others_have_cells(questions):
    assert crossing_problem(questions) is None


# --- what a survey can ask for -------------------------------------------------------------------


def survey(*questions, **more):
    asked = [question.model_dump(by_alias=True) for question in questions]
    raw = {"name": "s", "crowd": 1000, "privacy": {"epsilon": 2.0}, "question": asked}
    return incrowd.Survey.of(raw | more)


WIDE = Choice(id="wide", options=tuple(map(str, range(1001))))


@pytest.mark.slow
def test_a_wide_question_is_sent_as_cells_without_a_word():
    plan = incrowd.plan(survey(A, WIDE, C, tables="any"))
    assert [(m.ids, m.cells) for m in plan.messages] == [(("a", "c"), False), (("wide",), True)]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"questions": ["a", "wide"]}, r"message\[1\].questions: got 'wide'.*add cells = true"),
        ({"questions": ["a", "wide"], "cells": True, "copies": 2}, "copies do not make cells"),
        ({"questions": ["a", "wide"], "cells": 1}, "should be true or false"),
    ],
)
def test_what_a_message_cannot_be_is_said(message, said):
    with pytest.raises(SurveyError, match=said):
        survey(A, WIDE, message=[message])


def test_a_wide_question_may_be_crossed():
    plan = incrowd.plan(survey(A, WIDE, message=[{"questions": ["a", "wide"], "cells": True}]))
    assert plan.messages[0].record_bits == 2 * 1001


def test_a_survey_without_cells_is_written_as_before():
    """The key is in files only where it is true."""
    joint = survey(A, C, message=[{"questions": ["a", "c"], "cells": False}])
    assert "cells" not in joint.model_dump_json(by_alias=True)
    assert joint == survey(A, C, message=[{"questions": ["a", "c"]}])


# --- parities ------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(2, 8))
def test_every_record_of_parities(count):
    """In how many bits two of them differ, and how many each sets, by listing all answers."""
    found = parities_record(tuple(YesNo(id=f"q{i}") for i in range(count)))
    pairs = list(itertools.combinations(range(count), 2))
    assert [block.questions for block in found.blocks] == [(f"q{i}", f"q{j}") for i, j in pairs]
    assert [block.first for block in found.blocks] == list(range(len(pairs)))
    assert found.cells == len(pairs)
    records = {
        tuple(answers[i] != answers[j] for i, j in pairs)
        for answers in itertools.product((False, True), repeat=count)
    }
    ones = [sum(record) for record in records]
    assert (found.fewest, found.most) == (min(ones), max(ones))
    apart = [
        sum(a != b for a, b in zip(*two, strict=True))
        for two in itertools.product(records, repeat=2)
    ]
    assert found.distance == max(apart)


@pytest.mark.parametrize("asked", [[A, TWO], [BELOW, A, TWO]])
def test_questions_with_two_answers_have_parities(asked):
    assert not parities_problem(asked)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ([A], "no pairs"),
        ([A, C], "'c' does not have exactly two answers"),
        ([OLD, A], "'old' does not"),
        ([A, ALL], "'all' does not"),
        ([A, Text(id="t", block=16, cohorts=4)], "'t' does not"),
        (
            [A, YesNo(id="once", memoized=True)],
            "some of its questions are memoized and others are not",
        ),
        ([A, TWO, YesNo(id="open", open=True)], "'open' is open"),
    ],
)
def test_others_have_none(asked, why):
    assert why in str(parities_problem(asked))
