"""Collections to which shuffler and collector add noise, made from the documents alone.

The plans are put together by hand, with small laws, so that everything can be enumerated. A person
is the cells that she is in, by message; of a message to which devices add noise, packed reports.
"""

import hashlib
import hmac
import math
import random
import struct
from contextlib import contextmanager
from itertools import islice

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import incrowd
from incrowd.accountant import AdditiveNoise
from incrowd.accountant.codes import WorstPair
from incrowd.collection.collector import opening
from incrowd.collection.protocol.signed import sign
from incrowd.plans.message import CellsMessage, JointReport
from incrowd.plans.plan import Assumption, Guarantee, Plan, relied_crowd
from incrowd.plans.slots import slots
from tests.oracles import make_vectors, wire
from tests.oracles.make_vectors import CONFIGURATION, SHUFFLER, fixed
from tests.oracles.releases import header_of

LAW = AdditiveNoise.laplace(0.9, most=6)
LEAST = 3
QUESTIONS = [
    {"id": "smokes", "type": "yesno"},
    {"id": "region", "type": "choice", "options": ["north", "south", "west"]},
    {"id": "uses", "type": "multi", "options": ["a", "b", "c"], "at_most": 2},
]


def plan_of(*messages, law=LAW, questions=QUESTIONS, crowd=20, least=LEAST, **changes):
    """The plan of messages of cells by their questions; those in a list are a joint report."""
    used = {id for ids in messages for id in ids}
    survey = incrowd.Survey.of(
        {
            "name": "Small",
            "crowd": crowd,
            "least": least,
            "privacy": {"epsilon": 2.0, "delta": 1e-5, "noise": "services"},
            "question": [each for each in questions if each["id"] in used],
        }
        | changes
    )
    made = tuple(_message(survey, ids, law) for ids in messages)
    guarantee = Guarantee(
        analysis="shuffle",
        epsilon=2.0,
        delta=1e-5,
        certified_delta=1e-5,
        crowd=relied_crowd(survey, made),
        proved=True,
        assumptions=(Assumption(code="whole-crowd"),),
        worst=(WorstPair(code="any-pair"),),
        local_epsilon=math.inf,
        service_epsilon=2.0,
    )
    return Plan(survey=survey, messages=made, guarantee=guarantee)


def _message(survey, ids, law):
    asked = tuple(survey.question(id) for id in ids)
    if isinstance(ids, list):
        return JointReport(questions=asked, noise_numerator=1 << 28, copies=2)
    return CellsMessage(questions=asked, added=law)


def bundle_of(plan, **changes):
    questions = {question.id: f"About {question.id}?" for question in plan.survey.questions}
    given = {"plan": plan, "slots": slots(plan), "colluding": plan.survey.colluding}
    given |= {"wording": {"language": "en", "title": "Small", "questions": questions}}
    reserve = 0 if plan.guarantee.crowd is None else 20
    return make_vectors.bundle(**given | {"reserve": reserve} | changes)


# --- what devices send ---------------------------------------------------------------------------


def dummy(bundle):
    return wire.plaintext(bundle.shape.length)


def report(bundle, message, cell):
    """The plaintext of a cell, or of a packed report."""
    width = bundle.shape.width(message)
    packed = cell if isinstance(cell, bytes) else cell.to_bytes(width, "little")
    return wire.plaintext(bundle.shape.length, message, packed)


def inside(bundle, person):
    """The plaintexts of a person, lane by lane."""
    return [_in_lane(bundle, lane, person.get(lane.message, [])) for lane in bundle.lanes]


def _in_lane(bundle, lane, sent):
    there = [each for each in sent if not lane.cells or each in lane.cells]
    plain = [report(bundle, lane.message, each) for each in there]
    return plain + [dummy(bundle)] * (lane.slots - len(plain))


def seal(plaintext, name, bundle, stratum=0, lane=0):
    binding = bundle.digest + struct.pack(">HH", stratum, lane)
    return wire.seal(plaintext, CONFIGURATION.encoded, binding, fixed(f"ephemeral {name}"))


def uploads(bundle, people, stratum=0):
    """The sealed reports of each person, lane by lane."""
    return [
        [
            [
                seal(each, f"{stratum} {name} {lane} {slot}", bundle, stratum, lane)
                for slot, each in enumerate(plain)
            ]
            for lane, plain in enumerate(inside(bundle, person))
        ]
        for name, person in enumerate(people)
    ]


# --- what the shuffler makes of it ---------------------------------------------------------------


def invented(bundle, lane, z1, stratum=0, name="z"):
    """The sealed reports that it invents for a lane: as many as stated, the rest are dummies.

    z1: how many of each cell, by message and cell; half of the most for others.
    """
    numbers = bundle.lanes[lane]
    law = bundle.plan.messages[numbers.message].added
    plain = [
        report(bundle, numbers.message, cell)
        for cell in numbers.cells
        for _ in range(z1.get((numbers.message, cell), law.reach))
    ]
    plain += [dummy(bundle)] * (numbers.invented - len(plain))
    return [
        seal(each, f"{stratum} {name} {lane} {n}", bundle, stratum, lane)
        for n, each in enumerate(plain)
    ]


def body(bundle, sent, z1, stratum=0, name="z"):
    """The lanes of a release, each in a random order of its own. sent: as from `uploads`."""
    rows = []
    for lane in range(len(bundle.lanes)):
        each = [sealed for person in sent for sealed in person[lane]]
        each += invented(bundle, lane, z1, stratum, name)
        random.Random(f"{name} {lane}").shuffle(each)
        rows += each
    return rows


def release(bundle, people, z1=(), stratum=0, rows=None, key=SHUFFLER, **changes):
    """The bytes of a release. rows: those of the body, if they are not as they should be."""
    sealed = rows or body(bundle, uploads(bundle, people, stratum), dict(z1), stratum)
    number = len(people)
    facts = {"people": number, "used": number, "issued": 2 * number, "strata": (stratum,)}
    header = header_of(sealed, bundle, **facts | changes)
    return sign(header, key).encoded + b"".join(sealed)


# --- what the collector adds ---------------------------------------------------------------------


def words(secret, header, message):
    """The random words of a message of a release: HKDF-SHA256 and AES, made from primitives."""
    digest = hashlib.sha256(b"incrowd release 1\0" + header.encoded).digest()
    number = struct.pack(">H", header.strata[0])
    parts = (b"incrowd noise of the collector 1", header.bundle, number, digest)
    info = wire.framed(*parts, struct.pack(">H", message))
    prk = hmac.digest(bytes(32), secret, "sha256")
    key = hmac.digest(prk, info + b"\x01", "sha256")
    aes = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    while True:
        yield int.from_bytes(aes.update(bytes(8)), "little")


def drawn(law, word):
    """The number that a word draws: the first whose cumulated numerator exceeds it."""
    for number in range(-law.reach, law.reach + 1):
        if word < law.numerators[abs(number)]:
            return number
        word -= law.numerators[abs(number)]
    raise AssertionError("the numerators add up to 2^64")


def z2(secret, header, message, cells, law=LAW):
    """What the collector adds to each cell of a message."""
    return [drawn(law, word) for word in islice(words(secret, header, message), cells)]


def expected(bundle, people, z1, header, secret):
    """The published counts of each message to which services add noise."""
    counts = {}
    for number, message in enumerate(bundle.plan.messages):
        if (law := message.added) is None:
            continue
        other = z2(secret, header, number, message.record_bits, law)
        counts[number] = [
            sum(cell in person.get(number, ()) for person in people)
            + dict(z1).get((number, cell), law.reach) - law.reach + other[cell]
            for cell in range(message.record_bits)
        ]  # fmt: skip
    return counts


# --- without cryptography, so that many scenarios have the same bytes -----------------------------


def looked_up(bundle, people, z1, stratum=0):
    """A release, and what each of its sealed reports contains. The bytes of the release depend on
    the number of people only, as if other answers and other noise had been sealed."""
    lanes = [[each for one in people for each in inside(bundle, one)[n]]
             for n in range(len(bundle.lanes))]  # fmt: skip
    for lane, plain in zip(bundle.lanes, lanes, strict=True):
        law = bundle.plan.messages[lane.message].added
        made = [
            report(bundle, lane.message, cell)
            for cell in lane.cells
            for _ in range(z1.get((lane.message, cell), law.reach))
        ]
        plain += made + [dummy(bundle)] * (lane.invented - len(made))
    return containing(bundle, len(people), lanes, stratum)


def containing(bundle, people, lanes, stratum=0):
    """A release of so many people, and what each of its sealed reports contains.

    lanes: the plaintexts of each lane.
    """
    contents = [each for plain in lanes for each in plain]
    rows = [_row(bundle, place) for place in range(len(contents))]
    data = release(bundle, [{}] * people, stratum=stratum, rows=rows)
    return data, dict(zip(rows, contents, strict=True))


def _row(bundle, place):
    """Bytes of the right length that nobody sealed."""
    start, size = CONFIGURATION.header, bundle.sealed_length - len(CONFIGURATION.header)
    return start + hashlib.shake_256(f"row {place}".encode()).digest(size)


@contextmanager
def unsealing(contents):
    """Every sealed report contains what is stated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "unseal", lambda sealed, *_: contents[sealed])
        yield
