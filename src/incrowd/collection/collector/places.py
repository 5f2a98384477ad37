"""Where a collector keeps what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.release import Signed
from incrowd.collection.protocol.sealed import KEY_BYTES, KeyConfiguration
from incrowd.errors import InWords, UsageError
from incrowd.files import write_private

RECEIPT, BUNDLE = "receipt.json", "bundle.json"


@dataclass(frozen=True)
class Places:
    """The files of one bundle's collector. A release is known by its first stratum."""

    root: Path

    @property
    def private(self) -> Path:
        """The private key, until everything is opened."""
        return self.root / "private.key"

    @property
    def public(self) -> Path:
        """The key configuration, which goes into the bundle."""
        return self.root / "collector_key.txt"

    @property
    def bundle(self) -> Path:
        """The bundle, once there is one."""
        return self.root / BUNDLE

    @property
    def starts(self) -> Path:
        """A folder with the starts of all releases that were taken, kept for good."""
        return self.root / "starts"

    @property
    def contradictions(self) -> Path:
        """A folder with starts that prove that the shuffler cheats."""
        return self.root / "contradictions"

    @property
    def opened_ones(self) -> Path:
        """A folder with a folder for each release that was opened."""
        return self.root / "opened"

    @property
    def waiting_ones(self) -> Path:
        """A folder with the sealed reports of releases that are not opened yet."""
        return self.root / "waiting"

    def start(self, signed: Signed) -> Path:
        """Signature and header of a release: there when all of the release is on the disk."""
        return self.starts / f"{signed.header.strata[0]}.start"

    def waiting(self, signed: Signed) -> Path:
        """The sealed reports of a release, until they are opened."""
        return self.waiting_ones / f"{signed.header.strata[0]}.body"

    def opened(self, signed: Signed) -> Path:
        """The folder with the collections of a release, its receipt and the bundle."""
        return self.opened_ones / f"release-{signed.header.strata[0]}"


def starts_in(folder: Path) -> list[Signed]:
    """All starts in a folder, which need not exist."""
    return [Signed.parse(path.read_bytes())[0] for path in sorted(folder.glob("*.start"))]


# The collector's private key: made here, never sent, destroyed when everything is opened.


def new_key(places: Places, id: int = 1) -> KeyConfiguration:
    """Make a key pair; returns what goes into the bundle. Raises UsageError if there is one."""
    if places.private.exists() or places.public.exists():
        allowed = "it holds a key already; one key is for one bundle, so name another folder"
        raise UsageError.of("folder", str(places.root), allowed)
    private = X25519PrivateKey.generate()
    made = KeyConfiguration(id, private.public_key().public_bytes_raw())
    write_private(places.private, private.private_bytes_raw())
    write_private(places.public, made.encoded.hex().encode() + b"\n")
    return made


def load_private(path: Path, bundle: Bundle) -> X25519PrivateKey:
    """The private key of a bundle. Raises UsageError if it cannot be read, or is of another."""
    try:
        content = path.read_bytes()
    except OSError as error:
        allowed = f"it cannot be read: {error.strerror}; make one before the bundle is made"
        raise UsageError.of("key", str(path), allowed) from None
    if len(content) != KEY_BYTES:
        allowed = f"should be {KEY_BYTES}, as `incrowd collector init` makes them"
        raise UsageError.of("key", InWords(f"{path} has {len(content):,} bytes"), allowed)
    private = X25519PrivateKey.from_private_bytes(content)
    if private.public_key().public_bytes_raw() != bundle.key.public:
        allowed = "it is not the key that people seal for; use the one that the bundle names"
        raise UsageError.of("key", str(path), allowed)
    return private
