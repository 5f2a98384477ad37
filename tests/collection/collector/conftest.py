"""Releases of 23 people, right and wrong, for the bundle of the vectors."""

import hashlib

import pytest

from incrowd.collection.collector.places import Places
from incrowd.collection.wire.release import Header, sign
from tests.oracles import make_vectors
from tests.oracles.make_vectors import INVITED, OPEN, PEOPLE, PLAN, RECEIVER, SHUFFLER, seal


def header_of(sealed, bundle=INVITED, **changes):
    people = len(sealed) // bundle.places
    codes = people if bundle.codes else 0
    given = {"bundle": bundle.digest, "people": people, "issued": 3 * codes, "used": codes}
    given |= {"reports": len(sealed), "strata": (0,)}
    return Header(**given | {"body": hashlib.sha256(b"".join(sealed)).digest()} | changes)


def release(sealed, bundle=INVITED, key=SHUFFLER, **changes):
    """The bytes of a release."""
    signed = sign(header_of(sealed, bundle, **changes), key)
    return signed.encoded + b"".join(sealed)


def plaintexts(people=PEOPLE, bundle=INVITED):
    """What they send, in the order of people."""
    return [each for n in range(people) for each in make_vectors.inside(n % 3, bundle)]


def all_sealed(plain, bundle=INVITED):
    return [seal(each, f"report {number}", bundle) for number, each in enumerate(plain)]


@pytest.fixture(scope="session")
def plain():
    return plaintexts()


@pytest.fixture(scope="session")
def sealed(plain):
    return all_sealed(plain)


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path / "collector")


@pytest.fixture
def keyed(places):
    """A folder with the private key of the vectors."""
    places.root.mkdir()
    places.private.write_bytes(RECEIVER.private_bytes_raw())
    places.bundle.write_bytes(INVITED.encoded)
    return places


__all__ = ["INVITED", "OPEN", "PEOPLE", "PLAN", "RECEIVER", "SHUFFLER"]
