"""What was found of one column or one field: a question, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A question as it will be written.

    keys: of the survey file, in order. remarks: comments above it. undecided: what the data or
    the questionnaire did not tell.
    """

    id: str
    keys: Mapping[str, Any]
    remarks: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def noting(self, *remarks: str) -> Asked:
        """The same with more comments."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def doubting(self, doubt: str) -> Asked:
        """The same with something more that was not decided."""
        return replace(self, undecided=(*self.undecided, doubt))


@dataclass(frozen=True)
class LeftOut:
    """A column that makes no question, and why."""

    id: str
    reason: str


Found = Asked | LeftOut
