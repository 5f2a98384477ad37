"""The plaintext of a sealed report: version, message number or dummy, packed report, zeros."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from incrowd.errors import ProtocolError
from incrowd.plans import Plan
from incrowd.plans.slots import Lane

VERSION = 1
DUMMY = 0xFFFF
DUMMIES = -2  # where `Shape.cell_counts` has their number
START = struct.Struct(">BH")


@dataclass(frozen=True)
class OpenedReport:
    """A message number, from 0, and its packed report; None and b"" for a dummy."""

    message: int | None
    packed: bytes = b""


@dataclass(frozen=True)
class Shape:
    """The number of bits in a report of each message. All plaintexts have the same length."""

    bits: tuple[int, ...]

    @classmethod
    def of(cls, plan: Plan) -> Shape:
        """Return the shape of a plan's messages. Raises ProtocolError if there are too many."""
        if len(plan.messages) >= DUMMY:
            raise ProtocolError.of(
                ("plan", "messages"),
                "collection.messages-many",
                messages=len(plan.messages),
                limit=DUMMY,
            )
        return cls(tuple(message.bits for message in plan.messages))

    @property
    def length(self) -> int:
        """The length of a plaintext, in bytes."""
        return START.size + max(map(self.width, range(len(self.bits))))

    def width(self, message: int) -> int:
        """Return the length of a packed report, in bytes."""
        return -(-self.bits[message] // 8)

    def report(self, message: int, packed: bytes) -> bytes:
        """Return the plaintext of a report. Raises ProtocolError as `read` does."""
        plaintext = (START.pack(VERSION, message) + packed).ljust(self.length, b"\0")
        if len(packed) != self.width(message):
            raise _wrong_length(len(packed), self.width(message))
        self.read(plaintext)
        return plaintext

    @property
    def dummy(self) -> bytes:
        """The plaintext of a dummy, which fills a slot."""
        return START.pack(VERSION, DUMMY).ljust(self.length, b"\0")

    def read(self, plaintext: bytes) -> OpenedReport:
        """Parse a plaintext. Raises ProtocolError for any bit that is not as specified.

        Any free bit could be a mark that identifies a sender.
        """
        if len(plaintext) != self.length:
            raise _wrong_length(len(plaintext), self.length)
        version, message = START.unpack_from(plaintext)
        if version != VERSION:
            raise ProtocolError.of(
                "plaintext", "collection.plaintext-version", version=version, right=VERSION
            )
        if message == DUMMY:
            _check_zeros(plaintext[START.size :])
            return OpenedReport(None)
        if message >= len(self.bits):
            raise ProtocolError.of(
                "plaintext",
                "collection.plaintext-message",
                message=message,
                below=len(self.bits),
                dummy=DUMMY,
            )
        return OpenedReport(message, self._packed(message, plaintext[START.size :]))

    def read_many(self, plaintexts: np.ndarray) -> tuple[tuple[np.ndarray, ...], int]:
        """Return the packed reports of each message and the number of dummies; skip invalid ones.

        plaintexts: uint8, shape (plaintexts, length). Accepts what `read` accepts.
        """
        readable = plaintexts[plaintexts[:, 0] == VERSION]
        message, rest = (
            readable[:, 1].astype(np.int64) << 8 | readable[:, 2],
            readable[:, START.size :],
        )
        dummies = (message == DUMMY) & ~rest.any(axis=1)
        packed = (
            self._packed_many(number, rest[message == number]) for number in range(len(self.bits))
        )
        return tuple(packed), int(dummies.sum())

    def cell_counts(self, plaintexts: np.ndarray, message: int) -> np.ndarray:
        """Count the reports of each cell of a message, then the dummies (`DUMMIES`), then others.

        plaintexts: uint8, shape (plaintexts, length). Accepts what `read` accepts, but counts the
        numbers of no cell as others; int64, shape (2^bits + 2,). All steps and sizes are the same
        for any plaintexts, so that the time does not show what was counted.
        """
        width, bits = self.width(message), self.bits[message]
        start, rest = plaintexts[:, : START.size].astype(np.int64), plaintexts[:, START.size :]
        kind, right = start[:, 1] << 8 | start[:, 2], start[:, 0] == VERSION
        number = (rest[:, :width].astype(np.int64) << 8 * np.arange(width)).sum(axis=1)
        report = right & (kind == message) & (number < 1 << bits) & ~rest[:, width:].any(axis=1)
        dummy = right & (kind == DUMMY) & ~rest.any(axis=1)
        others = np.where(dummy, 1 << bits, (1 << bits) + 1)
        return np.bincount(np.where(report, number, others), minlength=(1 << bits) + 2)

    def _packed_many(self, message: int, rest: np.ndarray) -> np.ndarray:
        width, bits = self.width(message), self.bits[message]
        clean = ~rest[:, width:].any(axis=1)
        if bits % 8:
            clean &= rest[:, width - 1] >> bits % 8 == 0
        return np.ascontiguousarray(rest[clean, :width])

    def _packed(self, message: int, rest: bytes) -> bytes:
        packed, padding = rest[: self.width(message)], rest[self.width(message) :]
        _check_zeros(padding)
        if self.bits[message] % 8 and packed[-1] >> self.bits[message] % 8:
            raise ProtocolError.of("plaintext", "collection.plaintext-padding")
        return packed


def filled(shape: Shape, slots: Sequence[int], reports: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Return the plaintexts of one person: in each run of slots, packed reports, then dummies.

    slots: the slots of each message, or one number for all messages together. reports: the reports
    of each message. Raises ProtocolError if there are more reports than slots; a device then draws
    all its noise again.
    """
    plaintexts = [
        [shape.report(message, report) for report in packed]
        for message, packed in enumerate(reports)
    ]
    runs = plaintexts if len(slots) == len(plaintexts) else [list(chain(*plaintexts))]
    return list(chain(*(_padded(shape, *run) for run in zip(slots, runs, strict=True))))


def in_lanes(
    shape: Shape, lanes: Sequence[Lane], reports: Sequence[Sequence[bytes]]
) -> list[bytes]:
    """Return the plaintexts of one person in the order of the lanes: in each its reports, then
    dummies. reports: the packed reports of each message."""

    def one_lane(lane: Lane) -> list[bytes]:
        every = reports[lane.message]
        inside = [each for each in every if not lane.cells or cell_number(each) in lane.cells]
        return _padded(shape, lane.slots, [shape.report(lane.message, each) for each in inside])

    return list(chain(*map(one_lane, lanes)))


def cell_number(packed: bytes) -> int:
    """Return the number of the cell in a report of cells."""
    return int.from_bytes(packed, "little")


def _padded(shape: Shape, slots: int, plaintexts: list[bytes]) -> list[bytes]:
    if len(plaintexts) > slots:
        raise ProtocolError.of(
            "slots", "collection.slots-few", reports=len(plaintexts), slots=slots
        )
    return plaintexts + [shape.dummy] * (slots - len(plaintexts))


def _check_zeros(rest: bytes) -> None:
    if any(rest):
        raise ProtocolError.of("plaintext", "collection.plaintext-rest")


def _wrong_length(bytes: int, right: int) -> Exception:
    return ProtocolError.of("plaintext", "collection.wrong-length", bytes=bytes, right=right)
