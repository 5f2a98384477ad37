"""Counts of reports as a mixture over true answers, and the maximum of their likelihood.

Several items have one axis each. The probability of a pattern of reports is the sum, over all true
answers x, of pi(x) times the product of P[reported, true] over the axes. One small matrix is
applied to each axis; the Kronecker product is never built.
Proof: docs/interviews-mathematics.md#maximum-likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem

ROUNDS = 1000  # of Newton's method; it ends earlier
GAIN = 1e-10  # of the log-likelihood: a step that promises less is the last one
PART = 1 << 20  # numbers that are held at once
SINGULAR = 1e-10  # the least ratio of eigenvalues at which a distribution is identified
RIDGE = 1e-9  # of the diagonal, where the information is not positive definite
ROUNDING = 1e-13  # of the least eigenvalue of a matrix whose diagonal is 1


def along_axes(tensor: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Apply a matrix to each axis of a tensor, for each group.

    tensor: shape (groups, a, b, ...). matrices: for each axis, shape (groups, new, old).
    """
    for axis, matrix in enumerate(matrices, 1):
        front = np.moveaxis(tensor, axis, 1)
        flat = matrix @ front.reshape(len(front), front.shape[1], -1)
        tensor = np.moveaxis(flat.reshape(len(flat), -1, *front.shape[2:]), 1, axis)
    return tensor


def complete_reports(items: Sequence[ReportedItem]) -> np.ndarray:
    """Return which interviews have a report on every item, shape (n,)."""
    return np.asarray(np.all([item.reported != MISSING for item in items], axis=0))


@dataclass(frozen=True, eq=False)
class ReportMixture:
    """The counts of the patterns of reports on some items.

    axes: the matrices of each item, in each combination of the items' groups that occurs. counts:
    weighted, shape (combinations, reports, ...). pattern: for each interview, its place in the
    flat counts, or `MISSING`.

    Parameters are one vector: the shares of all combinations of true answers, then the unknown
    probabilities of each item.
    """

    axes: tuple[ItemMatrices, ...]
    counts: np.ndarray
    pattern: np.ndarray

    @classmethod
    def of(cls, items: Sequence[ReportedItem], weights: np.ndarray | None = None) -> ReportMixture:
        """Count the interviews that have a report on every item."""
        used = complete_reports(items)
        combinations, combination = np.unique(
            np.stack([item.group[used] for item in items]), axis=1, return_inverse=True
        )
        axes = tuple(
            ItemMatrices(
                item.matrices.base[groups],
                item.matrices.unknown[:, groups] if item.matrices.names else item.matrices.unknown,
                item.matrices.names,
            )
            for item, groups in zip(items, combinations, strict=True)
        )
        shape = (combinations.shape[1], *(each.reports for each in axes))
        places = (combination.ravel(), *(item.reported[used] for item in items))
        pattern = np.full(len(used), MISSING)
        pattern[used] = np.ravel_multi_index(places, shape)
        weight = None if weights is None else weights[used]
        counts = np.bincount(pattern[used], weight, int(np.prod(shape)))
        return cls(axes, counts.reshape(shape).astype(float), pattern)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table of true answers."""
        return tuple(each.answers for each in self.axes)

    @cached_property
    def cells(self) -> int:
        """The number of combinations of true answers."""
        return int(np.prod(self.shape))

    @cached_property
    def combination(self) -> np.ndarray:
        """The combination of groups of each interview, shape (n,), or `MISSING`."""
        of = self.pattern // (self.counts.size // len(self.counts))
        return np.where(self.pattern == MISSING, MISSING, of)

    @cached_property
    def unknowns(self) -> tuple[tuple[int, int], ...]:
        """The axis of each unknown probability, and its place there."""
        return tuple((a, k) for a, each in enumerate(self.axes) for k in range(len(each.names)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the unknown probabilities."""
        return tuple(self.axes[a].names[k] for a, k in self.unknowns)

    @cached_property
    def size(self) -> int:
        """The number of parameters."""
        return self.cells + len(self.unknowns)

    @cached_property
    def observed(self) -> np.ndarray:
        """The patterns that occur, as places in the flat counts."""
        return np.flatnonzero(self.counts.ravel() > 0)

    def matrices(self, parameters: np.ndarray) -> list[np.ndarray]:
        """Return the matrices of each axis."""
        theta = parameters[self.cells :]
        of = [theta[[axis == a for axis, _ in self.unknowns]] for a in range(len(self.axes))]
        return [axis.at(each) for axis, each in zip(self.axes, of, strict=True)]

    def _with(self, matrices: list[np.ndarray], *unknowns: int) -> list[np.ndarray]:
        """Return the matrices of the derivative with respect to some unknown probabilities."""
        matrices = list(matrices)
        for each in unknowns:
            axis, place = self.unknowns[each]
            matrices[axis] = self.axes[axis].unknown[place]
        return matrices

    def _apply(self, matrices: list[np.ndarray], shares: np.ndarray) -> np.ndarray:
        tensor = np.broadcast_to(shares.reshape(self.shape), (len(self.counts), *self.shape))
        return along_axes(tensor, matrices)

    def probabilities(self, parameters: np.ndarray) -> np.ndarray:
        """Return the probabilities of all patterns in each combination of groups."""
        return self._apply(self.matrices(parameters), parameters[: self.cells])

    def log_likelihood(self, parameters: np.ndarray) -> float:
        """Return the sum of counts times logarithms of probabilities."""
        seen = self.counts > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(self.probabilities(parameters)[seen])
        return float(self.counts[seen] @ np.where(np.isnan(logs), -np.inf, logs))

    def _back(self, matrices: list[np.ndarray], ratios: np.ndarray) -> np.ndarray:
        """Apply the transposed matrices and add all groups, shape (cells,)."""
        back = along_axes(ratios, [each.transpose(0, 2, 1) for each in matrices])
        return np.asarray(back.sum(axis=0).ravel())

    def ratios(self, parameters: np.ndarray) -> np.ndarray:
        """Return counts divided by probabilities; 0 where nothing was counted."""
        probabilities = self.probabilities(parameters)
        seen = self.counts > 0
        ratios = np.zeros(self.counts.shape)
        np.divide(self.counts, probabilities, ratios, where=seen)
        return ratios

    def gradient(self, parameters: np.ndarray) -> np.ndarray:
        """Return the derivatives of the log-likelihood."""
        matrices, ratios = self.matrices(parameters), self.ratios(parameters)
        shares = parameters[: self.cells]
        of_unknowns = [
            float(np.sum(ratios * self._apply(self._with(matrices, k), shares)))
            for k in range(len(self.unknowns))
        ]
        return np.concatenate([self._back(matrices, ratios), of_unknowns])

    def rows(
        self, parameters: np.ndarray, patterns: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield some patterns, and the derivatives of their probabilities, a part at a time.

        patterns: by default those that occur.
        """
        patterns = self.observed if patterns is None else patterns
        matrices = self.matrices(parameters)
        step = max(1, PART // self.size)
        for start in range(0, len(patterns), step):
            part = patterns[start : start + step]
            places = np.unravel_index(part, self.counts.shape)
            derivatives = np.empty((len(part), self.size))
            derivatives[:, : self.cells] = _products(matrices, places)
            for k in range(len(self.unknowns)):
                products = _products(self._with(matrices, k), places)
                derivatives[:, self.cells + k] = products @ parameters[: self.cells]
            yield part, derivatives

    def expected_information(self, parameters: np.ndarray) -> np.ndarray:
        """Return the expected information, given the size of each combination of groups."""
        sizes = self.counts.reshape(len(self.counts), -1).sum(axis=1)
        probabilities = self.probabilities(parameters).ravel()
        each = np.repeat(sizes, len(probabilities) // len(sizes))
        return self._information(parameters, each, probabilities, np.flatnonzero(probabilities))

    def _information(
        self,
        parameters: np.ndarray,
        weights: np.ndarray,
        probabilities: np.ndarray,
        patterns: np.ndarray,
    ) -> np.ndarray:
        """Return the sum of weight / probability times the square of the derivatives."""
        total = np.zeros((self.size, self.size))
        for part, rows in self.rows(parameters, patterns):
            total += rows.T @ (rows * (weights[part] / probabilities[part])[:, None])
        return total

    def information(self, parameters: np.ndarray, *, observed: bool = True) -> np.ndarray:
        """Return minus the second derivatives of the log-likelihood.

        observed: False leaves out the second derivatives of the probabilities themselves, so that
        the matrix has no negative eigenvalue.
        """
        ratios = self.ratios(parameters)
        probabilities = self.probabilities(parameters).ravel()
        total = self._information(parameters, ratios.ravel(), probabilities, self.observed)
        if not observed:
            return total
        matrices, shares, cells = self.matrices(parameters), parameters[: self.cells], self.cells
        for k, (axis, _) in enumerate(self.unknowns):
            crossed = self._back(self._with(matrices, k), ratios)
            total[:cells, cells + k] -= crossed
            total[cells + k, :cells] -= crossed
            for j, (other, _) in enumerate(self.unknowns):
                if other != axis:
                    twice = self._apply(self._with(matrices, k, j), shares)
                    total[cells + k, cells + j] -= float(np.sum(ratios * twice))
        return total

    def raised(self, parameters: np.ndarray, fixed: int | None = None) -> np.ndarray:
        """Return parameters of a higher likelihood: one round of expectation and maximization.

        fixed: a parameter that keeps its value.
        """
        raised, cells = parameters.copy(), self.cells
        moving = np.arange(cells) != fixed
        shares = parameters[:cells] * self._back(self.matrices(parameters), self.ratios(parameters))
        if np.sum(shares[moving]) > 0:
            raised[:cells][moving] = (
                shares[moving] * parameters[:cells][moving].sum() / np.sum(shares[moving])
            )
        for k in range(len(self.unknowns)):
            place = cells + k
            if place != fixed:
                ratios, one = self.ratios(raised), raised.copy()
                one[place] = 1.0
                mass = raised[place] * float(np.sum(ratios * self.probabilities(one)))
                raised[place] = min(mass / float(self.counts.sum()), 1.0)
        return raised

    def identified(self) -> bool:
        """Return whether the reports determine the parameters inside their range."""
        inner = np.concatenate(
            [np.full(self.cells, 1 / self.cells), np.linspace(0.45, 0.65, len(self.unknowns))]
        )
        basis = free_directions(np.ones(self.size, bool), self.cells)
        values = np.linalg.eigvalsh(basis.T @ self.expected_information(inner) @ basis)
        return not len(values) or bool(values[0] > SINGULAR * values[-1])

    def maximum(self, start: np.ndarray, fixed: int | None = None) -> np.ndarray:
        """Return the parameters with the highest likelihood, near a start inside their range.

        fixed: a parameter that keeps its value at the start.

        Newton's method on the parameters that are not at an end of their range, with steps that
        raise the likelihood; where no such step exists, a round of expectation and maximization.
        """
        parameters, value = start, self.log_likelihood(start)
        for _ in range(ROUNDS):
            gradient = self.gradient(parameters)
            free = self.free(parameters, gradient, fixed)
            step, gain = self._newton(parameters, gradient, free)
            if gain < GAIN:  # the likelihood, as rounded, no longer shows the last digits
                last = parameters + step
                return last if np.all((last >= 0) & (last <= 1)) else parameters
            reached = self._ascent(parameters, step, gain, value)
            if reached is None:
                reached = self.raised(parameters, fixed)
            after = self.log_likelihood(reached)
            if not after > value:
                break
            parameters, value = reached, after
        return parameters

    def free(
        self, parameters: np.ndarray, gradient: np.ndarray, fixed: int | None = None
    ) -> np.ndarray:
        """Return the parameters that a higher likelihood does not push out of their range."""
        free = np.ones(self.size, bool)
        shares, theta = parameters[: self.cells], parameters[self.cells :]
        moving = np.arange(self.cells) != fixed
        mass = shares[moving].sum()
        level = shares[moving] @ gradient[: self.cells][moving] / mass if mass > 0 else np.inf
        free[: self.cells] = (shares > 0) | (gradient[: self.cells] > level)
        slopes = gradient[self.cells :]
        free[self.cells :] = ((theta > 0) | (slopes > 0)) & ((theta < 1) | (slopes < 0))
        if fixed is not None:
            free[fixed] = False
        return free

    def _newton(
        self, parameters: np.ndarray, gradient: np.ndarray, free: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Return the step of Newton's method, and twice the gain that it promises."""
        free = free.copy()
        lower, upper = parameters <= 0, np.zeros(self.size, bool)
        upper[self.cells :] = parameters[self.cells :] >= 1
        information = self.information(parameters)
        safe = self.information(parameters, observed=False) if self.unknowns else information
        while True:
            basis = free_directions(free, self.cells, parameters)
            if not basis.shape[1]:
                return np.zeros(self.size), 0.0
            slope = basis.T @ gradient
            inner = _solved(basis.T @ information @ basis, slope)
            if inner is None:
                inner = _solved(basis.T @ safe @ basis, slope, RIDGE)
            assert inner is not None
            step = basis @ inner
            out = free & ((lower & (step < 0)) | (upper & (step > 0)))
            if not out.any():
                return step, float(slope @ inner)
            free &= ~out

    def _ascent(
        self, parameters: np.ndarray, step: np.ndarray, gain: float, value: float
    ) -> np.ndarray | None:
        """Return parameters along a step, within their range and of a higher likelihood."""
        ends = np.where(step < 0, 0.0, np.where(np.arange(self.size) < self.cells, np.inf, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.where(step != 0, (ends - parameters) / step, np.inf)
        length = min(1.0, float(lengths.min()))
        for _ in range(30):
            reached = parameters + length * step
            reached[lengths <= length] = ends[lengths <= length]
            reached[: self.cells] = np.maximum(reached[: self.cells], 0)
            if self.log_likelihood(reached) > value + 1e-4 * length * gain:
                return reached
            length /= 2
        return None


def _solved(matrix: np.ndarray, slope: np.ndarray, ridge: float = 0.0) -> np.ndarray | None:
    """Return the solution of equations; None unless their matrix is positive definite.

    Shares near 0 have an information that is many times that of others, so the diagonal is scaled
    to 1. ridge: what is then added to it.
    """
    scale = np.sqrt(np.diagonal(matrix).clip(0))
    scale[scale == 0] = 1.0
    scaled = matrix / np.outer(scale, scale) + ridge * np.eye(len(matrix))
    if np.linalg.eigvalsh(scaled)[0] <= ROUNDING:
        return None
    return np.asarray(np.linalg.solve(scaled, slope / scale) / scale)


def _products(matrices: list[np.ndarray], places: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the products of the rows of each axis, shape (patterns, cells)."""
    products = np.ones((len(places[0]), 1))
    for matrix, reported in zip(matrices, places[1:], strict=True):
        rows = matrix[places[0], reported]
        products = (products[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    return products


def free_directions(
    free: np.ndarray, cells: int, parameters: np.ndarray | None = None
) -> np.ndarray:
    """Return directions that span the free parameters and keep the sum of all shares.

    free: shape (size,). Shape of the result: (size, directions).
    """
    places = np.flatnonzero(free[:cells])
    others = cells + np.flatnonzero(free[cells:])
    basis = np.zeros((len(free), max(len(places) - 1, 0) + len(others)))
    if len(places) > 1:
        last = places[-1] if parameters is None else places[np.argmax(parameters[places])]
        for column, place in enumerate(places[places != last]):
            basis[place, column], basis[last, column] = 1.0, -1.0
    basis[others, basis.shape[1] - len(others) + np.arange(len(others))] = 1.0
    return basis
