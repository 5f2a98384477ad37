"""Losses and covariances against explicit matrices, exact enumeration and simulation."""

import itertools
import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.channels.bit import Bit
from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.k_ary import KAry
from incrowd.channels.rappor import Rappor
from incrowd.channels.simmons import Simmons
from incrowd.channels.warner import Warner
from incrowd.errors import PrivacyError, TableError
from incrowd.estimation.efficiency import (
    approximate_loss,
    approximation_bound,
    covariance,
    effective_sample,
    greenwood_mean,
    greenwood_variance,
    loss,
    noise_covariance,
    noise_factor,
    noise_factor_at,
    option_products,
    people_needed,
    products,
    smallest_loss,
    squares,
    table_factor,
    table_loss,
    trace,
    variances,
)
from incrowd.estimation.tables import along_axes

FIGURE = np.array([0.05, 0.15, 0.3, 0.5]).reshape(2, 2)  # Vinterbo, figure 1


def flat_dirichlet(shape, seed):
    draws = np.random.default_rng(seed).standard_exponential(shape)
    return draws / draws.sum()


def explicit_covariance(channels, shares, reports):
    """Vinterbo, section 3.2, with the Kronecker products written out."""
    matrix = reduce(np.kron, [c.matrix for c in channels])
    inverse, pi = np.linalg.inv(matrix), shares.ravel()
    return (inverse @ np.diag(matrix @ pi) @ inverse.T - np.outer(pi, pi)) / reports


MIXES = [
    [BitFlip.at_least(0.25)] * 2,
    [BitFlip.at_least(0.1), BitFlip.at_least(0.35), Warner.from_probability(0.2)],
    [Bit.from_probabilities(0.1, 0.6)],
    [Bit.from_probabilities(0.1, 0.6), KAry.from_epsilon(1.0, 4)],
    [KAry.from_epsilon(2.0, 3), Simmons.from_probabilities(0.4, 0.1), BitFlip.at_least(0.2)],
    [Rappor.from_probabilities(0.5, 0.5, 0.75), Rappor.one_time(0.5)],
]


def table_of(mix, seed=1):
    return flat_dirichlet([len(c.matrix) for c in mix], seed)


# --- Vinterbo's formulas ---------------------------------------------------------------------


def test_the_figures_of_the_paper_and_of_the_design():
    """DESIGN 3.2: n = 2, a = .75; the paper's 9.75 uses s = 2 / (2^n + 1)."""
    c = noise_factor(0.75, 2)
    s = float((FIGURE**2).sum())
    assert c == pytest.approx(6.25, rel=1e-14)
    assert s == pytest.approx(0.365, rel=1e-14)
    assert loss(c, s) == pytest.approx(5.885 / 0.635, rel=1e-14)
    assert round(loss(c, s), 4) == 9.2677
    assert approximate_loss(c, 4) == pytest.approx(9.75, rel=1e-14)
    assert smallest_loss(c, 4) == pytest.approx((6.25 - 0.25) / 0.75, rel=1e-14)


@given(st.floats(0, 1).filter(lambda a: abs(a - 0.5) > 1e-3), st.integers(1, 6))
def test_c_as_the_paper_writes_it(a, n):
    """Lemma 4.5, and the proof's "diagonal entries of C^-1 C^-1"."""
    c = ((a**2 + (1 - a) ** 2) / (2 * a - 1) ** 2) ** n
    assert noise_factor(a, n) == pytest.approx(c, rel=1e-9)
    inverse = reduce(np.kron, [np.linalg.inv([[a, 1 - a], [1 - a, a]])] * n)
    np.testing.assert_allclose(np.diag(inverse @ inverse), c, rtol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("q", [0.05, 0.25, 0.4])
def test_lemma_4_5_against_the_explicit_covariance(n, q):
    flip = BitFlip.at_least(q)
    shares = flat_dirichlet([2] * n, n)
    c, s = noise_factor(flip.p, n), float((shares**2).sum())
    expected = np.trace(explicit_covariance([flip] * n, shares, 50))
    assert trace(c, s, 50) == pytest.approx(expected, rel=1e-12)
    assert table_factor([products(flip)] * n, shares) == pytest.approx(c, rel=1e-12)


def multinomials(reports, cells):
    """All count vectors of `reports` reports in `cells` cells."""
    for cuts in itertools.combinations(range(reports + cells - 1), cells - 1):
        yield np.diff([-1, *cuts, reports + cells - 1]) - 1


def exact_squared_error(matrix, shares, reports):
    """E ||estimate - pi||^2 by enumerating every histogram of reports."""
    law, inverse, total = matrix @ shares, np.linalg.inv(matrix), 0.0
    for y in multinomials(reports, len(shares)):
        ways = math.factorial(reports) / math.prod(math.factorial(int(v)) for v in y)
        error = inverse @ y / reports - shares
        total += ways * np.prod(law**y) * (error @ error)
    return total


@pytest.mark.parametrize("reports", [1, 2, 5, 9])
@pytest.mark.parametrize("channel", MIXES[0][:1] + MIXES[2] + [KAry.from_epsilon(1.0, 3)])
def test_lemma_4_5_by_enumerating_all_histograms(channel, reports):
    shares = table_of([channel], 2)
    s = float((shares**2).sum())
    expected = exact_squared_error(channel.matrix, shares, reports)
    c = table_factor([products(channel)], shares)
    assert trace(c, s, reports) == pytest.approx(expected, rel=1e-11)


def test_proposition_3_1_by_enumeration():
    """With L m noisy reports the squared error is that of m open answers; L is the same for all
    m. a = 0.9, s = 1/2: L = (c - s) / (1 - s), c = .82 / .64, is 1.5625."""
    channel, shares = Warner.from_probability(0.9), np.array([0.5, 0.5])
    lost = table_loss([products(channel)], shares)
    assert lost == pytest.approx(1.5625, rel=1e-8)
    for m in (1, 2, 3):
        noisy = exact_squared_error(channel.matrix, shares, 16 * m)
        openly = exact_squared_error(np.eye(2), shares, m)
        assert noisy / openly == pytest.approx(lost / 16, rel=1e-10)
        for alpha in (1.0, 1.3):
            enough = math.ceil(alpha * lost * m)
            assert exact_squared_error(channel.matrix, shares, enough) <= openly
        assert exact_squared_error(channel.matrix, shares, math.floor(lost * m)) > openly
    assert effective_sample(1000, lost) == pytest.approx(1000 / 1.5625, rel=1e-8)


@given(st.floats(1, 1e6), st.integers(1, 8), st.integers(0, 99))
def test_theorem_4_6_no_table_loses_less_than_the_uniform_one(c, n, seed):
    s = float((flat_dirichlet(2**n, seed) ** 2).sum())
    assert loss(c, s) == pytest.approx((c - s) / (1 - s), rel=1e-9)
    assert smallest_loss(c, 2**n) <= loss(c, s) * (1 + 1e-12)
    assert smallest_loss(c, 2**n) == pytest.approx(loss(c, 2.0**-n))


def test_the_mean_and_variance_of_the_greenwood_statistic():
    """Moments of the flat Dirichlet law: E prod pi_i^a_i = (k-1)! prod a_i! / (k-1+sum a_i)!,
    so E s = 2k (k-1)!/(k+1)! and E s^2 = (24 k + 4 k (k-1)) (k-1)!/(k+3)!."""
    for k in (2, 3, 4, 8, 16):
        mean = 2 * k * math.factorial(k - 1) / math.factorial(k + 1)
        second = (24 * k + 4 * k * (k - 1)) * math.factorial(k - 1) / math.factorial(k + 3)
        assert greenwood_mean(k) == pytest.approx(mean, rel=1e-14)
        assert greenwood_variance(k) == pytest.approx(second - mean**2, rel=1e-11)


def test_proposition_4_7_has_the_papers_bounds():
    assert 0.2385 < approximation_bound(3) < 0.2386
    assert approximation_bound(4) < 0.0029
    ratios = [approximation_bound(n) * 8**n for n in range(8, 16)]
    assert max(ratios) / min(ratios) < 1.7  # of order 2^(-3n)
    with pytest.raises(TableError, match="at least 3"):
        approximation_bound(2)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("c", [1.001, 6.25, 1e6])
def test_proposition_4_7_by_simulation(n, c):
    """300,000 random tables: the ratio of E f_L(s) to f_L(E s) lies in [1, 1 + delta], up to
    five standard errors (a false alarm below 1e-6)."""
    draws = np.random.default_rng(n).standard_exponential((300_000, 2**n))
    s = (draws**2).sum(axis=1) / draws.sum(axis=1) ** 2
    values = (1 + (c - 1) / (1 - s)) / approximate_loss(c, 2**n)
    slack = 5 * values.std() / math.sqrt(len(s))
    assert 1 - slack <= values.mean() <= 1 + approximation_bound(n) + slack


# --- the local privacy level -----------------------------------------------------------------


@given(st.floats(0.05, 8), st.integers(1, 5), st.integers(1, 5))
def test_theorem_4_9(alpha, n, k):
    """c of the spinner with r(a)^k = e^alpha, and no more private device has less."""
    a = 1 / (1 + math.exp(-alpha / k))
    assert noise_factor_at(alpha, n, k) == pytest.approx(noise_factor(a, n), rel=1e-9)
    written = ((math.exp(2 * alpha / k) + 1) / (math.exp(alpha / k) - 1) ** 2) ** n
    assert noise_factor_at(alpha, n, k) == pytest.approx(written, rel=1e-9)
    spinner = Warner.from_epsilon(alpha / k)
    assert noise_factor(spinner.a, n) >= noise_factor_at(alpha, n, k) * (1 - 1e-12)


@given(st.floats(0.05, 8), st.floats(0.05, 0.95))
@settings(max_examples=100)
def test_the_devices_of_section_5_lose_the_same_at_the_same_alpha(alpha, share):
    """c_W = c_M as functions of alpha; Simmons' c as the paper writes it in f."""
    spinner, question = Warner.from_epsilon(alpha), Simmons.from_epsilon(alpha)
    shares = np.array([1 - share, share])
    found = [table_factor([products(d)], shares) for d in (spinner, question)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] == pytest.approx(noise_factor_at(alpha, 1, 1), rel=1e-6)
    f = question.f
    assert found[1] == pytest.approx((f**2 - 2 * f + 2) / (2 * (f - 1) ** 2), rel=1e-6)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.001, 0.999))
def test_corollary_2_no_channel_of_one_bit_loses_less(zero, one, share):
    """Any bit channel, symmetric or not, for any share of ones, at its own local epsilon."""
    if abs(zero - one) < 0.01:
        return
    channel, shares = Bit.from_probabilities(zero, one), np.array([1 - share, share])
    c = noise_factor_at(channel.epsilon, 1, 1)
    assert table_loss([products(channel)], shares) >= loss(c, (shares**2).sum()) * (1 - 1e-9)


def test_k_ary_and_bits_for_one_question_of_two_options():
    for epsilon in (0.5, 2.0):
        factor = table_factor([products(KAry.from_epsilon(epsilon, 2))], np.array([0.3, 0.7]))
        assert factor == pytest.approx(noise_factor_at(epsilon, 1, 1), rel=1e-7)


# --- any mix of questions --------------------------------------------------------------------


@pytest.mark.parametrize("mix", MIXES)
def test_covariances_are_the_explicit_ones(mix):
    shares, axes = table_of(mix), [products(c) for c in mix]
    expected = explicit_covariance(mix, shares, 300)
    assert np.allclose(covariance(axes, shares, 300), expected, rtol=1e-10, atol=1e-13)
    pi = shares.ravel()
    sampling = (np.diag(pi) - np.outer(pi, pi)) / 300
    noise = noise_covariance(axes, shares, 300)
    assert np.allclose(noise, expected - sampling, rtol=1e-10, atol=1e-13)
    assert np.allclose(noise_covariance(axes, shares, 100, copies=3), noise, rtol=1e-12)
    diagonal = variances(axes, shares, 300).ravel()
    assert np.allclose(diagonal, np.diag(expected), rtol=1e-10)
    both = np.diag(noise + 3 * sampling)
    assert np.allclose(variances(axes, shares, 100, copies=3).ravel(), both, rtol=1e-10)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("copies", [1, 4])
def test_the_factor_gives_trace_and_loss_of_any_mix(mix, copies):
    shares, axes = table_of(mix), [products(c) for c in mix]
    pi = shares.ravel()
    sampling = np.diag(pi) - np.outer(pi, pi)
    noise = explicit_covariance(mix, shares, 1) - sampling
    expected = np.trace(noise / copies + sampling)
    c, s = table_factor(axes, shares), float((shares**2).sum())
    assert trace(c, s, 70, copies) == pytest.approx(expected / 70, rel=1e-10)
    assert table_loss(axes, shares, copies) == pytest.approx(expected / np.trace(sampling))


@pytest.mark.parametrize("mix", [MIXES[0], MIXES[1], [KAry.from_epsilon(1.0, 5), MIXES[1][0]]])
def test_channels_that_treat_all_answers_alike_do_not_depend_on_the_shares(mix):
    norms = [np.linalg.norm(np.linalg.inv(c.matrix)) ** 2 / len(c.matrix) for c in mix]
    for seed in range(3):
        factor = table_factor([products(c) for c in mix], table_of(mix, seed))
        assert factor == pytest.approx(math.prod(norms), rel=1e-11)


def test_a_channel_that_does_not_treat_answers_alike_depends_on_the_shares():
    axis = products(Bit.from_probabilities(0.1, 0.6))
    few, many = (table_factor([axis], np.array([1 - x, x])) for x in (0.01, 0.5))
    assert few < 0.8 * many


def exact_option_products(flip, options):
    """E[g g^T | x] by enumerating all reports of a choice sent as one bit for each option."""
    result = np.zeros((options, options, options))
    for x in range(options):
        for report in itertools.product((0, 1), repeat=options):
            s = np.array(report)
            flips = int((s != (np.arange(options) == x)).sum())
            g = (s - flip.q) / (flip.p - flip.q)
            result[:, :, x] += flip.q**flips * flip.p ** (options - flips) * np.outer(g, g)
    return result


@pytest.mark.parametrize("options", [2, 3, 5])
def test_choices_sent_as_bits(options):
    flip = BitFlip.at_least(0.3)
    found = option_products(flip, options)
    assert np.allclose(found, exact_option_products(flip, options), atol=1e-11)
    assert np.allclose(squares(found), np.einsum("iix->ix", found))


def test_a_table_of_a_choice_and_a_bit_by_enumerating_all_reports():
    """Covariance of the product estimate for a table of people, record by record."""
    flip, bit = BitFlip.at_least(0.3), Bit.from_probabilities(0.2, 0.9)
    shares = flat_dirichlet((3, 2), 5)
    second = np.zeros((6, 6))
    for x, y in np.ndindex(3, 2):
        left, inverse = exact_option_products(flip, 3)[:, :, x], np.linalg.inv(bit.matrix)
        right = sum(bit.matrix[r, y] * np.outer(inverse[:, r], inverse[:, r]) for r in (0, 1))
        second += shares[x, y] * np.kron(left, right)
    pi = shares.ravel()
    found = covariance([option_products(flip, 3), products(bit)], shares, 40)
    assert np.allclose(found, (second - np.outer(pi, pi)) / 40, rtol=1e-10)


def simulated(mix, shares, people, copies, fixed, trials, seed):
    """Estimates of whole surveys, shape (trials, cells): people, then noise, then the inverse."""
    random = np.random.default_rng(seed)
    pi, matrix = shares.ravel(), reduce(np.kron, [c.matrix for c in mix])
    counts = random.multinomial(people, pi, trials)
    if fixed:
        counts[:] = np.round(people * pi)
    reports = sum(random.multinomial(counts[:, x] * copies, matrix[:, x]) for x in range(pi.size))
    tables = np.moveaxis(reports.reshape(trials, *shares.shape), 0, -1) / (people * copies)
    return along_axes([c.inverse for c in mix], tables).reshape(pi.size, trials).T


@pytest.mark.parametrize(("copies", "fixed"), [(1, False), (1, True), (3, False), (3, True)])
def test_stated_errors_are_those_of_simulated_surveys(copies, fixed):
    """20,000 surveys of 400 people. A variance has a relative error of 1%; 5.5 of those in each
    of 4 cells is a false alarm rate below 2e-7. Wrong: noise with sampling for noise alone, and
    copies counted as people."""
    mix, shares = [BitFlip.at_least(0.1), Bit.from_probabilities(0.05, 0.9)], FIGURE
    axes, tolerance = [products(c) for c in mix], 5.5 * math.sqrt(2 / 20_000)
    found = simulated(mix, shares, 400, copies, fixed, 20_000, copies).var(axis=0)
    both = variances(axes, shares, 400, copies).ravel()
    noise = np.diag(noise_covariance(axes, shares, 400, copies))
    stated, wrong = (noise, both) if fixed else (both, noise)
    assert (np.abs(found / stated - 1) < tolerance).all()
    assert not (np.abs(found / wrong - 1) < tolerance).all()
    if copies > 1 and not fixed:
        people = variances(axes, shares, 400 * copies).ravel()
        assert not (np.abs(found / people - 1) < tolerance).all()


def test_lemma_4_5_within_the_error_of_simulated_data():
    """Mean squared error of 20,000 surveys against (c - s) / m, within five of its own standard
    errors (below 1e-6); 5% more or less noise is rejected."""
    mix = [BitFlip.at_least(0.25)] * 2
    estimates = simulated(mix, FIGURE, 1000, 1, False, 20_000, 9)
    errors = ((estimates - FIGURE.ravel()) ** 2).sum(axis=1)
    allowed = 5 * errors.std() / math.sqrt(len(errors))
    assert abs(errors.mean() - trace(6.25, 0.365, 1000)) < allowed
    for wrong in (6.25 * 0.95, 6.25 * 1.05):
        assert abs(errors.mean() - trace(wrong, 0.365, 1000)) > allowed


@given(st.floats(0.001, 0.2), st.integers(1, 5), st.integers(0, 5))
@settings(max_examples=60)
def test_people_needed_are_the_fewest(wanted, copies, seed):
    mix = MIXES[seed]
    axes, shares = [products(c) for c in mix], table_of(mix, seed)
    people = people_needed(wanted, axes, shares, copies)
    assert variances(axes, shares, people, copies).max() <= wanted**2 * (1 + 1e-12)
    assert people == 1 or variances(axes, shares, people - 1, copies).max() > wanted**2


def test_people_needed_without_noise_are_the_textbooks():
    """pi (1 - pi) / n with pi = 1/2 and an error of 1%: 2,500; with a = 3/4 there is p q /
    (p - q)^2 = 3/4 more: 10,000."""
    half = np.array([0.5, 0.5])
    assert people_needed(0.01, [products(Bit(0, 2**32))], half) == pytest.approx(2500, abs=1)
    assert people_needed(0.01, [products(BitFlip(2**30))], half) == pytest.approx(10_000, abs=1)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: noise_factor(0.5, 2), PrivacyError),
        (lambda: noise_factor(1.5, 2), PrivacyError),
        (lambda: noise_factor_at(0.0, 1, 1), PrivacyError),
        (lambda: noise_factor_at(1.0, 1, 0), PrivacyError),
        (lambda: loss(2.0, 1.0), TableError),
        (lambda: loss(2.0, 0.0), TableError),
        (lambda: people_needed(0, [products(BitFlip(2**30))], np.ones(2) / 2), TableError),
        (lambda: table_factor([products(BitFlip(2**30))], np.ones(4) / 4), TableError),
        (lambda: covariance([products(BitFlip(2**30))] * 13, np.ones([2] * 13), 1), TableError),
    ],
)
def test_wrong_arguments_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_factors_beyond_double_precision_are_infinite():
    assert noise_factor(0.5 + 2**-20, 100) == math.inf
    assert noise_factor_at(1e-9, 50, 1) == math.inf
    assert noise_factor_at(1e6, 50, 1) == 1
    assert noise_factor(1.0, 10**6) == noise_factor(0.0, 3) == 1
