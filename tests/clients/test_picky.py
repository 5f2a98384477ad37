"""Who looks at examples on the survey page until she likes one, and then sends, biases nothing."""

from pathlib import Path

import numpy as np
import pytest

import incrowd
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.upload import parse_upload, upload_length
from incrowd.plans.slots import slots
from tests.oracles import make_vectors

OUTBOX = Path(incrowd.__file__).parent / "collection" / "page" / "static" / "outbox.js"
PEOPLE, SMOKERS = 600, 240
FAR = 5.0  # standard errors; false alarms 5.7e-7


@pytest.fixture(scope="module")
def bundle():
    raw = {"name": "One question", "crowd": 500, "privacy": {"epsilon": 1.5, "analysis": "local"}}
    question = {"id": "smokes", "type": "yesno", "text": "Do you smoke?"}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": [question]}))
    words = {"language": "en", "title": "One", "questions": {"smokes": "Do you smoke?"}}
    changes = {"plan": plan, "wording": words, "slots": slots(plan), "codes": False, "colluding": 0}
    return make_vectors.bundle(**changes)


def distance(javascript, bundle, wrong):
    """How many standard errors of the noise the estimate is from the truth."""
    people = [True] * SMOKERS + [False] * (PEOPLE - SMOKERS)
    given = {
        "text": bundle.encoded.decode(),
        "digest": bundle.digest.hex(),
        "outbox": OUTBOX.as_uri(),
    }
    data = javascript("picky.mjs", given | {"people": people, "wrong": wrong})
    length, q = upload_length(bundle), bundle.plan.messages[0].noise.q
    uploads = [data[at : at + length] for at in range(0, len(data), length)]
    assert len(uploads) == PEOPLE
    private = make_vectors.RECEIVER
    sealed = [parse_upload(each, bundle).sealed[0] for each in uploads]
    bits = [unseal(one, private, bundle.key, bundle.digest)[3] & 1 for one in sealed]
    estimate = (np.mean(bits) - q) / (1 - 2 * q)
    error = np.sqrt(q * (1 - q) / PEOPLE) / (1 - 2 * q)
    return abs(estimate - SMOKERS / PEOPLE) / error


@pytest.mark.slow
def test_an_example_that_is_never_sent_biases_nothing(javascript, bundle):
    assert distance(javascript, bundle, wrong=False) < FAR


@pytest.mark.slow
def test_an_example_that_is_sent_does(javascript, bundle):
    assert distance(javascript, bundle, wrong=True) > FAR
