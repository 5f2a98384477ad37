"""Options and output that the commands of all services share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli.console import print_findings, say

if TYPE_CHECKING:
    from incrowd.collection.hosting import OpenedService, ServiceFolder
    from incrowd.collection.settings import ServiceSettings

BundleFile = Annotated[
    Path | None,
    typer.Option("--bundle", help="The inviter's bundle; needed the first time only."),
]
NOTHING_LEFT = "everything is opened and the private key is destroyed; there is nothing left to do"


def run(kind: type[ServiceSettings], folder: Path, bundle: Path | None = None) -> None:
    """Run the service of a folder until it is stopped. bundle: adopted first, if it is given."""
    from incrowd.collection.hosting import kind_of, of_folder

    place = of_folder(kind, folder)
    service_kind = kind_of(place)
    if bundle and service_kind.adopt:
        service_kind.adopt(place, bundle)
    with service_kind.opened(place) as service:
        if service is None:
            say(NOTHING_LEFT)
            return
        listen(place, service, f"bundle {service.bundle.digest.hex()}; listening on {{}}")


def listen(place: ServiceFolder, service: OpenedService, *lines: str) -> None:
    """Serve until stopped.

    lines: printed once the service listens, with its address in the place of {}; those of the
    service follow.
    """
    from incrowd.collection.serving import listening, log_discreetly, serve

    settings = place.settings
    log_discreetly()
    with listening(settings.command, settings.host, settings.port) as door:
        host, port = door.getsockname()[:2]
        shown = [line.replace("{}", f"{host}, port {port}") for line in lines]
        serve(service.application, door, lambda: say("\n".join([*shown, *service.lines])))


def check(kind: type[ServiceSettings], folder: Path, json: bool) -> None:
    """Print what is wrong with the machine and the folder; exit code 1 if anything is."""
    from incrowd.collection.hosting import kind_of, of_folder

    place = of_folder(kind, folder)
    print_findings(kind_of(place).findings(place), json)
