"""Whole paths: the example from end to end, and files of reports beside reading them."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import incrowd
from bench.measure import row
from incrowd.reports.collection import Collection, write_reports

EXAMPLES = Path(__file__).parent.parent / "examples"
BITS = 64
MILLION = 1 << 20


def example():
    survey = incrowd.Survey.load(EXAMPLES / "health.toml")
    answers = incrowd.load_answers(EXAMPLES / "rand_hie.csv", survey)
    plan = incrowd.plan(survey)
    return incrowd.estimate(plan, incrowd.randomize(plan, answers))


def wide_plan(bits=BITS):
    """So many yes/no questions in one report; nobody is trusted, so that planning is quick."""
    questions = [{"id": f"q{i}", "type": "yesno"} for i in range(bits)]
    privacy = {"epsilon": float(bits), "analysis": "local"}
    raw = {"name": "wide", "crowd": 1000, "privacy": privacy, "question": questions}
    return incrowd.plan(incrowd.Survey.of(raw))


@contextmanager
def written(plan, reports):
    """A file with so many random reports, gone in the end."""
    width = -(-plan.messages[0].bits // 8)
    generator = np.random.default_rng(0)
    header = Collection(plan.digest, 0, 8 * width, np.empty((0, width), np.uint8), id="0" * 32)
    sizes = [min(MILLION, reports - start) for start in range(0, reports, MILLION)]
    pieces = (generator.integers(0, 256, (size, width), np.uint8) for size in sizes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        write_reports(header, pieces, path)
        yield path


def read(path):
    """The reports by pyarrow alone, a row group at a time: the quickest way we know."""
    file = pq.ParquetFile(path, memory_map=True)
    for number in range(file.num_row_groups):
        file.read_row_group(number)


def estimated(plan, path):
    return incrowd.estimate(plan, incrowd.stream_reports(path))


def rows():
    yield row("the example: plan, randomize, estimate 20,190 records of 15 bits", example)
    plan = wide_plan()
    with written(plan, 64 * MILLION) as path:
        what = f"{BITS} one-way tables from {64 * MILLION:,} reports of {BITS} bits in Parquet"
        bar = "at least .70"
        ours = lambda: estimated(plan, path)  # noqa: E731
        yield row(what, ours, "pyarrow alone, row group by row group", lambda: read(path), bar=bar)
        yield row(what, ours, "pyarrow alone, read_table", lambda: pq.read_table(path), bar=bar)
