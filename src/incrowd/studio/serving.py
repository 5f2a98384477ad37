"""Run the studio on this machine until it is interrupted."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from incrowd.collection.protocol.addresses import MOST_PORT
from incrowd.collection.serving import listening, serve
from incrowd.errors import UsageError
from incrowd.files import private_folder, write_bytes
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import STUDIO, Projects
from incrowd.studio.work import Jobs

PLANNING = "incrowd.planner.outlook"
LOOPBACK = "127.0.0.1"
PORT = "port"  # the file of the port of a folder, in its hidden folder
LEAST_PORT = 1024
PATIENCE = 1  # seconds for requests in progress when the studio stops


def run(
    folder: Path,
    *,
    port: int | None = None,
    browser: bool = True,
    print_line: Callable[[str], None],
) -> None:
    """Serve the studio for the surveys of a folder.

    port: 0 for any free one, None for that of the folder: the same each time, unless another
    program has taken it. print_line: receives the address first, and a new address whenever one was
    used. Raises UsageError if the port is taken.
    """
    door, taken = (listening("studio", LOOPBACK, port), 0) if port is not None else _door(folder)
    now: int = door.getsockname()[1]
    keys = SessionKeys(now, lambda address: print_line(f"another window: {address}"))
    print_line(keys.address)
    if taken:
        print_line(
            f"port {taken} of this folder is in use, perhaps by a studio that is already open for "
            f"it; this one uses port {now}"
        )
    # What plans takes a second to load: it does so while a browser opens.
    threading.Thread(target=import_module, args=(PLANNING,), daemon=True).start()
    if browser:
        work = (keys.address, print_line)
        threading.Thread(target=open_browser, args=work, daemon=True).start()
    projects, jobs = Projects(folder), Jobs()
    projects.sweep()
    serve(
        application(Studio(projects, jobs), keys),
        door,
        ending=jobs.stop_all,  # requests that wait for one end with it
        patience=PATIENCE,
        quiet=True,
    )


def open_browser(address: str, print_line: Callable[[str], None]) -> None:
    """Open an address in a browser; print what to do if there is none."""
    try:
        opened = webbrowser.open(address)
    except webbrowser.Error:
        opened = False
    if not opened:
        print_line("no browser could be opened; copy the address above into a browser")


def _door(folder: Path) -> tuple[socket.socket, int]:
    """Return a socket that listens on the port of a folder, and 0. If that port is taken, return a
    socket on another one, which is not remembered, and the port that is taken.
    """
    file = folder / STUDIO / PORT
    try:
        port = int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        port = 0
    if LEAST_PORT <= port <= MOST_PORT:
        with suppress(UsageError):
            return listening("studio", LOOPBACK, port), 0
        return listening("studio", LOOPBACK, 0), port
    door = listening("studio", LOOPBACK, 0)
    with suppress(OSError):  # a folder that cannot be written to has another port each time
        private_folder(folder / STUDIO)
        write_bytes(file, str(door.getsockname()[1]).encode())
    return door, 0
