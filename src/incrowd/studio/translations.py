"""Texts of a survey that are not translated yet. Until then, people read them in the main language,
and an answer without a text by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from incrowd.studio import operations
from incrowd.studio.condition_form import in_main
from incrowd.studio.document import Raw
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.question_form import named_answers
from incrowd.studio.titles import titles_in

PARTS: Mapping[str, tuple[tuple[str, Phrase], ...]] = {
    "question": (("text", phrase("question")), ("help", phrase("explanation"))),
    "section": (("title", phrase("title")), ("text", phrase("text below the title"))),
    "matrix": (("text", phrase("text above the table")), ("help", phrase("explanation"))),
    "page": (("consent", phrase("consent")), ("thanks", phrase("thanks"))),
}


class Untranslated(NamedTuple):
    """What one question, section, matrix or page lacks in a language.

    id: of a question, to open it; otherwise "". title: what it is called. texts: the missing texts.
    answers: the answers whose wordings are missing.
    """

    id: str
    title: str | Phrase
    texts: tuple[Phrase, ...]
    answers: tuple[str, ...]


def untranslated(raw: Raw, tags: Sequence[str]) -> dict[str, tuple[Untranslated, ...]]:
    """Return what is missing in each language of a survey that lacks something. tags: its
    languages, the main one first."""
    missing = {tag: tuple(_missing(raw, tag, tags[0])) for tag in tags}
    return {tag: each for tag, each in missing.items() if each}


def _missing(raw: Raw, tag: str, main: str) -> Iterator[Untranslated]:
    titles = titles_in(raw)
    for kind in operations.PARTS:
        for part in operations.parts(raw, kind):
            words = part.get("title" if kind == "section" else "text")
            title = in_main(words, main) or str(part.get("id"))
            yield from _of(kind, part, "", title, tag, main)
    for asked in operations.questions(raw):
        id = str(asked.get("id", ""))
        yield from _of("question", asked, id, titles[id], tag, main)
    page = raw.get("page")
    if isinstance(page, dict):
        yield from _of("page", page, "", phrase("Before and after the questions"), tag, main)


def _of(
    kind: str, table: Raw, id: str, title: str | Phrase, tag: str, main: str
) -> Iterator[Untranslated]:
    texts = tuple(name for key, name in PARTS[kind] if _lacks(table.get(key), tag, main))
    labels = table.get("labels")
    stated = labels if isinstance(labels, dict) else {}
    listed = named_answers(table) if tag != main else ()  # in the main language, by their names
    answers = tuple(
        each
        for each in listed
        if _lacks(stated.get(each, each), tag, main) and any(map(str.isalpha, each))
    )
    if texts or answers:
        yield Untranslated(id, title, texts, answers)


def _lacks(words: Any, tag: str, main: str) -> bool:
    """Return whether a text that is there is missing in a language."""
    if isinstance(words, str):
        return bool(words) and tag != main
    return isinstance(words, dict) and bool(words) and not words.get(tag)
