"""What is said of known margins, and of tables that are weighted to them."""

from functools import cache

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.estimation.weighting.margins import MarginCells, raked
from tests.messages.shared import YESNO, file, made, options, reports, survey
from tests.messages.strata import DRINKS, FACULTY

MULTI = options(3, type="multi", at_most=2)
WIDE = options(60)
TEXT = {"id": "t", "type": "text", "block": 16, "cohorts": 4}
EVEN = {f"o{number}": 1 for number in range(60)}
LAW = {"law": 1, "arts": 1}


def given(margins, *questions):
    """Margins that are looked at before any report."""
    asked = survey(*(questions or (YESNO,)))
    return lambda _: incrowd.estimate(incrowd.plan(asked), [], margins=margins)


def read(name, text):
    return lambda folder: incrowd.load_margins(file(folder, name, text))


@cache
def plan():
    faculty = FACULTY | {"options": ["law", "arts", "music"]}
    return incrowd.plan(survey(YESNO, DRINKS, faculty, crowd=100))


@cache
def sent():
    """200 people in law, 150 in arts, nobody in music, who drink x."""
    faculty = np.repeat(["law", "arts"], [200, 150])
    table = pa.table({"faculty": faculty, "a": ["yes", "no"] * 175, "drinks": ["x"] * 350})
    return incrowd.randomize(plan(), table, simulation_seed=1)


def weighted(margins, table="a"):
    return lambda _: incrowd.estimate(plan(), sent(), tables=[[table]], margins=margins)


def silent(function, *arguments):
    """A comparison of two questions that hardly anybody answered."""

    def call(_):
        questions = [YESNO | {"id": id, "optional": True} for id in ("a", "b")]
        asked = incrowd.plan(survey(*questions, crowd=100, table=[{"questions": ["a", "b"]}]))
        table = pa.table({id: ["yes"] + [None] * 99 for id in ("a", "b")})
        function(asked, incrowd.randomize(asked, table, simulation_seed=1), *arguments)

    return call


def filtered(_):
    """A comparison of a question with the one that decides whether it is asked."""
    asked = incrowd.plan(survey(YESNO, DRINKS | {"asked_if": "a = yes"}, tables="any"))
    incrowd.compare(asked, [], "a", "drinks")


def apart(_):
    """Questions of two messages."""
    messages = [{"questions": ["a"]}, {"questions": ["c"]}]
    asked = incrowd.plan(survey(YESNO, options(2), message=messages))
    incrowd.estimate(asked, [], tables=[["c"]], margins={"a": {"no": 1, "yes": 1}})


def wide(*more):
    """Wide questions, and margins of all but the first."""
    asked = incrowd.plan(survey(WIDE, *more))
    table = pa.table({question["id"]: ["o1", "o2"] * 50 for question in (WIDE, *more)})
    known = {question["id"]: EVEN for question in more}
    incrowd.estimate(asked, incrowd.randomize(asked, table), tables=[["c"]], margins=known)


CASES = {
    "no file of margins": lambda folder: incrowd.load_margins(folder / "none.toml"),
    "margins that are no text": read("m.toml", b"\xff"),
    "margins that are no TOML": read("m.toml", "[a"),
    "margins with other columns": read("m.csv", "a,b\n1,2\n"),
    "an answer of margins twice": read("m.csv", "question,answer,share\na,no,1\na,no,1\n"),
    "a share that is text": read("m.csv", "question,answer,share\na,no,half\n"),
    "no margins": given({}),
    "a margin without answers": given({"a": 0.5}),
    "a margin of an unknown question": given({"z": {"no": 1}}),
    "a margin of a question twice": given({"a | a": {"no | no": 1}}),
    "a margin of options that overlap": given({"c": {"o1": 1}}, MULTI),
    "an unknown answer of a margin": given({"a": {"no": 1, "maybe": 1}}),
    "a share of a margin that is text": given({"a": {"no": "half", "yes": 0.5}}),
    "a share of a margin that is zero": given({"a": {"no": 0, "yes": 1}}),
    "shares that do not sum to one": given({"a": {"no": 0.5, "yes": 0.4}}),
    "percentages that do not sum to 100": given({"a": {"no": 52, "yes": 47}}),
    "margins of other numbers of people": given(
        {"a": {"no": 300, "yes": 400}, "b": {"no": 500, "yes": 600}}, YESNO, YESNO | {"id": "b"}
    ),
    "margins of another message": apart,
    "margins of three wide questions": lambda _: wide(WIDE | {"id": "d"}, WIDE | {"id": "e"}),
    "margins of two wide questions": lambda _: wide(WIDE | {"id": "d"}),
    "a comparison with what decides a condition": filtered,
    "merged answers of no table": lambda _: incrowd.estimate(
        plan(), sent(), merge={"a": [["no", "maybe"]]}
    ),
    "weights of words to a margin with noise": lambda _: incrowd.estimate(
        incrowd.plan(survey(YESNO, TEXT)),
        [],
        tables=[["t"]],
        margins={"a": {"no": 1, "yes": 1}},
    ),
    "words of those who answered": lambda _: incrowd.estimate(
        incrowd.plan(survey(YESNO, TEXT | {"optional": True})),
        [],
        tables=[["t"]],
        of_those_who_answered=True,
    ),
    "a margin without an answer": weighted({"drinks": {"x": 1, "y": 1}}),
    "a margin of a stratum that was not released": weighted({"faculty": LAW | {"music": 1}}),
    "a margin of an answer that nobody gave": weighted({"drinks": {"x": 1, "y": 1, "z": 1}}),
    "margins that cannot be met": lambda _: raked(
        np.array([0.5, 0.0, 0.0, 0.5]),
        [
            MarginCells("a", ("no", "yes"), np.array([0.6, 0.4]), np.eye(2).repeat(2, axis=1)),
            MarginCells("b", ("x", "y"), np.array([0.4, 0.6]), np.tile(np.eye(2), 2)),
        ],
    ),
    "hardly anybody answered": silent(incrowd.compare, "a", "b"),
    "hardly anybody answered the questions of a share": silent(
        incrowd.compare_shares, {"a": "yes"}, {"b": "yes"}
    ),
    "a share of no question": lambda _: incrowd.compare_shares(made(), reports(), {}, {"a": "yes"}),
    "a share of no answer": lambda _: incrowd.compare_shares(
        made(), reports(), {"a": "yes"}, {"a": "maybe"}
    ),
    "a share of an open question": lambda _: incrowd.compare_shares(
        incrowd.plan(survey(YESNO, FACULTY)), [], {"a": "yes"}, {"faculty": "law"}
    ),
    "a reference of a comparison that is no answer": lambda _: incrowd.compare(
        made(), reports(), "a", "b", reference="maybe"
    ),
}
