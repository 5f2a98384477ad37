"""Rows shared out among threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def over_rows(
    work: Callable[[slice], T], rows: int, threads: int | None = None, least: int = 1
) -> list[T]:
    """The results of `work` on slices that cover range(rows), in order, one thread for each.

    threads: at most so many; None for one a core. least: rows below which a thread is not worth
    its start. The threads live for this call only, so that none is missing after a fork.
    """
    count = max(1, min(threads or _cores(), rows // least))
    if count == 1:
        return [work(slice(0, rows))]
    bounds = [rows * i // count for i in range(count + 1)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, (slice(*ends) for ends in pairwise(bounds))))


def _cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
