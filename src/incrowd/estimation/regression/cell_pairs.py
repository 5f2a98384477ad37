"""Linear models from cells of pairs of questions: no message has to hold all of them.

Least squares needs E[x x'] and E[x y], sums of cells of pairs. The score of a model is linear in
these sums, so its noise follows from that of the cells. The sampling part of its covariance is
E[x x' r^2], of up to four questions, which pairs do not determine: it is that of the
maximum-entropy law with these pairs. Proof: docs/regression.md#from-cells-of-pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, combinations

import numpy as np

from incrowd.catalog.sentences import translatable
from incrowd.estimation.cells import CellsReading
from incrowd.estimation.decoders import by_axis
from incrowd.estimation.interactions import CombinedTable
from incrowd.estimation.pairwise_law import VariablePair, contrasts, pairwise_law
from incrowd.estimation.regression.evidence import StratumEvidence
from incrowd.estimation.regression.levels import level_sums
from incrowd.estimation.regression.model import Levels, Model
from incrowd.estimation.regression.pairs import lift_of
from incrowd.estimation.regression.variables import ModelVariable

ASSUMPTION = translatable("estimation.pairs-assumption")
CHUNK = 1 << 11  # combinations of levels at once
LEAST_PEOPLE = 0.5  # on a level, if the estimate is lower


@dataclass(frozen=True)
class CellPairs(StratumEvidence):
    """A stratum, from cells of pairs of questions.

    variables: the outcome, then the noisy predictors; at least two, with exclusive answers. scores:
    of the levels of the outcome. lift: shape (coefficients, columns of u), x = lift u with
    u = (1, levels of the predictors); it contains the answers to open questions. sampled: whether
    the people are a sample.
    """

    variables: Sequence[ModelVariable]
    reading: CellsReading
    scores: np.ndarray
    lift: np.ndarray
    sampled: bool = True

    @property
    def people(self) -> float:  # type: ignore[override]
        """The number of people of the message that has the fewest."""
        return self.reading.people

    def score(self, beta: np.ndarray) -> np.ndarray:
        """Return E[x y] - E[x x'] beta."""
        outcome = self._sizes[0]
        with_outcome = self._square[:, 1 : 1 + outcome] @ self.scores
        return np.asarray(self._x @ with_outcome - self.information(beta) @ beta)

    def information(self, beta: np.ndarray) -> np.ndarray:
        """Return E[x x']."""
        return np.asarray(self._x @ self._square @ self._x.T)

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Return the covariance of the mean of x r."""
        residual = -beta @ self._x
        residual[1 : 1 + self._sizes[0]] += self.scores
        return self._covariance(self._x, np.broadcast_to(residual, self._x.shape))

    def information_variances(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the variances of the mean of (v'x)^2."""
        forms = along @ self._x
        return np.asarray(np.diagonal(self._covariance(forms, forms)))

    def _covariance(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the covariance of the means of products of two functions, by noise and sampling or
        by noise alone.

        left, right: shape (products, columns of z), z = (1, levels of all variables).
        """
        noise = self._noise(left, right)
        part = self.reading.lost() + self.sampled / self.people
        return noise + part * self._drawn(left, right) if part else noise

    def _noise(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the covariance of the means of products of two functions by noise alone.

        All tables have the same estimate of an effect, and the estimates of different effects have
        independent noise. So the weights of a single question are summed over all tables.
        """
        covariance = np.zeros((len(left), len(left)))
        alone = [np.zeros((len(left), sums.shape[1])) for sums in self._sums]
        variances = np.zeros(len(alone))
        for (a, b), each in self._weights(left, right).items():
            alone[a] += each.mean(axis=2)
            alone[b] += each.mean(axis=1)
            inside = _centered(_centered(each, 1), 2).reshape(len(left), -1)
            variances[a], variances[b] = self._tables[a, b].effect_variances[[1, 0], [0, 1]]
            covariance += self._tables[a, b].effect_variances[1, 1] * inside @ inside.T
        for variance, each in zip(variances, alone, strict=True):
            covariance += variance * _centered(each, 1) @ _centered(each, 1).T
        return covariance

    def _weights(self, left: np.ndarray, right: np.ndarray) -> dict[VariablePair, np.ndarray]:
        """Return the weight of each cell of each pair in the means of products of two functions:
        shape (products, answers, answers). The terms of a single question are in the first pair
        that has it."""
        ones = left[:, :1], right[:, :1]
        f, h = self._by_variable(left), self._by_variable(right)
        alone = [a * b + ones[0] * b + a * ones[1] for a, b in zip(f, h, strict=True)]
        weights = {}
        for a, b in self._tables:
            each = np.einsum("ki,kj->kij", f[a], h[b]) + np.einsum("ki,kj->kij", h[a], f[b])
            if a == 0:
                each = each + alone[b][:, None, :]
                each = each + (b == 1) * alone[a][:, :, None]
            weights[a, b] = each
        return weights

    def _by_variable(self, forms: np.ndarray) -> list[np.ndarray]:
        """Return functions of z on the answers that the cells of each variable have."""
        parts = np.split(forms[:, 1:], [*accumulate(self._sizes)][:-1], axis=1)
        return [part @ sums for part, sums in zip(parts, self._sums, strict=True)]

    def _drawn(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the covariance of products of two functions over people, by the law of these
        pairs."""
        mean, square = np.zeros(len(left)), np.zeros((len(left), len(left)))
        pairs = zip(self._over_states(left), self._over_states(right), strict=True)
        for shares, (x, y) in zip(self._law.reshape(self._heads, -1), pairs, strict=True):
            each = x * y
            mean += each @ shares
            square += (each * shares) @ each.T
        return square - np.outer(mean, mean)

    def _over_states(self, forms: np.ndarray) -> Iterator[np.ndarray]:
        """Return functions of z in the order of the law, some of its states at a time: shape
        (functions, states)."""
        parts = np.split(forms, 1 + np.cumsum([0, *self._sizes])[:-1], axis=1)
        states = [reduce(_sums, part) for part in (parts[: self._split], parts[self._split :])]
        return (head[:, None] + states[1] for head in states[0].T)

    @cached_property
    def _split(self) -> int:
        """The number of parts of z that are fixed in each step through the law: 1,
        then variables."""
        tails = [math.prod(self._sizes[place:]) for place in range(len(self._sizes))]
        return 1 + next(place for place, size in enumerate(tails) if size <= CHUNK)

    @property
    def _heads(self) -> int:
        return math.prod(self._sizes[: self._split - 1])

    @cached_property
    def _law(self) -> np.ndarray:
        """The law of all levels together, an axis for each variable."""
        least = LEAST_PEOPLE / self.people
        shares = [np.maximum(each, least) for each in self._margins]
        shares = [each / each.sum() for each in shares]
        rows = [contrasts(each)[1:] for each in shares]
        moments, variances = {}, {}
        for (a, b), table in self._tables.items():
            moments[a, b] = rows[a] @ self._levels[a, b] @ rows[b].T
            variances[a, b] = table.variances([rows[a] @ self._sums[a], rows[b] @ self._sums[b]])
        return pairwise_law(shares, moments, variances)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(each.levels) for each in self.variables)

    @cached_property
    def _sums(self) -> list[np.ndarray]:
        return [level_sums(each) for each in self.variables]

    @cached_property
    def _tables(self) -> dict[VariablePair, CombinedTable]:
        ids = [each.question.id for each in self.variables]
        places = combinations(range(len(ids)), 2)
        return {(a, b): self.reading.combined((ids[a], ids[b])) for a, b in places}

    @cached_property
    def _levels(self) -> dict[VariablePair, np.ndarray]:
        """The shares of people on pairs of levels."""
        return {
            (a, b): by_axis([self._sums[a], self._sums[b]], table.shares)
            for (a, b), table in self._tables.items()
        }

    @cached_property
    def _margins(self) -> list[np.ndarray]:
        """The shares of people on the levels of each variable; they are the same in all pairs."""
        first, *others = (self._levels[0, b] for b in range(1, len(self.variables)))
        return [first.sum(axis=1), first.sum(axis=0), *(each.sum(axis=0) for each in others)]

    @cached_property
    def _x(self) -> np.ndarray:
        """x as functions of z, which includes the outcome."""
        return np.insert(self.lift, [1] * self._sizes[0], 0.0, axis=1)

    @cached_property
    def _square(self) -> np.ndarray:
        """E[z z']."""
        ends = [*accumulate(self._sizes, initial=1)]
        square = np.zeros((ends[-1], ends[-1]))
        square[0, 0] = 1.0
        for place, margin in enumerate(self._margins):
            at = slice(ends[place], ends[place + 1])
            square[0, at] = square[at, 0] = margin
            square[at, at] = np.diag(margin)
        for (a, b), levels in self._levels.items():
            rows, columns = slice(ends[a], ends[a + 1]), slice(ends[b], ends[b + 1])
            square[rows, columns], square[columns, rows] = levels, levels.T
        return square


def _centered(values: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(values - values.mean(axis, keepdims=True))


def _sums(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return sums of all entries of rows of two arrays: the second runs fastest."""
    return np.asarray((first[:, :, None] + second[:, None, :]).reshape(len(first), -1))


def cell_pairs_of_stratum(
    model: Model, stratum: Levels, reading: CellsReading, sampled: bool
) -> CellPairs:
    """Return a stratum of a model, from cells of pairs. model: as for `pairs_of_stratum`."""
    scores = np.array(model.scores)
    return CellPairs(model.randomized, reading, scores, lift_of(model, stratum), sampled)
