"""One exception tree. Every message names the field, the value and what would be allowed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where it stands, what stands there, what would work."""

    field: str
    value: object
    allowed: str

    def __str__(self) -> str:
        return f"{self.field}: {_shown(self.value)} {self.allowed}"


class Missing:
    """Stands for a value that is not there."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


def _shown(value: object, width: int = 120) -> str:
    """The value as Python writes it; of a long one the beginning and the end."""
    text = "is missing;" if isinstance(value, Missing) else f"got {value!r};"
    half = width // 2
    return text if len(text) <= width else f"{text[:half]} ... {text[-half:]}"


class IncrowdError(Exception):
    """Base of all errors that a user can mend. Carries every problem found, not only the first."""

    exit_code = 1

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    @classmethod
    def of(cls, field: str, value: object, allowed: str) -> IncrowdError:
        """The error for a single problem."""
        return cls(Problem(field, value, allowed))


class SurveyError(IncrowdError):
    """The survey is not one that can be planned."""

    exit_code = 2


class PrivacyError(IncrowdError):
    """A privacy parameter is out of range, or no noise gives the wanted guarantee."""

    exit_code = 2


class TableError(IncrowdError):
    """A wanted table does not exist or is too large."""

    exit_code = 2


class UsageError(IncrowdError):
    """An option or argument that cannot be used as given."""

    exit_code = 2


class PlanError(IncrowdError):
    """The plan cannot be read, or was changed after it was made."""


class AnswersError(IncrowdError):
    """The answers do not fit the survey."""


class ReportsError(IncrowdError):
    """The reports cannot be read, or do not come from this plan, or are too few."""
