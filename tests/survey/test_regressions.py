"""Regressions that a survey wants: what they hold, and every mistake in them at once."""

from pathlib import Path

import pytest

import incrowd
from incrowd.errors import SurveyError
from incrowd.survey import Survey

VECTORS = Path(__file__).parents[2] / "vectors"
QUESTIONS = [
    {"id": "ill", "type": "yesno"},
    {"id": "age", "type": "choice", "options": ["young", "old"]},
    {"id": "visits", "type": "number", "edges": [0, 2]},
    {"id": "town", "type": "choice", "options": ["north", "south"], "open": True},
]
RAW = {"name": "A", "crowd": 100, "privacy": {"epsilon": 2.0, "analysis": "local"}}
ILL = {"outcome": "ill", "on": ["age", "town", "visits=0 to <2", "age:town"]}


def survey(*wanted, **changed):
    return Survey.of(RAW | {"question": QUESTIONS, "regression": wanted} | changed)


def test_a_regression_is_the_randomized_questions_of_its_formula():
    made = survey(ILL, {"outcome": "visits", "on": ["town"]})
    assert made.regressed == (("ill", "age", "visits"), ("visits",))
    assert made.wanted == survey().wanted and made.counted == survey().counted
    assert str(made.regressions[0]) == "ill on age, town, visits=0 to <2, age:town"


def test_everything_that_a_formula_says_survives_a_plan():
    more = {"family": "linear", "scores": [0, 2], "reference": {"age": "old"}}
    penalized = {"on": ["score(age)"], "predictor_scores": {"age": [1, 3]}, "penalty": "firth"}
    merge = {"visits": {"few": ["0 to <2", "2 to <5"]}}
    visits = {"id": "visits", "type": "number", "edges": [0, 2, 5]}
    made = survey(
        ILL | more | {"on": ["age"], "merge": merge},
        {"outcome": "ill"} | penalized,
        question=[*QUESTIONS[:2], visits, QUESTIONS[3]],
    )
    plan = incrowd.plan(made)
    assert incrowd.Plan.loads(plan.dumps()).survey == made
    assert plan.digest != incrowd.plan(survey(ILL)).digest


def test_surveys_without_regressions_keep_their_digests():
    """Plans of before there were any. Wrong: an empty list in the canonical text."""
    text = (VECTORS / "plan.json").read_text()
    plan = incrowd.Plan.loads(text)
    assert f'"{plan.digest}"' in text
    assert '"regression"' not in plan.canonical
    assert '"regression"' in incrowd.plan(survey(ILL)).canonical


def messages(*wanted, **changed):
    with pytest.raises(SurveyError) as error:
        survey(*wanted, **changed)
    return str(error.value).splitlines()


def test_all_mistakes_are_told_at_once_and_where():
    lines = messages(
        {"outcome": "il", "on": ["agee", "age=od"]},
        {"outcome": "ill", "on": ["ill", "age:visits"], "family": "probit"},
        {"outcome": "visits", "on": ["town"], "scores": [1], "reference": {"town": "nort"}},
    )
    assert len(lines) == 9
    for found, said in (
        ("regression[1].outcome: got 'il'", "did you mean ill?"),
        ("regression[1].on: got 'agee'", "did you mean age?"),
        ("regression[1].on: got 'od'", "did you mean old?"),
        ("regression[2].on: got 'ill'", "more than once"),
        ("regression[2].on: got 'age:visits'", "'age' should also be"),
        ("regression[2].on: got 'age:visits'", "'visits' should also be"),
        ("regression[2].family: got 'probit'", "logistic, linear"),
        ("regression[3].scores: ", "a number for each of 0 to <2, 2 or more"),
        ("regression[3].reference: got 'nort'", "did you mean north?"),
    ):
        assert any(line.startswith(found) and said in line for line in lines), found


def test_a_question_with_a_mistake_is_no_mistake_of_its_regressions():
    """The others are told all the same."""
    broken = [QUESTIONS[0], QUESTIONS[1] | {"options": ["young"]}, *QUESTIONS[2:]]
    lines = messages(ILL, {"outcome": "ill", "on": ["visit"]}, question=broken)
    assert [line.split(":")[0] for line in lines] == [
        "question[2].options of age",
        "regression[2].on",
    ]


def test_what_no_message_holds_is_refused():
    groups = [{"questions": ["ill", "age"]}, {"questions": ["visits"]}]
    (line,) = messages(ILL, message=groups)
    assert line.startswith("message: got 'ill, age, visits'; no message has all of these questions")
    assert survey({"outcome": "ill", "on": ["age", "town"]}, message=groups).messages


ASKED = {"id": "daily", "type": "yesno", "asked_if": "ill = yes and age = old"}


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ({"outcome": "daily", "on": ["ill"]}, "asked 'daily', this is 'yes'"),
        ({"outcome": "ill", "on": ["daily"]}, "asked 'daily', this is 'yes'"),
        ({"outcome": "daily", "on": ["visits", "age=young"]}, "asked 'daily', this is 'any other'"),
        ({"outcome": "visits", "on": ["age", "daily=yes"]}, "asked 'daily', this is 'old'"),
        ({"outcome": "daily", "on": ["visits"]}, None),
        ({"outcome": "daily=not asked", "on": ["age"]}, None),
        ({"outcome": "daily", "on": ["ill"], "merge": {"daily": [["no", "not asked"]]}}, None),
        ({"outcome": "ill", "on": ["age"]}, None),
    ],
)
def test_what_is_the_same_for_everybody_in_a_model_explains_nothing(formula, said):
    """Only people who are asked all its questions are part of it."""
    asked = {"question": [*QUESTIONS, ASKED]}
    if said is None:
        assert survey(formula, **asked).regressions
    else:
        assert any(said in each for each in messages(formula, **asked))


def test_a_condition_with_a_mistake_is_the_only_mistake():
    asked = [*QUESTIONS, ASKED | {"asked_if": "ill = yes and town = west"}]
    [mistake] = messages({"outcome": "daily", "on": ["ill"]}, question=asked)
    assert "west" in mistake
