"""What a person confirms to a service: its clock, or that what it handed over has arrived."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incrowd.cli.console import print_json, say
from incrowd.cli.options import AsJson
from incrowd.errors import UsageError


def confirm_clock(
    time: Annotated[str, typer.Argument(metavar="TIME", help="The time on another clock, in UTC.")],
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER...", help="Folders of services.")
    ],
    json: AsJson = False,
) -> None:
    """Confirm that a service's clock is right.

    Without this, a service closes, deletes and destroys keys because of the time alone only after
    the clock of its machine has been steady for an hour. TIME is what another clock shows, at most
    two minutes from that of this machine. Run it as the user of the service, which may run
    meanwhile.

    \b
    Example:
      incrowd confirm-clock 2027-03-31T20:05:00Z shuffler
    """
    from incrowd.collection.protocol.bundle import TIME, as_time
    from incrowd.collection.steady import CLOCK_FILE, confirm

    try:
        stated = as_time(time)
    except ValueError:
        raise UsageError.of("time", "cli.not-a-time", value=time) from None
    for folder in folders:
        if not (folder / "bundle.json").exists():
            raise UsageError.of("folder", "cli.no-bundle-here", folder=folder)
    for folder in folders:
        confirmed = confirm(folder / CLOCK_FILE, stated)
    shown = confirmed.strftime(TIME)
    if json:
        print_json({"time": shown, "folders": list(map(str, folders))})
        return
    say(f"confirmed that it is {shown}; what depends on the time alone no longer waits")


def acknowledge(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code that the collector shows.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the service.")],
    json: AsJson = False,
) -> None:
    """Confirm that the collector has received a file.

    If the collector's address in the bundle is https://collector.invalid, a service writes what it
    would send into FOLDER/handover. The collector shows a code when it has the file. Only when CODE
    is confirmed does the service delete what it stored, and destroy its keys.

    \b
    Example:
      incrowd acknowledge 9KXQ-2C4T-5M8Z-0R7V-1F6W-3G9B-8H2N-4P5D shuffler
    """
    from incrowd.collection.handover import confirm_delivery

    file = confirm_delivery(folder, code)
    if json:
        print_json({"file": str(file)})
        return
    say(f"confirmed {file.name}; within a minute, the service deletes what it no longer needs")
