"""Uploads: a group is one transaction, durable before anybody of it is answered.

Locks are taken in one order (strata, codes by tag, reports by tag, the withdrawn, counts by
stratum), so that processes that share a database never wait for each other in a circle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Table,
    TextualSelect,
    column,
    delete,
    select,
    text,
    update,
)

from incrowd.collection.mixer.store.keys import MARK_BYTES, TAG_BYTES
from incrowd.collection.mixer.store.tables import codes, counts, reports, strata, withdrawn

# Many rows in one statement: their columns behind each other, cut up by the database.
#
# A statement for each row would cost more than all that is done with an upload beside it. Numbers
# travel as a JSON array, whose length says how many rows there are.


Given = tuple[bytes, int, bytes, bytes]  # tag, stratum, mark, box

# n: the place of a row from 0; value: its number.
_PLACES = {
    "sqlite": "SELECT key AS n, value FROM json_each(:numbers)",
    "postgresql": "SELECT CAST(n - 1 AS integer) AS n, CAST(value AS integer) AS value "
    "FROM json_array_elements_text(CAST(:numbers AS json)) WITH ORDINALITY AS given (value, n)",
}
_TAG = f"substr(:tags, {TAG_BYTES} * n + 1, {TAG_BYTES})"
_MARK = f"substr(:marks, {MARK_BYTES} * n + 1, {MARK_BYTES})"
_BOX = "substr(:boxes, :width * n + 1, :width)"


def _cut(*columns: str) -> dict[str, TextualSelect]:
    """The same selection for each database. `WHERE` is for SQLite, which cannot parse without."""
    return {
        name: text(f"SELECT {', '.join(columns)} FROM ({places}) AS places WHERE true").columns(
            *(column(name) for name in ("tag", "stratum", "mark", "box")[: len(columns)])
        )
        for name, places in _PLACES.items()
    }


TAGS = _cut(f"{_TAG} AS tag")
ROWS = _cut(f"{_TAG} AS tag", "value AS stratum", f"{_MARK} AS mark", f"{_BOX} AS box")


def as_tags(tags: Iterable[bytes]) -> dict[str, Any]:
    """What TAGS is given."""
    given = list(tags)
    return {"tags": b"".join(given), "numbers": f"[{','.join(['0'] * len(given))}]"}


def as_rows(rows: Sequence[Given]) -> dict[str, Any]:
    """What ROWS is given; all boxes have one length."""
    tags, strata, marks, boxes = zip(*rows, strict=True)
    numbers = f"[{','.join(map(str, strata))}]"
    return {
        "tags": b"".join(tags),
        "numbers": numbers,
        "marks": b"".join(marks),
        "boxes": b"".join(boxes),
        "width": len(boxes[0]),
    }


# What becomes of each upload of a group: one pure function, the order of the protocol's table.


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
class StoreState:
    """What the database says about a group.

    states: of its strata. codes: whether an invitation is used, for those that exist. present:
    the marks of tags that are there, as far as they were looked up. withdrawn: of each holder the
    upload that was withdrawn last.
    """

    states: Mapping[int, str]
    codes: Mapping[bytes, bool]
    present: Mapping[bytes, bytes]
    withdrawn: Mapping[bytes, bytes]


def decide(uploads: Iterable[Prepared], known: StoreState) -> list[Outcome]:
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
    known: StoreState,
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


def store(
    connection: Connection, uploads: Sequence[Prepared], thorough: bool
) -> list[Outcome] | None:
    """The outcome of each upload; those that are STORED are in the transaction.

    thorough: look for every report, not only for the first of each upload, which shows repeats.
    None if that was not enough: then it has to be rolled back.
    """
    known = StoreState(
        states_of(connection, {upload.stratum for upload in uploads}),
        _codes(connection, {upload.code for upload in uploads if upload.code is not None}),
        _present_of(connection, uploads, thorough),
        _withdrawn(connection, uploads),
    )
    outcomes = decide(uploads, known)
    new = [u for u, outcome in zip(uploads, outcomes, strict=True) if outcome is Outcome.STORED]
    if not _insert(connection, new):
        return None
    _mark(connection, new, used=True)
    count(connection, Counter(upload.stratum for upload in new))
    return outcomes


def withdraw(connection: Connection, upload: Prepared) -> bool:
    """Remove an upload and free its code, if it is there. False if its stratum is closed.

    It is remembered either way: it may be on its way still. With an invitation that does not exist
    it could not be stored, and whoever made it up could fill the disk.
    """
    states = states_of(connection, {upload.stratum}, alone=True)
    if states[upload.stratum] != OPEN:
        return False
    used = _codes(connection, {upload.code} if upload.code is not None else set())
    present = _present(connection, upload.rows)
    is_there = decide([upload], StoreState(states, used, present, {})) == [Outcome.REPEATED]
    if is_there:
        these = reports.c.tag.in_(TAGS[connection.dialect.name])
        connection.execute(delete(reports).where(these), as_tags(tag for tag, *_ in upload.rows))
        _mark(connection, [upload], used=False)
    if upload.code is None or upload.code in used:
        _remember(connection, upload)
    if is_there:
        count(connection, {upload.stratum: -1})
    return True


def states_of(
    connection: Connection, numbers: Iterable[int], alone: bool = False
) -> dict[int, str]:
    """The states of strata, which cannot be closed until this transaction ends.

    alone: no upload of these strata is stored meanwhile either, nor is one on its way in.
    """
    wanted = select(strata.c.number, strata.c.state).where(strata.c.number.in_(sorted(numbers)))
    ordered = wanted.order_by(strata.c.number).with_for_update(read=not alone)
    return {number: state for number, state in connection.execute(ordered)}


def count(connection: Connection, more: dict[int, int]) -> None:
    """Change the numbers of people. Others wait for these rows, so it comes last."""
    for stratum in sorted(more):
        people = counts.c.people + more[stratum]
        connection.execute(update(counts).where(counts.c.stratum == stratum).values(people=people))


def _codes(connection: Connection, tags: Iterable[bytes]) -> dict[bytes, bool]:
    if not (given := sorted(tags)):
        return {}
    these = codes.c.tag.in_(TAGS[connection.dialect.name])
    wanted = select(codes.c.tag, codes.c.used).where(these).order_by(codes.c.tag)
    rows = connection.execute(wanted.with_for_update(), as_tags(given))
    return {bytes(tag): used for tag, used in rows}


def _present_of(
    connection: Connection, uploads: Sequence[Prepared], thorough: bool
) -> dict[bytes, bytes]:
    found = _present(connection, [upload.rows[0] for upload in uploads])
    seen = [upload for upload in uploads if thorough or upload.rows[0][0] in found]
    return found | _present(connection, [row for upload in seen for row in upload.rows])


def _present(connection: Connection, rows: Iterable[Row]) -> dict[bytes, bytes]:
    tags = [tag for tag, *_ in rows]
    return _found(connection, reports.c.tag, reports.c.mark, tags)


def _withdrawn(connection: Connection, uploads: Iterable[Prepared]) -> dict[bytes, bytes]:
    holders = [upload.holder for upload in uploads]
    return _found(connection, withdrawn.c.holder, withdrawn.c.upload, holders)


def _found(
    connection: Connection, key: Column[bytes], value: Column[bytes], keys: Sequence[bytes]
) -> dict[bytes, bytes]:
    """The values of those keys that are in a table."""
    if not keys:
        return {}
    wanted = select(key, value).where(key.in_(TAGS[connection.dialect.name]))
    return {bytes(k): bytes(v) for k, v in connection.execute(wanted, as_tags(keys))}


def _remember(connection: Connection, upload: Prepared) -> None:
    made = insert_into(connection, withdrawn)
    made = made.values(holder=upload.holder, upload=upload.id)
    changed = {"upload": made.excluded.upload}
    connection.execute(made.on_conflict_do_update(index_elements=["holder"], set_=changed))


def _insert(connection: Connection, uploads: Sequence[Prepared]) -> bool:
    """Whether all are new. A conflict is no error: PostgreSQL would write its key into a log."""
    rows = [
        (tag, upload.stratum, mark, box) for upload in uploads for tag, mark, box in upload.rows
    ]
    if not rows:
        return True
    given = ROWS[connection.dialect.name]
    made = insert_into(connection, reports).from_select(list(reports.c.keys()), given)
    done = connection.execution_options(preserve_rowcount=True).execute(
        made.on_conflict_do_nothing(), as_rows(sorted(rows))
    )
    return bool(done.rowcount == len(rows))


def _mark(connection: Connection, uploads: Sequence[Prepared], used: bool) -> None:
    tags = sorted(upload.code for upload in uploads if upload.code is not None)
    if tags:
        these = codes.c.tag.in_(TAGS[connection.dialect.name])
        connection.execute(update(codes).where(these).values(used=used), as_tags(tags))


def insert_into(connection: Connection, table: Table) -> Any:
    """An INSERT that can say what becomes of a conflict, for the database of a connection."""
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
    return dialect.insert(table)
