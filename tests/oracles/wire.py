"""What travels in a collection, read and made a second time from the documents alone.

HPKE (RFC 9180) is put together from its primitives here, reports are drawn one lane after the
other, and nothing of incrowd is imported: whoever writes a client in another language writes
something like this file. JSON is compared as text that was canonical when it was written.
"""

import hashlib
import hmac
import itertools
import json
import math
import struct
from functools import cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384

from tests.oracles import mlkem

X25519, X_WING = 0x20, 0x647A
KEM_SUITE = b"KEM" + struct.pack(">H", X25519)
MLKEM_CIPHERTEXT = 1088


# --- permanent responses of cells ----------------------------------------------------------------


def framed(*parts):
    return b"".join(struct.pack(">Q", len(part)) + part for part in parts)


def permanent_set(secret, series, ids, chosen, cells, noise, slots):
    """Of the first draw that fits: its number, and the numbers of the cells that are set."""
    attempt = 0
    while True:
        answer = ",".join(str(number) for number in sorted(chosen))
        said = ("incrowd permanent set 1", series, ",".join(ids), answer, str(attempt))
        name = framed(*[part.encode() for part in said])
        key = hmac.new(secret, name, hashlib.sha256).digest()
        aes = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        numbers = struct.unpack(f">{cells}I", aes.update(bytes(4 * cells)))
        found = [i for i in range(cells) if (i in chosen) != (numbers[i] < noise)]
        if len(found) <= slots:
            return attempt, found
        attempt += 1


# --- HPKE, base mode (RFC 9180, sections 4, 5.1, 5.2) --------------------------------------------


def extract(salt, suite, label, given):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + given, "sha256")


def expand(key, suite, label, given, length):
    told = struct.pack(">H", length) + b"HPKE-v1" + suite + label + given
    found, block = b"", b""
    for count in range(1, -(-length // 32) + 1):
        block = hmac.digest(key, block + told + bytes([count]), "sha256")
        found += block
    return found[:length]


def public(private):
    return private.public_key().public_bytes_raw()


def schedule(secret, info, kem, aead=1, key_bytes=16):
    """The key and its first nonce, from the secret of a KEM."""
    suite = b"HPKE" + struct.pack(">HHH", kem, 1, aead)
    names = extract(b"", suite, b"psk_id_hash", b"")
    context = b"\0" + names + extract(b"", suite, b"info_hash", info)
    prk = extract(secret, suite, b"secret", b"")
    key = expand(prk, suite, b"key", context, key_bytes)
    return key, expand(prk, suite, b"base_nonce", context, 12)


def x25519_secret(shared_point, enc, receiver):
    eae = extract(b"", KEM_SUITE, b"eae_prk", shared_point)
    return expand(eae, KEM_SUITE, b"shared_secret", enc + receiver, 32)


def x_wing_secret(seed, enc):
    """Decapsulation of draft-connolly-cfrg-xwing-kem, from ML-KEM, X25519 and SHA-3."""
    expanded = hashlib.shake_256(seed).digest(96)
    mlkem = MLKEM768PrivateKey.from_seed_bytes(expanded[:64])
    own = X25519PrivateKey.from_private_bytes(expanded[64:])
    ciphertext, point = enc[:MLKEM_CIPHERTEXT], enc[MLKEM_CIPHERTEXT:]
    shared = own.exchange(X25519PublicKey.from_public_bytes(point))
    both, label = mlkem.decapsulate(ciphertext) + shared, bytes.fromhex("5c2e2f2f5e5c")
    return hashlib.sha3_256(both + point + public(own) + label).digest()


def x_wing_sent(receiver, random):
    """The encapsulated secret and the secret, from the 64 random bytes of the draft."""
    own = X25519PrivateKey.from_private_bytes(random[32:])
    mlkem_public, point = receiver[:-32], receiver[-32:]
    ciphertext, secret = mlkem.encapsulated(mlkem_public, random[:32])
    shared = own.exchange(X25519PublicKey.from_public_bytes(point))
    label = bytes.fromhex("5c2e2f2f5e5c")
    secret = hashlib.sha3_256(secret + shared + public(own) + point + label).digest()
    return ciphertext + public(own), secret


def seal_with(secret, enc, plaintext, info, kem):
    key, nonce = schedule(secret, info, kem)
    return enc + AESGCM(key).encrypt(nonce, plaintext, b"")


def hpke_seal(plaintext, receiver, info, ephemeral, kem=X25519):
    """enc and ciphertext; `ephemeral` is the random bytes of the sender: 32, with X-Wing 64."""
    if kem == X_WING:
        enc, secret = x_wing_sent(receiver, ephemeral)
        return seal_with(secret, enc, plaintext, info, kem)
    own = X25519PrivateKey.from_private_bytes(ephemeral)
    shared = own.exchange(X25519PublicKey.from_public_bytes(receiver))
    secret = x25519_secret(shared, public(own), receiver)
    return seal_with(secret, public(own), plaintext, info, X25519)


def hpke_open(sealed, private, info, kem=X25519):
    size = {X25519: 32, X_WING: 1120}[kem]
    enc, ciphertext = sealed[:size], sealed[size:]
    if kem == X25519:
        own = X25519PrivateKey.from_private_bytes(private)
        shared = own.exchange(X25519PublicKey.from_public_bytes(enc))
        secret = x25519_secret(shared, enc, public(own))
    else:
        secret = x_wing_secret(private, enc)
    key, nonce = schedule(secret, info, kem)
    return AESGCM(key).decrypt(nonce, ciphertext, b"")


# --- sealed reports, uploads, releases -----------------------------------------------------------


def header(configuration):
    return configuration[:3] + bytes.fromhex("00010001")


REPORT = b"application/vnd.incrowd.report request\0"


def info(head, binding, label=REPORT):
    return label + head + binding


@cache
def seal(plaintext, configuration, binding, ephemeral, label=REPORT):
    head, kem = header(configuration), int.from_bytes(configuration[1:3], "big")
    about = info(head, binding, label)
    return head + hpke_seal(plaintext, configuration[3:-6], about, ephemeral, kem)


def unseal(sealed, private, binding, label=REPORT):
    kem = int.from_bytes(sealed[1:3], "big")
    return hpke_open(sealed[7:], private, info(sealed[:7], binding, label), kem)


def plaintext(length, message=0xFFFF, packed=b""):
    return (b"\x01" + struct.pack(">H", message) + packed).ljust(length, b"\0")


def read_plaintext(given, bits):
    """(message, packed report), None for a dummy; an assertion fails for anything else."""
    width = [-(-each // 8) for each in bits]
    message = int.from_bytes(given[1:3], "big")
    assert given[0] == 1 and len(given) == 3 + max(width)
    if message == 0xFFFF:
        assert not any(given[3:])
        return None
    packed, rest = given[3 : 3 + width[message]], given[3 + width[message] :]
    assert not any(rest) and int.from_bytes(packed, "little") < 1 << bits[message]
    return message, packed


def upload(digest, code, stratum, sealed):
    return digest + code + struct.pack(">H", stratum) + b"".join(sealed)


def read_bundle(data):
    """The content of a bundle's bytes, with what follows from it."""
    content = json.loads(data)
    sent = [sent_bits(content, message) for message in content["plan"]["messages"]]
    length = 3 + max(-(-bits // 8) for bits in sent)
    places = sum(content["slots"])
    enc = {"0020": 32, "647a": 1120}[content["key_configuration"][2:6]]
    sealed = 7 + enc + length + 16
    return {
        "digest": hashlib.sha256(data).digest(),
        "configuration": bytes.fromhex(content["key_configuration"]),
        "shuffler_key": bytes.fromhex(content["shuffler_key"]),
        "bits": sent,
        "plaintext": length,
        "places": places,
        "sealed": sealed,
        "upload": 50 + places * sealed,
        "lanes": [(lane["slots"], lane["invented"]) for lane in lanes_of(content)],
        "least": least(content["plan"]) + content["reserve"],
    }


def least(plan):
    """The number of people that a release needs, without the reserve."""
    if plan["guarantee"]["crowd"] is None:
        return plan["survey"].get("least", 10)
    return plan["survey"]["crowd"]


def lanes_of(content):
    """What has a random order of its own in a release: a single one unless services add noise."""
    messages = content["plan"]["messages"]
    known = {each["id"]: each for each in content["plan"]["survey"]["question"]}
    if not any("added" in each for each in messages):
        return [{"message": None, "cells": [], "slots": sum(content["slots"]), "invented": 0}]
    found = []
    for number, (message, slots) in enumerate(zip(messages, content["slots"], strict=True)):
        if "added" not in message:
            found.append({"message": number, "cells": [], "slots": slots, "invented": 0})
            continue
        most = 2 * (len(message["added"]) - 1)
        for inside in lanes([known[id] for id in message["questions"]]):
            lane = {"message": number, "cells": inside, "slots": 1}
            found.append(lane | {"invented": most * len(inside)})
    return found


def sent_bits(content, message):
    """The bits of one report of a message."""
    known = {each["id"]: each for each in content["plan"]["survey"]["question"]}
    questions = [known[id] for id in message["questions"]]
    if message["cells"]:
        return len(f"{cell_count(questions, message.get('parities', False)) - 1:b}")
    return sum(map(question_bits, questions))


def question_bits(question):
    if question["type"] == "yesno":
        return 2 if question["optional"] else 1
    of = "edges" if question["type"] == "number" else "options"
    return len(question[of]) + question["optional"]


def read_release(data, bundle):
    """(what is stated, sealed reports); an assertion or InvalidSignature for a wrong one."""
    signature, rest = data[:64], data[64:]
    digest, people, issued, used, reports, body_hash, count = struct.unpack_from(
        ">32sQQQQ32sH", rest
    )
    end = 98 + 2 * count
    strata = struct.unpack_from(f">{count}H", rest, 98)
    key = Ed25519PublicKey.from_public_bytes(bundle["shuffler_key"])
    key.verify(signature, b"incrowd release 1\0" + rest[:end])
    body = rest[end:]
    every = sum(people * slots + invented for slots, invented in bundle["lanes"])
    assert digest == bundle["digest"] and reports == every
    assert people >= bundle["least"] and used <= issued
    assert len(body) == reports * bundle["sealed"]
    assert hashlib.sha256(body).digest() == body_hash
    size = bundle["sealed"]
    stated = {"people": people, "issued": issued, "used": used, "strata": strata}
    return stated, [body[at : at + size] for at in range(0, len(body), size)]


# --- two mixers ----------------------------------------------------------------------------------


def read_mixers_bundle(data):
    """The content of a bundle with two mixers, with what follows from it."""
    content = json.loads(data)
    sent = [sent_bits(content, message) for message in content["plan"]["messages"]]
    length = 3 + max(-(-bits // 8) for bits in sent)
    enc = {"0020": 32, "647a": 1120}
    inner = 7 + enc[content["collector"]["key_configuration"][2:6]] + length + 16
    row = 258 + inner
    parties = {role: bytes.fromhex(content[role]["key"]) for role in ("inviter", "first", "second")}
    moduli = [content["inviter"]["entry"], *content["inviter"]["messages"]]
    return parties | {
        "digest": hashlib.sha256(data).digest(),
        "moduli": [int(each["modulus"], 16) for each in moduli],
        "slots": content["slots"],
        "strata": len(content["strata"]),
        "crowd": content["plan"]["survey"]["crowd"],
        "least": content["plan"]["survey"]["crowd"] + content["reserve"],
        "bits": sent,
        "row": row,
        "envelope": 7 + enc[content["second"]["key_configuration"][2:6]] + row + 16,
    }


def is_signed(text, signature, modulus):
    """RSASSA-PSS of RFC 8017 with SHA-384, MGF1 and a salt of 48 bytes, e = 65537."""
    key = RSAPublicNumbers(65537, modulus).public_key()
    try:
        key.verify(signature, text, padding.PSS(padding.MGF1(SHA384()), 48), SHA384())
    except InvalidSignature:
        return False
    return True


def verified(data, end, key, domain):
    """Signature and header, whose end is known: an InvalidSignature for another key."""
    Ed25519PublicKey.from_public_bytes(key).verify(data[:64], domain + b"\0" + data[64:end])
    return data[end:]


def read_batch_start(data, bundle):
    """(people of each stratum, the body's SHA-256, what follows the header)."""
    (count,) = struct.unpack_from(">H", data, 96)
    end = 98 + 10 * count + 32
    people = [struct.unpack_from(">HQ", data, 98 + 10 * n) for n in range(count)]
    rest = verified(data, end, bundle["first"], b"incrowd batch 2")
    numbers = [number for number, _ in people]
    assert data[64:96] == bundle["digest"] and numbers == sorted(set(numbers)) and numbers
    assert numbers[-1] < bundle["strata"] and min(n for _, n in people) >= bundle["least"]
    return dict(people), data[end - 32 : end], rest


def read_batch(data, bundle):
    """The people of each stratum, and its envelopes."""
    people, digest, body = read_batch_start(data, bundle)
    size, uploads = bundle["envelope"], sum(people.values())
    assert hashlib.sha256(body).digest() == digest
    assert len(body) == size * sum(bundle["slots"]) * uploads
    return people, [body[at : at + size] for at in range(0, len(body), size)]


def read_mixed_release(data, bundle):
    """(stratum, people, tokens of each message, rows); none of these if there were too few."""
    stratum, count = struct.unpack_from(">HH", data, 96)
    tokens = struct.unpack_from(f">{count}Q", data, 100)
    start = 100 + 8 * count
    (strata,) = struct.unpack_from(">H", data, start + 32 + 96)
    end = start + 32 + 98 + 10 * strata + 32
    body = verified(data, end, bundle["second"], b"incrowd release 2")
    people, _, rest = read_batch_start(data[start + 32 : end], bundle)
    assert data[64:96] == bundle["digest"] and stratum in people and not rest
    assert hashlib.sha256(body).digest() == data[start : start + 32]
    rows = [body[at : at + bundle["row"]] for at in range(0, len(body), bundle["row"])]
    if not tokens:
        assert not body
        return stratum, people[stratum], (), []
    labels = [int.from_bytes(row[:2], "big") for row in rows]
    assert len(tokens) == len(bundle["slots"]) and len(rows[-1]) == bundle["row"]
    for message, (found, slots) in enumerate(zip(tokens, bundle["slots"], strict=True)):
        assert slots * bundle["crowd"] <= found <= slots * people[stratum]
        assert labels.count(message) == found
    assert len(labels) == sum(tokens)
    return stratum, people[stratum], tokens, rows


def has_token(row, bundle, stratum):
    text = b"incrowd slot 2\0" + bundle["digest"] + struct.pack(">H", stratum) + row[:2]
    text += hashlib.sha256(row[258:]).digest()
    return is_signed(text, row[2:258], bundle["moduli"][1 + int.from_bytes(row[:2], "big")])


def read_invitations(data, bundle):
    """(codes issued, codes used)."""
    assert not verified(data, 112, bundle["inviter"], b"incrowd invitations 2")
    issued, used = struct.unpack_from(">QQ", data, 96)
    assert data[64:96] == bundle["digest"] and used <= issued
    return issued, used


# --- reports from records and drawn words --------------------------------------------------------


def decide(numerator, lanes, words):
    """Which lanes are 1, each with probability numerator / 2^32, from an iterator of words.

    Digit after digit: a lane whose bit is 0 where the digit is 1 becomes 1; one whose bit is 1
    where the digit is 0 becomes 0; the others go on, after seven digits gathered into fewer words.
    All 64 lanes of a word take part, whether they are wanted or not.
    """
    digits = f"{numerator:032b}".rstrip("0")
    ones = race(digits, -(-lanes // 64), words)
    return sum(1 << lane for lane in ones if lane < lanes)


def race(digits, count, words):
    """The lanes of `count` words that become 1."""
    if not digits or not count:
        return []
    ones, left = [], range(64 * count)
    for digit in digits[:7]:
        drawn = [next(words) for _ in range(count)]
        bit = {lane: drawn[lane // 64] >> lane % 64 & 1 for lane in left}
        ones += [lane for lane in left if digit == "1" and not bit[lane]]
        left = [lane for lane in left if bit[lane] == int(digit)]
    return ones + [
        left[at] for at in race(digits[7:], -(-len(left) // 64), words) if at < len(left)
    ]


def flips(numerator, bits, copies, words):
    """The bits that are flipped in each of the copies of a message, as numbers."""
    drawn = decide(numerator, bits * copies, words)
    return [drawn >> bits * copy & ((1 << bits) - 1) for copy in range(copies)]


def chance(edges, answer):
    """The edge below a number, from 0, and 2^32 times the chance of the next one, in doubles."""
    inside = min(max(answer, edges[0]), edges[-1])
    below = max(i for i, edge in enumerate(edges[:-1]) if edge <= inside)
    low, high = edges[below : below + 2]
    return below, round((inside - low) / (high - low) * 2.0**32)  # halfway the even one


def amount(edges, optional, answer, word):
    """The record of an amount alone, as a number, from one word."""
    if answer is None:
        return 1 << len(edges)
    below, up = chance(edges, answer)
    at = below + ((word >> 32) < up)
    return at if len(edges) == 2 and not optional else 1 << at


# --- cells ---------------------------------------------------------------------------------------

NOT_ASKED = ("not asked",)  # instead of an answer; None is no answer


def axis(question):
    """The answers to a question, as the protocol lists them for its cells."""
    edges = [f"{edge:.12g}" for edge in question.get("edges", ())]
    if question["type"] == "number":
        ends = [f" to <{edge}" for edge in edges[1:]] + [" or more"]
        edges = [edge + end for edge, end in zip(edges, ends, strict=True)]
    given = question.get("options", edges or ["no", "yes"])
    single = question["type"] == "multi" and question["at_most"] == 1
    states = [*["no answer"] * question["optional"], *["not asked"] * ("asked_if" in question)]
    return [*given, *states, *["none chosen"] * single]


def chosen(question, answer):
    """The answers along the axis that somebody gave, from how a file of answers writes them."""
    if answer is None or answer == NOT_ASKED:
        return ["no answer" if answer is None else "not asked"]
    if question["type"] == "multi":
        none = ["none chosen"] if question["at_most"] == 1 else []
        return none if answer == "none" else answer.split(";")
    if question["type"] == "number":
        return [axis(question)[sum(edge <= answer for edge in question["edges"]) - 1]]
    return [f"{answer:.12g}" if question["type"] == "amount" else answer]


def crossed(questions):
    """The tables of cells, one behind the other: each the questions that it crosses."""
    one_answer = [q for q in questions if q["type"] != "multi" or q["at_most"] == 1]
    any_of_them = 0 < len(one_answer) < len(questions)
    return [questions, one_answer] if any_of_them else [questions]


def is_bit(questions):
    """Whether one question has two answers, of which one is the only cell."""
    (question, *more) = questions
    several = question["type"] == "multi" and question["at_most"] > 1
    return not more and not several and len(axis(question)) == 2


def cell_count(questions, parities=False):
    if parities:
        return math.comb(len(questions), 2)
    if is_bit(questions):
        return 1
    return sum(math.prod(len(axis(q)) for q in table) for table in crossed(questions))


def lanes(questions):
    """The cells of each lane of a message: each person is in one of them at most."""
    if is_bit(questions):
        return [[0]]
    found, before = [], 0
    for table in crossed(questions):
        several = [i for i, q in enumerate(table) if q["type"] == "multi" and q["at_most"] > 1]
        said = list(itertools.product(*map(axis, table)))
        names = axis(table[several[0]]) if several else [None]
        for name in names:
            inside = [i for i, each in enumerate(said) if not several or each[several[0]] == name]
            found.append([before + i for i in inside])
        before += len(said)
    return found


def cells(questions, answers, parities=False):
    """The cells that a person is in: by number, the answers that it says. Of parities the second
    answers to two questions, of which she gave exactly one."""
    if parities:
        pairs, given = itertools.combinations(questions, 2), {}
        for number, pair in enumerate(pairs):
            second = {q["id"]: axis(q)[1] for q in pair}
            said = [chosen(q, answers[q["id"]]) == [second[q["id"]]] for q in pair]
            given |= {number: second} if said[0] ^ said[1] else {}
        return given
    if is_bit(questions):
        [question] = questions
        yes = chosen(question, answers[question["id"]])[0] == axis(question)[1]
        return {0: {question["id"]: axis(question)[1]}} if yes else {}
    found, before = {}, 0
    for table in crossed(questions):
        for said in itertools.product(*(chosen(q, answers[q["id"]]) for q in table)):
            number = 0
            for question, answer in zip(table, said, strict=True):
                number = number * len(axis(question)) + axis(question).index(answer)
            found[before + number] = {q["id"]: a for q, a in zip(table, said, strict=True)}
        before += math.prod(len(axis(q)) for q in table)
    return found


# --- strata --------------------------------------------------------------------------------------


def open_answers(question):
    """The answers to an open question, as the protocol lists them."""
    given = question.get("options", ["no", "yes"])
    return [*given, "no answer"] if question.get("optional") else list(given)


def stratum(questions, answers):
    """The number of the stratum of a person: a numeral, one digit for each open question."""
    number = 0
    for question in (q for q in questions if q.get("open")):
        known, said = open_answers(question), answers[question["id"]]
        number = number * len(known) + known.index("no answer" if said is None else said)
    return number


def stratum_name(questions, number):
    """The name of a stratum, its digits read from the last."""
    words = []
    for question in reversed([q for q in questions if q.get("open")]):
        number, digit = divmod(number, len(open_answers(question)))
        words.insert(0, open_answers(question)[digit])
    return " / ".join(words)
