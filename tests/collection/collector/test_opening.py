"""Opening releases: what is counted, what is rejected, and what a cheat can do at most."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import incrowd
from incrowd.collection import parallel
from incrowd.collection import rows as rows_of
from incrowd.collection.collector import collections
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.receipt import load_receipt, receipts_of, received, save_receipt
from incrowd.collection.protocol.addresses import short
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import X25519, PrivateKey
from incrowd.collection.protocol.signed import Signed
from incrowd.errors import ProtocolError, ReportsError
from incrowd.estimation.receipts import receipt_sentences
from incrowd.plans.ledger import Ledger
from incrowd.plans.slots import tail
from tests.collection.collector.conftest import (
    INVITED,
    OPEN,
    PEOPLE,
    PLAN,
    RECEIVER,
    all_sealed,
    plaintexts,
    release,
)
from tests.conftest import one_in, run, slowly
from tests.oracles import make_vectors

SHAPE = INVITED.shape


def expected(plain, bundle=INVITED):
    """The reports of each message, sorted, by the other reader's rule."""
    return [
        sorted(each[3 : 3 + bundle.shape.width(n)] for each in plain if each[1:3] == n.to_bytes(2))
        for n in range(len(bundle.plan.messages))
    ]


def written(folder):
    """The reports of each message, sorted: their order is new each time."""
    return [sorted(map(bytes, each.packed)) for each in incrowd.load_reports(folder)]


@pytest.mark.parametrize("workers", [1, *slowly(2)])
def test_every_report_is_there_once(opened, plain, sealed, workers, monkeypatch):
    monkeypatch.setattr(collections, "PIECE_REPORTS", 7)
    monkeypatch.setattr(collections, "WORTH_IT", 1)
    receipt, folder = opened(sealed, workers=workers)
    assert written(folder) == expected(plain)
    assert receipt.opened_people == receipt.people == PEOPLE
    assert receipt.dummies == [sum(each == SHAPE.dummy for each in plain)]
    assert set(receipt.rejected.values()) == {0}
    assert load_receipt(folder, PLAN)[0] == receipt
    assert {path.name for path in folder.iterdir()} == {
        *("message-1.parquet", "message-2.parquet", "message-3.parquet"),
        *("receipt.json", "bundle.json"),
    }


@pytest.mark.usefixtures("no_umask")
def test_every_file_is_private_whatever_the_umask(opened, sealed):
    _, folder = opened(sealed)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_everything_reads_the_folder_as_it_is(opened, sealed):
    _, folder = opened(sealed)
    counted = incrowd.count(PLAN, incrowd.stream_reports(folder, check=True))
    assert [each.declared for each in counted.messages.values()] == [PEOPLE] * 3
    found = incrowd.estimate(PLAN, counted, received=receipts_of(PLAN, [folder], files=True))
    assert found.crowd == PEOPLE
    assert incrowd.verify(PLAN, incrowd.stream_reports(folder)).missing == 0


def test_what_is_rejected_is_counted_by_kind(opened, plain):
    """Every wrong plaintext and every wrong sealed report of the vectors, at the end of a release
    that is large enough; the number of people falls."""
    wrong = json.loads((make_vectors.VECTORS / "reports.json").read_text())["wrong_plaintexts"]
    inside = [bytes.fromhex(text) for text in wrong.values() if len(text) == 2 * SHAPE.length]
    sealed = all_sealed(plain)
    bad = json.loads((make_vectors.VECTORS / "sealed.json").read_text())["wrong"]
    outside = [bytes.fromhex(text) for text in bad.values()]
    outside = [each for each in outside if len(each) == INVITED.sealed_length]
    replacing = [*(make_vectors.seal(each, f"wrong {each}") for each in inside), *outside]
    assert len(inside) == 4 and len(outside) == 5
    sealed[: len(replacing)] = replacing
    receipt, folder = opened(sealed)
    kinds = {"malformed": 4, "another-key": 2, "unopened": 3, "repeated": 0}
    assert receipt.rejected == kinds
    assert receipt.opened_people == (len(sealed) - 9) // INVITED.places
    assert written(folder) == expected(plain[9:])
    (text,) = list(receipt_sentences(received(receipt, INVITED)))[:1]
    assert "9 were rejected (2 for another key, 3 could not be opened, 4 not well formed)" in text


def test_a_chosen_encapsulated_key_opens_nothing(opened, sealed):
    """Keys of low order, with which every secret is zero: rejected, and nothing falls over."""
    low = [bytes(32), b"\1" + bytes(31), (2**255 - 19).to_bytes(32, "little"), b"\xff" * 32]
    chosen = [each[:7] + key + each[39:] for each, key in zip(sealed, low, strict=False)]
    receipt, _ = opened([*chosen, *sealed[len(low) :]])
    assert receipt.rejected["unopened"] == len(low)


def test_repeated_reports_count_once(opened, plain, sealed):
    """A shuffler lets one person through three times, instead of two others."""
    each = INVITED.places
    cheating = [*sealed[:each], *sealed[:each], *sealed[:each], *sealed[3 * each :]]
    receipt, folder = opened(cheating)
    assert receipt.rejected["repeated"] == 2 * each
    assert receipt.opened_people == PEOPLE - 2 and receipt.people == PEOPLE
    assert written(folder) == expected([*plain[:each], *plain[3 * each :]])


@pytest.mark.parametrize("passes", [1, 2, 5])
def test_repeats_are_found_in_any_number_of_passes(passes, monkeypatch):
    """Against a set of what was seen; few bits, so that most rows repeat. Fingerprints that all
    agree (multipliers of zero) change nothing."""
    rows = np.random.default_rng(passes).integers(0, 2, (1000, 11), np.uint8)
    seen, right = set(), []
    for place, row in enumerate(map(bytes, rows)):
        right += [place] if row in seen else []
        seen.add(row)
    monkeypatch.setattr(rows_of, "PASS_REPORTS", 1000 // passes + passes)
    monkeypatch.setattr(rows_of, "CHUNK_BYTES", 999)
    assert rows_of.repeated(rows).tolist() == right
    monkeypatch.setattr(rows_of, "_fingerprints", lambda rows, _: np.zeros(len(rows), np.uint64))
    assert rows_of.repeated(rows).tolist() == right


def test_one_device_that_fills_every_slot_is_bounded_and_said(opened, plain):
    """All of one person's places hold reports of message 1: it is not one person more."""
    filled = list(plain)
    flood = SHAPE.report(0, b"\x15")
    filled[: INVITED.places] = [flood] * INVITED.places
    receipt, folder = opened(all_sealed(filled))
    assert receipt.opened_people == PEOPLE
    said = " ".join(receipt_sentences(received(receipt, INVITED)))
    copies = PLAN.messages[0].copies
    sent = copies * (PEOPLE - 1) + INVITED.places
    assert f"Message 1 has {sent} reports, more than the {copies * PEOPLE} that" in said
    reports = incrowd.load_reports(folder)
    by_files = [replace(each, release=None) for each in reports]  # that came over no network
    estimates = [
        incrowd.estimate(PLAN, each, accept_smaller_crowd=True) for each in (by_files, reports)
    ]
    assert estimates[0].arrived[0].people == PEOPLE  # though there are reports of more
    assert sent // copies > PEOPLE
    for alone, told in zip(estimates[0].tables, estimates[1].tables, strict=True):
        (message,) = (m for m in PLAN.messages if m.holds(alone.questions))
        each = INVITED.places if message.cells else message.copies
        assert told.provenance.influence == pytest.approx(
            alone.provenance.influence * INVITED.places / each
        )


@pytest.mark.slow
def test_a_sender_of_all_slots_moves_no_figure_farther_than_said(opened, plain):
    """The worst of all fillings of one person's places, over both answers of every option."""
    before = estimated_tables(opened, plain)
    tables = {table.questions: table for table in before}
    for packed in (b"\x01", b"\x06", b"\x15", b"\x2a", b"\x3f", b"\x00"):
        filled = list(plain)
        filled[: INVITED.places] = [SHAPE.report(0, packed)] * INVITED.places
        for table in estimated_tables(opened, filled):
            moved = np.abs(table.estimate - tables[table.questions].estimate).max()
            assert (
                moved <= tables[table.questions].provenance.influence + table.provenance.influence
            )


def estimated_tables(opened, plain):
    _, folder = opened(all_sealed(plain))
    reports, receipts = incrowd.load_reports(folder), receipts_of(PLAN, [folder])
    return incrowd.estimate(PLAN, reports, accept_smaller_crowd=True, received=receipts).tables


def test_garbage_takes_people_off(opened, plain):
    sealed = all_sealed(plain)
    garbage = [each[:-1] + bytes([each[-1] ^ 1]) for each in sealed[: INVITED.places + 1]]
    receipt, folder = opened([*garbage, *sealed[len(garbage) :]])
    assert receipt.opened_people == PEOPLE - 2
    assert incrowd.load_reports(folder)[2].people == PEOPLE - 2


def test_an_open_survey_says_who_may_be_invented(opened):
    """N - 1 invented people are within what was stated, or they are not: the page shows both."""
    plain = plaintexts(bundle=OPEN)
    receipt, folder = opened(all_sealed(plain, OPEN), OPEN, strata=(1, 2))
    found = received(receipt, OPEN)
    text = next(receipt_sentences(found))
    assert "strata south, island" in text
    assert "without invitations: 1 are assumed to be invented or colluding" in text
    estimates = incrowd.estimate(PLAN, incrowd.load_reports(folder), received=[found])
    assert estimates.guarantee.crowd == PLAN.survey.crowd - OPEN.colluding


# --- what is refused -----------------------------------------------------------------------------


def test_another_signature_another_key_another_body(opened, sealed, tmp_path):
    path, folder = tmp_path / "r", tmp_path / "out"
    other = Ed25519PrivateKey.generate()
    for data in (release(sealed, key=other), release(sealed)[:-1], release(sealed[::-1]) + b"x"):
        path.write_bytes(data)
        signed, start = Signed.parse(Header, data)
        with pytest.raises(ProtocolError):
            open_release(path, start, signed, INVITED, RECEIVER, folder, workers=1)
        assert [each.name for each in tmp_path.iterdir()] == ["r"]


def test_a_key_of_another_bundle_opens_nothing(sealed, tmp_path):
    path = tmp_path / "r"
    path.write_bytes(release(sealed))
    signed, start = Signed.parse(Header, path.read_bytes())
    key = PrivateKey.generate(X25519)
    receipt = open_release(path, start, signed, INVITED, key, tmp_path / "o", workers=1)
    assert receipt.rejected["unopened"] == len(sealed) and receipt.opened_people == 0


def edited(folder, **changes):
    receipt, _ = load_receipt(folder)
    save_receipt(receipt.model_copy(update=changes), folder)


@pytest.mark.parametrize(
    "changes",
    one_in(
        3,
        [
            {"people": 24},
            {"opened_people": 24},
            {"dummies": [5]},
            {"strata": ["others"]},
            {"rejected": {}},
            {"messages": []},
            {"bundle": "0" * 64},
            {"start": "zz"},
            {"contradictions": ["self"]},
            {"people": -1},
            {"format": "incrowd receipt 0"},
        ],
    ),
)
def test_an_edited_receipt_is_refused(opened, sealed, changes):
    receipt, folder = opened(sealed)
    if "contradictions" in changes:
        changes = {"contradictions": [receipt.start]}
    edited(folder, **changes)
    with pytest.raises(ReportsError, match="receipt"):
        receipts_of(PLAN, [folder])


def test_a_receipt_signed_with_another_key_is_refused(opened, sealed):
    _, folder = opened(sealed)
    other = release(sealed, key=Ed25519PrivateKey.generate())
    edited(folder, start=Signed.parse(Header, other)[0].encoded.hex())
    with pytest.raises(ProtocolError, match="signature"):
        receipts_of(PLAN, [folder])


def test_another_file_beside_a_receipt_is_refused(opened, sealed):
    """One report is not there any more."""
    _, folder = opened(sealed)
    path = folder / "message-1.parquet"
    (whole,) = incrowd.load_reports(path)
    incrowd.save_reports([replace(whole, packed=whole.packed[1:])], path)
    assert receipts_of(PLAN, [folder])
    with pytest.raises(ReportsError, match="the file was changed"):
        receipts_of(PLAN, [folder], files=True)


def test_two_releases_are_said_by_the_receipt(opened, sealed):
    _, folder = opened(sealed)
    other = Signed.parse(Header, release(sealed[INVITED.places :] + sealed[: INVITED.places]))[0]
    edited(folder, contradictions=[other.encoded.hex()])
    (found,) = receipts_of(PLAN, [folder])
    assert found.contradicted
    assert "it cheated" in " ".join(receipt_sentences(found))


@pytest.mark.slow
def test_a_lost_process_leaves_nothing_and_it_opens_again(opened, sealed, tmp_path, monkeypatch):
    """A worker is killed while it opens."""
    monkeypatch.setattr(collections, "PIECE_REPORTS", 1)
    monkeypatch.setattr(collections, "WORTH_IT", 1)
    in_order = parallel._in_order

    def killing(*given):
        for number, piece in enumerate(in_order(*given)):
            if number == 5:
                os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
            yield piece

    with monkeypatch.context() as patch:
        patch.setattr(parallel, "_in_order", killing)
        with pytest.raises(ReportsError, match="nothing was written"):
            opened(sealed, workers=2)
    assert not multiprocessing.active_children()
    assert [each.name for each in tmp_path.iterdir()] == ["0.release"]
    assert opened(sealed, workers=2)[0].opened_people == PEOPLE


@pytest.mark.parametrize("local_only", [False, True])
def test_a_ledger_reads_the_receipt_beside_reports(opened, plain, tmp_path, local_only):
    """Who mixed, over which bundle, and how often noise was drawn again; later plans charge it."""
    bundle = make_vectors.bundle(local_only=local_only)
    sealed = all_sealed(plain, bundle)
    _, folder = opened(sealed, bundle)
    path, ledger = tmp_path / "plan.json", tmp_path / "ledger.json"
    path.write_text(PLAN.dumps())
    assert run("ledger", ledger, "--new").returncode == 0
    done = run("ledger", ledger, path, folder)
    assert done.returncode == 0, done.stderr
    assert f"bundle {short(bundle.digest)}" in done.stderr + done.stdout
    (asked,) = Ledger.load(ledger).asked
    assert asked.collected.bundle == short(bundle.digest)
    assert asked.linked == (local_only or PLAN.guarantee.delta == 0)
    assert asked.collected.tail == tail(PLAN, bundle.slots)
    assert asked.collected.reports == tuple(map(len, expected(plain, bundle)))
