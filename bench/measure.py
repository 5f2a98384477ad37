"""Medians of several runs, two kinds of work taking turns."""

import statistics
import time
from typing import NamedTuple


class Row(NamedTuple):
    """What was measured, in seconds; beside what, in seconds; and what was hoped for."""

    what: str
    seconds: float
    beside: str = ""
    peer: float | None = None
    bar: str = ""


def row(what, work, beside="", peer=None, runs=5, bar=""):
    """One line of a table: ours, and what it is compared with."""
    ours, theirs = medians([work, peer] if peer else [work], runs) + [None] * (not peer)
    return Row(what, ours, beside, theirs, bar)


def medians(works, runs=5):
    """Median wall times, in turns, after a round that is not counted (unless there is only one)."""
    times = [[] for _ in works]
    for _ in range(runs + (runs > 1)):
        for work, spent in zip(works, times, strict=True):
            spent.append(seconds(work))
    return [statistics.median(spent[1:] if runs > 1 else spent) for spent in times]


def seconds(work):
    """Wall time of one run."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
