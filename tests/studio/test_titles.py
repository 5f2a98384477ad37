"""Pages call questions by their texts, not by their short names."""

import html

import pytest

from incrowd.characters import shortened
from incrowd.studio.condition_form import label_of
from incrowd.studio.titles import answer_title, formula_title, table_title, titles_in, titles_of
from incrowd.survey import Survey

LONG = "In the last twelve months, how often did you come to work although you were so ill that"
TEXT = f"""\
name = "Work"
language = "de"
crowd = 100000

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "q1"
type = "choice"
text = {{ en = "How are you?", de = "Wie geht es Ihnen?" }}
options = ["good", "poor", "other"]

[[question]]
id = "q2"
type = "choice"
text = "{LONG} you could not?"
options = ["often", "rarely", "never"]

[[question]]
id = "q3"
type = "yesno"

[[table]]
questions = ["q1", "q2"]
"""
SHORT = "In the last twelve months, how often did you come to work although you were so…"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("one two", "one two"),
        ("one\n\ntwo", "one two"),
        ("one two three", "one two…"),
        ("abcdefghijklm", "abcdefghi…"),
        ("a bcdefghijklmn", "a bcdefgh…"),
        ("", ""),
    ],
)
def test_a_text_is_shortened_after_a_word(text, short):
    assert shortened(text, 10) == short and len(short) <= 10


def test_titles_are_texts_and_differ():
    raw = {"question": [{"id": "a", "text": "What?"}, {"id": "b", "text": "What?"}, {"id": "c"}]}
    assert titles_in(raw) == {"a": "What? (a)", "b": "What? (b)", "c": "c"}
    assert table_title(["a", "c", "d"], titles_in(raw)) == "What? (a) × c × d"
    questions = [{"id": "a", "type": "yesno", "text": {"en": "What?", "de": "Was?"}}]
    survey = Survey.of({"name": "A", "crowd": 9, "privacy": {"epsilon": 1}, "question": questions})
    assert titles_of(survey, "de") == {"a": "Was?"} and titles_of(survey, "fr") == {"a": "What?"}


def test_regressions_have_titles():
    titles = {"a": "How are you?", "b": "How old?"}
    assert formula_title("a", ["b"], titles) == "How are you? ~ How old?"
    assert formula_title("a=poor", ["b", "a:b", "c"], titles) == (
        "How are you?=poor ~ How old? + How are you? × How old? + c"
    )
    assert formula_title("a", None, titles) == "How are you? ~ "


@pytest.fixture
def page(browser, studio):
    studio.projects.create("Work", TEXT)
    return lambda path: html.unescape(browser.get(f"/p/work/{path}").text)


def test_the_design_lists_texts(page):
    text = page("design")
    assert ">Wie geht es Ihnen?</span></th>" in text and f">{SHORT}</th>" in text
    assert f'aria-label="Move {SHORT} up"' in text
    for id in ("q1", "q2"):
        assert f">{id}</th>" not in text and f"> {id}</label>" not in text


def test_precision_has_texts_as_headings(page):
    text = page("precision")
    assert f"<h3>How are you? × {SHORT}</h3>" in text  # in the language of the studio
    assert f"<legend>{SHORT}</legend>" in text and f'<option value="q2">{SHORT}</option>' in text
    assert "<h3>q1" not in text and "<legend>q1" not in text


def test_what_if_names_texts(browser, page):
    page("precision")
    form = {"kind": "drop", "drop-chosen": "q2"}
    text = html.unescape(browser.post("/p/work/precision/what-if", data=form).text)
    assert f"Without the question {SHORT}" in text
    assert f'<tr><th scope="row">{SHORT}</th>' in text


def test_answers_that_every_survey_has_are_named_in_the_language_of_the_studio():
    asked = {"id": "q4", "type": "yesno", "asked_if": "q3 = yes", "optional": True}
    labelled = {"id": "q5", "type": "yesno", "labels": {"yes": {"en": "Sure", "de": "Klar"}}}
    chosen = {"id": "q6", "type": "choice", "options": ["yes", "no"]}
    plain = {"name": "x", "crowd": 100, "privacy": {"epsilon": 1.0, "delta": 1e-6}}
    questions = [{"id": "q3", "type": "yesno"}, asked, labelled, chosen]
    survey = Survey.of(plain | {"question": questions})
    names = [answer_title(survey, "q3", each, "de") for each in ("yes", "no")]
    assert names == ["ja", "nein"] and answer_title(survey, "q3", "yes", "en") == "yes"
    states = [answer_title(survey, "q4", each, "de") for each in ("no answer", "not asked")]
    assert states == ["keine Antwort", "nicht gefragt"]
    assert answer_title(survey, "q5", "yes", "de") == "Klar"
    assert answer_title(survey, "q6", "yes", "de") == "yes"
    assert label_of(questions[0], "yes", "de") == "ja"
    assert label_of(labelled, "yes", "de") == "Klar" and label_of(chosen, "yes", "de") == "yes"
