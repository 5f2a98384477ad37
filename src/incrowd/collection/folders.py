"""The folder of a service for one bundle: its bundle, its key, one process at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.sealed import SECRET_BYTES, KeyConfiguration, PrivateKey
from incrowd.errors import InWords, UsageError, quantity
from incrowd.files import BEGUN, write_private
from incrowd.reports.locking import locked

DEPTH = 3  # of the folders in which a service writes files


def adopt_bundle(
    file: Path, path: Path | None, check: Callable[[Bundle], object] = lambda bundle: None
) -> Bundle:
    """Return the bundle in a service's file; first copy it there if another file is named.

    check: raises an error if the service cannot serve a bundle. Raises UsageError if there is no
    bundle or a different one; each folder is for one bundle.
    """
    try:
        content = (path or file).read_bytes()
        bundle = Bundle.parse(content)
        check(bundle)
        if path and not file.exists():
            write_private(file, content, overwrite=True)
        same = file.read_bytes() == content
    except OSError as error:
        allowed = f"it cannot be read: {error.strerror}; name the bundle.json of this collection"
        raise UsageError.of("bundle", str(error.filename), allowed) from None
    if not same:
        allowed = "the folder belongs to another bundle; name another folder"
        raise UsageError.of("bundle", str(path), allowed)
    return bundle


def load_key(path: Path, configuration: KeyConfiguration, service: str) -> PrivateKey:
    """Return the private key of a configuration. service: the command that makes it.

    Raises UsageError if it is unreadable or another key.
    """
    command = f"`incrowd {service} init`"
    try:
        content = path.read_bytes()
    except OSError as error:
        allowed = f"it cannot be read: {error.strerror}; make one with {command}"
        raise UsageError.of("key", str(path), allowed) from None
    if len(content) != SECRET_BYTES:
        allowed = f"should have {SECRET_BYTES}; use the file that {command} made"
        raise UsageError.of(
            "key", InWords(f"{path} has {quantity(len(content), 'bytes')}"), allowed
        )
    private = PrivateKey(configuration.kem, content)
    if private.public != configuration.public:
        raise UsageError.of("key", str(path), OTHER_KEY)
    return private


def load_signing_key(path: Path, public: str, service: str) -> Ed25519PrivateKey:
    """Return the private key of a public Ed25519 key (hexadecimal). service: its command.

    Raises UsageError if it is unreadable or another key.
    """
    try:
        private = Ed25519PrivateKey.from_private_bytes(path.read_bytes())
    except (OSError, ValueError):
        allowed = f"it cannot be read; use the file that `incrowd {service} init` made"
        raise UsageError.of("key", str(path), allowed) from None
    if private.public_key().public_bytes_raw().hex() != public:
        raise UsageError.of("key", str(path), OTHER_KEY)
    return private


OTHER_KEY = "it does not match the public key in the bundle; use the private key of that bundle"


def check_exists(*paths: Path) -> None:
    """Raise UsageError for a private key that is missing while it is needed. None is loaded."""
    for path in paths:
        if not path.exists():
            allowed = "it does not exist; restore it: without it, nothing can be opened or signed"
            raise UsageError.of("key", str(path), allowed)


def unfinished(root: Path) -> list[Path]:
    """Return temporary files that a killed process left; some may contain opened reports."""
    patterns = ("[!.]*/" * depth + f"{BEGUN}*" for depth in range(DEPTH))
    return [path for pattern in patterns for path in sorted(root.glob(pattern))]


@contextmanager
def exclusive(root: Path, service: str) -> Iterator[None]:
    """Lock a folder against other processes, and remove what killed processes left.

    Raises UsageError if another process has the lock.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(root / service, patience=0.0))
        except UsageError:
            name = service.replace("-", " ")
            allowed = f"another {name} is running in this folder; stop it, or name another folder"
            raise UsageError.of("folder", str(root), allowed) from None
        for path in unfinished(root):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield
