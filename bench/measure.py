"""Medians of several runs."""

import statistics
import time


def median_seconds(work, runs=5):
    """Median wall time of some runs after one that is not counted (unless there is only one)."""
    times = []
    for _ in range(runs + (runs > 1)):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:] if runs > 1 else times)


def row(what, work, beside="", peer=None, runs=5):
    """One line of a table: ours, and what it is compared with."""
    return what, median_seconds(work, runs), beside, median_seconds(peer, 1) if peer else None
