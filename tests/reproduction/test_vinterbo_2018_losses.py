"""Vinterbo 2018: the losses in closed form, against explicit matrices, enumeration, simulation."""

import itertools
import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from reproduction.vinterbo_2018 import FIGURE_SHARES
from reproduction.vinterbo_2018_losses import (
    approximate_loss,
    approximation_bound,
    greenwood_mean,
    greenwood_variance,
    loss,
    noise_factor,
    noise_factor_at,
    smallest_loss,
)


def flat_dirichlet(cells, seed):
    draws = np.random.default_rng(seed).standard_exponential(cells)
    return draws / draws.sum()


def squared_length(matrix, shares):
    """c of any channel: the mean squared length of the debiased report, from the matrix."""
    return float((np.linalg.inv(matrix) ** 2).sum(axis=0) @ (matrix @ shares))


def explicit_covariance(matrix, shares, reports):
    """Section 3.2, with the matrix written out."""
    inverse = np.linalg.inv(matrix)
    return (inverse @ np.diag(matrix @ shares) @ inverse.T - np.outer(shares, shares)) / reports


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


def test_the_loss_of_figure_1():
    """n = 2, a = .75; figure 1 (a) says 9.75 with s = 2 / (2^n + 1), but its own pi has .365."""
    c, s = noise_factor(0.75, 2), float(FIGURE_SHARES @ FIGURE_SHARES)
    assert c == pytest.approx(6.25, rel=1e-14)
    assert s == pytest.approx(0.365, rel=1e-14)
    assert loss(c, s) == pytest.approx(5.885 / 0.635, rel=1e-14)
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
    flip, shares = BitFlip.at_least(q), flat_dirichlet(2**n, n)
    c, s = noise_factor(flip.p, n), float((shares**2).sum())
    matrix = reduce(np.kron, [flip.matrix] * n)
    expected = np.trace(explicit_covariance(matrix, shares, 50))
    assert (c - s) / 50 == pytest.approx(expected, rel=1e-12)
    assert squared_length(matrix, shares) == pytest.approx(c, rel=1e-12)


@pytest.mark.parametrize("reports", [1, 2, 5, 9])
@pytest.mark.parametrize("channel", [BitFlip.at_least(0.25), Bit.from_probabilities(0.1, 0.6)])
def test_lemma_4_5_by_enumerating_all_histograms(channel, reports):
    shares = flat_dirichlet(2, 2)
    c, s = squared_length(channel.matrix, shares), float((shares**2).sum())
    expected = exact_squared_error(channel.matrix, shares, reports)
    assert (c - s) / reports == pytest.approx(expected, rel=1e-11)
    if isinstance(channel, BitFlip):
        assert noise_factor(channel.p, 1) == pytest.approx(c, rel=1e-11)


def test_proposition_3_1_by_enumeration():
    """With L m noisy reports the squared error is that of m others; L is the same for all m.

    a = 0.9, s = 1/2: L = (c - s) / (1 - s), c = .82 / .64, is 1.5625.
    """
    channel, shares = Warner.from_probability(0.9), np.array([0.5, 0.5])
    lost = loss(noise_factor(channel.a, 1), 0.5)
    assert lost == pytest.approx(1.5625, rel=1e-8)
    for m in (1, 2, 3):
        noisy = exact_squared_error(channel.matrix, shares, 16 * m)
        openly = exact_squared_error(np.eye(2), shares, m)
        assert noisy / openly == pytest.approx(lost / 16, rel=1e-10)
        for alpha in (1.0, 1.3):
            enough = math.ceil(alpha * lost * m)
            assert exact_squared_error(channel.matrix, shares, enough) <= openly
        assert exact_squared_error(channel.matrix, shares, math.floor(lost * m)) > openly


@given(st.floats(1, 1e6), st.integers(1, 8), st.integers(0, 99))
def test_theorem_4_6_no_table_loses_less_than_the_uniform_one(c, n, seed):
    s = float((flat_dirichlet(2**n, seed) ** 2).sum())
    assert loss(c, s) == pytest.approx((c - s) / (1 - s), rel=1e-9)
    assert smallest_loss(c, 2**n) <= loss(c, s) * (1 + 1e-12)
    assert smallest_loss(c, 2**n) == pytest.approx(loss(c, 2.0**-n))


def test_the_mean_of_the_greenwood_statistic():
    """E prod pi_i^a_i = (k-1)! prod a_i! / (k-1+sum a_i)! of the flat Dirichlet law."""
    for cells in (2, 3, 4, 8, 16):
        mean = 2 * cells * math.factorial(cells - 1) / math.factorial(cells + 1)
        assert greenwood_mean(cells) == pytest.approx(mean, rel=1e-14)


def test_the_variance_of_the_greenwood_statistic():
    """Moments of the flat Dirichlet law: E prod pi_i^a_i = (k-1)! prod a_i! / (k-1+sum a_i)!,
    so E s^2 = (24 k + 4 k (k-1)) (k-1)!/(k+3)!."""
    for k in (2, 3, 4, 8, 16):
        second = (24 * k + 4 * k * (k - 1)) * math.factorial(k - 1) / math.factorial(k + 3)
        expected = second - greenwood_mean(k) ** 2
        assert greenwood_variance(k) == pytest.approx(expected, rel=1e-11)


def test_proposition_4_7_has_the_papers_bounds():
    assert 0.2385 < approximation_bound(3) < 0.2386
    assert approximation_bound(4) < 0.0029
    ratios = [approximation_bound(n) * 8**n for n in range(8, 16)]
    assert max(ratios) / min(ratios) < 1.7  # of order 2^(-3n)
    with pytest.raises(ValueError, match="at least 3"):
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
    """c_W = c_M as functions of alpha, and k-ary response with two options; Simmons' c in f."""
    shares, question = np.array([1 - share, share]), Simmons.from_epsilon(alpha)
    for device in (Warner.from_epsilon(alpha), question, KAry.from_epsilon(alpha, 2)):
        found = squared_length(device.matrix, shares)
        assert found == pytest.approx(noise_factor_at(alpha, 1, 1), rel=1e-6)
    f = question.f
    expected = (f**2 - 2 * f + 2) / (2 * (f - 1) ** 2)
    assert squared_length(question.matrix, shares) == pytest.approx(expected, rel=1e-6)


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.001, 0.999))
def test_corollary_2_no_channel_of_one_bit_loses_less(zero, one, share):
    """Any bit channel, symmetric or not, for any share of ones, at its own local epsilon."""
    if abs(zero - one) < 0.01:
        return
    channel, shares = Bit.from_probabilities(zero, one), np.array([1 - share, share])
    s = float((shares**2).sum())
    found = loss(squared_length(channel.matrix, shares), s)
    assert found >= loss(noise_factor_at(channel.epsilon, 1, 1), s) * (1 - 1e-9)


def test_lemma_4_5_within_the_error_of_simulated_data():
    """Mean squared error of 20,000 samples of 1000 reports against (c - s) / m, within five of its
    own standard errors (below 1e-6); 5% more or less noise is rejected."""
    matrix = np.kron(BitFlip.at_least(0.25).matrix, BitFlip.at_least(0.25).matrix)
    counts = np.random.default_rng(9).multinomial(1000, matrix @ FIGURE_SHARES, 20_000)
    estimates = counts / 1000 @ np.linalg.inv(matrix).T
    errors = ((estimates - FIGURE_SHARES) ** 2).sum(axis=1)
    allowed = 5 * errors.std() / math.sqrt(len(errors))
    c = noise_factor(0.75, 2)
    assert abs(errors.mean() - (c - 0.365) / 1000) < allowed
    for wrong in (c * 0.95, c * 1.05):
        assert abs(errors.mean() - (wrong - 0.365) / 1000) > allowed


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: noise_factor(0.5, 2), ValueError),
        (lambda: noise_factor(1.5, 2), ValueError),
        (lambda: noise_factor_at(0.0, 1, 1), ValueError),
        (lambda: noise_factor_at(1.0, 1, 0), ValueError),
        (lambda: loss(2.0, 1.0), ValueError),
        (lambda: loss(2.0, 0.0), ValueError),
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
