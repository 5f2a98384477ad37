"""Vectors of a plan whose cells get their noise from the services."""

import json
from functools import cache

import pyarrow as pa

from incrowd.collection.protocol.plaintext import in_lanes
from incrowd.collection.protocol.upload import NO_CODE, Upload, upload_length
from incrowd.encoding.records import EncodedAnswers
from incrowd.plans import Plan
from incrowd.plans.slots import slots
from incrowd.sampling.randomize import randomize_message
from tests.oracles import make_vectors, wire
from tests.oracles.recorded import VECTORS, Recorded, fixed, hexed

ANSWERS = [
    {"smokes": "yes", "region": "south", "drinks": "beer;rum"},
    {"smokes": "no", "region": None, "drinks": "none"},
    {"smokes": "no", "region": "north", "drinks": "wine"},
]
STRATUM = 1


@cache
def bundle():
    plan = Plan.load(VECTORS / "services-plan.json")
    ids = {question.id: f"About {question.id}?" for question in plan.survey.questions}
    return make_vectors.bundle(
        plan=plan,
        wording={"language": "en", "title": "Ward", "questions": ids},
        slots=slots(plan),
        colluding=plan.survey.colluding,
        codes=False,
        strata=("day", "night"),
        reserve=0,
        wanted=40,
    )


def plaintexts(answers):
    """Of one person, in the order of the lanes; nothing is drawn."""
    of, stream = bundle(), Recorded("nothing")
    table = pa.table({id: [value] for id, value in answers.items()})
    people = EncodedAnswers.of(of.plan.survey, table)
    reports = [
        [each.tobytes() for each in randomize_message(of.plan, message, people, stream)]
        for message in of.plan.messages
    ]
    assert not stream.drawn
    return in_lanes(of.shape, of.lanes, reports)


def sealed(plaintext, name, stratum=STRATUM, lane=0, binding=None):
    binding = bundle().digest + bytes([0, stratum, 0, lane]) if binding is None else binding
    return wire.seal(
        plaintext, make_vectors.CONFIGURATION.encoded, binding, fixed(f"ephemeral {name}")
    )


def upload(number):
    each = enumerate(plaintexts(ANSWERS[number]))
    made = tuple(sealed(plain, f"services {number} {lane}", lane=lane) for lane, plain in each)
    return Upload(NO_CODE, STRATUM, made).encoded(bundle())


def cases():
    of = bundle()
    content = json.loads(of.encoded)
    people = of.least_people
    return {
        "bundle": of.encoded.decode(),
        "digest": of.digest.hex(),
        "upload_bytes": upload_length(of),
        "least_people": people,
        "lanes": wire.lanes_of(content),
        "release": {"people": people, "reports": of.spans(people)[-1].stop},
        "people": [
            {
                "answers": answers,
                "stratum": STRATUM,
                "plaintexts": hexed(plaintexts(answers)),
                "ephemerals": hexed(
                    fixed(f"ephemeral services {number} {lane}") for lane in range(of.places)
                ),
                "upload": upload(number).hex(),
            }
            for number, answers in enumerate(ANSWERS)
        ],
        "wrong_bundles": wrong_bundles(content),
        "wrong_reports": wrong_reports(),
    }


def wrong_bundles(content):
    """Why, and the keys with other values."""
    return {
        "merged strata": {"small_strata": "merge"},
        "fewer wanted than a release needs": {"wanted": 11},
        "one slot for all messages": {"slots": [sum(content["slots"])]},
        "a slot too many": {"slots": [2, *content["slots"][1:]]},
        "a reserve below zero": {"reserve": -1},
    }


def wrong_reports():
    """What a collector rejects in a lane of the stratum, and one that it accepts."""
    of, shape = bundle(), bundle().shape
    own, crossed = shape.report(1, b"\x04"), shape.report(3, b"\x00")
    cases = {  # the lane that it is found in, and what it is
        "of another lane": (1, sealed(own, "lane", lane=2)),
        "of another stratum": (1, sealed(own, "stratum", stratum=0, lane=1)),
        "bound to the bundle alone": (1, sealed(own, "bundle", binding=of.digest)),
        "of another message": (1, sealed(shape.report(0, b"\x00"), "message", lane=1)),
        "of a cell of another lane": (6, sealed(crossed, "cell", lane=6)),
        "of a cell that does not exist": (1, sealed(own[:3] + b"\x08", "no cell", lane=1)),
    }
    return {
        "stratum": STRATUM,
        "right": {"lane": 1, "sealed": sealed(own, "right", lane=1).hex()},
        "wrong": {why: {"lane": lane, "sealed": made.hex()} for why, (lane, made) in cases.items()},
    }
