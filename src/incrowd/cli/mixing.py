"""What the commands of a shuffler and of a first mixer share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incrowd.cli.console import print_findings, say

if TYPE_CHECKING:
    from incrowd.collection.settings import MixerSettings


def run_mixer(settings: MixerSettings) -> None:
    """Receive uploads and pass them on when due, until stopped."""
    from incrowd.collection.machine import protect
    from incrowd.collection.mixer.app import application
    from incrowd.collection.mixer.setup import open_store
    from incrowd.collection.service import listening, log_discreetly, serve

    protect()
    log_discreetly()
    store = open_store(settings)
    with listening(settings.command, settings.host, settings.port) as door:
        host, port = door.getsockname()[:2]
        text = f"bundle {store.bundle.digest.hex()}; listening on {host}, port {port}"
        serve(application(store, store.bundle, settings), door, lambda: say(text))
    store.engine.dispose()


def check_mixer(settings: MixerSettings, json: bool) -> None:
    """Print what is wrong with the machine and the folder; exit code 1 if anything is."""
    from incrowd.collection.mixer import setup

    print_findings(setup.check(settings, setup.open_store(settings)), json)
