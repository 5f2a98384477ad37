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
    CLOSED = "closed"
    CODE_USED = "code-used"
    CODE_UNKNOWN = "code-unknown"
    SEALED = "sealed"  # some of its reports are another upload's


Row = tuple[bytes, bytes]  # a sealed report as the database holds it: its tag, its box


@dataclass(slots=True)  # not frozen, which would take thrice as long to make
class Prepared:
    """An upload as it is stored. code: the tag of its invitation, None where there are none."""

    stratum: int
    code: bytes | None = field(repr=False)
    rows: tuple[Row, ...] = field(repr=False)


@dataclass(frozen=True)
class Known:
    """What the database says about a group.

    states: of its strata. codes: whether an invitation is used, for those that exist. present:
    the strata of tags that are there, as far as they were looked up.
    """

    states: Mapping[int, str]
    codes: Mapping[bytes, bool]
    present: Mapping[bytes, int]


def decide(uploads: Iterable[Prepared], known: Known) -> list[Outcome]:
    """The outcome of each upload, given those before it in the group."""
    used, present = dict(known.codes), dict(known.present)
    found = []
    for upload in uploads:
        outcome = _of_one(upload, known.states, used, present)
        if outcome is Outcome.STORED:
            for tag, _ in upload.rows:
                present[tag] = upload.stratum
            if upload.code is not None:
                used[upload.code] = True
        found.append(outcome)
    return found


def _of_one(
    upload: Prepared,
    states: Mapping[int, str],
    used: Mapping[bytes, bool],
    present: Mapping[bytes, int],
) -> Outcome:
    if states[upload.stratum] != OPEN:
        return Outcome.CLOSED
    there = [present[tag] for tag, _ in upload.rows if tag in present]
    is_used = False if upload.code is None else used.get(upload.code)
    if there == [upload.stratum] * len(upload.rows) and (upload.code is None or is_used):
        return Outcome.REPEATED
    if is_used is None:
        return Outcome.CODE_UNKNOWN
    if is_used:
        return Outcome.CODE_USED
    return Outcome.SEALED if there else Outcome.STORED
