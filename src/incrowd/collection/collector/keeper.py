"""What a collector does with the releases it has taken: opens them once, then destroys the key."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from incrowd.collection.collector.collections import Advance, open_release
from incrowd.collection.collector.places import Places, starts_in
from incrowd.collection.collector.receipt import check_files, load_receipt, note_contradictions
from incrowd.collection.machine import Finding, clock, memory, modes, room
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import BEGUN, destroy, write_private
from incrowd.reports.locking import locked

GRACE = timedelta(days=7)  # after the shuffler has deleted what was too small


def keep_bundle(places: Places, path: Path | None) -> Bundle:
    """The bundle of a collector's folder, put there first if a file is named.

    Raises UsageError if there is none, or another one there; a folder is for one bundle.
    """
    try:
        content = (path or places.bundle).read_bytes()
        bundle = Bundle.parse(content)
        if path and not places.bundle.exists():
            write_private(places.bundle, content, overwrite=True)
        same = places.bundle.read_bytes() == content
    except OSError as error:
        allowed = f"it cannot be read: {error.strerror}; name what the shuffler made"
        raise UsageError.of("bundle", str(error.filename), allowed) from None
    if not same:
        allowed = "the folder is of another bundle; name another folder"
        raise UsageError.of("bundle", str(path), allowed)
    return bundle


def open_waiting(
    places: Places,
    bundle: Bundle,
    private: X25519PrivateKey,
    workers: int,
    advance: Advance = lambda _: None,
) -> list[Path]:
    """Open every release that was taken and is not open yet; returns the folders made.

    May be stopped and repeated at any point: a folder appears whole, and what is sealed goes only
    when it is there.
    """
    made = []
    for signed in starts_in(places.starts):
        folder, release = places.opened(signed), places.waiting(signed)
        if not folder.exists():
            open_release(
                release,
                0,
                signed,
                bundle,
                private,
                folder,
                workers=workers,
                advance=advance,
            )
            made.append(folder)
        release.unlink(missing_ok=True)
    note_contradictions(places, bundle)
    return made


def leftovers(places: Places) -> list[Path]:
    """What a process that was killed has begun and left, of which some is opened already."""
    folders = (places.root, places.opened_ones, places.waiting_ones, places.starts)
    return [path for folder in folders for path in sorted(folder.glob(f"{BEGUN}*"))]


@contextmanager
def alone(places: Places) -> Iterator[None]:
    """No other process works in the folder meanwhile; what killed ones left is removed first.

    Raises UsageError if another one does.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(places.root / "collector", patience=0.0))
        except UsageError:
            allowed = "another collector runs in it; stop that one, or name another folder"
            raise UsageError.of("folder", str(places.root), allowed) from None
        for path in leftovers(places):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield


def is_complete(places: Places, bundle: Bundle, now: datetime) -> bool:
    """Whether all releases that can come are open: of every stratum, or no more are made."""
    known = starts_in(places.starts)
    if not all(places.opened(signed).exists() for signed in known):
        return False
    released = {number for signed in known for number in signed.header.strata}
    return len(released) == len(bundle.strata) or now >= as_time(bundle.disposes) + GRACE


def forget(places: Places, bundle: Bundle, now: datetime) -> bool:
    """Destroy the private key if nothing is left to open; whether it is gone."""
    if is_complete(places, bundle, now) and places.private.exists():
        destroy(places.private)
    return not places.private.exists()


# Findings about the machine of a collector, each with what would fix it.


def check_machine(places: Places, bundle: Bundle, now: datetime) -> list[Finding]:
    """All findings, in a fixed order."""
    looks: Iterable[Iterator[Finding]] = (
        modes((places.root, places.private)),
        memory(),
        clock(),
        _room(places, bundle),
        _releases(places),
        _cheating(places),
        _left(places, bundle, now),
    )
    return list(chain.from_iterable(looks))


def _room(places: Places, bundle: Bundle) -> Iterator[Finding]:
    """For as many people as the crowd three times over: sealed, in buckets, and opened."""
    crowd = bundle.plan.survey.crowd * len(bundle.strata)
    return room(places.root, 3 * 3 * crowd * bundle.places * bundle.sealed_length)


def _releases(places: Places) -> Iterator[Finding]:
    """Whether what was taken is opened, and is still what was written then."""
    for signed in starts_in(places.starts):
        folder = places.opened(signed)
        yield Finding(f"release {signed.header.strata[0]}", *_state(folder))


def _state(folder: Path) -> tuple[bool, str]:
    if not folder.exists():
        return False, "it waits to be opened; start the collector"
    try:
        receipt, _ = load_receipt(folder)
        check_files(receipt, folder)
    except IncrowdError as error:
        return False, str(error)
    rejected = sum(receipt.rejected.values())
    return True, f"opened, {receipt.accepted:,} reports accepted, {rejected:,} rejected"


def _cheating(places: Places) -> Iterator[Finding]:
    if many := len(starts_in(places.contradictions)):
        said = f"{many} that exclude each other; keep {places.contradictions}: it is a proof"
        yield Finding("signed by the shuffler", False, said)


def _left(places: Places, bundle: Bundle, now: datetime) -> Iterator[Finding]:
    """What is there that should be gone: the key at the end, and what a killed process left."""
    left = [str(path) for path in leftovers(places)]
    if is_complete(places, bundle, now) and places.private.exists():
        left.append(str(places.private))
    said = ", ".join(left) + "; start the collector once more" if left else "nothing"
    yield Finding("left over", not left, said)
