"""The first of two mixers: who is admitted, its only batch, and what is left of it.

Wrong variants, which the same checks must reject: a second batch, an upload without a token, a
token of another bundle, a nonce used twice, the order of the database in the batch, an answer
before the commit, a key that stays.
"""

import json
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import httpx
import numpy as np
import pytest
from scipy.stats import chi2
from sqlalchemy import func, select
from typer.testing import CliRunner

from incrowd.cli.app import app as commands
from incrowd.collection.delivery import acknowledgment
from incrowd.collection.mixer import app as service
from incrowd.collection.mixer import keeper, setup
from incrowd.collection.mixer.store import tables, writing
from incrowd.collection.mixer.store.keys import Secrets, StoreError
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.mixer.store.writing import UploadOutcome
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.settings import FirstMixerSettings, ShufflerSettings
from incrowd.errors import UsageError
from tests.conftest import one_in
from tests.oracles import mixers
from tests.oracles.mixing import Site, content, entry, found, sealed, two_mixers, upload
from tests.oracles.simulation import Faults, Killed

FALSE_ALARM = 1e-9
MIXERS = two_mixers(strata=("north", "south", "east"))
LEAST = MIXERS.least_people
PIECE = 16


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path, MIXERS)
    yield made
    made.close()


def people(count, stratum=0, first=0):
    return [upload(MIXERS, n, stratum, n) for n in range(first, first + count)]


def said(site, one, method="POST"):
    answer = site.request(method, "/upload", one.encoded(MIXERS))
    return problem.parse_document(answer.content, answer.status_code)[0].name


def states(site):
    return [stratum.state for stratum in site.store.strata()]


# --- who is admitted -----------------------------------------------------------------------------


def test_a_real_device_is_admitted(site):
    """Tokens that were blinded, signed, and verified by the device, as in the protocol."""
    one = mixers.upload(MIXERS)
    assert site.post(one, one) == [201, 200]


def test_each_check_comes_before_the_next(site):
    one, other = people(2)
    again = replace(other, entry=one.entry)
    unsigned = replace(other, entry=other.entry[:-1] + b"?")
    assert site.post(one) == [201]
    assert said(site, again) == "code-used"
    assert said(site, unsigned) == "token", "the nonce is not looked up"
    assert said(site, replace(other, sealed=(one.sealed[0], *other.sealed[1:]))) == "sealed"
    assert said(site, unsigned, "DELETE") == "token"
    site.now = as_time(MIXERS.closes)
    assert said(site, unsigned) == said(site, one) == "closed"
    assert said(site, unsigned, "DELETE") == "not-found"
    site.now = site.now.replace(year=2020)
    assert said(site, unsigned) == "not-open"


def not_admitted():
    one = people(1)[0]
    other_bundle = entry(two_mixers().digest, 0)
    return {
        "no token": replace(one, entry=bytes(len(one.entry))),
        "another nonce": replace(one, entry=bytes(32) + one.entry[32:]),
        "another bundle": replace(one, entry=other_bundle),
        "a slot token": replace(one, entry=one.entry[:32] + bytes(1) + one.entry[33:]),
    }


@pytest.mark.parametrize("what", not_admitted())
def test_without_an_entry_token_of_this_bundle_nothing_is_stored(site, what):
    assert said(site, not_admitted()[what]) == "token"
    assert said(site, not_admitted()[what], "DELETE") == "token"
    assert rows(site, tables.codes) == rows(site, tables.withdrawn) == 0


def rows(site, table):
    with site.store.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table))


@pytest.mark.parametrize("what", one_in(2, not_admitted()))
def test_a_mixer_that_verifies_nothing_is_seen(site, what):
    """The wrong variant."""
    with mock.patch.object(service, "has_entry", lambda *_: True):
        assert site.post(not_admitted()[what]) == [201]


def test_a_nonce_admits_one_upload(site):
    one = people(1)[0]
    others = [replace(one, sealed=sealed(MIXERS, f"other {n}")) for n in range(3)]
    assert site.post(others[0], one, others[1]) == [201, 409, 409], "in one group"
    assert site.post(others[2], others[0]) == [409, 200]
    assert site.store.strata()[0].people == rows(site, tables.codes) == 1


def test_a_nonce_that_is_not_remembered_is_seen(site):
    """The wrong variant."""
    one = people(1)[0]
    with mock.patch.object(writing, "_mark", lambda *_, **__: True):
        assert site.post(one) == [201]
        assert site.post(replace(one, sealed=sealed(MIXERS, "another"))) == [201]


def test_two_processes_do_not_admit_a_nonce_twice(site):
    """One has looked the nonce up, then the other stores it: what was looked up is looked up again.
    A database like PostgreSQL, whose transactions read what was there before, allows this."""
    one = people(1)[0]
    other = replace(one, sealed=sealed(MIXERS, "another"))
    assert site.post(one) == [201]
    look, stale = writing._codes, iter([True])

    def too_early(connection, uploads):
        known = look(connection, uploads)
        return dict.fromkeys(known, False) if next(stale, False) else known

    with mock.patch.object(writing, "_codes", too_early):
        assert site.store.take([other]) == [UploadOutcome.CODE_USED]
    assert next(stale, None) is None and site.store.strata()[0].people == 1


@pytest.mark.slow
def test_two_processes_on_postgresql_do_not_admit_a_nonce_twice(tmp_path, postgres):
    from concurrent.futures import ThreadPoolExecutor

    site = Site(tmp_path, MIXERS, database=postgres.database())
    stores = [site.store, setup.open_store(site.settings)]
    with ThreadPoolExecutor(2) as pool:
        for number in range(50):
            one = upload(MIXERS, number, 0, number)
            two = replace(one, sealed=sealed(MIXERS, f"other {number}"))
            done = list(pool.map(lambda store, u: store.take([u])[0], stores, (one, two)))
            assert sorted(each.value for each in done) == ["code-used", "stored"]
    stores[1].engine.dispose()
    site.close()


def test_a_withdrawal_is_remembered_by_its_nonce(site):
    one, other = people(2)
    assert site.post(one) == [201] and site.delete(one) == 204
    assert site.post(one) == [410] and said(site, one) == "withdrawn"
    assert site.delete(other) == 204 and said(site, other) == "withdrawn", "it was on its way"
    assert site.store.strata()[0].people == 0


def test_nothing_is_said_before_it_is_durable(site):
    """Whoever is told 201 is counted; the wrong variant answers although nothing was committed."""

    def fails(*_):
        raise StoreError.of("database", "shared.no-path", type="x")

    one = people(1)[0]
    with mock.patch.object(writing, "store", fails):
        assert site.post(one) == [500]
    assert site.store.strata()[0].people == 0 and site.post(one) == [201]


# --- the batch -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_batch_has_every_large_stratum_and_the_rest_is_gone(site):
    given = people(LEAST), people(LEAST - 1, 1, 100), people(LEAST + 1, 2, 200)
    for some in given:
        assert set(site.post(*some)) == {201}
    site.look()
    assert not site.collector.heard, "nothing leaves before closing"
    site.look_at("closes")
    signed, by_stratum = site.collector.batch()
    assert signed.header.people == ((0, LEAST), (2, LEAST + 1))
    for stratum, envelopes in by_stratum.items():
        sent = [each for one in given[stratum] for each in one.sealed]
        assert sorted(envelopes) == sorted(sent) and envelopes != sent
    assert states(site) == ["acknowledged", "deleted", "acknowledged"]
    assert not site.settings.secret_file.exists() and not site.bodies()
    assert rows(site, tables.reports) == rows(site, tables.codes) == 0
    site.look(days=100)
    assert site.collector.batch() and len(site.collector.heard) == 1


def test_if_no_stratum_is_large_enough_nothing_is_sent_and_everything_is_gone(site):
    site.post(*people(LEAST - 1), *people(1, 1, 100))
    site.look_at("closes")
    assert not site.collector.heard and set(states(site)) == {"deleted"}
    assert not site.settings.secret_file.exists() and rows(site, tables.reports) == 0


def test_no_number_of_people_releases_early(site):
    site.post(*people(3 * LEAST))
    site.look(days=10)
    assert not site.collector.heard and states(site) == ["open"] * 3


def late(site, one):
    """An upload that was checked before closing, and reaches the database after it."""
    return site.store.take([one])[0]


def two_batches(site):
    """An upload in flight lifts a small stratum; the clock was wrong, and goes back. How many."""
    site.post(*people(LEAST), *people(LEAST - 1, 1, 100))
    site.collector.away = True
    site.look_at("closes")
    if site.settings.secret_file.exists() and site.store.secrets:
        late(site, upload(MIXERS, 999, 1, 999))
    site.look_at("opens")
    site.post(upload(MIXERS, 998, 1, 998))
    site.collector.away = False
    site.look_at("closes")
    site.look(days=1)
    return len(set(site.collector.heard))


@pytest.mark.slow
def test_an_upload_in_flight_lifts_no_stratum_into_a_second_batch(site):
    assert two_batches(site) == 1
    assert states(site) == ["acknowledged", "deleted", "deleted"]


def test_an_upload_in_flight_is_refused_after_closing(site):
    site.post(*people(LEAST))
    site.collector.away = True
    site.look_at("closes")
    for stratum in range(3):
        assert late(site, upload(MIXERS, 999, stratum, 999)) is UploadOutcome.CLOSED


@pytest.mark.slow
def test_a_mixer_that_keeps_small_strata_signs_a_second_batch(site):
    """The wrong variant: they are deleted later, as by a shuffler."""
    with mock.patch.object(keeper, "outdated", lambda *_: ()):
        assert two_batches(site) == 2


def test_what_arrives_while_it_is_decided_is_decided_again(site):
    """Between the first look and the transaction the stratum becomes large enough."""
    site.post(*people(LEAST), *people(LEAST - 1, 1, 100))
    last, waiting, close = upload(MIXERS, 999, 1, 999), [1], Store.close

    def interrupted(store, decide):
        def slowly(strata):
            decided = decide(strata)
            if waiting and decided[0]:
                waiting.clear()
                assert late(site, last) is UploadOutcome.STORED
            return decided

        return close(store, slowly)

    with mock.patch.object(Store, "close", interrupted):
        site.look_at("closes")
    assert site.collector.batch()[0].header.people == ((0, LEAST), (1, LEAST))


def test_the_same_bytes_are_sent_until_they_are_acknowledged(site):
    site.post(*people(LEAST))
    site.collector.answers_get_lost = True
    site.look_at("closes")
    site.start()
    site.look(hours=2)
    assert site.settings.secret_file.exists() and site.bodies()
    site.collector.answers_get_lost = False
    site.start()
    site.look(hours=2)
    assert len(site.collector.heard) == 3 and site.collector.batch()
    assert not site.settings.secret_file.exists() and not site.bodies()


def test_the_header_is_durable_before_the_first_byte_leaves(site):
    site.post(*people(LEAST))
    seen = []

    def receives(start, body):
        seen.append((site.store.start_of(0) == start, body.exists(), states(site)[0]))
        return True

    site.collector.__class__ = type("Seen", (), {"__call__": lambda _, *sent: receives(*sent)})
    site.look_at("closes")
    assert seen == [(True, True, "released")]


def test_disposal_destroys_a_batch_that_nobody_takes(site):
    site.post(*people(LEAST))
    site.collector.away = True
    site.look_at("closes")
    assert states(site)[0] == "released" and site.bodies()
    site.look_at("disposes")
    assert set(states(site)) == {"deleted"}
    assert not site.settings.secret_file.exists() and not site.bodies()
    assert rows(site, tables.reports) == 0


def test_disposal_destroys_a_batch_whose_file_was_lost(site):
    """What cannot be delivered cannot keep anything either."""
    site.post(*people(LEAST))
    site.collector.away = True
    site.look_at("closes")
    [body] = site.bodies()
    body.unlink()
    site.now = as_time(MIXERS.disposes)
    with pytest.raises(StoreError, match="was changed or deleted"):
        site.keeper.look()
    assert set(states(site)) == {"deleted"} and not site.settings.secret_file.exists()


def test_it_is_posted_to_the_second_mixer(tmp_path):
    body, asked = tmp_path / "x.body", []
    body.write_bytes(b"body")

    @contextmanager
    def stream(_, address, content, **__):
        asked.append((address, b"".join(content)))
        yield httpx.Response(200, content=iter([acknowledgment(b"start").encode()]))

    with mock.patch("httpx.stream", stream):
        assert keeper.onward(MIXERS).courier(tmp_path)(b"start", body)
    assert asked == [("https://second.example/batch", b"startbody")]


# --- kills ---------------------------------------------------------------------------------------


def killed_at(folder, points):
    """A kill at a point of the first look after closing, then another process.

    Returns whether the first was killed, after checking that there is one batch with everybody.
    """
    site, faults = Site(folder, MIXERS), Faults()
    given = people(LEAST)
    site.post(*given, *people(2, 1, 100))
    faults.watch(site.store.engine)
    killed = False
    try:
        with faults.armed(points):
            site.look_at("closes")
    except Killed:
        killed = True
    site.start()
    for _ in range(2):
        site.look(hours=2)
    signed, by_stratum = site.collector.batch()
    assert signed.header.people == ((0, LEAST),)
    assert sorted(by_stratum[0]) == sorted(each for one in given for each in one.sealed)
    assert not site.settings.secret_file.exists() and not site.bodies()
    assert rows(site, tables.reports) == rows(site, tables.codes) == 0
    site.close()
    return killed


@pytest.mark.parametrize("points", one_in(3, range(3, 45, 14)))
def test_a_first_mixer_that_is_killed_at_a_step_sends_one_batch(tmp_path, points):
    assert killed_at(tmp_path, points) or points > 20


@pytest.mark.slow
def test_a_first_mixer_that_is_killed_at_every_step_sends_one_batch(tmp_path):
    points = 0
    while killed_at(tmp_path / str(points), points):
        points += 1
    assert points > 20


def test_a_first_mixer_that_mixes_again_after_a_kill_is_seen(tmp_path):
    """The wrong variant: the header is not durable before the batch leaves."""
    site = Site(tmp_path, MIXERS)
    site.post(*people(LEAST))
    site.collector.answers_get_lost = True
    site.look_at("closes")
    with site.store._writing() as connection:
        connection.execute(tables.releases.delete())
        site.store._set(connection, (0,), state="closing")
    site.look(hours=2)
    with pytest.raises(AssertionError, match="a second batch"):
        site.collector.batch()
    site.close()


# --- the space that envelopes take ---------------------------------------------------------------

LONG = mixers.bundle()  # envelopes are sealed with X-Wing
BY_TAG = """CREATE TABLE by_tag (tag BLOB PRIMARY KEY, stratum INTEGER, mark BLOB, box BLOB)
WITHOUT ROWID"""


def pages(connection):
    """The bytes of all pages of an SQLite database that are in use."""
    names = "page_count", "freelist_count", "page_size"
    all_pages, free, size = (
        connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names
    )
    return (all_pages - free) * size


@pytest.mark.slow
def test_envelopes_are_stored_in_little_more_than_their_length(tmp_path):
    """The wrong variant is a table in the order of tags: long rows then take pages of their own."""
    site = Site(tmp_path, LONG)
    with site.store.engine.begin() as connection:
        empty = pages(connection)
    uploads = [upload(LONG, n, 0, n) for n in range(2 * writing.MANY)]
    assert set(site.post(*uploads)) == {201}
    sent = sum(len(envelope) for one in uploads for envelope in one.sealed)
    with site.store.engine.begin() as connection:
        full = pages(connection)
        connection.exec_driver_sql(BY_TAG)
        wrong = "INSERT INTO by_tag SELECT tag, stratum, mark, box FROM reports"
        connection.exec_driver_sql(wrong)
        copied = pages(connection)
    assert sent < full - empty < 1.5 * sent
    assert copied - full > 2 * sent
    site.close()


# --- the order in the batch ----------------------------------------------------------------------


def p_of_places(site):
    """The p-value that envelopes are where chance puts them, by tag: a chi-squared test of the
    quarter of its stratum in which each of the first quarter, by tag, lies."""
    given = people(2 * LEAST), people(2 * LEAST, 2, 100)
    for some in given:
        site.post(*some)
    tag = site.store.secrets.tag
    site.look_at("closes")
    counts = np.zeros(4)
    _, by_stratum = site.collector.batch()
    for envelopes in by_stratum.values():
        tags = [tag(each) for each in envelopes]
        first = set(sorted(tags)[: len(tags) // 4])
        counts += np.bincount([at * 4 // len(tags) for at, t in enumerate(tags) if t in first],
                              minlength=4)  # fmt: skip
    expected = counts.sum() / 4
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), 3)


def test_the_order_of_the_batch_says_nothing_of_the_database(site):
    """False alarm: 1e-9; draws without replacement vary less than the test assumes."""
    assert p_of_places(site) > FALSE_ALARM


@pytest.mark.slow
def test_the_order_of_the_database_is_seen(site):
    """The wrong variant: the identity permutation."""
    with mock.patch.object(keeper, "mixed", lambda pieces, *_: pieces):
        assert p_of_places(site) < FALSE_ALARM


# --- what is left --------------------------------------------------------------------------------


def marks(uploads):
    """Pieces of what was sent: nonces, tokens, envelopes."""
    skip = len(MIXERS.envelope_key.header)
    pieces = [each[skip : skip + PIECE] for one in uploads for each in one.sealed]
    return pieces + [part for one in uploads for part in (one.entry[:32], one.entry[32:64])]


def run_to_the_end(site, uploads):
    site.post(*uploads)
    site.delete(uploads[0])
    key = site.settings.secret_file.read_bytes()
    backup = content(site.settings.folder)
    site.look_at("closes")
    assert site.collector.batch()
    return key, backup


def test_without_the_key_no_file_links_a_nonce_or_an_envelope(site):
    uploads = people(LEAST + 1)
    key, backup = run_to_the_end(site, uploads)
    after = content(site.settings.folder)
    for hay in (backup.replace(key, b""), after):
        assert found(marks(uploads), hay) == 0
    assert found([key], backup) == 1 and found([key], after) == 0
    secrets = Secrets.of(key)
    tags = [secrets.code_tag(one.entry[:32]) for one in uploads]
    tags += [secrets.tag(each) for one in uploads for each in one.sealed]
    assert found(tags, backup) == len(tags), "with the key everything links"
    assert found(tags, after) == 0


def test_a_store_that_keeps_nonces_is_seen(site):
    """The wrong variant."""
    uploads = people(LEAST + 1)
    with mock.patch.object(Secrets, "code_tag", lambda _, nonce: nonce):
        _, backup = run_to_the_end(site, uploads)
    assert found([one.entry[:32] for one in uploads], backup) >= LEAST


def test_the_key_is_destroyed_before_rows_and_body(site):
    site.post(*people(LEAST))
    order, forget, destroy = [], Store.forget, keeper.destroy

    def forgotten(store):
        order.append(("rows", rows(site, tables.reports) > 0))
        forget(store)

    def destroyed(path):
        order.append(("key", rows(site, tables.reports) > 0 and len(site.bodies()) == 1))
        destroy(path)

    with (
        mock.patch.object(Store, "forget", forgotten),
        mock.patch.object(keeper, "destroy", destroyed),
    ):
        site.look_at("closes")
    assert order == [("key", True), ("rows", True)]


# --- its folder and commands ---------------------------------------------------------------------


def command(*words):
    return CliRunner().invoke(commands, [*map(str, words), "--json"], catch_exceptions=False)


def test_init_makes_a_key_and_run_takes_the_bundle_that_has_it(tmp_path):
    folder, file = tmp_path / "first", tmp_path / "bundle.json"
    done = command("first-mixer", "init", folder)
    key = json.loads(done.stdout)["key"]
    settings = FirstMixerSettings(folder=folder)
    bundle = two_mixers(first={"address": "https://first.example", "key": key})
    file.write_bytes(bundle.encoded)
    for _ in range(2):
        setup.take_bundle(settings, file)
    assert settings.bundle_file.read_bytes() == bundle.encoded
    secret = [settings.secret_file, settings.signing_file, folder / "store.sqlite"]
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}
    findings = json.loads(command("first-mixer", "check", folder).stdout)
    assert findings
    assert f'key = "{key}"' not in done.stderr
    file.write_bytes(MIXERS.encoded)
    with pytest.raises(UsageError, match="the folder belongs to another bundle"):
        setup.take_bundle(settings, file)


def test_a_bundle_with_another_key_is_refused(tmp_path):
    command("first-mixer", "init", tmp_path / "first")
    settings, file = FirstMixerSettings(folder=tmp_path / "first"), tmp_path / "bundle.json"
    file.write_bytes(MIXERS.encoded)
    with pytest.raises(UsageError, match=r"bundle\.first\.key"):
        setup.take_bundle(settings, file)
    assert not settings.bundle_file.exists() and not settings.secret_file.exists()


def test_setup_that_was_interrupted_is_repeated(tmp_path):
    settings, file = FirstMixerSettings(folder=tmp_path / "first"), tmp_path / "bundle.json"
    setup.create(settings, mixers.FIRST)
    file.write_bytes(MIXERS.encoded)
    with (
        mock.patch.object(Store, "create", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        setup.take_bundle(settings, file)
    assert settings.secret_file.exists() and not settings.bundle_file.exists()
    setup.take_bundle(settings, file)
    setup.open_store(settings).engine.dispose()


def test_invitations_of_a_shuffler_are_not_issued_here(site):
    """They would be nonces that nobody signed."""
    with pytest.raises(UsageError, match="first-mixer"):
        setup.open_store(ShufflerSettings(folder=site.settings.folder))
