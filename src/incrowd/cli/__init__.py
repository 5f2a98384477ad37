"""The command line: arguments and printing only."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

GC_THRESHOLD = 100_000  # objects; with the default, 700, collecting takes a fifth of the start-up
# Matrices are small: threads would mostly wait for each other. No pydantic plugin is used, and
# searching for plugins takes time.
SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
SIGNALED = 128  # plus the number of the signal is the exit code, as in a shell


def main() -> None:
    """Run the command line. An interrupt ends it with one line, even while modules are loading.

    SIGTERM, or closing the terminal, ends it quietly and removes its temporary files.
    """
    gc.set_threshold(GC_THRESHOLD)
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # some systems lack one of them
        if number and signal.getsignal(number) is signal.SIG_DFL:  # it is ignored under nohup
            signal.signal(number, _stop)
    try:
        from incrowd.cli.app import main as run

        run()
    except KeyboardInterrupt:
        from incrowd.cli.console import INTERRUPTED, interrupted

        sys.stderr.write(f"{interrupted(wrote=False)}\n")
        sys.exit(INTERRUPTED)


def _stop(number: int, _: FrameType | None) -> None:
    """Exit by an exception, so that temporary files are removed; ignore a second signal."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(SIGNALED + number)
