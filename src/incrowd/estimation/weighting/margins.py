"""Tables weighted to known margins: post-stratification, and raking where there are several.

Everybody in a cell m of the margins' questions gets the weight g(m), so that the weighted shares
add up to the known ones: the sum over the m of a category of p(m) g(m) is P. Among all such weights
are chosen those that are products of one factor for each margin (raking; for one margin g = P / p,
which is post-stratification). The weights are estimates; the errors of the table include theirs, by
linearization of the equations that define them (Deville and Särndal 1992). Proof:
docs/weighting.md#the-errors-of-weighted-tables.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from incrowd.catalog.sentences import Keyword, Sentence, sentence, text_list, translatable
from incrowd.errors import TableError
from incrowd.estimation.tables import TableEstimate
from incrowd.views import and_text, with_and

# What would work where people are too few to divide by their share.
LEAVE_OUT = sentence("estimation.leave-out")
USE_ALL = sentence("estimation.use-all", option=Keyword("of_those_who_answered", False))
CLEAR = 5.0  # standard errors above zero that a divisor needs
SETTLED = 1e-12
MOST_STEPS = 2000
LARGEST = 1e6  # weight; beyond it some cell is empty
ROUNDING = 1e-12
RANK = 1e-10


@dataclass(frozen=True)
class MarginCells:
    """Categories that exclude each other, and the known share of people in each.

    cells: shape (categories, cells of the margins' questions), 1 where a cell belongs to a
    category. answered: whether the shares are of only those who are in any category, that is, who
    answered; their number is estimated, and weights do not change it.
    """

    name: str
    categories: tuple[str, ...]
    shares: np.ndarray
    cells: np.ndarray
    answered: bool = False

    @property
    def slopes(self) -> np.ndarray:
        """The change of each category's target when the unweighted share of a cell rises by one."""
        return np.outer(self.shares, self.cells.sum(axis=0)) * self.answered

    def targets(self, shares: np.ndarray) -> np.ndarray:
        """Return the share of all people that each category should have. shares: the shares of the
        cells."""
        return self.slopes @ shares if self.answered else self.shares


def with_everybody(margins: Sequence[MarginCells]) -> list[MarginCells]:
    """Return the margins, and if all are of those who answered, the margin of all people: 1."""
    cells = margins[0].cells.shape[1]
    everybody = MarginCells("everybody", ("all",), np.ones(1), np.ones((1, cells)))
    return [*margins, *([everybody] if all(each.answered for each in margins) else [])]


@dataclass(frozen=True)
class CellSums:
    """The rule that computes the cells of a table from the entries of a joint estimate.

    entries: shape (rows, cells of the margins' questions), places in the joint estimate: a row for
    each cell of the table's questions that are in no margin, the last for all people. sums: shape
    (sums, cells of the margins' questions): which cells of the margins are summed. The table has a
    cell for each pair of a row of both, in this order.
    """

    entries: np.ndarray
    sums: np.ndarray


def weighted(
    table: TableEstimate, layout: CellSums, margins: Sequence[MarginCells]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of a table, and their Jacobian in the entries of the joint estimate.

    With V = p g the weighted entries, w those of all people and D the categories of each cell,
    dg = g D dl and D' (g dw + w D dl) = T dp, so that the weights depend on the estimates through
    dl = -(D' W D)^- (D' g - T) dp: what is left is each cell's residual from its regression on the
    margins. T: the derivative of the targets in the share who answered, which is estimated; 0 for
    margins of all people. Raises TableError if a share is not clearly above the noise, or if no
    weights exist.
    """
    margins = with_everybody(margins) if margins else []
    shares = table.estimate.ravel()[layout.entries]
    _check_categories(table, layout.entries[-1], margins)
    weights = raked(shares[-1], margins)
    categories = np.vstack([np.zeros((0, len(weights))), *(each.cells for each in margins)])
    cells = shares * weights
    normal = (categories * cells[-1]) @ categories.T  # singular: all margins have the same sum
    targets = np.vstack([np.zeros((0, len(weights))), *(each.slopes for each in margins)])
    response = np.linalg.pinv(normal, rcond=RANK, hermitian=True) @ (categories * weights - targets)
    jacobian = np.zeros((len(shares), len(layout.sums), table.estimate.size))
    for row, (places, values) in enumerate(zip(layout.entries, cells, strict=True)):
        jacobian[row][:, places] += layout.sums * weights
        jacobian[row][:, layout.entries[-1]] -= (layout.sums * values) @ categories.T @ response
    jacobian[np.abs(jacobian) < ROUNDING * np.abs(weights).max()] = 0  # known shares are exact
    return cells @ layout.sums.T, jacobian


def raked(shares: np.ndarray, margins: Sequence[MarginCells]) -> np.ndarray:
    """Return the weight of each cell, by iterative proportional fitting (Deming and Stephan 1940).

    shares: the shares of the cells, unbiased; some may be negative. Raises TableError if not all
    margins can be met.
    """
    margins = with_everybody(margins) if margins else []
    targets_of = [(each, each.targets(shares), 1 - each.cells.sum(axis=0)) for each in margins]
    weights = np.ones_like(shares)
    steps, weighted_shares = 0, np.ones(1)
    while steps < MOST_STEPS and weighted_shares.min() > 0 and weights.max() < LARGEST:
        before, steps = weights, steps + 1
        for margin, targets, others in targets_of:
            weighted_shares = margin.cells @ (shares * weights)
            with np.errstate(all="ignore"):  # the loop ends if a category is empty
                weights = weights * ((targets / weighted_shares) @ margin.cells + others)
        if np.max(np.abs(weights / before - 1)) < SETTLED:
            return weights
    names = [margin.name for margin in margins]
    raise TableError.of("margins", "estimation.no-convergence", margins=names)


def weights_words(names: Sequence[str], error_ratio: float | None) -> str:
    """Return the margins to which figures are weighted, and the effect on their errors; "" for
    none."""
    if not names:
        return ""
    weighted = translatable("estimation.weighted-to", names=and_text(names))
    if error_ratio is None:
        return weighted
    effect = "estimation.weights-exact" if error_ratio == 0 else "estimation.weights-effect"
    more = translatable(effect, ratio=error_ratio) if error_ratio else translatable(effect)
    return text_list((weighted, more))


def weights_facts(names: Sequence[str], error_ratio: float | None) -> dict[str, str | float | None]:
    """Return the same for programs; empty if figures are not weighted."""
    return {"weighted_to": with_and(names), "error_ratio": error_ratio} if names else {}


def _check_categories(
    table: TableEstimate, everybody: np.ndarray, margins: Sequence[MarginCells]
) -> None:
    """Raise TableError for a category whose share is not clearly above its error: weights divide
    by it, and the error of a quotient is known only if the divisor is far from zero."""
    shares = table.estimate.ravel()[everybody]
    covariance = table.error.joint[np.ix_(everybody, everybody)]
    for margin in margins:
        for name, cells in zip(margin.categories, margin.cells, strict=True):
            error = math.sqrt(max(float(cells @ covariance @ cells), 0.0))
            share = float(cells @ shares)
            check_clear("margins", f"{margin.name} = {name}", share, error, LEAVE_OUT)


def check_clear(
    field: str, name: str | Sentence, share: float, error: float, way_out: Sentence
) -> None:
    """Raise TableError if a share is fewer than five standard errors above zero. way_out: what
    would work, other than more reports."""
    if share <= 0 or share < CLEAR * error:
        raise TableError.of(
            field,
            "estimation.unclear-share",
            name=name,
            share=share,
            error=error,
            least=CLEAR,
            way_out=way_out,
        )


def additive(table: TableEstimate, questions: Collection[str]) -> np.ndarray:
    """Return a matrix for the cells that makes the answers to some questions sum to "any answer".

    "Any answer" is read directly, and a sum of noisy cells is far from it. The difference is
    divided evenly among the answers. This has no bias, as its mean is zero; for bits with equal
    noise it is the least squares solution. table: the axes of these questions are exclusive and
    have margins.
    """
    return reduce(
        np.kron,
        [
            _evened(len(answers)) if name in questions else np.eye(len(answers) + margin)
            for name, answers, margin in zip(
                table.questions, table.answers, table.margins, strict=True
            )
        ],
    )


def _evened(answers: int) -> np.ndarray:
    """Return the matrix of one axis, "any answer" last."""
    matrix = np.eye(answers + 1)
    matrix[:-1, :-1] -= 1 / answers
    matrix[:-1, -1] = 1 / answers
    return matrix
