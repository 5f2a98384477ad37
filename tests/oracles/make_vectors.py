"""Makes vectors/*.json from the plans in vectors/: `python -m tests.oracles.make_vectors`.

Everything that would be random is fixed: a keystream of a named seed, keys and ephemeral keys
from SHA-256 of their names. Bytes are in hexadecimal. What is sealed is made by the reader of
tests/oracles/wire.py, the rest by the library; the tests check each with the other.
"""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from incrowd.collection.wire import problem, release, upload
from incrowd.collection.wire.addresses import Link, short
from incrowd.collection.wire.bundle import Bundle
from incrowd.collection.wire.plaintext import filled
from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.k_ary import KAry
from incrowd.collection.wire.sealed import KeyConfiguration
from incrowd.encoding.bloom import normalize, places
from incrowd.encoding.people import People
from incrowd.encoding.records import pack
from incrowd.plans import Plan, UnlinkedBits
from incrowd.plans.digests import canonical
from incrowd.plans.fixed_channels import fixed_channel
from incrowd.plans.slots import slots
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.memory import remembered, remembering, series
from incrowd.sampling.permanent import DeviceKey
from incrowd.survey import Choice, Text, YesNo
from incrowd.workflow.randomize import randomize_message
from tests.oracles import wire

VECTORS = Path(__file__).parents[2] / "vectors"
PEOPLE = 23
ANSWERS = [
    {"smokes": "yes", "region": "east", "drugs": "alcohol;other", "visits": 0, "site": "s07"},
    {"smokes": "no", "region": None, "drugs": "none", "visits": 17, "site": "s23"},
    {"smokes": "no", "region": "west", "drugs": "cannabis", "visits": 5.5, "site": "s00"},
]


def fixed(name):
    """32 bytes that stand for random ones."""
    return hashlib.sha256(f"incrowd vectors 1: {name}".encode()).digest()


DEVICES = [
    {
        "word": "Größe", "smokes": "yes", "page": " a\u030a.example\u3000", "version": "beta",
        "hours": 1.5, "owns": "yes", "cheated": "no", "opposite": "yes", "insured": "no",
        "drugs": "cannabis;other", "employed": "no", "moved": "yes", "tried": "no",
        "crashed": "yes", "size": 3,
    },
    {
        "word": None, "smokes": "no", "page": "Å.example", "version": "old",
        "hours": None, "owns": None, "cheated": "yes", "opposite": "no", "insured": "yes",
        "drugs": "none", "employed": "yes", "moved": "yes", "tried": "yes",
        "crashed": "no", "size": None,
    },
    {
        "word": "no answer", "smokes": "no", "page": "𝔘\u00a0x", "version": "own",
        "hours": 10, "owns": "no", "cheated": "yes", "opposite": "no", "insured": "no",
        "drugs": "alcohol", "employed": "no", "moved": "no", "tried": "no",
        "crashed": "no", "size": -2.5,
    },
]  # fmt: skip
RANDOMIZERS = [
    {"kind": "bit flip", "noise": 1e-9},
    {"kind": "bit flip", "noise": 0.499999999},
    {"kind": "bit flip", "epsilon": 0.001},
    {"kind": "bit flip", "epsilon": 1.0},
    {"kind": "bit flip", "epsilon": 20.0},
    {"kind": "warner", "spinner": 0.5000000005},
    {"kind": "warner", "spinner": 0.2},
    {"kind": "warner", "spinner": 0.75},
    {"kind": "warner", "epsilon": 3.0},
    {"kind": "simmons", "unrelated": 0.3},
    {"kind": "simmons", "unrelated": 0.3, "prevalence": 0.9},
    {"kind": "simmons", "unrelated": 1e-9, "prevalence": 1e-9},
    {"kind": "simmons", "epsilon": 2.0},
    {"kind": "bit", "one_if_zero": 0.9, "one_if_one": 0.2},
    {"kind": "bit", "one_if_zero": 0.3, "one_if_one": 0.7},
    {"kind": "rappor", "f": 0.3},
    {"kind": "rappor", "epsilon": 0.7},
    {"kind": "rappor", "f": 0.3, "one_if_zero": 0.0, "one_if_one": 1.0},
    {"kind": "rappor", "epsilon": 0.7, "one_if_zero": 0.6, "one_if_one": 0.1},
    {"kind": "k-ary", "keep": 0.51},
    {"kind": "k-ary", "epsilon": 0.1},
    {"kind": "k-ary", "epsilon": 8.0},
]
NO_RANDOMIZERS = [
    {"kind": "bit", "one_if_zero": 0.0, "one_if_one": 0.5},
    {"kind": "bit", "one_if_zero": 0.5, "one_if_one": 0.5},
    {"kind": "warner", "spinner": 0.5},
    {"kind": "bit flip", "noise": 0.49999999999},
    {"kind": "k-ary", "keep": 0.2},
    {"kind": "rappor", "f": 0.5, "one_if_zero": 0.5, "one_if_one": 0.5},
]


class Recorded(Keystream):
    """A fixed stream that keeps the words it gave."""

    def __init__(self, name):
        super().__init__(fixed(name), bytes(16))
        self.drawn = []

    def words(self, count):
        found = super().words(count)
        self.drawn += found.tolist()
        return found


PLAN = Plan.load(VECTORS / "plan.json")
DEVICE_PLAN = Plan.load(VECTORS / "devices-plan.json")
DEVICE_KEY = DeviceKey(fixed("device 42"))  # one that flips some bit of everybody
RECEIVER = X25519PrivateKey.from_private_bytes(fixed("collector"))
SHUFFLER = Ed25519PrivateKey.from_private_bytes(fixed("shuffler"))
CONFIGURATION = KeyConfiguration(7, wire.public(RECEIVER))


def bundle(**changes):
    ids = {question.id: f"About {question.id}?" for question in PLAN.survey.questions}
    return Bundle(
        **{
            "plan": PLAN,
            "wording": {"language": "en", "title": "Größe, habits", "questions": ids},
            "period": "November 2026",
            "opens": "2026-11-01T00:00:00Z",
            "closes": "2026-11-30T23:59:59Z",
            "disposes": "2026-12-31T00:00:00Z",
            "wanted": None,
            "strata": ("all",),
            "small_strata": "delete",
            "codes": True,
            "colluding": 1,
            "reserve": 20,
            "local_only": False,
            "slots": slots(PLAN),
            "key_configuration": CONFIGURATION.encoded.hex(),
            "shuffler_key": wire.public(SHUFFLER).hex(),
            "addresses": {
                "shuffler": "https://mix.example/survey",
                "collector": "https://count.example",
            },
        }
        | changes
    )


INVITED = bundle()
OPEN = bundle(codes=False, strata=("north", "south", "island"), small_strata="merge", wanted=500)


# --- reports -------------------------------------------------------------------------------------


def person(number):
    """One person's reports of every message, and what they were made from."""
    answers = pa.table({id: [value] for id, value in ANSWERS[number].items()})
    people = People.of(PLAN.survey, answers)
    return [
        message_case(message, people, f"{number}/{at}") for at, message in enumerate(PLAN.messages)
    ]


def message_case(message, people, name):
    stream = Recorded(name)
    record = pack(message.questions, people.encoded, 1)[0].tobytes()
    reports = [each.tobytes() for each in randomize_message(PLAN, message, people, stream)]
    case = {"record": record.hex(), "reports": [each.hex() for each in reports]}
    if isinstance(message, UnlinkedBits):
        sent = {int.from_bytes(each, "little") for each in reports}
        chosen = {bit for bit in range(message.record_bits) if record[bit // 8] >> bit % 8 & 1}
        return case | {"flipped": sorted(sent ^ chosen)}
    return case | {"words": [f"{word:016x}" for word in stream.drawn]}


def reports():
    return {
        "plan": PLAN.digest,
        "people": [
            {
                "answers": ANSWERS[number],
                "messages": person(number),
                "plaintexts": hexed(inside(number)),
            }
            for number in range(len(ANSWERS))
        ],
        "wrong_plaintexts": wrong_plaintexts(),
    }


def inside(number, of=INVITED):
    """The plaintexts of a person, before they are put in random order."""
    packed = [[bytes.fromhex(each) for each in case["reports"]] for case in person(number)]
    return filled(of.shape, of.slots, packed)


def hexed(many):
    return [each.hex() for each in many]


def wrong_plaintexts():
    dummy, report = INVITED.shape.dummy, INVITED.shape.report(0, b"\x15")
    return {
        "another version": (b"\x02" + dummy[1:]).hex(),
        "no such message": (b"\x01\x00\x03" + dummy[3:]).hex(),
        "a padding bit": (report[:3] + b"\x55").hex(),
        "a mark in a dummy": (dummy[:-1] + b"\x01").hex(),
        "too short": dummy[:-1].hex(),
        "too long": (dummy + b"\0").hex(),
    }


# --- devices: text, fixed randomizers, permanent responses --------------------------------------


def devices():
    questions = DEVICE_PLAN.survey.questions
    return {
        "plan": DEVICE_PLAN.digest,
        "key": DEVICE_KEY.secret.hex(),
        "laws": {q.id: law(fixed_channel(q)) for q in questions if q.randomizer},
        "randomizers": [{"randomizer": r, "law": law(channel_of(r))} for r in RANDOMIZERS],
        "no_randomizers": NO_RANDOMIZERS,
        "words": [word_case(q, w, c) for q, w, c in WORDS],
        "permanent": [permanent_case(number) for number in range(len(DEVICES))],
        "people": [
            {"answers": answers, "messages": device_messages(number, answers)}
            for number, answers in enumerate(DEVICES)
        ],
    }


def channel_of(given):
    """Of a yes/no question, or of a choice of four for a whole answer."""
    kinds = {"id": "q", "randomizer": given}
    question = Choice(options=list("abcd"), **kinds) if given["kind"] == "k-ary" else YesNo(**kinds)
    return fixed_channel(question)


def law(channel):
    """Numerators over 2^32: of flips; of 1 sent for 0 and for 1, stage by stage; of an answer."""
    if isinstance(channel, BitFlip):
        return {"flip": channel.numerator}
    if isinstance(channel, KAry):
        return {"keep": channel.keep}
    return {"stages": [[bit.one_if_zero, bit.one_if_one] for bit in channel.stages]}


WORDS = [
    ("word", "Größe", 0),
    ("word", "Größe", 7),
    ("word", "  e\u0301\t\u2003", 3),
    ("word", "\ufeffx\x1f", 3),
    ("page", "", 0),
]


def word_case(id, word, cohort):
    question = next(q for q in DEVICE_PLAN.survey.questions if q.id == id)
    found = places([word], [cohort], id, question.hashes, question.block)[0].tolist()
    case = {"question": id, "word": word, "normalized": normalize(word)}
    return case | {"cohort": cohort, "places": found}


def device_people(answers):
    table = pa.table({id: [value] for id, value in answers.items()})
    return People.of(DEVICE_PLAN.survey, table)


def device_memory():
    return remembering(DEVICE_PLAN, 1, None, DEVICE_KEY)


def permanent_case(number):
    """The record of the last message, and what the device remembers in its place."""
    message = DEVICE_PLAN.messages[-1]
    record = pack(message.questions, device_people(DEVICES[number]).encoded, 1)
    found = remembered(DEVICE_PLAN, message, record, device_memory())
    stages = [message.channels[id].permanent_stage for id in message.ids]
    named = [series(DEVICE_PLAN, message, stage) for stage in stages]
    return {"series": named, "record": record[0].tobytes().hex(), "kept": found[0].tobytes().hex()}


def device_messages(number, answers):
    people, found = device_people(answers), []
    for at, message in enumerate(DEVICE_PLAN.messages):
        stream = Recorded(f"device {number}/{at}")
        made = randomize_message(DEVICE_PLAN, message, people, stream, device_memory())
        case = {"reports": hexed([each.tobytes() for each in made])}
        if not any(isinstance(question, Text) for question in message.questions):
            record = pack(message.questions, people.encoded, 1)[0].tobytes()
            case = {"record": record.hex()} | case
        found.append(case | {"words": [f"{word:016x}" for word in stream.drawn]})
    return found


# --- keys, sealed reports ------------------------------------------------------------------------


def keys():
    return {
        "collector": {"private": fixed("collector").hex(), "public": CONFIGURATION.public.hex()},
        "key_configuration": CONFIGURATION.encoded.hex(),
        "header": CONFIGURATION.header.hex(),
        "shuffler": {"private": fixed("shuffler").hex(), "public": wire.public(SHUFFLER).hex()},
        "code": {"random": fixed("code")[:10].hex(), "text": upload.new_code(fixed("code")[:10])},
    }


def seal(plaintext, name, of=INVITED):
    return wire.seal(plaintext, CONFIGURATION.encoded, of.digest, fixed(f"ephemeral {name}"))


def sealed():
    plaintext = inside(0)[0]
    made = seal(plaintext, "sealed")
    info = wire.info(CONFIGURATION.header, INVITED.digest)
    right = {"plaintext": plaintext, "ephemeral_private": fixed("ephemeral sealed")}
    right |= {"bundle": INVITED.digest, "info": info, "sealed": made}
    return {
        "right": {key: value.hex() for key, value in right.items()},
        "wrong": {
            "for another bundle": seal(plaintext, "other", OPEN).hex(),
            "another key id": (b"\x08" + made[1:]).hex(),
            "another AEAD": (made[:6] + b"\x02" + made[7:]).hex(),
            "an encapsulated key of zeros": (made[:7] + bytes(32) + made[39:]).hex(),
            "one bit of the ciphertext": (made[:-1] + bytes([made[-1] ^ 1])).hex(),
            "too short": made[:-1].hex(),
            "header alone": made[:7].hex(),
        },
    }


# --- bundles -------------------------------------------------------------------------------------


def bundles():
    code = keys()["code"]["text"]
    right = [
        {
            "text": each.encoded.decode(),
            "digest": each.digest.hex(),
            "short": short(each.digest),
            "link": str(Link(each.addresses.shuffler, each.digest, code if each.codes else "")),
            "plaintext_bytes": each.shape.length,
            "sealed_bytes": each.sealed_length,
            "upload_bytes": upload.upload_length(each),
        }
        for each in (INVITED, OPEN)
    ]
    return {"right": right, "wrong": wrong_bundles()}


def wrong_bundles():
    """Why, and the text. Each is one change of the first right one."""
    content, text = json.loads(INVITED.encoded), INVITED.encoded.decode()
    changes = {
        "another plan under the digest": {"plan": content["plan"] | {"earlier": [1]}},
        "the digest of another plan": {"plan_digest": "0" * 64},
        "fewer slots": {"slots": [2, 1, 1]},
        "no reserve": {"reserve": 0},
        "more colluding people than the plan takes off": {"colluding": 2},
        "closes before it opens": {"closes": "2026-10-31T00:00:00Z"},
        "another way to write a time": {"opens": "2026-11-01"},
        "an address in the clear": {
            "addresses": content["addresses"] | {"shuffler": "http://a.example"}
        },
        "a key of low order": {"key_configuration": "07" + "0020" + "00" * 32 + "000400010001"},
        "another KEM": {"key_configuration": "070010" + CONFIGURATION.encoded.hex()[6:]},
        "a question without words": {"wording": content["wording"] | {"questions": {}}},
        "a key too many": {"more": 1},
        "a number as text": {"reserve": "20"},
    }
    found = {why: canonical(content | change) for why, change in changes.items()}
    found["white space"] = text + "\n"
    found["another order of keys"] = canonical_backwards(content)
    found["a key twice"] = text[:-1] + ',"wording":' + canonical(content["wording"]) + "}"
    return found


def canonical_backwards(content):
    return (
        "{"
        + ",".join(f"{canonical(k)}:{canonical(content[k])}" for k in sorted(content)[::-1])
        + "}"
    )


# --- uploads and releases ------------------------------------------------------------------------


def an_upload(number=0, of=INVITED, name="upload"):
    plaintexts = inside(number, of)
    order = sorted(range(of.places), key=lambda at: fixed(f"{name} {number} place {at}"))
    made = tuple(seal(plaintexts[at], f"{name} {number} {at}", of) for at in order)
    code = keys()["code"]["text"].encode() if of.codes else upload.NO_CODE
    return order, upload.Upload(code, 0 if of.codes else 2, made)


def uploads():
    right = []
    for number, of in ((0, INVITED), (1, OPEN)):
        order, made = an_upload(number, of)
        case = {"bundle": of.digest.hex(), "code": made.code.decode().strip("\0")}
        right.append(
            case | {"stratum": made.stratum, "order": order, "bytes": made.encoded(of).hex()}
        )
    data = bytes.fromhex(right[0]["bytes"])
    size = INVITED.sealed_length
    wrong = {
        "a byte less": ("length", data[:-1]),
        "a byte more": ("length", data + b"\0"),
        "nothing": ("length", b""),
        "for another bundle": ("bundle", OPEN.digest + data[32:]),
        "no such stratum": ("stratum", data[:48] + b"\0\1" + data[50:]),
        "sealed for another key": ("sealed", data[:50] + b"\x08" + data[51:]),
        "one report twice": ("sealed", data[:-size] + data[50 : 50 + size]),
        "no code": ("code-unknown", data[:32] + bytes(16) + data[48:]),
        "a letter that no code has": ("code-unknown", data[:32] + b"U" * 16 + data[48:]),
    }
    return {
        "right": right,
        "wrong": [{"why": w, "problem": p, "bytes": b.hex()} for w, (p, b) in wrong.items()],
    }


def body(name="body"):
    made = [
        an_upload(number % 3, INVITED, f"{name} {number}")[1].sealed for number in range(PEOPLE)
    ]
    every = [each for sealed in made for each in sealed]
    return sorted(every, key=lambda each: hashlib.sha256(each).digest())


def header(sealed, **changes):
    given = {
        "bundle": INVITED.digest,
        "people": PEOPLE,
        "issued": 100,
        "used": PEOPLE,
        "reports": len(sealed),
        "body": hashlib.sha256(b"".join(sealed)).digest(),
        "strata": (0,),
    }
    return release.Header(**given | changes)


def releases():
    """Wrong ones differ from the right one in what comes before the body, or in the body."""
    sealed, other = body(), Ed25519PrivateKey.from_private_bytes(fixed("another shuffler"))
    right = header(sealed)

    def start(key=SHUFFLER, of=sealed, **changes):
        return release.sign(header(of, **changes), key).encoded.hex()

    fewer = {"people": PEOPLE - 1, "used": PEOPLE - 1, "reports": (PEOPLE - 1) * INVITED.places}
    wrong = {
        "signed by another key": start(other),
        "signed without the domain": (SHUFFLER.sign(right.encoded) + right.encoded).hex(),
        "a number changed after signing": start()[:128] + start(issued=101)[128:],
        "another bundle": start(bundle=OPEN.digest),
        "too few people": start(**fewer),
        "more people than reports": start(people=PEOPLE + 1, used=PEOPLE + 1),
        "fewer codes issued than used": start(issued=PEOPLE - 1),
        "no code used": start(used=0),
        "no such stratum": start(strata=(1,)),
        "no stratum": start(strata=()),
        "one stratum twice": start(strata=(0, 0)),
        "another body": start(body=fixed("another body")),
    }
    return {
        "bundle": INVITED.digest.hex(),
        "right": {"start": start(), "body": b"".join(sealed).hex()},
        "wrong": wrong,
        "cheating": [start(), start(people=PEOPLE + 1, used=PEOPLE + 1)],
    }


def problems():
    return [
        {"status": kind.status, "text": problem.document(kind).decode()}
        for kind in problem.KINDS.values()
    ]


MADE = {
    "reports": reports,
    "devices": devices,
    "keys": keys,
    "sealed": sealed,
    "bundles": bundles,
    "uploads": uploads,
    "releases": releases,
    "problems": problems,
}


def text(name):
    return json.dumps(MADE[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in MADE:
        (VECTORS / f"{name}.json").write_text(text(name), encoding="utf-8")
