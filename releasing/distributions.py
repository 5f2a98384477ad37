"""The distributions that are built from this repository, in bytes that depend on the commit alone.

Run as `python -m releasing.distributions FOLDER` to build them, as `make dist` does.
"""

import os
import sys
from pathlib import Path

from releasing.archives import normalize
from releasing.commands import CheckError, run

ROOT = Path(__file__).parents[1]
PROJECTS = {  # distribution -> its project file
    "incrowd-accountant": Path("packages", "accountant", "pyproject.toml"),
    "incrowd": Path("pyproject.toml"),
}


def time_of(root: Path) -> int:
    """Return the time of the files in an archive, in seconds since 1970.

    It is that of the last commit, unless SOURCE_DATE_EPOCH states another. An unpacked source
    archive has no commits, but its files have this time.
    """
    if stated := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(stated)
    if (root / ".git").exists():
        return int(run("git", "log", "-1", "--format=%ct", folder=root))
    return int((root / "pyproject.toml").stat().st_mtime)


def build(project: Path, folder: Path, seconds: int, constraints: Path, *options: str) -> None:
    """Build the wheel and the source archive of one distribution into a folder.

    Parameters
    ----------
    project
        The folder of the project file.
    folder
        Where the archives are written.
    seconds
        The time of the files in them, in seconds since 1970.
    constraints
        A file with the versions of the tools.
    options
        More options of `python -m build`, such as `--wheel`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.iterdir())
    changes = {"SOURCE_DATE_EPOCH": str(seconds), "PIP_CONSTRAINT": str(constraints)}
    words = [sys.executable, "-m", "build", *options, "--outdir", str(folder), str(project)]
    run(*words, folder=folder, changes=changes)
    for archive in set(folder.iterdir()) - before:
        normalize(archive, seconds)


def build_all(root: Path, folder: Path) -> None:
    """Build all distributions of a repository into a folder."""
    for project in PROJECTS.values():
        of = (root / project).parent
        build(of, folder, time_of(root), root / "constraints.txt")


if __name__ == "__main__":
    try:
        build_all(ROOT, Path(sys.argv[1]).resolve())
    except CheckError as error:
        sys.exit(str(error))
