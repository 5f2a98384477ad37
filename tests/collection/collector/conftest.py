"""Releases of 23 people, right and wrong, for the bundle of the vectors."""

import os
from unittest import mock

import pyarrow as pa
import pytest

from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from tests.oracles.make_vectors import INVITED, OPEN, PEOPLE, PLAN, RECEIVER, SHUFFLER
from tests.oracles.releases import all_sealed, header_of, plaintexts, release


@pytest.fixture(scope="session")
def plain():
    return plaintexts()


@pytest.fixture(scope="session")
def sealed(plain):
    return all_sealed(plain)


@pytest.fixture
def opened(tmp_path):
    """Opens sealed reports as a release; returns the receipt and the folder."""

    def made(sealed, bundle=INVITED, workers=1, **changes):
        path, folder = tmp_path / "0.release", tmp_path / f"made-{os.urandom(4).hex()}"
        path.write_bytes(release(sealed, bundle, **changes))
        signed, start = Signed.parse(Header, path.read_bytes())
        receipt = open_release(path, start, signed, bundle, RECEIVER, folder, workers=workers)
        return receipt, folder

    return made


@pytest.fixture
def places(tmp_path):
    return CollectorPlaces(tmp_path / "collector")


@pytest.fixture
def keyed(places):
    """A folder with the private key of the vectors."""
    places.root.mkdir()
    places.private.write_bytes(RECEIVER.secret)
    places.bundle.write_bytes(INVITED.encoded)
    return places


# --- Spark ---------------------------------------------------------------------------------------


class Session:
    """Runs the tasks of a wave here, the last one first; `lost` of them do not answer."""

    def __init__(self, lost=0):
        self.sparkContext, self.lost, self.waves = mock.Mock(defaultParallelism=1), lost, 0

    def range(self, first, end, step, tasks):
        self.waves += 1
        self.numbers = range(first, end, step)
        return self

    def mapInArrow(self, work, result):
        found = []
        for number in list(self.numbers)[::-1]:
            batch = pa.RecordBatch.from_pydict({"id": [number]})
            found += work(iter([batch]))
        return mock.Mock(toArrow=lambda: pa.Table.from_batches(found[self.lost :]))


__all__ = [
    "INVITED",
    "OPEN",
    "PEOPLE",
    "PLAN",
    "RECEIVER",
    "SHUFFLER",
    "all_sealed",
    "header_of",
    "plaintexts",
    "release",
]
