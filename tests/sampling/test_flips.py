"""Entropy and sampling: laws, exactness, and what each test would reject.

Every statistical test is a predicate on samples: it must accept the library's sample and reject a
wrong one. Seeds are fixed, so a false alarm can only appear when the code draws differently; its
rate is stated with each predicate.
"""

import math
import os
import subprocess
import sys
from functools import partial
from itertools import islice

import mpmath
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from incrowd.channels.bit_flip import DENOMINATOR
from incrowd.errors import AnswersError, PrivacyError, UsageError
from incrowd.sampling import digits as digits_module
from incrowd.sampling.bernoulli import bernoulli_words, lanes
from incrowd.sampling.digits import LazyDigits, fraction_digits, power_bounds, share_bounds
from incrowd.sampling.flip import (
    SPARSE_BELOW,
    dense_mask,
    flip,
    flip_mask,
    packed_width,
    sparse_mask,
)
from incrowd.sampling.gaps import flip_positions, gaps
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import permutation

ALL_ONES = np.uint64(2**64 - 1)
BYTE_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
FALSE_ALARM = 1e-6


def numerator_of(q):
    return math.ceil(q * DENOMINATOR)


def simulation(seed):
    return Keystream.for_simulation(seed)


def unpacked(mask, bits):
    return np.unpackbits(mask, axis=1, count=bits, bitorder="little")


class Scripted:
    """A keystream that answers each call from a script: a function of the call and its size."""

    def __init__(self, script):
        self.script, self.sizes = script, []

    def words(self, count):
        self.sizes.append(count)
        return np.asarray(self.script(len(self.sizes) - 1, count), dtype=np.uint64)


# --- the keystream ---------------------------------------------------------------------------


def test_words_are_the_published_aes_256_counter_vector():
    # NIST SP 800-38A, F.5.5: the output blocks are the keystream.
    key = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
    counter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
    plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
    sent = "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
    expected = bytes(a ^ b for a, b in zip(bytes.fromhex(plain), bytes.fromhex(sent), strict=True))
    words = Keystream(bytes.fromhex(key), bytes.fromhex(counter)).words(4)
    assert words.dtype == np.uint64
    assert b"".join(int(word).to_bytes(8, "little") for word in words) == expected


def test_words_agree_with_the_cipher_over_many_pieces():
    key, counter = bytes(range(32)), bytes(range(16))
    cipher = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    expected = cipher.update(bytes(8 * 100_001))
    assert Keystream(key, counter).words(100_001).astype("<u8").tobytes() == expected


@pytest.mark.parametrize("parts", [(3, 7), (1, 0, 9), (10, 0), (8191, 1, 8193)])
def test_words_continue_from_call_to_call(parts):
    stream = simulation(1)
    pieces = np.concatenate([stream.words(part) for part in parts])
    np.testing.assert_array_equal(pieces, simulation(1).words(sum(parts)))


def test_streams_differ_unless_the_seed_is_the_same():
    assert (Keystream.from_system().words(8) != Keystream.from_system().words(8)).all()
    assert (simulation(1).words(8) != simulation(2).words(8)).all()
    assert (simulation(1).words(8) == simulation(1).words(8)).all()


def test_only_a_simulation_says_that_it_is_one():
    assert (simulation(7).simulation, simulation(7).seed) == (True, 7)
    assert (Keystream.from_system().simulation, Keystream.from_system().seed) == (False, None)


FORK = """
import os
from incrowd.errors import UsageError
from incrowd.sampling.keystream import Keystream
def answer(stream):
    try:
        return stream.words(4).tobytes().hex()
    except UsageError as error:
        return "refused " + str(error)
stream = {stream}
stream.words(1)
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, answer(stream).encode())
    os._exit(0)
os.waitpid(child, 0)
print(answer(stream))
print(os.read(reader, 1000).decode())
"""


def after_fork(stream):
    command = [sys.executable, "-c", FORK.format(stream=stream)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_of_a_system_stream_draws_other_words():
    parent, child = after_fork("Keystream.from_system()")
    assert len(parent) == len(child) == 64
    assert parent != child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_of_a_simulation_refuses():
    parent, child = after_fork("Keystream.for_simulation(12)")
    assert parent == simulation(12).words(5)[1:].tobytes().hex()
    assert child.startswith("refused simulation seed: got 12;")


# --- Bernoulli words -------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", range(1, 16))
def test_every_sequence_of_four_random_bits_is_decided_rightly(threshold):
    """Lane i of the word draws the binary digits of i: it is 1 exactly when i < threshold."""
    lane, digits = np.arange(64) % 16, fraction_digits(threshold, 4)

    def drawn(call, count):
        assert (call, count) == (0, len(digits))
        rows = [(lane >> (3 - digit)) & 1 for digit in range(count)]
        return [int(sum(int(bit) << place for place, bit in enumerate(row))) for row in rows]

    word = bernoulli_words(digits, 1, Scripted(drawn))
    bits = np.unpackbits(lanes(word), bitorder="little")
    np.testing.assert_array_equal(bits, lane < threshold)
    assert bits.sum() == 4 * threshold


@pytest.mark.parametrize("later", range(8))
def test_undecided_lanes_draw_again(later):
    """All lanes draw seven ones, the digits of the threshold: the next three decide."""
    digits = fraction_digits(0b1111111_101, 10)

    def drawn(call, count):
        row = [later >> place & 1 for place in (2, 1, 0)]
        return [ALL_ONES] * count if call == 0 else [ALL_ONES if bit else 0 for bit in row]

    stream = Scripted(drawn)
    (word,) = bernoulli_words(digits, 1, stream)
    assert word == (ALL_ONES if later < 0b101 else 0)
    assert stream.sizes == [7, 3]


def test_digits_stop_at_the_last_that_is_set():
    assert fraction_digits(2**31) == (1,)
    assert fraction_digits(3 * 2**29) == (0, 1, 1)
    assert len(fraction_digits(1)) == 32
    assert sum(2.0**-place * digit for place, digit in enumerate(fraction_digits(12345), 1)) == (
        12345 / DENOMINATOR
    )


@pytest.mark.parametrize("ties", [100, 128, 192, 250, 400, 1000])
@pytest.mark.parametrize("last", [0, 1])
def test_ties_beyond_the_first_digits_are_decided_by_more_digits(ties, last):
    """Random bits that equal the true digits `ties` times, then differ (0) or overshoot (1)."""
    threshold = LazyDigits(partial(share_bounds, 4096, 5))
    truth = true_digits(share_of(4096, 5), ties + 200)
    place = next(i for i in range(ties, ties + 200) if truth[i] != last)

    def drawn(call, count):
        """All lanes draw alike, seven digits at a time."""
        bits = (truth[i] if i != place else 1 - truth[i] for i in range(7 * call, 7 * call + count))
        return [ALL_ONES if bit else 0 for bit in bits]

    stream = Scripted(drawn)
    word = bernoulli_words(threshold, 1, stream)[0]
    assert word == (ALL_ONES if last == 0 else 0)
    assert stream.sizes == [7] * (place // 7 + 1)


# --- digits of thresholds --------------------------------------------------------------------


def power_of(numerator, squarings):
    return (1 - mpmath.mpf(numerator) / DENOMINATOR) ** (1 << squarings)


def share_of(numerator, squarings):
    with mpmath.workdps(1000):
        x = power_of(numerator, squarings)
        return x / (1 + x)


def true_digits(value, count):
    with mpmath.workdps(1000):
        scaled = int(mpmath.floor(mpmath.ldexp(value, count)))
    return [int(digit) for digit in f"{scaled:0{count}b}"]


@pytest.mark.parametrize("numerator", [1, 4096, 2**26 - 1, 2**31 - 1, 3 * 2**30])
@pytest.mark.parametrize("squarings", [0, 1, 7, 20, 36, 61])
def test_threshold_digits_agree_with_mpmath(numerator, squarings):
    """600 binary digits, 180 decimal ones; the first 128 come without a second computation."""
    with mpmath.workdps(1000):
        power, share = power_of(numerator, squarings), share_of(numerator, squarings)
    for value, bounds in ((power, power_bounds), (share, share_bounds)):
        lazy = LazyDigits(partial(bounds, numerator, squarings))
        assert list(islice(lazy, 600)) == true_digits(value, 600)
        first = digits_module.certain_digits(bounds(numerator, squarings, 192), 192)
        assert len(first) >= 128 or squarings == 0


@given(st.integers(1, DENOMINATOR - 1), st.integers(0, 8), st.integers(1, 300))
@settings(max_examples=200, deadline=None)
def test_bounds_enclose_the_number(numerator, squarings, precision):
    scale = DENOMINATOR ** (1 << squarings)
    power = (DENOMINATOR - numerator) ** (1 << squarings)
    lower, upper = power_bounds(numerator, squarings, precision)
    assert lower * scale <= power << precision <= upper * scale
    assert upper - lower < 2 ** (squarings + 2)
    lower, upper = share_bounds(numerator, squarings, precision)
    assert lower * (scale + power) <= power << precision <= upper * (scale + power)


def test_no_digit_is_given_while_the_bounds_disagree():
    assert digits_module.certain_digits((0b0111, 0b1000), 4) == ()
    assert digits_module.certain_digits((0b0100, 0b0110), 4) == (0, 1)
    assert digits_module.certain_digits((0b1111, 0b10000), 4) == ()


# --- flips: rate, positions, independence ----------------------------------------------------


def column_counts(mask, bits):
    """Flips at each bit position, without unpacking."""
    counts = [np.bincount(column, minlength=256) @ BYTE_BITS for column in mask.T]
    return np.concatenate(counts)[:bits]


def rates_fit(mask, bits, numerator):
    """The overall rate and each position's are within 5 standard errors of numerator / 2^32.

    False alarms: 5.7e-7 (bits + 1), at most 3.8e-5 for 64 bits.
    """
    q, rows = numerator / DENOMINATOR, len(mask)
    counts = column_counts(mask, bits)
    scale = math.sqrt(rows * q * (1 - q))
    overall = abs(counts.sum() - rows * bits * q) <= 5 * scale * math.sqrt(bits)
    return bool(overall and (np.abs(counts - rows * q) <= 5 * scale).all())


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
    """Neighbouring bits of a row, and the same bit of neighboring rows, are uncorrelated.

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
        np.bincount(unpacked(mask, bits).sum(axis=1), minlength=65) for mask in (left, right)
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


# --- gaps ------------------------------------------------------------------------------------


def geometric(drawn, numerator):
    """Gaps fit P(g >= a) = (1 - q)^a: 100 classes (chi-square), and the mean within 5 errors.

    False alarms: 1.6e-6. Class limits are integers, so the classes' probabilities are exact.
    """
    q = numerator / DENOMINATOR
    log_p = math.log1p(-q)
    limits = np.unique(np.ceil(np.log1p(-np.arange(1, 100) / 100) / log_p))
    probabilities = np.diff(-np.expm1(log_p * np.concatenate([[0.0], limits, [np.inf]])))
    classes = np.bincount(np.searchsorted(limits, drawn, side="right"), minlength=len(limits) + 1)
    fit = stats.chisquare(classes, probabilities * len(drawn)).pvalue > FALSE_ALARM
    error = math.sqrt((1 - q) / len(drawn)) / q
    return bool(fit and abs(drawn.mean() - (1 - q) / q) <= 5 * error)


def test_a_million_gaps_at_two_to_the_minus_20_are_geometric():
    drawn = gaps(4096, 10**6, simulation(31), 2**40)
    assert drawn.dtype == np.int64
    assert drawn.shape == (10**6,)
    assert geometric(drawn, 4096)
    assert not geometric(drawn, 4096 * 101 // 100)
    assert not geometric(drawn, 4096 * 99 // 100)


def test_gaps_that_are_one_off_are_rejected():
    # At 2^-20 one bit is a thousandth of the standard error of 10^6 gaps; at 1/70 it is 14 of them.
    numerator = DENOMINATOR // 70
    drawn = gaps(numerator, 10**6, simulation(32), 2**40)
    assert geometric(drawn, numerator)
    assert not geometric(drawn + 1, numerator)
    assert not geometric(np.abs(drawn - 1), numerator)


def low_digits_fit(drawn, numerator, digits=20):
    """Each of the low binary digits is 1 with x / (1 + x), and neighbors are independent.

    Within 5 standard errors; false alarms: 5.7e-7 for each of 2 digits - 1 tests.
    """
    bits = ((drawn[:, None] >> np.arange(digits)) & 1).astype(float)
    x = np.exp(math.log1p(-numerator / DENOMINATOR) * 2.0 ** np.arange(digits))
    centerd, variance = bits - x / (1 + x), x / (1 + x) ** 2
    rates = np.abs(centerd.sum(axis=0)) <= 5 * np.sqrt(len(drawn) * variance)
    products = np.abs((centerd[:, 1:] * centerd[:, :-1]).sum(axis=0))
    pairs = products <= 5 * np.sqrt(len(drawn) * variance[1:] * variance[:-1])
    return bool(rates.all() and pairs.all())


def test_binary_digits_of_gaps_are_independent_with_their_probabilities():
    drawn = gaps(4096, 200_000, simulation(33), 2**40)
    assert low_digits_fit(drawn, 4096)
    assert not low_digits_fit(drawn & ~np.int64(4), 4096)
    repeated = np.where(np.arange(drawn.size) % 10, drawn, drawn & ~np.int64(8) | drawn >> 1 & 8)
    assert not low_digits_fit(repeated, 4096)


def limit_fits(drawn, numerator, limit):
    """The share reported as `limit` is (1 - q)^limit within 5 standard errors, the rest below.

    False alarms: 5.7e-7.
    """
    share = math.exp(limit * math.log1p(-numerator / DENOMINATOR))
    error = math.sqrt(share * (1 - share) / len(drawn))
    return bool(drawn.max() <= limit and abs((drawn == limit).mean() - share) <= 5 * error)


@pytest.mark.parametrize("limit", [1, 2, 3, 64, 100, 128, 129])
def test_gaps_beyond_the_limit_are_reported_as_the_limit(limit):
    numerator = DENOMINATOR // 80
    drawn = gaps(numerator, 10**5, simulation(34), limit)
    assert drawn.min() >= 0
    assert limit_fits(drawn, numerator, limit)
    assert not limit_fits(drawn, numerator * 2, limit)
    assert not limit_fits(drawn + 1, numerator, limit)


def test_wrong_noise_and_limits_are_refused():
    for numerator in (0, DENOMINATOR, -1):
        with pytest.raises(PrivacyError, match="noise: got"):
            gaps(numerator, 1, simulation(1), 10)
    for limit in (0, 2**62 + 1):
        with pytest.raises(UsageError, match="limit: got"):
            gaps(1, 1, simulation(1), limit)


@pytest.mark.parametrize("numerator", [1, 4096, DENOMINATOR // 100, DENOMINATOR // 3])
@pytest.mark.parametrize("total_bits", [0, 1, 2, 1000, 100_003])
def test_flip_positions_are_sorted_distinct_and_inside(numerator, total_bits):
    positions = flip_positions(numerator, total_bits, simulation(35))
    assert (np.diff(positions) > 0).all()
    assert ((positions >= 0) & (positions < total_bits)).all()


def number_of_flips_fits(number, numerator, bits):
    """Within 5 standard errors of the binomial mean; false alarms: 5.7e-7."""
    q = numerator / DENOMINATOR
    return abs(number - bits * q) <= 5 * math.sqrt(bits * q * (1 - q))


def test_positions_over_many_batches_have_the_right_number_and_spread():
    numerator, bits = 4096, 2**39
    positions = flip_positions(numerator, bits, simulation(36))
    assert number_of_flips_fits(len(positions), numerator, bits)
    assert not number_of_flips_fits(len(positions), numerator * 101 // 100, bits)
    # Uniform over 64 parts: false alarms 1e-6. Wrong: one part of 64 is left out.
    parts = np.bincount(positions >> 33, minlength=64)
    assert stats.chisquare(parts).pvalue > FALSE_ALARM
    parts[20] = 0
    assert stats.chisquare(parts).pvalue < FALSE_ALARM


# --- packed arrays ---------------------------------------------------------------------------

ROWS, WIDTHS = st.integers(0, 300), st.integers(0, 300)
NOISES = st.sampled_from([1, 4096, SPARSE_BELOW - 1, SPARSE_BELOW, 2**30 + 1, 2**31 - 1])


@given(ROWS, WIDTHS, NOISES, st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_masks_are_packed_with_zero_padding(rows, bits, numerator, seed):
    mask = flip_mask(numerator, (rows, bits), simulation(seed))
    assert mask.dtype == np.uint8
    assert mask.shape == (rows, packed_width(bits))
    repacked = np.packbits(unpacked(mask, bits), axis=1, bitorder="little") if bits else mask
    np.testing.assert_array_equal(mask, repacked)


@given(ROWS, st.integers(1, 300), NOISES, st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_flipping_twice_with_the_same_stream_restores_the_records(rows, bits, numerator, seed):
    records = flip_mask(2**31 - 1, (rows, bits), simulation(seed + 1))
    before = records.copy()
    reports = flip(records, bits, numerator, simulation(seed))
    np.testing.assert_array_equal(records, before)
    mask = flip_mask(numerator, (rows, bits), simulation(seed))
    np.testing.assert_array_equal(reports, records ^ mask)
    np.testing.assert_array_equal(flip(reports, bits, numerator, simulation(seed)), records)


def test_sparse_and_dense_masks_put_contiguous_bits_into_rows():
    positions = flip_positions(2**24, 1000 * 13, simulation(41))
    expected = np.zeros(1000 * 13, np.uint8)
    expected[positions] = 1
    mask = sparse_mask(2**24, (1000, 13), simulation(41))
    np.testing.assert_array_equal(unpacked(mask, 13), expected.reshape(1000, 13))


def test_wrong_records_are_refused():
    stream, noise = simulation(42), 2**30
    with pytest.raises(AnswersError, match=r"should be uint8 of shape \(rows, 2\) for 13 bits"):
        flip(np.zeros((3, 1), np.uint8), 13, noise, stream)
    with pytest.raises(AnswersError, match="should be uint8"):
        flip(np.zeros((3, 2), np.int64), 13, noise, stream)
    with pytest.raises(AnswersError, match="padding bit"):
        flip(np.array([[0, 0b00100000]], np.uint8), 13, noise, stream)
    for numerator in (0, 2**31):
        with pytest.raises(PrivacyError, match="noise"):
            flip_mask(numerator, (1, 1), stream)
    with pytest.raises(UsageError, match="shape"):
        flip_mask(noise, (-1, 3), stream)


# --- permutations ----------------------------------------------------------------------------


def orders_equally_likely(orders):
    """All 24 orders of four (chi-square). False alarms: 1e-6."""
    codes = orders @ np.array([64, 16, 4, 1])
    seen, counts = np.unique(codes, return_counts=True)
    return len(seen) == 24 and stats.chisquare(counts).pvalue > FALSE_ALARM


def test_all_orders_of_four_are_equally_likely():
    stream = simulation(51)
    orders = np.array([permutation(4, stream) for _ in range(24_000)])
    assert orders_equally_likely(orders)
    # Wrong: the well-known shuffle that swaps each place with any place.
    picks = simulation(52).words(4 * 24_000).reshape(-1, 4) % 4
    naive = np.tile(np.arange(4), (24_000, 1))
    every = np.arange(24_000)
    for place in range(4):
        other = picks[:, place].astype(int)
        naive[every, place], naive[every, other] = naive[every, other], naive[every, place]
    assert not orders_equally_likely(naive)


def test_keys_that_tie_are_all_drawn_again():
    draws = [[5, 9, 5], [1, 1, 1], [30, 10, 20]]
    stream = Scripted(lambda call, count: draws[call])
    np.testing.assert_array_equal(permutation(3, stream), [1, 2, 0])
    assert stream.sizes == [3, 3, 3]


@given(st.integers(0, 300), st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_a_permutation_holds_every_index_once(count, seed):
    order = permutation(count, simulation(seed))
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(count))


# --- long runs -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.35, 0.4999, 0.011, 0.009, 2**-12])
def test_three_billion_flips_have_the_right_rate_everywhere(q):
    """Five standard errors are 4.5e-5 near one half, 0.1% of q at 0.009, 0.6% at 2^-12."""
    numerator, stream = numerator_of(q), simulation(61)
    masks = np.concatenate([flip_mask(numerator, (10**6, 64), stream) for _ in range(48)])
    assert rates_fit(masks, 64, numerator)
    assert not rates_fit(masks, 64, numerator_of(q * (1.002 if q > 0.005 else 1.012)))


@pytest.mark.slow
def test_fifty_million_gaps_are_geometric():
    stream = simulation(62)
    drawn = np.concatenate([gaps(4096, 10**6, stream, 2**40) for _ in range(50)])
    assert geometric(drawn, 4096)
    assert not geometric(drawn, 4096 + 5)
    short = np.concatenate([gaps(DENOMINATOR // 100, 10**6, stream, 2**40) for _ in range(50)])
    assert geometric(short, DENOMINATOR // 100)
    assert not geometric(short + (np.arange(short.size) % 10 == 0), DENOMINATOR // 100)
