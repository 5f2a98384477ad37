"""A collection: the packed reports of one message, in an order without meaning."""

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
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import IncrowdError, ReportsError, quantity, unreadable
from incrowd.plans.claims import ClaimedRelease
from incrowd.plans.digests import digest_of, read_json

_log = logging.getLogger(__name__)
COLUMN = "report"
NAME = "incrowd."  # the prefix of our keys in the metadata
FORMAT = "incrowd reports 1"
STRATA, RELEASE = f"{NAME}strata", f"{NAME}release"
REPORTS, BODY, DIGEST = f"{NAME}reports", f"{NAME}sha256", f"{NAME}digest"
GROUP_BYTES = 1 << 24  # of reports in a row group: 2 million of 64 bits
ID_BYTES = 16  # of the random name of a collection that did not come over a network
WRITING = {
    "compression": "none",  # random bits do not shrink
    "use_dictionary": False,
    "write_statistics": False,
}


@dataclass(frozen=True)
class Collection:
    """Reports of one message of one plan, all of them or a part.

    Attributes
    ----------
    plan : str
        The digest of the plan.
    message : int
        The number of the message, from 0.
    bits : int
        The number of bits of a report.
    packed : uint8 array, shape (reports, ceil(bits / 8))
        Bit i of a report is bit i % 8 of byte i // 8; padding bits are zero.
    seed : int or None
        Of a simulation; None for real reports.
    id : str
        A name, so that nothing is counted twice: random, or derived from the release and message of
        reports that came over a network.
    people : int or None
        How many people took part, which cells have to state; an upper bound for joint reports.
        Counted with the first part only.
    persons : {"rows", "ids"}
        What counts as one person.
    part : int
        The number of this part.
    strata : tuple of str
        Whose reports these are, if questions are open; several strata were released as one.
    release : ClaimedRelease or None
        The claims about reports that came over a network.
    draws : int
        0 for reports. If services add noise, the rows are the published counts of the cells, in
        order, as signed integers; this is how many times noise was added to each.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> reports[0].plan == plan.digest
    True
    >>> reports[0].packed.shape == (len(reports[0]), 1)
    True
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
    release: ClaimedRelease | None = None
    draws: int = 0

    def __len__(self) -> int:
        return len(self.packed)

    def __repr__(self) -> str:
        sizes = f"{quantity(len(self), 'reports')} of {quantity(self.bits, 'bits')}"
        if self.draws:
            sizes = f"{quantity(len(self), 'counts')} of {quantity(self.people or 0, 'people')}"
        where = f"plan={self.plan[:12]}…, message={self.message}"
        return f"Collection({where}, {sizes}{views.simulated(self.seed)})"


def write_reports(header: Collection, pieces: Iterable[np.ndarray], path: Path) -> None:
    """Write a collection whose reports come in pieces. header: everything but the reports.

    The format is Parquet: one fixed-length column, with the header as metadata. The end of the file
    has the number of reports, the SHA-256 of their bytes, and a digest of all metadata. pieces:
    uint8, shape (any number, width). All row groups but the last have the same number of reports,
    so the file does not depend on how the reports are cut into pieces.
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
    """Return how many reports of `width` bytes a row group has."""
    return GROUP_BYTES // max(1, width) or 1


def regrouped(pieces: Iterable[np.ndarray], rows: int) -> Iterator[np.ndarray]:
    """Yield the same rows in the same order, `rows` at a time; the last piece may be shorter."""
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
    """Read a collection. Raises ReportsError if the file is damaged or is not a reports file.

    It is also raised if the metadata was edited after the file was written. Only `parts` compares
    the reports themselves with their hash.
    """
    _log.info("reading %s, reports", path)
    with _opened(path) as file:
        return _collection(file, file.read(), path)


def parts(path: str | Path, check: bool = False) -> Iterator[Collection]:
    """Read a collection part by part: never more than one row group of reports in memory.

    check: whether to compare the reports themselves with their SHA-256, which takes about half a
    second per GB; the metadata is always checked. Raises ReportsError as `load_collection`.
    """
    body = hashlib.sha256()
    _log.info("reading %s, reports", path)
    with _opened(path) as file:
        for number in range(max(file.num_row_groups, 1)):
            part = _part(file, number, path)
            if check:
                body.update(np.ascontiguousarray(part.packed).data)
            yield part
        if check and _stored_metadata(file).get(BODY, body.hexdigest()) != body.hexdigest():
            raise _edited(path)


def load_part(path: str | Path, number: int) -> Collection:
    """Read one part of a collection. Raises ReportsError as `parts`."""
    with _opened(path) as file:
        return _part(file, number, path)


def load_header(path: str | Path) -> Collection:
    """Read the header of a collection, without its reports. Raises as `parts`."""
    _log.info("reading %s, the end of reports", path)
    with _opened(path) as file:
        return _collection(file, file.schema_arrow.empty_table(), path)


def _part(file: pa.parquet.ParquetFile, number: int, path: str | Path) -> Collection:
    """Read one row group; only the first states how many people took part."""
    table = file.read_row_group(number) if file.num_row_groups else file.read()
    collection = _collection(file, table, path)
    first = collection.people if number == 0 or collection.people is None else 0
    return replace(collection, part=number, people=first)


def row_groups(path: str | Path) -> int:
    """Return how many parts a collection has. Raises ReportsError if the file cannot be read."""
    with _opened(path) as file:
        return max(int(file.num_row_groups), 1)


@contextmanager
def _opened(path: str | Path) -> Iterator[pa.parquet.ParquetFile]:
    """Open a file of reports; any failure becomes a ReportsError.

    Row groups larger than those written here are rejected, so that memory is bounded.
    """
    try:
        file = pa.parquet.ParquetFile(path, memory_map=True)
        width = file.schema_arrow.field(COLUMN).type.byte_width
        for number in range(file.num_row_groups):
            rows = file.metadata.row_group(number).num_rows
            if rows > group_rows(width):
                raise ReportsError.of(
                    "reports",
                    "reports.row-group",
                    value=str(path),
                    reports=rows,
                    most=group_rows(width),
                    bytes=width,
                )
        yield file
    except OSError as error:
        raise ReportsError.of(
            "reports", "reports.unreadable", value=str(path), reason=unreadable(error)
        ) from None
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise ReportsError.of(
            "reports", "reports.not-reports", value=str(path), reason=_reason(error)
        ) from None


def _reason(error: Exception) -> Sentence | str:
    """Return our reason, or the first sentence of an error of the Parquet library."""
    ours = error.args[0] if error.args else ""
    return ours if isinstance(ours, Sentence) else str(error).partition(". ")[0]


def _collection(file: pa.parquet.ParquetFile, table: pa.Table, path: str | Path) -> Collection:
    metadata = _stored_metadata(file)
    plan = metadata["incrowd.plan"]
    if not _fits(metadata, file.metadata.num_rows):
        raise _edited(path)
    if (format := metadata.get("incrowd.format")) != FORMAT:
        raise ValueError(sentence("reports.format", format=format))
    column = table.column(COLUMN)
    single = column.num_chunks == 1  # which `combine_chunks` would copy
    persons = metadata.get("incrowd.persons", "rows")
    if persons not in ("rows", "ids"):
        raise ValueError(sentence("reports.wrong-metadata", key="incrowd.persons", value=persons))
    message = int(metadata["incrowd.message"])
    release = ClaimedRelease.model_validate_json(metadata[RELEASE]) if RELEASE in metadata else None
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
        draws=_count(metadata, "incrowd.draws") or 0,
    )


def _stored_metadata(file: pa.parquet.ParquetFile) -> dict[str, str]:
    """Return the metadata that this package wrote to the file."""
    pairs = {k.decode(): v.decode() for k, v in (file.metadata.metadata or {}).items()}
    return {key: value for key, value in pairs.items() if key.startswith(NAME)}


def _fits(metadata: dict[str, str], reports: int) -> bool:
    """Return whether the metadata is unedited and states the right number of reports."""
    rest = {key: value for key, value in metadata.items() if key != DIGEST}
    return metadata.get(DIGEST) == digest_of(rest) and rest.get(REPORTS) == str(reports)


def _edited(path: str | Path) -> IncrowdError:
    return ReportsError.of("reports", "reports.edited", value=str(path))


def _count(metadata: dict[str, str], name: str) -> int | None:
    """Return a number of at least 0, if there is one. Raises ValueError for any other."""
    number = int(metadata[name]) if name in metadata else None
    if number is not None and not 0 <= number < 1 << 63:
        raise ValueError(sentence("reports.wrong-metadata", key=name, value=number))
    return number


def _strata(metadata: dict[str, str]) -> tuple[str, ...]:
    """Return the names of strata, if any. Raises ValueError for anything but a list of names."""
    names = read_json(metadata.get(STRATA, "[]"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(sentence("reports.not-a-list", key=STRATA))
    return tuple(names)


def _metadata(collection: Collection) -> dict[str, str]:
    fields = {
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
        "draws": collection.draws or None,
    }
    return {f"{NAME}{key}": str(value) for key, value in fields.items() if value is not None}


def as_matrix(column: pa.FixedSizeBinaryArray) -> np.ndarray:
    """Return the bytes of a fixed-size binary array without a copy, shape (rows, width)."""
    width = column.type.byte_width
    if not len(column):
        return np.empty((0, width), np.uint8)
    data = np.frombuffer(column.buffers()[1], np.uint8)
    first = column.offset * width
    return data[first : first + len(column) * width].reshape(len(column), width)
