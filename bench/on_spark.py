"""A Spark cluster of two workers on this machine, beside one process."""

import importlib.util
import shutil

import incrowd
from bench.measure import Row, medians
from bench.whole import wide_plan, written
from incrowd.reports.spark import count_files, started

CLUSTER = "local-cluster[2,1,1024]"
SIZES = (10**6, 10**7, 10**8)


def rows():
    """Nothing where Java or pyspark is missing."""
    if not (shutil.which("java") and importlib.util.find_spec("pyspark")):
        return
    plan = wide_plan(64)
    tables = plan.survey.wanted
    with started(CLUSTER) as session:
        for size in SIZES:
            with written(plan, size) as path:
                spark, here = medians(
                    [
                        lambda path=path: count_files(plan, session, [path], tables),
                        lambda path=path: incrowd.count(plan, incrowd.stream_reports(path)),
                    ],
                    runs=3,
                )
                what = f"64 one-way tables of {size:,} reports of 64 bits, the session started"
                yield Row(what, spark, "one process", here)
