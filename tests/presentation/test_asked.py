"""Two tables of one question have different names: of all people, and of those who were asked."""

import re
from functools import cache

import openpyxl
import pyarrow as pa
import pytest

import incrowd
from incrowd.presentation.card import certified_card, markdown
from incrowd.presentation.plan_text import asked
from incrowd.presentation.terminal import terminal
from tests.conftest import local_plan, yes_no_question

LONG = "a_name_that_is_longer_than_a_sheet_can_have"


@cache
def conditional():
    asked_if = {"asked_if": "smokes = yes"}
    age = {"id": "age", "type": "number", "edges": [0, 18, 65], "text": "Since when?"}
    return local_plan(
        yes_no_question("smokes", text="Do you smoke?"),
        yes_no_question(LONG, **asked_if),
        age | asked_if,
    )


@cache
def estimates():
    columns = {
        "smokes": ["yes", "no"] * 2500,
        LONG: ["no", None, "yes", None] * 1250,
        "age": [20, None, 70, None] * 1250,
    }
    reports = incrowd.randomize(conditional(), pa.table(columns), simulation_seed=1)
    return incrowd.estimate(conditional(), reports)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    def saving(ending):
        path = tmp_path_factory.mktemp("saved") / f"estimates.{ending}"
        incrowd.save_estimates(estimates(), path)
        return path

    return saving


@pytest.mark.slow
def test_headings_of_the_page_differ(saved):
    page = saved("html").read_text()
    headings = [re.sub("<[^>]*>|\u200b", "", each) for each in re.findall("<h2>(.*?)</h2>", page)]
    tables = [each for each in headings if "smok" in each or "Since" in each or "longer" in each]
    assert tables == [
        "Do you smoke?",
        LONG,
        f"Of those who were asked: {LONG}",
        "Since when?",
        "Of those who were asked: Since when?",
    ]
    labels = re.findall(r'aria-label="(Bars of the intervals of [^"]*)"', page)
    assert len(labels) == 10 and len(set(labels)) == 5  # each is drawn at two widths


def test_sheets_of_a_workbook_and_an_r_script_differ(saved):
    names = openpyxl.load_workbook(saved("xlsx")).sheetnames
    assert names[2:7] == ["smokes", LONG[:31], f"asked {LONG}"[:31], "age", "asked age"]
    assert f'"asked {LONG}", "age", "asked age"' in saved("R").read_text().replace("\n      ", " ")


def test_titles_in_the_terminal_differ(capsys):
    from rich.console import Console

    Console(width=100).print(terminal(estimates()))
    printed = capsys.readouterr().out
    assert "Since when? (age)\n" in re.sub(" +\n", "\n", printed)
    assert "Of those who were asked: Since when? (age)" in printed


def test_the_card_says_whom_questions_are_asked():
    rows = {ids: answers for ids, _, answers in asked(conditional().survey)}
    assert str(rows[LONG]) == (
        "no or yes; or not asked, which is sent like any other; asked only if smokes = yes"
    )
    assert "asked only if" not in rows["smokes"]
    card = certified_card(conditional())
    assert "asked only if smokes = yes" in markdown(card)
    assert [each.get("asked_if") for each in card.facts["questions"]] == [
        None,
        "smokes = yes",
        "smokes = yes",
    ]
