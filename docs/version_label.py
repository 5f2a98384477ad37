"""Shows the version on every page of the manual, and whether it has been released."""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).parents[1]
HEADING = re.compile(r"^## (?P<version>\S+) - (?P<date>\S+)$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> None:
    """Read the version from the first heading of the changelog."""
    heading = HEADING.search((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert heading, "tests/releasing checks the first heading"
    config.site_name = f"incrowd {heading['version']}"
    config.extra["version_label"] = heading["version"]
    config.extra["released"] = heading["date"] != "unreleased"
