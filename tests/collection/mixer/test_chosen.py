"""A sender who chooses bytes: the encapsulated key is a sealed report's first part, and free.

He wants his reports to stand in a place that he chose, or to be taken for somebody else's.
"""

import hashlib
from unittest import mock

import pytest
from scipy.stats import binom

from incrowd.collection.mixer.store.keys import Secrets, load_secret
from incrowd.collection.protocol.upload import Upload
from tests.collection.mixer.conftest import INVITED, Site, code, upload

PEOPLE = 40
HEAD = len(INVITED.key.header)
LOWEST = bytes(32)  # an encapsulated key that sorts before every other one
FALSE_ALARM = 1e-6


def with_key(one, enc, name):
    """The same person with a chosen encapsulated key, and ciphertexts of his own."""
    rest = INVITED.sealed_length - HEAD - 32
    bodies = (hashlib.shake_256(f"{name}/{n}".encode()).digest(rest) for n in range(INVITED.places))
    return Upload(one.entry, one.stratum, tuple(INVITED.key.header + enc + b for b in bodies))


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path, invitations=PEOPLE + 1)
    yield made
    made.close()


def test_a_copied_key_is_another_report(site):
    """The key of somebody else's report, with another ciphertext: both are there."""
    victim = upload(INVITED, 0, 0, 0)
    thief = with_key(upload(INVITED, 1, 0, 1), victim.sealed[0][HEAD : HEAD + 32], "thief")
    others = [upload(INVITED, n, 0, n) for n in range(2, PEOPLE)]
    assert site.post(victim, thief, *others) == [201] * PEOPLE
    assert site.delete(thief) == 204, "he takes back his own"
    site.look_at("closes")
    [(signed, reports)] = site.collector.releases().values()
    assert signed.header.people == PEOPLE - 1
    assert set(victim.sealed) <= set(reports) and not set(thief.sealed) & set(reports)


def share_in_front(site):
    """How many of the chosen ones stand in the first half of the store's order."""
    honest = [upload(INVITED, n, 0, n) for n in range(PEOPLE // 2)]
    chosen = [
        with_key(upload(INVITED, n, 0, n), LOWEST, str(n)) for n in range(PEOPLE // 2, PEOPLE)
    ]
    assert set(site.post(*honest, *chosen)) == {201}
    rows = list(site.store.sealed([0]))
    mine = {each for one in chosen for each in one.sealed}
    return sum(each in mine for each in rows[: len(rows) // 2]), len(mine)


def is_chance(front, of):
    return FALSE_ALARM / 2 < binom.cdf(front, of, 0.5) < 1 - FALSE_ALARM / 2


def test_nobody_chooses_where_a_report_sorts(site):
    assert load_secret(site.settings.secret_file).tag(b"x") != hashlib.sha256(b"x").digest()
    assert is_chance(*share_in_front(site))


def in_order_of_bytes(_, sealed):
    """A tag that begins with the sender's key, of the usual length."""
    return sealed[HEAD : HEAD + 16] + hashlib.sha256(sealed).digest()[:16]


def test_a_store_in_the_order_of_bytes_is_seen(tmp_path):
    """The wrong variant."""
    with mock.patch.object(Secrets, "tag", in_order_of_bytes):
        site = Site(tmp_path, invitations=PEOPLE)
        assert not is_chance(*share_in_front(site))
        site.close()


def test_one_device_with_many_codes_is_as_many_people_and_no_more(site):
    """Who has one code sends one upload, whatever he puts in."""
    mine = [Upload(code(0), 0, upload(INVITED, f"flood {n}").sealed) for n in range(5)]
    assert site.post(*mine) == [201] + [409] * 4
    assert site.store.strata()[0].people == 1
