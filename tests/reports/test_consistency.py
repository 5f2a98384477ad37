"""The figures of a tally are possible together, and with the number of people."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import incrowd
from incrowd.errors import ReportsError
from incrowd.plans.digests import read_json, sealed
from incrowd.reports import consistency
from incrowd.reports.consistency import FALSE_ALARM, check_people, check_possible, sends
from incrowd.reports.tally_files import as_text, of_text
from tests.conftest import HOME, PEOPLE, PLAIN, one_in, planned, reports_of

TEXT = [{"id": "word", "type": "text", "block": 8, "cohorts": 4}]
OTHERS = [
    {"id": "m", "type": "multi", "options": ["x", "y", "z"], "at_most": 2, "optional": True},
    {"id": "k", "type": "choice", "options": ["x", "y", "z"]}
    | {"randomizer": {"kind": "k-ary", "epsilon": 1.0}},
    {"id": "n", "type": "number", "edges": [0, 1, 5], "optional": True},
]
# By the analysis that is quick: what is promised is not looked at.
ONCE = {"tables": "any", "privacy": {"epsilon": 3.0, "delta": 1e-3, "analysis": "blanket"}}
THRICE = {"copies": 3, "privacy": ONCE["privacy"]}


# --- figures that are possible together ----------------------------------------------------------


@pytest.mark.parametrize("kind", one_in(3, ["singles", "pairs", "patterns"]))
@pytest.mark.parametrize(
    ("questions", "sent"),
    one_in(
        2,
        [
            *itertools.product([PLAIN, OTHERS, TEXT], [ONCE, THRICE]),
            (PLAIN, {"message": [{"questions": ["a", "b"], "cells": True}]}),
            (HOME, {}),
        ],
    ),
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else value[0]["id"],
)
def test_what_was_counted_is_possible(questions, sent, kind):
    """Of every kind of question and count, the whole and each part, through a file."""
    pairs = [[q["id"] for q in questions[i : i + 2]] for i in range(len(questions) - 1)]
    plan = planned(questions, pairs, **sent)
    (reports,) = reports_of(plan)
    half = len(reports) // 2
    parts = (
        replace(reports, packed=reports.packed[:half]),
        replace(reports, packed=reports.packed[half:], part=1, people=reports.people and 0),
    )
    tallies = [incrowd.count(plan, part, kind=kind) for part in (reports, *parts)]
    for tally in (*tallies, tallies[1] + tallies[2]):
        check_possible(plan, tally)
        check_possible(plan, of_text(as_text(tally)))
    check_people(plan, tallies[0])


def resealed(tally, change):
    """A tally of somebody who makes a new digest for what was changed."""
    data = json.loads(as_text(tally))
    change(data, {tuple(t["questions"]): t["counts"] for t in data["messages"]["0"]["tables"]})
    data.pop("digest")
    try:
        return json.dumps(sealed(read_json(json.dumps(data))))
    except ValueError:  # there is no canonical JSON of it
        return json.dumps(data | {"digest": "0" * 64})


def more(place, by, *tables):
    def change(_, counts):
        for ids in tables:
            counts[ids][place] += by

    return change


def in_message(key, value):
    return lambda data, _: data["messages"]["0"].update({key: value})


LIES = {
    "accepted": in_message("accepted", 5000),
    "rejected": in_message("rejected", -1),
    "declared": in_message("declared", -1),
    "tables": in_message("tables", []),
    "negative": more(1, -400, ("a",)),
    "beyond the reports": more(1, 400, ("a",)),
    "first": more(0, 1, ("a",)),
    "another margin": more(1, 1, ("a",)),
    "a cell above its margins": more(5, 200, ("a", "b")),
    "a cell below what its margins leave": lambda _, counts: counts[("a", "b")].__setitem__(
        slice(None), [300, 290, 290, 290, 290, 1, 1, 1]
    ),
    "another message": lambda data, _: data["messages"].update({"1": data["messages"].pop("0")}),
    "another shape": lambda data, _: data["messages"]["0"]["tables"][0].update(shape=[1, 2]),
    "another table": lambda data, _: data["messages"]["0"]["tables"][0].update(questions=["b"]),
}


@pytest.mark.parametrize("change", LIES.values(), ids=LIES)
def test_a_tally_that_no_reports_can_give_is_refused(plain_plan, change):
    """Also with a digest that fits: the figures are not possible together."""
    tally = incrowd.count(plain_plan, reports_of(plain_plan))
    assert incrowd.estimate(plain_plan, of_text(resealed(tally, lambda *_: None))).tables
    with pytest.raises(ReportsError):
        incrowd.estimate(plain_plan, of_text(resealed(tally, change)))


@pytest.mark.parametrize(
    "change",
    [
        more(1, 2**63, ("a",)),
        more(1, 0.5, ("a",)),
        in_message("accepted", 2**63),
        in_message("accepted", True),
        in_message("accepted", "300"),
        in_message("tables", None),
        lambda data, _: data.update(tables=[[["a"]]]),
        lambda data, _: data.update(tables=[[]]) or data.pop("tables"),
        lambda data, _: data.update(parts=[["a"]]),
        lambda data, _: data.update(plan=["a"]),
        lambda data, _: data.update(messages=[]),
        lambda data, _: data.update(messages={"-1": data["messages"]["0"]}),
        lambda data, _: data.update(messages={"zero": data["messages"]["0"]}),
        lambda data, _: data.update(simulation_seed=-1),
        lambda data, _: data.update(persons="all"),
        lambda data, _: data["messages"]["0"]["tables"][0].update(shape=[-1]),
        lambda data, _: data["messages"]["0"]["tables"][0].update(counts=[]),
        lambda data, _: data["messages"]["0"]["tables"][0].update(counts=[[1], [1, 2]]),
        lambda data, _: data["messages"]["0"]["tables"][0].update(counts=[None, 1]),
    ],
)
def test_what_is_no_tally_is_refused(plain_plan, change):
    tally = incrowd.count(plain_plan, reports_of(plain_plan))
    with pytest.raises(ReportsError, match="is not a tally"):
        of_text(resealed(tally, change))


@pytest.mark.parametrize(
    "text", ["", "7", "[]", "null", "{}", "[" * 10**6, '{"a":' * 10**6, "NaN", '{"format": []}']
)
def test_other_texts_are_no_tallies(text):
    with pytest.raises(ReportsError, match="tally"):
        of_text(text)


def test_every_edit_of_a_tally_is_seen(plain_plan):
    """Each number changed by one, and each text; the unchanged file is read without a word."""
    text = as_text(incrowd.count(plain_plan, reports_of(plain_plan)))
    of_text(text)
    data = json.loads(text)
    seen = 0
    for place in range(len(data["messages"]["0"]["tables"])):
        for index in range(len(data["messages"]["0"]["tables"][place]["counts"])):
            changed = json.loads(text)
            changed["messages"]["0"]["tables"][place]["counts"][index] += 1
            with pytest.raises(ReportsError, match="edited or damaged"):
                of_text(json.dumps(changed))
            seen += 1
    for key, value in [("plan", "0" * 64), ("persons", "ids"), ("simulation_seed", None)]:
        with pytest.raises(ReportsError, match="edited or damaged"):
            of_text(json.dumps(data | {key: value}))
    with pytest.raises(ReportsError, match="edited or damaged"):
        of_text(json.dumps({key: value for key, value in data.items() if key != "digest"}))
    assert seen == 2 + 4 + 8


# --- people and the reports they send ------------------------------------------------------------


def cells_of(questions):
    return {"questions": [question["id"] for question in questions], "cells": True}


FIVE = {"id": "q", "type": "choice", "options": list("abcde")}
SOME = FIVE | {"type": "multi", "at_most": 3}
SICK = {"id": "sick", "type": "yesno"}


@pytest.mark.parametrize("people", one_in(2, [1, 5, 60, 900]))
@pytest.mark.parametrize(
    ("questions", "cells", "fewest", "most"),
    one_in(
        4,
        [
            ([FIVE], 5, 1, 1),
            ([SOME], 5, 0, 3),
            ([SICK], 1, 0, 1),
            ([SICK, FIVE], 10, 1, 1),
            ([SICK, SOME], 12, 1, 4),  # ten cells, and "any" for yes and for no
            ([FIVE | {"type": "multi", "at_most": 1}], 6, 1, 1),  # and "none chosen"
        ],
    ),
    ids=["choice", "multi", "one bit", "crossed", "multi crossed", "multi of one"],
)
def test_the_right_number_of_people_is_hardly_ever_impossible(
    people, questions, cells, fewest, most, monkeypatch
):
    """Whatever they answer: the number of reports is a sum of two binomials, listed exactly. Wrong:
    a bound for a false alarm of 1e-9 that is one of 1e-3 exceeds what is promised."""
    message = planned(questions, crowd=1000, message=[cells_of(questions)]).messages[0]
    p, q = message.noise.p, message.noise.q

    def alarms():
        low, high = sends(message, people)
        for each in range(2 * fewest, 2 * most + 1):
            chosen = each * people // 2
            others = people * cells - chosen
            law = np.convolve(
                binom.pmf(np.arange(chosen + 1), chosen, p),
                binom.pmf(np.arange(others + 1), others, q),
            )
            sent = np.arange(len(law))
            yield max(law[sent < low].sum(), law[sent > high].sum())

    assert max(alarms()) <= FALSE_ALARM
    monkeypatch.setattr(consistency, "FALSE_ALARM", 1e-3)
    if people == 900 and cells > 1:  # of one bit the bound is wide: there are few reports
        assert max(alarms()) > FALSE_ALARM


def test_people_who_were_not_there_are_seen(cells_plan):
    (reports,) = reports_of(cells_plan)
    assert incrowd.verify(cells_plan, reports).impossible_people == ()
    assert incrowd.estimate(cells_plan, reports).guarantee.crowd == PEOPLE
    fewer = replace(reports, packed=reports.packed[: len(reports) // 3])
    found = incrowd.verify(cells_plan, fewer)
    (wrong,) = found.impossible_people
    assert (wrong.people, wrong.reports) == (PEOPLE, len(fewer)) and wrong.reports < wrong.low
    assert not found.holds
    with pytest.raises(ReportsError, match="300 people send at least"):
        incrowd.estimate(cells_plan, fewer)


def test_too_many_reports_for_the_people_are_said(cells_plan):
    """They promise nothing that is not kept; `verify` says it."""
    (reports,) = reports_of(cells_plan)
    (wrong,) = incrowd.verify(cells_plan, replace(reports, people=100)).impossible_people
    assert wrong.reports > wrong.high
