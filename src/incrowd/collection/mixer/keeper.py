"""What happens by itself: closing, releasing, delivering, deleting, and the end of the key.

Every step can be stopped anywhere, and is taken up again where the database says that it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.machine import Clock
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import Store, Stratum
from incrowd.collection.mixer.store.writing import CLOSING, FINAL, OPEN, RELEASED
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.protocol.release import Header, Signed, sign
from incrowd.collection.settings import ShufflerSettings
from incrowd.errors import InWords
from incrowd.files import BEGUN, NewFile, destroy, new_file, private_folder, settle
from incrowd.plans.strata import Group, releases
from incrowd.reports.locking import locked
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import Disk, mixed


def due(strata: Sequence[Stratum], now: datetime, bundle: Bundle) -> list[Group]:
    """The releases that are due: enough people, and the time or the wanted number."""
    still = [stratum for stratum in strata if stratum.state == OPEN]
    least, wanted = bundle.least_people, bundle.wanted
    if now < as_time(bundle.closes):
        return [(s.number,) for s in still if wanted is not None and s.people >= wanted]
    return releases({s.number: s.people for s in still}, least, bundle.small_strata)


def outdated(strata: Sequence[Stratum], now: datetime, bundle: Bundle) -> Group:
    """The strata that nobody will release any more."""
    if now < as_time(bundle.disposes):
        return ()
    released = {number for group in due(strata, now, bundle) for number in group}
    return tuple(s.number for s in strata if s.state == OPEN and s.number not in released)


def groups(strata: Sequence[Stratum], state: str) -> list[Group]:
    """The releases that are in a state, each with its strata."""
    firsts = sorted({s.release for s in strata if s.state == state and s.release is not None})
    return [tuple(s.number for s in strata if s.release == first) for first in firsts]


def is_over(strata: Sequence[Stratum]) -> bool:
    """Whether nothing is open, and nothing waits for the collector."""
    return all(stratum.state in FINAL for stratum in strata)


# A release goes to the collector's address, the same bytes until it says that it has them.


SECONDS = 300.0
PATH = "/release"

Courier = Callable[[bytes, Path], bool]  # signed header, body -> whether the collector has it


def acknowledgement(start: bytes) -> str:
    """What a collector names with status 200: SHA-256 of signature and header, hexadecimal."""
    return hashlib.sha256(start).hexdigest()


def courier(address: str) -> Courier:
    """Posts a release to a collector, by no way round: redirections are not followed."""

    def deliver(start: bytes, body: Path) -> bool:
        import httpx  # a shuffler that starts has nothing to deliver yet

        length = len(start) + body.stat().st_size
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(length)}
        content = pieces(start, body)
        try:
            answer = httpx.post(address + PATH, content=content, headers=headers, timeout=SECONDS)
        except httpx.HTTPError:
            return False
        return answer.status_code == 200 and acknowledgement(start) in answer.text

    return deliver


FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(hours=1)


class Keeper:
    """Looks what is due, in one process at a time of those that share the folder."""

    def __init__(
        self, store: Store, settings: ShufflerSettings, clock: Clock, courier: Courier
    ) -> None:
        self.store, self.settings, self.clock, self.courier = store, settings, clock, courier
        self._pauses: dict[Group, tuple[datetime, timedelta]] = {}
        self._ended = False

    def look(self) -> None:
        """Do all that is due. Raises StoreError, OSError; what was begun goes on next time.

        Raises UsageError if another process is at it.
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
        """Send what was signed, and nothing else; after a refusal wait for twice as long.

        A clock that was set back since then keeps nothing waiting for longer than a pause.
        """
        now = self.clock()
        again, pause = self._pauses.get(group, (now, FIRST_PAUSE))
        if now < again <= now + pause:
            return
        start = self.store.start_of(min(group))
        assert start is not None, "a released stratum has a signed header"
        signed, _ = Signed.parse(start)
        body = body_file(self.settings.releases, signed)
        if not body.exists() or digest(body) != signed.header.body:
            allowed = "should be as it was signed; another order would look like cheating"
            raise StoreError.of("release", InWords("was changed, or is gone"), allowed)
        if self.courier(start, body):
            self.store.acknowledge(group)
            body.unlink()
        else:
            self._pauses[group] = now + pause, min(2 * pause, LONGEST_PAUSE)

    def _end(self) -> None:
        """Destroy the key, then delete what nobody can read any more."""
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


PIECE = 1 << 20  # bytes of a body read at once
TOGETHER = 100_000  # reports spread over buckets at once


def body_file(folder: Path, signed: Signed) -> Path:
    """Where the body of a release is: it is named by what was signed."""
    return folder / f"{signed.header.body.hex()}.body"


def make_release(
    store: Store, strata: Sequence[int], folder: Path, keystream: Keystream, key: Ed25519PrivateKey
) -> None:
    """Write the body of closed strata in a uniformly random order, then keep the signed header.

    A process that is stopped before the last step leaves nothing that anybody has seen, so that
    the next one draws another order. Nobody else makes a release in this folder meanwhile.
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
    """Write every report, and let the file reach the disk. How many there are."""
    count, width = 0, store.bundle.sealed_length
    with ExitStack() as buckets:
        pieces, disk = _packed(store.sealed(strata), width), Disk(body.path.parent, buckets)
        for packed in mixed(pieces, width, keystream, disk):
            body.file.write(packed.data)
            count += len(packed)
    settle(body.file)
    return count


def _packed(sealed: Iterator[bytes], width: int) -> Iterator[np.ndarray]:
    """The same as uint8, shape (reports, bytes), some megabytes at a time."""
    while piece := b"".join(islice(sealed, TOGETHER)):
        yield np.frombuffer(piece, np.uint8).reshape(-1, width)


def digest(path: Path) -> bytes:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def pieces(start: bytes, path: Path) -> Iterator[bytes]:
    """A release as it travels."""
    yield start
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
