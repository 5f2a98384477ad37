"""What a second mixer releases: every report with a valid token once, in a new order, no other."""

import random
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pytest

from incrowd.collection.inviter.signing import sign_blinded
from incrowd.collection.mixer.second import releasing
from incrowd.collection.mixer.second.opening import REPEATED, TOKEN, UNOPENED
from incrowd.collection.protocol.blind import finalize, random_blinding
from incrowd.collection.protocol.tokens import TokenReport, sealed_slots, slot_text
from incrowd.files import new_file
from incrowd.sampling.shuffle import Disk
from tests.collection.mixer.second.conftest import (
    BUNDLE,
    PEOPLE,
    Mixer,
    in_order,
    opened,
    resigned,
    sealed,
    settings_in,
)
from tests.conftest import one_in, slowly
from tests.oracles import mixers
from tests.oracles.token_keys import blind

CROWD = BUNDLE.plan.survey.crowd
MESSAGES = range(len(BUNDLE.slots))


def counts(reports):
    return tuple(sum(each.message == n for each in reports) for n in MESSAGES)


def by_stratum(batch):
    return {n: in_order(batch[1], n) for n in PEOPLE}


def test_every_report_is_released_once_with_its_stratum(mixer, batch, uploads):
    found = mixer.released(batch)
    for stratum, people in PEOPLE.items():
        header, rows = found[stratum]
        right = mixers.opened(BUNDLE, uploads, stratum, mixers.SECOND_CLASSICAL)
        assert Counter(rows) == Counter(each.encoded for each in right)
        assert header.tokens == tuple(people * slots for slots in BUNDLE.slots)
        assert header.batch == batch[0]
    assert not mixer.keeper.dropped


@pytest.mark.slow
def test_several_processes_and_pieces_find_the_same(mixer, batch, monkeypatch):
    monkeypatch.setattr(releasing, "WORTH_IT", 1)
    monkeypatch.setattr("incrowd.collection.mixer.second.opening.PIECE_ENVELOPES", 7)
    object.__setattr__(mixer.settings, "workers", 2)
    found = mixer.released(batch)
    for stratum in PEOPLE:
        right = [each.encoded for each in opened(in_order(batch[1], stratum), stratum)]
        assert Counter(found[stratum][1]) == Counter(right)


def test_a_token_of_another_report_is_dropped(mixer, batch):
    """A mixer exchanges the sealed report. Wrong: a token that signs only a nonce would hold."""
    envelopes = by_stratum(batch)
    first, *_ = opened(envelopes[0], 0)
    (inner,) = sealed_slots(BUNDLE, 0, [BUNDLE.shape.dummy])
    envelopes[0][0] = sealed(TokenReport(first.message, first.token, inner), 0)
    _, rows = mixer.released(resigned(envelopes))[0]
    assert len(rows) == len(envelopes[0]) - 1 and not any(inner in row for row in rows)
    assert mixer.keeper.dropped == {TOKEN: 1}


@pytest.mark.slow
def test_a_token_for_another_message_is_dropped(mixer, batch):
    envelopes = by_stratum(batch)
    first, *_ = opened(envelopes[0], 0)
    for at, other in enumerate(n for n in [*MESSAGES, len(MESSAGES), 65_535] if n != first.message):
        envelopes[0][at] = sealed(TokenReport(other, first.token, first.inner), 0)
    wrong = len(MESSAGES) + 1
    _, rows = mixer.released(resigned(envelopes))[0]
    assert len(rows) == len(envelopes[0]) - wrong
    assert mixer.keeper.dropped == {TOKEN: wrong}


def test_an_upload_without_one_token_loses_this_report_alone(mixer, batch):
    envelopes = by_stratum(batch)
    first, *_ = opened(envelopes[1], 1)
    envelopes[1][0] = sealed(TokenReport(first.message, bytes(256), first.inner), 1)
    header, rows = mixer.released(resigned(envelopes))[1]
    assert first.encoded not in rows and len(rows) == len(envelopes[1]) - 1
    right = [PEOPLE[1] * slots for slots in BUNDLE.slots]
    right[first.message] -= 1
    assert header.tokens == tuple(right)


def moved(envelopes):
    """An envelope of the north in the place of one of the south."""
    return {0: envelopes[0], 1: [envelopes[0][0], *envelopes[1][1:]]}


def test_an_envelope_of_another_stratum_cannot_be_opened(mixer, batch):
    found = mixer.released(resigned(moved(by_stratum(batch))))
    assert len(found[1][1]) == PEOPLE[1] * BUNDLE.places - 1
    assert mixer.keeper.dropped == {UNOPENED: 1}


def test_wrong_info_without_the_stratum_would_open_it(batch, monkeypatch):
    """The envelope is sealed without the stratum, and opened in another one."""
    monkeypatch.setattr(type(BUNDLE), "binding", lambda self, stratum: self.digest)
    report = TokenReport(0, bytes(256), bytes(BUNDLE.sealed_length))
    assert opened([sealed(report, 0)], 1) == [report]


def test_garbage_is_dropped(mixer, batch):
    envelopes = by_stratum(batch)
    envelopes[0][3] = random.Random(1).randbytes(len(envelopes[0][3]))
    envelopes[0][5] = envelopes[0][5][:-1] + bytes([envelopes[0][5][-1] ^ 1])
    assert len(mixer.released(resigned(envelopes))[0][1]) == len(envelopes[0]) - 2
    assert mixer.keeper.dropped == {UNOPENED: 2}


def test_a_repeated_report_counts_once(mixer, batch):
    """Three times the same envelope, and one sealed anew: the inner report is what repeats."""
    envelopes = by_stratum(batch)
    envelopes[0][1] = envelopes[0][2] = envelopes[0][0]
    envelopes[0][3] = sealed(opened(envelopes[0][:1], 0)[0], 0)
    header, rows = mixer.released(resigned(envelopes))[0]
    right = {each.encoded for each in opened(envelopes[0], 0)}
    assert len(rows) == len(right) and set(rows) == right
    assert sum(header.tokens) == len(right)
    assert mixer.keeper.dropped == {REPEATED: 3}


def with_two_tokens(report, message):
    """The inviter signs a second token for the same sealed report, for any message."""
    text = slot_text(BUNDLE.digest, 0, message, report.inner)
    key = mixers.token_keys()[1 + message]
    blinding = random_blinding(key.public)
    blinded, inverse = blind(text, key.public, salt=blinding[0], blinding=blinding[1])
    token = finalize(text, sign_blinded(blinded, key), inverse, key.public)
    return TokenReport(message, token, report.inner)


def test_a_report_with_two_valid_tokens_counts_once(mixer, batch):
    """Wrong: comparing rows, which differ in their tokens."""
    envelopes = by_stratum(batch)
    first, *_ = opened(envelopes[0], 0)
    envelopes[0][1] = sealed(with_two_tokens(first, first.message), 0)
    envelopes[0][2] = sealed(with_two_tokens(first, (first.message + 1) % len(MESSAGES)), 0)
    _, rows = mixer.released(resigned(envelopes))[0]
    assert [row for row in rows if first.inner in row] == [first.encoded]
    assert mixer.keeper.dropped == {REPEATED: 2}


# --- too few -------------------------------------------------------------------------------------


def with_tokens(batch, message, kept):
    """A batch whose north has so many valid tokens of a message, and all of the others."""
    envelopes, left = by_stratum(batch), kept
    for at, report in enumerate(opened(envelopes[0], 0)):
        if report.message == message:
            left -= 1
            if left < 0:
                envelopes[0][at] = bytes(len(envelopes[0][at]))
    return resigned(envelopes)


@pytest.mark.parametrize("message", one_in(3, MESSAGES))
@pytest.mark.parametrize("missing", [0, *slowly(1)])
def test_each_message_needs_the_slots_of_the_crowd(mixer, batch, message, missing):
    """All other messages have enough for everybody, so that the total is far above the crowd's."""
    enough = CROWD * BUNDLE.slots[message]
    header, rows = mixer.released(with_tokens(batch, message, enough - missing))[0]
    total = sum(BUNDLE.slots) * PEOPLE[0] - PEOPLE[0] * BUNDLE.slots[message] + enough - missing
    assert total >= CROWD * BUNDLE.places, "wrong: the total would be enough"
    assert header.is_refused is bool(missing)
    assert len(rows) == (0 if missing else total)


@pytest.mark.slow
def test_a_refused_stratum_says_only_that(tmp_path, batch):
    """Its release and what is counted are the same however many tokens it has."""
    said = set()
    for number, kept in enumerate((0, CROWD * BUNDLE.slots[0] - 1)):
        other = Mixer(settings_in(tmp_path / str(number)))
        header, rows = other.released(with_tokens(batch, 0, kept))[0]
        assert not rows and header.is_refused
        said.add((header.tokens, header.body, tuple(other.keeper.dropped.items())))
        assert len(other.sent) == 2, "the other stratum is released"
    assert len(said) == 1


def test_an_inviter_that_signs_too_many_tokens_gets_nothing(mixer, batch):
    """All slots of a person hold reports of the first message: more than its slots."""
    envelopes = by_stratum(batch)
    reports = opened(envelopes[0], 0)
    (at,) = [n for n, each in enumerate(reports) if each.message == 1][:1]
    envelopes[0][at] = sealed(with_two_tokens(reports[at], 0), 0)
    header, rows = mixer.released(resigned(envelopes))[0]
    assert header.is_refused and not rows


# --- the order -----------------------------------------------------------------------------------


def looks_random(before, after):
    """Whether an order looks random, from where its rows were before.

    With n rows, the rank correlation of a uniform permutation is about normal with variance
    1/(n - 1), and its fixed points and its successions (i, i + 1) are about Poisson with mean 1. A
    false alarm has a probability below 1e-8: six standard deviations, 2e-9; more than 12 of
    either, 6e-11 each.
    """
    place = {row: at for at, row in enumerate(before)}
    order = np.array([place[row] for row in after])
    n = len(order)
    correlation = np.corrcoef(order, np.arange(n))[0, 1]
    fixed, successions = sum(order == np.arange(n)), sum(np.diff(order) == 1)
    return abs(correlation) < 6 / np.sqrt(n - 1) and max(fixed, successions) <= 12


def orders(mixer, batch):
    found = mixer.released(batch)
    for stratum in PEOPLE:
        before = [each.encoded for each in opened(in_order(batch[1], stratum), stratum)]
        yield before, found[stratum][1]


def test_each_stratum_is_permuted(mixer, batch):
    for before, after in orders(mixer, batch):
        assert looks_random(before, after)


@pytest.mark.parametrize("wrong", ["identity", *slowly("reversed", "rotated", "in blocks")])
def test_wrong_orders_do_not_look_random(mixer, batch, monkeypatch, wrong):
    def mixed(pieces, width, keystream, disk):
        rows = np.concatenate(list(pieces))
        block = np.arange(len(rows)).reshape(-1, BUNDLE.places)
        orders = {
            "identity": block.ravel(),
            "reversed": block.ravel()[::-1],
            "rotated": np.roll(block.ravel(), 17),
            "in blocks": np.random.default_rng(1).permutation(block).ravel(),
        }
        yield np.ascontiguousarray(rows[orders[wrong]])

    monkeypatch.setattr(releasing, "mixed", mixed)
    assert not any(looks_random(*each) for each in orders(mixer, batch))


@pytest.mark.slow
def test_every_order_of_few_rows_is_equally_likely(tmp_path, monkeypatch):
    """With two buckets. Chi-squared of 24 orders of 4 rows, 960 draws: above 80 with 23 degrees
    of freedom with probability 3e-8."""
    monkeypatch.setattr("incrowd.sampling.shuffle.FILES", 2)
    rows, seen, draws = np.arange(5, dtype=np.uint8).reshape(-1, 1), Counter(), 960
    for _ in range(draws):
        with new_file(tmp_path) as body, ExitStack() as stack:
            releasing._permuted(body, rows, np.array([2]), Disk(tmp_path, stack))
            body.file.flush()
            seen[body.path.read_bytes()] += 1
    assert len(seen) == 24 and all(sorted(each) == [0, 1, 3, 4] for each in seen)
    assert sum((each - 40) ** 2 / 40 for each in seen.values()) < 80


@pytest.mark.slow
def test_orders_differ_from_run_to_run(tmp_path, batch):
    bodies = {Mixer(settings_in(tmp_path / str(n))).released(batch)[0][0].body for n in range(5)}
    assert len(bodies) == 5
