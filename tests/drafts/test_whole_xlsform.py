"""A questionnaire of 25 questions as an XLSForm, which a validator of XLSForms accepts: sections,
conditions, and a matrix are those of the form, and the user decides about privacy only."""

import tomllib

import pandas
import pytest

import incrowd

ITEMS = ("nervous", "hopeless", "restless", "sad", "tired", "worthless")
SURVEY = [
    ("type", "name", "label", "required", "relevant", "constraint", "appearance"),
    ("note", "consent_text", "We ask about your health. You can stop at any time."),
    ("acknowledge", "consent", "I take part.", "yes"),
    ("begin_group", "you", "About you"),
    ("integer", "age", "How old are you?", "yes", None, ". >= 16 and . <= 96"),
    ("select_one sex", "sex", "What is your sex?", "yes"),
    ("select_one area", "area", "Where do you live?", "yes"),
    ("integer", "people", "How many people live with you?", "yes", None, ". >= 0 and . <= 20"),
    ("select_one yn", "works", "Do you work?", "yes"),
    ("end_group",),
    ("begin_group", "work", "Your work", None, "${works} = 'y' and ${age} >= 18"),
    ("decimal", "hours", "How many hours a week?", "yes", None, ". >= 0 and . <= 80"),
    ("select_one travel or_other", "travel", "How do you get there?", "yes"),
    ("select_one yn", "nights", "Do you work at night?", "yes"),
    ("select_one often", "breaks", "Do you have breaks?", "yes"),
    ("end_group",),
    ("begin_group", "habits", "Your habits"),
    ("select_one yn", "smokes", "Do you smoke?", "yes"),
    ("begin_group", "smoking", None, None, "${smokes} = 'y'"),
    ("integer", "cigarettes", "How many cigarettes a day?", "yes", None, ". >= 0 and . <= 60"),
    ("select_one yn", "quit", "Did you try to stop?", "yes", "${cigarettes} > 10"),
    ("end_group",),
    (
        "select_multiple drinks",
        "drinks",
        "What do you drink?",
        "yes",
        None,
        "count-selected(.) <= 2",
    ),
    ("select_one often", "weekly", "Do you drink during the week?", "yes"),
    ("select_one often", "sports", "Do you do sports?", "yes"),
    ("select_one often", "fruit", "Do you eat fruit?", "yes"),
    ("end_group",),
    ("begin_group", "mood", "Your mood"),
    (
        "begin_group",
        "mood_items",
        "In the last month, how often were you",
        *[None] * 3,
        "table-list",
    ),
    *(("select_one often", name, name, "yes") for name in ITEMS),
    ("end_group",),
    ("select_one yn", "sleeps", "Do you sleep well?", "yes"),
    ("select_one yn", "help", "Did you look for help?", "yes"),
    ("select_one yn", "found_help", "Did you find help?", "no"),
    ("end_group",),
    ("note", "bye", "Thank you for your answers!"),
]
LISTS = {
    "yn": {"y": "Yes", "n": "No"},
    "sex": {"f": "Female", "m": "Male", "d": "Diverse"},
    "area": {"1": "City", "2": "Town", "3": "Village"},
    "travel": {"car": "By car", "bus": "By bus", "foot": "On foot"},
    "often": {"0": "Never", "1": "Sometimes", "2": "Often"},
    "drinks": {"b": "Beer", "w": "Wine", "n": "Nothing of these"},
}
CHOICES = [
    ("list_name", "name", "label"),
    *((name, code, label) for name, codes in LISTS.items() for code, label in codes.items()),
]
SETTINGS = [("form_title", "form_id"), ("Health and habits", "health")]


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


def exported(people):
    """The answers of some people as the form's software exports them: blank if they were not
    asked."""
    smokes = {"smokes": "y", "cigarettes": "20", "quit": "n"}
    base = {"age": "40", "sex": "f", "area": "1", "people": "2", "works": "y", "hours": "37.5"}
    base |= {"travel": "other", "nights": "n", "breaks": "1", **smokes, "drinks": "b w"}
    base |= {
        "weekly": "0",
        "sports": "1",
        "fruit": "2",
        "sleeps": "y",
        "help": "y",
        "found_help": "",
    }
    base |= dict.fromkeys(ITEMS, "1")
    rows = [base | person for person in people]
    return pandas.DataFrame(rows)


NO_WORK = dict.fromkeys(("hours", "travel", "nights", "breaks"), "")
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
