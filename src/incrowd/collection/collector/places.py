"""Where a collector keeps what, and how files are made to last."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from incrowd.collection.wire.release import Signed

PRIVATE = 0o600
PRIVATE_FOLDER = 0o700
RECEIPT, BUNDLE = "receipt.json", "bundle.json"


@dataclass(frozen=True)
class Places:
    """The files of one bundle's collector. A release is known by its first stratum."""

    root: Path

    @property
    def private(self) -> Path:
        """The private key, until everything is opened."""
        return self.root / "private.key"

    @property
    def public(self) -> Path:
        """The key configuration, which goes into the bundle."""
        return self.root / "collector_key.txt"

    @property
    def bundle(self) -> Path:
        """The bundle, once there is one."""
        return self.root / BUNDLE

    @property
    def starts(self) -> Path:
        """A folder with the starts of all releases that were taken, kept for good."""
        return self.root / "starts"

    @property
    def contradictions(self) -> Path:
        """A folder with starts that prove that the shuffler cheats."""
        return self.root / "contradictions"

    @property
    def opened_ones(self) -> Path:
        """A folder with a folder for each release that was opened."""
        return self.root / "opened"

    def start(self, signed: Signed) -> Path:
        """Signature and header of a release: there when all of the release is on the disk."""
        return self.starts / f"{signed.header.strata[0]}.start"

    def waiting(self, signed: Signed) -> Path:
        """The sealed reports of a release, until they are opened."""
        return self.root / "waiting" / f"{signed.header.strata[0]}.body"

    def opened(self, signed: Signed) -> Path:
        """The folder with the collections of a release, its receipt and the bundle."""
        return self.opened_ones / f"release-{signed.header.strata[0]}"


def starts_in(folder: Path) -> list[Signed]:
    """All starts in a folder, which need not exist."""
    return [Signed.parse(path.read_bytes())[0] for path in sorted(folder.glob("*.start"))]


def new_file(folder: Path) -> BinaryIO:
    """A new file of mode 0600 in a folder, under a random name."""
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    path = folder / f".incrowd-{secrets.token_hex(8)}"
    return open(path, "x+b", opener=lambda name, flags: os.open(name, flags, PRIVATE))


def put(file: BinaryIO, path: Path) -> None:
    """Give a new file its name, after its content is on the disk."""
    settle(file)
    Path(file.name).rename(path)
    settle_names(path.parent)


def lasting(path: Path, content: bytes) -> None:
    """A file that is wholly there, and on the disk, or not there at all."""
    with new_file(path.parent) as file:
        try:
            file.write(content)
            put(file, path)
        finally:
            Path(file.name).unlink(missing_ok=True)


def settle(file: BinaryIO) -> None:
    """What was written to a file is on the disk when this returns."""
    file.flush()
    os.fsync(file.fileno())


def settle_names(folder: Path) -> None:
    """The names in a folder are on the disk when this returns."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
