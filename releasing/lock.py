"""The lock of the container images: every package with one version, and the hashes of its files.

Run as `python -m releasing.lock` to write deploy/requirements.txt again, as `make lock` does.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from releasing.commands import CheckError, environment, run

ROOT = Path(__file__).parents[1]
LOCK = Path("deploy", "requirements.txt")
CONTAINERFILE = Path("deploy", "Containerfile")
UV = Path(sys.executable).with_name("uv")
HEAD = """\
# What a service needs, with the versions of constraints.txt, and the SHA-256 of each file that
# may be installed. After a change in pyproject.toml or constraints.txt: `make lock`
"""
# The oldest system library for which wheels are accepted is older than that of the base image.
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28")


def python_of_image(root: Path) -> str:
    """Return the version of Python in the base image, such as 3.11."""
    base = re.search(r"^ARG BASE=python:(\d+\.\d+)-", (root / CONTAINERFILE).read_text(), re.M)
    if base is None:
        raise CheckError(f"{CONTAINERFILE} does not state its base image as `ARG BASE=python:...`")
    return base[1]


def locked(root: Path) -> str:
    """Return the lock of the packages that a service needs, for every platform.

    The accountant is a folder of this repository: no index is asked for it, and it is not in the
    lock, since the image installs it from that folder.
    """
    accountant = (root / "packages" / "accountant").as_uri()
    options = ["--extra", "collect", "--constraint", "constraints.txt", "--generate-hashes"]
    options += [
        "--python-version",
        python_of_image(root),
        "--no-emit-package",
        "incrowd-accountant",
    ]
    options += ["--no-header", "--no-annotate", "--no-emit-index-url", "--quiet"]
    done = subprocess.run(
        [UV, "pip", "compile", "pyproject.toml", "-", *options],
        input=f"setuptools>=77\nincrowd-accountant @ {accountant}\n",
        cwd=root,
        env=environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise CheckError(f"uv cannot resolve what pyproject.toml requires:\n{done.stderr}")
    return HEAD + done.stdout


def hashes(lock: str) -> dict[str, set[str]]:
    """Return the hashes that a lock states for each package."""
    joined = lock.replace("\\\n", " ")
    lines = [line.split() for line in joined.splitlines() if line and not line.startswith("#")]
    return {
        requirement.partition("==")[0]: {option.rpartition(":")[2] for option in options}
        for requirement, *options in lines
    }


def problems(lock: Path, python: str) -> list[str]:
    """Return the packages of a lock that pip cannot install from a wheel, on each platform.

    uv lists the wheels that fit the platform; one of them must have a hash of the lock.
    """
    stated = hashes(lock.read_text(encoding="utf-8"))
    found = []
    for platform in PLATFORMS:
        options = ["--no-deps", "--python-version", python, "--python-platform", platform]
        options += ["--only-binary", ":all:", "--format", "pylock.toml", "--no-header", "--quiet"]
        text = run(UV, "pip", "compile", *options, lock.name, folder=lock.parent)
        for package in tomllib.loads(text)["packages"]:
            wheels = {wheel["hashes"]["sha256"] for wheel in package["wheels"]}
            if not wheels & stated[package["name"]]:
                found.append(f"{package['name']}: no wheel for {platform} has a hash of the lock")
    return found


if __name__ == "__main__":
    try:
        text = locked(ROOT)
    except CheckError as error:
        sys.exit(str(error))
    (ROOT / LOCK).write_text(text, encoding="utf-8")
