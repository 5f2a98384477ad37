"""Sentences on the main results, checked against the figures of the estimates."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.catalog.sentences import translated
from incrowd.presentation.findings import finding, limits, people_lines, separate_pairs, share_text
from tests.conftest import local_plan, yes_no_question

CUT = [
    (0.314, 0.376, "between 31 and 38 of 100 people"),
    (-0.02, 0.031, "at most 4 of 100 people"),
    (0.91, 1.2, "at least 91 of 100 people"),
    (-0.1, 1.1, "anything between 0 and 100 of 100 people"),
    (0.1234, 0.1291, "between 12.3 and 13.0 of 100 people"),
]


def shown(kinds):
    """The tables of a choice that people made in some numbers, with little noise."""
    kind = {"id": "kind", "type": "choice", "options": sorted(kinds)}
    plan = local_plan(kind, yes_no_question("smokes"), name="S")
    people = [each for each, number in kinds.items() for _ in range(number)]
    answers = pa.table({"kind": people, "smokes": ["yes", "no"] * (len(people) // 2)})
    reports = incrowd.randomize(plan, answers, simulation_seed=1)
    return incrowd.estimate(plan, reports, accept_smaller_crowd=True)


@pytest.mark.parametrize(("low", "high", "text"), CUT)
def test_an_interval_in_words_is_never_narrower_than_in_figures(low, high, text):
    estimates = shown({"a": 100, "b": 100})
    item = next(iter(estimates.displayed(estimates.plan)))
    cell = item.cells[0]._replace(low=low, high=high)
    assert share_text(item, cell) == text
    ends = [float(each) / 100 for each in re.findall(r"[\d.]+", text.replace("of 100", ""))]
    if text.startswith("between"):
        assert ends[0] <= low and high <= ends[1]


def test_the_most_frequent_answer_is_doubtful_if_another_interval_reaches_its_own():
    clear = shown({"a": 9600, "b": 200, "c": 200})
    close = shown({"a": 3500, "b": 3400, "c": 3100})
    first, other = (
        finding(next(iter(each.displayed(each.plan))), each.plan.survey) for each in (clear, close)
    )
    assert first.answer == "a" and not first.doubt and "Most frequent: “a”" in first.text
    table = close.table("kind")
    largest = int(np.argmax(table.estimate))
    overlapping = np.delete(table.high, largest).max() >= table.low[largest]
    assert overlapping and other.doubt and "not certain" in other.text


def test_a_yes_or_no_question_is_about_yes():
    estimates = shown({"a": 200, "b": 200})
    item = list(estimates.displayed(estimates.plan))[1]
    assert finding(item, estimates.plan.survey).answer == "yes"
    german = translated(finding(item, estimates.plan.survey).text, "de")
    assert german.startswith("„ja“: ") and german.endswith(" von 100 Personen.")


def test_what_no_report_shows_is_said():
    estimates = shown({"a": 200, "b": 200})
    both = [*separate_pairs(estimates.plan)]
    assert bool(both) == any("no report contains both" in text for text in limits(estimates))
    assert any("need not be like those who did not" in text for text in limits(estimates))


def test_of_a_census_no_sampling_error_is_claimed():
    estimates = shown({"a": 200, "b": 200})
    assert any("chance and for the noise" in text for text in limits(estimates))
    of_all = [
        replace(each, error=replace(each.error, noise_only=True)) for each in estimates.tables
    ]
    census = replace(estimates, tables=tuple(of_all))
    assert not any("account for chance" in text for text in limits(census))
    assert any("describe only those who took part" in text for text in limits(census))


def test_no_invitations_are_claimed_for_invented_people():
    estimates = shown({"a": 200, "b": 200})
    seeded = replace(estimates, received=(SimpleNamespace(issued=500),))
    assert not any("issued" in text for text in people_lines(seeded))
    real = replace(seeded, seed=None)
    assert any("500 invitations were issued" in text for text in people_lines(real))
