"""The command that records what people were asked: `ledger`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import say
from incrowd.cli.estimating import added, count_paths
from incrowd.cli.options import AsJson, certified, check_reports
from incrowd.errors import UsageError, naming

AsPlanned = Annotated[
    bool,
    typer.Option(
        "--as-planned", help="Without reports: as many people took part as the plan expects."
    ),
]
LocalOnly = Annotated[
    bool,
    typer.Option(
        "--local-only", help="One party saw the reports with their senders: they were not mixed."
    ),
]


def ledger(
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="Ledger, a JSON file.")],
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="Plan that was carried out.")
    ] = None,
    reports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="REPORTS", help="All reports that arrived, or their tallies."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Create an empty ledger.")] = False,
    as_planned: AsPlanned = False,
    local_only: LocalOnly = False,
    json: AsJson = False,
) -> None:
    """Record that a plan was carried out, and who took part. Without a plan, show the ledger.

    For reports collected over a network, the receipt beside them is read as well.

    \b
    Example:
      incrowd ledger panel.json --new
      incrowd ledger panel.json first.json reports.parquet
      incrowd plan second.toml --ledger panel.json -o second.json
    """
    from incrowd.cli import show_plans
    from incrowd.collection.collector.receipt import receipts_beside
    from incrowd.planner.rounds import new_ledger
    from incrowd.plans.ledger import Ledger

    if plan is None:
        if as_planned or local_only:
            option = "--as-planned" if as_planned else "--local-only"
            raise UsageError.of("plan", "cli.option-needs-plan", option=option)
        show_plans.ledger(new_ledger(ledger) if new else Ledger.load(ledger), json)
        return
    if new:
        raise UsageError.of("--new", "cli.plan-with-new", path=str(plan))
    Ledger.load(ledger)  # fail before anything is counted
    check_reports(*(reports or []))
    carried_out = certified(plan)
    tallies = [
        (path, count_paths(carried_out, [path], []).without_tables) for path in reports or ()
    ]
    counted = added(tallies) if tallies else None
    received = receipts_beside(reports or (), carried_out, counted.releases if counted else ())
    with naming(plan):
        updated = incrowd.note(
            ledger,
            carried_out,
            counted,
            as_planned=as_planned,
            local_only=local_only,
            received=received,
        )
    say(f"wrote {ledger}")
    show_plans.ledger(updated, json)
