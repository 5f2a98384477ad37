"""A real socket: requests as the RFCs have them, and strangers about whom nothing is written."""

import contextlib
import logging
import select
import socket
import struct
import subprocess
import sys
import time

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from incrowd.collection import connections
from incrowd.collection.connections import HEAD_BYTES
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


def of_version(line):
    """A request whose first line ends so."""
    return b"GET /health" + line + b"\r\nHost: s\r\n\r\n"


def given(*headers):
    return GET + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


MALFORMED = {
    "no host": b"GET /health HTTP/1.1\r\n\r\n",
    "two hosts": given(b"Host: s"),
    "two words as host": b"GET /health HTTP/1.1\r\nHost: a b\r\n\r\n",
    "HTTP/1.0": of_version(b" HTTP/1.0"),
    "HTTP/1.0 without a host": b"GET /health HTTP/1.0\r\n\r\n",
    "HTTP/1.2": of_version(b" HTTP/1.2"),
    "HTTP/2.0": of_version(b" HTTP/2.0"),
    "HTTP/0.9": of_version(b" HTTP/0.9"),
    "no version": of_version(b""),
    "another protocol": of_version(b" RTSP/1.1"),
    "two spaces": of_version(b"  HTTP/1.1"),
    "two types": given(b"Content-Type: application/octet-stream", b"Content-Type: text/plain"),
    "one type twice": given(*[b"Content-Type: application/octet-stream"] * 2),
    "two codings": given(b"Content-Encoding: gzip", b"Content-Encoding: identity"),
    "two lengths": given(b"Content-Length: 0", b"Content-Length: 1"),
    "one length twice": given(b"Content-Length: 0", b"Content-Length: 0"),
    "a length and chunks": given(b"Content-Length: 0", b"Transfer-Encoding: chunked"),
    "chunks of another coding": given(b"Transfer-Encoding: gzip, chunked"),
    "two passwords": given(b"Authorization: Bearer a", b"Authorization: Bearer b"),
    "two origins": given(b"Origin: https://a.example", b"Origin: https://b.example"),
    "a continued line": given(b"A: b", b" c"),
    "a space before a colon": given(b"A : b"),
    "a header without a name": given(b": b"),
}
REGULAR = {
    "one host": given(),
    "a host of any case": b"GET /health HTTP/1.1\r\nhOsT: s\r\n\r\n",
    "two lines of one list": given(b"Accept: text/plain", b"Accept: */*"),
    "empty lines before it": b"\r\n\r\n" + given(),
    "a whole address": b"GET http://s/health HTTP/1.1\r\nHost: s\r\n\r\n",
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_request_that_is_not_of_the_protocol_is_answered_with_400(port, what):
    assert status(port, MALFORMED[what]) == "400"


@pytest.mark.parametrize("what", REGULAR)
def test_a_regular_request_is_served(port, what):
    assert status(port, REGULAR[what]) == "200"


def test_uvicorn_alone_would_serve_malformed_requests(tmp_path):
    """The wrong variant: what the parser accepts, the service would."""
    with served(tmp_path, HttpToolsProtocol) as port:
        accepted = {what for what, head in MALFORMED.items() if status(port, head) == "200"}
    assert {"HTTP/1.0", "HTTP/2.0", "another protocol", "two types"} <= accepted


@pytest.mark.parametrize("cut", range(1, len(given()), 7))
def test_the_next_request_may_come_in_any_pieces(port, cut):
    """Also while the one before it is being answered."""
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.sendall(UPLOAD + given()[:cut])
        time.sleep(0.01)
        line.sendall(given()[cut:])
        heard = b""
        while heard.count(b"HTTP/1.1 ") < 2 or not heard.endswith(b"ok\n"):
            piece = line.recv(4096)
            assert piece, heard
            heard += piece
    assert b"400" not in heard


# --- readers -------------------------------------------------------------------------------------


MANY = GET.replace(b"/health", b"/bundle") + b"\r\n"


def asked(port, requests):
    """A connection with a small buffer, over which bundles are requested."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.settimeout(5)
    line.connect(("127.0.0.1", port))
    with contextlib.suppress(TimeoutError):
        line.settimeout(0.2)
        line.sendall(requests)
    return line


def is_ended(line, patience):
    """Whether the other side ends a connection, without reading from it."""
    poll = select.poll()
    poll.register(line, select.POLLERR | select.POLLHUP)
    return bool(poll.poll(1000 * patience))


@pytest.fixture
def hurried(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "WRITE_SECONDS", 0.3)
    with served(tmp_path) as port:
        yield port


@pytest.mark.slow
def test_who_never_reads_the_answer_is_cut_off(hurried):
    with asked(hurried, MANY * 3000) as line:
        assert is_ended(line, 5)
    assert status(hurried, given()) == "200"


def test_uvicorn_alone_would_wait_for_ever_for_a_reader(tmp_path):
    """The wrong variant."""
    with served(tmp_path, HttpToolsProtocol) as port, asked(port, MANY * 3000) as line:
        assert not is_ended(line, 1.5)


def test_who_reads_slowly_gets_the_whole_answer(hurried, monkeypatch):
    """For longer than the time in which something has to be read."""
    monkeypatch.setattr(connections, "WRITE_BYTES", 1)
    with asked(hurried, MANY * 200) as line:
        line.settimeout(5)
        heard, begun = b"", time.monotonic()
        while heard.count(b"HTTP/1.1 200 ") < 200:
            heard += line.recv(1 << 16)
            time.sleep(0.001)
            if time.monotonic() - begun < 1:
                time.sleep(0.05)
    assert time.monotonic() - begun > 1


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
        "import logging; from incrowd.collection.serving import log_discreetly\n"
        "log_discreetly(); logging.getLogger('incrowd.files').setLevel('INFO')\n"
        "logging.getLogger('incrowd.files').info('removed store.key')\n"
        "logging.getLogger('incrowd.files').warning('full')\n"
        "logging.getLogger('incrowd.service').info('closed')"
    )
    lines = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr
    assert lines == "WARNING incrowd.files: full\nINFO incrowd.service: closed\n"
