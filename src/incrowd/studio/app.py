"""The studio as a web application: every area's routes behind one check of access."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from incrowd.errors import UsageError
from incrowd.studio import (
    design,
    history,
    home,
    imports,
    interview_design,
    interview_reading,
    interview_report,
    inviting,
    kits,
    managing,
    pasting,
    precision,
    preview,
    published_versions,
    publishing,
    question_bank,
    ready_surveys,
    rehearsing,
    results,
    watching,
    wizard,
)
from incrowd.studio.access import Access, SessionKeys
from incrowd.studio.language import LANGUAGES, phrase
from incrowd.studio.pages import LANGUAGE_COOKIE, Studio, form_of, render, route

AREAS = (
    home.routes,
    ready_surveys.routes,
    managing.routes,
    imports.routes,
    design.routes,
    question_bank.routes,
    preview.routes,
    pasting.routes,
    precision.routes,
    publishing.routes,
    rehearsing.routes,
    inviting.routes,
    watching.routes,
    results.routes,
    published_versions.routes,
    interview_design.routes,
    kits.routes,
    interview_reading.routes,
    interview_report.routes,
    history.routes,
    wizard.routes,
)


def application(studio: Studio, keys: SessionKeys) -> Starlette:
    """Return the application of one studio."""

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
        exception_handlers={404: missing},
        lifespan=running,
    )


async def choose_language(_: Studio, request: Request) -> Response:
    """Remember the language of the studio, and show the same page with the same choices."""
    form = await form_of(request)
    back, language = str(form.get("back", "/")), str(form.get("language", ""))
    if language not in LANGUAGES:
        raise UsageError.of("language", "shared.use-one-of", value=language, choices=[*LANGUAGES])
    # Choices change the address of a page without loading it again; the browser has the newest.
    newest = urlsplit(request.headers.get("referer", ""))
    if newest.path == urlsplit(back).path and newest.query:
        back = f"{newest.path}?{newest.query}"
    response = RedirectResponse(back if back.startswith("/") and back[:2] != "//" else "/", 303)
    response.set_cookie(LANGUAGE_COOKIE, language, max_age=1 << 25, samesite="strict")
    return response


async def missing(request: Request, _: Exception) -> Response:
    """Return the response to an unknown address."""
    return render(request, "error.html", status=404, problems=[phrase("There is no such page.")])
