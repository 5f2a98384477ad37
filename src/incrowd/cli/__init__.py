"""Arguments and printing only."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

OBJECTS = 100_000  # made between two looks for garbage; 700 would take a fifth of the start
# Matrices are small: threads would mostly wait for each other. No plugin is used, and it takes
# time to look for them.
SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
STOPPED = 128  # and the number of the signal: the exit code that a shell shows for it


def main() -> None:
    """Run the command line. An interrupt ends it with a line, also while it is still loading.

    Being told to stop, by SIGTERM or when the terminal is closed, ends it quietly: nothing is left
    behind.
    """
    gc.set_threshold(OBJECTS)
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has both
        if number and signal.getsignal(number) is signal.SIG_DFL:  # else as with nohup
            signal.signal(number, _stop)
    try:
        from incrowd.cli.app import main as run

        run()
    except KeyboardInterrupt:
        from incrowd.cli.console import INTERRUPTED, interrupted

        sys.stderr.write(f"{interrupted(wrote=False)}\n")
        sys.exit(INTERRUPTED)


def _stop(number: int, _: FrameType | None) -> None:
    """End as an exception does, so that temporary files are removed; a second signal waits."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(STOPPED + number)
