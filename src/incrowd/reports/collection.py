"""A collection: the reports of one message, packed, in an order that means nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from incrowd import views
from incrowd.errors import ReportsError, unreadable
from incrowd.plans.digests import EDITED, digest_of, fits, warn_unsealed

COLUMN = "report"
NAME = "incrowd."  # before the name of everything that is ours in the metadata
FORMAT = "incrowd reports 2"  # those before it name no format, and have no digest
REPORTS, BODY, DIGEST = f"{NAME}reports", f"{NAME}sha256", f"{NAME}digest"
GROUP_BYTES = 1 << 24  # of reports in a row group: 2 million of 64 bits
ID_BYTES = 16


@dataclass(frozen=True)
class Collection:
    """Reports of one message of one plan, all of them or a part.

    packed: uint8, shape (reports, ceil(bits / 8)); bit i of a report stands in byte i // 8 at
    place i % 8, padding bits are zero. id: a random name, so that nothing is counted twice.
    people: who took part, where set bits travel unlinked and reports do not tell (counted with the
    first part only). persons: what was taken as one person, "rows" or "ids". part: which part
    this is. seed: None for real reports; a simulation names it.
    """

    plan: str
    message: int
    bits: int
    packed: np.ndarray
    seed: int | None = None
    id: str = ""
    people: int | None = None
    persons: str = "rows"
    part: int = 0

    def __len__(self) -> int:
        return len(self.packed)

    def __repr__(self) -> str:
        sizes = f"{len(self):,} reports of {self.bits:,} bits"
        where = f"plan={self.plan[:12]}…, message={self.message}"
        return f"Collection({where}, {sizes}{views.simulated(self.seed)})"


def write_reports(header: Collection, pieces: Iterable[np.ndarray], path: Path) -> None:
    """Write a collection whose reports come in pieces; of the header only the rest is taken.

    It is Parquet: one fixed-length column, the header as metadata. At the end of the file come
    the number of reports, the SHA-256 of their bytes, and a digest of all metadata. pieces: uint8,
    shape (any number, width). All row groups but the last hold as many reports, so that the file
    is the same however the reports were cut.
    """
    schema, rows = schema_of(header), group_rows(header.packed.shape[1])
    number, body = 0, hashlib.sha256()
    with pa.parquet.ParquetWriter(path, schema, **WRITING) as writer:
        for packed in regrouped(pieces, rows):
            table = pa.Table.from_arrays([as_column(packed)], schema=schema)
            writer.write_table(table, rows)
            number += len(packed)
            body.update(np.ascontiguousarray(packed).data)
        end = {REPORTS: str(number), BODY: body.hexdigest()}
        digest = digest_of(_metadata(header) | end)
        writer.add_key_value_metadata({**end, DIGEST: digest})


def group_rows(width: int) -> int:
    """How many reports of `width` bytes stand in a row group."""
    return GROUP_BYTES // max(1, width) or 1


def regrouped(pieces: Iterable[np.ndarray], rows: int) -> Iterator[np.ndarray]:
    """The same rows in the same order, `rows` at a time, at the end what is left (or nothing)."""
    held: list[np.ndarray] = []
    for piece in pieces:
        while sum(map(len, held)) + len(piece) >= rows:
            cut = rows - sum(map(len, held))
            yield np.concatenate([*held, piece[:cut]])
            held, piece = [], piece[cut:]
        held.append(piece)
    if sum(map(len, held)):
        yield np.concatenate(held)


WRITING = {
    "compression": "none",  # random bits do not shrink
    "use_dictionary": False,
    "write_statistics": False,
}


def as_column(packed: np.ndarray) -> pa.FixedSizeBinaryArray:
    """Packed reports as an Arrow column, without a copy."""
    data = pa.py_buffer(np.ascontiguousarray(packed))
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(packed.shape[1]), len(packed), [None, data]
    )


def schema_of(collection: Collection) -> pa.Schema:
    """The Parquet schema of a collection's file; the reports themselves are not looked at."""
    width = collection.packed.shape[1]
    return pa.schema([pa.field(COLUMN, pa.binary(width), nullable=False)], _metadata(collection))


def load_collection(path: str | Path) -> Collection:
    """Read a collection. Raises ReportsError if the file is damaged or holds no reports.

    So it does if what the file says of its reports was edited after it was written; an older file
    has no digest to tell, which is said by an IncrowdWarning. The reports themselves are compared
    by `parts` alone.
    """
    with _readable(path):
        file = _opened(path)
        return _collection(file, file.read(), path)


def parts(path: str | Path, check: bool = False) -> Iterator[Collection]:
    """Read a collection part by part: never more than one row group of reports in memory.

    check: whether the reports themselves are compared with their SHA-256, which takes about half a
    second for a GB; what is said of them always is. Raises ReportsError as `load_collection`.
    """
    body = hashlib.sha256()
    with _readable(path):
        file = _opened(path)
        for number in range(max(file.num_row_groups, 1)):
            part = _part(file, number, path)
            if check:
                body.update(np.ascontiguousarray(part.packed).data)
            yield part
        if check:
            _check_body(file, body, path)


def load_part(path: str | Path, number: int) -> Collection:
    """Read one part of a collection. Raises ReportsError as `parts`."""
    with _readable(path):
        return _part(_opened(path), number, path)


def load_header(path: str | Path) -> Collection:
    """A collection without its reports: what the end of the file says. Raises as `parts`."""
    with _readable(path):
        file = _opened(path)
        return _collection(file, file.schema_arrow.empty_table(), path)


def _opened(path: str | Path) -> pa.parquet.ParquetFile:
    """A file of reports, of which no part takes more memory than those that are written here."""
    file = pa.parquet.ParquetFile(path, memory_map=True)
    width = file.schema_arrow.field(COLUMN).type.byte_width
    for number in range(file.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        if rows > group_rows(width):
            most = f"should have at most {group_rows(width):,} of {width} bytes"
            raise ReportsError.of("reports", str(path), f"a row group has {rows:,}; {most}")
    return file


def _part(file: pa.parquet.ParquetFile, number: int, path: str | Path) -> Collection:
    """One row group; how many people took part is told by the first alone."""
    table = file.read_row_group(number) if file.num_row_groups else file.read()
    found = _collection(file, table, path)
    first = found.people if number == 0 or found.people is None else 0
    return replace(found, part=number, people=first)


def row_groups(path: str | Path) -> int:
    """How many parts a collection has. Raises ReportsError if the file cannot be read."""
    with _readable(path):
        return max(int(_opened(path).num_row_groups), 1)


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Whatever goes wrong with a file of reports becomes a ReportsError."""
    try:
        yield
    except OSError as error:
        raise ReportsError.of("reports", str(path), f"{unreadable(error)}; {_MAKE}") from None
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise ReportsError.of(
            "reports", str(path), f"it holds no reports ({error}); {_MAKE}"
        ) from None


_MAKE = "name what `incrowd randomize` wrote"


def _collection(file: pa.parquet.ParquetFile, table: pa.Table, path: str | Path) -> Collection:
    metadata = _said(file)
    _check_digest(metadata, file.metadata.num_rows, path)
    persons = metadata.get("incrowd.persons", "rows")
    if persons not in ("rows", "ids"):
        raise ValueError(f"incrowd.persons is {persons!r}")
    found = Collection(
        plan=metadata["incrowd.plan"],
        message=int(metadata["incrowd.message"]),
        bits=int(metadata["incrowd.bits"]),
        packed=as_matrix(_one_chunk(table.column(COLUMN))),
        seed=_count(metadata, "incrowd.simulation_seed"),
        id=metadata.get("incrowd.collection", str(path)),
        people=_count(metadata, "incrowd.people"),
        persons=persons,
    )
    if _is_old(metadata):
        warn_unsealed(path)
    return found


def _said(file: pa.parquet.ParquetFile) -> dict[str, str]:
    """What the end of the file says of its reports."""
    found = {k.decode(): v.decode() for k, v in (file.metadata.metadata or {}).items()}
    return {key: value for key, value in found.items() if key.startswith(NAME)}


def _check_digest(metadata: dict[str, str], reports: int, path: str | Path) -> None:
    """Raises ReportsError if the metadata was edited, or there are not as many reports as it says.

    Older files say neither.
    """
    if _is_old(metadata):
        return
    rest = {key: value for key, value in metadata.items() if key != DIGEST}
    if not fits(metadata.get(DIGEST), rest) or rest.get(REPORTS) != str(reports):
        raise ReportsError.of("reports", str(path), f"{EDITED}; {_MAKE}")


def _is_old(metadata: dict[str, str]) -> bool:
    """Whether a file was written before there were digests.

    The format stands where every tool keeps it, the digest where some do not: a file that was
    written again without its digest is not taken for an old one.
    """
    return not metadata.keys() & {f"{NAME}format", REPORTS, BODY, DIGEST}


def _check_body(file: pa.parquet.ParquetFile, body: hashlib._Hash, path: str | Path) -> None:
    """Raises ReportsError if the reports are not those that were written, as far as it says."""
    if _said(file).get(BODY, body.hexdigest()) != body.hexdigest():
        raise ReportsError.of("reports", str(path), f"{EDITED}; {_MAKE}")


def _count(metadata: dict[str, str], name: str) -> int | None:
    """A number of at least 0, if there is one. Raises ValueError for another."""
    found = int(metadata[name]) if name in metadata else None
    if found is not None and not 0 <= found < 1 << 63:
        raise ValueError(f"{name} is {found}")
    return found


def _one_chunk(column: pa.ChunkedArray) -> pa.FixedSizeBinaryArray:
    """A column in one piece; `combine_chunks` would copy it if it is one already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _metadata(collection: Collection) -> dict[str, str]:
    found = {
        "incrowd.format": FORMAT,
        "incrowd.plan": collection.plan,
        "incrowd.message": str(collection.message),
        "incrowd.bits": str(collection.bits),
        "incrowd.collection": collection.id,
        "incrowd.persons": collection.persons,
    }
    if collection.people is not None:
        found["incrowd.people"] = str(collection.people)
    if collection.seed is not None:
        found["incrowd.simulation_seed"] = str(collection.seed)
    return found


def as_matrix(column: pa.FixedSizeBinaryArray) -> np.ndarray:
    """The bytes of a fixed-size binary array without a copy, shape (rows, width)."""
    width = column.type.byte_width
    if not len(column):
        return np.empty((0, width), np.uint8)
    data = np.frombuffer(column.buffers()[1], np.uint8)
    first = column.offset * width
    return data[first : first + len(column) * width].reshape(len(column), width)
