"""A person who joins the demonstration: links, a browser, and waiting for her or for Enter."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from incrowd.cli.console import say
from incrowd.collection.visiting import Visit

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
