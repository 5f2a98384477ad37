"""The hot loops: both ways of each kernel against an oracle, and against each other to the bit.

Oracles work bit by bit or on Python's integers. Memory is given at every address and with gaps
between rows; lines and pieces are made short, so that small arrays reach every loop.
"""

from functools import reduce
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import UsageError
from incrowd.kernels import codes, counts
from incrowd.kernels.axes import transform
from incrowd.kernels.codes import histogram
from incrowd.kernels.counts import count_bits
from tests.conftest import slowly
from tests.kernels.conftest import BOTH, SEEDS, THOROUGH, laid_out, unpacked

PACKED = st.builds(
    laid_out,
    st.integers(0, 300),
    st.integers(1, 40),
    st.integers(0, 8),
    st.integers(0, 9) | st.just(0),
    st.booleans(),
    SEEDS,
)


# --- counts of set bits ----------------------------------------------------------------------


@pytest.mark.slow
@given(PACKED, st.integers(0, 7), st.integers(1, 9), st.integers(1, 3), st.integers(1, 2000))
@THOROUGH
def test_set_bits_are_counted_at_any_width_and_address(packed, spare, line, threads, piece):
    bits = 8 * packed.shape[1] - spare
    expected = unpacked(packed).sum(axis=0, dtype=np.int64)[:bits]
    short = {"LINE_WORDS": line, "THREAD": 100, "PIECE": piece}
    with mock.patch.multiple(counts, **short):
        found = [count_bits(packed, bits, threads, machine_code) for machine_code in (False, True)]
    for count in found:
        assert count.dtype == np.int64
        np.testing.assert_array_equal(count, expected)


@pytest.mark.parametrize(
    "shape", [(33_333, 3), (3_001, 131), (40, 20_001), *slowly(((70_001, 8),), ((1, 10**6),))]
)
def test_set_bits_of_large_arrays_are_counted(shape):
    packed = laid_out(*shape, 3, 0, False, 5)
    count = count_bits(packed, 8 * shape[1], machine_code=True)
    np.testing.assert_array_equal(count, unpacked(packed).sum(axis=0, dtype=np.int64))
    other = packed.copy()
    other[len(packed) // 2, -1] ^= 16
    changed = np.flatnonzero(count_bits(other, 8 * shape[1], machine_code=True) != count)
    assert changed.tolist() == [8 * shape[1] - 4]


@BOTH
def test_every_carry_is_kept(machine_code):
    """2^17 + 1 rows in which all bits are set: the carries run through all planes."""
    rows = 2**17 + 1
    packed = np.full((rows, 9), 255, np.uint8)
    packed[:, 4] = 0b10
    expected = np.full(72, rows)
    expected[32:40] = [0, rows, *[0] * 6]
    with mock.patch.object(counts, "LINE_WORDS", 1):
        np.testing.assert_array_equal(count_bits(packed, 72, 2, machine_code), expected)


@BOTH
@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 3)])
def test_nothing_is_counted_in_empty_arrays(shape, machine_code):
    count = count_bits(np.zeros(shape, np.uint8), 8 * shape[1], machine_code=machine_code)
    assert count.dtype == np.int64
    assert count.tolist() == [0] * (8 * shape[1])


def test_bits_that_are_not_there_are_refused():
    for bits in (17, -1):
        with pytest.raises(UsageError, match=r"bits: got .* should be at most 16"):
            count_bits(np.zeros((4, 2), np.uint8), bits)


# --- codes -----------------------------------------------------------------------------------


def counted(packed, columns):
    """The histogram, report by report, from the digits as text."""
    expected = np.zeros(2 ** len(columns), np.int64)
    for report in unpacked(packed)[:, columns]:
        expected[int("0" + "".join(map(str, report)), 2)] += 1
    return expected


@given(PACKED, st.integers(1, 3), st.integers(1, 40), st.data())
@THOROUGH
def test_codes_of_any_columns_are_counted(packed, threads, piece, data):
    column = st.integers(0, 8 * packed.shape[1] - 1)
    columns = data.draw(st.lists(column, max_size=12))
    expected = counted(packed, columns)
    with mock.patch.multiple(codes, THREAD=50, PIECE=piece):
        found = [histogram(packed, columns, threads, way) for way in (False, True)]
    for count in found:
        assert count.dtype == np.int64
        np.testing.assert_array_equal(count, expected)


@BOTH
def test_twenty_columns_of_many_reports(machine_code):
    packed = laid_out(3_000, 11, 1, 2, False, 7)
    columns = np.random.default_rng(8).permutation(88)[:20]
    np.testing.assert_array_equal(
        histogram(packed, columns, 2, machine_code), counted(packed, columns)
    )
    other = histogram(packed, columns[::-1], 2, machine_code)
    assert (other != counted(packed, columns)).any()


def test_the_first_column_is_the_most_significant_digit():
    packed = np.array([[0b01, 0], [0b10, 0b10000000], [0b11, 0]], np.uint8)
    assert codes.codes(packed, [15, 0, 1]).tolist() == [0b010, 0b101, 0b011]


@BOTH
def test_wrong_columns_are_refused(machine_code):
    packed = np.zeros((4, 3), np.uint8)
    for columns in ([24], [3, -1]):
        with pytest.raises(UsageError, match=r"columns: got .* between 0 and 23"):
            histogram(packed, columns, machine_code=machine_code)
    with pytest.raises(UsageError, match="columns: got 21; should be at most 20"):
        histogram(packed, range(21), machine_code=machine_code)


# --- axes ------------------------------------------------------------------------------------

SIZES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)) | st.just((2, 2)), max_size=5)


@given(SIZES, st.lists(st.integers(1, 3), max_size=2), st.booleans(), SEEDS)
@THOROUGH
def test_axes_are_transformed_as_by_the_kronecker_product(sizes, rest, fortran, seed):
    generator = np.random.default_rng(seed)
    matrices = [generator.normal(size=size) for size in sizes]
    tensor = generator.normal(size=(*(n for _, n in sizes), *rest))
    tensor = np.asarray(tensor, order="F" if fortran else "C")
    before = tensor.copy()
    whole = reduce(np.kron, matrices, np.ones((1, 1)))
    expected = whole @ tensor.reshape(whole.shape[1], -1)
    plain, compiled = (transform(matrices, tensor, way) for way in (False, True))
    assert plain.shape == (*(m for m, _ in sizes), *rest)
    np.testing.assert_allclose(plain.reshape(expected.shape), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(plain, compiled)
    np.testing.assert_array_equal(tensor, before)


def test_twenty_axes_agree_to_the_bit_and_with_their_inverses():
    generator = np.random.default_rng(3)
    matrices = generator.normal(size=(20, 2, 2)) + 2 * np.eye(2)
    tensor = generator.normal(size=(2,) * 20)
    plain, compiled = (transform(list(matrices), tensor, way) for way in (False, True))
    np.testing.assert_array_equal(plain, compiled)
    back = transform(list(np.linalg.inv(matrices)), compiled)
    condition = np.prod(np.linalg.cond(matrices))
    assert np.abs(back - tensor).max() < 1e-15 * condition * np.abs(tensor).max()
    other = transform([*matrices[:7], matrices[7].T, *matrices[8:]], tensor)
    assert np.abs(other - plain).max() > 1e-3 * np.abs(plain).max()


def test_counts_and_read_only_matrices_are_taken():
    matrix = np.array([[1, 2], [3, 4]])
    matrix.flags.writeable = False
    for way in (False, True):
        np.testing.assert_array_equal(transform([matrix], np.array([5, 6]), way), [17.0, 39.0])


@BOTH
def test_matrices_that_do_not_fit_are_refused(machine_code):
    tensor = np.ones((2, 3))
    for matrices in ([np.eye(3)], [np.eye(2), np.eye(2)], [np.eye(2), np.eye(3), np.eye(1)]):
        with pytest.raises(UsageError, match=r"matrices: has shape .* should fit axis"):
            transform(matrices, tensor, machine_code)
