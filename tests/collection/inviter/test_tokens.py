"""Requests for tokens: every check in its order, one request for each code, no faulty answer."""

import itertools
import os
from dataclasses import replace
from datetime import timedelta
from unittest import mock

import pytest

from incrowd.collection.inviter import app, signing
from incrowd.collection.inviter.store import (
    MOST_ANSWERS,
    CodeState,
    InviterStore,
    PreparedRequest,
    SigningDecision,
    decide,
)
from incrowd.collection.mixer.store.keys import FullError
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.tokens import TokenRequest
from tests.oracles import mixers
from tests.oracles.inviting import CODES, OCTETS, Inviter, bundle, pending

CODE_AT = 32
VALUE_AT = CODE_AT + 16


def changed(request, at, new):
    return request[:at] + new + request[at + len(new) :]


def no_roots():
    """A signature would be a failure: nothing may be computed before the checks."""
    return mock.patch.object(app, "sign_blinded", side_effect=AssertionError("RSA came first"))


@pytest.mark.slow
def test_the_answer_is_what_the_keys_of_the_bundle_sign(inviter):
    """Compared with another way to the same numbers: z^d modulo n, by definition."""
    person = pending()
    status, tokens = inviter.post(person.request)
    blinded = TokenRequest.parse(person.request, bundle()).blinded
    expected = [
        pow(int.from_bytes(z), pow(65537, -1, (key.p - 1) * (key.q - 1)), key.p * key.q)
        for z, key in zip(blinded, mixers.private_keys(bundle()), strict=True)
    ]
    assert status == 200
    assert tokens == b"".join(number.to_bytes(256) for number in expected)
    upload = person.upload(tokens, bundle(), range(bundle().places))
    assert len(upload.sealed) == bundle().places


def test_checks_come_in_their_order(inviter):
    """A request with every fault is refused for the first; each repair shows the next one."""
    opens, closes = as_time(bundle().opens), as_time(bundle().closes)
    good, used = pending().request, pending(CODES[1])
    assert inviter.post(used.request)[0] == 200
    for _ in range(MOST_ANSWERS - 1):
        inviter.post(used.request)
    high = changed(good, VALUE_AT, b"\xff" * 256)
    unknown = changed(high, CODE_AT, b"9" * 16)
    elsewhere = changed(unknown, 0, bytes(32))
    cases = [
        (opens - timedelta(1), elsewhere[:-1], "length"),
        (opens - timedelta(1), elsewhere, "bundle"),
        (opens - timedelta(1), unknown, "not-open"),
        (closes, unknown, "closed"),
        (opens, unknown, "code-unknown"),
        (opens, changed(high, CODE_AT, CODES[1]), "code-used"),
        (opens, used.request, "too-often"),
        (opens, high, "token"),
    ]
    with no_roots():
        for moment, body, name in cases:
            inviter.now = moment
            assert inviter.post(body)[1] == name
    inviter.now = opens
    assert inviter.post(good)[0] == 200, "no refusal used the code"


def test_values_that_are_too_large_use_nothing(inviter):
    """In any place: of the last message as of the entry. The number below is signed."""
    good = pending().request
    for number, key in enumerate(bundle().token_keys):
        at = VALUE_AT + 256 * number
        with no_roots():
            assert inviter.post(changed(good, at, key.encoded)) == (403, "token")
    smaller = (bundle().token_keys[0].modulus - 1).to_bytes(256)
    assert inviter.post(changed(good, VALUE_AT, smaller))[0] == 200


def test_a_code_gets_tokens_for_one_request_only(inviter):
    one, other = pending(), pending()
    status, tokens = inviter.post(one.request)
    with no_roots():
        assert inviter.post(other.request) == (409, "code-used")
    assert inviter.post(one.request) == (status, tokens)


def test_of_requests_that_come_at_once_one_is_answered(inviter):
    bodies = [pending().request for _ in range(4)]
    statuses = sorted(answer.status_code for answer in inviter.together(*bodies))
    assert statuses == [200, 409, 409, 409]


@pytest.mark.slow
def test_the_same_request_is_answered_twenty_times(inviter):
    body = pending().request
    answers = [answer for _ in range(2) for answer in inviter.together(*[body] * 11)]
    found = [answer.content for answer in answers if answer.status_code == 200]
    assert len(found) == 20 and len(set(found)) == 1
    inviter.start()
    assert inviter.post(body) == (429, "too-often"), "a restart does not forget how often"


def test_a_kill_between_commit_and_answer_changes_nothing(inviter):
    """The code is used before the first root; afterwards the same request gets its answer."""
    person = pending()
    killed = mock.patch.object(app, "sign_blinded", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(BaseException):  # noqa: B017 (what ends the process)
        inviter.post(person.request)
    inviter.runner.close()
    inviter.runner = type(inviter.runner)()
    inviter.start()
    assert inviter.post(pending().request) == (409, "code-used")
    assert inviter.post(person.request) == (200, mixers.answer(person.request, bundle()))


def test_signing_before_the_commit_would_answer_two_requests(inviter):
    """The wrong order: a process that is killed after the answer forgets it."""
    one, other = pending(), pending()
    with mock.patch.object(InviterStore, "take", lambda *_: [SigningDecision.SIGN]):
        inviter.start()
        assert inviter.post(one.request)[0] == 200
    inviter.start()
    assert inviter.post(other.request)[0] == 200, "the test above would find it"


@pytest.mark.slow
def test_a_faulty_signature_never_leaves(inviter):
    """One of the roots is computed incorrectly; none of the others is answered either."""
    root, places = signing._root, range(bundle().places + 1)
    codes = [f"{1000 + place:016d}".encode() for place in places]
    inviter.store.invite(codes)
    for flipped, code in zip(places, codes, strict=True):
        number = itertools.count()

        def faulty(z, private, flipped=flipped, number=number):
            return root(z, private) ^ (next(number) == flipped)

        with mock.patch.object(signing, "_root", faulty):
            assert inviter.post(pending(code).request) == (500, "fault"), flipped
        assert inviter.post(pending(code).request) == (409, "code-used"), flipped


def test_nothing_is_answered_if_nothing_could_be_stored(inviter):
    full = FullError.of("database", "shared.no-path", type="full")
    with no_roots(), mock.patch.object(InviterStore, "take", side_effect=full):
        inviter.start()
        assert inviter.post(pending().request) == (507, "full")


def test_other_bodies_and_methods_are_refused(inviter):
    body = pending().request
    assert inviter.together(body, headers={"Content-Type": "text/plain"})[0].status_code == 415
    assert inviter.get("/tokens").status_code == 405
    assert inviter.get("/upload").status_code == 404


def test_pages_of_any_host_may_ask(inviter):
    (answer,) = inviter.together(
        pending().request, headers=OCTETS | {"Origin": "https://p.example"}
    )
    assert answer.headers["access-control-allow-origin"] == "*"


def test_the_bundle_is_shown_and_the_service_is_ready(inviter):
    assert inviter.get("/bundle").content == bundle().encoded
    assert (inviter.get("/health").text, inviter.get("/ready").text) == ("ok\n", "ready\n")


def test_neither_codes_nor_requests_are_in_the_database(inviter):
    person = pending()
    inviter.post(person.request)
    assert not left(inviter, CODES[0], person.request[VALUE_AT : VALUE_AT + 32])
    (inviter.settings.folder / "wrong").write_bytes(CODES[0])
    assert left(inviter, CODES[0]) == ["wrong"]


def left(inviter, *secrets):
    return [
        path.name
        for path in inviter.settings.folder.rglob("*")
        if path.is_file() and any(secret in path.read_bytes() for secret in secrets)
    ]


# --- decisions -----------------------------------------------------------------------------------


def by_one(requests, before):
    """The table of the protocol, one request after another."""
    codes, found = dict(before), []
    for tag, id, in_range in requests:
        if tag not in codes:
            found.append("code-unknown")
        elif codes[tag][0] and codes[tag][0] != id:
            found.append("code-used")
        elif codes[tag][1] == 20:
            found.append("too-often")
        elif not in_range:
            found.append("token")
        else:
            codes[tag] = id, codes[tag][1] + 1
            found.append("sign")
    return found, codes


def test_decisions_about_all_groups_of_three():
    before = {b"new": (None, 0), b"used": (b"1", 19)}
    kinds = list(itertools.product((b"new", b"used", b"none"), (b"1", b"2"), (True, False)))
    states = {tag: CodeState(*state) for tag, state in before.items()}
    for requests in itertools.product(kinds, repeat=3):
        decisions, changed = decide(itertools.starmap(PreparedRequest, requests), states)
        found, codes = by_one(requests, before)
        assert [decision.value for decision in decisions] == found
        after = {tag: (state.request, state.answers) for tag, state in changed.items()}
        assert before | after == codes


def test_codes_are_tagged_with_the_key(tmp_path):
    """Two inviters with the same codes store nothing in common."""
    first, second = (Inviter(tmp_path / name) for name in "ab")
    request = TokenRequest(CODES[0], (os.urandom(256),) * (bundle().places + 1))
    one, other = first.store.prepare(request), second.store.prepare(request)
    assert one.tag != other.tag and one.id != other.id
    assert first.store.prepare(replace(request, code=CODES[1])).tag != one.tag
    for each in (first, second):
        each.close()
