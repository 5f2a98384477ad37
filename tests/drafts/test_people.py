"""People and rows: ids that repeat, waves, and tables with one row for each answer."""

import tomllib

import numpy as np
import pandas
import pytest

import incrowd

GENERATOR = np.random.default_rng(41)


def survey_of(draft):
    return incrowd.Survey.of(tomllib.loads(draft.toml))


def panel(ids, times, **columns):
    """Rows of people, some times each, with an answer."""
    rows = len(ids) * times
    frame = pandas.DataFrame({name: np.tile(values, len(ids)) for name, values in columns.items()})
    frame["smokes"] = GENERATOR.choice(["yes", "no"], rows)
    return frame.assign(id=np.repeat(ids, times))


PANELS = {
    "texts and years": (panel([f"P{n}" for n in range(150)], 3, year=[2020, 2021, 2022]), 150, 3),
    "whole numbers": (panel(np.arange(1, 201), 2, wave=[1, 2]), 200, 2),
    "an id with another name": (
        panel(np.arange(1000, 1120), 4, round=[1, 2, 3, 4]).rename(columns={"id": "nr"}),
        120,
        4,
    ),
    "tokens": (panel([f"{n:06x}" for n in range(90)], 2).rename(columns={"id": "Token"}), 90, 2),
    "no waves": (panel([f"x{n}" for n in range(100)], 3), 100, 3),
    "repeated instruments": (
        panel(np.arange(1, 101), 3, redcap_repeat_instance=[1, 2, 3]).rename(
            columns={"id": "record_id"}
        ),
        100,
        3,
    ),
}


@pytest.mark.parametrize("name", PANELS)
def test_people_are_different_ids_and_not_rows(name):
    """The wrong variant promises a crowd of rows to people who have several."""
    frame, people, each = PANELS[name]
    draft = incrowd.draft(frame)
    survey = survey_of(draft)
    assert (draft.people, draft.crowd, survey.rows_per_person) == (people, people, each)
    (note,) = (line for line in draft.notes if "different values in" in line)
    assert f"{people:,} people with up to {each} rows each" in note
    ids = {"id", "nr", "record_id", "Token"} & {*frame.columns}
    assert ids <= {column.id for column in draft.left_out}
    assert "smokes" in {question.id for question in survey.questions}


@pytest.mark.parametrize("name", PANELS)
def test_a_check_names_ids_that_repeat(name):
    frame, people, each = PANELS[name]
    text = {"name": "A", "crowd": 50, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
    survey = incrowd.Survey.of(text | {"question": [{"id": "smokes", "type": "yesno"}]})
    notes = [str(note) for note in incrowd.check(survey, frame).findings]
    named = [
        note for note in notes if f"{people:,} different values in {len(frame):,} rows" in note
    ]
    assert len(named) == (0 if name == "an id with another name" else 1)
    stated = incrowd.Survey.of(
        text | {"rows_per_person": each, "question": [{"id": "smokes", "type": "yesno"}]}
    )
    assert not any(
        "different values in" in str(note) for note in incrowd.check(stated, frame).findings
    )


ONE_ROW = {
    "ids of people": panel(np.arange(300), 1),
    "a school of many": panel(np.arange(300), 1).assign(school_id=np.arange(300) // 30),
    "a class": panel(np.arange(300), 1).assign(id=lambda frame: frame["id"] % 4),
    "a number of people": panel(np.arange(300), 1).assign(household=np.arange(300) % 7 + 1),
    "a rating": panel(np.arange(300), 1).assign(user_rating=np.arange(300) % 100),
    "no id": panel(np.arange(300), 1).drop(columns="id"),
    "measurements and a time": panel(np.arange(300), 1)
    .drop(columns="id")
    .assign(time=np.arange(300) * 3, thickness=np.arange(300) // 3 * 0.16 + 0.1),
    "counts and a time that differs in every row": panel(np.arange(300), 1)
    .drop(columns="id")
    .assign(time=np.arange(300) * 3, visits=np.arange(300) // 3),
}


@pytest.mark.parametrize("name", ONE_ROW)
def test_one_row_for_each_person_is_no_decision(name):
    draft = incrowd.draft(ONE_ROW[name])
    assert draft.people == 300 and survey_of(draft).rows_per_person == 1
    assert not any("different values in" in line for line in draft.notes)


def test_waves_without_an_id_are_a_decision():
    draft = incrowd.draft(panel(np.arange(150), 2, wave=[1, 2]).drop(columns="id"))
    assert draft.people == 300
    assert any('as "wave" suggests' in line for line in draft.undecided)


def test_one_row_for_each_answer_is_a_decision():
    frame = pandas.DataFrame(
        {
            "entity": np.repeat([f"e{n}" for n in range(80)], 3),
            "attribute": ["sex", "smokes", "sport"] * 80,
            "value": GENERATOR.choice(["a", "b"], 240),
        }
    )
    for names in ({}, {"entity": "Nr", "attribute": "Frage", "value": "Antwort"}):
        draft = incrowd.draft(frame.rename(columns=names))
        assert draft.people == 80
    assert any("one answer rather than one person" in line for line in draft.undecided)


def test_so_many_rows_that_no_crowd_is_left_are_only_proposed():
    frame = panel([f"P{n}" for n in range(12)], 30)
    draft = incrowd.draft(frame)
    assert draft.people == 12 and "# rows_per_person = 30" in draft.toml
    assert survey_of(draft).rows_per_person == 1


@pytest.mark.parametrize("name", ["id", "identifier", "subject_id"])
def test_ids_of_long_diaries_are_people_and_no_question(name):
    """More than a hundred rows of each: the wrong variant asks for the id as a number."""
    draft = incrowd.draft(panel(np.arange(1, 51), 120).rename(columns={"id": name}))
    assert draft.people == 50
    assert [question.id for question in draft.questions] == ["smokes"]


@pytest.mark.parametrize("name", ["identifier", "person_id", "IdNum", "respid"])
def test_numbers_that_a_column_calls_ids_are_no_question(name):
    """They are far apart, as in a sample; other such numbers are amounts."""
    ids = GENERATOR.permutation(9000)[:300]
    frame = panel(ids, 1).rename(columns={"id": name})
    draft = incrowd.draft(frame.assign(paid=ids * 2 + 1))
    assert {question.id for question in draft.questions} == {"smokes", "paid"}
    assert {column.id for column in draft.left_out} == {name}


LEVELS = pandas.MultiIndex.from_product([["low", "mid", "high"], ["f", "m"], range(1, 6)])
COUNTED = LEVELS.to_frame(index=False, name=["pay", "sex", "age"])
TABLES = {
    "Freq": COUNTED.assign(Freq=np.arange(30) * 7),
    "n": COUNTED.assign(n=np.arange(30) % 4 + 1.0),
    "Anzahl": COUNTED.drop(columns="age")[::5].assign(Anzahl=range(3, 9)),
}
NOT_COUNTED = {
    "n": COUNTED.assign(n=np.arange(30) % 2),
    "a number of each person": COUNTED.sample(200, replace=True, random_state=1).assign(
        n=GENERATOR.integers(0, 9, 200)
    ),
    "an average": COUNTED.assign(freq=np.arange(30) / 7),
    "ids": COUNTED.assign(n=np.arange(30) * 7, code=[f"A{n}" for n in range(30)], age=1).sample(
        200, replace=True, random_state=1
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_frequencies_are_not_people(name):
    draft = incrowd.draft(TABLES[name])
    (note,) = (line for line in draft.notes if "stand for as many people" in line)
    assert f'"{name}" says' in note


@pytest.mark.parametrize("name", NOT_COUNTED)
def test_numbers_of_people_in_rows_of_people_are_answers(name):
    assert not any("as many people" in line for line in incrowd.draft(NOT_COUNTED[name]).notes)


def test_an_id_that_is_personal_is_left_out_as_personal():
    """Its rows are counted by it, but what it is matters more than what it is for."""
    mail = [f"anna.{n}@mail.example" for n in range(120)]
    draft = incrowd.draft(panel(mail, 2).rename(columns={"id": "email"}))
    (left_out,) = (column for column in draft.left_out if column.id == "email")
    assert "personal data" in left_out.reason
    assert draft.people == 120
