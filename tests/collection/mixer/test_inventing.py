"""What a shuffler adds to the cells of a stratum, and what of it shows."""

import os
from collections import Counter
from unittest import mock

import numpy as np
import pytest

from incrowd.collection.device.sending import sealed_answers
from incrowd.collection.mixer import inventing, keeper, setup
from incrowd.collection.protocol.upload import NO_CODE, Upload
from incrowd.files import new_file
from incrowd.plans.slots import invented
from incrowd.sampling.keystream import Keystream
from tests.conftest import one_in
from tests.oracles import services
from tests.oracles.mixing import Site, sealed

OF = services.bundle(codes=False, strata=("all", "others"))
ALSO_JOINT = services.bundle(services.plan(joint=True), codes=False)


def uploads(people, of=OF, stratum=0):
    people = [services.person(of, smokes=["yes", "no"][n % 2]) for n in range(people)]
    return [sealed_answers(of, each, code=NO_CODE, stratum=stratum) for each in people]


def released(folder, people, of=OF, stratum=0):
    """The header and the sealed reports of a stratum in which so many sent."""
    site = Site(folder, of)
    try:
        assert set(site.post(*uploads(people, of, stratum))) == {201}
        site.look_at("closes")
        [(signed, body)] = site.collector.releases().values()
        return signed.header, body
    finally:
        site.close()


def drawn(*numbers):
    """A shuffler that draws these numbers for the cells of each lane, in turn."""
    return mock.patch.object(
        inventing, "draw", lambda law, words: np.resize(numbers, len(words)) - law.reach
    )


def own(people, of=OF):
    """The counts of what the people sent themselves."""
    found = Counter()
    for upload in uploads(people, of):
        for lane, each in zip(of.slot_lanes, upload.sealed, strict=True):
            report = services.opened(of, each, 0, lane)
            found[report.message, int.from_bytes(report.packed, "little")] += 1
    return found


@pytest.mark.parametrize("of", one_in(2, [OF, ALSO_JOINT]))
def test_each_cell_gets_the_number_that_was_drawn(tmp_path, of):
    people = of.least_people
    numbers = (0, 3, 16, 1)
    with drawn(*numbers):
        header, body = released(tmp_path, people, of)
    assert header.people == people and header.reports == len(body)
    assert len(body) == people * of.places + invented(of.plan)
    found, before = services.counted(of, body, people), own(people, of)
    for lane in of.lanes:
        for at, cell in enumerate(lane.cells):
            key = lane.message, cell
            assert found[key] - before[key] == numbers[at % len(numbers)]
    joint = [n for n, message in enumerate(of.plan.messages) if not message.cells]
    assert sum(found[key] for key in found if key[0] in joint) == 2 * people * len(joint)


RUNS, BINS = 300, 10
STREAM = Keystream.for_simulation(11)


def places_in_lane(store, folder, lane, one):
    """How often a report is in each tenth of its lane, in releases that are written again."""
    span, width = OF.spans(OF.least_people)[lane], OF.sealed_length
    found = []
    for _ in range(RUNS):
        with new_file(folder) as body:
            keeper._write(body, (0,), store, STREAM)
            body.file.seek(span.start * width)
            reports = body.file.read(len(span) * width)
        found.append(reports.index(one) // width * BINS // len(span))
    return np.bincount(found, minlength=BINS)


def as_it_came(pieces, width, keystream, disk):
    """A wrong variant: no random order."""
    yield np.concatenate(list(pieces))


@pytest.mark.slow
@pytest.mark.parametrize(("order", "uniform"), [(keeper.mixed, True), (as_it_came, False)])
def test_each_lane_is_in_uniform_order(tmp_path, order, uniform):
    """Lane 1 has 140 reports. Chi-square with 9 degrees of freedom: above 45 once in 10^6 (scipy:
    chi2.isf)."""
    site = Site(tmp_path, OF)
    made = [Upload(NO_CODE, 0, sealed(OF, f"person {n}")) for n in range(OF.least_people)]
    site.post(*made)
    site.store.close(lambda _: ([(0,)], ()))
    random = mock.patch.object(inventing, "seal", lambda *_: os.urandom(OF.sealed_length))
    with random, mock.patch.object(keeper, "mixed", order):
        counts = places_in_lane(site.store, tmp_path, 1, made[5].sealed[1])
    expected = RUNS / BINS
    assert (((counts - expected) ** 2 / expected).sum() < 45) == uniform
    site.close()


def test_nothing_is_invented_twice(tmp_path):
    _, body = released(tmp_path, 12)
    assert len({each[7:39] for each in body}) == len(body), "an encapsulated secret is repeated"


def test_fewer_than_the_least_number_of_people_are_not_released(tmp_path):
    site = Site(tmp_path, OF)
    site.post(*uploads(11), *uploads(12, stratum=1))
    site.look_at("closes")
    assert list(site.collector.releases()) == [(1,)]
    site.close()


class PowerCut(BaseException):
    """The process ends."""


@pytest.mark.parametrize("cut", ["before the seals", "between the seals", "after the body"])
def test_a_crash_leaves_no_noise_behind(tmp_path, cut):
    """Two bodies with the same people and other noise: their difference would show the noise."""
    site, people = Site(tmp_path, OF), OF.least_people
    site.post(*uploads(people))
    site.collector.away = True
    place = {
        "before the seals": (inventing, "in_processes"),
        "between the seals": (inventing.Sealer, "__call__"),
        "after the body": (type(site.store), "release"),
    }[cut]
    with mock.patch.object(*place, side_effect=PowerCut), pytest.raises(PowerCut):
        site.look_at("closes")
    left = {file.read_bytes() for file in site.bodies()}
    assert len(left) == (cut == "after the body")
    assert not any(site.store.start_of(n) for n in (0, 1)), "a header was published"
    site.start()
    site.keeper.look()
    [body] = site.bodies()
    assert body.read_bytes() not in left
    site.collector.away = False
    site.look(hours=1)
    [(signed, reports)] = site.collector.releases().values()
    assert signed.header.people == people and b"".join(reports) not in left
    site.close()


def test_the_check_says_how_many_reports_are_sealed(tmp_path):
    site = Site(tmp_path, OF)
    found = {finding.subject: finding for finding in setup.check(site.settings, site.store)}
    assert found["invented reports"].good
    said = f"{invented(OF.plan):,} to seal for each stratum, about "
    assert found["invented reports"].text.startswith(said)
    site.close()


def test_room_is_needed_for_what_is_invented(tmp_path):
    site = Site(tmp_path, OF)
    [finding] = setup._room(site.settings, site.store)
    more = services.bundle(services.plan(services.AdditiveNoise.gaussian(100, most=1_000)))
    [larger] = setup._room(site.settings, mock.Mock(bundle=more))
    assert finding != larger
    site.close()
