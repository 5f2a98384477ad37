"""Releases that are read together: of two bundles, and of two strata of one. None hides another."""

import pytest

import incrowd
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.receipt import receipts_of
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.errors import ProtocolError, ReportsError
from incrowd.reports.consistency import people_of
from tests.collection.collector.conftest import PEOPLE, PLAN, RECEIVER, plaintexts, release
from tests.oracles import make_vectors

CROWD = PLAN.survey.crowd
MARCH = make_vectors.bundle(strata=("north", "south"))
APRIL = make_vectors.bundle(period="April 2027")


def opened(folder, bundle, stratum=0, garbage=0):
    """The folder of a release; of so many people nothing opens."""
    plain = plaintexts(bundle=bundle)
    sealed = [make_vectors.seal(each, f"{stratum} {n}", bundle) for n, each in enumerate(plain)]
    for at in range(garbage * bundle.places):
        sealed[at] = sealed[at][:-1] + bytes([sealed[at][-1] ^ 1])
    name = f"{bundle.period} {stratum}"
    path, made = folder / f"{name}.release", folder / name
    path.write_bytes(release(sealed, bundle, strata=(stratum,)))
    signed, start = Signed.parse(Header, path.read_bytes())
    open_release(path, start, signed, bundle, RECEIVER, made, workers=1)
    return made


def estimated(folders, **more):
    reports = [each for folder in folders for each in incrowd.load_reports(folder)]
    received = receipts_of(PLAN, folders, files=True)
    return incrowd.estimate(PLAN, reports, received=received, **more)


PAIRS = {"two bundles": (APRIL, 0), "two strata": (MARCH, 1)}


@pytest.mark.parametrize("pair", PAIRS)
def test_two_releases_are_added_up_if_each_is_a_crowd(tmp_path, pair):
    bundle, stratum = PAIRS[pair]
    found = estimated([opened(tmp_path, MARCH), opened(tmp_path, bundle, stratum)])
    assert found.crowd == 2 * PEOPLE and len(found.received) == 2


@pytest.mark.parametrize("pair", PAIRS)
def test_two_crowds_that_are_too_small_do_not_make_a_large_one(tmp_path, pair):
    """Two people of each release can be opened: four together, where the plan counts on three."""
    assert CROWD == 3
    bundle, stratum = PAIRS[pair]
    few = PEOPLE - 2
    folders = [opened(tmp_path, MARCH, 0, few), opened(tmp_path, bundle, stratum, few)]
    with pytest.raises(ReportsError, match="a crowd of 2;"):
        estimated(folders)
    reports = [each for folder in folders for each in incrowd.load_reports(folder)]
    assert people_of(PLAN, incrowd.count(PLAN, reports)) == 2
    assert estimated(folders, accept_smaller_crowd=True).crowd == 4


def test_a_release_of_one_bundle_is_none_of_another(tmp_path):
    data = release([make_vectors.seal(b"", "x", APRIL)] * PEOPLE * APRIL.places, APRIL)
    signed, start = Signed.parse(Header, data)
    path = tmp_path / "release"
    path.write_bytes(data)
    with pytest.raises(ProtocolError, match="bundle"):
        open_release(path, start, signed, MARCH, RECEIVER, tmp_path / "made", workers=1)
