"""The demonstration over a network on this machine: `demo --live`."""

from __future__ import annotations

import dataclasses
import os
import select
import shutil
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.cli.console import out, print_json, progress, say, working
from incrowd.cli.options import make_folder
from incrowd.collection.collector.receipt import received
from incrowd.collection.rehearsal import Rehearsed, Visit, crowd_of, rehearse, what_each_saw
from incrowd.encoding.records import People
from incrowd.errors import UsageError
from incrowd.files import write_text
from incrowd.presentation import terminal
from incrowd.presentation.data import as_json
from incrowd.presentation.receipts import receipt_facts, receipt_sentences

# A person who joins the demonstration: links, a browser, and waiting for her or for Enter.


LOOK = 0.2  # seconds between two looks whether something happened


class AtBrowser:
    """Waits for the person at the browser, for Enter, or until so many seconds are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.enter = seconds, Enter()

    def arrive(self, visit: Visit) -> None:
        """Say where to go, open it, and return when the collection may close."""
        say(f"dashboard:   {visit.dashboard}")
        say(f"survey page: {visit.page}")
        following = _next_hour(datetime.now(UTC)).strftime("%H:%M UTC")
        say(f"the dashboard counts people once an hour, next at {following}")
        say("its estimates appear as soon as the collection is closed and opened")
        browse(visit.dashboard, visit.page)
        say(f"waiting {self.seconds / 60:g} minutes for your answers; Enter closes without them")
        self._wait(visit.came)

    def leave(self) -> None:
        """Everything is opened: the dashboard is there until somebody has seen it."""
        until = f"until Enter, or for {self.seconds / 60:g} minutes"
        say(f"closed and opened; the dashboard shows the estimates {until}")
        self._wait(lambda: self.enter.never)

    def _wait(self, over: Callable[[], bool]) -> None:
        end = time.monotonic() + self.seconds
        while not over() and time.monotonic() < end and not self.enter.pressed(LOOK):
            pass


def _next_hour(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


class Enter:
    """Lines of standard input. never: it has ended, so that nobody can press Enter any more."""

    def __init__(self) -> None:
        self.never = False

    def pressed(self, seconds: float) -> bool:
        """Whether a line came; waits for it no longer than that."""
        try:
            if self.never or not select.select([sys.stdin.fileno()], [], [], seconds)[0]:
                time.sleep(seconds if self.never else 0.0)
                return False
            read = os.read(sys.stdin.fileno(), 1 << 12)
        except (OSError, ValueError, AttributeError):  # it is closed
            read = b""
        self.never = not read
        return b"\n" in read


def browse(*addresses: str) -> None:
    """Open addresses in a browser, if there is one with windows. Never fails, never waits."""

    def opened() -> None:
        with suppress(webbrowser.Error, OSError):
            found = webbrowser.get()
            # One in the terminal would take it away; who names one in BROWSER wants it.
            if "BROWSER" in os.environ or type(found) is not webbrowser.GenericBrowser:
                for address in addresses:
                    found.open(address)

    threading.Thread(target=opened, daemon=True).start()


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
