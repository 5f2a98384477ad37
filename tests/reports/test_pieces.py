"""Reports that are written in pieces."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from incrowd.reports import collection
from incrowd.reports.collection import Collection, regrouped, write_reports
from incrowd.reports.folder import Bucket
from tests.conftest import examples


@given(st.lists(st.integers(0, 50)), st.integers(1, 20))
@examples(200)
def test_regrouped_keeps_the_rows_and_their_order(sizes, rows):
    all_rows = np.arange(2 * sum(sizes), dtype=np.uint8).reshape(-1, 2)
    pieces = np.split(all_rows, np.cumsum(sizes)[:-1]) if sizes else []
    found = list(regrouped(pieces, rows))
    assert all(len(piece) == rows for piece in found[:-1])
    assert all(0 < len(piece) <= rows for piece in found)
    assert np.array_equal(np.concatenate([all_rows[:0], *found]), all_rows)


@given(st.lists(st.integers(0, 40), max_size=5), st.integers(1, 9), st.integers(1, 50))
@examples(100)
def test_a_bucket_gives_back_what_it_got(sizes, width, most):
    rng = np.random.default_rng(1)
    pieces = [rng.integers(0, 256, (size, width), np.uint8) for size in sizes]
    bucket = Bucket(Path(tempfile.gettempdir()), width)
    for piece in pieces:
        bucket.add(piece)
    assert len(bucket) == sum(sizes)
    taken = list(bucket.take(most))
    assert all(len(piece) <= most for piece in taken)
    empty = np.empty((0, width), np.uint8)
    assert np.array_equal(np.concatenate([empty, *taken]), np.concatenate([empty, *pieces]))
    bucket.close()


def test_no_reports_are_a_file_as_well(tmp_path):
    header = Collection("plan", 0, 12, np.empty((0, 2), np.uint8), id="id")
    write_reports(header, [], tmp_path / "r.parquet")
    found = collection.load_collection(tmp_path / "r.parquet")
    assert len(found) == 0 and found.packed.shape == (0, 2)
