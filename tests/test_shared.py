"""Plans that the workers of a run share are those of their own surveys."""

import pytest

import incrowd
from incrowd.errors import IncrowdWarning
from tests.conftest import once
from tests.oracles import shared

LOCAL = {"name": "A", "crowd": 100, "privacy": {"epsilon": 2.0, "analysis": "local"}}


def survey(**question):
    return incrowd.Survey.of(LOCAL | {"question": [{"id": "d"} | question]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(shared.FOLDER, str(tmp_path))
    return tmp_path


def test_surveys_that_print_alike_have_their_own_plans(folder):
    number = survey(type="number", edges=[0, 1])
    choice = survey(type="choice", options=["x", "y"])
    assert repr(number) == repr(choice)
    for asked in (number, choice):
        assert once(incrowd.plan.__wrapped__)(asked).survey == asked


def test_another_worker_finds_the_plan_and_its_warnings(folder):
    asked = survey(type="choice", options=["a", "\u0430"])
    with pytest.warns(IncrowdWarning) as first:
        plan = once(incrowd.plan.__wrapped__)(asked)

    def unexpected(survey, *, progress):
        raise AssertionError("it was made before")

    with pytest.warns(IncrowdWarning) as second:
        assert once(unexpected)(asked) == plan
    assert [str(each.message) for each in second] == [str(each.message) for each in first]


def test_a_result_that_cannot_be_written_is_computed(folder):
    assert shared.shared("a function", lambda: [lambda: 3])[0]() == 3
    assert shared.shared("a function", lambda: 4) == 4
