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
QUIET = ("log_error_verbosity=terse", "log_min_error_statement=panic")


class Missing(Exception):
    """PostgreSQL is not installed here."""


def _program(name):
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or next(iter(beside), None)
    if not found:
        raise Missing
    return str(found)


def _user():
    """PostgreSQL does not run as root: then somebody who may do nothing runs it."""
    if os.geteuid():
        return {}, None
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}, nobody


class Server:
    """A PostgreSQL. folder: with the data, the socket and the log."""

    def __init__(self, folder, configuration):
        self.folder, self.data, self.made = folder, folder / "data", 0
        self.as_user, nobody = _user()
        if nobody:
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        self.run("initdb", "-D", self.data, "-U", "tester", "-A", "trust", "-E", "UTF8",
                 "--no-sync", "--locale=C")  # fmt: skip
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(f"{configuration}\nlisten_addresses = ''\n")
            file.write(f"unix_socket_directories = '{folder}'\n")
        self.start()

    def run(self, name, *arguments):
        """One of its own programs, to its end."""
        command = [_program(name), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, cwd=self.folder, **self.as_user)
        assert done.returncode == 0, done.stderr.decode()

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [_program("postgres"), "-D", self.data],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self.as_user,
            )
        self._wait()

    def stop(self, how=signal.SIGINT):
        """SIGINT: it waits for nobody; SIGQUIT: at once, as if the power had gone."""
        self.process.send_signal(how)
        self.process.wait()

    def database(self):
        """The address of a new, empty database for SQLAlchemy."""
        self.made += 1
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE made{self.made}")
        return f"postgresql+psycopg://tester@/made{self.made}?host={self.folder}"

    def connect(self, database="postgres"):
        import psycopg

        where = f"host={self.folder} user=tester dbname={database}"
        return psycopg.connect(where, autocommit=True)

    def _wait(self):
        import psycopg

        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.05)


@contextmanager
def running(*options, configuration=""):
    """A server, gone in the end. Raises Missing.

    options: such as "fsync=off". configuration: of a file, in the place of those that are quiet.
    """
    _program("initdb"), _program("postgres")
    lines = [configuration, *([] if configuration else QUIET), *options]
    folder, server = Path(tempfile.mkdtemp(prefix="incrowd-pg-")), None
    try:
        server = Server(folder, "\n".join(lines))
        yield server
    finally:
        if server and server.process.poll() is None:
            server.stop()
        shutil.rmtree(folder)
