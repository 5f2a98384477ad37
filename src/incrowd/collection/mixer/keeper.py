"""The scheduled work of a shuffler: close, release, deliver and delete strata; destroy the key.

Every step can be interrupted anywhere and continues from the state in the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.delivery import Courier, Pauses
from incrowd.collection.machine import Clock
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import Store, StratumState
from incrowd.collection.mixer.store.writing import CLOSING, FINAL, OPEN, RELEASED
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed, sign
from incrowd.collection.settings import ShufflerSettings
from incrowd.errors import InWords
from incrowd.files import BEGUN, NewFile, destroy, new_file, private_folder, settle
from incrowd.plans.strata import Group, releases
from incrowd.reports.locking import locked
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import Disk, mixed


def due(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> list[Group]:
    """Return the groups of strata to release now: with enough people, at closing or when full."""
    still = [stratum for stratum in strata if stratum.state == OPEN]
    least, wanted = bundle.least_people, bundle.enough
    if now < as_time(bundle.closes):
        return [(s.number,) for s in still if wanted is not None and s.people >= wanted]
    return releases({s.number: s.people for s in still}, least, bundle.small_strata)


def outdated(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> Group:
    """Return the strata that will never be released."""
    if now < as_time(bundle.disposes):
        return ()
    released = {number for group in due(strata, now, bundle) for number in group}
    return tuple(s.number for s in strata if s.state == OPEN and s.number not in released)


def groups(strata: Sequence[StratumState], state: str) -> list[Group]:
    """Return the releases in a state, each as its strata."""
    firsts = sorted({s.release for s in strata if s.state == state and s.release is not None})
    return [tuple(s.number for s in strata if s.release == first) for first in firsts]


def is_over(strata: Sequence[StratumState]) -> bool:
    """Return whether no stratum is open or waits for the collector."""
    return all(stratum.state in FINAL for stratum in strata)


RELEASE = "/release"


class Keeper:
    """Does the work that is due, in one process at a time of those that share the folder."""

    def __init__(
        self, store: Store, settings: ShufflerSettings, clock: Clock, courier: Courier
    ) -> None:
        self.store, self.settings, self.clock, self.courier = store, settings, clock, courier
        self._pauses = Pauses[Group]()
        self._ended = False

    def look(self) -> None:
        """Do all the work that is due. After StoreError or OSError, the next call continues.

        Raises UsageError if another process is doing it.
        """
        private_folder(self.settings.releases)
        with locked(self.settings.releases / "keeper", patience=0.0):
            self._close()
            for group in groups(self.store.strata(), CLOSING):
                self._make(group)
            for group in groups(self.store.strata(), RELEASED):
                self._deliver(group)
            if is_over(self.store.strata()):
                self._end()

    def _close(self) -> None:
        store, now = self.store, self.clock()
        for group in due(store.strata(), now, store.bundle):
            store.close(group, store.bundle.least_people)
        if old := outdated(store.strata(), now, store.bundle):
            store.dispose(old)

    def _make(self, group: Group) -> None:
        keystream = Keystream.from_system()
        make_release(self.store, group, self.settings.releases, keystream, self._key)

    def _deliver(self, group: Group) -> None:
        """Send exactly what was signed."""
        if not self._pauses.is_due(group, now := self.clock()):
            return
        start = self.store.start_of(min(group))
        assert start is not None, "a released stratum has a signed header"
        signed, _ = Signed.parse(Header, start)
        body = body_file(self.settings.releases, signed)
        if not body.exists() or digest(body) != signed.header.body:
            allowed = "restore the signed file; a release in another order would look like cheating"
            raise StoreError.of("release", InWords("was changed or deleted"), allowed)
        if self.courier(start, body):
            self.store.acknowledge(group)
            body.unlink()
        else:
            self._pauses.refused(group, now)

    def _end(self) -> None:
        """Destroy the key, then delete the data, which is unreadable without it."""
        if self._ended:
            return
        destroy(self.settings.secret_file)
        for body in self.settings.releases.glob("*.*"):
            body.unlink()
        self.store.forget()
        self._ended = True

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.settings.signing_file.read_bytes())


TOGETHER = 100_000  # reports distributed to buckets at a time


def body_file(folder: Path, signed: Signed[Header]) -> Path:
    """Return the file of a release's body; its name is the signed digest."""
    return folder / f"{signed.header.body.hex()}.body"


def make_release(
    store: Store, strata: Sequence[int], folder: Path, keystream: Keystream, key: Ed25519PrivateKey
) -> None:
    """Write the reports of closed strata in uniformly random order, then store the signed header.

    If the process stops before the last step, nothing was published, and the next process draws a
    new order. No other process may make a release in this folder at the same time.
    """
    for left in folder.glob(f"{BEGUN}*"):
        left.unlink()
    with new_file(folder) as body:
        count = _write(body, list(strata), store, keystream)
        header = Header(
            bundle=store.bundle.digest,
            people=(people := count // store.bundle.places),
            issued=store.issued() if store.bundle.codes else 0,
            used=people if store.bundle.codes else 0,
            reports=count,
            body=digest(body.path),
            strata=tuple(strata),
        )
        signed = sign(header, key)
        signed.check(store.bundle)
        body.publish(body_file(folder, signed))
    store.release(strata, signed.encoded)


def _write(body: NewFile, strata: list[int], store: Store, keystream: Keystream) -> int:
    """Write all reports to disk; return their number."""
    count, width = 0, store.bundle.sealed_length
    with ExitStack() as buckets:
        pieces, disk = _packed(store.sealed(strata), width), Disk(body.path.parent, buckets)
        for packed in mixed(pieces, width, keystream, disk):
            body.file.write(packed.data)
            count += len(packed)
    settle(body.file)
    return count


def _packed(sealed: Iterator[bytes], width: int) -> Iterator[np.ndarray]:
    """Yield the reports as uint8 arrays of shape (reports, bytes), some megabytes each."""
    while piece := b"".join(islice(sealed, TOGETHER)):
        yield np.frombuffer(piece, np.uint8).reshape(-1, width)


def digest(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
