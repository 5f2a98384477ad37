"""Results as documents: what a program that reads them finds."""

import io
import re
import zipfile
from dataclasses import replace

import openpyxl
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import UsageError
from incrowd.guarantees.collected import of_invented_people
from incrowd.methods import METHODS
from incrowd.presentation.write import content
from tests.conftest import local_plan, yes_no_question
from tests.oracles.english import english_runs, words_of

docx = pytest.importorskip("docx")  # of the extra `studio`


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
    notes = [f"{note[0].upper()}{note[1:]}".removesuffix(".") + "." for note in view.notes]
    assert [each for each in paragraphs(file) if each in notes] == notes
    assert len(file.inline_shapes) == len(result.plots()) > 0


def health():
    survey = {
        "name": "Habits",
        "crowd": 300,
        "privacy": {"epsilon": 9.0, "analysis": "local"},
        "question": [
            yes_no_question("smokes") | {"text": {"en": "Do you smoke?", "de": "Rauchen Sie?"}},
            {
                "id": "health",
                "type": "choice",
                "options": ["good", "bad"],
                "labels": {
                    "good": {"en": "Good", "de": "Gut"},
                    "bad": {"en": "Bad", "de": "Schlecht"},
                },
                "text": {"en": "How is your health?", "de": "Wie geht es Ihnen?"},
            },
        ],
    }
    plan = incrowd.plan(incrowd.Survey.of(survey))
    answers = pa.table(
        {"smokes": ["yes", "no", "no"] * 100, "health": ["good", "bad", "bad"] * 100}
    )
    return incrowd.estimate(plan, incrowd.randomize(plan, answers, simulation_seed=8))


def saved(tmp_path, ending, **options):
    path = tmp_path / f"report{ending}"
    incrowd.save_estimates(health(), path, **options)
    return path


def test_a_report_has_each_question_with_its_figures(tmp_path):
    """The figures are compared with the estimates, not with what draws them."""
    estimates, file = health(), docx.Document(saved(tmp_path, ".docx"))
    said = paragraphs(file)
    assert said[0] == "Habits" and "Invented people" in said[1]
    assert {"Do you smoke?", "How is your health?"} <= set(said)
    assert "300 people took part." in said
    assert len(file.inline_shapes) == 2
    for table, grid in zip(estimates.tables, file.tables, strict=False):
        rows = [[cell.text for cell in row.cells] for row in grid.rows][1:]
        for (_, ends, estimate), share, low, high in zip(
            rows, table.estimate, table.low, table.high, strict=True
        ):
            figures = [float(each.replace("−", "-")) for each in (*ends.split(" to "), estimate)]
            assert figures == pytest.approx([100 * low, 100 * high, 100 * share], abs=0.051)
    assert estimates.plan.digest in [row.cells[1].text for row in file.tables[-1].rows]


def test_a_german_report_is_german(tmp_path):
    file = docx.Document(saved(tmp_path, ".docx", language="de"))
    said = paragraphs(file)
    assert {"Rauchen Sie?", "Wie geht es Ihnen?", "Ergebnisse"} <= set(said)
    cells = [cell.text for table in file.tables for row in table.rows for cell in row.cells]
    assert {"ja", "nein", "Gut", "Schlecht", "Schätzwert"} <= set(cells)
    assert any(re.fullmatch(r"\d+,\d bis \d+,\d", each) for each in cells)


@pytest.mark.parametrize("ending", [".html", ".docx", ".xlsx"])
def test_no_english_sentence_of_results_is_in_a_german_file(tmp_path, ending):
    path = saved(tmp_path, ending, language="de")
    if ending == ".html":
        text = re.sub(r"<style.*?</style>|<[^>]+>", " ", path.read_text())
    elif ending == ".docx":
        file = docx.Document(path)
        cells = [cell.text for table in file.tables for row in table.rows for cell in row.cells]
        text = " ".join([*paragraphs(file), *cells])
    else:
        book = openpyxl.load_workbook(path)
        text = " ".join(
            str(value) for page in book for row in page.values for value in row if value
        )
    said = " ".join(words_of(text))
    assert len(said) > 500
    assert [each for each in english_runs() if each in said] == []


def test_only_a_known_language_is_written(tmp_path):
    with pytest.raises(UsageError, match="language: got 'fr'; use one of en, de"):
        saved(tmp_path, ".docx", language="fr")


def test_a_workbook_has_an_overview_formats_and_the_method(tmp_path):
    book = openpyxl.load_workbook(saved(tmp_path, ".xlsx", language="de"))
    assert book.sheetnames == ["Übersicht", "Garantie", "smokes", "health", "Methode"]
    page, table = book["health"], health().table("health")
    assert [page["A1"].value, page["A2"].value, page["B1"].value] == [
        "Wie geht es Ihnen?",
        "Gut",
        "Schätzwert",
    ]
    assert page["B2"].value == pytest.approx(table.estimate[0])
    assert re.fullmatch(r"0\.0+%", page["B2"].number_format) and page.freeze_panes == "A2"
    rows = list(book["Übersicht"].values)
    assert rows[1][:2] == ("smokes", "Rauchen Sie?") and rows[1][3].startswith("„ja“: ")
    assert "erfundene Personen" in str(page["F1"].value)


def rehearsed(result):
    return replace(result, guarantee=of_invented_people(result.guarantee))


@pytest.mark.parametrize("ending", [".html", ".docx", ".xlsx", ".json", ".csv", ".r"])
def test_every_form_says_that_people_are_invented(ending):
    """Also where no seed is known, as in a rehearsal."""
    real = replace(health(), seed=None)
    marked, plain = (content(each, ending) for each in (rehearsed(real), real))
    if ending in (".docx", ".xlsx"):
        marked, plain = (
            b"".join(zipfile.ZipFile(io.BytesIO(each)).read(name) for name in names_in(each))
            for each in (marked, plain)
        )
    assert b"nvented people" in marked and b"nvented people" not in plain


def names_in(archive):
    return zipfile.ZipFile(io.BytesIO(archive)).namelist()
