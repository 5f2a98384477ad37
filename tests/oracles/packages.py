"""The colleague: unpacks a package in an empty folder, and starts what it says, in a process."""

import io
import os
import shlex
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager

import httpx
import yaml

SECONDS = 60.0  # until a service listens


def unpacked(archive, folder):
    """The folder of a package. archive: its bytes."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        opened.extractall(folder)
    [package] = folder.iterdir()
    return package


def commands(package):
    """The command of the container and that of the unit, with the folders of this machine."""
    [(name, service)] = [
        (name, each)
        for name, each in yaml.safe_load((package / "compose.yaml").read_text())["services"].items()
        if name != "proxy"
    ]
    [(outside, inside)] = [
        volume.split(":") for volume in service["volumes"] if volume.startswith("./")
    ]
    assert outside == f"./{name}"
    container = [word.replace(inside, str(package / name)) for word in service["command"]]
    unit = (package / "incrowd@.service").read_text()
    [line] = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    program, *words = shlex.split(line.partition("=")[2].replace("%i", name))
    assert program == "/opt/incrowd/bin/incrowd"
    folder = f"/var/lib/incrowd-{name}"
    return container, [word.replace(folder, str(package / name)) for word in words]


@contextmanager
def started(package, address, **more):
    """The service of a package while it runs; yields when it answers at its address.

    more: variables of its environment.
    """
    command, of_unit = commands(package)
    assert command == of_unit, "both ways start the same"
    environment = os.environ | {"INCROWD_SHUFFLER_PAUSE": "0.2"} | more
    words = [sys.executable, "-m", "incrowd", *command]
    with subprocess.Popen(
        words, cwd=package, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            end = time.monotonic() + SECONDS
            while not _answers(f"{address}/ready"):
                assert process.poll() is None, process.stdout.read().decode()
                assert time.monotonic() < end
                time.sleep(0.05)
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)
    assert process.returncode == 0


def _answers(url):
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False
