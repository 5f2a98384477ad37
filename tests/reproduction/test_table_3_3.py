"""Sufficient DP, sections 3.3 and 4: the table, and the numbers that follow from it."""

import math

import mpmath
import pytest
from scipy.stats import binom

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp
from reproduction.merged import Merged, simulate
from reproduction.row import AGREES
from reproduction.rows import sufficient_dp_table
from tests.reproduction.conftest import (
    E2,
    PRINTED,
    SIGMAS,
    find,
    follows,
    laws_on_a_grid,
    true_number,
)


def tail_mass(q, N, limit, step=1 / 16, L=5):
    """P[R >= limit] of a collection with the outlier; the limit falls between two points."""
    _, law, _ = laws_on_a_grid(q, N, L, step)
    return law[math.ceil(limit * N / step) :].sum()


TABLE = [
    (2, 1000, 0.2446, 0.0060, 0.0071),
    (2, 3000, 0.2109, 0.0048, 0.0064),
    (2, 5000, 0.1963, 0.0045, 0.0067),
    (E2, 1000, 0.1692, 0.0037, 0.0037),
    (E2, 3000, 0.1424, 0.0062, 0.0068),
    (E2, 5000, 0.1310, 0.0074, 0.0086),
]


def test_error_5_the_noise_for_5000_people():
    right = sufficient_dp.noise_3_12(2, 5000, 5)
    assert right.q == pytest.approx(0.1963, abs=5e-5)
    assert sufficient_dp.condition_3_12(right, 5000, 5) <= 2
    assert sufficient_dp.condition_3_12(BitFlip.at_least(0.1778), 5000, 5) > 2.3
    assert tail_mass(0.1778, 5000, 2) > 0.02  # the printed noise leaves far more than .0045


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "N", "q", "printed", "exact"), TABLE)
def test_error_5_tail_masses(limit, N, q, printed, exact):
    found = tail_mass(q, N, limit)
    assert found == pytest.approx(exact, abs=1e-4)
    assert found >= printed - 5e-5
    if printed != exact:
        assert found > printed + 5e-4


@pytest.mark.slow
def test_the_grid_of_the_tail_masses_is_fine_enough():
    for limit, q in ((2, 0.2446), (E2, 0.1692)):
        fine, coarse = (tail_mass(q, 1000, limit, step) for step in (1 / 64, 1 / 16))
        assert fine == pytest.approx(coarse, abs=2e-6)
    odds = 0.9 / 0.1
    for shown in (105, 115, 125):  # of 1000 reports of one bit: R is between two of its values
        limit = ((shown - 0.5) * odds + (1000.5 - shown) / odds) / 1000
        exact = 0.1 * binom.sf(shown - 1, 999, 0.1) + 0.9 * binom.sf(shown - 2, 999, 0.1)
        assert tail_mass(0.1, 1000, limit, L=1) == pytest.approx(exact, abs=1e-6)
    assert tail_mass(0.3, 1, 1.5, L=1) == pytest.approx(0.7, abs=1e-9)


@pytest.mark.slow
def test_the_table_of_section_3_3():
    """The q by mpmath, the tails by simulation: false alarms 1e-6 each, printed ones rejected."""
    rows = list(sufficient_dp_table.rows())
    assert [row for row in rows if PRINTED.search(row.printed) and not follows(row)] == []
    assert len(rows) == 1 + 12 + 6
    for limit, name, N, q, tail in sufficient_dp_table.TABLE:
        place = f"3.3, table, lambda = {name}, N = {N}"
        noise, mass = find(rows, "Sufficient", place, "q"), find(rows, "Sufficient", place, "p")
        exact = _noise(limit, N)
        assert true_number(noise) == pytest.approx(float(exact), abs=1e-6)
        at = q if noise.verdict == AGREES else float(exact)
        draws = 200_000
        found = simulate(Merged(BitFlip.at_least(at), N, 5), math.log(limit), draws, 4).eta
        error = SIGMAS * math.sqrt(true_number(mass) / draws)
        assert abs(found - true_number(mass)) < error
        if mass.verdict != AGREES and tail < 0.006:
            assert abs(found - tail) > error
    wrong_noise = find(rows, "Sufficient", "3.3, table, lambda = 2, N = 5000", "q")
    assert wrong_noise.verdict == "wrong: should read 0.1963"


def _noise(limit, N):
    """The root of (3.12), L = 5."""
    return mpmath.findroot(lambda q: _reach(q, N) - limit, (0.1, 0.3), solver="anderson")


def _reach(q, N, L=5):
    """Left side of (3.12) in mpmath, from the definitions of the moments."""
    p = 1 - q
    third, fifth = (p**3 + q**3) / (p * q), (p**5 + q**5) / (p * q) ** 2
    mean = (N - 1 + third**L) / N
    variance = ((N - 1) * (third**L - 1) + fifth**L - third ** (2 * L)) / mpmath.mpf(N) ** 2
    return mean + 3 * mpmath.sqrt(variance)


def test_numbers_of_section_4(rows):
    def spread(q):
        return math.sqrt(q * (1 - q)) / (1 - 2 * q)

    local = 1 / (1 + 2**0.2)
    for printed, expected in (
        ("local sigma = 7.5", spread(local)),
        ("sigma = 0.6", spread(float(_noise(2, 5000)))),
        ("deviation 20 times", spread(1 / (1 + math.exp(0.05)))),
        ("the 12.5", spread(1 / (1 + math.exp(0.05))) / spread(0.3509144)),
        ("error not exceeding", 3 * spread(0.3509144) * math.sqrt(1e7)),
        ("1% of the population", 300 * spread(0.3509144) * math.sqrt(1e7) / 1e5),
    ):
        row = find(rows, "Sufficient", "below (4.3)", printed)
        assert true_number(row) == pytest.approx(expected, rel=1e-5)
