"""Compiled code: when it is loaded, where it is kept, threads and forks."""

import itertools
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
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
from tests.kernels.conftest import THOROUGH, Source


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
        raise UsageError.of("rows", "shared.no-path", type=part.start)

    with pytest.raises(UsageError, match="rows: got a value"):
        over_rows(fails, 100, 2)


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_work_on_both_sides_of_a_fork():
    assert printed(FORK) == ["True 0 True"]


@pytest.mark.slow
def test_threads_may_load_the_same_machine_code_at_once():
    code = """
import numpy as np
from incrowd.kernels import codes
codes.THREAD = 1
print(codes.histogram(np.zeros((100, 2), np.uint8), [3], 4, True))
"""
    assert printed(code) == ["[100   0]"]
