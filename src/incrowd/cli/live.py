"""The demonstration over a network on this machine: `demo --live`."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.cli.console import out, print_json, progress, say, working
from incrowd.cli.guest import AtBrowser
from incrowd.cli.options import make_folder
from incrowd.collection.collector.receipt import received
from incrowd.collection.rehearsal import Rehearsed, crowd_of, rehearse, what_each_saw
from incrowd.encoding.people import People
from incrowd.errors import UsageError
from incrowd.files import write_text
from incrowd.presentation import terminal
from incrowd.presentation.data import as_json
from incrowd.presentation.receipts import receipt_facts, receipt_sentences


def live(
    survey: incrowd.Survey,
    answers: pa.Table,
    people: int,
    output: Path,
    json: bool,
    wait: float | None = None,
) -> None:
    """Plan for so many people, let them send, estimate what was opened; say who saw what.

    wait: seconds for one more person, at a browser; None for nobody.
    """
    asked = survey.model_copy(update={"crowd": crowd_of(people)})
    if people > answers.num_rows:
        allowed = f"should be at most {answers.num_rows:,}, the rows of the data"
        raise UsageError.of("people", people, allowed)
    make_folder(output)
    with working("planning"):
        plan = incrowd.plan(asked)
    write_text(output / "plan.json", plan.dumps())
    rows = np.sort(np.random.default_rng(0).permutation(answers.num_rows)[:people])
    chosen = answers.take(pa.array(rows))
    with tempfile.TemporaryDirectory(prefix="incrowd-") as folder:
        with progress("sending, people", people) as advance:
            everybody = People.of(asked, chosen)
            guest = None if wait is None else AtBrowser(wait)
            found = rehearse(plan, everybody, Path(folder), advance=advance, guest=guest)
        reports = _copied(found.opened[0], output / "reports")
    [receipt] = found.receipts
    came = [received(receipt, found.bundle)]
    estimates = incrowd.estimate(plan, incrowd.load_reports(reports), received=came)
    compared = dataclasses.replace(estimates, truth=incrowd.truth(plan, chosen))
    incrowd.save_estimates(compared, output / "report.html")
    if json:
        print_json(as_json(compared) | _facts(found, receipt_facts(came[0])))
        return
    out.print(terminal.terminal(compared))
    for sentence in receipt_sentences(came[0]):
        say(sentence)
    for who, what in what_each_saw(found):
        out.print(f"{who}: {what}", markup=False, highlight=False)
    if found.guests:
        say(f"with the answers of {found.guests} at the browser; the true shares are the others'")
    say(f"{found.crowd.uploads_per_second:,.0f} uploads a second, sealed on this machine as well")
    say(f"wrote {output / 'report.html'}, {reports}")


def _copied(opened: Path, folder: Path) -> Path:
    """The collections with their receipt and bundle, in the place of an earlier run's."""
    for old in folder.glob("message-*.parquet"):
        old.unlink()
    shutil.copytree(opened, folder, dirs_exist_ok=True)
    return folder


def _facts(found: Rehearsed, receipt: dict[str, Any]) -> dict[str, Any]:
    return {
        "people": found.crowd.people,
        "guests": found.guests,
        "uploads_per_second": found.crowd.uploads_per_second,
        "sealed_reports": sum(each.reports for each in found.receipts),
        "rejected": sum(sum(each.rejected.values()) for each in found.receipts),
        "receipt": receipt,
        "seen": dict(what_each_saw(found)),
        "codes_found": found.codes_found,
        "key_destroyed": found.key_destroyed,
    }
