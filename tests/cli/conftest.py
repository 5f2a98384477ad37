"""Commands in this process, files for them to read, and what has to hold however they end."""

import contextlib
import io
import os
import re
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import incrowd
from incrowd.cli.app import main
from incrowd.plans.ledger import Ledger
from incrowd.reports.folder import save_reports
from incrowd.reports.tally_files import save_tally
from tests.conftest import run

EXAMPLES = Path(__file__).parents[2] / "examples"
SURVEY, ANSWERS = str(EXAMPLES / "health.toml"), str(EXAMPLES / "rand_hie.csv")


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The example's survey as one joint report, and reports of it."""
    folder = tmp_path_factory.mktemp("made")
    survey = Path(SURVEY).read_text().replace("crowd =", 'tables = "any"\ncrowd =')
    (folder / "survey.toml").write_text(survey)
    for arguments in (
        ("plan", folder / "survey.toml", "--no-side-by-side", "-o", folder / "plan.json"),
        ("randomize", folder / "plan.json", ANSWERS, "-o", folder / "reports.parquet"),
    ):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command here; gives its exit code and what it wrote to both outputs."""

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return called


SECONDS = 30  # of a command; most take a tenth of one

ASKED = {
    "question": [
        {"id": "a", "type": "yesno"},
        {"id": "b", "type": "choice", "options": ["x", "007", "7"], "optional": True},
        {"id": "c", "type": "multi", "options": ["u", "v"], "at_most": 1},
        {"id": "d", "type": "number", "edges": [0, 1.5]},
    ],
    "table": [{"questions": ["a", "b"]}],
}
WORD = {"question": [{"id": "t", "type": "text", "block": 4, "cohorts": 2}]}
KEPT = {
    "question": [
        {
            "id": "a",
            "type": "yesno",
            "randomizer": {"kind": "rappor", "f": 0.5, "memoized": True},
        }
    ]
}
TOML = """name = "fuzz"
crowd = 40
colluding = 1
[privacy]
epsilon = 4.0
delta = 1e-2
analysis = "blanket"
[[question]]
id = "a"
type = "yesno"
optional = true
[[question]]
id = "b"
type = "choice"
options = ["x", "007", "7"]
shares = { x = 0.5, 007 = 0.3, 7 = 0.2 }
[[question]]
id = "d"
type = "number"
edges = [0, 1.5]
randomizer = { kind = "k-ary", epsilon = 1.5 }
[[table]]
questions = ["a", "b"]
[[regression]]
outcome = "a"
on = ["b"]
reference = { b = "7" }
[[message]]
questions = ["a", "b"]
copies = 2
[[message]]
questions = ["d"]
"""


def survey_of(asked, name, **promise):
    promise = {"epsilon": 4.0, "delta": 1e-2} | promise
    raw = {"name": name, "crowd": 40, "privacy": promise, "tables": "any"}
    return incrowd.Survey.of(raw | asked)


def answers(rows=40):
    """Valid answers to all the questions, with ids."""
    cycle = np.arange(rows)
    said = {"id": [f"{row:03}" for row in cycle], "a": np.where(cycle % 2, "yes", "no")}
    said |= {"b": np.array(["x", "007", "7"])[cycle % 3], "c": np.array(["u", "none"])[cycle % 2]}
    return pa.table(said | {"d": cycle % 3 * 1.0, "t": np.where(cycle % 2, "oslo", "paris")})


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """A folder with one valid file of every format."""
    folder = tmp_path_factory.mktemp("valid")
    (folder / "survey.toml").write_text(TOML)
    table = answers()
    pa.csv.write_csv(table, folder / "answers.csv")
    pa.parquet.write_table(table, folder / "answers.parquet")
    key = incrowd.DeviceKey(bytes(range(32)))
    key.save(folder / "key")
    for name, asked in (("plan", ASKED), ("word", WORD), ("kept", KEPT)):
        made = incrowd.plan(survey_of(asked, name))
        (folder / f"{name}.json").write_text(made.dumps())
        drawn = incrowd.randomize(made, table, simulation_seed=1, id="id", device_key=key)
        reports = [replace(report, seed=None) for report in drawn]
        save_reports(reports, folder / f"{name}.parquet")
        if name == "plan":
            save_tally(incrowd.count(made, reports), folder / "tally.json")
    first = incrowd.plan(survey_of(WORD, "first", epsilon=0.5, delta=1e-4))
    (folder / "ledger.json").write_text(Ledger(asked=(first.asked,)).dumps())
    (folder / "new.json").write_text(Ledger().dumps())
    (folder / "words.txt").write_text("oslo\nparis\nrom\n")
    return folder


# What each format is called, and the commands that read it: {} is the spoiled file, the other
# names are those of valid files, "out" is a file to write.
COMMANDS = {
    "survey.toml": ["plan {} --no-side-by-side -o out.json"],
    "plan.json": [
        "verify {}",
        "randomize {} answers.csv -o out.parquet",
        "estimate {} plan.parquet",
        "ledger new.json {} --as-planned",
    ],
    "ledger.json": ["ledger {}", "plan survey.toml --no-side-by-side --ledger {} -o out.json"],
    "tally.json": ["estimate plan.json {} -o out.json", "tally plan.json {} -o out.json"],
    "plan.parquet": [
        "estimate plan.json {} -o out.csv",
        "verify plan.json {}",
        "tally plan.json {} -o out.json",
        "postprocess plan.json {} --table a,b",
        "compare plan.json {} a b --of-all-people",
    ],
    "answers.csv": [
        "randomize plan.json {} -o out.parquet --id id",
        "randomize word.json {} -o out.parquet",
        "randomize kept.json {} -o out.parquet --id id --device-key key",
    ],
    "answers.parquet": [
        "randomize plan.json {} -o out.parquet --id id",
        "randomize word.json {} -o out.parquet",
        "randomize kept.json {} -o out.parquet --id id --device-key key",
    ],
    "key": ["randomize kept.json answers.csv -o out.parquet --id id --device-key {}"],
    "words.txt": ["estimate word.json word.parquet --words t={} -o out.html"],
}


def said(arguments):
    """Exit code and standard error of a command in this process; a fault of ours is raised."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["incrowd", *arguments]),
        mock.patch.dict(os.environ, {"INCROWD_DEBUG": "1"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        bounded_time(arguments),
    ):
        try:
            main()
        except SystemExit as end:
            return end.code or 0, err.getvalue()
    return 0, err.getvalue()


@contextlib.contextmanager
def bounded_time(what):
    def late(*_):
        raise AssertionError(f"more than {SECONDS} s: {what}")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(valid, name, content, command, run=said):
    """One command on one spoiled file."""
    with tempfile.TemporaryDirectory(dir=valid.parent) as place:
        folder = Path(place)
        (folder / name).write_bytes(content)
        os.chmod(folder / name, 0o600)
        for other in {"new.json"} & set(command.split()):
            (folder / other).write_bytes((valid / other).read_bytes())
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        words = [filled(word, folder, valid, name) for word in command.split()]
        code, error = run(words)
        assert code in (0, 1, 2), (code, error)
        assert "Traceback" not in error and "fault in incrowd" not in error, error
        assert code == 0 or error.strip()
        after = {file.name: file for file in folder.iterdir()}
        assert set(after) - set(before) == (set(OUT.findall(command)) if code == 0 else set())
        assert code == 0 or {n: after[n].read_bytes() for n in before} == before


OUT = re.compile(r"\bout[.]\w+")


def filled(word, folder, valid, name):
    """A word of a command, with the paths of its files."""
    word = word.replace("{}", str(folder / name))
    if word.startswith("out."):
        return str(folder / word)
    if (folder / word).exists():
        return str(folder / word)
    return str(valid / word) if (valid / word).exists() else word
