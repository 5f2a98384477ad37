"""Intervals and tests where hardly anybody is in a cell and the noise is small.

Collections are drawn at the level of counts. Of 1,000 collections right 95% intervals cover fewer
than 93.5% with probability .02, of 2,000 with .002; seeds are fixed. Wrong variants: variances into
which raw estimates below zero enter, and intervals that do not allow for few counts.
"""

from functools import reduce

import numpy as np
import pytest
from scipy.stats import norm, poisson

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.estimation import simultaneous
from incrowd.estimation.association import independence_test
from incrowd.estimation.compare import difference, odds_ratio
from incrowd.estimation.decoders import least_noise, question_decoder
from incrowd.estimation.intervals import reach
from incrowd.estimation.ratios import DIFFERENCE, ODDS, GroupShares
from incrowd.estimation.simultaneous import simultaneous_intervals
from incrowd.estimation.tables import OpenAxis, across, combined
from incrowd.estimation.weighting.margins import CellSums, MarginCells, weighted
from incrowd.estimation.weighting.weighting import without
from incrowd.survey import NO_ANSWER, Choice, Multi, YesNo
from tests.conftest import one_in
from tests.estimation.conftest import Setting
from tests.oracles.axes import axis_of

Z = norm.ppf(0.975)
LEAST = 0.935
A, B = (Choice(id=id, options=("x", "y", "z")) for id in "ab")
YES, ALSO = YesNo(id="yes"), YesNo(id="also")


def square(shares, noise, people=2000):
    return Setting((A, B), (BitFlip.at_least(noise),) * 2, np.outer(shares, shares), people)


def alone(shares, channel, people):
    return Setting((A,), (channel,), np.array(shares), people)


ISSUE = square((0.97, 0.02, 0.01), 0.02)
RARE = {
    "joint": ISSUE,
    "joint, next to no noise": square((0.9, 0.08, 0.02), 0.001),
    "one question": alone((0.997, 0.002, 0.001), BitFlip.at_least(0.001), 2000),
    "hardly anybody": alone((0.98, 0.015, 0.005), BitFlip.at_least(0.0001), 300),
    "whole answers": alone((0.99, 0.007, 0.003), KAry.from_epsilon(8.0, 3), 1000),
    "four copies": square((0.95, 0.04, 0.01), 0.03, 500)._replace(copies=4),
}


def raw_errors(joint):
    """The wrong variant: an estimate below zero takes its own size off the variance."""
    cells = joint.estimate.ravel()
    noise = np.diagonal(joint.error.noise_covariance)
    variances = noise + cells * (1 - cells) / joint.people
    return np.sqrt(np.maximum(variances, 0)).reshape(joint.estimate.shape)


def covers(name, trials):
    setting = RARE[name]
    histograms = setting.collections(len(name), trials)
    tables, joints = setting.tables(histograms), setting.joints(histograms)
    held = np.array([(t.low <= setting.shares) & (setting.shares <= t.high) for t in tables])
    at_once = [simultaneous_intervals(joint, method="bonferroni") for joint in joints]
    together = np.mean(
        [np.all((s.low <= setting.shares) & (setting.shares <= s.high)) for s in at_once]
    )
    return setting, tables, joints, held.mean(axis=0), together  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", RARE)
def test_intervals_of_rare_cells_cover(name):
    _, _, joints, held, together = covers(name, 1000)
    assert held.min() >= LEAST and together >= LEAST
    if name == "joint":
        off = [np.abs(joint.estimate - ISSUE.shares) for joint in joints]
        wrong = [Z * raw_errors(joint) for joint in joints]
        assert np.mean([o <= w for o, w in zip(off, wrong, strict=True)], axis=0).min() < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", RARE)
def test_intervals_of_rare_cells_cover_in_many_collections(name):
    setting, _, joints, held, together = covers(name, 4000)
    assert held.min() >= LEAST and together >= LEAST
    found = [simultaneous_intervals(joint) for joint in joints[:1000]]
    off = [np.all((s.low <= setting.shares) & (setting.shares <= s.high)) for s in found]
    assert np.mean(off) >= LEAST


@pytest.mark.slow
def test_max_t_covers_jointly_where_hardly_any_report_shows_all_bits(monkeypatch):
    """The issue's table, 400 collections: 95% or more all at once (at least 92% with probability
    .998); it was 63.5%, and narrower than the single intervals in more than half."""
    monkeypatch.setattr(simultaneous, "DRAWS", 4000)
    histograms = ISSUE.collections(3, 400)
    found = [simultaneous_intervals(joint) for joint in ISSUE.joints(histograms)]
    inside = [np.all((s.low <= ISSUE.shares) & (ISSUE.shares <= s.high)) for s in found]
    assert np.mean(inside) >= 0.92
    for table, each in zip(ISSUE.tables(histograms), found, strict=True):
        assert np.all(each.high - each.low >= (table.high - table.low) * (1 - 1e-12))


# --- weighted, and of those who answered -----------------------------------------------------

MAYBE = Choice(id="a", options=("x", "y"), optional=True)
SEX = Choice(id="sex", options=("f", "m"))


def covered_by(made, truth):
    """For each cell the share of collections in which its interval holds."""
    off = [np.abs(each.estimate - truth) for each in made]
    half = [reach(Z, each.standard_error, each.error.step) for each in made]
    return np.mean([o <= h for o, h in zip(off, half, strict=True)], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [300, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("noise", [0.001, 0.02])
def test_rare_cells_among_those_who_answered_cover(noise, trials):
    """3% do not answer the first question and 1% say y; at most 4 standard errors below 95%."""
    rates = {"x": 0.96, "y": 0.01, NO_ANSWER: 0.03}
    shares = np.outer([rates[answer] for answer in MAYBE.answers], [0.97, 0.02, 0.01])
    setting = Setting((MAYBE, B), (BitFlip.at_least(noise),) * 2, shares, 2000)
    joints = setting.joints(setting.collections(31, trials), margin=True)
    made = [without(joint)[0].without_margins() for joint in joints]
    kept = [place for place, answer in enumerate(MAYBE.answers) if answer != NO_ANSWER]
    found = covered_by(made, shares[kept] / shares[kept].sum())
    assert found.min() >= (LEAST if trials > 1000 else 0.95 - 4 * np.sqrt(0.05 * 0.95 / trials))


@pytest.mark.slow
@pytest.mark.parametrize("trials", [300, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("noise", [0.001, 0.02])
def test_rare_cells_weighted_to_a_margin_cover(noise, trials):
    """Weights turn a fifth of women into a half. Oracle of the truth: the shares by sex."""
    among = np.array([[0.97, 0.025, 0.005], [0.99, 0.008, 0.002]])
    shares = np.array([[0.2], [0.8]]) * among
    setting = Setting((SEX, B), (BitFlip.at_least(noise),) * 2, shares, 2000)
    places = np.arange(12).reshape(3, 4)
    layout = CellSums(places[:2].T, np.ones((1, 2)))
    margin = MarginCells("sex", ("f", "m"), np.array([0.5, 0.5]), np.eye(2))
    made = []
    for joint in setting.joints(setting.collections(32, trials), margin=True):
        values, jacobian = weighted(joint, layout, [margin])
        made.append(joint.linear(values[:3, 0], jacobian[:3, 0]))
    found = covered_by(made, among.mean(axis=0))
    assert found.min() >= (LEAST if trials > 1000 else 0.95 - 4 * np.sqrt(0.05 * 0.95 / trials))


USES = Multi(id="uses", options=("u", "v"), at_most=2)
KINDS = [
    ((A, B), (BitFlip.at_least(0.01), BitFlip.at_least(0.2))),
    ((YES, A), (BitFlip.at_least(0.05), Bit.from_probabilities(0.02, 0.8))),
    ((YES, ALSO), (BitFlip.at_least(0.002), BitFlip.at_least(0.3))),
    ((A, YES), (KAry.from_epsilon(4.0, 3), BitFlip.at_least(0.1))),
]


@pytest.mark.parametrize("kind", one_in(4, range(len(KINDS))))
def test_joint_intervals_are_never_narrower_than_single_ones(kind, monkeypatch):
    """500 tables of each kind, 2,000 together: of skewed shares, of one and four copies, from 30 to
    3,000 people, alone, combined of two messages, and across two strata. The variances are
    compared, from which both kinds of interval are made, with multipliers of at least 1.96."""
    monkeypatch.setattr(simultaneous, "DRAWS", 200)
    questions, channels = KINDS[kind]
    generator, narrower = np.random.default_rng(kind), 0
    for number in range(25):
        sizes = [len(question.answers) for question in questions]
        shares = generator.dirichlet(np.full(np.prod(sizes), 0.2)).reshape(sizes)
        people, copies = int(30 * 10 ** generator.uniform(0, 2)), int(generator.choice([1, 4]))
        setting = Setting(questions, channels, shares, people, copies)
        histograms = setting.collections(number, 20)
        tables, joints = setting.tables(histograms), setting.joints(histograms)
        axis = OpenAxis("open", ("f", "m"), 0, (people, people))
        pairs = [
            *zip(tables, joints, strict=True),
            (combined(tables[:2], [1, 3]), combined(joints[:2], [1, 3])),
            (across(tables[:2], axis), across(joints[:2], axis)),
        ]
        for table, joint in pairs:
            assert np.all(joint.standard_error >= table.standard_error * (1 - 1e-9))
            assert np.linalg.eigvalsh(joint.error.covariance)[0] >= -1e-12
        narrower += sum(np.sum(raw_errors(j) < 0.999 * t.standard_error) for t, j in pairs)
        each = simultaneous_intervals(joints[0])
        single = tables[0].high - tables[0].low
        assert np.all(each.high - each.low >= single * (1 - 1e-9))
    assert narrower > 100  # the wrong variant


def test_tables_of_overlapping_options_have_no_smaller_variances_either():
    """Bits drawn at random, which no people can have sent: the raw covariance is negative."""
    setting = Setting((YES, USES), (BitFlip.at_least(0.1),) * 2, np.zeros((2, 2)), 50)
    generator = np.random.default_rng(8)
    reports = np.array([len(reports) for reports, _, _ in setting.axes])
    histograms = generator.multinomial(50, np.full(reports.prod(), 1 / reports.prod()), size=200)
    histograms = histograms.reshape(-1, *reports)
    for table, joint in zip(setting.tables(histograms), setting.joints(histograms), strict=True):
        assert np.all(joint.standard_error >= table.standard_error * (1 - 1e-9))


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_least_noise_is_that_of_the_quietest_record(kind):
    """Oracle: the variance of a report's product of g given each record, by enumeration."""
    questions, channels = KINDS[kind]
    axes = [axis_of(*pair) for pair in zip(questions, channels, strict=True)]
    laws = reduce(np.kron, [law for _, law, _ in axes])
    decoders = [question_decoder(*pair) for pair in zip(questions, channels, strict=True)]
    values = reduce(
        np.kron,
        [
            decoder.mean @ np.vstack([np.ones(len(reports)), reports.T])
            for decoder, (reports, _, _) in zip(decoders, axes, strict=True)
        ],
    )
    variances = values**2 @ laws - (values @ laws) ** 2
    least = least_noise([decoder.given for decoder in decoders]).ravel()
    assert np.all(least <= variances.min(axis=1) + 1e-12)
    if all(isinstance(channel, BitFlip) for channel in channels):
        assert np.allclose(least, variances.min(axis=1))


def test_few_counts_are_allowed_for():
    """Of counts without noise, from 0.02 to 60 expected: intervals cover 93.5% or more. With the
    standard error alone they cover 63% of the counts of 1, as nobody is counted so often."""
    counts = np.arange(200)
    for expected in np.geomspace(0.02, 60, 80):
        chances = poisson.pmf(counts, expected)
        half = reach(Z, np.maximum(np.sqrt(counts), 1e-9), 1.0)
        assert chances[np.abs(counts - expected) <= half].sum() >= LEAST
    alone = poisson.pmf(counts, 1)[np.abs(counts - 1) <= Z * np.sqrt(counts)].sum()
    assert alone < 0.64
    assert np.all(reach(Z, np.zeros(3), 1.0) == 0)  # what is known exactly stays so


# --- independence ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.02, 0.05])
@pytest.mark.parametrize("shares", [(0.9, 0.08, 0.02), (0.97, 0.02, 0.01)])
def test_independence_holds_its_level_at_rare_answers(shares, noise):
    """500 collections of the issue: the level 5% is exceeded by at most what chance does to it (8%
    with probability .002), p < .001 in at most two. It was up to 18.6%, and 6.9%."""
    setting = square(shares, noise)
    p = levels(setting, 500)
    assert np.mean(p < 0.05) <= 0.08 and np.sum(p < 0.001) <= 2


def levels(setting, trials):
    joints = setting.joints(setting.collections(5, trials), margin=True)
    return np.array([independence_test(joint).p_value for joint in joints])


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.001, 0.01, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("shares", [(0.9, 0.08, 0.02), (0.97, 0.02, 0.01), (0.4, 0.35, 0.25)])
def test_independence_holds_its_level_in_many_collections(shares, noise):
    """4,000 collections: 6% is reached by chance with probability .002."""
    p = levels(square(shares, noise), 4000)
    assert np.mean(p < 0.05) <= 0.06 and np.mean(p < 0.001) <= 0.0025


def test_independence_is_refused_where_rare_answers_go_together():
    """Half of those who give a rare answer to one question give it to the other."""
    setting = square((0.9, 0.08, 0.02), 0.02)
    shares = setting.shares + 0.03 * np.outer([1, -1, 0], [1, -1, 0])
    assert np.mean(levels(setting._replace(shares=shares), 100) < 0.05) > 0.9


def test_options_that_nobody_chose_are_left_out_of_the_test():
    """One degree of freedom is left of four, and both names are told; nearly always (a false one of
    either question with 5% at most: 100 collections)."""
    setting = square((0.6, 0.4, 0.0), 0.1)
    joints = setting.joints(setting.collections(6, 100), margin=True)
    found = [independence_test(joint) for joint in joints]
    without = [test for test in found if test.left_out == ("a = z", "b = z")]
    assert len(without) >= 85
    assert {test.degrees_of_freedom for test in without} == {1}


# --- comparisons of few people ---------------------------------------------------------------

TWICE = {
    "q = .25": ([[0.4, 0.1], [0.1, 0.4]], 0.25),
    "rare": ([[0.45, 0.05], [0.15, 0.35]], 0.25),
    "q = .15": ([[0.6, 0.1], [0.1, 0.2]], 0.15),
    "q = .1": ([[0.6, 0.2], [0.05, 0.15]], 0.1),
    "reversed": ([[0.1, 0.4], [0.4, 0.1]], 0.25),
}


def compared(name, trials, figure):
    shares, noise = TWICE[name]
    setting = Setting((YES, ALSO), (BitFlip.at_least(noise),) * 2, np.array(shares), 400)
    joints = setting.joints(setting.collections(17, trials), margin=True)
    of, first, second = ("also", "yes"), ("yes", "yes"), ("yes", "no")
    return setting.shares, [figure(joint, of, first, second) for joint in joints]


def truth(shares, figure):
    (b0, b), (a0, a) = shares
    return a * b0 / (a0 * b) if figure is odds_ratio else a / (a + a0) - b / (b + b0)


@pytest.mark.slow
@pytest.mark.parametrize("figure", [odds_ratio, difference])
def test_comparisons_of_400_people_cover(figure):
    """600 collections: at least 92% of right intervals hold with probability .999, and at most 4.8%
    are above or below with as much. They were above in 12%."""
    shares, found = compared("q = .25", 600, figure)
    true = truth(shares, figure)
    assert np.mean([f.low <= true <= f.high for f in found]) >= 0.92
    assert np.mean([f.low > true for f in found]) <= 0.048
    assert np.mean([f.high < true for f in found]) <= 0.048
    shown = [f for f in found if f.estimable]
    assert all(f.low <= f.estimate <= f.high for f in shown)


@pytest.mark.slow
@pytest.mark.parametrize("figure", [odds_ratio, difference])
@pytest.mark.parametrize("name", TWICE)
def test_comparisons_of_400_people_cover_in_many_collections(name, figure):
    shares, found = compared(name, 2000, figure)
    true = truth(shares, figure)
    assert np.mean([f.low <= true <= f.high for f in found]) >= LEAST
    assert np.mean([f.low > true for f in found]) <= 0.045


def figure_of(contrast, shares):
    """The definition, of the last axis (a, a', b, b')."""
    a, a0, b, b0 = np.moveaxis(shares, -1, 0)
    return a * b0 / (a0 * b) if contrast is ODDS else a / (a + a0) - b / (b + b0)


@pytest.mark.parametrize("contrast", [ODDS, DIFFERENCE])
def test_an_interval_of_fixed_people_is_the_range_over_an_ellipsoid(contrast):
    """Oracle: the figure at many points of the ellipsoid of 1.96 standard errors is within the
    ends, and reaches to within 2% of them."""
    generator = np.random.default_rng(20)
    root = 0.02 * (np.eye(4) + 0.3 * generator.normal(size=(4, 4)))
    values, noise = np.array([0.3, 0.2, 0.15, 0.35]), root @ root.T
    low, high = GroupShares(values, noise, np.zeros(2)).interval(contrast, 0.95)
    ball = generator.normal(size=(400_000, 4))
    surface = values + Z * ball / np.linalg.norm(ball, axis=1, keepdims=True) @ root.T
    figures = figure_of(contrast, surface)
    assert low <= np.min(figures) <= low + 0.02 * (high - low)
    assert high >= np.max(figures) >= high - 0.02 * (high - low)


def test_an_odds_ratio_has_no_end_where_a_factor_may_be_zero():
    """The four shares in turn within 1.96 standard errors of zero: a and b' leave the lower end of
    an odds ratio open, a' and b the upper one."""
    for small, ends in enumerate([(True, False), (False, True), (False, True), (True, False)]):
        values = np.full(4, 0.3)
        values[small] = 0.01
        groups = GroupShares(values, np.eye(4) * 0.01**2, np.zeros(2))
        low, high = groups.interval(ODDS, 0.95)
        assert (low == 0, high == np.inf) == ends
