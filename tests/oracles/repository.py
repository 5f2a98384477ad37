"""The files of the repository, and a copy of them without what lies beside them."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def names(folder="."):
    """The paths of all files below a folder that are in the repository, or could be added to it."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=ROOT / folder, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if (ROOT / folder / name).exists()]


def copy(folder):
    """Copy all files, and links as links."""
    for name in names():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
