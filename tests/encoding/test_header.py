"""Rows around the names of columns are not people, whoever reads the file and in every format."""

import csv
import gzip
import io
import json
import tomllib

import openpyxl
import pytest

import incrowd
from incrowd.encoding.formats.header import header_of
from tests.conftest import one_in, slowly

PEOPLE = 60
COLUMNS = {
    "smokes": [["yes", "no", "no"][n % 3] for n in range(PEOPLE)],
    "age": [str(18 + n % 50) for n in range(PEOPLE)],
    "region": [["north", "south", "east", "west"][n % 4] for n in range(PEOPLE)],
    "weight": [f"{50 + n % 40}.5" for n in range(PEOPLE)],
    "asked_on": [f"2024-03-{1 + n % 28:02}" for n in range(PEOPLE)],
}
NAMES = [*COLUMNS]
ROWS = [list(row) for row in zip(*COLUMNS.values(), strict=True)]
SURVEY = incrowd.Survey.of(
    {
        "name": "A",
        "crowd": 50,
        "privacy": {"epsilon": 2.0, "analysis": "local"},
        "question": [
            {"id": "smokes", "type": "yesno"},
            {"id": "age", "type": "number", "edges": [0, 30, 50]},
            {"id": "region", "type": "choice", "options": ["north", "south", "east", "west"]},
        ],
    }
)
IMPORT_IDS = [json.dumps({"ImportId": f"QID{n}", "timeZone": "UTC"}) for n in range(5)]
WORDING = [
    "Do you smoke,\nat least sometimes?",
    "How old are you in years?",
    "Where do you live?",
    "How much do you weigh?",
    "Date of the interview",
]
BLANK = [""] * 5

EXTRA = {
    "texts and import ids": ([], [WORDING, IMPORT_IDS]),
    "import ids alone": ([], [IMPORT_IDS]),
    "texts alone": ([], [WORDING]),
    "short texts": ([], [["Smoker", "Age", "Region of home", "Body weight", "Day"]]),
    "responses": ([], [["Response", "Open-Ended Response", "Response", "Response", "Response"]]),
    "responses in German": ([], [["Antwort", "Offene Antwort", "Antwort", "Antwort", "Antwort"]]),
    "units": ([], [["", "years", "", "kg", ""]]),
    "one unit": ([], [["", "[years]", "", "", ""]]),
    "units and types": ([], [["-", "(years)", "-", "(kg)", "yyyy-mm-dd"]]),
    "types": ([], [["text", "integer", "text", "decimal", "date"]]),
    "a title": ([["Health survey of 2024", *BLANK[1:]]], []),
    "a title and an empty row": ([["Health survey of 2024", *BLANK[1:]], BLANK], []),
    "a date of export": ([["Exported", "2024-05-01", *BLANK[2:]]], []),
    "several lines": (
        [["Report", *BLANK[1:]], ["Created on:", "1 May", *BLANK[2:]], ["by A. B.", *BLANK[1:]]],
        [],
    ),
    "a title, and units": ([["Staff", *BLANK[1:]]], [["", "years", "", "kg", ""]]),
}


def every(cases, *kinds):
    """Every case as each kind of text, and three cases as workbooks, which take longer to read."""
    texts = [(name, kind) for name in cases for kind in kinds]
    return texts + slowly(*((name, "xlsx") for name in [*cases][:: len(cases) // 3][:3]))


def written(folder, kind, rows):
    """A file with those rows: text with one separator, compressed, or a workbook."""
    path = folder / f"answers.{kind}"
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append([_number(cell) for cell in row])
        book.save(path)
        return path
    text = io.StringIO()
    separator = ";" if kind == "txt" else "\t" if kind == "tsv" else ","
    csv.writer(text, delimiter=separator).writerows(rows)
    content = text.getvalue().encode("utf-8-sig" if kind == "csv" else "utf-8")
    path.write_bytes(gzip.compress(content) if kind == "csv.gz" else content)
    return path


def _number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell or None


def answered(path):
    """What `load_answers`, `check` and `load_batches` read, which has to be the same."""
    answers = incrowd.load_answers(path, SURVEY)
    check = incrowd.check(SURVEY, path)
    assert check.accepted and check.people == answers.num_rows
    return answers.to_pydict()


EXPECTED = {name: COLUMNS[name] for name in ("smokes", "age", "region")}


@pytest.mark.parametrize("name,kind", one_in(3, every(EXTRA, "csv", "txt", "tsv", "csv.gz")))
def test_rows_around_the_names_are_not_people(tmp_path, name, kind):
    above, below = EXTRA[name]
    path = written(tmp_path, kind, [*above, NAMES, *below, *ROWS])
    assert answered(path) == EXPECTED
    draft = incrowd.draft(path)
    assert draft.people == PEOPLE
    assert [column.id for column in draft.columns] == NAMES
    assert any("not read as people" in note for note in draft.notes)
    asked = incrowd.Survey.of(_toml(draft))
    assert incrowd.check(asked, path).people == PEOPLE


def _toml(draft):
    return tomllib.loads(draft.toml)


@pytest.mark.parametrize("kind", ["csv", *slowly("xlsx")])
def test_texts_below_the_names_are_the_wording(tmp_path, kind):
    path = written(tmp_path, kind, [NAMES, WORDING, IMPORT_IDS, *ROWS])
    texts = {question.id: question.keys["text"] for question in incrowd.draft(path).questions}
    assert texts["smokes"] == "Do you smoke, at least sometimes?"
    assert texts["age"] == "How old are you in years?"


# The first person may look unusual, and is a person nevertheless.
PERSONS = {
    "one unknown word": ["no", "don't know", "north", "70.5", "2024-03-01"],
    "two unknown words": ["no", "refused", "north", "refused", "2024-03-01"],
    "all answers rare": ["perhaps", "99", "abroad", "12.5", "2020-01-01"],
    "a range": ["no", "60+", "abroad", "70.5", "2024-03-01"],
    "about": ["never", "about 40", "north", "about 80", "2024-03-01"],
    "few answers": ["no", "", "", "", ""],
    "no answers but a date": ["", "", "", "", "2024-03-01"],
}


@pytest.mark.parametrize("name,kind", every(PERSONS, "csv"))
def test_an_unusual_person_stays_a_person(tmp_path, name, kind):
    draft = incrowd.draft(written(tmp_path, kind, [NAMES, PERSONS[name], *ROWS]))
    assert draft.people == PEOPLE + 1
    assert not any("not read as people" in note for note in draft.notes)


def test_a_row_that_may_be_a_header_is_asked_about(tmp_path):
    rows = [["smokes", "age"], ["", "completed"], *(row[:2] for row in ROWS)]
    draft = incrowd.draft(written(tmp_path, "csv", rows))
    assert draft.people == PEOPLE + 1
    assert any("delete it from the file if it is not a person" in note for note in draft.notes)
    assert "DECIDE: the row below the names" in draft.toml


ONLY_TEXTS = {  # the row below the names of columns of words, and what it is taken for
    "questions": (["Do you smoke?", "Where do you live?", "Risk"], "no person"),
    "labels": (["Smoking status", "Region of the household", "Level of risk"], "no person"),
    "words": (["perhaps", "abroad", "other"], "doubtful"),
    "a usual answer": (["perhaps", "north", "other"], "a person"),
    "two questions": (["Do you smoke?", "Where do you live?"], "doubtful"),
    "two words": (["perhaps", "abroad"], "a person"),
}


@pytest.mark.parametrize("name", ONLY_TEXTS)
def test_a_row_of_texts_above_words_is_no_person(tmp_path, name):
    """The wrong variant publishes the questions as options."""
    row, kind = ONLY_TEXTS[name]
    risks = ["low", "high", "middle"]
    people = [[person[0], person[2], risks[n % 3]][: len(row)] for n, person in enumerate(ROWS)]
    draft = incrowd.draft(written(tmp_path, "csv", [["a", "b", "c"][: len(row)], row, *people]))
    assert draft.people == PEOPLE + (kind != "no person")
    asked = any("delete it from the file" in note for note in draft.notes)
    assert asked == (kind == "doubtful")


def test_two_levels_of_names_are_joined(tmp_path):
    above = ["smokes", "age", "Which of these do you have?", "", "", "How satisfied are you?", ""]
    second = ["Response", "Response", "Phone", "Radio", "Bicycle", "With pay", "With hours"]
    scale = ["good", "bad", "fair"]
    ticks = [["Phone", "", "Bicycle"], ["", "Radio", ""], ["Phone", "Radio", ""]]
    rows = [[*ROWS[n][:2], *ticks[n % 3], scale[n % 3], scale[(n + 1) % 3]] for n in range(PEOPLE)]
    for kind in ("csv", "xlsx"):
        path = written(tmp_path, kind, [above, second, *rows])
        draft = incrowd.draft(path)
        assert draft.people == PEOPLE
        assert [column.id for column in draft.columns] == [
            "smokes",
            "age",
            "Which of these do you have?",
            "How satisfied are you? - With pay",
            "How satisfied are you? - With hours",
        ]
        assert _toml(draft)["question"][2]["columns"] == {
            f"Which of these do you have? - {each}": each for each in ("Phone", "Radio", "Bicycle")
        }
        asked = incrowd.Survey.of({**_toml(draft), "question": [SURVEY_QUESTION], "table": []})
        assert incrowd.load_answers(path, asked).num_rows == PEOPLE


SURVEY_QUESTION = {
    "id": "How satisfied are you? - With pay",
    "type": "choice",
    "options": ["good", "bad", "fair"],
}


# Files without names.

HEADLESS = {
    "words and numbers": [[row[0], row[1], row[2]] for row in ROWS],
    "only numbers": [[row[1], row[3]] for row in ROWS],
    "codes": [[str(n % 5 + 1), str((n + 1) % 5 + 1), str(n % 2)] for n in range(PEOPLE)],
    "words": [[row[0], row[2]] for row in ROWS],
    "dates and numbers": [[row[4], row[1]] for row in ROWS],
    "addresses": [[f"a{n}@example.org", row[0]] for n, row in enumerate(ROWS)],
    "decimal commas": [[row[3].replace(".", ","), row[1]] for row in ROWS],
}


@pytest.mark.parametrize("name,kind", every(HEADLESS, "csv", "txt", "csv.gz"))
def test_a_file_without_names_is_refused(tmp_path, name, kind):
    path = written(tmp_path, kind, HEADLESS[name])
    for read in (incrowd.draft, lambda path: incrowd.load_answers(path, SURVEY)):
        with pytest.raises(incrowd.AnswersError, match="add a row of names above it"):
            read(path)


NAMED = {
    "years": (["id", "2019", "2020", "2021"], ["a", "3.5", "4", "5"]),
    "numbers of questions": (["1", "2", "3"], ["yes", "no", "good"]),
    "columns of pandas": (["", "0", "1"], ["0", "3.5", "yes"]),
    "ticks": (["Phone", "Radio", "age"], ["Phone", "", "31"]),
    "one word": (["colour"], ["red"]),
    "a name that is an answer elsewhere": (["yes", "age", "n"], ["1", "3", "5"]),
}


@pytest.mark.parametrize("name", NAMED)
def test_unusual_names_are_names(name):
    names, row = NAMED[name]
    rows = [[str(n) if cell.isdecimal() else cell for cell in row] for n in range(40, 80)]
    header = header_of([names, *rows])
    assert header.answers == "" and [*header.names] == names and header.first == 1


def test_names_of_a_survey_are_names():
    rows = [["1", "3"], *([str(n % 5), str(n % 3)] for n in range(40))]
    assert header_of(rows).answers
    assert not header_of(rows, ["3"]).answers


# Empty columns and rows.


@pytest.mark.parametrize("kind", ["csv", "txt", "tsv", "csv.gz", "xlsx"])
def test_empty_rows_and_columns_at_the_end_are_not_read(tmp_path, kind):
    rows = [[*NAMES, "", ""], *([*row, "", ""] for row in ROWS), *[[""] * 7] * 5]
    path = written(tmp_path, kind, rows)
    assert answered(path) == EXPECTED
    draft = incrowd.draft(path)
    assert draft.people == PEOPLE and [column.id for column in draft.columns] == NAMES


@pytest.mark.parametrize("kind", ["csv", "txt", "tsv", "csv.gz", "xlsx"])
def test_an_empty_row_between_people_is_not_a_person(tmp_path, kind):
    """A person who answers no question of the survey has other cells, and stays a person."""
    silent = ["", "", "", "61.5", ""]
    rows = [NAMES, BLANK, *ROWS[:20], BLANK, BLANK, *ROWS[20:], silent]
    path = written(tmp_path, kind, rows)
    assert incrowd.draft(path).people == PEOPLE + 1
    question = {"id": "smokes", "type": "yesno", "optional": True}
    privacy = {"epsilon": 2.0, "analysis": "local"}
    content = {"name": "A", "crowd": 50, "privacy": privacy, "question": [question]}
    table = incrowd.load_answers(path, incrowd.Survey.of(content))
    assert table["smokes"].to_pylist() == [*COLUMNS["smokes"], None]


def test_separators_at_the_ends_of_rows_are_not_a_column(tmp_path):
    lines = [",".join(NAMES), *(",".join(row) + "," for row in ROWS)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert answered(tmp_path / "a.csv") == EXPECTED


def test_names_of_rows_that_r_writes_are_a_column_without_a_name(tmp_path):
    lines = [",".join(NAMES), *(",".join([str(n), *row]) for n, row in enumerate(ROWS, 1))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert answered(tmp_path / "a.csv") == EXPECTED


@pytest.mark.parametrize("kind,place", [("csv", "3"), ("txt", "3"), *slowly(("xlsx", "C"))])
def test_a_column_without_a_name_is_listed(tmp_path, kind, place):
    names = [*NAMES[:2], "", *NAMES[2:]]
    rows = [[*row[:2], "x", *row[2:]] for row in ROWS]
    path = written(tmp_path, kind, [names, *rows])
    assert answered(path) == EXPECTED
    left_out = {each.id: each.reason for each in incrowd.draft(path).left_out}
    assert left_out[f"column {place}"] == "it has no name; write one above it"


AFTER = {
    "a total": [["Total", "1800"]],
    "a sum in the second column": [["", "Sum:", "", "4000", ""]],
    "a mean in German": [["Mittelwert", "43.5"]],
    "several": [[""], ["Average", "43"], ["Min", "18"], ["Max", "67"]],
    "a source": [["Source: own survey"]],
    "a source after a total": [[""], ["Gesamt", "60"], [""], ["Quelle: eigene Erhebung"]],
    "a number of people": [["N = 60"]],
    "a date of export": [[""], ["Exported on 2024-05-01 by A. B."]],
    "an explanation": [["* in kg, as people said"]],
    "the owner": [[""], ["© 2024 Institute"], [""], [""]],
    "a word below numbers": [["", "continued on the next page"]],
}


@pytest.mark.parametrize("name,kind", one_in(2, every(AFTER, "csv", "csv.gz")))
def test_rows_below_the_table_are_not_people(tmp_path, name, kind):
    """They have fewer cells than the others, or as many. The wrong variant counts them."""
    full = [[*row, *BLANK][:5] for row in AFTER[name]]
    for after in (AFTER[name], full):
        path = written(tmp_path, kind, [NAMES, *ROWS, *after])
        assert answered(path) == EXPECTED
        draft = incrowd.draft(path)
        assert draft.people == PEOPLE
        (note,) = [each for each in draft.notes if "were not read as people" in each]
        assert all(cell in note for row in after for cell in row if cell)


PEOPLE_AT_THE_END = {
    "answers of one question": ["", "", "north", "", ""],
    "no answer to a number": ["yes", "don't know", "", "", ""],
    "a word that others have": ["no", "", "", "", ""],
}


@pytest.mark.parametrize("name", PEOPLE_AT_THE_END)
def test_the_last_person_is_a_person(tmp_path, name):
    path = written(tmp_path, "csv", [NAMES, *ROWS, PEOPLE_AT_THE_END[name]])
    assert incrowd.draft(path).people == PEOPLE + 1


def test_a_cell_of_several_lines_at_the_end_is_one_cell(tmp_path):
    rows = [["yes" if n % 2 else "no", "so\nTotal" if n == 39 else "fine"] for n in range(40)]
    path = written(tmp_path, "csv", [["smokes", "remark"], *rows])
    assert incrowd.draft(path).people == 40


def test_an_answer_is_not_a_total(tmp_path):
    rows = [[["Total", "Partial"][n % 2], "x" if n % 3 else "y"] for n in range(40)]
    for kind in ("csv", "xlsx"):
        path = written(tmp_path, kind, [["agreement", "group"], *rows, ["Total", "x"]])
        assert incrowd.draft(path).people == 41


def test_decimal_commas_do_not_separate_columns(tmp_path):
    """Each row has as many commas as the header has semicolons, in three more cells."""
    path = tmp_path / "a.csv"
    rows = [f"{50 + n},5;{n % 7};{n},00;1.{100 + n},25" for n in range(60)]
    path.write_text("\n".join(["weight;visits;rent;pay", *rows]), encoding="utf-8")
    draft = incrowd.draft(path)
    assert [column.id for column in draft.columns] == ["weight", "visits", "rent", "pay"]
    asked = incrowd.Survey.of(_toml(draft))
    assert incrowd.check(asked, path).accepted
