"""Run all measurements and print their tables. Nothing here fails a build."""

import os
import platform
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import incrowd
from bench import accounting, estimation, kernels
from bench.measure import row

EXAMPLES = Path(__file__).parent.parent / "examples"


def whole_path():
    survey = incrowd.Survey.load(EXAMPLES / "health.toml")
    answers = incrowd.load_answers(EXAMPLES / "rand_hie.csv", survey)
    plan = incrowd.plan(survey)
    return incrowd.estimate(plan, incrowd.randomize(plan, answers))


def path_rows():
    yield row("whole path, 20,190 records of 15 bits, after imports", whole_path)


def main():
    console = Console(width=110)
    python = sys.version.split()[0]
    console.print(f"{platform.machine()}, {os.cpu_count()} cores, Python {python}, medians")
    measured = {
        "path": path_rows(),
        "accountant": accounting.rows(),
        "kernels": kernels.rows(),
        "estimation": estimation.rows(),
    }
    for title, rows in measured.items():
        table = Table("what", "seconds", "beside", "seconds", "ratio", title=title)
        for what, ours, beside, theirs in rows:
            shown = f"{theirs:.4f}" if theirs else ""
            ratio = f"{theirs / ours:.2f}" if theirs else ""
            table.add_row(what, f"{ours:.4f}", beside, shown, ratio)
        console.print(table)


main()
