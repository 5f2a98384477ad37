"""The built manual loads nothing from elsewhere; its reference has every public name."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

import incrowd
from incrowd import accountant
from tests.oracles.node import has_browser
from tests.oracles.pages import in_browser
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


PHONE = re.compile(r"@media \(max-width.*?\n}\n", re.DOTALL)
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def too_wide(folder):
    """The pages that scroll sideways on a phone, and by how many pixels."""
    pages = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.html"))]
    wider = in_browser("manual.mjs", {"folder": str(folder), "pages": pages})
    return {name: pixels for name, pixels in wider.items() if pixels > 0}


@pytest.mark.slow
@pytest.mark.skipif(not has_browser(), reason="Chromium is not installed")
def test_code_in_sentences_fits_a_phone(tmp_path):
    """Each page's code between backticks; without the rule for phones, some would be too wide."""
    style = (DOCS / "style.css").read_text()
    assert len(PHONE.findall(style)) == 1
    for name, rules in (("with", style), ("without", PHONE.sub("", style))):
        (tmp_path / name).mkdir()
        for page in DOCS.glob("*.md"):
            text = re.sub(r"(?sm)^```.*?^```|^\|.*?$", "", page.read_text())  # no blocks, no tables
            code = "".join(
                f"<p>x <code>{html.escape(each)}</code></p>" for each in CODE.findall(text)
            )
            head = f"<!doctype html><meta charset=utf-8><style>{rules}</style>"
            body = f'<body style="margin: 0; font-size: 16px"><div class="md-typeset">{code}</div>'
            (tmp_path / name / f"{page.stem}.html").write_text(head + body)
    assert too_wide(tmp_path / "with") == {}
    assert "running.html" in too_wide(tmp_path / "without")


@pytest.mark.slow
@pytest.mark.skipif(not has_browser(), reason="Chromium is not installed")
def test_the_built_manual_fits_a_phone(tmp_path):
    pytest.importorskip("mkdocs", reason="make docs installs it")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", tmp_path]
    subprocess.run(build, cwd=DOCS.parent, check=True)
    assert too_wide(tmp_path) == {}
