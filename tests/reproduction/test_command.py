"""`python -m reproduction`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import reproduction
from incrowd.errors import IncrowdError
from reproduction import command, drawing, recomputed
from reproduction.row import AGREES, Row, wrong
from tests.conftest import slowly
from tests.reproduction.conftest import SKETCH

LINES = (
    Row("Vinterbo 2018", "1", "P[x] = 1", 0.5, "1 (x)", wrong("it is not")),
    Row("Vinterbo 2018", "2", "q", "text", "2 (y)", AGREES),
)


@pytest.fixture
def run(monkeypatch):
    def two_rows(progress):
        progress("a section")
        return LINES

    monkeypatch.setattr(recomputed, "rows", two_rows)
    return lambda *arguments: CliRunner().invoke(command.app, list(arguments))


def test_the_command_prints_json(run):
    result = run("--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["rows"]
    assert list(rows[0]) == ["paper", "place", "printed", "formula", "true", "verdict"]
    assert (rows[0]["formula"], rows[1]["verdict"]) == (0.5, AGREES)


def test_the_command_prints_a_table_without_markup(run):
    result = run()
    assert result.exit_code == 0
    assert "P[x] = 1" in result.stdout
    assert "wrong" in result.stdout


def test_the_command_writes_into_a_new_folder(run, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "figures", lambda progress: (SKETCH,))
    folder = tmp_path / "deep" / "papers"
    assert run("-o", str(folder)).exit_code == 0
    assert {path.name for path in folder.iterdir()} == {"papers.html", "sketch.svg", "sketch.html"}


def test_the_command_refuses_a_file_before_it_works(run, tmp_path):
    (tmp_path / "file").write_text("x")
    for path, what in ((tmp_path / "file", "is a file"), (tmp_path / "file" / "x", "be created")):
        result = run("-o", str(path))
        assert isinstance(result.exception, IncrowdError)
        assert what in str(result.exception)


def module(*arguments):
    """`python -m reproduction` in a clone."""
    here = Path(reproduction.__file__).parents[1]
    done = [sys.executable, "-m", "reproduction", *arguments]
    return subprocess.run(done, cwd=here, capture_output=True, text=True)


@pytest.mark.slow
def test_help_has_an_example():
    result = module("--help")
    assert result.returncode == 0
    assert "python -m reproduction -o papers" in result.stdout


@pytest.mark.parametrize("arguments", [["--jsn"], *slowly(["-o"], ["-o", __file__], ["rows"])])
def test_wrong_use_ends_with_exit_code_2_and_without_a_traceback(arguments):
    result = module(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert "error: " in result.stderr.lower() and "Traceback" not in result.stderr


@pytest.mark.slow
def test_the_command_line_of_the_package_has_no_papers():
    main = "import sys, incrowd.cli; sys.argv = ['incrowd', 'papers']; incrowd.cli.main()"
    done = subprocess.run([sys.executable, "-c", main], capture_output=True, text=True)
    assert done.returncode == 2 and "got 'papers'" in done.stderr


def test_progress_names_every_section(monkeypatch):
    one = ("a", lambda: iter(LINES[:1])), ("b", lambda: iter(LINES[1:]))
    monkeypatch.setattr(recomputed, "SECTIONS", one)
    told = []
    assert recomputed.rows(told.append) == LINES
    assert told == ["a", "b"]
    assert recomputed.rows() == LINES
