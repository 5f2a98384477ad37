"""One exception tree. Every message names the field, the value and what would work."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from incrowd.characters import visible


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: the field, its value, and what would work."""

    field: str
    value: object
    allowed: str

    def __str__(self) -> str:
        return visible(f"{self.field}: {self.shown}; {self.allowed}")

    @property
    def shown(self) -> str:
        """The value in words."""
        return described(self.value)


class InWords(str):
    """A description used as a value: "no rows", "a crowd of 99". It is not quoted."""

    __slots__ = ()


MISSING = InWords("is missing")


def described(value: object, width: int = 120) -> str:
    """Return descriptions as they are, text in quotation marks; long values are shortened."""
    if isinstance(value, InWords):
        return value
    try:
        text = f"got {_listed(value)}"
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "got a number of thousands of digits"
    except RecursionError:
        return "got something nested too deep to be shown"
    half = width // 2
    return text if len(text) <= width else f"{text[:half]} ... {text[-half:]}"


def _listed(value: object) -> str:
    """Return a value without Python's brackets, which the user did not type."""
    if isinstance(value, Mapping):
        return f"a table of {', '.join(map(str, value))}" if value else "an empty table"
    if isinstance(value, list):
        return f"a list of {', '.join(map(_listed, value))}" if value else "an empty list"
    if isinstance(value, tuple):
        return ", ".join(map(_listed, value)) or "nothing"
    return repr(value) if isinstance(value, str) else str(value)


def unreadable(error: OSError) -> str:
    """Return why a file cannot be read, in the words of the system, not of a library."""
    reason = os.strerror(error.errno) if error.errno else "it is not complete"
    return f"it cannot be read: {reason}"


def likely(word: object, names: Iterable[str]) -> str:
    """Return "did you mean X? " for an unknown word, or "". It goes before the list of names."""
    folded = {each.casefold(): each for each in names}
    matches = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.7)
    return f"did you mean {folded[matches[0]]}? " if matches else ""


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
    """Base of all errors that a user can fix. Carries every problem, not only the first.

    exit_code: of the command line; 2 for input that cannot be used, 1 for a check that fails.
    """

    exit_code = 1

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    @classmethod
    def of(cls, field: str, value: object, allowed: str) -> IncrowdError:
        """The error for a single problem."""
        return cls(Problem(field, value, allowed))


class Unusable(IncrowdError):
    """Input that cannot be used as given."""

    exit_code = 2


class IncrowdWarning(UserWarning):
    """Something that the user should know, but that is not an error."""


class SurveyError(Unusable):
    """The survey is not valid."""


class PrivacyError(Unusable):
    """A privacy parameter is out of range, or no noise gives the wanted guarantee."""


class PrecisionError(PrivacyError):
    """Double precision cannot represent a privacy loss that large, or a delta that small."""


class TableError(Unusable):
    """A requested table does not exist or is too large."""


class UsageError(Unusable):
    """An option or argument that cannot be used as given."""


class ArgumentError(UsageError, TypeError):
    """An argument of a public function is unknown, missing or of the wrong type."""


# The digest of a plan; or, of a part of a collection, its random name and number.
_DIGEST = re.compile(r"[0-9a-f]{32,64}(:\d+)?")


@contextmanager
def naming(*paths: Path) -> Iterator[None]:
    """Errors about the contents of these files name the files, where the library names digests."""
    try:
        yield
    except IncrowdError as error:
        raise type(error)(*(_named(problem, paths) for problem in error.problems)) from error


def _named(problem: Problem, paths: tuple[Path, ...]) -> Problem:
    if not (paths and _DIGEST.fullmatch(str(problem.value))):
        return problem
    names = tuple(map(str, paths))
    return Problem(problem.field, names[0] if len(names) == 1 else names, problem.allowed)


def check_path(path: object, what: str) -> None:
    """Raises ArgumentError for what is not a path. what: the argument, as a message names it."""
    if not isinstance(path, str | PathLike):
        shown = InWords(f"a value of type {type(path).__name__}")
        raise ArgumentError.of(what, shown, "should be the path of a file")


@contextmanager
def needing(extra: str, kind: type[IncrowdError], field: str) -> Iterator[None]:
    """Use for imports of an extra: raises an error of that kind about a field if one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        needed = InWords(f"needs {error.name}, which is not installed")
        raise kind.of(field, needed, f'install "incrowd[{extra}]"') from None


class PlanError(IncrowdError):
    """The plan does not hold, or does not fit what was asked before."""


class PlanFileError(PlanError):
    """The file of a plan or a ledger cannot be read, or was edited after it was made."""

    exit_code = 2


class ProofError(IncrowdError):
    """There is no proof in interval arithmetic: the program does not cover what is sent."""


class AnswersError(Unusable):
    """The answers cannot be read or do not fit the survey."""


class ReportsError(Unusable):
    """The reports cannot be read, do not belong to this plan, or are too few."""


class FaultError(IncrowdError):
    """A mistake of this package, or a process of it that ended: not a mistake of its user."""


class ProtocolError(IncrowdError):
    """A peer violated the protocol. The message contains nothing secret."""
