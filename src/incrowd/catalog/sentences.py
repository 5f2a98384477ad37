"""Sentences as data: a code, typed arguments, and a text in each language from a catalog.

`catalog/en/survey.toml` holds the English texts of the codes that begin with "survey.". A text
names its arguments in braces. Without a format, text is shown as it is, lists and tuples with
commas, and sentences in the language of the sentence around them. Formats:

- `{value:shown}`: a value that somebody wrote, text in quotation marks, shortened if it is long
- `{id:quoted}`: text in quotation marks
- `{epsilon:figure}`: a number that was written in English, with the marks of the language
- `{text:upper}`, `{text:lower}`: with a capital or a small letter at the beginning
- `{rows:row is|rows are}`: a number and what it counts: "1 row is", "1,200 rows are"
- `{people:,}`, `{share:.3g}` and so on: as Python formats it, with the marks of the language
"""

from __future__ import annotations

import difflib
import errno
import os
import string
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

ENGLISH = "en"
LANGUAGES = ("en", "de")  # of the catalogs
WIDTH = 120  # of a value that somebody wrote


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a part of one, in any language.

    code: "room.name", the key of its texts. arguments: the values that the texts name.
    """

    code: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return in_words(self)


def sentence(code: str, /, **arguments: Any) -> Sentence:
    """Return the sentence with a code."""
    return Sentence(code, arguments)


class NumberText(str):
    """A number as text in English, which other languages write with their marks."""

    __slots__ = ()


class Translatable(str):
    """An English text that knows its sentence, so that pages can show it in another language.

    A text made of it in any other way than as an argument of a sentence is only English.
    """

    sentence: Sentence


def translatable(code: str, /, **arguments: Any) -> Translatable:
    """Return the English text of a code, which `translated` writes in other languages."""
    return as_translatable(Sentence(code, arguments))


def as_translatable(source: Sentence) -> Translatable:
    """Return the English text of a sentence, which `translated` writes in other languages."""
    text = Translatable(in_words(source))
    text.sentence = source
    return text


def text_list(texts: Iterable[str], code: str = "shared.first-then") -> str:
    """Return texts as one that can be translated; "" for none. code: of a text such as
    "{first}, {second}"."""
    together, *others = [*texts] or [""]
    for text in others:
        together = translatable(code, first=together, second=text)
    return together


def translated(text: Any, language: str) -> Any:
    """Return a text in a language; one that knows no other language stays as it is."""
    if isinstance(text, Sentence):
        return in_words(text, language)
    if language == ENGLISH or not isinstance(text, str):
        return text
    if isinstance(text, Translatable):
        return in_words(text.sentence, language)
    return localized(text, language) if isinstance(text, NumberText) else text


def joined(code: str, parts: Iterable[str | Sentence]) -> str | Sentence:
    """Return parts as one, joined by a text such as "{first} and {second}"; "" for none."""
    together, *others = [*parts] or [""]
    for part in others:
        together = sentence(code, first=together, second=part)
    return together


def listed(parts: Sequence[str | Sentence]) -> str | Sentence:
    """Return parts as a list: "a", "a and b", "a, b and c"."""
    *first, last = parts
    return sentence("shared.and", first=first, second=last) if first else last


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a sentence with other arguments, also within lists and sentences."""
    if isinstance(value, Sentence):
        arguments = {name: replaced(each, change) for name, each in value.arguments.items()}
        return Sentence(value.code, arguments)
    if isinstance(value, list | tuple):
        return type(value)(replaced(each, change) for each in value)
    return change(value)


class Placeholder(str):
    """The value of an option that the reader fills in, such as LEDGER. It is not quoted."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass(frozen=True)
class Keyword:
    """An argument of a function, or the option of the command line for it, with a value.

    value: True for an option that is only named; None for one whose value is left open.
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return as_keyword(self)


@dataclass(frozen=True)
class FileDigest:
    """The digest of a plan or the name of a part of a collection; people know its file instead."""

    text: str

    def __str__(self) -> str:
        return self.text


def as_keyword(option: Keyword) -> str:
    """Return an option as Python spells it: "unknown='crowd'", "as_planned=True", "people"."""
    return option.name if option.value is None else f"{option.name}={option.value!r}"


def text_language(language: str) -> str:
    """Return the language of texts for that of a survey: itself ("de" for "de-AT"), or English."""
    tag = language.split("-")[0].lower()
    return tag if tag in LANGUAGES else ENGLISH


def in_words(
    sentence: Sentence, language: str = ENGLISH, option: Callable[[Keyword], str] = as_keyword
) -> str:
    """Return a sentence in a language. option: how options are spelled."""
    return _Writer(language, option).vformat(
        text_of(sentence.code, language), (), sentence.arguments
    )


def text_of(code: str, language: str) -> str:
    """Return the text of a code, with its arguments in braces."""
    room, _, name = code.partition(".")
    return texts(room, language)[name]


@cache
def rooms() -> frozenset[str]:
    """Return the rooms that have texts."""
    folder = files(__package__) / ENGLISH
    return frozenset(file.name.removesuffix(".toml") for file in folder.iterdir())


def is_code(code: str) -> bool:
    """Return whether there is a text for a code that somebody else wrote."""
    room, _, name = code.partition(".")
    return room in rooms() and name in texts(room, ENGLISH)


@cache
def texts(room: str, language: str) -> Mapping[str, str]:
    """Return the texts of a room by the names of their codes."""
    return tomllib.loads((files(__package__) / language / f"{room}.toml").read_text("utf-8"))


class _Writer(string.Formatter):
    """Writes arguments in a language."""

    def __init__(self, language: str, option: Callable[[Keyword], str]) -> None:
        self.language, self.option = language, option

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in _BEGINNINGS:
            text = self.format_field(value, "")
            return f"{_BEGINNINGS[format_spec](text[:1])}{text[1:]}"
        if isinstance(value, Sentence):
            return in_words(value, self.language, self.option)
        if isinstance(value, Keyword):
            return self.option(value)
        if format_spec == "shown":
            return shown(value, self.language)
        if format_spec == "quoted":
            return ", ".join(map(repr, value)) if isinstance(value, list | tuple) else repr(value)
        if format_spec == "figure":
            return localized(str(value), self.language)
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return f"1 {one}" if value == 1 else f"{localized(f'{value:,}', self.language)} {many}"
        if format_spec:
            return localized(format(value, format_spec), self.language)
        if isinstance(value, list | tuple):
            return ", ".join(self.format_field(each, "") for each in value)
        return str(translated(value, self.language))


_BEGINNINGS = {"upper": str.upper, "lower": str.lower}
_MARKS = str.maketrans({",": ".", ".": ",", "%": " %"})


def localized(number: str, language: str) -> str:
    """Return an English number with the marks of a language: "1,234.5%" becomes "1.234,5 %"."""
    return number.translate(_MARKS) if language == "de" else number


# What a value is called that cannot be shown as it is.
_SHAPES = {
    "en": ("a table of {}", "an empty table", "a list of {}", "an empty list", "nothing",
           "a number of thousands of digits", "something nested too deep to be shown"),
    "de": ("eine Tabelle mit {}", "eine leere Tabelle", "eine Liste mit {}", "eine leere Liste",
           "nichts", "eine Zahl mit Tausenden von Ziffern", "zu tief Verschachteltes"),
}  # fmt: skip


def shown(value: object, language: str = ENGLISH, width: int = WIDTH) -> str:
    """Return a value that somebody wrote: text in quotation marks; long values are shortened."""
    *_, digits, depth = _SHAPES[language]
    try:
        text = _listed(value, language)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return digits
    except RecursionError:
        return depth
    half = width // 2
    return text if len(text) <= width else f"{text[:half]} ... {text[-half:]}"


def _listed(value: object, language: str) -> str:
    """Return a value without Python's brackets, which the user did not type."""
    table, no_table, several, no_list, nothing, *_ = _SHAPES[language]
    if isinstance(value, Sentence):
        return in_words(value, language)
    if isinstance(value, Mapping):
        return table.format(", ".join(map(str, value))) if value else no_table
    if isinstance(value, list | tuple):
        inner = ", ".join(_listed(each, language) for each in value)
        if isinstance(value, tuple):
            return inner or nothing
        return several.format(inner) if value else no_list
    return repr(str(value)) if isinstance(value, str | FileDigest) else str(value)


def system_words(error: OSError) -> Sentence | str:
    """Return what the system says of an error, without the name of the file."""
    if not error.errno:
        return error.strerror or str(error)
    code = errno.errorcode.get(error.errno, "")
    if code in texts("system", ENGLISH):
        return Sentence(f"system.{code}")
    return error.strerror or os.strerror(error.errno)


def likely(word: object, names: Iterable[str]) -> Sentence | str:
    """Return "did you mean X? " for an unknown word, or "". It goes before the list of names."""
    name = closest(word, names)
    return "" if name is None else sentence("shared.did-you-mean", name=name)


def closest(word: object, names: Iterable[str]) -> str | None:
    """Return the name that a misspelled word seems to mean; None if there is none."""
    folded = {each.casefold(): each for each in names}
    matches = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.7)
    return folded[matches[0]] if matches else None
