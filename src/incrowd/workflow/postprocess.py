"""Reports + Plan -> shares that look like proportions, by a named method, with its bias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from incrowd.errors import TableError, UsageError
from incrowd.estimation.bootstrap import BootstrapBias, bootstrap_bias
from incrowd.estimation.consistency import make_consistent
from incrowd.estimation.patterns import channel_matrix, inverse_matrix
from incrowd.estimation.postprocessing import maximise_likelihood, project_to_simplex
from incrowd.estimation.readings import joint
from incrowd.kernels.axes import transform as along_axes
from incrowd.planner.sources import Ids, Source, check_tables, sources
from incrowd.plans import Guarantee, Plan, UnlinkedBits
from incrowd.survey import AnyQuestion
from incrowd.tally.tally import Tally
from incrowd.workflow.estimate import Reports, check_arrived, count, readings

Method = Literal["simplex", "likelihood", "consistent"]
METHODS: tuple[Method, ...] = get_args(Method)


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


def postprocess(
    plan: Plan,
    reports: Reports,
    *,
    tables: Sequence[Sequence[str]],
    method: Method = "likelihood",
    bootstrap: int = 0,
    accept_smaller_crowd: bool = False,
) -> tuple[Postprocessed, ...]:
    """Change the unbiased estimates of some tables by a named method. All of them are biased.

    method: "simplex" (nearest shares that are not negative and sum to one), "likelihood"
    (nonnegative maximum likelihood, by EM) or "consistent" (shared margins of all the tables made
    equal). bootstrap: simulated collections that tell the bias of the first two, 0 for none.
    Raises UsageError for an unknown method or fewer than 2 draws, TableError for tables whose
    answers overlap, or that are too large for a histogram of their bits; ReportsError as
    `estimate`.
    """
    checked_method(method)
    if bootstrap == 1 or (bootstrap and method == "consistent"):
        allowed = "should be 0, or at least 2 with simplex or likelihood"
        raise UsageError.of("bootstrap", bootstrap, allowed)
    wanted = check_tables(plan, tables)
    for ids in wanted:
        if plan.survey.question(ids[0]).one_way_only:
            allowed = (
                "is a text question or has unlinked bits; post-processing is for joint reports"
            )
            raise TableError.of("table", ids[0], allowed)
    if method == "consistent":
        return _consistent(
            plan, count(plan, reports, tables=wanted, kind="pairs"), wanted, accept_smaller_crowd
        )
    counted = count(plan, reports, tables=wanted, kind="patterns")
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd)
    return tuple(_one(plan, counted, ids, method, bootstrap, guarantee) for ids in wanted)


def checked_method(name: str) -> Method:
    """A method by its name. Raises UsageError if there is none of that name."""
    for method in METHODS:
        if name == method:
            return method
    raise UsageError.of("method", name, f"use one of {', '.join(METHODS)}")


def _consistent(
    plan: Plan, counted: Tally, wanted: Sequence[Ids], accept: bool
) -> tuple[Postprocessed, ...]:
    _, guarantee = check_arrived(plan, counted, accept)
    tables = [joint(plan, readings(plan, counted, ids), ids) for ids in wanted]
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
            seed=counted.seed,
        )
        for table, estimate in zip(tables, found.estimates, strict=True)
    )


def _one(
    plan: Plan, counted: Tally, ids: Ids, method: Method, draws: int, guarantee: Guarantee
) -> Postprocessed:
    """A table from the message in which it is sharpest."""
    source = max(sources(plan, ids), key=lambda source: source.weight)
    histogram, channels, inverses = _patterns(plan, counted, source, ids)
    raw = along_axes(inverses, histogram / histogram.sum())
    fitted: Callable[[np.ndarray], np.ndarray]
    if method == "simplex":
        projected = project_to_simplex(raw)
        said = (projected.method, projected.statement, projected.estimate)
        trace, warning = (), ""

        def fitted(counts: np.ndarray) -> np.ndarray:
            return project_to_simplex(along_axes(inverses, counts / counts.sum())).estimate
    else:
        fit = maximise_likelihood(histogram, channels)
        said = (fit.method, fit.statement, fit.estimate)
        trace, warning = tuple(fit.log_likelihood.tolist()), fit.warning

        def fitted(counts: np.ndarray) -> np.ndarray:
            return maximise_likelihood(counts, channels).estimate

    message = counted.messages[source.number]
    people, copies = message.people(source.message), source.message.copies
    bias = bootstrap_bias(fitted, said[2], channels, people, copies, draws) if draws else None
    questions = [plan.survey.question(id) for id in ids]
    return Postprocessed(
        questions=ids,
        answers=tuple(question.answers for question in questions),
        method=said[0],
        statement=said[1],
        estimate=said[2],
        raw=raw,
        guarantee=guarantee,
        log_likelihood=trace,
        warning=warning,
        bias=bias,
        seed=counted.seed,
    )


Patterns = tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]


def _patterns(plan: Plan, counted: Tally, source: Source, ids: Ids) -> Patterns:
    """The histogram of report patterns, and for each question its channel and a left inverse.

    Of a k-ary response the patterns are the options. Raises TableError for a question that
    travels unlinked: its bits are never seen together.
    """
    if isinstance(source.message, UnlinkedBits):
        raise TableError.of("table", ids[0], "has unlinked bits: only its one-way estimate is made")
    histogram = counted.messages[source.number].tables[ids]
    channels, inverses = [], []
    for axis, question in enumerate(map(plan.survey.question, ids)):
        channel = source.message.channels[question.id]
        if channel.of_answers:
            histogram = histogram.take(_one_hot(question), axis=axis)
            channels.append(channel.matrix)
            inverses.append(channel.inverse)
        else:
            channels.append(channel_matrix(question, channel.matrix))
            inverses.append(inverse_matrix(question, channel.inverse))
    return histogram, channels, inverses


def _one_hot(question: AnyQuestion) -> np.ndarray:
    """The patterns with one bit set; the first bit is the most significant digit."""
    return 1 << np.arange(question.bits)[::-1]
