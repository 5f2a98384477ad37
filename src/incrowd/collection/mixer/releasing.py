"""Making a release: one permutation of what is sealed, its digest, the signed header."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.mixer.store.store import Store
from incrowd.collection.protocol.release import Header, Signed, sign
from incrowd.files import BEGUN, NewFile, new_file, settle
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import Disk, mixed

PIECE = 1 << 20  # bytes of a body read at once
TOGETHER = 100_000  # reports spread over buckets at once


def body_file(folder: Path, signed: Signed) -> Path:
    """Where the body of a release is: it is named by what was signed."""
    return folder / f"{signed.header.body.hex()}.body"


def make(
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
