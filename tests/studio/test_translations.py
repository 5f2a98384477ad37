"""Surveys that are translated in part: valid, with a list of what is missing."""

import html
import tomllib

import pytest

from incrowd.studio.document import version
from incrowd.studio.language import in_language
from incrowd.studio.translations import untranslated
from incrowd.survey import Survey

TEXT = """\
name = "Work"
crowd = 100000

[privacy]
epsilon = 1.0

[page]
consent = "You can stop."
thanks = { en = "Thank you.", de = "Danke." }

[[section]]
id = "you"
title = { en = "You", de = "Sie" }
text = "About you."

[[question]]
id = "ill"
type = "choice"
section = "you"
text = { en = "Were you ill?", de = "Waren Sie krank?" }
help = "Last year."
options = ["often", "never", "1"]
labels = { often = { de = "oft" } }

[[question]]
id = "age"
type = "number"
edges = [0, 18, 65]
text = { en = "How old?", de = "Wie alt?" }
"""


def listed(raw, *tags):
    return {
        tag: [(str(each.title), [*map(str, each.texts)], each.answers) for each in missing]
        for tag, missing in untranslated(raw, tags).items()
    }


def test_a_partly_translated_survey_is_valid_and_names_the_answer_itself():
    survey = Survey.of(tomllib.loads(TEXT))
    assert survey.label_of("ill", "often") == "often"
    assert survey.label_of("ill", "often", "de") == "oft"
    assert survey.label_of("ill", "never", "de") == "never"


def test_what_is_missing_is_listed_by_language():
    raw = tomllib.loads(TEXT)
    assert listed(raw, "en", "de") == {
        "de": [
            ("You", ["text below the title"], ()),
            ("Were you ill?", ["explanation"], ("never",)),
            ("Before and after the questions", ["consent"], ()),
        ]
    }
    assert [each[0] for each in listed(raw, "en", "fr")["fr"]][1:3] == ["Were you ill?", "How old?"]
    raw["question"][1]["text"] = {"de": "Wie alt?"}
    assert listed(raw, "en", "de")["en"] == [("Wie alt?", ["question"], ())]


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "Not translated yet (de): 3"), ("de", "Noch nicht übersetzt (de): 3")],
)
def test_the_page_lists_it_until_it_is_there(browser, studio, language, words):
    project = studio.projects.create("Work", TEXT)
    accept = {"Accept-Language": language}
    page = html.unescape(browser.get("/p/work/design", headers=accept).text)
    assert words in page and in_language("answers: {answers}", language, answers="never") in page
    assert "The preview appears when" not in page  # it has no errors
    texts = {"consent.en": "You can stop.", "consent.de": "Sie können aufhören."}
    form = {"do": "page", "seen": version(project.text()), "tags": "en de", **texts}
    form |= {"thanks.en": "Thank you.", "thanks.de": "Danke."}
    assert browser.post("/p/work/design", data=form).status_code == 303
    page = html.unescape(browser.get("/p/work/design", headers=accept).text)
    assert words.replace("3", "2") in page
