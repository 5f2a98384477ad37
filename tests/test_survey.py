"""Surveys: every mistake a person can make, all at once, in words that say what would work."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import SurveyError
from incrowd.survey import Domain, Survey

GOOD = {
    "name": "A",
    "crowd": 100,
    "privacy": {"epsilon": 2.0, "analysis": "local"},
    "question": [
        {"id": "a", "type": "yesno"},
        {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
        {"id": "c", "type": "multi", "options": ["u", "v", "w"], "at_most": 2},
        {"id": "d", "type": "number", "edges": [0, 1, 3.5]},
    ],
    "table": [{"questions": ["a", "b"]}],
}


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
    (("name",), "", "name: got ''"),
    (("crowd",), 1, "crowd: got 1"),
    (("crowd",), "many", "crowd: got 'many'"),
    (("copies",), 0, "copies: got 0"),
    (("colour",), "red", "colour: got 'red'; is an unknown key here"),
    (("privacy", "epsilon"), 0, "privacy.epsilon: got 0; should be greater than 0"),
    (("privacy", "epsilon"), float("nan"), "privacy.epsilon: got nan"),
    (("privacy", "epsilon"), None, "privacy.epsilon: is missing"),
    (("privacy", "delta"), 1.0, "privacy.delta: got 1.0"),
    (("privacy", "analysis"), "magic", "privacy.analysis: got 'magic'"),
    (("privacy", "epsilom"), 2, "did you mean epsilon?"),
    (("question",), [], "question: got []; should have at least 1"),
    (("question", 0, "id"), "", "question[1].id"),
    (("question", 0, "id"), "b", "question.id: got 'b'; stands 2 times"),
    (("question", 0, "type"), "essay", "question[1].type: got 'essay'; use one of"),
    (("question", 0, "type"), None, "question[1].type: is missing"),
    (("question", 1, "options"), ["x"], "question[2].options: got ['x']; should have at least 2"),
    (("question", 1, "options"), ["x", "x"], "'x' stands there twice"),
    (("question", 1, "options"), ["x", "no answer"], "set optional = true"),
    (("question", 1, "option"), ["x"], "did you mean options?"),
    (("question", 2, "at_most"), 4, "at most the 3 options"),
    (("question", 2, "at_most"), 0, "question[3].at_most: got 0"),
    (("question", 3, "edges"), [1, 1], "question[4].edges: got [1, 1]; should rise"),
    (("question", 3, "edges"), [1], "question[4].edges: got [1]; should have at least 2"),
    (("table", 0, "questions"), ["a", "q"], "table[1].questions: got 'q'; names no question"),
    (("table", 0, "questions"), ["a", "a"], "names a question twice"),
    (("table", 0, "questions"), [], "table[1].questions: got []"),
]


@pytest.mark.parametrize(("path", "value", "message"), MISTAKES)
def test_a_mistake_gives_its_message(path, value, message):
    with pytest.raises(SurveyError) as error:
        Survey.of(changed(path, value))
    assert message in str(error.value)
    assert error.value.exit_code == 2


def test_several_mistakes_are_all_reported():
    broken = changed(("privacy", "epsilon"), -1) | {"crowd": 0, "table": [{"questions": ["q"]}]}
    with pytest.raises(SurveyError) as error:
        Survey.of(broken)
    assert len(error.value.problems) == 3


def test_files(tmp_path):
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
