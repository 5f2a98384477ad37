"""Reports + Plan -> shares that look like proportions, by a named method, with its bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, get_args

import numpy as np

from incrowd.errors import TableError, UsageError
from incrowd.estimation.cells import CellsReading, answer_sums
from incrowd.estimation.consistency import make_consistent
from incrowd.estimation.decoders import (
    by_axis,
    channel_matrix,
    check_exclusive,
    dense,
    inverse_matrix,
    merging,
)
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.interactions import CombinedTable
from incrowd.estimation.postprocessing import (
    LikelihoodFit,
    Projected,
    constrained_least_squares,
    maximize_likelihood,
    project_to_simplex,
)
from incrowd.estimation.readings import Reading, Readings, check_tables, readings, table_of
from incrowd.estimation.results import Received
from incrowd.estimation.tables import TableEstimate
from incrowd.kernels.axes import transform as along_axes
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import with_merged
from incrowd.reports.tally import Kind
from incrowd.survey import AnyQuestion
from incrowd.survey.merging import Merge

# How large the bias of a post-processing is on the data at hand: a parametric bootstrap.


@dataclass(frozen=True)
class BootstrapBias:
    """The bias of a post-processing if its own result were the truth.

    bias: mean of the refitted shares less the shares they were drawn from. standard_error: of
    that mean, from simulating `draws` collections. spread: standard deviation of a refit.
    """

    bias: np.ndarray
    standard_error: np.ndarray
    spread: np.ndarray
    draws: int
    seed: int
    statement: str


def bootstrap_bias(
    fit: Callable[[np.ndarray], np.ndarray],
    shares: np.ndarray,
    channels: Sequence[np.ndarray],
    people: int,
    copies: int = 1,
    draws: int = 200,
    seed: int = 0,
    shown: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> BootstrapBias:
    """Draw collections from `shares`, fit each, compare with `shares`.

    fit: from a histogram of report patterns (int64, an axis for each question) to shares of the
    shape of `shares`. shares: the post-processed estimate, >= 0 with sum one. channels: for each
    question P(report pattern | answer), shape (patterns, answers). In each draw `people` people
    are sampled and each sends `copies` reports (Efron, Tibshirani 1993, chapter 10). shown: what
    is shown of shares, as with merged answers; of that the bias is told. Raises
    TableError if the shares are no distribution, or there are fewer than 2 draws.
    """
    if np.any(shares < 0) or not np.isclose(shares.sum(), 1, rtol=0, atol=1e-6):
        raise TableError.of("shares", shares.tolist(), "should be at least 0 and sum to 1")
    if draws < 2 or people < 1 or copies < 1:
        given = (draws, people, copies)
        raise TableError.of("draws, people, copies", given, "should be at least 2, 1 and 1")
    generator = np.random.default_rng(seed)
    truth = shares / shares.sum()
    refits = np.array(
        [shown(fit(_draw(generator, truth, channels, people, copies))) for _ in range(draws)]
    )
    return _bias(refits, shown(truth), draws, seed)


def bootstrap_bias_of_cells(
    fit: Callable[[np.ndarray], np.ndarray],
    shares: np.ndarray,
    table: CombinedTable,
    people: int,
    draws: int,
    seed: int = 0,
    shown: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> BootstrapBias:
    """`bootstrap_bias` of a table from cells, whose noise is known and nearly normal.

    fit: from unbiased shares. In each draw the effects of independent normal noise are scaled to
    those of the table and added to the shares of people drawn at random.
    """
    generator = np.random.default_rng(seed)
    truth = shares / shares.sum()

    def drawn() -> np.ndarray:
        counts = generator.multinomial(people, truth.ravel()).reshape(truth.shape)
        noise = table.by_effect(generator.standard_normal(truth.shape), np.sqrt)
        return np.asarray(counts / people + noise)

    refits = np.array([shown(fit(drawn())) for _ in range(draws)])
    return _bias(refits, shown(truth), draws, seed)


def _bias(refits: np.ndarray, truth: np.ndarray, draws: int, seed: int) -> BootstrapBias:
    spread = refits.std(axis=0, ddof=1)
    return BootstrapBias(
        bias=refits.mean(axis=0) - truth,
        standard_error=spread / np.sqrt(draws),
        spread=spread,
        draws=draws,
        seed=seed,
        statement=f"Bias if the fitted shares were true, from {draws} simulated collections.",
    )


def _draw(
    generator: np.random.Generator,
    truth: np.ndarray,
    channels: Sequence[np.ndarray],
    people: int,
    copies: int,
) -> np.ndarray:
    """The histogram of the reports of people drawn at random.

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


# Tables after a named, biased change of their unbiased estimates, with its bias.


Method = Literal["simplex", "likelihood", "consistent"]


@dataclass(frozen=True)
class Postprocessed:
    """Shares of one table after a named, biased change of its unbiased estimate.

    method, statement: what was done, and in which way it is biased. estimate, raw: arrays of the
    shape of the table. log_likelihood: after each step of EM, else empty. warning: where EM has
    not converged. bias: by how much, on the data at hand, if it was asked for.
    """

    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    method: str
    statement: str
    estimate: np.ndarray
    raw: np.ndarray
    guarantee: Guarantee
    log_likelihood: tuple[float, ...] = ()
    warning: str = ""
    bias: BootstrapBias | None = None
    seed: int | None = None


def consistent(
    tables: Sequence[TableEstimate], guarantee: Guarantee, seed: int | None
) -> tuple[Postprocessed, ...]:
    """Tables whose shared margins were made equal."""
    found = make_consistent(tables)
    return tuple(
        Postprocessed(
            questions=table.questions,
            answers=table.answers,
            method=found.method,
            statement=found.statement,
            estimate=estimate,
            raw=table.estimate,
            guarantee=guarantee,
            seed=seed,
        )
        for table, estimate in zip(tables, found.estimates, strict=True)
    )


def fitted(
    questions: Sequence[AnyQuestion],
    readings: Readings,
    method: Method,
    draws: int,
    guarantee: Guarantee,
    seed: int | None,
) -> Postprocessed:
    """A table from the patterns of reports, by "simplex" or "likelihood".

    readings: of joint reports of several messages, and of all cells, that tell the table the one
    is taken in which it is sharpest. Cells, whose noise is known, have constrained least squares by
    either name.
    draws: simulated collections that tell the bias, 0 for none. Answers are merged last: the sum of
    the changed shares.
    """
    reading = max(readings, key=lambda reading: reading.weight)
    if isinstance(reading, CellsReading):
        return _fitted_cells(questions, reading, draws, guarantee, seed)
    return _fitted_patterns(questions, reading, method, draws, guarantee, seed)


def _fitted_patterns(
    questions: Sequence[AnyQuestion],
    reading: Reading,
    method: Method,
    draws: int,
    guarantee: Guarantee,
    seed: int | None,
) -> Postprocessed:
    asked = [question.with_merged(()) for question in questions]
    histogram, channels, inverses = _patterns(asked, reading)
    merges = [dense(merging(question)) for question in questions]

    def unbiased(counts: np.ndarray) -> np.ndarray:
        return along_axes(inverses, counts / counts.sum())

    def fit(counts: np.ndarray) -> Projected | LikelihoodFit:
        if method == "simplex":
            return project_to_simplex(unbiased(counts))
        return maximize_likelihood(counts, channels)

    def merged(shares: np.ndarray) -> np.ndarray:
        return along_axes(merges, shares)

    found, message = fit(histogram), reading.message
    em = found if isinstance(found, LikelihoodFit) else None
    people = message.people(int(reading.counts.sum()), 0)
    law = (found.estimate, channels, people, message.copies, draws)
    return Postprocessed(
        questions=tuple(question.id for question in questions),
        answers=tuple(question.answers for question in questions),
        method=found.method,
        statement=found.statement,
        estimate=merged(found.estimate),
        raw=merged(unbiased(histogram)),
        guarantee=guarantee,
        log_likelihood=tuple(em.log_likelihood.tolist()) if em else (),
        warning=em.warning if em else "",
        bias=bootstrap_bias(lambda counts: fit(counts).estimate, *law, shown=merged)
        if draws
        else None,
        seed=seed,
    )


def _fitted_cells(
    questions: Sequence[AnyQuestion],
    reading: CellsReading,
    draws: int,
    guarantee: Guarantee,
    seed: int | None,
) -> Postprocessed:
    for question in questions:
        check_exclusive(question)
    table = reading.combined(tuple(question.id for question in questions))
    sums = [answer_sums(question) for question in questions]

    def fit(raw: np.ndarray) -> np.ndarray:
        return constrained_least_squares(table, raw).estimate

    def merged(shares: np.ndarray) -> np.ndarray:
        return by_axis(sums, shares)

    found = constrained_least_squares(table, table.shares)
    law = (found.estimate, table, reading.people, draws)
    return Postprocessed(
        questions=table.questions,
        answers=tuple(question.answers for question in questions),
        method=found.method,
        statement=found.statement,
        estimate=merged(found.estimate),
        raw=merged(table.shares),
        guarantee=guarantee,
        bias=bootstrap_bias_of_cells(fit, *law, shown=merged) if draws else None,
        seed=seed,
    )


Patterns = tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]


def _patterns(questions: Sequence[AnyQuestion], reading: Reading) -> Patterns:
    """The histogram of report patterns, and for each question its channel and a left inverse.

    Of a k-ary response the patterns are the options: those with one bit set, the first bit being
    the most significant digit.
    """
    histogram, channels, inverses = reading.counts, [], []
    for axis, question in enumerate(questions):
        channel = reading.message.channels[question.id]
        if channel.of_answers:
            one_hot = 1 << np.arange(question.bits)[::-1]
            histogram = histogram.take(one_hot, axis=axis)
            channels.append(channel.matrix)
            inverses.append(channel.inverse)
        else:
            channels.append(channel_matrix(question, channel.matrix))
            inverses.append(inverse_matrix(question, channel.inverse))
    return histogram, channels, inverses


METHODS: tuple[Method, ...] = get_args(Method)


def postprocess(
    plan: Plan,
    reports: Reports,
    *,
    tables: Sequence[Sequence[str]],
    method: Method = "likelihood",
    bootstrap: int = 0,
    merge: Merge | None = None,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> tuple[Postprocessed, ...]:
    """Change the unbiased estimates of some tables by a named method. All of them are biased.

    method: "simplex" (nearest shares that are not negative and sum to one), "likelihood"
    (nonnegative maximum likelihood, by EM) or "consistent" (shared margins of all the tables made
    equal). Of tables that come from cells the first two are one, constrained least squares.
    bootstrap: simulated collections that tell the bias of the first two, 0 for none. merge: answers
    that are read as one, as for `estimate`; their changed shares are added up. received: as for
    `estimate`. Raises UsageError for an unknown method or fewer than 2 draws, TableError for tables
    whose answers overlap, or that are too large for a histogram of their bits; ReportsError as
    `estimate`.
    """
    if method not in METHODS:
        raise UsageError.of("method", method, f"use one of {', '.join(METHODS)}")
    if bootstrap == 1 or (bootstrap and method == "consistent"):
        allowed = "should be 0, or at least 2 with simplex or likelihood"
        raise UsageError.of("bootstrap", bootstrap, allowed)
    plan = with_merged(plan, merge)
    wanted = check_tables(plan, tables)
    for ids in wanted:
        if clear := set(ids) - set(plan.survey.closed(ids)):
            allowed = "it is open, and known without noise; leave it out of post-processing"
            raise TableError.of("table", min(clear), allowed)
        if plan.survey.question(ids[0]).one_way_only:
            allowed = "it is a text question; leave it out of post-processing"
            raise TableError.of("table", ids[0], allowed)
    kind: Kind = "pairs" if method == "consistent" else "patterns"
    counted = count(plan, reports, tables=wanted, kind=kind)
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd, received)
    if method == "consistent":
        joints = [
            table_of(plan, readings(plan, counted, ids), ids, covariance=True) for ids in wanted
        ]
        return consistent(joints, guarantee, counted.seed)
    by = method, bootstrap, guarantee, counted.seed
    return tuple(
        fitted(list(map(plan.survey.question, ids)), readings(plan, counted, ids), *by)
        for ids in wanted
    )
