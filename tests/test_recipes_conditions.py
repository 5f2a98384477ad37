"""A condition operator that the package does not have, by one line: `~` for "one of these answers".

What follows from the line: surveys, plans, the bundle, check, and the client in TypeScript.
"""

from __future__ import annotations

import json
from unittest import mock

import pyarrow as pa

import incrowd
from incrowd.encoding.records import EncodedAnswers
from incrowd.survey.conditions import OPERATORS, AnyOf, Condition, IsAnswer, read_condition
from tests.oracles.javascript import client_in

TEXT = """name = "Habits"
crowd = 100
[privacy]
epsilon = 3.0
[[question]]
id = "smokes"
type = "choice"
options = ["no", "sometimes", "daily"]
[[question]]
id = "quit"
type = "yesno"
asked_if = "smokes ~ sometimes/daily"
"""


def one_of(question: str, value: str) -> Condition:
    return AnyOf(tuple(IsAnswer(question, answer) for answer in value.split("/")))


def test_an_operator_is_one_line(tmp_path):
    (tmp_path / "s.toml").write_text(TEXT)
    with mock.patch.dict(OPERATORS, {"~": one_of}):
        assert read_condition("a ~ b/c and d = e") == read_condition("(a = b or a = c) and d = e")
        plan = incrowd.plan(incrowd.Survey.load(tmp_path / "s.toml"))
    people = pa.table({"smokes": ["no", "sometimes", "daily"], "quit": [None, "yes", "no"]})
    again = incrowd.Plan.model_validate_json(plan.model_dump_json(by_alias=True))  # without it
    assert again == plan
    assert str(again.survey.question("quit").asked_if) == "smokes = sometimes or smokes = daily"
    assert incrowd.check(again.survey, people).accepted
    places = EncodedAnswers.of(again.survey, people).encoded["quit"].places
    assert places.tolist() == [2, 1, 0]
    content = json.loads(plan.model_dump_json(by_alias=True))
    answers = [{"smokes": each, "quit": None} for each in ("no", "sometimes", "daily")]
    asked = json.loads(
        client_in(tmp_path / "client")("asked.mjs", {"plan": content, "answers": answers})
    )
    assert asked == [["smokes"], ["smokes", "quit"], ["smokes", "quit"]]
