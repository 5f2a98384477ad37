"""Comparisons, tests and Cramer's V from cells, where few people give an answer.

Counts are drawn from the law of the noise: each of N bits of a cell is flipped with probability q.
Seeds are fixed. Of R collections, intervals that cover with 95% cover fewer than 4 standard errors
below that with probability 3e-5. The wrong variants are the methods that these replaced: variances
at the estimate with 1.96^2 people added to each, Wald's test with these, and the largest noise in
all directions for V.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2, norm

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation import association
from incrowd.estimation.association import (
    Length,
    cramers_v,
    independence_test,
    quadratic_form,
)
from incrowd.estimation.cell_errors import CellErrors
from incrowd.estimation.compare import two_way
from incrowd.estimation.ratios import (
    DIFFERENCE,
    ODDS,
    SHARE,
    GroupShares,
    groups_of,
    precision_of,
)
from incrowd.estimation.tables import Provenance, TableEstimate
from incrowd.survey import Choice
from tests.conftest import slowly
from tests.estimation.conftest import Setting

Z = norm.ppf(0.975)
LIMIT = Z**2
EPSILON_4, EPSILON_2 = 0.0326, 0.0098  # the noise of plans for 300 and for 2,000 people


def cells(shares, people, noise, trials, seed):
    """Estimated cells, whose sum is known, and the covariance of their noise."""
    generator, shares = np.random.default_rng(seed), np.ravel(shares) / np.sum(shares)
    answers = generator.multinomial(people, shares, size=trials)
    counts = generator.binomial(answers, 1 - noise) + generator.binomial(people - answers, noise)
    values = (counts - people * noise) / (1 - 2 * noise) / people
    values += (1 - values.sum(axis=1, keepdims=True)) / shares.size
    variance = noise * (1 - noise) / people / (1 - 2 * noise) ** 2
    return values, variance * (np.eye(shares.size) - 1 / shares.size)


def tables(shares, people, noise, trials, seed):
    """The same as tables with margins."""
    rows, columns = np.shape(shares)
    sums = np.kron(*(np.vstack([np.eye(size), np.ones(size)]) for size in (rows, columns)))
    names = tuple("abcdefg"[:rows]), tuple("tuvwxyz"[:columns])
    values, noise_covariance = cells(shares, people, noise, trials, seed)
    own = sums @ noise_covariance @ sums.T
    for each in values:
        sampling = sums @ (np.diag(each) - np.outer(each, each)) @ sums.T / people
        yield TableEstimate(
            questions=("group", "answer"),
            answers=names,
            estimate=(estimate := (sums @ each).reshape(rows + 1, columns + 1)),
            error=CellErrors.of_noise(
                np.sqrt(np.diagonal(own).clip(0)).reshape(rows + 1, columns + 1),
                estimate,
                people,
                constant=True,
                covariance=own + sampling,
                noise_covariance=own,
            ),
            provenance=Provenance(people),
            exclusive=(True, True),
            margins=(True, True),
        )


# --- coverage --------------------------------------------------------------------------------

# Shares with the answer and without it in one group, then in the other; people; noise.
SETTINGS = {
    "rare answers": ([0.05, 0.45, 0.03, 0.47], 300, EPSILON_4),
    "very rare answers": ([0.01, 0.49, 0.02, 0.48], 300, EPSILON_4),
    "a rare group": ([0.02, 0.06, 0.30, 0.62], 300, EPSILON_4),
    "even": ([0.20, 0.30, 0.25, 0.25], 300, EPSILON_4),
    "rare answers of many": ([0.02, 0.48, 0.01, 0.49], 2000, EPSILON_2),
    "hardly any noise": ([0.01, 0.30, 0.02, 0.67], 300, 0.001),
}


def figures(a, rest, b, others):
    first, second = a / (a + rest), b / (b + others)
    return {DIFFERENCE: first - second, ODDS: a * others / (rest * b), SHARE: first}


def coverage(shares, people, noise, trials, seed, groups):
    truth = figures(*np.array(shares) / np.sum(shares))
    values, covariance = cells(shares, people, noise, trials, seed)
    return {
        contrast: np.mean(
            [
                groups(each[:size], covariance[:size, :size], people).excess(contrast, true)
                <= LIMIT
                for each in values
            ]
        )
        for contrast, true in truth.items()
        for size in [2 if contrast is SHARE else 4]
    }


def score(values, noise, people):
    return GroupShares(values, noise, np.full(len(values) // 2, 1 / people))


def enlarged(values, noise, people):
    """The wrong variant: the sampling at the estimate, and 1.96^2 people more."""
    few = np.eye(len(values)) * LIMIT / people**2
    sampling = np.diag(np.maximum(values, 0)) - np.outer(values, values)
    return GroupShares(values, noise + few + sampling / people, np.zeros(len(values) // 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_comparisons_cover_neither_too_seldom_nor_nearly_always(name):
    """2,000 collections; at least 93%, 4 standard errors below 95%, and at most 98.2%."""
    found = coverage(*SETTINGS[name], 2000, 3, score)
    assert all(0.93 <= each <= 0.982 for each in found.values()), found


def test_comparisons_of_rare_answers_cover_as_they_should():
    """200 collections: at least 90%, with probability .999."""
    found = coverage(*SETTINGS["rare answers"], 200, 4, score)
    assert all(each >= 0.90 for each in found.values()), found


@pytest.mark.slow
def test_people_added_to_each_variance_cover_nearly_always():
    found = coverage(*SETTINGS["hardly any noise"], 2000, 5, enlarged)
    assert found[DIFFERENCE] > 0.985 and found[ODDS] > 0.985


@pytest.mark.parametrize(("given", "people"), [(0, 20), (1, 20), (7, 30), (30, 30)])
def test_a_share_without_noise_has_the_interval_of_wilson(given, people):
    """Of a group that is a fifth of all people. Oracle: the roots of (p - share)^2 = z^2 p (1 - p)
    / n."""
    values = np.array([given, people - given]) / (5 * people)
    groups = GroupShares(values, np.zeros((2, 2)), np.array([1 / (5 * people)]))
    share, k = given / people, LIMIT / people
    ends = np.sort(np.roots([1 + k, -(2 * share + k), share**2]))
    assert groups.interval(SHARE, 0.95) == pytest.approx(tuple(ends), abs=1e-6)


@pytest.mark.slow
def test_the_distance_of_a_comparison_is_the_least_over_all_pairs_of_shares():
    """Oracle: a general minimizer, over the share of the first group."""
    values, covariance = cells(SETTINGS["rare answers"][0], 300, EPSILON_4, 12, 6)
    for each in values:
        groups = score(each, covariance, 300)
        for gap in (-0.05, 0.0, 0.1):
            low, high = max(gap, 0.0), min(1.0, 1 + gap)

            def off(x, groups=groups, gap=gap, low=low, high=high):
                share = low + (high - low) * np.sin(x[0]) ** 2
                return float(groups.distances(np.array([[share, share - gap]]))[0])

            starts = np.linspace(0.05, 1.5, 8)
            least = min(minimize(off, [x], method="Nelder-Mead").fun for x in starts)
            found = groups.excess(DIFFERENCE, gap) + groups.nearest[1]
            assert found == pytest.approx(max(least, groups.nearest[1]), abs=1e-4)


# --- one construction ------------------------------------------------------------------------


def contradicts(groups, statistic):
    """Whether the test at 5% and an interval disagree about no effect."""
    rejected = chi2.sf(statistic, 1) <= 0.05
    for contrast in (DIFFERENCE, ODDS):
        low, high = groups.interval(contrast, 0.95)
        if rejected == (low <= contrast.no_effect <= high):
            return True
    return False


def random_tables(trials, seed):
    generator = np.random.default_rng(seed)
    for number in range(trials):
        shares, people = generator.dirichlet([1, 4, 1, 4]), int(generator.integers(100, 3000))
        noise = float(generator.choice([0.001, 0.01, 0.05]))
        (values,), covariance = cells(shares, people, noise, 1, [seed, number])
        yield values, covariance, people


@pytest.mark.slow
@pytest.mark.parametrize("trials", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_test_and_intervals_never_contradict_each_other(trials):
    for each in random_tables(trials, 7):
        groups = score(*each)
        assert not contradicts(groups, groups.excess(DIFFERENCE, 0.0))


def wald(values, groups):
    """The wrong variant: the deviation from independence in standard errors of the estimate."""
    a, rest, b, others = values
    slope = np.array([others, -b, -rest, a])
    return (a * others - rest * b) ** 2 / (slope @ groups.noise @ slope)


@pytest.mark.slow
def test_a_test_of_another_construction_contradicts_intervals():
    """In at least 1 of 100 tables p is at most 5% where an interval holds no effect, or
    the reverse; it holds a value if the excess is below the limit."""
    found = []
    for each in random_tables(600, 8):
        rejected = wald(each[0], enlarged(*each)) > LIMIT
        found.append(rejected != (score(*each).excess(DIFFERENCE, 0.0) > LIMIT))
    assert np.mean(found) >= 0.01


A, B = (Choice(id=id, options=("x", "y")) for id in "ab")


def bits(trials, seed):
    """Tables of questions whose answers are randomized bit by bit, so that they do not add up."""
    shares = np.array([[0.45, 0.12], [0.3, 0.13]])
    setting = Setting((A, B), (BitFlip.at_least(0.1),) * 2, shares, 1500)
    return setting.joints(setting.collections(seed, trials), margin=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "made", [partial(tables, [[0.1, 0.4], [0.04, 0.46]], 300, EPSILON_4), *slowly(bits)]
)
def test_the_figures_of_a_table_agree_for_each_answer_and_reference(made):
    """10 tables, in some of which independence is rejected: 8 figures of each."""
    rejections = 0
    for table in made(trials=10, seed=9):
        results = [two_way(table, None, None, each) for each in table.answers[0]]
        rejected = results[0].independence.p_value <= 0.05
        rejections += rejected
        for result in results:
            assert all((each.low <= 0 <= each.high) != rejected for each in result.differences)
            assert all((each.low <= 1 <= each.high) != rejected for each in result.odds_ratios)
    assert 0 < rejections < 10


@pytest.mark.slow
def test_zero_in_the_interval_of_v_beside_a_small_p_value_is_explained():
    """15 tables, with small p-values beside intervals that include zero and that do not."""
    kinds = set()
    for table in tables([[0.28, 0.22], [0.22, 0.28]], 300, EPSILON_4, trials=15, seed=3):
        result = two_way(table, None, None)
        small, zero = result.independence.p_value <= 0.05, result.cramers_v.low <= 0
        said = any("although p is at most 0.05" in note for note in result.view().notes)
        assert said == (small and zero)
        kinds.add((small, zero))
    assert {(True, True), (True, False)} <= kinds


# --- independence ----------------------------------------------------------------------------

SPARSE = np.outer([0.5, 0.3, 0.1, 0.06, 0.04], [0.9, 0.1])


def wald_of(table):
    """The wrong variant of the test of independence."""
    _, jacobian, deviations, shares = association._deviations(table)
    contrast = np.kron(np.eye(5)[:4] - 0.2, [[1.0, -1.0]])
    slope = contrast @ jacobian
    values, covariance = contrast @ deviations, slope @ shares.with_few() @ slope.T
    return chi2.sf(values @ np.linalg.solve(covariance, values), len(values))


@pytest.mark.slow
def test_p_values_are_uniform_in_sparse_tables():
    """10,000 tables of 300 people: within 4 standard errors down to .001, and there at most 24 of
    10 expected (by chance in 1 of 10,000)."""
    p = np.array(
        [independence_test(each).p_value for each in tables(SPARSE, 300, EPSILON_4, 10_000, 10)]
    )
    for level in (0.5, 0.2, 0.1, 0.05, 0.01):
        assert abs(np.mean(p <= level) - level) < 4 * math.sqrt(level * (1 - level) / len(p))
    assert np.sum(p <= 0.001) <= 24


@pytest.mark.slow
def test_walds_test_rejects_sparse_tables_too_often():
    p = np.array([wald_of(each) for each in tables(SPARSE, 300, EPSILON_4, 10_000, 10)])
    off = [abs(np.mean(p <= a) - a) / math.sqrt(a * (1 - a) / len(p)) for a in (0.05, 0.01)]
    assert np.sum(p <= 0.001) > 24 or max(off) > 4


# --- Cramer's V ------------------------------------------------------------------------------


def v_of(shares):
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    phi2 = np.sum((shares - expected) ** 2 / expected)
    return math.sqrt(phi2 / (min(shares.shape) - 1))


TILT = np.array([[1, -1], [-1, 1], [0, 0], [0, 0], [0, 0]])
V_SETTINGS = {
    "five groups": (np.outer([0.3, 0.3, 0.2, 0.1, 0.1], [0.8, 0.2]) + 0.05 * TILT, 300, EPSILON_4),
    "a rare answer": (np.array([[0.50, 0.25, 0.01], [0.08, 0.13, 0.03]]), 1000, 0.01),
    "many people": (np.outer([0.3, 0.3, 0.2, 0.1, 0.1], [0.7, 0.3]) + 0.05 * TILT, 3000, 0.01),
    "two groups": (np.array([[0.6, 0.1], [0.2, 0.1]]), 300, EPSILON_4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", V_SETTINGS)
def test_intervals_of_v_cover_neither_too_seldom_nor_nearly_always(name):
    """1,000 collections: at least 92.2%, 4 standard errors below 95%, and at most 98%; V is given
    in all, and its mean is near the truth."""
    shares, *law = V_SETTINGS[name]
    truth = v_of(shares)
    found = [cramers_v(table) for table in tables(shares, *law, 1000, 11)]
    assert 0.922 <= np.mean([each.low <= truth <= each.high for each in found]) <= 0.98
    assert all(each.estimable for each in found)
    assert abs(np.mean([each.estimate for each in found]) - truth) < 0.03


class LargestNoise(Length):
    """The wrong variant: the vector has the direction of the largest noise."""

    def nearest(self, length):
        return np.append(np.zeros(len(self.vector) - 1), length)


@pytest.mark.slow
def test_the_direction_of_the_nearest_vector_covers_as_it_should():
    """1,000 vectors between a direction and another with ten times its noise: 92.2% to 97.8%,
    4 standard errors around 95%; with the largest noise, 98.5% and more."""
    truth, generator = np.array([0.2, 0.2]), np.random.default_rng(12)
    errors = np.array([0.01, 0.1])
    covered = {Length: 0, LargestNoise: 0}
    for draw in truth + generator.normal(size=(1000, 2)) * errors:
        for kind in covered:
            low, high = kind(draw, np.diag(errors**2)).interval(0.95, 1.0)
            covered[kind] += low <= np.linalg.norm(truth) <= high
    assert 922 <= covered[Length] <= 978
    assert covered[LargestNoise] > 985


def test_v_is_not_zero_where_a_rare_answer_makes_all_of_it():
    """The counts that are expected: a group of 1.5%, less than five standard errors from zero, has
    another share than two equal groups. Without it V is zero, with a small error."""
    groups, yes = np.array([0.585, 0.4, 0.015]), np.array([0.2, 0.2, 0.6])
    shares = np.stack([groups * (1 - yes), groups * yes], axis=1)
    truth, people = v_of(shares), 2000
    (drawn,) = tables(shares, people, EPSILON_2, 1, 13)
    full = np.pad(shares, (0, 1))
    full[-1], full[:, -1] = full.sum(axis=0), full.sum(axis=1)
    table = replace(drawn, estimate=full)
    margin = drawn.error.covariance.reshape(4, 3, 4, 3)[2, 2, 2, 2]
    assert groups[2] < 5 * math.sqrt(margin) and v_of(shares[:2] / shares[:2].sum()) < 1e-9
    found = cramers_v(table)
    assert found.estimate > 0.5 * truth and abs(found.estimate - truth) < found.standard_error
    assert found.low <= truth <= found.high


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_vector_of_a_length_is_the_nearest(seed):
    """Oracle: many directions of the same length."""
    generator = np.random.default_rng([14, seed])
    variances, vector = np.sort(generator.gamma(1, size=3)), generator.normal(size=3)
    directions = generator.normal(size=(200_000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for length in (0.2, 1.0, 3.0):
        near = Length(vector, np.diag(variances)).nearest(length)
        assert np.linalg.norm(near) == pytest.approx(length)
        least = np.min(np.sum((vector - length * directions) ** 2 / variances, axis=1))
        own = Length(vector, np.diag(variances))._axes[1]
        assert np.sum((own - near) ** 2 / variances) <= least * (1 + 1e-6)


def test_probabilities_of_quadratic_forms_are_close_to_those_of_draws():
    """200,000 draws, within a tenth of a tail of 2.5%, and within .02 elsewhere."""
    generator = np.random.default_rng(15)
    for weights, shifts in [
        ([1, 1, 1], [0, 0, 4]),
        ([0.05, 0.3, 1], [3, 0, 0]),
        ([0.1, 1], [9, 1]),
    ]:
        normal = generator.normal(size=(200_000, len(weights))) + np.sqrt(shifts)
        draws = normal**2 @ np.array(weights)
        for tail in (0.025, 0.5, 0.975):
            value = np.quantile(draws, tail)
            found = quadratic_form(value, np.array(weights), np.array(shifts))
            assert found == pytest.approx(tail, abs=0.0025 if tail != 0.5 else 0.02)


# --- for a reviewer --------------------------------------------------------------------------


def test_without_noise_a_group_is_worth_its_people():
    for table in tables([[0.2, 0.3], [0.1, 0.4]], 500, 0.0, 3, 16):
        for row, group in zip(table.estimate[:2], precision_of(table), strict=True):
            assert group.people == pytest.approx(500 * row[-1])
            assert group.effective_people == pytest.approx(group.people)
            assert group.design_effect == pytest.approx(1.0)


def test_the_effective_number_of_people_is_that_of_the_errors():
    """1,000 collections: the variance of a share within a group against that of so many people,
    within 18% (4 standard errors of a variance); the people of the group are not in the range."""
    shares = np.array([[0.2, 0.3], [0.1, 0.4]])
    found = list(tables(shares, 1000, 0.1, 1000, 17))
    for row, (yes, no) in enumerate(shares):
        within = np.var([table.estimate[row, 0] / table.estimate[row, 2] for table in found])
        people = [precision_of(table)[row].effective_people for table in found]
        share = yes / (yes + no)
        assert within == pytest.approx(share * (1 - share) / np.median(people), rel=0.18)
        assert within != pytest.approx(share * (1 - share) / 500, rel=0.18)


def test_a_group_that_may_be_empty_has_no_effective_number():
    (table,) = tables([[0.5, 0.5], [0.0, 0.0]], 300, 0.0, 1, 18)
    assert math.isnan(precision_of(table)[1].effective_people)
    assert precision_of(table.noise_alone()) == ()


def test_comparisons_of_two_answers_are_mirror_images():
    """Of two answers with a bit each, one has the share that the other lacks."""
    groups = ("a", "y"), ("a", "x")
    for table in bits(5, 19):
        of_x, of_y = (groups_of(table, ("b", answer), *groups)[1].values for answer in "xy")
        assert of_x == pytest.approx(of_y.reshape(2, 2)[:, ::-1].ravel())
