"""The collector's private key: made here, never sent, destroyed when everything is opened."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from incrowd.collection.collector.places import Places
from incrowd.collection.wire.bundle import Bundle
from incrowd.collection.wire.sealed import KEY_BYTES, KeyConfiguration
from incrowd.errors import InWords, UsageError
from incrowd.files import write_private


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
