"""Making a release: one permutation of what is sealed, its digest, the signed header."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.durable import PRIVATE, settle_names
from incrowd.collection.store.store import Store
from incrowd.collection.wire.release import Header, Signed, sign
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import permutation

PIECE = 1 << 20  # bytes of a body read at once
TOGETHER = 10_000  # reports put in their places at once


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
    for left in folder.glob("*.part"):
        left.unlink()
    part = folder / f"{min(strata)}.part"
    count = _write(part, list(strata), store, keystream)
    header = Header(
        bundle=store.bundle.digest,
        people=(people := count // store.bundle.places),
        issued=store.issued() if store.bundle.codes else 0,
        used=people if store.bundle.codes else 0,
        reports=count,
        body=digest(part),
        strata=tuple(strata),
    )
    signed = sign(header, key)
    signed.check(store.bundle)
    part.replace(body_file(folder, signed))
    settle_names(folder)
    store.release(strata, signed.encoded)


def _write(path: Path, strata: list[int], store: Store, keystream: Keystream) -> int:
    """Put every report in its place, and let the file reach the disk. How many there are."""
    count = store.reports_in(strata)
    places, width = permutation(count, keystream), store.bundle.sealed_length
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE), "r+b") as file:
        os.posix_fallocate(file.fileno(), 0, count * width)  # a full disk is said here, kindly
        body = np.memmap(file, np.uint8, "r+", shape=(count, width))
        sealed, at = iter(store.sealed(strata)), 0
        while piece := list(islice(sealed, TOGETHER)):
            packed = np.frombuffer(b"".join(piece), np.uint8).reshape(-1, width)
            body[places[at : at + len(piece)]] = packed
            at += len(piece)
        body.flush()
        os.fsync(file.fileno())
    return count


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
