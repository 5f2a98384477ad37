"""A collector's folder: open its releases once, destroy the key at the end, check the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from incrowd.collection.collector.collections import check_body_file, open_release
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.receipt import check_files, load_receipt, note_later
from incrowd.collection.folders import adopt_bundle, unfinished
from incrowd.collection.machine import MachineFinding, clock, memory, modes, room
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.protocol.mixing import AnyRelease, MixedRelease
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.steady import steadiness
from incrowd.collection.taking import STATEMENT_FILE, Shelf, Taking
from incrowd.errors import IncrowdError, quantity
from incrowd.files import destroy
from incrowd.sampling.shuffle import Advance

GRACE = timedelta(days=7)  # after the shuffler deleted strata that were too small


def keep_bundle(places: CollectorPlaces, path: Path | None) -> Bundle:
    """Return the bundle in a collector's folder; first copy it there if a file is named.

    Raises UsageError if there is no bundle or a different one; each folder is for one bundle.
    """
    return adopt_bundle(places.bundle, path)


def take_file(places: CollectorPlaces, bundle: Bundle, file: Path) -> Signed[Any]:
    """Store what a mixer, or with two of them the inviter, handed over as a file; return its
    statement.

    It is checked as if it had been posted. A repetition changes nothing. Raises ProtocolError if it
    is not of this bundle, OSError if it cannot be read.
    """
    taking: Taking[Any] = Taking(bundle, places.releases(bundle), partial(check_body_file, bundle))
    if file.suffix == STATEMENT_FILE and bundle.mixers == 2:
        taking = Taking(bundle, places.invitations)
    with taking:
        taking.add_file(file)
        return taking.done()


def open_waiting(
    places: CollectorPlaces,
    bundle: Bundle,
    private: PrivateKey,
    workers: int,
    advance: Advance = lambda _: None,
) -> list[Path]:
    """Open every stored release that is not open yet; return the new folders.

    May be interrupted and repeated at any point: a folder appears whole, and sealed reports are
    deleted only after that.
    """
    folders = []
    shelf = places.releases(bundle)
    for signed in shelf.received():
        folder, release = places.opened(signed), shelf.body(signed)
        if not folder.exists():
            open_release(
                release,
                0,
                signed,
                bundle,
                private,
                folder,
                workers=workers,
                shelf=shelf,
                advance=advance,
            )
            folders.append(folder)
        release.unlink(missing_ok=True)
    note_later(places, bundle)
    return folders


def missing_strata(received: Sequence[Signed[AnyRelease]], bundle: Bundle) -> set[int]:
    """Return the strata that may still be released; a batch of the first mixer names all."""
    headers = [signed.header for signed in received]
    batches = [each.batch.header for each in headers if isinstance(each, MixedRelease)]
    named = {n for n, _ in batches[0].people} if batches else set(range(len(bundle.strata)))
    return named - {number for header in headers for number in header.strata}


def is_complete(places: CollectorPlaces, bundle: Bundle, now: datetime) -> bool:
    """Return whether everything that can still arrive is here, and every release is open."""
    received = places.releases(bundle).received()
    if not all(places.opened(signed).exists() for signed in received):
        return False
    invited = bundle.mixers == 1 or bool(places.invitations.received())
    arrived = invited and not missing_strata(received, bundle)
    return arrived or now >= as_time(bundle.disposes) + GRACE


def forget(places: CollectorPlaces, bundle: Bundle, now: datetime) -> bool:
    """Destroy the private key if nothing is left to open; return whether it is destroyed.

    First, the receipts get what arrived since they were written: no process starts again later.
    """
    if not is_complete(places, bundle, now):
        return False
    if places.private.exists():
        note_later(places, bundle)
        destroy(places.private)
    return True


# Findings about the machine of a collector, each with what would fix it.


def check_machine(places: CollectorPlaces, bundle: Bundle, now: datetime) -> list[MachineFinding]:
    """Check the machine of a collector; return the findings in a fixed order."""
    looks: Iterable[Iterator[MachineFinding]] = (
        modes((places.root, places.private)),
        memory(),
        clock(),
        steadiness(places.clock),
        _key(places, bundle, now),
        _room(places, bundle),
        _releases(places, bundle),
        _invitations(places, bundle),
        _cheating(places, bundle),
        _left(places, bundle, now),
    )
    return list(chain.from_iterable(looks))


def _room(places: CollectorPlaces, bundle: Bundle) -> Iterator[MachineFinding]:
    """Check the disk space for three times the crowd: sealed, in buckets, and opened."""
    reports = bundle.spans(3 * bundle.plan.survey.crowd)[-1].stop * len(bundle.strata)
    return room(places.root, 3 * reports * bundle.sealed_length)


def _releases(places: CollectorPlaces, bundle: Bundle) -> Iterator[MachineFinding]:
    """Check that every stored release is open and its files are unchanged."""
    for signed in places.releases(bundle).received():
        folder = places.opened(signed)
        yield MachineFinding(f"release {signed.header.strata[0]}", *_state(folder))


def _state(folder: Path) -> tuple[bool, str]:
    if not folder.exists():
        return False, "waiting to be opened; start the collector"
    try:
        receipt, _ = load_receipt(folder)
        check_files(receipt, folder)
    except IncrowdError as error:
        return False, str(error)
    if receipt.is_refused:
        people = quantity(receipt.people, "people")
        return True, f"{people}, but too few tokens; nothing was counted"
    if receipt.counts_only:
        return True, f"opened, {quantity(receipt.opened_people, 'people')}"
    rejected = sum(receipt.rejected.values())
    return True, f"opened, {quantity(receipt.accepted, 'reports')} accepted, {rejected:,} rejected"


def _invitations(places: CollectorPlaces, bundle: Bundle) -> Iterator[MachineFinding]:
    """State what the inviter signed, with two mixers."""
    if bundle.mixers == 1:
        return
    text = "the inviter's statement has not arrived"
    for signed in places.invitations.received():
        text = f"{signed.header.used:,} of {signed.header.issued:,} were used"
    yield MachineFinding("invitations", True, text)


def _cheating(places: CollectorPlaces, bundle: Bundle) -> Iterator[MachineFinding]:
    shelves: tuple[Shelf[Any], ...] = (places.releases(bundle), places.invitations)
    for shelf, what in zip(shelves, ("releases", "statements of the inviter"), strict=True):
        if many := len(shelf.proofs()):
            text = f"{many} {what} that contradict each other; keep {shelf.contradictions} as proof"
            yield MachineFinding(f"contradictory {what}", False, text)


def _key(places: CollectorPlaces, bundle: Bundle, now: datetime) -> Iterator[MachineFinding]:
    """Check that the private key exists as long as releases can arrive."""
    if not is_complete(places, bundle, now):
        text = "restore it; without it, no release can be opened"
        exists = places.private.exists()
        yield MachineFinding("the private key", exists, "exists" if exists else text)


def _left(places: CollectorPlaces, bundle: Bundle, now: datetime) -> Iterator[MachineFinding]:
    """Check for leftovers: the key after the last release, and files of killed processes."""
    left = [str(path) for path in unfinished(places.root)]
    if is_complete(places, bundle, now) and places.private.exists():
        left.append(str(places.private))
    text = ", ".join(left) + "; start the collector again" if left else "nothing"
    yield MachineFinding("leftover files", not left, text)
