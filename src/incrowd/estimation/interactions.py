"""Tables from messages of cells that share questions: generalized least squares, effect by effect.

A table is a sum of effects, one for each set S of its questions: what the share of a combination of
answers to S adds to the effects of fewer of these questions. Every table that holds S estimates the
same effect, and its noise differs from table to table only by a factor. So generalized least
squares over all tables is a weighted mean for each effect, and no matrix is ever built. The effect
of the empty set is known: everybody is in exactly one cell. Proof:
docs/mathematics.md#tables-of-cells.

Effects are stored in place of the cells of a table: along each axis of exclusive answers the first
entry is the mean of all answers, and the entry of every other answer its deviation from the mean
(the deviation of the first answer makes the sum 0). Answers of which a person can give several have
no known sum; their axis is left unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from incrowd.catalog.sentences import sentence
from incrowd.errors import TableError
from incrowd.estimation.decoders import DecoderMatrix, dense
from incrowd.estimation.tables import check_cells
from incrowd.survey.question import QuestionIds


@dataclass(frozen=True)
class CellSource:
    """Estimated cells of a table, with independent noise of equal variance.

    shares: the shares of the people, an axis for each question. exclusive: for each question,
    whether every person gives exactly one of its answers. variance: the variance of the noise of
    one cell. weight: the inverse of the planned variance, which does not depend on the reports.
    report: how far one report moves a cell. whole: whether it estimates only the effect of all its
    questions together.
    """

    questions: QuestionIds
    exclusive: tuple[bool, ...]
    shares: np.ndarray
    variance: float
    weight: float
    report: float = 0.0
    whole: bool = False


def single_bit(
    questions: QuestionIds, share: float, variance: float, weight: float, report: float = 0.0
) -> CellSource:
    """Return a table of questions with two answers each, from a bit that says whether a person gave
    an odd number of the second answers: only the effect of all these questions together.

    share, variance, weight, report: those of the bit. The 2^n cells are (1 +- (2 x - 1)) / 2^n.
    Their noise is that of independent cells with 4 / 2^n times the variance, projected on that
    effect, which leaves 1 / 2^n of it. A report moves every cell by 2 / 2^n of what it moves the
    bit.
    """
    signs = reduce(np.multiply.outer, [np.array([1.0, -1.0])] * len(questions))
    cells, part = (1 + (1 - 2 * share) * signs) / signs.size, 4 / signs.size
    kinds = (True,) * len(questions)
    return CellSource(
        questions, kinds, cells, part * variance, weight / part, 2 * report, whole=True
    )


@dataclass(frozen=True)
class CombinedTable:
    """A table by generalized least squares over all sources.

    shares: unbiased, an axis for each question; the tables of the same sources have the same
    margins. effect_variances: shape (2,) * questions; at the place with 1 for the questions of S,
    the noise variance of the effect of S, as a factor of its projection. weights: for each source,
    its part of the total weight of each effect, and how far one report moves a cell of it.
    """

    questions: QuestionIds
    exclusive: tuple[bool, ...]
    shares: np.ndarray
    effect_variances: np.ndarray
    weights: tuple[tuple[np.ndarray, float], ...]

    @cached_property
    def shifts(self) -> tuple[float, ...]:
        """The largest change of a cell of this table by one report, for each source.

        That is the largest coefficient of a cell of the source, times the shift of that cell. A
        coefficient is a sum over effects that depends on which answers the two cells share.
        """
        shifts = []
        for coefficients, report in self.weights:
            axes = zip(self.shares.shape, self.exclusive, strict=True)
            for place, (size, exclusive) in enumerate(axes):
                matrix = np.stack([np.full(2, 1 / size), _projection(size, exclusive)])
                product = np.tensordot(coefficients, matrix, (place, 0))
                coefficients = np.moveaxis(product, -1, place)
            shifts.append(float(np.abs(coefficients).max()) * report)
        return tuple(shifts)

    @property
    def noise_variance(self) -> float:
        """The noise variance of one cell; it is the same for all cells."""
        return float(self._agreements(self.questions)[(1,) * self.shares.ndim])

    @property
    def eigenvalues(self) -> np.ndarray:
        """The eigenvalues of the noise covariance of all cells, at the places of
        `effect_variances`: an effect without some of the questions is divided evenly among the
        cells that differ only in these."""
        values = self.effect_variances
        for place, size in enumerate(self.shares.shape):
            shape = [1] * values.ndim
            shape[place] = 2
            values = values / np.array([size, 1.0]).reshape(shape)
        return np.asarray(values)

    def by_effect(
        self, cells: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Return a function of the noise covariance, applied to a table of this shape; effects
        without noise become 0. function: the function of the eigenvalues."""
        exact = self.eigenvalues <= 0
        factors = np.where(exact, 0.0, function(np.where(exact, 1.0, self.eigenvalues)))
        effects = _effects(cells, self.exclusive)
        return _cells(_at_effects(factors, cells.shape, self.exclusive) * effects, self.exclusive)

    def variances(self, sums: Sequence[DecoderMatrix]) -> np.ndarray:
        """Return the noise variances of sums of cells. sums: for each axis, a matrix with a row for
        each sum of answers; the result has the same axes, with an entry for each row."""
        variances = self.effect_variances
        for matrix, size, exclusive in zip(sums, self.shares.shape, self.exclusive, strict=True):
            whole = np.asarray(matrix.sum(axis=1)).ravel()
            squares = np.asarray((matrix * matrix).sum(axis=1)).ravel()
            inside = squares - exclusive * whole**2 / size
            matrix = np.stack([(whole / size) ** 2, inside])
            variances = np.tensordot(variances, matrix, (0, 0))
        return np.asarray(np.maximum(variances, 0.0))  # rounding can leave less than zero

    def covariance(self, sums: Sequence[DecoderMatrix]) -> np.ndarray:
        """Return the noise covariance of the sums of `variances`, in C order. Raises TableError for
        more than 2,000 sums."""
        check_cells(math.prod(matrix.shape[0] for matrix in sums))
        pairs = []
        for matrix, size, exclusive in zip(sums, self.shares.shape, self.exclusive, strict=True):
            whole = np.asarray(matrix.sum(axis=1)).ravel()
            outside = np.outer(whole, whole) / size  # effects without the question of this axis
            pairs.append((outside / size, dense(matrix @ matrix.T) - exclusive * outside))
        return _kronecker(self.effect_variances, pairs)

    def covariance_with(self, other: CombinedTable) -> np.ndarray:
        """Return the noise covariance of all cells with those of another table from the same
        sources.

        Returns shape (cells, cells of the other), both in C order. Raises TableError where either
        has more than 2,000 cells.
        """
        check_cells(max(self.shares.size, other.shares.size))
        shared = tuple(id for id in self.questions if id in other.questions)
        rest = math.prod(
            size
            for id, size in zip(other.questions, other.shares.shape, strict=True)
            if id not in shared
        )
        if not self._effects_within(shared) or not other._effects_within(shared):
            return np.zeros((self.shares.size, other.shares.size))
        same = []  # whether two cells have the same answer, an axis for each question of both
        for id in shared:
            first, second = self.questions.index(id), other.questions.index(id)
            shape = [1] * (self.shares.ndim + other.shares.ndim)
            shape[first] = shape[self.shares.ndim + second] = self.shares.shape[first]
            same.append(np.eye(self.shares.shape[first], dtype=np.intp).reshape(shape))
        entries = self._agreements(shared)[tuple(same)] / rest
        whole = np.broadcast_to(entries, self.shares.shape + other.shares.shape)
        return np.array(whole.reshape(self.shares.size, other.shares.size))

    def _effects_within(self, questions: Sequence[str]) -> bool:
        """Return whether the table has an effect of these questions only."""
        pairs = zip(self.questions, self.exclusive, strict=True)
        return all(exclusive or id in questions for id, exclusive in pairs)

    def _agreements(self, questions: Sequence[str]) -> np.ndarray:
        """Return shape (2,) * questions: the noise covariance of two cells, from the effects of
        these questions only; at 1 if the cells have the same answer to a question, otherwise at 0.

        The projection on an effect is 1 - 1/c for the same answer and -1/c for different ones; if a
        question is not in S, the effect is divided evenly among the c cells.
        """
        entries = self.effect_variances
        for place in reversed(range(self.shares.ndim)):
            size, id = self.shares.shape[place], self.questions[place]
            if id not in questions:
                entries = entries.take(0, place) / size
                continue
            inside, outside = _projection(size, self.exclusive[place]), 1 / size**2
            matrix = np.stack([np.full(2, outside), inside])
            entries = np.moveaxis(np.tensordot(entries, matrix, (place, 0)), -1, place)
        return np.asarray(entries)


def _kronecker(values: np.ndarray, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the sum over all choices of one matrix from each pair: the value at the place of the
    choice, times the Kronecker product of the matrices."""
    if not pairs:
        return values.reshape(1, 1)
    size = math.prod(len(first) for first, _ in pairs)
    total = np.zeros((size, size))
    for value, matrix in zip(values, pairs[0], strict=True):
        if value.any():
            total += np.kron(matrix, _kronecker(value, pairs[1:]))
    return total


def combined(sources: Sequence[CellSource], questions: Sequence[str]) -> CombinedTable:
    """Return the table of some questions by generalized least squares over all sources.

    The weight of a source for the effect of S is its weight divided by the number of cells that are
    summed for its margin on S. Raises TableError if some effect is in no source.
    """
    ids = tuple(questions)
    axes = {
        id: axis
        for source in sources
        for id, *axis in zip(source.questions, source.shares.shape, source.exclusive, strict=True)
    }
    shape = tuple(axes.get(id, (2, True))[0] for id in ids)  # arbitrary if no source has it
    exclusive = tuple(axes.get(id, (2, True))[1] for id in ids)
    margins = [_SharedEffects.of(source, ids, shape, exclusive) for source in sources]
    each = (2,) * len(ids)
    weights = np.array([margin.weights for margin in margins]).reshape(len(margins), *each)
    wanted = 2 ** sum(exclusive) - all(exclusive)
    if all(exclusive):
        weights.reshape(len(margins), 2 ** len(ids))[:, 0] = 0  # the sum is known
    totals = weights.sum(axis=0)
    if np.count_nonzero(totals) < wanted:
        why = sentence("estimation.apart")
        raise TableError.of("table", "estimation.no-table", value=",".join(ids), why=why)
    parts = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
    effects = np.zeros(shape)
    for part, margin in zip(parts, margins, strict=True):
        if part.any():
            at = tuple(slice(None) if held else slice(1) for held in margin.held)
            effects[at] += _at_effects(part, effects[at].shape, exclusive) * margin.effects
    if all(exclusive):
        effects[(0,) * len(ids)] = 1 / effects.size
    pairs = list(zip(parts, margins, strict=True))
    return CombinedTable(
        questions=ids,
        exclusive=exclusive,
        shares=_cells(effects, exclusive),
        effect_variances=sum(
            (part**2 * margin.variances for part, margin in pairs), np.zeros(each)
        ),
        weights=tuple((part, margin.report) for part, margin in pairs),
    )


@dataclass(frozen=True)
class _SharedEffects:
    """The effects of a source on the questions that it shares with a table.

    held: for each question of the table, whether the source has it. effects: if not, the axis has
    one entry. weights, variances: those of each effect, shape (2,) * questions of the table; 0 if
    the source does not estimate the effect. report: as in the source.
    """

    held: tuple[bool, ...]
    effects: np.ndarray
    weights: np.ndarray
    variances: np.ndarray
    report: float

    @classmethod
    def of(
        cls,
        source: CellSource,
        ids: QuestionIds,
        shape: tuple[int, ...],
        exclusive: tuple[bool, ...],
    ) -> _SharedEffects:
        """Return the margin of a source on the questions of a table."""
        held = tuple(id in source.questions for id in ids)
        rest = [place for place, id in enumerate(source.questions) if id not in ids]
        axes_left = [id for id in source.questions if id in ids]
        order = [axes_left.index(id) for id in ids if id in source.questions]
        table = source.shares.sum(axis=tuple(rest)).transpose(order)
        spread = tuple(slice(None) if each else None for each in held)
        axes = list(zip(shape, exclusive, held, strict=True))
        absent = math.prod(size for size, _, each in axes if not each)
        # How many cells of the source are summed, for effects without and with each question;
        # infinitely many if the source does not estimate the effect, or the table lacks it.
        summed = [
            np.array([(size if each else 1) if kind else math.inf, 1 if each else math.inf])
            for size, kind, each in axes
        ]
        whole = np.asarray(float(source.shares.size // table.size))
        counts = reduce(np.multiply.outer, summed, whole)
        estimated = np.isfinite(counts) & all(source.exclusive[place] for place in rest)
        if source.whole:
            estimated &= np.indices(counts.shape).sum(axis=0) == len(source.questions)
        return cls(
            held=held,
            effects=_effects(table, [kind for _, kind, each in axes if each])[spread] / absent,
            weights=np.where(estimated, source.weight / counts, 0.0),
            variances=np.where(estimated, source.variance * counts, 0.0),
            report=source.report,
        )


def _projection(size: int, exclusive: bool) -> np.ndarray:
    """Return the entries of the projection on an effect, for different answers and for the same
    one."""
    return np.array([0.0, 1.0]) - exclusive / size


def _at_effects(
    values: np.ndarray, shape: tuple[int, ...], exclusive: Sequence[bool]
) -> np.ndarray:
    """Return values of effects, shape (2,) * questions, at each entry of a table of effects."""
    places = [
        np.minimum(np.arange(size), 1) if each else np.ones(size, np.intp)
        for size, each in zip(shape, exclusive, strict=True)
    ]
    return np.asarray(values[np.ix_(*places)])


def _effects(table: np.ndarray, exclusive: Sequence[bool]) -> np.ndarray:
    """Return the effects of a table, in place of its cells."""
    for axis in np.flatnonzero(exclusive):
        mean = table.mean(axis, keepdims=True)
        _, others = np.split(table, [1], axis)
        table = np.concatenate([mean, others - mean], axis)
    return table


def _cells(effects: np.ndarray, exclusive: Sequence[bool]) -> np.ndarray:
    """Return the cells of a table with these effects."""
    for axis in np.flatnonzero(exclusive):
        mean, others = np.split(effects, [1], axis)
        first = -others.sum(axis, keepdims=True)
        effects = np.concatenate([mean + first, mean + others], axis)
    return effects
