"""What a device remembers: which bundles it answered, and an upload for as long as it is needed.

Digests and what is sealed, never an answer and never a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.protocol.upload import parse_upload
from incrowd.errors import UsageError, unreadable
from incrowd.files import PRIVATE, private_folder, write_bytes
from incrowd.reports.locking import rewrite

DIGITS = 64
LINE = re.compile(rf"[0-9a-f]{{{DIGITS}}} [0-9a-f]{{{DIGITS}}}")
KEPT = re.compile(rf"[0-9a-f]{{{DIGITS}}}\.(\d{{8}}T\d{{6}}Z)\.upload")
COMPACT = "%Y%m%dT%H%M%SZ"  # a time in the name of a file

Answered = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Memory:
    """A folder for its owner alone, made when something is noted.

    `answered` has a line for each bundle: its digest and that of its plan, sorted, so that not
    even the order is told. Beside it stand uploads that are kept.
    """

    folder: Path

    def answered(self) -> Answered:
        """The digests of the bundles that were answered, each with that of its plan.

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
            allowed = "what it remembers was edited; use an unchanged copy, or name a new folder"
            raise UsageError.of("memory", str(self.folder), allowed)
        return frozenset((line[:DIGITS], line[-DIGITS:]) for line in lines)

    def has(self, bundle: Bundle) -> bool:
        """Whether this bundle was answered, or may have been."""
        return _line(bundle) in self.answered()

    def note(self, bundle: Bundle) -> None:
        """Remember that a bundle was answered. Raises UsageError if it cannot be written."""
        self._rewritten(lambda known: known | {_line(bundle)})

    def forget(self, bundle: Bundle) -> None:
        """Of what was withdrawn, or refused for good."""
        if self.has(bundle):
            self._rewritten(lambda known: known - {_line(bundle)})
        self.drop(bundle)

    def _rewritten(self, change: Callable[[Answered], Answered]) -> None:
        self._make()

        def text(_: Path) -> str:
            return "".join(f"{bundle} {plan}\n" for bundle, plan in sorted(change(self.answered())))

        rewrite(self._answered, text, mode=PRIVATE)

    def keep(self, bundle: Bundle, upload: bytes) -> None:
        """Keep an upload (mode 0600), so that the same bytes can be sent again or withdrawn.

        Raises UsageError if it cannot be written.
        """
        self._make()
        try:
            write_bytes(self._kept(bundle), upload)
        except OSError as error:
            raise self._unwritten(error) from None

    def kept(self, bundle: Bundle) -> bytes | None:
        """The upload that is kept for a bundle. Raises ProtocolError if the file was damaged."""
        try:
            data = self._kept(bundle).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unread(error) from None
        parse_upload(data, bundle)
        return data

    def drop(self, bundle: Bundle) -> None:
        """Keep the upload no longer."""
        self._kept(bundle).unlink(missing_ok=True)

    def tidy(self, now: datetime) -> None:
        """Drop the uploads of all collections that are closed."""
        with suppress(OSError):
            for file in self.folder.iterdir():
                found = KEPT.fullmatch(file.name)
                if found and found[1] <= f"{now:{COMPACT}}":
                    file.unlink(missing_ok=True)

    def warnings(self, bundle: Bundle) -> Iterator[str]:
        """What was answered before and is not covered by the plan's promise."""
        plan, before = bundle.plan, self.answered() - {_line(bundle)}
        covered = Counter(asked.digest for asked in plan.earlier)
        covered[plan.digest] += plan.survey.rounds - 1  # the others of its own
        if more := (Counter(digest for _, digest in before) - covered).total():
            rounds = "1 collection" if more == 1 else f"{more:,} collections"
            yield (
                f"this device answered {rounds} before that the promise does not cover: what each "
                "of them tells about you adds up"
            )

    def has_round(self, bundle: Bundle) -> bool:
        """Whether another bundle of a plan with permanent responses was answered before."""
        plan, before = bundle.plan, self.answered() - {_line(bundle)}
        return bool(plan.memoized) and plan.digest in {digest for _, digest in before}

    @property
    def _answered(self) -> Path:
        return self.folder / "answered"

    def _kept(self, bundle: Bundle) -> Path:
        closes = f"{as_time(bundle.closes):{COMPACT}}"
        return self.folder / f"{bundle.digest.hex()}.{closes}.upload"

    def _make(self) -> None:
        try:
            private_folder(self.folder)
        except OSError as error:
            raise self._unwritten(error) from None

    def _unread(self, error: OSError) -> Exception:
        return UsageError.of(
            "memory", str(self.folder), f"{unreadable(error)}; name another folder"
        )

    def _unwritten(self, error: OSError) -> Exception:
        allowed = f"it cannot be written: {error.strerror}; name another folder"
        return UsageError.of("memory", str(self.folder), allowed)


def _line(bundle: Bundle) -> tuple[str, str]:
    return bundle.digest.hex(), bundle.plan.digest
