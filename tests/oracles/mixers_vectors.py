"""The vectors of two mixers: what 23 people, the inviter, and both mixers send, all fixed."""

import hashlib
import json
from dataclasses import replace

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import incrowd
from incrowd.collection.protocol.blind import finalize
from incrowd.collection.protocol.mixing import EMPTY, Batch, Invitations, MixedRelease
from incrowd.collection.protocol.sealed import X25519
from incrowd.collection.protocol.signed import sign
from incrowd.collection.protocol.tokens import TokenReport, TokenRequest, entry_text, slot_text
from incrowd.collection.protocol.upload import Upload
from incrowd.encoding.records import EncodedAnswers, set_cells
from incrowd.sampling.permanent import DeviceKey, remembering
from incrowd.sampling.randomize import randomize_message
from tests.oracles import mixers, wire
from tests.oracles.recorded import fixed, hexed
from tests.oracles.token_keys import blind

PEOPLE = 23
RAW = {
    "name": "Two mixers",
    "crowd": 3,
    "privacy": {"epsilon": 8.0, "analysis": "local"},
    "question": [
        {"id": "smokes", "type": "yesno"},
        {"id": "region", "type": "choice", "options": ["north", "south", "east"]},
    ],
    "message": [{"questions": ["smokes"], "copies": 1}, {"questions": ["region"], "copies": 2}],
}
STRATUM = 1
OTHER = Ed25519PrivateKey.from_private_bytes(fixed("another mixer"))


CELLS_RAW = {
    "name": "Two mixers: cells",
    "crowd": 3,
    "privacy": {"epsilon": 30.0, "analysis": "local"},
    "question": [
        {"id": "smokes", "type": "yesno"},
        {"id": "region", "type": "choice", "options": ["north", "south", "east"]},
        {
            "id": "tools",
            "type": "multi",
            "options": ["saw", "drill", "file"],
            "at_most": 2,
            "memoized": True,
        },
    ],
    "message": [
        {"questions": ["smokes"]},
        {"questions": ["region", "smokes"], "cells": True},
        {"questions": ["tools"], "cells": True},
    ],
}
CELLS_ANSWERS = {"smokes": "yes", "region": "south", "tools": "saw;file"}


def bundle():
    plan = incrowd.plan(incrowd.Survey.of(RAW))
    return mixers.bundle(plan, mixers.SECOND_CLASSICAL, strata=("north", "south"))


def cells_bundle():
    """With X-Wing for both layers, and messages of cells."""
    plan = incrowd.plan(incrowd.Survey.of(CELLS_RAW))
    keys = mixers.SECOND_KEY, mixers.COLLECTOR_X_WING
    return mixers.bundle(plan, *keys, strata=("north", "south"))


def ephemeral(name, configuration):
    """The random bytes of an encapsulated secret: a key of X25519, or those of X-Wing."""
    return fixed(name) if configuration.kem is X25519 else large(name, 64)


def sealed(plaintext, configuration, of, name, layer):
    label, drawn = f"incrowd {layer} 2\0".encode(), ephemeral(f"{layer} {name}", configuration)
    binding = of.digest + STRATUM.to_bytes(2)
    return wire.seal(plaintext, configuration.encoded, binding, drawn, label)


def ephemerals(name, slots, layer, configuration):
    """What is drawn for the encapsulated secrets, one for each slot."""
    return hexed(ephemeral(f"{layer} {name}, slot {slot}", configuration) for slot in slots)


def large(name, length):
    """More bytes that stand for random ones."""
    return hashlib.shake_256(fixed(name)).digest(length)


def person(of, number, name="person"):
    """Everything that one person's device draws, sends and receives."""
    return drawn_by(of, number, f"{name} {number}", [[bytes([number % 2])], [bytes([number % 8])]])


def drawn_by(of, number, name, reports):
    """The same, given the packed reports of each message."""
    code, nonce = f"{number:016}".encode(), fixed(f"{name} nonce")
    plaintexts = mixers.in_slots(of, reports)
    inners = [
        sealed(each, of.key, of, f"{name}, slot {slot}", "inner")
        for slot, each in enumerate(plaintexts)
    ]
    slots = list(zip(of.slot_messages, inners, strict=True))
    texts = [entry_text(of.digest, nonce)]
    texts += [slot_text(of.digest, STRATUM, message, inner) for message, inner in slots]
    salts = [large(f"{name} salt {n}", 48) for n in range(len(texts))]
    blindings = [int.from_bytes(large(f"{name} r {n}", 255)) for n in range(len(texts))]
    given = list(zip(texts, of.token_keys, salts, blindings, strict=True))
    blinded = [blind(text, key, salt=salt, blinding=r) for text, key, salt, r in given]
    request = TokenRequest(code, tuple(value for value, _ in blinded)).encoded(of)
    answer = mixers.answer(request, of)
    signatures = [
        finalize(text, answer[256 * n : 256 * (n + 1)], inverse, key)
        for n, ((text, key, *_), (_, inverse)) in enumerate(zip(given, blinded, strict=True))
    ]
    reports = [
        TokenReport(message, token, inner)
        for (message, inner), token in zip(slots, signatures[1:], strict=True)
    ]
    order = sorted(range(of.places), key=lambda slot: fixed(f"{name} turn {slot}"))
    envelopes = [
        sealed(reports[slot].encoded, of.second_key, of, f"{name}, slot {slot}", "outer")
        for slot in order
    ]
    upload = Upload(nonce + signatures[0], STRATUM, tuple(envelopes))
    drawn = {
        "code": code.decode(),
        "stratum": STRATUM,
        "nonce": nonce.hex(),
        "plaintexts": hexed(plaintexts),
        "inners": hexed(inners),
        "salts": hexed(salts),
        "blindings": [f"{r:0512x}" for r in blindings],
        "order": order,
        "inner_ephemerals": ephemerals(name, range(of.places), "inner", of.key),
        "outer_ephemerals": ephemerals(name, order, "outer", of.second_key),
        "request": request.hex(),
        "answer": answer.hex(),
        "upload": upload.encoded(of).hex(),
    }
    return drawn, upload, reports


def shuffled(many):
    """An order that does not depend on people."""
    return b"".join(sorted(many, key=lambda each: hashlib.sha256(each).digest()))


def merged(content, patch):
    """The content after a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    return content | {key: merged(content.get(key), value) for key, value in patch.items()}


def wrong_bundles(content):
    """Why, and the change as a JSON merge patch (RFC 7396) of the bundle's content."""
    entry, first_message = content["inviter"]["entry"], content["inviter"]["messages"][0]
    roots, second = entry["roots"], content["second"]["key_configuration"]
    forged = [*roots[:3], roots[4], *roots[4:]]
    joint, *others = content["slots"]
    return {
        "the root of another challenge": {"inviter": {"entry": {"roots": forged}}},
        "the roots of another key": {"inviter": {"entry": {"roots": first_message["roots"]}}},
        "fifteen roots": {"inviter": {"entry": {"roots": roots[:-1]}}},
        "an even modulus": {"inviter": {"entry": {"modulus": entry["modulus"][:-1] + "0"}}},
        "one token key for two purposes": {"inviter": {"entry": first_message}},
        "no token keys of messages": {"inviter": {"messages": []}},
        "one host for both mixers": {"second": {"address": "https://first.example:8443"}},
        "an address in the clear": {"second": {"address": "http://second.example"}},
        "one organization that invites and counts": {"runs": {"collector": "works  COUNCIL "}},
        "an organization without a name": {"runs": {"second": ""}},
        "one key for two services": {"first": {"key": content["second"]["key"]}},
        "one key for both layers": {"collector": {"key_configuration": "01" + second[2:]}},
        "a key of low order": {
            "second": {"key_configuration": "02" + "0020" + "00" * 32 + "000400010001"}
        },
        "fewer slots": {"slots": [joint - 1, *others]},
        "slots as with one shuffler": {"slots": [sum(content["slots"])]},
        "no invitations": {"codes": False},
        "small strata merged": {"small_strata": "merge"},
        "less than a day to deliver": {"disposes": "2026-12-01T23:59:58Z"},
        "a release before it closes": {"wanted": 10_000},
        "a key too many": {"first": {"more": 1}},
        "the format with one shuffler": {"format": "incrowd bundle 1"},
    }


# Names of the inviter and of the collector, and whether a bundle is refused because of them.
ORGANIZATIONS = [
    ("Works council", "works\u00a0COUNCIL ", True),
    ("Data\u3000Office", "dataoffice", True),
    ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", True),
    ("\u00c4rztekammer", "\u00e4rztekammer", False),  # only A to Z
    ("Stra\u00dfe", "STRASSE", False),  # one in upper case, and when case is folded
    ("\u212aammer", "kammer", False),  # the sign of kelvin, in lower case a k
    ("\u0130stanbul", "i\u0307stanbul", False),
    ("Caf\u00e9", "Cafe\u0301", False),
    ("Works council", "Works-council", False),
]


def many_cells(of):
    """Somebody whose first draw has more reports of a message than slots, and is drawn again."""
    table = pa.table({id: [answer] for id, answer in CELLS_ANSWERS.items()})
    people = EncodedAnswers.of(of.plan.survey, table)
    _, crossed, tools = of.plan.messages
    chosen = set_cells(crossed.crossing.blocks, crossed.questions, people.encoded, 1)[1].tolist()
    key = DeviceKey(fixed("device of two mixers"))
    memory = remembering(of.plan, 1, None, key)
    kept = randomize_message(of.plan, tools, people, None, memory, of.slots[2])
    draws = [{"smokes": 1, "flipped": [0, 1, 2, 4, 5]}, {"smokes": 0, "flipped": [2]}]
    for draw in draws:
        draw["reports"] = sorted(set(chosen) ^ set(draw["flipped"]))
    fits = next(draw for draw in draws if len(draw["reports"]) <= of.slots[1])
    reports = [
        [bytes([fits["smokes"]])],
        [bytes([cell]) for cell in fits["reports"]],
        [each.tobytes() for each in kept],
    ]
    told = {"answers": CELLS_ANSWERS, "key": key.secret.hex(), "chosen": chosen, "draws": draws}
    return told, reports


def cells_cases():
    of = cells_bundle()
    told, reports = many_cells(of)
    drawn, upload, _ = drawn_by(of, 0, "person of cells", reports)
    assert [len(each) for each in reports] <= list(of.slots) and upload.stratum == STRATUM
    second, collector = of.second.key_configuration, of.collector.key_configuration
    return {
        "bundle": of.encoded.decode(),
        "digest": of.digest.hex(),
        "keys": {
            "collector": mixers.COLLECTOR_X_WING.secret.hex(),
            "second": mixers.SECOND_KEY.secret.hex(),
        },
        "token_keys": [key.encoded.hex() for key in mixers.token_keys()[: 1 + len(of.slots)]],
        "person": told | drawn,
        "wrong_bundles": {
            "one key for both layers": {"collector": {"key_configuration": "01" + second[2:]}},
            "an ML-KEM part that is not reduced": {
                "second": {"key_configuration": second[:6] + "ff" * 1184 + second[6 + 2 * 1184 :]}
            },
            "an X25519 part of low order": {
                "collector": {"key_configuration": collector[:-76] + "00" * 32 + collector[-12:]}
            },
            "a key of X25519 under the number of X-Wing": {
                "second": {"key_configuration": "02647a" + "09" * 32 + "000400010001"}
            },
            "cells with a slot less": {"slots": [of.slots[0], of.slots[1] - 1, of.slots[2]]},
            "cells with a slot more": {"slots": [of.slots[0], of.slots[1] + 1, of.slots[2]]},
        },
    }


def wrong_requests(of, request):
    """Why, the problem with which the inviter answers, and the bytes."""
    high = of.token_keys[1].modulus.to_bytes(256)
    wrong = {
        "a byte less": ("length", request[:-1]),
        "a byte more": ("length", request + b"\0"),
        "a value less": ("length", request[:-256]),
        "for another bundle": ("bundle", bytes(32) + request[32:]),
        "a value that is its modulus": ("token", request[:304] + high + request[560:]),
    }
    return [{"why": w, "problem": p, "bytes": b.hex()} for w, (p, b) in wrong.items()]


def wrong_answers(answer):
    """What an inviter answers, and a device rejects as a whole."""
    return {
        "a byte less": answer[:-1].hex(),
        "a signature less": answer[:-256].hex(),
        "a signature more": (answer + answer[-256:]).hex(),
        "two signatures exchanged": (answer[256:512] + answer[:256] + answer[512:]).hex(),
        "one bit of the last signature": (answer[:-1] + bytes([answer[-1] ^ 1])).hex(),
        "zeros": bytes(len(answer)).hex(),
    }


def wrong_uploads(of, data, other):
    """Why, the problem with which the first mixer answers, and the bytes."""
    size = of.envelope_length
    wrong = {
        "a byte less": ("length", data[:-1]),
        "a slot less": ("length", data[:-size]),
        "for another bundle": ("bundle", bytes(32) + data[32:]),
        "no such stratum": ("stratum", data[:32] + b"\0\2" + data[34:]),
        "sealed for another key": ("sealed", data[:322] + b"\x09" + data[323:]),
        "sealed for the collector": ("sealed", data[:322] + of.key.header + data[329:]),
        "one envelope twice": ("sealed", data[:-size] + data[322 : 322 + size]),
        "another nonce": ("token", data[:34] + bytes(32) + data[66:]),
        "the entry token of somebody else": ("token", data[:66] + other[66:322] + data[322:]),
        "one bit of the entry token": ("token", data[:321] + bytes([data[321] ^ 1]) + data[322:]),
    }
    return [{"why": w, "problem": p, "bytes": b.hex()} for w, (p, b) in wrong.items()]


def challenge(key):
    """What its first root is the root of, before it is taken modulo n."""
    seed = b"incrowd key test 2\0" + key.encoded + bytes(2)
    blocks = [hashlib.sha256(seed + n.to_bytes(4)).digest() for n in range(9)]
    return b"".join(blocks)[:272]


def cases():
    of = bundle()
    drawn, uploads, reports = zip(*(person(of, number) for number in range(PEOPLE)), strict=True)
    envelopes = shuffled(each for upload in uploads for each in upload.sealed)
    every = shuffled(each.encoded for some in reports for each in some)
    batch = Batch(of.digest, ((STRATUM, PEOPLE),), hashlib.sha256(envelopes).digest())
    tokens = tuple(PEOPLE * slots for slots in of.slots)
    first = sign(batch, mixers.FIRST)
    release = MixedRelease(of.digest, STRATUM, tokens, hashlib.sha256(every).digest(), first)
    invitations = Invitations(of.digest, 100, 25)
    small = replace(batch, people=((STRATUM, PEOPLE - 1),))

    def start(header, key):
        return sign(header, key).encoded.hex()

    def released(key=mixers.SECOND, **changes):
        return start(replace(release, **changes), key)

    return {
        "bundle": of.encoded.decode(),
        "digest": of.digest.hex(),
        "keys": {
            "collector": mixers.COLLECTOR_KEY.secret.hex(),
            "second": mixers.SECOND_CLASSICAL.secret.hex(),
        },
        "token_keys": [key.encoded.hex() for key in mixers.token_keys()[: 1 + len(of.slots)]],
        "wrong_bundles": wrong_bundles(json.loads(of.encoded)),
        "organizations": [
            {"inviter": inviter, "collector": collector, "same": same}
            for inviter, collector, same in ORGANIZATIONS
        ],
        "challenge": challenge(of.token_keys[0]).hex(),
        "person": drawn[0],
        "wrong_requests": wrong_requests(of, bytes.fromhex(drawn[0]["request"])),
        "wrong_answers": wrong_answers(bytes.fromhex(drawn[0]["answer"])),
        "wrong_uploads": wrong_uploads(
            of, *(bytes.fromhex(drawn[number]["upload"]) for number in (0, 1))
        ),
        "batch": {"start": first.encoded.hex(), "body": envelopes.hex()},
        "release": {"start": released(), "body": every.hex()},
        "too_few": released(tokens=(), body=EMPTY),
        "invitations": start(invitations, mixers.INVITER),
        "wrong_batches": {
            "signed by another key": start(batch, OTHER),
            "signed by the second mixer": start(batch, mixers.SECOND),
            "another bundle": start(replace(batch, bundle=bytes(32)), mixers.FIRST),
            "no stratum": start(replace(batch, people=()), mixers.FIRST),
            "one stratum twice": start(replace(batch, people=batch.people * 2), mixers.FIRST),
            "no such stratum": start(replace(batch, people=((2, PEOPLE),)), mixers.FIRST),
            "too few people": start(small, mixers.FIRST),
        },
        "wrong_releases": {
            "signed by another key": released(OTHER),
            "signed by the first mixer": released(mixers.FIRST),
            "a batch that is signed by another key": released(batch=sign(batch, OTHER)),
            "a batch of too few people": released(batch=sign(small, mixers.FIRST)),
            "another bundle": released(bundle=bytes(32)),
            "a stratum that the batch lacks": released(stratum=0),
            "a total instead of a count of each message": released(tokens=(sum(tokens),)),
            "more reports of a message than its slots": released(
                tokens=(tokens[0] + 1, tokens[1] - 1)
            ),
            "fewer reports of a message than a crowd's": released(tokens=(2, tokens[1])),
            "a report less of one message": released(tokens=(tokens[0], tokens[1] - 1)),
            "too few tokens, with a body": released(tokens=()),
            "another body": released(body=fixed("another body")),
        },
        "wrong_invitations": {
            "signed by another key": start(invitations, OTHER),
            "signed by the first mixer": start(invitations, mixers.FIRST),
            "another bundle": start(replace(invitations, bundle=bytes(32)), mixers.INVITER),
            "more used than issued": start(replace(invitations, used=101), mixers.INVITER),
        },
        "cheating": {
            "two batches": [first.encoded.hex(), start(replace(batch, body=EMPTY), mixers.FIRST)],
            "two releases": [released(), released(tokens=(), body=EMPTY)],
            "two statements": [
                start(invitations, mixers.INVITER),
                start(replace(invitations, used=24), mixers.INVITER),
            ],
        },
    }
