"""The expected share of people whom a question is asked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers
from incrowd.estimation.precision import assumed_shares, shares_of_asked
from incrowd.simulation import invented
from incrowd.survey import NOT_ASKED, Survey
from incrowd.survey.asking import answers_of_asked

QUESTIONS: list[dict[str, Any]] = [
    {"id": "a", "type": "yesno", "shares": {"yes": 0.3}},
    {
        "id": "b",
        "type": "choice",
        "options": ["x", "y", "z"],
        "shares": {"x": 0.5, "y": 0.3, "z": 0.2},
    },
    {"id": "n", "type": "number", "edges": [0, 18, 65], "optional": True},
    {
        "id": "m",
        "type": "multi",
        "options": ["p", "q"],
        "at_most": 2,
        "shares": {"p": 0.4, "q": 0.1},
    },
    {"id": "c", "type": "yesno", "asked_if": "a = yes or b = x", "shares": {"yes": 0.25}},
]
CONDITIONS = [
    "a = yes",
    "b != x",
    "n >= 18 and n < 65",
    'n = "no answer"',
    "m = p and not m = q",
    "c = yes",
    "c != yes",
    'c = "not asked"',
    "c = yes and a = yes",
    "a = yes and (b = x or c = no) and not n < 18",
]


def survey(condition: str) -> Survey:
    asked = {"id": "q", "type": "yesno", "asked_if": condition}
    raw = {"name": "N", "crowd": 100, "privacy": {"epsilon": 1.0}, "question": [*QUESTIONS, asked]}
    return Survey.of(raw)


def by_enumeration(asked: Survey) -> float:
    """Return the share by encoding every combination of answers, weighted with its probability."""
    values = {
        "a": [("no", 0.7), ("yes", 0.3)],
        "b": [("x", 0.5), ("y", 0.3), ("z", 0.2)],
        "n": [(5, 1 / 4), (20, 1 / 4), (70, 1 / 4), (None, 1 / 4)],
        "m": [("none", 0.54), ("p", 0.36), ("q", 0.06), ("p;q", 0.04)],
        "c": [("no", 0.75), ("yes", 0.25)],
    }
    rows = list(product(*values.values()))
    columns = {id: [row[place][0] for row in rows] for place, id in enumerate(values)}
    table = pa.table({**columns, "q": ["yes"] * len(rows)})
    weights = np.array([np.prod([share for _, share in row]) for row in rows])
    place = asked.question("q").recorded.index(NOT_ASKED)
    return float(weights @ (EncodedAnswers.of(asked, table).encoded["q"].places != place))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_share_is_that_of_all_combinations_of_answers(condition):
    asked = survey(condition)
    shares = assumed_shares(asked, asked.question("q"), even=True)
    assert 1 - shares[-1] == pytest.approx(by_enumeration(asked), abs=1e-12)
    assert shares.sum() == pytest.approx(1)


def test_a_chain_that_is_taken_for_independent_would_be_wrong():
    """c is asked only of some, so "c = yes and a = yes" is not a product of shares."""
    asked = survey("c = yes and a = yes")
    share = 1 - assumed_shares(asked, asked.question("q"), even=True)[-1]
    of_c = 1 - assumed_shares(asked, asked.question("c"), even=True)[-1]
    assert share == pytest.approx(0.3 * 0.25)
    assert share != pytest.approx(0.3 * 0.25 * of_c, rel=0.1)


def test_shares_that_are_stated_are_of_those_who_are_asked():
    asked = survey("a = yes")
    c = asked.question("c")
    assert shares_of_asked(c, even=True).tolist() == [0.75, 0.25]
    of_all = assumed_shares(asked, c, even=False)
    assert of_all.tolist() == pytest.approx([0.75 * 0.65, 0.25 * 0.65, 0.35])


def test_invented_people_are_asked_as_often():
    """Six standard errors: a false alarm in 2 of 10^9 runs."""
    asked = survey("a = yes and b != z")
    people = 20_000
    table = invented(asked, people, np.random.default_rng(1))
    share = 1 - assumed_shares(asked, asked.question("q"), even=True)[-1]
    got = people - table["q"].null_count
    assert abs(got / people - share) < 6 * np.sqrt(share * (1 - share) / people)
    assert incrowd.check(asked, table).accepted


@pytest.mark.parametrize(
    ("condition", "id", "given"),
    [
        ("a = yes", "a", ("yes",)),
        ("a != yes", "a", ("no",)),
        ("a = yes or b = x", "a", ("no", "yes")),
        ("b = x or b = y", "b", ("x", "y")),
        ("c = yes and b = y", "a", ("yes",)),  # or c is not asked
        ("c = yes", "c", ("yes",)),
        ('c = "not asked"', "b", ("y", "z")),
        ("n >= 18", "n", ("18 to <65", "65 or more")),
        ('n = "no answer"', "n", ()),
        ("m = p and a = yes", "m", ("p", "q")),  # options that people can choose together
        ("m = p and a = yes", "b", ("x", "y", "z")),
    ],
)
def test_some_answers_are_not_given_by_those_who_are_asked(condition, id, given):
    asked = survey(condition)
    found = answers_of_asked(asked.question(id), asked.question("q"), asked.questions)
    assert found == given


def test_conditions_of_very_many_comparisons_take_no_longer():
    """Thirty options, any of which decides: 2^30 combinations would have to be told apart."""
    options = [f"o{n}" for n in range(30)]
    shares = dict.fromkeys(options, 0.02)
    many = {"id": "many", "type": "multi", "options": options, "at_most": 30, "shares": shares}
    condition = " or ".join(f"many = {each}" for each in options)
    question = {"id": "q", "type": "yesno", "asked_if": condition}
    raw = {"name": "N", "crowd": 100, "privacy": {"epsilon": 1.0}, "question": [many, question]}
    asked = Survey.of(raw)
    share = 1 - assumed_shares(asked, asked.question("q"), even=True)[-1]
    assert share == pytest.approx(1 - 0.98**30)


def test_independent_comparisons_agree_where_all_can_be_told_apart(monkeypatch):
    conditions = ["a = yes", "b != x", "m = p and not m = q", "c = yes", 'c = "not asked"']
    exact = [
        assumed_shares(each, each.question("q"), even=True) for each in map(survey, conditions)
    ]
    monkeypatch.setattr("incrowd.survey.asking.MOST_LAWS", 0)
    close = [
        assumed_shares(each, each.question("q"), even=True) for each in map(survey, conditions)
    ]
    assert np.array(close) == pytest.approx(np.array(exact))
