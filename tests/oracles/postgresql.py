"""A PostgreSQL server of one's own: an ordinary user's, on a socket, gone afterwards."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30.0
QUIET = ["log_error_verbosity=terse", "log_min_error_statement=panic"]


def _program(name):
    places = [shutil.which(name), *Path("/usr/lib/postgresql").glob(f"*/bin/{name}")]
    return next((str(place) for place in places if place), None)


def _user():
    """PostgreSQL does not run as root: then somebody who may do nothing runs it."""
    if os.geteuid():
        return {}, None
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}, nobody


class Missing(Exception):
    """PostgreSQL is not installed here."""


@contextmanager
def running(*options):
    """A server, gone in the end. Raises Missing."""
    initdb, server = _program("initdb"), _program("postgres")
    if not initdb or not server:
        raise Missing
    folder = Path(tempfile.mkdtemp(prefix="incrowd-pg-"))
    as_user, nobody = _user()
    if nobody:
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    data = folder / "data"
    made = [initdb, "-D", data, "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8"]
    subprocess.run([*made, "--locale=C"], check=True, capture_output=True, cwd=folder, **as_user)
    options = ["listen_addresses=", f"unix_socket_directories={folder}", *QUIET, *options]
    command = [server, "-D", data, *(part for option in options for part in ("-c", option))]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **as_user)
    try:
        _wait(folder)
        yield Server(folder)
    finally:
        process.send_signal(signal.SIGINT)  # it waits for nobody
        process.wait()
        shutil.rmtree(folder)


class Server:
    """folder: with the data, the socket and the log."""

    def __init__(self, folder):
        self.folder, self.made = folder, 0

    def database(self):
        import psycopg

        self.made += 1
        name = f"made{self.made}"
        where = f"host={self.folder} user=tester dbname=postgres"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://tester@/{name}?host={self.folder}"


def _wait(folder):
    import psycopg

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(f"host={folder} user=tester dbname=postgres").close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise AssertionError((folder / "log").read_text()) from None
            time.sleep(0.05)
