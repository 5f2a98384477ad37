"""Workbooks: what a spreadsheet reads, and that nothing in them is computed."""

import io
import math
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

import incrowd
from incrowd.presentation.workbook import sheet_names, workbook
from incrowd.presentation.write import as_text
from incrowd.views import Sheet, Square
from tests.conftest import local_plan, yes_no_question
from tests.presentation.conftest import StatedResult

EVIL = ['=HYPERLINK("http://a.example")', "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "#N/A", "\x00\x1b["]


def opened(figures):
    return openpyxl.load_workbook(io.BytesIO(workbook(figures)))


def figures(*sheets, squares=()):
    return StatedResult(sheets, tuple(squares), notes=("A note.", "=1+1"))


def test_figures_are_numbers_and_missing_ones_empty():
    rows = (("no", 1 / 3, -1e-300, None), ("yes", 3, math.inf, True))
    book = opened(figures(Sheet("a", ("answer", "x", "y", "z"), rows)))
    assert list(book["a"].values) == [
        ("answer", "x", "y", "z"),
        ("no", 0.3333333333333333, -1e-300, None),
        ("yes", 3, "Inf", True),
    ]


def test_the_first_sheet_states_the_guarantee():
    book = opened(figures(Sheet("a", ("x",), ((1.0,),))))
    assert book.sheetnames == ["Guarantee", "a"]
    assert [row[0] for row in book["Guarantee"].values] == ["A title", "A note.", "=1+1"]


@pytest.mark.parametrize("evil", EVIL)
def test_no_text_is_a_formula_or_an_error(evil):
    book = opened(figures(Sheet(evil, (evil, "x"), ((evil, 1.0),))))
    page = book.worksheets[1]
    assert [page["A1"].data_type, page["A2"].data_type, page["B2"].data_type] == ["s", "s", "n"]
    assert page["A2"].quotePrefix == (evil[0] in "=+-@\t")
    assert {cell.data_type for row in book["Guarantee"].iter_rows() for cell in row} == {"s"}


def test_a_matrix_has_its_labels_on_both_sides():
    square = Square("cov", ("no", "yes"), np.array([[1.0, -0.5], [-0.5, 2.0]]))
    rows = list(opened(figures(squares=[square]))["cov"].values)
    assert rows == [(None, "no", "yes"), ("no", 1, -0.5), ("yes", -0.5, 2)]


def test_names_of_sheets_are_those_that_excel_accepts():
    names = sheet_names(["a/b", "A_B", "x" * 40, "x" * 50, "[]", "'", "", "History", "guarantee"])
    assert len({name.casefold() for name in [*names, "Guarantee"]}) == len(names) + 1
    for name in names:
        assert 0 < len(name) <= 31 and not set(name) & set("[]:*?/\\")
        assert name.strip("'") == name and name.casefold() != "history"
    assert names[0] == "a_b" and names[1] == "A_B 2"


def test_the_same_result_gives_the_same_bytes(monkeypatch):
    sheet = Sheet("a", ("x",), ((1.0,),))
    first = workbook(figures(sheet))
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert workbook(figures(sheet)) == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert b"dcterms" not in archive.read("docProps/core.xml").replace(b"xmlns:dcterms", b"")


def test_csv_text_does_not_begin_like_a_formula():
    texts = ["=1+1", "+a", "-b", "@c", "\td", "\re", "e=1", "", None]
    table = as_text(pa.table({"answer": texts, "estimate": [-0.5] * len(texts)}))
    assert table["answer"].to_pylist() == [
        "'=1+1", "'+a", "'-b", "'@c", "'\td", "'\re", "e=1", "", None
    ]  # fmt: skip
    assert table["estimate"].to_pylist() == [-0.5] * len(texts)


def test_every_cell_of_an_estimate_is_in_its_sheet():
    kind = {"id": "kind", "type": "choice", "options": ["=1+1", "-2", "c"]}
    plan = local_plan(yes_no_question("a b"), kind, name="=Name")
    answers = pa.table({"a b": ["yes", "no"] * 60, "kind": ["=1+1", "-2", "c"] * 40})
    reports = incrowd.randomize(plan, answers, simulation_seed=42)
    simulated = incrowd.estimate(plan, reports, accept_smaller_crowd=True)
    book = openpyxl.load_workbook(io.BytesIO(workbook(simulated)))
    for table in simulated.tables:
        name = " x ".join(table.questions)
        (page,) = [each for each in book if each.title == sheet_names([name])[0]]
        (headings, *rows) = page.values
        place = headings.index("estimate")
        assert headings[:place] == table.questions
        assert [row[place] for row in rows] == pytest.approx(
            table.estimate.ravel().tolist(), rel=1e-15
        )
        assert [row[place + 1] for row in rows] == pytest.approx(
            table.standard_error.ravel().tolist(), rel=1e-15
        )
    texts = [row[0] for row in book["Guarantee"].values]
    assert "known seed 42" in texts[1]
