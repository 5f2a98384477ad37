"""The languages of a questionnaire whose columns name them, as `label::English (en)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from incrowd.survey.words import LANGUAGE, in_language

_COLUMN = re.compile(r"(label|hint)(?:\s*::?\s*(.*))?")
_MORE = r"(?:-[A-Za-z0-9]{1,8})*"
_TAG = re.compile(rf".*\(([A-Za-z]{{2,3}}{_MORE})\)|([A-Za-z]{{2}}{_MORE})")

Table = dict[str, str]  # texts by the tags of their languages


class Languages(NamedTuple):
    """The columns that are taken: the tag of each language by its name, the main one first.

    notes: what nobody could know, and what was left out.
    """

    tags: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> str:
        """The tag of the survey's own language."""
        return next(iter(self.tags.values()))

    def words(self, row: Mapping[str, str], field: str) -> Table:
        """What a row says in its `label` or `hint`."""
        parts = {_COLUMN.fullmatch(column): text for column, text in row.items() if text}
        said = {p[2] or "": text for p, text in parts.items() if p and p[1] == field}
        found: Table = {}
        for name in (name for name in self.tags if name in said):
            found.setdefault(self.tags[name], said[name])
        return found

    def labels(self, answers: Mapping[str, Table]) -> tuple[dict[str, Table], tuple[str, ...]]:
        """Names of answers in several languages; and the languages in which two have one name."""
        named = {answer: words for answer, words in answers.items() if self.main in words}
        alike = []
        for tag in sorted({tag for words in named.values() for tag in words} - {self.main}):
            names = Counter(in_language(words, tag, self.main) for words in named.values())
            if max(names.values()) > 1:
                alike.append(tag)
                named = {
                    a: {t: w for t, w in words.items() if t != tag} for a, words in named.items()
                }
        return {answer: words for answer, words in named.items() if len(words) > 1}, tuple(alike)


def languages_of(columns: Iterable[str], default: str) -> Languages:
    """The languages of some columns. default: the main one, as the form names it, or nothing.

    Columns without a language are in the default one.
    """
    parts = (_COLUMN.fullmatch(column) for column in columns)
    names = list(dict.fromkeys(part[2] or "" for part in parts if part)) or [""]
    known = {name: tag for name in names if (tag := _tag(name or default))}
    main = _main(names, known, default)
    tags = {main: known.get(main, LANGUAGE)} | known
    guessed = [main] if main not in known and (main or len(names) > 1) else []
    unknown = [name for name in names if name not in tags]
    return Languages(tags, (*map(_guessed, guessed), *map(_left_out, unknown)))


def _main(names: Sequence[str], known: Mapping[str, str], default: str) -> str:
    """The name of the main language; one without a tag only if no other has the tag it gets."""
    for name in (default, ""):
        if name in known:
            return name
    if "" in names and LANGUAGE not in known.values():
        return ""
    return next(iter(known), names[0])


def _tag(name: str) -> str | None:
    """`en` of "English (en)" and of "en"; None where a name does not say it."""
    found = _TAG.fullmatch(name.strip())
    if not found:
        return None
    first, *rest = (found[1] or found[2]).split("-")
    return "-".join([first.lower(), *rest])


def _guessed(name: str) -> str:
    said = repr(name) if name else "a label without one"
    return f"nothing says which language {said} is: {LANGUAGE!r} was taken; set `language`"


def _left_out(name: str) -> str:
    said = repr(name) if name else "columns without a language"
    return f"what stands in {said} was left out: write its tag, as in label::English (en)"
