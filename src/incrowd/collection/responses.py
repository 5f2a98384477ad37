"""Read responses of peers: never more than can be of use, whatever length they state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


def first_bytes(response: httpx.Response, most: int, is_late: Callable[[], bool]) -> bytes | None:
    """Return the first bytes of a streamed response, as they travel, and read no more of it.

    most: how many at most. is_late: asked after each piece; None is returned when it is true.
    """
    body = bytearray()
    for piece in response.iter_raw():
        body += piece
        if is_late():
            return None
        if len(body) >= most:
            break
    return bytes(body[:most])
