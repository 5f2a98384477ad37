"""What stays: nothing links once the key is gone, and no order tells who came when."""

from itertools import count
from unittest import mock

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import poisson
from sqlalchemy import text

from incrowd.collection.mixer import keeper
from incrowd.collection.mixer.store import writing
from incrowd.collection.mixer.store.keys import Secrets, load_secret
from incrowd.collection.protocol.release import Header
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import mixed, permutation
from tests.collection.mixer.conftest import INVITED, PIECE, Site, content, found, upload
from tests.conftest import slowly
from tests.oracles.make_vectors import SHUFFLER
from tests.oracles.mixing import MERGED

PEOPLE = 50
FALSE_ALARM = 1e-9  # of each test of an order


def people(number):
    return [upload(INVITED, n, 0, n) for n in range(number)]


def marks(uploads):
    """What would tell who was there: pieces of what they sent, and their codes."""
    skip = len(INVITED.key.header)
    sealed = [each[skip : skip + PIECE] for one in uploads for each in one.sealed]
    ends = [each[-PIECE:] for one in uploads for each in one.sealed]
    return sealed + ends + [one.entry for one in uploads]


def tags(uploads, secrets):
    reports = [secrets.tag(each) for one in uploads for each in one.sealed]
    return reports + [secrets.code_tag(one.entry) for one in uploads]


def run_to_the_end(site, uploads):
    site.post(*uploads[: PEOPLE // 2])
    site.post(*uploads[PEOPLE // 2 :])
    site.delete(uploads[0])
    key = site.settings.secret_file.read_bytes()
    while_open = content(site.settings.folder)
    site.look_at("closes")
    site.look_at("disposes")
    return key, while_open


def test_without_the_key_no_file_holds_anything_that_links(tmp_path):
    site, uploads = Site(tmp_path, invitations=PEOPLE), people(PEOPLE)
    key, backup = run_to_the_end(site, uploads)
    after = content(site.settings.folder)
    assert len(site.collector.heard) == 1
    for hay in (backup.replace(key, b""), after):
        assert found(marks(uploads), hay) == 0
    assert found([key], backup) == 1 and found([key], after) == 0
    # With the key everything links: that is why it is destroyed, and what the search can see.
    held = tags(uploads, Secrets.of(key))
    assert found(held, backup) == len(held), "the log keeps what was taken back, too"
    site.close()


class Bare(Secrets):
    """A wrong store: tags are the bytes themselves."""

    def tag(self, sealed):
        return sealed[-32:]

    def code_tag(self, code):
        return code


def test_a_store_without_a_key_is_seen(tmp_path):
    with mock.patch.object(Secrets, "tag", Bare.tag):
        site, uploads = Site(tmp_path, invitations=PEOPLE), people(PEOPLE)
        _, backup = run_to_the_end(site, uploads)
        assert found(marks(uploads), backup) >= (PEOPLE - 1) * INVITED.places
        site.close()


@pytest.mark.slow
def test_on_postgresql_nothing_in_tables_heap_log_and_messages_links(tmp_path, postgres):
    site = Site(tmp_path, invitations=PEOPLE, database=postgres.database())
    uploads = people(PEOPLE)
    key, _ = run_to_the_end(site, uploads)
    site.close()
    after = content(postgres.folder) + content(site.settings.folder)
    assert found(marks(uploads), after) == 0
    held = tags(uploads, Secrets.of(key))
    assert found(held, after) > len(held) // 2, "the write-ahead log holds what was deleted"


# --- order ---------------------------------------------------------------------------------------


def in_places(make):
    """A release in which each report is at the place that `make` gives it."""

    def mixed(pieces, width, keystream, disk):
        body = np.concatenate(list(pieces))
        yield body[np.argsort(make(len(body), keystream))]

    return mixed


def released_order(site, uploads, make=None):
    """For each sealed report, as they arrived, its place in the release."""
    with mock.patch.object(keeper, "mixed", in_places(make) if make else mixed):
        store, folder = site.store, site.settings.releases
        folder.mkdir(exist_ok=True)
        store.close(lambda _: ([(0,)], ()))
        keeper.make_release(store, (0,), folder, Keystream.for_simulation(7), SHUFFLER)
    signed, _ = keeper.Signed.parse(Header, store.start_of(0))
    body, width = keeper.body_file(folder, signed).read_bytes(), INVITED.sealed_length
    place = {body[at : at + width]: at // width for at in range(0, len(body), width)}
    return np.array([[place[each] for each in one.sealed] for one in uploads])


def z_of_ranks(first, second):
    """Spearman's correlation in standard deviations; about normal if the orders are independent."""
    ranks = [np.argsort(np.argsort(each)) for each in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1] * np.sqrt(len(first) - 1))


def z_of_neighbors(places):
    """Squared distances within uploads against those of an independent order."""
    n, (people, each) = places.size, places.shape
    spread = places.var(axis=1, ddof=1).mean()
    expected = n * (n + 1) / 12
    # The variance of a sample variance of a uniform law is about 0.8 / each of its square.
    return float((spread / expected - 1) * np.sqrt(people * each / 0.8))


def suspicious(places, secrets, uploads):
    """The statistics of an order that chance would not give."""
    arrival, flat = np.arange(places.size), places.ravel()
    tags = np.array([int.from_bytes(secrets.tag(x)[:7]) for one in uploads for x in one.sealed])
    limit = -ndtri(FALSE_ALARM / 2)
    measured = {
        "arrival": z_of_ranks(flat, arrival),
        "tags": z_of_ranks(flat, tags),
        "uploads": z_of_neighbors(places),
    }
    return {name for name, z in measured.items() if abs(z) > limit}


def arrival_first(site, uploads):
    """A wrong permutation: the order of arrival, whatever the database gives."""
    arrived = [each for one in uploads for each in one.sealed]
    place = {sealed: at for at, sealed in enumerate(arrived)}
    in_database = [place[sealed] for sealed in site.store.sealed((0,))]
    return lambda count, _: np.array(in_database)


def in_blocks(site, uploads):
    """A wrong one: uploads are mixed with each other, and each stays together."""
    order = arrival_first(site, uploads)

    def blocks(count, keystream):
        moved = permutation(count // INVITED.places, keystream)
        arrived = order(count, keystream)
        return moved[arrived // INVITED.places] * INVITED.places + arrived % INVITED.places

    return blocks


def by_tags(site, uploads):
    """A wrong one: the order of the tags, which the index of the database keeps."""
    tags = [site.store.secrets.tag(sealed) for sealed in site.store.sealed((0,))]
    return lambda count, _: np.argsort(np.argsort(tags))


@pytest.fixture
def arrived(tmp_path):
    site, uploads = Site(tmp_path, invitations=PEOPLE), people(PEOPLE)
    for one in uploads:
        assert site.post(one) == [201]
    yield site, uploads, load_secret(site.settings.secret_file)
    site.close()


@pytest.mark.slow
def test_the_order_of_a_release_says_nothing_of_arrival(arrived):
    site, uploads, secrets = arrived
    assert suspicious(released_order(site, uploads), secrets, uploads) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        (arrival_first, "arrival"),
        *slowly((in_blocks, "uploads"), (by_tags, "tags")),
    ],
)
def test_a_wrong_order_is_seen(arrived, wrong, seen):
    site, uploads, secrets = arrived
    places = released_order(site, uploads, wrong(site, uploads))
    assert seen in suspicious(places, secrets, uploads)


# --- the order in which SQLite stores rows ---------------------------------------------------


def z_of_storage(site, uploads):
    """Of the places of uploads with their arrival: the first report of each stands for it."""
    with site.store.engine.connect() as connection:
        places = {
            bytes(t): at for t, at in connection.execute(text("SELECT tag, place FROM reports"))
        }
    tags = [site.store.secrets.tag(one.sealed[0]) for one in uploads]
    return z_of_ranks([places[tag] for tag in tags], np.arange(len(tags)))


def test_places_in_the_database_say_nothing_of_arrival(arrived):
    site, uploads, _ = arrived
    assert abs(z_of_storage(site, uploads)) < -ndtri(FALSE_ALARM / 2)


def neighbors(site, uploads):
    """How many pairs of neighbors in the database are of one upload."""
    with site.store.engine.connect() as connection:
        tags = [
            bytes(tag)
            for (tag,) in connection.execute(text("SELECT tag FROM reports ORDER BY place"))
        ]
    sender = {
        site.store.secrets.tag(sealed): n for n, u in enumerate(uploads) for sealed in u.sealed
    }
    stored = np.array([sender[tag] for tag in tags])
    return int((stored[1:] == stored[:-1]).sum())


@pytest.mark.slow
@pytest.mark.parametrize("many", [writing.MANY, *slowly(1)])
def test_places_do_not_show_which_reports_came_together(tmp_path, many):
    """At random, a pair is of one upload with probability (places - 1) / (rows - 1); the number is
    nearly Poisson, and the bound has a false-alarm rate below 1e-6. Wrong: rows of few uploads in
    one piece, of which all but one in each upload are such neighbors."""
    site, uploads = Site(tmp_path, invitations=PEOPLE), people(PEOPLE)
    with mock.patch.object(writing, "MANY", many):
        for one in uploads:
            assert site.post(one) == [201]
    expected = INVITED.places - 1
    assert (neighbors(site, uploads) > poisson.isf(1e-6, expected)) == (many == 1)
    site.close()


@pytest.mark.parametrize("many", [writing.MANY, 1])
def test_few_of_a_stratum_are_not_shown_by_many_of_another(tmp_path, many):
    """In one transaction with many uploads of a stratum, one of another. Wrong: all are neighbors,
    so that those of this stratum stay together in the order of the places."""
    site = Site(tmp_path, MERGED)
    uploads = [upload(MERGED, n, int(n == writing.MANY)) for n in range(writing.MANY + 1)]
    with mock.patch.object(writing, "MANY", many):
        site.store.take(uploads)
    with site.store.engine.connect() as connection:
        query = "SELECT place FROM reports WHERE stratum = 1 ORDER BY place"
        places = [place for (place,) in connection.execute(text(query))]
    assert len(places) == MERGED.places
    assert (max(places) - min(places) < 1 << 20) == (many == 1)
    site.close()


@pytest.mark.slow
def test_places_that_count_are_seen(tmp_path):
    """A wrong store: each transaction's places follow those of the one before."""
    site, uploads, counter = Site(tmp_path, invitations=PEOPLE), people(PEOPLE), count(1)

    def counting(rows):
        return as_rows(rows) | {"first": next(counter) << 20}

    as_rows = writing.as_rows
    with mock.patch.object(writing, "as_rows", counting):
        for one in uploads:
            assert site.post(one) == [201]
    assert z_of_storage(site, uploads) > -ndtri(FALSE_ALARM / 2)
    site.close()


# --- the order in which PostgreSQL lays rows down ------------------------------------------------


def z_of_physical_order(site, uploads, make=None):
    """Of the physical order with arrival, and with the places in the release."""
    secrets = load_secret(site.settings.secret_file)
    with site.store.engine.connect() as connection:
        rows = connection.execute(text("SELECT ctid::text, tag FROM reports")).all()
    place = {bytes(tag): tuple(map(int, ctid.strip("()").split(","))) for ctid, tag in rows}
    lain = sorted(place, key=place.__getitem__)
    sealed = [each for one in uploads for each in one.sealed]
    physical = np.array([lain.index(secrets.tag(each)) for each in sealed])
    places = released_order(site, uploads, make and make(site, uploads)).ravel()
    return z_of_ranks(physical, np.arange(len(sealed))), z_of_ranks(physical, places)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [None, *slowly(arrival_first)])
def test_postgresql_keeps_the_order_of_arrival_and_the_release_does_not(tmp_path, postgres, wrong):
    """With the key ctid tells who came when; nothing of it is in a release."""
    site = Site(tmp_path, invitations=PEOPLE, database=postgres.database())
    uploads, limit = people(PEOPLE), -ndtri(FALSE_ALARM / 2)
    for one in uploads:
        assert site.post(one) == [201]
    arrival, released = z_of_physical_order(site, uploads, wrong)
    site.close()
    assert arrival > limit, "rows lie in the order in which they came"
    assert (abs(released) > limit) == (wrong is not None)
