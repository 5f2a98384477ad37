"""What the tests of several samplers share: simulated and scripted streams of random words."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from incrowd.reports import collection
from incrowd.sampling import shuffle, streaming
from incrowd.sampling.keystream import Keystream
from tests.conftest import people, slowly

FALSE_ALARM = 1e-6


def simulation(seed):
    return Keystream.for_simulation(seed)


class Scripted:
    """A keystream that answers each call from a script: a function of the call and its size."""

    def __init__(self, script):
        self.script, self.sizes = script, []

    def words(self, count):
        self.sizes.append(count)
        return np.asarray(self.script(len(self.sizes) - 1, count), dtype=np.uint64)


def unpack(packed, bits):
    return np.unpackbits(packed, axis=1, count=bits, bitorder="little")


def by_batch(number):
    """A wrong variant: every batch has a bucket of its own."""
    given = iter(range(number))

    def choose(packed, buckets, keystream):
        chosen = next(given) % buckets
        return [packed if bucket == chosen else packed[:0] for bucket in range(buckets)]

    return choose


@pytest.fixture(scope="module", params=["csv", *slowly("parquet")])
def answers_file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("answers") / f"a.{request.param}"
    write = pa.csv.write_csv if request.param == "csv" else pa.parquet.write_table
    write(people(), path)
    return path


@pytest.fixture
def small_batches(monkeypatch):
    """500 rows a batch, 16 buckets, 256 reports a row group."""
    monkeypatch.setattr(streaming, "BATCH_ROWS", 500)
    monkeypatch.setattr(shuffle, "FILES", 16)
    monkeypatch.setattr(collection, "group_rows", lambda width: 256)
