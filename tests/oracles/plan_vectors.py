"""Vectors of plans: those of the other files, and changes after which every client rejects them.

A change is a JSON Pointer (RFC 6901) with the value that stands there instead.
"""

import json

from tests.oracles.recorded import VECTORS

FILES = (
    "plan", "devices-plan", "cells-plan", "conditions-plan", "permanent-plan", "services-plan"
)  # fmt: skip
# The messages of a survey are left to the planner here, so that only the change is at fault.
PLANS = {
    name: json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["plan"]
    for name in FILES
}
for _plan in PLANS.values():
    _plan["survey"]["message"] = []
REMOVED = object()


def question(plan, id):
    ids = [each["id"] for each in PLANS[plan]["survey"]["question"]]
    return f"/survey/question/{ids.index(id)}"


SMOKES, REGION = question("plan", "smokes"), question("plan", "region")
DRUGS, VISITS = question("plan", "drugs"), question("plan", "visits")
WORD, PAGE = question("devices-plan", "word"), question("devices-plan", "page")
VERSION, CHEATED = question("devices-plan", "version"), question("devices-plan", "cheated")
CRASHED, MULTI = question("devices-plan", "crashed"), question("devices-plan", "drugs")
HOURS = question("cells-plan", "hours")
OLD, SITE = question("permanent-plan", "old"), question("permanent-plan", "site")
DAILY, MOOD = question("conditions-plan", "daily"), question("conditions-plan", "mood")
DEEP = question("conditions-plan", "deep")
DIGITS = [f"digit{place}" for place in range(8)]


def condition(why, value, at=DAILY):
    """Return the change of whom a question is asked."""
    return (f"a condition {why}", "conditions-plan", f"{at}/asked_if", value)


def nested(levels):
    return SMOKERS if levels == 0 else {"not": nested(levels - 1)}


SMOKERS = {"question": "smokes", "answer": "yes"}
ADULTS = {"question": "age", "at_least": 18}
WRONG_CONDITIONS = [
    condition("that is null", None),
    condition("that is true", True),
    condition("in text", "smokes = yes"),
    condition("without a comparison", {}),
    condition("that is a list", [SMOKERS]),
    condition("on a question that nobody asks", SMOKERS | {"question": "smoked"}),
    condition("on a later question", {"question": "mood", "answer": "good"}),
    condition("on the question itself", {"question": "daily", "answer": "yes"}),
    condition("on an answer that there is not", SMOKERS | {"answer": "often"}),
    condition("on no answer to a question that needs one", SMOKERS | {"answer": "no answer"}),
    condition("on an answer that is a truth", SMOKERS | {"answer": True}),
    condition("on several answers", SMOKERS | {"answer": ["yes"]}),
    condition("on an edge that there is not", ADULTS | {"at_least": 21}),
    condition("below an edge that there is not", {"question": "age", "below": 64}),
    condition("on an edge that is text", ADULTS | {"at_least": "18"}),
    condition("on an edge of an answer without numbers", ADULTS | {"question": "smokes"}),
    condition("on two edges at once", ADULTS | {"below": 65}),
    condition("on an answer and an edge", ADULTS | {"answer": "18 to <65"}),
    condition("without an answer", {"question": "smokes"}),
    condition("on an amount", {"question": "spent", "at_least": 0}, MOOD),
    condition("on the answer to an amount", {"question": "spent", "answer": "100"}, MOOD),
    condition("on a word", {"question": "brand", "answer": "a"}, MOOD),
    condition("on a word that is not asked", {"question": "brand", "answer": "not asked"}, MOOD),
    condition("on all of one", {"all": [SMOKERS]}),
    condition("on any of none", {"any": []}),
    condition("on all of an object", {"all": {"0": SMOKERS, "1": ADULTS}}),
    condition("on all and any", {"all": [SMOKERS, ADULTS], "any": [SMOKERS, ADULTS]}),
    condition("on any, one of which is wrong", {"any": [SMOKERS, ADULTS | {"at_least": 1}]}),
    condition("with a key that nobody knows", {"not": SMOKERS, "else": SMOKERS}),
    condition("in 33 levels", nested(33)),
    condition("in 40 levels", nested(40)),
    ("an open question with a condition", "conditions-plan", f"{DEEP}/open", True),
    ("an option that is not asked", "plan", f"{REGION}/options", ["north", "not asked"]),
]
WRONG = [
    # keys
    ("another format", "plan", "/format", "incrowd plan 0"),
    ("no crowd", "plan", "/survey/crowd", REMOVED),
    ("no copies", "plan", "/messages/0/copies", REMOVED),
    ("no word about cells", "plan", "/messages/0/cells", REMOVED),
    ("no word about an optional answer", "plan", f"{SMOKES}/optional", REMOVED),
    ("no randomizer, not even null", "plan", f"{SMOKES}/randomizer", REMOVED),
    ("a number that is text", "plan", "/messages/0/copies", "2"),
    ("a number instead of true", "plan", f"{SMOKES}/optional", 1),
    ("a key that is left out if it is false", "plan", f"{SMOKES}/memoized", False),
    ("open, and false", "plan", f"{SMOKES}/open", False),
    ("parities, and false", "plan", "/messages/2/parities", False),
    # the survey
    ("no name", "plan", "/survey/name", ""),
    ("a crowd of one", "plan", "/survey/crowd", 1),
    ("a crowd above 10^13", "plan", "/survey/crowd", 10**13 + 1),
    ("fewer than no colluding people", "plan", "/survey/colluding", -1),
    ("no message", "plan", "/messages", []),
    ("an id twice", "plan", f"{SMOKES}/id", "region"),
    ("an id with a comma", "plan", f"{SMOKES}/id", "smokes,now"),
    ("an id with a space at the end", "plan", f"{SMOKES}/id", "smokes "),
    ("an empty id", "plan", f"{SMOKES}/id", ""),
    ("a type that nobody knows", "plan", f"{SMOKES}/type", "rank"),
    ("one option", "plan", f"{REGION}/options", ["north"]),
    ("an option twice", "plan", f"{REGION}/options", ["north", "north"]),
    ("an empty option", "plan", f"{REGION}/options", ["north", ""]),
    ("an option with a space before it", "plan", f"{REGION}/options", ["north", " south"]),
    ("an option that is no answer", "plan", f"{REGION}/options", ["north", "no answer"]),
    ("an option that stands for none", "plan", f"{DRUGS}/options", ["alcohol", "none"]),
    ("an option with a separator", "plan", f"{DRUGS}/options", ["alcohol", "a;b"]),
    ("at most none", "plan", f"{DRUGS}/at_most", 0),
    ("more than there are options", "plan", f"{DRUGS}/at_most", 4),
    ("at most one and a half", "plan", f"{DRUGS}/at_most", 1.5),
    ("one edge", "plan", f"{VISITS}/edges", [0]),
    ("equal edges", "plan", f"{VISITS}/edges", [0, 1, 1]),
    ("edges that fall", "plan", f"{VISITS}/edges", [1, 0]),
    ("an edge that is text", "plan", f"{VISITS}/edges", [0, "1"]),
    ("edges that are equal with 12 digits", "cells-plan", f"{HOURS}/edges", [1, 1 + 1e-13]),
    ("edges of an amount too far apart", "cells-plan", f"{HOURS}/edges", [-1.7e308, 1.7e308]),
    ("a memoized amount", "cells-plan", f"{HOURS}/memoized", True),
    ("a block that is not a power of two", "devices-plan", f"{WORD}/block", 12),
    ("a block of one bit", "devices-plan", f"{WORD}/block", 1),
    ("a block above 1,024", "devices-plan", f"{WORD}/block", 2048),
    ("no hash", "devices-plan", f"{WORD}/hashes", 0),
    ("nine hashes", "devices-plan", f"{WORD}/hashes", 9),
    ("cohorts that are not a power of two", "devices-plan", f"{WORD}/cohorts", 6),
    ("cohorts above 4,096", "devices-plan", f"{WORD}/cohorts", 8192),
    ("a memoized text", "devices-plan", f"{WORD}/memoized", True),
    ("an open number", "plan", f"{VISITS}/open", True),
    ("an open question with a randomizer", "devices-plan", f"{CHEATED}/open", True),
    ("an open question in a message", "plan", f"{SMOKES}/open", True),
    # randomizers
    ("a randomizer that nobody knows", "devices-plan", f"{CHEATED}/randomizer/kind", "dice"),
    ("a randomizer without its number", "devices-plan", f"{CHEATED}/randomizer/spinner", REMOVED),
    ("a randomizer with a number too many", "devices-plan", f"{CHEATED}/randomizer/noise", 0.2),
    ("a number that is null", "devices-plan", f"{CHEATED}/randomizer/epsilon", None),
    ("a spinner that is memoized", "devices-plan", f"{CHEATED}/randomizer/memoized", True),
    ("a spinner that gives answers away", "devices-plan", f"{CHEATED}/randomizer/spinner", 1.0),
    (
        "a spinner for a text",
        "devices-plan",
        f"{PAGE}/randomizer",
        {"kind": "warner", "memoized": False, "spinner": 0.8},
    ),
    (
        "a response of whole answers to a question with several",
        "devices-plan",
        f"{MULTI}/randomizer",
        {"keep": 0.7, "kind": "k-ary", "memoized": False},
    ),
    ("memoized twice", "devices-plan", f"{CRASHED}/memoized", True),
    # messages
    ("a message without questions", "plan", "/messages/0/questions", []),
    ("a question that nobody asks", "plan", "/messages/0/questions", ["smokes", "region", "x"]),
    ("a question twice in a message", "plan", "/messages/0/questions", ["smokes", "smokes"]),
    ("no noise", "plan", "/messages/0/noise_numerator", 0),
    ("noise of one half", "plan", "/messages/0/noise_numerator", 2**31),
    ("noise that is not whole", "plan", "/messages/0/noise_numerator", 1.5),
    ("null for questions without a randomizer", "plan", "/messages/0/noise_numerator", None),
    ("noise for questions with randomizers", "devices-plan", "/messages/1/noise_numerator", 5),
    ("null for cells", "cells-plan", "/messages/0/noise_numerator", None),
    ("no copy", "plan", "/messages/0/copies", 0),
    ("a copy and a half", "plan", "/messages/0/copies", 1.5),
    ("cells in copies", "plan", "/messages/2/copies", 2),
    ("cells of a text", "devices-plan", "/messages/0/cells", True),
    ("cells of a question with a randomizer", "devices-plan", "/messages/2/cells", True),
    ("more than 2^32 cells", "cells-plan", "/messages/8/questions", ["smokes", *DIGITS]),
    ("parities without cells", "plan", "/messages/0/parities", True),
    ("parities of one question", "cells-plan", "/messages/9/questions", ["insured"]),
    ("parities of three answers", "cells-plan", "/messages/9/questions", ["insured", "region"]),
    ("memoized, with others", "permanent-plan", "/messages/1/questions", ["crashed", "old"]),
    ("memoized, with others in cells", "permanent-plan", "/messages/4/questions", ["old", "site"]),
    ("memoized questions in copies", "permanent-plan", "/messages/1/copies", 2),
    # noise of services
    ("noise of both kinds", "services-plan", "/messages/0/noise_numerator", 5),
    ("noise of no kind", "services-plan", "/messages/0/added", REMOVED),
    ("no noise, not even null", "services-plan", "/messages/0/noise_numerator", REMOVED),
    ("a joint report with noise of services", "services-plan", "/messages/0/cells", False),
    ("memoized, with noise of services", "services-plan", "/survey/question/0/memoized", True),
    ("no crowd where devices add noise", "plan", "/guarantee/crowd", None),
    ("a release of one person", "services-plan", "/survey/least", 1),
    *WRONG_CONDITIONS,
]  # fmt: skip


def plans():
    return {"right": PLANS, "wrong": [change_case(*each) for each in WRONG]}


def change_case(why, plan, at, value):
    case = {"why": why, "plan": plan, "at": at}
    return case | ({"removed": True} if value is REMOVED else {"value": value})


def changed(given, case):
    """The plan after the change of a case."""
    plan = json.loads(json.dumps(given["right"][case["plan"]]))
    *way, last = case["at"].split("/")[1:]
    place = plan
    for key in way:
        place = place[int(key) if isinstance(place, list) else key]
    if case.get("removed"):
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = case["value"]
    return plan
