"""Models of people who do not follow the rules of the device, on arrays.

A model has a law of the reports, with bounded parameters, and the shares that people ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from incrowd.interviews.always_no import answers_of, patterns, patterns_law, terms
from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.report_fit import Interviews, ReportFit, ReportLaw, fit_reports, identifies
from incrowd.interviews.rule_breakers import YES, shares_law, with_anchor, with_class, with_lies

_LARGEST = 20.0  # of a coefficient: e^20 to 1 are the odds of answers that nobody gives
ALWAYS_NO, AT_RANDOM = np.array([1.0, 0.0]), np.array([0.5, 0.5])

Shares = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From parameters, shape (k,), to shares, shape (s,), and their derivatives, shape (s, k)."""


@dataclass(frozen=True, eq=False)
class HonestyModel:
    """A law of reports, and the shares that follow from its parameters.

    start, lower, upper: of the parameters. names: of the shares.
    """

    law: ReportLaw
    start: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    names: tuple[str, ...]
    shares: Shares

    @property
    def identified(self) -> bool:
        """Whether the reports determine all parameters."""
        return identifies(self.law, self.start)

    def fit(self, rows: Interviews) -> FittedShares:
        """Return the shares, with the covariance of their estimates."""
        fit = fit_reports(self.law, rows, self.start, self.lower, self.upper)
        values, slopes = self.shares(fit.parameters)
        return FittedShares(self.names, values, slopes @ fit.covariance @ slopes.T, fit)


class FittedShares(NamedTuple):
    """Estimated shares. names, values: shape (s,). covariance: shape (s, s)."""

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    fit: ReportFit


def _bounded(law: ReportLaw, names: Sequence[str], shares: Shares, parameters: int) -> HonestyModel:
    """Return a model whose parameters are all from 0 to 1."""
    start = np.linspace(0.3, 0.4, parameters)
    zeros, ones = np.zeros(parameters), np.ones(parameters)
    return HonestyModel(law, start, zeros, ones, tuple(names), shares)


def _as_they_are(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return parameters, np.eye(len(parameters))


def everyone_follows(matrices: ItemMatrices) -> HonestyModel:
    """Return the model in which everyone follows the device and tells the truth.

    With two groups whose probabilities mirror each other, this is the extended crosswise model
    (Heck, Hoffmann, and Moshagen 2018), and its test of fit finds people who prefer one report.
    """
    names = ("carriers", *matrices.names)
    return _bounded(shares_law(matrices), names, _as_they_are, len(names))


def lies(matrices: ItemMatrices) -> HonestyModel:
    """Return the stochastic lie detector (Moshagen, Musch, and Erdfelder 2012)."""
    return everyone_follows(with_lies(matrices))


def cheaters(matrices: ItemMatrices) -> HonestyModel:
    """Return the cheater detection model (Clark and Desharnais 1998).

    Its shares: people who honestly say yes, people who honestly say no, and cheaters, who say no
    whatever the device says. With the matrices of an unrelated question, it is the model of Reiber,
    Pope, and Ulrich (2020).
    """

    def shares(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share, others = parameters
        values = np.array([(1 - others) * share, (1 - others) * (1 - share), others])
        return values, np.array([[1 - others, -share], [others - 1, share - 1], [0, 1]])

    law = shares_law(with_class(matrices, ALWAYS_NO))
    return _bounded(law, ("honest_yes", "honest_no", "cheaters"), shares, 2)


def inattentive(matrices: ItemMatrices, anchor: ItemMatrices, answer: int) -> HonestyModel:
    """Return the model of inattention with an anchor (Atsusaka and Stevenson 2023).

    Everyone's true answer to the anchor is known. People who do not read choose a report at random,
    in the item and in the anchor, and have the trait as often as all others. Rows are those of the
    item, then those of the anchor, whose groups follow the item's.
    """
    both = with_anchor(with_class(matrices, AT_RANDOM), with_class(anchor, AT_RANDOM), answer)
    return _bounded(shares_law(both), ("carriers", "inattentive"), _as_they_are, 2)


def always_no(matrices: Sequence[ItemMatrices], order: int) -> HonestyModel:
    """Return the model of people who say no to every item.

    order: of the largest interaction between the items of all other people. Its shares: people who
    always say no, then the share of "yes" to each item among all others.
    """
    sizes = [each.answers for each in matrices]
    columns, yes = terms(sizes, order), patterns(sizes) == YES

    def shares(parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        answers = answers_of(columns, parameters[1:])
        slopes = (columns - answers @ columns) * answers[:, None]
        values = np.concatenate([parameters[:1], answers @ yes])
        derivatives = np.zeros((len(values), len(parameters)))
        derivatives[0, 0] = 1
        derivatives[1:, 1:] = yes.T @ slopes
        return values, derivatives

    largest = np.full(columns.shape[1], _LARGEST)
    return HonestyModel(
        law=patterns_law(list(matrices), order),
        start=np.concatenate([[0.2], np.linspace(-1.0, -0.4, columns.shape[1])]),
        lower=np.concatenate([[0.0], -largest]),
        upper=np.concatenate([[1.0], largest]),
        names=("always_no", *(f"carriers_{number}" for number in range(len(matrices)))),
        shares=shares,
    )


class RandomizedRows(NamedTuple):
    """The reports of an item that a device randomized. used: bool, shape (all interviews,)."""

    matrices: ItemMatrices
    rows: Interviews
    used: np.ndarray


def asked_directly(matrices: ItemMatrices) -> np.ndarray:
    """Return which groups report their true answers: bool, shape (groups,)."""
    if matrices.reports != matrices.answers:
        return np.zeros(matrices.groups, bool)
    fixed = (matrices.unknown == 0).all(axis=(0, 2, 3))
    return np.asarray(fixed & (matrices.base == np.eye(matrices.answers)).all(axis=(1, 2)))


def chosen_groups(matrices: ItemMatrices, groups: np.ndarray) -> ItemMatrices:
    """Return the matrices of some groups. groups: their numbers."""
    unknown = matrices.unknown[:, groups] if matrices.names else matrices.unknown
    return ItemMatrices(matrices.base[groups], unknown, matrices.names)


def randomized_rows(
    item: ReportedItem, weights: np.ndarray | None = None, clusters: np.ndarray | None = None
) -> RandomizedRows:
    """Return the reports of an item that a device randomized, without the groups asked directly."""
    directly = asked_directly(item.matrices)
    used = (item.reported != MISSING) & ~directly[item.group]
    matrices, group = _present(item.matrices, item.group[used])
    rows = _rows(group, item.reported[used], used, weights, clusters)
    return RandomizedRows(matrices, rows, used)


def _present(matrices: ItemMatrices, group: np.ndarray) -> tuple[ItemMatrices, np.ndarray]:
    """Return the matrices of the groups that have interviews, and the groups by these numbers."""
    numbers, renumbered = np.unique(group, return_inverse=True)
    return chosen_groups(matrices, numbers), renumbered


def anchored_rows(
    item: ReportedItem,
    anchor: ReportedItem,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> tuple[ItemMatrices, ItemMatrices, Interviews, np.ndarray]:
    """Return the matrices of both, the rows of both, and which interviews have both reports.

    Each interview has two rows, which are a cluster if the interviews have no larger ones.
    """
    used = (item.reported != MISSING) & (anchor.reported != MISSING)
    of_item, item_group = _present(item.matrices, item.group[used])
    of_anchor, anchor_group = _present(anchor.matrices, anchor.group[used])
    clusters = np.arange(len(used)) if clusters is None else clusters
    weights = np.ones(len(used)) if weights is None else weights
    rows = Interviews(
        np.concatenate([item_group, of_item.groups + anchor_group]),
        np.concatenate([item.reported[used], anchor.reported[used]]),
        np.tile(weights[used], 2),
        np.tile(clusters[used], 2),
    )
    return of_item, of_anchor, rows, used


def pattern_rows(
    items: Sequence[ReportedItem],
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> tuple[list[ItemMatrices], Interviews, np.ndarray]:
    """Return the matrices of items in common groups, the patterns of reports, and the rows used."""
    directly = [asked_directly(each.matrices)[each.group] for each in items]
    missing = [each.reported == MISSING for each in items]
    used = ~np.any([*missing, *directly], axis=0)
    both = np.stack([each.group[used] for each in items], axis=1)
    groups, group = np.unique(both, axis=0, return_inverse=True)
    matrices = [chosen_groups(each.matrices, groups[:, n]) for n, each in enumerate(items)]
    sizes = tuple(each.matrices.reports for each in items)
    reported = np.ravel_multi_index(tuple(each.reported[used] for each in items), sizes)
    return matrices, _rows(group.ravel(), reported, used, weights, clusters), used


def _rows(
    group: np.ndarray,
    reported: np.ndarray,
    used: np.ndarray,
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> Interviews:
    return Interviews(
        group,
        reported,
        np.ones(len(group)) if weights is None else weights[used],
        None if clusters is None else clusters[used],
        weighted=weights is not None,
    )
