"""Intervals of few people, from counts whose noise has a known law: exact at every size.

Services add whole numbers to counts, and the law of these numbers is part of the plan. So the law
of a published count is known exactly for every number of people in a cell, and for every share of
a population. A test of each possible value accepts some counts, and the interval of a count holds
the values whose tests accept it. It never covers less often than its level.
Proof: docs/mathematics.md#intervals-of-small-counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.accountant import AdditiveNoise
from incrowd.estimation.intervals import Ends

MOST_PEOPLE = 300  # above, intervals are those of the normal distribution
PARTS = 4  # of what is missing from a known sum, each cell takes so many quarters
STEPS = 1000  # of the shares that are tested, evenly spaced on the arcsine scale
SLACK = 1e-9  # of the chance of an error: more than rounding and the tails that are left out
NEGLIGIBLE = 1e-13  # the chance of both tails that are left out of a law


@dataclass(frozen=True)
class PublishedCounts:
    """The counts of the cells of a table as services published them.

    noise: the law of what was added to each cell. people: those who are counted. The other fields
    are whole numbers in the shape of the table. counts: what was published, of any sign. cells: how
    many cells of a message each count adds up, each with its noise; 0 if it is known exactly. of:
    if each person is in exactly one of some cells, the number of these; otherwise 0. missing: the
    number of these people less the sum of all these cells; 0 if there is no such sum.
    """

    noise: AdditiveNoise
    people: int
    counts: np.ndarray
    cells: np.ndarray
    of: np.ndarray
    missing: np.ndarray

    @property
    def few(self) -> bool:
        """Whether the people are so few that exact intervals are needed."""
        return self.people <= MOST_PEOPLE

    def mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> PublishedCounts:
        """Return the same with a change of each array, such as a choice of cells."""
        arrays = {name: change(getattr(self, name)) for name in ARRAYS}
        return PublishedCounts(self.noise, self.people, **arrays)

    @property
    def _laws(self) -> Iterator[tuple[np.ndarray, int, int]]:
        """The cells with the same law: where they are, how many they add up, out of how many."""
        for cells, of in sorted(set(zip(self.cells.flat, self.of.flat, strict=True))):
            yield (self.cells == cells) & (self.of == of), int(cells), int(of)

    def intervals(self, level: float, *, census: bool) -> Ends:
        """Return the ends of the interval of the share of each cell, at least 0 and at most 1.

        census: whether the shares are those of the people who are counted; otherwise, those of a
        population from which they are drawn at random.
        """
        low, high = np.empty(self.counts.shape), np.empty(self.counts.shape)
        for here, cells, of in self._laws:
            law = law_of_sum(self.noise, cells, of)
            values = law.unit * self.counts[here] + law.taken * self.missing[here]
            test = _tests(self.noise, cells, of, self.people, level, census)
            low[here], high[here] = test.intervals(values)
            if cells == of:  # nobody else can be drawn where a count without noise has all people
                low[here] = np.where(values == law.unit * self.people, 1.0, low[here])
        return low, high

    def p_values(self) -> np.ndarray:
        """Return for each cell the chance of its count or a larger one if nobody is in it."""
        p_values = np.empty(self.counts.shape)
        for here, cells, _ in self._laws:
            chances = law_of_sum(self.noise, cells, 0).chances
            tails = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
            places = np.clip(self.counts[here] + len(chances) // 2, 0, len(chances))
            p_values[here] = np.minimum(tails[places] + NEGLIGIBLE, 1.0)
        return p_values


ARRAYS = ("counts", "cells", "of", "missing")


def across_strata(
    strata: Sequence[PublishedCounts | None], place: int, margin: bool
) -> PublishedCounts | None:
    """Return the counts of a table with an open axis; margin: also their sums over it.

    None if the counts of a stratum are not known, or have another law.
    """
    parts = [part for part in strata if part]
    if len(parts) < len(strata) or len({part.noise for part in parts}) > 1:
        return None

    def stacked(name: str) -> np.ndarray:
        each = [getattr(part, name) for part in parts]
        return np.stack([*each, np.sum(each, axis=0)] if margin else each, place)

    arrays = {name: stacked(name) for name in ARRAYS}
    return PublishedCounts(parts[0].noise, sum(part.people for part in parts), **arrays)


class SumLaw(NamedTuple):
    """The law of an unbiased reading of the sum of some cells, in fractions of a person.

    The sum of the published counts, times `unit`, and `taken` times what is missing from the known
    sum of all cells, is `unit` times the number of people, and a symmetric whole number with these
    chances.
    """

    unit: int
    taken: int
    chances: np.ndarray


@lru_cache(maxsize=256)
def law_of_sum(noise: AdditiveNoise, cells: int, of: int) -> SumLaw:
    """Return the law of the sum of some cells out of `of` cells whose sum is known; 0: unknown.

    By least squares, s of C cells take s / C of what is missing. That is rounded to quarters: any
    part is unbiased, and the law stays one of few numbers.
    """
    parts = round(PARTS * cells / of) if of else 0
    unit = PARTS // math.gcd(PARTS, parts)
    taken = unit * parts // PARTS
    inside = _times(_repeated(noise, cells), unit - taken)
    outside = _times(_repeated(noise, of - cells), taken) if taken else np.ones(1)
    return SumLaw(unit, taken, _trimmed(np.convolve(inside, outside)))


@lru_cache(maxsize=256)
def _repeated(noise: AdditiveNoise, cells: int) -> np.ndarray:
    """Return the law of the sum of the noise of some cells."""
    chances = np.ones(1)
    for _ in range(cells):
        chances = _trimmed(np.convolve(chances, noise.chances))
    return chances


def _times(chances: np.ndarray, factor: int) -> np.ndarray:
    """Return the law of a multiple of a symmetric whole number."""
    if factor == 0:
        return np.ones(1)
    wide = np.zeros(factor * (len(chances) - 1) + 1)
    wide[::factor] = chances
    return wide


def _trimmed(chances: np.ndarray) -> np.ndarray:
    """Return a symmetric law without numbers that are too rare to matter."""
    tails = np.cumsum(chances[: len(chances) // 2])
    rare = int(np.searchsorted(tails, NEGLIGIBLE / 2))
    return chances[rare : len(chances) - rare]


class CountTests(NamedTuple):
    """Tests of some values in rising order: each accepts the counts from `least` to `most`.

    Both rise, so that the values that accept a count have no gaps. low, high: the first and last
    share of which each test is; they are the same if it is of one number of people.
    """

    low: np.ndarray
    high: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def intervals(self, counts: np.ndarray) -> Ends:
        """Return the ends of the shares whose tests accept each count."""
        inside = np.clip(counts, self.least[0], self.most[-1])
        first = np.searchsorted(self.most, inside, "left")
        last = np.searchsorted(self.least, inside, "right") - 1
        return self.low[first], self.high[last]


@lru_cache(maxsize=64)
def _tests(
    noise: AdditiveNoise, cells: int, of: int, people: int, level: float, census: bool
) -> CountTests:
    """Return the tests of the share of people who are in some cells."""
    law = law_of_sum(noise, cells, of)
    return (of_people if census else of_population)(law, people, level)


def of_people(law: SumLaw, people: int, level: float) -> CountTests:
    """Return the tests of all numbers of people in a cell.

    Each accepts the shortest stretch of noises around zero that is as likely as the level. A
    stretch of an even number reaches farther up where less than half of the people are in the cell,
    and farther down where more are. The test of nobody accepts all low counts, and that of
    everybody all high ones.
    """
    unit, chances, reach = law.unit, law.chances, len(law.chances) // 2
    values = np.arange(people + 1)
    sums = np.append(0.0, np.cumsum(chances))
    wanted = min(level + SLACK, sums[-1])
    sizes = np.arange(1, len(chances) + 1)
    starts = reach - (sizes - 1) // 2
    size = sizes[np.argmax(sums[starts + sizes] - sums[starts] >= wanted)]
    below, above = (size - 1) // 2, size // 2
    alone = int(np.argmax(sums[1:] >= wanted)) - reach
    least = unit * values - np.where(2 * values < people, below, above)
    most = unit * values + np.where(2 * values > people, below, above)
    least[0], most[-1] = -reach, unit * people + reach
    most[0], least[-1] = alone, unit * people - alone
    shares = values / people
    return _rising(shares, shares, least, most)


def of_population(law: SumLaw, people: int, level: float) -> CountTests:
    """Return the tests of all shares of a population, in small steps.

    The test of a step accepts counts in the order of their likelihood relative to the share that
    explains each best (Feldman and Cousins 1998), until the chance to miss is small enough for
    every share in the step: the lower tail at its first share, the upper one at its last.
    """
    reach, whole = len(law.chances) // 2, law.unit * people
    shares = np.sin(np.linspace(0.0, math.pi / 4, STEPS + 1)) ** 2  # the others are the same
    laws = _published_laws(shares, law, people)
    edges, inner = laws[::2], laws[1::2]
    best = np.maximum(inner.max(axis=0), inner.max(axis=0)[::-1])
    ratios = np.divide(inner, best, out=np.zeros_like(inner), where=best > 0)
    order = np.argsort(-ratios, axis=1, kind="stable")
    first = np.minimum.accumulate(order, axis=1)
    last = np.maximum.accumulate(order, axis=1)
    below = np.cumsum(edges[:-1], axis=1) - edges[:-1]
    above = np.cumsum(edges[1:, ::-1], axis=1)[:, ::-1] - edges[1:]
    missed = np.take_along_axis(below, first, 1) + np.take_along_axis(above, last, 1)
    enough = np.argmax(missed <= max(1 - level - SLACK, 0.0), axis=1)[:, None]
    least = np.take_along_axis(first, enough, 1)[:, 0] - reach
    most = np.take_along_axis(last, enough, 1)[:, 0] - reach
    counts = np.arange(whole // 2 + reach + 1) - reach  # each is accepted where it is likeliest
    places = np.argmax(inner[:, : len(counts)], axis=0)
    np.minimum.at(least, places, counts)
    np.maximum.at(most, places, counts)
    edge = shares[::2]
    return _rising(
        np.concatenate([edge[:-1], 1 - edge[:0:-1]]),
        np.concatenate([edge[1:], 1 - edge[-2::-1]]),
        np.concatenate([least, whole - most[::-1]]),
        np.concatenate([most, whole - least[::-1]]),
    )


def _published_laws(shares: np.ndarray, law: SumLaw, people: int) -> np.ndarray:
    """Return the law of a published count for each share, a row each."""
    numbers = np.arange(people + 1)
    ways = scipy.special.gammaln(people + 1) - scipy.special.gammaln(
        np.stack([numbers + 1, people - numbers + 1])
    ).sum(axis=0)
    logs = ways + scipy.special.xlogy(numbers, shares[:, None])
    drawn = np.exp(logs + scipy.special.xlogy(people - numbers, 1 - shares[:, None]))
    wide = len(law.chances)
    added = np.zeros((people + 1, law.unit * people + wide))
    for number in numbers:
        added[number, law.unit * number : law.unit * number + wide] = law.chances
    return np.asarray(drawn @ added)


def _rising(low: np.ndarray, high: np.ndarray, least: np.ndarray, most: np.ndarray) -> CountTests:
    """Return tests that accept more counts where needed, so that `least` and `most` rise."""
    rising = np.minimum.accumulate(least[::-1])[::-1]
    return CountTests(low, high, rising, np.maximum.accumulate(most))
