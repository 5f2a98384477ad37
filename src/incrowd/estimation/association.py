"""Association of two questions: a test of independence and Cramer's V, valid under the noise.

Proof: docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import helmert, null_space
from scipy.special import chdtrc

from incrowd.errors import TableError
from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.delta_method import Shares, named, pick
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.spheres import Length
from incrowd.estimation.tables import LEVEL

MARGIN = 5.0  # standard errors of a margin above zero, under which V says nothing


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
    sizes = [len(answers) for answers in joint.answers]
    kinds = [helmert if exclusive else np.eye for exclusive in joint.exclusive]
    contrast = np.kron(*(kind(size) for kind, size in zip(kinds, sizes, strict=True)))
    values, linear = contrast @ deviations, contrast @ jacobian
    covariance = linear @ shares.covariance @ linear.T
    names = (joint.questions[0], joint.questions[1])
    if np.linalg.eigvalsh(covariance)[0] <= np.trace(covariance) * 1e-10:
        reason = "the covariance of the deviations is singular; collect more reports"
        return IndependenceTest(names, math.nan, len(values), math.nan, joint.errors, False, reason)
    statistic = float(values @ np.linalg.solve(covariance, values))
    p_value = float(chdtrc(len(values), statistic))
    return IndependenceTest(names, statistic, len(values), p_value, joint.errors)


def cramers_v(joint: JointEstimate) -> Comparison:
    """Cramer's V: sqrt(phi2 / (min(I, J) - 1)), phi2 = sum (pi_ij - pi_i. pi_.j)^2 / pi_i. pi_.j.

    phi2 is the squared length of a vector whose estimate is nearly normal, and the interval is of
    the lengths that a test of it does not refuse, see `spheres`; near independence it reaches to
    zero. The squares hold the estimates' own variances, which are taken off the estimate; that is
    zero if nothing is left. If a margin is under 5 standard errors from zero, V is left open: the
    interval is 0 to 1. Raises TableError unless the joint estimate is of two questions of
    exclusive answers, with margins.
    """
    if not all(joint.exclusive):
        raise TableError.of("table", joint.questions, "its options overlap; use exclusive ones")
    value, error, low, high = math.nan, math.nan, 0.0, 1.0
    reason = _small_margin(joint)
    if not reason:
        length = Length(*standardized(joint))
        largest = math.sqrt(min(len(answers) for answers in joint.answers) - 1)
        low, high = (end / largest for end in length.interval(LEVEL, largest))
        value, error = min(length.estimate / largest, 1.0), length.standard_error / largest
        if low <= 0 and high >= 1:
            reason = "the data leave every value open; collect more reports"
    return Comparison(
        name=f"Cramer's V of {joint.questions[0]} and {joint.questions[1]}",
        estimate=value,
        standard_error=error,
        low=low,
        high=high,
        scale="linear",
        level=LEVEL,
        errors=joint.errors,
        estimable=not math.isnan(value),
        reason=reason,
        unbounded="everywhere" if reason else "no",
    )


def _small_margin(joint: JointEstimate) -> str:
    """Which margin is the fewest standard errors above zero, if those are too few."""
    margins = [
        {question: answer}
        for question, answers in zip(joint.questions, joint.answers, strict=True)
        for answer in answers
    ]
    shares = pick(joint, margins)
    errors = np.sqrt(np.maximum(np.diagonal(shares.covariance), 0.0))
    place = int(np.argmin(shares.values - MARGIN * errors))
    value, error = shares.values[place], errors[place]
    if value > 0 and value >= MARGIN * error:
        return ""
    return (
        f"the share of {named(margins[place])} is {value:.4g} with a standard error of "
        f"{error:.2g}, under {MARGIN:g} standard errors from zero; collect more reports"
    )


def standardized(joint: JointEstimate) -> tuple[np.ndarray, np.ndarray]:
    """(pi_ij - pi_i. pi_.j) / sqrt(pi_i. pi_.j) and its covariance.

    Sums over i weighted by sqrt(pi_i.) are zero, and so over j: in these directions there is noise
    alone, and contrasts orthogonal to them are taken. (Their own errors matter not: they turn a
    vector about, and do not change its length but by their square.)
    """
    expected, jacobian, deviations, shares = _deviations(joint)
    root = np.sqrt(expected)
    moved = jacobian.copy()
    moved[:, : len(expected)] = 0  # off the cells the Jacobian is minus that of `expected`
    slope = jacobian / root[:, None] + moved * (deviations / (2 * root * expected))[:, None]
    ends = np.split(shares.values[len(expected) :], [len(joint.answers[0])])
    contrast = np.kron(*(null_space(np.sqrt(margin)[None]).T for margin in ends))
    linear = contrast @ slope
    return contrast @ (deviations / root), linear @ shares.covariance @ linear.T


def _deviations(joint: JointEstimate) -> tuple[np.ndarray, np.ndarray, np.ndarray, Shares]:
    """pi_i. pi_.j, the Jacobian of the deviations, pi_ij - pi_i. pi_.j, the shares themselves.

    Cells come in C order, then follow the margins of the rows and those of the columns.
    """
    if len(joint.questions) != 2 or not all(joint.margins):
        allowed = "should be of two questions, with decoders made with margin=True"
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
