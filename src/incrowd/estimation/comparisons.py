"""Shares within groups and comparisons of groups, with intervals that cover at any size.

All take a `TableEstimate` with margins on the axes that a comparison leaves free: "any answer" is
read off the reports directly, with less noise than a sum of noisy cells, and it is right for the
overlapping options of a `multi` question as well. Each is a ratio whose denominator is above zero,
see `quotients` and `profiles`; an interval without a limit says so in `unbounded`. Measures of a
whole table are in `association`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from incrowd.estimation.delta_method import Shares, Term, linear, named, pick, product
from incrowd.estimation.profiles import Profile, Ratio
from incrowd.estimation.quotients import Comparison, Scale, comparison, of_terms, quotient
from incrowd.estimation.tables import LEVEL, TableEstimate

Answer = tuple[str, str]  # a question and one of its answers
SPLIT = np.array([[1.0, 0.0], [-1.0, 1.0]])  # (both, group) into (both, the rest of the group)
A, NOT_A, B, NOT_B = np.eye(4)  # who answers so and who does not, in the first group, the second
NOBODY = ((0, 1), (2, 3))  # in the first group, or in the second


def _symmetric(*products: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.asarray(sum((np.outer(a, b) + np.outer(b, a)) / 2 for a, b in products))


DIFFERENCE = Ratio(
    over=_symmetric((A, NOT_B), (-NOT_A, B)),
    under=_symmetric((A + NOT_A, B + NOT_B)),
    positive=False,
    low_faces=NOBODY,
    high_faces=NOBODY,
)
ODDS = Ratio(
    over=_symmetric((A, NOT_B)),
    under=_symmetric((NOT_A, B)),
    positive=True,
    low_faces=((0,), (3,)),
    high_faces=((1,), (2,)),
)


def conditional_share(table: TableEstimate, of: Answer, given: Answer) -> Comparison:
    """The share of those who answer `of` among those who answer `given`.

    Raises TableError if the table has no such answer or lacks a margin.
    """
    name = f"share of {named(dict([of]))} among {named(dict([given]))}"
    shares = pick(table, [dict([of, given]), dict([given])]).combined(SPLIT)
    over, under = linear(shares, np.array([1, 0])), linear(shares, np.array([1, 1]))
    return quotient(name, over, under, shares, {named(dict([given])): under.gradient})


def difference(table: TableEstimate, of: Answer, first: Answer, second: Answer) -> Comparison:
    """The share of `of` among `first` less that among `second`.

    Raises TableError if the table has no such answer or lacks a margin.
    """
    name, shares = _versus("difference", of, first, second), _groups(table, of, first, second)
    over = product(shares, A, NOT_B) - product(shares, NOT_A, B)
    under = product(shares, A + NOT_A, B + NOT_B)
    factors = {named(dict([first])): A + NOT_A, named(dict([second])): B + NOT_B}
    return _compared(name, over, under, shares, factors, DIFFERENCE)


def odds_ratio(table: TableEstimate, of: Answer, first: Answer, second: Answer) -> Comparison:
    """The odds of `of` against anything else among `first` divided by those among `second`.

    Raises TableError if the table has no such answer or lacks a margin.
    """
    name, shares = _versus("odds ratio", of, first, second), _groups(table, of, first, second)
    over, under = product(shares, A, NOT_B), product(shares, NOT_A, B)
    without = f"{named(dict([first]))} without {named(dict([of]))}"
    factors = {without: NOT_A, named(dict([of, second])): B}
    return _compared(name, over, under, shares, factors, ODDS)


def _compared(
    name: str,
    over: Term,
    under: Term,
    shares: Shares,
    factors: Mapping[str, np.ndarray],
    ratio: Ratio,
) -> Comparison:
    """over / under, whose estimate has little bias, with the interval of the profile."""
    scale: Scale = "log" if ratio.positive else "linear"
    ends = Profile(shares.values, shares.with_few()).interval(ratio, LEVEL)
    return comparison(name, of_terms(over, under, shares, scale), ends, shares, factors, scale)


def _groups(table: TableEstimate, of: Answer, first: Answer, second: Answer) -> Shares:
    """Who answers so and who does not, in both groups: people who exclude each other."""
    pairs = [dict([of, first]), dict([first]), dict([of, second]), dict([second])]
    return pick(table, pairs).combined(np.kron(np.eye(2), SPLIT))


def _versus(what: str, of: Answer, first: Answer, second: Answer) -> str:
    return f"{what} of {named(dict([of]))}: {named(dict([first]))} against {named(dict([second]))}"
