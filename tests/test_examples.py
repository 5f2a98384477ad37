"""The examples run as they stand, and what they print is true."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import incrowd

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))


def example(name: str) -> dict:
    """The names that a script defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def near(tables, truth, errors=6.0) -> bool:
    """Whether every cell is within so many standard errors of the noise.

    Six of them: a false alarm in 5e8 cells. The people are fixed: the noise is the only error.
    """
    return all(
        bool((np.abs(table.estimate - true) <= errors * table.error.noise).all())
        for table, true in zip(tables, truth, strict=True)
    )


def test_there_are_the_four_that_are_promised():
    assert SCRIPTS == ["health.py", "homepages.py", "release.py", "rounds.py"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_folder_a_script_says_what_it_needs(script):
    command = [sys.executable, str(EXAMPLES / script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "folder" in done.stderr and "Traceback" not in done.stderr


def test_health(tmp_path, capsys):
    """Also where reports of an earlier run are left."""
    (tmp_path / "reports").mkdir()
    for number in (1, 9):
        (tmp_path / "reports" / f"message-{number}.parquet").write_bytes(b"of an earlier run")
    estimates = example("health")["main"](tmp_path)
    answers = incrowd.load_answers(EXAMPLES / "rand_hie.csv", estimates.plan.survey)
    truth = incrowd.truth(estimates.plan, answers)
    assert near(estimates.tables, truth)
    assert not near(estimates.tables, [np.flip(true) for true in truth])  # answers mixed up
    printed = capsys.readouterr().out
    for text in ("self_rated_health", "true: ", "p = ", "biased"):
        assert text in printed
    assert {path.name for path in tmp_path.iterdir()} == {"plan.json", "reports", "report.html"}
    saved = incrowd.load_reports(tmp_path / "reports")
    assert len(saved) == len(estimates.plan.messages) > 1
    assert incrowd.verify(estimates.plan, saved).holds


@pytest.mark.slow
def test_homepages(tmp_path, capsys):
    """The noise of a count is about 10 people; a site is detected at 4.75 times that."""
    made = example("homepages")
    found = made["main"](tmp_path, 20_000)
    places = made["homepages"](20_000)
    counts = np.bincount(places, minlength=len(made["SITES"]))
    assert len(made["SITES"]) == 50_000
    assert np.count_nonzero(counts > 110) <= found.true <= np.count_nonzero(counts)
    # Each of the empty sites is called visible with 1e-6: more than 3 in one of 4 million runs.
    assert found.false <= 3
    assert f"{found.true:,} that someone uses" in capsys.readouterr().out

    table = pyarrow.csv.read_csv(tmp_path / "estimates.csv")
    ratio = table["estimate"].to_numpy() / table["standard_error"].to_numpy()
    one_by_one = np.count_nonzero((ratio > 1.645) & (counts == 0))  # wrong: 5% for each site
    assert one_by_one > 100


@pytest.mark.slow
def test_release(tmp_path, capsys):
    made = example("release")
    found = made["main"](tmp_path)
    blanket, local = found["blanket"], found["local"]
    records = incrowd.load_answers(EXAMPLES / "rand_hie.csv", blanket.plan.survey)
    tables = [table.questions for table in blanket.tables]
    truth = incrowd.truth(blanket.plan, records, tables=tables)
    assert len(tables) == 10 and near(blanket.tables, truth) and near(local.tables, truth)
    assert not near(blanket.tables, [np.flip(true) for true in truth])
    assert blanket.guarantee.epsilon == local.guarantee.epsilon == 1
    assert blanket.guarantee.local_epsilon > 7 and local.guarantee.local_epsilon <= 1
    assert local.tables[0].error.noise.max() > 20 * blanket.tables[0].error.noise.max()
    assert capsys.readouterr().out.count("the guarantee holds") == 2
    for analysis in found:
        files = {path.name for path in (tmp_path / analysis).iterdir()}
        assert files == {"plan.json", "records.parquet"}


@pytest.mark.slow
def test_rounds(tmp_path, capsys):
    made = example("rounds")
    found = made["main"](tmp_path)
    ledger = incrowd.Ledger.load(tmp_path / "ledger.json")
    assert [asked.digest for asked in ledger.asked] == [found.first.digest, found.second.digest]
    assert [asked.digest for asked in found.second.earlier] == [found.first.digest]
    alone = incrowd.plan(found.second.survey)
    assert alone.messages[0].noise_numerator < found.second.messages[0].noise_numerator
    assert incrowd.verify(found.second).plan_holds
    # 30% of the panel, known to about 4.5%: six standard errors, in either month.
    assert all(abs(share - 0.3) < 6 * 0.05 for share in found.panel)
    assert "covers both" in capsys.readouterr().out
    assert (tmp_path / "devices.key").stat().st_mode & 0o777 == 0o600
