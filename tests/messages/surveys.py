"""What is said of a survey: of its file, its questions, and what they say together."""

import incrowd
from tests.messages.shared import YESNO, file, options, question, survey

TEXT = {"id": "t", "type": "text", "block": 16, "cohorts": 4}
MEMOIZED = {"kind": "rappor", "f": 0.5, "memoized": True}
ONCE = YESNO | {"id": "o", "memoized": True}
REMEMBERED = {"id": "m", "type": "yesno", "randomizer": MEMOIZED}


B, TOWN = YESNO | {"id": "b"}, {"id": "town", "type": "yesno", "open": True}


def regression(*questions, outcome="a", on=("b",), **more):
    """A survey that wants a regression; messages: a key of the survey."""
    grouping = {"message": more.pop("message")} if "message" in more else {}
    wanted = {"outcome": outcome, "on": on, **more}
    return lambda _: survey(YESNO, B, *questions, regression=[wanted], **grouping)


def several(at_most=2, **changed):
    """A survey of one question with overlapping options."""
    asked = {"id": "s", "type": "multi", "options": ["x", "y"], "at_most": at_most}
    return lambda _: survey(asked | changed)


def several_options(id):
    return {"id": id, "type": "multi", "options": ["x", "y"], "at_most": 2}


def cells(*questions):
    """A survey of questions that are sent as cells, all crossed with each other."""
    crossed = {"questions": [question["id"] for question in questions], "cells": True}
    return lambda _: survey(*questions, message=[crossed])


def parities(message, bits=("a", "b")):
    """A survey of parities beside single bits, and of one question more."""
    cells = [{"questions": [id], "cells": True} for id in bits]
    asked = [YESNO, B, options(3, id="c")]
    return lambda _: survey(*asked, message=[message, *cells, {"questions": ["a", "b", "c"]}])


def load(text):
    return lambda folder: incrowd.Survey.load(file(folder, "survey.toml", text))


def asked_if(condition, **keys):
    """A survey with a question that only some people are asked."""
    number = {"id": "n", "type": "number", "edges": [0, 18]}
    amount = {"id": "m", "type": "amount", "edges": [0, 18]}
    asked = [YESNO, number, amount, B | {"asked_if": condition} | keys, YESNO | {"id": "z"}]
    return lambda _: survey(*asked)


PART, SCALE = {"id": "s", "title": "Habits"}, {"id": "m", "text": "How often?", "type": "yesno"}


def parted(*more, **parts):
    """A survey with a section and a matrix. more: keys of further questions."""
    first = {"id": "a", "section": "s", "matrix": "m"}
    others = [{"id": f"b{n}", "type": "yesno"} | keys for n, keys in enumerate(more)]
    return lambda _: survey(first, *others, **parts)


def by_services(*questions, privacy=(), **more):
    """A survey whose noise the services add, and that asks for something they cannot do."""
    promise = {"epsilon": 2.0, "delta": 1e-5, "noise": "services"} | dict(privacy)
    return lambda _: survey(*questions, privacy=promise, **more)


PEOPLE = {"invited": 450, "expected": 0.6}
STAFF = {"id": "dept", "type": "choice", "options": ["a", "b"], "open": True}


def invited(*questions, **changed):
    """A survey that states who is invited. changed: its keys, and those of [people]."""
    people = {
        key: changed.pop(key)
        for key in ("invited", "expected", "groups", "everybody")
        if key in changed
    }
    raw = {"name": "A", "privacy": {"epsilon": 2.0, "analysis": "local"}, "people": PEOPLE | people}
    asked = [*questions, YESNO]
    return lambda _: incrowd.Survey.of(raw | {"question": asked} | changed)


CASES = {
    "a survey of interviews": lambda _: survey(device={"kind": "die"}),
    "a design by hand": lambda _: survey(YESNO | {"design": {"kind": "direct"}}),
    "an expected share that is text": lambda _: question(shares={"yes": "much"}),
    "a share in percent without the sign": invited(expected=60),
    "a share that is not a number": invited(expected="most"),
    "a census that is not one": invited(everybody=True, census=False),
    "a crowd that nobody could reach": invited(crowd=451),
    "groups without open questions": invited(groups={"a": 450}),
    "an unknown group": invited(STAFF, groups={"a": 200, "c": 250}),
    "groups without some of the people": invited(STAFF, groups={"a": 200, "b": 200}),
    "too few answers for a crowd": invited(invited=40),
    "fewer answers than a release needs": invited(
        invited=10, privacy={"epsilon": 2.0, "noise": "services"}
    ),
    "one service without services": by_services(
        privacy={"noise": "devices", "service_epsilon": 3.0}
    ),
    "a service that learns less than readers": by_services(privacy={"service_epsilon": 1.0}),
    "the least release without services": by_services(privacy={"noise": "devices"}, least=5),
    "a local epsilon with services": by_services(privacy={"local_epsilon": 8.0}),
    "several rows with services": by_services(rows_per_person=2),
    "any table with services": by_services(tables="any"),
    "a joint report with services": by_services(message=[{"questions": ["a"]}]),
    "a permanent response with services": by_services(YESNO | {"memoized": True}),
    "an own randomizer with services": by_services(
        YESNO | {"randomizer": {"kind": "bit flip", "noise": 0.2}}
    ),
    "a sample in a survey": lambda _: survey(
        YESNO | {"randomizer": {"kind": "hidden sample", "rate": 0.1}}
    ),
    "words with services": by_services({"id": "w", "type": "text", "block": 32, "cohorts": 4}),
    "a section twice": parted(section=[PART, PART], matrix=[SCALE]),
    "a section that is not there": parted({"section": "s2"}, section=[PART], matrix=[SCALE]),
    "a section without questions": parted(section=[PART, PART | {"id": "s2"}], matrix=[SCALE]),
    "a question of an unknown matrix": lambda _: survey({"id": "q", "matrix": "none"}),
    "a title in another language": parted(
        section=[PART | {"title": {"de": "Sie"}}], matrix=[SCALE]
    ),
    "a divided section": parted({}, {"section": "s"}, section=[PART], matrix=[SCALE]),
    "a number in a matrix": lambda _: survey(
        {"id": "n", "type": "number", "edges": [0, 1], "matrix": "m"}, matrix=[SCALE]
    ),
    "unlike items of a matrix": parted(
        {"section": "s", "matrix": "m", "optional": True}, section=[PART], matrix=[SCALE]
    ),
    "another option that is not listed": lambda _: survey(options(2, other="something else")),
    "a minimum above the maximum": lambda _: survey(
        {"id": "n", "type": "number", "edges": [0, 1], "minimum": 3, "maximum": 2}
    ),
    "an option that is a state": lambda _: survey(options(2, options=["x", "not asked"])),
    "no condition": asked_if("a yes"),
    "a condition of unknown characters": asked_if('a = "yes'),
    "a condition with a bad escape": asked_if('a = "\\y"'),
    "a condition in an open parenthesis": asked_if("(a = yes or a = no"),
    "a condition in another parenthesis": asked_if("(a = yes = no)"),
    "a condition that goes on": asked_if("a = yes)"),
    "a condition without a value": asked_if("a ="),
    "a condition of two operators": asked_if("a = = yes"),
    "a condition between edges": asked_if("n > 18"),
    "a condition of no number": asked_if("n >= x"),
    "a condition of an infinite number": asked_if("n >= inf"),
    "a deep condition": asked_if("not " * 40 + "a = yes"),
    "a condition that is no data": asked_if({"some": "thing"}),
    "an open question with a condition": asked_if("a = yes", open=True),
    "a condition on a later question": asked_if("z = yes"),
    "a condition on a number that is rounded": asked_if("m >= 18"),
    "a condition on another answer": asked_if("a = maybe"),
    "a condition on another edge": asked_if("n >= 19"),
    "a condition on the number of an answer": asked_if("a >= 1"),
    "a condition on an unknown question": asked_if("q = yes"),
    "a regression on what decides a condition": lambda _: survey(
        YESNO, B | {"asked_if": "a = yes"}, regression=[{"outcome": "b", "on": ["a"]}]
    ),
    "states as one answer": regression(
        YESNO | {"id": "c", "optional": True, "asked_if": "a = yes"},
        merge={"c": [["no answer", "not asked"]]},
    ),
    "no survey file": lambda folder: incrowd.Survey.load(folder / "none.toml"),
    "a survey file of 17 MiB": load(" " * (17 << 20)),
    "a survey file that is no text": load(b"\xff\xfe"),
    "a key of many names": load(".".join(["a"] * 40) + " = 1"),
    "no TOML": load("name = = 1"),
    "a table of data for a survey": lambda folder: incrowd.Survey.load(
        file(folder, "answers.csv", "smoker;age\n1;2\n")
    ),
    "nested TOML": load("a = " + "[" * 5000 + "]" * 5000),
    "a long number": load("a = " + "9" * 5000),
    "an empty survey": load(""),
    "a hidden character in a name": lambda _: survey(name="Habits\u202e"),
    "a hidden character in an option": lambda _: survey(
        options(2) | {"options": ["yes", "no\u200b"]}
    ),
    "no name": lambda _: survey(name=""),
    "name as a number": lambda _: survey(name=1),
    "a crowd of one": lambda _: survey(crowd=1),
    "a crowd as text": lambda _: survey(crowd="100"),
    "half a person": lambda _: survey(crowd=100.5),
    "a crowd too large": lambda _: survey(crowd=10**14),
    "a survey with an unknown key": lambda _: survey(epsilon=1),
    "a key with a slip": lambda _: survey(corwd=100),
    "privacy as a number": lambda _: survey(privacy=1),
    "epsilon of zero": lambda _: survey(privacy={"epsilon": 0.0}),
    "epsilon as text": lambda _: survey(privacy={"epsilon": "one"}),
    "epsilon without end": lambda _: survey(privacy={"epsilon": float("inf")}),
    "delta of one": lambda _: survey(privacy={"epsilon": 1.0, "delta": 1.0}),
    "an unknown objective": lambda _: survey(objective="least"),
    "copies of zero": lambda _: survey(copies=0),
    "no round": lambda _: survey(rounds=0),
    "rounds as text": lambda _: survey(rounds="weekly"),
    "copies without end": lambda _: survey(copies=10**6),
    "no question": lambda _: survey(question=[]),
    "questions as a number": lambda _: survey(question=1),
    "a question without a type": lambda _: survey({"id": "a"}),
    "a question of another type": lambda _: survey({"id": "a", "type": "slider"}),
    "a question with an unknown key": lambda _: question(option=["x", "y"]),
    "a key of the survey in a question": lambda _: question(copies=2),
    "optional as text": lambda _: question(optional="yes"),
    "an id with a comma": lambda _: question(id="a,b"),
    "an empty id": lambda _: question(id=""),
    "two questions of one id": lambda _: survey(YESNO, YESNO),
    "one option": lambda _: survey(options(1)),
    "options as text": lambda _: survey(options(2, options="x, y")),
    "an option twice": lambda _: survey(options(2, options=["x", "x"])),
    "no answer as an option": lambda _: survey(options(2, options=["x", "no answer"])),
    "an empty option": lambda _: survey(options(2, options=["x", ""])),
    "at most too many": lambda _: survey(options(2, type="multi", at_most=3)),
    "at most as text": lambda _: survey(options(2, type="multi", at_most="two")),
    "an option with a semicolon": lambda _: survey(
        options(2, type="multi", options=["x;y", "z"], at_most=1)
    ),
    "edges that fall": lambda _: survey({"id": "d", "type": "number", "edges": [3, 1]}),
    "edges of one number": lambda _: survey(
        {"id": "d", "type": "amount", "edges": [1, 1 + 1e-14, 2]}
    ),
    "edges too far apart": lambda _: survey(
        {"id": "d", "type": "amount", "edges": [-1.7e308, 1.7e308]}
    ),
    "a memoized amount": lambda _: question(type="amount", edges=[0, 1], randomizer=MEMOIZED),
    "an amount drawn once": lambda _: question(type="amount", edges=[0, 1], memoized=True),
    "a text drawn once": lambda _: survey(TEXT | {"memoized": True}),
    "several rows of memoized responses": lambda _: survey(ONCE, rows_per_person=2),
    "memoized as text": lambda _: question(memoized="yes"),
    "a randomizer beside memoized": lambda _: question(
        randomizer={"kind": "warner", "spinner": 0.8}, memoized=True
    ),
    "an open question drawn once": lambda _: survey(YESNO, ONCE | {"open": True}),
    "copies of what is drawn once": lambda _: survey(ONCE, copies=3),
    "copies of a message of what is drawn once": lambda _: survey(
        YESNO, ONCE, message=[{"questions": ["a"]}, {"questions": ["o"], "copies": 2}]
    ),
    "two messages of what is drawn once": lambda _: survey(
        ONCE, message=[{"questions": ["o"]}, {"questions": ["o"]}]
    ),
    "a message of what is drawn once and other questions": lambda _: survey(
        YESNO, ONCE, message=[{"questions": ["a", "o"]}]
    ),
    "edges as words": lambda _: survey({"id": "d", "type": "number", "edges": ["a", "b"]}),
    "blocks of 15": lambda _: survey(TEXT | {"block": 15}),
    "text with another device": lambda _: survey(
        TEXT | {"randomizer": {"kind": "warner", "spinner": 0.8}}
    ),
    "k-ary of a yes/no question": lambda _: survey(
        YESNO | {"randomizer": {"kind": "k-ary", "keep": 0.7}}
    ),
    "a device of too many options": lambda _: survey(
        options(1001) | {"randomizer": {"kind": "warner", "spinner": 0.8}}
    ),
    "cells as text": lambda _: survey(message=[{"questions": ["a"], "cells": "yes"}]),
    "cells of a text question": cells(YESNO, TEXT),
    "cells of a question with a device": cells(
        YESNO, B | {"randomizer": {"kind": "warner", "spinner": 0.8}}
    ),
    "cells of two questions with several answers": cells(
        several_options("s"), several_options("r")
    ),
    "cells of memoized and other questions": cells(YESNO, REMEMBERED),
    "cells of what is drawn once and other questions": cells(YESNO, ONCE),
    "parities that are no cells": parities({"questions": ["a", "b"], "parities": True}),
    "parities of one question": parities({"questions": ["a"], "cells": True, "parities": True}),
    "parities of three answers": parities(
        {"questions": ["a", "c"], "cells": True, "parities": True}
    ),
    "parities of what no cells tell": parities(
        {"questions": ["a", "b"], "cells": True, "parities": True}, bits=()
    ),
    "more cells than can be numbered": cells(*[options(900, id=f"c{n}") for n in range(4)]),
    "cells in copies": lambda _: survey(message=[{"questions": ["a"], "cells": True, "copies": 2}]),
    "a joint report of too many options": lambda _: survey(
        YESNO, options(1001), message=[{"questions": ["a", "c"]}]
    ),
    "a device as text": lambda _: question(randomizer="warner"),
    "an unknown device": lambda _: question(randomizer={"kind": "coin"}),
    "an unknown number of a device": lambda _: question(randomizer={"kind": "warner", "p": 0.8}),
    "a device without numbers": lambda _: question(randomizer={"kind": "warner"}),
    "a device with two numbers": lambda _: question(
        randomizer={"kind": "simmons", "unrelated": 0.5, "noise": 0.1}
    ),
    "memoized without a permanent stage": lambda _: question(
        randomizer={"kind": "warner", "spinner": 0.8, "memoized": True}
    ),
    "noise above a half": lambda _: question(randomizer={"kind": "bit flip", "noise": 0.5}),
    "everybody colludes": lambda _: survey(colluding=99),
    "many rows a person": lambda _: survey(rows_per_person=60),
    "a table of nothing": lambda _: survey(table=[{"questions": []}]),
    "a table of an unknown question": lambda _: survey(table=[{"questions": ["b"]}]),
    "a table of a question twice": lambda _: survey(table=[{"questions": ["a", "a"]}]),
    "a table of text and another": lambda _: survey(YESNO, TEXT, table=[{"questions": ["a", "t"]}]),
    "a message of memoized and other questions": lambda _: survey(
        YESNO, REMEMBERED, message=[{"questions": ["a", "m"]}]
    ),
    "regressions as text": lambda _: survey(regression="a on b"),
    "a regression with a slip": regression(outcmoe="a"),
    "a regression on nothing": regression(on=[]),
    "a regression on text": regression(on="b"),
    "a wanted regression of no question": regression(outcome="aa"),
    "a wanted regression on itself": regression(on=["a", "b"]),
    "a wanted regression on a text question": regression(TEXT, on=["t"]),
    "a wanted regression of what is open": regression(TOWN, outcome="town"),
    "a wanted regression of an unknown family": regression(family="probit"),
    "references as text": regression(reference="b"),
    "a wanted reference that is no answer": regression(reference={"b": "maybe"}),
    "scores as words": regression(scores=["few", "many"]),
    "wanted merges of no answer": regression(merge={"b": [["yes", "maybe"]]}),
    "a wanted penalty that is not known": regression(penalty="lasso"),
    "wanted scores of no predictor": regression(predictor_scores={"b": [1, 2]}),
    "a regression of memoized and other questions": regression(REMEMBERED, on=["m"]),
    "a regression across messages": regression(
        message=[{"questions": ["a"]}, {"questions": ["b"]}]
    ),
    "explore beside copies": lambda _: survey(copies=2, explore=0.1),
    "explore beside joint reports": lambda _: survey(tables="any", explore=0.1),
    "a share of all to explore": lambda _: survey(explore=1.0),
    "other tables": lambda _: survey(tables="all"),
    "any table of fixed messages": lambda _: survey(tables="any", message=[{"questions": ["a"]}]),
    "pairs in no message": lambda _: survey(
        YESNO, B, tables="pairs", message=[{"questions": ["a"]}, {"questions": ["b"]}]
    ),
    "weights of no question": lambda _: survey(weights=["b"]),
    "weights of words": lambda _: survey(YESNO, TEXT, weights=["t"]),
    "weights that devices remember": lambda _: survey(YESNO, ONCE, weights=["o"]),
    "two ways of grouping": lambda _: survey(copies=2, reports_per_person=3),
    "a question in no message": lambda _: survey(
        YESNO, YESNO | {"id": "b"}, message=[{"questions": ["a"]}]
    ),
    "wording as a number": lambda _: question(text=1),
    "wording in no language": lambda _: question(text={"d e": "a"}),
    "wording without the survey's language": lambda _: question(text={"de": "a"}),
    "a label of no answer": lambda _: question(labels={"maybe": "a"}),
    "two answers with one label": lambda _: question(labels={"no": "a", "yes": "a"}),
    "labels as text": lambda _: question(labels="a"),
    "shares as a list": lambda _: question(shares=[0.9, 0.1]),
    "shares as words": lambda _: question(shares={"yes": "few", "no": "most"}),
    "a share of what is not an answer": lambda _: question(shares={"yes": 0.1, "maybe": 0.9}),
    "a share above one": lambda _: question(shares={"yes": 10, "no": 90}),
    "expected shares that do not sum to one": lambda _: question(shares={"yes": 0.1, "no": 0.8}),
    "shares without two of the answers": lambda _: question(optional=True, shares={"yes": 0.1}),
    "shares of an open question": lambda _: survey(YESNO, TOWN | {"shares": {"yes": 0.5}}),
    "shares of words": lambda _: survey(TEXT | {"shares": {"cat": 0.5}}),
    "shares without an option": several(shares={"x": 0.5}),
    "an option more common than answers": several(
        optional=True, shares={"x": 0.8, "y": 0.1, "no answer": 0.4}
    ),
    "more options than are allowed": several(at_most=1, shares={"x": 0.8, "y": 0.8}),
    "a language that is none": lambda _: survey(language="plain English"),
    "messages as text": lambda _: survey(message="a"),
}
