"""Tables from messages of cells that share questions: generalized least squares, effect by effect.

A table is a sum of effects, one for each set S of its questions: what the share of a combination of
answers to S adds to what fewer of these questions say. Every table that holds S estimates the same
effect, and its noise differs from table to table only by a factor. So generalized least squares
over all tables is a weighted mean for each effect, and no matrix is ever built. The effect of no
question is known: everybody is in exactly one cell. Proof: docs/mathematics.md#tables-of-cells.

Effects are kept in place of the cells of a table: along each axis of exclusive answers the first
entry is the mean of all answers, and the entry of every other answer its deviation from the mean
(that of the first answer is what makes all of them sum to 0). The answers to a question to which a
person can give several do not sum to anything known: its axis stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from incrowd.errors import TableError
from incrowd.estimation.decoders import Matrix, dense
from incrowd.estimation.tables import check_cells

Ids = tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """Estimated cells of a table, whose noise is independent and alike in all of them.

    shares: of the people, an axis for each question. exclusive: for each question, whether every
    person gives exactly one of its answers. variance: of the noise of one cell. weight: the inverse
    of the variance that was planned, which does not depend on the reports. report: how far one
    report moves a cell. whole: whether it tells the effect of all its questions, and no other.
    """

    questions: Ids
    exclusive: tuple[bool, ...]
    shares: np.ndarray
    variance: float
    weight: float
    report: float = 0.0
    whole: bool = False


def single_bit(
    questions: Ids, share: float, variance: float, weight: float, report: float = 0.0
) -> Source:
    """Questions with two answers each, of which a single bit tells whether an odd number of the
    second answers is given: a table with the effect of all these questions, and no other.

    share, variance, weight, report: of the bit. The 2^n cells are 1 +- (2 x - 1) over 2^n, as if
    independent noise of 4 / 2^n times the variance had been projected on that effect, which leaves
    1 / 2^n of it. A report moves every cell by 2 / 2^n of what it moves the bit.
    """
    signs = reduce(np.multiply.outer, [np.array([1.0, -1.0])] * len(questions))
    cells, part = (1 + (1 - 2 * share) * signs) / signs.size, 4 / signs.size
    kinds = (True,) * len(questions)
    return Source(questions, kinds, cells, part * variance, weight / part, 2 * report, whole=True)


@dataclass(frozen=True)
class CombinedTable:
    """A table by generalized least squares over all sources.

    shares: unbiased, an axis for each question; the tables of the same sources have the same
    margins. effect_variances: shape (2,) * questions, at the place with 1 for the questions of S
    the noise variance of the effect of S, as a factor of its projection. weights: for each source,
    its share of all weights of each effect, and how far one report moves a cell of it.
    """

    questions: Ids
    exclusive: tuple[bool, ...]
    shares: np.ndarray
    effect_variances: np.ndarray
    weights: tuple[tuple[np.ndarray, float], ...]

    @cached_property
    def shifts(self) -> tuple[float, ...]:
        """For each source, how far one report in it can move a cell."""
        return tuple(self._shift(*each) for each in self.weights)

    def _shift(self, parts: np.ndarray, report: float) -> float:
        """The largest coefficient of a cell of a source, times what a report moves there.

        parts: the weight of the source for each effect, as a share of all. A coefficient is a sum
        over effects that depends on which answers the two cells have in common.
        """
        found = parts
        for place, (size, each) in enumerate(zip(self.shares.shape, self.exclusive, strict=True)):
            matrix = np.stack([np.full(2, 1 / size), _projection(size, each)])
            found = np.moveaxis(np.tensordot(found, matrix, (place, 0)), -1, place)
        return float(np.abs(found).max()) * report

    @property
    def noise_variance(self) -> float:
        """Of one cell; it is the same in all of them."""
        return float(self._agreements(self.questions)[(1,) * self.shares.ndim])

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of the noise covariance of all cells, at the places of `effect_variances`: an effect
        without some of the questions is shared evenly by the cells that only differ in these."""
        found = self.effect_variances
        for place, size in enumerate(self.shares.shape):
            shape = [1] * found.ndim
            shape[place] = 2
            found = found / np.array([size, 1.0]).reshape(shape)
        return np.asarray(found)

    def by_effect(
        self, cells: np.ndarray, function: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """A function of the noise covariance times a table of this shape; effects without noise,
        which are known, become 0. function: of the eigenvalues."""
        known = self.eigenvalues <= 0
        factors = np.where(known, 0.0, function(np.where(known, 1.0, self.eigenvalues)))
        effects = _effects(cells, self.exclusive)
        return _cells(_at_effects(factors, cells.shape, self.exclusive) * effects, self.exclusive)

    def variances(self, sums: Sequence[Matrix]) -> np.ndarray:
        """The noise variances of sums of cells. sums: for each axis a matrix whose rows are summed
        answers; the sums are of all combinations of their rows, and an axis of the result each."""
        found = self.effect_variances
        for matrix, size, exclusive in zip(sums, self.shares.shape, self.exclusive, strict=True):
            whole = np.asarray(matrix.sum(axis=1)).ravel()
            squares = np.asarray((matrix * matrix).sum(axis=1)).ravel()
            inside = squares - exclusive * whole**2 / size
            found = np.tensordot(found, np.stack([(whole / size) ** 2, inside]), (0, 0))
        return np.asarray(np.maximum(found, 0.0))  # of what is known, rounding may be left

    def covariance(self, sums: Sequence[Matrix]) -> np.ndarray:
        """The noise covariance of all sums that `variances` has, in C order. Raises TableError for
        more than 2,000 of them."""
        check_cells(math.prod(matrix.shape[0] for matrix in sums))
        pairs = [
            _grams(*axis) for axis in zip(sums, self.shares.shape, self.exclusive, strict=True)
        ]
        return _kronecker(self.effect_variances, pairs)

    def covariance_with(self, other: CombinedTable) -> np.ndarray:
        """The noise covariance of all cells with those of another table of the same sources.

        Returns shape (cells, cells of the other), both in C order. Raises TableError where either
        has more than 2,000 cells.
        """
        check_cells(max(self.shares.size, other.shares.size))
        shared = tuple(id for id in self.questions if id in other.questions)
        alone = math.prod(
            size
            for id, size in zip(other.questions, other.shares.shape, strict=True)
            if id not in shared
        )
        if not self._effects_within(shared) or not other._effects_within(shared):
            return np.zeros((self.shares.size, other.shares.size))
        same = [self._same(other, id) for id in shared]
        entries = self._agreements(shared)[tuple(same)] / alone
        whole = np.broadcast_to(entries, self.shares.shape + other.shares.shape)
        return np.array(whole.reshape(self.shares.size, other.shares.size))

    def _same(self, other: CombinedTable, id: str) -> np.ndarray:
        """Whether two cells have the same answer to a question: 0 or 1, an axis for each question
        of both tables."""
        first, second = self.questions.index(id), other.questions.index(id)
        shape = [1] * (self.shares.ndim + other.shares.ndim)
        shape[first] = shape[self.shares.ndim + second] = self.shares.shape[first]
        return np.eye(self.shares.shape[first], dtype=np.intp).reshape(shape)

    def _effects_within(self, questions: Sequence[str]) -> bool:
        """Whether any effect of the table is one of these questions alone."""
        pairs = zip(self.questions, self.exclusive, strict=True)
        return all(exclusive or id in questions for id, exclusive in pairs)

    def _agreements(self, kept: Sequence[str]) -> np.ndarray:
        """Shape (2,) * kept questions: the noise covariance of two cells, at 1 where they have the
        same answer to a question; of the effects of these questions alone.

        A projection has 1 - 1/c for the same answer, -1/c for two; where a question is not in S,
        the c cells share the effect evenly.
        """
        found = self.effect_variances
        for place in reversed(range(self.shares.ndim)):
            size, id = self.shares.shape[place], self.questions[place]
            if id not in kept:
                found = found.take(0, place) / size
                continue
            inside, outside = _projection(size, self.exclusive[place]), 1 / size**2
            matrix = np.stack([np.full(2, outside), inside])
            found = np.moveaxis(np.tensordot(found, matrix, (place, 0)), -1, place)
        return np.asarray(found)


def _grams(matrix: Matrix, size: int, exclusive: bool) -> tuple[np.ndarray, np.ndarray]:
    """The covariances of sums along an axis: of effects without its question, and with it."""
    whole = np.asarray(matrix.sum(axis=1)).ravel()
    square = dense(matrix @ matrix.T)
    outside = np.outer(whole, whole) / size
    return outside / size, square - exclusive * outside


def _kronecker(values: np.ndarray, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The sum over all choices of one matrix of each pair of their Kronecker product, times the
    value at the place of the choice."""
    if not pairs:
        return values.reshape(1, 1)
    size = math.prod(len(first) for first, _ in pairs)
    found = np.zeros((size, size))
    for value, matrix in zip(values, pairs[0], strict=True):
        if value.any():
            found += np.kron(matrix, _kronecker(value, pairs[1:]))
    return found


def combined(sources: Sequence[Source], questions: Sequence[str]) -> CombinedTable:
    """The table of some questions by generalized least squares over all sources.

    The weight of a source for the effect of S is that of its margin on S: its own, divided by how
    many cells are summed. Raises TableError if no source tells some effect.
    """
    ids = tuple(questions)
    shape, exclusive = _axes(sources, ids)
    margins = [_Margin.of(source, ids, shape, exclusive) for source in sources]
    each = (2,) * len(ids)
    weights = np.array([margin.weights for margin in margins]).reshape(len(margins), *each)
    wanted = 2 ** sum(exclusive) - all(exclusive)
    if all(exclusive):
        weights.reshape(len(margins), 2 ** len(ids))[:, 0] = 0  # the sum is known
    totals = weights.sum(axis=0)
    if np.count_nonzero(totals) < wanted:  # of its effects some is told by no source
        allowed = "no message holds all of them; ask for what travels together"
        raise TableError.of("table", ",".join(ids), allowed)
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


def _axes(sources: Sequence[Source], ids: Ids) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """The shape of a table, and of each axis whether it is exclusive; of a question of no source
    whatever."""
    axes = {
        id: axis
        for source in sources
        for id, *axis in zip(source.questions, source.shares.shape, source.exclusive, strict=True)
    }
    found = [axes.get(id, (2, True)) for id in ids]
    return tuple(size for size, _ in found), tuple(kind for _, kind in found)


@dataclass(frozen=True)
class _Margin:
    """What a source says of a table: the effects of the questions that both have.

    held: of each question of the table, whether the source has it. effects: where it does not, the
    axis has one entry. weights, variances: shape (2,) * questions of the table, of each effect; 0
    where the source does not tell it. report: as the source has it.
    """

    held: tuple[bool, ...]
    effects: np.ndarray
    weights: np.ndarray
    variances: np.ndarray
    report: float

    @classmethod
    def of(
        cls, source: Source, ids: Ids, shape: tuple[int, ...], exclusive: tuple[bool, ...]
    ) -> _Margin:
        """The margin of a source on the questions of a table."""
        held = tuple(id in source.questions for id in ids)
        rest = [place for place, id in enumerate(source.questions) if id not in ids]
        kept = [id for id in source.questions if id in ids]
        there = [id for id in ids if id in source.questions]
        table = source.shares.sum(axis=tuple(rest)).transpose([kept.index(id) for id in there])
        spread = tuple(slice(None) if each else None for each in held)
        axes = list(zip(shape, exclusive, held, strict=True))
        absent = math.prod(size for size, _, each in axes if not each)
        counts = reduce(
            np.multiply.outer,
            [_cells_summed(*axis) for axis in axes],
            np.asarray(float(source.shares.size // table.size)),
        )
        told = np.isfinite(counts) & all(source.exclusive[place] for place in rest)
        if source.whole:
            told &= np.indices(counts.shape).sum(axis=0) == len(source.questions)
        return cls(
            held=held,
            effects=_effects(table, [each for _, each, there in axes if there])[spread] / absent,
            weights=np.where(told, source.weight / counts, 0.0),
            variances=np.where(told, source.variance * counts, 0.0),
            report=source.report,
        )


def _cells_summed(size: int, exclusive: bool, held: bool) -> np.ndarray:
    """How many cells of a source are summed along an axis for effects without its question, and
    with it; infinitely many where the source does not tell them, or the table does not have them.
    held: whether the source has the question."""
    without = (size if held else 1) if exclusive else math.inf
    return np.array([without, 1 if held else math.inf])


def _projection(size: int, exclusive: bool) -> np.ndarray:
    """The entries of the projection on an effect, for two answers and for twice the same."""
    return np.array([0.0, 1.0]) - exclusive / size


def _at_effects(
    values: np.ndarray, shape: tuple[int, ...], exclusive: Sequence[bool]
) -> np.ndarray:
    """Values of effects, shape (2,) * questions, at each entry of a table of effects."""
    places = [
        np.minimum(np.arange(size), 1) if each else np.ones(size, np.intp)
        for size, each in zip(shape, exclusive, strict=True)
    ]
    return np.asarray(values[np.ix_(*places)])


def _effects(table: np.ndarray, exclusive: Sequence[bool]) -> np.ndarray:
    """The effects of a table, in place of its cells."""
    for axis in np.flatnonzero(exclusive):
        mean = table.mean(axis, keepdims=True)
        _, others = np.split(table, [1], axis)
        table = np.concatenate([mean, others - mean], axis)
    return table


def _cells(effects: np.ndarray, exclusive: Sequence[bool]) -> np.ndarray:
    """The cells of a table with these effects."""
    for axis in np.flatnonzero(exclusive):
        mean, others = np.split(effects, [1], axis)
        first = -others.sum(axis, keepdims=True)
        effects = np.concatenate([mean + first, mean + others], axis)
    return effects
