"""What becomes of each upload of a group: one pure function, the order of the protocol's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

OPEN, CLOSING, RELEASED = "open", "closing", "released"
ACKNOWLEDGED, DELETED = "acknowledged", "deleted"
FINAL = (ACKNOWLEDGED, DELETED)


class Outcome(Enum):
    """What became of an upload."""

    STORED = "stored"
    REPEATED = "repeated"
    WITHDRAWN = "withdrawn"
    CLOSED = "closed"
    CODE_USED = "code-used"
    CODE_UNKNOWN = "code-unknown"
    SEALED = "sealed"  # some of its reports are another upload's


Row = tuple[bytes, bytes, bytes]  # a sealed report in the database: its tag, mark and box


@dataclass(slots=True)  # not frozen, which would take thrice as long to make
class Prepared:
    """An upload as it is stored.

    id: of all its bytes; two uploads are the same exactly if their ids are. code: the tag of its
    invitation, None where there are none. rows: one for each sealed report; its mark says which
    upload the report belongs to, and looks random beside the marks of the others.
    """

    id: bytes = field(repr=False)
    stratum: int
    code: bytes | None = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)

    @property
    def holder(self) -> bytes:
        """Who withdraws: the invitation, or where there are none the upload alone."""
        return self.code or self.id


@dataclass(frozen=True)
class Known:
    """What the database says about a group.

    states: of its strata. codes: whether an invitation is used, for those that exist. present:
    the marks of tags that are there, as far as they were looked up. withdrawn: of each holder the
    upload that was withdrawn last.
    """

    states: Mapping[int, str]
    codes: Mapping[bytes, bool]
    present: Mapping[bytes, bytes]
    withdrawn: Mapping[bytes, bytes]


def decide(uploads: Iterable[Prepared], known: Known) -> list[Outcome]:
    """The outcome of each upload, given those before it in the group."""
    used, present = dict(known.codes), dict(known.present)
    found = []
    for upload in uploads:
        outcome = _of_one(upload, known, used, present)
        if outcome is Outcome.STORED:
            for tag, mark, _ in upload.rows:
                present[tag] = mark
            if upload.code is not None:
                used[upload.code] = True
        found.append(outcome)
    return found


def _of_one(
    upload: Prepared,
    known: Known,
    used: Mapping[bytes, bool],
    present: Mapping[bytes, bytes],
) -> Outcome:
    if known.states[upload.stratum] != OPEN:
        return Outcome.CLOSED
    there = [present[tag] for tag, _, _ in upload.rows if tag in present]
    if there == [mark for _, mark, _ in upload.rows]:
        return Outcome.REPEATED
    if known.withdrawn.get(upload.holder) == upload.id:
        return Outcome.WITHDRAWN
    is_used = False if upload.code is None else used.get(upload.code)
    if is_used is None:
        return Outcome.CODE_UNKNOWN
    if is_used:
        return Outcome.CODE_USED
    return Outcome.SEALED if there else Outcome.STORED
