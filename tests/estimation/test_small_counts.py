"""Exact intervals of few people: coverage by enumeration of all published counts."""

import time
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from incrowd.accountant import AdditiveNoise
from incrowd.estimation.cell_errors import CellErrors
from incrowd.estimation.intervals import HALF_WIDTH, score_ends
from incrowd.estimation.simultaneous import simultaneous_intervals
from incrowd.estimation.small_counts import MOST_PEOPLE, PublishedCounts, law_of_sum
from incrowd.estimation.tables import OpenAxis, Provenance, TableEstimate, across

LONE, TABLE = AdditiveNoise.laplace(2.0, most=12), AdditiveNoise.laplace(1.0, most=24)
NOISES = {"0.60": LONE, "0.85": LONE.plus(LONE), "1.36": TABLE, "1.92": TABLE.plus(TABLE)}
PEOPLE = (10, 20, 60, 100, 300)
SHARES = np.linspace(0.01, 0.5, 99)
NEAR = 1e-12


def published(counts, noise, people, cells=1, of=0, missing=0):
    counts = np.asarray(counts)
    same = [np.full(counts.shape, each) for each in (cells, of, missing)]
    return PublishedCounts(noise, people, counts, *same)


def exact(noise, people):
    """The ends for every count that can be published of one cell, in a population and a census."""
    counts = np.arange(-noise.reach, people + noise.reach + 1)
    found = published(counts, noise, people)
    return found.intervals(0.95, census=False), found.intervals(0.95, census=True)


def covered(ends, shares, laws):
    """The chance that the interval of a count holds each share. laws: of the counts, a row each."""
    low, high = ends
    held = (low <= shares[:, None] + NEAR) & (shares[:, None] - NEAR <= high)
    return (laws * held).sum(axis=1)


def drawn(noise, people, shares):
    """Oracle: the law of a published count of people who are drawn at random."""
    laws = binom.pmf(np.arange(people + 1), people, shares[:, None])
    return np.array([np.convolve(law, noise.chances) for law in laws])


def counted(noise, people):
    """The law of a published count for every number of people in the cell."""
    return np.array([np.convolve(row, noise.chances) for row in np.eye(people + 1)])


def normal(noise, people):
    """The ends by the normal distribution, for every count."""
    counts = np.arange(-noise.reach, people + noise.reach + 1)
    variance = np.full(len(counts), (noise.deviation / people) ** 2)
    return score_ends(HALF_WIDTH, counts / people, variance, 1 / people, people)


def right_of_populations(coverage):
    return coverage.min() >= 0.95 and coverage.mean() <= 0.975


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("name", NOISES)
def test_intervals_of_a_population_cover_every_share(name, people):
    noise = NOISES[name]
    coverage = covered(exact(noise, people)[0], SHARES, drawn(noise, people, SHARES))
    print(f"noise {name}, {people} people: {coverage.min():.4f}, mean {coverage.mean():.4f}")
    assert right_of_populations(coverage)


@pytest.mark.parametrize("people", [10, 20, 60])
def test_normal_intervals_of_few_people_would_not_cover(people):
    noise = NOISES["0.85"]
    coverage = covered(normal(noise, people), SHARES, drawn(noise, people, SHARES))
    assert not right_of_populations(coverage)


def smallest_set(noise, symmetric=False):
    """The chance of the smallest stretch of noises that is as likely as the level, by trying all.

    symmetric: of those that have as many numbers above zero as below it.
    """
    size = len(noise.chances)
    stretches = [
        (high - low, -noise.chances[low:high].sum())
        for low, high in product(range(size), range(1, size + 1))
        if low < high and (not symmetric or low + high == size)
    ]
    return -min(each for each in stretches if each[1] <= -0.95)[1]


def right_of_a_census(coverage, noise):
    """Whether the mean is at most 96.5 percent, or what the whole numbers allow, except where
    nobody, everybody, or half of the people are in the cell."""
    most, numbers = max(0.965, smallest_set(noise)), np.arange(len(coverage))
    others = (numbers % (len(coverage) - 1) > 0) & (2 * numbers != len(coverage) - 1)
    return coverage.min() >= 0.95 and coverage[others].mean() <= most + NEAR


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("name", NOISES)
def test_intervals_of_a_census_cover_every_number_of_people(name, people):
    noise, shares = NOISES[name], np.arange(people + 1) / people
    coverage = covered(exact(noise, people)[1], shares, counted(noise, people))
    print(
        f"noise {name}, {people} people: {coverage.min():.4f}, mean {coverage.mean():.4f}; "
        f"the smallest set has {smallest_set(noise):.4f}"
    )
    assert right_of_a_census(coverage, noise)
    assert coverage.min() <= smallest_set(noise) + NEAR


def test_symmetric_sets_would_cover_too_often():
    noise, people = NOISES["0.85"], 60
    assert smallest_set(noise) == pytest.approx(0.954, abs=5e-4)  # -1, 0, 1 and 2
    assert smallest_set(noise, symmetric=True) == pytest.approx(0.986, abs=5e-4)
    counts = np.arange(-noise.reach, people + noise.reach + 1)
    symmetric = (counts - 2) / people, (counts + 2) / people
    coverage = covered(symmetric, np.arange(people + 1) / people, counted(noise, people))
    assert not right_of_a_census(coverage, noise)


@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999, 1 - 1e-12])
def test_no_interval_is_empty_and_all_rise_with_the_count(level, census):
    noise, people = NOISES["1.36"], 17
    counts = np.arange(-3 * noise.reach, people + 3 * noise.reach)
    low, high = published(counts, noise, people).intervals(level, census=census)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))
    assert np.all(np.diff(low) >= 0) and np.all(np.diff(high) >= 0)
    possible = (counts >= 0) & (counts <= people) & (level >= 0.95)
    assert np.all((low <= counts / people + NEAR)[possible])
    assert np.all((counts / people - NEAR <= high)[possible])
    wide = published(counts, noise, people).intervals((1 + level) / 2, census=census)
    assert np.all(wide[0] <= low) and np.all(wide[1] >= high)


@pytest.mark.parametrize("census", [False, True])
def test_the_interval_of_those_who_did_not_is_the_mirror_image(census):
    noise, people = NOISES["0.85"], 24
    counts = np.arange(-5, people + 6)
    low, high = published(counts, noise, people).intervals(0.95, census=census)
    others = published(people - counts, noise, people).intervals(0.95, census=census)
    assert others[0] == pytest.approx(1 - high, abs=NEAR)
    assert others[1] == pytest.approx(1 - low, abs=NEAR)


SHORT = AdditiveNoise.laplace(1.5, most=4)


@cache
def enumerated(cells, of, people_in):
    """Every outcome of the noise of some cells: readings of the sum of the first ones, and chances.

    The best part of what is missing is cells / of; the nearest number of quarters is taken.
    """
    part = min(np.arange(5) / 4, key=lambda each: (abs(each - cells / of), 4 * each % 2))
    found = {}
    chances = SHORT.chances
    for places in product(range(len(chances)), repeat=of):
        noise = np.array(places) - SHORT.reach
        reading = people_in + noise[:cells].sum() - part * noise.sum()
        found[reading] = found.get(reading, 0.0) + np.prod(chances[list(places)])
    return found


@pytest.mark.parametrize(("cells", "of"), [(1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (1, 6)])
def test_the_law_of_a_sum_is_that_of_all_outcomes_of_the_noise(cells, of):
    law, reach = law_of_sum(SHORT, cells, of), 0
    reach = len(law.chances) // 2
    expected = enumerated(cells, of, 0)
    found = dict(zip((np.arange(-reach, reach + 1) / law.unit).tolist(), law.chances, strict=True))
    for reading, chance in expected.items():
        assert found.get(reading, 0.0) == pytest.approx(chance, abs=1e-12)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("cells", "of"), [(1, 2), (1, 4), (3, 4), (5, 10), (3, 0)])
@pytest.mark.parametrize("people", [10, 60])
def test_intervals_of_sums_of_cells_cover(cells, of, people):
    """The sum of all cells is known unless `of` is 0: a sum takes a part of what is missing."""
    law = law_of_sum(NOISES["0.85"], cells, of)
    reach = len(law.chances) // 2
    values = np.arange(-reach, law.unit * people + reach + 1)
    # a count with what is missing, in units: only their weighted sum matters
    missing = values if law.taken else np.zeros_like(values)
    counts = (values - law.taken * missing) / law.unit
    found = PublishedCounts(
        NOISES["0.85"],
        people,
        counts,
        *(np.full(len(values), each) for each in (cells, of)),
        missing,
    )
    stretched = np.zeros((people + 1, len(values)))
    for number in range(people + 1):
        start = law.unit * number
        stretched[number, start : start + len(law.chances)] = law.chances
    laws = binom.pmf(np.arange(people + 1), people, SHARES[:, None]) @ stretched
    assert right_of_populations(covered(found.intervals(0.95, census=False), SHARES, laws))
    every = np.arange(people + 1) / people
    assert covered(found.intervals(0.95, census=True), every, stretched).min() >= 0.95


def test_all_people_are_known_exactly():
    found = published([57], NOISES["1.92"], 60, cells=4, of=4, missing=3)
    for census in (False, True):
        assert [float(end[0]) for end in found.intervals(0.95, census=census)] == [1, 1]


def test_the_chance_of_a_count_of_nobody():
    noise = NOISES["0.85"]
    counts = np.arange(-noise.reach - 3, noise.reach + 4)
    found = published(counts, noise, 60).p_values()
    numbers = np.arange(-noise.reach, noise.reach + 1)
    expected = [noise.chances[numbers >= count].sum() for count in counts]
    assert found == pytest.approx(expected, abs=1e-11)


def table_of(counts, noise, people, *, noise_only=False):
    """A table of the cells of a message, with and without what is known of the noise."""
    counts = np.asarray(counts)
    estimate = counts / people
    deviations = np.full(counts.shape, noise.deviation / people)
    error = CellErrors.of_noise(
        deviations, estimate, people, noise_only=noise_only, report=1 / people, constant=True
    )
    found = published(counts, noise, people, of=counts.size, missing=people - counts.sum())
    names = (tuple(map(str, range(counts.size))),)
    plain = TableEstimate(("a",), names, estimate, error, Provenance(people), (True,), (False,))
    return plain, replace(plain, error=replace(error, published=found))


@pytest.mark.parametrize("noise_only", [False, True])
def test_a_table_of_few_people_has_exact_intervals(noise_only):
    plain, table = table_of([-1, 4, 25, 31], NOISES["0.85"], 60, noise_only=noise_only)
    found = table.error.published.intervals(0.95, census=noise_only)
    assert np.array_equal([table.low, table.high], found)
    assert not np.allclose(table.low, plain.low)
    together = simultaneous_intervals(table, method="max-t")
    assert together.method == "bonferroni"
    found = table.error.published.intervals(1 - 0.05 / 4, census=noise_only)
    assert np.array_equal([together.low, together.high], found)


def test_a_table_of_many_people_has_normal_intervals():
    few, many = (table_of([7, 8, size - 15], NOISES["1.92"], size) for size in (300, 301))
    assert MOST_PEOPLE == 300
    assert not np.allclose(few[0].low, few[1].low)
    assert np.array_equal(many[0].low, many[1].low)
    for plain, table in (few, many):
        assert table.low == pytest.approx(plain.low, abs=0.006)  # they differ little there


def test_cells_rise_above_the_noise_by_its_law():
    noise = NOISES["0.85"]
    _, table = table_of([-1, 2, 4, 55], noise, 60)
    assert table.above_noise().tolist() == [False, False, True, True]
    tail = noise.chances[np.arange(-noise.reach, noise.reach + 1) >= 4].sum()
    assert tail < 0.05 / 4


def test_a_table_that_is_changed_has_normal_intervals():
    _, table = table_of([7, 8, 45], NOISES["0.85"], 60)
    changed = table.with_covariance(np.eye(3) * 1e-4, np.eye(3) * 1e-4, None)
    assert changed.error.published is table.error.published
    assert changed.linear(table.estimate, np.eye(3)).error.published is None


def test_strata_together_keep_the_law_of_their_counts():
    first, second = (table_of(counts, NOISES["0.85"], 30)[1] for counts in ([9, 20], [3, 28]))
    axis = OpenAxis("b", ("x", "y"), 0, (30, 30))
    table = across([first, second], axis, margin=True)
    found = table.error.published
    assert found.people == 60
    assert found.counts.tolist() == [[9, 20], [3, 28], [12, 48]]
    assert found.missing.tolist() == [[1, 1], [-1, -1], [0, 0]]
    assert found.cells.tolist() == [[1, 1], [1, 1], [2, 2]]
    assert found.of.tolist() == [[2, 2], [2, 2], [4, 4]]
    other = table_of([3, 28], NOISES["1.92"], 30)[1]
    assert across([first, other], axis).error.published is None
    assert (
        across(
            [first, replace(second, error=replace(second.error, published=None))], axis
        ).error.published
        is None
    )


@pytest.mark.slow
def test_intervals_of_few_people_take_little_time():
    noise = AdditiveNoise.laplace(1.01, most=24)  # of no other test, so that nothing is remembered
    start = time.process_time()
    published(np.arange(10), noise.plus(noise), 300).intervals(0.95, census=False)
    assert time.process_time() - start < 0.2
