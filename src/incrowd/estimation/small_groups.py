"""Shares within groups of few people, tested with the law of the noise of published counts.

For each share, the chances of the published counts on both sides of those that were observed are
exact. They are restated as squared errors of a normal distribution, so that comparisons of groups
use them as they use those of many people. Proof: docs/mathematics.md#groups-of-few-people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from incrowd.accountant import AdditiveNoise
from incrowd.estimation.small_counts import ARRAYS, PublishedCounts, law_of_sum

POINTS = 201  # the shares at which a group is tested
WIDTH = 7.0  # standard errors on each side of the estimate within which they are
PSEUDO = 4.0  # people who are added to the standard error of few
TIE = 1e-9  # of a person
LEAST = 1e-300  # of a chance


@dataclass(frozen=True)
class SmallGroup:
    """How far some shares of a group are from its published counts, in standard errors.

    shares: in rising order. errors: those of a normal distribution that are exceeded on one side
    with the smaller of the chances of both sides; 0 for a chance above one half.
    """

    shares: np.ndarray
    errors: np.ndarray

    def distances(self, shares: np.ndarray) -> np.ndarray:
        """Return the squared errors of any shares, by lines between those that were tested."""
        return np.asarray(np.interp(shares, self.shares, self.errors) ** 2)

    @property
    def nearest(self) -> tuple[float, float]:
        """The share that is nearest to the counts, and its squared errors."""
        least = float(self.errors.min())
        nearest = self.shares[self.errors == least]
        return float(nearest[len(nearest) // 2]), least**2


@dataclass(frozen=True)
class GroupCounts:
    """The published counts of those in a group who gave an answer, and of all in the group.

    noise: of each cell. cells: how many the counts add up; those of all include those of the
    answer. of, missing: as in `PublishedCounts`. census: whether the share is that of the people
    who are counted; otherwise that of a population from which they are drawn at random.
    """

    noise: AdditiveNoise
    counts: tuple[int, int]
    cells: tuple[int, int]
    of: int
    missing: int
    census: bool

    @classmethod
    def pair(cls, published: PublishedCounts, first: int, census: bool) -> GroupCounts:
        """Return the first of some counts and the next one as those of a group."""
        (a, b), (cells, both), (of, _), (missing, _) = (
            map(int, getattr(published, name)[first : first + 2]) for name in ARRAYS
        )
        return cls(published.noise, (a, b), (cells, both), of, missing, census)


@lru_cache(maxsize=1024)
def small_group(group: GroupCounts) -> SmallGroup:
    """Return the tests of the share of those in a group who gave an answer."""
    return _of_known_size(group) if group.cells[1] == group.of else _of_noisy_size(group)


def _of_known_size(group: GroupCounts) -> SmallGroup:
    """Return the tests of a group whose size is known: V = unit X + W, with the law of W."""
    law, size = law_of_sum(group.noise, group.cells[0], group.of), group.counts[1] + group.missing
    value = law.unit * group.counts[0] + law.taken * group.missing
    if group.census:
        shares = np.arange(size + 1) / size
        present = np.eye(size + 1)
    else:
        variance = _variance(law.chances) / law.unit**2
        shares = _near(value / law.unit, size, variance)
        present = _binomial(size, shares)
    reach = len(law.chances) // 2
    sums = np.append(0.0, np.cumsum(law.chances))
    rest = value - law.unit * np.arange(size + 1)
    least = 1 - sums[np.clip(rest + reach, 0, len(sums) - 1)]
    most = sums[np.clip(rest + reach + 1, 0, len(sums) - 1)]
    return SmallGroup(shares, _errors(present @ most, present @ least))


def _of_noisy_size(group: GroupCounts) -> SmallGroup:
    """Return the tests of a group whose size is the sum of two published counts.

    The counts A and B of those who gave the answer and those who did not have independent noise.
    For a share p, (1 - p) A - p B has the mean zero whatever the size, and its law depends little
    on it: the size is taken to be as published. Those who gave other answers do not matter.
    """
    (having, everyone), (cells, all_cells) = group.counts, group.cells
    size, census = max(everyone, 1), group.census
    inside, outside = (
        law_of_sum(group.noise, number, 0).chances for number in (cells, all_cells - cells)
    )
    variances = _variance(inside), _variance(outside)
    share = min(max(having / size, 0.0), 1.0)
    noise = (1 - share) ** 2 * variances[0] + share**2 * variances[1]
    shares = np.clip(_near(having, size, noise, census), TIE, 1 - TIE)
    sums = np.append(0.0, np.cumsum(outside))
    up = np.arange(len(inside)) - len(inside) // 2
    middle, width = len(outside) // 2, len(outside)
    tails = np.empty((2, POINTS))
    for place, p in enumerate(shares):
        present = np.array([p * size]) if census else np.arange(size + 1.0)
        chances = np.ones(1) if census else _binomial(size, np.array([p]))[0]
        above = present[:, None] + up - having  # A less what was published
        # B - b <= odds (A - a), B = size - X + noise: which noises of B are on this side
        limit = (1 - p) / p * above + (everyone - having) - (size - present[:, None])
        far = np.clip(np.floor(limit + TIE) + middle + 1, 0, width).astype(np.intp)
        near = np.clip(np.ceil(limit - TIE) + middle, 0, width).astype(np.intp)
        tails[0, place] = chances @ (1 - sums[near]) @ inside
        tails[1, place] = chances @ sums[far] @ inside
    return SmallGroup(shares, _errors(*tails))


def _near(value: float, size: int, noise: float, census: bool = False) -> np.ndarray:
    """Return shares near the estimate, for a count with noise."""
    share = min(max(value / size, 0.0), 1.0)
    wider = (share * size + PSEUDO / 2) / (size + PSEUDO)
    sampling = 0.0 if census else wider * (1 - wider) / size
    half = WIDTH * math.sqrt(sampling + noise / size**2)
    return np.linspace(max(share - half, 0.0), min(share + half, 1.0), POINTS)


def _errors(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return the standard errors of the smaller of the chances of both sides."""
    smaller = np.clip(np.minimum(below, above), LEAST, 0.5)
    return np.asarray(-scipy.special.ndtri(smaller))


def _variance(chances: np.ndarray) -> float:
    numbers = np.arange(len(chances)) - len(chances) // 2
    return float(chances @ numbers**2)


def _binomial(size: int, shares: np.ndarray) -> np.ndarray:
    """Return the chances of each number of people, a row for each share."""
    return np.asarray(scipy.stats.binom.pmf(np.arange(size + 1), size, shares[:, None]))
