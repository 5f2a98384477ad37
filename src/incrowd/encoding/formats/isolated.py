"""Files of foreign binary formats, parsed in a process of their own.

The libraries that parse them are not safe from malformed files: they corrupt memory, take all of
it, or loop. Such a file ends only its own process, and is refused by its name.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import weakref
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc

from incrowd.catalog.sentences import sentence
from incrowd.encoding.formats.child import READ, main
from incrowd.encoding.formats.problems import INVALID, error_of
from incrowd.encoding.formats.reader import Content, Pieces, Reader, Request
from incrowd.encoding.formats.registry import FORMATS
from incrowd.encoding.limits import MEMORY, SECONDS, limit
from incrowd.encoding.sources import AnswersSource
from incrowd.errors import AnswersError, IncrowdError

# It imports from where this process does, and not from the current folder.
_START = (
    "import json, sys\n"
    "sys.path[:] = json.loads(sys.stdin.buffer.readline())\n"
    f"from {main.__module__} import {main.__name__}\n"
    f"{main.__name__}()"
)
STOPPED = -getattr(signal, "SIGPIPE", 0)  # the end of a process that wrote more than was read
# Threads and pools of memory that count against the limit, although nothing is in them.
_LEAN = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
_LISTS = ("names", "sheets", "skipped", "unnamed", "others")
_log = logging.getLogger(__name__)


def content(source: AnswersSource, request: Request) -> Content:
    """Return what is in a file. Raises AnswersError if it cannot be read.

    Files of a binary format are read by another process: at most INCROWD_READ_MIB of memory, and
    INCROWD_READ_SECONDS for each piece.
    """
    format = FORMATS[source.kind]
    if format.magic:
        parsed = _Child(source, request).content()
    else:
        reader: Reader = import_module(format.module).READER
        parsed = reader.content(source, request)
    return replace(parsed, pieces=_unchanged(source, parsed.pieces))


def _unchanged(source: AnswersSource, pieces: Pieces) -> Pieces:
    """Yield the pieces. Raises AnswersError if the file was changed meanwhile."""
    yield from pieces
    source.check()


class _Child:
    """A process that reads one file. It ends when nothing refers to this object anymore."""

    def __init__(self, source: AnswersSource, request: Request) -> None:
        self.source, self.whole = source, request.columns is None
        self.mib, self.seconds = limit(MEMORY), limit(SECONDS)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | _LEAN,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.output: Any = self.process.stdout
        self.errors: Any = self.process.stderr
        self.end = weakref.finalize(self, _end, self.process)
        with suppress(BrokenPipeError):  # it has ended, which `content` reports
            order = self._order(request)
            self.process.stdin.write(f"{json.dumps(list(map(str, sys.path)))}\n{order}\n".encode())
            self.process.stdin.write(source.content or b"")
            self.process.stdin.flush()

    def _order(self, request: Request) -> str:
        source = self.source
        names = ("name", "kind", "compression", "encoding", "sheet", "state")
        order = {
            "module": FORMATS[source.kind].module,
            "source": {name: getattr(source, name) for name in names} | {"path": str(source.path)},
            "bytes": None if source.content is None else len(source.content),
            "request": request._replace(memory=self.mib << 20)._asdict(),
            "seconds": self.seconds,
        }
        return json.dumps(order)

    def content(self) -> Content:
        """Return what is in the file; its pieces are read while they are iterated."""
        line = self.output.readline(self.mib << 20)
        if not line.endswith(b"\n"):
            raise self._error() or self._damaged()
        about = json.loads(line)
        missing = {name: tuple(codes) for name, codes in about["missing"].items()}
        lists = {name: tuple(about[name]) for name in _LISTS}
        return Content(**about | lists | {"missing": missing, "pieces": self._pieces()})

    def _pieces(self) -> Pieces:
        """Yield the pieces. Raises AnswersError as soon as the process fails."""
        input = _Bounded(self.output, self.mib << 20, self.whole)
        try:
            if self.output.peek(1):
                with pa.ipc.open_stream(pa.PythonFile(input, "r")) as stream:
                    yield from _valid(stream)
        except MemoryError:
            raise self._large() from None
        except pa.ArrowException:  # the stream breaks off if the process does
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        """Wait for the end of the process. Raises its error."""
        if failed := self._error():
            raise failed from None

    def _error(self) -> IncrowdError | None:
        """Wait for the end of the process, and return its error."""
        self.output.close()  # it ends if it writes more
        ending, code = self.errors.read(), self.process.wait()
        try:
            state = json.loads(ending)
        except ValueError:
            _log.debug("%s: %s", self.source.name, ending.decode(errors="replace"))
            return None if code == STOPPED else self._ended(code)
        if "trace" in state:
            _log.debug("%s: %s", self.source.name, state["trace"])
            return self._large() if state["full"] else self._damaged()
        if "error" in state:
            try:
                return error_of(state)
            except INVALID:
                return self._damaged()
        return None

    def _damaged(self) -> IncrowdError:
        return AnswersError.of(
            "answers",
            "encoding.damaged",
            value=self.source.name,
            format=FORMATS[self.source.kind].spoken,
        )

    def _large(self) -> IncrowdError:
        return AnswersError.of(
            "answers",
            "encoding.too-much-memory",
            value=self.source.name,
            memory=self.mib,
            variable=MEMORY,
        )

    def _ended(self, code: int) -> IncrowdError:
        """Return the error for a process that ended without a word."""
        if code == -getattr(signal, "SIGALRM", 0):
            return AnswersError.of(
                "answers",
                "encoding.too-slow",
                value=self.source.name,
                seconds=self.seconds,
                variable=SECONDS,
            )
        how = signal.Signals(-code).name if code < 0 else sentence("encoding.exit", code=code)
        return AnswersError.of("answers", "encoding.ended", value=self.source.name, how=how)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with suppress(BrokenPipeError):  # of what was not written yet
                pipe.close()
    process.wait()


def _valid(stream: pa.RecordBatchStreamReader) -> Pieces:
    """Yield the pieces of a stream. Raises ArrowInvalid for a damaged one."""
    with suppress(StopIteration):
        while True:
            batch, about = stream.read_next_batch_with_custom_metadata()
            batch.validate(full=True)
            yield batch, int(about[READ])


class _Bounded:
    """The output of a process. It takes no more memory than the process, even if that fails.

    whole: whether all of it is held in memory, not only a piece at a time.
    """

    def __init__(self, pipe: IO[bytes], most: int, whole: bool) -> None:
        self.pipe, self.most, self.whole = pipe, most, whole
        self.taken, self.closed = 0, False

    def read(self, size: int = -1) -> bytes:
        """Read some bytes. Raises MemoryError if they are too many."""
        self.taken = size + (self.taken if self.whole else 0)
        if size < 0 or self.taken > self.most:
            raise MemoryError
        return self.pipe.read(size)
