"""The built manual loads nothing from elsewhere; its reference has every public name."""

import re
from pathlib import Path

import pytest

import incrowd
from incrowd import accountant
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


def listed(page, package):
    return re.findall(rf"^::: {package}\.(\w+)$", (DOCS / page).read_text(), re.MULTILINE)


def test_the_reference_has_every_public_name_once():
    general = listed("api.md", "incrowd")
    privacy = listed("api-accountant.md", "incrowd.accountant")
    assert sorted(privacy) == sorted(accountant.__all__)
    assert sorted(general) == sorted(set(incrowd.__all__) - set(privacy))
