"""The tables, and connections to SQLite and PostgreSQL. No column is a counter, order or date."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
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
)

from incrowd.collection.mixer.store.keys import database_errors

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

metadata = MetaData()
# The bundle that the database is for.
bundles = Table("bundle", metadata, Column("digest", LargeBinary, primary_key=True))
# release: the first stratum of the release that a stratum is in.
strata = Table(
    "strata",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
    Column("release", Integer),
)
# people: uploads in a stratum, changed at the end of the transaction that changes the rows.
counts = Table(
    "counts",
    metadata,
    Column("stratum", Integer, primary_key=True, autoincrement=False),
    Column("people", Integer, nullable=False),
)
# One row for each sealed report. mark: ties it to its upload, for somebody who has that upload and
# the key. place: a random number. If a transaction has many uploads, their rows follow each other,
# in the order of their tags: SQLite would otherwise store each long box on pages of its own.
reports = Table(
    "reports",
    metadata,
    Column("place", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("tag", LargeBinary, nullable=False, unique=True),
    Column("stratum", Integer, nullable=False),
    Column("mark", LargeBinary, nullable=False),
    Column("box", LargeBinary, nullable=False),
)
# tag: of an invitation, stored before it is used; or of the nonce in an entry token, stored with
# the upload that it admits.
codes = Table(
    "codes",
    metadata,
    Column("tag", LargeBinary, primary_key=True),
    Column("used", Boolean(create_constraint=False), nullable=False),
    sqlite_with_rowid=False,
)
# The last upload that was withdrawn with a code (its holder); without codes, every
# withdrawn upload is its own holder. It is not stored again if it arrives late.
withdrawn = Table(
    "withdrawn",
    metadata,
    Column("holder", LargeBinary, primary_key=True),
    Column("upload", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
# start: signature and header, as sent. The body is a file named by its digest.
releases = Table(
    "releases",
    metadata,
    Column("first", Integer, primary_key=True, autoincrement=False),
    Column("start", LargeBinary, nullable=False),
)


def opened(url: str) -> Engine:
    """Open the database at an SQLAlchemy URL; messages never contain statement values."""
    if url.startswith("sqlite"):
        return _sqlite(url)
    return create_engine(
        url,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        # Plan statements for the current size of the tables: an empty table grows quickly.
        connect_args={"prepare_threshold": None},
    )


def _sqlite(url: str) -> Engine:
    connect_args = {"timeout": PATIENCE, "check_same_thread": False}
    engine = create_engine(url, hide_parameters=True, connect_args=connect_args)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # we begin transactions ourselves
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        if order := connection.get_execution_options().get(BEGIN, "BEGIN IMMEDIATE"):
            connection.exec_driver_sql(order)

    return engine


def forget(engine: Engine, emptied: Iterable[Table]) -> None:
    """Remove the remains of deleted rows from the files, as far as the database can."""
    full = [f"VACUUM FULL {table.name}" for table in emptied]
    orders, alone = full, {"isolation_level": "AUTOCOMMIT"}
    if engine.dialect.name == "sqlite":
        orders, alone = ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"], {BEGIN: ""}
    with engine.connect().execution_options(**alone) as connection:
        for order in orders:
            connection.exec_driver_sql(order)


class Database:
    """The transactions of a store. What the database reports becomes a StoreError."""

    engine: Engine

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with database_errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with database_errors(), self.engine.connect().execution_options(**READS) as connection:
            yield connection
