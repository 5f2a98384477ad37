"""The texts of a form: their languages, what replaces references to answers, and no markup."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from incrowd.characters import HIDDEN
from incrowd.survey.words import LANGUAGE, in_language

Translations = Mapping[str, str]  # texts by the tags of their languages

MOST_CHARACTERS = 20_000  # of a text
GAP = "…"  # in the place of a reference, such as ${name}
_UNSEEN = re.compile(r"(?is)<!--.*?-->|<(script|style)\b[^<>]*>.*?</\1\s*>")
_BREAK = re.compile(r"(?i)<(?:/?(?:p|div|li|ul|ol|tr|td|th|table|h[1-6])|br|hr)\b[^<>]*>")
_TAG = re.compile(
    r"(?i)</?(?:a|abbr|audio|b|big|blockquote|button|center|code|del|em|figure|font|form|i|iframe|"
    r"img|input|ins|label|mark|o:p|object|pre|s|small|source|span|strike|strong|sub|sup|svg|tbody|"
    r"tfoot|thead|u|video)\b[^<>]*>"
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_HEADING = re.compile(r"(?m)^[ \t]{0,3}#{1,6}[ \t]+")
_EMPHASIS = (
    re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"),
    re.compile(r"(?<![\w*_])([*_])(?=[^\s*_])([^*_]*[^\s*_])\1(?![\w*_])"),
)
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!-])")


def without_html(text: str) -> str:
    """Return a text without HTML, on one line."""
    for _ in range(2):  # some software escapes what already was HTML
        text = _UNSEEN.sub(" ", text[:MOST_CHARACTERS])
        text = html.unescape(_TAG.sub("", _BREAK.sub(" ", text)))
    return " ".join(HIDDEN.sub(" ", text).split())


def without_markdown(text: str) -> str:
    """Return a text without the marks of Markdown."""
    text = _HEADING.sub("", _LINK.sub(r"\1", text[:MOST_CHARACTERS]))
    for emphasis in _EMPHASIS:
        text = emphasis.sub(r"\2", text)
    return _ESCAPED.sub(r"\1", text)


class Languages(NamedTuple):
    """The languages of a form that are used.

    tags: the tag of each language by its name in the form, the main language first. notes: what was
    assumed, and what was left out.
    """

    tags: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> str:
        """The tag of the survey's language."""
        return next(iter(self.tags.values()))

    def labels(
        self, answers: Mapping[str, Translations]
    ) -> tuple[dict[str, Translations], tuple[str, ...]]:
        """Return the labels of answers that have several languages, and the ambiguous languages.

        A language in which two answers have the same label is ambiguous, and left out.
        """
        named = {answer: words for answer, words in answers.items() if self.main in words}
        ambiguous = []
        for tag in sorted({tag for words in named.values() for tag in words} - {self.main}):
            names = Counter(in_language(words, tag, self.main) for words in named.values())
            if max(names.values()) > 1:
                ambiguous.append(tag)
                named = {
                    a: {t: w for t, w in words.items() if t != tag} for a, words in named.items()
                }
        labels = {answer: words for answer, words in named.items() if len(words) > 1}
        return labels, tuple(ambiguous)


ENGLISH = Languages({"": LANGUAGE})


class FormWording(NamedTuple):
    """The way in which a form writes its texts.

    reference: matches what the form's software replaces, such as ${name}, which survey pages would
    show as it is. markdown: whether texts are Markdown.
    """

    languages: Languages = ENGLISH
    reference: re.Pattern[str] = re.compile(r"(?!)")
    markdown: bool = False

    def plain(self, text: str) -> str:
        """Return a text without markup, and with a gap for each reference."""
        text = self.reference.sub(GAP, text)
        return without_html(without_markdown(text) if self.markdown else text)

    def every(self, words: Translations) -> dict[str, str]:
        """Return the texts in all languages, without those of which nothing is left."""
        plain = {tag: self.plain(text) for tag, text in words.items()}
        return {tag: text for tag, text in plain.items() if text}

    def one(self, words: Translations) -> str:
        """Return the text in the main language, or in the first that there is; "" without any."""
        plain = self.every(words)
        return plain.get(self.languages.main) or next(iter(plain.values()), "")

    def references(self, texts: Iterable[Translations]) -> Iterator[str]:
        """Yield what some texts refer to, each once."""
        every = (text for words in texts for text in words.values())
        yield from dict.fromkeys(
            " ".join(match[0].split()) for text in every for match in self.reference.finditer(text)
        )
