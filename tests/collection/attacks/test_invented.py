"""A shuffler, or a person, that attacks a survey whose cells get their noise from the services.

The shuffler wants to know how many reports a cell has without the noise of the collector, and
readers want to know it without the noise of either. Each attack also meets a party that lacks the
rule against it, and then it succeeds: these are the incorrect variants.
"""

import random
import time
from collections import Counter
from contextlib import nullcontext
from unittest import mock

import numpy as np
import pytest
from scipy.stats import binomtest

from incrowd.collection.device.sending import sealed_answers
from incrowd.collection.mixer import inventing
from incrowd.collection.mixer.store import writing
from incrowd.collection.protocol.bundle import ShufflerBundle
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.upload import NO_CODE, Upload
from incrowd.errors import ProtocolError
from incrowd.sampling.keystream import Keystream
from tests.conftest import one_in
from tests.oracles import services
from tests.oracles.mixing import Site

OF = services.bundle(codes=False)
PEOPLE, MOST = OF.least_people, services.LAW.most


def device(stratum=0, **answers):
    return sealed_answers(OF, services.person(OF, **answers), code=NO_CODE, stratum=stratum)


def released(folder, uploads, withdrawn=()):
    """The header and the sealed reports of each stratum, by its number."""
    site = Site(folder, OF)
    try:
        assert set(site.post(*uploads)) == {201}
        assert all(site.delete(each) == 204 for each in withdrawn)
        site.look_at("closes")
        releases = site.collector.releases().values()
        return {signed.header.number: (signed.header, body) for signed, body in releases}
    finally:
        site.close()


def invents(number):
    """A shuffler that draws the same number for each cell."""
    return mock.patch.object(
        inventing, "draw", lambda law, words: np.full(len(words), number) - law.reach
    )


def opened(body, people, stratum=0, checks=True):
    """The reports of each message and cell that a collector counts.

    checks: whether it checks that the message and the cell of a report belong to its lane.
    """
    counts = Counter()
    for number, (lane, span) in enumerate(zip(OF.lanes, OF.spans(people), strict=True)):
        for sealed in body[span.start : span.stop]:
            try:
                report = services.opened(OF, sealed, stratum, number)
            except ProtocolError:
                continue
            cell = int.from_bytes(report.packed, "little")
            fits = report.message == lane.message and cell in lane.cells
            if report.message is not None and (fits or not checks):
                counts[report.message, cell] += 1
    return counts


# --- what a release shows of the noise -----------------------------------------------------------


def only_what_was_drawn():
    """A wrong variant: dummies are not sealed."""
    every, dummy = inventing._of_lane, OF.shape.dummy
    return mock.patch.object(
        inventing, "_of_lane", lambda *given: [each for each in every(*given) if each != dummy]
    )


SHUFFLERS = [(nullcontext, True), (only_what_was_drawn, False)]


def sizes(number):
    """The shape of everything that a shuffler that draws this number seals."""
    with invents(number):
        pieces = inventing.invented_reports(OF, (0,), Keystream.from_system())
        return [rows.shape for rows in pieces]


@pytest.mark.parametrize(("shuffler", "hides"), SHUFFLERS)
def test_the_number_of_seals_does_not_show_the_noise(shuffler, hides):
    with shuffler():
        assert (len({str(sizes(number)) for number in (0, 1, MOST // 2, MOST)}) == 1) == hides


@pytest.mark.slow
def test_the_length_of_a_release_does_not_show_the_noise(tmp_path):
    found = []
    for number in (0, MOST):
        with invents(number):
            uploads = [device() for _ in range(PEOPLE)]
            header, body = released(tmp_path / str(number), uploads)[0]
        found.append((header.people, header.reports, len(header.encoded), *map(len, body)))
    assert found[0] == found[1]


PAIRS = 60


def seconds(number):
    with invents(number):
        begun = time.thread_time()
        for _ in inventing.invented_reports(OF, (0,), Keystream.from_system()):
            pass
        return time.thread_time() - begun


@pytest.mark.slow
@pytest.mark.parametrize(("shuffler", "hides"), SHUFFLERS)
def test_the_time_of_sealing_does_not_show_the_noise(shuffler, hides):
    """The time for the largest number and for the smallest, in pairs of random order: which is
    longer is a fair coin. A sign test with a false alarm once in 10^6."""
    with shuffler():
        longer = 0
        for _ in range(PAIRS):
            first, second = random.sample([0, MOST], 2)
            times = {first: seconds(first), second: seconds(second)}
            longer += times[MOST] > times[0]
    assert (binomtest(longer, PAIRS).pvalue > 1e-6) == hides


# --- one person's report, more than once ---------------------------------------------------------


def with_replays(body, people, sealed, lane):
    """The body of a shuffler that puts a report in the place of others, in every lane."""
    others = [span.start for n, span in enumerate(OF.spans(people)) if n != lane]
    return [sealed if at in others else each for at, each in enumerate(body)]


def to_the_bundle_alone():
    """A wrong variant: a sealed report opens wherever it is found."""
    return mock.patch.object(ShufflerBundle, "binding", lambda of, *_: of.digest)


@pytest.mark.parametrize(
    ("bound", "refused"), one_in(2, [(nullcontext, True), (to_the_bundle_alone, False)])
)
def test_a_report_counts_in_its_own_stratum_and_lane_only(tmp_path, bound, refused):
    """The collector here does not even look at the message of a report."""
    with bound(), invents(0):
        ann = device(region="east", stratum=0)
        uploads = [ann] + [device(stratum=n % 2) for n in range(1, 2 * PEOPLE)]
        bodies = released(tmp_path, uploads)
        for stratum, lanes in ((0, OF.places - 1), (1, OF.places)):
            header, body = bodies[stratum]
            before = opened(body, header.people, stratum, checks=False)
            own = 1 if stratum == 0 else None  # the lane that her report is in
            replayed = with_replays(body, header.people, ann.sealed[1], own)
            after = opened(replayed, header.people, stratum, checks=False)
            gained = after[1, 6] - before[1, 6]  # yes, and east
            assert gained == (0 if refused else lanes)


# --- who withdraws -------------------------------------------------------------------------------


def withdrawn_in_words():
    """A wrong variant: the shuffler says so, and keeps the reports."""
    return mock.patch.object(writing, "withdraw", lambda *_: True)


@pytest.mark.parametrize(("way", "gone"), [(nullcontext, True), (withdrawn_in_words, False)])
def test_who_withdraws_before_closing_is_in_no_cell(tmp_path, way, gone):
    """Noise is drawn at closing, once: there is no release with her to compare with."""
    ann, others = device(region="east"), [device() for _ in range(PEOPLE)]
    with way(), invents(3):
        header, body = released(tmp_path, [ann, *others], withdrawn=[ann])[0]
    assert (not set(ann.sealed) & set(body)) == gone
    assert header.people == PEOPLE + (not gone)
    assert opened(body, header.people)[1, 6] == 3 + (not gone)


# --- a person with another client ----------------------------------------------------------------


def upload_of(plaintexts):
    """What somebody sends who seals whatever she wants in each lane."""
    each = zip(OF.slot_lanes, plaintexts, strict=True)
    sealed = (seal(plain, OF.key, OF.binding(0, lane), OF.label) for lane, plain in each)
    return Upload(NO_CODE, 0, tuple(sealed))


def lies():
    """Everything in one cell; in each lane its first cell, or its last; and nothing."""
    one = OF.shape.report(1, b"\x04")
    yield [one] * OF.places
    for place in (0, -1):
        yield [OF.shape.report(m, bytes([cells[place]])) for m, cells, *_ in OF.lanes]
    yield [OF.shape.dummy] * OF.places


def moved(folder, plaintexts, checks):
    """By how many reports each cell differs from that of a person who is in no cell."""
    counts = []
    for name, plain in (("lie", plaintexts), ("none", [OF.shape.dummy] * OF.places)):
        with invents(2):
            honest = [device() for _ in range(PEOPLE - 1)]
            header, body = released(folder / name, [upload_of(plain), *honest])[0]
        counts.append(opened(body, header.people, checks=checks))
    return Counter({key: counts[0][key] - counts[1][key] for key in counts[0]})


@pytest.mark.slow
def test_a_liar_moves_one_person_in_each_table(tmp_path):
    """A table has as many reports of a person as lanes: one, or one for each option."""
    for number, plaintexts in enumerate(lies()):
        cells = moved(tmp_path / str(number), plaintexts, checks=True)
        assert set(cells.values()) <= {0, 1}
        for lane in OF.lanes:
            assert sum(cells[lane.message, cell] for cell in lane.cells) <= 1


@pytest.mark.slow
def test_without_lanes_she_moves_as_many_as_she_has_slots(tmp_path):
    """A wrong variant: slots without a message."""
    cells = moved(tmp_path, next(lies()), checks=False)
    assert cells == Counter({(1, 4): OF.places}) and OF.places > 1
