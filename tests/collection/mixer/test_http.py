"""A real socket: requests as the RFCs have them, and strangers about whom nothing is written."""

import contextlib
import logging
import socket
import struct
import subprocess
import sys
import time

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from incrowd.collection.service import HEAD_BYTES
from tests.collection.mixer.conftest import BYTES, HEAD, INVITED, LENGTH, START, served, upload

GET = b"GET /health HTTP/1.1\r\nHost: s\r\n"
UPLOAD = HEAD % LENGTH + upload(INVITED, 1, 0, 1).encoded(INVITED)


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with served(tmp_path_factory.mktemp("s"), body_seconds=5.0) as found:
        yield found


def status(port, request):
    """Of the answer; "" if the connection ends without one."""
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        try:
            line.sendall(request)
            return line.recv(4096)[9:12].decode()
        except ConnectionError:
            return ""


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"GET /health HTTP/1.1\r\n\r\n", "400"),
        (GET + b"Host: s\r\n\r\n", "400"),
        (b"GET /health HTTP/1.0\r\n\r\n", "200"),
        (GET + b"\r\n", "200"),
    ],
    ids=["no host", "two hosts", "HTTP/1.0 without one", "one host"],
)
def test_a_request_has_one_host(port, head, expected):
    assert status(port, head) == expected


@pytest.mark.parametrize("lines", [1, 40], ids=["one line", "many lines"])
def test_a_head_has_at_most_64_kib_however_it_arrives(port, lines):
    """120 KB passed when they came in one piece."""

    def head(size):
        line = b"a: " + b"b" * (size // lines) + b"\r\n"
        return GET + line * lines + b"\r\n"

    assert status(port, head(HEAD_BYTES - 1000)) == "200"
    assert status(port, head(HEAD_BYTES + 1)) == status(port, head(120_000)) == ""
    address = b"GET /health?" + b"a" * HEAD_BYTES + b" HTTP/1.1\r\nHost: s\r\n\r\n"
    assert status(port, address) == ""


def test_the_body_of_an_upload_is_no_head(port):
    """Also of one that is longer than a head may be, in pieces that come together."""
    assert status(port, UPLOAD) in ("201", "200")
    refused = START + BYTES + b"Content-Length: %d\r\n\r\n" % (1 << 17)
    assert status(port, refused + bytes(1 << 17)) == "400"


REQUESTS = {
    "bundles": (GET.replace(b"/health", b"/bundle") + b"\r\n") * 500,
    "uploads": UPLOAD * 200,
    "an upload that does not end": UPLOAD * 20 + UPLOAD[:-1],
    "nonsense at the end": UPLOAD * 20 + b"\x16\x03\x01 no request\r\n\r\n",
}


def leave(port, requests, pause):
    """Send them all and reset the connection, without having read an answer."""
    line = socket.create_connection(("127.0.0.1", port), 5)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.settimeout(0.5)
    with contextlib.suppress(TimeoutError, ConnectionError):
        line.sendall(requests)
    time.sleep(pause)
    line.close()


def leave_often(port, requests):
    for pause in (0.0, 0.0, 0.002, 0.01, 0.03):
        leave(port, requests, pause)
    assert status(port, GET + b"\r\n") == "200", "others are served"
    time.sleep(0.1)


def written(caplog):
    """What `log_discreetly` lets through: warnings, but of the server's own only errors."""
    least = {"uvicorn.error": logging.ERROR}
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= least.get(record.name, logging.WARNING)
    ]


@pytest.mark.parametrize("what", REQUESTS)
def test_who_asks_a_lot_and_leaves_writes_no_line(port, caplog, what):
    leave_often(port, REQUESTS[what])
    assert written(caplog) == []


def test_uvicorn_alone_would_write_lines(tmp_path, caplog):
    """The wrong variant: it takes no notice that the sender of earlier requests has gone."""
    with served(tmp_path, HttpToolsProtocol, body_seconds=5.0) as port:
        for requests in REQUESTS.values():
            leave_often(port, requests)
    assert written(caplog)


def test_the_log_names_no_files(tmp_path):
    """A command notes the files that it writes; a service must not: "removed store.key"."""
    program = (
        "import logging; from incrowd.collection.service import log_discreetly as discreetly\n"
        "discreetly('incrowd.shuffler'); logging.getLogger('incrowd.files').setLevel('INFO')\n"
        "logging.getLogger('incrowd.files').info('removed store.key')\n"
        "logging.getLogger('incrowd.files').warning('full')\n"
        "logging.getLogger('incrowd.shuffler').info('listening')"
    )
    lines = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr
    assert lines == "WARNING incrowd.files: full\nINFO incrowd.shuffler: listening\n"
