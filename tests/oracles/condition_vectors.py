"""Vectors of conditions: who is asked what, and what people send who are asked or not."""

import pyarrow as pa

from incrowd.encoding.records import EncodedAnswers, pack
from incrowd.plans import CellsMessage, Plan
from incrowd.sampling.randomize import randomize_message, rounded
from incrowd.survey import Text
from tests.oracles.cell_vectors import cells_case
from tests.oracles.recorded import VECTORS, Recorded, hexed

CONDITIONS_PLAN = Plan.load(VECTORS / "conditions-plan.json")
ALWAYS = ("smokes", "age", "drinks", "calm", "tired")
WEEK = {"calm": "often", "tired": "never"}
# What people answer, and which of the other questions they are asked. Amounts are edges, so that
# nothing is rounded.
PEOPLE = [
    (
        {"smokes": "yes", "age": 17.9, "drinks": "beer;wine", "daily": "yes", "brand": "Größe",
         "mood": None, "sorts": "none", "region": "south", "deep": "no"},
        ("daily", "brand", "mood", "sorts", "region", "deep"),
    ),
    (
        {"smokes": "no", "age": 65, "drinks": "other", "quit": 5, "retired": "yes",
         "region": "north"},
        ("quit", "retired", "region"),
    ),
    (
        {"smokes": "yes", "age": 18, "drinks": "wine", "daily": "no", "spent": 100, "deep": "no"},
        ("daily", "spent", "deep"),
    ),
    (
        {"smokes": "no", "age": None, "drinks": "wine", "region": "north"},
        ("region",),
    ),
    (
        {"smokes": "yes", "age": 80, "drinks": "beer", "daily": "yes", "brand": "not asked",
         "spent": 0, "mood": "bad", "retired": "no", "deep": "yes"},
        ("daily", "brand", "spent", "mood", "retired", "deep"),
    ),
]  # fmt: skip
# Answers that every client refuses: an answer is missing that person 3 is asked for.
REFUSED = PEOPLE[3][0] | WEEK | {"region": None}


def conditions():
    return {
        "plan": CONDITIONS_PLAN.digest,
        "people": [case(number) for number in range(len(PEOPLE))],
        "refused": REFUSED,
    }


def case(number):
    answers, asked = PEOPLE[number]
    answers = answers | WEEK
    ids = [question.id for question in CONDITIONS_PLAN.survey.questions]
    asked = [id for id in ids if id in (*ALWAYS, *asked)]
    return {"answers": answers, "asked": asked, "messages": messages(number, answers)}


def messages(number, answers):
    people = encoded(answers)
    return [
        message_case(message, people, f"conditions {number}/{at}")
        for at, message in enumerate(CONDITIONS_PLAN.messages)
    ]


def encoded(answers):
    columns = {
        question.id: pa.array([answers.get(question.id)], type=_column(question, answers))
        for question in CONDITIONS_PLAN.survey.questions
    }
    people = EncodedAnswers.of(CONDITIONS_PLAN.survey, pa.table(columns))
    return rounded(people, Recorded("no chance"))


def _column(question, answers):
    """Of a column without answers, which has no type of its own."""
    return None if answers.get(question.id) is not None else pa.string()


def message_case(message, people, name):
    stream = Recorded(name)
    reports = [
        each.tobytes() for each in randomize_message(CONDITIONS_PLAN, message, people, stream)
    ]
    if isinstance(message, CellsMessage):
        return cells_case(message, people, reports)
    found = {"reports": hexed(reports), "words": stream.text}
    if any(isinstance(question, Text) for question in message.questions):
        return found
    record = pack(message.questions, people.encoded, 1)[0].tobytes()
    return {"record": record.hex()} | found
