"""Open the sealed reports of a release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.sealed import PrivateKey, unseal
from incrowd.collection.protocol.tokens import TokenReport
from incrowd.errors import PathPart, ProtocolError

MALFORMED, REPEATED = "malformed", "repeated"
# The path of the ProtocolError of a rejected report -> the kind of rejection.
UNREADABLE: Mapping[tuple[PathPart, ...], str] = {
    ("sealed", "header"): "another-key",
    ("sealed", "ciphertext"): "unopened",
    ("plaintext",): MALFORMED,
}
TOKEN, ANOTHER = "token", "another-message"  # without a valid token; not of its token's message


def kinds_of(bundle: Bundle) -> tuple[str, ...]:
    """Return the kinds of rejection that are counted for a bundle."""
    with_tokens = (TOKEN, ANOTHER) if isinstance(bundle, MixersBundle) else ()
    return (*UNREADABLE.values(), REPEATED, *with_tokens)


class OpenedPiece(NamedTuple):
    """The content of some sealed reports.

    packed: the reports of each message, uint8, shape (reports, bytes). dummies: their number in
    each of the bundle's `groups`. rejected: the number of other reports by kind.
    """

    packed: tuple[np.ndarray, ...]
    dummies: tuple[int, ...]
    rejected: dict[str, int]


@dataclass(frozen=True)
class Opener:
    """Opens pieces of a release of a stratum: concatenated rows, which are sealed reports, or with
    two mixers reports with their tokens. Of merged strata, any one is named."""

    bundle: Bundle
    private: PrivateKey
    stratum: int

    def __call__(self, rows: bytes) -> OpenedPiece:
        """Return their content, in their order."""
        rejected, shape, groups = Counter[str](), self.bundle.shape, self.bundle.groups
        plaintexts: list[list[bytes]] = [[] for _ in groups]
        for group, plaintext in self._plaintexts(rows, rejected):
            plaintexts[group].append(plaintext)
        packed, dummies = dict[int, np.ndarray](), []
        for (messages, _), some in zip(groups, plaintexts, strict=True):
            every = np.frombuffer(b"".join(some), np.uint8).reshape(-1, shape.length)
            reports, empty = shape.read_many(every)
            packed |= {message: reports[message] for message in messages}
            dummies.append(empty)
            readable = empty + sum(map(len, reports))
            rejected[MALFORMED] += len(every) - readable
            rejected[ANOTHER] += readable - empty - sum(len(reports[n]) for n in messages)
        in_order = tuple(packed[message] for message in range(len(packed)))
        return OpenedPiece(in_order, tuple(dummies), dict(+rejected))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what another process needs to make an equal one."""
        return _opener, (self.bundle.encoded, self.private.secret, self.stratum)

    def _plaintexts(self, rows: bytes, rejected: Counter[str]) -> Iterator[tuple[int, bytes]]:
        """Yield the group and the plaintext of reports that can be opened."""
        bundle, size = self.bundle, self.bundle.row_length
        binding = bundle.binding(self.stratum)
        for at in range(0, len(rows), size):
            group, sealed = self._sealed(rows[at : at + size])
            if group is None:
                rejected[TOKEN] += 1
                continue
            try:
                yield group, unseal(sealed, self.private, bundle.key, binding, bundle.label)
            except ProtocolError as error:
                rejected[UNREADABLE[error.problems[0].path]] += 1

    def _sealed(self, row: bytes) -> tuple[int | None, bytes]:
        """Return the group of a row, None without a valid token, and its sealed report."""
        if not isinstance(self.bundle, MixersBundle):
            return 0, row
        report = TokenReport.parse(row)
        valid = report.is_valid(self.bundle, self.stratum)
        return report.message if valid else None, report.inner


def _opener(bundle: bytes, secret: bytes, stratum: int) -> Opener:
    parsed = Bundle.parse(bundle)
    return Opener(parsed, PrivateKey(parsed.key.kem, secret), stratum)
