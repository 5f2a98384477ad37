"""The card as a page and as Markdown: user text stays text."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from incrowd.presentation.card import certified_card, html, markdown
from tests.conftest import local_plan, yes_no_question
from tests.presentation.conftest import PLANS, carded, texts


class Read(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


class TestPage:
    @pytest.mark.parametrize("name", PLANS)
    def test_fetches_and_runs_nothing(self, name):
        page = html(carded(name))
        read = Read(page)
        structure = {"html", "head", "meta", "title", "style", "body", "main", "section", "div"}
        tables = {"table", "thead", "tbody", "tr", "th", "td"}
        assert read.tags <= structure | tables | {"h1", "h2", "p", "strong", "pre", "wbr"}
        scrolled = {"tabindex", "role", "aria-label"}  # wide tables, for the keyboard
        named = {"lang", "charset", "name", "content", "class", "scope"}
        assert read.attributes <= named | scrolled
        assert not re.search(r"url\s*\(|@import|@font-face", page)
        assert len(page.encode()) < 50_000

    @pytest.mark.parametrize("name", PLANS)
    def test_every_text_is_read_as_it_is(self, name):
        text = Read(html(carded(name))).text
        for line in texts(carded(name)).split("\n"):
            assert line in text

    def test_the_parser_would_find_what_is_not_escaped(self):
        """The wrong page: user text as it is."""
        assert {"script", "img"} <= Read(unescape(html(carded("nasty")))).tags


PLAIN = {"heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"}
TABLE = {
    f"{n}_{end}" for n in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")
}


def tokens(text: str):
    """What a parser of Markdown with GitHub's tables and strikethrough makes of a text."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def kinds(text: str) -> set[str]:
    found = tokens(text)
    return {token.type for token in found} | {
        child.type for token in found for child in token.children or ()
    }


class TestMarkdown:
    @pytest.mark.parametrize("name", PLANS)
    def test_is_headings_paragraphs_tables_and_one_block_to_type(self, name):
        assert kinds(markdown(carded(name))) <= PLAIN | TABLE | {
            "text",
            "code_block",
            "text_special",
        }
        assert sum(token.type == "code_block" for token in tokens(markdown(carded(name)))) == 1

    @pytest.mark.parametrize("name", PLANS)
    def test_every_text_is_read_as_it_is(self, name):
        found = tokens(markdown(carded(name)))
        text = "\n".join(
            "".join(child.content for child in token.children) if token.children else token.content
            for token in found
        )
        read = " ".join(text.split())
        for line in texts(carded(name)).split("\n"):
            assert " ".join(line.split()) in read

    def test_names_are_readable_in_the_source(self):
        plan = local_plan(yes_no_question("physical_limitation"))
        assert "| physical_limitation | no or yes |" in markdown(certified_card(plan))

    def test_the_parser_would_find_what_is_not_escaped(self):
        """The wrong text: without the backslashes, but for those that keep cells apart."""
        wrong = re.sub(r"\\(?!\|)", "", markdown(carded("nasty")))
        assert {"link_open", "em_open", "html_inline", "s_open", "image"} <= kinds(wrong)
