"""The outlook of a survey in the large-crowd limit, against certified plans and closed forms."""

import math

import pytest

import incrowd
from incrowd.errors import PrivacyError
from incrowd.planner.outlook import estimate, outlook
from incrowd.planner.solving import crowd_in_the_limit
from tests.conftest import slowly

OPTIONS = ["low", "medium", "high"]


def survey(privacy=(), **changes):
    raw = {
        "name": "work",
        "crowd": 20_000,
        "privacy": {"epsilon": 1.0, "delta": 1e-6} | dict(privacy),
        "question": [
            {"id": "bullied", "type": "yesno", "shares": {"yes": 0.2}},
            {"id": "stress", "type": "choice", "options": OPTIONS},
            {"id": "sex", "type": "choice", "options": ["f", "m"], "shares": {"f": 0.5, "m": 0.5}},
        ],
        "table": [{"questions": ["bullied", "stress"]}],
        "regression": [{"outcome": "bullied", "on": ["sex"]}],
    }
    return incrowd.Survey.of(raw | changes)


def errors(seen):
    terms = (term for model in seen.regressions for term in model.terms)
    return [t.forecast.standard_error for t in seen.tables] + [t.standard_error for t in terms]


@pytest.mark.parametrize(
    ("privacy", "crowd", "close"),
    [
        *slowly(
            ({}, 1_000, 0.05),
            ({}, 20_000, 0.015),
            ({}, 1_000_000, 0.003),
            ({"epsilon": 0.2}, 20_000, 0.015),
            ({"local_epsilon": 4.0}, 20_000, 0.01),
        ),
        ({"analysis": "local"}, 1_000_000, 0.01),
    ],
)
def test_an_estimate_is_close_to_the_certified_forecast(privacy, crowd, close):
    asked = survey(privacy, crowd=crowd)
    certified = errors(outlook(incrowd.plan(asked)))
    assert len(certified) == 5
    assert errors(estimate(asked)) == pytest.approx(certified, rel=close)


def test_a_larger_crowd_is_wrong_by_more_than_the_tolerance():
    """The incorrect variant: an estimate for 5% more people."""
    certified = errors(outlook(incrowd.plan(survey())))
    assert errors(estimate(survey(crowd=21_000))) != pytest.approx(certified, rel=0.015)


def test_a_plan_has_the_same_errors_as_its_forecasts():
    plan = incrowd.plan(survey())
    seen = outlook(plan)
    forecasts = {each.questions: each for each in incrowd.forecast(plan)}
    assert {each.questions: each.forecast for each in seen.tables} == {
        ids: forecasts[ids] for ids in plan.survey.counted
    }
    (model,) = incrowd.forecast_regressions(plan)
    expected = [each.standard_error for each in model.coefficients[1:]]
    assert [each.standard_error for each in seen.regressions[0].terms] == expected
    assert seen.local_epsilon == plan.guarantee.local_epsilon


def test_sampling_errors_are_those_of_a_survey_without_noise():
    """sqrt(p (1 - p) / N) for a share; for log odds of two equal groups with the share p of the
    outcome, the variance of the difference is twice 1 / (N / 2 p (1 - p))."""
    people, p = 20_000, 0.2
    seen = estimate(survey())
    no, yes = seen.tables[0].cells
    assert (no.answers, yes.answers) == (("no",), ("yes",))
    assert yes.share == pytest.approx(p)
    assert yes.sampling_error == pytest.approx(math.sqrt(p * (1 - p) / people))
    assert yes.standard_error > yes.sampling_error
    (term,) = seen.regressions[0].terms
    of_a_group = 1 / (people / 2 * p * (1 - p))
    assert term.sampling_error == pytest.approx(math.sqrt(2 * of_a_group), rel=1e-3)
    assert term.standard_error > term.sampling_error


def test_cells_of_a_joint_table_are_in_the_order_of_the_answers():
    joint = estimate(survey()).tables[-1]
    expected = [(one, other) for one in ("no", "yes") for other in OPTIONS]
    assert [cell.answers for cell in joint.cells] == expected
    assert [cell.share for cell in joint.cells] == pytest.approx([0.8 / 3] * 3 + [0.2 / 3] * 3)


def test_an_outlook_keeps_what_limits_it():
    assert estimate(survey({"local_epsilon": 4.0})).local_epsilon <= 4.0
    assert estimate(survey({"analysis": "local"})).local_epsilon <= 1.0
    assert estimate(survey(reports_per_person=2)).reports <= 2


def test_a_regression_of_too_few_people_says_why():
    (model,) = estimate(survey(crowd=50)).regressions
    assert not model.terms and "cannot be distinguished" in model.reason


def test_what_cannot_be_planned_has_no_estimate():
    with pytest.raises(PrivacyError, match="without a shuffler"):
        estimate(survey({"analysis": "local", "local_epsilon": 2.0}))
    with pytest.raises(PrivacyError):
        estimate(survey(upload_bytes=10))


@pytest.mark.slow
def test_the_crowd_of_the_limit_is_close_to_the_certified_one():
    certified = incrowd.solve(survey(), "crowd", margin=0.02).survey.crowd
    assert crowd_in_the_limit(survey(), margin=0.02) == pytest.approx(certified, rel=0.05)


def of_people(privacy=(), open_=False, **people):
    """Two questions, of which the first divides the people."""
    department = {"id": "d", "type": "choice", "options": ["a", "b", "c"]}
    asked = department | ({"open": True} if open_ else {"shares": {"a": 0.6, "b": 0.3, "c": 0.1}})
    return incrowd.Survey.of(
        {
            "name": "A",
            "people": {"invited": 9000, "expected": 0.5} | people,
            "privacy": {"epsilon": 1.0} | dict(privacy),
            "question": [asked, {"id": "b", "type": "yesno"}],
            "table": [] if open_ else [{"questions": ["d", "b"]}],
        }
    )


def test_errors_are_those_of_the_people_who_will_answer():
    asked = of_people()
    plan = incrowd.plan(asked)
    seen = outlook(plan, asked.expected_answers)
    assert seen.people == 4500 > asked.crowd
    few = outlook(plan)
    scale = math.sqrt(asked.crowd / 4500)
    assert errors(seen) == pytest.approx([scale * error for error in errors(few)])


def test_shares_within_a_small_group_are_those_of_its_people():
    """Almost without noise: one in ten of 4,500 people, a share of one half."""
    seen = estimate(of_people({"epsilon": 20.0}))
    (table,) = (each for each in seen.tables if len(each.questions) == 2)
    within = {each.question: each for each in table.within}
    assert (within["d"].answer, within["d"].share) == ("c", pytest.approx(0.1))
    assert within["d"].standard_error == pytest.approx(0.5 / math.sqrt(450), rel=0.02)
    assert within["b"].standard_error == pytest.approx(math.sqrt(0.6 * 0.4 / 2250), rel=0.02)
    assert seen.margins[1] == within["d"].standard_error


@pytest.mark.parametrize("noise", ["devices", "services"])
def test_groups_of_equal_size_have_their_own_errors_and_one_of_all(noise):
    """All groups: the mean of three independent estimates."""
    seen = estimate(of_people({"noise": noise}, open_=True))
    (table,) = seen.tables
    assert seen.people == 1500 and seen.answers.people == 4500
    assert table.overall_error == pytest.approx(table.forecast.standard_error / math.sqrt(3))


def test_the_smallest_group_is_named():
    seen = estimate(of_people(open_=True, groups={"a": 5000, "b": 3000, "c": 1000}))
    assert seen.answers.smallest == "c" and seen.people == 500
