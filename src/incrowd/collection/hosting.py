"""Run the service of a folder: create what its party has to create, check it, and open it.

The settings file of a service is in its folder, and is named after its command. What others state
is in the folder `given` beside it: the plan and the terms for the service that makes the bundle,
and the bundle for all others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from starlette.types import ASGIApp

from incrowd.collection.collector import app as collecting
from incrowd.collection.collector import keeper as collector_keeper
from incrowd.collection.collector.dashboard import PATH as DASHBOARD
from incrowd.collection.collector.places import CollectorPlaces, load_private, new_key
from incrowd.collection.folders import BUNDLE, exclusive
from incrowd.collection.inviter import app as inviting
from incrowd.collection.inviter import setup as inviter_setup
from incrowd.collection.inviter.init import MixersTerms, make_mixers_bundle
from incrowd.collection.machine import MachineFinding, protect, system
from incrowd.collection.mixer import app as mixing
from incrowd.collection.mixer import setup as mixer_setup
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.mixer.second import app as second_mixing
from incrowd.collection.mixer.second import keeper as second_keeper
from incrowd.collection.page.serving import WithPage
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.settings import (
    SERVICES,
    CollectorSettings,
    FirstMixerSettings,
    InviterSettings,
    SecondMixerSettings,
    ServiceSettings,
    ShufflerSettings,
    load_settings,
)
from incrowd.collection.steady import CertainClock, waiting
from incrowd.errors import UsageError
from incrowd.files import destroy, is_taken, write_private
from incrowd.plans import Plan
from incrowd.reports.locking import locked
from incrowd.verification import check_certificate

GIVEN = "given"  # in the folder of a service: what others state
PROCESS = "host.pid"  # there, while the service runs
CREATING = "creating"  # there, while keys are created
PLAN, TERMS = "plan.json", "collection.toml"  # there, for the service that makes the bundle


class OpenedService(NamedTuple):
    """A service that is ready to listen. lines: what to say when it does, beside its address."""

    bundle: Bundle
    application: ASGIApp
    lines: tuple[str, ...] = ()


class ServiceFolder(NamedTuple):
    """A service's settings and its folder, which contains their file."""

    settings: Any
    root: Path

    @property
    def given(self) -> Path:
        """The folder of what others state."""
        return self.root / GIVEN


class ServiceKind(NamedTuple):
    """How a kind of service starts.

    public: the file that others need of it: public keys, or the bundle if this service makes it.
    private: the other files that are created with it: keys, and an empty store. create: creates all
    of them. adopt: copies a bundle that was made elsewhere,
    the first time. opened: the service until the block ends; None if everything is done. findings:
    the checks of its machine and folder.
    """

    public: Callable[[ServiceFolder], Path]
    private: Callable[[ServiceFolder], tuple[Path, ...]]
    create: Callable[[ServiceFolder], object]
    adopt: Callable[[ServiceFolder, Path], object] | None
    opened: Callable[[ServiceFolder], AbstractContextManager[OpenedService | None]]
    findings: Callable[[ServiceFolder], list[MachineFinding]]


def with_settings(settings_file: Path) -> ServiceFolder:
    """Return the settings in a file, and their folder.

    Raises UsageError if it is not named after a service, does not exist, or has mistakes.
    """
    kinds = {kind.command: kind for kind in SERVICES}
    if settings_file.stem not in kinds or settings_file.suffix != ".toml":
        names = [f"{name}.toml" for name in kinds]
        raise UsageError.of(
            "settings", "collection.settings-name", value=str(settings_file), names=names
        )
    if not settings_file.is_file():
        raise UsageError.of("settings", "collection.no-settings", file=str(settings_file))
    return of_folder(kinds[settings_file.stem], settings_file.parent)


def of_folder(kind: type[ServiceSettings], folder: Path) -> ServiceFolder:
    """Return the settings of a service, and its folder."""
    return ServiceFolder(load_settings(kind, folder), folder)


def kind_of(place: ServiceFolder) -> ServiceKind:
    """Return how the service of a folder starts."""
    return KINDS[type(place.settings)]


def prepare(place: ServiceFolder) -> Path | None:
    """Create what is missing and can be created, and adopt a bundle in `given`.

    Returns the new file that others need. Nothing that exists is changed, except that the rest of a
    first start that was killed is destroyed. One process at a time.
    """
    kind, bundle = kind_of(place), place.given / BUNDLE
    with locked(place.root / "prepare"):
        created = kind.public(place) if is_new(place) else None
        if created:
            _create(place, kind)
        if kind.adopt and bundle.exists():
            kind.adopt(place, bundle)
    return created


def _create(place: ServiceFolder, kind: ServiceKind) -> None:
    """Create what a service has to create. A file marks that this has begun: without it, keys that
    are there are not those of a start that was killed, and stay."""
    begun, private = place.root / CREATING, kind.private(place)
    if begun.exists():
        for path in private:
            if not path.is_symlink():
                destroy(path)
    if not any(map(is_taken, private)):
        write_private(begun, b"", overwrite=True)
    try:
        kind.create(place)
    finally:
        if kind.public(place).exists() or not any(map(is_taken, private)):
            begun.unlink(missing_ok=True)


def is_new(place: ServiceFolder) -> bool:
    """Return whether a service was never started in a folder."""
    return not has_bundle(place) and not kind_of(place).public(place).exists()


def has_bundle(place: ServiceFolder) -> bool:
    """Return whether the service has its bundle, so that it can start."""
    return (place.root / BUNDLE).exists()


def certified_terms(place: ServiceFolder) -> tuple[Plan, Path]:
    """Return the plan that others state, whose certificate holds, and the file of the terms."""
    file = place.given / PLAN
    plan = Plan.load(file)
    check_certificate(plan, str(file))
    return plan, place.given / TERMS


@contextmanager
def alone(place: ServiceFolder) -> Iterator[None]:
    """Lock a folder against other processes of `incrowd host`, and record which one has it.

    The file of the record is locked only when it is written, so that the id in a locked file is
    never that of a process before. Raises UsageError if another process has the lock.
    """
    with ExitStack() as held:
        try:
            held.enter_context(locked(place.root / "host", patience=2.0))
        except UsageError:
            folder = str(place.root)
            raise UsageError.of("folder", "collection.host-runs", folder=folder) from None
        write_private(place.root / PROCESS, str(os.getpid()).encode(), overwrite=True)
        held.enter_context(locked(place.root / PROCESS))
        yield
        (place.root / PROCESS).unlink(missing_ok=True)


def process_in(folder: Path) -> int | None:
    """Return the id of the process of `incrowd host` that runs in a folder; None if none does."""
    file = folder / PROCESS
    if not file.exists():
        return None
    with locked(folder / "host.look"):  # one at a time: who looks is not taken for the service
        try:
            with locked(file, patience=0.0):
                return None  # it was killed
        except UsageError:
            text = file.read_text(encoding="ascii") if file.exists() else ""
            return int(text) if text.isdecimal() else None


# --- shuffler, first mixer, inviter --------------------------------------------------------------


def _stored(
    open_store: Callable[[Any], Any], application: Callable[[Any, Any], ASGIApp]
) -> Callable[[ServiceFolder], AbstractContextManager[OpenedService | None]]:
    """Return how a service opens that stores what devices send."""

    @contextmanager
    def opened(place: ServiceFolder) -> Iterator[OpenedService]:
        settings = place.settings
        protect()
        store = open_store(settings)
        lines = waiting(settings.clock_file, as_time(store.bundle.closes))
        service = application(store, settings)
        if settings.page:
            service = WithPage(service, store.bundle)
        yield OpenedService(store.bundle, service, tuple(lines))
        store.engine.dispose()

    return opened


def _mixer(store: Any, settings: Any) -> ASGIApp:
    return mixing.application(store, store.bundle, settings)


def _bundle(place: ServiceFolder) -> Path:
    return place.root / BUNDLE


def _create_shuffler(place: ServiceFolder) -> None:
    plan, terms = certified_terms(place)
    new = make_bundle(plan, ShufflerTerms.load(terms))
    mixer_setup.install(place.settings, new.bundle, new.private)


def _create_inviter(place: ServiceFolder) -> None:
    plan, terms = certified_terms(place)
    stated = MixersTerms.load(terms)
    inviter_setup.check_unused(place.settings)
    new = make_mixers_bundle(plan, stated)
    inviter_setup.install(place.settings, new.bundle, new.keys)


def _private(place: ServiceFolder) -> tuple[Path, ...]:
    """Return the private keys of a service that signs, and its default store.

    A key elsewhere is only one with the usual name: settings that somebody else wrote could name
    any file, which a first start must not destroy.
    """
    settings = place.settings
    keys = (
        path
        for path in settings.private_files
        if path != settings.secret_file or path.name == settings.secret_name
    )
    store = (place.root / f"store.sqlite{ending}" for ending in ("", "-wal", "-shm"))
    return (*keys, *store)


def _public_of_mixer(place: ServiceFolder) -> Path:
    settings: FirstMixerSettings | SecondMixerSettings = place.settings
    return settings.public_file


def _create_first(place: ServiceFolder) -> None:
    mixer_setup.make_keys(place.settings)


def _take_first(place: ServiceFolder, bundle: Path) -> None:
    if not place.settings.bundle_file.exists():
        mixer_setup.take_bundle(place.settings, bundle)


def _check_mixer(place: ServiceFolder) -> list[MachineFinding]:
    return mixer_setup.check(place.settings, mixer_setup.open_store(place.settings))


def _check_inviter(place: ServiceFolder) -> list[MachineFinding]:
    return inviter_setup.check(place.settings, inviter_setup.open_store(place.settings))


# --- second mixer, collector ---------------------------------------------------------------------


def _create_second(place: ServiceFolder) -> None:
    second_keeper.make_keys(place.settings)


def _take_second(place: ServiceFolder, bundle: Path) -> None:
    second_keeper.keep_bundle(place.settings, bundle, system())


@contextmanager
def _second(place: ServiceFolder) -> Iterator[OpenedService]:
    bundle = second_keeper.keep_bundle(place.settings, None, system())
    protect()
    with exclusive(place.root, second_keeper.SERVICE):
        yield OpenedService(bundle, second_mixing.application(place.settings, bundle))


def _check_second(place: ServiceFolder) -> list[MachineFinding]:
    bundle = second_keeper.keep_bundle(place.settings, None, system())
    return second_keeper.check_machine(place.settings, bundle, CertainClock(system))


def _public_of_collector(place: ServiceFolder) -> Path:
    return CollectorPlaces(place.root).public


def _private_of_collector(place: ServiceFolder) -> tuple[Path, ...]:
    return (CollectorPlaces(place.root).private,)


def _create_collector(place: ServiceFolder) -> None:
    new_key(CollectorPlaces(place.root))


def _take_collector(place: ServiceFolder, bundle: Path) -> None:
    collector_keeper.keep_bundle(CollectorPlaces(place.root), bundle)


@contextmanager
def _collector(place: ServiceFolder) -> Iterator[OpenedService | None]:
    places = CollectorPlaces(place.root)
    bundle = collector_keeper.keep_bundle(places, None)
    if collector_keeper.is_complete(places, bundle, system()) and not places.private.exists():
        yield None
        return
    protect()
    # Nothing here may refer to the private key: the service forgets it when everything is open.
    service = collecting.application(
        place.root, bundle, load_private(places.private, bundle), place.settings
    )
    lines = (f"dashboard at {DASHBOARD}; it asks for the token",) if place.settings.token else ()
    with exclusive(place.root, "collector"):
        yield OpenedService(bundle, service, lines)


def _check_collector(place: ServiceFolder) -> list[MachineFinding]:
    places = CollectorPlaces(place.root)
    bundle = collector_keeper.keep_bundle(places, None)
    return collector_keeper.check_machine(places, bundle, system())


KINDS: dict[type[ServiceSettings], ServiceKind] = {
    ShufflerSettings: ServiceKind(
        _bundle,
        _private,
        _create_shuffler,
        None,
        _stored(mixer_setup.open_store, _mixer),
        _check_mixer,
    ),
    InviterSettings: ServiceKind(
        _bundle,
        _private,
        _create_inviter,
        None,
        _stored(inviter_setup.open_store, inviting.application),
        _check_inviter,
    ),
    FirstMixerSettings: ServiceKind(
        _public_of_mixer,
        _private,
        _create_first,
        _take_first,
        _stored(mixer_setup.open_store, _mixer),
        _check_mixer,
    ),
    SecondMixerSettings: ServiceKind(
        _public_of_mixer, _private, _create_second, _take_second, _second, _check_second
    ),
    CollectorSettings: ServiceKind(
        _public_of_collector,
        _private_of_collector,
        _create_collector,
        _take_collector,
        _collector,
        _check_collector,
    ),
}
