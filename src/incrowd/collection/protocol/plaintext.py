"""What is inside a sealed report: version, message or dummy, the packed report, zeros."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.errors import InWords, ProtocolError
from incrowd.plans import Plan

VERSION = 1
DUMMY = 0xFFFF
START = struct.Struct(">BH")


@dataclass(frozen=True)
class Opened:
    """A report of a message, by its number from 0; of a dummy neither."""

    message: int | None
    packed: bytes = b""


@dataclass(frozen=True)
class Shape:
    """The bits of a report of each message: all plaintexts have one length, whatever is in them."""

    bits: tuple[int, ...]

    @classmethod
    def of(cls, plan: Plan) -> Shape:
        """That of a plan's messages. Raises ProtocolError if they cannot be numbered."""
        if len(plan.messages) >= DUMMY:
            allowed = f"should be fewer than {DUMMY:,}"
            raise ProtocolError.of("plan.messages", len(plan.messages), allowed)
        return cls(tuple(message.bits for message in plan.messages))

    @property
    def length(self) -> int:
        """Bytes of a plaintext."""
        return START.size + max(map(self.width, range(len(self.bits))))

    def width(self, message: int) -> int:
        """Bytes of a packed report."""
        return -(-self.bits[message] // 8)

    def report(self, message: int, packed: bytes) -> bytes:
        """The plaintext of a report. Raises ProtocolError as `read` would."""
        made = (START.pack(VERSION, message) + packed).ljust(self.length, b"\0")
        if len(packed) != self.width(message):
            raise _wrong(f"has {len(packed)} bytes", f"should have {self.width(message)}")
        self.read(made)
        return made

    @property
    def dummy(self) -> bytes:
        """The plaintext that fills a slot."""
        return START.pack(VERSION, DUMMY).ljust(self.length, b"\0")

    def read(self, plaintext: bytes) -> Opened:
        """What a plaintext holds. Raises ProtocolError for any bit that is not as it must be.

        Whatever could differ would be a mark by which a sender is known again.
        """
        if len(plaintext) != self.length:
            raise _wrong(f"has {len(plaintext)} bytes", f"should have {self.length}")
        version, message = START.unpack_from(plaintext)
        if version != VERSION:
            raise _wrong(f"is of version {version}", f"should be of version {VERSION}")
        if message == DUMMY:
            _check_zeros(plaintext[START.size :])
            return Opened(None)
        if message >= len(self.bits):
            allowed = f"should be below {len(self.bits)}, or {DUMMY} for a dummy"
            raise _wrong(f"names message {message}", allowed)
        return Opened(message, self._packed(message, plaintext[START.size :]))

    def read_many(self, plaintexts: np.ndarray) -> tuple[tuple[np.ndarray, ...], int]:
        """The packed reports of each message, and how many dummies there are; the rest is neither.

        plaintexts: uint8, shape (plaintexts, length). It takes those that `read` takes.
        """
        found = plaintexts[plaintexts[:, 0] == VERSION]
        message, rest = found[:, 1].astype(np.int64) << 8 | found[:, 2], found[:, START.size :]
        dummies = (message == DUMMY) & ~rest.any(axis=1)
        packed = (
            self._packed_many(number, rest[message == number]) for number in range(len(self.bits))
        )
        return tuple(packed), int(dummies.sum())

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
            raise _wrong("has a padding bit that is set", "should be zero there")
        return packed


def filled(shape: Shape, slots: int, reports: Sequence[Sequence[bytes]]) -> list[bytes]:
    """The plaintexts of one person: her packed reports of each message, and dummies behind them.

    slots: of all messages together. Raises ProtocolError if there are more reports than slots, in
    which case a device draws all its noise again.
    """
    made = [shape.report(message, each) for message, some in enumerate(reports) for each in some]
    if len(made) > slots:
        allowed = f"should be at most {slots}; draw all noise again"
        raise ProtocolError.of("slots", InWords(f"there are {len(made)} reports"), allowed)
    return made + [shape.dummy] * (slots - len(made))


def _check_zeros(rest: bytes) -> None:
    if any(rest):
        raise _wrong("has something behind its report", "should be zero there")


def _wrong(found: str, allowed: str) -> Exception:
    return ProtocolError.of("plaintext", InWords(found), allowed)
