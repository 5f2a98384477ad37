"""The command line starts quickly: its help needs nothing of what the commands work with."""

import statistics
import subprocess
import sys
import time

import pytest

from incrowd.cli.later import COMMANDS, Later

HEAVY = "numpy scipy pyarrow pydantic altair numba jinja2 rich.console"
HELP = """
import sys
from incrowd.cli import main
sys.argv = ["incrowd", "--help"]
try:
    main()
except SystemExit:
    pass
"""
LOADED = f"print('loaded:', *sorted(set({HEAVY.split()}) & set(sys.modules)))"


def printed(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_help_names_every_command_and_loads_none():
    lines = printed(HELP + LOADED).splitlines()
    assert lines[-1] == "loaded:"
    shown = dict(line.split(maxsplit=1) for line in lines[lines.index("Commands:") + 1 : -1])
    assert shown == {name: line for name, (_, line) in COMMANDS.items()}


def test_a_command_that_runs_is_seen_to_load():
    """The wrong variant of the test above."""
    lines = printed(HELP + "import incrowd.cli.planning\n" + LOADED).splitlines()
    assert {"numpy", "pydantic", "scipy"} <= set(lines[-1].split())


NO_PART_OF_A_PLAN = """
    scipy.special scipy.optimize scipy.sparse scipy.fft scipy.linalg pyarrow cryptography jinja2
    incrowd.reports.tally incrowd.reports.collection incrowd.estimation.regression.regress
"""
PLAN = """
import sys
from incrowd.cli import main
sys.argv = ["incrowd", "plan", "examples/health.toml"]
try:
    main()
except SystemExit as ended:
    assert not ended.code
"""


def test_a_plan_loads_nothing_that_reads_reports_and_no_part_of_scipy():
    """Its table of other ways among it. The wrong variant: what another command loads."""
    loaded = LOADED.replace(str(HEAVY.split()), str(NO_PART_OF_A_PLAN.split()))
    lines = printed(f"{PLAN}\n{loaded}\nimport incrowd.cli.regressing\n{loaded}")
    shown, plan, other = lines.split("loaded:")
    assert "other ways to send it" in shown
    assert not plan.split()
    assert {"pyarrow", "incrowd.reports.tally", "incrowd.estimation.regression.regress"} <= set(
        other.split()
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_about_a_command_is_what_its_own_help_begins_with(name):
    stub = Later(name)
    own = " ".join(stub.loaded().help.split())
    assert f"{own} ".startswith(f"{stub.help} ")


def test_help_takes_little_more_than_its_framework():
    """The bar is 1.7 times; a busy machine may double that, numpy alone would not fit."""
    codes = {"help": HELP, "framework": "import typer, rich"}
    taken = {name: [] for name in codes}
    for _ in range(7):
        for name, code in codes.items():
            begun = time.perf_counter()
            printed(code)
            taken[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    assert medians["help"] < 2.5 * medians["framework"], medians
