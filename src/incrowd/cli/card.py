"""`incrowd card`: one page about a plan, for those who decide whether it may run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say, working
from incrowd.cli.options import AsJson, PlanFile, keep
from incrowd.plans import Plan


def card(
    plan: PlanFile,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write: .html or .md.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Write a page about a plan, for a review board. Markdown, if no file is named.

    The plan's certificate is computed now and dated today. Exit code 1 if the plan does not hold.

    \b
    Example:
      incrowd card plan.json -o card.html
    """
    from incrowd.presentation.card import markdown  # templates are slow to import
    from incrowd.presentation.write import CARD_WRITERS, check_ending, write_card
    from incrowd.workflow import card as cards

    if output:
        check_ending(output, CARD_WRITERS)
        keep(output, plan)
    read = Plan.load(plan)
    with working("certifying the plan"):
        made = cards.card(read, plan.name)
    if output:
        write_card(made, output)
        say(f"wrote {output}")
    if json:
        print_json(made.facts)
    elif not output:
        sys.stdout.write(markdown(made))
