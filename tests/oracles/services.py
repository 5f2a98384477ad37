"""A survey whose cells get their noise from the services, and what is sent for it."""

from collections import Counter
from functools import cache

import pyarrow as pa

import incrowd
from incrowd.accountant import AdditiveNoise
from incrowd.collection.protocol.sealed import unseal
from incrowd.encoding.records import EncodedAnswers
from incrowd.guarantees.certified import planned
from incrowd.plans import CellsMessage, Plan
from incrowd.plans.message import JointReport
from incrowd.plans.slots import slots
from tests.oracles import make_vectors
from tests.oracles.shared import shared

PEOPLE = 12
LAW = AdditiveNoise.laplace(1.2, most=16)
QUESTIONS = [
    {"id": "smokes", "type": "yesno"},
    {"id": "region", "type": "choice", "options": ["north", "south", "east"], "optional": True},
    {"id": "drinks", "type": "multi", "options": ["beer", "wine", "rum"], "at_most": 2},
]
SENT = [("smokes",), ("smokes", "region"), ("drinks",), ("smokes", "drinks")]


def survey(**changes):
    privacy = {"epsilon": 15.0, "delta": 1e-3, "noise": "services"}
    given = {"name": "Ward", "crowd": 60, "least": PEOPLE, "question": QUESTIONS}
    return incrowd.Survey.of(given | {"privacy": privacy} | changes)


@cache
def plan(law=LAW, joint=False):
    """The plan that sends the tables of SENT, and with joint also a joint report in two copies."""
    asked = survey()
    known = {question.id: question for question in asked.questions}
    messages = [CellsMessage(questions=tuple(known[id] for id in ids), added=law) for ids in SENT]
    if joint:
        one = (known["smokes"], known["region"])
        messages.insert(1, JointReport(questions=one, noise_numerator=3 << 29, copies=2))
    guarantee = shared(f"services {law} {joint}", lambda: planned(asked, messages))
    return Plan(survey=asked, messages=messages, guarantee=guarantee, earlier=())


def bundle(plan=None, **changes):
    plan = plan or globals()["plan"]()
    ids = [question.id for question in plan.survey.questions]
    words = {"language": "en", "title": "Ward", "questions": {id: f"{id}?" for id in ids}}
    reserve = 0 if plan.guarantee.crowd is None else 20
    given = {"plan": plan, "wording": words, "slots": slots(plan), "colluding": 0}
    return make_vectors.bundle(**given | {"reserve": reserve, "strata": ("a", "b")} | changes)


def person(of, **answers):
    given = {"smokes": "yes", "region": "south", "drinks": "beer;rum"} | answers
    table = pa.table({id: [value] for id, value in given.items()})
    return EncodedAnswers.of(of.plan.survey, table)


def opened(of, sealed, stratum=0, lane=0):
    """The message and the packed report of what was sealed for a lane."""
    private = make_vectors.RECEIVER
    return of.shape.read(unseal(sealed, private, of.key, of.binding(stratum, lane), of.label))


def counted(of, body, people, stratum=0):
    """How many reports each cell of a release has, by message and cell; None for the dummies of a
    lane. body: its sealed reports, in their order."""
    found, at = Counter(), 0
    for number, lane in enumerate(of.lanes):
        end = at + people * lane.slots + lane.invented
        for sealed in body[at:end]:
            report = opened(of, sealed, stratum, number)
            cell = int.from_bytes(report.packed, "little")
            assert report.message is None or cell in (lane.cells or range(1 << 16))
            found[(None, number) if report.message is None else (report.message, cell)] += 1
        at = end
    assert at == len(body)
    return found
