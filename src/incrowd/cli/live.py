"""The demonstration over HTTP on this machine: `demo --live`."""

from __future__ import annotations

import dataclasses
import math
import os
import select
import shutil
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.cli.console import out, print_json, progress, say, working
from incrowd.cli.options import make_folder
from incrowd.collection.collector.receipt import Receipt, received
from incrowd.collection.in_node import OLDEST, node
from incrowd.collection.rehearsal import (
    InNode,
    Rehearsed,
    Visit,
    crowd_of,
    rehearse,
    what_each_saw,
)
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import UsageError
from incrowd.estimation.receipts import receipt_sentences
from incrowd.files import write_text
from incrowd.plans.message import SERVICES
from incrowd.presentation import terminal
from incrowd.presentation.data import json_ready
from incrowd.views import with_and

INVITED, CAME = 4, 3  # of so many invited, so many come if services add the noise
IN_NODE = 5  # one person in so many sends with the client in TypeScript, which takes longer
POLL = 0.2  # seconds between two checks whether the person has answered


class AtBrowser:
    """Waits for a person who answers in the browser, for Enter, or for that many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.enter = seconds, Enter()

    def arrive(self, visit: Visit) -> None:
        """Show and open the pages; return when the collection may close."""
        say(f"dashboard:   {visit.dashboard}")
        say(f"survey page: {visit.page}")
        hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        update = f"{hour + timedelta(hours=1):%H:%M UTC}"
        say(f"the dashboard counts people once an hour, next at {update}")
        say("it shows estimates as soon as the collection is closed and opened")
        browse(visit.dashboard, visit.page)
        say(
            f"waiting {self.seconds / 60:g} minutes for your answers; press Enter to close without "
            "them"
        )
        self._wait(visit.came)

    def leave(self) -> None:
        """Keep the dashboard open until the person has seen the estimates."""
        until = f"until Enter, or for {self.seconds / 60:g} minutes"
        say(f"closed and opened; the dashboard shows the estimates {until}")
        self._wait(lambda: self.enter.closed)

    def _wait(self, over: Callable[[], bool]) -> None:
        end = time.monotonic() + self.seconds
        while not over() and time.monotonic() < end and not self.enter.pressed(POLL):
            pass


class Enter:
    """Lines of standard input. closed: it has ended, so that Enter can no longer be pressed."""

    def __init__(self) -> None:
        self.closed = False

    def pressed(self, seconds: float) -> bool:
        """Wait at most that many seconds for a line; return whether there was one."""
        try:
            if self.closed or not select.select([sys.stdin.fileno()], [], [], seconds)[0]:
                time.sleep(seconds if self.closed else 0.0)
                return False
            read = os.read(sys.stdin.fileno(), 1 << 12)
        except (OSError, ValueError, AttributeError):  # standard input is closed
            read = b""
        self.closed = not read
        return b"\n" in read


def browse(*addresses: str) -> None:
    """Open addresses in a graphical browser if there is one. Never fails, never waits."""

    def opened() -> None:
        with suppress(webbrowser.Error, OSError):
            browser = webbrowser.get()
            # A browser in the terminal would take it over; open one only if BROWSER names it.
            if "BROWSER" in os.environ or type(browser) is not webbrowser.GenericBrowser:
                for address in addresses:
                    browser.open(address)

    threading.Thread(target=opened, daemon=True).start()


def live(
    survey: incrowd.Survey,
    answers: pa.Table,
    people: int,
    output: Path,
    json: bool,
    wait: float | None = None,
    mixers: Literal[1, 2] = 1,
) -> None:
    """Plan for that many people, let them send, estimate, and show what each party saw.

    wait: seconds to wait for one more person, at a browser; None for no such person. mixers: 1 for
    a shuffler, 2 for two mixers and an inviter.
    """
    if people > answers.num_rows:
        rows = answers.num_rows
        raise UsageError.of("people", "cli.more-than-rows", value=people, rows=rows)
    make_folder(output)
    with working("planning"):
        alone = survey.privacy.noise == "services"
        crowd = people if alone else crowd_of(people)
        plan = incrowd.plan(survey.model_copy(update={"crowd": crowd}))
        survey = plan.survey
    write_text(output / "plan.json", plan.dumps())
    rows = np.sort(np.random.default_rng(0).permutation(answers.num_rows)[:people])
    chosen = answers.take(pa.array(rows))
    with tempfile.TemporaryDirectory(prefix="incrowd-") as folder:
        with progress("sending, people", people) as advance:
            everybody = EncodedAnswers.of(survey, chosen)
            rehearsal = rehearse(
                plan,
                everybody,
                Path(folder),
                advance=advance,
                mixers=mixers,
                guest=None if wait is None else AtBrowser(wait),
                in_node=_in_node(chosen),
                invited=-(-people * INVITED // CAME) if alone else None,
            )
        reports = _copied(rehearsal.opened[0], output / "reports")
    [receipt] = rehearsal.receipts
    receipts = [received(receipt, rehearsal.bundle)]
    estimates = incrowd.estimate(plan, incrowd.load_reports(reports), received=receipts)
    compared = dataclasses.replace(estimates, truth=incrowd.truth(plan, chosen))
    incrowd.save_estimates(compared, output / "report.html")
    if json:
        facts = _facts(rehearsal, receipts[0].facts) | _published_noise(plan)
        print_json(json_ready(compared) | facts)
        return
    out.print(terminal.terminal(compared))
    for sentence in receipt_sentences(receipts[0]):
        say(sentence)
    for who, what in what_each_saw(rehearsal):
        out.print(f"{who}: {what}", markup=False, highlight=False)
    if rehearsal.guests:
        say(f"the estimates include {rehearsal.guests} at the browser; the true shares do not")
    senders = with_and(
        [f"{n:,} with the client in {name}" for name, n in rehearsal.clients.items()]
    )
    say(f"sent: {senders}")
    say(f"{rehearsal.crowd.uploads_per_second:,.0f} uploads per second, including sealing them")
    say(f"wrote {output / 'report.html'}, {reports}")


def _in_node(answers: pa.Table) -> InNode | None:
    """Return the last of the people, who send with the client in TypeScript if Node is
    installed."""
    if (program := node()) is None:
        say(f"Node {OLDEST} or newer is not installed: everybody sends with the client in Python")
        return None
    return InNode(
        program, answers.slice(answers.num_rows - answers.num_rows // IN_NODE).to_pylist()
    )


def _copied(opened: Path, folder: Path) -> Path:
    """Copy the collections, receipt and bundle to a folder, replacing those of an earlier run."""
    for old in folder.glob("message-*.parquet"):
        old.unlink()
    shutil.copytree(opened, folder, dirs_exist_ok=True)
    return folder


def _reports(receipts: Sequence[Receipt]) -> dict[str, int]:
    """Return the numbers of reports; none if services add noise."""
    if any(receipt.counts_only for receipt in receipts):
        return {}
    return {
        "sealed_reports": sum(each.reports for each in receipts),
        "rejected": sum(sum(each.rejected.values()) for each in receipts),
    }


def _published_noise(plan: incrowd.Plan) -> dict[str, float]:
    """Return the standard deviation of the noise of each published count, in people; nothing if the
    devices add the noise."""
    variances = [each.added.variance for each in plan.messages if each.added]
    return {"published_noise": math.sqrt(SERVICES * max(variances))} if variances else {}


def _facts(rehearsal: Rehearsed, receipt: dict[str, Any]) -> dict[str, Any]:
    return {
        "people": rehearsal.crowd.people,
        "invited": rehearsal.invited,
        "guests": rehearsal.guests,
        "clients": dict(rehearsal.clients),
        "uploads_per_second": rehearsal.crowd.uploads_per_second,
        **_reports(rehearsal.receipts),
        "receipt": receipt,
        "seen": dict(what_each_saw(rehearsal)),
        "codes_found": rehearsal.codes_found,
        "key_destroyed": rehearsal.key_destroyed,
    }
