"""The survey page as people will see it, before there is a plan. Nothing can be sent from it.

The page takes its bundle from the studio. Browsers fetch it without cookies, so its address
contains a secret of this run instead. All addresses contain the version of the survey, because the
survey may have changed since the page was loaded.
"""

from __future__ import annotations

import asyncio
import mimetypes
import threading
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.collection.claims import bundle_guarantee
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.page.files import HOSTS, PageContent, page_files, shipped
from incrowd.collection.protocol.addresses import BY_HAND
from incrowd.collection.protocol.bundle import TIME
from incrowd.collection.protocol.sealed import X25519, PrivateKey
from incrowd.errors import IncrowdError, UsageError
from incrowd.planner.plan import limit_plan
from incrowd.studio.access import POLICY, PREVIEW
from incrowd.studio.pages import Studio, language_of, lines, render, route
from incrowd.studio.projects import Project
from incrowd.studio.publication import introduction_of
from incrowd.survey import Survey
from incrowd.survey.surveys import survey_in

OPEN_FOR = timedelta(days=365)
INDEX = "index.html"
POLICY_HEADER = "Content-Security-Policy"


class Preview(NamedTuple):
    """The files of a page by name, its policy, and its bundle."""

    files: dict[str, bytes]
    policy: str
    bundle: bytes


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the preview."""
    return [
        route(studio, "/p/{name}/preview/", newest, methods=("GET",)),
        route(studio, "/p/{name}/preview/{version}/{file:path}", show, methods=("GET",)),
        route(
            studio, f"/{PREVIEW}/{{secret}}/{{name}}/{{version}}/bundle", bundle, methods=("GET",)
        ),
    ]


async def newest(studio: Studio, request: Request) -> Response:
    """Redirect to the page of the current version."""
    version = await asyncio.to_thread(studio.project(request).current_version)
    return RedirectResponse(f"{request.url.path}{version}/", 303)


async def show(studio: Studio, request: Request) -> Response:
    """Return a file of the page, which only pages of the studio can frame."""
    project, version = studio.project(request), request.path_params["version"]
    try:
        preview = await _of(request, project, version)
    except IncrowdError as error:
        problems = lines(error, language_of(request))
        response = render(request, "preview_problems.html", status=422, problems=problems)
        response.headers[POLICY_HEADER] = _in_a_frame(POLICY)
        return response
    name = request.path_params["file"] or INDEX
    if name not in preview.files or name in HOSTS:
        return PlainTextResponse("There is no such file.\n", 404)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {POLICY_HEADER: preview.policy} if name == INDEX else {}
    return Response(preview.files[name], media_type=kind, headers=headers)


async def bundle(studio: Studio, request: Request) -> Response:
    """Return the bundle of the page."""
    preview = await _of(request, studio.project(request), request.path_params["version"])
    return Response(preview.bundle, media_type="application/json")


async def _of(request: Request, project: Project, version: str) -> Preview:
    host, secret = request.headers["host"], request.scope[PREVIEW]
    address = f"http://{host}/{PREVIEW}/{secret}/{project.name}/{version}"
    return await asyncio.to_thread(preview_of, project, version, address)


def preview_of(project: Project, version: str, address: str) -> Preview:
    """Return the preview of a version of a project. address: where the page finds its bundle.

    Raises UsageError for an unknown version, SurveyError for a mistaken survey, PrivacyError if
    nothing meets its guarantee.
    """
    document = project.seen(version)
    if document is None:
        raise UsageError.of("version", "studio.no-such-version", version=version)
    survey = shown(survey_in(document.content, project.path)).model_dump_json(by_alias=True)
    with _MAKING:
        return _preview(survey, introduction_of(project), address)


def shown(survey: Survey) -> Survey:
    """Return the survey as the page shows it: with texts, and for one row of data."""
    asked = tuple(
        each if each.text else each.model_copy(update={"text": each.id})
        for each in survey.questions
    )
    return survey.model_copy(update={"questions": asked, "rows_per_person": 1, "codes": ()})


# Keys are random: the files of a page and its bundle belong together only if they are made once.
_MAKING = threading.Lock()


@lru_cache(maxsize=64)
def _preview(survey: str, introduction: str, address: str) -> Preview:
    plan = limit_plan(Survey.model_validate_json(survey))
    now = datetime.now(UTC)
    closes = (now + OPEN_FOR).strftime(TIME)
    terms = ShufflerTerms(
        introduction=introduction,
        period="preview",
        opens=(now - timedelta(days=1)).strftime(TIME),
        closes=closes,
        disposes=closes,
        codes=True,
        local_only=False,
        shuffler=address,
        collector=BY_HAND,
        key_configuration=PrivateKey.generate(X25519).configuration(1).encoded.hex(),
    )
    new = make_bundle(plan, terms).bundle
    promise = bundle_guarantee(new)
    words = new.wording
    content = PageContent(plan, (address,), promise, new.digest.hex(), words.title, words.language)
    files = page_files(content, shipped())
    return Preview(files, _policy(files["_headers"].decode()), new.encoded)


def _policy(headers: str) -> str:
    """Return the policy of the page, from the headers that it is served with elsewhere."""
    name = f"{POLICY_HEADER}: "
    line = next(line.strip() for line in headers.splitlines() if line.strip().startswith(name))
    return _in_a_frame(line.removeprefix(name))


def _in_a_frame(policy: str) -> str:
    """Return the policy of a page that pages of the studio may frame."""
    return policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
