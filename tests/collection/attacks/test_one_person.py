"""Mixers that want to read the reports of one person, and let nobody else through.

An attack succeeds if a report stands alone among those that the collector opens, or publishes, and
that the attackers did not make: they know whose it is. With one shuffler it does, and an audit
finds nothing. With tokens, whatever a mixer passes on, every report that is left is among those of
a crowd, or there are none at all. Each attack also meets a party that lacks the check against it,
and then it succeeds: these are the incorrect variants.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from incrowd.collection.collector import collections
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.mixer.second import releasing
from incrowd.collection.protocol.mixing import MixedRelease
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.tokens import TokenReport
from incrowd.collection.protocol.upload import Upload
from incrowd.errors import ProtocolError
from incrowd.guarantees.parties import is_undone
from tests.collection.attacks.conftest import (
    CROWD,
    MESSAGES,
    OF,
    ONE,
    PEOPLE,
    Second,
    all_reports,
    audit,
    counted,
    drops_everybody_else,
    is_hidden,
    left,
    opened,
    published,
    read,
    replaces_everybody_else,
    replays_one_person,
    sealed_report,
    signed_batch,
    takes_a_slot_of_each,
    takes_other_slots_of_one_message,
)
from tests.oracles import mixers
from tests.oracles.mixing import Site
from tests.oracles.mixing import code as shuffler_code


def everything(places):
    """What a collector has that publishes nothing, but works with the attackers."""
    return sorted(places.opened_ones.iterdir())


# --- one shuffler --------------------------------------------------------------------------------


def as_sent(number, reports):
    """The upload of a device, or of whoever has an invitation."""
    plain = [ONE.shape.report(n, packed) for n, packed in enumerate(reports)]
    sealed = tuple(seal(each, ONE.key, ONE.binding(0), ONE.label) for each in plain)
    return Upload(shuffler_code(number), 0, sealed)


def test_a_shuffler_that_invents_everybody_else_reads_one_person(tmp_path):
    """It gives its invitations to itself. Its program and the collector are honest."""
    target, *invented = all_reports(PEOPLE)
    site = Site(tmp_path, ONE, invitations=PEOPLE)
    uploads = [as_sent(number, reports) for number, reports in enumerate([target, *invented])]
    assert {*site.post(*uploads)} == {201}
    site.look_at("closes")
    site.close()
    folders = published(opened(tmp_path / "collector", ONE, *site.collector.heard), ONE)
    assert audit(folders), "nothing shows it"
    assert read(left(counted(folders), invented)) == dict(enumerate(target))


# --- the first mixer with the collector ----------------------------------------------------------


def unknown_reports(folder, attack, people):
    """What the collector opens and the first mixer did not make."""
    envelopes, invented = attack(people)
    second = Second(folder / "second")
    second.take(signed_batch(envelopes))
    places = opened(folder / "collector", OF, *second.sent)
    return left(counted(everything(places)), invented)


def signed_by_anybody(report, bundle, stratum):
    """Tokens are not checked."""
    return report.message in MESSAGES


def without_tokens(patch):
    patch.setattr(TokenReport, "is_valid", signed_by_anybody)


def without_threshold(patch):
    patch.setattr(releasing, "is_enough", lambda *_: True)
    patch.setattr(MixedRelease, "check", lambda *_: None)


def with_a_total(patch):
    """The reports of all messages are counted together."""
    patch.setattr(releasing, "is_enough", lambda tokens, *_: sum(tokens) >= CROWD * OF.places)
    patch.setattr(MixedRelease, "check", lambda *_: None)


def with_repeats(patch):
    for module in (releasing, collections):
        patch.setattr(module, "repeated", lambda rows: np.empty(0, np.int64))


ATTACKS = {
    replaces_everybody_else: (without_tokens, MESSAGES),
    drops_everybody_else: (without_threshold, MESSAGES),
    replays_one_person: (with_repeats, MESSAGES),
    takes_other_slots_of_one_message: (with_a_total, [0]),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_is_left_of_a_batch_without_a_crowd(people, tmp_path, attack):
    assert not any(unknown_reports(tmp_path, attack, people))


@pytest.mark.parametrize("attack", ATTACKS)
def test_without_the_check_one_person_is_read(people, tmp_path, monkeypatch, attack):
    without, messages = ATTACKS[attack]
    without(monkeypatch)
    unknown = unknown_reports(tmp_path, attack, people)
    assert read(unknown) == {n: people[0].reports[n] for n in messages}
    assert not is_hidden(unknown)


def test_one_slot_of_each_of_many_people_is_a_crowd_for_every_message(people, tmp_path):
    """This passes, and each joint report is among as many as planned. Of cells, a person has
    several that depend on each other, and nothing is proved."""
    unknown = unknown_reports(tmp_path, takes_a_slot_of_each, people)
    assert is_hidden(unknown) and not read(unknown)
    assert [each.total() for each in unknown] == [CROWD] * len(MESSAGES)


# --- the difference of two batches ---------------------------------------------------------------


def differing_batches(people):
    """Of everybody, and of everybody but the first person."""
    return [signed_batch([e for each in some for e in each.upload.sealed])
            for some in (people, people[1:])]  # fmt: skip


def test_there_is_no_second_batch_to_compare(people, tmp_path):
    first, other = differing_batches(people)
    second = Second(tmp_path / "second")
    second.take(first)
    with pytest.raises(ProtocolError, match="contradiction"):
        second.take(other)
    assert len(second.sent) == 1 and len(second.keeper.shelf.proofs()) == 2


def test_a_second_mixer_that_forgets_lets_them_compare(people, tmp_path):
    """The incorrect variant."""
    counts = []
    for number, batch in enumerate(differing_batches(people)):
        second = Second(tmp_path / f"second {number}")
        second.take(batch)
        places = opened(tmp_path / f"collector {number}", OF, *second.sent)
        counts.append(counted(everything(places)))
    differences = [one - other for one, other in zip(*counts, strict=True)]
    assert read(differences) == dict(enumerate(people[0].reports))


# --- both mixers, without the collector ----------------------------------------------------------


def swapped(people):
    """The second mixer leaves the first person's reports, and puts others under the tokens of
    everybody else."""
    invented = all_reports(PEOPLE, seed=2)[1:]
    rows = mixers.opened(OF, [people[0].upload], 0, mixers.SECOND_CLASSICAL)
    for each, reports in zip(people[1:], invented, strict=True):
        for row in mixers.opened(OF, [each.upload], 0, mixers.SECOND_CLASSICAL):
            rows.append(replace(row, inner=sealed_report(row.message, reports[row.message])))
    return rows, invented


def swapped_release(folder, people):
    """The collector that receives it, and what the mixers made."""
    rows, invented = swapped(people)
    batch, _ = mixers.batch(OF, [each.upload for each in people])
    signed, body = mixers.release(OF, rows, batch)
    return opened(folder, OF, signed.encoded + body), invented


def test_an_honest_collector_drops_swapped_reports_and_publishes_nothing(people, tmp_path):
    places, _ = swapped_release(tmp_path, people)
    (folder,) = everything(places)
    receipt, _ = load_receipt(folder)
    assert receipt.rejected["token"] == OF.places * (PEOPLE - 1) and receipt.opened_people == 1
    assert published(places, OF) == [] and not audit([folder])


def test_a_collector_that_checks_no_token_publishes_one_person(people, tmp_path, monkeypatch):
    """The incorrect variant."""
    without_tokens(monkeypatch)
    places, invented = swapped_release(tmp_path, people)
    folders = published(places, OF)
    assert audit(folders)
    assert read(left(counted(folders), invented)) == dict(enumerate(people[0].reports))


def exchanged(people, seed=3):
    """Every sealed report under the token of somebody else for the same message."""
    rows = mixers.opened(OF, [each.upload for each in people], 0, mixers.SECOND_CLASSICAL)
    rows.sort(key=lambda row: row.message)
    moved = [rows[n - 1].inner for n in range(len(rows))]
    random.Random(seed).shuffle(pairs := list(zip(rows, moved, strict=True)))
    return [replace(row, inner=inner) for row, inner in pairs]


@pytest.mark.parametrize("without", [None, without_tokens])
def test_reports_that_exchange_their_tokens_are_dropped(people, tmp_path, monkeypatch, without):
    """A token says that the inviter admitted this report: it holds for no other one. The incorrect
    variant counts them all."""
    if without:
        without(monkeypatch)
    batch, _ = mixers.batch(OF, [each.upload for each in people])
    signed, body = mixers.release(OF, exchanged(people), batch)
    places = opened(tmp_path, OF, signed.encoded + body)
    (folder,) = everything(places)
    rejected = load_receipt(folder)[0].rejected["token"]
    assert rejected == (0 if without else OF.places * PEOPLE)
    assert bool(published(places, OF)) == bool(without)


# --- an inviter that invents people --------------------------------------------------------------


def test_an_inviter_that_invents_everybody_else_reads_one_person(people, tmp_path):
    """Tokens do not help: it signs them. It needs nobody, if the reports are published, and its
    requests and uploads are right. This is why the claims say that it can cheat if it plans to."""
    second = Second(tmp_path / "second")
    second.take(mixers.batch(OF, [each.upload for each in people]))
    folders = published(opened(tmp_path / "collector", OF, *second.sent), OF)
    assert audit(folders), "nothing shows it"
    invented = [each.reports for each in people[1:]]
    assert read(left(counted(folders), invented)) == dict(enumerate(people[0].reports))
    assert is_undone({"inviter"}, cells=False, planned=True)
    assert not is_undone({"first mixer", "collector"}, cells=False, planned=True)
