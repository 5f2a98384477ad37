"""Turn the batch into signed releases: open, drop, count, permute.

All releases appear at once, in a folder that is renamed when everything in it is on disk. Before
that, nothing has left the mixer, and a process that begins anew draws new permutations.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.mixer.second.opening import REPEATED, EnvelopeOpener, EnvelopePiece, pieces
from incrowd.collection.parallel import in_processes
from incrowd.collection.protocol.blind import SIGNATURE_BYTES
from incrowd.collection.protocol.bundle import MESSAGE_BYTES, MixersBundle
from incrowd.collection.protocol.mixing import EMPTY, Batch, MixedRelease
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.protocol.signed import Signed, check_body, sign
from incrowd.collection.rows import chunks, message_counts, repeated
from incrowd.files import NewFile, new_file, new_folder, write_private
from incrowd.reports.folder import Bucket
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import Disk, mixed

INNER = MESSAGE_BYTES + SIGNATURE_BYTES  # where the inner report of a row begins
WORTH_IT = 5_000  # envelopes that take as long to open as a process to start
GoOn = Callable[[], object]  # called between two pieces; raises to stop


class SecondMixerKeys(NamedTuple):
    """The private keys of a second mixer: for envelopes and for signatures."""

    envelopes: PrivateKey
    signing: Ed25519PrivateKey


def make_releases(
    batch: Signed[Batch],
    body: Path,
    bundle: MixersBundle,
    keys: SecondMixerKeys,
    output: Path,
    *,
    workers: int,
    go_on: GoOn = lambda: None,
) -> Counter[str]:
    """Write the release of every stratum of a batch into a new folder: N.start and N.body.

    Returns the number of dropped envelopes by kind, without those of refused strata. Memory is
    bounded. Opened reports in the order of the batch are only in files without names, which
    disappear with the process. Raises ProtocolError if the body is not what was signed, and
    ReportsError if a process ends unexpectedly.
    """
    with body.open("rb") as file:
        check_body(
            batch.header, bundle, body.stat().st_size, hashlib.file_digest(file, "sha256").digest()
        )
    envelopes = np.memmap(body, np.uint8, "r").reshape(-1, bundle.envelope_length)
    many = min(workers, 1 + len(envelopes) // WORTH_IT)
    given = _stoppable(pieces(envelopes, batch.header, bundle.places), go_on)
    opened = in_processes(EnvelopeOpener(bundle, keys.envelopes), given, many)
    dropped = Counter[str]()
    with new_folder(output) as folder:
        for stratum, some in groupby(opened, attrgetter("stratum")):
            dropped += _release(stratum, some, batch, bundle, keys.signing, folder)
    return dropped


def _stoppable(given: Iterable[bytes], go_on: GoOn) -> Iterator[bytes]:
    for piece in given:
        go_on()
        yield piece


def _release(
    stratum: int,
    opened: Iterable[EnvelopePiece],
    batch: Signed[Batch],
    bundle: MixersBundle,
    key: Ed25519PrivateKey,
    folder: Path,
) -> Counter[str]:
    """Write the release of a stratum; return the number of dropped envelopes by kind.

    A refused stratum has neither tokens nor body, and its numbers are not returned either.
    """
    with ExitStack() as stack:
        dropped, bucket = (
            Counter[str](),
            stack.enter_context(closing(Bucket(folder, bundle.row_length))),
        )
        for piece in opened:
            bucket.add(np.frombuffer(piece.rows, np.uint8).reshape(-1, bundle.row_length))
            dropped += piece.dropped
        rows = bucket.view()
        twice = repeated(rows[:, INNER:]) if len(rows) else np.empty(0, np.int64)
        dropped[REPEATED] += len(twice)
        counts = message_counts(rows) - message_counts(rows[twice, :MESSAGE_BYTES])
        tokens = tuple(counts[: len(bundle.slots)].tolist())
        body = stack.enter_context(new_file(folder))
        if is_enough(tokens, dict(batch.header.people)[stratum], bundle):
            digest = _permuted(body, rows, twice, Disk(folder, stack))
        else:
            tokens, digest, dropped = (), EMPTY, Counter()
        signed = sign(MixedRelease(bundle.digest, stratum, tokens, digest, batch), key)
        signed.check(bundle)
        body.publish(folder / f"{stratum}.body")
    write_private(folder / f"{stratum}.start", signed.encoded)
    return dropped


def is_enough(tokens: tuple[int, ...], people: int, bundle: MixersBundle) -> bool:
    """Return whether a stratum may be released, given its valid tokens of each message.

    Every message needs the slots of the crowd. More tokens than the slots of all people in the
    batch come only from an inviter that signed too many.
    """
    crowd = bundle.plan.survey.crowd
    slots = zip(tokens, bundle.slots, strict=True)
    return all(each * crowd <= count <= each * people for count, each in slots)


def _permuted(body: NewFile, rows: np.ndarray, without: np.ndarray, disk: Disk) -> bytes:
    """Write rows in a uniformly random order, except some; return the SHA-256."""
    digest = hashlib.sha256()
    remaining = _except(rows, without)
    for some in mixed(remaining, rows.shape[1], Keystream.from_system(), disk):
        body.file.write(some.data)
        digest.update(some.data)
    return digest.digest()


def _except(rows: np.ndarray, without: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the other rows, some megabytes at a time. without: indices, ascending."""
    for at, some in chunks(rows):
        first, last = np.searchsorted(without, (at, at + len(some)))
        yield np.delete(some, without[first:last] - at, axis=0)
