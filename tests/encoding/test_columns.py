"""Columns with names of their own, blank cells with a meaning, and lists with any separator."""

import pandas
import pyarrow as pa
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers

BASE = {"name": "A", "crowd": 10, "privacy": {"epsilon": 1.0, "delta": 1e-6}}


def survey(*questions):
    return incrowd.Survey.of(BASE | {"question": list(questions)})


def answers_of(asked, data):
    """The answers of each row to the first question, by name."""
    encoded = EncodedAnswers.of(asked, incrowd.load_answers(data, asked))
    (question, *_), found = asked.questions, [set() for _ in range(encoded.number)]
    one_bit = question.bits < len(question.answers)
    first = encoded.encoded[question.id]
    for row, place in zip(first.rows.tolist(), first.places.tolist(), strict=True):
        found[row].add(question.answers[place + one_bit])
    return found


def written(tmp_path, name, frame):
    path = tmp_path / name
    if path.suffix == ".jsonl":
        path.write_text(frame.to_json(orient="records", lines=True))
    else:
        getattr(frame, {".csv": "to_csv", ".parquet": "to_parquet"}[path.suffix])(path, index=False)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl", ""])
def test_a_column_has_a_name_of_its_own(tmp_path, name):
    frame = pandas.DataFrame({"Do you smoke, ever?": ["yes", "no"] * 6, "other": ["x"] * 12})
    data = written(tmp_path, name, frame) if name else frame
    question = {"id": "smoke", "type": "yesno", "column": "Do you smoke, ever?"}
    asked = survey(question, {"id": "other", "type": "choice", "options": ["x", "y"]})
    assert answers_of(asked, data) == [{"yes"}, set()] * 6
    assert incrowd.check(asked, data).accepted
    loaded = incrowd.load_answers(data, asked)
    assert loaded.column_names == ["smoke", "other"]
    assert answers_of(asked, loaded) == [{"yes"}, set()] * 6


def test_a_stated_column_comes_before_one_with_the_name_of_the_question():
    frame = pandas.DataFrame({"smoke": ["no"] * 12, "Smoke?": ["yes"] * 12})
    asked = survey({"id": "smoke", "type": "yesno", "column": "Smoke?"})
    assert answers_of(asked, frame) == [{"yes"}] * 12


def test_a_missing_column_is_named_as_in_the_file():
    asked = survey({"id": "smoke", "type": "yesno", "column": "Smoke?"})
    with pytest.raises(incrowd.AnswersError, match=r"Smoke\?"):
        incrowd.load_answers(pandas.DataFrame({"smokes": ["no"]}), asked)


@pytest.mark.parametrize(
    "cells",
    [["x", "", " ", None], ["X", None, "", ""], pandas.Categorical(["x", None, None, None])],
    ids=["text", "capital", "categories"],
)
def test_a_blank_cell_is_an_answer_if_the_survey_says_so(cells):
    """The wrong variant takes it for a missing answer."""
    values = {"x": "yes", "X": "yes", "": "no"}
    asked = survey({"id": "a", "type": "yesno", "values": values})
    assert answers_of(asked, pandas.DataFrame({"a": cells})) == [{"yes"}, set(), set(), set()]


def test_a_blank_number_is_an_answer_and_a_code_stays_missing():
    values = {"1": "yes", "": "no"}
    question = {"id": "a", "type": "yesno", "values": values, "missing": [-9], "optional": True}
    asked = survey(question)
    frame = pandas.DataFrame({"a": [1.0, None, -9.0]})
    assert answers_of(asked, frame) == [{"yes"}, {"no"}, {"no answer"}]
    amounts = {"id": "a", "type": "number", "edges": [0, 1, 2], "values": {"": "0"}}
    assert answers_of(survey(amounts), frame[:2]) == [{"1 to <2"}, {"0 to <1"}]


LISTS = {
    "pipe": ("|", ["a|b c", "b c", "none", "", "a|"], "b c"),
    "comma": (",", ["a, b c", "b c", "none", "", "a,"], "b c"),
    "line": ("\n", ["a\nb c", "b c\n", "none", "", "a"], "b c"),
    "slash": ("/", ["a/b c", " b c", "none", "/", "a"], "b c"),
    "space": (" ", ["a  bc", "bc ", "none", " ", "a\n"], "bc"),
    "semicolon": ("", ["a;b c;", "b c", "none", ";", "a;"], "b c"),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_split_at_the_separator_of_the_survey(tmp_path, name):
    separator, cells, second = LISTS[name]
    stated = {"separator": separator} if separator else {}
    asked = survey({"id": "m", "type": "multi", "options": ["a", second], "at_most": 2} | stated)
    expected = [{"a", second}, {second}, set(), set(), {"a"}]
    frame = pandas.DataFrame({"m": cells})
    assert answers_of(asked, frame) == expected
    assert answers_of(asked, pa.table({"m": pa.array(cells).dictionary_encode()})) == expected
    frame.loc[3] = "none"  # in a CSV file, a blank cell is a missing answer
    assert answers_of(asked, written(tmp_path, "a.csv", frame.assign(b=1))) == expected


def test_codes_in_lists_are_replaced_after_the_split():
    question = {"id": "m", "type": "multi", "options": ["tea", "milk"], "at_most": 2}
    coded = {"values": {"1": "tea", "2": "milk"}, "missing": [-9], "optional": True}
    asked = survey(question | coded | {"separator": "|"})
    frame = pandas.DataFrame({"m": ["1|2", "2", "-9", "milk"]})
    assert answers_of(asked, frame) == [{"tea", "milk"}, {"milk"}, {"no answer"}, {"milk"}]


def test_a_plan_keeps_column_and_separator_only_if_they_are_stated():
    plain = {"id": "m", "type": "multi", "options": ["a", "b"], "at_most": 2, "missing": ["-9"]}
    codes = survey(plain | {"column": "M, all", "separator": "/", "optional": True}).codes
    assert [each.model_dump() for each in codes] == [
        {"question": "m", "missing": ("-9",), "column": "M, all", "separator": "/"}
    ]
    assert [each.model_dump() for each in survey(plain | {"optional": True}).codes] == [
        {"question": "m", "missing": ("-9",)}
    ]


# --- a column for each option ---------------------------------------------------------------------


def ticks(**stated):
    columns = {"m1": "tea", "Milk?": "milk", "m3": "rum"}
    question = {"id": "m", "type": "multi", "options": ["tea", "milk", "rum"], "at_most": 3}
    return survey(question | {"columns": columns} | stated, {"id": "b", "type": "yesno"})


TICKED = {  # keys of the question, cells of the three columns, and the answers of the rows
    "marks": (
        {"values": {"x": "yes", "": "no"}},
        (["x", "", None], [" ", "x", ""], ["x", None, " "]),
        [{"tea", "rum"}, {"milk"}, set()],
    ),
    "names": (
        {"values": {"Tea": "yes", "Milk": "yes", "Rum": "yes", "": "no"}},
        (["Tea", "", ""], ["", "Milk", ""], ["Rum", "", ""]),
        [{"tea", "rum"}, {"milk"}, set()],
    ),
    "usual words": (
        {},
        (["1", "0", "1"], ["no", "Yes", "no"], ["TRUE", "false", "false"]),
        [{"tea", "rum"}, {"milk"}, {"tea"}],
    ),
    "numbers": (
        {},
        ([1.0, 0.0, 0.0], [0, 1, 0], [True, False, True]),
        [{"tea", "rum"}, {"milk"}, {"rum"}],
    ),
    "words of their own": (
        {"values": {"gewählt": "yes", "nicht gewählt": "no"}},
        (["gewählt", "nicht gewählt"], ["nicht gewählt", "gewählt"], ["gewählt", "nicht gewählt"]),
        [{"tea", "rum"}, {"milk"}],
    ),
    "no answer": (
        {"missing": ["-9"], "optional": True},
        (["1", "-9", None], ["0", "-9", "0"], ["0", "-9", "0"]),
        [{"tea"}, {"no answer"}, {"no answer"}],
    ),
}


@pytest.mark.parametrize("name", TICKED)
def test_each_option_has_a_column(tmp_path, name):
    """The wrong variant reads one of the columns as the whole answer."""
    stated, cells, expected = TICKED[name]
    asked = ticks(**stated)
    frame = pandas.DataFrame(dict(zip(["m1", "Milk?", "m3"], cells, strict=True))).assign(b="yes")
    for data in (frame, written(tmp_path, "a.csv", frame), written(tmp_path, "a.parquet", frame)):
        assert answers_of(asked, data) == expected
        assert incrowd.check(asked, data).accepted
    loaded = incrowd.load_answers(frame, asked)
    assert loaded.column_names == ["m", "b"]
    assert answers_of(asked, loaded) == expected


def test_two_columns_may_stand_for_one_option():
    asked = ticks(columns={"m1": "tea", "m2": "tea", "m3": "rum"}, at_most=2)
    frame = pandas.DataFrame({"m1": [1, 1], "m2": [1, 0], "m3": [1, 0], "b": ["no", "no"]})
    assert answers_of(asked, frame) == [{"tea", "rum"}, {"tea"}]


def test_cells_that_are_neither_yes_nor_no_and_columns_that_are_missing_are_named():
    frame = pandas.DataFrame({"m1": ["yes", "rum"], "Milk?": ["no", "no"], "m3": ["no", "no"]})
    (found,) = incrowd.check(ticks(), frame.assign(b="yes")).findings[:1]
    assert found.refused and "m1: rum" in str(found)
    with pytest.raises(incrowd.AnswersError, match="no column 'm3'"):
        incrowd.load_answers(frame.drop(columns="m3").assign(b="yes"), ticks())


# --- signs between digits -------------------------------------------------------------------------


def test_numbers_are_read_in_the_form_that_the_survey_states(tmp_path):
    """A number in another form is a wrong answer, not a number that is wrong by 1,000."""
    question = {"id": "n", "type": "number", "edges": [0, 10, 2000], "optional": True}
    asked = survey(question | {"thousands": ".", "decimal": ",", "missing": ["9.999"]})
    right = pandas.DataFrame({"n": ["1.234", "9,5", "1.234.567,5", "315", "9.999"], "b": "x"})
    expected = [{"10 to <2000"}, {"0 to <10"}, {"2000 or more"}, {"10 to <2000"}, {"no answer"}]
    for data in (right, written(tmp_path, "a.csv", right), written(tmp_path, "a.parquet", right)):
        assert answers_of(asked, data) == expected
    right.to_csv(tmp_path / "b.csv", sep=";", index=False)
    assert answers_of(asked, tmp_path / "b.csv") == expected
    wrong = pandas.DataFrame({"n": ["1.5", "1,234.5", "1234", "12.34,5"]})
    found = incrowd.check(asked, wrong).findings
    assert [each.first for each in found if each.refused] == [1, 2, 4]
