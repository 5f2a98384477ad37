"""Tables after a named, biased change of their unbiased estimates, with its bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from incrowd.estimation.bootstrap import BootstrapBias, bootstrap_bias, bootstrap_bias_of_cells
from incrowd.estimation.cells import CellsReading, answer_sums
from incrowd.estimation.consistency import make_consistent
from incrowd.estimation.decoders import by_axis, dense, merging
from incrowd.estimation.patterns import channel_matrix, check_exclusive, inverse_matrix
from incrowd.estimation.postprocessing import (
    LikelihoodFit,
    Projected,
    constrained_least_squares,
    maximise_likelihood,
    project_to_simplex,
)
from incrowd.estimation.readings import Reading, Readings
from incrowd.estimation.tables import TableEstimate
from incrowd.kernels.axes import transform as along_axes
from incrowd.plans import Guarantee
from incrowd.survey import AnyQuestion

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
        return maximise_likelihood(counts, channels)

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
