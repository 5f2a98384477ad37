"""A collection: the reports of one message, packed, in an order that means nothing."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from incrowd import views
from incrowd.errors import IncrowdError, ReportsError, unreadable
from incrowd.plans.claims import Release
from incrowd.plans.digests import EDITED, digest_of, read_json

_log = logging.getLogger(__name__)
COLUMN = "report"
NAME = "incrowd."  # before the name of everything that is ours in the metadata
FORMAT = "incrowd reports 1"
STRATA, RELEASE = f"{NAME}strata", f"{NAME}release"
REPORTS, BODY, DIGEST = f"{NAME}reports", f"{NAME}sha256", f"{NAME}digest"
GROUP_BYTES = 1 << 24  # of reports in a row group: 2 million of 64 bits
ID_BYTES = 16  # of the random name of what came over no network
WRITING = {
    "compression": "none",  # random bits do not shrink
    "use_dictionary": False,
    "write_statistics": False,
}
_MAKE = "name what `incrowd randomize` wrote"


@dataclass(frozen=True)
class Collection:
    """Reports of one message of one plan, all of them or a part.

    packed: uint8, shape (reports, ceil(bits / 8)); bit i of a report stands in byte i // 8 at
    place i % 8, padding bits are zero. id: a name, so that nothing is counted twice: random, or of
    what came over a network that of its release and message.
    people: who took part, which has to be said of cells, since their reports do not
    tell; elsewhere at most so many did (counted with the first part only). persons: what was taken
    as one person, "rows" or "ids". part: which part this is. seed: None for real reports; a
    simulation names it. strata: of whom, where questions are open; several were released as one.
    release: of what came over a network, what was claimed about that.
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
    strata: tuple[str, ...] = ()
    release: Release | None = None

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
    metadata, width = _metadata(header), header.packed.shape[1]
    kind, rows = pa.binary(width), group_rows(width)
    schema = pa.schema([pa.field(COLUMN, kind, nullable=False)], metadata)
    number, body = 0, hashlib.sha256()
    with pa.parquet.ParquetWriter(path, schema, **WRITING) as writer:
        for packed in map(np.ascontiguousarray, regrouped(pieces, rows)):
            data = [None, pa.py_buffer(packed)]
            column = pa.FixedSizeBinaryArray.from_buffers(kind, len(packed), data)
            writer.write_table(pa.Table.from_arrays([column], schema=schema), rows)
            number += len(packed)
            body.update(packed.data)
        end = {REPORTS: str(number), BODY: body.hexdigest()}
        writer.add_key_value_metadata({**end, DIGEST: digest_of(metadata | end)})


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


def load_collection(path: str | Path) -> Collection:
    """Read a collection. Raises ReportsError if the file is damaged or holds no reports.

    So it does if what the file says of its reports was edited after it was written. The reports
    themselves are compared by `parts` alone.
    """
    _log.info("reading %s, reports", path)
    with _opened(path) as file:
        return _collection(file, file.read(), path)


def parts(path: str | Path, check: bool = False) -> Iterator[Collection]:
    """Read a collection part by part: never more than one row group of reports in memory.

    check: whether the reports themselves are compared with their SHA-256, which takes about half a
    second for a GB; what is said of them always is. Raises ReportsError as `load_collection`.
    """
    body = hashlib.sha256()
    _log.info("reading %s, reports", path)
    with _opened(path) as file:
        for number in range(max(file.num_row_groups, 1)):
            part = _part(file, number, path)
            if check:
                body.update(np.ascontiguousarray(part.packed).data)
            yield part
        if check and _said(file).get(BODY, body.hexdigest()) != body.hexdigest():
            raise _edited(path)


def load_part(path: str | Path, number: int) -> Collection:
    """Read one part of a collection. Raises ReportsError as `parts`."""
    with _opened(path) as file:
        return _part(file, number, path)


def load_header(path: str | Path) -> Collection:
    """A collection without its reports: what the end of the file says. Raises as `parts`."""
    _log.info("reading %s, the end of reports", path)
    with _opened(path) as file:
        return _collection(file, file.schema_arrow.empty_table(), path)


def _part(file: pa.parquet.ParquetFile, number: int, path: str | Path) -> Collection:
    """One row group; how many people took part is told by the first alone."""
    table = file.read_row_group(number) if file.num_row_groups else file.read()
    found = _collection(file, table, path)
    first = found.people if number == 0 or found.people is None else 0
    return replace(found, part=number, people=first)


def row_groups(path: str | Path) -> int:
    """How many parts a collection has. Raises ReportsError if the file cannot be read."""
    with _opened(path) as file:
        return max(int(file.num_row_groups), 1)


@contextmanager
def _opened(path: str | Path) -> Iterator[pa.parquet.ParquetFile]:
    """A file of reports; whatever goes wrong with it becomes a ReportsError.

    No part of it takes more memory than those that are written here.
    """
    try:
        file = pa.parquet.ParquetFile(path, memory_map=True)
        width = file.schema_arrow.field(COLUMN).type.byte_width
        for number in range(file.num_row_groups):
            rows = file.metadata.row_group(number).num_rows
            if rows > group_rows(width):
                most = f"should have at most {group_rows(width):,} of {width} bytes"
                raise ReportsError.of("reports", str(path), f"a row group has {rows:,}; {most}")
        yield file
    except OSError as error:
        raise ReportsError.of("reports", str(path), f"{unreadable(error)}; {_MAKE}") from None
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise ReportsError.of(
            "reports", str(path), f"it is not a reports file ({_sentence(error)}); {_MAKE}"
        ) from None


def _sentence(error: Exception) -> str:
    """The first of what the library for Parquet says."""
    return str(error).partition(". ")[0]


def _collection(file: pa.parquet.ParquetFile, table: pa.Table, path: str | Path) -> Collection:
    metadata = _said(file)
    plan = metadata["incrowd.plan"]
    if not _fits(metadata, file.metadata.num_rows):
        raise _edited(path)
    if (format := metadata.get("incrowd.format")) != FORMAT:
        raise ValueError(f"its format is {format!r}")
    column = table.column(COLUMN)
    single = column.num_chunks == 1  # which `combine_chunks` would copy
    persons = metadata.get("incrowd.persons", "rows")
    if persons not in ("rows", "ids"):
        raise ValueError(f"incrowd.persons is {persons!r}")
    message = int(metadata["incrowd.message"])
    release = Release.model_validate_json(metadata[RELEASE]) if RELEASE in metadata else None
    name = metadata.get("incrowd.collection", str(path))
    return Collection(
        plan=plan,
        message=message,
        bits=int(metadata["incrowd.bits"]),
        packed=as_matrix(column.chunk(0) if single else column.combine_chunks()),
        seed=_count(metadata, "incrowd.simulation_seed"),
        id=release.collection(message) if release else name,
        people=_count(metadata, "incrowd.people"),
        persons=persons,
        strata=_strata(metadata),
        release=release,
    )


def _said(file: pa.parquet.ParquetFile) -> dict[str, str]:
    """What the end of the file says of its reports."""
    found = {k.decode(): v.decode() for k, v in (file.metadata.metadata or {}).items()}
    return {key: value for key, value in found.items() if key.startswith(NAME)}


def _fits(metadata: dict[str, str], reports: int) -> bool:
    """Whether the metadata is as it was written, and there are as many reports as it says."""
    rest = {key: value for key, value in metadata.items() if key != DIGEST}
    return metadata.get(DIGEST) == digest_of(rest) and rest.get(REPORTS) == str(reports)


def _edited(path: str | Path) -> IncrowdError:
    return ReportsError.of("reports", str(path), f"{EDITED}; {_MAKE}")


def _count(metadata: dict[str, str], name: str) -> int | None:
    """A number of at least 0, if there is one. Raises ValueError for another."""
    found = int(metadata[name]) if name in metadata else None
    if found is not None and not 0 <= found < 1 << 63:
        raise ValueError(f"{name} is {found}")
    return found


def _strata(metadata: dict[str, str]) -> tuple[str, ...]:
    """The names of strata, if there are some. Raises ValueError for what is no list of names."""
    found = read_json(metadata.get(STRATA, "[]"))
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"{STRATA} is no list of names")
    return tuple(found)


def _metadata(collection: Collection) -> dict[str, str]:
    found = {
        "format": FORMAT,
        "plan": collection.plan,
        "message": collection.message,
        "bits": collection.bits,
        "collection": collection.id,
        "persons": collection.persons,
        "people": collection.people,
        "simulation_seed": collection.seed,
        "strata": json.dumps(collection.strata) if collection.strata else None,
        "release": collection.release.model_dump_json() if collection.release else None,
    }
    return {f"{NAME}{key}": str(value) for key, value in found.items() if value is not None}


def as_matrix(column: pa.FixedSizeBinaryArray) -> np.ndarray:
    """The bytes of a fixed-size binary array without a copy, shape (rows, width)."""
    width = column.type.byte_width
    if not len(column):
        return np.empty((0, width), np.uint8)
    data = np.frombuffer(column.buffers()[1], np.uint8)
    first = column.offset * width
    return data[first : first + len(column) * width].reshape(len(column), width)
