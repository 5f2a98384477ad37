"""Counting on Apache Spark: a small tally for each partition, added up by the driver.

Nothing is counted twice and nothing is lost, whatever fails. A task reads its reports and returns
their tally; it changes nothing elsewhere, and done again it returns the same. For each partition
Spark hands the driver one result, of the first attempt that succeeded: those of attempts that
were lost, repeated, or run twice for speed (speculation) are dropped. Of files, each tally also
names the parts it has counted; tallies that share one are not added, and in the end all parts
have to be there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.errors import InWords, ReportsError, UsageError
from incrowd.plans import Plan
from incrowd.reports.collection import (
    COLUMN,
    Collection,
    as_matrix,
    group_rows,
    load_header,
    load_part,
    regrouped,
    row_groups,
)
from incrowd.reports.folder import report_files
from incrowd.tally.acceptance import check_origin
from incrowd.tally.files import as_text, of_text
from incrowd.tally.tally import Ids, Kind, Tally, count, count_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterator[pa.RecordBatch]

TALLY = "tally"
THIS_MACHINE = "local[*]"
NAMED = re.compile(r"[\w.]+(Error|Exception): ")  # the end of a Python trace
OURS = f"{ReportsError.__module__}.{ReportsError.__name__}: "
INSTALL = "pip install 'incrowd[spark]'"


def count_files(
    plan: Plan,
    session: SparkSession,
    paths: Iterable[str | Path],
    tables: Iterable[Ids],
    kind: Kind = "singles",
) -> Tally:
    """Count files and folders of reports, which every machine has to find under these paths.

    The machines read the row groups by themselves, so that no report passes through Spark. The
    tally is the one that `incrowd.tally.tally.count` makes of the same files. Raises ReportsError
    if a file cannot be read, is of another plan, or comes twice.
    """
    nothing = Tally(plan.digest, tuple(tables), kind)
    files = [file.resolve() for path in paths for file in report_files(path)]
    for file in files:
        check_origin(plan, load_header(file))
    places = [(str(file), number) for file in files for number in range(row_groups(file))]
    numbers = session.range(0, len(places), 1, len(places))
    found = _collected(numbers, partial(_count_places, plan, nothing, places))
    total = sum(found, nothing)
    if len(total.parts) != len(places):
        raise ReportsError.of(
            "reports", InWords(f"{len(total.parts)} of {len(places)} parts came"), "count again"
        )
    return total


def count_frame(
    plan: Plan,
    frame: DataFrame,
    header: Collection,
    tables: Iterable[Ids],
    kind: Kind = "singles",
) -> Tally:
    """Count a data frame with a binary column `report`: the reports of one message.

    header: the collection without its reports, as `incrowd.reports.collection.load_header` reads
    it from a file, or made by hand; its `id` is what keeps the frame from being counted twice.
    The rows have to be the same whenever Spark computes them. Reports of another length, or none
    at all in a row, are rejected. Raises ReportsError if the header is of another plan or there
    is no such column.
    """
    check_origin(plan, header)
    if dict(frame.dtypes).get(COLUMN) != "binary":
        columns = ", ".join(map(" ".join, frame.dtypes)) or "no columns"
        raise ReportsError.of("reports", columns, f"they need a binary column {COLUMN!r}")
    nothing = Tally(plan.digest, tuple(tables), kind)
    empty = replace(header, packed=header.packed[:0])
    work = partial(_count_rows, plan, nothing, replace(empty, people=header.people and 0))
    return sum(_collected(frame.select(COLUMN), work), count_part(plan, empty, nothing))


@contextmanager
def started(master: str = THIS_MACHINE) -> Iterator[SparkSession]:
    """A Spark session, stopped in the end.

    master: where Spark runs; by default on this machine, with all its cores. The machines of a
    cluster need this version of Python and this package. Raises UsageError if the extra `spark`
    or Java is missing, if a session is running in this process already, or if Spark does not start.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        allowed = f"it needs the extra `spark` ({error}); use {INSTALL}"
        raise UsageError.of("engine", "spark", allowed) from None
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise UsageError.of("engine", "spark", "it needs Java 17 or newer; install it")
    if SparkSession.getActiveSession() is not None:
        allowed = "another Spark session is running here; stop it, or give it to count_files"
        raise UsageError.of("master", master, allowed)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("incrowd").config("spark.log.level", "OFF")
    try:
        session = builder.master(master).getOrCreate()
    except (Py4JError, PySparkException) as error:
        raise UsageError.of(
            "master", master, f"Spark does not start there: {_reason(error)}; name where it runs"
        ) from None
    try:
        yield session
    finally:
        session.stop()


def _collected(frame: DataFrame, work: Callable[[Batches], Batches]) -> list[Tally]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        rows = frame.mapInArrow(work, f"{TALLY} binary").collect()
    except (Py4JError, PySparkException) as error:
        allowed = f"they could not be counted: {_reason(error)}; count without Spark"
        raise ReportsError.of("reports", InWords("on Spark"), allowed) from None
    return [of_text(bytes(row[TALLY]).decode()) for row in rows]


def _count_places(
    plan: Plan, nothing: Tally, places: Sequence[tuple[str, int]], batches: Batches
) -> Batches:
    """The tally of the row groups whose numbers among all places come in a partition."""
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    parts = (load_part(*places[number]) for number in numbers)
    yield _as_batch(count(plan, parts, nothing.tables, nothing.kind))


def _count_rows(plan: Plan, nothing: Tally, header: Collection, batches: Batches) -> Batches:
    """The tally of the reports in a partition; it names no part."""
    wrong = 0

    def fitting() -> Iterator[np.ndarray]:
        nonlocal wrong
        for batch in batches:
            packed = _of_width(batch.column(0), header.packed.shape[1])
            wrong += batch.num_rows - len(packed)
            yield packed

    total = replace(count_part(plan, header, nothing), parts=frozenset())
    for packed in regrouped(fitting(), group_rows(header.packed.shape[1])):
        counted = count_part(plan, replace(header, packed=packed), nothing)
        total += replace(counted, parts=frozenset())
    (number, counts), *_ = total.messages.items()
    rejected = replace(counts, rejected=counts.rejected + wrong)
    yield _as_batch(replace(total, messages={number: rejected}))


def _of_width(column: pa.BinaryArray, width: int) -> np.ndarray:
    """The reports of the right length: uint8, shape (reports, width)."""
    right = column.filter(pc.equal(pc.binary_length(column), width))
    return as_matrix(right.cast(pa.binary(width)))


def _as_batch(tally: Tally) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({TALLY: [as_text(tally).encode()]})


def _reason(error: Exception) -> str:
    """What went wrong, without the traces of two languages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if NAMED.match(line)]
    return [type(error).__name__, *lines[:1], *named][-1].removeprefix(OURS)
