"""Results for people (rich tables) or machines (JSON)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path

from incrowd.cli.console import out, print_json, printed_as_json, say
from incrowd.estimation.results import Estimates, Received
from incrowd.plans import Plan
from incrowd.plans.claims import Release
from incrowd.plans.strata import left_out
from incrowd.presentation import terminal
from incrowd.presentation.data import as_json, of_the_only
from incrowd.presentation.receipts import receipt_sentences, without_receipt
from incrowd.presentation.terminal_tables import numbers_table
from incrowd.presentation.view import View
from incrowd.reports.tally import Tally
from incrowd.sampling.streaming import Written


def randomized(made: Plan, written: Written, json: bool) -> None:
    """What was written. Bits, reports and file are given once more outside for one message."""
    whose = [{"strata": list(names)} for names in written.strata] or [{}] * len(written.files)
    messages = [
        {"questions": list(m.ids), "reports": reports, "bits": m.bits, "output": str(file)} | names
        for m, reports, file, names in zip(
            cycle(made.messages), written.reports, written.files, whose, strict=False
        )
    ]
    facts = {
        "reports": sum(written.reports),
        "rows": written.rows,
        "people": written.rows,
        **of_the_only(messages, "bits", "output"),
        "plan": made.digest,
        "messages": messages,
    }
    if made.survey.open:
        facts["not_released"] = list(left_out(made.survey, written.strata))
    if printed_as_json(json, facts, written.seed):
        return
    say(f"randomised {written.rows:,} rows of answers")
    for message in messages:
        say(f"wrote {message['reports']:,} reports to {message['output']}")


def counted(found: Tally, output: Path, json: bool) -> None:
    """What was counted."""
    messages = {
        number + 1: {"accepted": counts.accepted, "rejected": counts.rejected}
        for number, counts in sorted(found.messages.items())
    }
    facts = {"output": str(output), "tables": found.tables, "messages": messages}
    if printed_as_json(json, facts, found.seed):
        return
    for number, counts in messages.items():
        say(f"message {number}: {counts['accepted']:,} accepted, {counts['rejected']:,} rejected")
    say(f"wrote {output}")


def estimates(found: Estimates, json: bool) -> None:
    """The tables."""
    if json:
        print_json(as_json(found))
    else:
        out.print(terminal.terminal(found))


def receipts(received: Sequence[Received], releases: Iterable[Release] = ()) -> None:
    """What the receipts say of reports that came over a network, in those releases."""
    for each in received:
        for text in receipt_sentences(each):
            say(text)
    for text in without_receipt(releases, received):
        say(text)


def result(found: View, json: bool) -> None:
    """A view at a terminal: figures on standard output, what is said of them on standard error."""
    if printed_as_json(json, dict(found.facts), found.seed):
        return
    for text in found.legend:
        out.print(text, markup=False, highlight=False)
    if found.promise:
        say(found.promise)
    for text in found.lines:
        out.print(text, markup=False, highlight=False)
    for table in found.tables:
        out.print(numbers_table(table))
        for text in table.notes:
            say(text)
    for text in found.notes:
        say(text)
