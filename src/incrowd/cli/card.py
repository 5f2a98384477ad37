"""`incrowd card`: one page about a plan, for those who decide whether it may run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say, working
from incrowd.errors import UsageError
from incrowd.plan import Plan


def card(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan, made by `incrowd plan`.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write: .html or .md.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Write a page about a plan that a review board can read; Markdown, if no file is named.

    The plan's certificate is computed now and dated today. Exit code 1 if the plan does not hold.

    \b
    Example:
      incrowd card plan.json -o card.html
    """
    from incrowd.report.card_page import markdown  # drawing is slow to import
    from incrowd.workflow import card as cards

    if output:
        cards.check_card_ending(output)
        if output.resolve() == plan.resolve():
            allowed = "is an input of this command; name another file"
            raise UsageError.of("-o", str(output), allowed)
    read = Plan.load(plan)
    with working("certifying the plan"):
        made = cards.card(read, plan.name)
    if output:
        cards.write_card(made, output)
        say(f"wrote {output}")
    if json:
        print_json(made.facts)
    elif not output:
        sys.stdout.write(markdown(made))
