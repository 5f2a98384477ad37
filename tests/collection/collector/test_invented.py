"""An open survey with one person in it: all others are invented by whoever reads the reports.

Nothing in the protocol can notice that. So the page has to say how many were taken to be invented,
and what is left when all of them are: the local guarantee, which is derived here by hand.
"""

import math
import re
from collections import Counter

import numpy as np
import pytest

import incrowd
from incrowd.collection.collector.collections import open_release
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.plans.slots import slots
from tests.collection.collector.conftest import RECEIVER, all_sealed, release
from tests.conftest import run
from tests.oracles import make_vectors

SURVEY = {
    "name": "Who was there",
    "crowd": 300,
    "colluding": 1,
    "privacy": {"epsilon": 1.0, "delta": 1e-3},
    "question": [{"id": "there", "type": "yesno"}],
}


@pytest.fixture(scope="module")
def plan():
    return incrowd.plan(incrowd.Survey.of(SURVEY))


def bundle_of(plan):
    words = {"language": "en", "title": "?", "questions": {"there": "Were you there?"}}
    return make_vectors.bundle(plan=plan, wording=words, slots=slots(plan), codes=False)


def collected(plan, folder):
    """What one honest person sent, what the others made up, and the opened release of both."""
    bundle, copies = bundle_of(plan), plan.messages[0].copies
    drawn = np.random.default_rng(1).integers(0, 2, (bundle.least_people, copies))
    packed = [[bytes([bit]) for bit in person] for person in drawn.tolist()]
    plain = [bundle.shape.report(0, each) for person in packed for each in person]
    path = folder / "0.release"
    path.write_bytes(release(all_sealed(plain, bundle), bundle))
    signed, start = Signed.parse(Header, path.read_bytes())
    open_release(path, start, signed, bundle, RECEIVER, folder / "opened", workers=1)
    return packed[0], packed[1:]


def test_the_page_shows_what_is_left_when_all_others_are_invented(plan, tmp_path):
    honest, invented = collected(plan, tmp_path)
    (collection,) = incrowd.load_reports(tmp_path / "opened")
    came = Counter(map(bytes, collection.packed))
    left = came - Counter(each for person in invented for each in person)
    assert left == Counter(honest), "who invented the others reads the one that is left"
    (message,) = plan.messages
    q = message.noise.q
    alone = message.copies * math.log((1 - q) / q)  # yes and no differ in one bit
    plan_file, page = tmp_path / "plan.json", tmp_path / "page.html"
    plan_file.write_text(plan.dumps())
    done = run("estimate", plan_file, tmp_path / "opened", "-o", page)
    assert done.returncode == 0, done.stderr
    text = " ".join(re.sub(r"<[^>]+>", " ", page.read_text()).split())
    assert "without invitations: 1 are assumed to be invented or colluding" in text
    said = re.search(r"what remains is the local guarantee: ε = ([\d.]+)", text)
    assert alone <= float(said[1].rstrip(".")) <= alone * 1.01
    assert alone > plan.guarantee.epsilon, "the crowd was worth something"


def test_who_expects_invented_people_pays_for_them_with_noise(plan):
    """Stated beforehand: the promise holds for the two who are left."""
    few = incrowd.plan(incrowd.Survey.of(SURVEY | {"colluding": 298}))
    assert few.guarantee.crowd == 2 and few.guarantee.epsilon == plan.guarantee.epsilon
    assert few.messages[0].noise.q > 1.5 * plan.messages[0].noise.q
