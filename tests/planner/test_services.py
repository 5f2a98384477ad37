"""Plans in which services add the noise to the counts of tables."""

import json
import math

import pytest

import incrowd
from incrowd.errors import PrivacyError, SurveyError
from incrowd.planner.alternatives import alternatives
from incrowd.planner.plan import other_kind
from incrowd.planner.wanted import wanted_tables
from tests.conftest import slowly
from tests.oracles.random_surveys import random_survey

YES_NO = {"id": "smokes", "type": "yesno"}
FIVE = {"id": "unit", "type": "choice", "options": list("pqrst")}
THREE = {"id": "site", "type": "choice", "options": list("xyz")}
SETTINGS = {  # questions, people, joint tables; the most people of published noise
    "lone": ([YES_NO], 100, [], 0.86),
    "table": ([YES_NO, FIVE], 60, [["smokes", "unit"]], 1.93),
    "two tables": ([YES_NO, FIVE, THREE], 300, [["smokes", "unit"], ["unit", "site"]], 3.97),
}
WITH_EPSILON = {"lone": (1.4, 0.61), "table": (1.7, 1.37), "two tables": (2.3, 2.81)}


def small_survey(questions, people, tables=(), **privacy):
    return incrowd.Survey.of(
        {
            "name": "small",
            "crowd": people,
            "privacy": {"epsilon": 2.0, "delta": 1e-5, "noise": "services"} | privacy,
            "question": questions,
            "table": [{"questions": ids} for ids in tables],
        }
    )


def published_noise(plan):
    """The largest noise of a joint table, or of the only question, in people."""
    tables = incrowd.forecast(plan)
    joint = [each for each in tables if len(each.questions) > 1] or tables
    return max(each.noise_error for each in joint) * plan.survey.crowd


@pytest.mark.parametrize("name", SETTINGS)
def test_small_crowds_have_little_noise(name):
    questions, people, tables, most = SETTINGS[name]
    plan = incrowd.plan(small_survey(questions, people, tables))
    assert all(message.by_services for message in plan.messages)
    assert published_noise(plan) <= most
    assert plan.guarantee.crowd is None
    assert incrowd.verify(plan).plan_holds


@pytest.mark.parametrize("name", WITH_EPSILON)
def test_readers_get_the_precision_of_a_curator_if_a_service_may_learn_more(name):
    questions, people, tables, _ = SETTINGS[name]
    times, most = WITH_EPSILON[name]
    plan = incrowd.plan(small_survey(questions, people, tables, service_epsilon=2.0 * times))
    assert published_noise(plan) <= most
    assert plan.guarantee.service_epsilon == 2.0 * times
    assert plan.guarantee.epsilon == 2.0


@pytest.mark.parametrize("field", ["epsilon", "service_epsilon", "crowd", "local_epsilon"])
def test_a_plan_that_promises_something_else_is_refused(field):
    plan = incrowd.plan(small_survey([YES_NO], 100))
    wrong = {"epsilon": 1.9, "service_epsilon": 1.9, "crowd": 100, "local_epsilon": 8.0}[field]
    edited = plan.model_copy(update={"guarantee": plan.guarantee.model_copy(update={field: wrong})})
    if field == "local_epsilon":
        assert not incrowd.verify(edited).plan_holds
    else:
        with pytest.raises(incrowd.IncrowdError, match=field):
            incrowd.Plan.loads(edited.dumps())


def test_a_plan_with_less_noise_than_certified_does_not_hold():
    plan = incrowd.plan(small_survey([YES_NO], 100))
    law = type(plan.messages[0].added).laplace(2.6, most=12)
    less = plan.messages[0].model_copy(update={"added": law})
    assert not incrowd.verify(plan.model_copy(update={"messages": (less,)})).plan_holds


def test_a_plan_file_has_the_law_and_says_that_nothing_is_left():
    plan = incrowd.plan(small_survey([YES_NO], 100))
    written = json.loads(plan.dumps())["plan"]
    assert written["guarantee"]["local_epsilon"] == "unbounded"
    numerators = list(map(int, written["messages"][0]["added"]))
    assert numerators[0] + 2 * sum(numerators[1:]) == 1 << 64
    assert incrowd.Plan.loads(plan.dumps()) == plan


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tables": "any"}, "survey.only-counts"),
        ({"explore": 0.2}, "survey.only-counts"),
        ({"privacy": {"local_epsilon": 8.0}}, "survey.nothing-left"),
        ({"privacy": {"service_epsilon": 1.0}}, "survey.service-below"),
        ({"privacy": {"noise": "devices", "service_epsilon": 3.0}}, "survey.no-services"),
        ({"privacy": {"noise": "devices"}, "least": 20}, "survey.no-services"),
        ({"message": [{"questions": ["smokes"]}]}, "survey.only-cells"),
        (
            {"question": [YES_NO | {"memoized": True}]},
            "survey.not-by-services-memoized",
        ),
        (
            {"question": [YES_NO | {"randomizer": {"kind": "warner", "spinner": 0.8}}]},
            "survey.not-by-services-randomizer",
        ),
        ({"question": [YES_NO, {"id": "why", "type": "text"}]}, "survey.not-by-services-kind"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_services_cannot_do_is_refused(change, code):
    raw = small_survey([YES_NO], 100).model_dump(by_alias=True)
    change = dict(change)
    raw["privacy"] = raw["privacy"] | change.pop("privacy", {})
    with pytest.raises(SurveyError) as caught:
        incrowd.Survey.of(raw | change)
    assert code in {problem.message.code for problem in caught.value.problems}


def test_a_table_that_no_cells_can_hold_is_refused():
    both = [
        {"id": id, "type": "multi", "options": ["a", "b", "c"], "at_most": 2} for id in ("m", "n")
    ]
    survey = small_survey(both, 100, [["m", "n"]])
    with pytest.raises(PrivacyError, match="cannot be counted in cells"):
        incrowd.plan(survey)


@pytest.mark.parametrize(("people", "services"), [(60, True), (100_000, False)])
def test_the_planner_leaves_the_noise_to_services_where_that_is_clearly_better(people, services):
    plan = incrowd.plan(small_survey([YES_NO, FIVE], people, [["smokes", "unit"]], noise="auto"))
    assert plan.by_services == services


@pytest.mark.slow
def test_the_other_kind_of_noise_is_named_where_it_is_clearly_better():
    small = incrowd.plan(small_survey([YES_NO], 100, noise="devices"))
    other = other_kind(small)
    assert other.kind == "services"
    assert other.effective[1] >= 1.25 * other.effective[0]
    large = incrowd.plan(small_survey([YES_NO], 100_000, noise="devices"))
    assert other_kind(large) is None
    kept = incrowd.plan(small_survey([YES_NO], 100, noise="devices", local_epsilon=6.0))
    assert other_kind(kept) is None  # nothing would be left


def test_the_alternative_to_services_is_noise_from_the_devices():
    (devices,) = alternatives(incrowd.plan(small_survey([YES_NO], 100)))
    assert devices.code == "device-noise"
    assert math.isfinite(devices.local_epsilon)


def test_people_needed_counts_the_noise_in_people():
    """Twice the error needs about half the people where noise dominates, not a quarter."""
    plan = incrowd.plan(small_survey([YES_NO], 100))
    variance = (0.5**2, 2 * plan.messages[0].added.variance)
    for error in (0.2, 0.05, 0.01):
        people = incrowd.people_needed(plan, ["smokes"], standard_error=error)
        for number, holds in ((people, True), (people - 1, False)):
            reached = math.sqrt(variance[0] / number + variance[1] / number**2)
            assert (reached <= error) == holds


def test_rounds_shift_cells_as_often_and_rows_are_refused():
    once = incrowd.plan(small_survey([YES_NO], 100))
    raw = once.survey.model_dump(by_alias=True)
    twice = incrowd.plan(incrowd.Survey.of(raw | {"rounds": 2}))
    with pytest.raises(SurveyError, match="several rows of one person"):
        incrowd.Survey.of(raw | {"rows_per_person": 2})
    assert twice.messages[0].added.deviation > 1.8 * once.messages[0].added.deviation


def test_an_earlier_round_of_services_is_charged_without_a_crowd():
    first = incrowd.plan(small_survey([YES_NO], 100, epsilon=1.0))
    second = incrowd.plan(small_survey([THREE], 40), earlier=(first.asked_of(12),))
    assert second.guarantee.crowd is None
    assert incrowd.verify(second).plan_holds
    alone = incrowd.plan(small_survey([THREE], 40))
    assert second.messages[0].added.variance > alone.messages[0].added.variance


@pytest.mark.slow
def test_an_earlier_round_of_devices_counts_with_its_crowd():
    first = incrowd.plan(small_survey([YES_NO], 5000, noise="devices", epsilon=1.0))
    second = incrowd.plan(small_survey([THREE], 40), earlier=(first.asked,))
    assert second.guarantee.crowd == 5000
    assert incrowd.verify(second).plan_holds


def check_auto(seed):
    """A plan that leaves the choice to the planner is never less precise than one of devices."""
    survey = random_survey(seed)
    raw = survey.model_dump(by_alias=True)
    people = (60, 300, 3000)[seed % 3]
    devices = incrowd.Survey.of(raw | {"crowd": people})
    either = incrowd.Survey.of(
        raw | {"crowd": people, "privacy": raw["privacy"] | {"noise": "auto"}}
    )
    chosen = incrowd.plan(either)
    try:
        now = incrowd.plan(devices)
    except PrivacyError:
        return chosen.by_services
    assert len(wanted_tables(either)) == len(incrowd.forecast(chosen))
    for mine, theirs in zip(incrowd.forecast(chosen), incrowd.forecast(now), strict=True):
        assert mine.standard_error_even <= theirs.standard_error_even * (1 + 1e-9)
        assert mine.standard_error_uneven <= theirs.standard_error_uneven * (1 + 1e-9)
    return chosen.by_services


@pytest.mark.slow
def test_services_are_chosen_only_if_no_table_is_less_precise():
    assert {check_auto(seed) for seed in range(6)} == {True, False}


@pytest.mark.parametrize("batch", slowly(*range(10)))
def test_services_are_never_worse_when_chosen_in_random_surveys(batch):
    for seed in range(20 * batch, 20 * batch + 20):
        check_auto(seed)
