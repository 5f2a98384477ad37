"""What is said of open questions and their strata: of surveys, reports, tallies and collections."""

import json
from dataclasses import replace
from functools import cache
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv

import incrowd
from incrowd.collection import rehearsal
from incrowd.collection.device.device import strata_of
from incrowd.collection.mixer.init import make_bundle
from incrowd.encoding.records import EncodedAnswers
from incrowd.planner.forecast import people_needed
from incrowd.plans.digests import sealed
from incrowd.reports.collection import write_reports
from incrowd.reports.tally_files import as_text, of_text
from incrowd.sampling import randomize as randomizing
from tests.conftest import grouped
from tests.messages.shared import YESNO, question, survey
from tests.oracles.terms import stated

FACULTY = {"id": "faculty", "type": "choice", "options": ["law", "arts"], "open": True}
SICK = {"id": "sick", "type": "yesno"}
DRINKS = {"id": "drinks", "type": "choice", "options": ["x", "y", "z"]}
WORD = {"id": "t", "type": "text", "block": 16, "cohorts": 4}
MANY = [f"o{number}" for number in range(101)]


def opened(**changed):
    """A survey with one open question beside another, which is not as it should be."""
    return lambda _: survey(SICK, FACULTY | changed)


@cache
def plan(rule="delete"):
    asked = grouped([SICK, DRINKS | {"cells": True}, FACULTY])
    return incrowd.plan(
        survey(*asked["question"], message=asked["message"], crowd=100, small_strata=rule)
    )


def answers(law=150, arts=120):
    faculty = np.repeat(["law", "arts"], [law, arts])
    return pa.table(
        {"faculty": faculty, "sick": ["yes"] * len(faculty), "drinks": ["x"] * len(faculty)}
    )


@cache
def reports():
    return incrowd.randomize(plan(), answers(), simulation_seed=1)


def counted(strata, rule="delete"):
    """Reports that name other strata."""
    others = [replace(each, strata=strata, plan=plan(rule).digest) for each in reports()[:2]]
    return lambda _: incrowd.count(plan(rule), others)


def twice(_):
    """A stratum by itself, and with another."""
    made = plan("merge")
    known = [replace(each, plan=made.digest) for each in reports()]
    both = [replace(each, strata=("law", "arts")) for each in known[2:]]
    incrowd.estimate(made, [*known[:2], *both])


def without_strata(_):
    """A tally that tells no strata apart."""
    incrowd.estimate(plan(), replace(incrowd.count(plan(), reports()), strata={}))


def wide(_):
    options = [f"o{number}" for number in range(45)]
    made = incrowd.plan(
        survey(FACULTY | {"options": options}, DRINKS | {"options": options}, crowd=2)
    )
    answers = pa.table({"faculty": np.tile(options, 2), "drinks": np.tile(options, 2)})
    reports = incrowd.randomize(made, answers)
    incrowd.estimate(made, reports, tables=[["faculty", "drinks"]], covariance=True)


def many_files(folder):
    pa.csv.write_csv(answers(), folder / "a.csv")
    with (
        mock.patch.object(randomizing, "batch_rows", lambda _: 100),
        mock.patch.object(randomizing, "MOST_FILES", 2),
    ):
        randomizing.randomize_files(plan(), folder / "a.csv", folder / "reports")


def bundle():
    words = {"questions": {"faculty": "F?", "sick": "S?", "drinks": "D?"}}
    return make_bundle(plan(), stated(**words)).bundle


def no_names(folder):
    """A file that was written with something else than a list of names."""
    path = folder / "r.parquet"
    with mock.patch("incrowd.reports.collection.json.dumps", lambda _: '{"law": 1}'):
        write_reports(reports()[0], [reports()[0].packed], path)
    incrowd.load_reports(path)


def a_stratum_twice(_):
    """A tally whose file names the same strata in two places."""
    data = json.loads(as_text(incrowd.count(plan(), reports())))
    data["strata"].append(data["strata"][0])
    of_text(json.dumps(sealed({key: data[key] for key in data if key != "digest"})))


CASES = {
    "names that are none": no_names,
    "a stratum twice in a tally": a_stratum_twice,
    "open text": lambda _: question(type="text", open=True),
    "an open amount": lambda _: question(type="amount", edges=[0, 1], open=True),
    "an open number": lambda _: question(type="number", edges=[0, 1], open=True),
    "open options": lambda _: question(type="multi", options=["x", "y"], at_most=1, open=True),
    "open with a device": lambda _: question(
        randomizer={"kind": "warner", "spinner": 0.8}, open=True
    ),
    "open as text": opened(open="yes"),
    "all open": lambda _: survey(FACULTY),
    "an open question in a message": lambda _: survey(
        SICK, FACULTY, message=[{"questions": ["sick", "faculty"]}]
    ),
    "too many strata": lambda _: survey(
        SICK, FACULTY | {"options": MANY}, FACULTY | {"id": "b", "options": MANY}
    ),
    "an option like a stratum": lambda _: survey(
        SICK, FACULTY | {"options": ["a / b", "c"]}, YESNO | {"open": True}
    ),
    "a long name of a stratum": opened(options=["x" * 201, "y"]),
    "a rule without strata": lambda _: survey(small_strata="merge"),
    "another rule": lambda _: survey(SICK, FACULTY, small_strata="keep"),
    "no stratum": counted(()),
    "an unknown stratum": counted(("history",)),
    "strata that are not merged": counted(("law", "arts")),
    "strata of a plan without any": lambda _: incrowd.count(
        incrowd.plan(survey()), [replace(reports()[0], plan=incrowd.plan(survey()).digest, bits=1)]
    ),
    "a stratum in two releases": twice,
    "a tally without strata": without_strata,
    "a message that a stratum lacks": lambda _: incrowd.estimate(plan(), reports()[:3]),
    "no large stratum": lambda _: incrowd.randomize(plan(), answers(50, 20)),
    "too many collections at once": many_files,
    "words by an open question": lambda _: incrowd.estimate(
        incrowd.plan(survey(WORD, FACULTY)), [], tables=[["faculty", "t"]]
    ),
    "a covariance of many strata": wide,
    "how many people for what is open": lambda _: people_needed(
        plan(), ["faculty"], standard_error=0.01
    ),
    "post-processing what is open": lambda _: incrowd.postprocess(
        plan(), reports(), tables=[["faculty"]]
    ),
    "another stratum than the answers say": lambda _: strata_of(
        bundle(), EncodedAnswers.of(plan().survey, answers(1, 0)), "arts"
    ),
    "a bundle of other strata": lambda _: make_bundle(
        plan(), stated(questions={"faculty": "F?", "sick": "S?", "drinks": "D?"}, strata=("law",))
    ),
    "a bundle of another rule": lambda _: make_bundle(
        plan(),
        stated(questions={"faculty": "F?", "sick": "S?", "drinks": "D?"}, small_strata="merge"),
    ),
    "nothing to release in a rehearsal": lambda _: rehearsal._due(bundle(), np.zeros(20, np.int64)),
}
