"""Hand over what a service signed as a file, if its receiver cannot be reached over a network.

The bundle of such a collection states the address `BY_HAND` for the collector. The file is what
would be posted. It stays in the folder `handover` of its service until a person has typed in the
code that the receiver shows for it: only then is it acknowledged, and keys are destroyed.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from incrowd.collection.delivery import Courier, Pauses, acknowledgment, courier, pieces
from incrowd.collection.folders import BUNDLE, adopt_bundle
from incrowd.collection.protocol.addresses import is_by_hand, is_short_of
from incrowd.collection.protocol.mixing import Invitations, release_kind
from incrowd.collection.steps import LOG
from incrowd.collection.taking import RELEASE_FILE, STATEMENT_FILE, read_start
from incrowd.errors import UsageError
from incrowd.files import PRIVATE, private_folder, replaced, write_private

FOLDER = "handover"  # in the folder of a service
CONFIRMED = ".confirmed"
NAME_DIGITS = 16  # hexadecimal, of the acknowledgment
LONGEST_WAIT = timedelta(minutes=1)  # between two checks whether a person has confirmed


class Handover:
    """Writes what was signed to a file; it is acknowledged when a person has confirmed it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, start: bytes, body: Path | None) -> bool:
        """Write the file unless it exists; return whether a person confirmed that it arrived."""
        private_folder(self.folder)
        digest = acknowledgment(start)
        ending = STATEMENT_FILE if body is None else RELEASE_FILE
        file = self.folder / f"{digest[:NAME_DIGITS]}{ending}"
        confirmed = file.with_suffix(CONFIRMED)
        if confirmed.exists() and confirmed.read_text(encoding="ascii") == digest:
            file.unlink(missing_ok=True)
            return True
        if not file.exists():
            with replaced(file, mode=PRIVATE) as temporary, temporary.open("wb") as opened:
                for piece in pieces(start, body):
                    opened.write(piece)
            LOG.info("wrote %s: hand it over to the collector, then confirm it", file.name)
        return False


def pauses(courier: Courier) -> Pauses[Any]:
    """Return the pauses between attempts to deliver: short ones if a person confirms."""
    return Pauses(LONGEST_WAIT) if isinstance(courier, Handover) else Pauses()


def sender(collector: str, path: str, folder: Path) -> Courier:
    """Return how a service passes on what it signed for the collector.

    collector: its address in the bundle. path: what it is posted to. folder: that of the service.
    """
    return Handover(folder / FOLDER) if is_by_hand(collector) else courier(collector + path)


def confirm_delivery(folder: Path, code: str) -> Path:
    """Record that what a service signed has arrived; return the file that was handed over.

    folder: that of the service. code: as the collector shows it. Raises UsageError if there is no
    bundle, or if it is the code of no file there.
    """
    bundle = adopt_bundle(folder / BUNDLE, None)
    kinds = {RELEASE_FILE: release_kind(bundle), STATEMENT_FILE: Invitations}
    files = [file for file in sorted((folder / FOLDER).glob("*")) if file.suffix in kinds]
    for file in files:
        signed, _ = read_start(file, kinds[file.suffix])
        if is_short_of(code, bytes.fromhex(signed.acknowledgment)):
            confirmed = file.with_suffix(CONFIRMED)
            write_private(confirmed, signed.acknowledgment.encode(), overwrite=True)
            return file
    if not files:
        raise UsageError.of("folder", "collection.nothing-handed-over", folder=str(folder))
    names = [file.name for file in files]
    raise UsageError.of("code", "collection.no-file-of-code", value=code, files=names)
