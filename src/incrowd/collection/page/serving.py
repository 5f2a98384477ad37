"""Serve the files of a survey page, with their headers, and record nothing."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from incrowd.collection.answering import answer, no_such
from incrowd.collection.page.files import HOSTS, content_of, page_files, shipped
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.problem import KINDS

HEADERS = "_headers"  # the file with the headers that a host should send
INDEX = "index.html"


def headers_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the headers that a host should send with the files of a page."""
    lines = files[HEADERS].decode().splitlines()[1:]
    return dict(line.strip().split(": ", 1) for line in lines)


def page_file(files: Mapping[str, bytes], name: str, headers: Mapping[str, str]) -> Response | None:
    """Return a file of a page as a response, or None if it has no such file."""
    name = name or INDEX
    if name not in files or name in HOSTS:
        return None
    return Response(files[name], headers=headers, media_type=mimetypes.guess_type(name)[0])


def page_application(files: Mapping[str, bytes]) -> Starlette:
    """Return a host of a page that logs nothing."""
    headers = headers_of(files)

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "")
        return page_file(files, name, headers) or answer(KINDS["no-resource"])

    routes = [Route(path, file, methods=["GET"]) for path in ("/", "/{name}")]
    return Starlette(routes=routes, exception_handlers={HTTPException: no_such})


class WithPage:
    """A service that also shows the survey page of its bundle, under its own address."""

    def __init__(self, service: ASGIApp, bundle: Bundle) -> None:
        self.service = service
        self.files = page_files(content_of(bundle), shipped())
        self.headers = headers_of(self.files)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a file of the page; pass on all others."""
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            response = page_file(self.files, scope["path"].removeprefix("/"), self.headers)
            if response is not None:
                await response(scope, receive, send)
                return
        await self.service(scope, receive, send)
