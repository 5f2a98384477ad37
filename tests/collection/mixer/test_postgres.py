"""The same on PostgreSQL: a real server, several processes' worth of connections at once."""

import multiprocessing
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from sqlalchemy import func, select

from incrowd.collection.mixer import setup
from incrowd.collection.mixer.store import tables
from incrowd.collection.mixer.store.writing import UploadOutcome
from incrowd.collection.protocol.upload import Upload
from tests.collection.mixer.conftest import INVITED, MERGED, Site, sealed, upload

PEOPLE = 60
MANY = 5_000  # groups: more than are sent before a closing


@pytest.fixture
def site(tmp_path, postgres):
    made = Site(tmp_path, invitations=100, database=postgres.database())
    yield made
    made.close()


def people(count, stratum=0, first=0):
    return [upload(INVITED, n, stratum, n) for n in range(first, first + count)]


def test_a_collection_from_the_first_upload_to_the_end_of_the_key(site):
    given = people(25)
    assert site.post(*given, given[0]) == [201] * 25 + [200]
    assert site.post(given[3]) == [200]
    assert site.post(Upload(given[0].entry, 0, sealed(INVITED, "other"))) == [409]
    assert site.delete(given[0]) == 204
    assert site.post(upload(INVITED, "x", 0, 1000)) == [403]
    site.look_at("closes")
    site.look_at("disposes")
    [(strata, (signed, reports))] = site.collector.releases().items()
    assert strata == (0,) and signed.header.people == 24
    assert sorted(reports) == sorted(each for one in given[1:] for each in one.sealed)
    assert not site.settings.secret_file.exists()


@pytest.mark.slow
def test_processes_that_share_a_database_store_everybody_once(tmp_path, postgres):
    """Every upload is sent by four at the same time, in another order and other groups."""
    site = Site(tmp_path, MERGED, database=postgres.database())
    uploads = [upload(MERGED, n, n % 2) for n in range(PEOPLE)]

    def process(seed):
        store = setup.open_store(site.settings)
        mine, random = list(uploads), Random(seed)
        random.shuffle(mine)
        found = []
        while mine:
            size = random.randint(1, 9)
            found += store.take(mine[:size])
            mine = mine[size:]
        store.engine.dispose()
        return found

    with ThreadPoolExecutor(4) as pool:
        outcomes = [one for found in pool.map(process, range(4)) for one in found]
    assert outcomes.count(UploadOutcome.STORED) == PEOPLE
    assert outcomes.count(UploadOutcome.REPEATED) == 3 * PEOPLE
    assert [s.people for s in site.store.strata()] == [PEOPLE // 2] * 2
    site.look_at("closes")
    came = [each for _, reports in site.collector.releases().values() for each in reports]
    assert sorted(came) == sorted(each for one in uploads for each in one.sealed)
    site.close()


@pytest.mark.slow
def test_closing_waits_for_uploads_in_flight_and_shuts_out_the_next(tmp_path, postgres):
    """Four stores take uploads while a fifth closes: who is told 201 is in the release."""
    site = Site(tmp_path, MERGED, database=postgres.database())
    early = [upload(MERGED, f"early {n}") for n in range(30)]
    assert set(site.post(*early)) == {201}

    def process(seed):
        store = setup.open_store(site.settings)
        stored, outcomes = [], set()
        for number in range(MANY):
            mine = upload(MERGED, f"{seed} {number}")
            [outcome] = store.take([mine])
            outcomes.add(outcome)
            if outcome is UploadOutcome.CLOSED:
                break
            stored += [mine] if outcome is UploadOutcome.STORED else []
            time.sleep(0.002)  # on a busy machine, senders without pauses would hold up the closing
        store.engine.dispose()
        return stored, outcomes

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(process, seed) for seed in range(4)]
        while site.store.strata()[0].people < 60:
            time.sleep(0.005)
        site.look_at("closes")
        found = [each.result() for each in running]
    kept = early + [one for stored, _ in found for one in stored]
    [(_, (signed, reports))] = site.collector.releases().items()
    assert signed.header.people == len(kept)
    assert sorted(reports) == sorted(each for one in kept for each in one.sealed)
    assert all(UploadOutcome.CLOSED in outcomes for _, outcomes in found), "nobody came too late"
    site.close()


def send_until_closed(settings, seed, pipe):
    """A process of its own: says when it has stored the first ten, and what became of all."""
    store, outcomes = setup.open_store(settings), {}
    for number in range(MANY):
        outcomes[number] = store.take(at_once(seed, number))
        if number == 9:
            pipe.send("ready")
        if UploadOutcome.CLOSED in outcomes[number]:
            break
    store.engine.dispose()
    pipe.send(outcomes)


def at_once(seed, number):
    """Uploads of one group: two of this process, and one that both processes send."""
    own = [upload(MERGED, f"{seed} {number} {each}", each) for each in range(2)]
    return [*own, upload(MERGED, f"both {number}", number % 2)]


def test_two_processes_and_a_closing_lose_nobody_and_count_nobody_twice(tmp_path, postgres):
    """Real processes; the first closes both strata while they send."""
    site = Site(tmp_path, MERGED, database=postgres.database())
    pipes, spawn = [], multiprocessing.get_context("spawn")
    for seed in range(2):
        here, there = spawn.Pipe()
        spawn.Process(target=send_until_closed, args=(site.settings, seed, there)).start()
        pipes.append(here)
    assert [pipe.recv() for pipe in pipes] == ["ready"] * 2
    site.look_at("closes")
    told = [pipe.recv() for pipe in pipes]
    assert all(UploadOutcome.CLOSED in found[max(found)] for found in told), "nobody came too late"
    stored = Counter(
        one
        for seed, found in enumerate(told)
        for number, outcomes in found.items()
        for one, outcome in zip(at_once(seed, number), outcomes, strict=True)
        if outcome is UploadOutcome.STORED
    )
    assert set(stored.values()) == {1}, "an upload of both is stored by one of them"
    released = site.collector.releases().values()
    assert sum(signed.header.people for signed, _ in released) == len(stored)
    came = [each for _, reports in released for each in reports]
    assert sorted(came) == sorted(each for one in stored for each in one.sealed)
    site.close()


def test_the_server_writes_no_key_into_its_log(site, postgres):
    given = people(5)
    site.post(*given, *given)
    site.post(Upload(given[0].entry, 0, (*given[1].sealed[:1], *sealed(INVITED, "y")[1:])))
    log = (postgres.folder / "log").read_bytes()
    tags = [site.store.secrets.tag(each) for one in given for each in one.sealed]
    assert not any(tag.hex().encode() in log for tag in tags)
    with site.store.engine.connect() as connection:
        rows = connection.scalar(select(func.count()).select_from(tables.reports))
    assert rows == 5 * INVITED.places
