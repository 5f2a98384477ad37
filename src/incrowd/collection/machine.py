"""What a service's machine is like, and what nobody gets of its memory."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

# The time, passed in wherever something depends on it.


Clock = Callable[[], datetime]


def system() -> datetime:
    """Now, in UTC, by the clock of this machine."""
    return datetime.now(UTC)


UNSYNCHRONIZED = 0x40  # of adjtimex(2), STA_UNSYNC
TIMEX_BYTES = 208
OTHERS = 0o077  # modes that let anybody else read, write or enter
SWAPS, CORES = Path("/proc/swaps"), Path("/proc/sys/kernel/core_pattern")


class Finding(NamedTuple):
    """What was looked at, whether it is as it should be, and what was found or would work."""

    subject: str
    good: bool
    said: str


def protect() -> None:
    """Nobody gets the memory of this process: no core dumps, no debugger of the same user."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    library = ctypes.CDLL(None)
    if hasattr(library, "prctl"):
        library.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def modes(paths: Iterable[Path]) -> Iterator[Finding]:
    """Whether files and folders, as far as they exist, are their owner's alone."""
    for path in paths:
        if path.exists():
            mode = path.stat().st_mode & 0o777
            said = f"mode {mode:o}" if not mode & OTHERS else f"mode {mode:o}; chmod go= {path}"
            yield Finding(f"permissions of {path.name}", not mode & OTHERS, said)


def memory() -> Iterator[Finding]:
    """Whether what a service holds in memory can reach a disk."""
    swaps = SWAPS.read_text().splitlines()[1:] if SWAPS.exists() else []
    said = "none" if not swaps else "memory can be written to disk; swapoff -a, or encrypt it"
    yield Finding("swap", not swaps, said)
    pattern = CORES.read_text().strip() if CORES.exists() else ""
    piped = pattern.startswith("|")
    said = "a program takes them; services give it none" if piped else "none"
    yield Finding("core dumps", True, said)


def clock() -> Iterator[Finding]:
    """Whether the kernel knows that its clock is right."""
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)
    library = ctypes.CDLL(None)
    state = library.adjtimex(buffer) if hasattr(library, "adjtimex") else -1
    status = int.from_bytes(buffer.raw[40:44], "little") if state >= 0 else UNSYNCHRONIZED
    good = not status & UNSYNCHRONIZED
    yield Finding("clock", good, "synchronized" if good else "not synchronized; run an NTP client")


def room(folder: Path, needed: int) -> Iterator[Finding]:
    """Whether a folder's disk has room for three times the crowd, which takes so many bytes."""
    free = shutil.disk_usage(folder).free
    said = f"{free >> 20:,} MiB free, {needed >> 20:,} MiB for three times the crowd"
    yield Finding("disk", free >= needed, said)


def cores() -> int:
    """Return how many processes can run at the same time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
