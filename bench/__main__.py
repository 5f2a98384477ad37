"""Run all measurements and print their tables."""

import platform
import statistics
import sys
import time
from pathlib import Path

import incrowd
from incrowd.workflow.estimate import truth  # noqa: F401 - loads what the timings leave out

EXAMPLES = Path(__file__).parent.parent / "examples"


def median_seconds(work, runs=5):
    """Median wall time of some runs, and the last result."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def whole_path():
    survey = incrowd.Survey.load(EXAMPLES / "health.toml")
    answers = incrowd.load_answers(EXAMPLES / "rand_hie.csv", survey)
    plan = incrowd.plan(survey)
    return incrowd.estimate(plan, incrowd.randomize(plan, answers))


def main():
    print(f"{platform.platform()}, Python {sys.version.split()[0]}")
    seconds, found = median_seconds(whole_path)
    print(f"whole path, {found.reports:,} records of 15 bits: {seconds:.3f} s after imports")


main()
