"""The process that parses a file of a foreign binary format. `isolated` starts it.

Its standard input has a line of JSON with what to read, then the bytes of a file that is not on
disk; it stays open as long as the parent. Its standard output is a line of JSON about the file,
then its pieces as an Arrow stream. Its standard error is JSON that says how it ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import fields
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc

from incrowd.encoding.formats.problems import as_json
from incrowd.encoding.formats.reader import Content, Pieces, Reader, Request
from incrowd.encoding.sources import AnswersSource, readable
from incrowd.errors import IncrowdError

ABOUT = [each.name for each in fields(Content) if each.name != "pieces"]
READ = b"read"  # in the metadata of a piece: the amount read up to its end


def main() -> None:
    """Read what standard input names, within limits of memory and time."""
    order = json.loads(sys.stdin.buffer.readline())
    output, end = _private(1), _private(2)
    _limit(order["request"]["memory"])
    size = order["bytes"]
    piped = None if size is None else sys.stdin.buffer.read(size)
    _follow_parent()
    state = _ended(order, piped, output)
    with suppress(OSError), output, end:
        end.write(json.dumps(state).encode())


def _private(descriptor: int) -> IO[bytes]:
    """Keep a pipe to the parent for messages; what libraries print goes nowhere."""
    pipe = os.fdopen(os.dup(descriptor), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return pipe


def _limit(memory: int) -> None:
    """Limit the memory of this process. However it ends, there is no core dump: it would contain
    answers."""
    with suppress(ImportError):  # not on Windows
        import resource

        # Unlike 0, one byte also holds for programs that collect core dumps, core(5).
        for name, most in (("RLIMIT_DATA", memory), ("RLIMIT_CORE", 1)):
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
            with suppress(ValueError, OSError):
                resource.setrlimit(kind, (lower, lower))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _follow_parent() -> None:
    """End this process when its standard input ends, since its parent has ended then.

    The system sends a signal, which also ends a library that loops.
    """
    with suppress(ImportError, AttributeError):  # not on Windows
        import fcntl

        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def _clock(seconds: int) -> None:
    """End this process after some seconds, even if a library loops; 0 stops the clock."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _ended(order: dict[str, Any], piped: bytes | None, output: IO[bytes]) -> dict[str, Any]:
    """Read, and return how it ended: an error, or nothing special."""
    try:
        _read(order, piped, output)
    except IncrowdError as error:
        return as_json(error)
    except Exception as error:  # libraries raise many kinds for damaged files
        full = isinstance(error, MemoryError) or 4 * _most_memory() > 3 * order["request"]["memory"]
        return {"full": full, "trace": traceback.format_exc()}
    finally:
        _clock(0)
    return {}


def _most_memory() -> int:
    """Return the most memory that this process took, in bytes; 0 where the system does not tell.

    getrusage(2) would count what the parent took.
    """
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def _read(order: dict[str, Any], piped: bytes | None, output: IO[bytes]) -> None:
    """Write what a file contains."""
    path, columns = Path(order["source"]["path"]), order["request"]["columns"]
    state = order["source"]["state"] and tuple(order["source"]["state"])
    source = AnswersSource(**order["source"] | {"path": path, "content": piped, "state": state})
    request = Request(**order["request"] | {"columns": columns and tuple(columns)})
    reader: Reader = import_module(order["module"]).READER
    _clock(order["seconds"])
    with readable(source.name):
        content = reader.content(source, request)
        about = {name: getattr(content, name) for name in ABOUT}
        output.write(json.dumps(about).encode() + b"\n")
        output.flush()
        if not request.names_only:
            _write(_timed(content.pieces, order["seconds"]), output)


def _timed(pieces: Pieces, seconds: int) -> Pieces:
    """Yield pieces; the clock is stopped while the parent works on one."""
    for piece in pieces:
        _clock(0)
        yield piece
        _clock(seconds)


def _write(pieces: Pieces, output: IO[bytes]) -> None:
    first = next(pieces, None)
    if first is None:
        return
    with pa.ipc.new_stream(output, first[0].schema) as stream:
        for batch, done in chain([first], pieces):
            stream.write_batch(batch, custom_metadata={READ: str(done)})
