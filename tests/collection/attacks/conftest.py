"""A collection of honest people, the honest parties around it, and what its attackers do.

Every report has 32 bits that differ from person to person, so that a report that is read is
recognized. The plan's guarantee rests on the mixing.
"""

import hashlib
import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

import pyarrow as pa
import pytest

import incrowd
from incrowd.collection.collector.keeper import open_waiting
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.progress import Gate
from incrowd.collection.collector.receipt import receipts_of
from incrowd.collection.mixer.second.keeper import SecondKeeper
from incrowd.collection.protocol.bundle import OUTER_LABEL, Bundle, as_time
from incrowd.collection.protocol.mixing import Batch
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.signed import sign
from incrowd.collection.protocol.tokens import (
    Pending,
    TokenReport,
    TokenRequest,
    sealed_slots,
)
from incrowd.collection.protocol.upload import Upload
from incrowd.collection.settings import SecondMixerSettings
from incrowd.collection.steady import CertainClock
from incrowd.collection.taking import Taking
from incrowd.encoding.records import EncodedAnswers
from incrowd.files import private_folder, write_private
from incrowd.plans.slots import slots
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import randomize_message
from tests.oracles import make_vectors, mixers
from tests.oracles.inviting import Inviter
from tests.oracles.make_vectors import RECEIVER
from tests.oracles.mixing import PIECE, code, content, present

OPTIONS = [f"option {number}" for number in range(32)]
SURVEY = incrowd.Survey.of(
    {
        "name": "Two questions",
        "crowd": 20,
        "privacy": {"epsilon": 4.0, "delta": 0.05, "analysis": "blanket"},
        "question": [{"id": name, "type": "choice", "options": OPTIONS} for name in "ab"],
        "message": [{"questions": [name]} for name in "ab"],
    }
)
PLAN = incrowd.plan(SURVEY)
MESSAGES = range(len(PLAN.messages))
OF = mixers.bundle(plan=PLAN, second=mixers.SECOND_CLASSICAL)
ONE = make_vectors.bundle(
    plan=PLAN,
    colluding=0,
    slots=slots(PLAN),
    wording={"language": "en", "title": "Two questions", "questions": dict.fromkeys("ab", "What?")},
)
CROWD, PEOPLE = PLAN.survey.crowd, OF.least_people
NOW = as_time(OF.closes)


read_once = cache(Bundle.parse)


@pytest.fixture(autouse=True, scope="module")
def bundles_are_read_once():
    """Proving that the token keys of a bundle are permutations takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bundle, "parse", staticmethod(read_once))
        yield


# --- honest people -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Person:
    """reports: of each message, packed. pending: what the device stores."""

    code: bytes
    reports: tuple[bytes, ...]
    pending: Pending
    upload: Upload


@cache
def all_reports(people, seed=1):
    """What the devices of a plan draw, for each person the report of each message."""
    draw = random.Random(seed)
    answers = {name: [draw.choice(OPTIONS) for _ in range(people)] for name in "ab"}
    encoded = EncodedAnswers.of(PLAN.survey, pa.table(answers))
    stream = Keystream.for_simulation(seed)
    drawn = [randomize_message(PLAN, each, encoded, stream) for each in PLAN.messages]
    assert all(len(set(map(bytes, each))) == people for each in drawn)
    return [tuple(map(bytes, each)) for each in zip(*drawn, strict=True)]


def person(code, reports, answer, of=OF):
    """A device from its noise to its upload. answer: the inviter's, to a request."""
    plaintexts = mixers.in_slots(of, [[each] for each in reports])
    pending = mixers.pending(of, plaintexts, code=code)
    order = random.sample(range(of.places), of.places)
    return Person(code, reports, pending, pending.upload(answer(pending.request), of, order))


def asking(folder, number):
    """Devices that ask a real inviter for tokens, one after the other."""
    codes = list(map(code, range(number)))
    inviter = Inviter(folder, codes, OF)
    answer = lambda request: inviter.post(request)[1]  # noqa: E731
    people = [person(*each, answer) for each in zip(codes, all_reports(number), strict=True)]
    inviter.close()
    return people


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    """As many honest people as a release needs."""
    return asking(tmp_path_factory.mktemp("asked"), PEOPLE)


# --- what would be recognized of them ------------------------------------------------------------


def marks(people, of=OF, second=mixers.SECOND_CLASSICAL):
    """By kind, pieces of what was sent. second: the private key that opens the envelopes."""
    header, inner = len(of.envelope_key.header), len(of.key.header)  # the same of everybody
    rows = mixers.opened(of, [each.upload for each in people], 0, second)
    envelopes = [e for each in people for e in each.upload.sealed]
    return {
        "code": [each.code for each in people],
        "request": [v for each in people
                    for v in TokenRequest.parse(each.pending.request, of).blinded],
        "nonce": [each.pending.nonce for each in people],
        "entry token": [each.upload.entry[32:] for each in people],
        "envelope": [part for e in envelopes for part in (e[header:], e[-PIECE:])],
        "slot token": [row.token for row in rows],
        "report": [part for r in rows for part in (r.inner[inner:], r.inner[-PIECE:])],
    }  # fmt: skip


def seen(data, pieces):
    """The kinds of things of which any 8 bytes are in some bytes, as they are or in hexadecimal."""
    starts = {kind: [each[:PIECE] for each in some] for kind, some in pieces.items()}
    halves = {each: (each.hex().encode()[:PIECE], each.hex().encode()[PIECE:])
              for some in starts.values() for each in some}  # fmt: skip
    there = present([*halves, *chain(*halves.values())], data)
    return {
        kind
        for kind, some in starts.items()
        if any(each in there or {*halves[each]} <= there for each in some)
    }


# --- honest parties ------------------------------------------------------------------------------


@dataclass
class Second:
    """A second mixer with keys; what it sends, and all bytes of its files at that time."""

    folder: object
    sent: list = field(default_factory=list)
    files: list = field(default_factory=list)
    now: object = NOW

    def __post_init__(self):
        self.settings = SecondMixerSettings(folder=self.folder, workers=1)
        write_private(self.settings.secret_file, mixers.SECOND_CLASSICAL.secret)
        write_private(self.settings.signing_file, mixers.SECOND.private_bytes_raw())
        write_private(self.settings.bundle_file, OF.encoded)
        self.keeper = SecondKeeper(self.settings, OF, CertainClock(lambda: self.now), self._deliver)

    def _deliver(self, start, body):
        self.sent.append(start + body.read_bytes())
        self.files.append(content(self.folder))
        return True

    def take(self, batch):
        signed, body = batch
        take(signed.encoded + body, self.keeper.shelf, OF)
        self.keeper.look()


def take(data, shelf, of):
    """A service receives what another one signed."""
    with Taking(of, shelf) as taking:
        taking.add(data)
        taking.done()


def opened(folder, of, *releases):
    """What a collector opens: its places."""
    places = CollectorPlaces(private_folder(folder))
    for data in releases:
        take(data, places.releases(of), of)
    open_waiting(places, of, RECEIVER if of is ONE else mixers.COLLECTOR_KEY, 1)
    return places


def published(places, of):
    """The folders that an honest collector makes estimates from."""
    return [folder for folder, _ in Gate(of, places).passed()]


def counted(folders):
    """How often each report is there, for each message; nothing of a refused stratum."""
    counts = [Counter() for _ in MESSAGES]
    for file in (file for folder in folders for file in folder.glob("message-*.parquet")):
        for collection in incrowd.load_reports(file):
            counts[collection.message].update(map(bytes, collection.packed))
    return counts


def audit(folders):
    """Whether `verify` finds that the promise holds for reports and receipts."""
    every = [each for folder in folders for each in incrowd.load_reports(folder)]
    received = receipts_of(PLAN, folders, files=True)
    return incrowd.verify(PLAN, every, received=received).holds


# --- attackers -----------------------------------------------------------------------------------


def left(counts, known=()):
    """What remains of the counted reports without those that the attackers made.

    known: for each person that they invented, the report of each message.
    """
    return [counts[n] - Counter(reports[n] for reports in known) for n in MESSAGES]


def read(counts):
    """By message, the report that stands alone: whoever knows whom they let pass has read it."""
    return {n: min(each) for n, each in enumerate(counts) if len(each) == 1}


def is_hidden(counts):
    """Whether every report that is left is among those of a crowd, which all differ."""
    return all(not each or len(each) >= CROWD for each in counts)


def sealed_report(message, packed):
    (inner,) = sealed_slots(OF, 0, [OF.shape.report(message, packed)])
    return inner


def envelope(report):
    """What a report with its token looks like to the first mixer; anybody can seal it."""
    return seal(report.encoded, OF.second_key, OF.binding(0), OUTER_LABEL)


def forged(message, packed):
    """An envelope whose token nobody signed."""
    return envelope(TokenReport(message, random.randbytes(256), sealed_report(message, packed)))


def signed_batch(envelopes):
    """The first mixer signs what it likes: any envelopes, filled up with garbage."""
    missing = PEOPLE * OF.places - len(envelopes)
    header, length = OF.envelope_key.header, OF.envelope_length
    garbage = [header + random.randbytes(length - len(header)) for _ in range(missing)]
    body = b"".join(random.sample([*envelopes, *garbage], PEOPLE * OF.places))
    return sign(Batch(OF.digest, ((0, PEOPLE),), hashlib.sha256(body).digest()), mixers.FIRST), body


def slot(person, message):
    """The envelope of a message; only a very lucky mixer knows which one it is."""
    reports = mixers.opened(OF, [person.upload], 0, mixers.SECOND_CLASSICAL)
    return next(
        e for e, r in zip(person.upload.sealed, reports, strict=True) if r.message == message
    )


# What a first mixer passes on of the uploads of the people: envelopes, and the reports that it
# made itself. It is after the first person.


def replaces_everybody_else(people):
    invented = all_reports(PEOPLE, seed=2)[1:]
    envelopes = [forged(n, packed) for reports in invented for n, packed in enumerate(reports)]
    return [*people[0].upload.sealed, *envelopes], invented


def drops_everybody_else(people):
    return people[0].upload.sealed, []


def replays_one_person(people):
    return people[0].upload.sealed * PEOPLE, []


def takes_other_slots_of_one_message(people):
    """One slot each of many people, and by luck none of them has the first message."""
    return [*people[0].upload.sealed, *(slot(each, 1) for each in people[1:])], []


def takes_a_slot_of_each(people):
    """One slot each of many people, of every message just enough."""
    others = iter(people[1:])
    slots = [slot(next(others), n) for n in MESSAGES for _ in range(CROWD - 1)]
    return [*people[0].upload.sealed, *slots], []
