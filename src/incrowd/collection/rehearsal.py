"""A whole collection on this machine: a crowd, and the services that it sends to.

For demonstrations. The services, with one shuffler or with two mixers, are processes with separate
folders that communicate over HTTP on loopback. One party runs them all, so the bundle promises the
local guarantee only.
"""

from __future__ import annotations

import multiprocessing
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from starlette.applications import Starlette

from incrowd.catalog.sentences import Sentence, as_translatable, sentence
from incrowd.collection.claims import bundle_guarantee
from incrowd.collection.collector.dashboard import PATH as DASHBOARD
from incrowd.collection.collector.places import RECEIPT
from incrowd.collection.collector.receipt import Receipt, load_receipt
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import CrowdUploads, send_each
from incrowd.collection.device.device import strata_of
from incrowd.collection.device.promising import TermLine, UploadPromise, promised
from incrowd.collection.device.sending import fetch
from incrowd.collection.folders import BUNDLE
from incrowd.collection.in_node import sending_in_node
from incrowd.collection.invitations import issue, new_invitations
from incrowd.collection.inviter.store import InviterStore
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.page.serving import page_application
from incrowd.collection.parallel import copies_with, end_with_parent
from incrowd.collection.parties import (
    ALL_SENT,
    LOOK,
    PARTIES,
    PreparedCollection,
    ServiceMaker,
    new_token,
    with_separate_parties,
)
from incrowd.collection.protocol import addresses
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.blind import SIGNATURE_BYTES
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.upload import code_field
from incrowd.collection.serving import serve
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import ProtocolError, ReportsError, UsageError
from incrowd.plans import Plan
from incrowd.plans.strata import StratumGroup, releases
from incrowd.presentation.guarantee_text import against_sentence
from incrowd.survey.participation import least_reserve

LOOPBACK = "127.0.0.1"
PATIENCE = 300.0
FEWEST = 50
CODE = re.compile(rb"(?=([%s]{16}))" % addresses.ALPHABET.encode())


@dataclass(frozen=True)
class Rehearsed:
    """The result of a rehearsal. receipts, opened: the receipt and the folder of every release.

    codes_found: number of invitations that can be read in the files of all services.
    key_destroyed: whether every key is destroyed that could link people to what they sent: the
    shuffler's, without which its files are unreadable; with two mixers, those of all services.
    guests: people who sent in addition to the crowd. invited: invitations that were issued.
    clients: people of the crowd by client.
    """

    bundle: Bundle
    promise: UploadPromise
    crowd: CrowdUploads
    receipts: tuple[Receipt, ...]
    opened: tuple[Path, ...]
    codes_found: int
    key_destroyed: bool
    guests: int
    invited: int
    clients: Mapping[str, int]


@dataclass(frozen=True)
class InNode:
    """People of a crowd whose devices run the client in TypeScript.

    program: Node. answers: the answers of each of them, by question, as in a file of answers.
    """

    program: str
    answers: Sequence[Mapping[str, Any]]


def crowd_of(people: int) -> int:
    """Return the largest crowd for a number of uploads, after the reserve that a release needs.

    people: with open questions, those of the smallest stratum to be released. Raises UsageError if
    they are too few.
    """
    if people < FEWEST:
        raise UsageError.of("people", "collection.at-least", value=people, least=FEWEST)
    return people - least_reserve(people)


def rehearse(
    plan: Plan,
    people: EncodedAnswers,
    folder: Path,
    *,
    advance: Callable[[int], None],
    mixers: Literal[1, 2] = 1,
    guest: Guest | None = None,
    in_node: InNode | None = None,
    invited: int | None = None,
    introduction: str = "",
) -> Rehearsed:
    """Make the keys and the bundle, invite, let everybody send, release, open.

    folder: empty, for the files of all services. advance: called with 1 for every upload. mixers:
    1 for a shuffler and a collector; 2 for an inviter, two mixers and a collector. guest: waits for
    one more person, at the survey page. in_node: the last of the people; all others use the client
    in Python. invited: the number of invitations; by default as many as come. introduction: the
    text above the questions. Raises ProtocolError if an upload is refused, ReportsError if a
    release is not opened within minutes, or nothing can be released.
    """
    parties = PARTIES[mixers]
    with ExitStack() as running:
        doors = {name: running.enter_context(_door()) for name in parties.services}
        addresses = {name: _address(door) for name, door in doors.items()}
        prepared = parties.prepare(plan, folder, addresses, introduction)
        bundle, collector = prepared.bundle, folder / "collector"
        strata = strata_of(bundle, people, None)
        due = _due(bundle, strata)
        codes = _invited(prepared.inviting(), (invited or people.number) + bool(guest))
        token = new_token(collector)
        processes = [
            running.enter_context(_process(service, folder / name, doors[name]))
            for name, service in parties.services.items()
        ]
        fetched = fetch(Link(bundle.link_address, bundle.digest), Connection())
        promise = promised(fetched)
        crowd = _sent(fetched, people, codes[: people.number], strata.tolist(), in_node, advance)
        _check_all_came(crowd)
        if guest:
            door = running.enter_context(_door())
            running.enter_context(_process(_page, collector, door))
            with _looking(prepared.uploads(), people.number) as came:
                link = Link(f"{_address(door)}/", fetched.digest, codes[-1].decode())
                dashboard = f"{addresses['collector']}{DASHBOARD}#{token}"
                guest.arrive(Visit(str(link), dashboard, came))
        (folder / ALL_SENT).touch()
        opened = tuple(collector / "opened" / f"release-{group[0]}" for group in due)
        _wait_for(lambda: _all_opened(opened) and not _left(prepared), processes)
        if guest:
            guest.leave()
    receipts = tuple(load_receipt(each, plan)[0] for each in opened)
    guests = sum(receipt.people for receipt in receipts) - crowd.people if guest else 0
    readable, gone = _readable(codes, folder), not _left(prepared)
    others = len(in_node.answers) if in_node else 0
    clients = {"Python": people.number - others} | ({"TypeScript": others} if others else {})
    return Rehearsed(
        fetched, promise, crowd, receipts, opened, readable, gone, guests, len(codes), clients
    )


def _sent(
    bundle: Bundle,
    people: EncodedAnswers,
    codes: Sequence[bytes],
    strata: Sequence[int],
    in_node: InNode | None,
    advance: Callable[[int], None],
) -> CrowdUploads:
    """Let everybody send, the people of both clients at the same time."""
    first = people.number - len(in_node.answers if in_node else ())

    def of_python() -> CrowdUploads:
        some = people.take(np.arange(first))
        return send_each(
            bundle,
            some,
            Connection(),
            codes=codes[:first],
            strata=strata[:first],
            progress=advance,
        )

    if not in_node:
        return of_python()
    others = in_node.program, bundle, in_node.answers, codes[first:], strata[first:], advance
    with sending_in_node(*others) as of_typescript:
        return of_python().with_others(of_typescript())


def _invited(store: Store | InviterStore, people: int) -> list[bytes]:
    """Return the codes of new invitations."""
    invitations = new_invitations(store, people)
    issue(store, invitations)
    store.engine.dispose()
    return [code_field(each.code) for each in invitations]


def _due(bundle: Bundle, strata: np.ndarray) -> list[StratumGroup]:
    """Return the groups of strata to be released. Raises ReportsError if there are none."""
    counts = dict(enumerate(np.bincount(strata).tolist()))
    if due := releases(counts, bundle.least_people, bundle.small_strata):
        return due
    most, least = max(counts.values()), bundle.least_people
    raise ReportsError.of("release", "collection.strata-small", people=most, least=least)


def what_each_saw(rehearsed: Rehearsed) -> Iterator[TermLine]:
    """Yield who saw what, with the numbers of this run, as texts that can be translated."""
    for who, what in _what_each_saw(rehearsed):
        yield as_translatable(who), as_translatable(what)


SeenLine = tuple[Sentence, Sentence]


def _what_each_saw(rehearsed: Rehearsed) -> Iterator[SeenLine]:
    bundle = rehearsed.bundle
    people = rehearsed.crowd.people + rehearsed.guests
    one = bundle.places == 1
    reports = sentence(
        "collection.saw-one-report" if one else "collection.saw-reports", places=bundle.places
    )
    device = "collection.saw-of-device" if bundle.lanes else "collection.saw-of-device-randomized"
    yield sentence("collection.saw-device"), sentence(device, reports=reports)
    yield sentence("collection.saw-network"), _of_network(rehearsed, people)
    mixing = _of_two_mixers if bundle.mixers == 2 else _of_shuffler
    yield from mixing(rehearsed, people)
    yield _service("promises.the-collector"), _of_collector(rehearsed)
    codes = sentence("collection.saw-of-files", codes=rehearsed.codes_found)
    yield sentence("collection.saw-files"), codes
    yield sentence("collection.saw-can-learn"), against_sentence(rehearsed.promise.guarantee)
    separate = bundle_guarantee(with_separate_parties(bundle))
    yield sentence("collection.saw-separate"), against_sentence(separate)


def _service(code: str) -> Sentence:
    return sentence("cards.service", service=sentence(code))


def _of_network(rehearsed: Rehearsed, people: int) -> Sentence:
    size = rehearsed.crowd.bytes
    if not isinstance(rehearsed.bundle, MixersBundle):
        return sentence("collection.saw-of-network", people=people, bytes=size)
    return sentence(
        "collection.saw-of-network-with-tokens",
        people=people,
        bytes=size,
        tokens=len(rehearsed.bundle.token_keys),
        token_bytes=SIGNATURE_BYTES,
    )


def _of_collector(rehearsed: Rehearsed) -> Sentence:
    """Return what the collector saw; not how many reports there were if services add noise."""
    receipts, unseen = rehearsed.receipts, sentence("collection.saw-unseen")
    strata = rehearsed.bundle.plan.survey.open
    order = sentence("collection.saw-orders" if strata else "collection.saw-one-order")
    if rehearsed.bundle.lanes:
        return sentence("collection.saw-of-adding-collector", order=order, unseen=unseen)
    return sentence(
        "collection.saw-of-collector",
        opened=sum(message.reports or 0 for receipt in receipts for message in receipt.messages),
        dummies=sum(sum(receipt.dummies) for receipt in receipts),
        rejected=sum(sum(receipt.rejected.values()) for receipt in receipts),
        order=order,
        unseen=unseen,
    )


def _of_shuffler(rehearsed: Rehearsed, people: int) -> Iterator[SeenLine]:
    strata = rehearsed.bundle.plan.survey.open
    code = "collection.saw-of-shuffler-strata" if strata else "collection.saw-of-shuffler"
    reports = people * rehearsed.bundle.places
    seen = sentence(code, people=people, reports=reports, key=_key_left(rehearsed))
    yield _service("cards.the-shuffler"), seen


def _of_two_mixers(rehearsed: Rehearsed, people: int) -> Iterator[SeenLine]:
    bundle, receipts, key = rehearsed.bundle, rehearsed.receipts, _key_left(rehearsed)
    invited = sentence("collection.saw-of-inviter", issued=receipts[0].issued, key=key)
    yield _service("promises.the-inviter"), invited
    strata = bundle.plan.survey.open
    code = "collection.saw-of-first-mixer-strata" if strata else "collection.saw-of-first-mixer"
    sent = sentence(code, people=people, envelopes=people * bundle.places, key=key)
    yield _service("promises.the-first-mixer"), sent
    opened = sentence(
        "collection.saw-of-second-mixer",
        reports=sum(sum(receipt.tokens or ()) for receipt in receipts),
        messages=len(bundle.slots),
        unseen=sentence("collection.saw-unseen"),
        key=key,
    )
    yield _service("promises.the-second-mixer"), opened


def _key_left(rehearsed: Rehearsed) -> Sentence:
    destroyed = rehearsed.key_destroyed
    return sentence("collection.saw-key-destroyed" if destroyed else "collection.saw-key-left")


# --- the processes -------------------------------------------------------------------------------


def _door() -> socket.socket:
    return socket.create_server((LOOPBACK, 0), backlog=2048)


def _address(door: socket.socket) -> str:
    return f"http://{LOOPBACK}:{door.getsockname()[1]}"


@contextmanager
def _looking(store: Store, crowd: int) -> Iterator[Callable[[], bool]]:
    """Yield a check whether more people than the crowd have sent, read from the store."""
    try:
        yield lambda: sum(stratum.people for stratum in store.strata()) > crowd
    finally:
        store.engine.dispose()


def _page(folder: Path) -> Starlette:
    """Return the host of the survey page, for the bundle in a service's folder."""
    return page_application(page_files(asked_in(folder / BUNDLE, None), shipped()))


def _serve(service: ServiceMaker, folder: Path, door: socket.socket) -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    serve(service(folder), door)


@contextmanager
def _process(
    service: ServiceMaker, folder: Path, door: socket.socket
) -> Iterator[multiprocessing.process.BaseProcess]:
    """Run a service in a separate process, which is stopped at the end."""
    process = copies_with(__name__).Process(target=_serve, args=(service, folder, door))
    process.start()
    try:
        yield process
    finally:
        process.terminate()
        process.join(10.0)
        process.kill()
        process.join()


# --- what came of it -----------------------------------------------------------------------------


def _check_all_came(crowd: CrowdUploads) -> None:
    for kind, number in crowd.refused.items():
        raise ProtocolError.of(
            "uploads",
            "collection.uploads-refused",
            refused=number,
            people=crowd.people,
            kind=kind,
        )


def _all_opened(folders: Sequence[Path]) -> bool:
    """Return whether every release is opened, and the number of invitations is known."""
    there = all((folder / RECEIPT).exists() for folder in folders)
    return there and all(load_receipt(folder)[0].issued is not None for folder in folders)


def _left(prepared: PreparedCollection) -> list[Path]:
    """Return the keys that should be destroyed, but exist."""
    return [path for path in prepared.secrets if path.exists()]


def _wait_for(
    ready: Callable[[], bool], processes: list[multiprocessing.process.BaseProcess]
) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end or not all(process.is_alive() for process in processes):
            raise ReportsError.of("release", "collection.release-not-opened")
        time.sleep(LOOK)


def _readable(codes: list[bytes], folder: Path) -> int:
    """Return how many of the codes can be found in any file."""
    unread, readable = set(codes), set[bytes]()
    for file in folder.rglob("*"):
        if file.is_file():
            readable |= unread.intersection(CODE.findall(file.read_bytes()))
    return len(readable)


# A person at a browser who joins a rehearsal.


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
        """Return when the services may stop. Called when everything is open."""
