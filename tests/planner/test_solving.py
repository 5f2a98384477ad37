"""The plan that reaches a wanted error, and wishes that cannot be met."""

import math

import pytest

import incrowd
from incrowd.errors import PrecisionError, PrivacyError, SurveyError, UsageError
from incrowd.guarantees.certified import recertify
from incrowd.planner.precision import plan_error
from incrowd.planner.solving import with_budget
from tests.conftest import slowly
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
    assert (
        plan_error(incrowd.solve(survey, "epsilon", margin=nearest * 1.01)) < nearest * 1.01 / 1.959
    )
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


@pytest.mark.parametrize("error", [-1, *slowly(0, math.inf, math.nan)])
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


def with_delta(survey, delta):
    privacy = survey.privacy.model_dump() | {"delta": delta}
    return incrowd.Survey.of(survey.model_dump(by_alias=True) | {"privacy": privacy})


@pytest.mark.slow
def test_a_delta_that_cannot_be_certified_is_refused_with_that_reason():
    """It was a plan with the noise of no crowd, and no warning."""
    survey = yes_no_survey(3, crowd=20_000, copies=2, privacy={"epsilon": 1.0, "delta": 1e-12})
    assert incrowd.plan(survey).messages[0].noise.q < 0.14
    reason = r"delta: got 1e-16; the smallest that can be certified for 2 reports together is 1e-12"
    with pytest.raises(PrecisionError, match=reason):
        incrowd.plan(with_delta(survey, 1e-16))
    one = with_delta(yes_no_survey(3, crowd=20_000), 1e-16)  # nothing to compose
    assert incrowd.plan(one).messages[0].noise.q < 0.14


@pytest.mark.slow
def test_a_larger_error_never_needs_a_larger_delta():
    """Errors that the smallest delta meets once led to a delta of one half."""
    survey = yes_no_survey(1, crowd=20_000, copies=2, privacy={"epsilon": 1.0, "delta": 1e-6})
    errors = (0.02, 0.00355, 0.00354)
    plans = [incrowd.solve(survey, "delta", error=error) for error in errors]
    deltas = [made.survey.privacy.delta for made in plans]
    assert deltas == sorted(deltas) and 1e-12 <= deltas[0] < 1.2e-12 and deltas[-1] > 1e-7
    assert all(plan_error(made) <= error for made, error in zip(plans, errors, strict=True))


@pytest.mark.parametrize("unknown", [*slowly("crowd", "epsilon"), "delta"])
def test_every_trial_lies_between_those_that_failed_and_those_that_held(monkeypatch, unknown):
    """Even if errors do not follow the limit: here they waver by a tenth around it."""
    failed, held = [0.0], [math.inf]

    def wavering(made):
        value = made.survey.crowd if unknown == "crowd" else getattr(made.survey.privacy, unknown)
        error = plan_error(made) * (1 + 0.1 * math.sin(50 * math.log(value)))
        assert max(failed) < value < min(held)
        (held if error <= 0.0041 else failed).append(value)
        return error

    monkeypatch.setattr("incrowd.planner.solving.plan_error", wavering)
    survey = yes_no_survey(1, crowd=20_000, privacy={"epsilon": 1.0, "delta": 1e-6})
    made = incrowd.solve(survey, unknown, error=0.0041)
    value = made.survey.crowd if unknown == "crowd" else getattr(made.survey.privacy, unknown)
    assert value == min(held)
