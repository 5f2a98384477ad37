"""Work shared out among threads."""

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


def in_order(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The results of `work` on the items, in their order, from one thread a core, at most four.

    Items are drawn in the caller's thread, one ahead of each thread and no more. If the caller
    stops early, or anything is raised, what has not begun is not done.
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
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
