"""Conditions: reading them, writing them, and who is asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import AnswersError, IncrowdWarning, SurveyError
from incrowd.survey.conditions import (
    AllOf,
    AnyOf,
    AtLeast,
    Below,
    IsAnswer,
    Not,
    facts,
    of_facts,
    read_condition,
)

A, B, C = (IsAnswer(each, "yes") for each in "abc")
TEXTS = {
    "a = yes": A,
    "a=yes": A,
    "  a  =  yes  ": A,
    '"a" = "yes"': A,
    "a != yes": Not(A),
    "not a = yes": Not(A),
    "not not a = yes": Not(Not(A)),
    "a = yes and b = yes": AllOf((A, B)),
    "a = yes or b = yes and c = yes": AnyOf((A, AllOf((B, C)))),
    "(a = yes or b = yes) and c = yes": AllOf((AnyOf((A, B)), C)),
    "not (a = yes or b = yes) and c = yes": AllOf((Not(AnyOf((A, B))), C)),
    "age >= 18 and age < 65": AllOf((AtLeast("age", 18.0), Below("age", 65.0))),
    "income < -0.5": Below("income", -0.5),
    "how often = nearly every day": IsAnswer("how often", "nearly every day"),
    '"this or that?" = "yes, and \\"no\\""': IsAnswer("this or that?", 'yes, and "no"'),
    "größe = größer": IsAnswer("größe", "größer"),
}
UNREADABLE = [
    "",
    "a",
    "a =",
    "= yes",
    "a = yes and",
    "(a = yes",
    "a = yes)",
    "a = = b",
    "and",
    '"a = b',
]


def survey(condition: str, **keys: object) -> incrowd.Survey:
    return incrowd.Survey.of(
        {
            "name": "Habits",
            "crowd": 1000,
            "privacy": {"epsilon": 1.0},
            "question": [
                {"id": "smokes", "type": "yesno"},
                {"id": "age", "type": "number", "edges": [0, 18, 65]},
                {"id": "drinks", "type": "multi", "options": ["beer", "wine"], "at_most": 2},
                {"id": "income", "type": "amount", "edges": [0, 100]},
                {"id": "mood", "type": "choice", "options": ["good", "bad"], "optional": True},
                {"id": "asked", "type": "yesno", "asked_if": condition, **keys},
            ],
        }
    )


def asked(condition: str) -> list[bool]:
    """Return who is asked of five people."""
    people = pa.table(
        {
            "smokes": ["yes", "no", "yes", "no", "yes"],
            "age": [17.9, 18, 64, 65, 200],
            "drinks": ["beer", "wine", "beer;wine", "none", "none"],
            "income": [1, 2, 3, 4, 5],
            "mood": ["good", "bad", None, "good", "bad"],
            "asked": ["yes"] * 5,
        }
    )
    encoded = EncodedAnswers.of(survey(condition), people).encoded["asked"]
    return [place != 2 for place in encoded.places]  # no, yes, not asked


def test_conditions_are_read():
    assert {text: read_condition(text) for text in TEXTS} == TEXTS


def test_a_condition_that_is_written_is_read_as_the_same():
    assert [read_condition(str(each)) for each in TEXTS.values()] == [*TEXTS.values()]
    assert [of_facts(facts(each)) for each in TEXTS.values()] == [*TEXTS.values()]


def test_what_is_not_a_condition_is_refused():
    for text in UNREADABLE:
        with pytest.raises(ValueError, match="condition"):
            read_condition(text)
    for data in (
        {},
        {"all": []},
        {"all": [facts(A)]},
        {"not": facts(A), "x": 1},
        [],
        3,
        {"question": "a"},
    ):
        with pytest.raises(ValueError, match="condition"):
            of_facts(data)


def test_deep_conditions_are_refused_without_a_recursion_error():
    with pytest.raises(ValueError, match="nested"):
        read_condition("not " * 5000 + "a = yes")
    with pytest.raises(ValueError, match="nested"):
        read_condition("(" * 5000 + "a = yes" + ")" * 5000)


def test_who_is_asked():
    """By hand, for each kind of question that can decide."""
    expected = {
        "smokes = yes": [1, 0, 1, 0, 1],
        "smokes = no": [0, 1, 0, 1, 0],
        "smokes != no": [1, 0, 1, 0, 1],
        "age >= 18": [0, 1, 1, 1, 1],
        "age < 65": [1, 1, 1, 0, 0],
        'age = "18 to <65"': [0, 1, 1, 0, 0],
        "drinks = beer": [1, 0, 1, 0, 0],
        "drinks != beer": [0, 1, 0, 1, 1],
        "drinks = beer and drinks = wine": [0, 0, 1, 0, 0],
        "mood = good": [1, 0, 0, 1, 0],
        "mood != good": [0, 1, 1, 0, 1],
        'mood = "no answer"': [0, 0, 1, 0, 0],
        "smokes = yes and (age >= 65 or mood = good)": [1, 0, 0, 0, 1],
        "not (smokes = yes or drinks = wine)": [0, 0, 0, 1, 0],
    }
    assert {text: asked(text) for text in expected} == {
        text: [*map(bool, each)] for text, each in expected.items()
    }


def test_mistakes_in_conditions_name_what_would_work():
    messages = {
        "height = tall": "no question has this id",
        "asked = yes": "later question",
        "smokes = often": "not one of the answers",
        "age >= 20": "edges",
        "age > 18": ">= or <",
        "age >= old": "number",
        "smokes >= 1": "not answered by a number",
        "income >= 100": "cannot decide",
    }
    for text, message in messages.items():
        with pytest.raises(SurveyError, match=message):
            survey(text)
    with pytest.raises(SurveyError, match="open"):
        survey("smokes = yes", open=True)


def test_a_person_who_was_not_asked_needs_no_answer_and_one_who_was_does():
    plain = survey("smokes = yes")
    table = pa.table(
        {
            "smokes": ["yes", "no"],
            "age": [20, 20],
            "drinks": ["none", "none"],
            "income": [1, 2],
            "mood": ["good", "bad"],
            "asked": ["no", None],
        }
    )
    assert incrowd.check(plain, table).accepted
    assert EncodedAnswers.of(plain, table).encoded["asked"].places.tolist() == [0, 2]
    silent = table.set_column(5, "asked", pa.array([None, None], pa.string()))
    assert not incrowd.check(plain, silent).accepted
    with pytest.raises(AnswersError, match="asked"):
        EncodedAnswers.of(plain, silent)
    optional = survey("smokes = yes", optional=True)
    places = EncodedAnswers.of(optional, silent).encoded["asked"].places
    assert places.tolist() == [2, 3]  # no, yes, no answer, not asked


@pytest.mark.slow
def test_answers_of_people_who_were_not_asked_are_counted_and_do_not_count():
    plan = incrowd.plan(survey("smokes = yes"))
    people = 1000
    table = pa.table(
        {
            "smokes": ["yes", "no"] * (people // 2),
            "age": [20] * people,
            "drinks": ["none"] * people,
            "income": [1] * people,
            "mood": ["good"] * people,
            "asked": ["yes", "maybe"] * (people // 2),
        }
    )
    messages = [str(each) for each in incrowd.check(plan.survey, table).findings]
    assert any("500 answers of people" in each and "smokes = yes" in each for each in messages)
    with pytest.warns(IncrowdWarning, match="500 answers of people"):
        reports = incrowd.randomize(plan, table, simulation_seed=1)
    estimated = incrowd.estimate(plan, reports)["asked"]
    assert estimated.answers == (("no", "yes", "not asked"),)
    assert np.abs(estimated.estimate - [0, 0.5, 0.5]).max() < 6 * estimated.standard_error.max()


def test_a_nested_condition_follows_the_whole_chain():
    chained = incrowd.Survey.of(
        {
            "name": "Chain",
            "crowd": 100,
            "privacy": {"epsilon": 1.0},
            "question": [
                {"id": "a", "type": "yesno"},
                {"id": "b", "type": "yesno", "asked_if": "a = yes"},
                {"id": "c", "type": "yesno", "asked_if": "b = yes"},
                {"id": "d", "type": "yesno", "asked_if": "b != yes"},
            ],
        }
    )
    people = pa.table(
        {"a": ["no", "yes", "yes"], "b": ["yes", "yes", "no"], **{id: ["yes"] * 3 for id in "cd"}}
    )
    encoded = EncodedAnswers.of(chained, people).encoded
    assert encoded["b"].places.tolist() == [2, 1, 0]
    assert encoded["c"].places.tolist() == [2, 1, 2]
    assert encoded["d"].places.tolist() == [1, 2, 1]  # who is not asked b does not say yes to it
