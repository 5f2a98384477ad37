"""Answer requests that bring a signed statement with its body."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from incrowd.collection.protocol.problem import KINDS, ProblemKind, kind_of
from incrowd.collection.seldom import SeldomLog
from incrowd.collection.service import OCTETS, answer, is_octets
from incrowd.collection.steps import STORING, ServiceSteps
from incrowd.collection.taking import Taking
from incrowd.errors import ProtocolError

RETRY_AFTER = 60  # seconds


@dataclass
class Arriving:
    """Statements that services send, stored as they arrive.

    piece_seconds: the longest pause while one arrives. log: for refusals. steps: note failures.
    stored: called when one is stored, or was before. note: called after one was refused. refused:
    how many, by kind.
    """

    piece_seconds: float
    log: logging.Logger
    steps: ServiceSteps
    stored: Callable[[], object] = lambda: None
    note: Callable[[ProblemKind], object] = lambda kind: None
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Log seldom, since anybody can send something that is refused."""
        self.seldom = SeldomLog(self.log)

    async def receive(self, request: Request, taking: Taking[Any]) -> Response:
        """Store a statement, with what follows it, as it arrives; answer its acknowledgment."""
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
        self.stored()
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
        self.seldom(logging.WARNING, kind.name, f"refused: {error}")
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
