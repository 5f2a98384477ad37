"""Where a collector keeps what."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from incrowd.collection.wire.release import Signed

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

    @property
    def waiting_ones(self) -> Path:
        """A folder with the sealed reports of releases that are not opened yet."""
        return self.root / "waiting"

    def start(self, signed: Signed) -> Path:
        """Signature and header of a release: there when all of the release is on the disk."""
        return self.starts / f"{signed.header.strata[0]}.start"

    def waiting(self, signed: Signed) -> Path:
        """The sealed reports of a release, until they are opened."""
        return self.waiting_ones / f"{signed.header.strata[0]}.body"

    def opened(self, signed: Signed) -> Path:
        """The folder with the collections of a release, its receipt and the bundle."""
        return self.opened_ones / f"release-{signed.header.strata[0]}"


def starts_in(folder: Path) -> list[Signed]:
    """All starts in a folder, which need not exist."""
    return [Signed.parse(path.read_bytes())[0] for path in sorted(folder.glob("*.start"))]
