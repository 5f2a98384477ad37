"""The tables of a mixer's store. No column is a counter, order or date."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

metadata = MetaData()
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
