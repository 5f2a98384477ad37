"""Open the envelopes of a batch; keep the reports with valid tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.mixing import Batch
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.protocol.tokens import TokenReport, open_envelope
from incrowd.collection.protocol.upload import STRATUM_BYTES
from incrowd.errors import ProtocolError

PIECE_ENVELOPES = 2048
UNOPENED, TOKEN, REPEATED = "unopened", "token", "repeated"  # why an envelope is dropped


class EnvelopePiece(NamedTuple):
    """The contents of some envelopes of a stratum.

    rows: the reports with valid tokens, concatenated. dropped: the number of others by kind.
    """

    stratum: int
    rows: bytes
    dropped: Counter[str]


@dataclass(frozen=True)
class EnvelopeOpener:
    """Opens pieces of a batch: the number of a stratum (2 bytes), then its envelopes."""

    bundle: MixersBundle
    private: PrivateKey

    def __call__(self, piece: bytes) -> EnvelopePiece:
        """Return the content of the envelopes, in their order."""
        stratum, dropped = int.from_bytes(piece[:STRATUM_BYTES]), Counter[str]()
        rows = b"".join(report.encoded for report in self._reports(piece, stratum, dropped))
        return EnvelopePiece(stratum, rows, dropped)

    def _reports(self, piece: bytes, stratum: int, dropped: Counter[str]) -> Iterator[TokenReport]:
        size = self.bundle.envelope_length
        for at in range(STRATUM_BYTES, len(piece), size):
            try:
                report = open_envelope(piece[at : at + size], self.private, self.bundle, stratum)
            except ProtocolError:
                dropped[UNOPENED] += 1
                continue
            if report.is_valid(self.bundle, stratum):
                yield report
            else:
                dropped[TOKEN] += 1

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process needs to make an equal one."""
        return _opener, (self.bundle.encoded, self.private.secret)


def _opener(encoded: bytes, secret: bytes) -> EnvelopeOpener:
    bundle = Bundle.parse(encoded)
    assert isinstance(bundle, MixersBundle)
    return EnvelopeOpener(bundle, PrivateKey(bundle.second_key.kem, secret))


def pieces(envelopes: np.ndarray, batch: Batch, places: int) -> Iterator[bytes]:
    """Yield the pieces of a batch, stratum after stratum.

    envelopes: uint8, shape (envelopes, bytes), perhaps memory-mapped. places: envelopes of a
    person.
    """
    end = 0
    for stratum, people in batch.people:
        start, end = end, end + people * places
        for at in range(start, end, PIECE_ENVELOPES):
            some = envelopes[at : min(at + PIECE_ENVELOPES, end)]
            yield stratum.to_bytes(STRATUM_BYTES) + some.tobytes()
