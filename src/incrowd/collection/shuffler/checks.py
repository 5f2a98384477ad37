"""What a shuffler's machine is like: findings, each with what would work."""

from __future__ import annotations

import ctypes
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import text

from incrowd.collection.shuffler.closing import is_over
from incrowd.collection.shuffler.config import Settings
from incrowd.collection.store.store import Store
from incrowd.collection.wire.upload import upload_length

UNSYNCHRONIZED = 0x40  # of adjtimex(2), STA_UNSYNC
TIMEX_BYTES = 208
OTHERS = 0o077  # modes that let anybody else read, write or enter
QUIET = {  # what PostgreSQL must not write down
    "log_error_verbosity": ("terse",),
    "log_min_error_statement": ("panic",),
    "log_statement": ("none",),
    "log_min_duration_statement": ("-1",),
    "log_parameter_max_length_on_error": ("0",),
    "log_connections": ("off",),
}
SWAPS, CORES = Path("/proc/swaps"), Path("/proc/sys/kernel/core_pattern")


class Finding(NamedTuple):
    """What was looked at, whether it is as it should be, and what was found or would work."""

    subject: str
    good: bool
    said: str


def check(settings: Settings, store: Store) -> list[Finding]:
    """All findings, in a fixed order."""
    looks: list[Callable[[], Iterator[Finding]]] = [
        lambda: _modes(settings),
        lambda: _secret(settings),
        _memory,
        _clock,
        lambda: _room(settings, store),
        lambda: _database(store),
        lambda: _left(settings, store),
    ]
    return [finding for look in looks for finding in look()]


def protect() -> None:
    """Nobody gets the memory of this process: no core dumps, no debugger of the same user."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    library = ctypes.CDLL(None)
    if hasattr(library, "prctl"):
        library.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def _modes(settings: Settings) -> Iterator[Finding]:
    paths = (settings.folder, settings.signing_file, settings.secret_file, settings.releases)
    for path in paths:
        if path.exists():
            mode = path.stat().st_mode & 0o777
            said = f"mode {mode:o}" if not mode & OTHERS else f"mode {mode:o}; chmod go= {path}"
            yield Finding(f"permissions of {path.name}", not mode & OTHERS, said)


def _secret(settings: Settings) -> Iterator[Finding]:
    """It should be where no backup reads it, and where nothing stays when it is overwritten."""
    path = settings.secret_file
    if not path.exists():
        yield Finding("the store's key", True, "destroyed: nothing in the database can be linked")
        return
    apart = path.stat().st_dev != settings.folder.stat().st_dev
    said = "on a volume of its own"
    if not apart:
        said = "on the disk of the database; set secret to a file on a volume in memory"
    yield Finding("the store's key", apart, said)


def _memory() -> Iterator[Finding]:
    swaps = SWAPS.read_text().splitlines()[1:] if SWAPS.exists() else []
    said = "none" if not swaps else "memory can be written to disk; swapoff -a, or encrypt it"
    yield Finding("swap", not swaps, said)
    pattern = CORES.read_text().strip() if CORES.exists() else ""
    piped = pattern.startswith("|")
    said = "a program takes them; `incrowd shuffler run` gives it none" if piped else "none"
    yield Finding("core dumps", True, said)


def _clock() -> Iterator[Finding]:
    """Whether the kernel knows that its clock is right."""
    buffer = ctypes.create_string_buffer(TIMEX_BYTES)
    library = ctypes.CDLL(None)
    state = library.adjtimex(buffer) if hasattr(library, "adjtimex") else -1
    status = int.from_bytes(buffer.raw[40:44], "little") if state >= 0 else UNSYNCHRONIZED
    good = not status & UNSYNCHRONIZED
    yield Finding("clock", good, "synchronized" if good else "not synchronized; run an NTP client")


def _room(settings: Settings, store: Store) -> Iterator[Finding]:
    """For as many people as the crowd three times over: rows, their log, the release."""
    survey = store.bundle.plan.survey
    needed = 3 * 3 * survey.crowd * len(store.bundle.strata) * upload_length(store.bundle)
    free = shutil.disk_usage(settings.folder).free
    said = f"{free >> 20:,} MiB free, {needed >> 20:,} MiB for three times the crowd"
    yield Finding("disk", free >= needed, said)


def _database(store: Store) -> Iterator[Finding]:
    if store.engine.dialect.name != "postgresql":
        return
    with store.engine.connect() as connection:
        for name, allowed in QUIET.items():
            value = str(connection.scalar(text(f"SHOW {name}")))
            said = f"{name} = {value}"
            good = value in allowed
            yield Finding("log of PostgreSQL", good, said if good else f"{said}; set {allowed[0]}")


def _left(settings: Settings, store: Store) -> Iterator[Finding]:
    """What is there after the last release."""
    if not is_over(store.strata()):
        return
    files = [path for path in settings.releases.glob("*.*") if not path.name.startswith(".")]
    rows = store.reports_in(range(len(store.bundle.strata))) + store.issued()
    kept = settings.secret_file.exists()
    left = [*(["the store's key"] if kept else []), *(["files"] if files else [])]
    left += ["rows"] if rows else []
    said = ", ".join(left) + "; start the shuffler once more" if left else "nothing"
    yield Finding("left after the last release", not left, said)
