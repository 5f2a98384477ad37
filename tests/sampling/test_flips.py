"""Entropy and sampling: laws, exactness, and what each test would reject.

Every statistical test is a predicate on samples: it must accept the library's sample and reject a
wrong one. Seeds are fixed, so a false alarm can only appear when the code draws differently; its
rate is stated with each predicate.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.errors import AnswersError, PrivacyError, UsageError
from incrowd.sampling.flips import (
    SPARSE_BELOW,
    dense_mask,
    flip_mask,
    flip_positions,
    packed_width,
    sparse_mask,
)
from incrowd.sampling.records import respond
from tests.conftest import examples
from tests.oracles.flips import column_counts, rates_fit
from tests.sampling.conftest import simulation


def numerator_of(q):
    return math.ceil(q * DENOMINATOR)


def unpacked(mask, bits):
    return np.unpackbits(mask, axis=1, count=bits, bitorder="little")


# --- flips: rate, positions, independence ----------------------------------------------------


@pytest.mark.parametrize("q", [0.35, 0.4999])
def test_a_hundred_million_flips_have_the_right_rate_everywhere(q):
    rows, numerator = 1_600_000, numerator_of(q)
    mask = flip_mask(numerator, (rows, 64), simulation(21))
    assert rates_fit(mask, 64, numerator)
    assert not rates_fit(mask, 64, numerator_of(q * 1.01))
    assert not rates_fit(mask, 64, numerator_of(q * 0.99))
    mask[:, 4] &= 0b11110111
    assert not rates_fit(mask, 64, numerator)


def test_a_wrong_sampler_one_percent_off_is_rejected():
    mask = flip_mask(numerator_of(0.4999 * 0.99), (200_000, 64), simulation(22))
    assert not rates_fit(mask, 64, numerator_of(0.4999))


@pytest.mark.parametrize(
    ("q", "bits"), [(0.35, 37), (0.4999, 1), (0.02, 5), (0.009, 37), (0.004, 64), (0.001, 3)]
)
def test_rates_fit_at_odd_widths_and_small_noise(q, bits):
    numerator, rows = numerator_of(q), 6_000_000 // bits
    mask = flip_mask(numerator, (rows, bits), simulation(23))
    assert rates_fit(mask, bits, numerator)
    assert not rates_fit(mask, bits, numerator_of(q * 1.05))
    mask[:, 0] &= 0b11111110
    assert not rates_fit(mask, bits, numerator)


def looks_independent(flips, q):
    """Neighboring bits of a row, and the same bit of neighboring rows, are uncorrelated.

    `flips` is (rows, bits) of 0 and 1. False alarms: 5.7e-7 for each of 2 bits - 1 correlations.
    """
    centerd = flips.astype(np.float32) - np.float32(q)
    scale = q * (1 - q) * math.sqrt(len(flips))
    beside = (centerd[:, 1:] * centerd[:, :-1]).sum(axis=0, dtype=float)
    below = (centerd[1:] * centerd[:-1]).sum(axis=0, dtype=float)
    return bool((np.abs(np.concatenate([beside, below])) <= 5 * scale).all())


@pytest.mark.parametrize(("q", "bits"), [(0.35, 16), (0.4999, 13), (0.009, 16), (0.003, 13)])
def test_neighboring_flips_are_independent(q, bits):
    flips = unpacked(flip_mask(numerator_of(q), (200_000, bits), simulation(24)), bits)
    q = numerator_of(q) / DENOMINATOR
    assert looks_independent(flips, q)
    repeated_bit, repeated_row = flips.copy(), flips.copy()
    repeated_bit[::10, 6] = flips[::10, 5]
    repeated_row[1::10, 3] = flips[0::10, 3]
    assert not looks_independent(repeated_bit, q)
    assert not looks_independent(repeated_row, q)


def same_law(left, right, bits):
    """Two samples of masks agree in flips per row and flips per position (chi-square).

    False alarms: 2e-6.
    """
    weights = [
        np.bincount(unpacked(mask, bits).sum(axis=1, dtype=int), minlength=65)
        for mask in (left, right)
    ]
    table = np.array(weights)
    common = table.sum(axis=0) >= 50
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    positions = np.array([column_counts(mask, bits) for mask in (left, right)])
    tables = (table[:, table.sum(axis=0) > 0], positions)
    return min(stats.chi2_contingency(table, correction=False).pvalue for table in tables) > 1e-6


@pytest.mark.parametrize("bits", [64, 29])
def test_dense_and_sparse_agree_in_law_at_the_crossover(bits):
    shape = (250_000, bits)
    dense = dense_mask(SPARSE_BELOW, shape, simulation(25))
    sparse = sparse_mask(SPARSE_BELOW, shape, simulation(26))
    assert same_law(dense, sparse, bits)
    wrong = sparse_mask(SPARSE_BELOW * 21 // 20, shape, simulation(26))
    assert not same_law(dense, wrong, bits)
    clustered = sparse.copy()
    clustered[1::20] = sparse[0::20]
    clustered[0::20] = 0
    clustered[1::20] |= sparse[1::20]
    assert not same_law(dense, clustered, bits)


def test_the_crossover_chooses_the_faster_path():
    for numerator, draw in ((SPARSE_BELOW - 1, sparse_mask), (SPARSE_BELOW, dense_mask)):
        expected = draw(numerator, (100, 24), simulation(27))
        np.testing.assert_array_equal(flip_mask(numerator, (100, 24), simulation(27)), expected)


# --- packed arrays ---------------------------------------------------------------------------

ROWS, WIDTHS = st.integers(0, 300), st.integers(0, 300)

NOISES = st.sampled_from([1, 4096, SPARSE_BELOW - 1, SPARSE_BELOW, 2**30 + 1, 2**31 - 1])


@given(ROWS, WIDTHS, NOISES, st.integers(0, 2**32))
@examples(150)
def test_masks_are_packed_with_zero_padding(rows, bits, numerator, seed):
    mask = flip_mask(numerator, (rows, bits), simulation(seed))
    assert mask.dtype == np.uint8
    assert mask.shape == (rows, packed_width(bits))
    repacked = np.packbits(unpacked(mask, bits), axis=1, bitorder="little") if bits else mask
    np.testing.assert_array_equal(mask, repacked)


@given(ROWS, st.integers(1, 300), NOISES, st.integers(0, 2**32))
@examples(100)
def test_flipping_twice_with_the_same_stream_restores_the_records(rows, bits, numerator, seed):
    records = flip_mask(2**31 - 1, (rows, bits), simulation(seed + 1))
    before = records.copy()
    reports = respond(records, bits, BitFlip(numerator), simulation(seed))
    np.testing.assert_array_equal(records, before)
    mask = flip_mask(numerator, (rows, bits), simulation(seed))
    np.testing.assert_array_equal(reports, records ^ mask)
    np.testing.assert_array_equal(
        respond(reports, bits, BitFlip(numerator), simulation(seed)), records
    )


def test_sparse_and_dense_masks_put_contiguous_bits_into_rows():
    positions = flip_positions(2**24, 1000 * 13, simulation(41))
    expected = np.zeros(1000 * 13, np.uint8)
    expected[positions] = 1
    mask = sparse_mask(2**24, (1000, 13), simulation(41))
    np.testing.assert_array_equal(unpacked(mask, 13), expected.reshape(1000, 13))


def test_wrong_records_are_refused():
    stream, noise = simulation(42), 2**30
    with pytest.raises(AnswersError, match=r"should be uint8 of shape \(rows, 2\) for 13 bits"):
        respond(np.zeros((3, 1), np.uint8), 13, BitFlip(noise), stream)
    with pytest.raises(AnswersError, match="should be uint8"):
        respond(np.zeros((3, 2), np.int64), 13, BitFlip(noise), stream)
    with pytest.raises(AnswersError, match="padding bit"):
        respond(np.array([[0, 0b00100000]], np.uint8), 13, BitFlip(noise), stream)
    for numerator in (0, 2**31):
        with pytest.raises(PrivacyError, match="numerator: got"):
            flip_mask(numerator, (1, 1), stream)
    with pytest.raises(UsageError, match="shape"):
        flip_mask(noise, (-1, 3), stream)


# --- long runs -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.35, 0.4999, 0.011, 0.009, 2**-12])
def test_three_billion_flips_have_the_right_rate_everywhere(q):
    """Five standard errors are 4.5e-5 near one half, 0.1% of q at 0.009, 0.6% at 2^-12."""
    numerator, stream = numerator_of(q), simulation(61)
    masks = np.concatenate([flip_mask(numerator, (10**6, 64), stream) for _ in range(48)])
    assert rates_fit(masks, 64, numerator)
    assert not rates_fit(masks, 64, numerator_of(q * (1.002 if q > 0.005 else 1.012)))
