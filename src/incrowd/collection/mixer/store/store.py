"""The store of one bundle: uploads, from their arrival to their release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice

from sqlalchemy import Connection, delete, func, insert, select, update

from incrowd.collection.mixer.store import tables, writing
from incrowd.collection.mixer.store.database import Database, forget
from incrowd.collection.mixer.store.keys import Secrets, StoreError, database_errors, marks
from incrowd.collection.mixer.store.writing import (
    ACKNOWLEDGED,
    CLOSING,
    DELETED,
    OPEN,
    RELEASED,
    PreparedUpload,
    UploadOutcome,
)
from incrowd.collection.protocol.bundle import LANE_BYTES, NONCE_BYTES, Bundle, MixersBundle
from incrowd.collection.protocol.upload import NO_CODE, Upload
from incrowd.plans.strata import StratumGroup

TOGETHER = 10_000  # rows read at a time
MOST_ROWS = 20_000  # in one transaction
TRIES = 100  # of a group in which reports collide; each takes an interfering process


@dataclass(frozen=True)
class StratumState:
    """The state of a stratum. release: the first stratum of its release; people: its uploads."""

    number: int
    state: str
    release: int | None
    people: int


# Which groups of open strata to close, each as one release, and which strata to delete.
ClosingDecision = tuple[Sequence[StratumGroup], StratumGroup]


class Store(Database):
    """The store of a shuffler or of the first of two mixers."""

    kind, other_kind = "a mixer", "collection.database-not-of-mixer"
    metadata = tables.metadata

    @classmethod
    def _begin_with(cls, connection: Connection, bundle: Bundle) -> None:
        numbers = range(len(bundle.strata))
        states = [{"number": n, "state": OPEN} for n in numbers]
        connection.execute(insert(tables.strata), states)
        connection.execute(insert(tables.counts), [{"stratum": n, "people": 0} for n in numbers])

    # --- uploads ---------------------------------------------------------------------------------

    def prepare(self, *uploads: Upload) -> list[PreparedUpload]:
        """Prepare uploads for storage. This takes CPU time, but no database.

        With two mixers, the entry tokens must have been verified.
        """
        secrets, has_token = self._secrets(), isinstance(self.bundle, MixersBundle)
        reports = [report for upload in uploads for report in upload.sealed]
        boxed = iter(secrets.rows(reports, cycle(self._lanes)))
        prepared = []
        for upload in uploads:
            boxes = tuple(islice(boxed, len(upload.sealed)))
            start, tags = upload.start(self.bundle), (tag for tag, _ in boxes)
            id = secrets.upload_id(b"".join((start, *tags)))  # a tag stands for its report
            each = zip(boxes, marks(id, len(boxes)), strict=True)
            rows = tuple((tag, mark, box) for (tag, box), mark in each)
            code = upload.entry[:NONCE_BYTES] if has_token else upload.entry
            is_open = not self.bundle.codes and code == NO_CODE
            tag = None if is_open else secrets.code_tag(code)
            prepared.append(PreparedUpload(id, upload.stratum, tag, has_token, rows))
        return prepared

    def take(self, uploads: Sequence[Upload]) -> list[UploadOutcome]:
        """Store a group of uploads durably; return the outcome of each."""
        return self.accept(self.prepare(*uploads))

    def accept(self, uploads: Sequence[PreparedUpload]) -> list[UploadOutcome]:
        """Store a group of prepared uploads durably; return the outcome of each.

        At first, only one report of each upload is looked up. If others collide, because somebody
        sends reports of another upload or another process was faster, all are looked up.
        """
        for thorough in (False, *[True] * TRIES):
            if (outcomes := self._accept(uploads, thorough)) is not None:
                return outcomes
        raise StoreError.of("reports", "collection.reports-collide")

    def _accept(
        self, uploads: Sequence[PreparedUpload], thorough: bool
    ) -> list[UploadOutcome] | None:
        with self._writing() as connection:
            outcomes = writing.store(connection, uploads, thorough)
            if outcomes is None:
                connection.rollback()
            return outcomes

    def withdraw(self, upload: PreparedUpload) -> bool:
        """Remove an upload, and never store it again. Return False if its stratum is closed."""
        with self._writing() as connection:
            return writing.withdraw(connection, upload)

    @cached_property
    def _lanes(self) -> tuple[bytes, ...]:
        """The number of the lane of each slot of an upload; empty without lanes."""
        if not self.bundle.lanes:
            return (b"",)
        return tuple(lane.to_bytes(LANE_BYTES) for lane in self.bundle.slot_lanes)

    def _secrets(self) -> Secrets:
        if self.secrets is None:
            raise StoreError.of("secret", "collection.secret-after-release")
        return self.secrets

    # --- invitations -----------------------------------------------------------------------------

    def invite(self, invitations: Iterable[bytes]) -> None:
        """Add unused codes, in the order of their tags."""
        new = sorted(map(self._secrets().code_tag, invitations))
        with self._writing() as connection:
            rows = [{"tag": tag, "used": False} for tag in new]
            connection.execute(insert(tables.codes), rows)

    def issued(self) -> int:
        """Return the number of codes."""
        with self._reading() as connection:
            return connection.scalar(select(func.count()).select_from(tables.codes)) or 0

    # --- closing ---------------------------------------------------------------------------------

    def strata(self) -> tuple[StratumState, ...]:
        """Return the state of every stratum, in the order of their numbers."""
        with self._reading() as connection:
            return self._states(connection)

    def close(self, decide: Callable[[Sequence[StratumState]], ClosingDecision]) -> ClosingDecision:
        """Close and delete strata, as is decided from the state of all, in one transaction.

        Returns the decision.

        It begins when the uploads in progress have ended, and later ones are refused: what is
        decided cannot become wrong before it is durable.
        """
        if not any(decide(self.strata())):
            return (), ()
        number = tables.strata.c.number
        with self._writing() as connection:
            connection.execute(select(number).order_by(number).with_for_update())
            groups, deleted = decide(self._states(connection))
            for group in groups:
                self._set(connection, group, state=CLOSING, release=min(group))
            if deleted:
                self._set(connection, deleted, state=DELETED)
                self._delete(connection, deleted)
            return groups, deleted

    def reports_in(self, numbers: Sequence[int]) -> int:
        """Return the number of sealed reports."""
        query = select(func.count()).select_from(tables.reports)
        with self._reading() as connection:
            number = connection.scalar(query.where(tables.reports.c.stratum.in_(numbers)))
            return int(number or 0)

    def sealed(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """Yield the sealed reports of closed strata, in the order of their places.

        If the bundle has lanes, each follows the number of its lane (2 bytes).
        """
        secrets, r = self._secrets(), tables.reports.c
        query = select(r.tag, r.box).where(r.stratum.in_(numbers)).order_by(r.place)
        with self._reading() as connection:
            rows = connection.execution_options(yield_per=TOGETHER).execute(query)
            for tag, box in rows:
                yield secrets.unbox(bytes(box), bytes(tag))

    def release(self, numbers: Sequence[int], start: bytes) -> None:
        """Store the signed header of a release, unless another process already did."""
        with self._writing() as connection:
            statement = writing.insert_into(connection, tables.releases)
            values = {"first": min(numbers), "start": start}
            connection.execute(statement.values(values).on_conflict_do_nothing())
            self._set(connection, numbers, state=RELEASED)

    def start_of(self, release: int) -> bytes | None:
        """Return signature and header of a release, or None if it does not exist yet."""
        r = tables.releases.c
        with self._reading() as connection:
            start = connection.scalar(select(r.start).where(r.first == release))
            return None if start is None else bytes(start)

    def acknowledge(self, numbers: Sequence[int]) -> None:
        """Store that a release was delivered."""
        with self._writing() as connection:
            self._set(connection, numbers, state=ACKNOWLEDGED)

    def delete(self, numbers: Sequence[int]) -> None:
        """Delete the rows of a release that was delivered."""
        with self._writing() as connection:
            self._delete(connection, numbers)

    def forget(self) -> None:
        """Delete the rest, which is unreadable once the key is destroyed."""
        self.secrets = None
        with self._writing() as connection:
            connection.execute(delete(tables.reports))
            connection.execute(delete(tables.codes))
            connection.execute(delete(tables.withdrawn))
            connection.execute(update(tables.counts).values(people=0))
        with database_errors():
            forget(self.engine, (tables.reports, tables.codes, tables.withdrawn))

    # --- transactions ----------------------------------------------------------------------------

    @staticmethod
    def _states(connection: Connection) -> tuple[StratumState, ...]:
        s, c = tables.strata.c, tables.counts.c
        query = select(s.number, s.state, s.release, c.people).where(s.number == c.stratum)
        return tuple(StratumState(*row) for row in connection.execute(query.order_by(s.number)))

    @staticmethod
    def _set(connection: Connection, numbers: Sequence[int], **values: object) -> None:
        which = tables.strata.c.number.in_(numbers)
        connection.execute(update(tables.strata).where(which).values(**values))

    @staticmethod
    def _delete(connection: Connection, numbers: Sequence[int]) -> None:
        """Delete the rows of strata and reset their numbers of people."""
        connection.execute(delete(tables.reports).where(tables.reports.c.stratum.in_(numbers)))
        which = tables.counts.c.stratum.in_(numbers)
        connection.execute(update(tables.counts).where(which).values(people=0))
