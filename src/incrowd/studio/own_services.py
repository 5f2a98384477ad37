"""The services that run on this machine, each as a process of its own.

They are started by `incrowd host`, and go on when the studio ends. Whether one runs is read from
its folder alone, so it does not matter who started it. After a restart of the machine, the same
button starts it again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from incrowd.collection.collector.keeper import forget, open_waiting, take_file
from incrowd.collection.collector.places import CollectorPlaces, load_private
from incrowd.collection.folders import BUNDLE, exclusive
from incrowd.collection.handover import FOLDER as HANDOVER
from incrowd.collection.hosting import process_in
from incrowd.collection.machine import cores, protect
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.steady import NEVER
from incrowd.collection.taking import RELEASE_FILE, STATEMENT_FILE
from incrowd.errors import UsageError
from incrowd.files import PRIVATE, PRIVATE_FOLDER, write_text
from incrowd.studio.packages import settings_text
from incrowd.studio.projects import Project
from incrowd.studio.publication import FOLDERS, Publication, ServiceRole

LOG = "host.log"  # in the folder of a service: what it says
SECONDS = 20.0  # until a service listens, or has stopped
LOOK = 0.1
LAST_LINES = 12


def is_hosted(project: Project, service: ServiceRole) -> bool:
    """Return whether a service runs in its folder."""
    return process_in(_folder(project, service)) is not None


def last_lines(project: Project, service: ServiceRole) -> str:
    """Return what a service said last; "" if it was never started from here."""
    try:
        text = (_folder(project, service) / LOG).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-LAST_LINES:])


def start_service(project: Project, publication: Publication, service: ServiceRole) -> None:
    """Start a service; return when it runs. Does nothing if it runs already.

    Raises UsageError if it ends at once, which its last lines explain.
    """
    folder = _folder(project, service)
    if is_hosted(project, service):
        return
    folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
    settings = folder / f"{FOLDERS[service]}.toml"
    if not settings.exists():
        write_text(settings, settings_text(publication, service), mode=PRIVATE)
    command = [sys.executable, "-m", "incrowd", "host", str(settings)]
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    try:
        process = subprocess.Popen(
            command,
            cwd=project.path,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # it goes on when the studio ends
        )
    finally:
        os.close(log)
    threading.Thread(target=process.wait, daemon=True).start()  # no zombie is left when it ends
    end = time.monotonic() + SECONDS
    while not is_hosted(project, service) and time.monotonic() < end:
        if process.poll() is not None:
            raise UsageError.of("service", "studio.service-ended")
        time.sleep(LOOK)


def stop_service(project: Project, service: ServiceRole) -> None:
    """Stop a service, and wait until it has ended; does nothing if it does not run."""
    process = process_in(_folder(project, service))
    if process is None:
        return
    with suppress(ProcessLookupError):  # it has just ended
        os.kill(process, signal.SIGTERM)
    end = time.monotonic() + SECONDS
    while is_hosted(project, service) and time.monotonic() < end:
        time.sleep(LOOK)


def handed_over(project: Project, service: ServiceRole) -> list[Path]:
    """Return the files that a service here has written for the collector."""
    files = (_folder(project, service) / HANDOVER).glob("*")
    return sorted(file for file in files if file.suffix in (RELEASE_FILE, STATEMENT_FILE))


def handed_file(project: Project, service: ServiceRole, name: str) -> Path:
    """Return one of these files by its name. Raises UsageError if there is none of this name."""
    files = {file.name: file for file in handed_over(project, service)}
    if name not in files:
        raise UsageError.of("file", "shared.use-one-of", value=name, choices=[*files])
    return files[name]


def hosted_role(publication: Publication, name: str) -> ServiceRole:
    """Return the service of a name. Raises UsageError if somebody else runs it."""
    role = next((each for each in publication.mine if each == name), None)
    if role is None:
        choices = [*publication.mine]
        raise UsageError.of("service", "shared.use-one-of", value=name, choices=choices)
    return role


# --- releases that arrive as files ---------------------------------------------------------------


def take_release(project: Project, file: Path) -> None:
    """Store a release, or the inviter's statement, that a colleague sent as a file.

    Raises UsageError if there is no bundle yet, ProtocolError if the file is not of this bundle.
    """
    places, bundle = _collector(project)
    take_file(places, bundle, file)


def open_releases(progress: object, path: Path) -> int:
    """Open all stored releases; return how many were opened now. Work of a job.

    The key is destroyed when nothing else can arrive. path: the path of the project.
    """
    del progress
    places, bundle = _collector(Project(path))
    if not places.private.exists():
        return 0
    protect()
    with exclusive(places.root, "collector"):
        private = load_private(places.private, bundle)
        folders = open_waiting(places, bundle, private, cores())
        forget(places, bundle, NEVER)
    return len(folders)


def confirmations(project: Project) -> tuple[tuple[str, bool], ...]:
    """Return the code of each release, and of the statement, that was stored, and whether it is
    open: colleagues type in these codes."""
    if not (_folder(project, "collector") / BUNDLE).exists():
        return ()
    places, bundle = _collector(project)
    releases = places.releases(bundle).received()
    codes = [(each.confirmation, places.opened(each).exists()) for each in releases]
    if bundle.mixers == 2:
        codes += [(each.confirmation, True) for each in places.invitations.received()]
    return tuple(codes)


def _collector(project: Project) -> tuple[CollectorPlaces, Bundle]:
    places = CollectorPlaces(_folder(project, "collector"))
    if not places.bundle.exists():
        raise UsageError.of("bundle", "studio.no-bundle-yet")
    return places, Bundle.parse(places.bundle.read_bytes())


def _folder(project: Project, service: ServiceRole) -> Path:
    return project.path / FOLDERS[service]
