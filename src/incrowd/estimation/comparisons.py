"""Shares within groups and comparisons of groups, with errors by the delta method.

All take a `JointEstimate` with margins on the axes that a comparison leaves free: "any answer" is
read off the reports directly, with less noise than a sum of noisy cells, and it is right for the
overlapping options of a `multi` question as well. Measures of a whole table are in `association`.
"""

from __future__ import annotations

import numpy as np

from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.delta_method import (
    Comparison,
    Shares,
    figure,
    log_figure,
    named,
    not_estimable,
    pick,
)
from incrowd.estimation.tables import LEVEL

Answer = tuple[str, str]  # a question and one of its answers
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])  # (a / b) / (c / d)


def conditional_share(
    joint: JointEstimate, of: Answer, given: Answer, level: float = LEVEL
) -> Comparison:
    """The share of those who answer `of` among those who answer `given`.

    Not estimable if the share of `given` is under 5 standard errors from zero. Raises TableError
    if the table has no such answer or lacks a margin.
    """
    shares = pick(joint, [dict([of, given]), dict([given])])
    name = f"share of {named(dict([of]))} among {named(dict([given]))}"
    if reason := shares.too_small(1):
        return not_estimable(name, reason, shares, level)
    both, group = shares.values
    gradient = np.array([1.0, -both / group]) / group
    return figure(name, both / group, gradient, shares, level)


def difference(
    joint: JointEstimate, of: Answer, first: Answer, second: Answer, level: float = LEVEL
) -> Comparison:
    """The share of `of` among `first` less that among `second`.

    Not estimable if a group is under 5 standard errors from zero. Raises TableError if the table
    has no such answer or lacks a margin.
    """
    name, shares = _versus("difference", of, first, second), _groups(joint, of, first, second)
    if reason := shares.too_small(1, 3):
        return not_estimable(name, reason, shares, level)
    a, group_a, b, group_b = shares.values
    gradient = np.array([1 / group_a, -a / group_a**2, -1 / group_b, b / group_b**2])
    return figure(name, a / group_a - b / group_b, gradient, shares, level)


def ratio(
    joint: JointEstimate, of: Answer, first: Answer, second: Answer, level: float = LEVEL
) -> Comparison:
    """The share of `of` among `first` divided by that among `second`, on the log scale.

    Not estimable if a group, or those in it who answer `of`, are under 5 standard errors from
    zero. Raises TableError if the table has no such answer or lacks a margin.
    """
    shares = _groups(joint, of, first, second)
    return _double_ratio(_versus("ratio", of, first, second), shares, level)


def odds_ratio(
    joint: JointEstimate, of: Answer, first: Answer, second: Answer, level: float = LEVEL
) -> Comparison:
    """The odds of `of` against anything else among `first` divided by those among `second`.

    On the log scale. Not estimable if one of the four shares is under 5 standard errors from
    zero. Raises TableError if the table has no such answer or lacks a margin.
    """
    shares = _groups(joint, of, first, second)
    rest = np.array([[1.0, 0, 0, 0], [-1, 1, 0, 0], [0, 0, 1, 0], [0, 0, -1, 1]])
    a, group_a, b, group_b = shares.names
    names = (
        a,
        f"{group_a} without {named(dict([of]))}",
        b,
        f"{group_b} without {named(dict([of]))}",
    )
    four = Shares(names, rest @ shares.values, rest @ shares.covariance @ rest.T, shares.errors)
    return _double_ratio(_versus("odds ratio", of, first, second), four, level)


def _groups(joint: JointEstimate, of: Answer, first: Answer, second: Answer) -> Shares:
    return pick(joint, [dict([of, first]), dict([first]), dict([of, second]), dict([second])])


def _versus(what: str, of: Answer, first: Answer, second: Answer) -> str:
    return f"{what} of {named(dict([of]))}: {named(dict([first]))} against {named(dict([second]))}"


def _double_ratio(name: str, shares: Shares, level: float) -> Comparison:
    if reason := shares.too_small(0, 1, 2, 3):
        return not_estimable(name, reason, shares, level)
    logarithm = float(SIGNS @ np.log(shares.values))
    return log_figure(name, logarithm, SIGNS / shares.values, shares, level)
