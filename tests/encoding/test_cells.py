"""Which cells each person is in, against a slow loop in plain Python."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from incrowd.encoding.records import EncodedAnswers, set_cells
from incrowd.survey import Survey
from incrowd.survey.crossings import crossing, parities_record

PEOPLE = 400
QUESTIONS = {
    "a": {"type": "yesno"},
    "old": {"type": "yesno", "optional": True},
    "c": {"type": "choice", "options": ["x", "y", "z"]},
    "d": {"type": "choice", "options": ["x", "y"], "optional": True},
    "n": {"type": "number", "edges": [0, 1, 5], "optional": True},
    "below": {"type": "number", "edges": [0, 1]},
    "m": {"type": "multi", "options": ["u", "v", "w"], "at_most": 2},
    "late": {"type": "multi", "options": ["u", "v", "w"], "at_most": 3, "optional": True},
    "one": {"type": "multi", "options": ["u", "v"], "at_most": 1},
    "seldom": {"type": "multi", "options": ["u", "v"], "at_most": 1, "optional": True},
}
CROSSED = [
    *([id] for id in QUESTIONS),
    ["a", "c"],
    ["c", "a"],
    ["old", "d", "n"],
    ["one", "c"],
    ["seldom", "a"],
    ["m", "a"],
    ["a", "m", "c"],
    ["c", "old", "late"],
]


def drawn(kind, generator):
    """An answer as a file has it; None for none."""
    if kind.get("optional") and generator.random() < 0.3:
        return None
    if kind["type"] == "yesno":
        return str(generator.choice(["yes", "no"]))
    if kind["type"] == "choice":
        return str(generator.choice(kind["options"]))
    if kind["type"] == "number":
        return str(generator.choice(["0.5", "1", "3", "7"]))
    some = generator.permutation(kind["options"])[: generator.integers(kind["at_most"] + 1)]
    return ";".join(some) or "none"


@pytest.fixture(scope="module")
def answers():
    generator = np.random.default_rng(11)
    return [{id: drawn(kind, generator) for id, kind in QUESTIONS.items()} for _ in range(PEOPLE)]


def names(id):
    """The answers along the axis of a question, in order."""
    kind = QUESTIONS[id]
    if kind["type"] == "yesno":
        found = ["no", "yes"]
    elif kind["type"] == "number":
        found = list(range(len(kind["edges"])))
    else:
        found = list(kind["options"])
    found += ["no answer"] * kind.get("optional", False)
    return found + ["none"] * (kind.get("at_most") == 1)


def given(id, said):
    """What a person says along the axis of a question: one answer, or of several all."""
    kind = QUESTIONS[id]
    if said is None:
        return ["no answer"]
    if kind["type"] == "number":
        return [max(i for i, edge in enumerate(kind["edges"]) if float(said) >= edge)]
    if kind["type"] == "multi":
        chosen = [] if said == "none" else said.split(";")
        return chosen or (["none"] if kind["at_most"] == 1 else [])
    return [said]


def slowly(ids, people):
    """Rows and cell numbers: all combinations are numbered in turn, the last question fastest."""
    if len(ids) == 1 and len(names(ids[0])) == 2:
        second = names(ids[0])[1]
        return [
            (row, 0) for row, says in enumerate(people) if given(*ids, says[ids[0]]) == [second]
        ]
    several = [id for id in ids if QUESTIONS[id].get("at_most", 1) > 1]
    numbers = {cell: n for n, cell in enumerate(itertools.product(*map(names, ids)))}
    if several and len(ids) > 1:
        rest = [names(id) for id in ids if id not in several]
        for combination in itertools.product(*rest):
            numbers["any", combination] = len(numbers)
    found = []
    for row, says in enumerate(people):
        for combination in itertools.product(*(given(id, says[id]) for id in ids)):
            found.append((row, numbers[combination]))
        if several and len(ids) > 1:
            others = tuple(given(id, says[id])[0] for id in ids if id not in several)
            found.append((row, numbers["any", others]))
    return sorted(found)


@pytest.mark.parametrize("ids", CROSSED, ids="-".join)
def test_each_person_is_in_the_cells_that_a_loop_gives(ids, answers):
    asked = [{"id": id} | kind for id, kind in QUESTIONS.items()]
    raw = {"name": "s", "crowd": PEOPLE, "privacy": {"epsilon": 1.0}, "question": asked}
    survey = Survey.of(raw)
    people = EncodedAnswers.of(
        survey, pa.table({id: [one[id] for one in answers] for id in QUESTIONS})
    )
    questions = [survey.question(id) for id in ids]
    blocks = crossing(tuple(questions)).blocks
    rows, numbers = set_cells(blocks, questions, people.encoded, PEOPLE)
    assert list(zip(rows.tolist(), numbers.tolist(), strict=True)) == slowly(ids, answers)
    assert rows.dtype == numbers.dtype == np.int64


@pytest.mark.parametrize("ids", [["a", "below"], ["below", "a", "two"], ["two", "below", "a"]])
def test_parities_say_who_gave_exactly_one_of_two_second_answers(ids, answers):
    asked = [{"id": id} | kind for id, kind in QUESTIONS.items()]
    asked += [{"id": "two", "type": "choice", "options": ["x", "y"]}]
    survey = Survey.of({"name": "s", "crowd": 9, "privacy": {"epsilon": 1.0}, "question": asked})
    told = [one | {"two": "yx"[i % 2]} for i, one in enumerate(answers)]
    columns = {id: [one[id] for one in told] for id in survey.closed([q["id"] for q in asked])}
    people = EncodedAnswers.of(survey, pa.table(columns))
    second = {"a": "yes", "two": "y"}
    expected = []
    for row, says in enumerate(told):
        gave = [float(says[id]) >= 1 if id == "below" else says[id] == second[id] for id in ids]
        pairs = enumerate(itertools.combinations(gave, 2))
        expected += [(row, number) for number, (one, other) in pairs if one != other]
    questions = tuple(survey.question(id) for id in ids)
    rows, numbers = set_cells(parities_record(questions).blocks, questions, people.encoded, PEOPLE)
    assert list(zip(rows.tolist(), numbers.tolist(), strict=True)) == expected
    assert len(expected) > 50


def test_nobody_has_no_cells():
    asked = [{"id": "a", "type": "yesno"}]
    survey = Survey.of({"name": "s", "crowd": 9, "privacy": {"epsilon": 1.0}, "question": asked})
    people = EncodedAnswers.of(survey, pa.table({"a": ["no"] * 3}))
    rows, numbers = set_cells(
        crossing(survey.questions).blocks, survey.questions, people.encoded, 3
    )
    assert rows.size == numbers.size == 0
