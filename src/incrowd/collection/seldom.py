"""Rate-limited logging: otherwise anyone who sends requests could fill the disk."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

MINUTE = 60.0  # seconds between two lines of a kind


class SeldomLog:
    """A log with at most one line a minute of each kind; it states how many were left out.

    now: a clock that only goes forward.
    """

    def __init__(self, log: logging.Logger, now: Callable[[], float] = time.monotonic) -> None:
        self._log, self._now = log, now
        self._next: dict[str, float] = {}
        self._left_out = Counter[str]()

    def __call__(self, level: int, kind: str, text: str) -> None:
        """Log a line, unless there was one of this kind in the last minute.

        kind: one of a few; nothing that a sender chooses.
        """
        now = self._now()
        if now < self._next.get(kind, now):
            self._left_out[kind] += 1
            return
        left_out = self._left_out.pop(kind, 0)
        more = f" (and {left_out:,} times more since the last such line)" if left_out else ""
        self._next[kind] = now + MINUTE
        self._log.log(level, "%s%s", text, more)
