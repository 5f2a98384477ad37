"""The commands that work a plan's promise out anew: `verify` and `card`."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import print_json, say, working
from incrowd.cli.naming import naming
from incrowd.cli.options import AsJson, PlanFile, check_reports, keep
from incrowd.files import checked_ending


def verify(
    plan: PlanFile,
    reports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="REPORTS", help="Reports to check as well, of all strata."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Recompute a plan's certificate. Check that reports can come from the plan.

    Of reports that came over a network their receipt is checked as well.

    Exit code 1 if the plan's promise does not hold for the reports (as where one party mixed and
    opened them, or they were made in a simulation), or if they cannot come from the plan.

    \b
    Example:
      incrowd verify plan.json reports.parquet
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of
    from incrowd.presentation import verified

    paths = reports or []
    check_reports(*paths)
    made = incrowd.Plan.load(plan)
    with working("recomputing the certificate"):
        each = (incrowd.stream_reports(path, check=True) for path in paths)
        with naming(*paths):
            received = receipts_of(made, paths, files=True)
            parts = chain.from_iterable(each) if paths else None
            found = incrowd.verify(made, parts, received=received)
    show.result(verified.view(made, found, received), json)
    if not found.holds:
        raise typer.Exit(1)


def card(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, or the shuffler's bundle.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write: .html or .md.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a page about a plan, for a review board. Markdown, if no file is named.

    The plan's certificate is computed now and dated today. Of a bundle the card states what holds
    for its collection, which is less where one party mixes and opens. Exit code 1 if the plan does
    not hold.

    \b
    Example:
      incrowd card plan.json -o card.html
    """
    from incrowd.collection.claims import bundle_guarantee
    from incrowd.collection.page.files import is_bundle
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.presentation import card as cards
    from incrowd.presentation.card import markdown
    from incrowd.presentation.write import CARD_WRITERS, write_card

    if output:
        checked_ending(output, CARD_WRITERS)
        keep(output, plan)
    with working("certifying the plan"), naming(plan):
        if is_bundle(plan):
            bundle = Bundle.parse(plan.read_bytes())
            written = cards.certified_card(bundle.plan, promise=bundle_guarantee(bundle))
        else:
            written = cards.certified_card(incrowd.Plan.load(plan), plan.name)
    if output:
        write_card(written, output)
        say(f"wrote {output}")
    if json:
        print_json(written.facts)
    elif not output:
        sys.stdout.write(markdown(written))
