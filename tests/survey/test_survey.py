"""Surveys: every mistake a person can make, all at once, in words that say what would work."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.accountant.schema import Domain
from incrowd.errors import SurveyError
from incrowd.survey import Survey
from tests.conftest import GOOD


def changed(path, value):
    """GOOD with one value replaced (or removed, for None)."""
    import copy

    survey = copy.deepcopy(GOOD)
    *folders, last = path
    place = survey
    for part in folders:
        place = place[part]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return survey


def test_a_good_survey():
    survey = Survey.of(GOOD)
    assert survey.wanted == (("a",), ("b",), ("c",), ("d",), ("a", "b"))
    assert survey.question("d").answers == ("0 to <1", "1 to <3.5", "3.5 or more")
    assert [q.domain for q in survey.questions] == [(1, 0, 1), (3, 1, 1), (3, 0, 2), (3, 1, 1)]


def test_optional_adds_an_answer():
    for question in GOOD["question"]:
        made = Survey.of(changed(("question",), [question | {"optional": True}]) | {"table": []})
        assert made.questions[0].answers[-1] == "no answer"
        assert made.questions[0].domain.bits == len(made.questions[0].answers)


MISTAKES = [
    (("name",), None, "name: is missing"),
    (("name",), "", "name: got ''; should not be empty"),
    (("crowd",), 1, "crowd: got 1; should be at least 2"),
    (("crowd",), "many", "crowd: got 'many'; should be a whole number"),
    (("copies",), 0, "copies: got 0"),
    (("color",), "red", "color: got 'red'; this key is unknown here"),
    (("privacy", "epsilon"), 0, "privacy.epsilon: got 0; should be greater than 0"),
    (("privacy", "epsilon"), float("nan"), "privacy.epsilon: got nan; should be a finite number"),
    (("privacy", "epsilon"), None, "privacy.epsilon: is missing"),
    (("privacy", "delta"), 1.0, "privacy.delta: got 1.0; should be less than 1"),
    (("privacy", "analysis"), "", "privacy.analysis: got ''; should not be empty"),
    (("privacy", "analysis"), 3, "privacy.analysis: got 3; should be text in quotation marks"),
    (("privacy", "epsilom"), 2, "did you mean epsilon?"),
    (("question",), [], "question: got an empty list; should have 1 or more"),
    (("question", 0, "id"), "", "question[1].id"),
    (("question", 0, "id"), "b", "question.id: got 'b'; 2 questions have this id"),
    (
        ("question", 0, "type"),
        "essay",
        "question[1].type of a: got 'essay'; use one of yesno",
    ),
    (("question", 0, "type"), None, "question[1].type of a: is missing; use one of"),
    (("question", 1, "options"), ["x"], "question[2].options of b: got a list of 'x'; should have"),
    (("question", 1, "options"), ["x", "x"], "'x' is used twice"),
    (("question", 1, "options"), ["x", "no answer"], "set optional = true"),
    (("question", 1, "option"), ["x"], "did you mean options?"),
    (
        ("question", 2, "at_most"),
        4,
        "at_most of c: got 4; should be at most 3, the number of options",
    ),
    (("question", 2, "at_most"), 0, "question[3].at_most of c: got 0; should be at least 1"),
    (("question", 3, "edges"), [1, 1], "question[4].edges of d: got a list of 1, 1; should rise"),
    (("question", 3, "edges"), [1], "question[4].edges of d: got a list of 1; should have 2"),
    (("table", 0, "questions"), ["a", "q"], "table[1].questions: got 'q'; no question has this id"),
    (("table", 0, "questions"), ["a", "a"], "should name each question once"),
    (("table", 0, "questions"), [], "table[1].questions: got an empty list"),
    (("name",), ["A"], "name: got a list of 'A'; should be text in quotation marks"),
    (("copies",), 20_000, "copies: got 20000; should be at most 10,000"),
    (("privacy",), 1, "privacy: got 1; write [privacy], and its keys below"),
    (("privacy", "copies"), 2, "it is a key of the survey itself: write it above the first"),
    (("question",), {"id": "a"}, "write [[question]] before each one"),
    (("question",), ["a"], "question[1]: got 'a'; write [[question]] before each one"),
    (("question", 0, "id"), 3, "question[1].id: got 3; should be text in quotation marks"),
    (("question", 0, "optional"), "yes", "question[1].optional of a: got 'yes'; should be true"),
    (("question", 1, "options"), "x,y", "options of b: got 'x,y'; should be a list, such as"),
    (("question", 1, "options"), ["x", 2], "question[2].options[2] of b: got 2; should be text"),
    (("message",), [{"questions": ["a", "b", "c", "d"], "cells": 1}], "message[1].cells: got 1"),
    (("question", 1, "cells"), True, "question[2].cells of b: got True; this key is unknown here"),
    (("question", 2, "at_most"), 1.5, "question[3].at_most of c: got 1.5; should be a whole"),
    (("question", 3, "edges"), ["x", 1], "question[4].edges[1] of d: got 'x'; should be a number"),
    (("question", 3, "edges"), [0, float("nan")], "edges[2] of d: got nan; should be a finite"),
    (("table",), "a", "table: got 'a'; write [[table]] before each one"),
    (("table", 0, "questions"), "a", "table[1].questions: got 'a'; should be a list"),
]
DEVICES = [
    ("warner", "question[1].randomizer of a: got 'warner'; should be a table, such as { kind ="),
    ([1], "question[1].randomizer of a: got a list of 1; should be a table"),
    ({"spinner": 0.7}, "question[1].randomizer.kind of a: is missing"),
    ({"kind": "dice"}, "question[1].randomizer.kind of a: got 'dice'; use one of bit flip, warner"),
    ({"kind": "warner"}, "randomizer.kind of a: 'warner' with no parameter; set spinner, or"),
    ({"kind": "warner", "noise": 0.2}, "randomizer.kind of a: 'warner' with noise; set"),
    ({"kind": "warner", "spinner": 2}, "randomizer.spinner of a: got 2; should be less than 1"),
    ({"kind": "warner", "spinner": "x"}, "randomizer.spinner of a: got 'x'; should be a number"),
    ({"kind": "warner", "epsilon": float("nan")}, "randomizer.epsilon of a: got nan; should be"),
    ({"kind": "bit flip", "noise": 0.5}, "randomizer.noise of a: got 0.5; should be less than 0.5"),
    (
        {"kind": "rappor", "f": 0.5, "memoized": "no"},
        "randomizer.memoized of a: got 'no'; should be true or false",
    ),
    (
        {"kind": "warner", "spinner": 0.7, "memoized": True},
        "randomizer.memoized of a: got True; only the kind 'rappor'",
    ),
    ({"kind": "k-ary", "keep": 0.7}, "randomizer.kind of a: got 'k-ary'; it needs a question with"),
]
PYDANTIC = ("Input should", "valid ", "dictionary", "instance", "Value error", "tuple", "parse")


@pytest.mark.parametrize(("path", "value", "message"), MISTAKES)
def test_a_mistake_gives_its_message(path, value, message):
    with pytest.raises(SurveyError) as error:
        Survey.of(changed(path, value))
    assert message in str(error.value)
    assert not any(word in str(error.value) for word in PYDANTIC)


@pytest.mark.parametrize(("randomizer", "message"), DEVICES)
def test_a_wrong_device_gives_its_message(randomizer, message):
    wrong = {"id": "a", "type": "yesno", "randomizer": randomizer}
    with pytest.raises(SurveyError) as error:
        Survey.of(GOOD | {"question": [wrong], "table": []})
    assert len(error.value.problems) == 1 and message in str(error.value)
    assert not any(word in str(error.value) for word in PYDANTIC)


def test_several_mistakes_are_all_reported():
    broken = changed(("privacy", "epsilon"), -1) | {"crowd": 0, "table": [{"questions": ["q"]}]}
    with pytest.raises(SurveyError) as error:
        Survey.of(broken)
    assert len(error.value.problems) == 3


def test_files_that_are_no_survey_are_refused(tmp_path):
    for content in (b"name = ", b"\xff\xfe", b""):
        (tmp_path / "s.toml").write_bytes(content)
        with pytest.raises(SurveyError):
            Survey.load(tmp_path / "s.toml")
    with pytest.raises(SurveyError, match="No such file"):
        Survey.load(tmp_path / "none.toml")


def records(domain):
    """All allowed records, as sets."""
    sizes = range(domain.fewest, domain.most + 1)
    return [set(r) for n in sizes for r in itertools.combinations(range(domain.bits), n)]


@given(st.data())
def test_distance_is_the_largest_hamming_distance(data):
    bits = data.draw(st.integers(1, 6))
    fewest = data.draw(st.integers(0, bits))
    domain = Domain(bits, fewest, data.draw(st.integers(max(fewest, 1), bits)))
    assert domain.distance == max(len(a ^ b) for a in records(domain) for b in records(domain))


@pytest.mark.parametrize("name", ["question", "questions"])
def test_a_mistake_beside_questions_by_either_name(name):
    raw = {"name": "x", "crowd": 100, "privacy": {"epsilon": 1}, "tables": "some"}
    with pytest.raises(SurveyError, match="tables"):
        Survey.of(raw | {name: [{"id": "a", "type": "yesno"}]})
