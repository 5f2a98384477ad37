"""Vectors of a collection with two mixers: the bundle, one person's tokens, and her upload."""

import hashlib
import json

from incrowd.collection.protocol import blind, tokens, upload
from incrowd.collection.protocol.addresses import Link, short
from incrowd.collection.protocol.bundle import INNER_LABEL, OUTER_LABEL
from tests.oracles import mixers, wire
from tests.oracles.recorded import VECTORS, Recorded, fixed, hexed

CODE = upload.new_code(fixed("code")[:10])
NONCE = fixed("nonce")
OF = mixers.bundle(second=mixers.SECOND_CLASSICAL)  # X-Wing could not be given its randomness


def mixed():
    text = OF.encoded.decode()
    person = drawn()
    return {
        "bundle": {
            "text": text,
            "digest": OF.digest.hex(),
            "short": short(OF.digest),
            "link": str(Link(OF.inviter.address, OF.digest, CODE)),
            "sealed_bytes": OF.sealed_length,
            "request_bytes": tokens.request_length(OF),
            "upload_bytes": upload.upload_length(OF),
        },
        "wrong_bundles": wrong_bundles(),
        "collector_private": mixers.COLLECTOR_KEY.secret.hex(),
        "second_private": mixers.SECOND_CLASSICAL.secret.hex(),
        "token_keys": [key.encoded.hex() for key in mixers.token_keys()[: 1 + len(OF.slots)]],
        "upload": {name: _text(value) for name, value in person.items()},
    }


def _text(value):
    return value.hex() if isinstance(value, bytes) else hexed(value) if _many(value) else value


def _many(value):
    return isinstance(value, list) and isinstance(value[0], bytes)


# --- one person ----------------------------------------------------------------------------------


def drawn():
    """Everything of one person: the fixed randomness, and what is made of it, step by step.

    factors: of the blinding, 256 bytes each. words: of the random order, of 64 bits each.
    """
    people = json.loads((VECTORS / "reports.json").read_text(encoding="utf-8"))["people"]
    packed = [[bytes.fromhex(each) for each in case["reports"]] for case in people[0]["messages"]]
    plaintexts = mixers.in_slots(OF, packed)
    at = range(OF.places)
    inner_keys = [fixed(f"inner {number}") for number in at]
    key, binding = OF.key, OF.binding(0)
    inners = [
        _sealed(plaintext, key, INNER_LABEL, binding, ephemeral)
        for plaintext, ephemeral in zip(plaintexts, inner_keys, strict=True)
    ]
    salts = [hashlib.sha384(fixed(f"salt {number}")).digest() for number in range(1 + OF.places)]
    factors = [_factor(number) for number in range(1 + OF.places)]
    texts = [tokens.entry_text(OF.digest, NONCE)]
    for message, inner in zip(OF.slot_messages, inners, strict=True):
        texts.append(tokens.slot_text(OF.digest, 0, message, inner))
    pairs = [
        blind.blind(text, key, salt=salt, blinding=int.from_bytes(factor))
        for text, key, salt, factor in zip(texts, OF.token_keys, salts, factors, strict=True)
    ]
    request = tokens.TokenRequest(CODE.encode(), tuple(blinded for blinded, _ in pairs))
    inverses = tuple(inverse.to_bytes(256) for _, inverse in pairs)
    pending = tokens.Pending(request.encoded(OF), 0, NONCE, inverses, tuple(inners))
    answer = mixers.answer(pending.request, OF)
    signed = [
        blind.finalize(text, answer[256 * number :][:256], inverse, key)
        for number, (text, (_, inverse), key) in enumerate(
            zip(texts, pairs, OF.token_keys, strict=True)
        )
    ]
    stream = Recorded("order of two mixers")
    order = _order(stream)
    outer_keys = [fixed(f"outer {number}") for number in at]
    slots = zip(OF.slot_messages, signed[1:], inners, strict=True)
    reports = [tokens.TokenReport(*slot).encoded for slot in slots]
    envelopes = [
        _sealed(reports[place], OF.second_key, OUTER_LABEL, binding, ephemeral)
        for place, ephemeral in zip(order, outer_keys, strict=True)
    ]
    sent = upload.Upload(NONCE + signed[0], 0, tuple(envelopes)).encoded(OF)
    return {
        "code": CODE,
        "stratum": 0,
        "plaintexts": plaintexts,
        "inner_ephemeral": inner_keys,
        "nonce": NONCE,
        "salts": salts,
        "factors": factors,
        "pending": pending.encoded,
        "request": pending.request,
        "answer": answer,
        "tokens": signed,
        "words": stream.text,
        "order": order,
        "outer_ephemeral": outer_keys,
        "bytes": sent,
    }


def _sealed(plaintext, key, label, binding, ephemeral):
    about = label + key.header + binding
    return key.header + wire.hpke_seal(plaintext, key.public, about, ephemeral)


def _factor(number):
    """Below every modulus: its highest bit is 0."""
    data = hashlib.shake_256(fixed(f"factor {number}")).digest(256)
    return bytes([data[0] & 127]) + data[1:]


def _order(stream):
    """Fisher and Yates, with a word for each step."""
    order = list(range(OF.places))
    for last in range(OF.places - 1, 0, -1):
        (word,) = stream.words(1).tolist()
        order[last], order[word % (last + 1)] = order[word % (last + 1)], order[last]
    return order


# --- wrong bundles -------------------------------------------------------------------------------


def wrong_bundles():
    """Why, and the change as a JSON merge patch (RFC 7396) of the bundle's content."""
    content = json.loads(OF.encoded)
    entry, first_message = content["inviter"]["entry"], content["inviter"]["messages"][0]
    roots = entry["roots"]
    forged = [*roots[:3], roots[4], *roots[4:]]
    second = content["second"]["key_configuration"]
    slots = content["slots"]
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
        "fewer slots": {"slots": [*slots[:-1], slots[-1] - 1]},
        "slots as with one shuffler": {"slots": [sum(slots)]},
        "no invitations": {"codes": False},
        "small strata merged": {"small_strata": "merge"},
        "a release before it closes": {"wanted": 10_000},
        "a key too many": {"first": {"more": 1}},
        "the format with one shuffler": {"format": "incrowd bundle 1"},
    }
