"""What is said of a shuffler's folder, its store and the file about a collection."""

import sqlite3
from contextlib import closing
from pathlib import Path
from unittest import mock

from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from incrowd.collection.folders import check_exists
from incrowd.collection.invitations import new_invitations
from incrowd.collection.inviter.store import InviterStore
from incrowd.collection.mixer import setup
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.mixer.keeper import Keeper, make_release
from incrowd.collection.mixer.store import tables
from incrowd.collection.mixer.store.database import opened
from incrowd.collection.mixer.store.keys import Secrets, database_errors, load_secret
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.serving import listening
from incrowd.collection.settings import (
    FirstMixerSettings,
    ShufflerSettings,
    load_settings,
)
from incrowd.collection.steady import CertainClock
from incrowd.sampling.keystream import Keystream
from tests.messages.shared import command, file, with_variable
from tests.oracles import mixers, services
from tests.oracles.make_vectors import CONFIGURATION, INVITED, OPEN, PLAN, SHUFFLER
from tests.oracles.make_vectors import bundle as made_bundle

TERMS = {
    "title": "Habits",
    "questions": INVITED.wording.questions,
    "period": "November 2026",
    "opens": "2026-11-01T00:00:00Z",
    "closes": "2026-11-30T23:59:59Z",
    "disposes": "2026-12-31T00:00:00Z",
    "codes": True,
    "shuffler": "https://mix.example",
    "collector": "https://count.example",
    "key_configuration": CONFIGURATION.encoded.hex(),
}
SECRETS = Secrets.of(bytes(32))


def terms(**changes):
    return lambda _: make_bundle(PLAN, ShufflerTerms(**TERMS | changes))


def stated(text):
    return lambda folder: ShufflerTerms.load(file(folder, "c.toml", text))


def installed(folder, bundle=INVITED):
    settings = ShufflerSettings(folder=folder / "shuffler")
    setup.install(settings, bundle, SHUFFLER)
    return settings


def first_mixer(folder, key=mixers.FIRST):
    settings = FirstMixerSettings(folder=folder / "first")
    setup.create(settings, key)
    return settings


def bundle_taken(folder, *, changed=False, key=mixers.FIRST, content=None):
    """What a first mixer says of the inviter's bundle."""
    settings, path = first_mixer(folder, key), folder / "bundle.json"
    path.write_bytes(content or mixers.bundle().encoded)
    setup.take_bundle(settings, path)
    if changed:
        path.write_bytes(mixers.bundle(period="Another").encoded)
        setup.take_bundle(settings, path)


def twice(folder):
    setup.install(installed(folder), INVITED, SHUFFLER)


def another_bundle(folder):
    Store(opened(installed(folder).url), OPEN)


def of_another_kind(folder):
    """A shuffler that is given the database of an inviter."""
    url = f"sqlite:///{folder}/other.sqlite"
    InviterStore.create(url, SECRETS, INVITED)
    Store(opened(url), INVITED)


def created_in(url):
    return lambda folder: Store.create(url.format(folder=folder), SECRETS, INVITED)


def damaged(change):
    """A store whose file was changed before it is opened."""

    def call(folder):
        settings = installed(folder)
        change(settings.folder / "store.sqlite")
        setup.open_store(settings)

    return call


def of_version_two(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE incrowd_store SET version = 2")


def without_tables(folder):
    with closing(sqlite3.connect(folder / "other.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE others (a)")
    return f"sqlite:///{folder}/other.sqlite"


def deleted_while_open(folder, connected=True):
    settings = installed(folder)
    store = setup.open_store(settings)
    if not connected:
        store.engine.dispose()
    (settings.folder / "store.sqlite").unlink()
    try:
        store.check(1)
    finally:
        store.engine.dispose()


def without_secret(folder):
    settings = installed(folder)
    settings.secret_file.unlink()
    setup.open_store(settings)


def taking_without_secret(folder):
    setup.open_store(installed(folder)).__class__._secrets(mock.Mock(secrets=None))


def colliding_for_ever(folder):
    store = setup.open_store(installed(folder))
    with mock.patch.object(Store, "_accept", lambda *_: None):
        store.accept([])


def changed_release(folder):
    """A signed release whose body is gone."""
    bundle = made_bundle(wanted=None, codes=False)
    settings = installed(folder, bundle)
    store = setup.open_store(settings)
    keeper = Keeper(store, settings, CertainClock(lambda: as_time(bundle.closes)), lambda *_: False)
    store.close(lambda _: ([(0,)], ()))
    with mock.patch("incrowd.collection.protocol.release.Header.check"):
        settings.releases.mkdir()
        keeper._key.sign(b"")
        store.release((0,), bytes(64 + 138))
    keeper.look()


def full(_):
    cause = sqlite3.OperationalError("full")
    cause.sqlite_errorname = "SQLITE_FULL"
    with database_errors():
        raise OperationalError("INSERT", None, cause)


def confirmed(time):
    def call(folder):
        installed(folder)
        command("confirm-clock", time, folder / "shuffler")

    return call


def row_missing(folder):
    store = setup.open_store(installed(folder))
    with store.engine.begin() as connection:
        connection.execute(update(tables.counts).values(people=1))
    make_release(store, (0,), folder, Keystream.from_system(), SHUFFLER)


CASES = {
    "confirm-clock: no time": confirmed("tomorrow"),
    "confirm-clock: another time": confirmed("2020-01-01T00:00:00Z"),
    "confirm-clock: no service": lambda folder: command(
        "confirm-clock", "2020-01-01T00:00:00Z", folder
    ),
    "init: colluding": terms(codes=False),
    "init: one host": terms(collector="https://mix.example/count"),
    "init: a time": terms(opens="tomorrow"),
    "init: a key is missing": stated("title = 'a'"),
    "init: a question without words": terms(questions={}),
    "init: a folder in use": twice,
    "settings: an unknown key": lambda folder: load_settings(
        ShufflerSettings, file(folder, "shuffler.toml", "prot = 80").parent
    ),
    "settings: an unknown variable": lambda folder: with_variable(
        ShufflerSettings, folder, "INCROWD_SHUFLER_PORT", "80"
    ),
    "settings: no TOML": lambda folder: load_settings(
        ShufflerSettings, file(folder, "shuffler.toml", "port = ").parent
    ),
    "init: an unknown key": stated("titel = 'a'"),
    "settings: port": lambda folder: with_variable(
        ShufflerSettings, folder, "INCROWD_SHUFFLER_PORT", "x"
    ),
    "folder: empty": lambda folder: setup.open_store(ShufflerSettings(folder=folder)),
    "first mixer: folder: empty": lambda folder: setup.open_store(first_mixer(folder)),
    "first mixer: no bundle": lambda folder: setup.take_bundle(
        first_mixer(folder), folder / "bundle.json"
    ),
    "first mixer: another bundle": lambda folder: bundle_taken(folder, changed=True),
    "first mixer: another key": lambda folder: bundle_taken(folder, key=SHUFFLER),
    "first mixer: a shuffler's bundle": lambda folder: bundle_taken(
        folder, content=INVITED.encoded
    ),
    "store: another bundle": another_bundle,
    "store: another kind of store": of_another_kind,
    "store: another key": damaged(lambda path: (path.parent / "store.key").write_bytes(bytes(32))),
    "store: a later version": damaged(of_version_two),
    "store: missing": damaged(Path.unlink),
    "store: empty": damaged(lambda path: path.write_bytes(b"")),
    "store: no database": damaged(lambda path: path.write_bytes(b"no database " * 1000)),
    "store: without tables": lambda folder: Store(opened(without_tables(folder)), INVITED),
    "store: deleted while open": deleted_while_open,
    "store: deleted between connections": lambda folder: deleted_while_open(folder, False),
    "store: in memory": created_in("sqlite://"),
    "store: in no folder": created_in("sqlite:///{folder}/none/store.sqlite"),
    "store: secret": without_secret,
    "store: secret is gone": taking_without_secret,
    "store: reports that collide for ever": colliding_for_ever,
    "store: secret of another length": lambda _: Secrets.of(b""),
    "store: no secret": lambda folder: load_secret(folder / "store.key"),
    "store: a changed row": lambda _: SECRETS.unbox(bytes(60), bytes(32)),
    "store: full": full,
    "store: a row is missing": row_missing,
    "bundle: merged strata with noise of services": lambda _: services.bundle(small_strata="merge"),
    "release: changed": changed_release,
    "invitations: open survey": lambda folder: new_invitations(
        setup.open_store(installed(folder, OPEN)), 1
    ),
    "invitations: none": lambda folder: command("invitations", "0", "-o", folder / "c.csv"),
    "run: a key was deleted": lambda folder: check_exists(folder / "store.key"),
    "run: port": lambda _: listening("shuffler", "192.0.2.1", 80),
}
