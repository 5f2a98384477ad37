"""The vectors against the library, and against a reader that shares nothing with it."""

import itertools
import re
from fractions import Fraction

import pytest
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pydantic import ValidationError

from incrowd.collection.protocol import problem
from incrowd.collection.protocol.addresses import Link, short
from incrowd.collection.protocol.bundle import Bundle, ShufflerBundle
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import X25519, KeyConfiguration, PrivateKey, info, unseal
from incrowd.collection.protocol.signed import Signed, prove_cheating
from incrowd.collection.protocol.upload import check_code, new_code, parse_upload, upload_length
from incrowd.errors import ProtocolError
from incrowd.plans import CellsMessage, Plan
from incrowd.survey import Amount
from tests.collection.protocol.conftest import INVITED, OPEN, vectors
from tests.oracles import make_vectors, wire
from tests.oracles.releases import parse_release

hexed = bytes.fromhex
BY_DIGEST = {each.digest.hex(): each for each in (INVITED, OPEN)}
READ = {digest: wire.read_bundle(each.encoded) for digest, each in BY_DIGEST.items()}
PRIVATE = hexed(vectors("keys")["collector"]["private"])
RECEIVER = PrivateKey(X25519, PRIVATE)


@pytest.mark.parametrize("name", make_vectors.MADE)
def test_the_vectors_are_what_their_script_makes(name):
    committed = (make_vectors.VECTORS / f"{name}.json").read_text(encoding="utf-8")
    assert make_vectors.text(name) == committed


def cases(name, *keys):
    found = vectors(name)
    for key in keys:
        found = found[key]
    return found.items() if isinstance(found, dict) else enumerate(found)


def parameters(name, *keys):
    return [pytest.param(value, id=str(why)) for why, value in cases(name, *keys)]


# --- keys and what is sealed ---------------------------------------------------------------------


def test_the_example_of_rfc_9458():
    """Its layout, its key configuration, its secret, by the library and by the other reader."""
    given = {k: v if k == "source" else hexed(v) for k, v in vectors("rfc9458").items()}
    request, secret = given["encapsulated_request"], given["server_secret_key"]
    key = X25519PrivateKey.from_private_bytes(secret)
    assert X25519.suite.decrypt(request[7:], key, given["info"]) == given["request"]
    assert wire.hpke_open(request[7:], secret, given["info"]) == given["request"]
    ephemeral = given["client_ephemeral_secret_key"]
    made = wire.hpke_seal(given["request"], wire.public(key), given["info"], ephemeral)
    assert given["key_config"][:1] + hexed("002000010001") + made == request
    ours = KeyConfiguration(1, wire.public(key), X25519)
    assert request.startswith(ours.header)
    assert info(ours.header, b"").split(b"\0", 1)[1] == given["info"].split(b"\0", 1)[1]
    offered = given["key_config"]  # two AEADs, where ours has one
    assert offered[:35] == ours.encoded[:35] and offered[35:37] == b"\0\x08"


def test_keys():
    given = vectors("keys")
    public = wire.public(X25519PrivateKey.from_private_bytes(PRIVATE)).hex()
    assert RECEIVER.public.hex() == given["collector"]["public"] == public
    shuffler = Ed25519PrivateKey.from_private_bytes(hexed(given["shuffler"]["private"]))
    assert wire.public(shuffler).hex() == given["shuffler"]["public"]
    found = KeyConfiguration.parse(hexed(given["key_configuration"]))
    assert found.header == hexed(given["header"]) == wire.header(found.encoded)
    assert new_code(hexed(given["code"]["random"])) == given["code"]["text"]


def test_a_sealed_report_opens():
    given = {key: hexed(value) for key, value in vectors("sealed")["right"].items()}
    key = KeyConfiguration.parse(hexed(vectors("keys")["key_configuration"]))
    assert unseal(given["sealed"], RECEIVER, key, given["bundle"]) == given["plaintext"]
    assert wire.unseal(given["sealed"], PRIVATE, given["bundle"]) == given["plaintext"]
    assert info(key.header, given["bundle"]) == given["info"]
    made = wire.seal(given["plaintext"], key.encoded, given["bundle"], given["ephemeral_private"])
    assert made == given["sealed"]


@pytest.mark.parametrize("given", parameters("sealed", "wrong"))
def test_what_is_sealed_wrongly_does_not_open(given):
    with pytest.raises(ProtocolError):
        unseal(hexed(given), RECEIVER, INVITED.key, INVITED.digest)
    head = hexed(given)[:7] == INVITED.key.header
    with pytest.raises((InvalidTag, ValueError, AssertionError)):
        assert head
        wire.unseal(hexed(given), PRIVATE, INVITED.digest)


# --- reports -------------------------------------------------------------------------------------


@pytest.mark.parametrize("person", parameters("reports", "people"))
def test_reports_are_the_records_with_their_flips(person):
    """From the drawn words by the other reader, one lane after the other."""
    plan = Plan.load(make_vectors.VECTORS / "plan.json")
    for message, given in zip(plan.messages, person["messages"], strict=True):
        reports = [int.from_bytes(hexed(each), "little") for each in given["reports"]]
        if isinstance(message, CellsMessage):
            assert set(reports) == set(given["chosen"]) ^ set(given["flipped"])
            continue
        record = int.from_bytes(hexed(given["record"]), "little")
        words = iter([int(word, 16) for word in given["words"]])
        noise = message.noise_numerator
        flips = wire.flips(noise, message.record_bits, message.copies, words)
        assert reports == [record ^ flip for flip in flips] and list(words) == []


@pytest.mark.parametrize("person", parameters("cells", "people"))
def test_cells(person):
    """Which cells a person is in, by the other reader; what is sent is that with its flips."""
    plan = Plan.load(make_vectors.VECTORS / "cells-plan.json").content
    known = {question["id"]: question for question in plan["survey"]["question"]}
    above = 0
    for at, (message, given) in enumerate(zip(plan["messages"], person["messages"], strict=True)):
        questions = [known[id] for id in message["questions"]]
        parities = message.get("parities", False)
        assert wire.cell_count(questions, parities) == vectors("cells")["counts"][at]
        found = wire.cells(questions, person["answers"], parities)
        assert given["chosen"] == sorted(found)
        assert given["says"] == [found[cell] for cell in given["chosen"]]
        reports = [int.from_bytes(hexed(each), "little") for each in given["reports"]]
        assert reports == sorted(set(given["chosen"]) ^ set(given["flipped"]))
        above += max(reports, default=0) >= 2**31
    assert above  # a shift by 32 bits would lose it


def test_the_cells_of_the_other_reader_are_those_of_a_list():
    """Every table that can be listed: the last question's answers run fastest."""
    plan, listed = Plan.load(make_vectors.VECTORS / "cells-plan.json").content, 0
    known = {question["id"]: question for question in plan["survey"]["question"]}
    for message, count in zip(plan["messages"], vectors("cells")["counts"], strict=True):
        questions = [known[id] for id in message["questions"]]
        if count > 1000 or wire.is_bit(questions) or message.get("parities"):
            continue
        tables = wire.crossed(questions)
        rows = [row for t in tables for row in itertools.product(*map(wire.axis, t))]
        assert len(rows) == count
        for person in vectors("cells")["people"]:
            for cell, says in wire.cells(questions, person["answers"]).items():
                assert rows[cell] == tuple(says.values())
                listed += 1
    assert listed > 20


@pytest.mark.parametrize("given", parameters("devices", "amounts", "right"))
def test_amounts(given):
    """By the other reader; its chance is the exact one to 32 digits and those of a double."""
    question = [given[key] for key in ("edges", "optional", "answer")]
    for drawn in given["drawn"]:
        record = wire.amount(*question, int(drawn["word"], 16))
        assert record == int.from_bytes(hexed(drawn["record"]), "little")
    if (answer := given["answer"]) is None:
        return
    below, up = wire.chance(given["edges"], answer)
    low, high = map(Fraction, given["edges"][below : below + 2])
    exact = (min(max(Fraction(answer), low), high) - low) / (high - low)
    assert up == given["chance"]
    assert abs(Fraction(up, 2**32) - exact) <= 1.0001 / 2**33


@pytest.mark.parametrize("edges", vectors("devices")["amounts"]["no_edges"])
def test_no_edges_of_an_amount(edges):
    with pytest.raises(ValidationError):
        Amount(id="q", edges=edges)


@pytest.mark.parametrize("person", parameters("permanent", "people"))
def test_permanent_sets(person):
    """By the other reader: the first draw that fits, and how many did not."""
    plan = Plan.load(make_vectors.VECTORS / "permanent-plan.json")
    secret, again = hexed(vectors("permanent")["key"]), 0
    for message, given in zip(plan.messages, person["messages"], strict=True):
        for draw in given.get("draws", ()):
            found = wire.permanent_set(
                secret,
                given["series"],
                message.ids,
                given["chosen"],
                message.record_bits,
                message.noise_numerator,
                draw["slots"],
            )
            reports = [int.from_bytes(hexed(each), "little") for each in draw["reports"]]
            assert found == (draw["attempt"], reports)
            again += draw["attempt"] > 0
    assert again


@pytest.mark.parametrize("person", parameters("reports", "people"))
def test_plaintexts(person):
    read = READ[INVITED.digest.hex()]
    found = [wire.read_plaintext(hexed(each), read["bits"]) for each in person["plaintexts"]]
    sent = [
        (number, hexed(each))
        for number, given in enumerate(person["messages"])
        for each in given["reports"]
    ]
    assert [each for each in found if each] == sent
    opened = [INVITED.shape.read(hexed(each)) for each in person["plaintexts"]]
    assert [(o.message, o.packed) for o in opened if o.message is not None] == sent
    assert len(found) == sum(INVITED.slots) == read["places"]


@pytest.mark.parametrize("given", parameters("reports", "wrong_plaintexts"))
def test_wrong_plaintexts(given):
    with pytest.raises(ProtocolError, match="plaintext"):
        INVITED.shape.read(hexed(given))
    with pytest.raises((AssertionError, IndexError)):
        wire.read_plaintext(hexed(given), INVITED.shape.bits)


# --- bundles, uploads, releases ------------------------------------------------------------------


@pytest.mark.parametrize("given", parameters("bundles", "right"))
def test_bundles(given):
    data = given["text"].encode()
    found, read = Bundle.parse(data), wire.read_bundle(data)
    assert found.digest.hex() == given["digest"] == read["digest"].hex()
    assert found.shape.length == given["plaintext_bytes"] == read["plaintext"]
    assert found.sealed_length == given["sealed_bytes"] == read["sealed"]
    assert upload_length(found) == given["upload_bytes"] == read["upload"]
    assert found.shape.bits == tuple(read["bits"]) and found.least_people == read["least"]
    assert short(found.digest) == given["short"]
    link = Link.parse(given["link"])
    assert (link.address, link.digest) == (found.addresses.shuffler, found.digest)
    assert bool(link.code) == found.codes and str(link) == given["link"]


@pytest.mark.parametrize("given", parameters("bundles", "wrong"))
def test_wrong_bundles(given):
    with pytest.raises(ProtocolError, match=r"bundle|key_configuration"):
        Bundle.parse(given.encode())


@pytest.mark.parametrize("given", parameters("uploads", "right"))
def test_uploads(given):
    bundle, data = BY_DIGEST[given["bundle"]], hexed(given["bytes"])
    found = parse_upload(data, bundle)
    check_code(found.entry, bundle)
    assert found.encoded(bundle) == data and found.stratum == given["stratum"]
    code = given["code"].encode().ljust(16, b"\0")
    assert wire.upload(bundle.digest, code, given["stratum"], found.sealed) == data
    opened = [wire.unseal(each, PRIVATE, bundle.digest) for each in found.sealed]
    person = vectors("reports")["people"][0 if bundle.codes else 1]
    assert opened == [hexed(person["plaintexts"][at]) for at in given["order"]]


@pytest.mark.parametrize("given", parameters("uploads", "wrong"))
def test_wrong_uploads(given):
    with pytest.raises(ProtocolError) as found:
        check_code(parse_upload(hexed(given["bytes"]), INVITED).entry, INVITED)
    assert problem.kind_of(found.value).name == given["problem"]


def test_releases():
    given = vectors("releases")
    data = hexed(given["right"]["start"] + given["right"]["body"])
    signed, reports = parse_release(data, INVITED)
    stated, again = wire.read_release(data, READ[given["bundle"]])
    assert list(reports) == again and stated["people"] == signed.header.people
    assert (stated["strata"], stated["issued"], stated["used"]) == ((0,), 100, 23)
    for each in reports:
        INVITED.shape.read(unseal(each, RECEIVER, INVITED.key, INVITED.digest))


# What the minimal reader does not look at: it has the bundle's numbers alone.
LOOSE = {"no code used", "no such stratum", "no stratum", "one stratum twice"}


@pytest.mark.parametrize(("why", "start"), cases("releases", "wrong"))
def test_wrong_releases(why, start):
    data = hexed(start + vectors("releases")["right"]["body"])
    with pytest.raises(ProtocolError, match="release"):
        parse_release(data, INVITED)
    if why not in LOOSE:
        with pytest.raises((AssertionError, InvalidSignature)):
            wire.read_release(data, READ[INVITED.digest.hex()])


def test_two_headers_for_one_stratum_prove_cheating():
    one, other = (
        Signed.parse(Header, hexed(start))[0] for start in vectors("releases")["cheating"]
    )
    assert prove_cheating(one, other, INVITED)
    assert not prove_cheating(one, one, INVITED)
    key = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()
    stated = {name: getattr(INVITED, name) for name in ShufflerBundle.model_fields}
    assert not prove_cheating(one, other, ShufflerBundle(**stated | {"shuffler_key": key}))
    forged, _ = Signed.parse(Header, hexed(vectors("releases")["wrong"]["signed by another key"]))
    assert not prove_cheating(forged, other, INVITED)


def test_strata():
    """Names, numbers and releases, read without the library."""
    found = vectors("strata")
    for survey in found["surveys"]:
        questions, names = survey["questions"], survey["strata"]
        assert [wire.stratum_name(questions, n) for n in range(len(names))] == names
        assert len(survey["people"]) == len(names)
        for person in survey["people"]:
            assert wire.stratum(questions, person["answers"]) == person["stratum"]
    for case in found["releases"]:
        people, least = case["people"], case["least"]
        alone = [[n] for n, count in enumerate(people) if count >= least]
        small = [n for n, count in enumerate(people) if 0 < count < least]
        enough = case["small_strata"] == "merge" and sum(people[n] for n in small) >= least
        assert case["released"] == alone + [small] * enough


def test_the_manual_lists_every_problem_with_its_status():
    page = (make_vectors.VECTORS.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
    table = page.split("## Problems")[1].split("## Vectors")[0]
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", table, flags=re.MULTILINE)
    assert listed == [(name, str(kind.status)) for name, kind in problem.KINDS.items()]
