"""Store uploads: a group is one transaction, durable before any of its senders gets a response.

Locks are taken in one order (strata, codes by tag, reports by tag, withdrawn uploads, counts by
stratum), so that processes that share a database cannot deadlock.
"""

from __future__ import annotations

import os
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

# Many rows in one statement: each column is one concatenated value, which the database splits.
#
# A statement per row would cost more than everything else that is done with an upload. Numbers
# are passed as a JSON array, whose length is the number of rows.


PLACE_BYTES = 7  # of a random number, so that all places fit into 8 with a sign
MANY = 32  # uploads of a stratum in one transaction: their rows may be neighbors
WrittenRow = tuple[bytes, int, bytes, bytes]  # tag, stratum, mark, box

# n: the index of a row, from 0; value: its number.
_PLACES = {
    "sqlite": "SELECT key AS n, value FROM json_each(:numbers)",
    "postgresql": "SELECT CAST(n - 1 AS integer) AS n, CAST(value AS integer) AS value "
    "FROM json_array_elements_text(CAST(:numbers AS json)) WITH ORDINALITY AS given (value, n)",
}
_TAG = f"substr(:tags, {TAG_BYTES} * n + 1, {TAG_BYTES})"
_MARK = f"substr(:marks, {MARK_BYTES} * n + 1, {MARK_BYTES})"
_BOX = "substr(:boxes, :width * n + 1, :width)"


def _cut(**columns: str) -> dict[str, TextualSelect]:
    """Return the same selection for each database. SQLite cannot parse it without `WHERE`."""
    selected = ", ".join(f"{formula} AS {name}" for name, formula in columns.items())
    return {
        dialect: text(f"SELECT {selected} FROM ({places}) AS places WHERE true").columns(
            *map(column, columns)
        )
        for dialect, places in _PLACES.items()
    }


TAGS = _cut(tag=_TAG)
MARKED = _cut(tag=_TAG, used="value <> 0")
ROWS = _cut(place="CAST(:first AS bigint) + n", tag=_TAG, stratum="value", mark=_MARK, box=_BOX)


def as_tags(tags: Iterable[bytes], value: int = 0) -> dict[str, Any]:
    """Return the parameters of TAGS, or of MARKED with one value for all."""
    given = list(tags)
    return {"tags": b"".join(given), "numbers": f"[{','.join([str(value)] * len(given))}]"}


def as_rows(rows: Sequence[WrittenRow]) -> dict[str, Any]:
    """Return the parameters of ROWS; all boxes have the same length."""
    tags, strata, marks, boxes = zip(*rows, strict=True)
    numbers = f"[{','.join(map(str, strata))}]"
    return {
        "tags": b"".join(tags),
        "numbers": numbers,
        "marks": b"".join(marks),
        "boxes": b"".join(boxes),
        "width": len(boxes[0]),
        "first": int.from_bytes(os.urandom(PLACE_BYTES)),
    }


# The outcome of each upload of a group: a pure function, in the order of the protocol's table.


OPEN, CLOSING, RELEASED = "open", "closing", "released"
ACKNOWLEDGED, DELETED = "acknowledged", "deleted"
FINAL = (ACKNOWLEDGED, DELETED)


class UploadOutcome(Enum):
    """The outcome of an upload."""

    STORED = "stored"
    REPEATED = "repeated"
    WITHDRAWN = "withdrawn"
    CLOSED = "closed"
    CODE_USED = "code-used"
    CODE_UNKNOWN = "code-unknown"
    SEALED = "sealed"  # some of its reports belong to another upload


SealedRow = tuple[bytes, bytes, bytes]  # a sealed report in the database: its tag, mark and box


@dataclass(slots=True)  # not frozen: that would take three times as long to create
class PreparedUpload:
    """An upload, prepared for storage.

    id: the id of all its bytes; two uploads are equal exactly if their ids are. code: the tag of
    its invitation or of the nonce in its entry token, or None if everybody is admitted. has_token:
    whether a valid token admits it, so that its code need not be known before. rows: one for each
    sealed report; its mark ties the report to its upload, and looks random next to the marks of the
    others.
    """

    id: bytes = field(repr=False)
    stratum: int
    code: bytes | None = field(repr=False)
    has_token: bool
    rows: tuple[SealedRow, ...] = field(repr=False)

    @property
    def holder(self) -> bytes:
        """The key under which a withdrawal is stored: the code, otherwise the upload."""
        return self.code or self.id


@dataclass(frozen=True)
class StoreState:
    """The content of the database that concerns a group.

    states: the states of its strata. codes: whether each code that can be used was used. present:
    the marks of stored tags, as far as they were looked up. withdrawn: the last withdrawn upload of
    each holder.
    """

    states: Mapping[int, str]
    codes: Mapping[bytes, bool]
    present: Mapping[bytes, bytes]
    withdrawn: Mapping[bytes, bytes]


def decide(uploads: Iterable[PreparedUpload], state: StoreState) -> list[UploadOutcome]:
    """Return the outcome of each upload, given those before it in the group."""
    used, present = dict(state.codes), dict(state.present)
    outcomes = []
    for upload in uploads:
        outcome = _of_one(upload, state, used, present)
        if outcome is UploadOutcome.STORED:
            for tag, mark, _ in upload.rows:
                present[tag] = mark
            if upload.code is not None:
                used[upload.code] = True
        outcomes.append(outcome)
    return outcomes


def _of_one(
    upload: PreparedUpload,
    state: StoreState,
    used: Mapping[bytes, bool],
    present: Mapping[bytes, bytes],
) -> UploadOutcome:
    if state.states[upload.stratum] != OPEN:
        return UploadOutcome.CLOSED
    there = [present[tag] for tag, _, _ in upload.rows if tag in present]
    if there == [mark for _, mark, _ in upload.rows]:
        return UploadOutcome.REPEATED
    if state.withdrawn.get(upload.holder) == upload.id:
        return UploadOutcome.WITHDRAWN
    is_used = False if upload.code is None else used.get(upload.code)
    if is_used is None:
        return UploadOutcome.CODE_UNKNOWN
    if is_used:
        return UploadOutcome.CODE_USED
    return UploadOutcome.SEALED if there else UploadOutcome.STORED


def store(
    connection: Connection, uploads: Sequence[PreparedUpload], thorough: bool
) -> list[UploadOutcome] | None:
    """Return the outcome of each upload; those that are STORED are in the transaction.

    thorough: look up every report, not only the first of each upload, which shows repeats.
    Returns None if that was not enough; the transaction must then be rolled back.
    """
    state = StoreState(
        states_of(connection, {upload.stratum for upload in uploads}),
        _codes(connection, uploads),
        _present_of(connection, uploads, thorough),
        _withdrawn(connection, uploads),
    )
    outcomes = decide(uploads, state)
    new = [
        u for u, outcome in zip(uploads, outcomes, strict=True) if outcome is UploadOutcome.STORED
    ]
    if not (_mark(connection, new) and _insert(connection, new)):
        return None
    count(connection, Counter(upload.stratum for upload in new))
    return outcomes


def withdraw(connection: Connection, upload: PreparedUpload) -> bool:
    """Remove an upload, if it is stored. Return False if its stratum is closed.

    Its code is used from then on: an upload with other noise would be a second report toward
    whoever has only the local guarantee. The withdrawal is remembered either way, since the upload
    may still arrive. It is not remembered for an unknown invitation: such an upload cannot be
    stored, and its sender could fill the disk.
    """
    states = states_of(connection, {upload.stratum}, alone=True)
    if states[upload.stratum] != OPEN:
        return False
    used = _codes(connection, [upload])
    is_known = upload.code is None or upload.code in used
    if is_known:
        _mark(connection, [upload])
    present = _present(connection, upload.rows)
    is_there = decide([upload], StoreState(states, used, present, {})) == [UploadOutcome.REPEATED]
    if is_there:
        these = reports.c.tag.in_(TAGS[connection.dialect.name])
        connection.execute(delete(reports).where(these), as_tags(tag for tag, *_ in upload.rows))
    if is_known:
        _remember(connection, upload)
    if is_there:
        count(connection, {upload.stratum: -1})
    return True


def states_of(
    connection: Connection, numbers: Iterable[int], alone: bool = False
) -> dict[int, str]:
    """Return the states of strata, and keep them from being closed until this transaction ends.

    alone: also keep other transactions from storing uploads of these strata.
    """
    query = select(strata.c.number, strata.c.state).where(strata.c.number.in_(sorted(numbers)))
    ordered = query.order_by(strata.c.number).with_for_update(read=not alone)
    return {number: state for number, state in connection.execute(ordered)}


def count(connection: Connection, more: dict[int, int]) -> None:
    """Change the numbers of people. This comes last, since others wait for these rows."""
    for stratum in sorted(more):
        people = counts.c.people + more[stratum]
        connection.execute(update(counts).where(counts.c.stratum == stratum).values(people=people))


def _codes(connection: Connection, uploads: Sequence[PreparedUpload]) -> dict[bytes, bool]:
    """Return whether each code is used; one that nobody stored is unused if its token is valid."""
    given = sorted({upload.code for upload in uploads if upload.code is not None})
    if not given:
        return {}
    these = codes.c.tag.in_(TAGS[connection.dialect.name])
    query = select(codes.c.tag, codes.c.used).where(these).order_by(codes.c.tag)
    rows = connection.execute(query.with_for_update(), as_tags(given))
    unused = {each.code: False for each in uploads if each.has_token and each.code is not None}
    return unused | {bytes(tag): used for tag, used in rows}


def _present_of(
    connection: Connection, uploads: Sequence[PreparedUpload], thorough: bool
) -> dict[bytes, bytes]:
    marks = _present(connection, [upload.rows[0] for upload in uploads])
    seen = [upload for upload in uploads if thorough or upload.rows[0][0] in marks]
    return marks | _present(connection, [row for upload in seen for row in upload.rows])


def _present(connection: Connection, rows: Iterable[SealedRow]) -> dict[bytes, bytes]:
    tags = [tag for tag, *_ in rows]
    return _look_up(connection, reports.c.tag, reports.c.mark, tags)


def _withdrawn(connection: Connection, uploads: Iterable[PreparedUpload]) -> dict[bytes, bytes]:
    holders = [upload.holder for upload in uploads]
    return _look_up(connection, withdrawn.c.holder, withdrawn.c.upload, holders)


def _look_up(
    connection: Connection, key: Column[bytes], value: Column[bytes], keys: Sequence[bytes]
) -> dict[bytes, bytes]:
    """Return the values of the keys that are in a table."""
    if not keys:
        return {}
    query = select(key, value).where(key.in_(TAGS[connection.dialect.name]))
    return {bytes(k): bytes(v) for k, v in connection.execute(query, as_tags(keys))}


def _remember(connection: Connection, upload: PreparedUpload) -> None:
    statement = insert_into(connection, withdrawn)
    statement = statement.values(holder=upload.holder, upload=upload.id)
    changed = {"upload": statement.excluded.upload}
    connection.execute(statement.on_conflict_do_update(index_elements=["holder"], set_=changed))


def _insert(connection: Connection, uploads: Sequence[PreparedUpload]) -> bool:
    """Insert reports; return whether all are new. Errors would make PostgreSQL log the keys.

    Neighbors are fast, but show which reports came together. So the rows are neighbors only if each
    stratum has many of these uploads; otherwise, each row has a random place of its own.
    """
    rows = [
        (tag, upload.stratum, mark, box) for upload in uploads for tag, mark, box in upload.rows
    ]
    if not rows:
        return True
    given = ROWS[connection.dialect.name]
    statement = insert_into(connection, reports).from_select(list(reports.c.keys()), given)
    statement = statement.on_conflict_do_nothing()
    counting = connection.execution_options(preserve_rowcount=True)
    rows.sort()
    fewest = min(Counter(upload.stratum for upload in uploads).values())
    pieces = [rows] if fewest >= MANY else [[row] for row in rows]
    inserted = (counting.execute(statement, as_rows(piece)).rowcount for piece in pieces)
    return sum(inserted) == len(rows)


def _mark(connection: Connection, uploads: Sequence[PreparedUpload]) -> bool:
    """Mark codes as used; return False if one already was."""
    tags = sorted(upload.code for upload in uploads if upload.code is not None)
    if not tags:
        return True
    given = MARKED[connection.dialect.name]
    statement = insert_into(connection, codes).from_select(list(codes.c.keys()), given)
    result = connection.execution_options(preserve_rowcount=True).execute(
        statement.on_conflict_do_update(
            index_elements=["tag"], set_={"used": True}, where=~codes.c.used
        ),
        as_tags(tags, 1),
    )
    return bool(result.rowcount == len(tags))


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an INSERT with conflict clauses, for the database of a connection."""
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
    return dialect.insert(table)
