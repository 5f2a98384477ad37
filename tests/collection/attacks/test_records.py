"""What is in the files and logs of each party, while it works and after the end.

Afterwards, no file of any party contains a code, a nonce, a token, anything sealed, or a key, so
that not even all parties together can link anything by their files. While they work, each party's
files contain what is written here, and nothing that it should never see. A search finds any 8
bytes; a false alarm has a probability below 1e-9. Incorrect variants: parties that do not destroy
their keys, and one that does not delete the batch.
"""

import logging

import pytest

from incrowd.collection.collector import keeper as collector_keeper
from incrowd.collection.collector.keeper import forget
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.inviter import keeper as inviter_keeper
from incrowd.collection.mixer import keeper
from incrowd.collection.mixer.second import keeper as second_keeper
from incrowd.collection.mixer.second.keeper import SecondKeeper
from incrowd.collection.mixer.store.keys import Secrets
from incrowd.files import private_folder, write_private
from tests.collection.attacks.conftest import (
    NOW,
    OF,
    PEOPLE,
    Second,
    marks,
    opened,
    seen,
    take,
)
from tests.oracles import mixers
from tests.oracles.inviting import Inviter
from tests.oracles.mixing import Site, content

# The files of each service at three times, from the first upload to the end, and its keys. What it
# receives comes from honest parties.


def of_inviter(folder, people):
    """After requests, after closing, after disposal."""
    inviter = Inviter(folder, [each.code for each in people], OF)
    settings, store = inviter.settings, inviter.store
    keys = [settings.secret_file.read_bytes(), *(k.encoded.hex().encode() for k in store.keys)]
    for each in people[:3]:
        assert inviter.post(each.pending.request)[0] == 200
    yield keys
    yield content(settings.folder)
    for moment in ("closes", "disposes"):
        inviter.look_at(moment)
        yield content(settings.folder)
    inviter.close()


def of_first_mixer(folder, people):
    """After uploads, while the batch waits, after it was delivered."""
    site = Site(folder, OF)
    yield [site.settings.secret_file.read_bytes()]
    assert {*site.post(*(each.upload for each in people))} == {201}
    yield content(site.settings.folder)
    site.collector.away = True
    site.look_at("closes")
    yield content(site.settings.folder)
    site.collector.away = False
    site.look(hours=2)
    yield content(site.settings.folder)
    site.close()


def of_second_mixer(folder, people):
    """After the batch came, while the release waits, after it was delivered."""
    second = Second(folder / "second")
    yield [path.read_bytes() for path in second.settings.private_files]
    signed, body = mixers.batch(OF, [each.upload for each in people])
    take(signed.encoded + body, second.keeper.shelf, OF)
    yield content(second.folder)
    second.keeper.look()
    yield second.files[0]
    yield content(second.folder)


def of_collector(folder, people):
    """After the release came, after it was opened, after everything was."""
    places = CollectorPlaces(private_folder(folder))
    write_private(places.private, mixers.COLLECTOR_KEY.secret)
    yield [mixers.COLLECTOR_KEY.secret]
    uploads = [each.upload for each in people]
    rows = mixers.opened(OF, uploads, 0, mixers.SECOND_CLASSICAL)
    signed, body = mixers.release(OF, rows, mixers.batch(OF, uploads)[0])
    take(mixers.invitations(OF, PEOPLE, PEOPLE).encoded, places.invitations, OF)
    take(signed.encoded + body, places.releases(OF), OF)
    yield content(places.root)
    opened(places.root, OF)
    yield content(places.root)
    forget(places, OF, NOW)
    yield content(places.root)


def life(party, folder, people):
    """What is in its files at each time."""
    keys, *files = party(folder, people)
    pieces = marks(people) | {"key": keys}
    return [seen(each, pieces) for each in files]


LIVES = {
    of_inviter: [{"key"}, set(), set()],
    of_first_mixer: [{"key"}, {"key", "envelope"}, set()],
    of_second_mixer: [{"key", "envelope"}, {"slot token", "report"}, set()],
    of_collector: [{"key", "slot token", "report"}, {"key"}, set()],
}


@pytest.mark.parametrize("party", LIVES)
def test_no_file_and_no_log_keeps_what_links(people, tmp_path, caplog, party):
    with caplog.at_level(logging.DEBUG):
        assert life(party, tmp_path, people) == LIVES[party]
    assert not seen(caplog.text.encode(), marks(people))


# --- parties that keep what they should destroy --------------------------------------------------


def keeps_its_key(module):
    return lambda patch: patch.setattr(module, "destroy", lambda path: None)


def keeps_the_batch(patch):
    patch.setattr(SecondKeeper, "_settle", SecondKeeper._destroy_keys)


def has_no_key(patch):
    patch.setattr(Secrets, "code_tag", lambda self, code: code)


def slow(*given):
    return pytest.param(*given, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("party", "wrong", "more"),
    [
        slow(of_inviter, keeps_its_key(inviter_keeper), [set(), {"key"}, {"key"}]),
        slow(of_inviter, has_no_key, [{"code"}, set(), set()]),
        slow(of_first_mixer, keeps_its_key(keeper), [set(), set(), {"key"}]),
        (of_first_mixer, has_no_key, [{"nonce"}, {"nonce"}, set()]),
        slow(of_second_mixer, keeps_its_key(second_keeper), [set(), {"key"}, {"key"}]),
        (of_second_mixer, keeps_the_batch, [set(), {"envelope"}, {"envelope"}]),
        (of_collector, keeps_its_key(collector_keeper), [set(), set(), {"key"}]),
    ],
)
def test_what_a_party_keeps_is_seen(people, tmp_path, monkeypatch, party, wrong, more):
    wrong(monkeypatch)
    right = LIVES[party]
    assert life(party, tmp_path, people) == [a | b for a, b in zip(right, more, strict=True)]
