"""Counting on Apache Spark: a small tally for each partition, added up by the driver.

Nothing is counted twice or lost, whatever fails. A task reads its reports and returns their tally,
without side effects; repeated, it returns the same. For each partition Spark gives the driver one
result, that of the first successful attempt; those of attempts that were lost, repeated, or run
twice for speed (speculation) are dropped. Tallies of files also name the parts they counted;
tallies that share a part cannot be added, and in the end all parts have to be present.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from incrowd.errors import ReportsError, UsageError, needing
from incrowd.methods import THIS_MACHINE
from incrowd.plans import Plan
from incrowd.reports.acceptance import check_origin
from incrowd.reports.collection import load_header, load_part, row_groups
from incrowd.reports.folder import report_files
from incrowd.reports.tally import Tally, TallyKind, count
from incrowd.reports.tally_files import as_text, of_text
from incrowd.survey.question import QuestionIds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RecordBatches = Iterator[pa.RecordBatch]

TALLY = "tally"
TASKS_EACH = 2  # per core; more tasks would cost more than repeating a lost one
NAMED = re.compile(r"[\w.]+(Error|Exception): ")  # the end of a Python trace
# Codes of messages, by what could not be done with reports.
_FAILED = {"counted": "reports.not-counted-on-spark", "opened": "reports.not-opened-on-spark"}
OURS = f"{ReportsError.__module__}.{ReportsError.__name__}: "


def count_files(
    plan: Plan,
    session: SparkSession,
    paths: Iterable[str | Path],
    tables: Iterable[QuestionIds],
    kind: TallyKind = "singles",
) -> Tally:
    """Count files and folders of reports, which every machine must be able to read at these paths.

    The machines read the row groups directly, so that no report passes through Spark. The tally is
    the same as that of `incrowd.reports.tally.count`. Raises ReportsError if a file cannot be read,
    belongs to another plan, or is named twice.
    """
    nothing = Tally(plan.digest, tuple(tables), kind)
    files = [file.resolve() for path in paths for file in report_files(path)]
    for file in files:
        check_origin(plan, nothing.plan, load_header(file))
    places = [(str(file), number) for file in files for number in range(row_groups(file))]
    tasks = min(len(places), TASKS_EACH * session.sparkContext.defaultParallelism)
    numbers = session.range(0, len(places), 1, tasks)
    tallies = _collected(numbers, partial(_count_places, plan, nothing, places))
    total = sum(tallies, nothing)
    if len(total.parts) != len(places):
        raise ReportsError.of(
            "reports", "reports.parts-missing", arrived=len(total.parts), parts=len(places)
        )
    return total


@contextmanager
def started(master: str = THIS_MACHINE) -> Iterator[SparkSession]:
    """Start a Spark session; it is stopped at the end of the block.

    master: where Spark runs; by default on this machine, with all its cores. The machines of a
    cluster need this version of Python and this package. Raises UsageError if the extra `spark`
    or Java is missing, if a session is running in this process already, or if Spark does not start.
    """
    with needing("spark", UsageError, "engine"):
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise UsageError.of("engine", "reports.no-java")
    if SparkSession.getActiveSession() is not None:
        raise UsageError.of("master", "reports.spark-running", value=master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("incrowd").config("spark.log.level", "OFF")
    try:
        session = builder.master(master).getOrCreate()
    except (Py4JError, PySparkException) as error:
        raise UsageError.of(
            "master", "reports.spark-not-started", value=master, reason=_reason(error)
        ) from None
    try:
        yield session
    finally:
        session.stop()


def in_arrow(
    frame: DataFrame, work: Callable[[RecordBatches], RecordBatches], result: str, done: str
) -> pa.Table:
    """Apply `work` to each partition of a frame and return the results, in any order.

    result: the columns of the result, with Spark's names of types. done: what happens to the
    reports, "counted" or "opened". Raises ReportsError if it fails.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return frame.mapInArrow(work, result).toArrow()
    except (Py4JError, PySparkException) as error:
        raise ReportsError.of("reports", _FAILED[done], reason=_reason(error)) from None


def _collected(frame: DataFrame, work: Callable[[RecordBatches], RecordBatches]) -> list[Tally]:
    table = in_arrow(frame, work, f"{TALLY} binary", "counted")
    return [of_text(text.decode()) for text in table.column(TALLY).to_pylist()]


def _count_places(
    plan: Plan, nothing: Tally, places: Sequence[tuple[str, int]], batches: RecordBatches
) -> RecordBatches:
    """Yield the tally of the row groups whose numbers a partition contains."""
    numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
    parts = (load_part(*places[number]) for number in numbers)
    yield pa.RecordBatch.from_pydict(
        {TALLY: [as_text(count(plan, parts, nothing.tables, nothing.kind)).encode()]}
    )


def _reason(error: Exception) -> str:
    """Return what went wrong, without Java's and Python's stack traces."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if NAMED.match(line)]
    return [type(error).__name__, *lines[:1], *named][-1].removeprefix(OURS)
