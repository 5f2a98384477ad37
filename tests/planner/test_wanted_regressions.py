"""What a wanted regression changes in a plan: its questions stay together, its tables count."""

import pytest

import incrowd
from incrowd.errors import PlanError
from incrowd.planner.alternatives import alternatives
from incrowd.planner.wanted import wanted_tables
from tests.planner.conftest import yes_no_survey

LOGISTIC = {"outcome": "q0", "on": ["q1", "q2"]}
LINEAR = LOGISTIC | {"family": "linear"}
PRIVACY = {"epsilon": 2.0, "analysis": "blanket"}
ENOUGH = {"epsilon": 100.0, "analysis": "local"}
FREE = {"crowd": 20_000, "reports_per_person": 6, "privacy": PRIVACY}


@pytest.fixture(scope="module")
def free():
    """Plans of four questions that may be grouped, by the regression that is wanted."""
    wanted = {"none": (), "logistic": (LOGISTIC,), "linear": (LINEAR,)}
    return {
        name: incrowd.plan(yes_no_survey(4, regression=regressions, **FREE))
        for name, regressions in wanted.items()
    }


def together(plan):
    return any(message.holds(("q0", "q1", "q2")) for message in plan.messages)


@pytest.mark.slow
def test_the_questions_of_a_regression_travel_together(free):
    """Without it they are sent apart, which is sharper for each."""
    assert not together(free["none"]) and len(free["none"].messages) == 4
    for name in ("logistic", "linear"):
        assert together(free[name]) and len(free[name].messages) > 1
        assert incrowd.forecast_regressions(free[name])[0].estimable


@pytest.mark.slow
def test_a_logistic_model_weighs_as_its_table_and_a_linear_one_as_its_pairs(free):
    assert wanted_tables(free["none"].survey) == free["none"].survey.counted
    assert wanted_tables(free["logistic"].survey)[4:] == (("q0", "q1", "q2"),)
    assert wanted_tables(free["linear"].survey)[4:] == (("q0", "q1"), ("q0", "q2"))
    for plan in free.values():
        assert tuple(t.questions for t in incrowd.forecast(plan)) == wanted_tables(plan.survey)


def test_a_logistic_model_of_many_cells_weighs_as_its_parts_with_the_outcome():
    """Of eight questions 256 cells, more than twice the 112 of 28 pairs; with 8 of an interaction
    of two predictors and 16 of three they are not."""
    on = [f"q{n}" for n in range(1, 8)]
    pairs = tuple(("q0", id) for id in on)
    for more, weighs in (
        ((), pairs),
        (["q1:q2"], (*pairs, ("q0", "q1", "q2"))),
        (["q1:q2", "q3:q4:q5"], (("q0", *on),)),
    ):
        made = yes_no_survey(8, regression=[{"outcome": "q0", "on": [*on, *more]}])
        assert wanted_tables(made)[8:] == weighs


def test_a_table_that_is_wanted_anyway_counts_once():
    made = yes_no_survey(3, regression=[LOGISTIC], table=[{"questions": ["q2", "q1", "q0"]}])
    assert wanted_tables(made)[3:] == (("q2", "q1", "q0"),)


def test_every_other_way_of_sending_holds_the_regression():
    """A message a table: the three together, and the other."""
    privacy = PRIVACY | {"analysis": "local"}
    local = yes_no_survey(4, regression=[LINEAR], **FREE | {"privacy": privacy})
    (each,) = (w for w in alternatives(incrowd.plan(local)) if w.code == "table-messages")
    assert each.messages == 2


def test_a_plan_that_tears_a_regression_apart_is_refused():
    privacy = PRIVACY | {"analysis": "local"}
    changes = FREE | {"privacy": privacy}
    apart = incrowd.plan(yes_no_survey(4, **changes | {"table": ()})).messages
    plan = incrowd.plan(yes_no_survey(4, regression=[LOGISTIC], **changes))
    assert not together(plan.model_copy(update={"messages": apart})) and together(plan)
    with pytest.raises(PlanError, match="no message contains the table q0, q1, q2"):
        incrowd.Plan.loads(plan.model_copy(update={"messages": apart}).dumps())


def test_a_model_too_large_for_any_table_stays_together_and_says_so():
    """Twelve predictors: 8,192 cells. Tables that cannot be made are not wanted; a linear
    model is fitted from pairs."""
    on = [f"q{n}" for n in range(1, 13)]
    logistic, linear = {"outcome": "q0", "on": on}, {"outcome": "q0", "on": on, "family": "linear"}
    made = incrowd.plan(yes_no_survey(13, regression=[logistic, linear], privacy=ENOUGH))
    assert wanted_tables(made.survey)[13:] == tuple(("q0", id) for id in on)
    too_large, pairs = incrowd.forecast_regressions(made)
    assert not too_large.estimable and "the table is too large" in too_large.reason
    assert pairs.estimable and pairs.method == "pairs" and len(pairs.coefficients) == 13
