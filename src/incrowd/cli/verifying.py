"""The command that checks a plan and its reports: `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli import show
from incrowd.cli.console import working
from incrowd.cli.options import AsJson, PlanFile, check_reports


def verify(
    plan: PlanFile,
    reports: Annotated[
        Path | None, typer.Argument(metavar="REPORTS", help="Reports to check as well.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Recompute a plan's certificate. Check that reports can come from the plan.

    Exit code 1 if the plan's promise does not hold, the reports cannot come from it, or they were
    made in a simulation and protect nobody.

    \b
    Example:
      incrowd verify plan.json reports.parquet
    """
    check_reports(*([reports] if reports else []))
    made = incrowd.Plan.load(plan)
    with working("recomputing the certificate"):
        parts = incrowd.stream_reports(reports, check=True) if reports else None
        found = incrowd.verify(made, parts)
    show.verification(made, found, json)
    if not found.holds:
        raise typer.Exit(1)
