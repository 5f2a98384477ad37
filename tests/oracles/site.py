"""What the pages of the built manual load: nothing from another host.

Run as `python -m tests.oracles.site SITE`.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

# The elements that fetch something, and the attribute that names it; a link only leads there.
LOADS = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "use": "href",
    "video": "src",
}
ELSEWHERE = re.compile(r"\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?((?:[a-z]+:)?//[^'\")\s]+)", re.IGNORECASE)


class _Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.loaded = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        name = attributes.get(LOADS.get(tag), "") or ""
        if ELSEWHERE.match(name) and attributes.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(name)
        self.loaded += IN_STYLE.findall(attributes.get("style") or "")


def loaded_by_html(text):
    """The addresses on other hosts that a page loads."""
    page = _Page()
    page.feed(text)
    return page.loaded + loaded_by_style("".join(re.findall(r"(?s)<style.*?</style>", text)))


def loaded_by_style(text):
    """The addresses on other hosts that a style sheet loads."""
    return IN_STYLE.findall(text)


def loaded_elsewhere(site):
    """File -> the addresses on other hosts that it loads, for all files of a site."""
    kinds = {".html": loaded_by_html, ".css": loaded_by_style}
    loads = {
        file.relative_to(site): kinds[file.suffix](file.read_text())
        for file in sorted(site.rglob("*"))
        if file.suffix in kinds
    }
    return {file: addresses for file, addresses in loads.items() if addresses}


if __name__ == "__main__":
    found = loaded_elsewhere(Path(sys.argv[1]))
    for file, addresses in found.items():
        print(f"{file} loads from another host: {', '.join(addresses)}")
    sys.exit(bool(found))
