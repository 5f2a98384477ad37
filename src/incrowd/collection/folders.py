"""The folder of a service for one bundle: its bundle, its key, one process at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.sealed import SECRET_BYTES, KeyConfiguration, PrivateKey
from incrowd.errors import UsageError, unreadable
from incrowd.files import BEGUN, write_private
from incrowd.reports.locking import locked

BUNDLE = "bundle.json"  # in the folder of a service
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
        raise UsageError.of(
            "bundle",
            "collection.bundle-of-collection",
            file=str(error.filename),
            reason=unreadable(error),
        ) from None
    if not same:
        raise UsageError.of("bundle", "collection.folder-of-other-bundle", file=str(path))
    return bundle


def load_key(path: Path, configuration: KeyConfiguration, service: str) -> PrivateKey:
    """Return the private key of a configuration. service: the command that makes it.

    Raises UsageError if it is unreadable or another key.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError.of(
            "key",
            "collection.key-unreadable",
            file=str(path),
            reason=unreadable(error),
            service=service,
        ) from None
    if len(content) != SECRET_BYTES:
        raise UsageError.of(
            "key",
            "collection.key-length",
            file=str(path),
            bytes=len(content),
            right=SECRET_BYTES,
            service=service,
        )
    private = PrivateKey(configuration.kem, content)
    if private.public != configuration.public:
        raise UsageError.of("key", "collection.other-key", file=str(path))
    return private


def load_signing_key(path: Path, public: str, service: str) -> Ed25519PrivateKey:
    """Return the private key of a public Ed25519 key (hexadecimal). service: its command.

    Raises UsageError if it is unreadable or another key.
    """
    try:
        private = Ed25519PrivateKey.from_private_bytes(path.read_bytes())
    except (OSError, ValueError):
        raise UsageError.of(
            "key", "collection.signing-key-unreadable", file=str(path), service=service
        ) from None
    if private.public_key().public_bytes_raw().hex() != public:
        raise UsageError.of("key", "collection.other-key", file=str(path))
    return private


def check_exists(*paths: Path) -> None:
    """Raise UsageError for a private key that is missing while it is needed. None is loaded."""
    for path in paths:
        if not path.exists():
            raise UsageError.of("key", "collection.key-missing", file=str(path))


def unfinished(root: Path) -> list[Path]:
    """Return temporary files that a killed process left; some may contain opened reports."""
    patterns = ("[!.]*/" * depth + f"{BEGUN}*" for depth in range(DEPTH))
    return [path for pattern in patterns for path in sorted(root.glob(pattern))]


_RUNS_ALREADY = {
    "collector": "collection.collector-runs",
    "second-mixer": "collection.second-mixer-runs",
}


@contextmanager
def exclusive(root: Path, service: str) -> Iterator[None]:
    """Lock a folder against other processes, and remove what killed processes left.

    Raises UsageError if another process has the lock.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(root / service, patience=0.0))
        except UsageError:
            raise UsageError.of("folder", _RUNS_ALREADY[service], folder=str(root)) from None
        for path in unfinished(root):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield
