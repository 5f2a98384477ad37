"""The services of a rehearsal, with one shuffler or with two mixers: their folders and processes.

Each service has a folder of its own, named after it, in the folder of the rehearsal. One party runs
all of them, so the bundle promises the local guarantee only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from incrowd.collection.collector.app import application as collector
from incrowd.collection.collector.keeper import keep_bundle
from incrowd.collection.collector.places import CollectorPlaces, load_private, new_key
from incrowd.collection.inviter.app import application as inviter
from incrowd.collection.inviter.init import MixersTerms, make_mixers_bundle
from incrowd.collection.inviter.setup import install as install_inviter
from incrowd.collection.inviter.setup import open_store as open_inviter
from incrowd.collection.inviter.store import InviterStore
from incrowd.collection.mixer import setup
from incrowd.collection.mixer.app import application as mixer
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.mixer.second.app import application as second_mixer
from incrowd.collection.mixer.second.keeper import keep_bundle as keep_second_bundle
from incrowd.collection.mixer.second.keeper import make_keys
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.protocol.bundle import TIME, Bundle, MixersBundle, as_time
from incrowd.collection.settings import (
    CollectorSettings,
    FirstMixerSettings,
    InviterSettings,
    MixerSettings,
    SecondMixerSettings,
    ShufflerSettings,
)
from incrowd.collection.steady import CertainClock
from incrowd.files import write_private
from incrowd.plans import Plan
from incrowd.survey.toml import read_toml

LOOK = 0.2  # seconds between two checks
ALL_SENT = "all-sent"  # a file in the folder of a rehearsal that closes its collection
DAY = timedelta(days=1)

ServiceMaker = Callable[[Path], Starlette]


@dataclass(frozen=True)
class PreparedCollection:
    """A collection whose folders are complete, so that its services can start.

    inviting: opens the store of codes. uploads: opens the store of uploads. secrets: the files of
    keys that no longer exist when everything is opened.
    """

    bundle: Bundle
    inviting: Callable[[], Store | InviterStore]
    uploads: Callable[[], Store]
    secrets: tuple[Path, ...]


@dataclass(frozen=True)
class Parties:
    """The services of a kind of collection.

    services: by name, what creates the application for a service's folder; the collector is the
    last. prepare: creates keys, bundle, and folders, given a plan, the folder of the rehearsal,
    the addresses of the services, and the text above the questions.
    """

    services: Mapping[str, ServiceMaker]
    prepare: Callable[[Plan, Path, Mapping[str, str], str], PreparedCollection]


def with_separate_parties(bundle: Bundle) -> Bundle:
    """Return the bundle of a rehearsal as if a different party ran each service."""
    if isinstance(bundle, MixersBundle):
        elsewhere = {
            role: getattr(bundle, role).model_copy(update={"address": f"https://{role}.example"})
            for role in RUNS
        }
        return bundle.model_copy(update=elsewhere)
    return bundle.model_copy(update={"local_only": False})


def new_token(folder: Path) -> str:
    """Write a new dashboard token into a collector's settings; return it."""
    token = secrets.token_hex(16)
    write_private(CollectorSettings.file(folder), f'token = "{token}"\n'.encode())
    return token


def _clock(folder: Path, bundle: Bundle) -> CertainClock:
    """Return a clock with the time of this machine, and with that of closing after all sent."""
    closes, end = as_time(bundle.closes), folder.parent / ALL_SENT
    return CertainClock(lambda: closes if end.exists() else datetime.now(UTC))


def _terms(plan: Plan, introduction: str) -> dict[str, Any]:
    """Return what the terms of all rehearsals state. introduction: the text above the questions.

    Their clock closes them when all have sent."""
    now = datetime.now(UTC)
    return {
        "title": plan.survey.name,
        "questions": {q.id: plan.survey.text_of(q.id) for q in plan.survey.questions},
        "introduction": introduction,
        "period": "a demonstration",
        "opens": (now - timedelta(minutes=1)).strftime(TIME),
        "closes": (now + DAY).strftime(TIME),
    }


def _collector(folder: Path) -> Starlette:
    places = CollectorPlaces(folder)
    bundle = keep_bundle(places, None)
    file = CollectorSettings.file(folder)
    token = read_toml(file, "settings")["token"] if file.exists() else None
    settings = CollectorSettings(workers=1, token=token)
    private = load_private(places.private, bundle)
    return collector(folder, bundle, private, settings, _clock(folder, bundle))


def _mixer(settings: MixerSettings) -> Starlette:
    store = setup.open_store(settings)
    return mixer(store, store.bundle, settings, _clock(settings.folder, store.bundle))


# --- one shuffler --------------------------------------------------------------------------------


def _shuffler(folder: Path) -> Starlette:
    return _mixer(ShufflerSettings(folder=folder, pause=LOOK))


def _with_shuffler(
    plan: Plan, folder: Path, addresses: Mapping[str, str], introduction: str = ""
) -> PreparedCollection:
    places, settings = (
        CollectorPlaces(folder / "collector"),
        ShufflerSettings(folder=folder / "shuffler"),
    )
    stated = _terms(plan, introduction)
    terms = ShufflerTerms(
        **stated,
        disposes=stated["closes"],
        codes=True,
        local_only=True,
        shuffler=addresses["shuffler"],
        collector=addresses["collector"],
        key_configuration=new_key(places).encoded.hex(),
    )
    new = make_bundle(plan, terms)
    setup.install(settings, new.bundle, new.private)
    keep_bundle(places, settings.bundle_file)

    def store() -> Store:
        return setup.open_store(settings)

    return PreparedCollection(new.bundle, store, store, (settings.secret_file,))


# --- two mixers ----------------------------------------------------------------------------------


def _inviter(folder: Path) -> Starlette:
    settings = InviterSettings(folder=folder, pause=LOOK)
    store = open_inviter(settings)
    return inviter(store, settings, _clock(folder, store.bundle))


def _first_mixer(folder: Path) -> Starlette:
    return _mixer(FirstMixerSettings(folder=folder, pause=LOOK))


def _second_mixer(folder: Path) -> Starlette:
    settings = SecondMixerSettings(folder=folder, pause=LOOK, workers=1)
    bundle = keep_second_bundle(settings, None, datetime.now(UTC))
    return second_mixer(settings, bundle, _clock(folder, bundle))


def _with_mixers(
    plan: Plan, folder: Path, addresses: Mapping[str, str], introduction: str
) -> PreparedCollection:
    """Create the keys of each party; the inviter makes the bundle, and the others copy it."""
    of_inviter = InviterSettings(folder=folder / "inviter")
    of_first = FirstMixerSettings(folder=folder / "first-mixer")
    of_second = SecondMixerSettings(folder=folder / "second-mixer")
    places = CollectorPlaces(folder / "collector")
    key = setup.make_keys(of_first)
    configuration = {"key_configuration": new_key(places).encoded.hex()}
    terms = MixersTerms(
        **_terms(plan, introduction),
        disposes=(datetime.now(UTC) + 2 * DAY).strftime(TIME),
        runs=RUNS,
        inviter={"address": addresses["inviter"]},
        first={"address": addresses["first-mixer"]} | key,
        second={"address": addresses["second-mixer"]} | make_keys(of_second),
        collector={"address": addresses["collector"]} | configuration,
    )
    new = make_mixers_bundle(plan, terms)
    install_inviter(of_inviter, new.bundle, new.keys)
    setup.take_bundle(of_first, of_inviter.bundle_file)
    keep_second_bundle(of_second, of_inviter.bundle_file, datetime.now(UTC))
    keep_bundle(places, of_inviter.bundle_file)
    return PreparedCollection(
        new.bundle,
        lambda: open_inviter(of_inviter),
        lambda: setup.open_store(of_first),
        (*of_inviter.private_files, of_first.secret_file, *of_second.private_files, places.private),
    )


RUNS = {
    role: f"this machine, as {name}"
    for role, name in {
        "inviter": "inviter",
        "first": "first mixer",
        "second": "second mixer",
        "collector": "collector",
    }.items()
}
PARTIES = {
    1: Parties({"shuffler": _shuffler, "collector": _collector}, _with_shuffler),
    2: Parties(
        {
            "inviter": _inviter,
            "first-mixer": _first_mixer,
            "second-mixer": _second_mixer,
            "collector": _collector,
        },
        _with_mixers,
    ),
}
