"""A format whose reader does what a library does with a malformed file, as its content says.

It is imported by the process that reads, so it imports little.
"""

import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa

from incrowd.encoding.formats.reader import Content, Reader
from incrowd.encoding.formats.registry import FileFormat

MAGIC = b"%hostile "
HOSTILE = FileFormat("hostile", "Hostile", (".hostile",), __name__, (MAGIC,))


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def take_memory():
    taken = []
    while True:
        taken.append(bytearray(1 << 24))


def loop(*pid):
    for path in pid:
        Path(path).write_text(str(os.getpid()))
    while True:
        pass


def sleep():
    time.sleep(600)


def leave():
    os._exit(3)


def fail():
    raise TypeError("expected a name, not NoneType")


def chatter():
    """What libraries print must not be taken for the answer."""
    os.write(1, b"debug: row 1\n" * 10_000)
    os.write(2, b"warning: row 1\n" * 10_000)
    print("noise", file=sys.stderr)


def rows():
    yield pa.record_batch({"a": ["yes", "no"]}), 2


def then(act):
    def read():
        yield from rows()
        act()

    return read


def invalid():
    """Text that is not UTF-8, which only a check of the cells finds."""
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 3, 5)))
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"yes\xff\xfe")])
    yield pa.RecordBatch.from_arrays([text], ["a"]), 2


def many():
    """More than the limit altogether, in pieces that are small."""
    column = pa.array(["yes"] * (1 << 20))
    for n in range(40):
        yield pa.record_batch({"a": column}), n


ACTS = {act.__name__: act for act in (crash, take_memory, loop, sleep, leave, fail, chatter)}
PIECES = {"invalid": invalid, "many": many, "crash later": then(crash), "fail later": then(fail)}


class _Hostile(Reader):
    def table(self, source):
        raise NotImplementedError

    def content(self, source, request):
        does = source.whole().removeprefix(MAGIC).decode()
        act, *arguments = does.split() or [""]
        if act in ACTS and does not in PIECES:
            ACTS[act](*arguments)
        return Content(("a",), 2, PIECES.get(does, rows)())


READER = _Hostile()
