"""Taking releases: the same again is the same, another one is a proof, nothing wrong is kept."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.protocol.signed import prove_cheating
from incrowd.collection.taking import Taking
from incrowd.errors import ProtocolError
from tests.collection.collector.conftest import INVITED, release
from tests.conftest import examples
from tests.oracles import make_vectors
from tests.oracles.make_vectors import SHUFFLER


def take(pieces, bundle, places):
    with Taking(bundle, places.releases(bundle)) as taking:
        for piece in pieces:
            taking.add(piece)
        return taking.done()


def files(places):
    return sorted(path for path in places.root.rglob("*") if path.is_file())


@examples(25)
@given(cuts=st.lists(st.integers(0, 30_000), max_size=6))
def test_a_release_in_any_pieces_is_kept_as_it_came(sealed, tmp_path_factory, cuts):
    places, data = CollectorPlaces(tmp_path_factory.mktemp("c")), release(sealed)
    ends = [0, *sorted(cuts), len(data)]
    signed = take((data[a:b] for a, b in pairwise(ends)), INVITED, places)
    assert signed.encoded + places.releases(INVITED).body(signed).read_bytes() == data
    assert [known.encoded for known in places.releases(INVITED).received()] == [signed.encoded]


def test_the_same_again_is_answered_alike_and_kept_once(sealed, places):
    data = release(sealed)
    first = take([data], INVITED, places)
    before = [(path, path.stat().st_mtime_ns) for path in files(places)]
    again = take([data[:50], data[50:]], INVITED, places)
    assert again.acknowledgment == first.acknowledgment
    assert [(path, path.stat().st_mtime_ns) for path in files(places)] == before


def test_the_same_start_with_another_body_is_refused(sealed, places):
    data = release(sealed)
    take([data], INVITED, places)
    with pytest.raises(ProtocolError, match="is not the signed one"):
        take([data[:-1] + bytes([data[-1] ^ 1])], INVITED, places)


@pytest.mark.parametrize("people", [0, 1])
def test_two_headers_for_one_stratum_are_kept_as_a_proof(places, people):
    """One person fewer, or the same people in another order."""
    plain = make_vectors.inside(0) * 24
    sealed = [make_vectors.seal(each, f"two {n}") for n, each in enumerate(plain)]
    first = take([release(sealed)], INVITED, places)
    other = sealed[: len(sealed) - people * INVITED.places][::-1]
    with pytest.raises(ProtocolError, match="both are stored"):
        take([release(other)], INVITED, places)
    proof = places.releases(INVITED).proofs()
    assert len(proof) == 2 and first in proof
    assert prove_cheating(*proof, INVITED)
    assert places.releases(INVITED).received() == [first]
    assert len(list(places.releases(INVITED).waiting.iterdir())) == 1


def test_two_at_once_and_only_one_is_taken(sealed, places):
    """Both had begun when neither was there."""
    shelf = places.releases(INVITED)
    with Taking(INVITED, shelf) as one, Taking(INVITED, shelf) as other:
        one.add(release(sealed))
        other.add(release(sealed[::-1]))
        one.done()
        with pytest.raises(ProtocolError, match="contradiction"):
            other.done()
    assert len(places.releases(INVITED).proofs()) == 2
    assert len(list((places.root / "waiting").iterdir())) == 1


def wrong(sealed):
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    data = release(sealed)
    yield "another key", release(sealed, key=other)
    yield "another bundle", release(sealed, make_vectors.OPEN)
    yield "one person fewer than a release needs", release(sealed[: -INVITED.places])
    yield "one report dropped", release(sealed[:-1])
    yield "one report dropped, the header kept", data[: -INVITED.sealed_length]
    yield "one report replaced after signing", data[:-1] + bytes([data[-1] ^ 1])
    yield "one report added", data + sealed[0]
    yield "the header alone", data[:170]
    yield "less than a header", data[:100]
    yield "nothing", b""


@pytest.mark.parametrize("number", range(10))
def test_a_wrong_release_leaves_nothing(sealed, places, number):
    why, data = list(wrong(sealed))[number]
    with pytest.raises(ProtocolError):
        take([data], INVITED, places)
    assert files(places) == [], why


def test_nothing_is_kept_before_the_signature_is_known(sealed, places):
    with Taking(INVITED, places.releases(INVITED)) as taking:
        with pytest.raises(ProtocolError, match="signature"):
            taking.add(bytes(64) + release(sealed)[64:])
        assert not places.root.exists()


def test_no_more_is_kept_than_the_header_states(sealed, places):
    with Taking(INVITED, places.releases(INVITED)) as taking:
        taking.add(release(sealed))
        with pytest.raises(ProtocolError, match="bytes"):
            taking.add(b"x" * 100_000)
        (path,) = (places.root / "waiting").iterdir()
        assert path.stat().st_size <= len(b"".join(sealed))
    assert files(places) == []


def test_what_a_lost_process_left_does_not_stop_the_next(sealed, places, monkeypatch):
    """The disk fails between the body and the start: then nothing was taken, and it comes again."""
    rename, failures = Path.rename, [None, OSError(28, "No space left on device")]

    def failing(path, target):
        if failures and (error := failures.pop(0)):
            raise error
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OSError, match="No space"):
        take([release(sealed)], INVITED, places)
    assert places.releases(INVITED).received() == []
    signed = take([release(sealed)], INVITED, places)
    assert places.releases(INVITED).body(signed).read_bytes() == b"".join(sealed)


def test_files_are_for_nobody_else(sealed, places):
    mask = os.umask(0)
    try:
        take([release(sealed)], INVITED, places)
    finally:
        os.umask(mask)
    assert {path.stat().st_mode & 0o777 for path in files(places)} == {0o600}


def test_both_releases_of_different_strata_are_taken(sealed, places):
    two = make_vectors.bundle(strata=("a", "b"))
    for number in (0, 1):
        take([release(sealed, two, SHUFFLER, strata=(number,))], two, places)
    assert len(places.releases(two).received()) == 2
    with pytest.raises(ProtocolError, match="strata"):
        take([release(sealed, two, SHUFFLER, strata=(0, 1))], two, places)
