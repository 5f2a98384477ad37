"""New surveys of interviews: every device serves every number of questions and answers."""

import tomllib

import pytest

import incrowd
from incrowd.drafts.new_survey import questions_in, with_unique_ids
from incrowd.interviews.devices import DEVICES
from incrowd.interviews.new_interviews import RELATIVES, NewInterviews

YES_NO = "Do you smoke? yes / no"
SEVERAL = "Which party? red / green / don't know"


def written(device, *texts):
    questions = with_unique_ids([each for text in texts for each in questions_in(text)])
    return incrowd.InterviewSurvey.of(tomllib.loads(NewInterviews("x", device, questions).toml))


@pytest.mark.parametrize("device", DEVICES)
def test_every_device_serves_questions_with_two_and_more_answers(device):
    survey = written(device, YES_NO, SEVERAL)
    assert [each.question.text for each in survey.items] == ["Do you smoke?", "Which party?"]
    assert survey.item("which_party").question.answers == ("red", "green", "don't know")
    assert all(each.design.ratio is not None for each in survey.items)


def test_a_die_forces_each_answer_with_one_face():
    design = written("die", YES_NO).item("do_you_smoke").design
    assert design.ratio == 5  # P(yes | yes) = 1/6 + 4/6, P(yes | no) = 1/6


def test_each_question_has_a_birthday_of_its_own():
    survey = written("birthday", *[YES_NO] * len(RELATIVES))
    statements = {each.design.designs[0].statement for each in survey.items}
    assert len(statements) == len(RELATIVES)


def test_a_number_cannot_be_randomized_by_hand():
    with pytest.raises(incrowd.SurveyError) as error:
        written("die", "How many days? 0-30")
    assert [each.code for each in error.value.problems] == ["interviews.no-choice"]
