"""Databases of stores, in SQLite and PostgreSQL, each with a row that identifies it.

A store is created once, in an empty database. The row contains the kind and version of its tables,
its bundle, and a mark that is derived from its key. Every transaction begins by comparing it. A
database that is empty, or another one, is an error: it is never filled anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError

from incrowd.catalog.sentences import system_words
from incrowd.collection.mixer.store.keys import Secrets, StoreError, database_errors, state_of
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import UsageError
from incrowd.files import PRIVATE

PATIENCE = 20  # seconds that a transaction waits for another

# Tags are random, so each new row is on another page. Pages stay in memory (64 MiB) and are copied
# from the log seldom (at 64 MiB), when many new rows share a page.
PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "secure_delete=ON",
    "cache_size=-65536",
    "wal_autocheckpoint=16384",
)

BEGIN = "incrowd_begin"  # an option of a connection: how its transactions begin in SQLite
READS = {BEGIN: "BEGIN"}  # for a transaction that only reads: it blocks nobody


def opened(url: str) -> Engine:
    """Open the database at an SQLAlchemy URL; messages never contain statement values.

    No file is created: SQLite would otherwise replace a missing database with an empty one.
    """
    if url.startswith("sqlite"):
        return _sqlite(url)
    return create_engine(
        url,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        # Plan statements for the current size of the tables: an empty table grows quickly.
        connect_args={"prepare_threshold": None},
    )


def _sqlite(url: str, is_new: bool = False) -> Engine:
    connect_args = {"timeout": PATIENCE, "check_same_thread": False}
    engine = create_engine(url, hide_parameters=True, connect_args=connect_args)
    path, latest = database_file(engine), dict[str, Any]()

    @event.listens_for(engine, "do_connect")
    def _locate(*_: Any) -> None:
        inode, size = _inode(path), path.stat().st_size if path.exists() else 0
        is_empty = not (is_new or size)
        if latest and (is_empty or inode != latest["inode"]):
            raise _replaced(path)
        if inode is None:
            raise StoreError.of("database", "collection.database-missing", file=str(path))
        if is_empty:
            raise StoreError.of("database", "collection.database-empty", file=str(path))
        latest.update(inode=inode, size=max(size, latest.get("size", 0)))

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # we begin transactions ourselves
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        record.info |= {FILES: _files(path), LATEST: latest}

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        if order := connection.get_execution_options().get(BEGIN, "BEGIN IMMEDIATE"):
            connection.exec_driver_sql(order)

    return engine


def database_file(engine: Engine) -> Path:
    """Return the file of an SQLite database. Raises UsageError for a database in memory."""
    name = (engine.url.database or "").removeprefix("file:")
    if not name or name == ":memory:":
        raise UsageError.of("database", "collection.database-in-memory", url=str(engine.url))
    return Path(name)


def forget(engine: Engine, emptied: Iterable[Table]) -> None:
    """Remove the remains of deleted rows from the files, as far as the database can."""
    full = [f"VACUUM FULL {table.name}" for table in emptied]
    orders, alone = full, {"isolation_level": "AUTOCOMMIT"}
    if engine.dialect.name == "sqlite":
        orders, alone = ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"], {BEGIN: ""}
    with engine.connect().execution_options(**alone) as connection:
        for order in orders:
            connection.exec_driver_sql(order)


# --- the files of SQLite, which could be deleted, replaced or cut while they are open -------------

FILES, LATEST = "incrowd_files", "incrowd_latest"  # of a connection: its files; their last state
ENDINGS = ("", "-wal", "-shm")
HEADER_BYTES = 32  # of a database file, with its size (https://www.sqlite.org/fileformat.html)
LARGEST_PAGE = 65_536  # written as 1

Inode = tuple[int, int] | None  # device and number of a file, if it exists


def _inode(path: Path) -> Inode:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _files(path: Path) -> tuple[Inode, ...]:
    """Return the files at the address of a database: itself, its log, the index of the log."""
    return tuple(_inode(path.with_name(path.name + ending)) for ending in ENDINGS)


def _is_cut(path: Path) -> bool:
    """Return whether a database file is shorter than its header states."""
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    page, pages = int.from_bytes(header[16:18]), int.from_bytes(header[28:32])
    size = (LARGEST_PAGE if page == 1 else page) * pages
    return len(header) < HEADER_BYTES or path.stat().st_size < size


def _check_in_place(connection: Connection) -> None:
    """Raise StoreError if the files of a connection are not those at the database's address.

    Recently stored data are then lost, and must not be confirmed.
    """
    if connection.dialect.name != "sqlite":
        return
    path, latest = database_file(connection.engine), connection.info[LATEST]
    is_there = _files(path) == connection.info[FILES]
    size = path.stat().st_size if is_there else 0
    if not is_there or (size < latest["size"] and _is_cut(path)):  # it grows while it is written
        raise _replaced(path)
    latest["size"] = size


def _replaced(path: Path) -> Exception:
    return StoreError.of("database", "collection.database-replaced", file=str(path))


# --- stores --------------------------------------------------------------------------------------

VERSION = 1  # of the tables of all stores
NO_TABLE = {"SQLITE_ERROR", "42P01"}  # codes of SQLite and PostgreSQL
LOCK = 0x1C0D  # of PostgreSQL, held by the process that creates tables

_metadata = MetaData()
# What a store is. kind: of its tables. mark: derived from its key. probe: rewritten by `check`.
identities = Table(
    "incrowd_store",
    _metadata,
    Column("bundle", LargeBinary, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("mark", LargeBinary, nullable=False),
    Column("probe", LargeBinary),
)


class Database:
    """A store in a database. Errors of the database become a StoreError.

    kind, metadata: the same for all stores of a class. secrets: None until the store is unlocked,
    and after its key was destroyed.
    """

    kind: ClassVar[str]
    other_kind: ClassVar[str]  # the code of the message about a database of another kind
    metadata: ClassVar[MetaData]

    engine: Engine
    secrets: Secrets | None
    bundle: Bundle

    def __init__(self, engine: Engine, bundle: Bundle) -> None:
        """Open the store of a bundle. Raises StoreError if the database does not contain it."""
        self.engine, self.secrets, self.bundle = engine, None, bundle
        self._look()

    @classmethod
    def create(cls, url: str, secrets: Secrets, bundle: Bundle) -> None:
        """Create the store of a bundle in an empty database; do nothing if it is there already.

        Everything is one transaction, and processes that do this at the same time wait for each
        other. Raises StoreError if the database contains anything else.
        """
        engine = _sqlite(url, is_new=True) if url.startswith("sqlite") else opened(url)
        if engine.dialect.name == "sqlite":
            _reserve(database_file(engine))
        try:
            with database_errors(), engine.begin() as connection:
                cls._fill(connection, secrets, bundle)
        finally:
            engine.dispose()

    @classmethod
    def _fill(cls, connection: Connection, secrets: Secrets, bundle: Bundle) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        if not inspect(connection).get_table_names():
            for each in (_metadata, cls.metadata):
                each.create_all(connection, checkfirst=False)
            row = {"bundle": bundle.digest, "kind": cls.kind, "version": VERSION}
            connection.execute(insert(identities).values(mark=secrets.mark, **row))
            cls._begin_with(connection, bundle)
        cls._check_identity(connection, bundle, secrets)

    @classmethod
    def _begin_with(cls, connection: Connection, bundle: Bundle) -> None:
        """Insert the first rows of a new store."""

    def unlock(self, secrets: Secrets) -> None:
        """Use a key. Raises StoreError if it is not the one that the store was created with."""
        self.secrets = secrets
        self._look()

    def _look(self) -> None:
        """Raise StoreError, and close all connections, unless the database is the right one."""
        with closed_on_error(self), self._reading():
            pass

    def check(self, size: int) -> None:
        """Raise StoreError unless the database can store this many bytes durably."""
        with self._writing() as connection:
            connection.execute(update(identities).values(probe=os.urandom(size)))

    @classmethod
    def _check_identity(
        cls, connection: Connection, bundle: Bundle, secrets: Secrets | None
    ) -> None:
        try:
            row = connection.execute(select(identities)).one_or_none()
        except DBAPIError as error:
            if state_of(error) not in NO_TABLE:
                raise
            row = None
        if row is None:
            raise StoreError.of("database", "collection.database-without-store")
        if row.version != VERSION:
            raise StoreError.of(
                "database", "collection.database-version", version=row.version, right=VERSION
            )
        if row.kind != cls.kind:
            raise StoreError.of("database", cls.other_kind)
        if bytes(row.bundle) != bundle.digest:
            digest = bundle.digest.hex()
            raise StoreError.of("database", "collection.database-of-bundle", digest=digest)
        if secrets is not None and bytes(row.mark) != secrets.mark:
            raise StoreError.of("database", "collection.database-of-key")

    # --- transactions ----------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._transaction() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._transaction(**READS) as connection:
            yield connection

    @contextmanager
    def _transaction(self, **options: Any) -> Iterator[Connection]:
        """Open a transaction in the right database, and check afterwards that it is in its place.

        Only then may anybody rely on what was read, or be told that something was stored.
        """
        with database_errors(), self.engine.connect().execution_options(**options) as connection:
            with connection.begin():
                self._check_identity(connection, self.bundle, self.secrets)
                yield connection
            _check_in_place(connection)


@contextmanager
def closed_on_error(store: Database) -> Iterator[None]:
    """Close the connections of a store if the block fails."""
    try:
        yield
    except BaseException:
        store.engine.dispose()
        raise


def _reserve(path: Path) -> None:
    """Create an empty file for a database, so that only its owner can read it and its logs."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
        path.chmod(PRIVATE)
    except OSError as error:
        raise StoreError.of(
            "database",
            "collection.database-unwritable",
            file=str(path),
            reason=system_words(error),
        ) from None
