"""Strata: their names, who is in which, and which are released; one rule for files and networks."""

import json
from datetime import datetime
from itertools import product
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import incrowd
from incrowd.collection.mixer.keeper import due
from incrowd.collection.mixer.store.store import StratumState
from incrowd.collection.mixer.store.writing import OPEN
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import PlanError
from incrowd.plans.strata import grouped, label, left_out, releases, releases_by_answer, strata
from incrowd.presentation.guarantee_text import assumption_text

FACULTY = {"id": "faculty", "type": "choice", "options": ["law", "arts"], "open": True}
ABROAD = {"id": "abroad", "type": "yesno", "open": True}
SICK = {"id": "sick", "type": "yesno"}
CLOSES = "2026-11-30T00:00:00Z"


def survey(*questions, **more):
    privacy = {"epsilon": 2.0, "analysis": "local"}
    raw = {"name": "S", "crowd": 50, "privacy": privacy, "question": [*questions]}
    return incrowd.Survey.of(raw | more)


def test_strata_are_the_combinations_of_open_answers_in_the_order_of_the_survey():
    assert strata(survey(SICK)) == ()
    assert strata(survey(SICK, FACULTY)) == ("law", "arts")
    both = survey(FACULTY, SICK, ABROAD | {"optional": True})
    assert strata(both) == tuple(
        f"{a} / {b}" for a, b in product(["law", "arts"], ["no", "yes", "no answer"])
    )


@pytest.mark.parametrize("optional", [False, True])
def test_the_stratum_of_a_row_is_named_by_its_answers(optional):
    asked = survey(FACULTY, SICK, ABROAD | {"optional": optional})
    rows = list(product(["law", "arts"], ["no", "yes"] + ["no answer"] * optional))
    abroad = [None if b == "no answer" else b for _, b in rows]
    columns = {"faculty": [a for a, _ in rows], "abroad": abroad, "sick": ["no"] * len(rows)}
    numbers = EncodedAnswers.of(asked, pa.table(columns)).strata(asked)
    assert [strata(asked)[n] for n in numbers] == [f"{a} / {b}" for a, b in rows]


def test_nothing_of_it_stands_in_a_plan_without_open_questions():
    """So that digests of plans from before there were strata stay what they were."""
    text = incrowd.plan(survey(SICK)).dumps()
    assert not {"open", "small_strata"} & set(json.loads(text)["plan"]["survey"])
    assert "open" not in json.loads(text)["plan"]["survey"]["question"][0]


def test_a_plan_keeps_its_open_questions():
    made = incrowd.plan(survey(SICK, FACULTY, small_strata="merge"))
    assert incrowd.Plan.loads(made.dumps()) == made
    assert [message.ids for message in made.messages] == [("sick",)]
    assert made.survey.small_strata == "merge" and made.survey.open[0].id == "faculty"
    assert "does not cover faculty, which is sent openly" in assumption_text(made.guarantee)


def test_a_plan_that_hides_what_it_does_not_cover_does_not_hold():
    made = incrowd.plan(survey(SICK, FACULTY))
    silent = incrowd.plan(survey(SICK)).guarantee.assumptions
    said = made.guarantee.model_copy(update={"assumptions": silent})
    assert incrowd.verify(made).plan_holds
    assert not incrowd.verify(made.model_copy(update={"guarantee": said})).plan_holds


def test_an_open_question_in_a_message_makes_no_plan():
    content = json.loads(incrowd.plan(survey(SICK, FACULTY)).dumps())
    content["plan"]["messages"][0]["questions"].append("faculty")
    with pytest.raises(PlanError):
        incrowd.Plan.loads(json.dumps(content))


# --- which strata are released --------------------------------------------------------------------

COUNTS = some.dictionaries(some.integers(0, 9), some.integers(0, 40), max_size=10)
LEAST, RULE = some.integers(2, 40), some.sampled_from(["delete", "merge"])


@given(people=COUNTS, least=LEAST, rule=RULE)
@settings(deadline=None, derandomize=True)
def test_no_release_is_small_and_no_small_stratum_is_released_by_itself(people, least, rule):
    found = releases(people, least, rule)
    members = [number for group in found for number in group]
    assert len(set(members)) == len(members)
    for group in found:
        assert sum(people[number] for number in group) >= least
        assert len(group) == 1 or (rule == "merge" and max(people[n] for n in group) < least)
        assert min(people[number] for number in group) > 0
    assert {n for n in people if people[n] >= least} <= set(members)
    rest = sum(people[number] for number in people if number not in members)
    assert rule == "delete" or rest < least


@given(
    counts=some.lists(some.integers(0, 120), min_size=4, max_size=4),
    rule=RULE,
)
@settings(deadline=None, derandomize=True)
def test_files_and_the_network_release_the_same_strata(counts, rule):
    asked = survey(FACULTY, SICK, ABROAD, small_strata=rule)
    numbers = np.repeat(np.arange(4), counts)
    np.random.default_rng(0).shuffle(numbers)
    bundle = SimpleNamespace(
        closes=CLOSES, enough=None, least_people=asked.crowd, small_strata=asked.small_strata
    )
    stored = [StratumState(number, OPEN, None, people) for number, people in enumerate(counts)]
    assert grouped(asked, numbers, asked.crowd) == due(
        stored, datetime.fromisoformat(CLOSES), bundle
    )


# --- what releases say of open questions ----------------------------------------------------------

BOTH = survey(FACULTY, SICK, ABROAD, small_strata="merge")
ALL = [(name,) for name in strata(BOTH)]


def test_answers_are_told_apart_as_far_as_releases_do():
    assert releases_by_answer(BOTH, ["faculty"], ALL) == {"law": ALL[:2], "arts": ALL[2:]}
    assert list(releases_by_answer(BOTH, ["faculty", "abroad"], ALL)) == list(strata(BOTH))
    merged = [ALL[0], ("law / yes", "arts / no"), ALL[3]]
    assert list(releases_by_answer(BOTH, ["faculty"], merged)) == ["law + arts"]
    assert list(releases_by_answer(BOTH, ["faculty", "abroad"], merged)) == [
        "law / no",
        "law / yes + arts / no",
        "arts / yes",
    ]
    assert left_out(BOTH, merged[:2]) == ("arts / yes",)
    assert label(merged[1]) == "law / yes + arts / no"


@given(cut=some.lists(some.sampled_from([0, 1, 2, 3]), min_size=4, max_size=4))
@settings(deadline=None, derandomize=True)
def test_every_release_is_read_once_and_answers_are_disjoint(cut):
    """cut: which release each stratum is in; 3 is none."""
    names = strata(BOTH)
    released = [tuple(n for n, c in zip(names, cut, strict=True) if c == r) for r in range(3)]
    released = [group for group in released if group]
    for ids in (["faculty"], ["abroad"], ["faculty", "abroad"]):
        found = releases_by_answer(BOTH, ids, released)
        assert sorted(g for groups in found.values() for g in groups) == sorted(released)
        answers = [one for each in found for one in each.split(" + ")]
        assert len(set(answers)) == len(answers)
