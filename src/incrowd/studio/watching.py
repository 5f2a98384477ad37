"""The page on which a collection is watched: counts of people and releases, never answers.

The facts are those of the collector's dashboard. They are read from the collector's folder in the
project, or requested from a dashboard elsewhere if the person gives its address and token. Nothing
is requested over the network unless the person starts it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.collection.collector.dashboard import PATH as DASHBOARD
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.progress import CollectorProgress, Gate, PeopleCount, Uncounted
from incrowd.collection.device.connection import HEADERS
from incrowd.collection.folders import BUNDLE
from incrowd.collection.machine import system
from incrowd.collection.protocol.addresses import checked_address
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.errors import IncrowdError, ReportsError, Unfit, UsageError
from incrowd.plans.digests import FileCount
from incrowd.plans.strata import answers_in
from incrowd.presentation.letters import LetterStyle
from incrowd.studio.evidence import bundle_of
from incrowd.studio.inviting import facts_of, reminders
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.pages import Studio, form_of, language_of, lines, render, route, texts
from incrowd.studio.projects import Project
from incrowd.studio.publication import FOLDERS, load_publication
from incrowd.studio.rehearsal import FOLDER as REHEARSAL
from incrowd.survey.open import SEPARATOR

SECONDS = 5.0  # for a response of a dashboard
MOST_BYTES = 1 << 22
Phase = Literal["not-open", "collecting", "closed", "opening", "opened", "disposed"]
FactText = Annotated[str, Field(max_length=20_000)]


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class StratumFacts(_Facts):
    """One stratum: its people as last counted, or None."""

    name: FactText
    people: FileCount | None
    missing: FileCount
    released: bool
    too_few: bool


class PromisedWords(_Facts):
    """The guarantee for the smallest release, in the words of one language."""

    heading: FactText
    sentence: FactText
    symbols: FactText


class Promised(PromisedWords):
    """The same in English, and in other languages."""

    translations: dict[str, PromisedWords] = Field(default_factory=dict, max_length=20)


class Facts(_Facts):
    """The facts of a dashboard, checked, since they may come from another computer.

    See `CollectorProgress.facts`.
    """

    title: FactText
    period: FactText
    phase: Phase
    opens: FactText
    closes: FactText
    disposes: FactText
    as_of: FactText | None
    next_count: FactText | None
    counted_by: FactText
    counter_away: bool
    crowd: FileCount
    least_people: FileCount
    small_strata: Literal["delete", "merge"] = "delete"
    strata: list[StratumFacts] = Field(max_length=1000)
    more_strata: FileCount
    opened_people: FileCount
    sealed_reports: FileCount | None
    rejected: dict[str, FileCount]
    cheating: FactText | None
    guarantee: Promised | None
    estimates: FactText | None

    @property
    def proof(self) -> Sentence:
        """What is proved if there is `cheating`: a dashboard elsewhere states it in English."""
        one = self.counted_by == "shuffler"
        return sentence("estimation.shuffler-cheated" if one else "estimation.mixer-cheated")

    @property
    def enough(self) -> int:
        """The number of listed strata of which enough people have sent."""
        return sum(each.released or (each.people or 0) >= self.least_people for each in self.strata)

    @property
    def people(self) -> int | None:
        """The people of all strata that are listed, as last counted."""
        counted = [each.people for each in self.strata if each.people is not None]
        return sum(counted) if counted else None


PHASES: dict[Phase, Phrase] = {
    "not-open": phrase("Not open yet"),
    "collecting": phrase("Collecting"),
    "closed": phrase("Closed; the release has not arrived yet"),
    "opening": phrase("A release has arrived and is waiting to be opened"),
    "opened": phrase("Opened: no further releases can arrive"),
    "disposed": phrase("Deleted: no release was possible in time"),
}


# Those of a service that is not the collector: it does not know what arrived elsewhere.
SERVICE_PHASES = PHASES | {
    "closed": phrase("Closed; the services now pass on what was sent, or delete it"),
    "disposed": phrase("Over: everything was passed on or deleted"),
}


def time_left(closes: str, now: datetime) -> Phrase | None:
    """Return how long answers can be sent; None if that is over or unknown."""
    try:
        left = as_time(closes) - now
    except Unfit:
        return None
    if left <= timedelta(0):
        return None
    if left.days > 1:
        return phrase("{days} days left", days=left.days)
    if left.days == 1:
        return phrase("1 day left")
    hours = left // timedelta(hours=1)
    return phrase("{hours} hours left", hours=hours) if hours > 1 else phrase("Closes very soon")


def local_time(language: str, text: str) -> str:
    """Return a time of a bundle in the time zone of this machine; other text as it is."""
    try:
        return LetterStyle(language).date(as_time(text))
    except Unfit:
        return text


@dataclass
class Followed:
    """The collection that the studio follows for a project; forgotten when the studio ends.

    address, token: those of a dashboard elsewhere. counting: whether the mixer in the bundle may be
    asked how many have sent; at most once an hour. folders: the data that were read from each
    folder.
    """

    address: str = ""
    token: str = field(default="", repr=False)
    counting: bool = False
    folders: dict[tuple[Path, bytes, bool], CollectorProgress] = field(
        default_factory=dict, repr=False
    )


Follow = Callable[[Project], Followed]


def routes(studio: Studio) -> list[BaseRoute]:
    """Return the routes of the page."""
    followed: dict[Path, Followed] = {}

    def of(project: Project) -> Followed:
        return followed.setdefault(project.path, Followed())

    async def show(studio: Studio, request: Request) -> Response:
        """Return the page."""
        return await _page(studio, request, of)

    async def show_state(studio: Studio, request: Request) -> Response:
        """Return the part that changes; 204 if it is what the page already shows."""
        project = studio.project(request)
        parts = await asyncio.to_thread(state_parts, project, of(project))
        parts |= _in_language(project, language_of(request))
        if request.query_params.get("seen") == parts["seen"]:
            return Response(status_code=204)
        return render(request, "watch_state.html", **parts)

    async def follow(studio: Studio, request: Request) -> Response:
        """Follow a dashboard elsewhere; after an error, the page keeps the input."""
        project, typed = studio.project(request), texts(await form_of(request))
        try:
            address, token = dashboard(typed.get("address", ""), typed.get("token", ""))
            await asyncio.to_thread(fetched, address, token)
        except IncrowdError as error:
            mistakes = lines(error, language_of(request))
            return await _page(studio, request, of, typed=typed, mistakes=mistakes)
        of(project).address, of(project).token = address, token
        return _back(project)

    async def unfollow(studio: Studio, request: Request) -> Response:
        """Forget the dashboard and its token."""
        project = studio.project(request)
        of(project).address = of(project).token = ""
        return _back(project)

    async def count(studio: Studio, request: Request) -> Response:
        """Start or stop asking the mixer how many people have sent."""
        project, typed = studio.project(request), texts(await form_of(request))
        of(project).counting = typed.get("count") == "yes"
        return _back(project)

    base = "/p/{name}/watch"
    return [
        route(studio, base, show, methods=("GET",)),
        route(studio, f"{base}/state", show_state, methods=("GET",)),
        route(studio, f"{base}/follow", follow, methods=("POST",)),
        route(studio, f"{base}/unfollow", unfollow, methods=("POST",)),
        route(studio, f"{base}/count", count, methods=("POST",)),
    ]


def _back(project: Project) -> Response:
    return RedirectResponse(f"/p/{project.name}/watch", 303)


async def _page(
    studio: Studio,
    request: Request,
    of: Follow,
    *,
    typed: dict[str, str] | None = None,
    mistakes: tuple[str, ...] = (),
) -> Response:
    """Return the page. typed, mistakes: those of a form that could not be used."""
    project = studio.project(request)
    parts = await asyncio.to_thread(state_parts, project, of(project))
    parts |= {"typed": (typed or {}).get("address", ""), "mistakes": mistakes}
    parts |= await asyncio.to_thread(_in_language, project, language_of(request))
    parts |= await asyncio.to_thread(reminder_parts, project)
    return render(request, "watch.html", status=422 if mistakes else 200, **parts)


def _in_language(project: Project, language: str) -> dict[str, Any]:
    """Return what the page writes times and strata with, in its language."""
    return {
        "when": partial(local_time, language),
        "stratum_titles": stratum_titles(project, language),
    }


def stratum_titles(project: Project, language: str) -> dict[str, str]:
    """Return what people read for the answers that name a stratum, by its name."""
    try:
        survey = project.survey()
        if not survey.open:
            return {}
        return {
            name: SEPARATOR.join(
                survey.label_of(question.id, answer, language)
                for question, answer in zip(survey.open, answers, strict=True)
            )
            for name, answers in answers_in(survey).items()
        }
    except IncrowdError:  # the page of the design says why
        return {}


def reminder_parts(project: Project) -> dict[str, Any]:
    """Return the reminder for a collection that is not closed; none if there is no bundle."""
    try:
        publication, _ = load_publication(project)
        bundle = bundle_of(project, publication)
    except IncrowdError:  # another part of the page says what cannot be read
        bundle = None
    if bundle is None or system() >= as_time(bundle.closes):
        return {"reminders": ()}
    facts = facts_of(bundle, publication)
    return {"facts": facts, "reminders": reminders(facts, publication)}


def state_parts(project: Project, followed: Followed) -> dict[str, Any]:
    """Return what the page shows of the collections of a project, and a digest of it."""
    collections = []
    if followed.address:
        collections.append(
            _collection("dashboard", lambda: fetched(followed.address, followed.token))
        )
    folder = project.path / FOLDERS["collector"]
    if (folder / BUNDLE).exists():
        collections.append(
            _collection("folder", lambda: read(folder, followed, counting=followed.counting))
        )
    elif service := _service(project):
        collections.append(
            _collection("service", lambda: read(service, followed, counting=followed.counting))
        )
    invented = project.path / REHEARSAL / "collector"
    if (invented / BUNDLE).exists():
        collections.append(
            _collection("rehearsal", lambda: read(invented, followed, counting=False))
        )
    now = system()
    left = [facts and time_left(facts.closes, now) for _, facts, _ in collections]
    text = json.dumps([[kind, str(facts), str(problem)] for kind, facts, problem in collections])
    text = f"{text}{list(map(str, left))}"
    return {
        "project": project,
        "collections": [(*each, rest) for each, rest in zip(collections, left, strict=True)],
        "followed": followed,
        "phases": PHASES,
        "service_phases": SERVICE_PHASES,
        "seen": hashlib.sha256(f"{text}{followed.counting}".encode()).hexdigest()[:16],
        "key": (folder / "collector_key.txt").exists(),
    }


def _service(project: Project) -> Path | None:
    """Return the folder of a service of this person that is not the collector, with its bundle."""
    try:
        publication, _ = load_publication(project)
    except IncrowdError:  # the page on which it is published says why
        return None
    folders = (project.path / FOLDERS[each] for each in publication.mine if each != "collector")
    return next((folder for folder in folders if (folder / BUNDLE).exists()), None)


# The kind of a collection, and its facts or why there are none.
CollectionFacts = tuple[str, Facts | None, Exception | None]


def _collection(kind: str, facts: Callable[[], Facts]) -> CollectionFacts:
    try:
        return kind, facts(), None
    except (IncrowdError, OSError) as error:
        return kind, None, error


def read(folder: Path, followed: Followed, *, counting: bool) -> Facts:
    """Return the facts in the folder of a service; of releases only in that of a collector. Raises
    IncrowdError for files that cannot be read.

    counting: whether to ask the mixer how many have sent, at most once an hour.
    """
    encoded = (folder / BUNDLE).read_bytes()
    key = folder, hashlib.sha256(encoded).digest(), counting
    if key not in followed.folders:
        bundle = Bundle.parse(encoded)
        counted = (PeopleCount if counting else Uncounted)(bundle, system)
        followed.folders[key] = CollectorProgress(
            bundle, Gate(bundle, CollectorPlaces(folder)), counted, system
        )
    return checked(followed.folders[key].facts())


def checked(facts: Any) -> Facts:
    """Check the types of the facts that the page relies on. Raises ReportsError."""
    try:
        return Facts.model_validate(facts)
    except ValidationError as error:
        named = ".".join(map(str, error.errors()[0]["loc"])) or "state"
        raise ReportsError.of("dashboard", "studio.unusable-state", part=named) from None


def dashboard(address: str, token: str) -> tuple[str, str]:
    """Return the address of a collector and the token, from what a person typed or pasted.

    A link to a dashboard contains both. Raises UsageError if one is missing or not an address.
    """
    base, _, fragment = address.strip().partition("#")
    base = base.removesuffix("/").removesuffix(DASHBOARD).removesuffix("/")
    token = token.strip() or fragment.strip()
    try:
        checked_address(base)
    except Unfit as error:
        raise UsageError.of("address", "survey.unfit", value=base, reason=error.reason) from None
    if not token or not token.isascii() or not token.isprintable():
        raise UsageError.of("token", "studio.no-token")
    return base, token


def fetched(address: str, token: str, transport: httpx.AsyncBaseTransport | None = None) -> Facts:
    """Return the facts of a dashboard elsewhere. Raises ReportsError if it cannot be read within
    seconds.

    Nothing but this one address is requested: redirections are not followed.
    """
    headers = {"Authorization": f"Bearer {token}"}
    asked = _response(f"{address}{DASHBOARD}/state", HEADERS | headers, transport)
    try:  # no time limit of a single read stops a server that sends a byte now and then
        status, body = asyncio.run(asyncio.wait_for(asked, SECONDS))
    except TimeoutError:
        raise ReportsError.of("dashboard", "studio.slow-dashboard") from None
    except (httpx.HTTPError, OSError):
        raise ReportsError.of("dashboard", "studio.silent-dashboard") from None
    if len(body) > MOST_BYTES:
        raise ReportsError.of("dashboard", "studio.large-dashboard")
    if status == 401:
        raise ReportsError.of("dashboard", "studio.refused-token")
    if status != 200:
        raise ReportsError.of("dashboard", "studio.other-response", status=status)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise ReportsError.of("dashboard", "studio.dashboard-not-json") from None
    return checked(content)


async def _response(
    url: str, headers: dict[str, str], transport: httpx.AsyncBaseTransport | None
) -> tuple[int, bytes]:
    """Return the status and the body of a response; of a body that is too long, only the first
    part."""
    body = bytearray()
    async with (
        httpx.AsyncClient(transport=transport, follow_redirects=False) as client,
        client.stream("GET", url, headers=headers, timeout=SECONDS) as response,
    ):
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > MOST_BYTES:
                break
        return response.status_code, bytes(body)
