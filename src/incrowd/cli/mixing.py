"""Options and output that the commands of all services share."""

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
    from incrowd.collection.protocol.bundle import Bundle
    from incrowd.collection.settings import MixerSettings, ServiceSettings, StoreSettings

AnySettings = TypeVar("AnySettings", bound="StoreSettings")
AnyStore = TypeVar("AnyStore", bound="Store | InviterStore")


BundleFile = Annotated[
    Path | None,
    typer.Option("--bundle", help="The inviter's bundle; needed the first time only."),
]


def run_service(
    settings: ServiceSettings, bundle: Bundle, application: Starlette, *lines: str
) -> None:
    """Serve until stopped. lines: those to print once the service listens, after its address."""
    from incrowd.collection.serving import listening, log_discreetly, serve

    log_discreetly()
    with listening(settings.command, settings.host, settings.port) as door:
        host, port = door.getsockname()[:2]
        place = f"bundle {bundle.digest.hex()}; listening on {host}, port {port}"
        serve(application, door, lambda: say("\n".join([place, *lines])))


def run_with_store(
    settings: AnySettings,
    open_store: Callable[[AnySettings], AnyStore],
    application: Callable[[AnyStore], Starlette],
) -> None:
    """Run a service that stores what devices send, until it is stopped."""
    from incrowd.collection.machine import protect
    from incrowd.collection.protocol.bundle import as_time
    from incrowd.collection.steady import waiting

    protect()
    store = open_store(settings)
    lines = waiting(settings.clock_file, as_time(store.bundle.closes))
    run_service(settings, store.bundle, application(store), *lines)
    store.engine.dispose()


def run_mixer(settings: MixerSettings) -> None:
    """Receive uploads and pass them on when due, until stopped."""
    from incrowd.collection.mixer.app import application
    from incrowd.collection.mixer.setup import open_store

    def served(store: Store) -> Starlette:
        return application(store, store.bundle, settings)

    run_with_store(settings, open_store, served)


def check_mixer(settings: MixerSettings, json: bool) -> None:
    """Print what is wrong with the machine and the folder; exit code 1 if anything is."""
    from incrowd.collection.mixer import setup

    print_findings(setup.check(settings, setup.open_store(settings)), json)
