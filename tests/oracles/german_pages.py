"""What is English on a German page: texts of the package, and sentences with English words."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from incrowd import catalog
from incrowd.catalog.sentences import texts
from incrowd.studio.language import german

ROOMS = tuple(file.stem for file in Path(catalog.__file__).parent.glob("de/*.toml"))
WORDS = frozenset({"the", "of", "and", "is", "are", "you", "that", "with", "for", "your", "this"})
RUN = 4  # words that follow each other
TWO = 2  # English words of a sentence


def words_of(text):
    return re.findall(r"[^\W\d_]+", text.lower())


@cache
def pairs():
    """Each English text of the package with its German one."""
    every = list(german().items())
    for room in ROOMS:
        there = texts(room, "de")
        every += [(text, there[code]) for code, text in texts(room, "en").items() if code in there]
    return every


@cache
def english_runs():
    """The words of the longest fixed part of each English text; none that a German text has."""
    of_german = " | ".join(" ".join(words_of(german)) for _, german in pairs())
    runs = {" ".join(words_of(max(re.split(r"{[^}]*}", text), key=len))) for text, _ in pairs()}
    return tuple(run for run in runs if run.count(" ") >= RUN - 1 and run not in of_german)


@cache
def english_texts():
    """Whole English texts, also those of a word, unless they are German as well."""
    german = {text.lower() for _, text in pairs()}
    return {text.lower() for text, _ in pairs()} - german - {"yes", "no"}  # names of answers


def english_in(text):
    """Why a text of a German page is English; "" if it is not."""
    words = words_of(text)
    known = " ".join(words)
    for run in english_runs():
        if run in known:
            return f"a text of the package: {run}"
    if text.lower() in english_texts():
        return "a whole text of the package"
    common = WORDS.intersection(words)
    return f"English words: {', '.join(sorted(common))}" if len(common) >= TWO else ""


BLOCKS = re.compile(
    "address|article|aside|br|button|caption|d[dlt]|details|div|fieldset|footer|form|h[1-4r]|"
    "header|label|legend|li|main|nav|[ou]l|optgroup|option|p|section|select|summary|table|t[bdhr]|"
    "tbody|thead|title"
)
UNREAD = ("script", "style", "pre", "code", "template")
SPOKEN = ("aria-label", "title", "placeholder", "alt")


class _Texts(HTMLParser):
    """The texts of a page that a person reads or hears, block by block."""

    def __init__(self):
        super().__init__()
        self.texts, self.block, self.unread = [], [], 0

    def handle_starttag(self, tag, attributes):
        self.unread += tag in UNREAD
        if BLOCKS.fullmatch(tag):
            self.end()
        self.texts += [value for name, value in attributes if name in SPOKEN and value]

    def handle_endtag(self, tag):
        self.unread -= tag in UNREAD
        if BLOCKS.fullmatch(tag):
            self.end()

    def handle_data(self, data):
        if not self.unread:
            self.block.append(data)

    def end(self):
        if text := " ".join("".join(self.block).split()):
            self.texts.append(text)
        self.block = []


def texts_of_page(page):
    """The texts of a page that a person reads or hears; commands and files are left out."""
    reader = _Texts()
    reader.feed(page)
    reader.end()
    return reader.texts
