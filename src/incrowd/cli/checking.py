"""The commands that recompute a plan's guarantee: `verify` and `card`."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import print_json, say, working
from incrowd.cli.options import AsJson, PlanFile, check_reports, keep
from incrowd.errors import naming
from incrowd.files import checked_ending


def verify(
    plan: PlanFile,
    reports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="REPORTS", help="Reports to check against the plan, of all strata."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Recompute a plan's certificate. Check that reports fit the plan.

    For reports collected over a network, the receipt is checked as well.

    Exit code 1 if the plan's guarantee does not hold for the reports (for instance if one party
    both mixed and opened them, or if they were simulated), or if the plan cannot produce them.

    \b
    Example:
      incrowd verify plan.json reports.parquet
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of
    from incrowd.presentation import verified

    paths = reports or []
    check_reports(*paths)
    claimed = incrowd.Plan.load(plan)
    with working("recomputing the certificate"), naming(*paths):
        received = receipts_of(claimed, paths, files=True)
        streams = (incrowd.stream_reports(path, check=True) for path in paths)
        parts = chain.from_iterable(streams) if paths else None
        verification = incrowd.verify(claimed, parts, received=received)
    show.result(verified.view(claimed, verification, received), json)
    if not verification.holds:
        raise typer.Exit(1)


def card(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan, or the shuffler's bundle.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write: .html or .md.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a summary of a plan for a review board. Without -o, print Markdown.

    The certificate is recomputed and dated today. For a bundle, the card states the guarantee of
    its collection, which is weaker if one party both mixes and opens the reports. Exit code 1 if
    the guarantee does not hold.

    \b
    Example:
      incrowd card plan.json -o card.html
    """
    from incrowd.collection.cards import card_of
    from incrowd.presentation.card import markdown
    from incrowd.presentation.write import CARD_WRITERS, write_card

    if output:
        checked_ending(output, CARD_WRITERS)
        keep(output, plan)
    with working("certifying the plan"), naming(plan):
        written = card_of(plan)
    if output:
        write_card(written, output)
        say(f"wrote {output}")
    if json:
        print_json(written.facts)
    elif not output:
        sys.stdout.write(markdown(written))
