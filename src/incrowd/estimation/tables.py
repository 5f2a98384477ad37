"""The type of all tables: unbiased shares with standard errors, and on request a covariance.

Nothing is clipped or projected here. A report contributes a product g of debiased values to every
cell, and the estimate is the mean of g. Its variance needs the mean of g^2, one small matrix along
each axis of the counts. Its covariance needs the mean of g g', for which a sparse matrix for each
question acts along its axis of the counts of `incrowd.reports.moments.pair_moments`. A covariance
is computed only on request: it has a row and a column for each cell.
Proof: docs/mathematics.md#estimates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from incrowd import views
from incrowd.errors import TableError
from incrowd.estimation.decoders import Decoder, by_axis, least_noise
from incrowd.kernels.axes import transform as along_axes
from incrowd.views import Sheet

LEVEL = 0.95
HALF_WIDTH = NormalDist().inv_cdf((1 + LEVEL) / 2)  # of an interval, in standard errors
NOISE_AND_SAMPLING = "noise and sampling"
NOISE_ONLY = "noise alone"
MOST_CELLS = 2000  # a covariance of 2000 x 2000 doubles is 32 MB
MOST_COUNTS = 1 << 24  # 128 MiB
ROUNDOFF = 1e-12  # of the largest variance
FIGURES = ("estimate", "standard_error", "low", "high")
SELECTED = "; their intervals are wider, to account for the selection"

Ends = tuple[np.ndarray, np.ndarray]


class Intervals(ABC):
    """The ends of intervals."""

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals; not truncated at zero."""
        return self._ends[0]

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals; not truncated at one."""
        return self._ends[1]

    @property
    @abstractmethod
    def _ends(self) -> Ends: ...


@dataclass(frozen=True)
class TableEstimate(Intervals, views.Notebook, views.Tabular, views.Plotted):
    """The estimated joint distribution of some questions, one axis for each.

    estimate, noise_error, standard_error, low, high: proportions of the people, arrays of the
    shape of the table. noise_error: the standard error of the noise alone, with the people fixed.
    people: their number. errors: whether standard_error and the intervals are of noise and sampling
    or of the noise alone. report: the share of a cell that one report moves. influence: how far one
    malicious sender, who can send any reports, can move a cell at most; k senders, k times as far
    (in `estimate_table`: how far one report can). p_values: of "nobody gave this answer", for a
    table from cells. constant_noise: whether the noise does not depend on the answers, as in cells;
    intervals are then those of `score_ends`.

    covariance: None, or shape (cells, cells), cells in C order of `estimate`, with errors as
    `errors` says; noise_covariance: always of the noise alone. exclusive, margins: for each axis,
    whether each person gives exactly one answer, and whether the last entry is "any answer".
    overlaps: whether it is known how many people gave two answers to a question at once; if not,
    the covariance assumes that such answers are independent, and only variances are estimated.

    whole_error: the standard error of noise and sampling together, for a table with a covariance
    or one computed from others; None if sampling adds that of `people`. person: the share of each
    cell that one person moves; None for 1 / people. weighted_to: the names of the known margins to
    which the table is weighted. answered: whether "no answer" is left out. error_ratio: the
    standard errors of a table that was changed in these ways divided by those before the change, in
    the mean square. rounded: the questions whose answers are amounts: each was rounded at random to
    an edge, and shares are of rounded amounts.
    """

    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    estimate: np.ndarray
    noise_error: np.ndarray
    people: float
    errors: str = NOISE_AND_SAMPLING
    level: float = LEVEL
    influence: float = 0.0
    report: np.ndarray | float = 0.0
    p_values: np.ndarray | None = None
    constant_noise: bool = False
    covariance: np.ndarray | None = None
    noise_covariance: np.ndarray | None = None
    exclusive: tuple[bool, ...] = ()
    margins: tuple[bool, ...] = ()
    overlaps: bool = True
    whole_error: np.ndarray | None = None
    person: np.ndarray | None = None
    weighted_to: tuple[str, ...] = ()
    answered: bool = False
    error_ratio: float | None = None
    rounded: tuple[str, ...] = ()
    layout: ClassVar[str] = "table"
    drawn_by: ClassVar[str] = "incrowd.presentation.plots:of_table"

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.estimate.shape))
        errors = f"people={self.people:,.0f}, errors={self.errors!r}"
        return f"TableEstimate({' × '.join(self.questions)}, {shape} cells, {errors})"

    def long_table(self) -> Sheet:
        """Return a row for each cell: an answer to each question, and proportions of people."""
        columns: list[Sequence[Any]] = list(zip(*product(*self.answers), strict=True))
        columns += [getattr(self, name).ravel().tolist() for name in FIGURES]
        rows = tuple(zip(*columns, strict=True))
        return Sheet(" x ".join(self.questions), (*self.questions, *FIGURES), rows)

    @property
    def standard_error(self) -> np.ndarray:
        """Of noise plus sampling, sqrt(noise + pi (1 - pi) / N), or of the noise alone.

        A raw estimate below zero or above one has no sampling error.
        """
        if self.errors == NOISE_ONLY:
            return self.noise_error
        if self.whole_error is not None:
            return self.whole_error
        sampling = sampling_variance(self.estimate, self.people)
        return np.asarray(np.sqrt(self.noise_error**2 + sampling))

    @property
    def whose(self) -> str:
        """The people to whom the shares refer, in words."""
        return "those who answered" if self.answered else "people"

    @property
    def rounding(self) -> str:
        """What was done to amounts, to follow `whose`; "" if there are none."""
        names = " and ".join(self.rounded)
        return f" after rounding {names} at random to edges" if self.rounded else ""

    @property
    def effective_sample_size(self) -> float:
        """The number of people who, surveyed without noise, would give the same squared error.

        sum pi (1 - pi) / sum Var, Vinterbo, proposition 3.1 and lemma 4.5, with pi (1 - pi)
        estimated without bias. At most the number of people, since noise never adds information;
        known margins can add some.
        """
        variance = replace(self, errors=NOISE_AND_SAMPLING).standard_error ** 2
        if not variance.any():
            return 0.0
        open_variance = self.estimate * (1 - self.estimate) + variance
        most = math.inf if self.weighted_to else self.people
        return float(np.clip(open_variance.sum() / variance.sum(), 0.0, most))

    @property
    def of_one(self) -> np.ndarray | float:
        """The share of a cell that one person moves."""
        return 1 / self.people if self.person is None else self.person

    @property
    def step(self) -> np.ndarray:
        """The smallest step of the share of each cell: that of one person, or of one report if the
        people are fixed."""
        each = self.report if self.errors == NOISE_ONLY else self.of_one
        return np.broadcast_to(each, self.estimate.shape)

    @property
    def _ends(self) -> Ends:
        multiplier = float(scipy.special.ndtri((1 + self.level) / 2))
        if not self.constant_noise:
            half = reach(multiplier, self.standard_error, self.step)
            return np.asarray(self.estimate - half), np.asarray(self.estimate + half)
        people = None if self.errors == NOISE_ONLY else self.people
        return score_ends(multiplier, self.estimate, self.noise_error**2, self.report, people)

    def above_noise(self, family_wise: float = 0.05) -> np.ndarray:
        """Which cells are not empty, with probability at most `family_wise` of any false positive.

        Bonferroni over the cells. Exact for a table from cells; otherwise by the normal quantile of
        the noise, which is the only error of an empty cell.
        """
        limit = family_wise / self.estimate.size
        if self.p_values is not None:
            return np.asarray(self.p_values <= limit)
        return np.asarray(self.estimate > float(scipy.special.ndtri(1 - limit)) * self.noise_error)

    # --- with a covariance -------------------------------------------------------------------

    @property
    def joint_covariance(self) -> np.ndarray:
        """The covariance of all cells, for a table that has it."""
        assert self.covariance is not None
        return self.covariance

    @property
    def joint_noise(self) -> np.ndarray:
        """The same for the noise alone."""
        assert self.noise_covariance is not None
        return self.noise_covariance

    @property
    def both(self) -> np.ndarray:
        """The estimated shares of people who are in both of two cells, from noise and sampling."""
        cells = self.estimate.ravel()
        return np.asarray(
            (self.joint_covariance - self.joint_noise) * self.people + np.outer(cells, cells)
        )

    def noise_alone(self) -> TableEstimate:
        """The same table with the errors of the noise alone."""
        return replace(self, covariance=self.noise_covariance, errors=NOISE_ONLY)

    def without_margins(self) -> TableEstimate:
        """The table without the entries "any answer"."""
        places = np.arange(self.estimate.size).reshape(self.estimate.shape)
        cells = places[tuple(slice(len(answers)) for answers in self.answers)]
        square = np.ix_(cells.ravel(), cells.ravel())

        def inner(values: np.ndarray) -> np.ndarray:
            return values.ravel()[cells]

        return replace(
            self,
            margins=tuple(False for _ in self.margins),
            estimate=inner(self.estimate),
            noise_error=inner(self.noise_error),
            whole_error=None if self.whole_error is None else inner(self.whole_error),
            covariance=self.joint_covariance[square],
            noise_covariance=self.joint_noise[square],
            person=None if self.person is None else inner(self.person),
            report=inner(np.broadcast_to(self.report, self.estimate.shape)),
        )

    def linear(self, cells: np.ndarray, jacobian: np.ndarray, **axes: Any) -> TableEstimate:
        """Functions of the cells: their values and, by the delta method, their covariance.

        cells: in the shape of the new table; jacobian: shape (new cells, old cells). axes: the
        fields of the new table that have an entry for each axis.
        """
        weights = np.abs(jacobian)

        def largest(each: np.ndarray | float) -> np.ndarray:
            old = np.broadcast_to(each, self.estimate.shape).ravel()
            return np.asarray((weights * old).max(axis=1).reshape(cells.shape))

        covariance = jacobian @ self.joint_covariance @ jacobian.T
        noise = jacobian @ self.joint_noise @ jacobian.T
        return replace(
            self,
            estimate=cells,
            noise_error=errors_of(noise, cells.shape),
            whole_error=errors_of(covariance, cells.shape),
            covariance=covariance,
            noise_covariance=noise,
            person=largest(self.of_one),
            report=largest(self.report),
            p_values=None,
            constant_noise=False,
            **axes,
        )


def errors_of(covariance: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Square roots of the variances of all cells of a table of that shape."""
    return np.asarray(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)).reshape(shape))


# --- intervals -------------------------------------------------------------------------------


def sampling_variance(shares: np.ndarray, people: float) -> np.ndarray:
    """pi (1 - pi) / N; an estimate below zero or above one counts as zero or one."""
    return np.asarray(np.maximum(shares * (1 - shares), 0.0) / people)


def reach(multiplier: float, errors: np.ndarray, step: np.ndarray | float) -> np.ndarray:
    """The half length of intervals, from the number of standard errors.

    The variance of a count is its mean, so its estimate is zero if nobody was counted; but even if
    z^2 people are expected, there is sometimes nobody (Wilson 1927). So z^2 counts are added to
    each variance, which is little compared with the noise of a crowd. Exact shares stay exact.
    """
    few = np.where(errors > 0, multiplier * np.asarray(step), 0.0)
    return np.asarray(multiplier * np.hypot(errors, few))


def chosen_level(level: float, chosen: int, of: int) -> float:
    """The confidence level of each interval when only some of the figures are listed.

    Of many answers, only those that rise above the noise are listed. They are selected for being
    large, so their 95% intervals would miss far more often than one in twenty. With R of K listed,
    each gets the level 1 - 5% R / K: then at most one in twenty of the listed intervals misses, on
    average (the false coverage rate, Benjamini and Yekutieli 2005). If all are listed, the level
    stays the same.
    """
    return 1 - (1 - level) * max(chosen, 1) / of


def score_ends(
    multiplier: float,
    estimate: np.ndarray,
    noise: np.ndarray,
    report: np.ndarray | float,
    people: float | None,
) -> Ends:
    """The ends of the intervals of all shares that a test does not reject.

    noise: the variance of the noise, which does not depend on the shares. people: the number drawn
    at random; None if they are fixed. The share pi is tested with its variance under the
    hypothesis, the noise plus pi (1 - pi) / N, so the ends are the roots of a quadratic (Wilson
    1927); a share below zero or above one has no sampling. report: the share of a cell that one
    report moves; the noise is a whole number of reports, so a quarter of its square is added.
    Proof: docs/mathematics.md#tables-of-cells.
    """
    half = multiplier * np.sqrt(noise + np.square(report) / 4)
    outer = np.stack([estimate - half, estimate + half])
    if people is None:
        return outer[0], outer[1]
    k = multiplier**2 / people
    inside = k * k + 4 * k * estimate * (1 - estimate) + 4 * (1 + k) * half**2
    root = np.sqrt(np.maximum(inside, 0))  # negative only where both ends are beyond zero or one
    roots = (2 * estimate + k + np.stack([-root, root])) / (2 * (1 + k))
    low, high = np.where((outer >= 0) & (outer <= 1), roots, outer)
    return low, high


# --- from counts -----------------------------------------------------------------------------


def estimate_table(
    questions: Sequence[str],
    decoders: Sequence[Decoder],
    counts: np.ndarray,
    copies: int = 1,
    noise_only: bool = False,
    *,
    covariance: bool = False,
    unbiased: bool = False,
) -> TableEstimate:
    """Estimate a table from the joint counts of set bits, without bias.

    counts: the count tensor of `incrowd.reports.moments`, with a covariance that of `pair_moments`;
    its first entry is the number of reports m = k N. copies: k. The estimate is C^-1 y / m, axis by
    axis (Vinterbo, section 3.2); its noise has the variance (E[g^2] - pi) / m, g the debiased
    report, but at least the bound of `least_noise`.

    covariance: include that of all cells. With S the mean of g g' over reports and B the estimated
    shares of people in both of two cells (diag(pi) for cells that exclude each other), the noise
    has covariance (S - B) / (k N), and sampling of N people adds (B - pi pi^T) / N; for yes/no
    questions S is C^-1 diag(y / m) C^-T. Like the estimate of a share, it is unbiased, and can be
    negative in some direction; it is set to zero there, and in no cell is it less than the bound.
    unbiased: skip this adjustment, for figures that sum over all cells, such as those of a
    regression. Raises TableError for a covariance of more than 2,000 cells.
    """
    reports = float(counts.flat[0])
    least = least_noise([d.given for d in decoders]) / reports
    table = partial(
        TableEstimate,
        questions=tuple(questions),
        answers=tuple(d.answers for d in decoders),
        people=reports / copies,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        influence=_width(decoders) / reports,
        report=1 / reports,
        exclusive=tuple(d.exclusive for d in decoders),
        margins=tuple(d.margin for d in decoders),
    )
    if not covariance:
        shares = counts[tuple(slice(d.mean.shape[1]) for d in decoders)] / reports
        estimate = along_axes([d.mean for d in decoders], shares)
        second = along_axes([d.square for d in decoders], shares)
        noise = np.maximum((second - estimate) / reports, least)
        return table(estimate=estimate, noise_error=np.sqrt(noise))
    check_cells(math.prod(len(d.mean) for d in decoders))
    shares = counts / reports
    estimate = by_axis([d.single for d in decoders], shares)
    second = _square(by_axis([d.product for d in decoders], shares), estimate.shape)
    both = _square(by_axis([d.both for d in decoders], shares), estimate.shape)
    noise = (second - both) / reports
    drawn = (both - np.outer(estimate, estimate)) * (copies / reports)
    raised = None if unbiased else np.maximum(np.diagonal(noise), least.ravel())
    return with_covariance(table(estimate=estimate, noise_error=estimate), noise, drawn, raised)


def with_covariance(
    table: TableEstimate, noise: np.ndarray, drawn: np.ndarray, least: np.ndarray | None
) -> TableEstimate:
    """A table with the covariance of its cells, and its errors.

    noise: the covariance by noise; drawn: what the sampling of people adds to it. least: lower
    bounds on the variances by noise; both matrices are then also made positive semidefinite. None
    leaves them unchanged.
    """
    fixed = table.errors == NOISE_ONLY
    covariance = noise if fixed else noise + drawn
    if least is not None:
        sampling = 0.0 if fixed else sampling_variance(table.estimate.ravel(), table.people)
        covariance = at_least(covariance, least + sampling)
        noise = at_least(noise, least)
    return replace(
        table,
        covariance=covariance,
        noise_covariance=noise,
        noise_error=errors_of(noise, table.estimate.shape),
        whole_error=None if fixed else errors_of(covariance, table.estimate.shape),
    )


def check_cells(cells: int) -> None:
    """Raises TableError if there are too many cells for a covariance."""
    if cells > MOST_CELLS:
        raise TableError.of("table", "estimation.too-many-cells", cells=cells, most=MOST_CELLS)


def at_least(covariance: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """The nearest positive semidefinite matrix, with its variances raised to given lower bounds."""
    allowance = ROUNDOFF * float(np.abs(np.diagonal(covariance)).max(initial=0.0))
    try:  # a factor takes a tenth of the time of all eigenvalues
        np.linalg.cholesky(covariance + allowance * np.eye(len(covariance)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        covariance = np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
    return covariance + np.diag(np.maximum(variances - np.diagonal(covariance), 0.0))


def _width(decoders: Sequence[Decoder]) -> float:
    """The range of products of one g per question, where low <= g <= high, low <= 0 < high and
    -low <= high."""
    highest = math.prod(d.high for d in decoders)
    return highest - min(d.low * highest / d.high for d in decoders)


def _square(pairs: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Reshape axes of pairs of answers to each question into a matrix of cells by cells."""
    split = pairs.reshape([size for size in shape for _ in range(2)])
    order = [*range(0, split.ndim, 2), *range(1, split.ndim, 2)]
    return split.transpose(order).reshape(math.prod(shape), -1)


# --- of several tables -----------------------------------------------------------------------


def combined(
    tables: Sequence[TableEstimate], weights: Sequence[float], *, unbiased: bool = False
) -> TableEstimate:
    """One table from independent reports of the same people: the weighted mean.

    weights: any positive numbers that do not depend on the reports, so that the mean is unbiased;
    the best are the inverses of the planned noise variances. The noise of different messages is
    independent, so its covariances add up with squared weights; the sampling is the same, with the
    smallest number of people. unbiased: as for `estimate_table`.
    """
    if len(tables) == 1:
        return tables[0]
    pairs = list(zip(np.array(weights) / np.sum(weights), tables, strict=True))
    whole = replace(
        tables[0],
        p_values=None,
        constant_noise=False,
        estimate=np.asarray(sum(w * table.estimate for w, table in pairs)),
        noise_error=np.sqrt(sum(w**2 * table.noise_error**2 for w, table in pairs)),
        people=min(table.people for table in tables),
        influence=sum(w * table.influence for w, table in pairs),
        report=np.max([w * table.report for w, table in pairs], axis=0),
        whole_error=None,
        person=None,
        overlaps=all(table.overlaps for table in tables),
    )
    if whole.covariance is None:
        return whole
    noise = np.asarray(sum(w**2 * table.joint_noise for w, table in pairs))
    drawn = sum(w * (table.joint_covariance - table.joint_noise) for w, table in pairs)
    return with_covariance(whole, noise, drawn, None if unbiased else np.diagonal(noise))


class OpenAxis(NamedTuple):
    """The axis of an open question: the question, its answers, and the place of the axis.

    people: the number who gave each answer.
    """

    question: str
    answers: tuple[str, ...]
    place: int
    people: tuple[int, ...]

    @property
    def shares(self) -> np.ndarray:
        """Each answer's share of the people."""
        return np.array(self.people) / sum(self.people)

    def among(self, others: Sequence[object], entry: object) -> tuple:  # type: ignore[type-arg]
        """The entries of the other axes, with that of this axis in its place."""
        return (*others[: self.place], entry, *others[self.place :])


def everybody(
    people: int, noise_only: bool, rows: int = 1, *, covariance: bool = False
) -> TableEstimate:
    """The table of no question: all people are in its one cell.

    rows: the most that one person can have, and can have put into a wrong stratum.
    """
    errors = NOISE_ONLY if noise_only else NOISE_AND_SAMPLING
    one, zero = np.array(1.0), np.zeros((1, 1)) if covariance else None
    table = TableEstimate((), (), one, 0 * one, people, errors, influence=rows / people)
    return replace(table, covariance=zero, noise_covariance=zero)


def across(tables: Sequence[TableEstimate], axis: OpenAxis, margin: bool = False) -> TableEstimate:
    """One table with an open axis, from the table of the other questions for each answer.

    Open answers have no noise. The share of all people who are in stratum s and in a cell is
    w_s pi_s, w_s the stratum's share of the people. Strata are disjoint people with independent
    noise, so noise covariances are multiplied by w_s^2. Sampling is that of all people together:
    the people in both of two cells are w_s B_s within one stratum and none across strata, B_s as in
    `estimate_table`, so its covariance is (block diagonal of w_s B_s - pi pi^T) / N. margin: add
    "any answer" to the open axis. Proof: docs/mathematics.md#open-strata.
    """
    first, people = tables[0], sum(axis.people)
    scaled = list(zip(axis.shares, tables, strict=True))
    shares = [w * table.estimate for w, table in scaled]
    errors = [w * table.noise_error for w, table in scaled]
    report = [np.broadcast_to(w * table.report, table.estimate.shape) for w, table in scaled]
    if margin:
        shares.append(np.sum(shares, axis=0))
        errors.append(np.sqrt(np.sum(np.square(errors), axis=0)))
        report.append(np.max(report, axis=0))
    table = replace(
        first,
        questions=axis.among(first.questions, axis.question),
        answers=axis.among(first.answers, axis.answers),
        exclusive=axis.among(first.exclusive, True),
        margins=axis.among(first.margins, margin),
        estimate=np.stack(shares, axis.place),
        noise_error=np.stack(errors, axis.place),
        people=people,
        influence=max(w * table.influence for w, table in scaled),
        report=np.stack(report, axis.place),
        whole_error=None,
        person=None,
        p_values=None,
        overlaps=all(table.overlaps for table in tables),
    )
    if first.covariance is None:
        return table
    cells = np.concatenate([w * table.estimate.ravel() for w, table in scaled])
    noise = scipy.linalg.block_diag(*(w**2 * table.joint_noise for w, table in scaled))
    covariance = noise
    if first.errors != NOISE_ONLY:
        both = scipy.linalg.block_diag(*(w * table.both for w, table in scaled))
        least = np.diagonal(noise) + sampling_variance(cells, people)
        covariance = at_least(noise + (both - np.outer(cells, cells)) / people, least)
    rows = np.vstack([np.eye(len(tables)), np.ones((int(margin), len(tables)))])
    sums = np.kron(rows, np.eye(first.estimate.size))
    places = np.arange(len(sums)).reshape(len(rows), *first.estimate.shape)
    sums = sums[np.moveaxis(places, 0, axis.place).ravel()]
    covariance, noise = sums @ covariance @ sums.T, sums @ noise @ sums.T
    shape, fixed = table.estimate.shape, first.errors == NOISE_ONLY
    return replace(
        table,
        covariance=covariance,
        noise_covariance=noise,
        noise_error=errors_of(noise, shape),
        whole_error=None if fixed else errors_of(covariance, shape),
    )


def averaged(
    tables: Sequence[TableEstimate], weights: np.ndarray, drift: np.ndarray, before: TableEstimate
) -> TableEstimate:
    """The weighted mean of tables of different people, whose errors are independent.

    drift: the covariance of the weights; zero if they are known. before: the table of all people
    without weights.
    """
    cells = np.stack([table.estimate for table in tables])
    pairs = list(zip(weights, tables, strict=True))
    within = sum((w * _whole_error(table)) ** 2 for w, table in pairs)
    between = np.einsum("s...,st,t...->...", cells, drift, cells)
    shape = before.estimate.shape
    return replace(
        before,
        estimate=np.tensordot(weights, cells, 1),
        noise_error=np.sqrt(sum((w * table.noise_error) ** 2 for w, table in pairs)),
        whole_error=np.sqrt(within + np.maximum(between, 0.0)),
        influence=float(max(w * table.influence for w, table in pairs)),
        report=np.max([w * np.broadcast_to(table.report, shape) for w, table in pairs], axis=0),
        person=np.max([w * np.broadcast_to(table.of_one, shape) for w, table in pairs], axis=0),
        p_values=None,
        constant_noise=False,
    )


def changed(
    table: TableEstimate,
    before: TableEstimate,
    weighted_to: tuple[str, ...],
    answered: bool,
    influence: float,
) -> TableEstimate:
    """A table that was weighted or restricted to those who answered, with the ratio of its errors
    to those of the table `before`."""
    errors = np.linalg.norm(_whole_error(before))
    table = table.noise_alone() if before.errors == NOISE_ONLY else table
    return replace(
        table,
        people=before.people,
        influence=influence,
        weighted_to=weighted_to,
        answered=answered,
        error_ratio=float(np.linalg.norm(_whole_error(table)) / errors) if errors else 1.0,
    )


def _whole_error(table: TableEstimate) -> np.ndarray:
    """The standard errors of noise and sampling."""
    return replace(table, errors=NOISE_AND_SAMPLING).standard_error
