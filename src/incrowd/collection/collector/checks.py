"""What a collector's machine is like: findings, each with what would work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path

from incrowd.collection.collector.keeper import is_complete, leftovers
from incrowd.collection.collector.places import Places, starts_in
from incrowd.collection.collector.receipt import check_files, load_receipt
from incrowd.collection.machine import Finding, clock, memory, modes, room
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import IncrowdError


def check(places: Places, bundle: Bundle, now: datetime) -> list[Finding]:
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
