"""Each service of a collection with two mixers, killed (kill -9) again and again."""

import os
import random
import re
import time
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

import incrowd
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.inviter import setup as inviting
from incrowd.collection.mixer import setup as mixing
from incrowd.collection.protocol.bundle import TIME
from incrowd.collection.protocol.mixing import Batch, Invitations, MixedRelease
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.settings import FirstMixerSettings, InviterSettings, SecondMixerSettings
from incrowd.files import write_private
from tests.oracles import mixers
from tests.oracles.four_services import KEYS, PLAN
from tests.oracles.killing import Peer, Service, at_once, forking
from tests.oracles.mixing import code, read_batch, upload

CROWD = 26
PEOPLE = 40


@pytest.fixture(scope="module")
def start():
    with forking() as start:
        yield start


def bundle(strata=("all",), **peers):
    """It closes tomorrow, which for its services is soon. peers: those that are played, by role."""
    times = (f"{datetime.now(UTC) + timedelta(days=days):{TIME}}" for days in (-1, 1, 30))
    given = dict(zip(("opens", "closes", "disposes"), times, strict=True))
    of = mixers.bundle(PLAN, mixers.SECOND_CLASSICAL, strata=strata, **given)
    content = {name: getattr(of, name) for name in type(of).model_fields}
    played = {
        role: content[role].model_copy(update={"address": peer.address})
        for role, peer in peers.items()
    }
    return type(of)(**content | played)


def quiet(service):
    """What it wrote: no failure that nobody explains."""
    text = service.output.read_text()
    assert not re.search("Traceback|fails with", text), text


# --- inviter -------------------------------------------------------------------------------------


def inviter(start, folder, port, kills, seed):
    """Two devices with each code; one code, one set of tokens, one statement, no key."""
    peer = Peer(Invitations)
    of = bundle(collector=peer)
    settings = InviterSettings(folder=folder / "inviter")
    inviting.install(settings, of, KEYS)
    store = inviting.open_store(settings)
    store.invite(map(code, range(PEOPLE)))
    store.engine.dispose()
    service = Service(start, "inviter", settings.folder, port)
    dummies = [of.shape.dummy] * of.places
    pending = {
        (n, rival): mixers.pending(of, dummies, code=code(n), nonce=os.urandom(32))
        for n in range(PEOPLE // 2)
        for rival in (0, 1)
    }
    service.start_and_wait()
    asked = at_once(lambda who: service.until_answered("/tokens", pending[who].request), pending)
    service.killed_often(kills, seed, before=lambda: len(got(asked.results)) > PEOPLE // 4)
    answers = asked()
    service.eventually(lambda: len(peer.heard) > 1)
    service.eventually(lambda: not any(each.exists() for each in settings.private_files))
    service.kill()
    peer.close()
    quiet(service)
    for who, (answer, _) in answers.items():
        assert answer.status_code in (200, 409, 410), answer.text
        if answer.status_code == 200:
            pending[who].upload(answer.content, of, range(of.places))
    codes = got(answers)
    assert len(codes) == len(set(codes)), "two requests for one code are answered"
    assert len(codes) > PEOPLE // 4
    assert len(set(peer.heard)) == 1
    signed, _ = Signed.parse(Invitations, peer.heard[0])
    signed.check(of)
    unknown = sum(lost and answer.status_code == 410 for answer, lost in answers.values())
    assert signed.header.issued == PEOPLE
    assert len(codes) <= signed.header.used <= len(codes) + unknown
    return service.kills


def got(answers):
    """The codes for which there are tokens."""
    return [n for (n, _), (answer, _) in list(answers.items()) if answer.status_code == 200]


# --- first mixer ---------------------------------------------------------------------------------


def first(start, folder, port, kills, seed):
    """Everybody who was confirmed is in the only batch, once; the key is gone."""
    peer = Peer(Batch)
    of = bundle(second=peer)
    settings = FirstMixerSettings(folder=folder / "first")
    mixing.install(settings, of, mixers.FIRST)
    service = Service(start, "first-mixer", settings.folder, port)
    sent = {n: upload(of, n, 0, n) for n in range(PEOPLE + CROWD)}
    service.start_and_wait()

    def send(number):
        return service.until_answered("/upload", sent[number].encoded(of))

    confirmed = at_once(send, range(CROWD))()
    sending = at_once(lambda n: (slowly(n), send(n))[1], range(CROWD, CROWD + PEOPLE))
    service.killed_often(kills, seed)
    confirmed |= sending()
    service.eventually(lambda: len(peer.heard) > 1)
    service.eventually(lambda: not settings.secret_file.exists())
    service.kill()
    peer.close()
    quiet(service)
    assert len(set(peer.heard)) == 1
    signed, by_stratum = read_batch(peer.heard[0], of)
    there = set(by_stratum[0])
    assert len(there) == len(by_stratum[0]) == signed.header.people[0][1] * of.places
    for number, (answer, lost) in confirmed.items():
        many = sum(each in there for each in sent[number].sealed)
        assert many in (0, of.places), "a part of an upload"
        assert answer.status_code in (200, 201, 410), answer.text
        assert many or answer.status_code == 410, "somebody who was confirmed is lost"
        assert not many or lost or answer.status_code in (200, 201)
    assert there <= {each for one in sent.values() for each in one.sealed}
    return service.kills


def slowly(number):
    """They do not come all at once."""
    time.sleep(random.Random(number).uniform(0, 5))


# --- second mixer --------------------------------------------------------------------------------


@cache
def batch_of():
    """A collector that is played, a batch, and its uploads; once, since it takes a second."""
    peer = Peer(MixedRelease)
    of = bundle(collector=peer)
    people = [mixers.upload(of) for _ in range(CROWD)]
    return peer, of, people, mixers.batch(of, people)


def second(start, folder, port, kills, seed):
    """The batch is released once, in one order; the keys are gone."""
    peer, of, people, (signed, body) = batch_of()
    peer.heard = []
    settings = SecondMixerSettings(folder=folder / "second")
    write_private(settings.secret_file, mixers.SECOND_CLASSICAL.secret)
    write_private(settings.signing_file, mixers.SECOND.private_bytes_raw())
    write_private(settings.bundle_file, of.encoded)
    service = Service(start, "second-mixer", settings.folder, port)
    service.start_and_wait()
    sent = at_once(lambda _: service.until_answered("/batch", signed.encoded + body), [0])
    service.killed_often(kills, seed)
    answer, _ = sent()[0]
    assert answer.text == signed.acknowledgment
    release = settings.releases / "0.body"
    service.eventually(lambda: settings.releases.exists() and not release.exists())
    service.kill()
    quiet(service)
    assert len(peer.heard) > 1 and len(set(peer.heard)) == 1
    assert not any(each.exists() for each in settings.private_files)
    assert not list((settings.folder / "waiting").glob("*.body"))
    header, end = Signed.parse(MixedRelease, peer.heard[0])
    header.check(of)
    rows, width = peer.heard[0][end:], of.row_length
    came = sorted(rows[at : at + width] for at in range(0, len(rows), width))
    reports = mixers.opened(of, people, 0, mixers.SECOND_CLASSICAL)
    assert came == sorted(each.encoded for each in reports)
    return service.kills


# --- collector -----------------------------------------------------------------------------------


@cache
def statements_for_collector():
    """The bundle, the releases of two strata, and the inviter's statement: paths and bytes."""
    of = bundle(strata=("north", "south"))
    plain = [mixers.in_slots(of, [[b"\x01"], [b"\x00"]])] * CROWD
    people = [mixers.upload(of, each, stratum=n) for n in (0, 1) for each in plain]
    batch, _ = mixers.batch(of, people)
    sent = [("/invitations", mixers.invitations(of, 80, 60).encoded)]
    for n in (0, 1):
        reports = mixers.opened(of, people, n, mixers.SECOND_CLASSICAL)
        signed, body = mixers.release(of, reports, batch, stratum=n)
        sent.append(("/release", signed.encoded + body))
    return of, sent


def collector(start, folder, port, kills, seed):
    """Each release is open once, whole, with the inviter's statement; the key is gone."""
    of, statements = statements_for_collector()
    places = CollectorPlaces(folder / "collector")
    write_private(places.private, mixers.COLLECTOR_KEY.secret)
    write_private(places.bundle, of.encoded)
    service = Service(start, "collector", places.root, port)
    service.start_and_wait()
    # The releases arrive one after the other, so that kills meet both arrivals and openings.
    sent = at_once(lambda n: (slowly(n), service.until_answered(*statements[n]))[1], range(3))
    service.killed_often(kills, seed)
    assert {answer.status_code for answer, _ in sent().values()} == {200}
    service.eventually(lambda: not places.private.exists())
    service.kill()
    quiet(service)
    for stratum in (0, 1):
        receipt, _ = load_receipt(places.opened_ones / f"release-{stratum}")
        assert (receipt.opened_people, receipt.issued, receipt.used) == (CROWD, 80, 60)
        reports = incrowd.load_reports(places.opened_ones / f"release-{stratum}")
        assert [[bytes(row) for row in each.packed] for each in reports] == [
            [b"\x01"] * CROWD,
            [b"\x00"] * CROWD,
        ]
    assert not list((places.root / "waiting").glob("*.body"))
    return service.kills


SERVICES = (inviter, first, second, collector)


@pytest.mark.slow
@pytest.mark.parametrize("play", SERVICES, ids=lambda play: play.__name__)
def test_a_service_that_is_killed_a_hundred_times(start, tmp_path, free, play):
    kills = 0
    for seed in range(10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        kills += play(start, folder, free(), 10, seed)
    assert kills >= 100


@pytest.mark.slow
@pytest.mark.parametrize("play", (second, collector), ids=lambda play: play.__name__)
def test_a_service_that_is_killed_twice(start, tmp_path, free, play):
    assert play(start, tmp_path, free(), 2, 0) >= 2
