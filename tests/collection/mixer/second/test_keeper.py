"""One batch for ever; keys go before the first byte; everything goes at the end."""

import errno
from datetime import timedelta

import pytest

from incrowd.collection.folders import unfinished
from incrowd.collection.mixer.second import keeper as keeping
from incrowd.collection.mixer.second import releasing
from incrowd.collection.protocol.signed import prove_cheating
from incrowd.collection.steady import CertainClock
from incrowd.errors import ProtocolError, ReportsError
from tests.collection.mixer.second.conftest import (
    BUNDLE,
    CLOSED,
    DISPOSED,
    Mixer,
    files,
    releases,
)
from tests.conftest import slowly
from tests.oracles import mixers

FINISHED = {"bundle.json", "starts/0.start", "releases/0.start", "releases/1.start"}


@pytest.fixture(scope="module")
def other(uploads):
    return mixers.batch(BUNDLE, uploads[1:])


def again(mixer):
    """The process ends, and another one begins in the folder."""
    return Mixer(mixer.settings)


def findings(mixer):
    found = keeping.check_machine(mixer.settings, BUNDLE, CertainClock(lambda: mixer.now))
    return {each.subject: (each.good, each.text) for each in found}


@pytest.mark.slow
def test_keys_and_batch_are_gone_before_the_first_byte(mixer, batch):
    mixer.released(batch)
    assert len(mixer.sent) == 2 and mixer.keys == []
    assert files(mixer.settings) == FINISHED


@pytest.mark.slow
def test_the_same_batch_again_is_answered_alike_and_opened_once(mixer, batch):
    first = mixer.take(batch)
    mixer.keeper.look()
    before = files(mixer.settings)
    later = again(mixer)
    assert later.take(batch).acknowledgment == first.acknowledgment
    later.keeper.look()
    assert files(mixer.settings) == before and later.sent == []


@pytest.mark.parametrize("moment", ["taken", *slowly("released", "delivered")])
def test_a_second_batch_is_refused_for_ever(mixer, batch, other, moment):
    """Also by a process that has only the files."""
    mixer.answers = moment == "delivered"
    mixer.take(batch)
    if moment != "taken":
        mixer.keeper.look()
    with pytest.raises(ProtocolError, match="contradiction"):
        again(mixer).take(other)
    proofs = mixer.keeper.shelf.proofs()
    assert set(proofs) == {batch[0], other[0]} and prove_cheating(*proofs, BUNDLE)
    mixer.now, mixer.answers = CLOSED + timedelta(hours=1), True
    mixer.keeper.look()
    found = releases(mixer.sent)
    assert {header.batch for header, _ in found.values()} == {batch[0]}
    assert findings(mixer)["contradictory batches"][0] is False


def test_wrong_a_forgetful_mixer_would_take_it(mixer, batch, other):
    """It loses its headers; the key is gone all the same, so that it opens nothing."""
    mixer.released(batch)
    for path in mixer.keeper.shelf.starts.iterdir():
        path.unlink()
    later = again(mixer)
    later.take(other)
    later.keeper.look()
    assert {header.batch for header, _ in releases(later.sent + mixer.sent).values()} == {batch[0]}
    assert mixer.keeper.is_over is False


def test_what_is_not_acknowledged_is_sent_again_as_it_was(mixer, batch):
    mixer.answers = False
    mixer.released(batch)
    mixer.keeper.look()
    assert len(mixer.sent) == 2, "it waits before it tries again"
    mixer.now = CLOSED + timedelta(hours=1)
    mixer.keeper.look()
    later = again(mixer)
    later.keeper.look()
    assert len(mixer.sent) == 4 and len(releases(mixer.sent + later.sent)) == 2
    assert files(mixer.settings) == FINISHED
    later.keeper.look()
    assert len(later.sent) == 2, "what is acknowledged is not sent again"


def test_a_changed_release_is_not_sent(mixer, batch):
    mixer.answers = False
    mixer.released(batch)
    path = mixer.settings.releases / "0.body"
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(ReportsError, match="changed"):
        again(mixer).keeper.look()


def test_a_changed_batch_is_not_released(mixer, batch):
    """The disk is at fault: nothing is signed, the keys stay."""
    signed = mixer.take(batch)
    path = mixer.keeper.shelf.body(signed)
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(ProtocolError, match="not the signed one"):
        mixer.keeper.look()
    assert not mixer.settings.releases.exists() and mixer.settings.secret_file.exists()


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "place", ["incrowd.reports.folder.Bucket.add", *slowly("incrowd.files.NewFile.publish")]
)
def test_a_full_disk_loses_nothing(mixer, batch, monkeypatch, place):
    mixer.take(batch)
    before = files(mixer.settings)
    with monkeypatch.context() as patch:
        patch.setattr(place, full)
        with pytest.raises(OSError, match="No space"):
            mixer.keeper.look()
        assert files(mixer.settings) == before and not unfinished(mixer.settings.folder)
        assert mixer.sent == []
    mixer.keeper.look()
    assert len(releases(mixer.sent)) == 2


def test_stopping_between_two_pieces_leaves_nothing(mixer, batch):
    def stopped():
        raise ReportsError.of("batch", "shared.no-path", type="it")

    mixer.take(batch)
    before = files(mixer.settings)
    mixer.keeper.go_on = stopped
    with pytest.raises(ReportsError, match="type it"):
        mixer.keeper.look()
    assert files(mixer.settings) == before


@pytest.mark.parametrize("moment", ["nothing came", "taken", "released", "delivered"])
def test_everything_is_destroyed_in_the_end(mixer, batch, moment):
    mixer.answers = moment == "delivered"
    if moment != "nothing came":
        mixer.take(batch)
    if moment in ("released", "delivered"):
        mixer.keeper.look()
    mixer.now = DISPOSED - timedelta(seconds=1)
    assert not mixer.keeper.is_over
    if moment == "nothing came":
        mixer.keeper.look()
        assert files(mixer.settings) == {"bundle.json", "private.key", "signing.key"}
    mixer.now = DISPOSED
    assert (mixer.keeper.is_over and findings(mixer)["leftover files"][0] is False) or (
        moment == "delivered"
    )
    mixer.keeper.look()
    assert files(mixer.settings) == {"bundle.json"}
    assert findings(mixer)["leftover files"] == (True, "nothing")
    mixer.now = CLOSED  # the clock is set back
    assert mixer.keeper.is_over


def test_the_key_is_overwritten_and_not_only_removed(mixer, batch, monkeypatch):
    gone = []
    monkeypatch.setattr(keeping, "destroy", lambda path: gone.append(path) or path.unlink())
    mixer.released(batch)
    assert gone == list(mixer.settings.private_files)


def test_findings_follow_the_files(mixer, batch):
    mixer.answers = False
    assert findings(mixer)["batch"] == (True, "has not arrived")
    mixer.take(batch)
    assert findings(mixer)["batch"][0] is False
    assert "same disk" in findings(mixer)["the private key"][1]
    mixer.keeper.look()
    assert findings(mixer)["batch"] == (False, "2 releases, 2 of them wait for the collector")
    assert findings(mixer)["the private key"][0] and findings(mixer)["leftover files"][0]
    (mixer.settings.folder / ".incrowd-left").mkdir()
    assert findings(mixer)["leftover files"][0] is False
    (mixer.settings.releases / "0.body").chmod(0o644)
    mixer.settings.releases.chmod(0o755)
    assert findings(mixer)["permissions of releases"][0] is False


def test_rows_of_a_stratum_that_is_too_small_never_reach_a_named_file(mixer, batch, monkeypatch):
    """Nor do those of others before they are permuted: what is on disk is looked at each time."""
    seen, permuted = [], releasing._permuted

    def watched(*given):
        seen.append({path.name for path in mixer.settings.folder.rglob("*") if path.is_file()})
        return permuted(*given)

    monkeypatch.setattr(releasing, "_permuted", watched)
    mixer.released(batch)
    sizes = [{name for name in names if not name.startswith(".incrowd-")} for names in seen]
    assert len(seen) == 2 and all("0.body" in names for names in sizes)
