"""A person at a browser who joins a rehearsal: her links, and a host for the survey page."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.service import answer, no_such

HEADERS = "_headers"  # the file that says what a host should send beside a page


@dataclass(frozen=True)
class Visit:
    """What a person needs. page, dashboard: links with invitation and token behind the #.

    came: whether an upload is there beside those of the crowd.
    """

    page: str
    dashboard: str
    came: Callable[[], bool]


class Guest(Protocol):
    """Who waits for the person."""

    def arrive(self, visit: Visit) -> None:
        """Returns when the collection may close."""

    def leave(self) -> None:
        """Everything is opened. Returns when the services may stop."""


def page_application(files: dict[str, bytes]) -> Starlette:
    """A host of static files, which writes nothing down."""
    lines = files[HEADERS].decode().splitlines()[1:]
    headers = dict(line.strip().split(": ", 1) for line in lines)

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in files:
            return answer(KINDS["no-resource"])
        return Response(files[name], headers=headers, media_type=mimetypes.guess_type(name)[0])

    routes = [Route(path, file, methods=["GET"]) for path in ("/", "/{name}")]
    return Starlette(routes=routes, exception_handlers={HTTPException: no_such})
