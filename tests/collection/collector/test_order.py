"""The files of a collector do not keep the order of the mixer's release.

A right order repeats another by chance only: the last message has more than a hundred reports of
a dozen contents, which have more than 10^80 orders.
"""

import random

import pytest

import incrowd
from incrowd.collection.collector import collections
from incrowd.collection.collector.collections import open_release
from incrowd.collection.protocol.mixing import release_kind
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.signed import Signed
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import mixed
from tests.collection.collector.conftest import INVITED, PEOPLE, RECEIVER, release
from tests.conftest import slowly
from tests.oracles import make_vectors, mixers

LAST = len(INVITED.plan.messages) - 1


def of_one_shuffler():
    plain = [each for n in range(PEOPLE) for each in make_vectors.inside(n % 3)]
    random.shuffle(plain)
    sealed = [make_vectors.seal(each, f"order {n}") for n, each in enumerate(plain)]
    return INVITED, RECEIVER, release(sealed)


def of_two_mixers():
    of = mixers.bundle(second=mixers.SECOND_CLASSICAL)
    uploads = [mixers.upload(of, mixers.person(of, n)) for n in range(PEOPLE)]
    opened = mixers.opened(of, uploads, 0, mixers.SECOND_CLASSICAL)
    signed, body = mixers.release(of, opened, mixers.batch(of, uploads)[0])
    return of, mixers.COLLECTOR_KEY, signed.encoded + body


@pytest.fixture(scope="module", params=[of_one_shuffler, of_two_mixers])
def given(request):
    return request.param()


def in_the_release(of, private, data):
    """The reports of the last message in the mixer's order."""
    _, start = Signed.parse(release_kind(of), data)
    rows = [data[at : at + of.row_length] for at in range(start, len(data), of.row_length)]
    sealed = [row[-of.sealed_length :] for row in rows]
    plain = [unseal(each, private, of.key, of.binding(0), of.label) for each in sealed]
    width = of.shape.width(LAST)
    return [each[3 : 3 + width] for each in plain if each[1:3] == LAST.to_bytes(2)]


def in_the_file(of, private, data, folder):
    """The reports of the last message in the order of the collector's file."""
    path = folder / "release"
    path.write_bytes(data)
    signed, start = Signed.parse(release_kind(of), data)
    open_release(path, start, signed, of, private, folder / "opened", workers=1)
    collection = incrowd.load_reports(folder / "opened")[LAST]
    return list(map(bytes, collection.packed))


def orders(given, tmp_path):
    """The order of the release, and those of two files made from it."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    return [in_the_release(*given), *(in_the_file(*given, folder) for folder in folders)]


def differ(found):
    return all(one != other for n, one in enumerate(found) for other in found[:n])


@pytest.mark.slow
def test_the_order_of_the_release_is_gone_and_each_file_has_its_own(given, tmp_path):
    found = orders(given, tmp_path)
    assert len(found[0]) > 100 and len(set(found[0])) > 6
    assert all(sorted(each) == sorted(found[0]) for each in found)
    assert differ(found)


def identity(pieces, width, keystream, disk):
    """Wrong: the reports stay as they came."""
    return pieces


def seeded(pieces, width, keystream, disk):
    """Wrong: anybody can repeat the order, and so undo it."""
    return mixed(pieces, width, Keystream.for_simulation(1), disk)


def by_content(pieces, width, keystream, disk):
    """Wrong: a stable sort keeps some of the order."""
    for piece in pieces:
        yield piece[piece[:, 0].argsort(kind="stable")]


@pytest.mark.parametrize("wrong", [identity, *slowly(seeded, by_content)])
def test_another_order_is_rejected(given, tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(collections, "mixed", wrong)
    assert not differ(orders(given, tmp_path))
