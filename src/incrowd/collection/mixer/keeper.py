"""The scheduled work of a mixer: close, release, deliver and delete strata; destroy the key.

A batch is a release like any other, of several strata.

Every step can be interrupted anywhere and continues from the state in the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.delivery import Courier
from incrowd.collection.handover import pauses
from incrowd.collection.mixer.inventing import invented_reports
from incrowd.collection.mixer.onward import Passed, onward
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import ClosingDecision, Store, StratumState
from incrowd.collection.mixer.store.writing import (
    ACKNOWLEDGED,
    CLOSING,
    FINAL,
    OPEN,
    RELEASED,
)
from incrowd.collection.protocol.bundle import LANE_BYTES, Bundle, MixersBundle, as_time
from incrowd.collection.protocol.signed import Signed, sign
from incrowd.collection.settings import MixerSettings
from incrowd.collection.steady import TimedClock
from incrowd.collection.steps import KEYS, LOG, STORING, WORKING, ServiceSteps, numbers
from incrowd.files import BEGUN, NewFile, destroy, new_file, private_folder, settle
from incrowd.plans.strata import StratumGroup, releases
from incrowd.reports.locking import locked
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import Disk, mixed


def due(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> list[StratumGroup]:
    """Return the groups of strata to release now: with enough people, at closing or when full.

    With two mixers, all that are large enough at closing are one group.
    """
    still = [stratum for stratum in strata if stratum.state == OPEN]
    least, wanted = bundle.least_people, bundle.enough
    if now < as_time(bundle.closes):
        return [(s.number,) for s in still if wanted is not None and s.people >= wanted]
    groups = releases({s.number: s.people for s in still}, least, bundle.small_strata)
    return [tuple(chain(*groups))] if groups and isinstance(bundle, MixersBundle) else groups


def outdated(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> StratumGroup:
    """Return the open strata that will never be released.

    With two mixers, they are known at closing: a stratum that stayed open could only be in a second
    batch.
    """
    at = bundle.closes if isinstance(bundle, MixersBundle) else bundle.disposes
    if now < as_time(at):
        return ()
    released = {number for group in due(strata, now, bundle) for number in group}
    return tuple(s.number for s in strata if s.state == OPEN and s.number not in released)


def closing(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> ClosingDecision:
    """Return the groups of strata to release now, and the strata to delete."""
    return due(strata, now, bundle), outdated(strata, now, bundle)


def disposal(strata: Sequence[StratumState], now: datetime, bundle: Bundle) -> ClosingDecision:
    """Return the strata to delete although they were to be released: with two mixers, the batch.

    A shuffler waits for the collector, however long it takes.
    """
    if not isinstance(bundle, MixersBundle) or now < as_time(bundle.disposes):
        return (), ()
    return (), tuple(s.number for s in strata if s.state not in FINAL)


def groups(strata: Sequence[StratumState], state: str) -> list[StratumGroup]:
    """Return the releases in a state, each as its strata."""
    firsts = sorted({s.release for s in strata if s.state == state and s.release is not None})
    return [tuple(s.number for s in strata if s.release == first) for first in firsts]


def is_over(strata: Sequence[StratumState]) -> bool:
    """Return whether no stratum is open or waits for the collector."""
    return all(stratum.state in FINAL for stratum in strata)


ClosingRule = Callable[[Sequence[StratumState], datetime, Bundle], ClosingDecision]


class Keeper:
    """Does the work that is due, in one process at a time of those that share the folder."""

    def __init__(
        self, store: Store, settings: MixerSettings, clock: TimedClock, courier: Courier
    ) -> None:
        self.store, self.settings, self.clock, self.courier = store, settings, clock, courier
        self._pauses = pauses(courier)
        self._ended = False
        self.steps = ServiceSteps(
            STORING, KEYS, WORKING, "closing", "releasing", "delivering", "deleting", "destroying"
        )

    def look(self) -> None:
        """Do all the work that is due. After StoreError or OSError, the next call continues.

        Raises UsageError if another process is doing it.
        """
        private_folder(self.settings.releases)
        with locked(self.settings.releases / "keeper", patience=0.0):
            try:
                with self.steps("closing"):
                    self._close(closing)
                for group in groups(self.store.strata(), CLOSING):
                    with self.steps("releasing", f"signed the release of {numbers(group)}"):
                        self._make(group)
                for group in groups(self.store.strata(), RELEASED):
                    with self.steps("delivering"):
                        self._deliver(group)
            finally:  # what cannot be delivered is disposed of all the same
                with self.steps("closing"):
                    self._close(disposal)
                self._clear()

    def _close(self, rule: ClosingRule) -> None:
        now, bundle = self.clock.confirmed(), self.store.bundle
        closed, deleted = self.store.close(lambda strata: rule(strata, now, bundle))
        for group in closed:
            LOG.info("closed %s", numbers(group))
        if deleted:
            LOG.info("deleted %s, which will never be released", numbers(deleted))

    def _make(self, group: StratumGroup) -> None:
        keystream = Keystream.from_system()
        make_release(self.store, group, self.settings.releases, keystream, self._key)

    def _deliver(self, group: StratumGroup) -> None:
        """Send exactly what was signed."""
        if not self._pauses.is_due(group, now := self.clock()):
            return
        signed = signed_of(self.store, group)
        body = body_file(self.settings.releases, signed)
        if not body.exists() or digest(body) != signed.header.body:
            raise StoreError.of("release", "collection.release-changed-or-deleted")
        if self.courier(signed.encoded, body):
            self.store.acknowledge(group)
            LOG.info("delivered %s", numbers(group))
        else:
            self._pauses.refused(group, now)

    def _clear(self) -> None:
        """Delete what was delivered; after the last release, the key comes first."""
        strata = self.store.strata()
        if is_over(strata):
            with self.steps("destroying"):
                self._end()
            return
        people = {stratum.number: stratum.people for stratum in strata}
        for group in groups(strata, ACKNOWLEDGED):
            if any(people[number] for number in group):
                with self.steps("deleting", f"deleted {numbers(group)}, which were delivered"):
                    body_file(self.settings.releases, signed_of(self.store, group)).unlink(
                        missing_ok=True
                    )
                    self.store.delete(group)

    def _end(self) -> None:
        """Destroy the key, then delete the data, which is unreadable without it."""
        if self._ended:
            return
        destroy(self.settings.secret_file)
        for body in self.settings.releases.glob("*.*"):
            body.unlink()
        self.store.forget()
        self._ended = True
        LOG.info("destroyed the store's key, and deleted what is unreadable without it")

    @cached_property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.settings.signing_file.read_bytes())


PIECE_BYTES = 1 << 24  # of reports distributed to buckets at a time


def body_file(folder: Path, signed: Signed[Passed]) -> Path:
    """Return the file of a release's body; its name is the signed digest."""
    return folder / f"{signed.header.body.hex()}.body"


def signed_groups(store: Store) -> list[StratumGroup]:
    """Return the releases that have a signed header."""
    strata = store.strata()
    return [group for state in (RELEASED, ACKNOWLEDGED) for group in groups(strata, state)]


def signed_of(store: Store, group: StratumGroup) -> Signed[Passed]:
    """Return the signed header of a release."""
    start = store.start_of(min(group))
    assert start is not None, "a released stratum has a signed header"
    signed, _ = Signed[Passed].parse(onward(store.bundle).kind, start)
    return signed


def make_release(
    store: Store, strata: StratumGroup, folder: Path, keystream: Keystream, key: Ed25519PrivateKey
) -> None:
    """Write the reports of closed strata in uniformly random order, then store the signed header.

    In a batch, each stratum is in an order of its own; if services add noise, each lane is, among
    invented reports. If the process stops before the last step, nothing was published: the next one
    deletes unread what is left, and draws a new order and new noise. No other process may make a
    release in this folder at the same time.
    """
    bundle = store.bundle
    signed_ones = {body_file(folder, signed_of(store, group)) for group in signed_groups(store)}
    for left in {*folder.glob(f"{BEGUN}*"), *folder.glob("*.body")} - signed_ones:
        left.unlink()
    with new_file(folder) as body:
        parts = onward(bundle).parts(strata)
        people = {part: _write(body, part, store, keystream) for part in parts}
        settle(body.file)
        header = onward(bundle).statement(people, store.issued(), digest(body.path))
        signed = sign(header, key)
        signed.check(bundle)
        body.publish(body_file(folder, signed))
    store.release(strata, signed.encoded)


def _write(body: NewFile, strata: StratumGroup, store: Store, keystream: Keystream) -> int:
    """Write the reports of strata in one random order, or in one for each lane; return the number
    of people.

    The reports of each lane are those of one random order of all. Raises StoreError if rows are
    missing.
    """
    bundle, width, start = store.bundle, store.bundle.envelope_length, body.file.tell()
    mark = LANE_BYTES if bundle.lanes else 0
    people = sum(each.people for each in store.strata() if each.number in strata)
    ends = [start + width * span.stop for span in bundle.spans(people)]
    places = [start, *ends[:-1]]
    with ExitStack() as buckets:
        stored = _packed(store.sealed(strata), mark + width)
        pieces = chain(stored, invented_reports(bundle, strata, keystream))
        disk = Disk(body.path.parent, buckets)
        for packed in mixed(pieces, mark + width, keystream, disk):
            for lane, reports in _by_lane(packed) if bundle.lanes else [(0, packed)]:
                body.file.seek(places[lane])
                places[lane] += body.file.write(reports.data)
    if places != ends:
        raise StoreError.of("database", "collection.rows-missing")
    body.file.seek(ends[-1])
    return people


def _by_lane(packed: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the reports of each lane in their order. packed: each follows the lane's number."""
    lanes = packed[:, 0].astype(np.int64) << 8 | packed[:, 1]
    for lane in np.unique(lanes).tolist():
        yield lane, np.ascontiguousarray(packed[lanes == lane, LANE_BYTES:])


def _packed(sealed: Iterator[bytes], width: int) -> Iterator[np.ndarray]:
    """Yield the reports as uint8 arrays of shape (reports, bytes), some megabytes each."""
    while piece := b"".join(islice(sealed, max(1, PIECE_BYTES // width))):
        yield np.frombuffer(piece, np.uint8).reshape(-1, width)


def digest(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
