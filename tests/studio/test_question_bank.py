"""Questions of the bank fit into any survey, under names of their own and in its languages."""

import html
import os
import re

import pytest

from incrowd.studio import question_bank
from incrowd.studio.document import SurveyDocument, apply
from incrowd.studio.operations import ids
from incrowd.studio.question_bank import bank, inserted, insertions
from incrowd.survey.surveys import survey_in

EMPTY = 'name = "A"\ncrowd = 1000\n\n[privacy]\nepsilon = 2.0\ndelta = 1e-6\n'
ASKED = '\n[[question]]\nid = "tired"\ntype = "yesno"\ntext = "?"\n'
BOTH = EMPTY + '\n[page]\nconsent = { en = "Yes?", de = "Ja?" }\n'
GERMAN = EMPTY.replace("\n\n", '\nlanguage = "de"\n\n', 1)
ALL = [*bank().values()]
PAGE = "/p/a/question-bank"


def with_items(text, *names):
    document = SurveyDocument(text)
    return apply(document, *insertions(document.content, [bank()[name] for name in names]))


def texts(survey):
    return [each.text for each in survey.questions]


@pytest.mark.parametrize("item", ALL, ids=lambda each: each.name)
class TestEachItem:
    def test_it_fits_into_a_survey(self, item, tmp_path):
        for text in (EMPTY, BOTH, GERMAN):
            survey = survey_in(with_items(text + ASKED, item.name).content, tmp_path)
            assert [each.id for each in survey.questions] == ["tired", *ids(item.content)]

    def test_twice_it_has_other_names(self, item, tmp_path):
        content = with_items(EMPTY + ASKED, item.name, item.name).content
        survey_in(content, tmp_path)
        once = ids(item.content)
        assert ids(content) == ["tired", *once, *(f"{each}_2" for each in once)]
        matrices = [each["id"] for each in content.get("matrix", ())]
        assert len({*matrices}) == len(matrices) == 2 * len(item.content.get("matrix", ()))
        assert {each.get("matrix") for each in content["question"]} - {None} == {*matrices}

    def test_a_survey_in_one_language_gets_this_language(self, item):
        for text, language in ((EMPTY, "en"), (GERMAN, "de")):
            raw = with_items(text, item.name).content
            there = [*words_of(raw)]
            assert there == [words[language] for words in words_of(item.content)]


def words_of(content):
    for table in (*content["question"], *content.get("matrix", ())):
        yield table["text"]
        yield from table.get("labels", {}).values()


class TestLanguages:
    def test_a_survey_in_both_gets_both(self, tmp_path):
        survey = survey_in(with_items(BOTH, "age").content, tmp_path)
        assert texts(survey) == [{"en": "How old are you?", "de": "Wie alt sind Sie?"}]

    def test_a_national_variant_gets_its_language(self, tmp_path):
        text = GERMAN.replace('"de"', '"de-AT"')
        assert texts(survey_in(with_items(text, "age").content, tmp_path)) == ["Wie alt sind Sie?"]

    def test_another_language_gets_english_to_be_translated(self, tmp_path, browser, studio):
        text = GERMAN.replace('"de"', '"fr"')
        assert texts(survey_in(with_items(text, "age").content, tmp_path)) == ["How old are you?"]
        also = text + '\n[page]\nconsent = { fr = "Oui?", de = "Ja?" }\n'
        survey = survey_in(with_items(also, "age").content, tmp_path)
        assert texts(survey) == [{"fr": "How old are you?", "de": "Wie alt sind Sie?"}]
        studio.projects.create("A", text)
        assert "Translate the new texts for: fr" in browser.get(PAGE).text


class TestInserting:
    def test_several_are_one_version(self, browser, studio):
        project = studio.projects.create("A", "# Ours.\n" + EMPTY)
        before = project.text()
        answer = browser.post(PAGE, data={"item": ["gender", "agreement"]})
        assert answer.headers["location"] == "/p/a/design?open=gender#questions"
        survey = project.survey()
        assert [each.id for each in survey.questions] == [
            "gender",
            "informed",
            "respected",
            "supported",
        ]
        assert project.text().startswith("# Ours.\n")
        assert project.undo() and project.text() == before

    def test_what_is_there_stays_and_no_id_is_used_twice(self, studio, tmp_path):
        text = EMPTY + '\n[[question]]\nid = "age"\ntype = "yesno"  # mine\n'
        project = studio.projects.create("A", text)
        assert inserted(project, [bank()["age"], bank()["gender"]]) == "age_2"
        assert ids(project.document().content) == ["age", "age_2", "gender"]
        assert project.text().startswith(text)

    def test_an_id_that_a_matrix_has_is_not_used_for_another(self, tmp_path):
        text = EMPTY + '\n[[question]]\nid = "agreement"\ntype = "yesno"\n'
        content = with_items(text, "agreement").content
        survey_in(content, tmp_path)
        assert content["matrix"][0]["id"] == "agreement_2"

    @pytest.mark.parametrize("data", [{}, {"item": "../age"}])
    def test_without_a_choice_nothing_changes(self, browser, studio, data):
        project = studio.projects.create("A", EMPTY)
        assert browser.post(PAGE, data=data).status_code == 422
        assert project.text() == EMPTY

    def test_the_page_shows_what_people_would_read(self, browser, studio):
        studio.projects.create("A", EMPTY)
        page = html.unescape(browser.get(PAGE, headers={"Accept-Language": "de"}).text)
        for item in ALL:
            assert all(words["de"] in page for words in words_of(item.content))
        assert "/p/a/question-bank" in browser.get("/p/a/design").text
        assert len(re.findall('type="checkbox" name="item"', page)) == len(ALL)


def test_every_file_is_listed():
    folder = os.path.join(os.path.dirname(question_bank.__file__), "bank")
    assert {f"{name}.toml" for name in question_bank.ORDER} == {*os.listdir(folder)}
