"""The studio's own texts, in English and German.

The English sentence is the key of its translation. Templates write `_("Save")`; functions return
a `Phrase`, which is translated where it is shown. A value in a sentence is named in braces.
Problems, guarantees, and results have texts in both languages in the package's catalogs; a text of
the engine that knows its code (`Translatable`) is shown in the language of the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from incrowd.catalog.sentences import Sentence, in_words, localized, translated
from incrowd.errors import Problem

LANGUAGES = {"en": "English", "de": "Deutsch"}


@dataclass(frozen=True)
class Phrase:
    """A sentence in English, and the values of the names in its braces."""

    english: str
    values: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return in_language(self, "en")


def phrase(english: str, **values: Any) -> Phrase:
    """Return a sentence that is translated where it is shown. A value can be a phrase itself."""
    return Phrase(english, tuple(values.items()))


def in_language(
    text: str | Phrase | Mapping[str, str] | Problem | Sentence, language: str, /, **values: Any
) -> str:
    """Return the text in a language; a sentence without a translation stays English."""
    if isinstance(text, Problem):
        return text.text(language)
    if isinstance(text, Sentence):
        return in_words(text, language)
    if isinstance(text, Mapping):
        return text.get(language, text["en"])
    if isinstance(text, Phrase):
        return in_language(text.english, language, **dict(text.values) | values)
    wording = german().get(text, text) if language == "de" else text
    shown = {name: _shown(value, language) for name, value in values.items()}
    return wording.format(**shown) if shown else wording


def _shown(value: Any, language: str) -> Any:
    """Translate phrases and write whole numbers with separators; leave other values as they are."""
    if isinstance(value, Phrase | Sentence):
        return in_language(value, language)
    if isinstance(value, str):
        return translated(value, language)
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return localized(f"{value:,}", language)


def decimal(value: float, digits: int, language: str) -> str:
    """Return a number with some decimals, as a language writes it."""
    return localized(f"{value:,.{digits}f}", language)


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def day(time: datetime | None, language: str) -> str:
    """Return the day of a time on this machine's clock, as a language writes it; "" for None."""
    if time is None:
        return ""
    local = time.astimezone()
    if language == "de":
        return f"{local.day}.{local.month}.{local.year}"
    return f"{MONTHS[local.month - 1]} {local.day}, {local.year}"


def moment(time: datetime, language: str) -> str:
    """Return the day and the time of day on this machine's clock, as a language writes them."""
    return f"{day(time, language)}, {time.astimezone():%H:%M}"


@cache
def german() -> dict[str, str]:
    """Return the German texts by their English ones, from one file for each area of the studio."""
    texts: dict[str, str] = {}
    for file in (files(__package__) / "german").iterdir():
        if file.name.endswith(".json"):
            texts |= json.loads(file.read_text(encoding="utf-8"))
    return texts


def preferred(accept_language: str) -> str:
    """Return the language of the studio for a browser's header `Accept-Language`."""
    for each in accept_language.lower().split(","):
        tag = each.split(";")[0].strip().split("-")[0]
        if tag in LANGUAGES:
            return tag
    return "en"
