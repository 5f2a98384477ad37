"""Processes: work on pieces of data in their order, and copies of one that has imported modules."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from queue import SimpleQueue
from typing import TypeVar, cast

from incrowd.collection.machine import protect
from incrowd.errors import ReportsError

R = TypeVar("R")
PieceWork = Callable[[bytes], R]
AHEAD = 4  # pieces queued for each process


def in_processes(work: PieceWork[R], pieces: Iterable[bytes], workers: int) -> Iterator[R]:
    """Yield the results for pieces, in their order; one worker runs in this process.

    work: can be pickled, as its results can. Each process has a thread here that passes it one
    piece at a time. Raises ReportsError if a process ends unexpectedly.
    """
    if workers == 1:
        yield from map(work, pieces)
        return
    free: SimpleQueue[Connection] = SimpleQueue()

    def passed(piece: bytes) -> R:
        pipe = free.get()
        try:
            pipe.send_bytes(piece)
            return cast(R, pipe.recv())
        finally:
            free.put(pipe)

    with ExitStack() as stack:
        for _ in range(workers):
            free.put(stack.enter_context(_process(work)))
        threads = ThreadPoolExecutor(workers)
        stack.callback(threads.shutdown, cancel_futures=True)
        try:
            yield from _in_order(threads, passed, pieces, AHEAD * workers)
        except (EOFError, OSError):
            raise ReportsError.of("release", "collection.process-ended") from None


def _in_order(
    threads: ThreadPoolExecutor, work: PieceWork[R], pieces: Iterable[bytes], most: int
) -> Iterator[R]:
    """Yield results in order. most: pieces in progress at a time."""
    waiting: deque[Future[R]] = deque()
    for piece in pieces:
        waiting.append(threads.submit(work, piece))
        if len(waiting) == most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextmanager
def _process(work: PieceWork[R]) -> Iterator[Connection]:
    """Start a process that works on the pieces it receives through a pipe, until it is closed."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, work), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join()


@cache
def copies_with(*modules: str) -> ForkServerContext | SpawnContext:
    """Return how to start processes that need these modules, which take a second to import.

    They are copies of one process that has imported them and has done nothing else.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def end_with_parent() -> None:
    """Exit when the process that started this one ends, however it ends."""
    parent = multiprocessing.parent_process()
    assert parent, "it runs in a process that another one started"
    parent.join()
    os._exit(1)


def _serve(pipe: Connection, work: PieceWork[R]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    protect()  # a new program does not inherit the protection
    with suppress(EOFError, OSError):
        while True:
            pipe.send(work(pipe.recv_bytes()))
