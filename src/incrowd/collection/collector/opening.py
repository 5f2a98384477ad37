"""Open the sealed reports of a release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from incrowd.collection.protocol.bundle import LANE_BYTES, Bundle, MixersBundle
from incrowd.collection.protocol.plaintext import DUMMIES
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
NO_CELLS = np.empty(0, np.int64)
TOKEN, ANOTHER = "token", "another-message"  # without a valid token; not of its token's message


def kinds_of(bundle: Bundle) -> tuple[str, ...]:
    """Return the kinds of rejection that are counted for a bundle; none if services add noise: who
    knows what was added could learn answers from any number of reports."""
    if bundle.lanes:
        return ()
    with_tokens = (TOKEN, ANOTHER) if isinstance(bundle, MixersBundle) else ()
    return (*UNREADABLE.values(), REPEATED, *with_tokens)


class OpenedPiece(NamedTuple):
    """The content of some sealed reports.

    packed: the reports of each message, uint8, shape (reports, bytes); empty for cells to which
    services add noise. dummies: their number in each of the bundle's `groups`. rejected: the number
    of other reports by kind.

    If services add noise, the piece is of one lane, and nothing but its content is counted: `lane`
    is its number, `opened` the number of its reports and dummies, and `cells` the number of reports
    in each cell of the lane, int64.
    """

    packed: tuple[np.ndarray, ...]
    dummies: tuple[int, ...]
    rejected: dict[str, int]
    lane: int = 0
    opened: int = 0
    cells: np.ndarray = NO_CELLS


class SealedPiece(NamedTuple):
    """Concatenated rows of a release, all of one lane; lane 0 if the bundle has none."""

    lane: int
    rows: bytes

    @property
    def encoded(self) -> bytes:
        """The piece as bytes, for another process."""
        return self.lane.to_bytes(LANE_BYTES) + self.rows

    @classmethod
    def parse(cls, data: bytes) -> SealedPiece:
        """Return the piece of `encoded`."""
        return cls(int.from_bytes(data[:LANE_BYTES]), data[LANE_BYTES:])


@dataclass(frozen=True)
class Opener:
    """Opens pieces of a release of a stratum. A row is a sealed report, or with two mixers a report
    with its token. Of merged strata, any one is named."""

    bundle: Bundle
    private: PrivateKey
    stratum: int

    def __call__(self, data: bytes) -> OpenedPiece:
        """Return the content of an encoded `SealedPiece`, in its order."""
        piece = SealedPiece.parse(data)
        return self._of_lane(*piece) if self.bundle.lanes else self._of_all(piece.rows)

    def _of_lane(self, number: int, rows: bytes) -> OpenedPiece:
        """Return what was opened in a lane. Any other plaintext is refused without a trace."""
        lane, shape = self.bundle.lanes[number], self.bundle.shape
        plaintexts = self._plaintexts(rows, Counter(), number)
        every = self._joined(each for _, each in plaintexts)
        if lane.cells:
            counts, cells = shape.cell_counts(every, lane.message), list(lane.cells)
            opened = int(counts[[*cells, DUMMIES]].sum())
            return OpenedPiece((), (), {}, number, opened, counts[cells])
        read, dummies = shape.read_many(every)
        packed = tuple(
            reports if n == lane.message else reports[:0] for n, reports in enumerate(read)
        )
        return OpenedPiece(packed, (), {}, number, dummies + len(packed[lane.message]))

    def _of_all(self, rows: bytes) -> OpenedPiece:
        rejected, shape, groups = Counter[str](), self.bundle.shape, self.bundle.groups
        plaintexts: list[list[bytes]] = [[] for _ in groups]
        for group, plaintext in self._plaintexts(rows, rejected):
            plaintexts[group].append(plaintext)
        packed, dummies = dict[int, np.ndarray](), []
        for (messages, _), some in zip(groups, plaintexts, strict=True):
            every = self._joined(some)
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

    def _joined(self, plaintexts: Iterable[bytes]) -> np.ndarray:
        """Return plaintexts as rows."""
        return np.frombuffer(b"".join(plaintexts), np.uint8).reshape(-1, self.bundle.shape.length)

    def _plaintexts(
        self, rows: bytes, rejected: Counter[str], lane: int = 0
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the group and the plaintext of reports that can be opened."""
        bundle, size = self.bundle, self.bundle.row_length
        binding = bundle.binding(self.stratum, lane)
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
