"""The plan that reaches a wanted error, and wishes that cannot be met."""

import math

import pytest

import incrowd
from incrowd.errors import PrivacyError, SurveyError, UsageError
from incrowd.guarantees import recertify
from incrowd.planner.plan import with_budget
from incrowd.planner.precision import plan_error
from tests.planner.conftest import pairs_survey, yes_no_survey


@pytest.mark.slow
def test_solving_for_epsilon_gives_the_error():
    privacy = {"epsilon": 1.0, "delta": 1e-6, "analysis": "blanket"}
    survey = yes_no_survey(3, crowd=20_000, privacy=privacy)
    made = incrowd.solve(survey, "epsilon", error=0.01)
    assert 0.0097 < plan_error(made) <= 0.01
    assert recertify(made).delta.upper <= 1e-6
    with pytest.raises(PrivacyError, match=r"ask for .* or more"):
        incrowd.solve(survey, "epsilon", error=1e-4)  # sampling alone is more
    with pytest.raises(PrivacyError, match=r"margin: got 0\.0002; .* ask for .* or more") as raised:
        incrowd.solve(survey, "epsilon", margin=2e-4)
    nearest = float(str(raised.value).split("ask for ")[1].split()[0])
    assert plan_error(incrowd.solve(survey, "epsilon", margin=nearest * 1.01)) < nearest / 1.95
    with pytest.raises(UsageError, match="crowd, epsilon, delta"):
        incrowd.solve(survey, "noise", error=0.01)


@pytest.mark.slow
def test_solving_for_the_crowd_gives_the_error():
    survey = yes_no_survey(3, crowd=20_000, privacy={"epsilon": 1.0, "delta": 1e-6})
    made = incrowd.solve(survey, "crowd", error=0.01)
    assert 0.0097 < plan_error(made) <= 0.01
    assert recertify(made).delta.upper <= 1e-6


def test_people_needed_is_the_crowd_that_reaches_the_error():
    made = incrowd.plan(yes_no_survey(3, crowd=20_000))
    needed = incrowd.people_needed(made, ["q0"], standard_error=0.004)
    v = 1 / (made.messages[0].noise.phi - 1)
    assert needed == math.ceil((v + 0.25) / 0.004**2)


@pytest.mark.parametrize("error", [-1, 0, math.inf, math.nan])
def test_no_number_of_people_has_an_error_that_is_none(error):
    made = incrowd.plan(yes_no_survey(1, crowd=20_000))
    with pytest.raises(UsageError, match=r"standard_error: got .* should be above 0, such as 0.01"):
        incrowd.people_needed(made, ["q0"], standard_error=error)


def test_infeasible_wishes_say_why():
    wide = {"id": "site", "type": "choice", "options": [f"o{i}" for i in range(1001)]}
    raw = {"name": "x", "crowd": 1000, "privacy": {"epsilon": 1.0}, "reports_per_person": 1}
    questions = [{"id": "q0", "type": "yesno"}, wide]
    with pytest.raises(PrivacyError, match="allow 2"):
        incrowd.plan(incrowd.Survey.of(raw | {"question": questions}))
    with pytest.raises(SurveyError, match="each of them sets the number of reports"):
        yes_no_survey(2, copies=3, reports_per_person=5)
    with pytest.raises(SurveyError, match="no message has all of these questions"):
        pairs_survey(3, message=[{"questions": ["q0", "q1"]}, {"questions": ["q2"]}])
    with pytest.raises(SurveyError):
        with_budget(yes_no_survey(2), 0)


@pytest.mark.slow
def test_the_crowd_is_sought_beside_those_who_collude():
    """The search begins where two honest people are left, however many may collude."""
    privacy = {"epsilon": 1.0, "delta": 1e-6, "analysis": "blanket"}
    survey = yes_no_survey(1, crowd=20_000, colluding=400, rows_per_person=2, privacy=privacy)
    made = incrowd.solve(survey, "crowd", error=0.02)
    assert made.survey.crowd > 2 * 402 and plan_error(made) <= 0.02
