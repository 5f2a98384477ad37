"""What happens by itself: closing, releasing, delivering, deleting, and the end of the key.

Every step can be stopped anywhere, and is taken up again where the database says that it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.machine import Clock
from incrowd.collection.mixer import closing, releasing
from incrowd.collection.mixer.config import Settings
from incrowd.collection.mixer.releasing import pieces
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.mixer.store.writing import CLOSING, RELEASED
from incrowd.collection.protocol.release import Signed
from incrowd.errors import InWords
from incrowd.files import destroy, private_folder
from incrowd.plans.strata import Group
from incrowd.reports.locking import locked
from incrowd.sampling.keystream import Keystream

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

    def __init__(self, store: Store, settings: Settings, clock: Clock, courier: Courier) -> None:
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
            for group in closing.groups(self.store.strata(), CLOSING):
                self._make(group)
            for group in closing.groups(self.store.strata(), RELEASED):
                self._deliver(group)
            if closing.is_over(self.store.strata()):
                self._end()

    def _close(self) -> None:
        store, now = self.store, self.clock()
        for group in closing.due(store.strata(), now, store.bundle):
            store.close(group, store.bundle.least_people)
        if old := closing.outdated(store.strata(), now, store.bundle):
            store.dispose(old)

    def _make(self, group: Group) -> None:
        keystream = Keystream.from_system()
        releasing.make(self.store, group, self.settings.releases, keystream, self._key)

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
        body = releasing.body_file(self.settings.releases, signed)
        if not body.exists() or releasing.digest(body) != signed.header.body:
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
