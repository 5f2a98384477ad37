"""A questionnaire of 25 questions as an XLSForm, which a validator of XLSForms accepts: sections,
conditions, and a matrix are those of the form, and the user decides about privacy only."""

import tomllib

import pytest

import incrowd
from tests.oracles.whole_form import CHOICES, ITEMS, LISTS, NO_WORK, SETTINGS, SURVEY, exported


@pytest.fixture
def form(workbook):
    return workbook(survey=SURVEY, choices=CHOICES, settings=SETTINGS)


def test_a_validator_accepts_the_form_and_not_one_with_an_unknown_name(form, workbook):
    pyxform = pytest.importorskip("pyxform.xls2xform", reason="make test installs it")
    assert "<h:title>Health and habits</h:title>" in pyxform.convert(form).xform
    broken = [tuple("${wrks} = 1" if c == "${smokes} = 'y'" else c for c in row) for row in SURVEY]
    with pytest.raises(Exception, match="wrks"):
        pyxform.convert(workbook(survey=broken, choices=CHOICES, settings=SETTINGS))


def test_the_draft_has_all_sections_conditions_and_the_matrix(form, drafted):
    draft, questions = drafted(form)
    raw = tomllib.loads(draft.toml)
    assert len(questions) == 25 and draft.name == "Health and habits"
    assert draft.undecided == ("a form does not say how many people answer; set the crowd",)
    lines = [line for line in draft.toml.splitlines() if "DECIDE" in line]
    assert len(lines) == 4  # what DECIDE means, the crowd twice, and epsilon
    assert raw["page"] == {
        "consent": "We ask about your health. You can stop at any time.\nI take part.",
        "thanks": "Thank you for your answers!",
    }
    assert raw["section"] == [
        {"id": "you", "title": "About you"},
        {"id": "work", "title": "Your work", "asked_if": "works = yes and age >= 18"},
        {"id": "habits", "title": "Your habits"},
        {"id": "mood", "title": "Your mood"},
    ]
    (matrix,) = raw["matrix"]
    assert matrix["text"] == "In the last month, how often were you"
    assert matrix["options"] == [*LISTS["often"].values()]
    assert [id for id, each in questions.items() if each.matrix == "mood_items"] == [*ITEMS]
    conditions = {each["id"]: each["asked_if"] for each in raw["question"] if "asked_if" in each}
    assert conditions == {
        "cigarettes": "smokes = yes",
        "quit": "smokes = yes and cigarettes >= 11",
    }
    assert questions["travel"].other == "other" and questions["drinks"].at_most == 2
    assert questions["age"].edges == (16, 18, 36, 56, 76)
    assert [id for id, each in questions.items() if each.optional] == ["found_help"]


PEOPLE = [
    {},
    {"works": "n", **NO_WORK},
    {"age": "17", **NO_WORK},
    {"smokes": "n", "cigarettes": "", "quit": ""},
    {"cigarettes": "10", "quit": ""},
]


def test_exported_answers_fit_to_the_draft(form, drafted):
    """Whoever was not asked has blank cells, and whoever was asked has none."""
    draft, _ = drafted(form)
    survey = incrowd.Survey.of(tomllib.loads(draft.toml))
    assert incrowd.check(survey, exported(PEOPLE)).accepted
    for wrong in ({"quit": ""}, {"nights": ""}, {"cigarettes": ""}):
        assert not incrowd.check(survey, exported([*PEOPLE, wrong])).accepted


@pytest.mark.slow
def test_the_draft_is_planned(form, drafted):
    draft, _ = drafted(form, plan=True)
    assert len(draft.sections) == 4
