"""The collector's own noise: what it adds to the counts of cells before anything is written.

The shuffler knows how many reports it invented, and would know the rest of every count. So the
noise follows from the private key, which is destroyed after the last release is opened, and from
the release: it is the same however often a release is opened, since fresh noise would average out,
and different for two releases, whose difference would otherwise be exact.
Proof: docs/mathematics.md#noise-from-the-services.
"""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from incrowd.accountant.additive import AdditiveNoise
from incrowd.collection.claims import release_id
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.sampling.added import draw
from incrowd.sampling.keystream import BLOCK_BYTES, KEY_BYTES, Keystream

DOMAIN = b"incrowd noise of the collector 1"
LENGTH_BYTES, NUMBER_BYTES = 8, 2


def published(
    counts: np.ndarray, law: AdditiveNoise, private: PrivateKey, header: Header, message: int
) -> np.ndarray:
    """Return the counts that may be known, int64: without the mean of what the shuffler invented,
    and with the noise of a release.

    counts: the reports in each cell of a message, int64. They can become negative, and are neither
    checked nor limited: whoever knows the shuffler's noise would learn from that.
    """
    added = draw(law, _stream(private, header, message).words(len(counts)))
    return np.asarray(counts - law.reach + added, np.int64)


def _stream(private: PrivateKey, header: Header, message: int) -> Keystream:
    """Return the words of one message of one release."""
    parts = (
        DOMAIN,
        header.bundle,
        header.number.to_bytes(NUMBER_BYTES),
        release_id(header),
        message.to_bytes(NUMBER_BYTES),
    )
    info = b"".join(len(part).to_bytes(LENGTH_BYTES) + part for part in parts)
    key = HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(private.secret)
    return Keystream(key, bytes(BLOCK_BYTES))
