"""A release goes to the collector's address, the same bytes until it says that it has them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from incrowd.collection.shuffler.releasing import pieces

SECONDS = 300.0
PATH = "/release"

Courier = Callable[[bytes, Path], bool]  # signed header, body -> whether the collector has it


def acknowledgement(start: bytes) -> str:
    """What a collector names with status 200: SHA-256 of signature and header, hexadecimal."""
    return hashlib.sha256(start).hexdigest()


def courier(address: str) -> Courier:
    """Posts a release to a collector, by no way round: redirections are not followed."""

    def deliver(start: bytes, body: Path) -> bool:
        import httpx  # a shuffler that starts has nothing to deliver yet

        length = len(start) + body.stat().st_size
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(length)}
        content = pieces(start, body)
        try:
            answer = httpx.post(address + PATH, content=content, headers=headers, timeout=SECONDS)
        except httpx.HTTPError:
            return False
        return answer.status_code == 200 and acknowledgement(start) in answer.text

    return deliver
