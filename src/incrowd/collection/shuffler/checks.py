"""What a shuffler's machine is like: findings, each with what would work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sqlalchemy import text

from incrowd.collection.machine import Finding, clock, memory, modes, room
from incrowd.collection.shuffler.closing import is_over
from incrowd.collection.shuffler.config import Settings
from incrowd.collection.store.store import Store
from incrowd.collection.wire.upload import upload_length

QUIET = {  # what PostgreSQL must not write down
    "log_error_verbosity": ("terse",),
    "log_min_error_statement": ("panic",),
    "log_statement": ("none",),
    "log_min_duration_statement": ("-1",),
    "log_parameter_max_length_on_error": ("0",),
    "log_connections": ("off",),
}


def check(settings: Settings, store: Store) -> list[Finding]:
    """All findings, in a fixed order."""
    looks: list[Callable[[], Iterator[Finding]]] = [
        lambda: modes(_private(settings)),
        lambda: _secret(settings),
        memory,
        clock,
        lambda: _room(settings, store),
        lambda: _database(store),
        lambda: _left(settings, store),
    ]
    return [finding for look in looks for finding in look()]


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


def _private(settings: Settings) -> Iterable[Path]:
    return settings.folder, settings.signing_file, settings.secret_file, settings.releases


def _room(settings: Settings, store: Store) -> Iterator[Finding]:
    """For as many people as the crowd three times over: rows, their log, the release."""
    survey = store.bundle.plan.survey
    needed = 3 * 3 * survey.crowd * len(store.bundle.strata) * upload_length(store.bundle)
    return room(settings.folder, needed)


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
