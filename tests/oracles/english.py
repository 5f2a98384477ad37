"""Runs of words of the engine's English texts, to look for in German files and pages."""

import re
from collections.abc import Iterator
from functools import cache

from incrowd.catalog.sentences import texts

ROOMS = ("estimation", "presentation", "plans", "promises")
RUN = 4  # words


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return re.sub(r"[^\w ]", " ", text).lower().split()


@cache
def english_runs() -> tuple[str, ...]:
    """The first words of the longest fixed part of each English text, if they are not German."""
    return tuple(_runs())


def _runs() -> Iterator[str]:
    for room in ROOMS:
        for name, text in texts(room, "en").items():
            run = words_of(max(re.split(r"{[^}]*}", text), key=len))[:RUN]
            german = " ".join(words_of(texts(room, "de")[name]))
            if len(run) == RUN and " ".join(run) not in german:
                yield " ".join(run)
