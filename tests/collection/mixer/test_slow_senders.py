"""A real socket: whoever is slow, says nothing, or never ends, is cut off, and costs no memory."""

import contextlib
import socket
import time

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from incrowd.collection import connections
from tests.collection.mixer.conftest import BYTES, HEAD, INVITED, LENGTH, START, served, upload

SECONDS = 0.2


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(connections, "HEAD_SECONDS", SECONDS)
    with served(tmp_path_factory.mktemp("s"), body_seconds=SECONDS) as found:
        yield found
    patch.undo()


def until_cut_off(port, first, drop, pause=0.05, patience=6.0):
    """Send a start, then a drop at a time; seconds until the connection is ended, and answers."""
    begun, heard = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        line.settimeout(pause)
        try:
            line.sendall(first)
            while time.monotonic() - begun < patience:
                with contextlib.suppress(TimeoutError):
                    if not (piece := line.recv(1 << 16)):
                        return time.monotonic() - begun, heard
                    heard += piece
                line.sendall(drop)
        except (ConnectionError, TimeoutError):
            return time.monotonic() - begun, heard
    return None, heard


SLOW = {
    "nothing": (b"", b""),
    "a head that drips": (b"GET /", b"a"),
    "headers that drip": (START, b"a: b\r\n"),
    "empty lines": (b"\r\n", b"\r\n"),
    "a body that drips": (HEAD % LENGTH, b"x"),
    "a body that does not come": (HEAD % LENGTH, b""),
    "a refused body that drips": (HEAD % (1 << 30), b"x"),
    "a body for nobody": (b"POST /no HTTP/1.1\r\nHost: s\r\nContent-Length: 99999\r\n\r\n", b"x"),
    "a body in chunks": (START + BYTES + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
}


@pytest.mark.parametrize("how", SLOW)
def test_who_is_slow_is_cut_off(port, how):
    seconds, _ = until_cut_off(port, *SLOW[how])
    assert seconds is not None


@pytest.mark.parametrize("how", ["a head that drips", "headers that drip", "empty lines"])
def test_uvicorn_alone_waits_for_ever(tmp_path, how):
    """The wrong variant: what the service would be without it."""
    with served(tmp_path, HttpToolsProtocol, body_seconds=SECONDS) as port:
        assert until_cut_off(port, *SLOW[how], patience=0.8)[0] is None


def test_headers_without_end_are_not_kept(port):
    with socket.create_connection(("127.0.0.1", port), 5) as line, pytest.raises(ConnectionError):
        line.sendall(START)
        for _ in range(1000):
            line.sendall(b"a: " + b"b" * 10_000 + b"\r\n")


WRONG = {
    "negative": b"Content-Length: -5\r\n",
    "no number": b"Content-Length: many\r\n",
    "missing": b"",
    "too large": b"Content-Length: 99999999999999999999999999\r\n",
    "above it": b"Content-Length: %d\r\n" % (LENGTH + 1),
    "below it": b"Content-Length: %d\r\n" % (LENGTH - 1),
    "two of them": b"Content-Length: %d\r\nContent-Length: 5\r\n" % LENGTH,
    "chunked": b"Transfer-Encoding: chunked\r\n",
    "both": b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % LENGTH,
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_content_length_is_refused_before_a_body_comes(port, how):
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        line.sendall(START + BYTES + WRONG[how] + b"\r\n")
        assert line.recv(4096).startswith(b"HTTP/1.1 400")


def test_who_is_quick_is_served_twice_on_one_connection(port):
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        for number, status in ((0, b"201"), (1, b"201"), (0, b"200")):
            line.sendall(HEAD % LENGTH + upload(INVITED, number, 0, number).encoded(INVITED))
            assert line.recv(4096).split()[1] == status


def test_many_slow_ones_do_not_keep_others_away(port):
    slow = [socket.create_connection(("127.0.0.1", port), 5) for _ in range(200)]
    for line in slow:
        line.sendall(HEAD % LENGTH)
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        line.sendall(HEAD % LENGTH + upload(INVITED, 2, 0, 2).encoded(INVITED))
        assert line.recv(4096).split()[1] == b"201"
    for line in slow:
        line.close()
