"""What is told of the costs of a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracles import budget

COSTS = {f"test_{number}": number for number in range(12)}


def told(seconds, processor):
    return list(budget.text(seconds, processor, COSTS))


def test_a_run_within_the_limit_is_one_line():
    (line,) = told(3 * 60, 6 * 60)
    assert line.startswith("3.0 minutes, 6.0 of processor time (limit: 3 and 6")


def test_the_most_expensive_tests_are_named_beyond_the_limit():
    for run in ((3 * 60 + 1, 60), (60, 6 * 60 + 1)):
        _, about, *tests = told(*run)
        assert "processor time" in about
        assert [line.split() for line in tests[:2]] == [["11.00", "test_11"], ["10.00", "test_10"]]
        assert len(tests) == 10


@pytest.mark.slow
def test_a_test_is_measured_in_a_run_of_workers(tmp_path):
    """Two workers, in a run of its own: both tests are named, the longer one first."""
    (tmp_path / "conftest.py").write_text(
        "from tests.oracles import budget\n"
        "budget.MINUTES = 0\n"
        "def pytest_configure(config):\n    budget.measure(config)\n"
    )
    work = "    end = time.process_time() + {}\n    while time.process_time() < end: pass\n"
    for name, seconds in (("a", 0.2), ("b", 0.05)):
        test = f"import time\ndef test_{name}():\n" + work.format(seconds)
        (tmp_path / f"test_{name}.py").write_text(test)
    environment = os.environ | {budget.ASKED: "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-c", os.devnull, "--rootdir=."]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines() if "::test_" in line]
    assert [name for _, name in lines] == ["test_a.py::test_a", "test_b.py::test_b"], done.stdout
    assert 0.2 <= float(lines[0][0]) < 5 and 0.05 <= float(lines[1][0]) < 5
