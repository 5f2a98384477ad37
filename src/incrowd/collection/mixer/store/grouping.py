"""Group commit: what arrives while one transaction runs is the next one."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from incrowd.collection.mixer.store.store import Store
from incrowd.collection.mixer.store.writing import Outcome
from incrowd.collection.protocol.upload import Upload

MOST_ROWS = 20_000  # in one transaction
Waiting = tuple[Upload, "asyncio.Future[Outcome]"]


class Grouped:
    """A store as the tasks of one event loop use it: one writer, and as many uploads as wait."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._most = max(1, MOST_ROWS // store.bundle.places)
        self._writer = ThreadPoolExecutor(1, "incrowd-writer")
        self._waiting: list[Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    def accept(self, upload: Upload) -> asyncio.Future[Outcome]:
        """What became of an upload, once that is durable. Awaiting it raises StoreError."""
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((upload, answer))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return answer

    async def withdraw(self, upload: Upload) -> bool:
        """Whether it is not too late. Raises StoreError."""
        loop, [prepared] = asyncio.get_running_loop(), self.store.prepare(upload)
        return await loop.run_in_executor(self._writer, self.store.withdraw, prepared)

    async def _write(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                await self._write_group(group)
        finally:
            self._writing = None

    async def _write_group(self, group: list[Waiting]) -> None:
        loop, uploads = asyncio.get_running_loop(), [upload for upload, _ in group]
        try:
            found = await loop.run_in_executor(self._writer, self.store.take, uploads)
        except BaseException as error:
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), outcome in zip(group, found, strict=True):
            if not answer.done():  # whoever asked may have gone
                answer.set_result(outcome)

    def close(self) -> None:
        """Wait for the writer."""
        self._writer.shutdown()
