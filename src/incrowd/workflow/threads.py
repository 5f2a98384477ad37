"""Work done side by side, taken in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

MOST_THREADS = 4  # each holds a batch or a bucket in memory


def in_order(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """The results of `work` on the items, in their order, from one thread a core, at most four.

    Items are drawn in the caller's thread, one ahead of each thread and no more. If the caller
    stops early, or anything is raised, what has not begun is not done.
    """
    threads = min(os.cpu_count() or 1, MOST_THREADS)
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
