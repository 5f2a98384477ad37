"""Surveys of many questions."""

from itertools import combinations
from unittest import mock

import pytest

import incrowd


@pytest.fixture(autouse=True, scope="module")
def planned_anew():
    """Each plan is made, although another test has made it."""
    with mock.patch.object(incrowd, "plan", incrowd.plan.__wrapped__):
        yield


def yes_no_survey(count, **changes):
    raw = {
        "name": "bits",
        "crowd": 10_000_000,
        "privacy": {"epsilon": 2.0, "delta": 1e-8},
        "question": [{"id": f"q{i}", "type": "yesno"} for i in range(count)],
    }
    joint = {} if "message" in changes else {"tables": "any"}
    return incrowd.Survey.of(raw | joint | changes)


def pairs_survey(count, **changes):
    tables = [{"questions": [f"q{i}", f"q{j}"]} for i, j in combinations(range(count), 2)]
    return yes_no_survey(count, table=tables, **changes)
