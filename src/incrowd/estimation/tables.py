"""Unbiased tables with standard errors and intervals. Nothing is clipped or projected here.

Proof: docs/mathematics.md#estimates.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import scipy

from incrowd import views
from incrowd.estimation.decoders import Decoder, least_noise
from incrowd.kernels.axes import transform as along_axes

if TYPE_CHECKING:
    import pyarrow as pa

LEVEL = 0.95
HALF_WIDTH = NormalDist().inv_cdf((1 + LEVEL) / 2)  # of an interval, in standard errors
NOISE_AND_SAMPLING = "noise and sampling"
NOISE_ONLY = "noise alone"


Ends = tuple[np.ndarray, np.ndarray]


class Intervals(ABC):
    """The ends of intervals."""

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals; not cut at zero."""
        return self._ends[0]

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals; not cut at one."""
        return self._ends[1]

    @property
    @abstractmethod
    def _ends(self) -> Ends: ...


@dataclass(frozen=True)
class TableEstimate(Intervals, views.Tabular):
    """The estimated joint distribution of some questions, one axis for each.

    estimate, noise_error, standard_error, low, high: proportions of the people, arrays of the
    shape of the table. noise_error: the standard error of the noise alone, the people being
    fixed. people: whose answers these are. errors: whether standard_error and the intervals are
    of the noise alone or of noise plus sampling. report: the share of a cell that one report is.
    influence: how far one malicious sender, who may say anything in each of her reports, can move a
    cell at most; k of them k times as far (of the
    estimate functions below: how far one report can). p_values: of "nobody gave this answer",
    of a table that comes from cells. constant_noise: whether the noise is the same whatever people
    answered, as that of cells is; intervals are then those of `score_ends`.
    """

    questions: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    estimate: np.ndarray
    noise_error: np.ndarray
    people: int
    errors: str = NOISE_AND_SAMPLING
    level: float = LEVEL
    influence: float = 0.0
    report: np.ndarray | float = 0.0
    p_values: np.ndarray | None = None
    constant_noise: bool = False

    def __repr__(self) -> str:
        shape = " × ".join(map(str, self.estimate.shape))
        errors = f"people={self.people:,}, errors={self.errors!r}"
        return f"TableEstimate({' × '.join(self.questions)}, {shape} cells, {errors})"

    def to_arrow(self) -> pa.Table:
        """A row for each cell: the answer to each question, and proportions of the people."""
        import pyarrow as pa  # slow to load, and a plan needs none

        given = list(zip(*product(*self.answers), strict=True))
        figures = ("estimate", "standard_error", "low", "high")
        columns = [pa.array(each) for each in given]
        columns += [pa.array(getattr(self, name).ravel()) for name in figures]
        return pa.Table.from_arrays(columns, names=[*self.questions, *figures])

    @property
    def standard_error(self) -> np.ndarray:
        """Of noise plus sampling, sqrt(noise + pi (1 - pi) / N), or of the noise alone.

        A raw estimate below zero or above one adds no sampling error and takes none off.
        """
        if self.errors == NOISE_ONLY:
            return self.noise_error
        sampling = sampling_variance(self.estimate, self.people)
        return np.asarray(np.sqrt(self.noise_error**2 + sampling))

    @property
    def whose(self) -> str:
        """What the shares are of, in words."""
        return "people"

    @property
    def weights_words(self) -> str:
        """To what the table is weighted, and what that does to its errors; "" if it is not."""
        return ""

    @property
    def changes(self) -> dict[str, str]:
        """What was made of the table after it was estimated, for files: a name and words each."""
        return {}

    @property
    def effective_sample_size(self) -> float:
        """How many people asked without noise would tell as much, in squared error over all cells.

        sum pi (1 - pi) / sum Var, Vinterbo, proposition 3.1 and lemma 4.5, with pi (1 - pi)
        estimated without bias. At most the number of people: noise never adds to what they say.
        """
        variance = replace(self, errors=NOISE_AND_SAMPLING).standard_error ** 2
        if not variance.any():
            return 0.0
        open_variance = self.estimate * (1 - self.estimate) + variance
        return float(np.clip(open_variance.sum() / variance.sum(), 0.0, self._most_effective))

    @property
    def _most_effective(self) -> float:
        """The largest effective sample size there can be."""
        return self.people

    @property
    def step(self) -> np.ndarray | float:
        """The share of a cell by which it differs from the next possible one: that of one person,
        or of one report where the people are fixed."""
        return self.report if self.errors == NOISE_ONLY else 1 / self.people

    @property
    def _ends(self) -> Ends:
        multiplier = float(scipy.special.ndtri((1 + self.level) / 2))
        if not self.constant_noise:
            half = reach(multiplier, self.standard_error, self.step)
            return np.asarray(self.estimate - half), np.asarray(self.estimate + half)
        people = None if self.errors == NOISE_ONLY else self.people
        return score_ends(multiplier, self.estimate, self.noise_error**2, self.report, people)

    def above_noise(self, family_wise: float = 0.05) -> np.ndarray:
        """Which answers somebody gave: all of them together wrong with `family_wise` at most.

        Bonferroni over the cells. Exact of a table that comes from cells; else by the normal
        quantile of the noise, which is all there is in a cell that nobody is in.
        """
        limit = family_wise / self.estimate.size
        if self.p_values is not None:
            return np.asarray(self.p_values <= limit)
        return np.asarray(self.estimate > float(scipy.special.ndtri(1 - limit)) * self.noise_error)


def sampling_variance(shares: np.ndarray, people: float) -> np.ndarray:
    """pi (1 - pi) / N; an estimate below zero or above one counts as zero or one."""
    return np.asarray(np.maximum(shares * (1 - shares), 0.0) / people)


def reach(multiplier: float, errors: np.ndarray, step: np.ndarray | float) -> np.ndarray:
    """How far intervals of so many standard errors reach on both sides.

    A count of people has the variance of its mean, and its estimate is nothing if nobody was
    counted; but of z^2 people nobody is counted now and then (Wilson 1927). So z^2 counts are added
    to each variance, which is little beside the noise of a crowd. What is known exactly stays so.
    """
    few = np.where(errors > 0, multiplier * np.asarray(step), 0.0)
    return np.asarray(multiplier * np.hypot(errors, few))


def score_ends(
    multiplier: float,
    estimate: np.ndarray,
    noise: np.ndarray,
    report: np.ndarray | float,
    people: float | None,
) -> Ends:
    """The ends of intervals of all shares that a test of each does not refuse.

    noise: the variance of the noise, which does not depend on the shares. people: who were drawn at
    random; None if they are fixed. The share pi is tested with the variance that it would have, the
    noise plus pi (1 - pi) / N, so that the ends are the roots of a quadratic (Wilson 1927); a share
    below zero or above one has no sampling. report: the share of a cell that one report is; the
    noise takes whole numbers of them, so that a quarter of its square is added.
    Proof: docs/mathematics.md#tables-of-cells.
    """
    half = multiplier * np.sqrt(noise + np.square(report) / 4)
    outer = np.stack([estimate - half, estimate + half])
    if people is None:
        return outer[0], outer[1]
    k = multiplier**2 / people
    inside = k * k + 4 * k * estimate * (1 - estimate) + 4 * (1 + k) * half**2
    root = np.sqrt(np.maximum(inside, 0))  # negative only where both ends are beyond zero or one
    roots = (2 * estimate + k + np.stack([-root, root])) / (2 * (1 + k))
    low, high = np.where((outer >= 0) & (outer <= 1), roots, outer)
    return low, high


def estimate_table(
    questions: Sequence[str],
    decoders: Sequence[Decoder],
    moments: np.ndarray,
    copies: int = 1,
    noise_only: bool = False,
) -> TableEstimate:
    """Estimate a table from the joint counts of set bits.

    moments: the count tensor of `incrowd.reports.moments`; its first entry is the number of
    reports m = k N. The estimate is C^-1 y / m, axis by axis (Vinterbo, section 3.2); its noise
    has the variance (E[g^2] - pi) / m, g the debiased report, and never less than in the cell where
    the noise is least.
    """
    reports = int(moments.flat[0])
    shares = moments / reports
    estimate = along_axes([d.mean for d in decoders], shares)
    second = along_axes([d.square for d in decoders], shares)
    least = least_noise([d.given for d in decoders])
    return TableEstimate(
        tuple(questions),
        tuple(d.answers for d in decoders),
        estimate,
        np.sqrt(np.maximum(second - estimate, least) / reports),
        max(reports // copies, 1),
        NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        influence=_width(decoders) / reports,
        report=1 / reports,
    )


def _width(decoders: Sequence[Decoder]) -> float:
    """Between the smallest and the largest product of one g of each question: g in [low, high],
    low <= 0 < high and -low <= high."""
    highest = math.prod(d.high for d in decoders)
    return highest - min(d.low * highest / d.high for d in decoders)


def combined(tables: Sequence[TableEstimate], weights: Sequence[float]) -> TableEstimate:
    """One table from independent reports of the same people: the weighted mean.

    weights: any positive numbers that do not depend on the reports, so that the mean has no bias;
    best are the inverses of the noise variances that were planned. The noise of different
    messages is independent; the sampling is the same, of the fewest people.
    """
    if len(tables) == 1:
        return tables[0]
    pairs = list(zip(np.array(weights) / np.sum(weights), tables, strict=True))
    return replace(
        tables[0],
        p_values=None,
        constant_noise=False,
        estimate=sum(w * table.estimate for w, table in pairs),
        noise_error=np.sqrt(sum(w**2 * table.noise_error**2 for w, table in pairs)),
        people=min(table.people for table in tables),
        influence=sum(w * table.influence for w, table in pairs),
        report=max(w * float(table.report) for w, table in pairs),
    )
