"""Several versions of the manual side by side, each of which lists the others.

Run as `python -m releasing.manual SITE FOLDER` to add a built manual to a folder.
"""

import html
import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.version import InvalidVersion, Version

from releasing import versions

ROOT = Path(__file__).parents[1]
UNRELEASED = "dev"
STATEMENT = re.compile(r"^const VERSIONS = .*$", re.MULTILINE)
PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>incrowd: versions of the manual</title>
<style>body {{ font: 1rem/1.6 system-ui, sans-serif; margin: 2rem auto; padding: 0 1rem }}
:root {{ color-scheme: light dark }}</style>
<h1>incrowd: the manual</h1>
<ul>
{links}
</ul>
</html>
"""


def folder_of(version: str, date: str | None) -> str:
    """Return the folder of a version: its number, or `dev` if it has not been released."""
    return version if re.fullmatch(r"\d{4}-\d\d-\d\d", date or "") else UNRELEASED


def _order(name: str) -> Version:
    try:
        return Version(name)
    except InvalidVersion:
        return Version("0")


def labels(names: Iterable[str]) -> list[dict[str, str]]:
    """Return the name and the label of each version: the latest first, what is not released last.

    The latest is the latest final release, or the latest candidate as long as there is none.
    """
    ordered = sorted((name for name in names if name != UNRELEASED), key=_order, reverse=True)
    final = [name for name in ordered if not _order(name).is_prerelease]
    latest = next(iter(final or ordered), None)
    if latest is not None:
        ordered = [latest, *(name for name in ordered if name != latest)]
    listed = [
        {"name": name, "label": f"{name} (latest)" if name == latest else name} for name in ordered
    ]
    if UNRELEASED in names:
        listed.append({"name": UNRELEASED, "label": f"{UNRELEASED} (not released)"})
    return listed


def add(site: Path, folder: Path, name: str) -> None:
    """Copy a built manual into a folder of versions, and list all versions in each of them.

    Parameters
    ----------
    site
        What `make docs` has built.
    folder
        The folder of all versions; it is created if it is missing.
    name
        The folder of this version in it, which is replaced.
    """
    if (folder / name).exists():
        shutil.rmtree(folder / name)
    shutil.copytree(site, folder / name)
    scripts = {path.parent.name: path for path in folder.glob("*/versions.js")}
    listed = labels(set(scripts))
    statement = f"const VERSIONS = {json.dumps(listed)}"
    for path in scripts.values():
        text = path.read_text(encoding="utf-8")
        path.write_text(STATEMENT.sub(lambda _: statement, text, count=1), encoding="utf-8")
    shown = {html.escape(each["name"]): html.escape(each["label"]) for each in listed}
    links = [f'<li><a href="{name}/index.html">{label}</a></li>' for name, label in shown.items()]
    (folder / "index.html").write_text(PAGE.format(links="\n".join(links)), encoding="utf-8")


if __name__ == "__main__":
    site, folder = map(Path, sys.argv[1:])
    add(site, folder, folder_of(*versions.of_changelog(ROOT)))
