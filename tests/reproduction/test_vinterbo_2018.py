"""Vinterbo 2018: matrices, losses and estimates."""

import math

import numpy as np
import pytest

from reproduction import vinterbo_2018 as vinterbo
from tests.reproduction.conftest import as_printed, find, true_number


@pytest.mark.parametrize(("a", "n"), [(0.9, 1), (0.7, 3), (0.3, 4)])
def test_matrices_entry_by_entry(a, n):
    size = 2**n
    expected = [
        [a ** (n - (r ^ x).bit_count()) * (1 - a) ** (r ^ x).bit_count() for x in range(size)]
        for r in range(size)
    ]
    matrix = vinterbo.kronecker(a, n)
    assert matrix == pytest.approx(np.array(expected))
    assert vinterbo.inverse(a, n) @ matrix == pytest.approx(np.eye(size), abs=1e-9)
    squares = ((a**2 + (1 - a) ** 2) / (2 * a - 1) ** 2) ** n
    assert vinterbo.factor(a, n) == pytest.approx(squares)
    assert vinterbo.factor(a, n) != pytest.approx(squares * 1.001)


def test_the_estimate_solves_for_the_shares():
    generator = np.random.default_rng(1)
    reports = generator.integers(0, 2, (300, 3))
    counts = vinterbo.histogram(reports)
    assert counts.sum() == 300
    assert counts[0b110] == ((reports == (1, 1, 0)).all(axis=1)).sum()
    found = vinterbo.estimate(0.8, counts)
    assert vinterbo.kronecker(0.8, 3) @ found == pytest.approx(counts / 300)


def test_moments_of_the_estimate():
    mean, covariance = vinterbo.moments(0.75, 1, 4)
    shares = vinterbo.rising_shares(1)
    assert shares == pytest.approx([1 / 3, 2 / 3])
    assert mean == pytest.approx(shares)
    shown = 0.25 + 0.5 * shares[1]
    assert covariance[1, 1] == pytest.approx(shown * (1 - shown) / 4 / 0.25)


def test_figure_1a_has_the_spread_of_the_theory():
    """2000 datasets: variances within 5 standard errors (false alarms 1e-6 each of 12).

    Rejected: the spread of estimates from 1000 reports for those from 9750.
    """
    pi, draws = vinterbo.FIGURE_SHARES, 2000
    matrix = vinterbo.kronecker(0.75, 2)
    inverse = np.linalg.inv(matrix)
    for multiple in (0.0, 1.0, 9.75):
        found = vinterbo.estimates(multiple, draws, 5).var(axis=0)
        noisy = np.diag(inverse @ np.diag(matrix @ pi) @ inverse.T) - pi**2
        exact = pi * (1 - pi) / 1000 if multiple == 0 else noisy / (1000 * multiple)
        assert (abs(found / exact - 1) < 5 * math.sqrt(2 / draws)).all()
        if multiple == 9.75:
            assert (abs(found / (noisy / 1000) - 1) > 5 * math.sqrt(2 / draws)).all()


def test_figure_1c_by_the_definition():
    found = vinterbo.loss_quotients(0.5, 3, 50, 7)
    shares = vinterbo.shares(8, 50, 7)
    assert shares.sum(axis=1) == pytest.approx(1)
    c, mean = 2.5**3, 2 / 9
    for pi, quotient in zip(shares, found, strict=True):
        s = sum(share**2 for share in pi)
        assert quotient == pytest.approx((c - s) / (1 - s) / ((c - mean) / (1 - mean)))


def test_numbers_of_vinterbo(rows):
    row = find(rows, "Vinterbo", "figure 1 (a)", "L = 9.75")
    assert row.formula == pytest.approx(9.75)
    assert true_number(row) == pytest.approx((6.25 - 0.365) / (1 - 0.365), rel=1e-5)
    for alpha in (0.2, 1.0, 2.0):
        row = find(rows, "Vinterbo", f"figure 2 (b), alpha = {alpha}")
        expected = (math.exp(2 * alpha) + 1) / math.expm1(alpha) ** 2
        assert true_number(row) == pytest.approx(expected, rel=1e-5)
    row = find(rows, "Vinterbo", "figure 1 (b), n = 12, p = 0.5")
    assert true_number(row) == pytest.approx(12 * math.log(2.5), abs=0.001)
    row = find(rows, "Vinterbo", "3.2", "pi_hat is a maximum")
    exact = sum(math.comb(20, y) * 0.26**y * 0.74 ** (20 - y) for y in range(4))
    assert true_number(row) == pytest.approx(exact, rel=1e-5)
    for n in (3, 4):  # E f_L(s) / f_L(E s) by other draws; standard error 1.6e-4 at most
        pi = np.random.default_rng(n).standard_exponential((200_000, 2**n))
        s = ((pi / pi.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
        quotient = (1 - 2 / (2**n + 1)) * (1 / (1 - s)).mean() - 1
        row = next(r for r in rows if r.printed.startswith(f"delta({n})"))
        assert true_number(row) == pytest.approx(quotient, abs=8e-4)
        assert true_number(row) < row.formula < as_printed(row)[0]
