"""Servers of the tests' own, an ordinary user's and gone afterwards: PostgreSQL, nginx, others."""

import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.oracles.postgresql import Missing
from tests.oracles.postgresql import running as running_postgresql

DEPLOY = Path(__file__).parents[2] / "deploy"
SENDER = "127.0.0.77"  # an address of its own on the loopback network
MARK = "Mark-of-a-sender"
PATIENCE = 30.0
PLACES = ("/usr/sbin", "/usr/local/sbin")  # of no ordinary PATH


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """Whoever runs the tests may have settings of a service in the environment."""
    for name in [name for name in os.environ if name.startswith("INCROWD_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def no_umask():
    """Nothing limits the permissions of new files but the program itself."""
    before = os.umask(0)
    yield
    os.umask(before)


def program(name):
    """Where a program is; without it a test says that it is skipped."""
    found = shutil.which(name) or shutil.which(name, path=":".join(PLACES))
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


# --- PostgreSQL ----------------------------------------------------------------------------------


@contextmanager
def postgresql(*options, **more):
    try:
        with running_postgresql(*options, **more) as server:
            yield server
    except Missing:
        pytest.skip("PostgreSQL is not installed: no initdb is found")


@pytest.fixture(scope="session")
def postgres():
    """A server for all tests; each takes a database of it. It may lose them with the machine."""
    with postgresql("fsync=off") as server:
        yield server


@pytest.fixture
def own_postgres():
    """A server of one test, which may stop it."""
    with postgresql("fsync=off") as server:
        yield server


# --- proxies, and who sends through them ---------------------------------------------------------


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


@pytest.fixture
def free():
    """What gives ports on which nobody listens."""
    return free_port


@contextmanager
def running(command, folder, port):
    """A process that listens on a port, and all that it writes in its folder."""
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                said = (folder / "output").read_text()
                assert time.monotonic() < end and process.poll() is None, said
                time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


@contextmanager
def nginx(folder, role, backend, change=lambda text: text):
    """The nginx of deploy/ before a port of this machine; yields its own port."""
    command, port = program("nginx"), free_port()
    folder.mkdir(parents=True)
    text = _without_tls((DEPLOY / f"nginx-{role}.conf").read_text(), port, backend)
    text = re.sub(r"pid .*;", f"pid {folder}/pid;\ndaemon off;", text)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    text = text.replace("http {\n", "http {\n" + places, 1)
    file = folder / "nginx.conf"
    file.write_text(change(text).replace("FOLDER", str(folder)))
    start = [command, "-p", str(folder), "-c", str(file), "-e", str(folder / "start.log")]
    with running(start, folder, port):
        yield port


PREVIOUS = "192.0.2.1"  # who may send, in the configurations
LOOPBACK = "127.0.0.0/8"  # who may send in tests


def _without_tls(text, port, backend):
    """The same, on this machine: another port, no certificate, the service of the test."""
    text = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", text)
    text = re.sub(r"^\s*ssl_\w+ .*;\n", "", text, flags=re.MULTILINE)
    text = text.replace(PREVIOUS, LOOPBACK)
    return re.sub(r"127\.0\.0\.1:808\d", f"127.0.0.1:{backend}", text)


def ask(port, method, path, body=b"", length=None, host="mix.example", cut=False):
    """The status of one request by the sender. cut: reset the connection in its middle."""
    with socket.create_connection(("127.0.0.1", port), 30, (SENDER, 0)) as line:
        length = len(body) if length is None else length
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n"
        head += f"Content-Type: application/octet-stream\r\nUser-Agent: {MARK}\r\n"
        head += f"X-Forwarded-For: {MARK}\r\nCookie: a={MARK}\r\nConnection: close\r\n\r\n"
        try:
            line.sendall(head.encode() + body)
            if cut:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                return None
            return int(line.recv(4096).split()[1])
        except ConnectionError:  # the rest of its body is not wanted
            return 413


def garbage(port):
    """What is no HTTP, before any site is chosen."""
    with socket.create_connection(("127.0.0.1", port), 10, (SENDER, 0)) as line:
        line.sendall(b"\x16\x03\x01 this is no request\r\n\r\n")
        line.recv(4096)
