"""What the commands of the services that devices send to share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from incrowd.cli.console import print_findings, say

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from incrowd.collection.inviter.store import InviterStore
    from incrowd.collection.mixer.store.store import Store
    from incrowd.collection.settings import MixerSettings, StoreSettings

AnySettings = TypeVar("AnySettings", bound="StoreSettings")
AnyStore = TypeVar("AnyStore", bound="Store | InviterStore")


BundleFile = Annotated[
    Path | None,
    typer.Option("--bundle", help="The inviter's bundle; needed the first time only."),
]


def run_with_store(
    name: str,
    settings: AnySettings,
    open_store: Callable[[AnySettings], AnyStore],
    application: Callable[[AnyStore], Starlette],
) -> None:
    """Run a service until it is stopped. name: of the service. application: serves its store."""
    from incrowd.collection.machine import protect
    from incrowd.collection.protocol.bundle import as_time
    from incrowd.collection.service import listening, log_discreetly, serve
    from incrowd.collection.steady import waiting

    protect()
    log_discreetly()
    store = open_store(settings)
    with listening(name, settings.host, settings.port) as door:
        host, port = door.getsockname()[:2]
        lines = [f"bundle {store.bundle.digest.hex()}; listening on {host}, port {port}"]
        lines += waiting(settings.clock_file, as_time(store.bundle.closes))
        serve(application(store), door, lambda: say("\n".join(lines)))
    store.engine.dispose()


def run_mixer(settings: MixerSettings) -> None:
    """Receive uploads and pass them on when due, until stopped."""
    from incrowd.collection.mixer.app import application
    from incrowd.collection.mixer.setup import open_store

    def served(store: Store) -> Starlette:
        return application(store, store.bundle, settings)

    run_with_store(settings.command, settings, open_store, served)


def check_mixer(settings: MixerSettings, json: bool) -> None:
    """Print what is wrong with the machine and the folder; exit code 1 if anything is."""
    from incrowd.collection.mixer import setup

    print_findings(setup.check(settings, setup.open_store(settings)), json)
