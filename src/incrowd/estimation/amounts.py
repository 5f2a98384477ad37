"""Means, totals and quantiles of numbers, out of the shares of their edges or bins.

Amounts are rounded at random, so that the mean of the edges is that of the amounts. What is
known of the shares, that they sum to the share of those who answered, is used: what noise adds to
their sum is taken off each of them in equal parts, after which all figures are linear in them.
Proof: docs/mathematics.md#amounts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.estimation.cells import CellsReading
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.ratios import Quotient
from incrowd.estimation.readings import Reading, Readings, false_reports
from incrowd.estimation.tables import LEVEL, TableEstimate
from incrowd.plans import Plan
from incrowd.survey import WithEdges

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Figure:
    """One number with its error, in the unit of the answers; nan where nothing can be said.

    influence: how far the false reports of one malicious sender can move it at most.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    influence: float


@dataclass(frozen=True)
class Quantile:
    """The number that a share of those who answered does not exceed.

    low, high: edges, so that the interval holds however people are spread between them; high, and
    the estimate, are infinity in a bin that is open. estimate: a guess within the bin.
    """

    share: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Amounts:
    """What numbers are on average, in all, and how they are spread, of those who answered.

    mean, total: of amounts, not of bins, which do not tell them; `total` is of the people who took
    part. Errors are of noise, rounding and sampling.
    """

    mean: Figure | None
    total: Figure | None
    quantiles: tuple[Quantile, ...]


@dataclass(frozen=True)
class Evidence:
    """The shares of the answers to a question of numbers, read in all messages that hold it.

    values: 1, then the share of each answer. noise: their covariance by the noise alone.
    covariance: by noise and sampling, and by rounding, which is part of the sampling of edges.
    swings: what one malicious sender can do, one array for each message that she sends falsely,
    shape (alternatives, values, parts): of one alternative she can move the values by each column
    or leave it, as she likes.
    """

    question: WithEdges
    values: np.ndarray
    noise: np.ndarray
    covariance: np.ndarray
    people: float
    swings: Sequence[np.ndarray] = ()

    def influence(self, weights: np.ndarray) -> float:
        """How far one malicious sender can move a weighted sum of the values at most."""
        return sum(float(np.abs(weights @ each).sum(axis=-1).max()) for each in self.swings)

    def variances(self, rows: np.ndarray) -> np.ndarray:
        """Of weighted sums of the values. Raw shares below zero take nothing off the noise's."""
        both = (((rows @ each) * rows).sum(axis=1) for each in (self.covariance, self.noise))
        return np.asarray(np.maximum(np.maximum(*both), 0.0))

    def variance(self, weights: np.ndarray) -> float:
        """Of one weighted sum."""
        return float(self.variances(weights[None])[0])

    @property
    def answered(self) -> np.ndarray:
        """The weights that make the share of those who answered: 1, less "no answer"."""
        found = np.zeros(len(self.values))
        found[0], found[-1] = 1.0, -1.0 * self.question.optional
        return found

    @property
    def shares(self) -> np.ndarray:
        """A row of weights for each edge or bin: its share, so that all sum to `answered`."""
        number = len(self.question.edges)
        rows = np.eye(number, len(self.values), k=1)
        return np.asarray(rows + (self.answered - rows.sum(axis=0)) / number)


def evidence(plan: Plan, question: WithEdges, found: Readings, places: int = 0) -> Evidence:
    """The shares of a question's answers, weighted over messages as those of its table are.

    places: as `incrowd.estimation.readings.false_reports` has them.
    """
    total = sum(reading.weight for reading in found)
    parts = [(reading.weight / total, _read(plan, question, reading, places)) for reading in found]
    sample = of_a_sample(
        question,
        np.sum([w * part.values for w, part in parts], axis=0),
        np.sum([w**2 * part.noise for w, part in parts], axis=0),
        min(part.people for _, part in parts),
    )
    return replace(sample, swings=[w * part.swing for w, part in parts])


def _swing(question: WithEdges, reading: Reading) -> np.ndarray:
    """How far one false report moves the values, as `Evidence.swings`: bits are set or not, and a
    k-ary response names one option in the place of another."""
    channel = reading.message.channels[question.id]
    moved = question_decoder(question, channel).mean[:, 1:] / reading.counts[0]
    moved = np.pad(moved, [(1, 0), (0, 0)])
    if not channel.of_answers:
        return moved[None]
    one, other = np.triu_indices(moved.shape[1], 1)
    return np.asarray((moved[:, one] - moved[:, other]).T[:, :, None])


def of_a_sample(
    question: WithEdges, values: np.ndarray, noise: np.ndarray, people: float
) -> Evidence:
    """Of people who are a sample: answers exclude each other, so that the sampling of N people adds
    (diag(pi) - pi pi^T) / N."""
    shares = np.append(0.0, values[1:])
    covariance = noise + (np.diag(shares) - np.outer(shares, shares)) / people
    return Evidence(question, values, noise, covariance, people)


def evidence_of(question: WithEdges, table: TableEstimate, swing: np.ndarray) -> Evidence:
    """The shares of a question's answers in a table of it alone, with its margin and errors of
    noise and sampling, such as a weighted one. swing: of its cells, as `Evidence.swings`."""
    order = np.roll(np.arange(table.estimate.size), 1)  # "any answer" first
    noise, covariance = (
        matrix[np.ix_(order, order)] for matrix in (table.joint_noise, table.joint_covariance)
    )
    swings = [swing[:, order]]
    return Evidence(question, table.estimate[order], noise, covariance, table.people, swings)


class _Part(NamedTuple):
    """What the joint reports of one message, or all cells, say of a question: the fields of
    `Evidence`, and one array of its swings."""

    values: np.ndarray
    noise: np.ndarray
    people: float
    swing: np.ndarray


def _read(plan: Plan, question: WithEdges, reading: Reading | CellsReading, places: int) -> _Part:
    if isinstance(reading, CellsReading):
        return _read_cells(plan, question, reading, places)
    counts = reading.counts[: 1 + question.domain.bits]
    rates = counts / counts[0]
    channel = reading.message.channels[question.id]
    mean = question_decoder(question, channel).mean @ rates
    noise = np.pad(noise_of_report(question, channel, rates) / counts[0], [(1, 0), (1, 0)])
    people = float(counts[0]) / reading.message.copies
    reports = false_reports(plan, reading.message, places)
    return _Part(np.append(1.0, mean), noise, people, reports * _swing(question, reading))


def _read_cells(plan: Plan, question: WithEdges, reading: CellsReading, places: int) -> _Part:
    """A false report adds to one answer what it takes off all others, whatever message it is in."""
    table = reading.combined((question.id,))
    size = table.shares.size
    deviations = np.eye(size) - 1 / size
    reports = partial(false_reports, plan, places=places)
    most = reading.largest_shift(table, reports) / (1 - 1 / size)
    return _Part(
        np.append(1.0, table.shares),
        np.pad(table.covariance([np.eye(size)]), [(1, 0), (1, 0)]),
        reading.people,
        np.pad(most * deviations, [(0, 0), (1, 0)])[:, :, None],
    )


def noise_of_report(question: WithEdges, channel: Channel, rates: np.ndarray) -> np.ndarray:
    """The covariance of the debiased answers of one report, by its noise alone.

    rates: 1, then how often each bit of a report is set. Bits have independent noise; the one bit
    of two answers adds to one what it takes off the other; of a k-ary response one bit is set, so
    that E[g g'] is a sum over the options sent.
    """
    decoder = question_decoder(question, channel)
    mean = decoder.mean @ rates
    if channel.of_answers:
        return np.asarray((decoder.mean * rates) @ decoder.mean.T - np.diag(mean))
    own = decoder.square @ rates - mean
    if question.domain.bits == 1:
        return np.asarray(own[1] * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    return np.diag(own)


def amounts(found: Evidence, shares: Sequence[float] = QUANTILES) -> Amounts:
    """The figures of a question. shares: which quantiles; two edges of an amount tell none."""
    told = len(found.question.edges) > 2 or not found.question.rounded
    quantiles = tuple(quantile(found, share) for share in shares if told)
    if not found.question.rounded:
        return Amounts(None, None, quantiles)
    return Amounts(mean(found), total(found), quantiles)


def mean(found: Evidence, level: float = LEVEL) -> Figure:
    """The mean of those who answered: a ratio if some did not, with Fieller's interval.

    Where nobody may have answered the interval is all that lies between the edges.
    """
    edges, under = np.array(found.question.edges), found.answered
    middle = float(edges.mean())
    over = (edges - middle) @ found.shares
    ratio = Quotient(
        over=float(over @ found.values),
        under=float(under @ found.values),
        over_variance=found.variance(over),
        covariance=float(over @ found.covariance @ under),
        under_variance=found.variance(under),
        positive=False,
    )
    low, high = ratio.interval(level)
    left = ratio.under - found.influence(under)  # of the people who answered, at least
    return Figure(
        middle + ratio.estimate,
        ratio.spread / ratio.under if ratio.under > 0 else math.nan,
        float(edges[0]) if math.isinf(low) else middle + low,
        float(edges[-1]) if math.isinf(high) else middle + high,
        found.influence(over - ratio.estimate * under) / left if left > 0 else math.inf,
    )


def total(found: Evidence, level: float = LEVEL) -> Figure:
    """The sum over all people who took part; who did not answer adds nothing."""
    weights = np.array(found.question.edges) @ found.shares * found.people
    estimate, error = float(weights @ found.values), math.sqrt(found.variance(weights))
    half = float(scipy.special.ndtri((1 + level) / 2)) * error
    return Figure(estimate, error, estimate - half, estimate + half, found.influence(weights))


def quantile(found: Evidence, share: float, level: float = LEVEL) -> Quantile:
    """A quantile of grouped data: guessed within its bin, and edges that it surely lies between.

    Between its knots the distribution is taken to be straight for the estimate alone. The
    interval ends at the first edge of which a test does not refuse that the quantile is below, and
    at the last of which it does not refuse that it is above, however people are spread between the
    edges. All three rise if all numbers do.
    """
    z = float(scipy.special.ndtri((1 + level) / 2))
    knots = _distribution(found)
    rows = knots.rows - share * found.answered
    values, errors = rows @ found.values, np.sqrt(found.variances(rows))
    low = max(_first(values + z * errors) - 1, 0)
    high = min(_last(values - z * errors) + 1, len(rows) - 1)
    first, last = _first(values), _last(values) + 1
    estimate = (_crossing(knots.places, values, first) + _crossing(knots.places, values, last)) / 2
    return Quantile(share, estimate, float(knots.below[low]), float(knots.above[high]))


class _Knots(NamedTuple):
    """What is known of a distribution, from no people to all who answered.

    rows: weights that make the share of people at each knot. places: the numbers up to which that
    share is taken to be. below, above: where it is less than a share, that quantile is not below
    the one, and where it is not, not above the other.
    """

    rows: np.ndarray
    places: np.ndarray
    below: np.ndarray
    above: np.ndarray


def _distribution(found: Evidence) -> _Knots:
    """Of bins, the shares of people below each edge.

    Of edges that amounts are rounded to, the share up to one of them is the mean of the
    distribution between it and the next: it is at most that at the one, at least that at the other,
    and stands for the middle.
    """
    edges = np.array(found.question.edges)
    rows = np.vstack([np.zeros((1, len(found.values))), np.cumsum(found.shares, axis=0)])
    if not found.question.rounded:
        ends = np.append(edges, np.inf)
        return _Knots(rows, ends, ends, ends)
    middles = (edges[1:] + edges[:-1]) / 2
    places = np.concatenate([edges[:1], middles, edges[-1:]])
    return _Knots(rows, places, np.append(edges[0], edges), np.append(edges, edges[-1]))


def _first(values: np.ndarray) -> int:
    """The first of some values that is not below 0; the last at most."""
    return int(np.argmax(np.append(values[:-1], 0.0) >= 0))


def _last(values: np.ndarray) -> int:
    """The last of some values that is below 0; the first at least."""
    return int(np.flatnonzero(np.append(-1.0, values[1:]) < 0)[-1])


def _crossing(places: np.ndarray, values: np.ndarray, place: int) -> float:
    """Where what is straight between two places is 0; infinity in a bin that is open."""
    place = min(max(place, 1), len(values) - 1)
    low, high = values[place - 1], values[place]
    share = float(np.clip(low / (low - high), 0, 1)) if low != high else 1.0
    if math.isinf(places[place]):
        return math.inf if share else float(places[place - 1])
    return float(places[place - 1] + share * (places[place] - places[place - 1]))
