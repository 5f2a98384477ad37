"""Releases as a shuffler signs them, and what collections state of those they came in."""

import hashlib

from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed, check_body, sign
from incrowd.collection.taking import Taking
from incrowd.plans.claims import ClaimedRelease, Claims
from tests.oracles import make_vectors
from tests.oracles.make_vectors import INVITED, PEOPLE, RECEIVER, SHUFFLER, seal


def digest(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


def claims(bundle="a bundle", **changes):
    given = {"codes": True, "colluding": 0, "local_only": False, "places": 1, "tail": 0.0}
    return Claims(bundle=digest(bundle), **given | changes)


def stated_release(name="a release", people=2000, strata=(0,), **changes):
    return ClaimedRelease(claims=claims(**changes), id=digest(name), people=people, strata=strata)


# --- on the wire ---------------------------------------------------------------------------------


def parse_release(data, bundle):
    """The signed header and the sealed reports of a whole release, in their order, checked."""
    signed, start = Signed.parse(Header, data)
    signed.check(bundle)
    body, size = data[start:], bundle.sealed_length
    check_body(signed.header, bundle, len(body), hashlib.sha256(body).digest())
    return signed, tuple(body[at : at + size] for at in range(0, len(body), size))


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


def arrived(folder, bundle, data):
    """The places of a collector in a new folder, with a release that it has taken."""
    places = CollectorPlaces(folder / "collector")
    places.root.mkdir(parents=True)
    places.private.write_bytes(RECEIVER.secret)
    places.bundle.write_bytes(bundle.encoded)
    with Taking(bundle, places.releases(bundle)) as taking:
        taking.add(data)
        taking.done()
    return places
