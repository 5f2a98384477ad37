"""Scripts for R, read as R reads them, and run by Rscript where it is installed."""

import json
import math
import re
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.estimation.crosstab import Crosstab
from incrowd.estimation.regression.results import Regression
from incrowd.estimation.results import IN_R
from incrowd.presentation.r_script import number, r_script, text, vector
from incrowd.views import Sheet, Square
from tests.conftest import local_plan, yes_no_question
from tests.presentation.conftest import StatedResult

NASTY = ['a "b" \\', "x\nsystem('id')", "größe 調査 \U0001f600", "#", "\x00\x07\ud800", "NA", "'"]
RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(RSCRIPT is None, reason="Rscript is not installed")


def script(names=("a",), squares=(), title="A title"):
    rows = tuple((name, 0.1 + 0.2, None, math.inf) for name in NASTY)
    headings = ("answer", "estimate", "standard_error", "low")
    sheets = tuple(Sheet(name, headings, rows) for name in names)
    return r_script(StatedResult(sheets, tuple(squares), title, tuple(NASTY)))


def ran(folder, *lines):
    (folder / "run.R").write_text("\n".join(lines))
    done = subprocess.run(
        [RSCRIPT, "--vanilla", "run.R"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("nasty", NASTY)
def test_a_string_ends_where_it_should_and_is_ascii(nasty):
    literal = text(nasty)
    assert literal.isascii() and "\n" not in literal
    assert re.fullmatch(r'"(?:[^"\\]|\\[\\"nrt]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*"', literal)


def test_numbers_have_all_their_digits():
    assert [number(each) for each in (0.1 + 0.2, -1e-300, math.inf, -math.inf, math.nan, None)] == [
        "0.30000000000000004", "-1e-300", "Inf", "-Inf", "NA", "NA"
    ]  # fmt: skip


def test_vectors_have_the_type_of_their_values():
    assert vector(["a", None]) == 'c("a", NA)'
    assert vector([True, False]) == "c(TRUE, FALSE)"
    assert vector([1, None, 2.5]) == "c(1.0, NA, 2.5)"
    assert vector([]) == "character(0)"


def test_text_of_a_survey_is_only_in_strings_and_comments():
    lines = script(title="a\nsystem('id')").splitlines()
    code = "\n".join(line for line in lines if not line.startswith("#"))
    assert "system" not in re.sub(r'"(?:[^"\\]|\\.)*"', '""', code)
    assert lines[0] == "# a system('id')"


@pytest.mark.parametrize("covariance", [False, True])
def test_without_a_covariance_it_says_how_to_get_one(covariance):
    plan = local_plan(yes_no_question("a"))
    answers = pa.table({"a": ["yes", "no"] * 60})
    reports = incrowd.randomize(plan, answers, simulation_seed=42)
    options = {"accept_smaller_crowd": True, "covariance": covariance}
    source = r_script(incrowd.estimate(plan, reports, **options))
    assert ("incrowd estimate -o FILE.R" in source) is not covariance
    assert ("incrowd$matrices[[1]]" in source) is covariance


@needs_r
def test_r_reads_every_value(tmp_path):
    square = Square("cov", tuple(NASTY), np.diag([0.1 + 0.2] * len(NASTY)))
    names = ("estimate", "check.names", 'b "c"')
    source = script(names=names, squares=[square])
    (tmp_path / "result.R").write_text(source, encoding="utf-8")
    shown = ran(
        tmp_path,
        'source("result.R", encoding = "UTF-8")',
        's <- incrowd$sheets[["check.names"]]; v <- incrowd$matrices$cov',
        "cat(names(incrowd$sheets), sep = '\\n')",
        "cat(sprintf('%.17g', c(s$estimate, v[1, 1], v[1, 2])), sep = '\\n')",
        "cat(is.na(s$standard_error), s$low, sep = '\\n')",
        "for (a in s$answer) cat(paste(utf8ToInt(enc2utf8(a)), collapse = ' '), '\\n')",
    ).splitlines()
    assert shown[:3] == list(names)
    numbers = [float(each) for each in shown[3 : 5 + len(NASTY)]]
    assert numbers == [0.1 + 0.2] * (len(NASTY) + 1) + [0.0]
    codes = [each.split() for each in shown[-len(NASTY) :]]
    expected = [re.sub("[\0\ud800]", "\ufffd", each) for each in NASTY]
    assert ["".join(chr(int(code)) for code in each) for each in codes] == expected


@needs_r
@pytest.mark.parametrize(
    ("kind", "sheet", "headings", "use"),
    [
        ("estimates", "a", ("q", "estimate"), IN_R),
        ("regression", "coefficients", ("term", "estimate"), Regression.in_r.fget(None)),
        ("crosstab", "crosstab", ("q", "r", "count"), Crosstab.in_r.fget(None)),
    ],
)
def test_the_lines_of_use_run(tmp_path, kind, sheet, headings, use):
    rows = tuple((*"xy"[: len(headings) - 1], value) for value in (0.25, 0.75))
    square = Square("covariance", ("x", "y"), np.array([[0.04, -0.01], [-0.01, 0.09]]))
    named = Sheet(sheet, headings, rows)
    source = r_script(StatedResult((named,), (square,), use=use))
    uses = re.search(r'source\("THIS_FILE.R"\)\n(.*?)\n#\n', source, re.DOTALL)[1]
    lines = [line.removeprefix("#   ") for line in uses.splitlines()]
    (tmp_path / "result.R").write_text(source, encoding="utf-8")
    shown = ran(tmp_path, 'source("result.R")', *lines)
    if kind == "estimates":  # Var(x - y) = 0.04 + 0.09 + 2 * 0.01
        difference, error = map(float, shown.splitlines()[-1].split())
        assert difference == -0.5 and math.isclose(error, 0.15**0.5, rel_tol=1e-6)


def test_its_parts_are_those_of_the_result():
    assert json.loads(re.search(r"  title = (.*),", script())[1]) == "A title"
