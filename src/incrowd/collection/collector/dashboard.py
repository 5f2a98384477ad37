"""The dashboard: a page that updates itself, for people who have the token.

The token is sent in a header only: never in an address, a cookie or a log.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from incrowd.collection.answering import answer
from incrowd.collection.collector.progress import CollectorProgress, Gate, main_part
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.service import RequestHandler
from incrowd.collection.steps import LOG
from incrowd.errors import IncrowdError
from incrowd.presentation.shell import rendered

PATH = "/dashboard"
_INLINE = re.compile(r"<(style|script)[^>]*>(.*?)</\1>", re.DOTALL)


class Dashboard:
    """Handles the requests of the dashboard. The page itself contains no data and is public."""

    def __init__(self, progress: CollectorProgress, gate: Gate, token: str) -> None:
        self.progress, self.gate, self.token = progress, gate, token
        self.html = rendered("dashboard.html", __package__)
        self.headers = _headers(self.html)

    @property
    def routes(self) -> list[Route]:
        """The routes of the page, its state and its estimates."""
        return [
            Route(PATH, self.page, methods=["GET"]),
            Route(f"{PATH}/state", self._authorized(self.state), methods=["GET"]),
            Route(f"{PATH}/estimates", self._authorized(self.estimates), methods=["GET"]),
        ]

    async def page(self, _: Request) -> Response:
        """Return the page, the same for everybody."""
        return HTMLResponse(self.html, headers=self.headers)

    async def state(self, _: Request) -> Response:
        """Return the progress of the collection."""
        return JSONResponse(await asyncio.to_thread(self.progress.facts), headers=self.headers)

    async def estimates(self, _: Request) -> Response:
        """Return the main part of the page of estimates; 404 until the gate is open."""
        html = await asyncio.to_thread(self.gate.page)
        if not html:
            return answer(KINDS["no-resource"])
        return HTMLResponse(main_part(html), headers=self.headers)

    def _authorized(self, handler: RequestHandler) -> RequestHandler:
        """Return a handler that requires the token and responds to errors without a traceback."""

        async def authorized(request: Request) -> Response:
            if not is_token(request.headers.get("authorization", ""), self.token):
                return PlainTextResponse("no\n", 401, {"WWW-Authenticate": "Bearer"})
            try:
                return await handler(request)
            except (IncrowdError, OSError) as error:
                LOG.error("the dashboard cannot show the collection: %s", error)
                return answer(KINDS["fault"])

        return authorized


def is_token(given: str, token: str) -> bool:
    """Return whether a header contains the token, in constant time."""
    expected, stated = (
        hashlib.sha256(text.encode()).digest() for text in (f"Bearer {token}", given)
    )
    return hmac.compare_digest(expected, stated)


def _headers(html: str) -> dict[str, str]:
    """Return headers that allow only the page's own script and style, and only this collector."""
    hashes = {kind: _hashed(text) for kind, text in _INLINE.findall(html)}
    policy = (
        "default-src 'none'",
        f"script-src '{hashes['script']}'",
        f"style-src '{hashes['style']}'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def _hashed(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
