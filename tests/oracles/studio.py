"""The studio as a command in a process of its own."""

import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def running_studio(folder):
    """Run the studio of a folder; yield its address."""
    command = [sys.executable, "-m", "incrowd", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
