"""Jobs: long work in separate processes, which report progress and can be stopped at any time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from incrowd.collection.parallel import copies_with, end_with_parent
from incrowd.errors import FaultError, IncrowdError, Problem

JobState = Literal["running", "done", "failed", "stopped"]
# Modules that a process would otherwise import each time: a second, most of it for scipy.
PRELOADED = ("incrowd.planner.plan", "incrowd.planner.forecast")
JobWork = Callable[..., Any]  # work(progress, *arguments), at the top of a module


@dataclass
class Job:
    """One piece of work, with its arguments. progress: its last message. result: what it returned;
    error: its error."""

    state: JobState = "running"
    progress: str = ""
    result: Any = None
    error: Exception | None = None
    arguments: tuple[Any, ...] = ()
    process: Any = field(default=None, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def stop(self) -> None:
        """End the process; does nothing if it has ended."""
        if self.state == "running":
            self.state = "stopped"
            self.process.terminate()
            self.ended.set()


def is_running(job: Job | None) -> bool:
    """Return whether there is a job, and it has not ended."""
    return job is not None and job.state == "running"


class Jobs:
    """The jobs of a studio, each under a key; starting a job stops the previous one."""

    def __init__(self) -> None:
        self._jobs: dict[Any, Job] = {}
        self._lock = threading.Lock()
        self._context = copies_with(*PRELOADED)

    def start(self, key: Any, work: JobWork, *arguments: Any) -> Job:
        """Start work in a process. It receives a function that reports progress, then arguments."""
        with self._lock:
            if before := self._jobs.get(key):
                before.stop()
            receiver, sender = self._context.Pipe(duplex=False)
            process = self._context.Process(target=_run, args=(sender, work, arguments))
            job = Job(process=process, arguments=arguments)
            process.start()
            sender.close()
            self._jobs[key] = job
        threading.Thread(target=_follow, args=(job, receiver), daemon=True).start()
        return job

    def get(self, key: Any) -> Job | None:
        """Return the last job that was started under a key."""
        return self._jobs.get(key)

    def stop_within(self, folder: Path) -> None:
        """Stop the jobs of a project, by the folder in their keys."""
        for key, job in list(self._jobs.items()):
            if key[0] == folder:
                job.stop()

    def stop_all(self) -> None:
        """Stop everything."""
        for job in list(self._jobs.values()):
            job.stop()


def _run(sender: Connection, work: JobWork, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the studio, which ends this
    threading.Thread(target=end_with_parent, daemon=True).start()
    _report(sender, work, arguments)


def _report(sender: Connection, work: JobWork, arguments: tuple[Any, ...]) -> None:
    """Send the progress of the work, then its result or its error."""
    try:
        result = work(lambda text: sender.send(("progress", text)), *arguments)
    except IncrowdError as error:
        sender.send(("failed", _portable(error)))
    except OSError as error:
        sender.send(("failed", OSError(error.errno, error.strerror or str(error))))
    except Exception as error:  # a fault of ours: the window names it, and the studio goes on
        sender.send(("failed", _portable(fault(error))))
    else:
        sender.send(("done", result))


def fault(error: Exception) -> FaultError:
    """Return the error for a bug: it names the exception, without a traceback."""
    kind = type(error).__name__
    return FaultError(Problem("studio", "studio.bug", kind=kind, error=str(error)))


def _portable(error: IncrowdError) -> Any:
    """Return an error that can be sent to another process."""
    return type(error), error.problems


def _follow(job: Job, receiver: Connection) -> None:
    """Receive the messages of a process until it ends."""
    try:
        while job.state == "running":
            kind, content = receiver.recv()
            if kind == "progress":
                job.progress = content
            elif kind == "done":
                job.result, job.state = content, "done"
            else:
                job.error = content[0](*content[1]) if isinstance(content, tuple) else content
                job.state = "failed"
    except EOFError:
        if job.state == "running":
            job.error = FaultError.of("studio", "studio.lost-process")
            job.state = "failed"
    finally:
        receiver.close()
        job.ended.set()
        job.process.join()
