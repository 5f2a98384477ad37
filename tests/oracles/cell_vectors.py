"""Vectors of cells: which of them a person is in, what they say, and what is sent."""

import pyarrow as pa

from incrowd.encoding.records import EncodedAnswers, set_cells
from incrowd.plans import Plan
from incrowd.plans.slots import slots
from incrowd.sampling.randomize import randomize_message, rounded
from tests.oracles import wire
from tests.oracles.recorded import VECTORS, Recorded, hexed

DIGITS = [f"digit{place}" for place in range(8)]  # of a number that is crossed out of them
CELLS = [
    {"smokes": "yes", "region": "Süden", "drugs": "alcohol;other", "insured": "private",
     "visits": 5.5, "party": "green", "hours": 20, **dict(zip(DIGITS, "ffffffff", strict=True))},
    {"smokes": "no", "region": None, "drugs": "none", "insured": "public",
     "visits": 0, "party": "none", "hours": 0, **dict(zip(DIGITS, "00000000", strict=True))},
    {"smokes": "no", "region": "east", "drugs": None, "insured": "private",
     "visits": 17, "party": "red", "hours": 20, **dict(zip(DIGITS, "80000001", strict=True))},
    {"smokes": "yes", "region": "north", "drugs": "cannabis", "insured": "public",
     "visits": 1, "party": "none", "hours": 0, **dict(zip(DIGITS, "7fedcba9", strict=True))},
]  # fmt: skip
CELLS_PLAN = Plan.load(VECTORS / "cells-plan.json")


def cells():
    """Of a plan whose messages are all cells: what each number says, by the other reader."""
    return {
        "plan": CELLS_PLAN.digest,
        "slots": list(slots(CELLS_PLAN)),
        "counts": [message.record_bits for message in CELLS_PLAN.messages],
        "people": [cells_person(number, answers) for number, answers in enumerate(CELLS)],
    }


def cells_person(number, answers):
    table = pa.table({id: [value] for id, value in answers.items()})
    people, found = rounded(EncodedAnswers.of(CELLS_PLAN.survey, table), Recorded("no chance")), []
    known = {each["id"]: each for each in CELLS_PLAN.content["survey"]["question"]}
    for at, message in enumerate(CELLS_PLAN.messages):
        stream = Recorded(f"cells {number}/{at}")
        made = randomize_message(CELLS_PLAN, message, people, stream)
        case = cells_case(message, people, [each.tobytes() for each in made])
        says = wire.cells([known[id] for id in message.ids], answers, message.parities)
        found.append({"says": [says[cell] for cell in case["chosen"]]} | case)
    return {"answers": answers, "messages": found}


def cells_case(message, people, reports):
    """The cells that a person is in, those that the noise flipped, and what is sent."""
    chosen = set_cells(message.crossing.blocks, message.questions, people.encoded, 1)[1].tolist()
    sent = {int.from_bytes(each, "little") for each in reports}
    return {"chosen": chosen, "flipped": sorted(sent ^ set(chosen)), "reports": hexed(reports)}
