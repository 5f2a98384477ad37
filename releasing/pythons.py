"""The interpreters of this machine: for each supported version of Python one, if it is there."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)$")
# A Python of a Linux distribution may lack what creates virtual environments.
PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:2], sep='.')"


def supported(pyproject: Path) -> list[str]:
    """Return the versions of Python that the classifiers of a project name."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return [found[1] for each in project["classifiers"] if (found := CLASSIFIER.match(each))]


def candidates(version: str, home: Path) -> Iterator[Path]:
    """Yield the paths where an interpreter of a version may be: of pyenv, of uv, and on PATH."""
    yield from sorted((home / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    shared = home / ".local" / "share" / "uv" / "python"
    yield from sorted(shared.glob(f"cpython-{version}.*/bin/python3"))
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)


def works(interpreter: Path, version: str) -> bool:
    """Return whether an interpreter starts, has this version, and can create environments."""
    try:
        done = subprocess.run([interpreter, "-c", PROBE], capture_output=True, text=True)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def interpreters(versions: Iterable[str], home: Path) -> dict[str, Path]:
    """Return an interpreter for each of these versions that this machine has."""
    first = {
        version: next((each for each in candidates(version, home) if works(each, version)), None)
        for version in versions
    }
    return {version: path for version, path in first.items() if path}
