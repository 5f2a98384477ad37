"""Surveys that are planned by cells: what is sent, what keeps the limits, what stays joint."""

import math
from functools import cache
from itertools import combinations

import pytest

import incrowd
from incrowd.errors import PrivacyError, SurveyError
from incrowd.guarantees.certified import recertify
from incrowd.planner.loads import cells_load
from incrowd.planner.precision import guessed_excess
from incrowd.planner.search import few_noises, ways
from incrowd.planner.task import task_of
from incrowd.plans.slots import slots, upload_bytes
from incrowd.survey.crossings import crossing
from tests.conftest import slowly

QUESTIONS = [
    {"id": "a", "type": "yesno"},
    {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
    {"id": "c", "type": "yesno"},
    {"id": "d", "type": "choice", "options": ["u", "v", "w", "x"]},
]
TABLE = [{"questions": ["a", "b"]}]
TEXT = {"id": "t", "type": "text", "block": 16, "cohorts": 4}
FIXED = {"id": "f", "type": "yesno", "randomizer": {"kind": "warner", "spinner": 0.8}}
KEPT = {"id": "k", "type": "yesno", "memoized": True}


def survey(*more, crowd=1000, privacy=None, **keys):
    raw = {
        "name": "cells",
        "crowd": crowd,
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "analysis": "blanket"} | (privacy or {}),
        "question": [*QUESTIONS, *more],
        "table": TABLE,
    }
    return incrowd.Survey.of(raw | keys)


@cache
def plain_plan():
    return incrowd.plan(survey())


@cache
def joint_plan():
    return incrowd.plan(survey(tables="any"))


def sent(plan):
    return {message.ids: message.cells for message in plan.messages}


def test_every_table_is_a_message_of_cells_with_the_same_inflation():
    plan = plain_plan()
    assert sent(plan) == {("a", "b"): True, ("c",): True, ("d",): True}
    cells = {("a", "b"): 6, ("c",): 4, ("d",): 4}
    products = [cells[message.ids] / message.noise.excess for message in plan.messages]
    assert products == pytest.approx([guessed_excess(plan.survey, plan.messages)] * 3, rel=1e-6)
    assert recertify(plan).delta.upper <= 1e-5
    assert incrowd.Plan.loads(plan.dumps()) == plan


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["largest", *slowly("mean")])
def test_the_forecast_says_the_inflation_that_the_planner_makes_small(objective):
    """Two computations: effects of the wanted tables, and weights of the estimates."""
    tables = [{"questions": list(pair)} for pair in ("ab", "bd", "ac")]
    plan = incrowd.plan(survey(table=tables, objective=objective, crowd=5000))
    excess = [table.inflation - 1 for table in incrowd.forecast(plan)]
    found = max(excess) if objective == "largest" else sum(excess) / len(excess)
    assert guessed_excess(plan.survey, plan.messages) == pytest.approx(found, rel=1e-6)


def test_no_joint_report_is_as_precise():
    plain, joint = (guessed_excess(p.survey, p.messages) for p in (plain_plan(), joint_plan()))
    assert plain < joint / 10


def test_any_table_needs_a_joint_report():
    assert sent(joint_plan()) == {("a", "b", "c", "d"): False}


@pytest.mark.slow
def test_all_pairs_are_held():
    asked = survey(tables="pairs", crowd=5000)
    plan = incrowd.plan(asked)
    assert all(message.cells for message in plan.messages)
    for pair in combinations("abcd", 2):
        assert any(message.holds(pair) for message in plan.messages)
        assert pair in asked.wanted
    assert asked.wanted.count(("a", "b")) == 1


@pytest.mark.slow
def test_weights_are_crossed_with_every_table():
    plan = incrowd.plan(survey(weights=["c"]))
    for ids in (("a", "b", "c"), ("d", "c")):
        assert any(message.holds(ids) for message in plan.messages)


@pytest.mark.slow
def test_explore_adds_a_joint_report_with_its_share_of_the_leak():
    """phi^d - 1 of the report against the sum of changed bits times phi - 1."""
    plan = incrowd.plan(survey(explore=0.2, crowd=5000))
    joint, *cells = plan.messages
    assert joint.ids == ("a", "b", "c", "d") and not joint.cells
    distance = 1 + 2 + 1 + 2
    explored = joint.noise.phi**distance - 1
    others = sum(m.crossing.distance * m.noise.excess for m in cells)
    assert explored / (explored + others) == pytest.approx(0.2, rel=1e-3)


@pytest.mark.slow
def test_what_cannot_be_crossed_stays_in_joint_reports():
    plan = incrowd.plan(
        survey(TEXT, FIXED, KEPT, crowd=20_000, table=[*TABLE, {"questions": ["f", "d"]}])
    )
    assert sent(plan) == {
        ("d", "t", "f"): False,
        ("k",): False,
        ("a", "b"): True,
        ("c",): True,
        ("d",): True,
    }
    assert recertify(plan).delta.upper <= 1e-5


@pytest.mark.slow
def test_two_questions_of_several_answers_need_a_joint_report():
    several = [{"id": i, "type": "multi", "options": ["p", "q", "r"], "at_most": 2} for i in "mn"]
    plan = incrowd.plan(survey(*several, crowd=20_000, table=[{"questions": ["m", "n"]}]))
    assert sent(plan)["m", "n"] is False and sent(plan)["m",] is True


def test_leaks_that_are_nearly_equal_share_a_noise():
    leaks = [1.0, 2.0, 1.009, 2.03, 1.0]
    alike = (1.0 + 1.0 + 1.009) / 3
    assert few_noises(leaks) == pytest.approx([alike, 2.0, alike, 2.03, alike])
    assert len(set(few_noises(leaks))) == 3


def test_without_a_shuffler_everything_is_one_report():
    asked = survey(privacy={"analysis": "local"})
    assert sent(incrowd.plan(asked)) == {("a", "b", "c", "d"): False}


@pytest.mark.slow
def test_a_regression_is_a_table_that_is_wanted():
    """Of its questions, and of those by which it is to be weighted."""
    wanted = {"outcome": "a", "on": ["b", "c"]}
    plan = incrowd.plan(survey(regression=[wanted], table=()))
    assert sent(plan) == {("a", "b", "c"): True, ("d",): True}
    weighted = incrowd.plan(survey(regression=[wanted], table=(), weights=["d"]))
    assert sent(weighted) == {("a", "b", "c", "d"): True}


@pytest.mark.slow
def test_a_regression_that_cannot_be_cells_keeps_its_questions_in_one_joint_report():
    """Cells would carry the answer that has its own randomizer."""
    plan = incrowd.plan(survey(FIXED, crowd=20_000, regression=[{"outcome": "f", "on": ["a"]}]))
    assert sent(plan)["a", "f"] is False and sent(plan)["a", "b"] is True


@pytest.mark.slow
def test_a_large_linear_model_is_sent_as_pairs_and_a_small_one_whole():
    """Of K questions with two answers: 2^K cells, or 4 for each of K (K - 1) / 2 pairs."""
    for k in (7, 8):
        names = [f"y{n}" for n in range(k)]
        asked = [{"id": id, "type": "yesno"} for id in names]
        linear = {"outcome": "y0", "on": names[1:], "family": "linear"}
        plan = incrowd.plan(survey(question=asked, table=(), regression=[linear]))
        assert all(sent(plan).values())
        assert any(message.holds(names) for message in plan.messages) is (k == 7)
        for pair in combinations(names, 2):
            assert any(message.holds(pair) for message in plan.messages)


def test_a_large_logistic_model_is_sent_whole_beside_its_parts():
    """2 x 2 x 4 x 8 x 2 = 256 cells; all pairs have 116, a table of the outcome and two predictors
    that interact 8 or 16 more, and 256 are at most twice as many as 132."""
    more = {"id": "e", "type": "number", "edges": list(range(8))}, {"id": "y", "type": "yesno"}
    whole, pairs = ("a", "c", "d", "e", "y"), list(combinations("acdey", 2))

    def grouped(*on, table=()):
        wanted = [{"outcome": "a", "on": on}]
        task = task_of(survey(*more, crowd=5000, regression=wanted, table=table))
        (way,) = ways(task)
        assert all(message.kind == "cells" for message in way.messages)
        return {task.names(message.order): 1 / message.v for message in way.messages}

    def held(groups, tables):
        return [any(set(ids) <= set(group) for group in groups) for ids in tables]

    for on, parts in (((), pairs), (["c:y"], [*pairs, ("a", "c", "y")])):
        leaks = grouped(*whole[1:], *on)
        changed = {ids: 1 if ids in (("c",), ("y",)) else 2 for ids in leaks}
        total = sum(changed[ids] * leak for ids, leak in leaks.items())
        assert 2 * leaks.pop(whole) == pytest.approx(total / len(changed), rel=0.02)
        assert all(held(leaks, parts)) and not any(held(leaks, [("a", "d", "e"), ("c", "d", "e")]))
    alone = {("b",), whole}
    assert set(grouped(*whole[1:], "c:d")) == alone
    assert set(grouped(*whole[1:], table=[{"questions": whole}])) == alone


def test_a_wanted_table_does_not_pay_for_the_cells_of_a_model():
    """It lies in a table of 512 cells, which alone would have this excess."""
    asked = [{"id": id, "type": "choice", "options": ["1", "2", "3", "4"]} for id in "pqrs"]
    wanted, table = {"outcome": "a", "on": list("pqrs")}, [{"questions": ["a", "p"]}]
    task = task_of(survey(*asked, crowd=5000, regression=[wanted], table=table))
    (way,) = ways(task)
    total = sum((1 if task.names(m.order) == ("c",) else 2) / m.v for m in way.messages)
    assert way.excess < 512 * 2 / total / 2


def test_the_local_epsilon_is_kept():
    """Sum over messages of the bits that change times ln(p / q), counted anew."""
    free = plain_plan()
    assert free.guarantee.local_epsilon > 8
    plan = incrowd.plan(survey(privacy={"local_epsilon": 6.0}))
    left = sum(
        (m.crossing.distance if m.cells else sum(q.distance for q in m.questions))
        * math.log(m.noise.p / m.noise.q)
        for m in plan.messages
    )
    assert 5.9 < left <= 6.0
    assert plan.guarantee.local_epsilon == pytest.approx(left)
    assert recertify(plan).delta.upper <= 1e-5


def test_a_local_epsilon_that_fixed_randomizers_exceed_is_refused():
    with pytest.raises(PrivacyError, match=r"privacy\.local_epsilon.*local epsilon of 1\.39"):
        incrowd.plan(survey(FIXED, privacy={"epsilon": 2.0, "local_epsilon": 1.0}, crowd=20_000))


@pytest.mark.slow
def test_the_upload_is_kept():
    free = plain_plan()
    size = upload_bytes(free.survey, free.messages)
    assert size == 50 + sum(slots(free)) * 59
    plan = incrowd.plan(survey(upload_bytes=size - 200))
    assert upload_bytes(plan.survey, plan.messages) <= size - 200
    with pytest.raises(PrivacyError, match="upload_bytes: got 60"):
        incrowd.plan(survey(upload_bytes=60))


@pytest.mark.slow
def test_reports_per_person_are_kept():
    plan = incrowd.plan(survey(reports_per_person=2))
    assert sum(message.reports_each for message in plan.messages) <= 2


@pytest.mark.parametrize(
    "question",
    [
        {"id": "s", "type": "multi", "options": ["p", "q", "r"], "at_most": 2},
        {"id": "s", "type": "multi", "options": ["p", "q", "r"], "at_most": 3},
        {"id": "s", "type": "multi", "options": ["p", "q", "r"], "at_most": 1},
        {"id": "s", "type": "yesno", "optional": True},
        {"id": "s", "type": "amount", "edges": [0, 10, 20]},
    ],
)
@pytest.mark.parametrize("beside", [(), ("b",)])
def test_the_search_counts_the_bits_that_are_sent(question, beside):
    asked = survey(question)
    ids = ("s", *beside)
    task = task_of(asked)
    counted = cells_load(task.among(task.places(ids)))
    record = crossing(tuple(q for q in asked.randomized if q.id in ids))
    assert (counted.bits, counted.times, counted.ones) == (
        record.cells,
        record.distance,
        record.most,
    )


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"tables": "any", "explore": 0.1}, 'explore: got 0.1; tables = "any" sends joint reports'),
        ({"copies": 2, "explore": 0.1}, "explore: got 0.1; copies fixes what is sent"),
        ({"weights": ["q"]}, "weights: got q; no question has this id"),
        ({"question": [*QUESTIONS, TEXT], "weights": ["t"]}, "weights: got t; it is a text"),
        ({"question": [*QUESTIONS, KEPT], "weights": ["k"]}, "weights: got k; it is memoized"),
        ({"tables": "any", "message": [{"questions": list("abcd")}]}, "tables: got any"),
        ({"tables": "pairs", "message": [{"questions": list("abc")}, {"questions": ["d"]}]},
         "message: got a, d; no message has all of these questions"),
    ],
)  # fmt: skip
def test_keys_that_contradict_each_other_are_refused(keys, message):
    with pytest.raises(SurveyError) as raised:
        survey(**keys)
    assert message in str(raised.value).replace("'", "")


def test_a_local_epsilon_means_nothing_where_nobody_mixes():
    asked = survey(privacy={"epsilon": 1.0, "analysis": "local", "local_epsilon": 2.0})
    with pytest.raises(PrivacyError, match=r"local_epsilon: got 2.*without a shuffler"):
        incrowd.plan(asked)
