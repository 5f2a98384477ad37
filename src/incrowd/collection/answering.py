"""Answers to HTTP requests that every service gives alike."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from incrowd.collection.protocol.problem import KINDS, MEDIA_TYPE, ProblemKind, document

RETRY_AFTER = 5  # seconds
OCTETS = b"application/octet-stream"


def is_octets(media_type: bytes, coding: bytes | None) -> bool:
    """Return whether a body consists of plain bytes: no parameters, no compression.

    Media types are case-insensitive (RFC 9110, section 8.3.1).
    """
    return media_type.lower() == OCTETS and coding is None


def answer(kind: ProblemKind, detail: str = "", *, retry_after: int = RETRY_AFTER) -> Response:
    """Return a problem response. It contains nothing of the request."""
    headers = {"Retry-After": str(retry_after)} if kind.retry else {}
    return Response(document(kind, detail), kind.status, headers, MEDIA_TYPE)


async def no_such(_: Request, error: Exception) -> Response:
    """Return the response for an unknown address or method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    kinds = {404: "no-resource", 405: "method"}
    return answer(KINDS[kinds.get(status, "fault")])
