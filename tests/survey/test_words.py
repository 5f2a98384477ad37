"""What people read: in every language, in files, and never in a digest that had none."""

import pytest

import incrowd
from incrowd.errors import SurveyError
from tests.conftest import plan_of

WORDED = {
    "id": "smokes",
    "type": "yesno",
    "optional": True,
    "text": {"en": "Do you smoke?", "de": "Rauchen Sie?"},
    "help": "Even one counts.",
    "labels": {"no": "No", "yes": {"en": "Yes", "de": "Ja"}, "no answer": "I will not say"},
}
RAW = {"name": "Habits", "crowd": 100, "privacy": {"epsilon": 2.0, "analysis": "local"}}


def survey(*questions, **more):
    return incrowd.Survey.of(RAW | {"question": list(questions) or [WORDED]} | more)


class TestReading:
    def test_a_language_then_its_main_one_then_the_survey_s(self):
        made = survey()
        said = {tag: made.text_of("smokes", tag) for tag in ("", "de", "de-AT", "fr")}
        assert said == {
            "": "Do you smoke?",
            "de": "Rauchen Sie?",
            "de-AT": "Rauchen Sie?",
            "fr": "Do you smoke?",
        }
        assert made.help_of("smokes", "de") == "Even one counts."
        assert [made.label_of("smokes", a, "de") for a in ("no", "yes")] == ["No", "Ja"]
        assert made.languages == ("en", "de")

    def test_what_has_no_words_is_called_as_it_is(self):
        made = survey({"id": "a", "type": "yesno"})
        assert (made.text_of("a"), made.help_of("a"), made.label_of("a", "no")) == ("a", "", "no")
        assert made.languages == ("en",)

    def test_the_survey_s_own_language(self):
        made = survey({"id": "a", "type": "yesno", "text": {"de": "Ja?"}}, language="de")
        assert (made.text_of("a"), made.languages) == ("Ja?", ("de",))

    def test_an_answer_is_its_own_label_where_it_is_only_translated(self):
        labels = {"yes": {"de": "Ja"}, "no": {"en": "Never", "de": "Nie"}}
        made = survey({"id": "a", "type": "yesno", "labels": labels})
        assert [made.label_of("a", each) for each in ("yes", "no")] == ["yes", "Never"]
        assert [made.label_of("a", each, "de") for each in ("yes", "no")] == ["Ja", "Nie"]
        assert incrowd.Plan.loads(incrowd.plan(made).dumps()).survey == made


class TestFiles:
    def test_words_survive_a_plan_file_and_change_its_digest(self):
        made, bare = incrowd.plan(survey()), incrowd.plan(survey({"id": "smokes", "type": "yesno"}))
        again = incrowd.Plan.loads(made.dumps())
        assert again == made and again.survey.text_of("smokes", "de") == "Rauchen Sie?"
        assert made.digest != bare.digest

    def test_without_words_nothing_is_written_of_them(self):
        text = plan_of("bits").dumps()
        for key in ('"text":', '"help"', '"labels"', '"language"'):
            assert key not in text


class TestMistakes:
    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"text": ""}, "text"),
            ({"text": {"de": "Rauchen Sie?"}}, "has no 'en'"),
            ({"text": {"en": "a", "no tag": "b"}}, "de-AT"),
            ({"labels": {"perhaps": "Perhaps"}}, "no, yes, no answer"),
            ({"labels": {"no": "Yes", "yes": "Yes"}}, "two answers"),
            ({"labels": {"no": "Ja", "yes": {"en": "Yes", "de": "Ja"}}}, "in 'de'"),
        ],
    )
    def test_are_told(self, changed, said):
        with pytest.raises(SurveyError, match=said):
            survey(WORDED | changed)
