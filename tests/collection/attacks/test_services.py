"""Noise from the services: what a shuffler that knows its own noise learns from the collector.

The shuffler reads everything that the collector writes, shows and logs, and everybody's answers but
one are known to it. It may read the published counts. If anything else depends on the counts before
the collector's noise, it learns an answer. Each attack succeeds against a wrong variant.
"""

import logging
import re
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import incrowd
from incrowd.accountant import AdditiveNoise
from incrowd.collection.collector import app, collections, noise, receipt
from incrowd.collection.collector.app import ReleaseDesk
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.keeper import check_machine, forget, open_waiting
from incrowd.collection.collector.opening import Opener
from incrowd.collection.collector.progress import CollectorProgress, Gate, Uncounted
from incrowd.collection.folders import exclusive, unfinished
from incrowd.collection.protocol.bundle import ShufflerBundle, as_time
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.steady import CertainClock
from incrowd.collection.taking import Shelf
from incrowd.errors import ProtocolError
from incrowd.reports.tally import as_counts, published
from incrowd.reports.tally_files import as_text
from tests.conftest import one_in
from tests.oracles import noisy_releases
from tests.oracles.dying import STEPS, in_child, lives_for
from tests.oracles.make_vectors import RECEIVER
from tests.oracles.noisy_releases import bundle_of, looked_up, plan_of, unsealing
from tests.oracles.releases import arrived

LAW = AdditiveNoise.laplace(1.5, most=4)
PLAN = plan_of(("smokes",), ("region",), ("uses",), law=LAW)
BUNDLE = bundle_of(PLAN)
NOW = as_time(BUNDLE.closes)
CELLS = {0: 1, 1: 3, 2: 3}
ANN, OTHERS = {0: [0], 1: [2], 2: [0, 1]}, [{0: [], 1: [1], 2: [1]}, {0: [], 1: [0], 2: []}]
ANOTHER = {0: [], 1: [0], 2: [2]}
EVERY_CELL = [(message, cell) for message, cells in CELLS.items() for cell in range(cells)]
NOTHING, EVERYTHING = dict.fromkeys(EVERY_CELL, 0), dict.fromkeys(EVERY_CELL, LAW.most)
# Answers and the shuffler's noise, which never change the published counts in the first tests.
SCENARIOS = {
    "Ann": ([ANN, *OTHERS], {}),
    "another answer": ([ANOTHER, *OTHERS], {}),
    "no cell has a report": ([{}] * 3, NOTHING),
    "cells have more reports than people": ([ANN] * 3, EVERYTHING),
}


def opened(folder, data, bundle=BUNDLE):
    """The counts that are published, by message. The folder is that of the private key."""
    path, output = folder / "release", folder / f"opened-{len(list(folder.iterdir()))}"
    path.write_bytes(data)
    signed, start = Signed.parse(Header, data)
    shelf = Shelf(Header, folder)
    open_release(path, start, signed, bundle, RECEIVER, output, workers=1, shelf=shelf)
    return counts_in(output, bundle)


def counts_in(folder, bundle=BUNDLE):
    return {
        each.message: published(each, bundle.plan.messages[each.message].record_bits)
        for each in incrowd.load_reports(folder)
    }


# --- everything that the collector writes, shows and logs -----------------------------------------


def everything(folder, caplog, scenario):
    """What anybody can read of a collector, from the arrival of a release to the end. The counts
    that are published are the same in every scenario."""
    people, z1 = SCENARIOS[scenario]
    data, contents = looked_up(BUNDLE, people, z1)
    caplog.clear()
    with unsealing(contents), caplog.at_level(logging.DEBUG):
        places = arrived(folder, BUNDLE, data)
        open_waiting(places, BUNDLE, RECEIVER, workers=1)
        reports = incrowd.load_reports(places.opened_ones)
        found = check_machine(places, BUNDLE, NOW)
        shown = {
            "metrics": metrics(places),
            "dashboard": dashboard(places),
            "check": [each for each in found if "release" in each.subject],
            "tally": as_text(incrowd.count(PLAN, reports, tables=[("region",)])),
            "receipts": [each.facts for each in receipt.receipts_of(PLAN, [places.opened_ones])],
            "log": steady(caplog.text, folder),
        }
        before = files(places)
        forget(places, BUNDLE, NOW)
    return shown | {"files": before, "files at the end": files(places)}


def dashboard(places):
    gate, count = Gate(BUNDLE, places), Uncounted(BUNDLE, lambda: NOW)
    return CollectorProgress(BUNDLE, gate, count, lambda: NOW)._opened()


def metrics(places):
    desk = ReleaseDesk(places, BUNDLE, RECEIVER, CollectorSettings(), CertainClock(lambda: NOW))
    text = desk._exposition().decode()
    lines = [line for line in text.splitlines() if "disk_free" not in line]
    return [line for line in lines if "seconds" not in line]


def steady(text, folder):
    """A log without what is random, or depends on the place."""
    return re.sub(r"incrowd-[0-9a-f]{16}", "new", text.replace(str(folder), ""))


def files(places):
    return {
        str(path.relative_to(places.root)): path.read_bytes()
        for path in sorted(places.root.rglob("*"))
        if path.is_file()
    }


def fixed(counts, *_):
    return np.arange(len(counts))


def differences(folder, caplog, monkeypatch, change=fixed):
    """What differs between scenarios. change: what is done to the counts before they are known."""
    monkeypatch.setattr(collections, "published", change)
    seen = []
    for number, scenario in enumerate(SCENARIOS):
        seen.append(everything(folder / str(number), caplog, scenario))
    return {key for key in seen[0] if any(each[key] != seen[0][key] for each in seen[1:])}


@pytest.mark.slow
def test_nothing_but_the_published_counts_depends_on_the_counts(tmp_path, caplog, monkeypatch):
    assert differences(tmp_path, caplog, monkeypatch) == set()


def has_a_number_of_dummies(patch):
    """The receipt as it is where devices add the noise."""
    right, dummies = Opener._of_lane, []

    def of_lane(self, number, rows):
        piece = right(self, number, rows)
        dummies.append(piece.opened - int(piece.cells.sum()))
        return piece

    made = receipt.receipt_of
    patch.setattr(Opener, "_of_lane", of_lane)
    patch.setattr(receipt, "_fit_lanes", lambda *_: True)
    patch.setattr(
        collections,
        "receipt_of",
        lambda *given: made(*given[:4], dummies[-len(BUNDLE.lanes) :], given[5]),
    )


def has_a_number_of_reports(patch):
    """The messages of the receipt as they are where devices add the noise."""
    written, totals = collections._collections, []
    known = collections.published

    def counted(counts, *rest):
        totals.append(int(counts.sum()))
        return known(counts, *rest)

    def messages(*given):
        each = written(*given)
        stated = zip(each, totals[-len(each) :], strict=True)
        return [one.model_copy(update={"reports": total}) for one, total in stated]

    patch.setattr(collections, "published", counted)
    patch.setattr(collections, "_collections", messages)
    patch.setattr(receipt, "_fit_lanes", lambda *_: True)
    patch.setattr(collections, "verify_opened", lambda *_: None)


def has_a_metric_of_reports(patch):
    has_a_number_of_reports(patch)
    right = ReleaseDesk.measured

    def measured(self):
        yield from right(self)
        yield from app._of_reports(app.receipts(self.places), self.bundle)

    patch.setattr(ReleaseDesk, "measured", measured)


def checks_for_too_many(counts, law, private, header, message):
    """More reports than people: a check that looks harmless. Its result names Ann's answer to a
    shuffler that invented just as many as there is room for."""
    if (counts > header.people + law.reach).any():
        logging.getLogger("incrowd.service").warning("message %d has too many reports", message)
    return fixed(counts)


@pytest.mark.parametrize(
    ("wrong", "shown"),
    one_in(
        3,
        [
            (has_a_number_of_dummies, {"files", "files at the end"}),
            (has_a_number_of_reports, {"files", "files at the end", "check"}),
            (has_a_metric_of_reports, {"files", "files at the end", "check", "metrics"}),
        ],
    ),
)
def test_a_number_of_reports_anywhere_is_found(tmp_path, caplog, monkeypatch, wrong, shown):
    """With this number, the shuffler knows how many people are in each cell."""
    monkeypatch.setattr(collections, "published", fixed)
    wrong(monkeypatch)
    assert differences(tmp_path, caplog, monkeypatch, collections.published) == shown


@pytest.mark.slow
def test_a_check_of_the_counts_is_found(tmp_path, caplog, monkeypatch):
    assert differences(tmp_path, caplog, monkeypatch, checks_for_too_many) == {"log"}


# --- limits of the counts ------------------------------------------------------------------------


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_published_counts_have_no_limits(tmp_path, scenario):
    people, z1 = SCENARIOS[scenario]
    data = noisy_releases.release(BUNDLE, people, z1)
    header = Signed.parse(Header, data)[0].header
    right = noisy_releases.expected(BUNDLE, people, z1, header, RECEIVER.secret)
    found = {number: each.tolist() for number, each in opened(tmp_path, data).items()}
    assert found == right
    values = [number for cells in right.values() for number in cells]
    limited = np.clip(values, 0, len(people)).tolist()
    assert limited != values or scenario in ("Ann", "another answer"), "no limit would show"


# --- noise that averages out, noise that cancels -------------------------------------------------


def without_record(patch):
    """A collector that forgets which release was the first."""
    patch.setattr(Shelf, "bind", lambda *_: None)


def averaged(folder, releases, z1):
    """The numbers of people in each cell, as the shuffler estimates them from several openings."""
    many = []
    for data in releases:
        with suppress(ProtocolError):
            each = opened(folder, data)
            many.append(np.concatenate([each[message] for message in CELLS]))
    own = np.array([dict(z1).get(cell, LAW.reach) - LAW.reach for cell in EVERY_CELL])
    return np.rint(np.mean(many, axis=0) - own).astype(int).tolist()


TRUE = [sum(cell in person[message] for person in [ANN, *OTHERS]) for message, cell in EVERY_CELL]
OPENINGS = 60  # the standard deviation of a mean is 0.1


def test_opening_again_does_not_average_the_noise(tmp_path):
    data = noisy_releases.release(BUNDLE, [ANN, *OTHERS])
    once, often = (averaged(tmp_path, [data] * number, {}) for number in (1, 5))
    assert once == often != TRUE


@pytest.mark.slow
def test_fresh_noise_at_every_opening_averages_out(tmp_path, monkeypatch):
    stream = noise.Keystream.for_simulation(1)
    monkeypatch.setattr(noise, "_stream", lambda *_: stream)
    data = noisy_releases.release(BUNDLE, [ANN, *OTHERS])
    assert averaged(tmp_path, [data] * OPENINGS, {}) == TRUE


def signed_often(many):
    """The same body under several headers, which differ in a number that nobody checks."""
    people = [ANN, *OTHERS]
    rows = noisy_releases.body(BUNDLE, noisy_releases.uploads(BUNDLE, people), {})
    return [noisy_releases.release(BUNDLE, people, rows=rows, issued=10 + n) for n in range(many)]


def test_signing_again_does_not_average_the_noise(tmp_path):
    releases = signed_often(5)
    assert averaged(tmp_path, releases, {}) == averaged(tmp_path, releases[:1], {}) != TRUE


@pytest.mark.slow
def test_without_the_record_of_the_first_it_averages_out(tmp_path, monkeypatch):
    without_record(monkeypatch)
    assert averaged(tmp_path, signed_often(OPENINGS), {}) == TRUE


def with_and_without(folder):
    """The difference of two releases: the others, with Ann and with a stranger in no cell."""
    releases = [noisy_releases.release(BUNDLE, [one, *OTHERS]) for one in (ANN, {})]
    with_ann, without = (opened(folder, data) for data in releases)
    return {message: (with_ann[message] - without[message]).tolist() for message in CELLS}


ALONE = {
    message: [int(cell in ANN[message]) for cell in range(cells)]
    for message, cells in CELLS.items()
}


def test_a_second_release_is_not_opened(tmp_path):
    with pytest.raises(ProtocolError, match="contradict"):
        with_and_without(tmp_path)


def test_the_difference_of_two_releases_has_noise_of_both(tmp_path, monkeypatch):
    """Also if a second one is opened, on a machine that does not know of the first."""
    without_record(monkeypatch)
    assert with_and_without(tmp_path) != ALONE


def test_equal_noise_for_two_releases_cancels(tmp_path, monkeypatch):
    """A key without the digest of the header: Ann's cells, exactly."""
    without_record(monkeypatch)
    monkeypatch.setattr(noise, "release_id", lambda header: bytes(32))
    assert with_and_without(tmp_path) == ALONE


# --- crashes -------------------------------------------------------------------------------------


RAW = {  # before the collector's noise, as it would be in a file
    message: as_counts(np.array(TRUE[EVERY_CELL.index((message, 0)) :][:cells]) + LAW.reach)
    for message, cells in CELLS.items()
}


def written_at_any_time(folder, monkeypatch):
    """All bytes that are in the collector's folder at any step of opening a release."""
    seen = set()
    places = arrived(folder, BUNDLE, noisy_releases.release(BUNDLE, [ANN, *OTHERS]))

    def watched(right):
        def step(*args, **named):
            seen.update(files(places).values())
            result = right(*args, **named)
            seen.update(files(places).values())
            return result

        return step

    for owner, name in STEPS:
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))
    open_waiting(places, BUNDLE, RECEIVER, workers=1)
    return seen


def has_raw(seen):
    raw = [bytes(RAW[message]) for message in CELLS if CELLS[message] > 1]
    return any(each in data for each in raw for data in seen)


def test_no_file_ever_has_the_counts_before_the_noise(tmp_path, monkeypatch):
    assert not has_raw(written_at_any_time(tmp_path, monkeypatch))


def test_noise_that_is_added_after_writing_is_found(tmp_path, monkeypatch):
    right, known, counted = collections._collections, collections.published, []

    def noted(counts, *rest):
        counted.append(counts.copy())
        return known(counts, *rest)

    def first_without_noise(contents, signed, bundle, people, folder):
        for number, counts in enumerate(counted):
            collections.write_bytes(folder / f"{number}", bytes(as_counts(counts)))
        return right(contents, signed, bundle, people, folder)

    monkeypatch.setattr(collections, "published", noted)
    monkeypatch.setattr(collections, "_collections", first_without_noise)
    assert has_raw(written_at_any_time(tmp_path, monkeypatch))


def killed(folder, data, steps):
    """A collector that ends after some steps, and is started again; the counts of its release."""
    places = arrived(folder, BUNDLE, data)

    def work(after=None):
        if after is not None:
            more = [(collections, "published"), (collections, "write_reports"), (Shelf, "bind")]
            lives_for(after, *more)
        with exclusive(places.root, "collector"):
            open_waiting(places, BUNDLE, RECEIVER, workers=1)
            forget(places, BUNDLE, NOW)

    ended = in_child(partial(work, steps))
    if not ended:
        assert in_child(work)
    [output] = places.opened_ones.iterdir()
    assert not unfinished(places.root) and not places.private.exists()
    return {message: each.tolist() for message, each in counts_in(output).items()}, ended


def after_kills(folder, kills):
    """The published counts after each of so many kills, at steps in turn, and without any."""
    data = noisy_releases.release(BUNDLE, [ANN, *OTHERS])
    right, _ = killed(folder / "whole", data, 10**6)
    found, step = [], 0
    for number in range(kills):
        counts, ended = killed(folder / str(number), data, step)
        found.append(counts)
        step = 0 if ended else step + 1
    return right, found


@pytest.mark.slow
def test_a_crash_between_opening_and_writing_changes_no_count(tmp_path):
    right, found = after_kills(tmp_path, 3)
    assert found == [right] * 3


@pytest.mark.slow
def test_sixty_crashes_change_no_count(tmp_path):
    right, found = after_kills(tmp_path, 60)
    assert found == [right] * 60


@pytest.mark.slow
def test_after_a_crash_fresh_noise_would_be_found(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "_stream", lambda *_: noise.Keystream.from_system())
    right, found = after_kills(tmp_path, 10)
    assert found != [right] * 10


# --- reports that are counted twice, and liars ---------------------------------------------------


def replayed(folder, bundle):
    """How many more are in Ann's cell of a stratum where her report was copied to."""
    sent = noisy_releases.uploads(bundle, [{}, {}, {}], 1)
    plain = noisy_releases.report(bundle, 1, 2)
    sent[0][1] = [seal(plain, bundle.key, bundle.binding(0, 1), bundle.label)]
    rows = noisy_releases.body(bundle, sent, {}, 1)
    data = noisy_releases.release(bundle, [{}] * 3, stratum=1, rows=rows)
    header = Signed.parse(Header, data)[0].header
    nobody = noisy_releases.expected(bundle, [], {}, header, RECEIVER.secret)
    return opened(folder, data, bundle)[1][2] - nobody[1][2]


def test_a_report_does_not_count_in_another_stratum(tmp_path, monkeypatch):
    bundle = bundle_of(PLAN, strata=("north", "south"))
    assert replayed(tmp_path, bundle) == 0
    binding = ShufflerBundle.binding
    monkeypatch.setattr(
        ShufflerBundle, "binding", lambda self, stratum, lane=0: binding(self, 1, lane)
    )
    (tmp_path / "wrong").mkdir()
    assert replayed(tmp_path / "wrong", bundle) == 1, "a binding without the stratum"


def lie(plain_of):
    """A release of three people, of whom one sends what she likes; plain_of: by lane."""
    sent = noisy_releases.uploads(BUNDLE, [{}] * 3)
    for number, lane in enumerate(BUNDLE.lanes):
        sealed = noisy_releases.seal(plain_of(lane), f"a lie {number}", BUNDLE, 0, number)
        sent[0][number] = [sealed]
    return noisy_releases.release(BUNDLE, [{}] * 3, rows=noisy_releases.body(BUNDLE, sent, {}))


def moved(folder, data):
    """By how much each cell is moved, by message."""
    header = Signed.parse(Header, data)[0].header
    nobody = noisy_releases.expected(BUNDLE, [], {}, header, RECEIVER.secret)
    return {n: (each - nobody[n]).tolist() for n, each in opened(folder, data).items()}


def test_a_liar_moves_one_person_in_each_table(tmp_path, monkeypatch):
    """She fills every lane with one option of a question, and no other table with more than one
    cell. Wrong variant: any cell of a message counts in all of its lanes."""
    data = lie(lambda lane: noisy_releases.report(BUNDLE, lane.message, 0))
    (tmp_path / "right").mkdir()
    assert moved(tmp_path / "right", data) == {0: [1], 1: [1, 0, 0], 2: [1, 0, 0]}
    every = tuple(lane._replace(cells=tuple(range(CELLS[lane.message]))) for lane in BUNDLE.lanes)
    monkeypatch.setitem(BUNDLE.__dict__, "lanes", every)
    (tmp_path / "wrong").mkdir()
    assert moved(tmp_path / "wrong", data)[2] == [3, 0, 0]
