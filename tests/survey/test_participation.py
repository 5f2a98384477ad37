"""How many people are invited, and the crowd that follows from it."""

import math
import warnings
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import incrowd
from incrowd.errors import SurveyError
from incrowd.plans import Plan
from incrowd.presentation.advice import people_lines
from incrowd.survey import Survey
from incrowd.survey.participation import COUNTED_ON, crowd_of, least_reserve, people_of_release

YESNO = {"id": "a", "type": "yesno"}
DEPARTMENT = {"id": "d", "type": "choice", "options": ["law", "arts", "music"], "open": True}


def survey(*questions, privacy=(), **people):
    return Survey.of(
        {
            "name": "A",
            "privacy": {"epsilon": 1.0} | dict(privacy),
            "people": {"invited": 450, "expected": 0.6} | people,
            "question": [*questions, YESNO],
        }
    )


def largest_crowd(answers):
    """By trying: the largest crowd whose release needs at most four fifths of the answers."""
    fits = (n for n in range(2, answers) if 5 * (n + max(20, math.ceil(n / 100))) <= 4 * answers)
    return max(fits, default=0)


@pytest.mark.parametrize("answers", [28, 29, 30, 100, 270, 2524, 2525, 2526, 2600, 2651, 10_000])
def test_the_crowd_is_the_largest_whose_release_four_fifths_of_the_answers_reach(answers):
    assert crowd_of(answers) == largest_crowd(answers)


@given(st.integers(28, 10**13))
def test_a_release_needs_at_most_four_fifths_of_the_answers(answers):
    crowd = crowd_of(answers)
    assert 2 <= crowd <= people_of_release(crowd) <= COUNTED_ON * answers
    assert crowd + 1 + least_reserve(crowd + 1) > COUNTED_ON * answers - 1


def test_more_answers_never_make_the_crowd_smaller():
    crowds = [crowd_of(n) for n in range(28, 6000)]
    assert all(one <= other for one, other in pairwise(crowds))


def test_the_crowd_of_the_works_council():
    # 450 colleagues, of whom 270 answer; 216 are counted on, 20 of them for the reserve.
    assert survey().crowd == 196
    assert survey(expected="60%").crowd == survey(expected="60 %").crowd == 196
    assert not survey().census
    assert survey(everybody=True).census


def test_a_stated_crowd_is_kept():
    stated = Survey.of(
        {**survey().model_dump(by_alias=True), "people": {"invited": 450, "expected": 1}}
    )
    assert stated.crowd == 196


def stating(crowd, **more):
    """A survey of 450 people who all answer, with a crowd of its own."""
    keys = {"crowd": crowd, "people": {"invited": 450, "expected": 1.0}}
    return Survey.of(survey(privacy={"analysis": "local"}).model_dump(by_alias=True) | keys | more)


@pytest.mark.parametrize(("crowd", "needed"), [(430, 450), (431, 451), (450, 470)])
def test_a_crowd_whose_reserve_nobody_is_left_for_is_warned_of(crowd, needed):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        planned = incrowd.plan(stating(crowd))
    told = [str(each.message) for each in caught]
    lines = list(people_lines(stating(crowd), planned))
    assert f"needs {needed}: the crowd of {crowd} and a reserve of 20" in lines[0]
    if needed <= 450:
        assert told == [] and len(lines) == 1
        return
    [line] = told
    start = f"crowd: got {crowd}; a release over a network needs {needed} people"
    assert line.startswith(start) and "a reserve of 20, but only 450 are invited" in line
    assert len(lines) == 1  # that nothing is released is not only probable


def test_no_reserve_is_needed_for_several_rows_of_a_person():
    assert stating(450).unreachable_release
    assert stating(450, rows_per_person=2).unreachable_release is None
    assert survey().unreachable_release is None


def test_services_count_on_no_crowd():
    assert survey(privacy={"noise": "services"}).crowd == 270
    # They may turn out to be the devices: the promise must hold then, too.
    assert survey(privacy={"noise": "auto"}).crowd == 196


def test_the_smallest_group_decides():
    equal = survey(DEPARTMENT)
    assert equal.expected_answers == (270, 90, 3, True, "")
    assert equal.crowd == largest_crowd(90)
    groups = {"law": 300, "arts": 90, "music": 60}
    named = survey(DEPARTMENT, groups=groups)
    assert named.expected_answers == (270, 36, 3, False, "music")
    assert named.crowd == largest_crowd(36)


def test_an_empty_group_is_nobodys():
    two = survey(DEPARTMENT, groups={"law": 300, "arts": 150, "music": 0})
    assert two.expected_answers == (270, 90, 2, False, "arts")


def test_a_plan_does_not_say_who_is_invited():
    stated = survey(privacy={"analysis": "local"})  # which needs no search
    planned = incrowd.plan(stated)
    assert planned.survey.people is None
    assert planned.survey == stated.as_planned
    assert "invited" not in planned.dumps()
    assert Plan.loads(planned.dumps()) == planned
    assert "people" not in stated.model_dump()


def test_all_mistakes_are_reported_at_once():
    with pytest.raises(SurveyError) as error:
        survey({"id": "a"}, expected=60, invited=1)
    places = {problem.path[:2] for problem in error.value.problems}
    assert {("people", "expected"), ("people", "invited"), ("question", 0)} <= places
    assert not any(problem.path == ("crowd",) for problem in error.value.problems)
