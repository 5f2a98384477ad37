"""How long estimates take: large tables beside explicit matrices, many options end to end."""

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa

import incrowd
from bench.kernels import along_axes as tensordot_along_axes
from bench.measure import Row, row
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.tables import estimate_table
from incrowd.kernels.axes import transform as along_axes
from incrowd.survey import YesNo

FLIP = BitFlip.at_least(0.2)
BITS = 20
EXPLICIT_BITS = 12
OPTIONS = 50_000
PEOPLE = 1_000_000
RUNS = 9


def counts(bits):
    return np.random.default_rng(0).integers(0, 1000, (2,) * bits).astype(float)


def table_rows():
    table, inverses = counts(BITS), [FLIP.inverse] * BITS
    yield (
        f"{BITS}-bit table inverted (bar: 0.1 s)",
        partial(along_axes, inverses, table),
        "tensordot axis by axis",
        partial(tensordot_along_axes, inverses, table),
    )
    questions = [YesNo(id=str(i)) for i in range(BITS)]
    decoders = [question_decoder(question, FLIP) for question in questions]
    yield (
        f"{BITS}-bit table estimated, with all standard errors",
        partial(estimate_table, [q.id for q in questions], decoders, table),
        "one inversion by tensordots",
        partial(tensordot_along_axes, inverses, table),
    )
    small, few = counts(EXPLICIT_BITS), [FLIP.inverse] * EXPLICIT_BITS
    explicit = reduce(np.kron, few)
    yield (
        f"{EXPLICIT_BITS}-bit table inverted",
        partial(along_axes, few, small),
        "product with the explicit inverse, computed beforehand",
        partial(explicit.dot, small.ravel()),
    )


def many_options():
    """Plan, randomize, estimate: seconds, reports, and the most memory of this process in MB."""
    options = [f"option {i}" for i in range(OPTIONS)]
    question = {"id": "home", "type": "choice", "options": options}
    raw = {"name": "many", "crowd": PEOPLE, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
    survey = incrowd.Survey.of(raw | {"question": [question]})
    places = np.random.default_rng(0).zipf(1.3, PEOPLE) % OPTIONS
    answers = pa.table({"home": pa.array(options).take(pa.array(places))})
    start = time.perf_counter()
    plan = incrowd.plan(survey)
    reports = incrowd.randomize(plan, answers)
    incrowd.estimate(plan, reports).tables[0].above_noise()
    seconds = time.perf_counter() - start
    return seconds, len(reports[0]), most_memory()


def most_memory():
    """In MB. Where /proc tells it is preferred: getrusage may count the parent of this process."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def many_options_row():
    """In a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        seconds, reports, peak = pool.submit(many_options).result()
    what = f"{OPTIONS:,} options, {PEOPLE:,} people, {reports:,} reports, end to end"
    return Row(f"{what}; {peak:,.0f} MB at most", seconds)


def rows():
    """Every measurement."""
    for what, work, beside, peer in table_rows():
        yield row(what, work, beside, peer, RUNS)
    yield many_options_row()
