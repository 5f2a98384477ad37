"""Comparisons of groups of few people: chances of published counts, and coverage by enumeration."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import scipy
from scipy.stats import binom

from incrowd.accountant import AdditiveNoise
from incrowd.estimation.association import independence_test
from incrowd.estimation.cell_errors import CellErrors
from incrowd.estimation.compare import conditional_share, difference, odds_ratio
from incrowd.estimation.ratios import DIFFERENCE, ODDS
from incrowd.estimation.small_counts import PublishedCounts, across_strata
from incrowd.estimation.small_groups import GroupCounts, small_group
from incrowd.estimation.tables import Provenance, TableEstimate
from tests.conftest import one_in

LONE, BOTH = AdditiveNoise.laplace(2.0, most=12), AdditiveNoise.laplace(1.0, most=24)
NOISES = {"0.85": LONE.plus(LONE), "1.92": BOTH.plus(BOTH)}
LIMIT = scipy.special.chdtri(1, 0.05)
SHARES = (0.02, 0.1, 0.3, 0.5)
OTHERS = (0.05, 0.1, 0.5, 0.9)


def of_known_size(noise, size, having, missing, census):
    """A group of known size whose two answers have cells of their own."""
    return GroupCounts(noise, (having, size - missing), (1, 2), 2, missing, census)


def of_noisy_size(noise, counts, census):
    return GroupCounts(noise, counts, (1, 2), 0, 0, census)


SHORT = AdditiveNoise.laplace(1.2, most=6)


def sides(having, lacking, share, weight, census):
    """Oracle: the chances of both sides of the counts, summed over the people and both noises.

    The counts A and B are ordered by (1 - weight) A - weight B.
    """
    size, chances, reach = having + lacking, SHORT.chances, SHORT.reach
    people = {size * share: 1.0}
    if not census:
        people = {x: float(binom.pmf(x, size, share)) for x in range(size + 1)}
    below = above = 0.0
    for x, i, j in product(people, range(len(chances)), range(len(chances))):
        a, b = x + i - reach - having, size - x + j - reach - lacking
        chance, ahead = people[x] * chances[i] * chances[j], (1 - weight) * a - weight * b
        below += chance * (ahead < 1e-9)
        above += chance * (ahead > -1e-9)
    return below, above


@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("having", "lacking"), [(-1, 9), (1, 7), (3, 5), (6, 2), (9, -1)])
def test_the_chances_of_a_group_are_those_of_all_outcomes(having, lacking, known, census):
    size = having + lacking
    group = of_noisy_size(SHORT, (having, size), census)
    if known:
        group = of_known_size(SHORT, size, having, 0, census)
    tests = small_group(group)
    possible = tests.shares[tests.errors < 5]
    for share in possible[:: max(1, len(possible) // 6)]:
        weight = 0.5 if known else share
        smaller = min(*sides(having, lacking, share, weight, census), 0.5)
        square = tests.distances(np.array([share]))[0]
        assert square == pytest.approx(scipy.special.ndtri(smaller) ** 2, abs=1e-6)


@cache
def outcomes(noise, size, share, known, census, least):
    """All counts that a group can have with more than the least chance, and their chances."""
    chances, reach = noise.chances, noise.reach
    people = {round(share * size): 1.0}
    if not census:
        people = {x: float(binom.pmf(x, size, share)) for x in range(size + 1)}
    counts = {}
    for (x, chance), i, j in product(people.items(), *[range(len(chances))] * 2):
        having, everyone = x + i - reach, size + i + j - 2 * reach
        # of a known size, only A - B matters
        key = (2 * having - everyone + size,) if known else (having, everyone)
        counts[key] = counts.get(key, 0.0) + chance * chances[i] * chances[j]
    counts = {key: chance for key, chance in counts.items() if chance > least}
    groups = [
        of_known_size(noise, size, key[0] // 2, key[0] % 2, census)
        if known
        else of_noisy_size(noise, key, census)
        for key in counts
    ]
    return groups, np.array(list(counts.values()))


def exact(group):
    tests = small_group(group)
    return tests.distances, tests.nearest[1]


def coverage(contrast, noise, sizes, shares, known=True, census=False, least=1e-6, how=exact):
    """The least and the greatest chance that the value of a figure is not rejected.

    They differ by the outcomes that are too rare. The nearest shares are searched on a fine grid.
    how: the distances of shares from the counts, and the distance of the nearest.
    """
    points = 4000 if census else 150  # without sampling, distances have steps
    curve = contrast.curve(contrast.at(np.array(shares)), np.linspace(0, 1, points))
    curve = np.vstack([curve, [shares]])
    (first, chances), (second, others) = (
        outcomes(noise, size, share, known, census, least)
        for size, share in zip(sizes, shares, strict=True)
    )
    distances = [
        np.array([distance(column) - nearest for distance, nearest in map(how, groups)])
        for groups, column in zip((first, second), curve.T, strict=True)
    ]
    nearest = np.full((len(first), len(second)), np.inf)
    for one, two in zip(distances[0].T, distances[1].T, strict=True):
        nearest = np.minimum(nearest, one[:, None] + two)
    held = float(chances @ (nearest <= LIMIT) @ others)
    return held, held + 1 - float(chances.sum() * others.sum())


CONTRASTS = pytest.mark.parametrize("contrast", [DIFFERENCE, ODDS], ids=["difference", "odds"])


@CONTRASTS
@pytest.mark.parametrize(
    "sizes", one_in(5, [(5, 5), (10, 10), (10, 30), (20, 20), (60, 60)], whole=True)
)
@pytest.mark.parametrize("name", NOISES)
def test_comparisons_of_groups_of_known_size_cover(name, sizes, contrast):
    pairs = product(SHARES, OTHERS)
    low, high = np.transpose([coverage(contrast, NOISES[name], sizes, each) for each in pairs])
    print(f"noise {name}, groups of {sizes}: {low.min():.4f}, mean {low.mean():.4f}")
    assert low.min() >= 0.95
    assert min(sizes) < 60 or high.mean() <= 0.975


@CONTRASTS
@pytest.mark.parametrize("name", one_in(2, NOISES))
def test_comparisons_in_a_census_cover(name, contrast):
    pairs = product((0.1, 0.3, 0.5), (0.1, 0.5, 0.9))
    covers = [coverage(contrast, NOISES[name], (10, 20), each, census=True)[0] for each in pairs]
    assert min(covers) >= 0.95


@pytest.mark.slow
def test_comparisons_of_groups_of_noisy_size_cover():
    low, high = coverage(DIFFERENCE, LONE, (8, 10), (0.1, 0.4), known=False, least=1e-4)
    assert high - low < 0.02
    assert low >= 0.95


@pytest.mark.slow
@CONTRASTS
@pytest.mark.parametrize("census", [False, True])
@pytest.mark.parametrize("sizes", [(10, 10), (20, 20), (10, 40)])
@pytest.mark.parametrize("name", NOISES)
def test_comparisons_of_groups_of_noisy_size_cover_at_length(name, sizes, census, contrast):
    """Outcomes that are too rare count as missed, as often as all others together."""
    for shares in ((0.1, 0.1), (0.1, 0.3), (0.1, 0.5), (0.5, 0.5), (0.5, 0.9)):
        low, high = coverage(
            contrast, NOISES[name], sizes, shares, known=False, census=census, least=1e-4
        )
        assert high - low < 0.05
        assert low / (1 - high + low) >= 0.95


def impossible_counts_as_evidence(group):
    """The distance of the nearest share is not taken off."""
    return small_group(group).distances, 0.0


def normal(group):
    """The squared errors of the normal distribution, with the variance under the hypothesis."""
    size = group.counts[1] + group.missing

    def distances(shares):
        off = group.counts[0] + group.missing / 2 - shares * size
        return off**2 / (size * shares * (1 - shares) + group.noise.variance / 2)

    return distances, distances(np.linspace(0, 1, 1001)).min()


@pytest.mark.parametrize("wrong", [impossible_counts_as_evidence, normal])
def test_other_distances_would_not_cover(wrong):
    noise, pairs = NOISES["1.92"], [*product(SHARES, OTHERS)]
    assert min(coverage(DIFFERENCE, noise, (10, 10), each, how=wrong)[0] for each in pairs) < 0.95


@pytest.mark.slow
def test_differences_between_departments_are_seen_in_a_census():
    """Five departments of 60 people, of whom 25 points more say yes in one; ten pairs."""
    noise, limit = NOISES["1.92"], scipy.special.chdtri(1, 0.05 / 10)
    (first, chances), (second, others) = (
        outcomes(noise, 60, share, False, True, 1e-5) for share in (0.55, 0.30)
    )
    shares = np.linspace(0.2, 0.7, 101)
    distances = [
        np.array([small_group(each).distances(shares) for each in groups])
        for groups in (first, second)
    ]
    nearest = (distances[0][:, None] + distances[1][None]).min(axis=2)
    assert chances @ (nearest > limit) @ others >= 0.95


def table_of(counts, noise, *, noise_only=False, exact=True):
    """A table of groups and answers with its margins, each person in one cell."""
    counts = np.asarray(counts)
    groups, answers = counts.shape
    sums = np.kron(*(np.vstack([np.eye(size), np.ones(size)]) for size in counts.shape))
    shape, people = (groups + 1, answers + 1), round(counts.sum() / 10) * 10
    cells = (sums @ counts.ravel() / people).reshape(shape)
    within = np.maximum(counts.ravel() / counts.sum(), 0)
    drawn = sums @ (np.diag(within) - np.outer(within, within)) @ sums.T / people
    error = CellErrors.of_noise(cells, cells, people, noise_only=noise_only, constant=True)
    table = TableEstimate(
        ("team", "answer"),
        tuple(
            tuple(f"{axis}{i}" for i in range(size))
            for axis, size in zip("ta", counts.shape, strict=True)
        ),
        cells,
        replace(error, report=1 / people),
        Provenance(people),
        (True, True),
        (True, True),
    ).with_covariance(sums @ sums.T * noise.variance / people**2, drawn, None)
    whole = [(sums @ each.ravel()).reshape(shape) for each in (counts, np.ones_like(counts))]
    same = [np.full(shape, each) for each in (counts.size, people - counts.sum())]
    published = PublishedCounts(
        noise, people, *(np.rint(each).astype(np.int64) for each in (*whole, *same))
    )
    return table.with_errors(published=published) if exact else table


GROUPS = ("answer", "a1"), ("team", "t0"), ("team", "t1")
FIGURES = (difference, odds_ratio)


@pytest.mark.parametrize("noise_only", [False, True])
def test_comparisons_of_a_table_use_the_law_of_its_noise(noise_only):
    counts, noise = [[11, 19], [20, 11], [30, 30]], NOISES["0.85"]
    exact, normal = (
        table_of(counts, noise, noise_only=noise_only, exact=each) for each in (True, False)
    )
    assert not noise_only or exact.error.includes == "noise alone"
    first, second = (
        small_group(GroupCounts(noise, (having, everyone), (1, 2), 6, -1, noise_only))
        for having, everyone in ((19, 30), (11, 31))
    )
    for figure, contrast in zip(FIGURES, (DIFFERENCE, ODDS), strict=True):
        found, rough = figure(exact, *GROUPS), figure(normal, *GROUPS)
        assert (found.estimate, found.method, rough.method) == (rough.estimate, "exact", "score")
        assert (found.low, found.high) != (rough.low, rough.high)
        assert found.low == pytest.approx(rough.low, abs=0.25 * abs(rough.high - rough.low))
        for end in (found.low, found.high):
            curve = contrast.curve(end, np.linspace(0, 1, 20001))
            nearest = (first.distances(curve[:, 0]) + second.distances(curve[:, 1])).min()
            assert nearest == pytest.approx(LIMIT, rel=0.01)
    share = conditional_share(exact, *GROUPS[:2])
    inside = first.shares[first.distances(first.shares) <= LIMIT]
    assert [share.low, share.high] == pytest.approx([inside[0], inside[-1]], abs=0.01)


@pytest.mark.parametrize("counts", [[[14, 6], [6, 14]], [[12, 8], [7, 13]], [[11, 9], [8, 12]]])
def test_the_test_of_equal_shares_agrees_with_the_intervals(counts):
    table = table_of(counts, NOISES["0.85"])
    test = independence_test(table)
    differs = test.p_value <= 0.05
    assert test.method == "exact" and "(exact test)" in test.sentence
    for figure, equal in zip(FIGURES, (0, 1), strict=True):
        found = figure(table, *GROUPS)
        assert differs == (not found.low <= equal <= found.high)


def test_groups_of_a_table_of_many_people_are_compared_by_the_normal_distribution():
    counts = [[100, 80], [90, 81]]
    exact, normal = (table_of(counts, NOISES["1.92"], exact=each) for each in (True, False))
    for figure in FIGURES:
        assert figure(exact, *GROUPS) == figure(normal, *GROUPS)


@pytest.mark.parametrize("census", [False, True])
def test_strata_of_a_lone_question_are_groups_of_known_size(census):
    """Of a single bit, "no" is everybody but "yes": the size of a stratum has no noise."""
    noise, strata = NOISES["0.85"], ((9, 30), (17, 31))
    parts = [
        PublishedCounts(
            noise,
            size,
            np.array([size - yes, yes, size]),
            np.array([1, 1, 0]),
            np.zeros(3, np.int64),
            np.zeros(3, np.int64),
        )
        for yes, size in strata
    ]
    table = across_strata(parts, 0, True)
    low, high = table.intervals(0.95, census=census)
    sizes = np.array([30, 31, 61]) / 61
    exact = low[:, 2] == high[:, 2]
    assert exact.tolist() == [census, census, True]
    assert np.array_equal(low[exact, 2], sizes[exact])
    assert np.all((low[:, 2] <= sizes) & (sizes <= high[:, 2]))
    assert np.all(low[:, :2] < high[:, :2])
    for (yes, size), row in zip((*strata, (26, 61)), range(3), strict=True):
        picked = table.mapped(lambda each, row=row: each[row, [1, 2]])
        tests = small_group(GroupCounts.pair(picked, 0, census))
        inside = tests.shares[tests.distances(tests.shares) <= LIMIT]
        assert inside[0] < yes / size < inside[-1]
        own = replace(picked, people=size).intervals(0.95, census=census)
        assert [inside[0], inside[-1]] == pytest.approx([own[0][0], own[1][0]], abs=1.2 / size)
