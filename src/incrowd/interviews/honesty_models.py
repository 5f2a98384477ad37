"""Estimates for people who do not follow the rules of the device, on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.errors import UsageError
from incrowd.interviews.always_no import AlwaysNo, largest_order
from incrowd.interviews.influence import check_clusters, covariance, half_width
from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.mixtures import ReportMixture, free_directions
from incrowd.interviews.report_fit import FitTest, ReportRows, fit_reports, fit_test
from incrowd.interviews.rule_breakers import (
    ATTENTION,
    HONESTY,
    NO,
    YES,
    randomized,
    with_anchor,
    with_class,
    with_lies,
)
from incrowd.interviews.shares import (
    ItemShares,
    design_effects,
    likelihood,
    normalized,
    profile_interval,
)

CARRIERS, ALWAYS_NO = "carriers", "always-no"
EVERYBODY = 1e-6  # the part that is missing to a share of all people
HONEST_YES, HONEST_NO, CHEATERS = "honest-yes", "honest-no", "cheaters"


@dataclass(frozen=True, eq=False)
class HonestyFit:
    """The shares of a model, with their errors.

    names: of the shares. values: shape (s,). covariance: shape (s, s). intervals: 95%, shape
    (s, 2). at_end: which shares are at an end of their range. used: which interviews are used.
    """

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    intervals: np.ndarray
    at_end: np.ndarray
    used: np.ndarray
    log_likelihood: float
    test: FitTest

    @property
    def standard_errors(self) -> np.ndarray:
        """The standard errors; nan at an end of the range."""
        errors = np.sqrt(np.maximum(np.diagonal(self.covariance), 0))
        return np.where(self.at_end, np.nan, errors)


@dataclass(frozen=True, eq=False)
class ModeledItem:
    """An item with the matrices of a model.

    parameters: the place of each share among the parameters of `ItemShares`. clusters: of its rows,
    or None. people: the rows that stand for different interviews are the first ones.
    """

    item: ReportedItem
    parameters: Mapping[str, int]
    weights: np.ndarray | None
    clusters: np.ndarray | None
    people: int

    @property
    def identified(self) -> bool:
        """Whether the reports determine all parameters, if there are any."""
        if not (self.item.reported != MISSING).any():
            return True
        return ReportMixture.of([self.item], self.weights).identified()

    def shares(self) -> ItemShares:
        """Return all parameters by maximum likelihood. Raises UsageError if they are not
        determined."""
        return likelihood([self.item], self.weights, self.clusters)

    def fit(self) -> HonestyFit:
        """Return the shares of the model, with profile-likelihood intervals."""
        fit, places = self.shares(), list(self.parameters.values())
        errors = covariance(fit.influence, self.clusters)
        effects = design_effects([self.item], self.weights, self.clusters)
        half = half_width(fit.used, self.clusters)
        intervals = [
            profile_interval(fit, place, effect=effects[place], half=half) for place in places
        ]
        return HonestyFit(
            names=tuple(self.parameters),
            values=fit.parameters[places],
            covariance=errors[np.ix_(places, places)],
            intervals=np.array(intervals),
            at_end=fit.at_end[places],
            used=fit.used[: self.people],
            log_likelihood=fit.log_likelihood,
            test=self.test(fit),
        )

    def test(self, fit: ItemShares) -> FitTest:
        """Return the test that the model fits. fit: what `shares` returned."""
        mixture, used = fit.mixture, fit.used
        rows = ReportRows(
            mixture.combination[used],
            self.item.reported[used],
            None if self.weights is None else normalized(self.weights, used)[used],
            None if self.clusters is None else self.clusters[used],
        )
        every = np.arange(mixture.counts.size)
        parts = [rows for _, rows in mixture.rows(fit.parameters, every)]
        basis = free_directions(np.ones(mixture.size, bool), mixture.cells)
        slopes = (np.concatenate(parts) @ basis).T.reshape(-1, *mixture.counts.shape)
        return fit_test(rows, mixture.probabilities(fit.parameters), slopes)


def _modeled(
    item: ReportedItem,
    matrices: ItemMatrices,
    parameters: Mapping[str, int],
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> ModeledItem:
    changed = ReportedItem(randomized(item).reported, item.group, matrices)
    return ModeledItem(changed, parameters, weights, clusters, len(item.reported))


def everyone_follows(
    item: ReportedItem, weights: np.ndarray | None = None, clusters: np.ndarray | None = None
) -> ModeledItem:
    """Return the model in which everyone follows the device and tells the truth.

    With two groups whose probabilities mirror each other, this is the extended crosswise model
    (Heck, Hoffmann, and Moshagen 2018), and its test of fit finds people who prefer one report.
    """
    return _modeled(item, item.matrices, {CARRIERS: YES}, weights, clusters)


def lies(
    item: ReportedItem, weights: np.ndarray | None = None, clusters: np.ndarray | None = None
) -> ModeledItem:
    """Return the stochastic lie detector (Moshagen, Musch, and Erdfelder 2012)."""
    matrices = with_lies(item.matrices)
    honesty = matrices.answers + matrices.names.index(HONESTY)
    return _modeled(item, matrices, {CARRIERS: YES, HONESTY: honesty}, weights, clusters)


def cheaters(
    item: ReportedItem, weights: np.ndarray | None = None, clusters: np.ndarray | None = None
) -> ModeledItem:
    """Return the cheater detection model (Clark and Desharnais 1998).

    Its shares: people who honestly say yes, people who honestly say no, and cheaters, who say no
    whatever the device says. With the matrices of an unrelated question, it is the model of Reiber,
    Pope, and Ulrich (2020).
    """
    matrices = with_class(item.matrices, np.array([1.0, 0.0]))
    shares = {HONEST_YES: YES, HONEST_NO: NO, CHEATERS: matrices.answers - 1}
    return _modeled(item, matrices, shares, weights, clusters)


def anchored(
    item: ReportedItem,
    anchor: ReportedItem,
    answer: int,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> ModeledItem:
    """Return the model of inattention with an anchor (Atsusaka and Stevenson 2023).

    answer: everybody's true answer to the anchor. People who do not read carry the trait as often
    as all others.
    """
    both = with_anchor(item, anchor, answer)
    people = len(item.reported)
    pairs = np.arange(people) if clusters is None else clusters
    return ModeledItem(
        item=both,
        parameters={CARRIERS: YES, ATTENTION: both.matrices.answers},
        weights=None if weights is None else np.tile(weights, 2),
        clusters=np.tile(pairs, 2),
        people=people,
    )


def always_no(
    items: Sequence[ReportedItem],
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> HonestyFit:
    """Fit the model of people who say no to every item.

    Its shares: people who always say no, then the share of "yes" to each item among all others.
    Intervals are symmetric, and end where shares do.
    """
    alike = [randomized(each) for each in items]
    used = np.all([each.reported != MISSING for each in alike], axis=0)
    if used.sum() < 2:
        raise UsageError.of("answers", "interviews.few-interviews", value=int(used.sum()))
    check_clusters(used, clusters)
    groups, group = np.unique([each.group[used] for each in alike], axis=1, return_inverse=True)
    chosen = zip(alike, groups, strict=True)
    model = AlwaysNo(
        tuple(ItemMatrices(each.matrices.base[of]) for each, of in chosen), largest_order(items)
    )
    sizes = tuple(each.matrices.reports for each in alike)
    rows = ReportRows(
        group.ravel(),
        np.ravel_multi_index(tuple(each.reported[used] for each in alike), sizes),
        None if weights is None else normalized(weights, used)[used],
        None if clusters is None else clusters[used],
    )
    fit = fit_reports(model.law, rows, model.start, model.lower, model.upper)
    # If nobody is left who follows the device, the shares of these people are not determined.
    if fit.parameters[0] > 1 - EVERYBODY or not np.isfinite(fit.covariance).all():
        raise UsageError.of("questions", "honesty.needs-always-no", value=len(items))
    values, slopes = model.shares(fit.parameters)
    errors = slopes @ fit.covariance @ slopes.T
    widths = half_width(used, clusters) * np.sqrt(np.maximum(np.diagonal(errors), 0))
    return HonestyFit(
        names=(ALWAYS_NO, *(f"{CARRIERS}-{number}" for number in range(len(items)))),
        values=values,
        covariance=errors,
        intervals=np.clip(np.stack([values - widths, values + widths], axis=1), 0, 1),
        at_end=np.append(fit.at_bound[:1], np.zeros(len(items), bool)),
        used=used,
        log_likelihood=fit.log_likelihood,
        test=fit.test,
    )
