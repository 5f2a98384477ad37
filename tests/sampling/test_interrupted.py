"""Streaming that goes wrong: the row is named, and nothing is left behind."""

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from incrowd.errors import AnswersError, UsageError
from incrowd.sampling.randomize import randomize_files
from tests.conftest import people, slowly

ROWS = 3000


# --- what goes wrong -------------------------------------------------------------------------


@pytest.mark.parametrize("row", [500, ROWS - 1, *slowly(0, 499, 1777)])
def test_a_wrong_answer_is_named_by_its_row_in_the_file(
    plans, small_batches, answers_file, tmp_path, row
):
    """The rows before it are fine, and are not written."""
    columns = {name: column.to_pylist() for name, column in zip("abcd", people(), strict=False)}
    columns["b"][row] = "w"
    bad = tmp_path / answers_file.name
    write = pa.csv.write_csv if bad.suffix == ".csv" else pa.parquet.write_table
    write(pa.table(columns), bad)
    for kind, name in (("bits", "r.parquet"), ("messages", "folder")):
        with pytest.raises(AnswersError, match=rf"row {row + 1:,}, b: got 'w'; use one of x, y, z"):
            randomize_files(plans[kind], bad, tmp_path / name)
    assert list(tmp_path.iterdir()) == [bad]


def test_an_error_says_how_far_it_looked(plans, small_batches, tmp_path):
    table = people().set_column(1, "b", pa.array(["x"] * 700 + ["w"] * (ROWS - 700)))
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(AnswersError) as error:
        randomize_files(plans["bits"], tmp_path / "a.parquet", tmp_path / "r.parquet")
    said = str(error.value)
    assert "row 701, b" in said and "b: 300 rows have this mistake" in said
    assert "answers: only rows 1 to 1,000 were checked" in said


def test_a_damaged_end_of_the_file(plans, small_batches, tmp_path):
    """The reader meets it when some batches are done: the same error, and nothing written."""
    pa.csv.write_csv(people(20_000), tmp_path / "a.csv")
    with open(tmp_path / "a.csv", "a") as file:
        file.write("yes,x\n")
    with pytest.raises(AnswersError, match="row 20,001: got 'yes,x'"):
        randomize_files(plans["bits"], tmp_path / "a.csv", tmp_path / "r.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize("label", ["randomizing", "shuffling"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "disk full")])
def test_interrupted_in_either_pass(plans, small_batches, answers_file, tmp_path, label, error):
    """Nothing is left, and a file that was there before stays as it was."""

    @contextmanager
    def bar(shown, total):
        def advance(done):
            if shown.startswith(label):
                raise error

        yield advance

    (tmp_path / "r.parquet").write_text("before")
    for kind, name in (("bits", "r.parquet"), ("messages", "folder")):
        with pytest.raises((KeyboardInterrupt, MemoryError, UsageError)):
            randomize_files(plans[kind], answers_file, tmp_path / name, progress=bar)
    assert [file.name for file in tmp_path.iterdir()] == ["r.parquet"]
    assert (tmp_path / "r.parquet").read_text() == "before"


def test_outputs_that_cannot_be(plans, small_batches, answers_file, tmp_path):
    for output in (tmp_path / "none" / "r.parquet", tmp_path / "folder" / "below"):
        (tmp_path / "folder").write_text("a file")
        with pytest.raises(UsageError, match=r"-o.*cannot be written"):
            randomize_files(plans["bits"], answers_file, output)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "message-1.parquet").write_text("reports")
    with pytest.raises(UsageError, match="already contains reports"):
        randomize_files(plans["messages"], answers_file, tmp_path / "full")


CHILD = """
import sys
from incrowd.sampling import streaming
streaming.BATCH_ROWS = 200
from incrowd.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_an_interrupted_process_leaves_nothing(plans, tmp_path):
    """A real Ctrl-C while the buckets are being filled, whose files nobody else can see."""
    plan, answers_file, folder = tmp_path / "plan.json", tmp_path / "a.csv", tmp_path / "out"
    plan.write_text(plans["bits"].dumps())
    pa.csv.write_csv(people(300_000), answers_file)
    folder.mkdir()
    arguments = ["randomize", plan, answers_file, "-o", folder / "r.parquet"]
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, *map(str, arguments)], stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 60
    while nameless_bytes(process.pid) < 10_000:
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.01)
    assert [file.stat().st_size for file in folder.iterdir()] == [0]  # a place for the output
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in error
    assert list(folder.iterdir()) == []


def nameless_bytes(process):
    """How much the process has written to open files that have no name."""
    found = 0
    for file in Path(f"/proc/{process}/fd").iterdir():
        try:
            status = file.stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            assert status.st_mode & 0o777 == 0o600
            found += status.st_size
    return found
