"""What a service answers where it does not do what it was asked."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from incrowd.collection.wire.problem import KINDS, MEDIA_TYPE, Kind, document

RETRY_AFTER = 5  # seconds
OCTETS = b"application/octet-stream"


def is_octets(media_type: bytes, coding: bytes | None) -> bool:
    """Whether a body is of bytes as they are: no parameters, and nothing compressed.

    Names of media types have no letter case (RFC 9110, section 8.3.1).
    """
    return media_type.lower() == OCTETS and coding is None


def answer(kind: Kind, detail: str = "", *, retry_after: int = RETRY_AFTER) -> Response:
    """A problem document. It holds nothing of what was sent."""
    headers = {"Retry-After": str(retry_after)} if kind.retry else {}
    return Response(document(kind, detail), kind.status, headers, MEDIA_TYPE)


async def no_such(_: Request, error: Exception) -> Response:
    """Of another address, or another method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    kinds = {404: "no-resource", 405: "method"}
    return answer(KINDS[kinds.get(status, "fault")])
