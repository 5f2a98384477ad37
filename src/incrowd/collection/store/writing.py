"""Uploads: a group is one transaction, durable before anybody of it is answered.

Locks are taken in one order (strata, codes by tag, reports by tag, counts by stratum), so that
processes that share a database never wait for each other in a circle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from incrowd.collection.store.bulk import ROWS, TAGS, as_rows, as_tags
from incrowd.collection.store.deciding import OPEN, Known, Outcome, Prepared, Row, decide
from incrowd.collection.store.tables import codes, counts, reports, strata


def store(
    connection: Connection, uploads: Sequence[Prepared], thorough: bool
) -> list[Outcome] | None:
    """The outcome of each upload; those that are STORED are in the transaction.

    thorough: look for every report, not only for the first of each upload, which shows repeats.
    None if that was not enough: then it has to be rolled back.
    """
    known = Known(
        states_of(connection, {upload.stratum for upload in uploads}),
        _codes(connection, {upload.code for upload in uploads if upload.code is not None}),
        _present_of(connection, uploads, thorough),
    )
    outcomes = decide(uploads, known)
    new = [u for u, outcome in zip(uploads, outcomes, strict=True) if outcome is Outcome.STORED]
    if not _insert(connection, new):
        return None
    _mark(connection, new, used=True)
    count(connection, Counter(upload.stratum for upload in new))
    return outcomes


def withdraw(connection: Connection, upload: Prepared) -> bool:
    """Remove an upload and free its code, if it is there. False if its stratum is closed."""
    states = states_of(connection, {upload.stratum})
    if states[upload.stratum] != OPEN:
        return False
    used = _codes(connection, {upload.code} if upload.code is not None else set())
    present = _present(connection, upload.rows)
    known = Known(states, used, present)
    if decide([upload], known) == [Outcome.REPEATED]:
        these = reports.c.tag.in_(TAGS[connection.dialect.name])
        connection.execute(delete(reports).where(these), as_tags(tag for tag, _ in upload.rows))
        _mark(connection, [upload], used=False)
        count(connection, {upload.stratum: -1})
    return True


def states_of(connection: Connection, numbers: Iterable[int]) -> dict[int, str]:
    """The states of strata, which cannot be closed until this transaction ends."""
    wanted = select(strata.c.number, strata.c.state).where(strata.c.number.in_(sorted(numbers)))
    ordered = wanted.order_by(strata.c.number).with_for_update(read=True)
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
) -> dict[bytes, int]:
    found = _present(connection, [upload.rows[0] for upload in uploads])
    seen = [upload for upload in uploads if thorough or upload.rows[0][0] in found]
    return found | _present(connection, [row for upload in seen for row in upload.rows])


def _present(connection: Connection, rows: Iterable[Row]) -> dict[bytes, int]:
    if not (tags := [tag for tag, _ in rows]):
        return {}
    these = reports.c.tag.in_(TAGS[connection.dialect.name])
    wanted = select(reports.c.tag, reports.c.stratum).where(these)
    return {bytes(tag): stratum for tag, stratum in connection.execute(wanted, as_tags(tags))}


def _insert(connection: Connection, uploads: Sequence[Prepared]) -> bool:
    """Whether all are new. A conflict is no error: PostgreSQL would write its key into a log."""
    rows = [(tag, upload.stratum, box) for upload in uploads for tag, box in upload.rows]
    if not rows:
        return True
    given = ROWS[connection.dialect.name]
    made = INSERTS[connection.dialect.name](reports).from_select(list(reports.c.keys()), given)
    done = connection.execution_options(preserve_rowcount=True).execute(
        made.on_conflict_do_nothing(), as_rows(sorted(rows))
    )
    return bool(done.rowcount == len(rows))


def _mark(connection: Connection, uploads: Sequence[Prepared], used: bool) -> None:
    tags = sorted(upload.code for upload in uploads if upload.code is not None)
    if tags:
        these = codes.c.tag.in_(TAGS[connection.dialect.name])
        connection.execute(update(codes).where(these).values(used=used), as_tags(tags))


INSERTS: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
