"""A crosstab of two questions: counts, and percentages of the people, of each row and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd import views
from incrowd.estimation.compare import conditional_share, joint_table
from incrowd.estimation.estimate import Reports
from incrowd.estimation.ratios import Comparison, GroupPrecision, precision_of
from incrowd.estimation.results import Received
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.weighting.known_margins import GivenMargins
from incrowd.plans import Guarantee, Plan
from incrowd.survey.merging import Merge


@dataclass(frozen=True)
class Crosstab:
    """A crosstab of two questions; the first one's answers are the rows.

    table: proportions of the people who answered both questions or, if requested, of all people;
    shape (rows + 1, columns + 1), the last entry of each axis is "any answer". counts,
    count_errors: the estimated number of these people in each cell and margin, in the same shape,
    with standard errors. of_rows, of_columns: the share of each cell among the people of its row,
    or of its column, row by row. precision: of the answers to the second question within each row,
    as in `TwoWay`. answered, wording, weighted_to, error_ratio: as in `TwoWay`.
    """

    questions: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    table: TableEstimate
    counts: np.ndarray
    count_errors: np.ndarray
    of_rows: tuple[Comparison, ...]
    of_columns: tuple[Comparison, ...]
    guarantee: Guarantee
    precision: tuple[GroupPrecision, ...] = ()
    seed: int | None = None
    answered: float | None = None
    wording: tuple[str, ...] = ()
    weighted_to: tuple[str, ...] = ()
    error_ratio: float | None = None

    def __repr__(self) -> str:
        shape = f"{len(self.rows)} × {len(self.columns)}"
        return f"Crosstab({' × '.join(self.questions)}, {shape}{views.simulated(self.seed)})"

    @property
    def people(self) -> float:
        """The number of people in the crosstab; estimated if not all answered."""
        return float(self.counts.flat[-1])


def crosstab(
    plan: Plan,
    reports: Reports,
    first: str,
    second: str,
    *,
    merge: Merge | None = None,
    margins: GivenMargins | None = None,
    of_those_who_answered: bool = True,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> Crosstab:
    """Cross the answers to two questions. Arguments and errors are those of `compare`."""
    joint = joint_table(
        plan,
        reports,
        (first, second),
        merge=merge,
        margins=margins,
        of_those_who_answered=of_those_who_answered,
        noise_only=noise_only,
        accept_smaller_crowd=accept_smaller_crowd,
        received=received,
    )
    rows, columns = joint.table.answers
    cells = [((first, row), (second, column)) for row in rows for column in columns]
    return Crosstab(
        questions=(first, second),
        rows=rows,
        columns=columns,
        table=joint.table,
        counts=joint.population * joint.cells.estimate,
        count_errors=joint.population * joint.cells.standard_error,
        of_rows=tuple(conditional_share(joint.table, column, row) for row, column in cells),
        of_columns=tuple(conditional_share(joint.table, row, column) for row, column in cells),
        guarantee=joint.guarantee,
        precision=precision_of(joint.table, joint.unweighted),
        seed=joint.seed,
        answered=joint.answered,
        wording=joint.plan.survey.legend(first, second),
        weighted_to=joint.weighted_to,
        error_ratio=joint.error_ratio,
    )
