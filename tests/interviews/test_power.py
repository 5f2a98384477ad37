"""Power of surveys of interviews: formulas by hand, and simulated surveys."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from incrowd.interviews.items import ItemMatrices
from incrowd.interviews.power import (
    Detection,
    RuleBreaking,
    detection,
    difference_of,
    odds_ratio_of,
    share_of,
)

PI = 0.15
DIRECT = ItemMatrices(np.eye(2)[None])
FALSE_ALARM = 1e-3  # of each simulation: the limit is 3.29 standard errors
SURVEYS = 2_000
LIMIT = norm.isf(FALSE_ALARM / 2)


def yes_no(if_no, if_yes):
    """P(report | answer) of "yes" and "no", the reports and answers in the order no, yes."""
    return ItemMatrices(np.array([[[1 - if_no, 1 - if_yes], [if_no, if_yes]]]))


def warner(p):
    return yes_no(1 - p, p)


def forced(yes, no):
    return yes_no(yes, 1 - no)


def two_groups(first, second):
    return ItemMatrices(np.concatenate([first.base, second.base]))


def unrelated_unknown(first, second):
    """Greenberg et al. 1969: the sensitive question with these probabilities, else another one
    whose prevalence is unknown."""
    base = np.array([[[1, 1 - p], [0, p]] for p in (first, second)])
    unknown = np.array([[[p - 1, p - 1], [1 - p, 1 - p]] for p in (first, second)])
    return ItemMatrices(base, unknown[None], ("prevalence",))


def shares(yes):
    return np.array([1 - yes, yes])


def share_variance(matrices, yes=PI, **options):
    return detection(matrices, share_of(shares(yes), 1), **options).variance


# --- formulas by hand -------------------------------------------------------------------------


@pytest.mark.parametrize("pi", [0.02, 0.15, 0.6])
def test_variances_of_shares_are_those_of_the_papers(pi):
    p = 0.7  # Warner 1965; the crosswise model has the same with the probability of a birthday
    warners = pi * (1 - pi) + p * (1 - p) / (2 * p - 1) ** 2
    assert share_variance(warner(p), pi) == pytest.approx(warners)
    yes, no = 1 / 6, 1 / 12
    says = yes + (1 - yes - no) * pi
    assert share_variance(forced(yes, no), pi) == pytest.approx(
        says * (1 - says) / (1 - yes - no) ** 2
    )
    asked, other = 0.75, 0.3  # Greenberg et al. 1969, with a known prevalence
    says = asked * pi + (1 - asked) * other
    known = yes_no((1 - asked) * other, asked + (1 - asked) * other)
    assert share_variance(known, pi) == pytest.approx(says * (1 - says) / asked**2)
    assert share_variance(DIRECT, pi) == pytest.approx(pi * (1 - pi))


def test_an_unknown_prevalence_costs_what_the_two_equations_say():
    first, second, other, part = 0.7, 0.2, 0.4, 0.6
    says = [p * PI + (1 - p) * other for p in (first, second)]
    spread = [
        says[0] * (1 - says[0]) * (1 - second) ** 2 / part,
        says[1] * (1 - says[1]) * (1 - first) ** 2 / (1 - part),
    ]
    options = {"theta": np.array([other]), "allocation": np.array([part, 1 - part])}
    variance = share_variance(unrelated_unknown(first, second), **options)
    assert variance == pytest.approx(sum(spread) / (first - second) ** 2)


def test_a_design_that_cannot_identify_a_share_needs_infinitely_many_people():
    alike = unrelated_unknown(0.5, 0.5)
    none = detection(alike, share_of(shares(PI), 1))
    assert none.variance == math.inf
    assert none.people() is None
    assert none.people_for_margin(0.1) is None
    assert share_variance(yes_no(0.4, 0.4)) == math.inf


def test_a_difference_adds_the_variances_of_its_groups():
    estimand = difference_of(shares(0.1), shares(0.3), 1, part=0.25)
    one, other = share_variance(warner(0.8), 0.1), share_variance(warner(0.8), 0.3)
    found = detection(warner(0.8), estimand)
    assert found.variance == pytest.approx(one / 0.75 + other / 0.25)
    assert found.effect == pytest.approx(0.2)


def test_a_share_of_several_answers_is_the_moment_estimate_of_its_matrix():
    matrix = np.array([[0.6, 0.1, 0.2], [0.2, 0.8, 0.1], [0.2, 0.1, 0.7]])
    true = np.array([0.5, 0.3, 0.2])
    says, inverse = matrix @ true, np.linalg.inv(matrix)
    by_hand = inverse @ (np.diag(says) - np.outer(says, says)) @ inverse.T
    for answer in range(3):
        found = detection(ItemMatrices(matrix[None]), share_of(true, answer), answer=answer)
        assert found.variance == pytest.approx(by_hand[answer, answer])


def test_an_odds_ratio_of_a_binary_covariate_is_the_delta_method_of_two_shares():
    estimand = odds_ratio_of(PI, 2.0, 1, part=0.4)
    low, high = estimand.at(estimand.parameters).shares[:, 1]
    assert high / (1 - high) == pytest.approx(2 * low / (1 - low))
    assert 0.6 * low + 0.4 * high == pytest.approx(PI)
    parts = ((low, 0.6), (high, 0.4))
    by_hand = sum(share_variance(warner(0.8), p) / (p * (1 - p)) ** 2 / w for p, w in parts)
    assert detection(warner(0.8), estimand).variance == pytest.approx(by_hand)


def test_an_odds_ratio_of_a_normal_covariate_is_that_of_dense_integrals():
    slope, p = math.log(1.8), 0.8
    estimand = odds_ratio_of(PI, 1.8, 1, covariate="normal")

    def mean(function):
        return quad(lambda x: function(x) * norm.pdf(x), -9, 9, epsabs=1e-12)[0]

    intercept = brentq(lambda b: mean(lambda x: expit(b + slope * x)) - PI, -6, 2)
    assert estimand.parameters == pytest.approx([intercept, slope], rel=1e-6)

    def weight(x):
        true = expit(intercept + slope * x)
        says = 1 - p + (2 * p - 1) * true
        return ((2 * p - 1) * true * (1 - true)) ** 2 / (says * (1 - says))

    moments = [mean(lambda x, k=k: x**k * weight(x)) for k in range(3)]
    by_hand = moments[0] / (moments[0] * moments[2] - moments[1] ** 2)
    assert detection(warner(p), estimand).variance == pytest.approx(by_hand, rel=1e-6)
    twice = detection(warner(p), estimand, inflation=2.0).variance
    assert twice == pytest.approx(2 * by_hand, rel=1e-6)


def test_the_order_of_the_answers_does_not_matter():
    turned = ItemMatrices(forced(0.2, 0.1).base[:, ::-1, ::-1])
    first, second = (
        detection(
            matrices,
            odds_ratio_of(PI, 2.0, answer),
            answer=answer,
            breaking=RuleBreaking(at_random=0.1, evasive=0.1),
        )
        for answer, matrices in ((1, forced(0.2, 0.1)), (0, turned))
    )
    assert (first.effect, first.variance) == pytest.approx((second.effect, second.variance))


def test_power_people_and_margin_invert_each_other():
    found = detection(forced(1 / 6, 1 / 6), share_of(shares(PI), 1, null=0.1))
    z = norm.isf(0.025)
    needed = (z + norm.ppf(0.8)) ** 2 * found.variance / 0.05**2
    people = found.people(0.8)
    assert people == math.ceil(needed)
    assert found.power(people) >= 0.8 > found.power(people - 1)
    exact = found.people_for_margin(0.03, level=0.9)
    assert found.margin(exact, level=0.9) <= 0.03 < found.margin(exact - 1, level=0.9)
    assert found.power(np.array([100, people])).shape == (2,)
    below = detection(forced(1 / 6, 1 / 6), share_of(shares(PI), 1, null=0.2))
    assert below.people(0.8) == people  # a share below the null value is as far away


def test_whole_numbers_of_people_are_not_rounded_up_by_arithmetic():
    z = norm.isf(0.025)
    assert Detection(0.1, 1.0, 0.1).people_for_margin(z / 10) == 100


# --- people who do not follow the rules --------------------------------------------------------


def test_random_answers_pull_a_share_toward_the_middle():
    """By hand: with Warner's device, a random answer looks like a share of one half."""
    estimand = share_of(shares(PI), 1)
    found = detection(warner(0.8), estimand, breaking=RuleBreaking(at_random=0.2))
    says = 0.8 * (0.2 + 0.6 * PI) + 0.2 * 0.5
    assert found.effect == pytest.approx(0.8 * PI + 0.2 * 0.5)
    assert found.variance == pytest.approx(says * (1 - says) / 0.6**2)
    assert found.expected == pytest.approx(PI)


def test_evasive_answers_can_push_a_share_below_zero():
    """By hand: people who always say "no" look like a share of -1/3 where 1/6 must say "yes"."""
    estimand = share_of(shares(0.02), 1)
    found = detection(forced(1 / 6, 1 / 4), estimand, breaking=RuleBreaking(evasive=0.1))
    fixed = (0 - 1 / 6) / (1 - 1 / 6 - 1 / 4)
    assert found.effect == pytest.approx(0.9 * 0.02 + 0.1 * fixed)
    assert found.effect < 0
    assert found.people() is None  # it would be detected on the wrong side
    assert found.power(10_000) < 0.025


def test_a_difference_shrinks_by_the_share_of_those_who_break_the_rules():
    estimand = difference_of(shares(0.1), shares(0.3), 1, part=0.5)
    broken = RuleBreaking(at_random=0.05, evasive=0.15)
    found = detection(forced(1 / 6, 1 / 6), estimand, breaking=broken)
    assert found.effect == pytest.approx(0.8 * 0.2)
    assert found.people() > detection(forced(1 / 6, 1 / 6), estimand).people()


def test_an_odds_ratio_shrinks_as_the_two_apparent_shares_say():
    estimand = odds_ratio_of(PI, 3.0, 1)
    low, high = (0.9 * p + 0.1 * 0.5 for p in estimand.at(estimand.parameters).shares[:, 1])
    found = detection(warner(0.75), estimand, breaking=RuleBreaking(at_random=0.1))
    by_hand = math.log(high / (1 - high) * (1 - low) / low)
    assert found.effect == pytest.approx(by_hand)
    assert found.effect < math.log(3)


def test_random_answers_are_reports_that_their_group_can_give():
    """By hand: a group that cannot give the third report does not give it at random either."""
    wide = np.zeros((2, 3, 2))
    wide[0, :2], wide[1] = forced(1 / 6, 1 / 6).base[0], [[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]
    reports = RuleBreaking(at_random=0.3, evasive=0.1).reported(wide, 1)
    assert reports == pytest.approx(np.array([[0.25, 0.15, 0], [0.2, 0.1, 0.1]]))


def test_an_odds_ratio_that_no_share_can_explain_is_not_estimated():
    """One in three always says "no", so that fewer say "yes" than the die forces to."""
    estimand = odds_ratio_of(0.05, 2.0, 1)
    found = detection(forced(1 / 6, 1 / 6), estimand, breaking=RuleBreaking(evasive=1 / 3))
    assert found.variance == math.inf
    assert found.people() is None


# --- simulated surveys -------------------------------------------------------------------------


def rejected(rate, simulated):
    """Whether a power is refuted by a rate among `SURVEYS` simulated surveys."""
    return abs(rate - simulated) > LIMIT * math.sqrt(rate * (1 - rate) / SURVEYS)


def moments(reports, people, matrices):
    """The share by moments and its variance. reports: how many said "yes"."""
    if_no, if_yes = matrices.base[0, 1]
    says = reports / people
    return (says - if_no) / (if_yes - if_no), says * (1 - says) / (if_yes - if_no) ** 2 / people


DESIGNS = {"warner": warner(0.8), "forced": forced(1 / 6, 1 / 6), "crosswise": warner(1 / 4)}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("broken", [0.0, 0.1])
def test_the_power_of_a_share_and_a_difference_is_that_of_simulated_surveys(name, broken):
    matrices, rng = DESIGNS[name], np.random.default_rng(43)
    breaking = RuleBreaking(at_random=broken)
    says = [(1 - broken) * (matrices.base[0, 1] @ shares(yes)) + broken / 2 for yes in (0.2, 0.35)]
    z = norm.isf(0.025)

    estimand = share_of(shares(0.35), 1, null=0.3)
    found = detection(matrices, estimand, breaking=breaking)
    people = round(found.variance * 2.5**2 / found.effect**2)
    share, variance = moments(rng.binomial(people, says[1], SURVEYS), people, matrices)
    rate = np.mean(share - z * np.sqrt(variance) > 0.3)
    assert not rejected(found.power(people), rate)
    assert rejected(detection(DIRECT, estimand).power(people), rate)

    estimand = difference_of(shares(0.2), shares(0.35), 1, part=0.3)
    found = detection(matrices, estimand, breaking=breaking)
    people = round(found.variance * 2.8**2 / found.effect**2 / 10) * 10
    sizes = [7 * people // 10, 3 * people // 10]
    one, other = (
        moments(rng.binomial(size, each, SURVEYS), size, matrices)
        for size, each in zip(sizes, says, strict=True)
    )
    rate = np.mean(other[0] - one[0] > z * np.sqrt(one[1] + other[1]))
    assert not rejected(found.power(people), rate)
    assert rejected(detection(DIRECT, estimand).power(people), rate)
    if broken:
        assert rejected(detection(matrices, estimand).power(people), rate)


@pytest.mark.slow
def test_the_power_with_an_unknown_prevalence_is_that_of_simulated_surveys():
    matrices, rng, other = unrelated_unknown(0.75, 0.25), np.random.default_rng(5), 0.3
    found = detection(matrices, share_of(shares(PI), 1), theta=np.array([other]))
    size = round(found.variance * 2.8**2 / found.effect**2 / 2)
    says = [rng.binomial(size, p * PI + (1 - p) * other, SURVEYS) / size for p in (0.75, 0.25)]
    share = (says[0] * 0.75 - says[1] * 0.25) / 0.5
    spread = says[0] * (1 - says[0]) * 0.75**2 + says[1] * (1 - says[1]) * 0.25**2
    rate = np.mean(share > norm.isf(0.025) * np.sqrt(spread / size) / 0.5)
    assert not rejected(found.power(2 * size), rate)
    assert rejected(detection(warner(0.75), share_of(shares(PI), 1)).power(2 * size), rate)


def fitted(said, x, if_no, if_yes):
    """Slopes and their variances by Fisher scoring, all surveys at once."""
    beta = np.zeros((len(said), 2))
    for _ in range(12):
        true = expit(beta[:, :1] + beta[:, 1:] * x)
        says = if_no + (if_yes - if_no) * true
        slope = (if_yes - if_no) * true * (1 - true)
        score = slope * (said - says) / (says * (1 - says))
        weight = slope**2 / (says * (1 - says))
        a, b, c = ((weight * x**k).sum(axis=1) for k in range(3))
        u, v = score.sum(axis=1), (score * x).sum(axis=1)
        det = a * c - b * b
        step = np.column_stack([(c * u - b * v) / det, (a * v - b * u) / det])
        beta += np.clip(step, -0.5, 0.5)
    assert np.abs(step).max() < 1e-3
    return beta[:, 1], a / det


@pytest.mark.slow
def test_the_power_of_a_regression_on_a_normal_covariate_is_that_of_simulated_surveys():
    """The normal approximation needs many people: with 335 and an odds ratio of 2.2, a forecast
    of 90% is 97% in truth."""
    rng, (if_no, if_yes) = np.random.default_rng(8), (1 / 6, 5 / 6)
    estimand = odds_ratio_of(0.3, 1.3, 1, covariate="normal")
    found = detection(forced(if_no, 1 - if_yes), estimand)
    x = rng.standard_normal((SURVEYS, found.people()))
    intercept, slope = estimand.parameters
    said = rng.random(x.shape) < if_no + (if_yes - if_no) * expit(intercept + slope * x)
    estimate, variance = fitted(said, x, if_no, if_yes)
    rate = np.mean(estimate > norm.isf(0.025) * np.sqrt(variance))
    assert not rejected(found.power(found.people()), rate)
    assert rejected(detection(DIRECT, estimand).power(found.people()), rate)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [0.0, 0.1])
def test_the_power_of_a_regression_on_groups_is_that_of_simulated_surveys(broken):
    matrices, rng = forced(1 / 6, 1 / 6), np.random.default_rng(9)
    estimand = odds_ratio_of(0.3, 1.6, 1)
    found = detection(matrices, estimand, breaking=RuleBreaking(at_random=broken))
    size = found.people() // 2
    true = estimand.at(estimand.parameters).shares[:, 1]
    says = (1 - broken) * (1 / 6 + 2 / 3 * true) + broken / 2
    parts = [moments(rng.binomial(size, each, SURVEYS), size, matrices) for each in says]
    low, high = (np.log(share / (1 - share)) for share, _ in parts)
    variance = sum(spread / (share * (1 - share)) ** 2 for share, spread in parts)
    rate = np.mean(high - low > norm.isf(0.025) * np.sqrt(variance))
    assert not rejected(found.power(2 * size), rate)
    assert rejected(detection(DIRECT, estimand).power(2 * size), rate)
    if broken:
        assert rejected(detection(matrices, estimand).power(2 * size), rate)
