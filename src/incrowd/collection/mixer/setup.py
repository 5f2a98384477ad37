"""The folder of a mixer: create it for a bundle, open its store, check its machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine, text

from incrowd.collection.folders import load_signing_key
from incrowd.collection.machine import MachineFinding, clock, memory, modes, room
from incrowd.collection.mixer.keeper import is_over
from incrowd.collection.mixer.store.database import closed_on_error, opened
from incrowd.collection.mixer.store.keys import load_secret, new_secret
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.protocol.bundle import Bundle, MixersBundle, ShufflerBundle
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.upload import upload_length
from incrowd.collection.settings import (
    FirstMixerSettings,
    MixerSettings,
    ShufflerSettings,
    StoreSettings,
)
from incrowd.collection.steady import steadiness
from incrowd.errors import UsageError, unreadable
from incrowd.files import is_taken, private_folder, write_private, write_text
from incrowd.plans.slots import invented
from incrowd.reports.locking import locked

TRIED = 50  # reports that are sealed to see how long it takes


def install(settings: MixerSettings, bundle: Bundle, private: Ed25519PrivateKey) -> None:
    """Create the folder of a bundle, with the keys and an empty store.

    Raises UsageError if the folder already contains a bundle or its keys.
    """
    create(settings, private)
    _fill(settings, bundle)


def create(settings: MixerSettings, private: Ed25519PrivateKey) -> None:
    """Create the folder of a bundle that does not exist yet, with the key that signs.

    Raises UsageError if the folder already contains a bundle or its keys.
    """
    for path in (settings.bundle_file, settings.signing_file, settings.secret_file):
        if is_taken(path):
            raise UsageError.of("folder", "collection.folder-taken", file=str(path))
    private_folder(settings.folder)
    write_private(settings.signing_file, private.private_bytes_raw())


def make_keys(settings: FirstMixerSettings) -> dict[str, str]:
    """Create the folder of a first mixer and its keys; return what the inviter needs of them.

    Raises UsageError if the folder already contains a bundle or keys.
    """
    private = Ed25519PrivateKey.generate()
    create(settings, private)
    public = {"key": private.public_key().public_bytes_raw().hex()}
    write_text(settings.public_file, "".join(f'{name} = "{key}"\n' for name, key in public.items()))
    return public


def take_bundle(settings: FirstMixerSettings, file: Path) -> None:
    """Copy the inviter's bundle to the folder of a first mixer, and create its store.

    Does nothing if it was copied before. Raises UsageError if the file cannot be read, or if the
    folder is for another bundle or contains another key than the bundle.
    """
    try:
        content = file.read_bytes()
        private = Ed25519PrivateKey.from_private_bytes(settings.signing_file.read_bytes())
    except OSError as error:
        raise UsageError.of(
            "bundle",
            "collection.bundle-of-inviter",
            file=str(error.filename),
            reason=unreadable(error),
        ) from None
    with locked(settings.bundle_file):  # other processes may start at the same time
        if not settings.bundle_file.exists():
            _fill(settings, _checked(content, settings, private))
        elif settings.bundle_file.read_bytes() != content:
            raise UsageError.of("bundle", "collection.folder-of-other-bundle", file=str(file))


def _checked(content: bytes, settings: FirstMixerSettings, private: Ed25519PrivateKey) -> Bundle:
    bundle, public = Bundle.parse(content), private.public_key().public_bytes_raw().hex()
    _check_kind(bundle, settings)
    assert isinstance(bundle, MixersBundle)
    if bundle.first.key != public:
        raise UsageError.of(
            ("bundle", "first", "key"),
            "collection.key-of-folder",
            value=bundle.first.key,
            right=public,
        )
    return bundle


def _fill(settings: MixerSettings, bundle: Bundle) -> None:
    """Create the store and its key. The bundle is written last, so this can be repeated."""
    if not settings.secret_file.exists():
        new_secret(settings.secret_file)
    Store.create(settings.url, load_secret(settings.secret_file), bundle)
    write_private(settings.bundle_file, bundle.encoded)


def open_store(settings: MixerSettings) -> Store:
    """Return the store in a folder; without its key after the last release was acknowledged.

    Raises StoreError if the database or a key is missing or another one, ProtocolError if the
    bundle was changed, and UsageError if it is missing, for another kind of mixer, or for another
    key that signs.
    """
    try:
        bundle = Bundle.parse(settings.bundle_file.read_bytes())
    except OSError:
        code = _WITHOUT_BUNDLE[type(settings)]
        raise UsageError.of("folder", code, folder=str(settings.folder)) from None
    _check_kind(bundle, settings)
    store = Store(opened(settings.url), bundle)
    if not is_over(store.strata()):
        with closed_on_error(store):
            store.unlock(load_secret(settings.secret_file))
            load_signing_key(settings.signing_file, _signer(bundle), settings.command)
    return store


def _signer(bundle: Bundle) -> str:
    """Return the public key of what a mixer signs."""
    assert isinstance(bundle, ShufflerBundle | MixersBundle)
    return bundle.shuffler_key if isinstance(bundle, ShufflerBundle) else bundle.first.key


_KINDS: dict[type[MixerSettings], type[Bundle]] = {
    ShufflerSettings: ShufflerBundle,
    FirstMixerSettings: MixersBundle,
}
_WITHOUT_BUNDLE: dict[type[MixerSettings], str] = {
    ShufflerSettings: "collection.shuffler-without-bundle",
    FirstMixerSettings: "collection.first-mixer-without-bundle",
}


def _check_kind(bundle: Bundle, settings: MixerSettings) -> None:
    if not isinstance(bundle, _KINDS[type(settings)]):
        [other] = {kind for kind in _KINDS if kind is not type(settings)}
        raise UsageError.of(
            "bundle", "collection.bundle-of-service", value=bundle.format, service=other.command
        )


QUIET = {  # settings with which PostgreSQL logs no statements or connections
    "log_error_verbosity": ("terse",),
    "log_min_error_statement": ("panic",),
    "log_statement": ("none",),
    "log_min_duration_statement": ("-1",),
    "log_parameter_max_length_on_error": ("0",),
    "log_connections": ("off",),
}


def check(settings: MixerSettings, store: Store) -> list[MachineFinding]:
    """Check the machine of a shuffler; return the findings in a fixed order."""
    looks: list[Callable[[], Iterator[MachineFinding]]] = [
        lambda: modes(_private(settings)),
        lambda: secret_place(settings),
        memory,
        clock,
        lambda: steadiness(settings.clock_file),
        lambda: _room(settings, store),
        lambda: _sealing(store.bundle),
        lambda: database_logs(store.engine),
        lambda: _left(settings, store),
    ]
    return [finding for look in looks for finding in look()]


def secret_place(settings: StoreSettings) -> Iterator[MachineFinding]:
    """Check that the key is on a separate volume, away from backups and old disk blocks."""
    path = settings.secret_file
    if not path.exists():
        yield MachineFinding(
            "the store's key", True, "destroyed: nothing in the database can be linked to a sender"
        )
        return
    separate = path.stat().st_dev != settings.folder.stat().st_dev
    state = "on a separate volume"
    if not separate:
        state = "on the same disk as the database; set secret to a file on a volume in memory"
    yield MachineFinding("the store's key", separate, state)


def _private(settings: MixerSettings) -> Iterable[Path]:
    return settings.folder, settings.signing_file, settings.secret_file, settings.releases


def _room(settings: MixerSettings, store: Store) -> Iterator[MachineFinding]:
    """Check the disk space for three times the crowd: rows, their log, the release; and for three
    copies of invented reports: spread over files, mixed, and the release."""
    bundle = store.bundle
    sent = 3 * bundle.plan.survey.crowd * upload_length(bundle)
    added = invented(bundle.plan) * bundle.envelope_length
    return room(settings.folder, 3 * (sent + added) * len(bundle.strata))


def _sealing(bundle: Bundle) -> Iterator[MachineFinding]:
    """State how many reports this machine will invent, and how long sealing them takes here."""
    number = invented(bundle.plan)
    if not number:
        return
    begun = time.perf_counter()
    for _ in range(TRIED):
        seal(bytes(bundle.shape.length), bundle.key, bundle.digest)
    seconds = (time.perf_counter() - begun) / TRIED * number
    each = "stratum" if len(bundle.strata) > 1 else "release"
    yield MachineFinding(
        "invented reports",
        True,
        f"{number:,} to seal for each {each}, about {seconds:.2g} seconds on this machine",
    )


def database_logs(engine: Engine) -> Iterator[MachineFinding]:
    """Check that PostgreSQL logs no statements or connections."""
    if engine.dialect.name != "postgresql":
        return
    with engine.connect() as connection:
        for name, allowed in QUIET.items():
            value = str(connection.scalar(text(f"SHOW {name}")))
            state, good = f"{name} = {value}", value in allowed
            remedy = "" if good else f"; set {allowed[0]}"
            yield MachineFinding("log of PostgreSQL", good, state + remedy)


def _left(settings: MixerSettings, store: Store) -> Iterator[MachineFinding]:
    """Check that nothing is left after the last release."""
    if not is_over(store.strata()):
        return
    files = [path for path in settings.releases.glob("*.*") if not path.name.startswith(".")]
    rows = store.reports_in(range(len(store.bundle.strata))) + store.issued()
    has_key = settings.secret_file.exists()
    left = [*(["the store's key"] if has_key else []), *(["files"] if files else [])]
    left += ["rows"] if rows else []
    remedy = f"; start it again with `incrowd {settings.command} run`"
    state = ", ".join(left) + remedy if left else "nothing"
    yield MachineFinding("left after the last release", not left, state)
