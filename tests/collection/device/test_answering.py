"""What is in an upload: all of one person's reports, drawn anew as a whole if they do not fit."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from incrowd.collection.device import sending
from incrowd.collection.device.sending import plaintexts, sealed_answers
from incrowd.collection.protocol.upload import NO_CODE
from incrowd.encoding.records import EncodedAnswers
from incrowd.sampling.keystream import Keystream
from tests.oracles import make_vectors, wire
from tests.oracles.make_vectors import ANSWERS
from tests.oracles.shuffler import INVITED, OPEN

PRIVATE = make_vectors.fixed("collector")


def person(number):
    table = pa.table({id: [value] for id, value in ANSWERS[number].items()})
    return EncodedAnswers.of(OPEN.plan.survey, table)


def upload(number=0):
    return sealed_answers(OPEN, person(number), code=NO_CODE, stratum=0)


def opened(made):
    """What the collector opens, by the other reader."""
    found = [wire.unseal(each, PRIVATE, OPEN.digest) for each in made.sealed]
    return [OPEN.shape.read(plaintext) for plaintext in found]


def test_the_collector_opens_the_reports_of_every_message_and_dummies():
    for number in range(3):
        found = Counter(each.message for each in opened(upload(number)))
        assert found[0] == 2 and found[1] == 1 and sum(found.values()) == OPEN.places


def test_each_upload_is_drawn_anew_from_the_system(monkeypatch):
    asked, system = [], Keystream.from_system
    monkeypatch.setattr(Keystream, "from_system", lambda: asked.append(1) or system())
    first, second = upload(), upload()
    assert len(asked) == 2 and not set(first.sealed) & set(second.sealed)


def test_what_does_not_fit_is_drawn_again_as_a_whole(monkeypatch):
    """All messages, not only the one with too many reports: else its noise alone would be
    conditioned, and the others' would not be those of the same draw."""
    draw, calls = sending.randomize_message, []

    def too_many_at_first(plan, message, *rest):
        calls.append(message.ids)
        drawn = draw(plan, message, *rest)
        if message.cells and len(calls) <= len(plan.messages):
            return np.repeat(drawn[:1], 1000, axis=0)
        return drawn

    monkeypatch.setattr(sending, "randomize_message", too_many_at_first)
    found = plaintexts(OPEN, person(0), Keystream.for_simulation(1))
    assert len(found) == OPEN.places
    assert calls == [message.ids for message in OPEN.plan.messages] * 2


def places_of_the_first(draw, trials):
    """How often the report of the second message stands in each place."""
    found = [[each.message for each in opened(draw())].index(1) for _ in range(trials)]
    return np.bincount(found, minlength=OPEN.places)


def in_order():
    """A wrong variant: reports in the order of the messages."""
    made = plaintexts(OPEN, person(0), Keystream.for_simulation(2))
    return sending.sealed_upload(OPEN, NO_CODE, 0, made, range(OPEN.places))


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "uniform"), [(upload, True), (in_order, False)])
def test_reports_stand_in_uniform_order(monkeypatch, draw, uniform):
    """Chi-square with 21 degrees of freedom: above 66 once in 10^6 (scipy: chi2.isf)."""
    stream, trials = Keystream.for_simulation(3), 220
    monkeypatch.setattr(Keystream, "from_system", lambda: stream)
    counts, expected = places_of_the_first(draw, trials), trials / OPEN.places
    assert (((counts - expected) ** 2 / expected).sum() < 66) == uniform


@pytest.mark.slow
def test_the_rates_of_sent_bits_are_those_of_the_plan(monkeypatch):
    """Message 0 of person 0: each bit differs from the record with the plan's probability."""
    stream, trials = Keystream.for_simulation(4), 600
    message = INVITED.plan.messages[0]
    (case, *_) = make_vectors.person(0)
    record = np.unpackbits(
        np.frombuffer(bytes.fromhex(case["record"]), np.uint8), bitorder="little"
    )
    size = message.bits
    different = np.zeros(size)
    for _ in range(trials):
        for plaintext in plaintexts(INVITED, person(0), stream)[: message.copies]:
            packed = np.frombuffer(INVITED.shape.read(plaintext).packed, np.uint8)
            different += np.unpackbits(packed, bitorder="little")[:size] != record[:size]
    channels = [message.channels[q.id] for q in message.questions for _ in range(q.bits)]
    number = trials * message.copies
    for bit, channel in enumerate(channels):
        if hasattr(channel, "q") and not channel.of_answers:
            spread = np.sqrt(number * channel.q * channel.p)
            # 5.5 standard deviations: a false alarm once in 10^6 for all bits together
            assert abs(different[bit] - number * channel.q) < 5.5 * spread
            assert abs(different[bit] - number * channel.q * 5) > 5.5 * spread
