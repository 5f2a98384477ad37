"""The first page of the manual as a script: its commands, in their order, in one empty folder."""

import os
import re
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from releasing.archives import files_in
from releasing.commands import CheckError, run

BLOCK = re.compile(r"^```(?P<language>sh|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


def commands(page: str) -> str:
    """Return the commands of a page: its `sh` and `console` blocks, in their order.

    In a `console` block with prompts (`$ `), the lines without one are output, except where a
    line ends with a backslash and goes on in the next.
    """
    return "".join(_commands_of(block["text"]) for block in BLOCK.finditer(page))


def _commands_of(text: str) -> str:
    lines = text.splitlines(keepends=True)
    if not any(line.startswith(PROMPT) for line in lines):
        return text
    typed, goes_on = [], False
    for line in lines:
        if goes_on or line.startswith(PROMPT):
            typed.append(line.removeprefix(PROMPT))
            goes_on = line.rstrip("\n").endswith("\\")
    return "".join(typed)


def type_literally(
    script: str, python: Path, wheels: Mapping[str, Path], version: str, folder: Path
) -> None:
    """Run the commands of a page as a person types them, in a new environment.

    `pip install incrowd` may take only this version, and finds the wheels in a folder. What it
    installs must be these wheels, and not files of the same name on an index.

    Parameters
    ----------
    script
        The commands.
    python
        The interpreter that the environment gets.
    wheels
        The path of the wheel of each distribution, all in one folder.
    version
        The version of the wheels.
    folder
        A folder, in which an environment and an empty working folder are created.

    Raises
    ------
    CheckError
        If a command fails, or something else is installed.
    """
    constraints, environment, empty = (folder / name for name in ("versions.txt", "venv", "work"))
    constraints.write_text("".join(f"{name}=={version}\n" for name in wheels))
    run(python, "-m", "venv", environment, folder=folder)
    elsewhere = os.environ.get("PIP_FIND_LINKS", "").split()
    changes = {
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_CONSTRAINT": constraints.as_uri(),  # pip splits a path at its spaces
        "PIP_FIND_LINKS": " ".join(
            [*{path.parent.as_uri() for path in wheels.values()}, *elsewhere]
        ),
        "PIP_QUIET": "1",
        "VIRTUAL_ENV": str(environment),
    }
    empty.mkdir()
    shell = ("bash", "-e", "-u", "-o", "pipefail", "-x", "-c", script)
    run(*shell, folder=empty, changes=changes)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(environment / "bin" / "python", "-c", where, folder=empty).strip())
    for name, wheel in wheels.items():
        if not is_installed(wheel, packages):
            raise CheckError(f"the page does not install {wheel.name}, or another {name} {version}")
    shutil.rmtree(environment)  # hundreds of megabytes


def is_installed(wheel: Path, packages: Path) -> bool:
    """Return whether a folder of packages has the files of a wheel, with the same content."""
    files = {name: digest for name, digest in files_in(wheel).items() if ".dist-info/" not in name}
    return all(
        (packages / name).is_file() and sha256((packages / name).read_bytes()).hexdigest() == digest
        for name, digest in files.items()
        if ".data/" not in name
    )
