"""What is English on a German page: texts of the package, and sentences with English words."""

import re
from functools import cache
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
def english_runs():
    """The words of the longest fixed part of each English text; none that a German text has."""
    pairs = list(german().items())
    for room in ROOMS:
        there = texts(room, "de")
        pairs += [(text, there[code]) for code, text in texts(room, "en").items() if code in there]
    of_german = " | ".join(" ".join(words_of(german)) for _, german in pairs)
    runs = {" ".join(words_of(max(re.split(r"{[^}]*}", text), key=len))) for text, _ in pairs}
    return tuple(run for run in runs if run.count(" ") >= RUN - 1 and run not in of_german)


def english_in(text):
    """Why a text of a German page is English; "" if it is not."""
    words = words_of(text)
    known = " ".join(words)
    for run in english_runs():
        if run in known:
            return f"a text of the package: {run}"
    common = WORDS.intersection(words)
    return f"English words: {', '.join(sorted(common))}" if len(common) >= TWO else ""
