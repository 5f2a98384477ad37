"""Permanent sets over a network: they keep to the slots by themselves, and come again."""

import pyarrow as pa
import pytest

import incrowd
from incrowd.collection.device import sending
from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.device.promising import promised, terms
from incrowd.collection.device.sending import pending_answers, plaintexts
from incrowd.collection.protocol.tokens import TokenRequest, has_entry
from incrowd.encoding.records import EncodedAnswers
from incrowd.plans.slots import slots
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import remembering
from tests.conftest import grouped
from tests.oracles import make_vectors, mixers, permanent_vectors

CODE = b"0" * 16
OPTIONS = [f"o{i:02}" for i in range(20)]
PLAN = permanent_vectors.PERMANENT_PLAN


def bundle_of(plan, **changes):
    ids = {question.id: "?" for question in plan.survey.questions}
    wording = {"language": "en", "title": "T", "introduction": "", "questions": ids}
    about = {"plan": plan, "slots": slots(plan), "colluding": 0, "wording": wording}
    return make_vectors.bundle(**about | changes)


def with_mixers(plan, **changes):
    return mixers.bundle(plan, mixers.SECOND_CLASSICAL, **changes)


KINDS = pytest.mark.parametrize("bundle_of", [bundle_of, with_mixers], ids=["one", "two"])


def sent(bundle, number=0, seed=1):
    """The reports of every message of one person of the vectors."""
    person = permanent_vectors.people(permanent_vectors.ANSWERS[number])
    memory = permanent_vectors.memory()
    made = plaintexts(bundle, person, Keystream.for_simulation(seed), memory)
    found = [bundle.shape.read(each) for each in made]
    assert len(found) == sum(bundle.slots)
    return [[r.packed for r in found if r.message == n] for n in range(len(PLAN.messages))]


@KINDS
def test_what_is_drawn_once_stands_in_every_upload(bundle_of):
    """The question beside it is drawn anew: 40 times the same has probability 1e-2 at most."""
    first, second = bundle_of(PLAN), bundle_of(PLAN, period="next week")
    rounds = [sent(first), sent(second, seed=2), *(sent(first, seed=n) for n in range(3, 43))]
    assert all(found[2:] == rounds[0][2:] for found in rounds)
    assert len({tuple(found[0]) for found in rounds}) == 2
    assert sent(first, 1)[2] != rounds[0][2]


@pytest.mark.slow
def test_nothing_of_a_round_can_be_recognized_in_the_next():
    """With two mixers: the same plaintexts and the same code; everything else is new."""
    drawn = []
    for week in ("this week", "next week"):
        bundle = with_mixers(PLAN, period=week)
        person = permanent_vectors.people(permanent_vectors.ANSWERS[0])
        memory = permanent_vectors.memory()
        pending = pending_answers(bundle, person, code=CODE, stratum=0, memory=memory)
        answer = mixers.answer(pending.request, bundle)
        upload = pending.upload(answer, bundle, range(bundle.places))
        request = TokenRequest.parse(pending.request, bundle)
        drawn.append({*request.blinded, *pending.inners, *pending.inverses, *upload.sealed})
        drawn[-1] |= {pending.nonce, upload.entry}
        assert has_entry(upload, bundle)
    assert not drawn[0] & drawn[1]
    assert not has_entry(upload, with_mixers(PLAN, period="this week")), "a token of one round"


@pytest.mark.parametrize("less", [1, 2])
def test_a_set_that_does_not_fit_is_drawn_again_until_it_does(less, monkeypatch):
    """By itself, without other noise being drawn again. A first draw for ever would not end."""
    right, asked = bundle_of(PLAN), []
    draw = sending.randomize_message
    monkeypatch.setattr(sending, "randomize_message", lambda *a: asked.append(a) or draw(*a))
    whole = sent(right)
    tight = (right.slots[0], *(max(1, len(reports) - less) for reports in whole[2:]))
    found = sent(Tight(right, tight))
    assert len(asked) == 2 * len(PLAN.messages)
    vectors = permanent_vectors.permanent()["people"][0]["messages"]
    for at in (2, 3, 4):  # the messages of cells
        case = next(c for c in vectors[at]["draws"] if c["slots"] == tight[at - 1])
        assert [each.hex() for each in found[at]] == case["reports"]


class Tight:
    """A bundle with too few slots, which no device takes."""

    def __init__(self, bundle, slots):
        self.plan, self.slots, self.shape = bundle.plan, slots, bundle.shape
        self.pools, self.lanes = bundle.pools, bundle.lanes


def weekly(**changes):
    asked = {"type": "choice", "options": OPTIONS, "cells": True, "memoized": True}
    raw = {
        "name": "w",
        "crowd": 200,
        "privacy": {"epsilon": 2.0, "delta": 0.05, "analysis": "blanket"},
    }
    return incrowd.plan(incrowd.Survey.of(raw | grouped([{"id": "m", **asked}]) | changes))


@KINDS
def test_from_the_second_round_on_the_local_guarantee_alone_is_promised(tmp_path, bundle_of):
    """Whoever sees who sends in which weeks can match that with what is repeated."""
    once, planned = weekly(), weekly(rounds=3)
    bundle, memory = bundle_of(once), DeviceMemory(tmp_path)
    assert promised(bundle).guarantee.analysis == "blanket"
    assert "Permanent responses" in dict(terms(bundle, promised(bundle)))
    memory.note(bundle)
    assert memory.has_round(bundle_of(once, period="next week"))
    for found in (promised(bundle, repeated=True), promised(bundle_of(planned))):
        assert (found.guarantee.analysis, found.guarantee.delta) == ("local", 0.0)
        assert found.guarantee.epsilon == pytest.approx(2 * once.messages[0].noise.epsilon)


@KINDS
def test_a_crowd_of_uploads_is_counted_as_any_other(bundle_of):
    """Two hundred people of one answer: five standard errors of the debiased share."""
    plan = weekly()
    bundle, noise = bundle_of(plan), plan.messages[0].noise
    table = pa.table({"m": [OPTIONS[3]]})
    person, set_bits = EncodedAnswers.of(plan.survey, table), 0
    for row in range(200):
        key = incrowd.DeviceKey(bytes([row]) * 32)
        made = plaintexts(bundle, person, None, remembering(plan, 1, None, key))
        set_bits += sum(bundle.shape.read(each).packed == b"\x03" for each in made)
    share = (set_bits / 200 - noise.q) / (noise.p - noise.q)
    error = (noise.p * noise.q / 200) ** 0.5 / (noise.p - noise.q)
    assert abs(share - 1) < 5 * error
