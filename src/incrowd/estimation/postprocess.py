"""Tables adjusted to look like proportions, by a named method; all of them are biased.

"simplex" and "likelihood" make the shares of one table possible: none is negative, and they sum to
one. "consistent" makes several tables agree on the margins that they share. A parametric bootstrap
estimates the bias for the given data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product
from typing import Any, NamedTuple, Self, Unpack

import numpy as np
import scipy

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.errors import TableError, UsageError, quantity
from incrowd.estimation.cells import CellsReading, answer_sums
from incrowd.estimation.decoders import (
    by_axis,
    channel_matrix,
    check_exclusive,
    dense,
    inverse_matrix,
    merging,
)
from incrowd.estimation.displayed import JOINT, titled
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.interactions import CombinedTable
from incrowd.estimation.options import ReportOptions
from incrowd.estimation.readings import MessageReading, check_tables, readings, table
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.wording import percentage, with_error
from incrowd.kernels.axes import transform as along_axes
from incrowd.methods import POSTPROCESSING_METHODS, PostprocessingMethod
from incrowd.number_text import percent
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import in_other_words, with_merged
from incrowd.reports.tally import TallyKind
from incrowd.survey import AnyQuestion, Survey
from incrowd.views import Numbers, Sheet, View

MOST_DRAWS = 10**6  # simulated collections: they take days
TOLERANCE = 1e-3  # log-likelihood units: far below the 1.92 of a 95% likelihood interval
MOST_STEPS = 5_000
SETTLED = 1e-12  # of a share

_HEADINGS = (
    "estimation.answer-column",
    "estimation.post-processed",
    "estimation.unbiased",
    "estimation.bias-column",
)

ArrayFunction = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class BootstrapBias:
    """The bias of a post-processing method if its own result were the truth.

    bias: mean of the refitted shares minus the shares from which they were drawn. standard_error:
    of that mean, from simulating `draws` collections. spread: standard deviation of a refit.
    """

    bias: np.ndarray
    standard_error: np.ndarray
    spread: np.ndarray
    draws: int
    seed: int
    statement: str


@dataclass(frozen=True)
class PostprocessedTable:
    """Shares of one table after a named, biased adjustment of its unbiased estimate.

    method, statement: what was done, and in which direction it is biased. estimate, raw: arrays of
    the shape of the table. log_likelihood: after each step of EM, otherwise empty. warning: set if
    EM has not converged. bias: on the data at hand, if a bootstrap was requested.
    """

    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    method: str
    statement: str
    estimate: np.ndarray
    raw: np.ndarray
    log_likelihood: tuple[float, ...] = ()
    warning: str = ""
    bias: BootstrapBias | None = None

    @property
    def records(self) -> Iterator[dict[str, Any]]:
        """The figures of each cell: post-processed (biased) and unbiased, both proportions, and the
        bias if it was estimated."""
        columns = {"post_processed": self.estimate, "unbiased": self.raw}
        if self.bias:
            columns |= {"bias": self.bias.bias, "bias_error": self.bias.standard_error}
        rows = zip(*(each.ravel().tolist() for each in columns.values()), strict=True)
        yield from (dict(zip(columns, row, strict=True)) for row in rows)

    @property
    def sheet(self) -> Sheet:
        """A row for each cell, with a column for each question."""
        pairs = zip(product(*self.answers), self.records, strict=True)
        records = [dict(zip(self.questions, cell, strict=True)) | row for cell, row in pairs]
        return Sheet.of_records(" x ".join(self.questions), records)

    def numbers(self, survey: Survey) -> Numbers:
        """Return the table for people, with its bias if that was estimated."""
        heading = titled([survey.text_of(id) for id in self.questions], self.questions)
        lines = []
        for cell, row in zip(product(*self.answers), self.records, strict=True):
            labels = map(survey.label_of, self.questions, cell)
            shares = (row["post_processed"], row["unbiased"])
            line = [" | ".join(labels), *(percentage(percent(each, 2)) for each in shares)]
            if self.bias:
                bias, error = NumberText(f"{100 * row['bias']:+.2f}"), 100 * row["bias_error"]
                line.append(with_error(bias, NumberText(f"{error:.2f}")))
            lines.append(tuple(line))
        headings = [translatable(code) for code in _HEADINGS[: 4 if self.bias else 3]]
        notes = [self.warning, self.bias.statement if self.bias else ""]
        if self.log_likelihood:
            steps, last = len(self.log_likelihood) - 1, self.log_likelihood[-1]
            notes.insert(0, translatable("estimation.em", steps=steps, likelihood=last))
        title = translatable("estimation.labeled", name=heading, text=self.method)
        return Numbers(title, tuple(headings), tuple(lines), notes=tuple(filter(None, notes)))


@dataclass(frozen=True)
class Postprocessed(views.Result):
    """The tables that one method post-processed, over which it iterates.

    Attributes
    ----------
    plan : Plan
        The plan of the reports, with merged answers.
    tables : tuple of PostprocessedTable
        Each has the biased shares (`estimate`), the unbiased ones (`raw`), and `statement`: the
        direction of the bias.
    guarantee : Guarantee
        What holds for the people in the reports.
    seed : int or None
        Of a simulation; None for real reports.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> wanted = [["self_rated_health"]]
    >>> found = incrowd.postprocess(plan, reports, tables=wanted, method="simplex")
    >>> bool((found[0].estimate >= 0).all())
    True
    """

    plan: Plan
    tables: tuple[PostprocessedTable, ...]
    guarantee: Guarantee
    seed: int | None = None

    def __repr__(self) -> str:
        tables = quantity(len(self.tables), "tables")
        return f"Postprocessed({self.tables[0].method}, {tables}{views.simulated(self.seed)})"

    def __iter__(self) -> Iterator[PostprocessedTable]:
        """Return the tables."""
        return iter(self.tables)

    def __getitem__(self, place: int) -> PostprocessedTable:
        """Return a table by its place."""
        return self.tables[place]

    @property
    def in_r(self) -> str:
        """Lines of R that use the figures."""
        return """
            incrowd$sheets[[1]]                       # biased: compare with the column unbiased
            """

    def facts(self) -> dict[str, Any]:
        """Return all tables, each with the guarantee."""
        more = {"guarantee": self.guarantee, "seed": self.seed}
        return {"tables": [vars(table) | more for table in self.tables]}

    def long_table(self) -> Sheet:
        """Return a row for each cell of each table, its questions and answers joined by " | "."""
        records = [
            {"questions": JOINT.join(table.questions), "answer": JOINT.join(cell)}
            | {"method": table.method}
            | row
            for table in self.tables
            for cell, row in zip(product(*table.answers), table.records, strict=True)
        ]
        return Sheet.of_records("post-processed", records)

    def sheets(self) -> Sequence[Sheet]:
        """Return a sheet for each table: the biased shares beside the unbiased ones."""
        return [table.sheet for table in self.tables]

    def view(self) -> View:
        """Return all tables, with the direction of their bias."""
        first, survey = self.tables[0], self.plan.survey
        ids = dict.fromkeys(id for table in self.tables for id in table.questions)
        return View(
            title=first.method,
            tables=tuple(table.numbers(survey) for table in self.tables),
            notes=(first.statement, *survey.rounding_lines(ids)),
        )

    def worded(self, survey: Survey) -> Self:
        """Return the same tables with the wording of a survey."""
        return replace(self, plan=in_other_words(self.plan, survey))


def postprocess(
    plan: Plan,
    reports: Reports,
    *,
    tables: Sequence[Sequence[str]] | None = None,
    method: PostprocessingMethod = "likelihood",
    bootstrap: int = 0,
    **options: Unpack[ReportOptions],
) -> Postprocessed:
    """Adjust the unbiased estimates of some tables by a named method. All methods are biased.

    Parameters
    ----------
    plan : Plan
        The plan that the reports were made with.
    reports : Collection or iterable of Collection
        All reports.
    tables : sequence of sequences of str, optional
        Lists of question ids; by default those that the survey requests. A table that several
        messages hold is fitted to the one that measures it best.
    method : {"likelihood", "simplex", "consistent"}
        Nonnegative maximum likelihood, by EM; the nearest shares that are nonnegative and sum to
        one; or equal margins of tables that share them. For tables that come from cells, the first
        two are the same: constrained least squares.
    bootstrap : int
        The number of simulated collections from which the bias of the first two methods is
        estimated; 0 for none.

    Returns
    -------
    Postprocessed
        The tables. Shares of merged answers are added up.

    Raises
    ------
    UsageError
        For an unknown method, or a single simulated collection, or more than a million.
    TableError
        For tables whose answers overlap, or that are too large for a histogram of their bits.
    ReportsError
        As for `estimate`.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> wanted = [["self_rated_health"]]
    >>> (table,) = incrowd.postprocess(plan, reports, tables=wanted, method="simplex")
    >>> round(float(table.estimate.sum()), 6)
    1.0
    """
    if method not in POSTPROCESSING_METHODS:
        raise UsageError.of(
            "method", "shared.use-one-of", value=method, choices=[*POSTPROCESSING_METHODS]
        )
    if bootstrap == 1 or (bootstrap and method == "consistent"):
        raise UsageError.of("bootstrap", "estimation.bootstrap", value=bootstrap)
    if not 0 <= bootstrap <= MOST_DRAWS:
        raise UsageError.of(
            "bootstrap", "estimation.number-of-draws", value=bootstrap, most=MOST_DRAWS
        )
    plan = with_merged(plan, options.get("merge"))
    wanted = check_tables(plan, plan.survey.wanted if tables is None else tables)
    for ids in wanted:
        if clear := set(ids) - set(plan.survey.closed(ids)):
            raise TableError.of("table", "estimation.open-in-postprocessing", value=min(clear))
        if plan.survey.question(ids[0]).one_way_only:
            raise TableError.of("table", "estimation.text-in-postprocessing", value=ids[0])
    kind: TallyKind = "pairs" if method == "consistent" else "patterns"
    counted = count(plan, reports, tables=wanted, kind=kind)
    _, guarantee = check_arrived(plan, counted, options)
    if method == "consistent":
        joint = [table(plan, counted, ids, covariance=True) for ids in wanted]
        return Postprocessed(plan, _consistent(joint), guarantee, counted.seed)
    results = []
    for ids in wanted:
        questions = [plan.survey.question(id) for id in ids]
        reading = max(readings(plan, counted, ids), key=lambda reading: reading.weight)
        if isinstance(reading, CellsReading):
            fitting = _of_cells(questions, reading, bootstrap)
        else:
            fitting = _of_patterns(questions, reading, method, bootstrap)
        results.append(
            PostprocessedTable(
                questions=ids,
                answers=tuple(question.answers for question in questions),
                method=fitting.fit.method,
                statement=fitting.fit.statement,
                estimate=fitting.merged(fitting.fit.estimate),
                raw=fitting.merged(fitting.raw),
                log_likelihood=tuple(fitting.fit.log_likelihood),
                warning=fitting.fit.warning,
                bias=fitting.bias,
            )
        )
    return Postprocessed(plan, tuple(results), guarantee, counted.seed)


class _Fitting(NamedTuple):
    """The fit to a table, with the answers of its cells. raw: the unbiased shares. merged: from
    shares of these answers to shares of merged ones. bias: the bias of the merged shares."""

    fit: AdjustedShares
    raw: np.ndarray
    merged: ArrayFunction
    bias: BootstrapBias | None


def _of_patterns(
    questions: Sequence[AnyQuestion],
    reading: MessageReading,
    method: PostprocessingMethod,
    draws: int,
) -> _Fitting:
    """Return the fit to the patterns of joint reports: "simplex" or "likelihood".

    Of a k-ary response the patterns are the options: those with one bit set, the first bit being
    the most significant digit.
    """
    histogram, channels, inverses = reading.counts, [], []
    for axis, question in enumerate(question.with_merged(()) for question in questions):
        channel = reading.message.channels[question.id]
        if channel.of_answers:
            one_hot = 1 << np.arange(question.bits)[::-1]
            histogram = histogram.take(one_hot, axis=axis)
            channels.append(channel.matrix)
            inverses.append(channel.inverse)
        else:
            channels.append(channel_matrix(question, channel.matrix))
            inverses.append(inverse_matrix(question, channel.inverse))
    merges = [dense(merging(question)) for question in questions]

    def unbiased(counts: np.ndarray) -> np.ndarray:
        return along_axes(inverses, counts / counts.sum())

    def fit(counts: np.ndarray) -> AdjustedShares:
        if method == "simplex":
            return project_to_simplex(unbiased(counts))
        return maximize_likelihood(counts, channels)

    def merged(shares: np.ndarray) -> np.ndarray:
        return along_axes(merges, shares)

    fitted, copies, bias = fit(histogram), reading.message.copies, None
    if draws:
        people = reading.message.people(int(reading.counts.sum()), 0)
        bias = bootstrap_bias(
            lambda counts: fit(counts).estimate,
            fitted.estimate,
            channels,
            people,
            copies,
            draws,
            shown=merged,
        )
    return _Fitting(fitted, unbiased(histogram), merged, bias)


def _of_cells(questions: Sequence[AnyQuestion], reading: CellsReading, draws: int) -> _Fitting:
    """Return the fit to a table that comes from cells, whose noise is known: constrained least
    squares."""
    for question in questions:
        check_exclusive(question)
    ids = tuple(question.id for question in questions)
    cells = reading.combined(ids)
    sums = [answer_sums(question) for question in questions]

    def merged(shares: np.ndarray) -> np.ndarray:
        return by_axis(sums, shares)

    fitted, bias = constrained_least_squares(cells, cells.shares), None
    if draws:
        bias = bootstrap_bias_of_cells(
            lambda shares: constrained_least_squares(cells, shares).estimate,
            fitted.estimate,
            lambda generator: reading.noise(ids, generator),
            reading.people,
            draws,
            shown=merged,
        )
    return _Fitting(fitted, cells.shares, merged, bias)


# --- possible shares --------------------------------------------------------------------------


@dataclass(frozen=True)
class AdjustedShares:
    """Shares that are not negative and sum to one. Biased, as `statement` says.

    For EM: log_likelihood: its natural logarithm after each step, without the multinomial
    coefficient; it never falls. gap: an upper bound on the distance from the maximum after the last
    step. converged: whether the gap is within the tolerance; if not, `warning` says so.
    """

    estimate: np.ndarray
    method: str
    statement: str
    log_likelihood: tuple[float, ...] = ()
    gap: float = 0.0
    converged: bool = True
    warning: str = ""


def project_to_simplex(estimate: np.ndarray) -> AdjustedShares:
    """Return the nearest point, in Euclidean distance, whose entries are nonnegative and sum to
    one.

    estimate: the unbiased shares of a table whose cells exclude each other (no `multi` question,
    no margins), any shape. One number is subtracted from every cell, and what falls below zero
    becomes zero (Held, Wolfe, Crowder 1974). Raises TableError if there are no cells or one is not
    finite.
    """
    if not estimate.size or not np.all(np.isfinite(estimate)):
        raise TableError.of("estimate", "estimation.infinite-shares", value=estimate.tolist())
    falling = np.sort(estimate, axis=None)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
    last = np.flatnonzero(falling > excess)[-1]  # not empty: the largest exceeds itself minus one
    return AdjustedShares(
        np.maximum(estimate - excess[last], 0),
        translatable("estimation.simplex"),
        translatable("estimation.nearest-shares"),
    )


def constrained_least_squares(table: CombinedTable, raw: np.ndarray) -> AdjustedShares:
    """Return the nearest nonnegative shares that sum to one, where distance is measured by the
    noise of the table; under normal noise with that covariance they are the likeliest ones.

    table: the table of exclusive answers, whose noise is known. raw: the unbiased shares. Projected
    gradients (Goldstein 1964) with steps of the smallest noise; if all effects have the same noise,
    as in a table from one message, the first step is the solution.
    """
    step = float(table.eigenvalues[table.eigenvalues > 0].min())
    shares = project_to_simplex(raw).estimate
    for _ in range(MOST_STEPS):
        pull = table.by_effect(shares - raw, lambda noise: step / noise)
        nearer = project_to_simplex(shares - pull).estimate
        if np.abs(nearer - shares).max() < SETTLED:
            break
        shares = nearer
    statement = translatable("estimation.nearest-shares-by-noise")
    return AdjustedShares(nearer, translatable("estimation.least-squares"), statement)


def maximize_likelihood(
    histogram: np.ndarray,
    channels: Sequence[np.ndarray],
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> AdjustedShares:
    """Return the shares of answers under which a histogram of reports is likeliest, by EM.

    histogram: how many reports show each joint pattern, one axis for each question. channels: for
    each question P(report pattern | answer), shape (patterns, answers), as `channel_matrix`.
    Starts from equal shares. A step is two EM steps and an extrapolation along them, which is used
    if the likelihood does not fall (Varadhan, Roland 2008): many times faster under much noise, and
    as monotone. Stops when the log-likelihood is provably within `tolerance` of its maximum: it is
    concave, so no shares exceed it by more than m (max_x score(x) - 1), m reports, score(x) = the
    mean over reports of P(r|x) / P(r). If each person sends several copies, they count as reports
    of different people; the fit is still consistent. Raises TableError if shapes do not fit,
    columns do not sum to one, or a report is impossible under every answer.
    """
    _check_histogram(histogram, channels)
    sizes = [channel.shape[1] for channel in channels]
    shares = np.full(sizes, 1 / np.prod(sizes))
    reports, trace, gap = float(histogram.sum()), [], np.inf
    for step in range(most_steps + 1):
        likelihood, score = _score(histogram, channels, shares)
        trace.append(likelihood)
        gap = reports * max(float(score.max()) - 1, 0.0)
        if gap <= tolerance or step == most_steps:
            break
        shares = _improve(histogram, channels, shares, score)
    converged = bool(gap <= tolerance)
    warning = translatable("estimation.em-not-converged", steps=step, gap=gap)
    statement = translatable("estimation.likeliest-shares")
    return AdjustedShares(
        shares,
        translatable("estimation.maximum-likelihood"),
        statement,
        tuple(trace),
        gap,
        converged,
        "" if converged else warning,
    )


def _improve(
    histogram: np.ndarray, channels: Sequence[np.ndarray], shares: np.ndarray, score: np.ndarray
) -> np.ndarray:
    """Return the shares after two steps of EM and an extrapolation.

    A step is shares x score. Two of them give a direction, which the extrapolation follows along
    the parabola through the three points, at least to the last; positive cells stay positive.
    """
    once = shares * score
    reached, score_once = _score(histogram, channels, once)
    twice = once * score_once
    step, bend = once - shares, twice - 2 * once + shares
    curvature = float(np.linalg.norm(bend))
    length = max(float(np.linalg.norm(step)) / curvature, 1.0) if curvature > 0 else 1.0
    far = np.maximum(shares + 2 * length * step + length**2 * bend, twice / 10)
    far = far / far.sum()
    reached_far, score_far = _score(histogram, channels, far)
    return np.asarray(far * score_far if reached_far >= reached else twice)


def _score(
    histogram: np.ndarray, channels: Sequence[np.ndarray], shares: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the log-likelihood, and for each answer the mean of P(r|x) / P(r): 1 at an inner
    maximum."""
    predicted = along_axes(channels, shares)
    seen = histogram > 0
    if np.any(predicted[seen] <= 0):
        raise TableError.of("histogram", "estimation.impossible-report")
    weights = np.divide(histogram, predicted, out=np.zeros(predicted.shape), where=seen)
    score = along_axes([channel.T for channel in channels], weights) / histogram.sum()
    return float(histogram[seen] @ np.log(predicted[seen])), score


def _check_histogram(histogram: np.ndarray, channels: Sequence[np.ndarray]) -> None:
    patterns = tuple(len(channel) for channel in channels)
    if histogram.shape != patterns or not histogram.sum() > 0:
        raise TableError.of(
            "histogram",
            "estimation.histogram-shape",
            shape=histogram.shape,
            patterns=patterns,
        )
    for channel in channels:
        if np.any(channel < 0) or not np.allclose(channel.sum(axis=0), 1, rtol=0, atol=1e-9):
            sums = channel.sum(axis=0).tolist()
            raise TableError.of("channel", "estimation.channel-columns", value=sums)


# --- the bias of a method, by a parametric bootstrap ----------------------------------------


def bootstrap_bias(
    fit: ArrayFunction,
    shares: np.ndarray,
    channels: Sequence[np.ndarray],
    people: int,
    copies: int = 1,
    draws: int = 200,
    seed: int = 0,
    shown: ArrayFunction = np.asarray,
) -> BootstrapBias:
    """Return the bias of a fit, from simulated collections in which `shares` are the truth.

    fit: from a histogram of report patterns (int64, an axis for each question) to shares of the
    shape of `shares`. shares: the post-processed estimate, >= 0 with sum one. channels: for each
    question P(report pattern | answer), shape (patterns, answers). In each draw `people` people
    are sampled and each sends `copies` reports (Efron, Tibshirani 1993, chapter 10). shown: a
    function of the shares, such as the merging of answers, whose bias is estimated. Raises
    TableError if the shares are not a distribution, or there are fewer than 2 draws.
    """
    if np.any(shares < 0) or not np.isclose(shares.sum(), 1, rtol=0, atol=1e-6):
        raise TableError.of("shares", "estimation.not-a-distribution", value=shares.tolist())
    if draws < 2 or people < 1 or copies < 1:
        given = (draws, people, copies)
        raise TableError.of("draws, people, copies", "estimation.few-draws", value=given)

    def draw(generator: np.random.Generator, truth: np.ndarray) -> np.ndarray:
        return _draw(generator, truth, channels, people, copies)

    return _bootstrap(fit, draw, shares, draws, seed, shown)


def bootstrap_bias_of_cells(
    fit: ArrayFunction,
    shares: np.ndarray,
    noise: Callable[[np.random.Generator], np.ndarray],
    people: int,
    draws: int,
    seed: int = 0,
    shown: ArrayFunction = np.asarray,
) -> BootstrapBias:
    """Return `bootstrap_bias` for a table from cells, whose noise is known.

    fit: from unbiased shares to shares. noise: draws the noise of all cells, which is added to the
    shares of people drawn at random.
    """

    def draw(generator: np.random.Generator, truth: np.ndarray) -> np.ndarray:
        counts = generator.multinomial(people, truth.ravel()).reshape(truth.shape)
        return np.asarray(counts / people + noise(generator))

    return _bootstrap(fit, draw, shares, draws, seed, shown)


def _bootstrap(
    fit: ArrayFunction,
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray],
    shares: np.ndarray,
    draws: int,
    seed: int,
    shown: ArrayFunction,
) -> BootstrapBias:
    generator = np.random.default_rng(seed)
    truth = shares / shares.sum()
    refits = np.array([shown(fit(draw(generator, truth))) for _ in range(draws)])
    spread = refits.std(axis=0, ddof=1)
    return BootstrapBias(
        bias=refits.mean(axis=0) - shown(truth),
        standard_error=spread / np.sqrt(draws),
        spread=spread,
        draws=draws,
        seed=seed,
        statement=translatable("estimation.bias-if-true", collections=draws),
    )


def _draw(
    generator: np.random.Generator,
    truth: np.ndarray,
    channels: Sequence[np.ndarray],
    people: int,
    copies: int,
) -> np.ndarray:
    """Return the histogram of the reports of people drawn at random.

    With one copy the reports are independent draws; with more, those of a person share a cell.
    """
    if copies == 1:
        predicted = along_axes(channels, truth)
        drawn = generator.multinomial(people, predicted.ravel() / predicted.sum())
        return np.asarray(drawn.reshape(predicted.shape), np.int64)
    cells = generator.multinomial(people, truth.ravel()).reshape(truth.shape)
    counts = np.zeros([len(channel) for channel in channels], np.int64)
    for place in np.argwhere(cells):
        columns = (channel[:, i] for channel, i in zip(channels, place, strict=True))
        law = np.asarray(reduce(np.multiply.outer, columns))
        drawn = generator.multinomial(copies * cells[tuple(place)], law.ravel() / law.sum())
        counts += drawn.reshape(law.shape)
    return counts


# --- several tables with equal margins --------------------------------------------------------


@dataclass(frozen=True)
class ConsistentTables:
    """Tables whose shared margins agree. Biased, as `statement` says.

    estimates: in the order and the shapes of the given tables. shift: the largest change of a
    cell, in its standard errors.
    """

    estimates: tuple[np.ndarray, ...]
    shift: float
    method: str = translatable("estimation.consistent-tables")
    statement: str = translatable("estimation.consistent-biased")


def make_consistent(tables: Sequence[TableEstimate]) -> ConsistentTables:
    """Adjust tables by weighted least squares so that all shared margins agree.

    Minimizes sum (z - x)^T Covariance^-1 (z - x) over tables z with equal margins on the
    questions that two tables share, and with the total one: z = x - Cov A^T (A Cov A^T)^+ (A x -
    b). Errors of different tables are weighted as if independent, which costs precision, not
    consistency. Raises TableError for no tables, margins, or a question with overlapping options.
    """
    if not tables:
        raise TableError.of("tables", "estimation.no-tables")
    for each in tables:
        if any(each.margins) or not all(each.exclusive):
            raise TableError.of("table", "estimation.unfit-table", value=each.questions)
    covariance = scipy.linalg.block_diag(*(table.error.joint for table in tables))
    raw = np.concatenate([table.estimate.ravel() for table in tables])
    matrix, wanted = _constraints(tables)
    spread = covariance @ matrix.T
    weights = np.linalg.pinv(matrix @ spread, rcond=1e-10, hermitian=True)
    change = spread @ weights @ (matrix @ raw - wanted)
    errors = np.concatenate([table.standard_error.ravel() for table in tables])
    shift = np.divide(np.abs(change), errors, out=np.zeros(len(raw)), where=errors > 0)
    ends = np.cumsum([table.estimate.size for table in tables])[:-1]
    parts = zip(np.split(raw - change, ends), tables, strict=True)
    estimates = tuple(part.reshape(table.estimate.shape) for part, table in parts)
    return ConsistentTables(estimates, float(shift.max()))


def _constraints(tables: Sequence[TableEstimate]) -> tuple[np.ndarray, np.ndarray]:
    """Return a and b of A z = b: totals of one,
    then equal shared margins for each pair of tables."""
    blocks = [_row(tables, {i: _margin(table, [])}) for i, table in enumerate(tables)]
    for (i, one), (j, other) in combinations(enumerate(tables), 2):
        if shared := sorted(set(one.questions) & set(other.questions)):
            blocks.append(_row(tables, {i: _margin(one, shared), j: -_margin(other, shared)}))
    matrix = np.vstack(blocks)
    return matrix, (np.arange(len(matrix)) < len(tables)) * 1.0


def _row(tables: Sequence[TableEstimate], parts: dict[int, np.ndarray]) -> np.ndarray:
    """Return blocks side by side; zero for tables without a block."""
    height = len(next(iter(parts.values())))
    return np.hstack(
        [parts.get(n, np.zeros((height, t.estimate.size))) for n, t in enumerate(tables)]
    )


def _margin(table: TableEstimate, shared: Sequence[str]) -> np.ndarray:
    """Return the matrix that sums a table's cells to its margin on these questions."""
    axes = [table.questions.index(question) for question in shared]
    sizes = [table.estimate.shape[axis] for axis in axes]
    places = np.indices(table.estimate.shape).reshape(table.estimate.ndim, -1)[axes]
    cells = np.ravel_multi_index(tuple(places), sizes) if axes else np.zeros(table.estimate.size)
    return np.asarray((np.arange(math.prod(sizes))[:, None] == cells) * 1.0)


def _consistent(tables: Sequence[TableEstimate]) -> tuple[PostprocessedTable, ...]:
    result = make_consistent(tables)
    return tuple(
        PostprocessedTable(
            questions=table.questions,
            answers=table.answers,
            method=result.method,
            statement=result.statement,
            estimate=estimate,
            raw=table.estimate,
        )
        for table, estimate in zip(tables, result.estimates, strict=True)
    )
