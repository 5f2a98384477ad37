"""Vectors of questions whose planned noise is drawn once: in joint reports, and in cells."""

import pyarrow as pa

from incrowd.encoding.records import EncodedAnswers, pack, set_cells
from incrowd.plans import Plan
from incrowd.plans.ledger import series
from incrowd.plans.slots import most_reports, slots
from incrowd.sampling.permanent import DeviceKey, remembered, remembering
from incrowd.sampling.randomize import randomize_message
from tests.oracles import wire
from tests.oracles.recorded import VECTORS, Recorded, fixed, hexed

PERMANENT_PLAN = Plan.load(VECTORS / "permanent-plan.json")
PERMANENT_KEY = DeviceKey(fixed("device of permanent sets"))
ANSWERS = [
    {"old": "yes", "crashed": "no", "browser": "Größe", "weekly": "yes", "site": "s07",
     "tools": "t12;t03;t31", "restarted": "yes"},
    {"old": "no", "crashed": "yes", "browser": None, "weekly": "no", "site": "s00",
     "tools": "none", "restarted": "no"},
    {"old": "no", "crashed": "yes", "browser": "b", "weekly": "yes", "site": "s29", "tools": None,
     "restarted": "yes"},
]  # fmt: skip
FEWER = (1, 2)  # set bits less than in the first draw: what has to be drawn again


def permanent():
    return {
        "plan": PERMANENT_PLAN.digest,
        "key": PERMANENT_KEY.secret.hex(),
        "slots": list(slots(PERMANENT_PLAN)),
        "people": [
            {"answers": answers, "messages": messages(number, people(answers))}
            for number, answers in enumerate(ANSWERS)
        ],
    }


def people(answers):
    table = pa.table({id: [value] for id, value in answers.items()})
    return EncodedAnswers.of(PERMANENT_PLAN.survey, table)


def messages(number, person):
    each = most_reports(PERMANENT_PLAN.messages, slots(PERMANENT_PLAN))
    places = zip(PERMANENT_PLAN.messages, each, strict=True)
    return [
        cells_case(message, person, most)
        if message.cells
        else joint_case(message, person, f"permanent {number}/{at}")
        for at, (message, most) in enumerate(places)
    ]


def memory():
    return remembering(PERMANENT_PLAN, 1, None, PERMANENT_KEY)


def named(message, noise):
    return series(PERMANENT_PLAN.survey.name, message, noise)


def joint_case(message, person, name):
    """The record, what the device remembers in its place, and what is sent."""
    record, stream = pack(message.questions, person.encoded, 1), Recorded(name)
    kept = remembered(PERMANENT_PLAN, message, record, memory())
    made = randomize_message(PERMANENT_PLAN, message, person, stream, memory())
    stages = {q.id: message.channels[q.id].permanent_stage for q in message.questions if q.memoized}
    return {
        "series": {id: named(message, stage) for id, stage in stages.items()},
        "record": record[0].tobytes().hex(),
        "kept": kept[0].tobytes().hex(),
        "words": stream.text,
        "reports": hexed(each.tobytes() for each in made),
    }


def cells_case(message, person, most):
    """With the slots of the plan, and with fewer, as if the first draws did not fit."""
    chosen = set_cells(message.crossing.blocks, message.questions, person.encoded, 1)[1].tolist()
    said = named(message, message.noise), message.ids, chosen, message.record_bits

    def drawn(places):
        attempt, _ = wire.permanent_set(
            PERMANENT_KEY.secret, *said, message.noise_numerator, places
        )
        made = randomize_message(PERMANENT_PLAN, message, person, None, memory(), places)
        reports = hexed(each.tobytes() for each in made)
        return {"slots": places, "attempt": attempt, "reports": reports}

    first = drawn(most)
    fewer = [drawn(max(1, len(first["reports"]) - less)) for less in FEWER]
    return {"series": said[0], "chosen": chosen, "draws": [first, *fewer]}
