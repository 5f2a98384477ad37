"""Answers to bits: every spelling, every mistake with its row."""

import math

import numpy as np
import pyarrow as pa
import pytest

from incrowd import AnswersError, Survey, load_answers
from incrowd.encoding.records import encode, pack
from tests.conftest import GOOD

SURVEY = Survey.of(GOOD)


def bits(question, values):
    """The encoded bits of one question, as a list of rows."""
    table = pa.table({question.id: values})
    width = question.domain.bits
    packed = pack([question], encode([question], table), table.num_rows)
    return np.unpackbits(packed, axis=1, bitorder="little")[:, :width].tolist()


def optional(id):
    raw = [q | {"optional": True} for q in GOOD["question"]]
    return Survey.of(GOOD | {"question": raw}).question(id)


def test_yes_and_no_in_every_spelling():
    question = SURVEY.question("a")
    spelled = ["yes", "No", "TRUE", "false", "1", "0", " yes "]
    assert bits(question, spelled) == [[1], [0], [1], [0], [1], [0], [1]]
    assert bits(question, pa.array([True, False])) == [[1], [0]]
    assert bits(question, pa.array([1, 0])) == [[1], [0]]


def test_choices_and_numbers_set_one_bit():
    assert bits(SURVEY.question("b"), ["z", "x"]) == [[0, 0, 1], [1, 0, 0]]
    binned = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    assert bits(SURVEY.question("d"), [0, 0.999, 1, 3.5, 1e300]) == binned
    assert bits(SURVEY.question("d"), ["0", ".999", "1", "3.5", "1e300"]) == binned


def test_multi_as_list_and_as_text():
    wanted = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    question = SURVEY.question("c")
    assert bits(question, pa.array([["u", "w"], [], ["v"]])) == wanted
    assert bits(question, ["u; w", "none", "v"]) == wanted
    assert bits(question, ["w;u", "", "v"]) == wanted


def test_no_answer_is_an_option_of_its_own():
    assert bits(optional("a"), ["no", "yes", None]) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert bits(optional("b"), ["y", None]) == [[0, 1, 0, 0], [0, 0, 0, 1]]
    assert bits(optional("c"), pa.array([["u"], None, []])) == [
        [1, 0, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ]
    assert bits(optional("d"), pa.array([5.0, None])) == [[0, 0, 1, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("id", "values", "message"),
    [
        ("a", ["yes", "perhaps"], "row 2, a: got 'perhaps'; use yes or no"),
        ("a", ["yes", None], "row 2, a: the answer is missing; drop the row"),
        ("b", ["x", "x", "X"], "row 3, b: got 'X'; did you mean x? use one of x, y, z"),
        ("c", ["u;v;w"], "row 1, c: got 'u;v;w'; use at most 2"),
        ("c", ["u;q"], "row 1, c: got 'u;q'; use at most 2 of u, v, w"),
        ("d", [-0.1], "row 1, d: got -0.1; use a number from 0 up"),
        ("d", [1.0, math.nan], "row 2, d: got nan; if it stands for no answer, make it null"),
        ("d", [5, -99], 'row 2, d: got -99; if it stands for no answer, add missing = ["-99"]'),
        ("d", [math.inf], "row 1, d: got inf"),
        ("d", ["1", "ten"], "row 2, d: got 'ten'; use a number"),
        ("b", pa.array([{"x": 1}]), "b: got"),
    ],
)
def test_a_wrong_answer_is_named(id, values, message):
    with pytest.raises(AnswersError) as error:
        bits(SURVEY.question(id), values)
    assert message in str(error.value)


def test_many_mistakes_are_counted():
    with pytest.raises(AnswersError) as error:
        bits(SURVEY.question("b"), ["q"] * 100)
    assert len(error.value.problems) == 6
    assert "100" in str(error.value)


CSV = "a,other,b,c,d\nyes,1,x,u;v,2\nno,2,z,none,0\n"


def test_csv_and_parquet_agree(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    table = load_answers(tmp_path / "a.csv", SURVEY)
    assert table.column_names == ["a", "b", "c", "d"]
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    again = load_answers(tmp_path / "a.parquet", SURVEY)
    one, other = (
        pack(SURVEY.questions, encode(SURVEY.questions, t), t.num_rows) for t in (table, again)
    )
    assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "cannot be read"),
        ("a.csv", b"a,b,c,d\n", "no rows"),
        ("a.csv", b"a,b,c\nyes,x,none\n", "no column 'd'; there should be exactly one"),
        ("a.csv", b"a,b,c,d,d\nyes,x,none,1,1\n", "2 columns 'd'; there should be exactly one"),
        ("a.csv", b"a,b,c,d\nyes,x\n", "its number of cells is 2, but the header has 4"),
        ("a.csv", b"\xff\xfe\x00\x01", "no column 'a'"),
        ("a.parquet", b"PAR1 truncated", "cannot be read"),
        ("a.parquet", b"", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AnswersError) as error:
        load_answers(tmp_path / name, SURVEY)
    assert message in str(error.value)


def test_a_ragged_row_that_is_not_utf_8_is_refused_quietly(tmp_path, capfd):
    """pyarrow printed a traceback when it passed such a row to our function."""
    (tmp_path / "a.csv").write_bytes(b"a,b,c,d\nyes,x,none,1\nyes,\xac\n")
    with pytest.raises(AnswersError, match="cannot be read"):
        load_answers(tmp_path / "a.csv", SURVEY)
    assert capfd.readouterr().err == ""


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(AnswersError, match="No such file"):
        load_answers(tmp_path / "none.csv", SURVEY)
    with pytest.raises(AnswersError):
        load_answers(tmp_path, SURVEY)


def test_empty_cells_of_categories_are_missing_as_those_of_text_are():
    """Parquet files and pandas hold texts as categories; an empty one was an answer of its own."""
    question = optional("a")
    texts = pa.array(["yes", "", " ", None, "no"])
    expected = [[0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 0, 0]]
    for cells in (texts, texts.dictionary_encode()):
        assert bits(question, cells) == expected
