"""Reports + Plan -> tally, on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from incrowd.planner.planner import analysis_of
from incrowd.planner.sources import check_tables
from incrowd.plans import Plan
from incrowd.tally.spark import THIS_MACHINE, count_files, started
from incrowd.tally.tally import Kind, Tally


def count_on_spark(
    plan: Plan,
    paths: Iterable[str | Path],
    *,
    tables: Sequence[Sequence[str]] | None = None,
    kind: Kind = "singles",
    master: str = THIS_MACHINE,
) -> Tally:
    """Count files of reports on Spark, as `count` does here; every machine has to find the files.

    master: the address of a cluster; by default all cores of this machine. Raises UsageError if
    the extra `spark` or Java is missing, else what `count` raises.
    """
    analysis_of(plan)
    wanted = check_tables(plan, tables)
    with started(master) as session:
        return count_files(plan, session, paths, wanted, kind)
