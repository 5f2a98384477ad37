"""Maximum likelihood for coefficients: its gradient, EM as an oracle, and its errors."""

import numpy as np
import pytest
from scipy.special import expit, logit

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.estimation.postprocess import maximize_likelihood
from incrowd.estimation.regression.fitting import fit_tables
from incrowd.estimation.regression.levels import level_decoder
from incrowd.estimation.regression.likelihood import fit_likelihood, pattern_channel, strata_of
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.variables import whole
from incrowd.estimation.tables import estimate_table
from incrowd.survey import Choice, YesNo
from tests.estimation.conftest import Setting, covered, nominal, with_pairs

ILL, SMOKES = whole(YesNo(id="ill")), whole(YesNo(id="smokes"))
AGE = whole(Choice(id="age", options=("young", "middle", "old")))
TOWN = whole(Choice(id="town", options=("north", "south")))
MODEL = Model("logistic", ILL, (0.0, 1.0), (SMOKES, AGE))
FLIP = BitFlip.at_least(0.15)
CHANNELS = {"ill": FLIP, "smokes": BitFlip.at_least(0.2), "age": FLIP}
BETA = np.array([-0.4, 0.8, -0.3, 0.5])
PREDICTORS = np.array([[0.25, 0.2, 0.1], [0.12, 0.15, 0.18]])
HEIGHT = BETA[0] + np.array([0, BETA[1]])[:, None] + np.array([0, *BETA[2:]])
SHARES = np.stack([1 - expit(HEIGHT), expit(HEIGHT)]) * PREDICTORS


def histograms(people, seed, trials, model=MODEL, channels=CHANNELS):
    questions = tuple(variable.question for variable in model.randomized)
    setting = Setting(questions, tuple(channels[q.id] for q in questions), SHARES, people)
    return setting, setting.collections(seed, trials)


def test_gradients_are_those_of_differences():
    _, (histogram,) = histograms(1000, 1, 1)
    (stratum,) = strata_of(MODEL, [({}, histogram)], CHANNELS)
    generator = np.random.default_rng(2)
    beta, free = generator.normal(size=4), generator.normal(size=6)
    point = np.concatenate([beta, free])
    chance, by = stratum.gradients(beta, free)
    assert abs(chance.sum() - 1) < 1e-12

    def at(place):
        return stratum.gradients(place[:4], place[4:])[0]

    steps = 1e-6 * np.eye(10)
    rises = np.array([(at(point + s) - at(point - s)) / 2e-6 for s in steps]).T
    assert np.allclose(by, rises, atol=1e-8)


@pytest.mark.parametrize("channel", [FLIP, KAry.from_epsilon(1.5, 3)])
def test_with_a_coefficient_for_every_cell_it_is_em_of_the_table(channel):
    """Oracle: the likeliest table, by EM; its log odds are the coefficients."""
    model = Model("logistic", ILL, (0.0, 1.0), (AGE,))
    channels = {"ill": FLIP, "age": channel}
    shares = SHARES.sum(axis=1)
    setting = Setting((ILL.question, AGE.question), (FLIP, channel), shares, 30_000)
    (histogram,) = setting.collections(3, 1)
    laws = [pattern_channel(each, channels[each.question.id]) for each in (ILL, AGE)]
    if isinstance(channel, KAry):  # a report of one answer is one set bit
        spread = np.zeros((2, 8))
        spread[:, [4, 2, 1]] = histogram
        histogram = spread
    table = maximize_likelihood(histogram, laws, tolerance=1e-9).estimate
    odds = logit(table[1] / table.sum(axis=0))
    strata = strata_of(model, [({}, histogram)], channels)
    found = fit_likelihood(model, strata, np.zeros(3))
    wanted = [odds[0], odds[1] - odds[0], odds[2] - odds[0]]
    assert np.allclose([c.estimate for c in found.coefficients], wanted, atol=1e-4)


def test_two_strata_share_their_coefficients_and_are_sharper():
    model = Model("logistic", ILL, (0.0, 1.0), (SMOKES, AGE, TOWN), (), frozenset({"town"}))
    _, found = histograms(20_000, 4, 2)
    both = zip(TOWN.levels, found, strict=True)
    strata = strata_of(model, [({"town": town}, h) for town, h in both], CHANNELS)
    together = fit_likelihood(model, strata, np.zeros(5)).coefficients
    alone = fit_likelihood(
        MODEL, strata_of(MODEL, [({}, found[0])], CHANNELS), np.zeros(4)
    ).coefficients
    assert np.all(np.abs([c.estimate for c in together[:4]] - BETA) < 0.25)
    assert abs(together[4].estimate) < 4 * together[4].standard_error
    ratio = together[1].standard_error / alone[1].standard_error
    assert 0.6 < ratio < 0.8  # a half of the variance


def fits(people, seed, trials):
    _, found = histograms(people, seed, trials)
    for histogram in found:
        yield fit_likelihood(MODEL, strata_of(MODEL, [({}, histogram)], CHANNELS), np.zeros(4))


@pytest.mark.slow
def test_likelihood_intervals_cover_and_are_no_wider():
    """4,000 collections, as in test_regression_coverage.py. Wrong: as if there were no noise."""
    likely = list(fits(5000, 5, 4000))
    assert nominal(covered(likely, BETA))
    setting, found = histograms(5000, 5, 200)
    decoders = [level_decoder(each, CHANNELS[each.question.id]) for each in MODEL.randomized]
    tables = [
        estimate_table(setting.ids, decoders, c, covariance=True)
        for c in setting.counts(found, with_pairs)
    ]
    unbiased = [fit_tables(MODEL, [({}, table)]) for table in tables]
    wide = np.mean([[c.standard_error for c in f.coefficients] for f in unbiased], axis=0)
    narrow = np.mean([[c.standard_error for c in f.coefficients] for f in likely], axis=0)
    assert np.all(narrow < wide)
    clear = dict.fromkeys(CHANNELS, BitFlip.at_least(1e-9))
    strata = [strata_of(MODEL, [({}, h)], clear) for h in found]
    wrong = [fit_likelihood(MODEL, each, np.zeros(4)) for each in strata]
    assert not nominal(covered(wrong, BETA))
