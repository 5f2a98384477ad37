"""What the code cites stands in the manual, and what the manual proves is named by the code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "incrowd"
CITING = ("src", "tests", "bench", "docs", "reproduction", "examples")
CITATION = re.compile(r"docs/([\w-]+)\.md#([\w-]+)")
HEADING = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (?P<statement>.+) \| (?P<status>.+) \|(?P<code>.*)\|$", flags=re.MULTILINE)
LINK = re.compile(r"\]\((?P<page>[\w-]*)(?:\.md)?#(?P<anchor>[\w-]+)\)")


def anchors(page):
    """The anchors of a page, made of its headings as the manual's builder makes them."""
    text = BLOCK.sub("", (ROOT / "docs" / f"{page}.md").read_text())
    words = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in HEADING.findall(text))
    return {re.sub(r"[-\s]+", "-", heading) for heading in words}


def files():
    return [
        file
        for folder in CITING
        for ending in ("*.py", "*.md")
        for file in (ROOT / folder).rglob(ending)
        if "data" not in file.parts
    ]


def unresolved(text):
    """The citations of a text that lead nowhere."""
    return [
        f"{page}#{anchor}"
        for page, anchor in CITATION.findall(text)
        if not (ROOT / "docs" / f"{page}.md").exists() or anchor not in anchors(page)
    ]


def statements():
    """Every row of the table of statements that names code: page, anchor and the files."""
    text = (ROOT / "docs" / "mathematics.md").read_text()
    for row in ROW.finditer(text.split("\n## ")[0]):
        if named := re.findall(r"`([^`]+)`", row["code"]):
            link = LINK.search(row["statement"])
            assert link, f"a statement with code has a place of its proof: {row[0]}"
            yield link["page"] or "mathematics", link["anchor"], named


def home(name):
    """The file that a path of the table means."""
    return ROOT / name if name.startswith("reproduction/") else SOURCE / name


def test_every_citation_resolves():
    found = {str(file.relative_to(ROOT)): unresolved(file.read_text()) for file in files()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_a_citation_of_what_is_not_there_is_found():
    there, nowhere = "docs/mathematics.md#", "the-engines"
    assert unresolved(f"({there}the-engine), ({there}the-worst-pairs)") == []
    assert unresolved(f"see {there}{nowhere}.") == [f"mathematics#{nowhere}"]
    assert unresolved("docs/" + "none.md#the-engine") == ["none#the-engine"]


def test_every_statement_has_a_section():
    links = [(page, anchor) for page, anchor, _ in statements()]
    assert len(links) > 20
    assert [link for link in links if link[1] not in anchors(link[0])] == []


@pytest.mark.parametrize(("page", "anchor", "named"), [*statements()], ids=lambda v: str(v)[:40])
def test_the_code_of_a_statement_names_it(page, anchor, named):
    """A path that does not exist was moved: the table of the page has to follow."""
    silent = [
        name
        for name in named
        if not home(name).is_file() or f"docs/{page}.md#{anchor}" not in home(name).read_text()
    ]
    assert silent == []


def test_every_statement_that_code_names_stands_in_the_table():
    listed = {(page, anchor) for page, anchor, _ in statements()}
    cited = {
        link
        for file in [*SOURCE.rglob("*.py"), *(ROOT / "reproduction").rglob("*.py")]
        for link in CITATION.findall(file.read_text())
    }
    assert cited - listed == set()
