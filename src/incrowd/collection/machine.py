"""Checks of the machine that runs a service, and the protection of its memory."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

Clock = Callable[[], datetime]
SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # sleep included, if possible
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
TOGETHER = 1.0  # seconds within which two clocks are read


def system() -> datetime:
    """Return the current time of this machine, in UTC."""
    return datetime.now(UTC)


class ClockReading(NamedTuple):
    """Two clocks at one moment. seconds: since boot. boot: an id, "" if it cannot be read."""

    time: datetime
    seconds: float
    boot: str


def read_clocks() -> ClockReading:
    """Read both clocks, again if the process was interrupted in between."""
    while True:
        before, now = time.clock_gettime(SINCE_BOOT), system()
        seconds = time.clock_gettime(SINCE_BOOT)
        if seconds - before < TOGETHER:
            return ClockReading(now, seconds, _boot_id())


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


UNSYNCHRONIZED = 0x40  # of adjtimex(2), STA_UNSYNC
TIMEX_BYTES = 208
OTHERS = 0o077  # modes that let other users read, write or enter
SWAPS, CORES = Path("/proc/swaps"), Path("/proc/sys/kernel/core_pattern")


class MachineFinding(NamedTuple):
    """The result of a check: its subject, whether it passed, and the state or the remedy."""

    subject: str
    good: bool
    text: str


def protect() -> None:
    """Protect the memory of this process: no core dumps, no debugger of the same user."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    library = ctypes.CDLL(None)
    if hasattr(library, "prctl"):
        library.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def modes(paths: Iterable[Path]) -> Iterator[MachineFinding]:
    """Check that only the owner can access the files and folders that exist."""
    for path in paths:
        if path.exists():
            mode = path.stat().st_mode & 0o777
            text = f"mode {mode:o}" if not mode & OTHERS else f"mode {mode:o}; run chmod go= {path}"
            yield MachineFinding(f"permissions of {path.name}", not mode & OTHERS, text)


def memory() -> Iterator[MachineFinding]:
    """Check whether the memory of a service can reach a disk."""
    swaps = SWAPS.read_text().splitlines()[1:] if SWAPS.exists() else []
    text = (
        "none"
        if not swaps
        else "memory can be written to disk; run swapoff -a, or encrypt the swap space"
    )
    yield MachineFinding("swap", not swaps, text)
    pattern = CORES.read_text().strip() if CORES.exists() else ""
    piped = pattern.startswith("|")
    text = "a program collects them, but the services do not produce any" if piped else "none"
    yield MachineFinding("core dumps", True, text)


def clock() -> Iterator[MachineFinding]:
    """Check whether the kernel reports a synchronized clock."""
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)
    library = ctypes.CDLL(None)
    state = library.adjtimex(buffer) if hasattr(library, "adjtimex") else -1
    status = int.from_bytes(buffer.raw[40:44], "little") if state >= 0 else UNSYNCHRONIZED
    good = not status & UNSYNCHRONIZED
    yield MachineFinding(
        "clock", good, "synchronized" if good else "not synchronized; run an NTP client"
    )


def room(folder: Path, needed: int) -> Iterator[MachineFinding]:
    """Check the free space of a folder's disk. needed: bytes for three times the crowd."""
    free = shutil.disk_usage(folder).free
    text = f"{free >> 20:,} MiB free, {needed >> 20:,} MiB for three times the crowd"
    yield MachineFinding("disk", free >= needed, text)


def cores() -> int:
    """Return how many processes can run at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
