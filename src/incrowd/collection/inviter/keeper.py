"""The scheduled work of an inviter: close, destroy the keys, deliver its statement, dispose.

Every step can be interrupted anywhere and continues from the state in the database.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.delivery import Courier
from incrowd.collection.handover import pauses
from incrowd.collection.inviter.store import CLOSED, DISPOSED, OPEN, InviterStore
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.mixing import Invitations
from incrowd.collection.protocol.signed import sign
from incrowd.collection.settings import InviterSettings
from incrowd.collection.steady import TimedClock
from incrowd.collection.steps import KEYS, LOG, STORING, WORKING, ServiceSteps
from incrowd.files import destroy
from incrowd.reports.locking import locked

INVITATIONS = "/invitations"


class InviterKeeper:
    """Does the work that is due, in one process at a time of those that share the folder."""

    def __init__(
        self, store: InviterStore, settings: InviterSettings, clock: TimedClock, courier: Courier
    ) -> None:
        self.store, self.settings, self.clock, self.courier = store, settings, clock, courier
        self._pauses = pauses(courier)
        self._ended = False
        self.steps = ServiceSteps(
            STORING, KEYS, WORKING, "closing", "delivering", "deleting", "destroying"
        )

    def look(self) -> None:
        """Do all the work that is due. After StoreError or OSError, the next call continues.

        Raises UsageError if another process is doing it.
        """
        now, bundle = self.clock.confirmed(), self.store.bundle
        with locked(self.settings.folder / "keeper", patience=0.0):
            if self.store.state() == OPEN and now >= as_time(bundle.closes):
                with self.steps("closing", "closed the collection, and signed the statement"):
                    self._close()
            if self.store.state() == OPEN:
                return
            with self.steps("destroying"):
                self._end()
            if now >= as_time(bundle.disposes) and self.store.state() != DISPOSED:
                with self.steps("deleting", "deleted the statement"):
                    self.store.dispose()
            if self.store.state() == CLOSED and self._pauses.is_due(INVITATIONS, self.clock()):
                with self.steps("delivering"):
                    self._deliver()

    def _close(self) -> None:
        """Sign how many invitations were used; the statement is durable before a key is gone."""
        key = Ed25519PrivateKey.from_private_bytes(self.settings.signing_file.read_bytes())
        digest = self.store.bundle.digest
        self.store.close(lambda *numbers: sign(Invitations(digest, *numbers), key).encoded)

    def _end(self) -> None:
        """Destroy all private keys, then delete the codes, which are unreadable without them."""
        if self._ended:
            return
        for file in self.settings.private_files:
            destroy(file)
        self.store.forget()
        self._ended = True
        LOG.info("destroyed all private keys, and deleted the codes")

    def _deliver(self) -> None:
        if self.courier(self.store.start(), None):
            self.store.acknowledge()
            LOG.info("delivered the statement")
        else:
            self._pauses.refused(INVITATIONS, self.clock())
