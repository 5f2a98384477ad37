"""Access to the studio: one browser on this machine, and only pages of the studio itself.

The address that the command prints contains a token that works once; it is exchanged for a cookie
that pages of other sites cannot use. A request must name this server as its host (otherwise a
foreign name could be made to resolve to this machine), and a request that changes anything must
come from a page of this server.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from incrowd.errors import UsageError
from incrowd.studio.pages import render

TOKEN = "token"  # the parameter of the address
PREVIEW = "preview"  # the first part of addresses with a secret of their own
SAFE = ("GET", "HEAD")
STYLE = "/static/studio.css"  # of the page that strangers get
MOST_UPLOADED = 260 << 20  # bytes of a request with files, which are written to the disk
MOST_SENT = 64 << 20  # bytes of any other request, which are in memory
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
    "Cache-Control": "no-store",
}


class SessionKeys:
    """The secrets of one run: the session's, and the token of the next address.

    print_address: called with a new address whenever the last one was used, so that the person at
    the terminal can open the studio in another browser.
    """

    def __init__(self, port: int, print_address: Callable[[str], None] = lambda _: None) -> None:
        self.port = port
        self.session, self.token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.preview = secrets.token_urlsafe(32)  # for what survey pages fetch without cookies
        self.print_address = print_address

    @property
    def address(self) -> str:
        """The address that opens the studio once."""
        return f"http://127.0.0.1:{self.port}/?{TOKEN}={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The values of the header `Host` that are accepted."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def cookie(self) -> str:
        """The name of the cookie. Cookies of all ports are shared, so that it names its own."""
        return f"incrowd-studio-{self.port}"

    def redeem(self, token: str) -> bool:
        """Invalidate the token of the address; return whether it was the right one."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return False
        self.token = secrets.token_urlsafe(32)
        self.print_address(self.address)
        return True


class Access:
    """Middleware that refuses every request that is not from the studio's own browser window."""

    def __init__(self, app: ASGIApp, keys: SessionKeys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it; add the headers of the policy to the response."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            scope[PREVIEW] = self.keys.preview
            response = self._response(scope)
            await (response or self.app)(scope, _limited(scope, receive), _with_headers(send))

    def _response(self, scope: Scope) -> Response | None:
        """Return the response to a rejected request."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.keys.hosts:
            return _refused("open the studio at the address that `incrowd studio` printed")
        if scope["method"] not in SAFE:
            if headers.get("origin") != f"http://{host}":
                return _refused("only pages of the studio may change anything")
        elif headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not (
            headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        ):
            return _refused("pages of other sites cannot read the studio")
        recognized = any(
            hmac.compare_digest(value.encode(), self.keys.session.encode())
            for value in _cookies(headers, self.keys.cookie)
        )
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN, [])
        if tokens and scope["path"] == "/" and scope["method"] == "GET":
            if recognized or self.keys.redeem(tokens[0]):
                return self._admitted()
        elif recognized or self._is_preview(scope):
            return None
        if scope["method"] in SAFE and scope["path"] == STYLE:
            return None
        if "text/html" in headers.get("accept", ""):
            return render(Request(scope), "locked_out.html", status=403)
        return _refused(
            "this address was used before, or the studio was started again; open the last address "
            "that `incrowd studio` printed"
        )

    def _is_preview(self, scope: Scope) -> bool:
        """Return whether a survey page in a preview fetches its bundle, which browsers do without
        cookies: the address contains the secret instead."""
        first, _, rest = str(scope["path"]).removeprefix("/").partition("/")
        secret = rest.partition("/")[0]
        right = hmac.compare_digest(secret.encode(), self.keys.preview.encode())
        return scope["method"] in SAFE and first == PREVIEW and right

    def _admitted(self) -> Response:
        response = RedirectResponse("/", 303)
        response.set_cookie(self.keys.cookie, self.keys.session, httponly=True, samesite="strict")
        return response


def _cookies(headers: Headers, name: str) -> list[str]:
    """Return all values of a cookie. Other servers of this machine set cookies in any syntax, and
    under this name too, so that the whole header is never refused."""
    pairs = (each.strip().partition("=") for each in headers.get("cookie", "").split(";"))
    return [value for key, _, value in pairs if key == name]


def _refused(why: str) -> Response:
    return PlainTextResponse(f"{why}\n", 403)


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _limited(scope: Scope, receive: Receive) -> Receive:
    """Receive a request up to a maximum length; raise UsageError beyond it.

    The rest is received and dropped: a browser shows no response to what it is still sending.
    """
    kind = Headers(scope=scope).get("content-type", "")
    most = MOST_UPLOADED if kind.startswith("multipart/form-data") else MOST_SENT
    size = 0

    async def receiving() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size <= most:
            return message
        while message.get("more_body"):
            message = await receive()
        raise UsageError.of("upload", "studio.too-long", mebibytes=most >> 20)

    return receiving
