"""Means, totals and quantiles of numbers, from the shares of their edges or bins.

Amounts are rounded at random, so that the mean of the edges is that of the amounts. The shares are
known to sum to the share of those who answered, so what noise adds to their sum is subtracted from
them in equal parts. All figures are linear in the result. Proof: docs/mathematics.md#amounts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.catalog.sentences import NumberText, text_list, translatable
from incrowd.estimation.cells import CellsReading
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.intervals import LEVEL
from incrowd.estimation.ratios import Quotient
from incrowd.estimation.readings import MessageReading, Readings, ReportPlaces, false_reports
from incrowd.estimation.tables import TableEstimate
from incrowd.number_text import between, written_out
from incrowd.plans import Outline
from incrowd.survey import WithEdges
from incrowd.views import Value, and_text

HEADINGS = (  # of the lines of `Amounts`
    "",
    translatable("estimation.column-estimate"),
    translatable("estimation.column-std-error"),
    translatable("estimation.column-interval"),
)
ANYTHING = translatable("estimation.anything")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Figure:
    """One number with its error, in the unit of the answers; nan if it cannot be estimated.

    influence: how far the false reports of one malicious sender can move it at most.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    influence: float

    @property
    def texts(self) -> tuple[str, str, str]:
        """The estimate, error and interval, with two significant digits of the error."""
        error = self.standard_error
        places = max(1 - math.floor(math.log10(error)), 0) if 0 < error < math.inf else 2
        figures = (self.estimate, error, self.low, self.high)
        estimate, shown, *ends = (NumberText(f"{value:,.{places}f}") for value in figures)
        if math.isnan(self.estimate):
            return translatable("shared.none"), "", between(*ends)
        return estimate, shown, between(*ends)


@dataclass(frozen=True)
class Quantile:
    """The number that a share of those who answered does not exceed.

    least, most: the edges between which it lies according to the estimated shares. low, high: the
    edges of its 95% interval. All are valid for any distribution of people between the edges, also
    if many people have the same number; no number between the edges can be preferred. `most` and
    `high` are infinite in an unbounded bin.
    """

    share: float
    least: float
    most: float
    low: float
    high: float


@dataclass(frozen=True)
class Amounts:
    """The mean, the total, and quantiles of the numbers of those who answered.

    mean, total: those of amounts; None for bins, which do not determine them. total_of: the number
    of people over whom the total is: those who took part or, if it is weighted to margins in
    numbers of people, all of those. Errors are of noise, rounding and sampling.
    """

    mean: Figure | None
    total: Figure | None
    quantiles: tuple[Quantile, ...]
    total_of: float | None = None

    @property
    def named(self) -> Iterator[tuple[str, Figure]]:
        """The mean and the total, if there are any, with their names."""
        if self.mean:
            yield translatable("estimation.mean"), self.mean
        if self.total:
            yield translatable("estimation.total-of", people=self.total_of), self.total

    @property
    def rows(self) -> Iterator[tuple[Value, ...]]:
        """The figures and a name, estimate, error and interval of each; a quantile has two rows."""
        for name, one in self.named:
            yield name, one.estimate, one.standard_error, one.low, one.high
        for each in self.quantiles:
            share = NumberText(f"{each.share:g}")
            least = translatable("estimation.quantile-at-least", share=share)
            most = translatable("estimation.quantile-at-most", share=share)
            yield least, each.least, None, each.low, None
            yield most, each.most, None, None, each.high

    @property
    def lines(self) -> Iterator[tuple[str, str, str, str]]:
        """A line for each figure: its name, the estimate, the standard error, the interval."""
        for name, figure in self.named:
            yield name, *figure.texts
        for each in self.quantiles:
            percentile = NumberText(f"{100 * each.share:.12g}")
            name = translatable("estimation.percentile", share=percentile)
            if each.share == 0.5:
                name = translatable("estimation.median")
            yield name, _range(each.least, each.most), "", _range(each.low, each.high)

    def note(self, weighted_to: Sequence[str]) -> str:
        """Describe the figures and their errors; only amounts, which have a mean, are rounded.

        weighted_to: the names of the margins of their table.
        """
        whose = translatable("estimation.of-those-who-answered")
        if weighted_to:
            names = and_text(weighted_to)
            whose = translatable("estimation.of-those-who-answered-weighted", names=names)
        rounded = "estimation.noise-rounding-sampling"
        errors = translatable(rounded if self.mean else "estimation.noise-and-sampling")
        total = translatable("estimation.silent-add-nothing") if self.total else ""
        ranges = translatable("estimation.percentiles-between") if self.quantiles else ""
        included = translatable("estimation.errors-of", errors=errors)
        return text_list(filter(None, (whose, included, total, ranges, self._influence)))

    @property
    def _influence(self) -> str:
        """The largest shift of the mean and the total by one person's false reports."""
        if self.mean is None or self.total is None:
            return ""
        mean, total = self.mean.influence, self.total.influence
        if not math.isfinite(mean):
            return translatable("estimation.mean-shifts-anywhere")
        shifts = {"mean": written_out(mean), "total": written_out(total)}
        return translatable("estimation.mean-shifts", **shifts)


def _range(low: float, high: float) -> str:
    """Return "5 to 10", "10 or more" where the last range has no end, "less than 5", "anything"."""
    least, most = (NumberText(f"{end:,.12g}" if math.isfinite(end) else "") for end in (low, high))
    if least and most:
        return between(least, most)
    if least:
        return translatable("estimation.or-more", least=least)
    return translatable("estimation.less-than", most=most) if most else ANYTHING


@dataclass(frozen=True)
class AmountEvidence:
    """The shares of the answers to a question of numbers, from all messages that hold it.

    values: 1, then the share of each answer. noise: their covariance by noise alone. covariance: by
    noise and sampling, and by rounding, which is part of the sampling of edges. people: those of a
    total. swings: what one
    malicious sender can do, an array of shape (alternatives, values, parts) for each message: the
    sender picks one alternative and moves the values by any of its columns.
    """

    question: WithEdges
    values: np.ndarray
    noise: np.ndarray
    covariance: np.ndarray
    people: float
    swings: Sequence[np.ndarray] = ()

    def influence(self, weights: np.ndarray) -> float:
        """Return how far one malicious sender can move a weighted sum of the values at most."""
        return sum(float(np.abs(weights @ each).sum(axis=-1).max()) for each in self.swings)

    def variances(self, rows: np.ndarray) -> np.ndarray:
        """Return the variances of weighted sums of the values;
        never less than those of the noise."""
        both = (((rows @ each) * rows).sum(axis=1) for each in (self.covariance, self.noise))
        return np.asarray(np.maximum(np.maximum(*both), 0.0))

    def variance(self, weights: np.ndarray) -> float:
        """Return the variance of one weighted sum."""
        return float(self.variances(weights[None])[0])

    @property
    def answered(self) -> np.ndarray:
        """The weights of the share of those who answered: 1 minus those who did not."""
        weights = np.zeros(len(self.values))
        weights[0], weights[len(self.question.edges) + 1 :] = 1.0, -1.0
        return weights

    @property
    def shares(self) -> np.ndarray:
        """A row of weights for the share of each edge or bin; the rows sum to `answered`."""
        number = len(self.question.edges)
        rows = np.eye(number, len(self.values), k=1)
        return np.asarray(rows + (self.answered - rows.sum(axis=0)) / number)


def evidence(
    plan: Outline, question: WithEdges, readings: Readings, places: ReportPlaces = ()
) -> AmountEvidence:
    """Return the shares of a question's answers, weighted over messages like those of its table.

    places: that a malicious sender can fill, from `incrowd.estimation.readings.places_of`.
    """
    total = sum(reading.weight for reading in readings)
    parts = [
        (reading.weight / total, _read(plan, question, reading, places)) for reading in readings
    ]
    sample = of_a_sample(
        question,
        np.sum([w * part.values for w, part in parts], axis=0),
        np.sum([w**2 * part.noise for w, part in parts], axis=0),
        min(part.people for _, part in parts),
    )
    return replace(sample, swings=[w * part.swing for w, part in parts])


def _swing(question: WithEdges, reading: MessageReading) -> np.ndarray:
    """Return how far one false report moves the values, as `AmountEvidence.swings`.

    Bits are set or not, and a k-ary response names one option in place of another.
    """
    channel = reading.message.channels[question.id]
    shifts = question_decoder(question, channel).mean[:, 1:] / reading.counts[0]
    shifts = np.pad(shifts, [(1, 0), (0, 0)])
    if not channel.of_answers:
        return shifts[None]
    one, other = np.triu_indices(shifts.shape[1], 1)
    return np.asarray((shifts[:, one] - shifts[:, other]).T[:, :, None])


def of_a_sample(
    question: WithEdges, values: np.ndarray, noise: np.ndarray, people: float
) -> AmountEvidence:
    """Return the evidence if the people are a sample: the answers exclude each other, so the
    sampling of N people adds (diag(pi) - pi pi^T) / N."""
    shares = np.append(0.0, values[1:])
    covariance = noise + (np.diag(shares) - np.outer(shares, shares)) / people
    return AmountEvidence(question, values, noise, covariance, people)


def evidence_of(
    question: WithEdges, table: TableEstimate, swing: np.ndarray, people: float
) -> AmountEvidence:
    """Return the evidence in a one-way table with its margin and errors of noise and sampling, such
    as a weighted one. swing: the swing of its cells, as in `AmountEvidence.swings`. people: as
    there."""
    order = np.roll(np.arange(table.estimate.size), 1)  # "any answer" first
    noise, covariance = (
        matrix[np.ix_(order, order)] for matrix in (table.error.joint_noise, table.error.joint)
    )
    swings = [swing[:, order]]
    return AmountEvidence(question, table.estimate[order], noise, covariance, people, swings)


class _MessageAmounts(NamedTuple):
    """The evidence of the joint reports of one message, or of all cells.

    It has the fields of `AmountEvidence`, and one array of its swings.
    """

    values: np.ndarray
    noise: np.ndarray
    people: float
    swing: np.ndarray


def _read(
    plan: Outline, question: WithEdges, reading: MessageReading | CellsReading, places: ReportPlaces
) -> _MessageAmounts:
    if isinstance(reading, CellsReading):
        return _read_cells(plan, question, reading, places)
    counts = reading.counts[: 1 + question.domain.bits]
    rates = counts / counts[0]
    channel = reading.message.channels[question.id]
    mean = question_decoder(question, channel).mean @ rates
    noise = np.pad(noise_of_report(question, channel, rates) / counts[0], [(1, 0), (1, 0)])
    people = float(counts[0]) / reading.message.copies
    reports = false_reports(plan, places).of(reading.message)
    return _MessageAmounts(np.append(1.0, mean), noise, people, reports * _swing(question, reading))


def _read_cells(
    plan: Outline, question: WithEdges, reading: CellsReading, places: ReportPlaces
) -> _MessageAmounts:
    """Return the values of the edges from cells.

    A false report adds to one answer what it subtracts from the others, in any message.
    """
    table = reading.combined((question.id,))
    size = table.shares.size
    deviations = np.eye(size) - 1 / size
    most = reading.largest_shift(table, false_reports(plan, places)) / (1 - 1 / size)
    return _MessageAmounts(
        np.append(1.0, table.shares),
        np.pad(table.covariance([np.eye(size)]), [(1, 0), (1, 0)]),
        reading.people,
        np.pad(most * deviations, [(0, 0), (1, 0)])[:, :, None],
    )


def noise_of_report(question: WithEdges, channel: Channel, rates: np.ndarray) -> np.ndarray:
    """Return the covariance of the debiased answers of one report, by its noise alone.

    rates: 1, then how often each bit of a report is set. Different bits have independent noise; the
    single bit of two answers adds to one what it subtracts from the other; in a k-ary response one
    bit is set, so that E[g g'] is a sum over the options that were sent.
    """
    decoder = question_decoder(question, channel)
    mean = decoder.mean @ rates
    if channel.of_answers:
        return np.asarray((decoder.mean * rates) @ decoder.mean.T - np.diag(mean))
    variances = decoder.square @ rates - mean
    if question.domain.bits == 1:
        return np.asarray(variances[1] * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    return np.diag(variances)


def amounts(data: AmountEvidence, shares: Sequence[float] = QUANTILES) -> Amounts:
    """Return the figures of a question. shares: which quantiles;
    none for an amount with two edges."""
    quantiles: tuple[Quantile, ...] = ()
    if len(data.question.edges) > 2 or not data.question.rounded:
        quantiles = tuple(quantile(data, share) for share in shares)
    if not data.question.rounded:
        return Amounts(None, None, quantiles)
    return Amounts(mean(data), total(data), quantiles, data.people)


def mean(data: AmountEvidence, level: float = LEVEL) -> Figure:
    """Return the mean of those who answered: a ratio if some did not, with Fieller's interval.

    If possibly nobody answered, the interval is the whole range of the edges.
    """
    edges, under = np.array(data.question.edges), data.answered
    middle = float(edges.mean())
    over = (edges - middle) @ data.shares
    ratio = Quotient(
        over=float(over @ data.values),
        under=float(under @ data.values),
        over_variance=data.variance(over),
        covariance=float(over @ data.covariance @ under),
        under_variance=data.variance(under),
        positive=False,
    )
    low, high = ratio.interval(level)
    left = ratio.under - data.influence(under)  # a lower bound on the share who answered
    return Figure(
        middle + ratio.estimate,
        ratio.spread / ratio.under if ratio.under > 0 else math.nan,
        float(edges[0]) if math.isinf(low) else middle + low,
        float(edges[-1]) if math.isinf(high) else middle + high,
        data.influence(over - ratio.estimate * under) / left if left > 0 else math.inf,
    )


def total(data: AmountEvidence, level: float = LEVEL) -> Figure:
    """Return the sum over `data.people`; a person who did not answer adds nothing."""
    weights = np.array(data.question.edges) @ data.shares * data.people
    estimate, error = float(weights @ data.values), math.sqrt(data.variance(weights))
    half = float(scipy.special.ndtri((1 + level) / 2)) * error
    return Figure(estimate, error, estimate - half, estimate + half, data.influence(weights))


def quantile(data: AmountEvidence, share: float, level: float = LEVEL) -> Quantile:
    """Return the edges between which a quantile of grouped data lies, and those of its interval.

    The interval starts before the first edge, and ends after the last, at which a test does not
    reject that the quantile is there. All ends rise if all numbers do.
    """
    knots = _distribution(data)
    rows = knots.rows - share * data.answered
    values, errors = rows @ data.values, np.sqrt(data.variances(rows))

    def ends(z: float) -> tuple[float, float]:
        low = max(_first(values + z * errors) - 1, 0)
        high = min(_last(values - z * errors) + 1, len(rows) - 1)
        return float(knots.below[low]), float(knots.above[high])

    return Quantile(share, *ends(0.0), *ends(float(scipy.special.ndtri((1 + level) / 2))))


class _Knots(NamedTuple):
    """Points of a cumulative distribution, from no people to all who answered.

    rows: weights of the cumulative share at each knot. below, above: if the cumulative share at a
    knot is less than that of a quantile, the quantile is at least `below`; otherwise it is at most
    `above`.
    """

    rows: np.ndarray
    below: np.ndarray
    above: np.ndarray


def _distribution(data: AmountEvidence) -> _Knots:
    """Return the shares of people below each edge, for bins.

    For the edges of amounts, the share up to one edge is the mean of the distribution function
    between it and the next edge, which lies between the values at the two edges.
    """
    edges = np.array(data.question.edges)
    rows = np.vstack([np.zeros((1, len(data.values))), np.cumsum(data.shares, axis=0)])
    if not data.question.rounded:
        ends = np.append(edges, np.inf)
        return _Knots(rows, ends, ends)
    return _Knots(rows, np.append(edges[0], edges), np.append(edges, edges[-1]))


def _first(values: np.ndarray) -> int:
    """Return the place of the first value that is not below 0; at most the last place."""
    return int(np.argmax(np.append(values[:-1], 0.0) >= 0))


def _last(values: np.ndarray) -> int:
    """Return the place of the last value that is below 0; at least the first place."""
    return int(np.flatnonzero(np.append(-1.0, values[1:]) < 0)[-1])
