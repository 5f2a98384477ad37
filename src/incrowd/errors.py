"""One exception tree. Every message names the field, the value and what would work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from incrowd.catalog.sentences import (
    ENGLISH,
    FileDigest,
    Keyword,
    Sentence,
    as_keyword,
    in_words,
    localized,
    replaced,
    sentence,
    system_words,
    text_of,
)
from incrowd.characters import visible


@dataclass(frozen=True)
class Of:
    """The question that the parts before it belong to; the last part of a path."""

    id: str


@dataclass(frozen=True)
class Place:
    """A place that is counted or named: row 5 of a file, line 3 of a table, question health."""

    kind: str
    name: int | str


PathPart = str | int | Of | Place
"""A part of a path: a key, a position in a list (from 0), a question, or a place."""


def spelled(path: Iterable[PathPart], language: str = ENGLISH) -> str:
    """Return a path as text.

    ("question", 1, "options", Of("health")) is "question[2].options of health",
    (Place("row", 5), "health") is "row 5, health".
    """
    text, after_place = "", False
    for part in path:
        if isinstance(part, Of):
            text += f" {text_of('shared.of', language)} {part.id}"
        elif isinstance(part, Place):
            number = part.name
            name = localized(f"{number:,}", language) if isinstance(number, int) else number
            text += f"{', ' if text else ''}{text_of(f'places.{part.kind}', language)} {name}"
        elif isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f"{(', ' if after_place else '.') if text else ''}{part}"
        after_place = isinstance(part, Place)
    return text


def path_of(path: PathPart | Iterable[PathPart]) -> tuple[PathPart, ...]:
    """Return a path as a tuple; a single part may stand for itself."""
    return (path,) if isinstance(path, PathPart) else tuple(path)


@dataclass(frozen=True, init=False)
class Problem:
    """One thing that is wrong: where, and what.

    path: where it is, the outermost part first. message: what is wrong, and what would work.
    """

    path: tuple[PathPart, ...]
    message: Sentence

    def __init__(
        self, path: PathPart | Iterable[PathPart], what: str | Sentence, /, **arguments: Any
    ) -> None:
        """Take a message, or its code and the arguments that its texts name."""
        message = Sentence(what, arguments) if isinstance(what, str) else what
        object.__setattr__(self, "path", path_of(path))
        object.__setattr__(self, "message", message)

    def __str__(self) -> str:
        return self.text()

    @property
    def code(self) -> str:
        """The code of the message."""
        return self.message.code

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of the message, by the names in its texts."""
        return self.message.arguments

    def text(self, language: str = ENGLISH, option: Callable[[Keyword], str] = as_keyword) -> str:
        """Return the problem as a line. option: how options are spelled."""
        words = in_words(self.message, language, option)
        return visible(f"{spelled(self.path, language)}: {words}")

    def within(self, *path: PathPart) -> Problem:
        """Return the problem as one of a part of something larger. path: where that part is."""
        return Problem((*path, *self.path), self.message)

    @property
    def field(self) -> str:
        """The path as text."""
        return spelled(self.path)


class Unfit(ValueError):
    """The error for a value that is not allowed. reason: what would work, a part of a sentence."""

    def __init__(self, code: str, **arguments: Any) -> None:
        self.reason = Sentence(code, arguments)
        super().__init__(str(self.reason))


def unreadable(error: OSError) -> Sentence:
    """Return why a file cannot be read, in the words of the system, not of a library."""
    if not error.errno:
        return sentence("shared.incomplete")
    return sentence("shared.unreadable", reason=system_words(error))


_SINGULAR = {
    "are": "is",
    "have": "has",
    "people": "person",
    "copies": "copy",
    "send": "sends",
    "strata": "stratum",
    "were": "was",
}


def quantity(number: int, plural: str) -> str:
    """Return a number and what it counts: "1,200 rows", or "1 row".

    plural: what is counted, and a verb if one follows, such as "people are".
    """
    if number != 1:
        return f"{number:,} {plural}"
    words = (_SINGULAR.get(word, word.removesuffix("s")) for word in plural.split())
    return f"1 {' '.join(words)}"


class IncrowdError(Exception):
    """The base class of all errors that a user can fix.

    It carries every problem (`problems`), not only the first. It is raised itself by no function.

    exit_code: of the command line; 2 for input that cannot be used, 1 for a check that fails.
    """

    exit_code = 1

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    @classmethod
    def of(
        cls, path: PathPart | Iterable[PathPart], code: str | Sentence, /, **arguments: Any
    ) -> IncrowdError:
        """Return the error for a single problem. arguments: those that the texts of `code` name."""
        return cls(Problem(path, code, **arguments))


class Unusable(IncrowdError):
    """Input that cannot be used as given."""

    exit_code = 2


class IncrowdWarning(UserWarning):
    """Something that the user should know, but that is not an error."""


class SurveyError(Unusable):
    """A survey that is not valid. Raised for every mistake in it at once."""


class PrivacyError(Unusable):
    """A guarantee that is not possible.

    Raised if a privacy parameter is out of range, or no noise gives the wanted guarantee.
    """


class PrecisionError(PrivacyError):
    """A privacy loss that is too large, or a delta that is too small, for double precision."""


class TableError(Unusable):
    """A table that is not possible. Raised if it does not exist or is too large."""


class UsageError(Unusable):
    """An argument that is not possible. Raised for unusable values, options, and files."""


class ArgumentError(UsageError, TypeError):
    """An argument of a public function that is unknown, missing, or of the wrong type."""


@contextmanager
def naming(*paths: Path) -> Iterator[None]:
    """Name files instead of digests in errors about the contents of these files."""
    try:
        yield
    except IncrowdError as error:
        raise type(error)(*(_named(problem, paths) for problem in error.problems)) from error


def _named(problem: Problem, paths: tuple[Path, ...]) -> Problem:
    names = tuple(map(str, paths))

    def change(value: Any) -> Any:
        return names if names and isinstance(value, FileDigest) else value

    return Problem(problem.path, replaced(problem.message, change))


def check_path(path: object, what: str) -> None:
    """Raise ArgumentError for what is not a path. what: the argument, as a message names it."""
    if not isinstance(path, str | PathLike):
        raise ArgumentError.of(what, "shared.no-path", type=type(path).__name__)


@contextmanager
def needing(
    extra: str, kind: type[IncrowdError], field: str, *, of: str = "incrowd"
) -> Iterator[None]:
    """Raise an error of some kind about a field if an import of an extra fails in this context.

    of: the distribution that has the extra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        wanted = f"{of}[{extra}]"
        raise kind.of(field, "shared.not-installed", module=error.name, wanted=wanted) from None


class PlanError(IncrowdError):
    """A plan that does not hold.

    Raised if it contradicts its certificate, or what was asked before.
    """


class PlanFileError(PlanError):
    """A file of a plan or a ledger that cannot be read, or was edited after it was written."""

    exit_code = 2


class ProofError(IncrowdError):
    """A missing proof: the program in interval arithmetic does not cover what is sent."""


class AnswersError(Unusable):
    """Answers that cannot be used. Raised if they cannot be read or do not fit the survey."""


class ReportsError(Unusable):
    """Reports that cannot be used.

    Raised if they cannot be read, do not belong to this plan, or are too few.
    """


class FaultError(IncrowdError):
    """An internal error: a bug or a crashed worker process."""


class ProtocolError(IncrowdError):
    """A violation of the protocol by a peer. The message contains nothing secret."""
