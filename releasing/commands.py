"""Running other programs: their output is kept, and shown only if they fail."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

SHOWN = 40  # lines of output of a program that failed
UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT")


class CheckError(Exception):
    """A check that failed: one line or more for each problem."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """Return this environment without what would mix in this installation, with some changes."""
    changed = {key: value for key, value in os.environ.items() if key not in UNWANTED}
    changed |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for key, value in (changes or {}).items():
        changed.pop(key, None)
        if value is not None:
            changed[key] = value
    return changed


def run(
    *command: str | Path,
    folder: Path,
    changes: Mapping[str, str | None] | None = None,
    umask: int = 0o022,
    seconds: float = 1800,
) -> str:
    """Run a command and return its standard output.

    Raises
    ------
    CheckError
        If it is missing, takes too long, or fails: with the last lines of what it wrote.
    """
    words = [str(word) for word in command]
    shown = " ".join(words if len(words[-1]) < 200 else [*words[:-1], "..."])
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=environment(changes),
            umask=umask,
            timeout=seconds,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise CheckError(f"{words[0]} is not installed; it is needed for `{shown}`") from error
    except subprocess.TimeoutExpired as error:
        raise CheckError(f"`{shown}` did not end within {seconds:.0f} seconds") from error
    if done.returncode:
        lines = [*done.stdout.splitlines()[-SHOWN:], *done.stderr.splitlines()[-SHOWN:]]
        output = "\n".join(f"    {line}" for line in lines)
        raise CheckError(f"`{shown}` failed with exit code {done.returncode}:\n{output}")
    return done.stdout
