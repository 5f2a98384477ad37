"""Association of two questions: a test of independence and Cramer's V, valid under the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert
from scipy.special import chdtrc

from incrowd.errors import TableError
from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.delta_method import (
    ENOUGH,
    Comparison,
    Shares,
    figure,
    not_estimable,
    pick,
)
from incrowd.estimation.tables import LEVEL


@dataclass(frozen=True)
class IndependenceTest:
    """A Wald test that two questions are independent.

    statistic: chi-square with so many degrees of freedom if they are. errors: whether the people
    count as a sample or as fixed. If `estimable` is false, `reason` says why; the figures are nan.
    """

    questions: tuple[str, str]
    statistic: float
    degrees_of_freedom: int
    p_value: float
    errors: str
    estimable: bool = True
    reason: str = ""


def independence_test(joint: JointEstimate) -> IndependenceTest:
    """Test pi_ij - pi_i. pi_.j = 0 for all i, j with the delta-method covariance of the estimates.

    Of a question with exclusive answers, whose deviations sum to zero, orthonormal contrasts are
    used: (I - 1) (J - 1) degrees of freedom for I x J answers; an axis of J overlapping options
    counts J. A chi-square test of the estimates as if they were counts, or of the randomised
    counts, has the wrong level or the wrong hypothesis. With errors of the noise alone it tests
    independence among these very people. Raises TableError unless the joint estimate is of two
    questions with margins.
    """
    _, jacobian, deviations, shares = _deviations(joint)
    contrast = np.kron(*(_contrasts(joint, axis) for axis in (0, 1)))
    values, linear = contrast @ deviations, contrast @ jacobian
    covariance = linear @ shares.covariance @ linear.T
    names = (joint.questions[0], joint.questions[1])
    if np.linalg.eigvalsh(covariance)[0] <= np.trace(covariance) * 1e-10:
        reason = "the covariance of the deviations is singular; collect more reports"
        return IndependenceTest(names, math.nan, len(values), math.nan, joint.errors, False, reason)
    statistic = float(values @ np.linalg.solve(covariance, values))
    p_value = float(chdtrc(len(values), statistic))
    return IndependenceTest(names, statistic, len(values), p_value, joint.errors)


def cramers_v(joint: JointEstimate, level: float = LEVEL) -> Comparison:
    """Cramer's V: sqrt(phi2 / (min(I, J) - 1)), phi2 = sum (pi_ij - pi_i. pi_.j)^2 / pi_i. pi_.j.

    The squares hold the estimates' own variances, so that sum of Var(pi_ij - pi_i. pi_.j) /
    pi_i. pi_.j is taken off phi2 first. Not estimable if a margin, or phi2 so corrected, is under
    5 standard errors from zero: near independence V is not normal; use `independence_test`.
    Raises TableError unless the joint estimate is of two questions of exclusive answers, with
    margins.
    """
    if not all(joint.exclusive):
        raise TableError.of("table", joint.questions, "has overlapping options; V needs exclusive")
    expected, jacobian, deviations, shares = _deviations(joint)
    name = f"Cramer's V of {joint.questions[0]} and {joint.questions[1]}"
    rows, columns = (len(answers) for answers in joint.answers)
    if reason := shares.too_small(*range(rows * columns, rows * columns + rows + columns)):
        return not_estimable(name, reason, shares, level)
    variances = np.diagonal(jacobian @ shares.covariance @ jacobian.T)
    phi2 = float(np.sum((deviations**2 - variances) / expected))
    gradient = _phi2_gradient(expected, jacobian, deviations)
    error = math.sqrt(max(float(gradient @ shares.covariance @ gradient), 0.0))
    if phi2 < ENOUGH * error or phi2 <= 0:
        reason = f"phi2 is {phi2:.2g} with a standard error of {error:.2g}: near independence"
        return not_estimable(name, reason, shares, level)
    scale = min(rows, columns) - 1
    value = math.sqrt(phi2 / scale)
    return figure(name, value, gradient / (2 * value * scale), shares, level)


def _deviations(joint: JointEstimate) -> tuple[np.ndarray, np.ndarray, np.ndarray, Shares]:
    """pi_i. pi_.j, the Jacobian of the deviations, pi_ij - pi_i. pi_.j, the shares themselves.

    Cells come in C order, then follow the margins of the rows and those of the columns.
    """
    if len(joint.questions) != 2 or not all(joint.margins):
        allowed = "should be two questions, their decoders made with margin=True"
        raise TableError.of("table", joint.questions, allowed)
    (row, column), (left, right) = joint.questions, joint.answers
    cells = [{row: a, column: b} for a in left for b in right]
    shares = pick(joint, [*cells, *({row: a} for a in left), *({column: b} for b in right)])
    row_margin, column_margin = np.split(shares.values[len(cells) :], [len(left)])
    jacobian = np.hstack(
        [
            np.eye(len(cells)),
            -np.kron(np.eye(len(left)), column_margin[:, None]),
            -np.kron(row_margin[:, None], np.eye(len(right))),
        ]
    )
    expected = np.outer(row_margin, column_margin).ravel()
    return expected, jacobian, shares.values[: len(cells)] - expected, shares


def _contrasts(joint: JointEstimate, axis: int) -> np.ndarray:
    """Orthonormal rows; for exclusive answers those orthogonal to (1, ..., 1)."""
    size = len(joint.answers[axis])
    return np.asarray(helmert(size)) if joint.exclusive[axis] else np.eye(size)


def _phi2_gradient(
    expected: np.ndarray, jacobian: np.ndarray, deviations: np.ndarray
) -> np.ndarray:
    """d/d shares of sum deviation^2 / expected.

    A deviation moves with its cell and against `expected`: the Jacobian off the cells is minus
    the derivative of `expected`.
    """
    cells = len(expected)
    expected_jacobian = -jacobian.copy()
    expected_jacobian[:, :cells] = 0
    relative = deviations / expected
    return np.asarray(2 * relative @ jacobian - relative**2 @ expected_jacobian)
