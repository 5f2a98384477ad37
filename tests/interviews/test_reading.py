"""Files of interviews: every cell is read as it is, or named as one that cannot be read."""

import io
import json

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import incrowd
from incrowd.cli.app import app
from incrowd.errors import IncrowdWarning
from incrowd.interviews import Factor, InterviewAnswers

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}
QUESTION = {"id": "a", "type": "yesno", "design": FORCED}


def survey(*questions, **changed):
    listed = [QUESTION | each for each in questions] or [QUESTION]
    return incrowd.InterviewSurvey.of(
        {"name": "x", "device": {"kind": "die"}, "question": listed} | changed
    )


def read(table, /, *questions, **changed):
    return incrowd.read_answers(survey(*questions, **changed), pa.table(table))


def problems_of(table, /, *questions, **changed):
    with pytest.raises(incrowd.AnswersError) as error:
        read(table, *questions, **changed)
    return [(each.field, each.code) for each in error.value.problems]


@pytest.mark.parametrize(
    "cells",
    [
        ["no", "yes", None],
        ["No", " YES ", ""],
        ["nein", "Ja", " "],
        ["0", "1", ""],
        [0, 1, None],
        [0.0, 1.0, np.nan],
        [False, True, None],
        ["FALSCH", "wahr", ""],
    ],
)
def test_yes_and_no_in_any_spelling(cells):
    column = pa.array(cells, from_pandas=True)
    assert read({"a": column}).reports["a"].tolist() == [0, 1, -1]


def test_labels_and_codes():
    labels = {"yes": {"en": "I did", "de": "Schon"}, "no": {"en": "Never", "de": "Nie"}}
    cells = {"a": ["I did", "nie", "Schon", "yes"]}
    assert read(cells, {"labels": labels}).reports["a"].tolist() == [1, 0, 1, 1]
    coded = {"values": {"1": "no", "2": "yes"}, "missing": ["9"]}
    assert read({"a": ["1", "2.0", "9", ""]}, coded).reports["a"].tolist() == [0, 1, -1, -1]
    named = {"column": "q7", "missing": [9]}
    assert read({"q7": [0, 1, 9]}, named).reports["a"].tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("design", "cells", "codes"),
    [
        (
            {"kind": "crosswise", "p": "1/4"},
            ["different", "same", "gleich", "Verschieden"],
            [0, 1, 1, 0],
        ),
        ({"kind": "triangular", "p": "1/4"}, ["neither", "at least one", "keine"], [0, 1, 0]),
        ({"kind": "kuk", "yes": "2/3", "no": "1/6"}, ["black", "red", "ROT"], [0, 1, 1]),
        ({"kind": "kuk", "yes": "2/3", "no": "1/6", "repeats": 3}, ["0", "3", 2.0], [0, 3, 2]),
    ],
)
def test_reports_by_their_names(design, cells, codes):
    device = {"kind": "birthday" if "p" in design else "die"}
    columns = {"a": list(map(str, cells))}
    assert read(columns, {"design": design}, device=device).reports["a"].tolist() == codes


def test_one_and_zero_are_not_guessed_for_other_reports():
    """Which of "same" and "different" is 1 differs between data sets."""
    question, device = {"design": {"kind": "crosswise", "p": "1/4"}}, {"kind": "birthday"}
    found = problems_of({"a": ["1", "0"]}, question, device=device)
    assert found == [("row 1, a", "encoding.wrong-answer"), ("row 2, a", "encoding.wrong-answer")]
    coded = question | {"values": {"1": "same", "0": "different"}}
    assert read({"a": ["1", "0"]}, coded, device=device).reports["a"].tolist() == [1, 0]


def test_a_column_for_each_draw_is_counted():
    kuk = {"design": {"kind": "kuk", "yes": "2/3", "no": "1/6", "repeats": 2}}
    columns = {"a_1": ["red", "red", "black", "red"], "a_2": ["red", "black", "black", None]}
    answers = read(columns, kuk)
    assert answers.reports["a"].tolist() == [2, 1, 0, -1] and answers.names == ()


def test_each_group_has_its_own_reports():
    question = {key: each for key, each in QUESTION.items() if key != "design"}
    designs = [{"kind": "direct"}, {"kind": "crosswise", "p": "1/4", "statement": "May"}]
    asked = incrowd.InterviewSurvey.of(
        {
            "name": "x",
            "device": {"kind": "birthday"},
            "columns": {"group": "g"},
            "groups": {"codes": ["open", "card"]},
            "question": [question | {"designs": designs}],
        }
    )
    columns = {"g": ["open", "card", "card", "open"], "a": ["yes", "same", "different", None]}
    answers = incrowd.read_answers(asked, pa.table(columns))
    assert answers.reports["a"].tolist() == [1, 1, 0, -1]
    assert answers.item("a").group.tolist() == [0, 1, 1, 0]
    with pytest.raises(incrowd.AnswersError):
        incrowd.read_answers(asked, pa.table(columns | {"a": ["same"] * 4}))


def test_numbers_stay_numbers_and_names_become_factors():
    columns = {
        "a": ["yes", "no", "yes"],
        "age": ["30", "", "41.5"],
        "income": ["1,5", "2", "3,25"],
        "civic": ["TRUE", "FALSE", None],
        "town": ["Ulm", None, "Bonn"],
        "region": [2, 10, 2],
        "empty": pa.nulls(3),
    }
    answers = read(columns, columns={"factors": ["region"]})
    np.testing.assert_array_equal(answers.column("age"), [30, np.nan, 41.5])
    np.testing.assert_array_equal(answers.column("income"), [1.5, 2, 3.25])
    np.testing.assert_array_equal(answers.column("civic"), [1, 0, np.nan])
    assert answers.column("town").levels == ("Bonn", "Ulm")
    assert answers.column("town").codes.tolist() == [1, -1, 0]
    assert answers.column("region").levels == ("2", "10")
    assert np.isnan(answers.column("empty")).all()


def test_a_code_for_a_missing_value_is_not_guessed():
    columns = {"a": ["yes"] * 4, "age": ["30", "41", "52", "refused"]}
    assert problems_of(columns) == [("row 4, age", "encoding.wrong-answer")]
    with pytest.warns(IncrowdWarning, match="1 'refused' in age"):
        age = read(columns, columns={"missing": ["refused"]}).column("age")
    np.testing.assert_array_equal(age, [30, 41, 52, np.nan])
    assert isinstance(read(columns, columns={"factors": ["age"]}).column("age"), Factor)


@pytest.mark.parametrize("text", ["NA", "NaN", ".", "#NULL!"])
def test_what_software_writes_for_no_value_is_missing_and_said(text):
    columns = {"a": ["yes", text, text], "age": ["30", "", text], "town": ["Ulm", "Bonn", text]}
    with pytest.warns(IncrowdWarning) as heard:
        answers = read(columns | {"w": [1, 2, 3]}, columns={"weight": "w"})
    assert answers.reports["a"].tolist() == [1, -1, -1]
    np.testing.assert_array_equal(answers.column("age"), [30, np.nan, np.nan])
    assert text in answers.column("town").levels
    absent, named = (str(each.message) for each in heard)
    assert absent == f"read as missing values: 2 '{text}' in a, 1 '{text}' in age"
    assert "town" in named and f'missing = ["{text}"]' in named


def test_a_report_or_group_that_is_called_na_is_not_missing():
    coded = {"values": {"NA": "no", "A": "yes"}}
    assert read({"a": ["NA", "A"]}, coded).reports["a"].tolist() == [0, 1]
    grouped = {"columns": {"group": "g"}, "groups": {"codes": ["NA", "B"]}}
    read_groups = read({"a": ["no", "yes"], "g": ["B", "NA"]}, **grouped)
    assert read_groups.group.tolist() == [1, 0]


def test_interviews_without_a_weight_are_named_whatever_stands_there():
    weighted = {"columns": {"weight": "w"}}
    assert problems_of({"a": ["no"] * 3, "w": ["1", "NA", "2"]}, **weighted) == [
        ("row 2, w", "encoding.answer-missing")
    ]


def test_rows_with_the_same_mistake_are_one_line():
    columns = {"a": ["maybe", "no", *["maybe"] * 21, "perhaps"], "v": [None] * 20 + ["x"] * 4}
    with pytest.raises(incrowd.AnswersError) as error:
        read(columns, columns={"cluster": "v"})
    assert [str(each).split(";")[0] for each in error.value.problems] == [
        "a: rows 1, 3, 4, and 19 more: got 'maybe'",
        "row 24, a: got 'perhaps'",
        "v: rows 1, 2, 3, and 17 more: the answer is missing",
    ]
    many = problems_of({"a": [f"text {n}" for n in range(9)]})
    assert len(many) == 6 and many[-1] == ("a", "encoding.more-rows")


def test_weights_clusters_and_groups():
    columns = {"a": ["yes", "no"], "w": [0.5, 2], "village": ["x", "y"], "age": [3, 4]}
    answers = read(columns, columns={"weight": "w", "cluster": "village"})
    assert answers.weights.tolist() == [0.5, 2] and answers.clusters.tolist() == [0, 1]
    assert answers.names == ("village", "age")
    assert read(columns).weights is None and read(columns).clusters is None


def test_all_mistakes_are_listed_at_once_with_row_and_column():
    columns = {
        "a": ["yes", "maybe", "no"],
        "w": [1.0, 2.0, -1.0],
        "v": ["x", None, "y"],
        "g": [0, 1, 2],
    }
    named = {"columns": {"weight": "w", "cluster": "v", "group": "g"}, "groups": {"codes": [0, 1]}}
    assert problems_of(columns, **named) == [
        ("row 3, g", "encoding.wrong-answer"),
        ("row 2, a", "encoding.wrong-answer"),
        ("row 3, w", "encoding.wrong-answer"),
        ("row 2, v", "encoding.answer-missing"),
    ]


def test_every_kind_of_source(tmp_path):
    frame = pd.DataFrame({"a": ["yes", "no"], "town": pd.Categorical(["Ulm", "Bonn"])})
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    for source in (frame, pl.from_pandas(frame), path, str(path), io.BytesIO(path.read_bytes())):
        answers = incrowd.read_answers(survey(), source)
        assert answers.reports["a"].tolist() == [1, 0]
        assert answers.column("town").levels == ("Bonn", "Ulm")


def test_a_file_keeps_everything(tmp_path):
    columns = {"a": ["yes", None, "no"], "age": [30, None, 41], "town": ["Ulm", "Bonn", None]}
    weighted = {"columns": {"weight": "w", "cluster": "town"}}
    answers = read(
        columns | {"w": [1, 2, 3], "town": ["Ulm", "Bonn", "Ulm"]}, {"truth": "no"}, **weighted
    )
    answers.save(tmp_path / "interviews.parquet")
    again = InterviewAnswers.load(tmp_path / "interviews.parquet")
    assert again.survey == answers.survey and again.names == answers.names
    np.testing.assert_array_equal(again.item("a").reported, answers.item("a").reported)
    np.testing.assert_array_equal(again.column("age"), answers.column("age"))
    np.testing.assert_array_equal(again.weights, answers.weights)
    np.testing.assert_array_equal(again.clusters, answers.clusters)
    written = pa.parquet.read_table(tmp_path / "interviews.parquet")
    assert written["a"].to_pylist() == ["yes", None, "no"]


@pytest.mark.slow
def test_statistics_packages_bring_labels_and_missing_codes(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"a": [1.0, 2, 9, 1], "sex": [0.0, 1, 1, 0], "age": [30.0, 99, 41, 52]})
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(
        frame,
        path,
        variable_value_labels={
            "a": {1: "Ja", 2: "Nein", 9: "Refused"},
            "sex": {0: "male", 1: "female"},
            "age": {99: "Refused"},
        },
        missing_ranges={"a": [9], "age": [99]},
    )
    answers = incrowd.read_answers(survey(), path)
    assert answers.reports["a"].tolist() == [1, 0, -1, 1]
    assert answers.column("sex").levels == ("male", "female")
    np.testing.assert_array_equal(answers.column("age"), [30, np.nan, 41, 52])


def test_a_label_that_is_no_report_is_not_overruled_by_its_code():
    """A file in which 1 is labeled "No" must not be read as yes."""
    from incrowd.encoding.answers import Data
    from incrowd.interviews import reading

    data = Data(pa.table({"a": ["1", "0"]}), labels={"a": {"1": "No", "0": "Yes"}})
    spelled = reading.report_spellings(survey().item("a"), ("no", "yes"))
    places = [spelled.place(text, data.labels["a"][text]) for text in ("1", "0")]
    assert places == [0, 1]
    assert spelled.place("1", "Perhaps") == -1


def test_what_is_left_out_of_a_workbook_is_said(tmp_path):
    book = openpyxl.Workbook()
    for row in ([], ["a", "age", None], ["yes", 30, "x"], ["no", 41], ["yes", 52]):
        book.active.append(row)
    other = book.create_sheet("Wave 2")
    for row in (["a", "age"], ["yes", 1], ["no", 2]):
        other.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.warns(IncrowdWarning) as heard:
        answers = incrowd.read_answers(survey(), tmp_path / "a.xlsx")
    assert answers.people == 3 and answers.names == ("age",)
    said = [str(each.message) for each in heard]
    assert any("Wave 2" in text for text in said) and any("C" in text for text in said)


def test_nothing_is_written_of_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "s.toml").write_text(
        'name = "x"\ndevice = {kind = "die"}\n[[question]]\nid = "a"\ntype = "yesno"\n'
        'design = {kind = "forced", yes = "1/6", no = "1/6"}\n'
    )
    (tmp_path / "a.csv").write_text("a\nyes\nmaybe\n")
    read_it = ["read", str(tmp_path / "s.toml"), str(tmp_path / "a.csv")]
    written = tmp_path / "i.parquet"
    result = CliRunner().invoke(app, [*read_it, "-o", str(written)])
    problem, *_ = result.exception.problems
    assert (problem.field, problem.code) == ("row 2, a", "encoding.wrong-answer")
    assert result.exception.exit_code == 2 and not written.exists()
    checked = CliRunner().invoke(app, ["check", *read_it[1:]])
    assert checked.exception.exit_code == 1  # it was asked whether they fit
    (tmp_path / "a.csv").write_text("a\nyes\nno\n")
    result = CliRunner().invoke(app, [*read_it, "-o", str(written), "--json"])
    assert result.exit_code == 0 and json.loads(result.stdout)["people"] == 2
    assert InterviewAnswers.load(written).people == 2
