"""Arguments and options that several commands have, and the checks that belong to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import working
from incrowd.errors import PlanError, UsageError

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY", help="Survey, a TOML file.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan, made by `incrowd plan`.")]
AnswersFile = Annotated[
    Path, typer.Argument(metavar="ANSWERS", help="Answers, one row a person: .csv or .parquet.")
]
ReportsFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS...", help="Reports: what `incrowd randomize` or `incrowd tally` wrote."
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option("--table", help="Questions of a table, as a,b; may be repeated."),
]
NoiseOnly = Annotated[
    bool, typer.Option("--noise-only", help="Errors of the noise alone, the people being fixed.")
]
AcceptSmaller = Annotated[
    bool,
    typer.Option(
        "--accept-smaller-crowd",
        help="Go on with fewer people than planned; recompute the guarantee.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]


def keep(output: Path, *inputs: Path) -> None:
    """Raises UsageError if the output would overwrite an input."""
    for path in inputs:
        if output.resolve() == path.resolve():
            raise UsageError.of("-o", str(output), "is an input of this command; name another file")


def certified(path: Path) -> incrowd.Plan:
    """A plan that keeps what it says. Raises PlanError: a digest alone can be made by anybody."""
    made = incrowd.Plan.load(path)
    with working("checking the plan's certificate"):
        if not incrowd.verify(made).plan_holds:
            raise PlanError.of("plan", str(path), "does not hold: its noise is below its promise")
    return made
