"""Results for people (rich tables) or machines (JSON)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from incrowd.cli.console import out, print_json, printed_as_json, say
from incrowd.errors import quantity
from incrowd.estimation.receipts import (
    Received,
    receipt_sentences,
    unaccounted,
    without_receipt,
)
from incrowd.plans import Message, Plan
from incrowd.plans.claims import ClaimedRelease
from incrowd.plans.strata import left_out
from incrowd.presentation import terminal
from incrowd.presentation.data import json_ready
from incrowd.reports.tally import Tally
from incrowd.sampling.streaming import WrittenReports
from incrowd.views import Result, View, of_the_only

CURATED = (
    "the counts protect people from everyone who reads them, and not from whoever has the answers: "
    "publish the counts, and nothing else"
)


def randomized(plan: Plan, written: WrittenReports, json: bool) -> None:
    """Show the files written. For one message, its bits and file are repeated at the top level."""
    strata = [{"strata": list(names)} for names in written.strata] or [{}] * len(written.files)
    files = list(zip(cycle(plan.messages), written.reports, written.files, strict=False))
    messages = [
        {"questions": list(message.ids), _kind(message): number}
        | {"bits": message.file_bits, "output": str(file)}
        | names
        for (message, number, file), names in zip(files, strata, strict=True)
    ]
    facts = {
        "reports": sum(number for message, number, _ in files if not message.by_services),
        "rows": written.rows,
        "people": written.rows,
        **of_the_only(messages, "bits", "output"),
        "plan": plan.digest,
        "messages": messages,
    }
    if plan.survey.open:
        facts["not_released"] = list(left_out(plan.survey, written.strata))
    if printed_as_json(json, facts, written.seed):
        return
    say(f"randomized {quantity(written.rows, 'rows')} of answers")
    for message, number, file in files:
        say(f"wrote {quantity(number, _kind(message))} to {file}")
    if plan.by_services:
        say(CURATED)


def _kind(message: Message) -> str:
    """Return what the rows of a file are."""
    return "counts" if message.by_services else "reports"


def counted(tally: Tally, output: Path, json: bool) -> None:
    """Show the counts of a tally."""
    messages = {
        number + 1: {"people": counts.declared, "noise_added": counts.draws}
        if counts.draws
        else {"accepted": counts.accepted, "rejected": counts.rejected}
        for number, counts in sorted(tally.messages.items())
    }
    facts = {"output": str(output), "tables": tally.tables, "messages": messages}
    if printed_as_json(json, facts, tally.seed):
        return
    for number, counts in messages.items():
        if "people" in counts:
            say(f"message {number}: published counts of {quantity(counts['people'], 'people')}")
            continue
        say(f"message {number}: {counts['accepted']:,} accepted, {counts['rejected']:,} rejected")
    say(f"wrote {output}")


def receipts(received: Sequence[Received], releases: Iterable[ClaimedRelease] = ()) -> None:
    """Show what the receipts say about reports collected over a network, in these releases."""
    for receipt in received:
        for text in receipt_sentences(receipt):
            say(text)
    for text in (*unaccounted(received), *without_receipt(releases, received)):
        say(text)


def result(shown: Result, json: bool, verbose: bool = False) -> None:
    """Show a result at a terminal: figures on standard output, notes on standard error."""
    if json:
        print_json(json_ready(shown))
    else:
        _print(terminal.printed(shown, verbose=verbose))


def view(shown: View, facts: dict[str, Any], seed: int | None, json: bool) -> None:
    """Show a view at a terminal. facts: JSON-ready. seed: None for real reports."""
    if not printed_as_json(json, facts, seed):
        _print(terminal.of_view(shown))


def _print(parts: Iterable[terminal.Printed]) -> None:
    for part in parts:
        if part.note:
            say(str(part.text))
        else:
            out.print(part.text, markup=False, highlight=False)
