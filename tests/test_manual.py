"""The built manual loads nothing from elsewhere; its reference has every public name."""

import re
from pathlib import Path

import pytest

import incrowd
from tests.oracles.site import loaded_by_html, loaded_by_style, loaded_elsewhere

DOCS = Path(__file__).parent.parent / "docs"
ELSEWHERE = "https://elsewhere.example/a"


@pytest.mark.parametrize(
    "page",
    [
        f'<script src="{ELSEWHERE}"></script>',
        f'<link rel="stylesheet" href="{ELSEWHERE}">',
        f"<style>@font-face {{ src: url({ELSEWHERE}) }}</style>",
        f"<p style=\"background: url('{ELSEWHERE}')\">",
        '<img src="//elsewhere.example/a.png">',
    ],
)
def test_what_loads_from_elsewhere_is_found(page, tmp_path):
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<a href="https://elsewhere.example">read</a>')
    assert list(loaded_elsewhere(tmp_path)) == [Path("a.html")]


def test_links_and_files_beside_are_fine():
    assert loaded_by_html(f'<a href="{ELSEWHERE}">x</a><img src="a.png">') == []
    assert loaded_by_html(f'<link rel="canonical" href="{ELSEWHERE}">') == []
    assert loaded_by_style(f"/* {ELSEWHERE} */ a {{ background: url(a.png) }}") == []
    assert loaded_by_style(f"@import '{ELSEWHERE}';") == [ELSEWHERE]


def test_the_reference_has_every_public_name_once():
    pages = "".join((DOCS / name).read_text() for name in ("api.md", "api-accountant.md"))
    listed = re.findall(r"^::: incrowd\.(\w+)$", pages, re.MULTILINE)
    assert sorted(listed) == sorted(incrowd.__all__)
