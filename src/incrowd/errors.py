"""One exception tree. Every message names the field, the value and what would be allowed."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike

from incrowd.characters import visible


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where it stands, what stands there, what would work."""

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
    """A value that nobody typed, described: "no rows", "a crowd of 99". It is not quoted."""

    __slots__ = ()


MISSING = InWords("is missing")


def described(value: object, width: int = 120) -> str:
    """Words as they are, text in quotation marks; of what is long the beginning and the end."""
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
    """A value without the brackets of Python, which nobody typed."""
    if isinstance(value, Mapping):
        return f"a table of {', '.join(map(str, value))}" if value else "an empty table"
    if isinstance(value, list):
        return f"a list of {', '.join(map(_listed, value))}" if value else "an empty list"
    if isinstance(value, tuple):
        return ", ".join(map(_listed, value)) or "nothing"
    return repr(value) if isinstance(value, str) else str(value)


def unreadable(error: OSError) -> str:
    """Why a file is not read, in the words of the system; libraries add their own to them."""
    reason = os.strerror(error.errno) if error.errno else "it is not complete"
    return f"it cannot be read: {reason}"


def likely(word: object, known: Iterable[str]) -> str:
    """What a word that is not known was probably meant to be, to stand before what is known."""
    folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.7)
    return f"did you mean {folded[found[0]]}? " if found else ""


class IncrowdError(Exception):
    """Base of all errors that a user can mend. Carries every problem found, not only the first.

    exit_code: of the command line; 2 for what cannot be used as given, 1 for what does not hold.
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
    """What cannot be used as it was given."""

    exit_code = 2


class IncrowdWarning(UserWarning):
    """Something that a user should know, and that is no reason to stop."""


class SurveyError(Unusable):
    """The survey is not one that can be planned."""


class PrivacyError(Unusable):
    """A privacy parameter is out of range, or no noise gives the wanted guarantee."""


class PrecisionError(PrivacyError):
    """So little noise is left that double precision cannot hold what it gives away."""


class TableError(Unusable):
    """A wanted table does not exist or is too large."""


class UsageError(Unusable):
    """An option or argument that cannot be used as given."""


class ArgumentError(UsageError, TypeError):
    """An argument of a public function that it does not have, is missing, or of another kind."""


def check_path(path: object, what: str) -> None:
    """Raises ArgumentError for what is not a path. what: the argument, as a message names it."""
    if not isinstance(path, str | PathLike):
        found = InWords(f"a value of type {type(path).__name__}")
        raise ArgumentError.of(what, found, "should be the path of a file")


class PlanError(IncrowdError):
    """The plan does not hold, or was changed after it was made."""


class PlanFileError(PlanError):
    """There is no such file, it holds no plan, or one that no analysis of ours has made."""

    exit_code = 2


class AnswersError(Unusable):
    """The answers cannot be read, or do not fit the survey."""


class ReportsError(Unusable):
    """The reports cannot be read, or do not come from this plan, or are too few."""


class ProtocolError(IncrowdError):
    """What a peer sent is not as the protocol has it. Nothing secret is in the message."""
