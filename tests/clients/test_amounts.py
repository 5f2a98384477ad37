"""Amounts in the client in TypeScript: rounded once, whatever is drawn after that."""

import json

import pytest

from tests.oracles.javascript import Javascript

PEOPLE = 10
ONE_ROUND = 1 + 32 + 31  # words: the rounding, and the digits of two probabilities
COMMON = {"optional": False, "randomizer": None}
HOURS = {"id": "hours", "type": "amount", "edges": [0, 2**32], **COMMON}
REGION = {"id": "region", "type": "choice", "options": list("abcdefgh"), **COMMON}
PLAN = {
    "survey": {"name": "Drawn again", "crowd": 500, "question": [HOURS, REGION]},
    "messages": [
        {"questions": ["hours"], "cells": False, "copies": 1, "noise_numerator": 1},
        {"questions": ["region"], "cells": True, "copies": 1, "noise_numerator": 2**31 - 1},
    ],
}
EVERY_ROUND = "  for (;;) {\n"
AGAIN = EVERY_ROUND + "    const encoded = encodeAll(plan, answers, draw)\n"


def edges(javascript):
    """The bits of the edges, 1 for the upper: 1 hour is rounded up once in 2^32 times.

    The first word says "up". Of eight options one has a slot: noise that sets more is drawn again,
    96% of the time, and among ten people somebody draws five times (but for 2e-9).
    """
    given = {"plan": PLAN, "slots": [1, 1], "answers": {"hours": 1, "region": "a"}}
    found = json.loads(javascript("rounding.mjs", given | {"people": PEOPLE}))
    assert any(one["words"] > ONE_ROUND for one in found)
    return {bytes.fromhex(one["plaintexts"][0])[3] for one in found}


@pytest.mark.slow
def test_a_number_is_rounded_once_however_often_the_noise_is_drawn_again(javascript, tmp_path):
    assert edges(javascript) == {1}
    assert edges(Javascript(tmp_path / "wrong", [("reports.ts", EVERY_ROUND, AGAIN)])) != {1}
