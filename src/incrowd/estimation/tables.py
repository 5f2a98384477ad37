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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from incrowd import views
from incrowd.catalog.sentences import text_list, translatable
from incrowd.errors import TableError
from incrowd.estimation.cell_errors import CellErrors, at_least
from incrowd.estimation.decoders import Decoder, by_axis, least_noise
from incrowd.estimation.intervals import Ends, Intervals, sampling_variance
from incrowd.estimation.small_counts import across_strata
from incrowd.kernels.axes import transform as along_axes
from incrowd.survey import NO_ANSWER, NOT_ASKED
from incrowd.views import Sheet

MOST_CELLS = 2000  # a covariance of 2000 x 2000 doubles is 32 MB
MOST_COUNTS = 1 << 24  # 128 MiB
# To whom the shares of a table refer, if nobody is left out.
EVERYONE = translatable("estimation.everyone")
FIGURES = ("estimate", "standard_error", "low", "high")


@dataclass(frozen=True)
class Provenance:
    """The origin of the figures of a table.

    people: their number. influence: how far one malicious sender, who can send any reports, can
    move a cell at most; k senders, k times as far (in `estimate_table`: how far one report
    can). weighted_to: the names of the known margins to which the table is weighted. left_out:
    the states of the people who are left out: those who gave no answer, or were not asked.
    error_ratio: the standard errors of a table that was changed in these ways divided by those
    before the change, in the mean square. rounded: the questions whose answers are amounts:
    each was rounded at random to an edge, and shares are of rounded amounts.
    """

    people: float
    influence: float = 0.0
    weighted_to: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    error_ratio: float | None = None
    rounded: tuple[str, ...] = ()

    @property
    def whose(self) -> str:
        """The people to whom the shares refer, in words."""
        if not self.left_out:
            return EVERYONE
        if NO_ANSWER in self.left_out:
            return translatable("estimation.who-answered")
        return translatable("estimation.who-was-asked")

    @property
    def axis(self) -> str:
        """The name of an axis of shares."""
        return translatable("estimation.share-axis", whose=self.whose)

    @property
    def of_asked(self) -> bool:
        """Whether exactly the people who were not asked are left out."""
        return self.left_out == (NOT_ASKED,)

    @property
    def among(self) -> str:
        """The people to whom the shares refer, before the name of a table that a question has in
        addition to that of all people; "" for any other."""
        return translatable("estimation.among", whose=self.whose) if self.of_asked else ""

    @property
    def rounding(self) -> str:
        """The treatment of amounts, to follow `whose`; "" if there are none."""
        if not self.rounded:
            return ""
        names = text_list(self.rounded, "shared.and")
        return translatable("estimation.after-rounding", names=names)


@dataclass(frozen=True)
class TableEstimate(Intervals, views.Notebook, views.Tabular, views.Plotted):
    """The estimated joint distribution of some questions, one axis for each.

    `standard_error`, `low`, and `high` have the shape of the estimate too.

    Attributes
    ----------
    questions : tuple of str
        The ids of the questions.
    answers : tuple of tuples of str
        The answers along each axis.
    estimate : array
        Proportions of the people, neither clipped nor projected.
    error : CellErrors
        Standard errors and covariance, and how they come about.
    provenance : Provenance
        The people, and what was done to their answers.
    exclusive : tuple of bool
        For each axis, whether each person gives exactly one answer.
    margins : tuple of bool
        For each axis, whether the last entry is "any answer".

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> table = incrowd.estimate(plan, reports)["self_rated_health"]
    >>> dict(zip(table.answers[0], table.estimate.round(1).tolist()))
    {'excellent': 0.5, 'good': 0.4, 'fair': 0.1, 'poor': 0.0}
    >>> bool((table.low < table.estimate).all() and (table.estimate < table.high).all())
    True
    """

    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    estimate: np.ndarray
    error: CellErrors
    provenance: Provenance
    exclusive: tuple[bool, ...] = ()
    margins: tuple[bool, ...] = ()
    layout: ClassVar[str] = "table"
    drawn_by: ClassVar[str] = "incrowd.presentation.plots:of_table"

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.estimate.shape))
        errors = f"people={self.people:,.0f}, errors={self.error.includes!r}"
        return f"TableEstimate({' × '.join(self.questions)}, {shape} cells, {errors})"

    def long_table(self) -> Sheet:
        """Return a row for each cell: an answer to each question, and proportions of people."""
        columns: list[Sequence[Any]] = list(zip(*product(*self.answers), strict=True))
        columns += [getattr(self, name).ravel().tolist() for name in FIGURES]
        rows = tuple(zip(*columns, strict=True))
        asked = "asked " if self.provenance.of_asked else ""
        name = f"{asked}{' x '.join(self.questions)}"
        return Sheet(name, (*self.questions, *FIGURES), rows, FIGURES)

    @property
    def people(self) -> float:
        """The number of people."""
        return self.provenance.people

    @property
    def standard_error(self) -> np.ndarray:
        """The standard errors: of noise and sampling, or of the noise alone."""
        return self.error.standard

    @property
    def _ends(self) -> Ends:
        return self.error.intervals(self.estimate, self.people)

    def of_people(self, people: float) -> TableEstimate:
        """Return the same table of another number of people, with the same errors."""
        return replace(self, provenance=replace(self.provenance, people=people))

    def with_errors(self, **fields: Any) -> TableEstimate:
        """Return the same table with other errors. fields: of `CellErrors`."""
        return replace(self, error=replace(self.error, **fields))

    @property
    def effective_sample_size(self) -> float:
        """The number of people who, surveyed without noise, would give the same squared error.

        sum pi (1 - pi) / sum Var, Vinterbo, proposition 3.1 and lemma 4.5, with pi (1 - pi)
        estimated without bias. At most the number of people, since noise never adds information;
        known margins can add some.
        """
        variance = self.error.whole**2
        if not variance.any():
            return 0.0
        open_variance = self.estimate * (1 - self.estimate) + variance
        most = math.inf if self.provenance.weighted_to else self.people
        return float(np.clip(open_variance.sum() / variance.sum(), 0.0, most))

    def above_noise(self, family_wise: float = 0.05) -> np.ndarray:
        """Find the cells that are not empty.

        Parameters
        ----------
        family_wise : float
            The probability of any false positive is at most this.

        Returns
        -------
        array of bool
            In the shape of the table.

        Notes
        -----
        Bonferroni over the cells. Exact for a table from cells; otherwise by the normal quantile of
        the noise, which is the only error of an empty cell.
        """
        limit = family_wise / self.estimate.size
        if self.error.published:
            return np.asarray(self.error.published.p_values() <= limit)
        if self.error.p_values is not None:
            return np.asarray(self.error.p_values <= limit)
        return np.asarray(self.estimate > float(scipy.special.ndtri(1 - limit)) * self.error.noise)

    # --- with a covariance -------------------------------------------------------------------

    @property
    def both(self) -> np.ndarray:
        """The estimated shares of people who are in both of two cells, from noise and sampling."""
        drawn, cells = self.error.joint - self.error.joint_noise, self.estimate.ravel()
        return np.asarray(drawn * self.people + np.outer(cells, cells))

    def noise_alone(self) -> TableEstimate:
        """Return the same table with the errors of the noise alone."""
        return replace(self, error=self.error.noise_alone())

    def with_covariance(
        self, noise: np.ndarray, drawn: np.ndarray, least: np.ndarray | None
    ) -> TableEstimate:
        """Return the same table with the covariance of its cells:
        see `CellErrors.with_covariance`."""
        error = self.error.with_covariance(self.estimate, self.people, noise, drawn, least)
        return replace(self, error=error)

    def without_margins(self) -> TableEstimate:
        """Return the table without the entries "any answer"."""
        places = np.arange(self.estimate.size).reshape(self.estimate.shape)
        cells = places[tuple(slice(len(answers)) for answers in self.answers)]
        return replace(
            self,
            margins=tuple(False for _ in self.margins),
            estimate=self.estimate.ravel()[cells],
            error=self.error.of_cells(cells),
        )

    def linear(self, cells: np.ndarray, jacobian: np.ndarray, **axes: Any) -> TableEstimate:
        """Compute functions of the cells and, by the delta method, their covariance.

        Parameters
        ----------
        cells : array
            The values of the functions, in the shape of the new table.
        jacobian : array, shape (new cells, old cells)
            Their derivatives.
        **axes
            The fields of the new table that have an entry for each axis.

        Returns
        -------
        TableEstimate
            The new table.
        """
        error = self.error.linear(jacobian, cells.shape)
        return replace(self, estimate=cells, error=error, **axes)


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
    people, least = reports / copies, least_noise([d.given for d in decoders]) / reports
    table = partial(
        TableEstimate,
        tuple(questions),
        tuple(d.answers for d in decoders),
        provenance=Provenance(people, _width(decoders) / reports),
        exclusive=tuple(d.exclusive for d in decoders),
        margins=tuple(d.margin for d in decoders),
    )
    error = partial(CellErrors.of_noise, people=people, report=1 / reports, noise_only=noise_only)
    if not covariance:
        shares = counts[tuple(slice(d.mean.shape[1]) for d in decoders)] / reports
        estimate = along_axes([d.mean for d in decoders], shares)
        second = along_axes([d.square for d in decoders], shares)
        noise = np.maximum((second - estimate) / reports, least)
        return table(estimate, error(np.sqrt(noise), estimate))
    check_cells(math.prod(len(d.mean) for d in decoders))
    shares = counts / reports
    estimate = by_axis([d.single for d in decoders], shares)
    second = _square(by_axis([d.product for d in decoders], shares), estimate.shape)
    both = _square(by_axis([d.both for d in decoders], shares), estimate.shape)
    noise = (second - both) / reports
    drawn = (both - np.outer(estimate, estimate)) * (copies / reports)
    raised = None if unbiased else np.maximum(np.diagonal(noise), least.ravel())
    return table(estimate, error(estimate, estimate)).with_covariance(noise, drawn, raised)


def check_cells(cells: int) -> None:
    """Raise TableError if there are too many cells for a covariance."""
    if cells > MOST_CELLS:
        raise TableError.of("table", "estimation.too-many-cells", cells=cells, most=MOST_CELLS)


def _width(decoders: Sequence[Decoder]) -> float:
    """Return the range of products of one g per question, where low <= g <= high, low <= 0 < high
    and -low <= high."""
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
    """Return one table from independent reports of the same people: the weighted mean.

    weights: any positive numbers that do not depend on the reports, so that the mean is unbiased;
    the best are the inverses of the planned noise variances. The noise of different messages is
    independent, so its covariances add up with squared weights; the sampling is the same, with the
    smallest number of people. unbiased: as for `estimate_table`.
    """
    if len(tables) == 1:
        return tables[0]
    pairs = list(zip(np.array(weights) / np.sum(weights), tables, strict=True))
    estimate = np.asarray(sum(w * table.estimate for w, table in pairs))
    people = min(table.people for table in tables)
    influence = sum(w * table.provenance.influence for w, table in pairs)
    error = replace(
        tables[0].error,
        p_values=None,
        published=None,
        constant=False,
        report=np.max([w * table.error.report for w, table in pairs], axis=0),
        overlaps=all(table.error.overlaps for table in tables),
    )
    noise_error = np.sqrt(sum(w**2 * table.error.noise**2 for w, table in pairs))
    whole = replace(
        tables[0],
        estimate=estimate,
        error=error.with_noise(noise_error, estimate, people),
        provenance=replace(tables[0].provenance, people=people, influence=influence),
    )
    if error.covariance is None:
        return whole
    noise = np.asarray(sum(w**2 * table.error.joint_noise for w, table in pairs))
    drawn = sum(w * (table.error.joint - table.error.joint_noise) for w, table in pairs)
    return whole.with_covariance(noise, drawn, None if unbiased else np.diagonal(noise))


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
        """Return the entries of the other axes, with that of this axis in its place."""
        return (*others[: self.place], entry, *others[self.place :])


def everybody(
    people: int, noise_only: bool, rows: int = 1, *, covariance: bool = False
) -> TableEstimate:
    """Return the table of no question: all people are in its one cell.

    rows: the most that one person can have, and can have put into a wrong stratum.
    """
    one, zero = np.array(1.0), np.zeros((1, 1)) if covariance else None
    error = CellErrors.of_noise(
        0 * one, one, people, noise_only=noise_only, covariance=zero, noise_covariance=zero
    )
    return TableEstimate((), (), one, error, Provenance(people, rows / people))


def across(tables: Sequence[TableEstimate], axis: OpenAxis, margin: bool = False) -> TableEstimate:
    """Return one table with an open axis, from the table of the other questions for each answer.

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
    errors = [w * table.error.noise for w, table in scaled]
    report = [np.broadcast_to(w * table.error.report, table.estimate.shape) for w, table in scaled]
    if margin:
        shares.append(np.sum(shares, axis=0))
        errors.append(np.sqrt(np.sum(np.square(errors), axis=0)))
        report.append(np.max(report, axis=0))
    estimate, place = np.stack(shares, axis.place), axis.place
    error = replace(
        first.error,
        report=np.stack(report, place),
        p_values=None,
        published=across_strata([table.error.published for table in tables], place, margin),
        overlaps=all(table.error.overlaps for table in tables),
    ).with_noise(np.stack(errors, place), estimate, people)
    influence = max(w * table.provenance.influence for w, table in scaled)
    table = replace(
        first,
        questions=axis.among(first.questions, axis.question),
        answers=axis.among(first.answers, axis.answers),
        exclusive=axis.among(first.exclusive, True),
        margins=axis.among(first.margins, margin),
        estimate=estimate,
        error=error,
        provenance=replace(first.provenance, people=people, influence=influence),
    )
    if error.covariance is None:
        return table
    cells = np.concatenate([w * table.estimate.ravel() for w, table in scaled])
    noise = scipy.linalg.block_diag(*(w**2 * table.error.joint_noise for w, table in scaled))
    covariance = noise
    if not error.noise_only:
        both = scipy.linalg.block_diag(*(w * table.both for w, table in scaled))
        least = np.diagonal(noise) + sampling_variance(cells, people)
        covariance = at_least(noise + (both - np.outer(cells, cells)) / people, least)
    rows = np.vstack([np.eye(len(tables)), np.ones((int(margin), len(tables)))])
    sums = np.kron(rows, np.eye(first.estimate.size))
    places = np.arange(len(sums)).reshape(len(rows), *first.estimate.shape)
    sums = sums[np.moveaxis(places, 0, place).ravel()]
    covariance, noise = sums @ covariance @ sums.T, sums @ noise @ sums.T
    return replace(table, error=error.of_covariance(estimate, people, covariance, noise))


def averaged(
    tables: Sequence[TableEstimate], weights: np.ndarray, drift: np.ndarray, before: TableEstimate
) -> TableEstimate:
    """Return the weighted mean of tables of different people, whose errors are independent.

    drift: the covariance of the weights; zero if they are known. before: the table of all people
    without weights.
    """
    cells = np.stack([table.estimate for table in tables])
    pairs = list(zip(weights, tables, strict=True))
    within = sum((w * table.error.whole) ** 2 for w, table in pairs)
    between = np.einsum("s...,st,t...->...", cells, drift, cells)
    shape = before.estimate.shape
    person = [w * np.broadcast_to(table.error.person, shape) for w, table in pairs]
    report = [w * np.broadcast_to(table.error.report, shape) for w, table in pairs]
    error = replace(
        before.error,
        noise=np.sqrt(sum((w * table.error.noise) ** 2 for w, table in pairs)),
        whole=np.sqrt(within + np.maximum(between, 0.0)),
        person=np.max(person, axis=0),
        report=np.max(report, axis=0),
        p_values=None,
        published=None,
        constant=False,
    )
    influence = float(max(w * table.provenance.influence for w, table in pairs))
    return replace(
        before,
        estimate=np.tensordot(weights, cells, 1),
        error=error,
        provenance=replace(before.provenance, influence=influence),
    )


def changed(
    table: TableEstimate,
    before: TableEstimate,
    weighted_to: tuple[str, ...],
    left_out: tuple[str, ...],
    influence: float,
) -> TableEstimate:
    """Return a table that was weighted or restricted to some people, with the ratio of its
    errors to those of the table `before`."""
    errors = np.linalg.norm(before.error.whole)
    provenance = replace(
        table.provenance,
        people=before.people,
        influence=influence,
        weighted_to=weighted_to,
        left_out=left_out,
        error_ratio=float(np.linalg.norm(table.error.whole) / errors) if errors else 1.0,
    )
    error = table.error.noise_alone() if before.error.noise_only else table.error
    return replace(table, error=error, provenance=provenance)
