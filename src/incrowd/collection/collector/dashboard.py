"""The dashboard: one page for whoever knows the token, which looks again by itself.

The token comes in a header alone: in no address, no cookie, no log.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from incrowd.collection.collector.progress import Gate, Progress, main_part
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.service import answer
from incrowd.errors import IncrowdError
from incrowd.presentation.shell import rendered

PATH = "/dashboard"
_INLINE = re.compile(r"<(style|script)[^>]*>(.*?)</\1>", re.DOTALL)
_log = logging.getLogger("incrowd.collector")
Handler = Callable[[Request], Awaitable[Response]]


class Dashboard:
    """What is answered to whom. The page itself holds nothing, and is for everybody."""

    def __init__(self, progress: Progress, gate: Gate, token: str) -> None:
        self.progress, self.gate, self.token = progress, gate, token
        self.html = rendered("dashboard.html", __package__)
        self.headers = _headers(self.html)

    @property
    def routes(self) -> list[Route]:
        """The page, what it asks again and again, and the page of estimates."""
        return [
            Route(PATH, self.page, methods=["GET"]),
            Route(f"{PATH}/state", self._known(self.state), methods=["GET"]),
            Route(f"{PATH}/estimates", self._known(self.estimates), methods=["GET"]),
        ]

    async def page(self, _: Request) -> Response:
        """The same bytes for everybody."""
        return HTMLResponse(self.html, headers=self.headers)

    async def state(self, _: Request) -> Response:
        """How far it is."""
        return JSONResponse(await asyncio.to_thread(self.progress.facts), headers=self.headers)

    async def estimates(self, _: Request) -> Response:
        """The main part of the page of estimates, once the gate is open; 404 before."""
        made = await asyncio.to_thread(self.gate.page)
        if not made:
            return answer(KINDS["no-resource"])
        return HTMLResponse(main_part(made), headers=self.headers)

    def _known(self, handler: Handler) -> Handler:
        """A handler for those who know the token; what fails is said, and never a traceback."""

        async def known(request: Request) -> Response:
            if not is_token(request.headers.get("authorization", ""), self.token):
                return PlainTextResponse("no\n", 401, {"WWW-Authenticate": "Bearer"})
            try:
                return await handler(request)
            except (IncrowdError, OSError) as error:
                _log.error("the dashboard cannot show what is here: %s", error)
                return answer(KINDS["fault"])

        return known


def is_token(given: str, token: str) -> bool:
    """Whether a header names the token; takes as long whatever it names."""
    wanted, said = (hashlib.sha256(text.encode()).digest() for text in (f"Bearer {token}", given))
    return hmac.compare_digest(wanted, said)


def _headers(html: str) -> dict[str, str]:
    """The page runs its own script and style alone, and speaks to nobody but this collector."""
    own = {kind: _hashed(text) for kind, text in _INLINE.findall(html)}
    policy = (
        "default-src 'none'",
        f"script-src '{own['script']}'",
        f"style-src '{own['style']}'",
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
