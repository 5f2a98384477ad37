"""The demonstration: real data, every step, and the truth beside the estimates."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli import show
from incrowd.cli.console import say
from incrowd.cli.options import AsJson, make_folder
from incrowd.errors import UsageError
from incrowd.reports.files import replaced
from incrowd.workflow.truth import truth


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; made if missing.")
    ] = Path("demo"),
    json: AsJson = False,
) -> None:
    """Run the whole path on real data, and compare with the truth.

    \b
    Example:
      incrowd demo -o demo
    """
    show.estimates(run(output), json)


def run(folder: Path) -> incrowd.Estimates:
    """Plan, randomise, estimate, write everything to the folder; say what is done."""
    survey = incrowd.Survey.load(_example("health.toml"))
    answers = incrowd.load_answers(_example("rand_hie.csv"), survey)
    make_folder(folder)
    made = incrowd.plan(survey)
    with replaced(folder / "plan.json") as temporary:
        temporary.write_text(made.dumps(), encoding="utf-8")
    say(f"planned {len(survey.questions)} questions: {folder / 'plan.json'}")
    reports = incrowd.randomize(made, answers)
    incrowd.save_reports(reports, folder / "reports.parquet")
    say(f"randomised {answers.num_rows:,} records: {folder / 'reports.parquet'}")
    loaded = incrowd.load_reports(folder / "reports.parquet")
    estimates = incrowd.estimate(made, loaded)
    compared = dataclasses.replace(estimates, truth=truth(made, answers))
    incrowd.save_estimates(compared, folder / "report.html")
    say(f"estimated {len(compared.tables)} tables: {folder / 'report.html'}")
    return compared


def _example(name: str) -> Path:
    """A file of the examples, beside the source or where the package installs them."""
    places = (Path(__file__).parents[3] / "examples", Path(sys.prefix) / "share/incrowd/examples")
    for place in places:
        if (place / name).is_file():
            return place / name
    raise UsageError.of(
        "demo", name, f"it is not in {' or '.join(map(str, places))}; install the package again"
    )
