"""A collection with two mixers: its keys and bundle, and what honest parties send, step by step.

The RSA keys are made once and noted: `python -m tests.oracles.mixers` does it again.
"""

import hashlib
import json
import random
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from gmpy2 import powmod

from incrowd.collection.inviter.signing import (
    PrivateTokenKey,
    key_roots,
    new_token_key,
)
from incrowd.collection.protocol import tokens
from incrowd.collection.protocol.blind import blind_all, finalize, random_blinding
from incrowd.collection.protocol.bundle import MixersBundle
from incrowd.collection.protocol.mixing import EMPTY, Batch, Invitations, MixedRelease
from incrowd.collection.protocol.sealed import X25519, X_WING, PrivateKey
from incrowd.collection.protocol.signed import sign
from incrowd.plans.slots import slots_of_messages
from incrowd.survey.participation import least_reserve
from tests.oracles.make_vectors import PLAN, inside
from tests.oracles.recorded import fixed

NOTED = Path(__file__).parent / "mixers.json"
MANY = 8  # keys: the entry, and up to seven messages
INVITER, FIRST, SECOND = (
    Ed25519PrivateKey.from_private_bytes(fixed(name)) for name in ("inviter", "first", "second")
)
COLLECTOR_KEY = PrivateKey(X25519, fixed("collector"))
COLLECTOR_X_WING = PrivateKey(X_WING, fixed("collector"))
SECOND_KEY = PrivateKey(X_WING, fixed("second mixer"))
SECOND_CLASSICAL = PrivateKey(X25519, fixed("second mixer"))


@cache
def token_keys():
    """Private keys of tokens: of the entry, then of each message."""
    return [PrivateTokenKey.parse(bytes.fromhex(each["key"])) for each in _noted()]


@cache
def _noted():
    return json.loads(NOTED.read_text())


def _text(number):
    noted = _noted()[number]
    return {"modulus": token_keys()[number].public.encoded.hex(), "roots": noted["roots"]}


def public(private):
    return private.public_key().public_bytes_raw().hex()


def bundle(plan=PLAN, second=SECOND_KEY, collector_key=COLLECTOR_KEY, **changes):
    """A bundle with two mixers, which four organizations run."""
    wording = {q.id: f"About {q.id}?" for q in plan.survey.questions}
    given = {
        "plan": plan,
        "wording": {"language": "en", "title": "Habits", "questions": wording},
        "period": "November 2026",
        "opens": "2026-11-01T00:00:00Z",
        "closes": "2026-11-30T23:59:59Z",
        "disposes": "2026-12-31T00:00:00Z",
        "strata": ("all",),
        "small_strata": "delete",
        "codes": True,
        "colluding": plan.survey.colluding,
        "reserve": least_reserve(plan.survey.crowd),
        "slots": slots_of_messages(plan),
        "runs": {
            "inviter": "Works council",
            "first": "University A",
            "second": "University B",
            "collector": "Institute",
        },
        "inviter": {
            "address": "https://invite.example",
            "key": public(INVITER),
            "entry": _text(0),
            "messages": [_text(1 + number) for number in range(len(plan.messages))],
        },
        "first": {"address": "https://first.example", "key": public(FIRST)},
        "second": {
            "address": "https://second.example",
            "key": public(SECOND),
            "key_configuration": second.configuration(2).encoded.hex(),
        },
        "collector": {
            "address": "https://count.example",
            "key_configuration": collector_key.configuration(1).encoded.hex(),
        },
    }
    return MixersBundle.model_validate(given | changes)


def terms():
    """The TOML file that describes the same collection."""
    of = bundle()
    about = ("period", "opens", "closes", "disposes")
    lines = ['title = "Habits"', *(f'{name} = "{getattr(of, name)}"' for name in about)]
    tables = {"questions": of.wording.questions, "runs": of.runs.model_dump()}
    tables |= {"inviter": {"address": of.inviter.address}}
    tables |= {name: getattr(of, name).model_dump() for name in ("first", "second", "collector")}
    for name, table in tables.items():
        lines += [f"[{name}]", *(f'{key} = "{value}"' for key, value in table.items())]
    return "\n".join(lines) + "\n"


# --- what honest parties do ----------------------------------------------------------------------


def private_keys(of):
    """The private key of each value of a request."""
    return [token_keys()[0], *(token_keys()[1 + message] for message in of.slot_messages)]


def answer(request, of):
    """The inviter's answer to a request, bytes."""
    parsed = tokens.TokenRequest.parse(request, of)
    pairs = zip(parsed.blinded, private_keys(of), strict=True)
    return b"".join(signed(blinded, key) for blinded, key in pairs)


def signed(blinded, key):
    """The root of a blinded message, without what protects the key: a third of the time."""
    z = int.from_bytes(blinded)
    s_p, s_q = powmod(z, key.d_p, key.p), powmod(z, key.d_q, key.q)
    return int(s_q + key.q * ((s_p - s_q) * key.q_inv % key.p)).to_bytes(256)


def token(number, text):
    """The inviter's signature of a text, with the key of the entry (0) or of a message."""
    key = token_keys()[number]
    ((blinded, inverse),) = blind_all([text], key.public, [random_blinding(key.public)])
    return finalize(text, signed(blinded, key), inverse, key.public)


def in_slots(of, reports):
    """Plaintexts, slot after slot: the packed reports of each message, then dummies."""
    plaintexts = []
    for number, (slots, packed) in enumerate(zip(of.slots, reports, strict=True)):
        plaintexts += [of.shape.report(number, report) for report in packed]
        plaintexts += [of.shape.dummy] * (slots - len(packed))
    return plaintexts


def person(of, number):
    """The plaintexts of a person of the vectors, slot after slot."""
    every = inside(number % 3)
    each = [(message, of.shape.width(message)) for message in range(len(of.plan.messages))]
    reports = [[p[3 : 3 + width] for p in every if p[1:3] == n.to_bytes(2)] for n, width in each]
    return in_slots(of, reports)


def pending(of, plaintexts, *, stratum=0, code=b"0" * 16, nonce=None):
    """What a device stores before it requests tokens."""
    nonce = random.randbytes(32) if nonce is None else nonce
    return tokens.Pending.of(of, code, stratum, nonce, tokens.sealed_slots(of, stratum, plaintexts))


def upload(of, plaintexts=None, **given):
    """The upload of one person, by default with dummies only."""
    plaintexts = [of.shape.dummy] * of.places if plaintexts is None else plaintexts
    person = pending(of, plaintexts, **given)
    order = random.sample(range(of.places), of.places)
    return person.upload(answer(person.request, of), of, order)


def batch(of, uploads, key=FIRST):
    """The first mixer's signed header and body, of uploads of any strata."""
    strata = sorted({each.stratum for each in uploads})
    people = [(n, sum(each.stratum == n for each in uploads)) for n in strata]
    envelopes = [[e for each in uploads if each.stratum == n for e in each.sealed] for n in strata]
    body = b"".join(e for some in envelopes for e in random.sample(some, len(some)))
    header = Batch(of.digest, tuple(people), hashlib.sha256(body).digest())
    return sign(header, key), body


def opened(of, uploads, stratum=0, second=SECOND_KEY):
    """The reports with tokens that the second mixer finds in the uploads of a stratum."""
    envelopes = [e for each in uploads if each.stratum == stratum for e in each.sealed]
    return [tokens.open_envelope(e, second, of, stratum) for e in envelopes]


def release(of, reports, signed_batch, *, stratum=0, key=SECOND):
    """The second mixer's signed header and body; without reports, the stratum is refused."""
    messages = range(len(of.plan.messages)) if reports else ()
    counts = tuple(sum(each.message == number for each in reports) for number in messages)
    body = b"".join(each.encoded for each in random.sample(reports, len(reports)))
    digest = hashlib.sha256(body).digest() if reports else EMPTY
    return sign(MixedRelease(of.digest, stratum, counts, digest, signed_batch), key), body


def invitations(of, issued, used, key=INVITER):
    """The inviter's signed statement."""
    return sign(Invitations(of.digest, issued, used), key)


if __name__ == "__main__":
    keys = [new_token_key() for _ in range(MANY)]
    notes = [
        {"key": key.encoded.hex(), "roots": [root.hex() for root in key_roots(key)]} for key in keys
    ]
    NOTED.write_text(json.dumps(notes, indent=1) + "\n")
