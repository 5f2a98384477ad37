"""Permanent responses: a device repeats the same randomized bits for an answer in every round."""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incrowd.accountant.channels.bit_flip import BitFlip, is_flip
from incrowd.catalog.sentences import system_words
from incrowd.errors import AnswersError, IncrowdError, UsageError, check_path, unreadable
from incrowd.files import PRIVATE, write_bytes
from incrowd.plans import CellsMessage, Message, Plan
from incrowd.plans.ledger import series
from incrowd.sampling.keystream import BLOCK_BYTES, Keystream

_log = logging.getLogger(__name__)
SECRET_BYTES = 32
NUMBER_BYTES = 4  # the first 32 bits of a digest are a uniform number, as noise is over 2^32
CHUNK_NUMBERS = 1 << 16  # of a permanent set at once; even, since two are a word
LENGTH_BYTES = 8
DOMAIN = b"incrowd permanent response 1"
SET = b"incrowd permanent set 1"
DEVICE = b"incrowd device 1"
HEADER = "incrowd device key 1"
CHECK_BYTES = 8


@dataclass(frozen=True)
class DeviceKey:
    """The secret of one device, which never leaves it and is never printed.

    Anyone who has it can undo the device's permanent responses.

    Parameters
    ----------
    secret : bytes
        32 bytes; `create` draws them.

    Raises
    ------
    UsageError
        Unless the secret has 32 bytes.

    Examples
    --------
    >>> import incrowd
    >>> key = incrowd.DeviceKey.create()
    >>> key.save("device.key")
    >>> incrowd.DeviceKey.load("device.key") == key
    True
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes) or len(self.secret) != SECRET_BYTES:
            raise UsageError.of("device_key", "sampling.not-a-secret", bytes=SECRET_BYTES)

    @classmethod
    def create(cls) -> DeviceKey:
        """Return a new key from the operating system."""
        return cls(os.urandom(SECRET_BYTES))

    def derive(self, name: str) -> DeviceKey:
        """Return the key of one of several devices that share this secret.

        It is the HMAC-SHA256 of the device's name.
        """
        return DeviceKey(hmac.digest(self.secret, _framed(DEVICE) + name.encode(), "sha256"))

    def save(self, path: str | Path) -> None:
        """Write the key to a new file that only its owner may read (mode 0600).

        Raises
        ------
        UsageError
            If the file cannot be written or exists: another key would draw the permanent responses
            anew, and every new draw leaks more.
        """
        text = f"{HEADER}\n{self.secret.hex()}\n{self._check}\n"
        try:
            write_bytes(Path(path), text.encode("ascii"), overwrite=False)
        except FileExistsError:
            raise UsageError.of("device_key", "sampling.key-exists", value=str(path)) from None
        except OSError as error:
            raise UsageError.of(
                "device_key",
                "shared.not-written",
                value=str(path),
                reason=system_words(error),
            ) from None

    @property
    def _check(self) -> str:
        """A checksum of the secret: a wrong copy would draw all responses anew."""
        return hmac.digest(self.secret, HEADER.encode(), "sha256")[:CHECK_BYTES].hex()

    @classmethod
    def load(cls, path: str | Path) -> DeviceKey:
        """Read a key that `save` wrote.

        Raises
        ------
        UsageError
            If the file cannot be read, is not a key, or is readable by others.
        """
        check_path(path, "path")
        _log.info("reading %s, a device key", path)
        try:
            text = Path(path).read_text(encoding="ascii")
            mode = Path(path).stat().st_mode & 0o777
        except OSError as error:
            raise UsageError.of(
                "device_key",
                "sampling.key-unreadable",
                value=str(path),
                reason=unreadable(error),
            ) from None
        except UnicodeDecodeError:
            raise _no_key(path) from None
        if os.name == "posix" and mode & ~PRIVATE:
            raise UsageError.of(
                "device_key", "sampling.key-open-to-others", value=str(path), mode=mode
            )
        header, *lines = text.removesuffix("\n").split("\n")
        if header != HEADER or len(lines) != 2:
            raise _no_key(path)
        key = cls(_secret(lines[0], path))
        if lines[1] != key._check:
            raise UsageError.of("device_key", "sampling.key-changed", value=str(path))
        return key


def _secret(digits: str, path: str | Path) -> bytes:
    try:
        secret = bytes.fromhex(digits)
    except ValueError:
        raise _no_key(path) from None
    if len(digits) != 2 * SECRET_BYTES:
        raise _no_key(path)
    return secret


def _no_key(path: str | Path) -> IncrowdError:
    return UsageError.of("device_key", "sampling.no-key-file", value=str(path))


def permanent_bits(
    key: DeviceKey,
    bits: Sequence[int] | npt.NDArray[np.uint8],
    noise: BitFlip,
    survey_digest: str,
    question: str,
    value: str,
) -> npt.NDArray[np.uint8]:
    """Return RAPPOR's permanent response to one answer (Erlingsson, Pihur and Korolova 2014,
    section 2).

    `bits` encode the answer `value` to `question`, 0 or 1, shape (bits,). Each is flipped with
    probability exactly noise.numerator / 2^32, and always in the same way for the same key, survey,
    question and value. Returns uint8 of that shape. `survey_digest` identifies the survey; with a
    different one in another round the bits would be drawn anew.

    All rounds together leak at most what one collection of these bits does, as long as the answer
    stays the same. A changed answer is not covered: the response can show that it changed.

    Raises AnswersError if `bits` is not a row of 0 and 1.
    """
    row = np.asarray(bits)
    if row.ndim != 1 or not np.isin(row, (0, 1)).all():
        raise AnswersError.of("bits", "sampling.not-bits", value=bits)
    prefix = b"".join(map(_framed, (DOMAIN, *map(str.encode, (survey_digest, question, value)))))
    numbers = [uniform_number(key, prefix, index) for index in range(row.size)]
    flips = np.array(numbers, np.uint64) < noise.numerator
    return row.astype(np.uint8) ^ flips.astype(np.uint8)


def permanent_set(
    key: DeviceKey,
    chosen: npt.NDArray[np.integer],
    bits: int,
    noise: BitFlip,
    series: str,
    question: str,
    *,
    most: int | None = None,
) -> npt.NDArray[np.int64]:
    """Return the numbers of the bits that are set after permanent flips of a record, ascending.

    chosen: the bits set before, ascending, which identify the answer. Each of the `bits` is flipped
    with probability exactly noise.numerator / 2^32, and always in the same way for the same key,
    series, question, and answer. most: how many fit; if there are more, all bits are drawn anew,
    again always in the same way, so that the law is that of the first draw given that it fits
    (docs/protocol.md, "Slots").
    """
    texts = series, question, ",".join(map(str, chosen.tolist()))

    def drawn(attempt: int) -> npt.NDArray[np.int64]:
        name = b"".join(map(_framed, (SET, *map(str.encode, (*texts, str(attempt))))))
        flips = _flips(hmac.digest(key.secret, name, "sha256"), bits, noise)
        return np.setxor1d(chosen, flips, assume_unique=True).astype(np.int64)

    return next(numbers for numbers in map(drawn, count()) if most is None or len(numbers) <= most)


def _flips(secret: bytes, bits: int, noise: BitFlip) -> npt.NDArray[np.int64]:
    """Return which of `bits` bits are flipped: those whose number, four bytes of the secret's
    keystream in big-endian order, is below the noise. Memory grows only with the flips."""
    stream, pieces = Keystream(secret, bytes(BLOCK_BYTES)), [np.zeros(0, np.int64)]
    for start in range(0, bits, CHUNK_NUMBERS):
        size = min(CHUNK_NUMBERS, bits - start)
        numbers = stream.words(-(-size // 2)).astype("<u8").view(">u4")[:size]
        pieces.append(start + np.flatnonzero(numbers < noise.numerator))
    return np.concatenate(pieces)


def uniform_number(key: DeviceKey, prefix: bytes, index: int) -> int:
    """Return the first 32 bits of HMAC-SHA256 (RFC 2104) of the prefix and an index."""
    digest = hmac.digest(key.secret, prefix + index.to_bytes(LENGTH_BYTES, "big"), "sha256")
    return int.from_bytes(digest[:NUMBER_BYTES], "big")


def _framed(text: bytes) -> bytes:
    """Return a text after its length, so that different sequences of texts have different bytes."""
    return len(text).to_bytes(LENGTH_BYTES, "big") + text


# Devices that remember their permanent responses from round to round.


DeviceKeys = Sequence[DeviceKey]  # the secrets of the devices, one for each row of the answers


def remembering(
    plan: Plan, rows: int, names: Sequence[str] | None, key: DeviceKey | None
) -> DeviceKeys | None:
    """Return the device keys that the plan's permanent responses need; None if it has none.

    rows: the rows of the answers. names: the names of the devices, one for each row; None if they
    have none. Raises UsageError if keys are needed and no key is given, or several rows have no
    names.
    """
    if not plan.memoized:
        return None
    if key is None:
        raise UsageError.of("device_key", "sampling.key-missing", question=plan.memoized[0])
    if names is None:
        if rows == 1:
            return [key]
        raise UsageError.of("id", "sampling.id-missing")
    return [key.derive(name) for name in names]


def remembered(plan: Plan, message: Message, records: np.ndarray, memory: DeviceKeys) -> np.ndarray:
    """Replace answers in the records with their permanent responses.

    A response depends on the device, the survey's name, the noise, the questions it travels with,
    the question and the answer; not on the plan, so that later rounds with another plan repeat it.
    """
    bits = np.unpackbits(records, axis=1, count=message.bits, bitorder="little")
    for id in (question.id for question in message.questions if question.memoized):
        place, noise = message.layout[id], message.channels[id].permanent_stage
        assert is_flip(noise)  # RAPPOR's, or the planner's
        name = series(plan.survey.name, message, noise)
        for row, key in enumerate(memory):
            answer = bits[row, place]
            named = np.packbits(answer).tobytes().hex()
            bits[row, place] = permanent_bits(key, answer, noise, name, id, named)
    return np.packbits(bits, axis=1, bitorder="little")


def remembered_sets(
    plan: Plan,
    message: CellsMessage,
    rows: np.ndarray,
    places: np.ndarray,
    memory: DeviceKeys,
    most: int | None = None,
) -> np.ndarray:
    """Return the numbers of the bits that are set in the permanent responses, person after person.

    rows, places: the set bits of the records, sorted by row then place. most: per person.
    """
    noise = message.flips
    name = series(plan.survey.name, message, noise)
    records = np.split(places, np.searchsorted(rows, np.arange(1, len(memory))))
    sets = [
        permanent_set(
            key, record, message.record_bits, noise, name, ",".join(message.ids), most=most
        )
        for key, record in zip(memory, records, strict=True)
    ]
    return np.concatenate(sets)
