"""Uploads as fast as a server answers them, sent by a process of their own.

It parses no more of an answer than its status, so that the server is what is measured.
"""

import asyncio
import multiprocessing
import socket
import time

import uvloop

HEAD = (
    "POST /upload HTTP/1.1\r\nHost: localhost\r\n"
    "Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n\r\n"
)
END = b"\r\n\r\n"
STORED = b" 201 "


class Sender(asyncio.Protocol):
    """One connection, kept alive: the next upload leaves when the last one is answered."""

    def __init__(self, requests, done):
        self.requests, self.done, self.heard = requests, done, b""

    def connection_made(self, transport):
        self.transport = transport
        self.send()

    def send(self):
        request = next(self.requests, None)
        if request is None:
            self.done.set_result(None)
            self.transport.close()
        else:
            self.transport.write(request)

    def data_received(self, data):
        self.heard += data
        if self.heard.endswith(END):  # a 201 has no body
            if self.heard[8:13] != STORED:
                return self.connection_lost(self.heard)
            self.heard = b""
            self.send()

    def connection_lost(self, error):
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"not stored: {error} {self.heard}"))


async def send(ports, bodies, connections):
    """Seconds from the first byte to the last answer."""
    head = HEAD.format(length=len(bodies[0])).encode()
    requests = iter([head + body for body in bodies])
    loop = asyncio.get_running_loop()
    start, done = time.perf_counter(), []
    for number in range(connections):
        done.append(loop.create_future())
        await loop.create_connection(
            lambda: Sender(requests, done[-1]), "127.0.0.1", ports[number % len(ports)]
        )
    await asyncio.gather(*done)
    return time.perf_counter() - start


def _sender(pipe):
    while (given := pipe.recv()) is not None:
        pipe.send(uvloop.run(send(*given)))


class Senders:
    """A process that sends. A context manager."""

    def __enter__(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=_sender, args=(there,), daemon=True)
        self.process.start()
        there.close()
        return self

    def __exit__(self, *_):
        self.pipe.send(None)
        self.process.join()

    def seconds(self, ports, bodies, connections):
        self.pipe.send((ports, bodies, connections))
        return self.pipe.recv()


def door():
    return socket.create_server(("127.0.0.1", 0), backlog=4096)
