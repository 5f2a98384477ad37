"""The hot loops: both ways of each kernel against an oracle, and against each other to the bit.

Oracles work bit by bit or on Python's integers. Memory is given at every address and with gaps
between rows; lines and pieces are made short, so that small arrays reach every loop.
"""

import itertools
import os
import shutil
import subprocess
import sys
import threading
from fractions import Fraction
from functools import reduce
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incrowd
from incrowd.errors import UsageError
from incrowd.kernels import axes, codes, compilation, counts, gaps, lanes
from incrowd.kernels.axes import transform
from incrowd.kernels.codes import histogram
from incrowd.kernels.counts import count_bits
from incrowd.kernels.gaps import join_digits, set_bits
from incrowd.kernels.lanes import decide_words
from incrowd.kernels.threads import over_rows

ALL_ONES = 2**64 - 1
BOTH = pytest.mark.parametrize("machine_code", [False, True], ids=["numpy", "machine code"])
THOROUGH = settings(max_examples=200, deadline=None)
SEEDS = st.integers(0, 2**32)


def unpacked(packed):
    return np.unpackbits(np.ascontiguousarray(packed), axis=1, bitorder="little")


def laid_out(rows, width, offset, gap, backwards, seed):
    """Random rows at any address, with unused bytes between them, read-only, in either order."""
    size = offset + rows * (width + gap)
    memory = np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)
    packed = memory[offset:].reshape(rows, width + gap)[:: -1 if backwards else 1, :width]
    packed.flags.writeable = False
    return packed


PACKED = st.builds(
    laid_out,
    st.integers(0, 300),
    st.integers(1, 40),
    st.integers(0, 8),
    st.integers(0, 9) | st.just(0),
    st.booleans(),
    SEEDS,
)


# --- threads ---------------------------------------------------------------------------------


@given(st.integers(0, 300), st.integers(1, 9), st.integers(1, 50))
@THOROUGH
def test_slices_cover_the_rows_in_order(rows, threads, least):
    parts = over_rows(lambda part: range(rows)[part], rows, threads, least)
    assert list(itertools.chain(*parts)) == list(range(rows))
    assert len(parts) <= max(1, min(threads, rows // least))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_slices_run_side_by_side():
    meeting = threading.Barrier(3, timeout=60)
    assert len(over_rows(lambda part: meeting.wait(), 3, 3)) == 3


def test_an_error_of_a_thread_is_raised():
    def fails(part):
        raise UsageError.of("rows", part.start, "should not be counted")

    with pytest.raises(UsageError, match="rows: got"):
        over_rows(fails, 100, 2)


# --- 64 lanes --------------------------------------------------------------------------------


class Source:
    """Random words of a seed, at any address and read-only; notes how many each call asks for."""

    def __init__(self, seed, offset=0):
        self.generator, self.offset, self.sizes = np.random.default_rng(seed), offset, []

    def draw(self, count):
        self.sizes.append(count)
        memory = np.zeros(self.offset + 8 * count, np.uint8)
        words = memory[self.offset :].view(np.uint64)
        words[:] = self.generator.integers(0, 2**64, count, dtype=np.uint64)
        words.flags.writeable = False
        return words


class Forever:
    """The infinitely many binary digits of a fraction."""

    def __init__(self, fraction):
        self.fraction = fraction

    def __iter__(self):
        rest = self.fraction
        while True:
            rest *= 2
            yield int(rest >= 1)
            rest -= int(rest)


@BOTH
@pytest.mark.parametrize("threshold", range(64))
def test_every_sequence_of_six_random_bits_is_decided_rightly(threshold, machine_code):
    """Lane i draws the binary digits of i: of 64 equally likely draws, `threshold` give a 1."""
    lane = np.arange(64)
    digits = [threshold >> place & 1 for place in range(5, -1, -1)]
    drawn = [sum((int(i) >> (5 - digit) & 1) << int(i) for i in lane) for digit in range(6)]

    def draw(count):
        assert count == 6 * 3
        return np.repeat(np.array(drawn, np.uint64), 3)

    for word in decide_words(digits, 3, draw, machine_code):
        assert [int(word) >> i & 1 for i in range(64)] == [int(i < threshold) for i in range(64)]


def decided(digits, lane_count, draw):
    """The lanes that are 1, one by one on Python's integers; undecided ones go on together."""
    head, rest = digits[: lanes.DIGITS], digits[lanes.DIGITS :]
    words = -(-lane_count // 64)
    if not head or not lane_count:
        return set()
    drawn = draw(len(head) * words)
    ones, undecided = set(), []
    for lane in range(64 * words):
        bits = [int(drawn[j * words + lane // 64]) >> lane % 64 & 1 for j in range(len(head))]
        if bits == list(head):
            undecided.append(lane)
        elif bits < list(head):
            ones.add(lane)
    later = decided(rest, len(undecided), draw)
    return ones | {undecided[lane] for lane in later if lane < len(undecided)}


@BOTH
@given(st.lists(st.integers(0, 1), max_size=40), st.integers(1, 40), SEEDS, st.integers(0, 7))
@THOROUGH
def test_words_are_decided_by_their_draws(machine_code, digits, count, seed, offset):
    words = decide_words(digits, count, Source(seed, offset).draw, machine_code)
    wanted = decided(digits, 64 * count, Source(seed).draw)
    assert words.dtype == np.uint64
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    assert set(np.flatnonzero(bits).tolist()) == wanted


def both_ways(digits, count, seed, offset=0):
    sources = Source(seed, offset), Source(seed)
    words = [
        decide_words(digits, count, source.draw, way)
        for source, way in zip(sources, (True, False), strict=True)
    ]
    assert sources[0].sizes == sources[1].sizes
    np.testing.assert_array_equal(*words)
    return words[0], sources[0].sizes


@given(st.lists(st.integers(0, 1), max_size=40), st.integers(0, 300), SEEDS, st.integers(0, 7))
@THOROUGH
def test_both_ways_draw_the_same_words_and_give_the_same_bits(digits, count, seed, offset):
    assert both_ways(digits, count, seed, offset)[0].shape == (count,)


def test_blocks_and_infinite_digits_agree_and_have_the_right_rate():
    """2^17 words: within 5 standard errors of 1/3, false alarm 5.7e-7; rejected: 1 % off."""
    words, sizes = both_ways(Forever(Fraction(1, 3)), 2**17 + 5, 11)
    assert sizes[:5] == [7 * 2**15] * 4 + [7 * 5]
    assert 7.05 < sum(sizes) / len(words) < 7.06  # 7 (1 + 1/128 + 1/128^2 + ...)
    lane_count, ones = 64 * len(words), int(np.bitwise_count(words).sum())

    def fits(rate):
        return abs(ones - lane_count * rate) <= 5 * (lane_count * 2 / 9) ** 0.5

    assert fits(1 / 3)
    assert not fits(1 / 3 * 1.01)
    assert not fits(1 / 3 * 0.99)


@BOTH
def test_lanes_that_are_decided_draw_no_more(machine_code):
    """Two words of which one lane in 64 agrees with seven digits; then nothing does."""
    sizes = []

    def draw(count):
        sizes.append(count)
        agreeing = np.uint64(1 << 5) if len(sizes) == 1 else np.uint64(0)
        return np.full(count, agreeing)

    words = decide_words([1] * 14, 2, draw, machine_code)
    assert words.tolist() == [ALL_ONES, ALL_ONES]
    assert sizes == [14, 7]


# --- gaps ------------------------------------------------------------------------------------


@given(st.integers(0, 63), st.integers(0, 5), st.data())
@THOROUGH
def test_numbers_have_the_digits_of_their_lanes(digits, words, data):
    count = data.draw(st.integers(0, 64 * words))
    generator = np.random.default_rng(data.draw(SEEDS))
    table = generator.integers(0, 2**64, (words, digits), dtype=np.uint64).T
    rows = [[int(word) for word in row] for row in table]
    expected = [
        reduce(lambda number, row: 2 * number + (row[i // 64] >> i % 64 & 1), rows, 0)
        for i in range(count)
    ]
    for order in ("C", "F"):
        for machine_code in (False, True):
            numbers = join_digits(np.asarray(table, order=order), count, machine_code)
            assert numbers.dtype == np.int64
            assert numbers.tolist() == expected


@given(st.integers(0, 300), st.integers(1, 300), SEEDS, st.integers(0, 20), st.booleans())
@THOROUGH
def test_bits_are_set_where_the_positions_say(rows, bits, seed, gap, backwards):
    total, width = rows * bits, -(-bits // 8)
    generator = np.random.default_rng(seed)
    chosen = np.sort(generator.choice(total, min(total, 50), replace=False)).astype(np.int64)
    expected = unpacked(laid_out(rows, width, 0, gap, backwards, seed))
    expected[chosen // bits, chosen % bits] = 1
    for machine_code in (False, True):
        packed = laid_out(rows, width, 0, gap, backwards, seed)
        packed.flags.writeable = True
        positions = np.repeat(chosen, 2)[::2]
        positions.flags.writeable = False
        set_bits(packed, bits, positions, machine_code)
        np.testing.assert_array_equal(unpacked(packed), expected)


@BOTH
@pytest.mark.parametrize("positions", [[26], [-1, 3], [0, 2**40]])
def test_positions_outside_are_refused(positions, machine_code):
    packed = np.zeros((2, 2), np.uint8)
    with pytest.raises(UsageError, match=r"positions: got .* between 0 and 25"):
        set_bits(packed, 13, np.array(positions), machine_code)
    assert not packed.any()


def test_lanes_that_are_not_there_are_refused():
    for count in (129, -1):
        with pytest.raises(UsageError, match=r"count: got .* should be at most 128"):
            join_digits(np.zeros((3, 2), np.uint64), count)


# --- counts of set bits ----------------------------------------------------------------------


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
    "shape", [(70_001, 8), (33_333, 3), (3_001, 131), (40, 20_001), (1, 10**6)]
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
    with pytest.raises(UsageError, match="columns: got 21; should be 20 at most"):
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
        with pytest.raises(UsageError, match=r"matrix shape: got .* does not fit axis"):
            transform(matrices, tensor, machine_code)


# --- loading, caching, forking ---------------------------------------------------------------

SMALL = """
import sys
import numpy as np
from incrowd.kernels import axes, codes, counts, gaps, lanes
packed = np.zeros((1000, 8), np.uint8)
generator = np.random.default_rng(0)
lanes.decide_words([1, 0, 1], 1000, lambda n: generator.integers(0, 2**64, n, dtype=np.uint64))
gaps.set_bits(packed, 64, gaps.join_digits(np.ones((9, 2), np.uint64), 128))
counts.count_bits(packed, 64)
codes.histogram(packed, [1, 2, 3])
axes.transform([np.eye(2)] * 10, np.ones((2,) * 10))
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


def printed(code, **environment):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return run.stdout.split("\n")[:-1]


def test_small_inputs_do_not_load_the_compiler():
    assert printed(SMALL) == ["[]"]


def work_of_eight():
    """A call of each kernel on an input of size 8: its module, its limit, the call."""
    packed, positions = np.zeros((8, 1), np.uint8), np.arange(8)
    yield lanes, "LARGE", lambda: decide_words([1], 8, Source(0).draw)
    yield gaps, "LARGE", lambda: join_digits(np.zeros((1, 1), np.uint64), 8)
    yield gaps, "LARGE", lambda: set_bits(packed, 8, positions)
    yield counts, "LARGE", lambda: count_bits(packed, 8)
    yield codes, "LARGE", lambda: histogram(packed, [1])
    yield axes, "LARGE", lambda: transform([np.eye(2)] * 3, np.ones((2, 2, 2)))


@pytest.mark.parametrize(("module", "limit", "call"), list(work_of_eight()))
def test_size_decides_which_way_is_taken(module, limit, call):
    decide = mock.Mock(wraps=compilation.use_machine_code)
    for size in (8, 9):
        with mock.patch.multiple(module, **{limit: size}, use_machine_code=decide):
            call()
        assert decide.call_args.args == (None, 8, size)


def test_once_the_compiler_is_loaded_a_thousandth_is_enough(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert compilation.use_machine_code(None, 8, 8)
    assert not compilation.use_machine_code(None, 8, 9)
    monkeypatch.setitem(sys.modules, "numba", mock.Mock())
    assert compilation.use_machine_code(None, 8, 8 * 1024)
    assert not compilation.use_machine_code(None, 8, 9 * 1024)


MANY = """
import sys
import numpy as np
import incrowd
from incrowd.reports.collection import Collection
question = {"id": "q", "type": "yesno"}
raw = {"name": "n", "crowd": 10, "privacy": {"epsilon": 1.0, "analysis": "local"}}
plan = incrowd.plan(incrowd.Survey.of(raw | {"question": [question]}))
packed = np.random.default_rng(0).integers(0, 2, (5000, 1), np.uint8)
for parts in (6, 7):
    pieces = [Collection(plan.digest, 0, 1, packed, part=part) for part in range(parts)]
    found = incrowd.count(plan, pieces)
    counted = found.messages[0].tables[("q",)].tolist() == [5000 * parts, packed.sum() * parts]
    print(counted, "numba" in sys.modules)
"""


def test_many_parts_load_the_compiler():
    assert printed(MANY) == ["True False", "True True"]


def test_big_endian_machines_take_plain_numpy():
    with mock.patch.object(sys, "byteorder", "big"):
        assert not compilation.use_machine_code(True, 8, 8)


CACHED = """
import numpy as np
from incrowd.kernels import gaps
packed = np.zeros((1, 1), np.uint8)
gaps.set_bits(packed, 8, np.array([3]), True)
print(gaps.__file__)
print(packed[0, 0])
"""


@pytest.mark.parametrize("writable", ["source", "home", "nothing"])
def test_machine_code_is_kept_where_it_can_be_written(writable, tmp_path):
    """A file that stands in a folder's place keeps everybody from writing there, root included."""
    source, home = tmp_path / "incrowd", tmp_path / "home"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(incrowd.__file__).parent, source, ignore=ignored)
    if writable != "source":
        (source / "kernels" / "__pycache__").touch()
    if writable == "nothing":
        home.touch()
    environment = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "NUMBA_CACHE_DIR": ""}
    environment |= {"LOCALAPPDATA": str(home), "PYTHONPATH": str(tmp_path)}
    file, value = printed(CACHED, **environment, PYTHONDONTWRITEBYTECODE="1")
    assert Path(file).parent == source / "kernels"
    assert value == "8"
    kept = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*.nbi")}
    assert kept == {"source": {"incrowd"}, "home": {"home"}, "nothing": set()}[writable]


FORK = """
import os
import numpy as np
from incrowd.kernels import codes, counts
packed = np.arange(80_000, dtype=np.uint8).reshape(-1, 8)
counts.THREAD = codes.THREAD = 1
def work():
    found = counts.count_bits(packed, 64, 3, True), codes.histogram(packed, range(9), 3, True)
    return repr([array.tolist() for array in found]).encode()
parent = work()
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, work())
    os._exit(0)
os.close(writer)
with os.fdopen(reader, "rb") as pipe:
    print(pipe.read() == parent, os.waitpid(child, 0)[1], work() == parent)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_work_on_both_sides_of_a_fork():
    assert printed(FORK) == ["True 0 True"]


def test_threads_may_load_the_same_machine_code_at_once():
    code = """
import numpy as np
from incrowd.kernels import codes
codes.THREAD = 1
print(codes.histogram(np.zeros((100, 2), np.uint8), [3], 4, True))
"""
    assert printed(code) == ["[100   0]"]
