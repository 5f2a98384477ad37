"""A plan of the large-N limit: for previews, near the certified one, and never a guarantee."""

import pytest

from incrowd.errors import PlanFileError
from incrowd.guarantees.certified import recertify
from incrowd.planner.plan import limit_plan, make_plan
from incrowd.survey import Survey

QUESTIONS = [
    {"id": "a", "type": "yesno"},
    {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
]


def survey(**privacy):
    return Survey.of({"name": "A", "crowd": 20_000, "privacy": privacy, "question": QUESTIONS})


def test_it_requests_what_the_survey_requests_and_promises_nothing():
    limit, plan = limit_plan(survey(epsilon=1.0)), make_plan(survey(epsilon=1.0))
    shown, promise = limit.guarantee, plan.guarantee
    for field in ("analysis", "epsilon", "delta", "crowd"):
        assert getattr(shown, field) == getattr(promise, field)
    assert shown.local_epsilon == pytest.approx(promise.local_epsilon, rel=0.1)
    assert not shown.proved
    with pytest.raises(PlanFileError, match="proved"):
        recertify(limit)


def test_without_a_shuffler_it_is_the_plan():
    asked = survey(epsilon=2.0, analysis="local")
    assert limit_plan(asked) == make_plan(asked)
