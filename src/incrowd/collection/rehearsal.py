"""A whole collection on this machine: a shuffler, a collector and a crowd.

For demonstrations. Shuffler and collector are processes with separate folders that communicate over
HTTP on loopback. One party runs both, so the bundle promises the local guarantee only.
"""

from __future__ import annotations

import mimetypes
import multiprocessing
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.collection.collector import app as collecting
from incrowd.collection.collector.dashboard import PATH
from incrowd.collection.collector.keeper import keep_bundle
from incrowd.collection.collector.places import RECEIPT, Places, load_private, new_key
from incrowd.collection.collector.receipt import Receipt, load_receipt
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import Crowd, send_each
from incrowd.collection.device.device import strata_of
from incrowd.collection.device.promising import Line, Promise, promised
from incrowd.collection.device.sending import fetch
from incrowd.collection.invitations import Invitation, issue, new_invitations
from incrowd.collection.machine import Clock
from incrowd.collection.mixer import app as mixing
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.mixer.setup import install, open_store
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.protocol import addresses
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import TIME, Bundle, as_time, least_reserve
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.protocol.upload import code_field
from incrowd.collection.service import answer, no_such, serve
from incrowd.collection.settings import COLLECTOR_FILE, CollectorSettings, ShufflerSettings
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import InWords, ProtocolError, ReportsError, UsageError
from incrowd.files import write_private
from incrowd.plans import Plan
from incrowd.plans.strata import Group, releases
from incrowd.presentation.sentences import against_sentence
from incrowd.survey.toml import read_toml

LOOPBACK = "127.0.0.1"
LOOK = 0.2  # seconds between two checks
PATIENCE = 300.0
FEWEST = 50
ALL_SENT = "all-sent"  # a file that ends the collection of a rehearsal
CODE = re.compile(rb"(?=([%s]{16}))" % addresses.ALPHABET.encode())


@dataclass(frozen=True)
class Rehearsed:
    """The result of a rehearsal. receipts, opened: the receipt and the folder of every release.

    codes_found: number of invitations that can be read in the files of shuffler and collector.
    key_destroyed: whether the shuffler's key, without which its files are unreadable, is destroyed.
    guests: people who sent in addition to the crowd.
    """

    bundle: Bundle
    promise: Promise
    crowd: Crowd
    receipts: tuple[Receipt, ...]
    opened: tuple[Path, ...]
    codes_found: int
    key_destroyed: bool
    guests: int


def crowd_of(people: int) -> int:
    """Return the largest crowd for a number of uploads, after the reserve that a release needs.

    people: with open questions, those of the smallest stratum to be released. Raises UsageError if
    they are too few.
    """
    if people < FEWEST:
        raise UsageError.of("people", people, f"should be at least {FEWEST}")
    return people - least_reserve(people)


def rehearse(
    plan: Plan,
    people: EncodedAnswers,
    folder: Path,
    *,
    advance: Callable[[int], None],
    guest: Guest | None = None,
) -> Rehearsed:
    """Make the keys and the bundle, invite, let everybody send, release, open.

    folder: empty, for the files of both services. advance: called with 1 for every upload. guest:
    waits for one more person, at the survey page. Raises ProtocolError if an upload is refused,
    ReportsError if a release is not opened within minutes, or nothing can be released.
    """
    with ExitStack() as running:
        doors = [running.enter_context(_door()) for _ in range(3 if guest else 2)]
        shuffler, collector = folder / "shuffler", folder / "collector"
        bundle = _bundle(plan, [_address(door) for door in doors[:2]], collector)
        strata = strata_of(bundle[0], people, None)
        due = _due(bundle[0], strata)
        invitations = _installed(*bundle, shuffler, collector, people.number + bool(guest))
        token = _new_token(collector)
        folders = (shuffler, collector, shuffler)
        parts = zip((_shuffler, _collector, _page), folders, doors, strict=False)
        processes = [running.enter_context(_process(*part)) for part in parts]
        connection = Connection()
        fetched = fetch(Link(_address(doors[0]), bundle[0].digest), connection)
        promise = promised(fetched)
        codes = [code_field(each.code) for each in invitations]
        given = {"codes": codes, "strata": strata.tolist()}
        crowd = send_each(fetched, people, connection, **given, progress=advance)
        _check_all_came(crowd)
        if guest:
            with _looking(shuffler, people.number) as came:
                link = Link(f"{_address(doors[2])}/", fetched.digest, codes[-1].decode())
                guest.arrive(Visit(str(link), f"{_address(doors[1])}{PATH}#{token}", came))
        (shuffler / ALL_SENT).touch()
        opened = tuple(collector / "opened" / f"release-{group[0]}" for group in due)
        key = ShufflerSettings(folder=shuffler).secret_file
        _wait_for(
            lambda: all((each / RECEIPT).exists() for each in opened) and not key.exists(),
            processes,
        )
        if guest:
            guest.leave()
    receipts = tuple(load_receipt(each, plan)[0] for each in opened)
    guests = sum(receipt.people for receipt in receipts) - crowd.people if guest else 0
    readable, gone = _readable(codes, folder), not key.exists()
    return Rehearsed(fetched, promise, crowd, receipts, opened, readable, gone, guests)


def _due(bundle: Bundle, strata: np.ndarray) -> list[Group]:
    """Return the groups of strata to be released. Raises ReportsError if there are none."""
    counts = dict(enumerate(np.bincount(strata).tolist()))
    if due := releases(counts, bundle.least_people, bundle.small_strata):
        return due
    most = InWords(f"{max(counts.values()):,} people in the largest stratum")
    raise ReportsError.of("release", most, f"should be at least {bundle.least_people:,}")


def what_each_saw(rehearsed: Rehearsed) -> Iterator[Line]:
    """Who saw what, with the numbers of this run."""
    crowd, receipts, places = rehearsed.crowd, rehearsed.receipts, rehearsed.bundle.places
    people = crowd.people + rehearsed.guests
    opened = sum(message.reports for receipt in receipts for message in receipt.messages)
    dummies = sum(sum(receipt.dummies) for receipt in receipts)
    strata = rehearsed.bundle.plan.survey.open
    yield (
        "Each device",
        f"only its own answers; {_reports_of(places)} left it, randomized once",
    )
    yield "The network", f"{people:,} uploads of {crowd.bytes:,} bytes each, and nothing else"
    gone = "destroyed its key" if rehearsed.key_destroyed else "STILL HAS its key"
    yield (
        "The shuffler",
        f"{people:,} people who sent with an invitation{', and their strata' if strata else ''}, "
        f"{people * places:,} sealed reports that it cannot open; it {gone} after the release",
    )
    yield (
        "The collector",
        f"{opened:,} reports and {dummies:,} dummies in one "
        f"random order{' for each release' if strata else ''}, "
        f"{sum(sum(receipt.rejected.values()) for receipt in receipts):,} rejected; "
        "no senders, no times, no invitations",
    )
    yield "In the files", f"{rehearsed.codes_found:,} invitations can be read"
    yield "Who can learn", against_sentence(rehearsed.promise.guarantee)


def _reports_of(places: int) -> str:
    return "1 sealed report" if places == 1 else f"{places:,} sealed reports, including dummies,"


# --- the parts -----------------------------------------------------------------------------------


def _door() -> socket.socket:
    return socket.create_server((LOOPBACK, 0), backlog=2048)


def _address(door: socket.socket) -> str:
    return f"http://{LOOPBACK}:{door.getsockname()[1]}"


def _bundle(plan: Plan, addresses: list[str], collector: Path) -> tuple[Bundle, Ed25519PrivateKey]:
    """Return a bundle and its key. The rehearsal's clock closes it when everybody has sent."""
    now = datetime.now(UTC)
    closes = (now + timedelta(days=1)).strftime(TIME)
    terms = ShufflerTerms(
        title=plan.survey.name,
        questions={q.id: plan.survey.text_of(q.id) for q in plan.survey.questions},
        period="a demonstration",
        opens=(now - timedelta(minutes=1)).strftime(TIME),
        closes=closes,
        disposes=closes,
        codes=True,
        local_only=True,
        shuffler=addresses[0],
        collector=addresses[1],
        key_configuration=new_key(Places(collector)).encoded.hex(),
    )
    new = make_bundle(plan, terms)
    return new.bundle, new.private


def _installed(
    bundle: Bundle, private: Ed25519PrivateKey, shuffler: Path, collector: Path, people: int
) -> list[Invitation]:
    settings = ShufflerSettings(folder=shuffler)
    install(settings, bundle, private)
    keep_bundle(Places(collector), settings.bundle_file)
    store = open_store(settings)
    invitations = new_invitations(store, people)
    issue(store, invitations)
    store.engine.dispose()
    return invitations


def _new_token(collector: Path) -> str:
    """Write a new dashboard token into the collector's settings; return it."""
    token = secrets.token_hex(16)
    write_private(collector / COLLECTOR_FILE, f'token = "{token}"\n'.encode())
    return token


def _shuffler(folder: Path, door: socket.socket) -> None:
    settings = ShufflerSettings(folder=folder, pause=LOOK)
    store = open_store(settings)
    clock = _clock(folder, store.bundle)
    _serve(mixing.application(store, store.bundle, settings, clock), door)


def _clock(shuffler: Path, bundle: Bundle) -> Clock:
    """Return a clock with the time of this machine, and with that of closing after all sent."""
    closes = as_time(bundle.closes)
    return lambda: closes if (shuffler / ALL_SENT).exists() else datetime.now(UTC)


@contextmanager
def _looking(shuffler: Path, crowd: int) -> Iterator[Callable[[], bool]]:
    """Yield a check whether more people than the crowd have sent, read from the store."""
    store = open_store(ShufflerSettings(folder=shuffler))
    try:
        yield lambda: sum(stratum.people for stratum in store.strata()) > crowd
    finally:
        store.engine.dispose()


def _collector(folder: Path, door: socket.socket) -> None:
    places = Places(folder)
    bundle = keep_bundle(places, None)
    private = load_private(places.private, bundle)
    file = folder / COLLECTOR_FILE
    token = read_toml(file, "settings")["token"] if file.exists() else None
    settings = CollectorSettings(workers=1, token=token)
    clock = _clock(folder.parent / "shuffler", bundle)
    _serve(collecting.application(folder, bundle, private, settings, clock), door)


def _page(folder: Path, door: socket.socket) -> None:
    files = page_files(asked_in(ShufflerSettings(folder=folder).bundle_file, None), shipped())
    _serve(page_application(files), door)


def _serve(application: Starlette, door: socket.socket) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    serve(application, door)


def _end_with_parent() -> None:
    """Exit when the demonstration ends, however it ends."""
    parent = multiprocessing.parent_process()
    assert parent, "services are processes of a demonstration"
    parent.join()
    os._exit(1)


@contextmanager
def _process(
    serve: Callable[[Path, socket.socket], None], folder: Path, door: socket.socket
) -> Iterator[multiprocessing.process.BaseProcess]:
    """Run a service in a separate process, which is stopped at the end."""
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(folder, door))
    process.start()
    try:
        yield process
    finally:
        process.terminate()
        process.join(10.0)
        process.kill()
        process.join()


# --- what came of it -----------------------------------------------------------------------------


def _check_all_came(crowd: Crowd) -> None:
    for kind, number in crowd.refused.items():
        refusals = InWords(f"{number:,} of {crowd.people:,} uploads were refused ({kind})")
        raise ProtocolError.of("uploads", refusals, "nothing was released; try again")


def _wait_for(
    ready: Callable[[], bool], processes: list[multiprocessing.process.BaseProcess]
) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end or not all(process.is_alive() for process in processes):
            failure = InWords("was not opened")
            allowed = "a service stopped or was too slow; try again with fewer people"
            raise ReportsError.of("release", failure, allowed)
        time.sleep(LOOK)


def _readable(codes: list[bytes], folder: Path) -> int:
    """Return how many of the codes can be found in any file."""
    unread, readable = set(codes), set[bytes]()
    for file in folder.rglob("*"):
        if file.is_file():
            readable |= unread.intersection(CODE.findall(file.read_bytes()))
    return len(readable)


# A person at a browser who joins a rehearsal, and a host for the survey page.


HEADERS = "_headers"  # the file with the headers that a host should send


@dataclass(frozen=True)
class Visit:
    """The links for a person. page, dashboard: with the invitation or the token after the #.

    came: whether there is an upload in addition to those of the crowd.
    """

    page: str
    dashboard: str
    came: Callable[[], bool]


class Guest(Protocol):
    """Waits for a person who joins."""

    def arrive(self, visit: Visit) -> None:
        """Return when the collection may close."""

    def leave(self) -> None:
        """Called when everything is open. Return when the services may stop."""


def page_application(files: dict[str, bytes]) -> Starlette:
    """Return a host of static files that logs nothing."""
    lines = files[HEADERS].decode().splitlines()[1:]
    headers = dict(line.strip().split(": ", 1) for line in lines)

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in files:
            return answer(KINDS["no-resource"])
        return Response(files[name], headers=headers, media_type=mimetypes.guess_type(name)[0])

    routes = [Route(path, file, methods=["GET"]) for path in ("/", "/{name}")]
    return Starlette(routes=routes, exception_handlers={HTTPException: no_such})
