"""The memory of a device: which bundles it answered, and an upload while it is needed.

Only the reports that were first drawn for a bundle are ever sent for it. With two mixers, an upload
is pending until it has its tokens. The memory contains digests and sealed uploads, with the code of
an invitation, but no answers and no times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from incrowd.catalog.sentences import system_words
from incrowd.collection.protocol.bundle import Bundle, MixersBundle, as_time
from incrowd.collection.protocol.tokens import Pending
from incrowd.collection.protocol.upload import parse_upload
from incrowd.errors import UsageError, unreadable
from incrowd.files import PRIVATE, private_folder, write_bytes, write_text
from incrowd.reports.locking import locked

DIGITS = 64
LINE = re.compile(rf"[0-9a-f]{{{DIGITS}}} [0-9a-f]{{{DIGITS}}}")
UPLOAD, PENDING, KEPT = "upload", "pending", "kept"  # kept: accepted, and can be withdrawn
UPLOAD_NAME = re.compile(rf"[0-9a-f]{{{DIGITS}}}\.(\d{{8}}T\d{{6}}Z)\.(upload|pending|kept)")
COMPACT = "%Y%m%dT%H%M%SZ"  # a time in a file name

AnsweredBundles = frozenset[tuple[str, str]]
SealedReports = bytes | Pending


@dataclass(frozen=True)
class DeviceMemory:
    """A private folder, created when something is recorded.

    The file `answered` has a line for each bundle: its digest and that of its plan, sorted, so that
    not even the order is revealed. Stored uploads are in the same folder.
    """

    folder: Path

    def answered(self) -> AnsweredBundles:
        """Return the digests of the answered bundles, each with that of its plan.

        Raises UsageError if the file cannot be read.
        """
        try:
            lines = self._answered.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return frozenset()
        except UnicodeDecodeError:
            lines = ["?"]
        except OSError as error:
            raise self._unread(error) from None
        if not all(map(LINE.fullmatch, lines)):
            raise UsageError.of("memory", "collection.answered-edited", folder=str(self.folder))
        return frozenset((line[:DIGITS], line[-DIGITS:]) for line in lines)

    def has(self, bundle: Bundle) -> bool:
        """Return whether this bundle was answered, or may have been."""
        return _line(bundle) in self.answered()

    def note(self, bundle: Bundle) -> None:
        """Record that a bundle was answered. Raises UsageError if it cannot be written."""
        with self._locked():
            self._note(bundle)

    def once(self, bundle: Bundle, draw: Callable[[], SealedReports]) -> tuple[SealedReports, bool]:
        """Return what is stored for a bundle, and True; or what is now drawn for it, and False.

        It is on disk when this returns, and its bundle is recorded. If processes draw at the same
        time, only one draw is stored and returned to all of them. Raises UsageError if the bundle
        was answered and nothing is stored anymore, and whatever `draw` raises; then nothing is
        recorded.
        """
        is_first = self.sealed(bundle) is None and not self.has(bundle)
        new = draw() if is_first else None
        with self._locked():
            sealed = self.sealed(bundle)
            if sealed is None:
                if new is None or self.has(bundle):
                    raise _already_answered()
                self.keep(bundle, sealed := new)
            self._note(bundle)
        return sealed, sealed is not new

    def exchange(self, bundle: Bundle, old: SealedReports, new: SealedReports) -> SealedReports:
        """Store `new` in place of `old`, and return what is then stored.

        This is something else if another process was faster. Raises UsageError if nothing is stored
        anymore.
        """
        with self._locked():
            sealed = self.sealed(bundle)
            if sealed is None:
                raise _already_answered()
            if sealed == old:
                self.keep(bundle, sealed := new)
        return sealed

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._make()
        with locked(self._answered):
            yield

    def _note(self, bundle: Bundle) -> None:
        answered = self.answered()
        if (line := _line(bundle)) not in answered:
            lines = sorted(answered | {line})
            text = "".join(f"{digest} {plan}\n" for digest, plan in lines)
            write_text(self._answered, text, mode=PRIVATE)

    def keep(self, bundle: Bundle, upload: SealedReports) -> None:
        """Store an upload (mode 0600), so that the same bytes can be sent again or withdrawn, or
        one that has no tokens yet, which the upload replaces.

        Raises UsageError if it cannot be written.
        """
        self._make()
        try:
            if isinstance(upload, Pending):
                write_bytes(self._file(bundle, PENDING), upload.encoded)
            else:
                write_bytes(self._file(bundle, UPLOAD), upload)
                for kind in (PENDING, KEPT):
                    self._file(bundle, kind).unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritten(error) from None

    def sealed(self, bundle: Bundle) -> SealedReports | None:
        """Return the stored upload of a bundle, with or without tokens, or None.

        Raises ProtocolError if it is damaged.
        """
        upload = self.stored(bundle)
        if upload is None and isinstance(bundle, MixersBundle):
            return self.pending(bundle)
        return upload

    def stored(self, bundle: Bundle) -> bytes | None:
        """Return the stored upload of a bundle, or None. Raises ProtocolError if it is damaged."""
        data = self._read(bundle, KEPT) or self._read(bundle, UPLOAD)
        if data is not None:
            parse_upload(data, bundle)
        return data

    def retain(self, bundle: Bundle) -> None:
        """Store an accepted upload until the collection closes, so that it can be withdrawn."""
        with self._locked(), suppress(FileNotFoundError):  # it is retained already
            self._file(bundle, UPLOAD).rename(self._file(bundle, KEPT))

    def is_retained(self, bundle: Bundle) -> bool:
        """Return whether an accepted upload is stored until the collection closes."""
        return self._file(bundle, KEPT).exists()

    def pending(self, bundle: MixersBundle) -> Pending | None:
        """Return the stored upload that has no tokens yet, or None. Raises ProtocolError if it is
        damaged."""
        data = self._read(bundle, PENDING)
        return None if data is None else Pending.parse(data, bundle)

    def _read(self, bundle: Bundle, kind: str) -> bytes | None:
        try:
            return self._file(bundle, kind).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unread(error) from None

    def drop(self, bundle: Bundle) -> None:
        """Delete the stored upload of a bundle, with or without tokens. The record stays."""
        with self._locked():
            for kind in (UPLOAD, PENDING, KEPT):
                self._file(bundle, kind).unlink(missing_ok=True)

    def tidy(self, now: datetime) -> None:
        """Delete the uploads of all closed collections."""
        with suppress(OSError):
            for file in self.folder.iterdir():
                match = UPLOAD_NAME.fullmatch(file.name)
                if match and match[1] <= f"{now:{COMPACT}}":
                    file.unlink(missing_ok=True)

    def warnings(self, bundle: Bundle) -> Iterator[str]:
        """Warn of earlier answers that the plan's promise does not cover."""
        plan, before = bundle.plan, self.answered() - {_line(bundle)}
        covered = Counter(asked.digest for asked in plan.earlier)
        covered[plan.digest] += plan.survey.rounds - 1  # the other rounds of this plan
        if more := (Counter(digest for _, digest in before) - covered).total():
            rounds = "1 collection" if more == 1 else f"{more:,} collections"
            yield (
                f"this device already answered {rounds} that the promise does not cover: "
                "what each of them reveals about you adds up"
            )

    def has_round(self, bundle: Bundle) -> bool:
        """Return whether another bundle of this plan with permanent responses was answered."""
        plan, before = bundle.plan, self.answered() - {_line(bundle)}
        return bool(plan.memoized) and plan.digest in {digest for _, digest in before}

    @property
    def _answered(self) -> Path:
        return self.folder / "answered"

    def _file(self, bundle: Bundle, kind: str) -> Path:
        closes = f"{as_time(bundle.closes):{COMPACT}}"
        return self.folder / f"{bundle.digest.hex()}.{closes}.{kind}"

    def _make(self) -> None:
        try:
            private_folder(self.folder)
        except OSError as error:
            raise self._unwritten(error) from None

    def _unread(self, error: OSError) -> Exception:
        return UsageError.of(
            "memory",
            "collection.memory-unusable",
            folder=str(self.folder),
            reason=unreadable(error),
        )

    def _unwritten(self, error: OSError) -> Exception:
        return UsageError.of(
            "memory",
            "collection.memory-unwritable",
            folder=str(self.folder),
            reason=system_words(error),
        )


def _already_answered() -> Exception:
    return UsageError.of("memory", "collection.already-answered")


def _line(bundle: Bundle) -> tuple[str, str]:
    return bundle.digest.hex(), bundle.plan.digest
