"""Results as documents: what a program that reads them finds."""

import io

import docx
import pyarrow as pa

import incrowd
from incrowd.methods import METHODS
from incrowd.presentation.write import content
from tests.conftest import local_plan, yes_no_question


def opened(result):
    return docx.Document(io.BytesIO(content(result, ".docx")))


def paragraphs(file):
    return [each.text for each in file.paragraphs]


def crossed():
    both = yes_no_question("smokes"), yes_no_question("drinks")
    plan = local_plan(*both, tables="pairs")
    answers = pa.table({"smokes": ["yes", "no"] * 100, "drinks": ["yes", "yes", "no", "no"] * 50})
    return plan, incrowd.randomize(plan, answers, simulation_seed=3)


def test_a_comparison_is_a_document_with_its_tables_and_notes():
    result = METHODS["crosstab"].load()(*crossed(), "smokes", "drinks", accept_smaller_crowd=True)
    file, view = opened(result), result.view()
    assert paragraphs(file)[0] == view.title
    assert "known seed 3" in paragraphs(file)[1]
    tables = [[[c.text for c in row.cells] for row in each.rows] for each in file.tables]
    assert tables == [[[*t.headings], *map(list, t.lines)] for t in view.tables]
    assert [each for each in paragraphs(file) if each in view.notes] == list(view.notes)
    assert len(file.inline_shapes) == len(result.plots()) > 0
