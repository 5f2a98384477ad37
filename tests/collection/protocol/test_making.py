"""Making uploads and releases: what is made is what is read, in an order that tells nothing."""

import hashlib
import os
from contextlib import suppress
from itertools import permutations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

import incrowd
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.plaintext import Shape, filled
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import X25519, KeyConfiguration, PrivateKey, seal, unseal
from incrowd.collection.protocol.signed import Signed, check_body, sign
from incrowd.collection.protocol.upload import code_field, new_code, sealed_upload, upload_length
from incrowd.errors import ProtocolError
from incrowd.plans.slots import slots
from incrowd.survey.participation import least_reserve
from tests.collection.protocol.conftest import INVITED, OPEN, vectors
from tests.conftest import examples
from tests.oracles import make_vectors, wire
from tests.oracles.releases import parse_release

RECEIVER = PrivateKey(X25519, bytes.fromhex(vectors("keys")["collector"]["private"]))
CODE = vectors("keys")["code"]["text"]


def opened(sealed, bundle=INVITED):
    return unseal(sealed, RECEIVER, bundle.key, bundle.digest)


@examples(30)
@given(order=st.permutations(range(INVITED.places)), number=st.integers(0, 2))
def test_an_upload_holds_the_plaintexts_in_the_given_order(order, number):
    """The other reader opens what the library sealed; all lengths are one."""
    plaintexts = make_vectors.inside(number)
    made = sealed_upload(INVITED, code_field(CODE), 0, plaintexts, order)
    assert [opened(each) for each in made.sealed] == [plaintexts[at] for at in order]
    private = bytes.fromhex(vectors("keys")["collector"]["private"])
    assert wire.unseal(made.sealed[0], private, INVITED.digest) == plaintexts[order[0]]
    assert len(made.encoded(INVITED)) == upload_length(INVITED)


def test_nothing_is_sealed_the_same_twice():
    made = {seal(INVITED.shape.dummy, INVITED.key, INVITED.digest) for _ in range(50)}
    assert len(made) == 50


@pytest.mark.parametrize(
    ("code", "stratum", "number", "order"),
    [
        (CODE, 0, 0, [*range(INVITED.places - 1), 0]),
        (CODE, 0, 0, range(INVITED.places - 1)),
        (CODE, 1, 0, range(INVITED.places)),
        ("", 0, 0, range(INVITED.places)),
    ],
)
def test_a_wrong_upload_is_not_made(code, stratum, number, order):
    with pytest.raises(ProtocolError):
        plaintexts = make_vectors.inside(number)
        sealed_upload(INVITED, code_field(code), stratum, plaintexts, list(order))


def test_a_marked_plaintext_is_not_sealed():
    plaintexts = make_vectors.inside(0)
    plaintexts[-1] = plaintexts[-1][:-1] + b"\x01"
    with pytest.raises(ProtocolError, match="plaintext"):
        sealed_upload(INVITED, code_field(CODE), 0, plaintexts, list(range(INVITED.places)))


def test_more_reports_than_slots_are_drawn_again():
    with pytest.raises(ProtocolError, match="draw all the noise again"):
        filled(Shape((1,)), [1], [[b"\0", b"\1"]])
    assert filled(Shape((1,)), [3], [[b"\1"]]).count(Shape((1,)).dummy) == 2


@pytest.mark.parametrize("packed", [b"", b"\0\0", b"\x40"])
def test_a_report_of_another_length_has_no_plaintext(packed):
    with pytest.raises(ProtocolError, match="plaintext"):
        INVITED.shape.report(0, packed)


def test_what_is_for_one_bundle_opens_in_no_other():
    made = seal(INVITED.shape.dummy, INVITED.key, INVITED.digest)
    assert opened(made) == INVITED.shape.dummy
    with pytest.raises(ProtocolError, match="cannot be opened"):
        opened(made, OPEN)


def test_keys_of_low_order_and_other_lengths_are_refused():
    order_eight = "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"
    for public in (bytes(32), b"\1" + bytes(31), bytes.fromhex(order_eight), bytes(31), bytes(33)):
        with pytest.raises(ProtocolError, match=r"valid X25519 key of 32 bytes .* low order"):
            KeyConfiguration(1, public, X25519)
    with pytest.raises(ProtocolError):
        KeyConfiguration(256, INVITED.key.public, X25519)


def test_codes_are_eighty_bits():
    assert new_code(bytes(10)) == "0" * 16 and new_code(b"\xff" * 10) == "Z" * 16
    found = {new_code(os.urandom(10)) for _ in range(100)}
    assert len(found) == 100 and all(code_field(code).decode() == code for code in found)
    assert len({new_code((1 << bit).to_bytes(10)) for bit in range(80)}) == 80
    with pytest.raises(ProtocolError):
        new_code(bytes(9))


# --- bundles -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("crowd", "reserve"), [(3, 20), (2000, 20), (2001, 21), (10**6, 10_000), (999_999, 10_000)]
)
def test_the_reserve_is_one_percent_rounded_up_and_at_least_twenty(crowd, reserve):
    assert least_reserve(crowd) == reserve


@pytest.mark.parametrize(
    "text", ["2026-02-30T00:00:00Z", "2026-1-1T00:00:00Z", "2026-01-01T00:00:00", "", "now"]
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError):
        as_time(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"wanted": 22},
        {"strata": ("a", "a")},
        {"strata": ()},
        {"small_strata": "keep"},
        {"disposes": "2026-11-30T23:59:58Z"},
        {"colluding": 0},
        {"slots": (21,)},
        {"shuffler_key": "00" * 31},
        {"key_configuration": INVITED.key_configuration.upper()},
    ],
    ids=str,
)
def test_a_bundle_that_contradicts_itself_is_not_made(changes):
    with pytest.raises((ProtocolError, ValueError)):
        make_vectors.bundle(**changes)


def bundle_of(**survey):
    """A bundle for another survey, or the error."""
    raw = {"name": "s", "crowd": 500, "privacy": {"epsilon": 600.0, "analysis": "local"}}
    plan = incrowd.plan(incrowd.Survey.of(raw | survey))
    ids = {question.id: "?" for question in plan.survey.questions}
    wording = {"language": "de", "title": "t", "questions": ids}
    return make_vectors.bundle(plan=plan, colluding=0, slots=slots(plan), wording=wording)


def test_a_person_sends_one_row():
    asked = [{"id": "a", "type": "yesno"}]
    assert bundle_of(question=asked).places == 1
    with pytest.raises(ProtocolError, match="rows_per_person"):
        bundle_of(question=asked, rows_per_person=2)


@pytest.mark.parametrize(("messages", "possible"), [(6, True), (7, False)])
def test_a_person_sends_no_more_reports_than_an_upload_may_hold(messages, possible):
    ids = [f"q{n}" for n in range(messages)]
    asked = [{"id": id, "type": "yesno"} for id in ids]
    groups = [{"questions": [id], "copies": 10_000} for id in ids]
    if possible:
        assert bundle_of(question=asked, message=groups).places == 60_000
    else:
        with pytest.raises(ProtocolError, match="at most 65,536 reports"):
            bundle_of(question=asked, message=groups)


def test_a_bundle_changes_its_digest_with_every_field():
    later = make_vectors.bundle(period="December 2026")
    assert later.digest != INVITED.digest != OPEN.digest
    assert make_vectors.bundle().digest == INVITED.digest


# --- releases ------------------------------------------------------------------------------------

KEY = make_vectors.SHUFFLER


def test_merged_strata_are_released_as_one():
    sealed = [os.urandom(OPEN.sealed_length) for _ in range(23 * OPEN.places)]
    body = b"".join(sealed)
    digest = hashlib.sha256(body).digest()
    header = Header(OPEN.digest, 23, 0, 0, len(sealed), digest, (0, 2))
    signed, found = parse_release(sign(header, KEY).encoded + body, OPEN)
    assert list(found) == sealed and signed.header == header
    for wrong in permutations((0, 2, 3), 2):
        if wrong != (0, 2):
            one = Header(OPEN.digest, 23, 0, 0, len(sealed), digest, wrong)
            with pytest.raises(ProtocolError, match="strata"):
                parse_release(sign(one, KEY).encoded + body, OPEN)


def test_a_signature_of_something_else_is_no_signature_of_a_header():
    """The domain: what the shuffler signs elsewhere is never taken for a release."""
    header, _ = Signed.parse(Header, bytes.fromhex(vectors("releases")["right"]["start"]))
    forged = Signed(KEY.sign(header.header.encoded), header.header)
    assert header.is_of(KEY.public_key()) and not forged.is_of(KEY.public_key())
    assert not header.is_of(Ed25519PrivateKey.generate().public_key())


@pytest.mark.parametrize("length", [-1, 1])
def test_a_body_of_another_length(length):
    signed, _ = Signed.parse(Header, bytes.fromhex(vectors("releases")["right"]["start"]))
    right = signed.header.reports * INVITED.sealed_length
    check_body(signed.header, INVITED, right, signed.header.body)
    with pytest.raises(ProtocolError, match="body"):
        check_body(signed.header, INVITED, right + length, signed.header.body)
    with pytest.raises(ProtocolError, match="body"):
        check_body(signed.header, INVITED, right, bytes(32))


# --- problems ------------------------------------------------------------------------------------


def test_the_answers_to_an_upload_have_the_promised_statuses():
    found = {name: kind.status for name, kind in problem.KINDS.items()}
    for name, status in {"closed": 410, "code-used": 409, "code-unknown": 403}.items():
        assert found[name] == status
    for name in ("closed", "code-used"):
        assert "may already be counted" in problem.KINDS[name].title


def test_a_detail_travels_and_foreign_answers_are_kept():
    kind = problem.KINDS["busy"]
    assert problem.parse_document(problem.document(kind, "in an hour"), 503) == (kind, "in an hour")
    assert problem.parse_document(problem.document(kind, "x"), 502) == (None, "x")
    foreign = b'{"type":"about:blank","title":"Bad gateway"}'
    assert problem.parse_document(foreign, 502) == (None, "Bad gateway")
    for text in (b"<html>", b"[]", b'{"type":1}', b'{"type":"a","detail":2}', b"{" * 10**5):
        with pytest.raises(ProtocolError, match="problem document"):
            problem.parse_document(text, 502)


def test_many_plaintexts_are_read_as_each_of_them():
    """Right ones, wrong ones, and all with one bit of any byte changed."""
    many = [bytes.fromhex(each) for each in make_vectors.wrong_plaintexts().values()]
    right = [plaintext for number in range(3) for plaintext in make_vectors.inside(number)]
    many += right + [
        each[:at] + bytes([each[at] ^ 1 << bit]) + each[at + 1 :]
        for each in right[:8]
        for at in range(len(each))
        for bit in range(8)
    ]
    shape, expected, dummies = INVITED.shape, [[] for _ in INVITED.shape.bits], 0
    many = [each for each in many if len(each) == shape.length]
    for each in many:
        with suppress(ProtocolError):
            found = shape.read(each)
            if found.message is None:
                dummies += 1
            else:
                expected[found.message].append(found.packed)
    every = np.frombuffer(b"".join(many), np.uint8).reshape(len(many), -1)
    packed, counted = shape.read_many(every)
    assert [[row.tobytes() for row in rows] for rows in packed] == expected
    assert counted == dummies > 0 and sum(map(len, expected)) + dummies < len(many)
