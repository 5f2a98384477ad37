"""The time, passed in wherever something depends on it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system() -> datetime:
    """Now, in UTC, by the clock of this machine."""
    return datetime.now(UTC)
