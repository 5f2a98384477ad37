"""A collection: the reports of one message, packed, in an order that means nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from incrowd.errors import ReportsError
from incrowd.reports.files import replaced

COLUMN = "report"
ROW_GROUP = 1 << 20


@dataclass(frozen=True)
class Collection:
    """Reports of one message of one plan.

    packed: uint8, shape (reports, ceil(bits / 8)); bit i of a report stands in byte i // 8 at
    place i % 8, padding bits are zero. seed: None for real reports; a simulation names its seed.
    """

    plan: str
    message: int
    bits: int
    packed: np.ndarray
    seed: int | None = None

    def __len__(self) -> int:
        return len(self.packed)


def save(collection: Collection, path: str | Path) -> None:
    """Write a collection as Parquet: one fixed-length column, the plan's digest as metadata."""
    width = collection.packed.shape[1]
    data = pa.py_buffer(np.ascontiguousarray(collection.packed))
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(collection), [None, data])
    schema = pa.schema([pa.field(COLUMN, pa.binary(width), nullable=False)], _metadata(collection))
    table = pa.Table.from_arrays([column], schema=schema)
    with replaced(path) as temporary:
        pa.parquet.write_table(
            table,
            temporary,
            row_group_size=ROW_GROUP,
            compression="none",  # random bits do not shrink
            use_dictionary=False,
            write_statistics=False,
        )


def load(path: str | Path) -> Collection:
    """Read a collection. Raises ReportsError if the file is damaged or holds no reports."""
    try:
        table = pa.parquet.ParquetFile(path).read()
        metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
        column = table.column(COLUMN).combine_chunks()
        packed = _matrix(column)
        seed = metadata.get("incrowd.simulation_seed")
        return Collection(
            plan=metadata["incrowd.plan"],
            message=int(metadata["incrowd.message"]),
            bits=int(metadata["incrowd.bits"]),
            packed=packed,
            seed=None if seed is None else int(seed),
        )
    except OSError as error:
        reason = error.strerror or "is not a complete Parquet file"
        raise ReportsError.of("reports", str(path), f"{reason}; {_MAKE}") from None
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise ReportsError.of("reports", str(path), f"are no reports ({error}); {_MAKE}") from None


_MAKE = "name a file made by `incrowd randomize`"


def _metadata(collection: Collection) -> dict[str, str]:
    found = {
        "incrowd.plan": collection.plan,
        "incrowd.message": str(collection.message),
        "incrowd.bits": str(collection.bits),
    }
    if collection.seed is not None:
        found["incrowd.simulation_seed"] = str(collection.seed)
    return found


def _matrix(column: pa.FixedSizeBinaryArray) -> np.ndarray:
    """The bytes of a fixed-size binary array without a copy, shape (rows, width)."""
    width = column.type.byte_width
    data = np.frombuffer(column.buffers()[1], np.uint8)
    first = column.offset * width
    return data[first : first + len(column) * width].reshape(len(column), width)
