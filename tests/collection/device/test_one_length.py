"""What travels has one length for one bundle, whatever was answered: by kinds of surveys."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incrowd.collection.device import sending
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.upload import NO_CODE, Upload, upload_length
from incrowd.encoding.records import EncodedAnswers
from incrowd.planner.plan import make_plan
from incrowd.plans.slots import slots
from incrowd.survey import Choice, Multi, Number, Survey, Text
from tests.conftest import KINDS, slowly, slowly_except
from tests.oracles import make_vectors

SURVEYS = KINDS | {
    "everything": {
        "question": [
            {"id": "a", "type": "yesno", "optional": True},
            {"id": "c", "type": "multi", "options": ["u", "v", "w"], "at_most": 3},
            {"id": "d", "type": "number", "edges": [0, 1, 3.5], "optional": True},
            {"id": "t", "type": "text", "block": 64, "hashes": 2},
            {"id": "site", "type": "choice", "options": list("abcdefgh")},
            {"id": "e", "type": "multi", "options": list("klmnop"), "at_most": 6},
        ],
        "message": [
            {"questions": ["a", "c", "d"], "copies": 2},
            {"questions": ["t"]},
            {"questions": ["site", "a"], "cells": True},
            {"questions": ["e"], "cells": True},
        ],
    }
}
RANDOM = {"cells", "everything"}  # numbers of reports
TIMES = 25  # draws of each
LETTERS = "abcßüxyz"


@pytest.fixture(scope="module")
def bundles():
    """One of each kind of survey; with much noise, so that numbers of reports differ."""
    raw = {"name": "all", "crowd": 1000, "privacy": {"epsilon": 6.0, "analysis": "local"}}
    return {kind: bundle_of(make_plan(Survey.of(raw | SURVEYS[kind]))) for kind in SURVEYS}


def bundle_of(plan):
    asked = {question.id: f"About {question.id}?" for question in plan.survey.questions}
    words = {"language": "en", "title": "All kinds", "questions": asked}
    return make_vectors.bundle(
        plan=plan, wording=words, slots=slots(plan), codes=False, colluding=plan.survey.colluding
    )


def least(question):
    """The emptiest answer."""
    if question.optional:
        return None
    empty = {Multi: "", Number: question.edges[0] if isinstance(question, Number) else 0, Text: "x"}
    first = question.options[0] if isinstance(question, Choice) else "no"
    return empty.get(type(question), first)


def most(question):
    """The fullest one."""
    full = {Number: 1e300, Text: "ß" * 5000}
    if isinstance(question, Multi):
        return ";".join(question.options[: question.at_most])
    return full.get(type(question), question.options[-1] if isinstance(question, Choice) else "yes")


def some(question):
    """Any answer."""
    if isinstance(question, Multi):
        chosen = st.lists(st.sampled_from(question.options), max_size=question.at_most, unique=True)
        return chosen.map(";".join)
    if isinstance(question, Choice):
        return st.sampled_from(question.options)
    if isinstance(question, Number):
        return st.floats(question.edges[0], allow_nan=False, allow_infinity=False)
    return (
        st.text(LETTERS, min_size=1, max_size=200)
        if isinstance(question, Text)
        else st.sampled_from(["yes", "no"])
    )


def sent(bundle, answers):
    """The bytes of an upload."""
    person = EncodedAnswers.of(
        bundle.plan.survey, pa.table({id: [said] for id, said in answers.items()})
    )
    made = sending.sealed_answers(bundle, person, code=NO_CODE, stratum=0)
    return made.encoded(bundle)


def lengths(bundle):
    """Of many uploads: the emptiest, the fullest, and each of them many times."""
    asked = bundle.plan.survey.questions
    ends = [{question.id: answer(question) for question in asked} for answer in (least, most)]
    return {len(sent(bundle, answers)) for answers in ends for _ in range(TIMES)}


@pytest.mark.parametrize("kind", slowly_except(SURVEYS, "messages", "cells"))
def test_from_the_emptiest_to_the_fullest_answers(bundles, kind):
    assert lengths(bundles[kind]) == {upload_length(bundles[kind])}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(data=st.data())
def test_any_answers(bundles, data):
    bundle = bundles[data.draw(st.sampled_from(sorted(SURVEYS)))]
    answers = {question.id: data.draw(some(question)) for question in bundle.plan.survey.questions}
    assert len(sent(bundle, answers)) == upload_length(bundle)


def unchecked(bundle, code, stratum, plaintexts, order):
    """A device that seals whatever it is given."""
    made = (seal(plaintext, bundle.key, bundle.digest) for plaintext in plaintexts)
    return Upload(code, stratum, tuple(made))


def without_dummies(shape, slots, reports):
    """Wrong: only what was drawn."""
    return [shape.report(at, each) for at, drawn in enumerate(reports) for each in drawn]


def without_padding(shape, slots, reports):
    """Wrong: each report has its own length, and a dummy has none."""
    made = [each for drawn in reports for each in drawn]
    return made + [b""] * (sum(slots) - len(made))


@pytest.mark.parametrize("wrong", [without_dummies, *slowly(without_padding)])
@pytest.mark.parametrize("kind", sorted(RANDOM))
def test_a_device_that_sends_only_what_it_drew_is_seen(bundles, kind, wrong, monkeypatch):
    monkeypatch.setattr(sending, "filled", wrong)
    monkeypatch.setattr(sending, "sealed_upload", unchecked)
    assert len(lengths(bundles[kind])) > 1


def test_every_type_of_question_is_there():
    used = {question["type"] for survey in SURVEYS.values() for question in survey["question"]}
    assert used == {"yesno", "choice", "multi", "number", "text"}
