"""A database that is deleted, emptied, cut or replaced: no service goes on without its store."""

import multiprocessing
import os
import sqlite3
import threading

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from incrowd.cli.app import app
from incrowd.collection.inviter import setup as inviter_setup
from incrowd.collection.inviter.store import InviterStore
from incrowd.collection.mixer import setup as mixer_setup
from incrowd.collection.mixer.store.database import opened
from incrowd.collection.mixer.store.keys import Secrets, StoreError
from incrowd.collection.mixer.store.store import Store
from incrowd.errors import UsageError
from tests.conftest import one_in, slowly
from tests.oracles.inviting import CODES, Inviter, pending
from tests.oracles.mixing import MERGED, Site, two_mixers, upload

SECRETS = Secrets.of(bytes(32))


class Shuffled:
    """A shuffler that stored uploads, and what a device is told by it."""

    setup, store, command = mixer_setup, Store, "shuffler"

    def __init__(self, folder, bundle=MERGED, **more):
        self.site = Site(folder, bundle, **more)
        self.settings, self.bundle, self.count = self.site.settings, bundle, 0
        self.sent = [self.send() for _ in range(30)]

    def send(self):
        self.count += 1
        return self.site.post(upload(self.bundle, self.count, 0, self.invitation))[0]

    @property
    def invitation(self):
        return None if self.bundle is MERGED else self.count

    def ready(self):
        return self.site.request("GET", "/ready").status_code

    @property
    def heard(self):
        return self.site.collector.heard


class FirstMixed(Shuffled):
    command = "first-mixer"

    def __init__(self, folder, **more):
        super().__init__(folder, two_mixers(), **more)


class Invited:
    """An inviter that gave tokens to one of three people."""

    setup, store, command = inviter_setup, InviterStore, "inviter"

    def __init__(self, folder, **more):
        self.site = Inviter(folder, **more)
        self.settings, self.bundle = self.site.settings, self.site.bundle
        self.request = pending(CODES[0]).request
        self.sent = [self.send()]

    def send(self):
        return self.site.post(self.request)[0]

    def ready(self):
        return self.site.get("/ready").status_code

    @property
    def heard(self):
        return self.site.heard


SERVICES = [Shuffled, FirstMixed, Invited]


@pytest.fixture(params=[Shuffled, Invited, *slowly(FirstMixed)])
def service(request, tmp_path):
    made = request.param(tmp_path)
    assert set(made.sent) <= {200, 201} and made.ready() == 200
    yield made
    made.site.close()


of_one_service = pytest.mark.parametrize(
    "service", [Invited, *slowly(Shuffled, FirstMixed)], indirect=True
)


def files(service):
    return sorted(service.settings.folder.glob("store.sqlite*"))


def database(service):
    return service.settings.folder / "store.sqlite"


# --- damage, as it happens to files --------------------------------------------------------------


def deleted(service):
    for path in files(service):
        path.unlink()


def emptied(service):
    deleted(service)
    database(service).touch()


def cut(service):
    os.truncate(database(service), database(service).stat().st_size // 2)


def overwritten(service):
    deleted(service)
    database(service).write_bytes(b"no database " * 1000)


def of_another_bundle(service):
    deleted(service)
    created(service, SECRETS, two_mixers(period="another"))


def of_another_key(service):
    deleted(service)
    created(service, SECRETS, service.bundle)


def of_another_service(service):
    deleted(service)
    kind = Store if service.store is InviterStore else InviterStore
    kind.create(service.settings.url, SECRETS, service.bundle)


def created(service, secrets, bundle):
    service.store.create(service.settings.url, secrets, bundle)


def of_a_later_version(service):
    with sqlite3.connect(database(service)) as connection:
        connection.execute("UPDATE incrowd_store SET version = 2")
    connection.close()


def with_another_key(service):
    service.settings.secret_file.write_bytes(bytes(32))


AT_REST = {
    deleted: r"database: got '.*store.sqlite'; it does not exist; check the address",
    emptied: r"database: got '.*store.sqlite'; it is empty; check the address",
    cut: "database: fails with SQLITE_CORRUPT; it is damaged",
    overwritten: "database: fails with SQLITE_NOTADB; it is damaged",
    of_another_bundle: "database: belongs to another bundle",
    of_another_key: "database: was created with another key",
    of_another_service: "database: belongs to another service",
    of_a_later_version: "database: has version 2; .* version 1",
    with_another_key: "database: was created with another key",
}


@of_one_service
@pytest.mark.parametrize("damage", one_in(3, AT_REST))
def test_a_service_does_not_start_without_its_own_store(service, damage):
    service.site.store.engine.dispose()
    damage(service)
    before = {path: path.read_bytes() for path in files(service)}
    with pytest.raises(StoreError, match=AT_REST[damage]):
        service.setup.open_store(service.settings)
    after = {path: path.read_bytes() for path in files(service) if path.suffix == ".sqlite"}
    assert after == {path: before[path] for path in after}, "it changed what may be restored"
    assert after or damage is deleted


def test_a_wrong_address_of_a_database_creates_no_other_one(service, tmp_path):
    url = f"sqlite:///{tmp_path}/elsewhere.sqlite"
    with pytest.raises(StoreError, match=r"elsewhere.sqlite'; it does not exist"):
        service.setup.open_store(service.settings.model_copy(update={"database": url}))
    assert not list(tmp_path.glob("elsewhere*"))


@pytest.mark.parametrize("content", [None, *slowly(bytes(32), b"short")])
def test_a_service_does_not_start_with_a_key_that_signs_for_nobody(service, content):
    """It would be noticed at closing: then nothing could be released."""
    service.site.store.engine.dispose()
    path = service.settings.signing_file
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(UsageError, match=r"key: got '.*signing.key'; it "):
        service.setup.open_store(service.settings)


@pytest.mark.parametrize("word", [*slowly("run", "check")])
def test_the_commands_say_that_the_database_does_not_exist(service, word):
    service.site.store.engine.dispose()
    deleted(service)
    failed = CliRunner().invoke(app, [service.command, word, str(service.settings.folder)])
    assert isinstance(failed.exception, StoreError) and "it does not exist" in str(failed.exception)


# --- damage while the service runs ---------------------------------------------------------------


def replaced_by_a_copy(service):
    """Its last state, as somebody would restore it."""
    path = database(service)
    copy = path.with_name("copy")
    source, target = sqlite3.connect(path), sqlite3.connect(copy)
    source.backup(target)
    source.close(), target.close()
    copy.replace(path)


def log_deleted(service):
    database(service).with_name("store.sqlite-wal").unlink()


def cut_in_place(service):
    """Also if all of its pages are in memory."""
    with service.site.store.engine.connect() as connection:
        connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert service.ready() == 200
    cut(service)


def emptied_in_place(service):
    os.truncate(database(service), 0)


WHILE_RUNNING = [
    deleted,
    emptied,
    replaced_by_a_copy,
    of_another_bundle,
    of_another_key,
    log_deleted,
    cut_in_place,
    emptied_in_place,
]


@of_one_service
@pytest.mark.parametrize("damage", one_in(3, WHILE_RUNNING))
def test_nothing_is_confirmed_once_the_database_is_not_in_its_place(service, damage, caplog):
    damage(service)
    assert [service.send() for _ in range(3)] == [500] * 3
    assert service.ready() == 503
    assert "stop the service" in caplog.text


@of_one_service
@pytest.mark.parametrize("damage", one_in(3, WHILE_RUNNING))
def test_nothing_is_signed_or_destroyed_for_a_database_that_is_lost(service, damage):
    keys = [path for path in service.settings.folder.iterdir() if path.suffix == ".key"]
    damage(service)
    for moment in ("closes", "disposes"):
        with pytest.raises(StoreError):
            service.site.look_at(moment)
    assert service.heard == [] and keys and all(path.exists() for path in keys)


def test_a_database_that_is_put_back_is_used_again(service):
    path = database(service)
    path.rename(path.with_name("away"))
    assert service.send() == 500 and service.ready() == 503
    path.with_name("away").rename(path)
    assert service.send() in (200, 201) and service.ready() == 200


@pytest.mark.slow
def test_a_database_that_shrinks_by_itself_is_not_taken_for_cut(tmp_path):
    """VACUUM after the last release, which another process may have made."""
    service = Shuffled(tmp_path)
    [service.send() for _ in range(60)]
    with service.site.store.engine.connect() as connection:
        connection.connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert service.ready() == 200
    size, other = database(service).stat().st_size, sqlite3.connect(database(service))
    other.executescript("DELETE FROM reports; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
    other.close()
    assert database(service).stat().st_size < size
    assert service.ready() == 200 and service.send() == 201
    service.site.close()


# --- PostgreSQL ----------------------------------------------------------------------------------


@pytest.fixture(params=[Shuffled, Invited, *slowly(FirstMixed)])
def on_postgres(request, tmp_path, postgres):
    made = request.param(tmp_path, database=postgres.database())
    yield made
    made.site.close()


def change(service, statement):
    engine = opened(service.settings.url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.mark.slow
def test_an_emptied_postgresql_is_not_filled_again(on_postgres):
    change(on_postgres, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    assert on_postgres.send() == 500 and on_postgres.ready() == 503
    for moment in ("closes", "disposes"):
        with pytest.raises(StoreError, match="does not contain a store"):
            on_postgres.site.look_at(moment)
    with pytest.raises(StoreError, match="does not contain a store"):
        on_postgres.setup.open_store(on_postgres.settings)
    assert on_postgres.heard == []


@pytest.mark.slow
def test_another_store_in_the_same_postgresql_takes_nothing(on_postgres):
    change(on_postgres, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    created(on_postgres, SECRETS, on_postgres.bundle)
    assert on_postgres.send() == 500 and on_postgres.ready() == 503
    with pytest.raises(StoreError, match="created with another key"):
        on_postgres.site.look_at("closes")
    assert on_postgres.heard == []


@pytest.mark.parametrize("kind", [Store, InviterStore])
def test_a_database_with_other_tables_is_not_used(postgres, kind):
    url = postgres.database()
    engine = opened(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE codes (a int)"))
    engine.dispose()
    with pytest.raises(StoreError, match="does not contain a store"):
        kind.create(url, SECRETS, two_mixers())


TOGETHER = 4  # processes


def create_at_once(url, begin, told):
    bundle = two_mixers()
    begin.wait()
    try:
        Store.create(url, SECRETS, bundle)
    except Exception as error:
        told.put(f"{type(error).__name__}: {error}")
    else:
        told.put("created")


@pytest.mark.slow
def test_processes_that_create_a_store_together_create_it_once(postgres):
    url, fork = postgres.database(), multiprocessing.get_context("fork")
    begin, told = fork.Barrier(TOGETHER), fork.Queue()
    processes = [
        fork.Process(target=create_at_once, args=(url, begin, told)) for _ in range(TOGETHER)
    ]
    for process in processes:
        process.start()
    assert [told.get(timeout=60) for _ in processes] == ["created"] * TOGETHER
    for process in processes:
        process.join()


def test_first_mixers_that_start_together_share_one_store(tmp_path, postgres):
    """Both copy the bundle, create the key of the store, and fill the database."""
    from incrowd.collection.settings import FirstMixerSettings
    from tests.oracles import mixers

    settings = FirstMixerSettings(folder=tmp_path / "first", database=postgres.database())
    mixer_setup.create(settings, mixers.FIRST)
    file, found = tmp_path / "bundle.json", []
    file.write_bytes(two_mixers().encoded)
    begin = threading.Barrier(TOGETHER)

    def start():
        begin.wait()
        try:
            mixer_setup.take_bundle(settings, file)
            store = mixer_setup.open_store(settings)
            found.append(store.secrets.mark)
            store.engine.dispose()
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=start) for _ in range(TOGETHER)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == TOGETHER and len(set(map(str, found))) == 1, found
    assert isinstance(found[0], bytes)


# --- permissions ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_umask")
@pytest.mark.parametrize("kind", SERVICES)
def test_what_a_service_writes_is_private_whatever_the_umask(tmp_path, kind):
    """Also in a folder that everybody may enter, and in a database elsewhere."""
    folder = tmp_path / ("inviter" if kind is Invited else "shuffler")
    folder.mkdir(mode=0o777)
    service = kind(tmp_path, database=f"sqlite:///{tmp_path}/elsewhere.sqlite")
    found = [*tmp_path.glob("elsewhere*"), *folder.rglob("*")]
    assert len(found) >= 6
    assert {path: oct(path.stat().st_mode & 0o077) for path in found} == dict.fromkeys(found, "0o0")
    service.site.close()
