"""The rows as rows: whole, told apart, and with verdicts that follow from their numbers."""

import math
import re
from collections import Counter

import pytest

from reproduction.row import AGREES, MISPRINT, Row, always, by, equal, wrong
from tests.reproduction.conftest import PRINTED, find, follows, true_number


@pytest.mark.slow
def test_rows_are_complete(rows):
    assert len(rows) > 200
    for row in rows:
        assert row.paper and row.place and row.printed and row.true
        assert isinstance(row.formula, str) or math.isfinite(row.formula)
        assert row.verdict in (AGREES, MISPRINT) or re.match(r"wrong: \S", row.verdict)
    places = Counter((row.paper, row.place, row.printed) for row in rows)
    assert max(places.values()) == 1


def test_nothing_that_is_checked_over_a_grid_fails(rows):
    """A formula found wrong on its grid would say so; those rows are all right ones."""
    checked = [row for row in rows if row.formula in ("the same", "in every case")]
    checked += [row for row in rows if str(row.formula).startswith("the same to")]
    assert len(checked) > 90
    assert {row.verdict for row in checked} == {AGREES}


@pytest.mark.parametrize(
    ("paper_name", "place"),
    [
        *(("January", f"(0.{n})") for n in (16, 24, 26, 27, 28, 29)),
        ("January", "(0.19), example"),
        ("January", "(1.11)"),
        ("January", "(1.20), (1.21)"),
        ("January", "(1.24)"),
        ("January", "(2.21) to (2.25)"),
        ("January", "(2.26) to (2.33)"),
        ("February", "(3.2)"),
        ("February", "(3.3)"),
        ("February", "Lemma 4.1"),
        ("February", "Lemma 4.2"),
        ("February", "Corollary 4.1"),
        ("February", "Lemma 4.3"),
        ("Sufficient", "(3.17)"),
        ("Sufficient", "4, plot, q = 0.3"),
        ("Sufficient", "(8.20)"),
        ("Sufficient", "(8.25)"),
        ("Sufficient", "(8.30), (8.31)"),
        ("Vinterbo", "Theorem 4.1"),
        ("Vinterbo", "Corollary 1"),
        ("Vinterbo", "Lemma 4.5"),
        ("Vinterbo", "Corollary 2"),
        ("Vinterbo", "4.2, implementation 1"),
        ("Vinterbo", "figure 2 (b), alpha = 1.0"),
        ("note", "2, definition"),
    ],
)
def test_what_must_be_there(rows, paper_name, place):
    find(rows, paper_name, place)


def test_verdicts_follow_from_the_numbers(rows):
    valued = [
        row
        for row in rows
        if row.verdict != MISPRINT
        and PRINTED.search(row.printed)
        and re.match(r"[\d.e+-]+ \(", row.true)
        and not re.search(r"lambda = |delta\(|n = 1$", row.printed)  # no value of its own
    ]
    assert len(valued) >= 14
    assert [row for row in valued if not follows(row)] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper_name", "place", "printed", "value", "unit"),
    [
        ("January", "below (0.21)", "noise reduced 10 times", 10, 1),
        ("January", "below (0.21)", "precision grown 8 fold", 8, 0.5),
        ("January", "below (0.29)", "the ratio is kept", 99.98, 0.01),
        ("January", "1", "sigma = 6", 6, 0.5),
        ("January", "1", "error roughly 18", 18, 1),
        ("January", "below (1.24)", "25% precision", 25, 2),
        ("Sufficient", "below (3.17)", "beta = 3.5 increases", 0.0025, 1e-4),
        ("Sufficient", "below (4.3)", "local sigma = 7.5", 7.5, 0.1),
        ("Sufficient", "below (4.3)", "sigma = 0.6", 0.6, 0.05),
        ("Sufficient", "below (4.3)", "a 12 fold", 12, 0.5),
        ("Sufficient", "below (4.3)", "deviation 20 times", 20, 0.5),
        ("Sufficient", "below (4.3)", "aggregates", 200_000, 50_000),
        ("Sufficient", "below (4.3)", "deviation only 1.6", 1.6, 0.05),
        ("Sufficient", "below (4.3)", "the 12.5", 12.5, 0.05),
        ("Sufficient", "below (4.3)", "error not exceeding 15K", 15_000, 500),
        ("Sufficient", "below (4.3)", "1% of the population", 10, 1),
    ],
)
def test_verdicts_on_rounded_values(rows, paper_name, place, printed, value, unit):
    row = find(rows, paper_name, place, printed)
    assert (row.verdict == AGREES) == (abs(value - true_number(row)) <= unit)


@pytest.mark.parametrize(
    ("printed", "true", "verdict", "right"),
    [
        ("q = 0.352", "0.35091 (x)", AGREES, False),
        ("q = 0.351", "0.35091 (x)", AGREES, True),
        ("q = 0.351", "0.35091 (x)", "wrong: x", False),
    ],
)
def test_a_wrong_verdict_would_be_found(printed, true, verdict, right):
    assert follows(Row("p", "1", printed, 0.0, true, verdict)) is right


def test_equal_and_always_find_what_is_wrong():
    assert equal([1.0, 2.0], [1.0, 2.0], "x")[2] == AGREES
    assert equal([1.0, 2.0], [1.0, 2.0 + 1e-8], "x")[2].startswith("wrong: differs")
    assert equal([1e-10], [2e-10], "x")[2] == AGREES  # in units of 1
    assert always([True, True], "x")[2] == AGREES
    assert always([True, False], "x")[2] == "wrong: fails in 1 cases"
    assert by(1 / 3, "x") == "0.333333 (x)"
    assert Row("p", "1", "x", 1 / 3, "y", wrong("z")).kind == "wrong"
    assert Row("p", "1", "x", 1 / 3, "y", wrong("z")).formula_text == "0.333333"


def test_misprints_are_told_with_numbers_that_differ(rows):
    misprints = [row for row in rows if row.verdict == MISPRINT]
    assert len(misprints) >= 20
    same = [row.place for row in misprints if row.formula_text == row.true.split()[0]]
    assert same == ["1.1"]  # a mean printed as a random variable: the number is right
