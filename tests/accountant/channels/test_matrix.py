"""A channel that is stated as a matrix: exact, or rounded toward more privacy.

Oracles: every collection of a small crowd, enumerated by numpy; and fractions.
"""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from incrowd.accountant import Bit, HiddenSample, KAry, MatrixChannel, certify
from incrowd.accountant.channels.matrix import GRID
from incrowd.errors import PrivacyError
from tests.conftest import one_in
from tests.oracles.crowds import deltas

DICE = [["5/6", "1/6"], ["1/6", "5/6"]]
SUBSETS = [["1/2", "1/8", "1/4"], ["1/4", "1/2", "1/8"], ["1/8", "1/4", "1/2"], ["1/8"] * 3]
FEWER = [["0.7", "0.4", "0.1"], ["0.3", "0.6", "0.9"]]  # two reports on three answers


def probabilities(matrix):
    return np.array([[float(Fraction(entry)) for entry in row] for row in matrix])


@pytest.mark.parametrize("matrix", [DICE, SUBSETS, FEWER], ids=repr)
@pytest.mark.parametrize("analysis", ["shuffle", *one_in(3, ["blanket", "seat", "local"])])
def test_no_bound_is_below_the_truth_of_any_small_crowd(matrix, analysis):
    channel, wrong = MatrixChannel.of(matrix), 0
    for crowd, epsilon in product((2, 4), (0.1, 0.6)):
        found = certify(analysis, channel, crowd, epsilon).delta.upper
        truth = max(map(np.max, deltas(probabilities(matrix), crowd, epsilon)))
        assert found >= truth * (1 - 1e-12)
        wrong += found < max(map(np.max, deltas(probabilities(matrix), crowd, 0.9 * epsilon)))
    assert wrong or analysis == "local"  # the truth at a smaller epsilon is found to be above


def test_a_matrix_has_the_figures_of_the_channels_that_it_describes():
    same, other = KAry.from_epsilon(2.0, 3).weights
    matrix = [[same if r == x else other for x in range(3)] for r in range(3)]
    bit = Bit.from_probabilities(0.25, 0.75)
    sample = HiddenSample.of(KAry(2**31, 3), 0.25, participation="hidden")
    for known, channel in [
        (KAry.from_epsilon(2.0, 3), MatrixChannel(tuple(map(tuple, matrix)))),
        (bit, MatrixChannel.of(bit.matrix)),
        (sample, MatrixChannel.of(sample.matrix)),
    ]:
        assert channel.epsilon == pytest.approx(known.epsilon, rel=1e-14)
        for analysis in ("blanket", "local"):
            bound = certify(analysis, channel, 300, 0.2).delta.upper
            assert bound == pytest.approx(certify(analysis, known, 300, 0.2).delta.upper, rel=1e-9)
            assert bound != certify(analysis, known, 300, 0.21).delta.upper


@pytest.mark.parametrize(
    ("matrix", "rows"),
    [
        (DICE, ((5, 1), (1, 5))),
        ([[Fraction(5, 6), Fraction(1, 6)], [Fraction(1, 6), Fraction(5, 6)]], ((5, 1), (1, 5))),
        ([[0.8, 0.3], [0.2, 0.7]], ((8, 3), (2, 7))),  # the decimals, not the nearest doubles
        (np.array([[0.5, 0.25], [0.5, 0.75]]), ((2, 1), (2, 3))),
        ([["8e-1", " .2 "], ["0.2", "0.80"]], ((4, 1), (1, 4))),
        ([[1, "0.5"], [0, "0.5"]], ((2, 1), (0, 1))),
    ],
    ids=repr,
)
def test_what_adds_up_exactly_is_not_rounded(matrix, rows):
    assert MatrixChannel.of(matrix).rows == rows


def laws(channel):
    total = channel.denominator
    return [[Fraction(row[x], total) for row in channel.rows] for x in range(channel.options)]


def hockey_stick(p, q, factor):
    return sum(max(a - factor * b, Fraction(0)) for a, b in zip(p, q, strict=True))


def reveals_more(rounded, stated):
    """Whether some delta of one report rose, at any of the ratios of a report, in exact numbers."""
    for x, other in permutations(range(len(stated)), 2):
        factors = {a / b for a, b in zip(stated[x], stated[other], strict=True)} | {Fraction(1)}
        for factor in factors:
            before = hockey_stick(stated[x], stated[other], factor)
            if hockey_stick(rounded[x], rounded[other], factor) > before:
                return True
    return False


def test_rounding_reveals_no_more():
    rng = np.random.default_rng(8)
    nearest = 0
    for answers, reports in [(2, 2), (3, 3), (3, 5), (6, 6)]:
        columns = rng.dirichlet(np.ones(reports), answers).tolist()
        sums = [sum(Fraction(repr(each)) for each in column) for column in columns]
        stated = [
            [Fraction(repr(each)) / total for each in column]
            for column, total in zip(columns, sums, strict=True)
        ]
        channel = MatrixChannel.of(np.array(columns).T)
        assert channel.denominator <= GRID and not reveals_more(laws(channel), stated)
        assert np.allclose(channel.matrix, np.array(columns).T, rtol=0, atol=1e-13)
        rounded = [[Fraction(round(each * 2**32), 2**32) for each in law] for law in stated]
        nearest += reveals_more(rounded, stated)
    assert nearest >= 2  # the incorrect variant: the nearest multiples


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.8, 0.2], [0.2, 0.9]], "column 2 adds up to 1.1; should add up to 1"),
        (
            [[0.9, 0.1], [0.4, 0.6]],
            "column 1 adds up to 1.3, but every row adds up to 1; use the tr",
        ),
        ([[0.8, 0.2], [0.2, "x"]], "row 2, column 2: got 'x'; should be a probability"),
        ([[1.2, 0.2], [-0.2, 0.8]], "row 1, column 1: got 1.2; should be a probability"),
        ([["1/0", "0"], ["1", "1"]], "row 1, column 1: got '1/0'"),
        ([["1e-999999999", "0"], ["1", "1"]], "row 1, column 1: got"),
        ([[0.8, 0.2], [0.2]], "should be rows of probabilities, all equally long"),
        ([["0.8", "0.2"], [0, 0], ["0.2", "0.8"]], "row 2 has only zeros; leave out"),
        ([[0.5] * 65] * 2, "from 2 to 64 of both"),
        ([[1 / 3, 1 / 3]] * 3, "cannot be rounded toward more privacy"),
    ],
)
def test_a_wrong_matrix_is_refused_with_its_place(matrix, message):
    with pytest.raises(PrivacyError, match="matrix: ") as raised:
        MatrixChannel.of(matrix)
    assert message in str(raised.value)


def test_estimates_by_the_inverse_are_unbiased():
    for matrix in (DICE, SUBSETS):
        channel = MatrixChannel.of(matrix)
        assert np.allclose(channel.inverse @ probabilities(matrix), np.eye(channel.options))
    with pytest.raises(PrivacyError, match="cannot be inverted"):
        _ = MatrixChannel.of(FEWER).inverse
