"""Answer requests that bring a signed statement with its body."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from incrowd.collection.answering import OCTETS, answer, is_octets
from incrowd.collection.protocol.problem import KINDS, ProblemKind, kind_of
from incrowd.collection.service import CollectionService
from incrowd.collection.steps import KEYS, STORING, ServiceSteps
from incrowd.collection.taking import Taking
from incrowd.errors import ProtocolError, ReportsError, UsageError
from incrowd.files import check_room

RETRY_AFTER = 60  # seconds
PROBE_BYTES = 1 << 16  # that must be free for what arrives


class Arriving(CollectionService):
    """A service that takes what another one signed, as it arrives, and opens it later.

    steps, pause: as for every service. piece_seconds: the longest pause while something arrives.
    root: the folder that it is stored in. refused: how much was refused, by kind.
    """

    opened: ClassVar[str]  # what is opened
    interrupted: ClassVar[str]  # the code of the message that it was only partly opened

    def __init__(self, steps: ServiceSteps, pause: float, piece_seconds: float, root: Path) -> None:
        super().__init__(steps, pause)
        self.piece_seconds, self.root = piece_seconds, root
        self.refused = Counter[str]()

    def check_keys(self) -> None:
        """Raise UsageError unless what arrives can be opened, also after a restart."""
        raise NotImplementedError

    def note(self, kind: ProblemKind) -> None:
        """Act on a refusal, after it was counted."""

    def go_on(self, _: int = 0) -> None:
        """Raise ReportsError if the service stops. Called between two pieces that are opened."""
        if self.stopping:
            raise ReportsError.of(self.opened, self.interrupted)

    def probes(self) -> Mapping[str, Callable[[], object]]:
        """Return the checks that decide whether the service is ready, by step."""
        return {KEYS: self.check_keys, STORING: lambda: check_room(self.root, PROBE_BYTES)}

    async def take_to_open(self, request: Request, taking: Taking[Any]) -> Response:
        """Store what is to be opened, unless the key is missing: its sender would delete it."""
        if not await asyncio.to_thread(self._has_keys):
            return answer(KINDS["fault"])
        return await self.take(request, taking)

    def _has_keys(self) -> bool:
        with suppress(UsageError), self.steps(KEYS):
            self.check_keys()
            return True
        return False

    async def take(self, request: Request, taking: Taking[Any]) -> Response:
        """Store a statement and its body as they arrive; return the acknowledgment."""
        headers = dict(request.headers.raw)
        if not is_octets(headers.get(b"content-type", b""), headers.get(b"content-encoding")):
            return _answer(KINDS["media-type"], f"should be {OCTETS.decode()}, uncompressed")
        try:
            acknowledged = await self._taken(request, taking)
        except ProtocolError as error:
            return await self._refusal(error)
        except (TimeoutError, ClientDisconnect):
            return _answer(KINDS["slow"])
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            self.steps.fail(STORING, error)
            return _answer(KINDS["full" if full else "fault"])
        self.wake()
        return PlainTextResponse(acknowledged)

    async def _taken(self, request: Request, taking: Taking[Any]) -> str:
        with taking:
            async for piece in _in_time(request.stream(), self.piece_seconds):
                taking.add(piece)
            return (await asyncio.to_thread(taking.done)).acknowledgment

    async def _refusal(self, error: ProtocolError) -> Response:
        kind = kind_of(error)
        self.refused[kind.name] += 1
        await asyncio.to_thread(self.note, kind)
        self.log(logging.WARNING, kind.name, f"refused: {error}")
        return _answer(kind, str(error))


def _answer(kind: ProblemKind, detail: str = "") -> Response:
    return answer(kind, detail, retry_after=RETRY_AFTER)


async def _in_time(stream: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    """Yield the pieces of a stream. Raises TimeoutError if one takes too long."""
    while True:
        try:
            async with asyncio.timeout(seconds):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        yield piece
