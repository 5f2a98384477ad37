"""A delivery reads no more of an answer than an acknowledgment needs."""

import socket
import threading
from contextlib import contextmanager

import pytest

from incrowd.collection import delivery
from incrowd.collection.delivery import acknowledgment, courier

START = b"signature and header"
RIGHT = acknowledgment(START).encode()
MUCH = 64 << 20  # bytes; what a socket and its reader buffer is far less


@contextmanager
def collector(head, body, most=MUCH):
    """A peer that answers with a body again and again. Yields its address, and what it has sent."""
    sent = [0]

    def serve():
        with server.accept()[0] as peer:
            while not peer.recv(1 << 16).endswith(START):
                pass
            try:
                peer.sendall(head)
                while sent[0] < most:
                    sent[0] += peer.send(body)
            except OSError:  # the other end has closed
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", sent
        thread.join()


LENGTH = f"HTTP/1.1 200 OK\r\nContent-Length: {MUCH}\r\n\r\n".encode()
ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.mark.parametrize("head", [LENGTH, ENDLESS])
def test_an_answer_that_is_much_too_long_is_not_read(head):
    with collector(head, bytes(1 << 16)) as (address, sent):
        assert not courier(address)(START, None)
    assert sent[0] < MUCH / 2


def test_an_acknowledgment_is_found_at_the_beginning():
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(RIGHT)}\r\n\r\n".encode()
    with collector(head, RIGHT, 1) as (address, _):
        assert courier(address)(START, None)


def test_an_answer_that_drips_is_given_up(monkeypatch):
    monkeypatch.setattr(delivery, "SECONDS", 0.3)
    wait = threading.Event()

    def serve():
        with server.accept()[0] as peer:
            peer.recv(1 << 16)
            try:
                peer.sendall(LENGTH)
                while not wait.wait(0.05):
                    peer.send(b"x")
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        assert not courier(f"http://127.0.0.1:{server.getsockname()[1]}")(START, None)
        wait.set()
        thread.join()
