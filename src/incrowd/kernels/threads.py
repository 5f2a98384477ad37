"""Work distributed over threads, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

MOST_THREADS = 4  # of `in_order`: each holds a batch or a bucket in memory


def over_rows(
    work: Callable[[slice], T], rows: int, threads: int | None = None, least: int = 1
) -> list[T]:
    """Return the results of `work` on slices that cover range(rows), in order, one per thread.

    threads: the maximum; None for one per core. least: the fewest rows for which a thread is
    worthwhile. The threads exist only during this call, so none is missing after a fork.
    """
    count = max(1, min(threads or _cores(), rows // least))
    if count == 1:
        return [work(slice(0, rows))]
    bounds = [rows * i // count for i in range(count + 1)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, (slice(*ends) for ends in pairwise(bounds))))


def in_order(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield the results of `work` on the items, in order, with one thread per core, at most four.

    Items are drawn in the caller's thread, at most one ahead of each thread. If the caller stops
    early, or an exception is raised, items not yet begun are dropped.
    """
    threads = min(_cores(), MOST_THREADS)
    waiting: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
