"""The studio as a web application: every area's routes behind one check of access."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from incrowd.errors import UsageError
from incrowd.studio import (
    design,
    home,
    imports,
    precision,
    preview,
    publishing,
    rehearsing,
    results,
    watching,
)
from incrowd.studio.access import Access, Keys
from incrowd.studio.language import LANGUAGES
from incrowd.studio.pages import LANGUAGE_COOKIE, Studio, error_response, render, route
from incrowd.studio.work import fault

AREAS = (
    home.routes,
    imports.routes,
    design.routes,
    preview.routes,
    precision.routes,
    publishing.routes,
    rehearsing.routes,
    watching.routes,
    results.routes,
)
MOST_BYTES = 64 << 20  # of a file that is uploaded


def application(studio: Studio, keys: Keys) -> Starlette:
    """The application of one studio."""

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        yield
        studio.jobs.stop_all()

    static = StaticFiles(directory=str(files(__package__) / "static"))
    return Starlette(
        routes=[
            *(each for area in AREAS for each in area(studio)),
            route(studio, "/language", choose_language, methods=("POST",)),
            Mount("/static", static),
        ],
        middleware=[Middleware(Access, keys=keys)],
        exception_handlers={404: missing, 500: failed},
        lifespan=running,
    )


async def choose_language(_: Studio, request: Request) -> Response:
    """Remember the language of the studio."""
    form = await request.form()
    back, language = str(form.get("back", "/")), str(form.get("language", ""))
    if language not in LANGUAGES:
        raise UsageError.of("language", language, f"use one of {', '.join(LANGUAGES)}")
    response = RedirectResponse(back if back.startswith("/") and back[:2] != "//" else "/", 303)
    response.set_cookie(LANGUAGE_COOKIE, language, max_age=1 << 25, samesite="strict")
    return response


async def missing(request: Request, _: Exception) -> Response:
    """The response to an unknown address."""
    return render(request, "error.html", status=404, problems=["There is no such page."])


async def failed(request: Request, error: Exception) -> Response:
    """The response to an error of ours."""
    return error_response(request, fault(error))
