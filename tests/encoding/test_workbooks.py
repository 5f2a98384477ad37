"""Workbooks as people keep them: several sheets, hidden ones, cells beside the table."""

import datetime
import subprocess
import sys
import zipfile

import openpyxl
import pytest
from openpyxl.worksheet.datavalidation import DataValidation

import incrowd

ROWS = [["smokes", "age", "region"]] + [
    [["yes", "no"][n % 2], 20 + n, ["north", "south", "east"][n % 3]] for n in range(30)
]
SURVEY = incrowd.Survey.of(
    {
        "name": "A",
        "crowd": 20,
        "privacy": {"epsilon": 2.0, "analysis": "local"},
        "question": [{"id": "smokes", "type": "yesno"}],
    }
)
YES = ["yes", "no"] * 15


def book(path, hidden=(), **sheets):
    """A workbook with those sheets, in order."""
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def read(path, **options):
    return incrowd.load_answers(path, SURVEY, **options)["smokes"].to_pylist()


INSTRUCTIONS = {
    "a sentence": [["Please fill in the next sheet."]],
    "several": [["How to use this file"], [None], ["1. Read"], ["2. Write"]],
    "an empty sheet": [],
    "a version": [["Version", 2]],
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_a_sheet_with_data_is_suggested_beside_instructions(tmp_path, name):
    path = book(tmp_path / "a.xlsx", Info=INSTRUCTIONS[name], Answers=ROWS, More=ROWS)
    for act in (incrowd.draft, read):
        with pytest.raises(incrowd.AnswersError, match=r"'Info' has no table; use sheet='Answers'"):
            act(path)
    assert read(path, sheet="Answers") == YES
    assert incrowd.draft(path, sheet="Answers").people == 30


def test_sheets_with_tables_that_were_not_read_are_listed(tmp_path):
    path = book(tmp_path / "a.xlsx", Codes=ROWS, Notes=[["Read me"]], Wave2=ROWS)
    assert read(path) == YES
    (note,) = [each for each in incrowd.draft(path).notes if "only one sheet was read" in each]
    assert '"Wave2"' in note and "Notes" not in note
    assert not any("only one" in each for each in incrowd.draft(path, sheet="Codes").notes)


def test_hidden_sheets_are_read_only_by_name(tmp_path):
    old = [ROWS[0], *([["no", 1, "west"]] * 9)]
    path = book(tmp_path / "a.xlsx", hidden=["Old"], Old=old, Answers=ROWS)
    assert read(path) == YES and incrowd.draft(path).people == 30
    assert read(path, sheet="Old") == ["no"] * 9


def test_cells_beside_the_table_are_no_people_and_no_questions(tmp_path):
    path = book(tmp_path / "a.xlsx", Answers=ROWS)
    made = openpyxl.load_workbook(path)
    made.active["H3"], made.active["Z400"] = "checked by me", "x"
    made.save(path)
    draft = incrowd.draft(path)
    assert read(path) == YES and draft.people == 30
    assert [each.id for each in draft.left_out if each.id.startswith("column")] == [
        "column H",
        "column Z",
    ]


@pytest.mark.parametrize("cell", ["A40", "B33", "C200"])
def test_a_cell_below_the_table_is_no_person(tmp_path, cell):
    path = book(tmp_path / "a.xlsx", Answers=ROWS)
    made = openpyxl.load_workbook(path)
    made.active[cell] = "end of the list"
    made.save(path)
    draft = incrowd.draft(path)
    assert read(path) == YES and draft.people == 30
    assert any('not read as people: "end of the list"' in note for note in draft.notes)


def test_people_after_a_gap_are_people(tmp_path):
    path = book(tmp_path / "a.xlsx", Answers=[*ROWS, [], [], *ROWS[1:]])
    assert read(path) == YES * 2


def test_a_strict_workbook_is_named(tmp_path):
    path = book(tmp_path / "a.xlsx", Answers=ROWS)
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, part in parts.items():
            for old_name, strict in (
                (
                    b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
                    b"spreadsheetml/main",
                ),
                (
                    b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
                    b"officeDocument/relationships",
                ),
            ):
                part = part.replace(old_name, b"http://purl.oclc.org/ooxml/" + strict)
            new.writestr(name, part)
    for act in (incrowd.draft, read):
        with pytest.raises(incrowd.AnswersError, match="strict Open XML"):
            act(path)


@pytest.mark.slow
def test_libraries_do_not_write_to_the_terminal(tmp_path):
    path = book(tmp_path / "a.xlsx", Answers=ROWS)
    made = openpyxl.load_workbook(path)
    made.active.add_data_validation(DataValidation(type="list", formula1='"yes,no"'))
    made.active["D1"], made.active["D2"] = "when", 1e9  # not a date of Excel
    made.active["D2"].number_format = "yyyy-mm-dd"
    made.active["D3"] = datetime.datetime(2024, 1, 1)
    made.save(path)
    command = [sys.executable, "-m", "incrowd", "init", str(path), "-o", str(tmp_path / "s.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "openpyxl" not in done.stderr and "Warning" not in done.stderr
