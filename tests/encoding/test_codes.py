"""Codes of a file of answers: what they stand for, by a table written by hand."""

import json
import tomllib

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers
from tests.conftest import GOOD

TOML = """
name = "A"
crowd = 100
[privacy]
epsilon = 2.0
analysis = "local"
[[question]]
id = "a"
type = "yesno"
values = { 1 = "yes", 2 = "no", ja = "yes" }
missing = ["-9", "NA"]
optional = true
[[question]]
id = "b"
type = "choice"
options = ["x", "y"]
values = { 10 = "x", 11 = "y", 12 = "y" }
[[question]]
id = "c"
type = "multi"
options = ["u", "v", "w"]
at_most = 2
values = { 1 = "u", 2 = "v", 3 = "w" }
missing = [-9]
optional = true
[[question]]
id = "d"
type = "number"
edges = [0, 1, 5]
values = { "less than one" = 0.5 }
missing = [99]
optional = true
[[question]]
id = "t"
type = "choice"
options = ["x", "y"]
"""
SURVEY = incrowd.Survey.of(tomllib.loads(TOML))
ROWS = {  # cells as text, and the answers that they stand for; None is no answer
    "a": (["1", "2", "ja", "yes", "NA", "-9", "1.0", ""], [1, 0, 1, 1, 2, 2, 1, 2]),
    "b": (["10", "11", "12", "x", "y", "10.0", "11", "10"], [0, 1, 1, 0, 1, 0, 1, 0]),
    "d": (["less than one", "0", "7", "99", "99.0", "", "1", "5"], [0, 0, 2, 3, 3, 3, 1, 2]),
    "t": (["x", "y"] * 4, [0, 1] * 4),
}
MULTI = ["1;2", "3", "none", "u;2", "-9", "", "2;3", "w"]
MULTI_BITS = [{0, 1}, {2}, set(), {0, 1}, {3}, {3}, {1, 2}, {2}]


def bits(table, survey=SURVEY):
    people = EncodedAnswers.of(survey, table)
    found = {}
    for id, each in people.encoded.items():
        found[id] = [set() for _ in range(people.number)]
        for row, place in zip(each.rows, each.places, strict=True):
            found[id][row].add(int(place))
    return found


def cells(**changed):
    said = {id: text for id, (text, _) in ROWS.items()} | {"c": MULTI} | changed
    return pa.table({id: [text or None for text in texts] for id, texts in said.items()})


def test_codes_stand_for_answers():
    found = bits(cells())
    for id, (_, places) in ROWS.items():
        assert found[id] == [{place} for place in places], id
    assert found["c"] == MULTI_BITS


def test_lists_and_numbers_are_codes_as_well():
    table = cells()
    lists = [["1", "2"], ["3"], [], ["u", "2"], ["-9"], None, ["2", "3"], ["w"]]
    table = table.set_column(table.column_names.index("c"), "c", pa.array(lists))
    assert bits(table)["c"] == MULTI_BITS
    numbers = [10, 11, 12, 10, 11, 10, 11, 10]
    for kind in (pa.int64(), pa.float64(), pa.decimal128(4, 1)):
        column = pa.array(numbers).cast(pa.float64()).cast(kind)
        as_numbers = cells().set_column(table.column_names.index("b"), "b", column)
        assert bits(as_numbers)["b"] == [{int(n > 10)} for n in numbers], kind


def test_a_plan_knows_the_codes_and_nothing_that_is_sent_does():
    plan = incrowd.plan(SURVEY)
    content = json.loads(plan.dumps())["plan"]
    assert {each["question"] for each in content["survey"]["codes"]} == {"a", "b", "c", "d"}
    assert "values" not in json.dumps([content["survey"]["question"], content["messages"]])
    again = incrowd.Plan.loads(plan.dumps())
    assert again == plan and again.survey.codes_of("b").values["12"] == "y"
    randomized = [incrowd.randomize(p, cells(), simulation_seed=1) for p in (plan, again)]
    assert np.array_equal(*(each[0].packed for each in randomized))


def test_without_codes_a_plan_is_written_as_it_always_was():
    plan = incrowd.plan(incrowd.Survey.of(GOOD))
    text = plan.dumps()
    assert not any(key in text for key in ("codes", "values", "missing", "options_file"))
    empty = incrowd.Survey.of(GOOD | {"codes": []})
    assert incrowd.plan(empty).digest == plan.digest


def test_codes_do_not_change_what_is_sent():
    """The same answers by name and by code: the very same reports."""
    plain = incrowd.Survey.of({**SURVEY.model_dump(by_alias=True), "codes": []})
    names = {"a": ["no", "yes", None], "b": ["x", "y"]}
    by_name = {id: [names[id][place] for place in ROWS[id][1]] for id in names}
    by_name |= {"c": ["u;v", "w", "none", "u;v", None, None, "v;w", "w"], "t": ["x", "y"] * 4}
    by_name |= {"d": ["0", "0", "7", None, None, None, "1", "5"]}
    said = (incrowd.plan(SURVEY), cells()), (incrowd.plan(plain), pa.table(by_name))
    one, other = (incrowd.randomize(*each, simulation_seed=1)[0] for each in said)
    assert np.array_equal(one.packed, other.packed)


def test_options_come_from_a_file_beside_the_survey(tmp_path):
    options = [f"Gemeinde {number}" for number in range(1500)]
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "towns.txt").write_text("\ufeff" + "\n\n".join(options) + "\n")
    text = TOML.replace('options = ["x", "y"]\n', 'options_file = "lists/towns.txt"\n', 1)
    text = text.replace('values = { 10 = "x", 11 = "y", 12 = "y" }\n', "")
    (tmp_path / "s.toml").write_text(text)
    survey = incrowd.Survey.load(tmp_path / "s.toml")
    assert survey.question("b").options == tuple(options)
    (tmp_path / "lists" / "towns.txt").unlink()
    assert incrowd.Survey.of(survey.model_dump(by_alias=True)) == survey


@pytest.mark.parametrize("values", [{"1": "yes", "2": "no"}, {"1": "no", "2": "yes"}])
def test_the_direction_of_codes_matters(values):
    """The wrong variant: codes the other way round give the other answers."""
    question = {"id": "a", "type": "yesno", "values": values}
    survey = incrowd.Survey.of(GOOD | {"question": [question], "table": []})
    wanted = [{0} if values[code] == "yes" else set() for code in ("1", "2")]
    assert bits(pa.table({"a": [1, 2]}), survey)["a"] == wanted


def several(cells, options=("phone", "tv", "a b"), values=None):
    """The options in each cell of a question with codes."""
    values = {"p": "phone", "t.v": "tv", "a": "a b"} if values is None else values
    question = {"id": "c", "type": "multi", "options": list(options), "at_most": 3}
    survey = incrowd.Survey.of(GOOD | {"question": [question | {"values": values}], "table": []})
    table = incrowd.load_answers(pa.table({"c": cells}), survey)
    found = EncodedAnswers.of(survey, table).encoded["c"]
    return [set(found.places[found.rows == row].tolist()) for row in range(len(cells))]


def test_codes_may_stand_with_spaces_between_them():
    """As ODK and KoboToolbox export what several of were chosen; a point is a point."""
    assert several(["p t.v", "t.v  p a", "p", "p;a", "none", "a b", "tv;phone"]) == [
        *({0, 1}, {0, 1, 2}, {0}, {0, 2}, set(), {2}, {0, 1})
    ]
    numbers = {"1": "phone", "2": "tv", "1 2": "a b"}
    assert several(["1 2", "2 1"], values=numbers) == [{2}, {0, 1}]


@pytest.mark.parametrize("cell", ["p x", "p tXv", "phone tv", "p t.v;a"])
def test_spaces_between_anything_else_separate_nothing(cell):
    with pytest.raises(incrowd.AnswersError, match="row 1, c"):
        several([cell])
