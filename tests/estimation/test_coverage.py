"""Intervals and biases of the randomizers that are more than a bit flip, by simulation.

Collections are drawn at the level of counts: people by cells, the reports of each cell by the law
of its reports, all of it exact and quick. A share of 4,000 has a standard error of at most .0034
near .95, so that right 95% intervals fall outside [.935, .965] with probability below 2e-5; the
wrong variants named here fall well outside. Bit flips alone are in test_errors.
"""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

import incrowd
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor
from incrowd.errors import IncrowdError
from incrowd.estimation.compare import difference, odds_ratio
from incrowd.estimation.decoders import decoder, question_decoder
from incrowd.estimation.postprocess import maximize_likelihood
from incrowd.estimation.simultaneous import simultaneous_intervals
from incrowd.estimation.tables import along_axes, estimate_table
from incrowd.survey import Choice, YesNo
from tests.conftest import one_in, slowly
from tests.estimation.conftest import Setting
from tests.oracles.axes import k_ary, with_one

TRIALS = 4000
Z = norm.ppf(0.975)

TWO_STAGES = Rappor.from_probabilities(0.3, 0.15, 0.9)
SEX = Choice(id="sex", options=("f", "m", "x"))
SMOKES, DRINKS = YesNo(id="smokes"), YesNo(id="drinks")


ONE = np.array([0.5, 0.3, 0.2])
TWO = np.array([[0.30, 0.22, 0.10], [0.12, 0.18, 0.08]])
THREE = np.array([0.2, 0.1, 0.1, 0.15, 0.1, 0.1, 0.1, 0.15]).reshape(2, 2, 2)
MIX = (TWO_STAGES, Bit.from_probabilities(0.1, 0.8), BitFlip.at_least(0.15))
SETTINGS = {
    "two stages, one-way": Setting((SEX,), (TWO_STAGES,), ONE, 4000),
    "two stages, one-way, 4 copies": Setting((SEX,), (TWO_STAGES,), ONE, 1500, 4),
    "asymmetric, one-way": Setting((SEX,), (MIX[1],), ONE, 3000),
    "k-ary, one-way": Setting((SEX,), (KAry.from_epsilon(1.5, 3),), ONE, 3000),
    "three kinds, three-way": Setting((SMOKES, DRINKS, YesNo(id="old")), MIX, THREE, 12_000),
    "two stages and k-ary, 4 copies": Setting(
        (SMOKES, SEX), (TWO_STAGES, KAry.from_epsilon(2.0, 3)), TWO, 6000, 4
    ),
}


def coverage(tables, shares, scale=1.0):
    """For each cell the share of trials whose interval holds the truth."""
    off = np.array([np.abs(table.estimate - shares) for table in tables])
    return np.mean(off <= scale * Z * np.array([table.standard_error for table in tables]), axis=0)


def nominal(found):
    return bool(np.all((found >= 0.935) & (found <= 0.965)))


@pytest.mark.parametrize("name", one_in(3, SETTINGS))
def test_intervals_cover_for_every_kind_of_channel(name):
    """Wrong: intervals a tenth too short, copies counted as people."""
    setting = SETTINGS[name]
    histograms = setting.collections(seed=len(name))
    tables = setting.tables(histograms)
    errors = np.array([table.standard_error for table in tables])
    assert np.all(setting.shares >= 5 * np.sqrt(np.mean(errors**2, axis=0)))
    assert nominal(coverage(tables, setting.shares))
    assert not nominal(coverage(tables, setting.shares, 0.9))
    if setting.copies > 1:
        as_people = setting.tables(histograms[:1000], copies=1)
        assert not nominal(coverage(as_people, setting.shares))


def test_a_forgotten_stage_is_biased():
    """Two-stage reports read as if they were permanent bits: intervals miss the truth."""
    setting = SETTINGS["two stages, one-way"]
    wrong = setting.tables(setting.collections(7, 50), (TWO_STAGES.permanent,))
    assert coverage(wrong, setting.shares).mean() < 0.1


def jointly(setting, seed):
    """The share of trials in which all intervals hold at once, by each method, and of single
    intervals. The multiplier of one collection serves all: correlations hardly vary."""
    found = setting.joints(setting.collections(seed))
    off = np.array([np.abs(joint.estimate - setting.shares).ravel() for joint in found])
    errors = np.array([joint.standard_error.ravel() for joint in found])
    reach = {
        method: simultaneous_intervals(found[0], method=method).multiplier
        for method in ("max-t", "bonferroni")
    }
    held = {name: np.mean(np.all(off <= times * errors, axis=1)) for name, times in reach.items()}
    return held, np.mean(np.all(off <= Z * errors, axis=1))


MANY = ["three kinds, three-way", "two stages and k-ary, 4 copies"]


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_simultaneous_intervals_cover_jointly(name):
    """4,000 collections: right intervals fall below .94 with probability .002; the seed is
    fixed. Single ones cover jointly far less often."""
    held, single = jointly(SETTINGS[name], 12)
    assert min(held.values()) >= 0.94 > single + 0.05


OF, FEMALE, MALE = ("smokes", "yes"), ("sex", "f"), ("sex", "m")
TRUTH = {
    difference: 0.12 / 0.42 - 0.18 / 0.40,
    odds_ratio: (0.12 / 0.30) / (0.18 / 0.22),
}


@cache
def compared():
    setting = SETTINGS["two stages and k-ary, 4 copies"]._replace(people=8000)
    return setting.joints(setting.collections(13), margin=True)


@pytest.mark.slow
@pytest.mark.parametrize("figure", [odds_ratio, *slowly(difference)])
def test_comparisons_cover_for_mixed_channels(figure):
    """Wrong: as if the four reports of a person were of four people."""
    found = [figure(joint, OF, FEMALE, MALE) for joint in compared()[:1500]]
    assert all(f.estimable for f in found)
    assert nominal(np.mean([f.low <= TRUTH[figure] <= f.high for f in found]))
    people = [
        joint.with_errors(covariance=joint.error.covariance - 0.75 * sampling(joint))
        for joint in compared()[:1000]
    ]
    wrong = [figure(joint, OF, FEMALE, MALE) for joint in people]
    assert not nominal(np.mean([f.low <= TRUTH[figure] <= f.high for f in wrong]))


def sampling(joint):
    return joint.error.covariance - joint.error.noise_covariance


# --- k-ary response with many options --------------------------------------------------------


def clipped_inside(estimates):
    """What a well-known library does within its estimator: negative shares are set to zero, and
    the rest is divided by its sum."""
    positive = np.maximum(estimates, 0)
    return positive / positive.sum(axis=-1, keepdims=True)


def test_k_ary_response_with_100_options_is_unbiased_and_clipping_is_not():
    """Epsilon 1, 10,000 reports, a true share of .50, 2,000 collections: the estimate averages
    .50 within 3 standard errors. Clipped inside, it averages .15 to .2: rejected at once."""
    size, people, trials = 100, 10_000, 2000
    channel = KAry.from_epsilon(1.0, size)
    law = k_ary(np.e / (np.e + size - 1), size)
    shares = np.full(size, 0.5 / (size - 1))
    shares[0] = 0.5
    counts = np.random.default_rng(22).multinomial(people, law @ shares, size=trials)
    question = Choice(id="k", options=tuple(map(str, range(size))))
    decoders = [question_decoder(question, channel)]
    rows = np.hstack([np.full((trials, 1), people), counts])
    found = [estimate_table(["k"], decoders, row) for row in rows]
    estimates = np.array([table.estimate for table in found])
    spread = estimates.std(axis=0, ddof=1) / np.sqrt(trials)
    assert abs(estimates[:, 0].mean() - 0.5) < 3 * spread[0]
    assert np.all(np.abs(estimates.mean(axis=0) - shares) < 5 * spread)
    clipped = clipped_inside(estimates)[:, 0]
    assert 0.1 < clipped.mean() < 0.2
    assert abs(clipped.mean() - 0.5) > 100 * clipped.std() / np.sqrt(trials)
    assert nominal(np.mean([t.low[0] <= 0.5 <= t.high[0] for t in found]))


# --- where maximum likelihood is nearer, and where it is not ---------------------------------

LITTLE, MUCH = BitFlip.at_least(0.1), BitFlip.at_least(0.3)
FOUR = tuple(YesNo(id=name) for name in "abcd")
SPARSE = np.array([0.6, 0.3, 0.1, *[0.0] * 13]).reshape(2, 2, 2, 2)
DENSE = np.linspace(0.5, 1.5, 16).reshape(2, 2, 2, 2) / 16


def distances(flip, shares, people, trials=12, seed=23):
    """Mean total variation of the raw estimate and of maximum likelihood, and how far the two are
    from each other in any cell."""
    setting, found = Setting(FOUR, (flip,) * 4, shares, people), []
    for histogram in setting.collections(seed, trials):
        raw = along_axes([flip.inverse] * 4, histogram / people)
        fit = maximize_likelihood(histogram, [flip.matrix] * 4, tolerance=0.02).estimate
        off = [0.5 * np.abs(estimate - shares).sum() for estimate in (raw, fit)]
        found.append([*off, np.abs(raw - fit).max()])
    return np.mean(found, axis=0)


@pytest.mark.parametrize(("flip", "gain"), [(LITTLE, 1.5), (MUCH, 4.0)])
@pytest.mark.parametrize("people", [1000, *slowly(5000)])
def test_maximum_likelihood_is_nearer_on_sparse_tables(flip, gain, people):
    """16 cells, 13 of them empty: nearer by a factor that grows with the noise, and does not fall
    with the crowd."""
    raw, fit, _ = distances(flip, SPARSE, people)
    assert fit * gain < raw


def test_maximum_likelihood_is_no_nearer_where_every_cell_is_far_from_zero():
    """All 16 cells filled, little noise: it is the raw estimate itself."""
    raw, fit, apart = distances(LITTLE, DENSE, 30_000)
    assert apart < 0.01 * raw and fit > 0.99 * raw


def test_maximum_likelihood_is_of_no_use_for_dense_tables_in_small_crowds():
    """Much noise and 1,000 people: nearer than the raw estimate by a factor of two, but equal
    shares, known without any report, would be nearer still."""
    raw, fit, _ = distances(MUCH, DENSE, 1000)
    guess = 0.5 * np.abs(DENSE - 1 / 16).sum()
    assert guess < fit < raw


def test_the_decoder_of_bits_is_the_wrong_one_for_k_ary_reports():
    """One-hot reports of a k-ary response read bit by bit come out biased."""
    setting = SETTINGS["k-ary, one-way"]
    (counts,) = setting.counts(setting.collections(25, 1), with_one)
    flip = BitFlip.at_least(float(setting.channels[0].matrix[0, 1]))
    wrong = estimate_table(["sex"], [decoder(SEX, flip.inverse)], counts)
    assert np.any(np.abs(wrong.estimate - setting.shares) > 5 * wrong.standard_error)


# --- wrong use -------------------------------------------------------------------------------


def few(*tables):
    """A plan of two questions for 50 people, and the tally of some of its tables."""
    questions = [{"id": id, "type": "choice", "options": ["x", "y"]} for id in "ab"]
    privacy = {"epsilon": 3.0, "analysis": "local"}
    raw = {"name": "few", "crowd": 50, "privacy": privacy, "question": questions}
    plan = incrowd.plan(incrowd.Survey.of(raw))
    people = pa.table({id: ["x", "y"] * 25 for id in "ab"})
    return plan, incrowd.count(
        plan, incrowd.randomize(plan, people, simulation_seed=1), tables=tables
    )


@pytest.mark.parametrize("asked", [{"covariance": True}, {"simultaneous": "max-t"}])
def test_a_tally_of_single_bits_has_no_covariance_and_says_so(asked):
    plan, tally = few(["a"], ["b"])
    with pytest.raises(IncrowdError, match="counts only single bits"):
        incrowd.estimate(plan, tally, **asked)


def test_a_table_that_a_tally_does_not_count_is_told():
    plan, tally = few(["a"], ["b"])
    with pytest.raises(IncrowdError, match="a,b"):
        incrowd.estimate(plan, tally, tables=[("a", "b")])


def test_words_for_no_text_question_are_told():
    plan, tally = few(["a"], ["b"])
    with pytest.raises(IncrowdError, match="candidates"):
        incrowd.estimate(plan, tally, candidates={"a": ["rome"]})
