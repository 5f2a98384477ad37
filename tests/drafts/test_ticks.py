"""Columns of check boxes, as survey software exports them, and the questions that they become."""

import tomllib

import numpy as np
import pandas
import pytest

import incrowd
from incrowd.drafts.ticks import parts_of
from incrowd.encoding.records import EncodedAnswers

ROWS = 120
GENERATOR = np.random.default_rng(44)
CHOSEN = GENERATOR.random((ROWS, 3)) < [0.5, 0.4, 0.3]


def boxes(names, yes, no):
    """Columns with the names, in which `yes` marks what people chose; a tuple has one for each."""
    marks = yes if isinstance(yes, tuple) else (yes,) * len(names)
    return {
        name: [mark if each else no for each in CHOSEN[:, place]]
        for place, (name, mark) in enumerate(zip(names, marks, strict=True))
    }


def drafted(columns, tmp_path):
    """The draft of columns in a CSV file, and its survey, which takes them and can be planned."""
    path = tmp_path / "a.csv"
    pandas.DataFrame({"other": ["x", "y"] * (ROWS // 2)} | columns).to_csv(path, index=False)
    draft = incrowd.draft(path)
    survey = incrowd.Survey.of(tomllib.loads(draft.toml))
    assert incrowd.check(survey, path).accepted
    assert incrowd.plan(survey).survey.crowd == draft.crowd
    return draft, survey, EncodedAnswers.of(survey, incrowd.load_answers(path, survey))


QUESTIONS = {  # columns, the question, its options, whether the draft asks if it is one question
    "a code and 1 or a blank": (
        boxes(["q7_1", "q7_2", "q7_3"], "1", ""),
        "q7",
        ("q7_1", "q7_2", "q7_3"),
        False,
    ),
    "a code and 0 or 1": (
        boxes(["q7_1", "q7_2", "q7_3"], 1, 0),
        "q7",
        ("q7_1", "q7_2", "q7_3"),
        True,
    ),
    "REDCap, codes": (
        boxes(["pets___1", "pets___2", "pets____99"], "1", "0"),
        "pets",
        ("pets___1", "pets___2", "pets____99"),
        False,
    ),
    "REDCap, labels": (
        boxes(
            ["Pets (choice=Cat)", "Pets (choice=Dog, or wolf)", "Pets (choice=Cow)"],
            "Checked",
            "Unchecked",
        ),
        "Pets",
        ("Cat", "Dog, or wolf", "Cow"),
        False,
    ),
    "a colon and a cross": (
        boxes(["Q9: Cat", "Q9: Dog", "Q9: Cow"], "x", ""),
        "Q9",
        ("Cat", "Dog", "Cow"),
        False,
    ),
    "a dash and the option": (
        boxes(
            ["Which pets? - Cat", "Which pets? - Dog", "Which pets? - Cow"],
            ("Cat", "Dog", "Cow"),
            "",
        ),
        "Which pets?",
        ("Cat", "Dog", "Cow"),
        False,
    ),
    "numbers and the option": (
        boxes(["Q9_1", "Q9_2", "Q9_4"], ("Cats", "Dogs", "Cows"), ""),
        "Q9",
        ("Cats", "Dogs", "Cows"),
        False,
    ),
    "brackets, in German": (
        boxes(
            ["Welche Tiere? [Katze]", "Welche Tiere? [Hund]", "Welche Tiere? [Kuh]"], "Ja", "Nein"
        ),
        "Welche Tiere?",
        ("Katze", "Hund", "Kuh"),
        True,
    ),
    "words, in German": (
        boxes(["tier_1", "tier_2", "tier_3"], "ausgewählt", "nicht gewählt"),
        "tier",
        ("tier_1", "tier_2", "tier_3"),
        False,
    ),
    "a path of a form": (
        boxes(["home/pets/cat", "home/pets/dog", "home/pets/cow"], "True", "False"),
        "home/pets",
        ("cat", "dog", "cow"),
        True,
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_columns_of_boxes_are_one_question(name, tmp_path):
    """The wrong variant asks a question about each box."""
    columns, id, options, asks = QUESTIONS[name]
    draft, survey, encoded = drafted(columns, tmp_path)
    question = survey.question(id)
    assert (question.type, question.options) == ("multi", options)
    assert [each.id for each in survey.questions] == ["other", id]
    assert question.at_most == CHOSEN.sum(axis=1).max() and not question.optional
    chosen = np.zeros(CHOSEN.shape, bool)
    chosen[encoded.encoded[id].rows, encoded.encoded[id].places] = True
    assert np.array_equal(chosen, CHOSEN)
    assert any("if they are different questions" in each for each in draft.undecided) == asks
    named = any(option in columns for option in options)
    assert any("have the names of their columns" in each for each in draft.undecided) == named


APART = {  # columns that are questions of their own
    "a common first word": boxes(["heart_attack", "heart_failure", "heart_pain"], "yes", "no"),
    "all questions are numbered": boxes(["q_1", "q_2", "q_3"], "yes", "no"),
    "years": boxes(["smoke_2019", "smoke_2020", "smoke_2021"], "yes", "no"),
    "numbered without a sign": boxes(["item1", "item2", "item3"], 1, 0),
    "different gaps": {
        "q7_1": ["1", "0", ""] * (ROWS // 3),
        "q7_2": ["", "1", "0"] * (ROWS // 3),
    },
}


@pytest.mark.parametrize("name", APART)
def test_other_columns_of_yes_and_no_stay_questions(name, tmp_path):
    draft, survey, _ = drafted(APART[name], tmp_path)
    assert {each.type for each in survey.questions} == {"choice", "yesno"}
    assert len(survey.questions) == len(APART[name]) + 1
    asked = any("are the options of one question" in each for each in draft.undecided)
    assert asked == (name == "a common first word")


def test_an_option_that_nobody_chose_and_gaps_of_whole_rows(tmp_path):
    cells = boxes(["q7_1", "q7_2", "q7_3"], "1", "0") | {"q7_4": ["0"] * ROWS}
    cells = {name: ["", *column[1:]] for name, column in cells.items()}
    _, survey, encoded = drafted(cells, tmp_path)
    question = survey.question("q7")
    assert question.options == ("q7_1", "q7_2", "q7_3", "q7_4") and question.optional
    assert (encoded.encoded["q7"].places == 4).sum() == 1  # no answer


def test_boxes_beside_the_list_of_the_same_answers_are_left_out(tmp_path):
    names = np.array(["cat", "dog", "cow"])
    lists = {"pets": [" ".join(names[row]) for row in CHOSEN]}
    draft, survey, _ = drafted(lists | boxes([f"pets/{name}" for name in names], 1, 0), tmp_path)
    assert [each.id for each in survey.questions] == ["other", "pets"]
    assert all("lists the same answers" in each.reason for each in draft.left_out)


def test_an_id_of_a_question_is_no_other_column(tmp_path):
    columns = {"q7": ["a", "b"] * (ROWS // 2)} | boxes(["q7_1", "q7_2", "q7_3"], "x", "")
    _, survey, _ = drafted(columns, tmp_path)
    assert [each.id for each in survey.questions] == ["other", "q7", "q7_4"]


def test_the_wording_below_the_names_has_the_question_and_its_options(tmp_path):
    path = tmp_path / "a.csv"
    texts = [f"Which pets? - Selected Choice - {each}" for each in ("Cat", "Dog", "Cow")]
    frame = pandas.DataFrame(
        {"Q0": ["x", "y"] * (ROWS // 2)} | boxes(["Q9_1", "Q9_2", "Q9_3"], 1, "")
    )
    top = pandas.DataFrame([["How?", *texts]], columns=frame.columns)
    ids = pandas.DataFrame([['{"ImportId":"QID1"}'] * 4], columns=frame.columns)
    pandas.concat([top, ids, frame]).to_csv(path, index=False)
    survey = incrowd.Survey.of(tomllib.loads(incrowd.draft(path).toml))
    question = survey.question("Q9")
    assert (question.text, question.options) == ("Which pets?", ("Cat", "Dog", "Cow"))


def test_names_of_columns_that_are_no_options():
    for name in ("age", "smoke_2019", "q_1", "Q 12", "item_3", "x1", "weight"):
        assert parts_of(name) is None
