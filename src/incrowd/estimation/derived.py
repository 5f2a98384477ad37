"""Tables whose errors come with the covariance of what they are made of: weighted ones, and shares
of those who answered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.margins import listed
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY, TableEstimate


@dataclass(frozen=True, kw_only=True)
class DerivedTable(TableEstimate):
    """A table that was weighted to known margins, or is of those who answered.

    whole_error: the standard error of noise and sampling together. margins: the names of the
    margins; () if it is not weighted. answered: whether "no answer" is left out. error_ratio: its
    standard errors over those of the table as it was estimated, in the mean square.
    """

    whole_error: np.ndarray
    margins: tuple[str, ...] = ()
    answered: bool = False
    error_ratio: float = 1.0

    @property
    def standard_error(self) -> np.ndarray:
        """Of noise plus sampling, or of the noise alone."""
        return self.noise_error if self.errors == NOISE_ONLY else self.whole_error

    @property
    def whose(self) -> str:
        """What its shares are of."""
        return "those who answered" if self.answered else "people"

    @property
    def weights_words(self) -> str:
        """To what it is weighted, and what that does to its errors; "" if it is not."""
        if not self.margins:
            return ""
        effect = "without errors, since these shares are the margins themselves"
        if self.error_ratio > 0:
            effect = f"standard errors are {self.error_ratio:.2f} of those without weights"
        return f"weighted to known margins of {listed(self.margins)}; {effect}"

    @property
    def changes(self) -> dict[str, str]:
        """To which margins it is weighted, and of whom it is if not of all people."""
        weighted = {"weighted_to": listed(self.margins)} if self.margins else {}
        return weighted | ({"shares_of": self.whose} if self.answered else {})


def derived_table(
    joint: JointEstimate,
    own: TableEstimate,
    influence: float,
    margins: tuple[str, ...],
    answered: bool,
) -> DerivedTable:
    """A table of a joint estimate of noise and sampling; own: as it is without weights."""
    variances = np.maximum(np.diagonal(joint.noise_covariance), 0.0)
    errors = joint.standard_error
    before = replace(own, errors=NOISE_AND_SAMPLING).standard_error
    ratio = np.linalg.norm(errors) / np.linalg.norm(before) if before.any() else 1.0
    return DerivedTable(
        questions=joint.questions,
        answers=joint.answers,
        estimate=joint.estimate,
        noise_error=np.sqrt(variances).reshape(joint.estimate.shape),
        people=own.people,
        errors=own.errors,
        influence=influence,
        whole_error=errors,
        margins=margins,
        answered=answered,
        error_ratio=float(ratio),
    )
