"""Opening where services add noise: what is counted, what is written, and what is not."""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import incrowd
from incrowd.collection.collector import collections, on_spark
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.keeper import check_machine, open_waiting
from incrowd.collection.collector.on_spark import SealedRelease
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.receipt import (
    load_receipt,
    note_later,
    receipts_of,
    received,
    save_receipt,
)
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.plaintext import DUMMIES
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.taking import Shelf, Taking
from incrowd.errors import ProtocolError, ReportsError
from incrowd.estimation.receipts import receipt_sentences
from incrowd.reports.tally import published
from tests.collection.collector.conftest import Session
from tests.conftest import run, slowly
from tests.oracles import noisy_releases
from tests.oracles.make_vectors import RECEIVER
from tests.oracles.noisy_releases import bundle_of, plan_of

PLAN = plan_of(("smokes",), ("region",), ("uses",), ("region", "uses"))
BUNDLE = bundle_of(PLAN)
MIXED = bundle_of(plan_of(("region",), ["smokes"], crowd=4, colluding=1))
PEOPLE = [
    {0: [0], 1: [2], 2: [0, 2], 3: [6, 8, 11]},
    {0: [], 1: [0], 2: [], 3: [9]},
    {0: [0], 1: [2], 2: [1], 3: [7, 11]},
    {0: [], 1: [1], 2: [0], 3: [3, 10]},
]
Z1 = {(0, 0): 6, (1, 0): 0, (1, 1): 5, (2, 2): 0, (3, 11): 6}


def opened(folder, data, bundle=BUNDLE, name="opened", **more):
    """The receipt of a release, its folder, and its header."""
    path = folder / "0.release"
    path.write_bytes(data)
    signed, start = Signed.parse(Header, data)
    more = {"workers": 1, "shelf": Shelf(Header, folder)} | more
    receipt = open_release(path, start, signed, bundle, RECEIVER, folder / name, **more)
    return receipt, folder / name, signed.header


def counts_in(folder, plan=PLAN):
    """The published counts of each message."""
    reports = incrowd.load_reports(folder)
    return {
        each.message: published(each, plan.messages[each.message].record_bits).tolist()
        for each in reports
        if plan.messages[each.message].by_services
    }


@pytest.mark.parametrize("workers", [1, *slowly(2)])
def test_each_cell_is_counted_with_both_noises(tmp_path, workers, monkeypatch):
    """Against an oracle that derives the collector's noise from primitives."""
    monkeypatch.setattr(collections, "PIECE_REPORTS", 7)
    monkeypatch.setattr(collections, "WORTH_IT", 1)
    data = noisy_releases.release(BUNDLE, PEOPLE, Z1)
    receipt, folder, header = opened(tmp_path, data, workers=workers)
    right = noisy_releases.expected(BUNDLE, PEOPLE, Z1, header, RECEIVER.secret)
    assert counts_in(folder) == right
    assert any(number < 0 for cells in right.values() for number in cells), "none is limited"
    assert receipt.opened_people == receipt.people == len(PEOPLE)
    assert load_receipt(folder, PLAN)[0] == receipt
    written = incrowd.load_reports(folder)
    assert [each.draws for each in written] == [2] * 4
    assert {each.people for each in written} == {len(PEOPLE)}
    assert {each.release.id for each in written} == {receipts_of(PLAN, [folder])[0].release}


def test_strata_have_noise_of_their_own(tmp_path):
    bundle = bundle_of(PLAN, strata=("north", "south"))
    found = {}
    for stratum in (0, 1):
        data = noisy_releases.release(bundle, PEOPLE, Z1, stratum)
        _, folder, header = opened(tmp_path, data, bundle, f"opened-{stratum}")
        found[stratum] = counts_in(folder)
        right = noisy_releases.expected(bundle, PEOPLE, Z1, header, RECEIVER.secret)
        assert found[stratum] == right
    assert found[0] != found[1]


def test_messages_with_noise_of_devices_are_written_as_they_arrive(tmp_path):
    people = [{0: [n % 3], 1: [bytes([n % 2]), b"\1"]} for n in range(24)]
    data = noisy_releases.release(MIXED, people)
    receipt, folder, header = opened(tmp_path, data, MIXED)
    cells, joint = incrowd.load_reports(folder)
    right = noisy_releases.expected(MIXED, people, {}, header, RECEIVER.secret)
    assert published(cells, 3).tolist() == right[0]
    assert sorted(map(bytes, joint.packed)) == sorted(each for one in people for each in one[1])
    assert (joint.draws, joint.people) == (0, 24)
    assert [each.reports for each in receipt.messages] == [None, 48]
    assert load_receipt(folder)[0] == receipt


def replaced(data, bundle, **plaintexts):
    """A release in which reports of the first person are replaced: by lane, the new plaintext."""
    signed, start = Signed.parse(Header, data)
    size, people = bundle.sealed_length, signed.header.people
    rows = [data[at : at + size] for at in range(start, len(data), size)]
    sent = noisy_releases.uploads(bundle, PEOPLE)[0]
    for name, plain in plaintexts.items():
        lane = int(name.removeprefix("lane"))
        place = rows.index(sent[lane][0], bundle.spans(people)[lane].start)
        rows[place] = noisy_releases.seal(plain, f"new {name}", bundle, 0, lane)
    return noisy_releases.release(bundle, PEOPLE, rows=rows)


WRONG = {
    "another message": {"lane1": noisy_releases.report(BUNDLE, 0, 0)},
    "a cell of another lane": {"lane2": noisy_releases.report(BUNDLE, 2, 1)},
    "no such cell": {"lane1": noisy_releases.report(BUNDLE, 1, 3)},
    "not well formed": {"lane1": b"\2" + noisy_releases.dummy(BUNDLE)[1:]},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_belong_in_a_lane_is_refused(tmp_path, wrong):
    [(name, plain)] = WRONG[wrong].items()
    data = replaced(noisy_releases.release(BUNDLE, PEOPLE), BUNDLE, **{name: plain})
    receipt, folder, header = opened(tmp_path, data)
    lane = BUNDLE.lanes[int(name.removeprefix("lane"))]
    rest = [each for each in PEOPLE[0][lane.message] if each not in lane.cells]
    people = [PEOPLE[0] | {lane.message: rest}, *PEOPLE[1:]]
    assert counts_in(folder) == noisy_releases.expected(BUNDLE, people, {}, header, RECEIVER.secret)
    assert receipt.opened_people == len(PEOPLE) - 1
    assert receipt.rejected == {} and receipt.dummies == []


@pytest.mark.parametrize("message", [0, 1, 3])
def test_cells_are_counted_as_single_plaintexts_are_read(message):
    """Right plaintexts, those with one changed byte, and random ones."""
    random, shape = np.random.default_rng(message), BUNDLE.shape
    right = [shape.dummy] + [
        noisy_releases.report(BUNDLE, number, cell)
        for number, each in enumerate(PLAN.messages)
        for cell in range(each.record_bits)
    ]
    rows = np.frombuffer(b"".join(right * 40), np.uint8).reshape(-1, shape.length).copy()
    for row in rows[len(rows) // 2 :]:
        row[random.integers(shape.length)] = random.integers(256)
    rows = np.concatenate([rows, random.integers(0, 256, (500, shape.length), np.uint8)])
    found = np.zeros((1 << shape.bits[message]) + 2, np.int64)
    for row in map(bytes, rows):
        place = DUMMIES + 1
        with suppress(ProtocolError):
            read = shape.read(row)
            if read.message in (None, message):
                number = int.from_bytes(read.packed, "little")
                place = DUMMIES if read.message is None else number
        found[place] += 1
    assert (shape.cell_counts(rows, message) == found).all()
    assert found[: PLAN.messages[message].record_bits].min() > 0 and found[-2:].min() > 10


def test_a_report_opens_in_its_own_lane_and_stratum_only(tmp_path):
    """The shuffler puts a report of a person into another lane, or another stratum."""
    bundle = bundle_of(PLAN, strata=("north", "south"))
    north, south = noisy_releases.uploads(bundle, PEOPLE), noisy_releases.uploads(bundle, PEOPLE, 1)
    for stolen, gone in ((south[0][2][0], 2), (north[0][1][0], 0)):
        sent = [[*north[0][:3], *north[0][3:]], *north[1:]]
        sent[0] = [[stolen] if lane == gone else rows for lane, rows in enumerate(sent[0])]
        rows = noisy_releases.body(bundle, sent, {})
        data = noisy_releases.release(bundle, PEOPLE, rows=rows)
        receipt, folder, header = opened(tmp_path, data, bundle, f"without-{gone}")
        message = bundle.lanes[gone].message
        cells = [c for c in PEOPLE[0][message] if c not in bundle.lanes[gone].cells]
        people = [PEOPLE[0] | {message: cells}, *PEOPLE[1:]]
        if gone == 0:  # the report of lane 1 is there twice, and the first place counts
            people[0] = people[0] | {1: []}
        found = counts_in(folder)
        assert found == noisy_releases.expected(bundle, people, {}, header, RECEIVER.secret)
        assert receipt.opened_people == len(PEOPLE) - 1
        Path(tmp_path / "first").rename(tmp_path / f"first-{gone}")  # as if it were not there


def test_what_is_repeated_counts_once(tmp_path):
    sent = noisy_releases.uploads(BUNDLE, PEOPLE)
    sent[1][1] = sent[0][1]
    data = noisy_releases.release(BUNDLE, PEOPLE, rows=noisy_releases.body(BUNDLE, sent, {}))
    receipt, folder, header = opened(tmp_path, data)
    people = [PEOPLE[0], PEOPLE[1] | {1: []}, *PEOPLE[2:]]
    assert counts_in(folder) == noisy_releases.expected(BUNDLE, people, {}, header, RECEIVER.secret)
    assert receipt.opened_people == len(PEOPLE) - 1


def test_the_people_are_those_whose_uploads_fill_every_lane(tmp_path):
    """However many of the invented reports are missing: then nobody is left, not fewer than
    nobody."""
    size, spans = BUNDLE.sealed_length, BUNDLE.spans(len(PEOPLE))
    rows = noisy_releases.body(BUNDLE, noisy_releases.uploads(BUNDLE, PEOPLE), {})
    for missing, people in ((0, 4), (3, 1), (9, 0)):
        garbage = [rows[0][:7] + bytes([n]) * (size - 7) for n in range(missing)]
        at = spans[4].start
        data = noisy_releases.release(
            BUNDLE, PEOPLE, rows=[*rows[:at], *garbage, *rows[at + missing :]]
        )
        folder = tmp_path / str(missing)
        folder.mkdir()
        assert opened(folder, data)[0].opened_people == people


def test_fewer_people_than_a_release_needs_are_refused(tmp_path):
    few = PEOPLE[: noisy_releases.LEAST - 1]
    with pytest.raises(ProtocolError, match="people"):
        opened(tmp_path, noisy_releases.release(BUNDLE, few))
    assert not (tmp_path / "first").exists() and not (tmp_path / "opened").exists()
    assert opened(tmp_path, noisy_releases.release(BUNDLE, PEOPLE[: noisy_releases.LEAST]))[0]


# --- the first release of a stratum, and no other -----------------------------------------------


def test_opening_again_gives_the_same_counts(tmp_path):
    data = noisy_releases.release(BUNDLE, PEOPLE, Z1)
    once, again = (opened(tmp_path, data, name=name)[1] for name in ("once", "again"))
    assert counts_in(once) == counts_in(again)


def broken(*_):
    raise OSError("the disk is full")


def test_another_release_is_kept_as_evidence_and_never_opened(tmp_path, monkeypatch):
    """Also if opening the first one was interrupted, before anything was written."""
    first, other = (noisy_releases.release(BUNDLE, PEOPLE[:n], Z1) for n in (4, 3))
    with monkeypatch.context() as patch:
        patch.setattr(collections, "published", broken)
        with pytest.raises(OSError, match="disk"):
            opened(tmp_path, first)
    unseal = mock.Mock()
    monkeypatch.setattr("incrowd.collection.collector.opening.unseal", unseal)
    with pytest.raises(ProtocolError, match="contradict"):
        opened(tmp_path, other)
    assert not unseal.called and not (tmp_path / "opened").exists()
    kept = {path.read_bytes() for path in (tmp_path / "contradictions").iterdir()}
    assert kept == {each[: Signed.parse(Header, each)[1]] for each in (first, other)}
    monkeypatch.undo()
    assert opened(tmp_path, first)[1]


def test_it_is_recorded_before_anything_is_decrypted(tmp_path, monkeypatch):
    class Decrypted(Exception):
        pass

    def decrypted(*_):
        raise Decrypted

    monkeypatch.setattr("incrowd.collection.collector.opening.unseal", decrypted)
    data = noisy_releases.release(BUNDLE, PEOPLE)
    with pytest.raises(Decrypted):
        opened(tmp_path, data)
    [first] = (tmp_path / "first").iterdir()
    assert data.startswith(first.read_bytes())


def test_nothing_is_opened_without_a_record(tmp_path):
    with pytest.raises(AssertionError, match="recorded"):
        opened(tmp_path, noisy_releases.release(BUNDLE, PEOPLE), shelf=None)


def taken(places, data, bundle=BUNDLE):
    with Taking(bundle, places.releases(bundle)) as taking:
        taking.add(data)
        taking.done()


@pytest.fixture
def served(tmp_path):
    """The folder of a collector with its key and the bundle."""
    places = CollectorPlaces(tmp_path / "collector")
    places.root.mkdir()
    places.private.write_bytes(RECEIVER.secret)
    places.bundle.write_bytes(BUNDLE.encoded)
    return places


def by_hand(places, data, output):
    """The command, with the key in a collector's folder."""
    path = output.parent / f"{output.name}.release"
    path.write_bytes(data)
    words = ("open", path, "--bundle", places.bundle, "--key", places.private, "-o", output)
    return run(*map(str, words), "--keep-key", "--json")


def test_the_command_opens_the_first_release_only(served, tmp_path):
    first, other = (noisy_releases.release(BUNDLE, PEOPLE[:n], Z1) for n in (4, 3))
    assert by_hand(served, first, tmp_path / "a").returncode == 0
    refused = by_hand(served, other, tmp_path / "b")
    assert refused.returncode == 1 and "contradict" in refused.stderr
    assert not (tmp_path / "b").exists() and len(served.releases(BUNDLE).proofs()) == 2
    assert by_hand(served, first, tmp_path / "c").returncode == 0
    assert counts_in(tmp_path / "a") == counts_in(tmp_path / "c")


def test_service_and_command_share_the_record(served, tmp_path):
    first, other = (noisy_releases.release(BUNDLE, PEOPLE[:n], Z1) for n in (4, 3))
    assert by_hand(served, first, tmp_path / "a").returncode == 0
    with pytest.raises(ProtocolError, match="contradict"):
        taken(served, other)
    taken(served, first)
    [folder] = open_waiting(served, BUNDLE, RECEIVER, workers=1)
    assert counts_in(folder) == counts_in(tmp_path / "a")
    assert by_hand(served, other, tmp_path / "b").returncode == 1


# --- on Spark ------------------------------------------------------------------------------------


def on_a_cluster(folder, data, monkeypatch, session):
    monkeypatch.setattr(on_spark, "ROWS_EACH", 9)
    monkeypatch.setattr(on_spark, "protect", lambda: None)
    key = folder / "private.key"
    key.write_bytes(RECEIVER.secret)
    start = Signed.parse(Header, data)[1]
    path = str(folder / "0.release")
    sealed = SealedRelease(path, start, BUNDLE.encoded, str(key), 0)
    return on_spark.engine(session, sealed, lambda _: None)


def test_tasks_count_what_one_machine_counts(tmp_path, monkeypatch):
    """What passes through Spark contains no count: it is sealed."""
    seen = []

    def in_arrow(frame, work, result, _):
        seen.append(frame.mapInArrow(work, result).toArrow())
        return seen[-1]

    monkeypatch.setattr(on_spark, "in_arrow", in_arrow)
    data = noisy_releases.release(BUNDLE, PEOPLE, Z1)
    engine = on_a_cluster(tmp_path, data, monkeypatch, Session())
    there = opened(tmp_path, data, name="there", engine=engine)
    here = opened(tmp_path, data, name="here")
    assert there[0] == here[0] and counts_in(there[1]) == counts_in(here[1])
    rows = [row for table in seen for row in table.to_pylist()]
    assert not any(row["packed"] for row in rows)
    hidden = {row["cells"] for row in rows}
    assert len(hidden) == len(rows) and {*map(len, hidden)} <= {
        12 + 8 * (1 + n) + 16 for n in (1, 3)
    }
    assert not any(row["dummies"] or row["rejected"] for row in rows)


def test_spark_opens_the_first_release_only(tmp_path, monkeypatch):
    monkeypatch.setattr(on_spark, "in_arrow", lambda f, w, r, _: f.mapInArrow(w, r).toArrow())
    first, other = (noisy_releases.release(BUNDLE, PEOPLE[:n]) for n in (4, 3))
    opened(tmp_path, first, name="here")
    session = Session()
    engine = on_a_cluster(tmp_path, other, monkeypatch, session)
    with pytest.raises(ProtocolError, match="contradict"):
        opened(tmp_path, other, name="there", engine=engine)
    assert session.waves == 0


# --- receipts ------------------------------------------------------------------------------------


def test_a_receipt_states_people_and_no_number_of_reports(tmp_path):
    receipt, folder, _ = opened(tmp_path, noisy_releases.release(BUNDLE, PEOPLE, Z1))
    stated = json.loads((folder / "receipt.json").read_text())
    assert stated["rejected"] == {} and stated["dummies"] == []
    assert [set(each) for each in stated["messages"]] == [{"id", "sha256"}] * 4
    facts = received(receipt, BUNDLE).facts
    assert facts["reports"] is None and facts["rejected"] == {} and facts["crowded"] == ()
    [text] = receipt_sentences(received(receipt, BUNDLE))
    assert "4 people sent an upload" in text and "nobody may know how many reports" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"opened_people": 5},
        {"dummies": [1]},
        {"rejected": {"malformed": 0}},
        {"people": 3},
        {"messages": []},
    ],
)
def test_an_edited_receipt_is_refused(tmp_path, changes):
    receipt, folder, _ = opened(tmp_path, noisy_releases.release(BUNDLE, PEOPLE))
    save_receipt(receipt.model_copy(update=changes), folder)
    with pytest.raises(ReportsError):
        load_receipt(folder)


def test_a_receipt_with_a_number_of_reports_is_refused(tmp_path):
    receipt, folder, _ = opened(tmp_path, noisy_releases.release(BUNDLE, PEOPLE))
    first, *others = receipt.messages
    changed = [first.model_copy(update={"reports": 9}), *others]
    save_receipt(receipt.model_copy(update={"messages": changed}), folder)
    with pytest.raises(ReportsError, match="receipt"):
        load_receipt(folder)


def test_counts_that_were_changed_are_noticed(tmp_path):
    _, folder, _ = opened(tmp_path, noisy_releases.release(BUNDLE, PEOPLE))
    path = folder / "message-1.parquet"
    data = bytearray(path.read_bytes())
    place = data.index(np.int64(counts_in(folder)[0][0]).tobytes())
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ReportsError):
        receipts_of(PLAN, [folder], files=True)


def test_what_arrives_later_is_noted(served):
    taken(served, noisy_releases.release(BUNDLE, PEOPLE))
    [folder] = open_waiting(served, BUNDLE, RECEIVER, workers=1)
    with pytest.raises(ProtocolError):
        taken(served, noisy_releases.release(BUNDLE, PEOPLE[:3]))
    note_later(served, BUNDLE)
    assert len(load_receipt(folder)[0].contradictions) == 1


def test_the_machine_check_states_people(served):
    taken(served, noisy_releases.release(BUNDLE, PEOPLE))
    open_waiting(served, BUNDLE, RECEIVER, workers=1)
    found = check_machine(served, BUNDLE, as_time(BUNDLE.closes))
    [text] = [each.text for each in found if each.subject == "release 0"]
    assert text == "opened, 4 people"


# --- the collector's noise -----------------------------------------------------------------------


def test_the_noise_of_the_collector_has_the_law_of_the_plan():
    """Over all headers, not for one: the law is exact if the words are uniform."""
    law, header = noisy_releases.LAW, Header(bytes(32), 4, 8, 4, 1, bytes(32), (0,))
    headers = [replace(header, issued=n) for n in range(400)]
    many = [z for each in headers for z in noisy_releases.z2(RECEIVER.secret, each, 0, 50)]
    found = np.bincount(np.array(many) + law.reach, minlength=law.most + 1)
    expected = law.chances * len(many)
    statistic = ((found - expected) ** 2 / expected).sum()
    assert statistic < 24.3, "six degrees of freedom: a false alarm of 5e-4, with a fixed seed"


def test_every_part_of_the_key_matters():
    header = Header(BUNDLE.digest, 4, 8, 4, 1, bytes(32), (0,))
    others = [
        replace(header, bundle=bytes(32)),
        replace(header, strata=(1,)),
        replace(header, issued=9),
        replace(header, body=b"\1" * 32),
    ]
    cases = [(RECEIVER.secret, header, 0), (RECEIVER.secret, header, 1), (bytes(32), header, 0)]
    cases += [(RECEIVER.secret, each, 0) for each in others]
    drawn = [tuple(noisy_releases.z2(*case, 40)) for case in cases]
    assert len(set(drawn)) == len(cases)


@pytest.mark.slow
def test_the_record_outlives_the_process(served):
    """Another process does not open what this one has not."""
    first, other = (noisy_releases.release(BUNDLE, PEOPLE[:n]) for n in (4, 3))
    signed, _ = Signed.parse(Header, first)
    served.releases(BUNDLE).bind(signed, BUNDLE)
    (served.root / "0.release").write_bytes(other)
    code = "import sys; from incrowd.cli import main; sys.argv = ['incrowd', *sys.argv[1:]]; main()"
    words = ("open", served.root / "0.release", "--bundle", served.bundle)
    more = ("--key", served.private, "-o", served.root / "out")
    child = [sys.executable, "-c", code, *map(str, (*words, *more))]
    done = subprocess.run(child, capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and "contradict" in done.stderr
    assert served.private.exists()
