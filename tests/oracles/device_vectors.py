"""Vectors of text questions, randomizers that a survey fixes, and permanent responses."""

import pyarrow as pa

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.encoding.bloom import normalize, places
from incrowd.encoding.records import EncodedAnswers, pack
from incrowd.plans import Plan
from incrowd.plans.ledger import series
from incrowd.plans.message import fixed_channel
from incrowd.sampling.permanent import DeviceKey, remembered, remembering
from incrowd.sampling.randomize import randomize_message
from incrowd.survey import Choice, Text, YesNo
from tests.oracles.amount_vectors import amounts
from tests.oracles.recorded import VECTORS, Recorded, fixed, hexed

DEVICE_PLAN = Plan.load(VECTORS / "devices-plan.json")
DEVICE_KEY = DeviceKey(fixed("device 42"))  # one that flips some bit of everybody
DEVICES = [
    {
        "word": "Größe", "smokes": "yes", "page": " a\u030a.example\u3000", "version": "beta",
        "hours": 1.5, "owns": "yes", "cheated": "no", "opposite": "yes", "insured": "no",
        "drugs": "cannabis;other", "employed": "no", "moved": "yes", "tried": "no",
        "crashed": "yes", "size": 3,
    },
    {
        "word": None, "smokes": "no", "page": "Å.example", "version": "old",
        "hours": None, "owns": None, "cheated": "yes", "opposite": "no", "insured": "yes",
        "drugs": "none", "employed": "yes", "moved": "yes", "tried": "yes",
        "crashed": "no", "size": None,
    },
    {
        "word": "no answer", "smokes": "no", "page": "𝔘\u00a0x", "version": "own",
        "hours": 10, "owns": "no", "cheated": "yes", "opposite": "no", "insured": "no",
        "drugs": "alcohol", "employed": "no", "moved": "no", "tried": "no",
        "crashed": "no", "size": -2.5,
    },
]  # fmt: skip
RANDOMIZERS = [
    {"kind": "bit flip", "noise": 1e-9},
    {"kind": "bit flip", "noise": 0.499999999},
    {"kind": "bit flip", "epsilon": 0.001},
    {"kind": "bit flip", "epsilon": 1.0},
    {"kind": "bit flip", "epsilon": 20.0},
    {"kind": "warner", "spinner": 0.5000000005},
    {"kind": "warner", "spinner": 0.2},
    {"kind": "warner", "spinner": 0.75},
    {"kind": "warner", "epsilon": 3.0},
    {"kind": "simmons", "unrelated": 0.3},
    {"kind": "simmons", "unrelated": 0.3, "prevalence": 0.9},
    {"kind": "simmons", "unrelated": 1e-9, "prevalence": 1e-9},
    {"kind": "simmons", "epsilon": 2.0},
    {"kind": "bit", "one_if_zero": 0.9, "one_if_one": 0.2},
    {"kind": "bit", "one_if_zero": 0.3, "one_if_one": 0.7},
    {"kind": "rappor", "f": 0.3},
    {"kind": "rappor", "epsilon": 0.7},
    {"kind": "rappor", "f": 0.3, "one_if_zero": 0.0, "one_if_one": 1.0},
    {"kind": "rappor", "epsilon": 0.7, "one_if_zero": 0.6, "one_if_one": 0.1},
    {"kind": "k-ary", "keep": 0.51},
    {"kind": "k-ary", "epsilon": 0.1},
    {"kind": "k-ary", "epsilon": 8.0},
]
NO_RANDOMIZERS = [
    {"kind": "bit", "one_if_zero": 0.0, "one_if_one": 0.5},
    {"kind": "bit", "one_if_zero": 0.5, "one_if_one": 0.5},
    {"kind": "warner", "spinner": 0.5},
    {"kind": "bit flip", "noise": 0.49999999999},
    {"kind": "k-ary", "keep": 0.2},
    {"kind": "rappor", "f": 0.5, "one_if_zero": 0.5, "one_if_one": 0.5},
    {"kind": "bit flip"},
    {"kind": "bit flip", "noise": 0.1, "epsilon": 1.0},
    {"kind": "bit flip", "epsilon": 0.0},
    {"kind": "bit flip", "noise": "0.1"},
    {"kind": "bit flip", "noise": 0.1, "memoized": True},
    {"kind": "simmons", "epsilon": 1.0, "prevalence": 0.5},
    {"kind": "simmons", "prevalence": 0.5},
    {"kind": "simmons", "unrelated": 0.5, "prevalence": 1.0},
    {"kind": "bit", "one_if_zero": 0.3},
    {"kind": "rappor", "f": 0.5, "epsilon": 1.0},
    {"kind": "rappor", "f": 0.5, "one_if_zero": 0.2},
    {"kind": "k-ary", "keep": 0.7, "epsilon": 1.0},
    {"kind": "dice", "sides": 6},
]
# Answers that no client sends, by the question.
ANY = {"id": "q", "optional": False, "randomizer": None}
NO_ANSWERS = [
    ({"type": "yesno"}, ["maybe", "no answer", None]),
    ({"type": "yesno", "optional": True}, ["no answer"]),
    ({"type": "choice", "options": ["north", "south"]}, ["North", "east", "", "no answer", None]),
    ({"type": "choice", "options": ["north", "south"], "optional": True}, ["east", "no answer"]),
    ({"type": "multi", "options": ["a", "b", "c"], "at_most": 2}, ["a;b;c", "a;d", "a;none", None]),
    (
        {"type": "multi", "options": ["a", "b"], "at_most": 1, "optional": True},
        ["a;b", "no answer"],
    ),
    ({"type": "number", "edges": [0, 1]}, [-0.5, -5e-324, "x", None]),
    ({"type": "number", "edges": [0, 1], "optional": True}, [-0.5]),
    ({"type": "amount", "edges": [0, 1]}, ["x", None]),
    ({"type": "text", "block": 8, "hashes": 1, "cohorts": 1}, ["", " \t", "\u3000\u001c", None]),
    ({"type": "text", "block": 8, "hashes": 1, "cohorts": 1, "optional": True}, ["", "\u00a0"]),
]


def devices():
    questions = DEVICE_PLAN.survey.questions
    return {
        "plan": DEVICE_PLAN.digest,
        "key": DEVICE_KEY.secret.hex(),
        "laws": {q.id: law(fixed_channel(q)) for q in questions if q.randomizer},
        "randomizers": [{"randomizer": r, "law": law(channel_of(r))} for r in RANDOMIZERS],
        "no_randomizers": NO_RANDOMIZERS,
        "amounts": amounts(),
        "words": [word_case(q, w, c) for q, w, c in WORDS],
        "no_answers": [
            {
                "question": {"id": "q", "optional": False, "randomizer": None} | asked,
                "answer": answer,
            }
            for asked, answers in NO_ANSWERS
            for answer in answers
        ],
        "permanent": [permanent_case(number) for number in range(len(DEVICES))],
        "people": [
            {"answers": answers, "messages": device_messages(number, answers)}
            for number, answers in enumerate(DEVICES)
        ],
    }


def channel_of(given):
    """Of a yes/no question, or of a choice of four for a whole answer."""
    kinds = {"id": "q", "randomizer": given}
    question = Choice(options=list("abcd"), **kinds) if given["kind"] == "k-ary" else YesNo(**kinds)
    return fixed_channel(question)


def law(channel):
    """Numerators over 2^32: of flips; of 1 sent for 0 and for 1, stage by stage; of an answer."""
    if isinstance(channel, BitFlip):
        return {"flip": channel.numerator}
    if isinstance(channel, KAry):
        return {"keep": channel.keep}
    return {"stages": [[bit.one_if_zero, bit.one_if_one] for bit in channel.stages]}


WORDS = [
    ("word", "Größe", 0),
    ("word", "Größe", 7),
    ("word", "  e\u0301\t\u2003", 3),
    ("word", "\ufeffx\x1f", 3),
    ("word", "\u200bx\u200b", 0),
    ("word", "\u2028x y\u0085", 0),
    ("word", "\u1100\u1161", 0),
    ("word", "\u212b", 1),
    ("word", "\ufb01", 1),
    ("page", "none", 0),
]


def word_case(id, word, cohort):
    question = next(q for q in DEVICE_PLAN.survey.questions if q.id == id)
    found = places([word], [cohort], id, question.hashes, question.block)[0].tolist()
    case = {"question": id, "word": word, "normalized": normalize(word)}
    return case | {"cohort": cohort, "places": found}


def device_people(answers):
    table = pa.table({id: [value] for id, value in answers.items()})
    return EncodedAnswers.of(DEVICE_PLAN.survey, table)


def device_memory():
    return remembering(DEVICE_PLAN, 1, None, DEVICE_KEY)


def permanent_case(number):
    """The record of the last message, and what the device remembers in its place."""
    message = DEVICE_PLAN.messages[-1]
    record = pack(message.questions, device_people(DEVICES[number]).encoded, 1)
    found = remembered(DEVICE_PLAN, message, record, device_memory())
    stages = [message.channels[id].permanent_stage for id in message.ids]
    named = [series(DEVICE_PLAN.survey.name, message, stage) for stage in stages]
    return {"series": named, "record": record[0].tobytes().hex(), "kept": found[0].tobytes().hex()}


def device_messages(number, answers):
    people, found = device_people(answers), []
    for at, message in enumerate(DEVICE_PLAN.messages):
        stream = Recorded(f"device {number}/{at}")
        made = randomize_message(DEVICE_PLAN, message, people, stream, device_memory())
        case = {"reports": hexed([each.tobytes() for each in made])}
        if not any(isinstance(question, Text) for question in message.questions):
            record = pack(message.questions, people.encoded, 1)[0].tobytes()
            case = {"record": record.hex()} | case
        found.append(case | {"words": stream.text})
    return found
