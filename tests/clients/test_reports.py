"""The client in TypeScript against the library: the same words give the same reports, and its own
words have the right law."""

import json
import random

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

import incrowd
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import PrivacyError
from incrowd.plans import CellsMessage
from incrowd.sampling.permanent import remembering
from incrowd.sampling.randomize import randomize_message, rounded
from tests.conftest import slowly
from tests.oracles import device_vectors, permanent_vectors
from tests.oracles.flips import rates_fit
from tests.oracles.make_vectors import PLAN
from tests.oracles.node import BROWSER, has_browser
from tests.oracles.recorded import Recorded, hexed

BITS = 10_000_000
K_ARY = {"kind": "k-ary", "epsilon": 1.0}
WORDS = ["Größe", "a", " a\u030a ", "no answer", "𝔘", "x" * 200]


AMOUNTS = incrowd.plan(
    incrowd.Survey.of(
        {
            "name": "Amounts",
            "crowd": 500,
            "privacy": {"epsilon": 2.0, "analysis": "local"},
            "question": [
                {"id": "hours", "type": "amount", "edges": [0, 20, 40, 80], "optional": True},
                {"id": "smokes", "type": "yesno"},
                {"id": "cost", "type": "amount", "edges": [-1.5, 0.1]},
                {"id": "age", "type": "amount", "edges": [0, 50, 100], "randomizer": K_ARY},
                {"id": "paid", "type": "amount", "edges": [0, 1e6], "optional": True},
            ],
            "message": [
                {"questions": ["paid", "smokes"], "copies": 3},
                {"questions": ["age", "cost"]},
                {"questions": ["hours"]},
            ],
        }
    )
)


def an_answer(question, chance):
    """Any answer, as in a file of answers."""
    if question.optional and chance.random() < 0.2:
        return None
    if question.type == "yesno":
        return chance.choice(["yes", "no"])
    if question.type == "choice":
        return chance.choice(question.options)
    if question.type == "multi":
        chosen = chance.sample(question.options, chance.randint(0, question.at_most))
        return ";".join(chosen) or "none"
    if question.type == "amount":
        return chance.uniform(question.edges[0] - 5, question.edges[-1] + 5)
    if question.type == "number":
        return chance.choice(question.edges) + chance.choice([0, 0.25, 1000])
    return chance.choice(WORDS)


def cases(plan, key, number):
    """Messages of people with random answers, the words that were drawn, and the reports."""
    found, chance = [], random.Random(7)
    for person in range(number):
        answers = {question.id: an_answer(question, chance) for question in plan.survey.questions}
        table = pa.table({id: [value] for id, value in answers.items()})
        people, memory = EncodedAnswers.of(plan.survey, table), remembering(plan, 1, None, key)
        for at, message in enumerate(plan.messages):
            if isinstance(message, CellsMessage) and not message.memoized:
                continue
            stream = Recorded(f"replayed {person}/{at}")
            made = randomize_message(plan, message, rounded(people, stream), stream, memory)
            case = {"message": at, "answers": answers, "words": stream.text}
            found.append((case, hexed(report.tobytes() for report in made)))
    return found


@pytest.mark.parametrize(
    ("plan", "key"),
    [
        (PLAN, None),
        *slowly(
            (device_vectors.DEVICE_PLAN, device_vectors.DEVICE_KEY),
            (permanent_vectors.PERMANENT_PLAN, permanent_vectors.PERMANENT_KEY),
            (AMOUNTS, None),
        ),
    ],
)
def test_the_same_words_give_the_same_reports(javascript, plan, key):
    """Every message of 60 people, byte for byte, and no word is left or missing."""
    made = cases(plan, key, 60)
    given = {"plan": plan.content, "key": key and key.secret.hex()}
    found = json.loads(javascript("replay.mjs", given | {"cases": [case for case, _ in made]}))
    assert [one["reports"] for one in found] == [reports for _, reports in made]
    assert {one["left"] for one in found} == {0}


@pytest.mark.slow
@pytest.mark.parametrize("numerator", [1_503_238_553, *slowly(429_496_730)])
def test_ten_million_bits_have_the_right_rate_everywhere(javascript, numerator):
    """False alarms 3.8e-5. One percent more or less is found, and so are bytes over 255."""
    fits = rates_of(javascript, numerator)
    assert fits(numerator)
    assert not fits(numerator * 101 // 100) and not fits(numerator * 99 // 100)
    assert not rates_of(javascript, numerator * 99 // 100)(numerator)
    assert not rates_of(javascript, numerator, "bytes")(numerator)


@pytest.mark.slow
@pytest.mark.skipif(not has_browser(), reason="Chromium is not installed: make test installs it")
def test_ten_million_bits_of_a_browser_have_the_right_rate_everywhere(javascript):
    """Chromium's own random words. False alarms 3.8e-5; one percent more is found."""
    numerator = 1_503_238_553
    fits = rates_of(javascript, numerator, script=BROWSER / "flips.mjs")
    assert fits(numerator) and not fits(numerator * 101 // 100)


def rates_of(javascript, numerator, how="lanes", script="flips.mjs"):
    given = {"lanes": BITS, "numerator": numerator, "how": how}
    mask = np.frombuffer(javascript(script, given), np.uint8).reshape(-1, 8)
    assert len(mask) == BITS // 64
    return lambda other: rates_fit(mask, 64, other)


@pytest.mark.parametrize("given", device_vectors.NO_RANDOMIZERS)
def test_what_the_client_refuses_the_library_refuses(given):
    with pytest.raises((PrivacyError, ValidationError)):  # numbers, or their names and ranges
        device_vectors.channel_of(given)
