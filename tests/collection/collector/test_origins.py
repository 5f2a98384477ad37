"""Which release a collection is of: it counts once, and no lost receipt raises its promise."""

import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest

import incrowd
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.receipt import load_receipt, receipts_of, save_receipt
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.errors import ReportsError
from incrowd.files import write_private
from incrowd.plans.slots import slots
from incrowd.reports.tally_files import load_tally, save_tally
from tests.collection.collector.conftest import (
    INVITED,
    OPEN,
    PLAN,
    RECEIVER,
    all_sealed,
    plaintexts,
    release,
)
from tests.conftest import rewritten
from tests.oracles import make_vectors


def edited(folder, **changes):
    receipt, _ = load_receipt(folder)
    save_receipt(receipt.model_copy(update=changes), folder)


# --- what a receipt that is not there, or is another's, cannot change ----------------------------


@pytest.fixture(scope="module")
def alone_bundle():
    """What one party collects that mixes and opens, where a shuffler would be worth something."""
    raw = {"name": "x", "crowd": 20, "privacy": {"epsilon": 3.0, "delta": 0.01}}
    asked = [{"id": "a", "type": "yesno"}, {"id": "b", "type": "yesno"}]
    message = [{"questions": ["a"]}, {"questions": ["b"], "copies": 2}]
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": asked, "message": message}))
    words = {"language": "en", "title": "x", "questions": {"a": "A?", "b": "B?"}}
    given = {"plan": plan, "wording": words, "slots": slots(plan), "codes": False, "colluding": 0}
    return make_vectors.bundle(local_only=True, **given)


@pytest.fixture
def alone(opened, alone_bundle):
    """40 people, who all send what a coin says."""
    coins = np.random.default_rng(1).integers(0, 2, (40, 3)).tolist()
    report = alone_bundle.shape.report
    plain = [
        report(n, bytes([bit])) for bits in coins for n, bit in zip((0, 1, 1), bits, strict=True)
    ]
    return opened(all_sealed(plain, alone_bundle), alone_bundle)[1]


def lost(folder, *names):
    for name in names:
        (folder / name).unlink()


def found_epsilon(plan, folder):
    reports = incrowd.load_reports(folder)
    guarantee = incrowd.estimate(plan, reports, received=receipts_of(plan, [folder])).guarantee
    assert guarantee.reduced_by == ("one-party",)
    return guarantee.epsilon


def test_a_lost_receipt_does_not_raise_the_promise(alone, alone_bundle, tmp_path):
    """Of one party that mixes and opens: the odds of all that a person sends, by hand."""
    plan = alone_bundle.plan
    noise = [(message.noise.q, message.copies) for message in plan.messages]
    before = found_epsilon(plan, alone)
    assert before == pytest.approx(sum(k * math.log((1 - q) / q) for q, k in noise), rel=1e-9)
    assert before > plan.guarantee.epsilon == 3
    lost(alone, "receipt.json", "bundle.json")
    assert found_epsilon(plan, alone) == before
    with pytest.raises(ReportsError, match=r"receipt: is missing for release .* put receipt.json"):
        receipts_of(plan, [alone], files=True)
    tally = incrowd.count(plan, incrowd.stream_reports(alone))
    save_tally(tally, tmp_path / "tally.json")
    read = load_tally(tmp_path / "tally.json")
    assert read.releases == tally.releases
    assert incrowd.estimate(plan, read).guarantee.epsilon == before


@pytest.mark.parametrize("name", ["receipt.json", "bundle.json"])
def test_receipt_and_bundle_are_both_there_or_neither(alone, alone_bundle, name):
    lost(alone, name)
    with pytest.raises(ReportsError, match=name):
        receipts_of(alone_bundle.plan, [alone])


def test_a_receipt_that_names_other_collections_is_refused(alone, alone_bundle):
    """The issue's: its messages[0].id set to zeros made "shuffle, epsilon 3" of `local_only`."""
    receipt, _ = load_receipt(alone)
    first, *rest = receipt.messages
    edited(alone, messages=[first.model_copy(update={"id": "0" * 32}), *rest])
    with pytest.raises(ReportsError, match="was edited"):
        receipts_of(alone_bundle.plan, [alone])


def test_a_receipt_beside_other_reports_is_refused(opened, plain, sealed):
    """Another release's, or reports that came over no network, would pass for what was signed."""
    _, other = opened(sealed)
    _, folder = opened(sealed[::-1])
    (folder / "receipt.json").write_bytes((other / "receipt.json").read_bytes())
    with pytest.raises(ReportsError, match=r"it does not belong to message-1\.parquet"):
        receipts_of(PLAN, [folder])
    made = incrowd.load_reports(other)[0]
    incrowd.save_reports([replace(made, id="another", release=None)], other / "x.parquet")
    with pytest.raises(ReportsError, match=r"it does not belong to x\.parquet"):
        receipts_of(PLAN, [other])


def test_a_bundle_beside_reports_that_came_over_no_network_is_nothing(opened, sealed, tmp_path):
    made = incrowd.load_reports(opened(sealed)[1])[0]
    (tmp_path / "bundle.json").write_bytes(INVITED.encoded)
    incrowd.save_reports([replace(made, id="another", release=None)], tmp_path / "x.parquet")
    assert receipts_of(PLAN, [tmp_path / "x.parquet"], files=True) == ()


def test_what_proves_cheating_is_found_in_the_collectors_folder(sealed, tmp_path):
    """Though `contradictions` of the receipt were emptied."""
    places = CollectorPlaces(tmp_path / "collector")
    data, other = release(sealed), release(sealed, issued=99)
    signed, start = Signed.parse(Header, data)
    (tmp_path / "r").write_bytes(data)
    folder = places.opened(signed)
    open_release(tmp_path / "r", start, signed, INVITED, RECEIVER, folder, workers=1)
    assert not receipts_of(PLAN, [folder])[0].contradicted
    write_private(
        places.releases(INVITED).contradictions / "x.start", Signed.parse(Header, other)[0].encoded
    )
    (found,) = receipts_of(PLAN, [folder])
    assert found.contradicted and load_receipt(folder)[0].contradictions == []
    checked = incrowd.verify(PLAN, incrowd.stream_reports(folder), received=[found])
    assert checked.contradicted and not checked.holds


# --- what counts once ----------------------------------------------------------------------------


def test_a_release_that_is_opened_twice_is_one_collection(opened, sealed, tmp_path):
    """The ids follow from the header that was signed and the message; another signature of the
    same header changes nothing."""
    folders = [opened(sealed)[1] for _ in range(2)]
    one, two = (incrowd.load_reports(folder) for folder in folders)
    assert [each.id for each in one] == [each.id for each in two]
    header = Signed.parse(Header, release(sealed))[0].header
    signed = hashlib.sha256(b"incrowd release 1\0" + header.encoded).digest()
    for number, each in enumerate(one):
        content = b"incrowd collection 1\0" + signed + number.to_bytes(4, "big")
        assert each.id == hashlib.sha256(content).hexdigest()[:32]
    with pytest.raises(ReportsError, match="they occur twice"):
        incrowd.count(PLAN, [*one, *two])
    for each in folders:
        lost(each, "receipt.json", "bundle.json")
    tallies = [incrowd.count(PLAN, incrowd.stream_reports(each)) for each in folders]
    save_tally(tallies[1], tmp_path / "tally.json")
    with pytest.raises(ReportsError, match="they occur twice"):
        tallies[0] + load_tally(tmp_path / "tally.json")


@pytest.mark.parametrize("strata", [(1, 2), (2,)])
def test_two_releases_of_one_stratum_are_refused(opened, strata):
    """Each has a right signature; strata 1 and 2 came together in the first."""
    plain = plaintexts(bundle=OPEN)
    sealed = all_sealed(plain, OPEN)
    (_, one), (_, two) = (
        opened(sealed, OPEN, strata=(1, 2)),
        opened(sealed[::-1], OPEN, strata=strata),
    )
    reports = [*incrowd.load_reports(one), *incrowd.load_reports(two)]
    with pytest.raises(ReportsError, match="two releases of stratum"):
        incrowd.count(PLAN, reports)
    other = opened(sealed[::-1], OPEN, strata=(0,))[1]
    counted = incrowd.count(PLAN, [*incrowd.load_reports(one), *incrowd.load_reports(other)])
    assert len(counted.releases) == 2


def test_what_two_files_say_of_one_release_has_to_be_equal(alone, alone_bundle):
    first, second = incrowd.load_reports(alone)
    claims = first.release.claims.model_copy(update={"local_only": False})
    edited_one = replace(first, release=first.release.model_copy(update={"claims": claims}))
    with pytest.raises(ReportsError, match="two versions of release"):
        incrowd.count(alone_bundle.plan, [edited_one, second])


def test_the_parquet_file_itself_says_how_it_was_collected(alone, alone_bundle):
    """Whoever edits that edits the file, which its digest shows."""
    path = alone / "message-1.parquet"
    said = json.loads(pyarrow.parquet.read_metadata(path).metadata[b"incrowd.release"])
    assert said["claims"]["local_only"] is True
    assert said["claims"]["bundle"] == alone_bundle.digest.hex()
    rewritten(path, release=json.dumps(said | {"people": 10**6}))
    with pytest.raises(ReportsError, match="edited"):
        incrowd.load_reports(path)
