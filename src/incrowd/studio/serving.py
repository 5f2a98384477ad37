"""Run the studio on this machine until it is interrupted."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from incrowd.collection.serving import listening, serve
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from incrowd.studio.work import Jobs

PLANNING = "incrowd.planner.outlook"
LOOPBACK = "127.0.0.1"
PATIENCE = 1  # seconds for requests in progress when the studio stops


def run(
    folder: Path, *, port: int = 0, browser: bool = True, print_line: Callable[[str], None]
) -> None:
    """Serve the studio for the surveys of a folder. port: 0 for any free one.

    print_line: receives the address first, and a new address whenever one was used. Raises
    UsageError if the port is taken.
    """
    door = listening("studio", LOOPBACK, port)
    keys = SessionKeys(
        door.getsockname()[1], lambda address: print_line(f"another window: {address}")
    )
    print_line(keys.address)
    # What plans takes a second to load: it does so while a browser opens.
    threading.Thread(target=import_module, args=(PLANNING,), daemon=True).start()
    if browser:
        work = (keys.address, print_line)
        threading.Thread(target=open_browser, args=work, daemon=True).start()
    projects = Projects(folder)
    projects.sweep()
    serve(application(Studio(projects, Jobs()), keys), door, patience=PATIENCE)


def open_browser(address: str, print_line: Callable[[str], None]) -> None:
    """Open an address in a browser; print what to do if there is none."""
    try:
        opened = webbrowser.open(address)
    except webbrowser.Error:
        opened = False
    if not opened:
        print_line("no browser could be opened; copy the address above into a browser")
