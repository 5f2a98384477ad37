"""The version of everything that is released together, and where each states it."""

import json
import re
from pathlib import Path

from releasing.commands import CheckError

HEADING = re.compile(r"^## \[?(?P<version>[^\]\s]+)\]?(?: - (?P<date>\S+))?$", re.MULTILINE)


def of_package(root: Path) -> str:
    """Return `__version__` of the package, read without importing it."""
    text = (root / "src" / "incrowd" / "version.py").read_text(encoding="utf-8")
    stated = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if stated is None:
        raise CheckError("src/incrowd/version.py has no `__version__`")
    return stated[1]


def in_npm(version: str) -> str:
    """Write a version as npm does: 1.0.0rc1 is 1.0.0-rc.1."""
    return re.sub(r"(?<=\d)(a|b|rc)(\d+)$", r"-\1.\2", version)


def of_changelog(root: Path) -> tuple[str, str | None]:
    """Return the version of the first heading of the changelog, and its date or "unreleased"."""
    heading = HEADING.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if heading is None:
        raise CheckError(
            "CHANGELOG.md has no heading of a version, such as `## 1.0.0 - 2027-01-31`"
        )
    return heading["version"], heading["date"]


def problems(root: Path, tag: str | None) -> list[str]:
    """Return every place with another version than the package, and a tag without a dated entry.

    Parameters
    ----------
    root
        The folder of the repository.
    tag
        The tag of the commit, such as `v1.0.0`, if it has one.
    """
    version = of_package(root)
    changelog, date = of_changelog(root)
    client = json.loads((root / "clients" / "js" / "package.json").read_text())["version"]
    citation = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    needed = re.search(r'"incrowd-accountant==(.+)"', (root / "pyproject.toml").read_text())
    expected = {
        "CHANGELOG.md": (changelog, version),
        "CITATION.cff": (citation and citation[1], version),
        "clients/js/package.json": (client, in_npm(version)),
        "pyproject.toml": (needed and needed[1], version),
    }
    if tag is not None:
        expected["the tag"] = (tag, f"v{version}")
    found = [
        f"{place} states {stated}, and the package {wanted}"
        for place, (stated, wanted) in expected.items()
        if stated != wanted
    ]
    if tag is not None and not re.fullmatch(r"\d{4}-\d\d-\d\d", date or ""):
        found.append(f"CHANGELOG.md has no date for {changelog}, which is tagged: {date}")
    return found
