"""The npm package of the TypeScript client: what it contains, and whether it can be used."""

import json
import os
import shutil
from pathlib import Path

from releasing.commands import CheckError, run
from tests.oracles.node import node

SCRIPT = Path(__file__).with_name("use_client.mjs")
ALWAYS = {"package.json", "README.md", "LICENSE"}
QUIET = ("--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")


def npm(*arguments: str | Path, folder: Path) -> str:
    """Run npm in a folder, and return what it writes."""
    programs = node()
    if programs is None:
        raise CheckError("npm is not installed, nor Node 20 or newer: `make test` installs both")
    (program,), command = programs
    path = {"PATH": f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"}
    return run(*command, *arguments, folder=folder, changes=path)


def expected(client: Path) -> set[str]:
    """Return the files that the package should have: what is built from each module, and `dist`."""
    sources = client / "src"
    modules = [path.relative_to(sources).with_suffix("") for path in sources.rglob("*.ts")]
    compiled = {f"lib/{name}{ending}" for name in modules for ending in (".js", ".d.ts")}
    return ALWAYS | compiled | {f"dist/{path.name}" for path in (client / "dist").iterdir()}


def pack(client: Path, folder: Path) -> Path:
    """Build the client, and pack it into an archive in another folder.

    Raises
    ------
    CheckError
        If a file is missing in the archive, or one is in it that should not be.
    """
    [packed] = json.loads(npm("pack", "--json", "--pack-destination", folder, folder=client))
    names = {file["path"] for file in packed["files"]}
    problems = [f"{name} is missing in the package" for name in sorted(expected(client) - names)]
    problems += [f"the package contains {name}" for name in sorted(names - expected(client))]
    if problems:
        raise CheckError(*problems)
    return folder / str(packed["filename"])


def publish_dry(client: Path) -> None:
    """Do everything that publishing does, except for the upload."""
    version = json.loads((client / "package.json").read_text())["version"]
    tag = "next" if "-" in version else "latest"  # npm demands a tag for a release candidate
    npm("publish", "--dry-run", "--ignore-scripts", "--tag", tag, folder=client)


def use(archive: Path, folder: Path, vectors: Path, browser: Path | None) -> str:
    """Install the packed client in an empty folder, and answer a survey with it.

    Parameters
    ----------
    archive
        What `pack` returned.
    folder
        The empty folder.
    vectors
        The folder of the test vectors, which has a bundle.
    browser
        The folder of the browser tests, for a page without a bundler; None for Node alone.
    """
    (folder / "package.json").write_text('{"private": true, "type": "module"}\n')
    npm("install", *QUIET, archive, folder=folder)
    shutil.copy(SCRIPT, folder)
    programs = node()
    assert programs is not None
    words = [*programs[0], SCRIPT.name, vectors, *([browser] if browser else [])]
    return run(*words, folder=folder, seconds=300)
