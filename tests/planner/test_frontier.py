"""Error against what it costs: the points are those of plans."""

import pytest

import incrowd
from incrowd.planner import frontier as module
from incrowd.planner.frontier import without_shuffler
from incrowd.planner.precision import plan_error

QUESTIONS = [{"id": "a", "type": "yesno"}]


def survey(**privacy):
    raw = {"name": "s", "crowd": 500, "question": QUESTIONS}
    return incrowd.Survey.of(raw | {"privacy": {"epsilon": 1.0, "delta": 1e-5} | privacy})


@pytest.fixture(autouse=True)
def few_points(monkeypatch):
    monkeypatch.setattr(module, "POINTS", 3)


def test_what_the_shuffler_buys_is_the_error_of_plans_that_keep_a_local_epsilon():
    """From the survey's plan to one that needs no shuffler."""
    made = incrowd.plan(survey())
    found = list(without_shuffler(made))
    assert found[0] == pytest.approx((made.guarantee.local_epsilon, plan_error(made)))
    for cap, error in found[1:]:
        kept = incrowd.plan(survey(local_epsilon=cap))
        assert kept.guarantee.local_epsilon <= cap
        assert error == pytest.approx(plan_error(kept))
    assert found[-1][0] == pytest.approx(1.0)
    errors = [error for _, error in found]
    assert errors == sorted(errors) and errors[-1] > 1.5 * errors[0]


def test_without_a_shuffler_there_is_nothing_to_buy():
    assert not list(without_shuffler(incrowd.plan(survey(analysis="local"))))
