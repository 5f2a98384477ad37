"""The store of one bundle: what the shuffler knows between an upload and its release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from incrowd.collection.mixer.store import tables, writing
from incrowd.collection.mixer.store.keys import Secrets, StoreError, mark, told
from incrowd.collection.mixer.store.writing import (
    ACKNOWLEDGED,
    CLOSING,
    DELETED,
    OPEN,
    RELEASED,
    Outcome,
    Prepared,
)
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.upload import NO_CODE, Upload
from incrowd.errors import InWords

TOGETHER = 10_000  # rows read at a time
TRIES = 100  # of a group in which reports collide; each needs another process in between


@dataclass(frozen=True)
class StratumState:
    """How far a stratum is. release: the first stratum of its release; people: its uploads."""

    number: int
    state: str
    release: int | None
    people: int


class Store:
    """A database with the key that lies beside it.

    secrets: None once the key was destroyed: then no upload can be taken any more.
    """

    def __init__(self, engine: Engine, secrets: Secrets | None, bundle: Bundle) -> None:
        """Open it, or make it. Raises StoreError if it is another bundle's, or cannot be used."""
        self.engine, self.secrets, self.bundle = engine, secrets, bundle
        with told():
            tables.metadata.create_all(engine)
        with self._writing() as connection:
            self._check_bundle(connection)

    def _check_bundle(self, connection: Connection) -> None:
        found = connection.scalar(select(tables.bundles.c.digest))
        if found is None:
            connection.execute(insert(tables.bundles).values(digest=self.bundle.digest))
            numbers = range(len(self.bundle.strata))
            rows = [{"number": n, "state": OPEN} for n in numbers]
            connection.execute(insert(tables.strata), rows)
            connection.execute(
                insert(tables.counts), [{"stratum": n, "people": 0} for n in numbers]
            )
        elif bytes(found) != self.bundle.digest:
            allowed = f"should be for {self.bundle.digest.hex()}; use another database"
            raise StoreError.of("database", InWords("is another bundle's"), allowed)

    # --- uploads ---------------------------------------------------------------------------------

    def prepare(self, *uploads: Upload) -> list[Prepared]:
        """Uploads as they are stored. It takes a processor, and no database."""
        secrets, nobody = self._secrets(), not self.bundle.codes
        boxed = iter(secrets.rows([each for upload in uploads for each in upload.sealed]))
        found = []
        for upload in uploads:
            id = secrets.upload_id(upload.encoded(self.bundle))
            boxes = islice(boxed, len(upload.sealed))
            rows = tuple((tag, mark(id, tag), box) for tag, box in boxes)
            code = None if nobody and upload.code == NO_CODE else secrets.code_tag(upload.code)
            found.append(Prepared(id, upload.stratum, code, rows))
        return found

    def take(self, uploads: Sequence[Upload]) -> list[Outcome]:
        """What became of each upload of a group, durably."""
        return self.accept(self.prepare(*uploads))

    def accept(self, uploads: Sequence[Prepared]) -> list[Outcome]:
        """What became of each upload of a group, durably.

        If reports collide that were not looked for, because somebody sends those of another
        upload or another process was faster, all of them are looked for.
        """
        for thorough in (False, *[True] * TRIES):
            if (outcomes := self._accept(uploads, thorough)) is not None:
                return outcomes
        allowed = "they collide with others that cannot be found; the database should be looked at"
        raise StoreError.of("reports", InWords("are not stored"), allowed)

    def _accept(self, uploads: Sequence[Prepared], thorough: bool) -> list[Outcome] | None:
        with self._writing() as connection:
            outcomes = writing.store(connection, uploads, thorough)
            if outcomes is None:
                connection.rollback()
            return outcomes

    def withdraw(self, upload: Prepared) -> bool:
        """Remove an upload if it is there, and never store it again. False if it is too late."""
        with self._writing() as connection:
            return writing.withdraw(connection, upload)

    def _secrets(self) -> Secrets:
        if self.secrets is None:
            allowed = "it was destroyed after the last release; make a new bundle to collect more"
            raise StoreError.of("secret", InWords("is gone"), allowed)
        return self.secrets

    # --- invitations -----------------------------------------------------------------------------

    def invite(self, invitations: Iterable[bytes]) -> None:
        """Add codes that nobody used yet, in the order of their tags."""
        new = sorted(map(self._secrets().code_tag, invitations))
        with self._writing() as connection:
            rows = [{"tag": tag, "used": False} for tag in new]
            connection.execute(insert(tables.codes), rows)

    def issued(self) -> int:
        """How many codes there are."""
        with self._reading() as connection:
            return connection.scalar(select(func.count()).select_from(tables.codes)) or 0

    # --- whether it works ------------------------------------------------------------------------

    def check(self) -> None:
        """Raises StoreError unless the database answers, and lets itself be written."""
        with self._writing() as connection:
            self._set(connection, (), state=OPEN)

    # --- closing ---------------------------------------------------------------------------------

    def strata(self) -> tuple[StratumState, ...]:
        """Every stratum, in the order of their numbers."""
        s, c = tables.strata.c, tables.counts.c
        wanted = select(s.number, s.state, s.release, c.people).where(s.number == c.stratum)
        with self._reading() as connection:
            return tuple(
                StratumState(*row) for row in connection.execute(wanted.order_by(s.number))
            )

    def close(self, numbers: Sequence[int], least: int) -> bool:
        """Shut out uploads in flight, if the strata are open and enough people are there.

        They are one release from now on, and its members are fixed.
        """
        with self._writing() as connection:
            if not self._all_open(connection, numbers) or self._people(connection, numbers) < least:
                return False
            self._set(connection, numbers, state=CLOSING, release=min(numbers))
            return True

    def dispose(self, numbers: Sequence[int]) -> None:
        """Delete open strata that nobody will release."""
        with self._writing() as connection:
            if self._all_open(connection, numbers):
                self._set(connection, numbers, state=DELETED)
                self._delete(connection, numbers)

    def reports_in(self, numbers: Sequence[int]) -> int:
        """How many sealed reports there are."""
        wanted = select(func.count()).select_from(tables.reports)
        with self._reading() as connection:
            found = connection.scalar(wanted.where(tables.reports.c.stratum.in_(numbers)))
            return int(found or 0)

    def sealed(self, numbers: Sequence[int]) -> Iterator[bytes]:
        """The sealed reports of closed strata, in the order of their tags."""
        secrets, r = self._secrets(), tables.reports.c
        wanted = select(r.tag, r.box).where(r.stratum.in_(numbers)).order_by(r.tag)
        with self._reading() as connection:
            rows = connection.execution_options(yield_per=TOGETHER).execute(wanted)
            for tag, box in rows:
                yield secrets.unbox(bytes(box), bytes(tag))

    def release(self, numbers: Sequence[int], start: bytes) -> None:
        """Keep the signed header of a release, unless another process was faster."""
        with self._writing() as connection:
            made = writing.insert_into(connection, tables.releases)
            values = {"first": min(numbers), "start": start}
            connection.execute(made.values(values).on_conflict_do_nothing())
            self._set(connection, numbers, state=RELEASED)

    def start_of(self, release: int) -> bytes | None:
        """Signature and header of a release, None as long as it is not made."""
        r = tables.releases.c
        with self._reading() as connection:
            found = connection.scalar(select(r.start).where(r.first == release))
            return None if found is None else bytes(found)

    def acknowledge(self, numbers: Sequence[int]) -> None:
        """The collector has it: delete the rows."""
        with self._writing() as connection:
            self._set(connection, numbers, state=ACKNOWLEDGED)
            self._delete(connection, numbers)

    def forget(self) -> None:
        """Once the key is destroyed: delete what is left, which is noise to everybody."""
        self.secrets = None
        with self._writing() as connection:
            connection.execute(delete(tables.reports))
            connection.execute(delete(tables.codes))
            connection.execute(delete(tables.withdrawn))
        with told():
            tables.forget(self.engine)

    # --- transactions ----------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with told(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with told(), self.engine.connect().execution_options(**tables.READS) as connection:
            yield connection

    @staticmethod
    def _all_open(connection: Connection, numbers: Sequence[int]) -> bool:
        s = tables.strata.c
        wanted = select(s.state).where(s.number.in_(numbers)).order_by(s.number)
        return set(connection.scalars(wanted.with_for_update())) == {OPEN}

    @staticmethod
    def _people(connection: Connection, numbers: Sequence[int]) -> int:
        c = tables.counts.c
        found = connection.scalar(select(func.sum(c.people)).where(c.stratum.in_(numbers)))
        return int(found or 0)

    @staticmethod
    def _set(connection: Connection, numbers: Sequence[int], **values: object) -> None:
        which = tables.strata.c.number.in_(numbers)
        connection.execute(update(tables.strata).where(which).values(**values))

    @staticmethod
    def _delete(connection: Connection, numbers: Sequence[int]) -> None:
        """Rows and number of people."""
        connection.execute(delete(tables.reports).where(tables.reports.c.stratum.in_(numbers)))
        which = tables.counts.c.stratum.in_(numbers)
        connection.execute(update(tables.counts).where(which).values(people=0))
