"""Reports that wait on disk, in files that have no name and end with the process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np


class Bucket:
    """Packed reports in a temporary file; `len` counts them.

    The file has no name, so nobody else finds it and nothing is left of it however the process
    ends; where a system knows no such files, it has a name and mode 0600 until it is closed.
    """

    def __init__(self, folder: Path, width: int) -> None:
        """An empty bucket for reports of `width` bytes, on the disk that holds the folder."""
        self.width = width
        self._reports = 0
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (`close` does)

    def __len__(self) -> int:
        return self._reports

    def add(self, packed: np.ndarray) -> None:
        """Put reports in: uint8, shape (reports, width)."""
        self._file.write(np.ascontiguousarray(packed).data)
        self._reports += len(packed)

    def take(self, most: int) -> Iterator[np.ndarray]:
        """All reports, at most so many at a time: uint8, shape (reports, width). Then it closes."""
        self._file.seek(0)
        for start in range(0, self._reports, most):
            packed = np.empty((min(most, self._reports - start), self.width), np.uint8)
            self._file.readinto(packed.data)
            yield packed
        self.close()

    def close(self) -> None:
        """Remove the file. May be called again."""
        self._file.close()
