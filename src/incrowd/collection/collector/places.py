"""The files of a collector, and its private key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from incrowd.collection.folders import BUNDLE, load_key
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.mixing import AnyRelease, Invitations, release_kind
from incrowd.collection.protocol.sealed import X25519, Kem, KeyConfiguration, PrivateKey
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.steady import CLOCK_FILE
from incrowd.collection.taking import Shelf
from incrowd.errors import UsageError
from incrowd.files import is_taken, write_private

RECEIPT = "receipt.json"
INVENTED = "invented"  # beside a receipt: the people of a rehearsal


@dataclass(frozen=True)
class CollectorPlaces:
    """The files of one bundle's collector. A release is identified by its first stratum."""

    root: Path

    @property
    def private(self) -> Path:
        """The private key, until all releases are open."""
        return self.root / "private.key"

    @property
    def public(self) -> Path:
        """The key configuration, which goes into the bundle."""
        return self.root / "collector_key.txt"

    @property
    def clock(self) -> Path:
        """The time since which the clock of this machine has been steady."""
        return self.root / CLOCK_FILE

    @property
    def bundle(self) -> Path:
        """The bundle, when it exists."""
        return self.root / BUNDLE

    def releases(self, bundle: Bundle) -> Shelf[AnyRelease]:
        """Return the files of the releases of a bundle."""
        return Shelf(release_kind(bundle), self.root)

    @property
    def invitations(self) -> Shelf[Invitations]:
        """The inviter's statement."""
        return Shelf(Invitations, self.root / "invitations")

    @property
    def opened_ones(self) -> Path:
        """The folder with one folder for each opened release."""
        return self.root / "opened"

    def opened(self, signed: Signed[AnyRelease]) -> Path:
        """Return the folder with the collections of a release, its receipt and the bundle."""
        return self.opened_ones / f"release-{signed.header.number}"


# The collector's private key: made here, never sent, destroyed after the last release is opened.


def new_key(places: CollectorPlaces, id: int = 1, kem: Kem = X25519) -> KeyConfiguration:
    """Make a key pair; return the key configuration. Raises UsageError if a key exists."""
    if is_taken(places.private) or is_taken(places.public):
        raise UsageError.of("folder", "collection.folder-with-key", folder=str(places.root))
    private = PrivateKey.generate(kem)
    configuration = private.configuration(id)
    write_private(places.private, private.secret)
    write_private(places.public, configuration.encoded.hex().encode() + b"\n")
    return configuration


def load_private(path: Path, bundle: Bundle) -> PrivateKey:
    """Return the private key of a bundle. Raises UsageError if it is unreadable or another key."""
    return load_key(path, bundle.key, "collector")
