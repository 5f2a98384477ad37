"""Tables that follow from others that were counted."""

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.reports.tally import with_tables

QUESTIONS = [
    {"id": "a", "type": "yesno"},
    {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
    {"id": "c", "type": "yesno"},
]
LOCAL = {"epsilon": 6.0, "analysis": "local"}
TWO = [{"questions": ["a", "b"]}, {"questions": ["a", "c"]}]


def made(**more):
    raw = {"name": "S", "crowd": 50, "privacy": LOCAL, "question": QUESTIONS}
    plan = incrowd.plan(incrowd.Survey.of(raw | more))
    generator = np.random.default_rng(1)
    answers = {"a": generator.random(400) < 0.3, "b": generator.choice(list("xyz"), 400)}
    answers["c"] = generator.random(400) < 0.6
    return plan, list(incrowd.randomize(plan, pa.table(answers), simulation_seed=1))


def test_a_table_in_another_order_and_a_part_of_it_are_what_counting_gives():
    plan, reports = made()
    for kind in ("singles", "pairs"):
        whole = incrowd.count(plan, reports, tables=[["a", "b", "c"]], kind=kind)
        wanted = [("c", "a", "b"), ("b",), ("c", "b")]
        found = with_tables(plan, whole, wanted)
        counted = incrowd.count(plan, reports, tables=wanted, kind=kind)
        for ids in wanted:
            tables = (each.messages[0].tables[ids] for each in (found, counted))
            np.testing.assert_array_equal(*tables)
        assert found.tables == (("a", "b", "c"), *wanted)


def test_a_part_that_more_messages_hold_does_not_follow():
    """`a` is in two messages, (a, b) in one: counts of `a` are missing."""
    plan, reports = made(message=TWO)
    whole = incrowd.count(plan, reports, tables=[["a", "b"]], kind="pairs")
    assert with_tables(plan, whole, [("a",), ("b",)]).tables == (("a", "b"), ("b",))
    patterns = incrowd.count(plan, reports, tables=[["a", "b"]], kind="patterns")
    assert with_tables(plan, patterns, [("b",)]) is patterns
