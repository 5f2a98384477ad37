"""The texts of a survey: wordings and labels of answers, in one language or several."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Annotated, Any, Protocol

from pydantic import BeforeValidator

from incrowd.characters import hidden, look_alikes, texts
from incrowd.errors import Of, Problem, Unfit

LANGUAGE = "en"
TAG = r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*"  # of a language, BCP 47
MOST_LETTERS = 35  # of a tag


def checked_tag(tag: object) -> str:
    """Check the tag of a language. Raises ValueError if it is not one."""
    if not isinstance(tag, str) or len(tag) > MOST_LETTERS or not re.fullmatch(TAG, tag):
        raise Unfit("survey.no-language")
    return tag


def _checked(words: Any) -> Any:
    """Check a text, or a table of texts by language. Raises ValueError for anything else."""
    texts = [*words.values()] if isinstance(words, dict) else [words]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise Unfit("survey.no-words")
    for tag in words if isinstance(words, dict) else ():
        checked_tag(tag)
    return words


Tag = Annotated[str, BeforeValidator(checked_tag)]
Wordings = Annotated[str | dict[str, str], BeforeValidator(_checked)]


class Readable(Protocol):
    """The texts of a question."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def text(self) -> str | dict[str, str] | None:
        """The wording."""

    @property
    def help(self) -> str | dict[str, str] | None:
        """The help text."""

    @property
    def labels(self) -> Mapping[str, str | dict[str, str]] | None:
        """Names of answers."""


def with_labels(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the raw survey with its own language in each translated label: the answer, if it is
    missing.

    Anything else that is wrong with labels is for the validation to say.
    """
    language, asked = raw.get("language", LANGUAGE), raw.get("question")
    if not isinstance(asked, list | tuple):
        return dict(raw)
    return {**raw, "question": [_labeled(question, language) for question in asked]}


def _labeled(question: Any, language: Any) -> Any:
    labels = question.get("labels") if isinstance(question, Mapping) else None
    if not isinstance(labels, Mapping):
        return question
    filled = {
        answer: {language: answer, **words} if isinstance(words, Mapping) and words else words
        for answer, words in labels.items()
    }
    return {**question, "labels": filled}


def in_language(words: str | Mapping[str, str], language: str, survey: str) -> str:
    """Return the text in a language, in its base language ("de" for "de-AT"),
    or in the survey's."""
    if isinstance(words, str):
        return words
    tags = (language, language.partition("-")[0], survey)
    return next(words[tag] for tag in tags if tag in words)


def languages(question: Readable) -> Iterator[str]:
    """Yield the languages of a question's texts."""
    for words in _all_words(question).values():
        yield from () if isinstance(words, str) else words


def word_problems(question: Readable, survey: str) -> Iterator[Problem]:
    """Check the texts of a question. survey: the language of the survey."""
    words, of = _all_words(question), Of(question.id)
    for field, each in words.items():
        if not isinstance(each, str) and survey not in each:
            yield Problem(("question", *field, of), "survey.no-main-language", language=survey)
            return
    labels = [each for (field, *_), each in words.items() if field not in _FIELDS]
    for language in sorted({survey, *languages(question)}):
        named = Counter(in_language(each, language, survey) for each in labels)
        if twice := [name for name, count in named.items() if count > 1]:
            path = ("question", "labels", of)
            yield Problem(path, "survey.same-label", value=twice[0], language=language)
            return


def hidden_problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield characters in a raw survey that hide or reorder text.

    Codes may contain any characters: they match a data file and are never shown.
    """
    for place, text in texts(raw):
        paragraphs = any(key in _PARAGRAPHS.get(place[:1], ()) for key in place[1:3])
        if place[:1] != ("codes",) and (characters := hidden(text, paragraphs)):
            yield Problem(place or ("survey",), "survey.hidden-character", character=characters)


def look_alike_warnings(questions: Iterable[Any], strata: Iterable[str] = ()) -> Iterator[str]:
    """Warn of questions, answers and strata with names that look alike."""
    questions = list(questions)
    groups = {f"the answers to {each.id}": each.answers for each in questions}
    groups |= {"the questions": [each.id for each in questions], "the strata": strata}
    for what, names in groups.items():
        for one, other in look_alikes(names):
            points = zip_longest(one, other, fillvalue="")
            first = next((a, b) for a, b in points if a != b)
            differ = " and ".join(f"U+{ord(each):04X}" if each else "nothing" for each in first)
            yield (
                f"{what}: {one!r} and {other!r} look alike and differ in {differ}; rename one of "
                "them"
            )


_FIELDS = ("text", "help")
_PARAGRAPHS: dict[tuple[object, ...], tuple[str, ...]] = {  # texts that may have line breaks
    ("question",): _FIELDS,
    ("section",): _FIELDS,
    ("matrix",): _FIELDS,
    ("page",): ("consent", "thanks"),
}


def _all_words(question: Readable) -> dict[tuple[str, ...], str | Mapping[str, str]]:
    """Return all texts of a question, by the path within it; labels one by one."""
    words: dict[tuple[str, ...], str | Mapping[str, str] | None]
    words = {("text",): question.text, ("help",): question.help}
    words |= {("labels", answer): label for answer, label in (question.labels or {}).items()}
    return {field: each for field, each in words.items() if each}
