"""Random lists of what can happen to an inviter, two mixers, a collector and their people.

All of it is real: the applications, stores and keepers of the four services, and the devices. They
reach each other over a network in memory that loses answers. A process ends at any statement,
commit and file, and starts again from what is on disk.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from unittest import mock

import httpx
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import incrowd
from incrowd.collection import folders, grouping
from incrowd.collection.collector import app as collector
from incrowd.collection.collector import keeper as collecting
from incrowd.collection.collector.places import CollectorPlaces, load_private
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.device import Device
from incrowd.collection.device.connection import Connection, Patience
from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.inviter import app as inviter
from incrowd.collection.inviter import setup as inviting
from incrowd.collection.inviter.init import InviterKeys
from incrowd.collection.inviter.signing import PrivateTokenKey, sign_blinded
from incrowd.collection.mixer import app as first
from incrowd.collection.mixer import setup as mixing
from incrowd.collection.mixer.second import app as second
from incrowd.collection.mixer.second import keeper as releasing
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.protocol.mixing import Batch, Invitations, MixedRelease
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.tokens import Pending, TokenReport, TokenRequest
from incrowd.collection.settings import (
    CollectorSettings,
    FirstMixerSettings,
    InviterSettings,
    SecondMixerSettings,
)
from incrowd.collection.steady import CLOCK_FILE, SteadyClock
from incrowd.errors import IncrowdError, ProtocolError, UsageError
from incrowd.files import write_private
from tests.oracles import mixers
from tests.oracles.clocks import Clocks
from tests.oracles.mixing import code, sealed
from tests.oracles.simulation import IN, MEMORY, OUT, UNKNOWN, Faults, Inline, Killed

PLAN = incrowd.plan(
    incrowd.Survey.of(
        {
            "name": "Two messages",
            "crowd": 3,
            "privacy": {"epsilon": 20.0, "delta": 1e-6, "analysis": "local"},
            "question": [
                {"id": "a", "type": "choice", "options": list("uvwxyz")},
                {"id": "b", "type": "yesno"},
            ],
            "message": [{"questions": ["a"], "copies": 2}, {"questions": ["b"]}],
        }
    )
)
BUNDLE = mixers.bundle(
    plan=PLAN, second=mixers.SECOND_CLASSICAL, strata=("north", "south", "east"), reserve=20
)
CROWD, LEAST = PLAN.survey.crowd, BUNDLE.least_people
KEYS = InviterKeys(mixers.INVITER, tuple(mixers.token_keys()[: 1 + len(PLAN.messages)]))
STRATA, EACH = len(BUNDLE.strata), 40  # people of a stratum
MOMENTS = ("opens", "closes", "disposes")
NAMES = ("inviter", "first", "second", "collector")
HONEST, RIVAL, AGAIN = range(3)  # what a code is used for


# --- people --------------------------------------------------------------------------------------


@cache
def drawn(number, stratum, kind):
    """What a person's device stores first."""
    plaintexts = [
        BUNDLE.shape.report(message, bytes([(number + 7 * kind + slot) % 2]))
        if (number + slot) % 3
        else BUNDLE.shape.dummy
        for slot, message in enumerate(BUNDLE.slot_messages)
    ]
    nonce = hashlib.sha256(f"{number}/{stratum}/{kind}".encode()).digest()
    given = {"stratum": stratum, "code": code(number), "nonce": nonce}
    return plaintexts, mixers.pending(BUNDLE, plaintexts, **given)


@dataclass
class Person:
    """One device, and what it can know of its upload. spoils: its envelopes contain nothing."""

    number: int
    stratum: int
    kind: int
    memory: DeviceMemory
    spoils: bool = False
    known: str = OUT
    draws: int = 0
    withdrawn: bool = False

    @property
    def pending(self):
        return drawn(self.number, self.stratum, self.kind)[1]

    @property
    def reports(self):
        """The packed reports of each message."""
        shape, plaintexts = BUNDLE.shape, drawn(self.number, self.stratum, self.kind)[0]
        read = [shape.read(plain) for plain in plaintexts if plain != shape.dummy]
        return Counter((each.message, bytes(each.packed)) for each in read)


class Drawn(Device):
    """A device whose noise was drawn before the list begins: that takes time."""

    def of_person(self, person):
        object.__setattr__(self, "person", person)
        return self

    def _drawn(self, *_):
        person, person.draws = self.person, self.person.draws + 1
        kind = person.kind if person.draws == 1 else AGAIN
        return drawn(person.number, person.stratum, kind)[1]


# --- services ------------------------------------------------------------------------------------


class Party:
    """A service: its folder, its clock, and the process that runs; `start` it again after a kill.

    away: nobody reaches it. deaf: nobody hears its answers.
    """

    def __init__(self, folder, simulation):
        self.folder, self.simulation = folder, simulation
        self.clocks, self.away, self.deaf = Clocks(as_time(BUNDLE.opens)), False, False
        self.clocks.watch = self.watch
        self.store, self.is_over = None, False

    @property
    def now(self):
        return self.clocks.now

    def start(self):
        if self.store:
            self.store.engine.dispose()
        self.clock = SteadyClock(self.folder / CLOCK_FILE, self.clocks.read)
        try:
            self.run()
        except IncrowdError as error:  # its clock was wrong for an hour: everything is gone
            disposed = self.clocks.counted >= as_time(BUNDLE.disposes)
            assert disposed, f"it cannot start again: {error}"
            self.is_over = self.away = True
        if self.store:
            self.simulation.faults.watch(self.store.engine)

    def watch(self):
        """Read the clock, and do nothing else."""
        self.clock.confirmed()

    def work(self):
        """All that is due; whether the process lives."""
        with self.living(), suppress(IncrowdError, OSError):
            if not self.is_over:
                self.look()
            return True
        return False

    @contextmanager
    def living(self):
        """What is killed starts again."""
        try:
            yield
        except Killed:
            self.simulation.faults.left = None
            self.start()

    def answer(self, request):
        """The answer of its application, or the failure of a network."""
        response = None
        if not self.away:
            with self.living():
                response = self.simulation.runner.run(self.asked(request))
        if response is None or self.deaf:
            raise httpx.ReadError("nothing is heard")
        return response

    async def asked(self, request):
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport) as client:
            headers = dict(request.headers)
            answer = await client.request(
                request.method, str(request.url), content=request.content, headers=headers
            )
            stream = httpx.ByteStream(answer.read())
            return httpx.Response(answer.status_code, headers=answer.headers, stream=stream)


class Inviter(Party):
    def __init__(self, *given):
        super().__init__(*given)
        self.settings = InviterSettings(folder=self.folder)

    def install(self):
        inviting.install(self.settings, BUNDLE, KEYS)
        store = inviting.open_store(self.settings)
        store.invite([code(number) for number in range(STRATA * EACH)])
        store.engine.dispose()

    def run(self):
        self.store = inviting.open_store(self.settings)
        self.app = inviter.application(self.store, self.settings, self.clock)
        self.look = self.app.state.keeper.look

    @property
    def secrets(self):
        return self.settings.private_files

    @property
    def may_destroy(self):
        return self.store.state() != "open"

    def left(self):
        return [self.store.start()] if self.store.start() else []


class First(Party):
    def __init__(self, *given):
        super().__init__(*given)
        self.settings = FirstMixerSettings(folder=self.folder)

    def install(self):
        mixing.install(self.settings, BUNDLE, mixers.FIRST)

    def run(self):
        self.store = mixing.open_store(self.settings)
        self.app = first.application(self.store, BUNDLE, self.settings, self.clock)
        self.look = self.app.state.keeper.look

    @property
    def secrets(self):
        return (self.settings.secret_file,)

    @property
    def may_destroy(self):
        states = {stratum.state for stratum in self.store.strata()}
        return states == {"deleted"} or self.simulation.parties["second"].received()

    def left(self):
        return list(self.settings.releases.glob("*.*"))


class Second(Party):
    def __init__(self, *given):
        super().__init__(*given)
        self.settings = SecondMixerSettings(folder=self.folder, workers=1)

    def install(self):
        write_private(self.settings.secret_file, mixers.SECOND_CLASSICAL.secret)
        write_private(self.settings.signing_file, mixers.SECOND.private_bytes_raw())
        write_private(self.settings.bundle_file, BUNDLE.encoded)

    def run(self):
        releasing.keep_bundle(self.settings, None, self.now)
        with folders.exclusive(self.folder, releasing.SERVICE):
            pass
        self.app = second.application(self.settings, BUNDLE, self.clock)
        self.keeper = self.app.state.keeper
        self.look = self.keeper.look

    def received(self):
        return self.keeper.shelf.received()

    @property
    def secrets(self):
        return self.settings.private_files

    @property
    def may_destroy(self):
        return self.settings.releases.exists()

    def left(self):
        shelf = self.keeper.shelf
        places = (shelf.waiting, shelf.starts, self.settings.releases)
        return [path for place in places for path in place.glob("*.*") if path.suffix != ".lock"]


class Collector(Party):
    def install(self):
        places = CollectorPlaces(self.folder)
        write_private(places.private, mixers.COLLECTOR_KEY.secret)
        write_private(places.bundle, BUNDLE.encoded)

    def run(self):
        """It does not start again after everything is opened."""
        self.places = CollectorPlaces(self.folder)
        collecting.keep_bundle(self.places, None)
        self.is_over = not self.places.private.exists()
        if self.is_over:
            assert collecting.is_complete(self.places, BUNDLE, self.now), "it cannot start again"
            self.away = True
            return
        private = load_private(self.places.private, BUNDLE)
        with folders.exclusive(self.folder, "collector"):
            pass
        settings = CollectorSettings(workers=1)
        self.app = collector.application(self.folder, BUNDLE, private, settings, self.clock)
        self.private = private

    def look(self):
        collecting.open_waiting(self.places, BUNDLE, self.private, 1)
        collecting.forget(self.places, BUNDLE, self.clock.confirmed())

    @property
    def secrets(self):
        return (self.places.private,)

    @property
    def may_destroy(self):
        taken = self.places.releases(BUNDLE).received()
        strata = {each.header.stratum for each in taken}
        batches = self.simulation.heard["/batch"].values()
        in_batch = {n for each in batches for n, _ in each.header.people}
        return strata >= in_batch and all(self.places.opened(each).exists() for each in taken)

    def left(self):
        return list((self.folder / "waiting").glob("*.*"))


PARTIES = dict(zip(NAMES, (Inviter, First, Second, Collector), strict=True))
SIGNED = {"/batch": Batch, "/release": MixedRelease, "/invitations": Invitations}
SENDERS = {"/batch": "first", "/release": "second", "/invitations": "inviter"}


class Network(httpx.BaseTransport):
    """Brings every request to its service, and sees all of them."""

    def __init__(self, simulation):
        hosts = {httpx.URL(getattr(BUNDLE, name).address).host: name for name in NAMES}
        self.simulation, self.hosts = simulation, hosts

    def handle_request(self, request):
        whole = httpx.Request(
            request.method, request.url, headers=request.headers, content=request.read()
        )
        if (path := request.url.path) in SIGNED:
            self.simulation.sees_statement(path, whole.content)
        party = self.simulation.parties[self.hosts[request.url.host]]
        response = party.answer(whole)
        if path == "/tokens" and response.status_code == 200:
            self.simulation.sees_tokens(whole.content)
        assert path not in SIGNED or response.status_code in (200, 410), response.read()
        if path == "/release" and response.status_code == 200:
            signed, _ = Signed.parse(MixedRelease, whole.content)
            self.simulation.acknowledged.add(signed.header.stratum)
        return response


# --- the simulation ------------------------------------------------------------------------------


@cache
def quick_sign(blinded, private):
    """The root that every inviter computes, once: it takes longer than all else."""
    return sign_blinded(blinded, private)


parsed_bundle, parsed_key = cache(Bundle.parse), cache(PrivateTokenKey.parse)


class MoreFaults(Faults):
    """Folders appear in a step, and what is killed clears nothing up."""

    steps = (*Faults.steps, (Path, "rename"), (shutil, "rmtree"))


@cache
def template():
    """A folder with those of the services, which nothing has happened to; it lasts as long as this
    process."""
    folder = tempfile.TemporaryDirectory(dir=MEMORY)
    for name, party in PARTIES.items():
        party(Path(folder.name) / name, None).install()
    return folder


class FourServices(RuleBasedStateMachine):
    """People, their devices, the four services and their clocks, which need not agree."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        shutil.copytree(template().name, self.folder, dirs_exist_ok=True)
        self.faults, self.kill, self.runner = MoreFaults(), None, asyncio.Runner()
        self.heard, self.acknowledged = {path: {} for path in SIGNED}, set()
        self.requests, self.people, self.arrived = {}, [], [0] * STRATA
        self.patches = ExitStack()
        client = self.patches.enter_context(httpx.Client(transport=Network(self), verify=False))
        self.connection = Connection(client, Patience(whole=0.0))
        for patch in (
            mock.patch("httpx.stream", client.stream),
            mock.patch.object(grouping, "ThreadPoolExecutor", Inline),
            mock.patch.object(inviter, "ThreadPoolExecutor", Inline),
            mock.patch.object(inviter, "sign_blinded", quick_sign),
            mock.patch.object(Bundle, "parse", parsed_bundle),
            mock.patch.object(PrivateTokenKey, "parse", parsed_key),
            mock.patch.object(Pending, "upload", self.spoiled(Pending.upload)),
        ):
            self.patches.enter_context(patch)
        self.parties = {name: kind(self.folder / name, self) for name, kind in PARTIES.items()}
        for party in self.parties.values():
            party.start()
            party.look()

    def spoiled(self, right):
        """Of some people, the envelopes cannot be opened."""

        def upload(pending, answer, bundle, order):
            made = right(pending, answer, bundle, order)
            if not any(p.spoils and p.pending.nonce == pending.nonce for p in self.people):
                return made
            return replace(made, sealed=sealed(bundle, pending.nonce))

        return upload

    def teardown(self):
        try:
            self.finish()
        finally:
            for party in self.parties.values():
                if party.store:
                    party.store.engine.dispose()
            self.runner.close()
            self.patches.close()
            shutil.rmtree(self.folder)

    # --- what happens ----------------------------------------------------------------------------

    @rule(
        count=st.sampled_from([1, 3, 22, 24]),
        stratum=st.integers(0, STRATA - 1),
        spoils=st.booleans(),
    )
    def people_take_part(self, count, stratum, spoils):
        for _ in range(count):
            if self.arrived[stratum] < EACH:
                number = stratum * EACH + self.arrived[stratum]
                self.arrived[stratum] += 1
                self.take_part(self.person(number, stratum, HONEST, spoils=spoils))

    def person(self, number, stratum, kind, **more):
        folder = self.folder / "people" / f"{number}-{kind}"
        self.people.append(Person(number, stratum, kind, DeviceMemory(folder), **more))
        return self.people[-1]

    @precondition(lambda self: self.people)
    @rule(which=st.lists(st.integers(0, 10**6), min_size=1, max_size=6))
    def some_try_again(self, which):
        for number in which:
            self.take_part(self.people[number % len(self.people)])

    @precondition(lambda self: self.people)
    @rule(which=st.integers(0, 10**6))
    def one_asks_for_tokens_twice(self, which):
        """With the same invitation, from another device and in another stratum."""
        number = self.people[which % len(self.people)].number
        rivals = [p for p in self.people if p.number == number and p.kind == RIVAL]
        one = next(p for p in self.people if p.number == number)
        self.take_part(
            rivals[0] if rivals else self.person(number, (one.stratum + 1) % STRATA, RIVAL)
        )

    @precondition(lambda self: self.people)
    @rule(which=st.integers(0, 10**6))
    def one_withdraws(self, which):
        person = self.people[which % len(self.people)]
        with self.living_device(person), suppress(UsageError):
            self.device(person).withdraw()
            person.known, person.withdrawn = OUT, True

    @rule(which=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5))
    def services_look(self, which):
        for name in which:
            with self.armed():
                self.parties[name].work()

    @rule(minutes=st.sampled_from([1, 90, 60 * 24]))
    def time_passes(self, minutes):
        for party in self.parties.values():
            party.clocks.time_passes(minutes=minutes)

    @rule(moment=st.sampled_from(MOMENTS[:2]))
    def it_is_time(self, moment):
        for party in self.parties.values():
            party.clocks.go_on_to(as_time(getattr(BUNDLE, moment)))

    @rule(name=st.sampled_from(NAMES), moment=st.sampled_from(MOMENTS), early=st.integers(0, 1))
    def a_clock_is_set(self, name, moment, early):
        """Over opening, closing and disposal, forward and back."""
        at = as_time(getattr(BUNDLE, moment)) - timedelta(seconds=early)
        self.parties[name].clocks.show(at)

    @rule(name=st.sampled_from(NAMES), moment=st.sampled_from(MOMENTS), noticed=st.booleans())
    def a_clock_is_wrong_for_a_moment(self, name, moment, noticed):
        """Its service may look meanwhile."""
        party = self.parties[name]
        right = party.now
        party.clocks.show(as_time(getattr(BUNDLE, moment)))
        if noticed:
            self.services_look([name])
        party.clocks.time_passes(seconds=2.5)
        party.clocks.show(right)

    @rule(after=st.integers(0, 60))
    def a_kill_comes(self, after):
        self.kill = after

    @rule(name=st.sampled_from(NAMES), away=st.booleans(), deaf=st.booleans())
    def a_service_is(self, name, away, deaf):
        party = self.parties[name]
        party.away = away or party.is_over
        party.deaf = deaf

    # --- how it is watched -----------------------------------------------------------------------

    def device(self, person):
        link = Link(BUNDLE.link_address, BUNDLE.digest)
        device = Drawn(link, BUNDLE, None, person.memory, self.connection)
        return device.of_person(person)

    def take_part(self, person):
        with self.living_device(person), suppress(UsageError):  # it did before
            self.device(person).send({}, keep=True)
            assert not person.withdrawn, "what was withdrawn is stored again"
            person.known = IN

    @contextmanager
    def armed(self):
        after, self.kill = self.kill, None
        with self.faults.armed(after):
            yield

    @contextmanager
    def living_device(self, person):
        """Without an answer, a device knows nothing; a refusal has a reason."""
        with self.armed():
            try:
                yield
            except Killed:
                self.faults.left = None
                person.known = UNKNOWN
            except ProtocolError as error:
                self.explain(person, error.problems[0].field)

    def explain(self, person, kind):
        if kind == "server":
            if not person.withdrawn:
                person.known = UNKNOWN
            return
        asked = [data for data in self.requests.get(code(person.number), ())]
        rival = any(p.number == person.number and p is not person for p in self.people)
        reasons = {
            "not-open": any(p.now < as_time(BUNDLE.opens) for p in self.parties.values()),
            "busy": any(p.now >= as_time(BUNDLE.closes) for p in self.parties.values()),
            "closed": self.ever("closes"),
            "not-found": self.ever("closes"),
            "withdrawn": person.withdrawn or person.known == UNKNOWN,
            "code-used": rival,
            "too-often": len(asked) > 0,
        }
        assert reasons.get(kind), f"a right request is refused: {kind}"
        if kind == "withdrawn":
            person.known, person.withdrawn = OUT, True

    def ever(self, moment):
        """Whether it was that time by a clock that was right for an hour."""
        at = as_time(getattr(BUNDLE, moment))
        return any(party.clocks.counted >= at for party in self.parties.values())

    def sees_tokens(self, data):
        """Whatever becomes of the answer."""
        request = TokenRequest.parse(data, BUNDLE)
        answered = self.requests.setdefault(request.code, set())
        answered.add(data)
        assert len(answered) == 1, "two requests for one code are answered"

    def sees_statement(self, path, data):
        sender = self.parties[SENDERS[path]]
        signed, end = Signed.parse(SIGNED[path], data)
        before = self.heard[path].setdefault(signed.header.number, signed)
        assert before == signed, "two statements about one thing are signed"
        self.heard.setdefault("bodies", {})[path, signed.header.number] = data[end:]
        if path != "/batch":
            left = [each.name for each in sender.secrets if each.exists()]
            assert not left, "a key outlives the first byte"

    @invariant()
    def nothing_is_destroyed_too_early(self):
        for name, party in self.parties.items():
            gone = not all(each.exists() for each in party.secrets)
            over = self.ever("disposes")  # also of another, which then forgot what it had
            assert not gone or over or party.may_destroy, f"{name} destroyed its key too early"

    # --- after every list ------------------------------------------------------------------------

    def finish(self):
        """Everything works again and time goes on; what came is compared with what left."""
        self.kill = None
        self.it_is_closing_time()
        self.services_look(NAMES)
        self.until("closes")
        self.compare(excused=self.ever("disposes"))
        self.until("disposes")
        self.until("disposes", timedelta(days=8))
        for name, party in self.parties.items():
            assert not party.left(), f"{name} keeps {party.left()}"
            assert not any(each.exists() for each in party.secrets), f"{name} keeps a key"

    def it_is_closing_time(self):
        for party in self.parties.values():
            party.clocks.go_on_to(max(party.now, as_time(BUNDLE.closes)))

    def until(self, moment, after=timedelta(0)):
        at = max(as_time(getattr(BUNDLE, moment)) + after, *(p.now for p in self.parties.values()))
        for party in self.parties.values():
            party.deaf, party.away = False, party.is_over
        for hours in range(0, 8, 2):
            for party in self.parties.values():
                party.clocks.go_on_to(at + timedelta(hours=hours))
                try:
                    if not party.is_over:
                        party.look()
                except StoreError:
                    assert self.ever("disposes")

    def sure(self, stratum, *known):
        return [p for p in self.people if p.stratum == stratum and p.known in known]

    def compare(self, excused):
        batch = dict(self.heard["/batch"][0].header.people) if self.heard["/batch"] else {}
        counted = []
        for stratum in range(len(BUNDLE.strata)):
            sure, maybe = (len(self.sure(stratum, *k)) for k in ((IN,), (IN, UNKNOWN)))
            if stratum not in batch:
                assert sure < LEAST or excused, "a stratum with enough people is lost"
                continue
            people = batch[stratum]
            assert people >= LEAST, "too few are released"
            assert sure <= people <= maybe, "the batch counts others than were confirmed"
            release = self.heard["/release"].get(stratum)
            assert release or excused, "a stratum of the batch is lost"
            if release:
                counted += self.compare_release(stratum, release.header, excused)
        codes = Counter(p.number for p in counted)
        assert set(codes.values()) <= {1}, "somebody counts twice"
        self.compare_invitations(len(counted), excused)

    def compare_release(self, stratum, header, excused):
        """The people whose reports a release contains."""
        honest = [p for p in self.sure(stratum, IN) if not p.spoils]
        if header.is_refused:
            assert len(honest) < CROWD, "a stratum with enough tokens is refused"
            return []
        body, width = self.heard["bodies"]["/release", stratum], BUNDLE.row_length
        rows = [TokenReport.parse(body[at : at + width]) for at in range(0, len(body), width)]
        came = Counter((each.message, each.inner) for each in rows)
        assert set(came.values()) == {1}, "a report is there twice"
        there, rest = [], set(came)
        for person in self.people:
            slots = set(zip(BUNDLE.slot_messages, person.pending.inners, strict=True))
            if person.stratum == stratum and slots & came.keys():
                assert slots <= came.keys(), "a part of an upload is there"
                there.append(person)
                rest -= slots
        assert not rest, "a report is there that nobody sent"
        assert all(p in there for p in honest), "somebody who was confirmed is lost"
        assert not any(p.known == OUT for p in there), "somebody who withdrew is there"
        assert len(there) >= CROWD, "fewer than a crowd are released"
        assert header.tokens == tuple(len(there) * slots for slots in BUNDLE.slots)
        folder = self.parties["collector"].places.opened_ones / f"release-{stratum}"
        assert stratum not in self.acknowledged or folder.exists(), "what was acknowledged is lost"
        assert excused or folder.exists(), "a release is lost"
        if folder.exists():
            self.compare_opened(folder, header, there)
        return there

    def compare_opened(self, folder, header, there):
        receipt, _ = load_receipt(folder)
        assert receipt.signed.header == header
        assert receipt.opened_people == len(there) and not any(receipt.rejected.values())
        opened = Counter(
            (each.message, bytes(row))
            for each in incrowd.load_reports(folder)
            for row in each.packed
        )
        sent = sum((person.reports for person in there), Counter())
        assert opened == sent, "the collector's reports are not what people sent"

    def compare_invitations(self, people, excused):
        signed = self.heard["/invitations"].get(0)
        assert signed or excused
        if signed:
            asked = {p.number for p in self.people}
            issued, used = signed.header.issued, signed.header.used
            assert issued == STRATA * EACH, "the inviter counts others than it invited"
            assert max(len(self.requests), people) <= used <= len(asked), "used invitations"
            for folder in self.parties["collector"].places.opened_ones.glob("release-*"):
                receipt, _ = load_receipt(folder)
                same = (receipt.issued, receipt.used) == (issued, used)
                assert same or (excused and receipt.used is None)
