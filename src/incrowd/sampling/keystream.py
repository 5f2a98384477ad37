"""The one place where entropy enters: an AES-256 keystream in counter mode."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from incrowd.errors import UsageError

KEY_BYTES = 32
BLOCK_BYTES = 16
WORD_BYTES = 8
SIMULATION_DOMAIN = "incrowd simulation keystream 1, seed "
# Encrypting zeros gives the keystream itself; a piece this long stays in the cache.
ZEROS = bytes(2**16)


def _encryptor(key: bytes, counter: bytes) -> CipherContext:
    return Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()


class Keystream:
    """Random words from AES-256 in counter mode (NIST SP 800-38A, 6.5).

    The stream continues from call to call. Use one stream per thread. A forked process never
    repeats its parent's words: a system stream takes a new key, and a simulation raises UsageError.
    """

    def __init__(self, key: bytes, counter: bytes, seed: int | None = None) -> None:
        """Start the stream of a 32-byte key and a 16-byte first counter block.

        Only tests, permanent responses and the collector's noise pass a key; all other code calls
        `from_system` or `for_simulation`.
        """
        self._cipher = _encryptor(key, counter)
        self._process = os.getpid()
        self._seed = seed

    @classmethod
    def from_system(cls) -> Keystream:
        """Return a stream with key and counter from the operating system, for real reports."""
        return cls(os.urandom(KEY_BYTES), os.urandom(BLOCK_BYTES))

    @classmethod
    def for_simulation(cls, seed: int) -> Keystream:
        """Return a stream that anyone who knows the seed can repeat: FOR SIMULATION ONLY.

        Reports made with it are not private. The key is the SHA-256 digest of a fixed text and the
        seed, so that different seeds give unrelated streams.
        """
        key = hashlib.sha256(f"{SIMULATION_DOMAIN}{int(seed)}".encode()).digest()
        return cls(key, bytes(BLOCK_BYTES), int(seed))

    @classmethod
    def of(cls, simulation_seed: int | None) -> Keystream:
        """Return a stream of the system, or of a simulation. Raises UsageError for a
        seed below 0."""
        if simulation_seed is None:
            return cls.from_system()
        if simulation_seed < 0:
            raise UsageError.of("simulation_seed", "sampling.negative-seed", value=simulation_seed)
        return cls.for_simulation(simulation_seed)

    @property
    def seed(self) -> int | None:
        """The seed of a simulation; None for a stream of the system."""
        return self._seed

    @property
    def simulation(self) -> bool:
        """Whether the stream can be repeated, so that its reports are not private."""
        return self._seed is not None

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Return the next `count` words of 64 bits, shape (count,), the same on every machine.

        Raises UsageError in a forked process if the stream is a simulation.
        """
        self._part_from_parent()
        stream = np.empty(count * WORD_BYTES, np.uint8)
        for start in range(0, stream.size, len(ZEROS)):
            piece = stream[start : start + len(ZEROS)]
            self._cipher.update_into(memoryview(ZEROS)[: piece.size], piece.data)
        return stream.view("<u8").astype(np.uint64, copy=False)

    def _part_from_parent(self) -> None:
        if self._process == os.getpid():
            return
        if self.simulation:
            raise UsageError.of("simulation_seed", "sampling.seed-in-use", value=self._seed)
        self._cipher = _encryptor(os.urandom(KEY_BYTES), os.urandom(BLOCK_BYTES))
        self._process = os.getpid()
