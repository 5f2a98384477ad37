"""Whatever a peer says: it is read, or refused by our own error, without anything secret in it."""

import json
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.collection.protocol import problem
from incrowd.collection.protocol.addresses import Link, checked_address, is_short_of, short
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import X25519, KeyConfiguration, PrivateKey, unseal
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.upload import check_code, code_field, parse_upload
from incrowd.errors import ProtocolError, UsageError
from incrowd.plans.digests import canonical
from tests.collection.protocol.conftest import INVITED, vectors
from tests.conftest import examples
from tests.oracles.releases import parse_release

PRIVATE = PrivateKey(X25519, bytes.fromhex(vectors("keys")["collector"]["private"]))
UPLOAD = bytes.fromhex(vectors("uploads")["right"][0]["bytes"])
RELEASE = bytes.fromhex("".join(vectors("releases")["right"].values()))
SEALED = bytes.fromhex(vectors("sealed")["right"]["sealed"])


def readers():
    """What reads bytes of a peer, and something that it accepts."""
    return {
        "bundle": (Bundle.parse, INVITED.encoded),
        "key configuration": (KeyConfiguration.parse, INVITED.key.encoded),
        "upload": (lambda data: parse_upload(data, INVITED), UPLOAD),
        "sealed": (lambda data: unseal(data, PRIVATE, INVITED.key, INVITED.digest), SEALED),
        "plaintext": (INVITED.shape.read, INVITED.shape.report(1, b"\x15")),
        "release": (lambda data: parse_release(data, INVITED), RELEASE),
        "header": (partial(Signed.parse, Header), RELEASE[:200]),
        "problem": (
            lambda data: problem.parse_document(data, 410),
            problem.document(problem.KINDS["closed"]),
        ),
        "link": (
            lambda data: Link.parse(data.decode("utf-8", "surrogateescape")),
            vectors("bundles")["right"][0]["link"].encode(),
        ),
    }


def changed(data, drawn):
    """Cut, lengthened, or with a few bytes that are others."""
    found = bytearray(data)
    for at, byte in drawn(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)))):
        found[at] = byte
    end = drawn(st.integers(0, len(data)) | st.just(len(data)))
    return bytes(found[:end]) + drawn(st.binary(max_size=8) | st.just(b""))


def check_bytes(name, data):
    """Any bytes, or changed ones of those that are accepted."""
    read, good = readers()[name]
    read(good)
    sent = (
        data.draw(st.binary(max_size=300)) if data.draw(st.booleans()) else changed(good, data.draw)
    )
    try:
        read(sent)
    except (ProtocolError, UsageError) as error:
        assert str(error) and isinstance(error, UsageError) == (name == "link")  # that people type


@pytest.mark.parametrize("name", readers())
@examples(50)
@given(data=st.data())
def test_bytes_are_read_or_refused(name, data):
    check_bytes(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", readers())
@settings(max_examples=1000, deadline=None)
@given(data=st.data())
def test_many_bytes_are_read_or_refused(name, data):
    check_bytes(name, data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(content, at=()):
    """Every place in JSON data, as the keys that lead there."""
    yield at
    pairs = content.items() if isinstance(content, dict) else ()
    pairs = enumerate(content) if isinstance(content, list) else pairs
    for key, inner in pairs:
        yield from places(inner, (*at, key))


def check_value(data):
    """A value in one place of a bundle that is another."""
    content = json.loads(INVITED.encoded)
    *way, last = data.draw(st.sampled_from([at for at in places(content) if at]))
    inner = content
    for key in way:
        inner = inner[key]
    before, inner[last] = inner[last], data.draw(JSON)
    try:
        text = canonical(content)
    except ValueError:
        text = json.dumps(content)
    try:
        found = Bundle.parse(text.encode("utf-8", "surrogatepass"))
    except ProtocolError as error:
        assert str(error)
    else:
        assert inner[last] == before or found.digest != INVITED.digest


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_value_in_any_place_of_a_bundle_is_read_or_refused(data):
    check_value(data)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(data=st.data())
def test_many_values_in_any_place_of_a_bundle_are_read_or_refused(data):
    check_value(data)


def test_deep_and_large_texts():
    for text in (b"[" * 10**6, b'{"a":' * 10**5, b" " * (1 << 25), b"\xff", b"NaN"):
        with pytest.raises(ProtocolError):
            Bundle.parse(text)
        with pytest.raises(ProtocolError):
            problem.parse_document(text, 400)


@pytest.mark.slow
def test_every_flipped_bit_of_a_releases_start_is_seen():
    start = len(vectors("releases")["right"]["start"]) // 2
    for at in range(8 * start):
        wrong = bytearray(RELEASE)
        wrong[at // 8] ^= 1 << at % 8
        with pytest.raises(ProtocolError):
            parse_release(bytes(wrong), INVITED)


def test_every_flipped_bit_of_a_plaintext_is_seen_or_is_the_report():
    """No bit is left by which a sender could be marked."""
    right = INVITED.shape.report(1, b"\x15")
    for at in range(8 * len(right)):
        wrong = bytearray(right)
        wrong[at // 8] ^= 1 << at % 8
        inside = 24 <= at < 24 + INVITED.shape.bits[1]
        other_message = 8 <= at < 24 and wrong[1] == 0 and wrong[2] in (0, 1, 2)
        if inside or other_message:
            INVITED.shape.read(bytes(wrong))
        else:
            with pytest.raises(ProtocolError):
                INVITED.shape.read(bytes(wrong))


def test_a_code_is_in_no_message():
    secret = b"SECRETC0DESECRET"
    for data in (UPLOAD[:32] + secret + UPLOAD[48:], UPLOAD[:32] + b"secret~!" * 2 + UPLOAD[48:]):
        for wrong in (data[:-1], data[:48] + b"\xff\xff" + data[50:], data[:50] + b"?" + data[51:]):
            with pytest.raises(ProtocolError) as found:
                parse_upload(wrong, INVITED)
            assert "secret" not in str(found.value).lower()
        assert "secret" not in repr(parse_upload(data, INVITED)).lower()
    with pytest.raises(ProtocolError) as found:
        check_code(b"secret~!secret~!", INVITED)
    assert "secret" not in str(found.value)
    with pytest.raises(ProtocolError) as found:
        code_field("secret!")
    assert "secret" not in str(found.value)
    link = Link("https://a.example", INVITED.digest, secret.decode())
    assert "SECRET" not in repr(link)


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ("abcd-efgh-jkmn-pqrs", b"ABCDEFGHJKMNPQRS"),
        (" ilo0 1111 OOOO llll ", b"1100111100001111"),
        ("", bytes(16)),
    ],
)
def test_codes_as_people_type_them(typed, field):
    assert code_field(typed) == field


@pytest.mark.parametrize(
    "typed", ["ABCD", "A" * 17, "UUUU-UUUU-UUUU-UUUU", "ä" * 16, "\u2028" * 16]
)
def test_what_is_no_code(typed):
    with pytest.raises(ProtocolError, match="16 letters"):
        code_field(typed)


@pytest.mark.parametrize(
    "address",
    [
        "http://mix.example",
        "https://",
        "https://a b.example",
        "https://user@mix.example",
        "https://mix.example/?a=1",
        "https://mix.example/#",
        "https://mix.example/",
        "https://mix.example:99999",
        "ftp://mix.example",
        "mix.example",
        "https://[::1",
        "http://127.0.0.1.example",
        "https://m\u00fcx.example",
    ],
)
def test_wrong_addresses(address):
    with pytest.raises(ValueError):
        checked_address(address)


@pytest.mark.parametrize(
    "address",
    ["https://mix.example", "https://mix.example:8443/a", "http://127.0.0.1:80", "http://[::1]:8"],
)
def test_addresses(address):
    assert checked_address(address) == address


def test_the_short_form_is_read_as_people_type_it():
    digest = INVITED.digest
    assert is_short_of(short(digest).lower().replace("-", " "), digest)
    assert not is_short_of(short(digest)[:-1], digest) and not is_short_of("?", digest)
    assert len(short(digest).replace("-", "")) == 32
