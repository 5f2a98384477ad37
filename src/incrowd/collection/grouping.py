"""Group commit: the requests that arrive during one transaction form the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Item = TypeVar("Item")
R = TypeVar("R")
G = TypeVar("G")
Other = TypeVar("Other")


class Grouped(Generic[Item, R]):
    """A store for the tasks of one event loop: one writer takes all waiting items together.

    take: makes a group durable and returns the result of each item. most: items of one group.
    """

    def __init__(self, take: Callable[[Sequence[Item]], Sequence[R]], most: int) -> None:
        self._take, self._most = take, most
        self._writer = ThreadPoolExecutor(1, "incrowd-writer")
        self._waiting: list[tuple[Item, asyncio.Future[R]]] = []
        self._writing: asyncio.Task[None] | None = None

    def accept(self, item: Item) -> asyncio.Future[R]:
        """Return the future result of an item, set when durable. Awaiting raises errors."""
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return answer

    async def alone(self, act: Callable[[G], Other], given: G) -> Other:
        """Return the result of an act of the writer, between two groups."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, act, given)

    async def _write(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._write_group(group)
        finally:
            self._writing = None

    async def _write_group(self, group: list[tuple[Item, asyncio.Future[R]]]) -> None:
        loop, items = asyncio.get_running_loop(), [item for item, _ in group]
        try:
            results = await loop.run_in_executor(self._writer, self._take, items)
        except BaseException as error:
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), result in zip(group, results, strict=True):
            if not answer.done():  # the sender may have disconnected
                answer.set_result(result)

    def close(self) -> None:
        """Wait for the writer to finish."""
        self._writer.shutdown()
