"""Makes vectors/*.json from the plans in vectors/: `python -m tests.oracles.make_vectors`.

Everything that would be random is fixed: a keystream of a named seed, keys and ephemeral keys
from SHA-256 of their names. Bytes are in hexadecimal. What is sealed is made by the reader of
tests/oracles/wire.py, the rest by the library; the tests check each with the other.
"""

import hashlib
import json
from functools import cache

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.characters import visible
from incrowd.collection.protocol import problem, release, signed, upload
from incrowd.collection.protocol.addresses import Link, short
from incrowd.collection.protocol.bundle import ShufflerBundle
from incrowd.collection.protocol.plaintext import filled
from incrowd.collection.protocol.sealed import X25519, PrivateKey
from incrowd.encoding.records import EncodedAnswers, pack
from incrowd.plans import CellsMessage, Plan
from incrowd.plans.digests import canonical, digest_of
from incrowd.plans.slots import slots, slots_of_messages
from incrowd.sampling.randomize import randomize_message
from tests.oracles import link_vectors, plan_vectors, strata, wire
from tests.oracles.cell_vectors import cells, cells_case
from tests.oracles.condition_vectors import conditions
from tests.oracles.device_vectors import devices
from tests.oracles.permanent_vectors import permanent
from tests.oracles.recorded import VECTORS, Recorded, fixed, hexed

PEOPLE = 23
ANSWERS = [
    {"smokes": "yes", "region": "east", "drugs": "alcohol;other", "visits": 0, "site": "s07"},
    {"smokes": "no", "region": None, "drugs": "none", "visits": 17, "site": "s23"},
    {"smokes": "no", "region": "west", "drugs": "cannabis", "visits": 5.5, "site": "s00"},
]


PLAN = Plan.load(VECTORS / "plan.json")
RECEIVER = PrivateKey(X25519, fixed("collector"))
SHUFFLER = Ed25519PrivateKey.from_private_bytes(fixed("shuffler"))
CONFIGURATION = RECEIVER.configuration(7)
DRAFT = json.loads((VECTORS / "xwing.json").read_text(encoding="utf-8"))["kem"][0]


def bundle(**changes):
    ids = {question.id: f"About {question.id}?" for question in PLAN.survey.questions}
    return ShufflerBundle(
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


@cache
def person(number):
    """One person's reports of every message, and what they were made from."""
    answers = pa.table({id: [value] for id, value in ANSWERS[number].items()})
    people = EncodedAnswers.of(PLAN.survey, answers)
    return [
        message_case(message, people, f"{number}/{at}") for at, message in enumerate(PLAN.messages)
    ]


def message_case(message, people, name):
    stream = Recorded(name)
    reports = [each.tobytes() for each in randomize_message(PLAN, message, people, stream)]
    if isinstance(message, CellsMessage):
        return cells_case(message, people, reports)
    record = pack(message.questions, people.encoded, 1)[0].tobytes()
    return {"record": record.hex(), "reports": hexed(reports), "words": stream.text}


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
    return filled(of.shape, [of.places], packed)


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
        "post_quantum": {key: value.hex() for key, value in post_quantum(plaintext).items()},
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


def post_quantum(plaintext):
    """A report sealed with X-Wing: the key and the encapsulated secret are those of its draft."""
    public, enc, secret = (bytes.fromhex(DRAFT[key]) for key in ("pk", "ct", "ss"))
    configuration = b"\x07\x64\x7a" + public + bytes.fromhex("000400010001")
    of = bundle(key_configuration=configuration.hex()).digest
    about = wire.info(wire.header(configuration), of)
    made = wire.header(configuration) + wire.seal_with(secret, enc, plaintext, about, wire.X_WING)
    given = {"seed": bytes.fromhex(DRAFT["seed"]), "key_configuration": configuration}
    given |= {"eseed": bytes.fromhex(DRAFT["eseed"])}
    return given | {"plaintext": plaintext, "bundle": of, "info": about, "sealed": made}


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
    words = content["wording"]
    changes = {
        "another plan under the digest": {"plan": content["plan"] | {"earlier": [1]}},
        "the digest of another plan": {"plan_digest": "0" * 64},
        "fewer slots": {"slots": [4]},
        "no reserve": {"reserve": 0},
        "more colluding people than the plan takes off": {"colluding": 2},
        "closes before it opens": {"closes": "2026-10-31T00:00:00Z"},
        "another way to write a time": {"opens": "2026-11-01"},
        "one host for two parties": {
            "addresses": dict.fromkeys(content["addresses"], "https://mix.example/survey")
        },
        "two ports of one host for two parties": {
            "addresses": content["addresses"] | {"collector": "https://mix.example:8443"}
        },
        "a host in capitals": {
            "addresses": content["addresses"] | {"shuffler": "https://Mix.example/survey"}
        },
        "a title of 201 characters": {"wording": words | {"title": "\u00e4" * 201}},
        "an empty title": {"wording": words | {"title": ""}},
        "a language of 36 characters": {"wording": words | {"language": "a" * 36}},
        "a language that is no tag": {"wording": words | {"language": "en_US"}},
        "an empty question": {
            "wording": words | {"questions": words["questions"] | {"smokes": ""}}
        },
        "no introduction, not even an empty one": {
            "wording": {key: value for key, value in words.items() if key != "introduction"}
        },
        "a period of 201 characters": {"period": "x" * 201},
        "no stratum": {"strata": []},
        "a stratum without a name": {"strata": [""]},
        "wanted below what a release needs": {"wanted": 22},
        "an address in the clear": {
            "addresses": content["addresses"] | {"shuffler": "http://a.example"}
        },
        "a key of low order": {"key_configuration": "07" + "0020" + "00" * 32 + "000400010001"},
        "another KEM": {"key_configuration": "070010" + CONFIGURATION.encoded.hex()[6:]},
        "a question without words": {"wording": content["wording"] | {"questions": {}}},
        "a screen that is cleared in the title": {"wording": words | {"title": "Habits\x1b[2J"}},
        "a bell in the period": {"period": "November\a 2026"},
        "text from right to left in the introduction": {
            "wording": words | {"introduction": "Nobody learns it.\u202e"}
        },
        "two lines in a title": {"wording": words | {"title": "Habits\nPromise: epsilon 0"}},
        "no width in the name of a stratum": {"strata": ["all\u200b"]},
        "text from right to left in an option": with_option("\u202enorth"),
        "a plan that is not a guarantee": with_analysis("outlier"),
        "a key too many": {"more": 1},
        "a number as text": {"reserve": "20"},
    }
    found = {why: canonical(content | change) for why, change in changes.items()}
    found["white space"] = text + "\n"
    found["another order of keys"] = canonical_backwards(content)
    found["a key twice"] = text[:-1] + ',"wording":' + canonical(content["wording"]) + "}"
    return found


def with_analysis(name):
    """The plan with the figures of another analysis, and its digest."""
    plan = json.loads(INVITED.encoded)["plan"]
    plan["survey"]["privacy"]["analysis"] = plan["guarantee"]["analysis"] = name
    return {"plan": plan, "plan_digest": digest_of(plan)}


def with_option(option):
    """The plan with another first option of its question 1, and its digest."""
    plan = json.loads(INVITED.encoded)["plan"]
    plan["survey"]["question"][1]["options"][0] = option
    return {"plan": plan, "plan_digest": digest_of(plan)}


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
        case = {"bundle": of.digest.hex(), "code": made.entry.decode().strip("\0")}
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
        return signed.sign(header(of, **changes), key).encoded.hex()

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
    """Documents, and answers that are none of them: of proxies, or of something else."""
    known = [
        {"name": name, "status": kind.status, "retry": kind.retry, "text": said}
        for name, kind in problem.KINDS.items()
        for said in (problem.document(kind).decode(), problem.document(kind, "Later.").decode())
    ]
    often, busy = (problem.document(problem.KINDS[n]).decode() for n in ("too-often", "busy"))
    other = [
        ("a proxy that limits requests", 429, "Too Many Requests", True),
        ("a proxy that limits requests, with a problem of its own", 429, BLANK, True),
        ("another status than that of its type", 429, busy, True),
        ("another status than that of its type", 403, busy, False),
        ("another status than that of its type", 502, often, True),
        ("a type that nobody knows", 400, '{"type":"urn:incrowd:problem:rank"}', False),
        ("a type that nobody knows", 503, '{"type":"urn:incrowd:problem:rank"}', True),
        ("a type without its prefix", 503, '{"type":"closed"}', True),
        ("no document", 408, "", True),
        ("no document", 500, "<html>", True),
        ("no document", 502, "[]", True),
        ("no document", 599, "{", True),
        ("no document", 302, "", False),
        ("no document", 404, "<html>", False),
        ("no document", 410, "", False),
    ]
    keys = ("why", "status", "text", "retry")
    return {"right": known, "other": [dict(zip(keys, each, strict=True)) for each in other]}


BLANK = '{"type":"about:blank","title":"Too Many Requests","status":429}'

# JSON texts that are not canonical, and why.
NOT_CANONICAL = {
    "white space": '{"a": 1}',
    "a line feed at the end": '{"a":1}\n',
    "another order of keys": '{"b":1,"a":2}',
    "a key twice": '{"a":1,"a":1}',
    "a fraction of zero": "1.0",
    "an exponent without need": "1e2",
    "a plus": "1e21",
    "a zero with a sign": "-0",
    "a zero before a number": "01",
    "digits without need": "0.10",
    "more digits than a double has": "9007199254740993",
    "an escaped letter": '"\\u0061"',
    "an escaped slash": '"\\/"',
    "an escape in capitals": '"\\u001F"',
    "an escape that has a short form": '"\\u000a"',
    "half of a pair": '"\\ud800"',
    "a comment": "[]//",
    "a comma at the end": "[1,]",
    "not a number": "NaN",
    "nothing": "",
}
CANONICAL = [
    {"b": [None, True, False, {}], "a": "", "\u20ac": 1, "\ufb33": 2, "\U0001f600": 3, "": 4},
    '\u0000\u001f\b\t\n\f\r"\\/\u007f\u2028\u00e9\U0001f600',
    [0, -0.5, 1, 100.0, 1e20, 123456789012345680000.0, 1e21, 1.5e300, 5e-324, 1e-6, 1e-7],
    [0.1 + 0.2, 1 / 3, 2**53 - 1, 2.0**53, 1.7976931348623157e308, 4.35, 1e23],
]


def digests():
    return {
        "right": [
            {"value": value, "text": canonical(value), "sha256": digest_of(value)}
            for value in CANONICAL
        ],
        "wrong": NOT_CANONICAL,
    }


def links():
    return link_vectors.links(INVITED.digest, keys()["code"]["text"])


def plans():
    """With the slots that each plan needs, for one shuffler and for two mixers."""
    slots_of = [
        {"plan": name, "mixers": mixers, "slots": list(made(Plan.load(VECTORS / f"{name}.json")))}
        for name in plan_vectors.FILES
        for mixers, made in ((1, slots), (2, slots_of_messages))
        if mixers == 1 or name != "services-plan"  # two mixers add no noise
    ]
    return plan_vectors.plans() | {"slots": slots_of}


def of_services():
    from tests.oracles import services_vectors  # it needs the bundle of this module

    return services_vectors.cases()


def of_mixers():
    from tests.oracles import mixers_vectors  # it needs the plan of this module

    return mixers_vectors.cases()


def of_mixers_and_cells():
    from tests.oracles import mixers_vectors

    return mixers_vectors.cells_cases()


MADE = {
    "reports": reports,
    "cells": cells,
    "devices": devices,
    "conditions": conditions,
    "permanent": permanent,
    "keys": keys,
    "sealed": sealed,
    "bundles": bundles,
    "uploads": uploads,
    "releases": releases,
    "problems": problems,
    "mixers": of_mixers,
    "mixers-cells": of_mixers_and_cells,
    "services": of_services,
    "links": links,
    "plans": plans,
    "digests": digests,
    "strata": strata.cases,
}


def text(name):
    return visible(json.dumps(MADE[name](), indent=1, ensure_ascii=False)) + "\n"


if __name__ == "__main__":
    for name in MADE:
        (VECTORS / f"{name}.json").write_text(text(name), encoding="utf-8")
