"""Surveys of interviews: what they state, and every mistake in them at once."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import incrowd
from incrowd.interviews.designs import DESIGNS
from incrowd.interviews.devices import DEVICES
from incrowd.interviews.survey import InterviewColumns
from incrowd.survey import AnyQuestion
from incrowd.survey.questions import TYPES

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}
QUESTION = {"id": "armed", "type": "yesno", "design": FORCED}
SURVEY = {"name": "Groups", "device": {"kind": "die"}, "question": [QUESTION]}


def survey(*questions, **changed):
    listed = {"question": [QUESTION | each for each in questions]} if questions else {}
    return incrowd.InterviewSurvey.of(SURVEY | listed | changed)


def codes_of(*questions, **changed):
    with pytest.raises(incrowd.SurveyError) as error:
        survey(*questions, **changed)
    return [each.code for each in error.value.problems]


def test_a_survey_has_exact_designs():
    item = survey().item("armed")
    assert item.design.exact == (
        ((Fraction(5, 6), Fraction(1, 6)), (Fraction(1, 6), Fraction(5, 6))),
    )
    assert item.design.ratio == 5


def test_a_survey_survives_json():
    written = survey(
        {
            "id": "a",
            "text": {"en": "Armed?", "de": "Bewaffnet?"},
            "values": {"1": "yes", "2": "no"},
        },
        {"id": "b", "truth": "no", "design": {"kind": "warner", "p": Fraction(1, 6)}},
        columns={"group": "g", "missing": [98, "99"]},
        groups={"codes": [0, 1]},
        aim={"margin": 0.05},
    )
    assert written.columns.missing == ("98", "99") and written.groups == ("0", "1")
    assert written.item("b").truth == "no" and len(written.item("a").design.designs) == 2
    again = incrowd.InterviewSurvey.of(json.loads(written.dumps()))
    assert again == written


def test_labels_of_reports_are_in_both_languages():
    crosswise = {"kind": "crosswise", "p": "1/4"}
    asked = survey({"design": crosswise}, device={"kind": "birthday"})
    assert asked.label_of("armed", "same") == "same"
    assert asked.text_of("armed") == "armed"
    labeled = survey({"labels": {"yes": {"en": "Yes, I do", "de": "Ja, schon"}}})
    assert labeled.label_of("armed", "yes", "de") == "Ja, schon"
    assert replace(labeled, shown_in="de").label_of("armed", "yes") == "Ja, schon"
    assert replace(labeled, shown_in="fr").label_of("armed", "yes") == "Yes, I do"


def test_all_mistakes_are_listed_at_once():
    codes = codes_of(
        {"optional": True},
        {"id": "b", "desing": 1},
        {"id": "c", "type": "number", "edges": [0, 1]},
        {"id": "d", "design": {"kind": "warner", "p": 2}},
        {"id": "d"},
        crowd=100,
        device={"kind": "dice"},
        columns={"wieght": "w"},
    )
    assert sorted(codes) == sorted(
        [
            "interviews.key-of-others",
            "interviews.key-of-others",
            "survey.unknown-key",
            "survey.unknown-key",
            "survey.same-id",
            "shared.use-one-of",
            "interviews.no-choice",
            "survey.unfit",
        ]
    )


@pytest.mark.parametrize(
    ("device", "p", "refused"),
    [
        ({"kind": "die"}, "1/5", True),
        ({"kind": "die"}, "1/36", True),
        ({"kind": "die", "dice": 2}, "1/36", False),
        ({"kind": "spinner"}, "0.05", False),
        ({"kind": "coin"}, "1/4", False),
        ({"kind": "coin"}, "1/3", True),
        ({"kind": "cards"}, "5/36", False),
        ({"kind": "birthday"}, "1/4", False),
        ({"kind": "birthday"}, "31/365", True),
        ({"kind": "birthday", "calendar": "days"}, "31/365", False),
    ],
)
def test_a_device_has_to_realize_the_probabilities(device, p, refused):
    raw = {"design": {"kind": "warner", "p": p}}
    if refused:
        assert codes_of(raw, device=device) == ["interviews.not-realized"]
    else:
        assert survey(raw, device=device).item("armed").design.designs[0].p == Fraction(p)


def test_the_share_of_people_for_whom_a_statement_holds_is_a_fact():
    """Births are not spread evenly over a year, so a share from statistics may be stated."""
    design = {"kind": "crosswise", "p": "0.246"}
    assert codes_of({"design": design}, device={"kind": "birthday"}) == ["interviews.not-realized"]
    stated = design | {"statement": "My mother was born in January, February, or March."}
    assert survey({"design": stated}, device={"kind": "birthday"})


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        ("My mother was born in May.", "my  mother was born in May.", True),
        ("My mother was born in May.", "My father was born in May.", False),
        (None, None, True),
        (None, "My father was born in May.", False),
        ({"en": "A", "de": "B"}, "B", True),
    ],
)
def test_two_questions_must_not_share_a_birthday(one, other, refused):
    def crosswise(statement):
        return {"kind": "crosswise", "p": "1/4"} | ({"statement": statement} if statement else {})

    questions = [{"id": "a", "design": crosswise(one)}, {"id": "b", "design": crosswise(other)}]
    device = {"kind": "birthday"}
    if refused:
        assert codes_of(*questions, device=device) == ["interviews.same-statement"]
    else:
        assert survey(*questions, device=device)


def test_a_die_is_rolled_anew_for_each_question():
    assert survey({"id": "a"}, {"id": "b"})
    birthday = {"kind": "birthday"}
    assert codes_of({"id": "a"}, {"id": "b"}, device=birthday) == ["interviews.same-statement"]


def test_a_birthday_that_decides_about_two_unrelated_questions_is_shared():
    """By hand, with p = 1/4 and a share of 1/10: if both answers are yes, then the same birthday
    asks both sensitive questions, and (1/4 + 3/400) / (3/400) = 103/3 is the ratio for two yes
    against two no: more than (13/3)**2, what two birthdays would give."""
    questions = [
        {
            "id": id,
            "design": {"kind": "unrelated", "p": "1/4", "prevalence": "1/10", "question": id},
        }
        for id in ("a", "b")
    ]
    assert survey(*questions, device={"kind": "coin"})
    assert codes_of(*questions, device={"kind": "birthday"}) == ["interviews.same-statement"]
    assert codes_of(
        questions[0],
        {"id": "b"} | {"design": {"kind": "forced", "yes": "1/4"}},
        device={"kind": "birthday"},
    ) == ["interviews.same-statement"]


def test_a_die_that_answers_the_other_question_is_rolled_anew():
    crosswise = {"kind": "crosswise", "p": "1/6"}
    assert survey({"id": "a", "design": crosswise}, {"id": "b", "design": crosswise})


@pytest.mark.parametrize("kind", ["warner", "kuk", "forced"])
def test_a_birthday_does_not_change_between_repetitions(kind):
    p = {"warner": {"p": "1/4"}, "kuk": {"yes": "3/4", "no": "1/4"}}.get(kind, {"yes": "1/4"})
    question = {"design": {"kind": kind, "repeats": 3} | p}
    assert survey(question, device={"kind": "coin"})
    assert codes_of(question, device={"kind": "birthday"}) == ["interviews.not-redrawn"]


@pytest.mark.parametrize("kind", ["direct", "forced"])
def test_what_decides_must_not_be_asked(kind):
    design = {"direct": {}, "forced": {"yes": "1/6", "no": "1/6"}}[kind]
    other = {"id": "b", "text": "Born in  May?", "design": {"kind": kind} | design}
    crosswise = {"kind": "crosswise", "p": "1/12", "statement": {"en": "born in May?", "de": "A"}}
    one = {"id": "a", "text": "Armed?", "design": crosswise}
    assert survey(one, other | {"text": "Born in June?"})
    assert codes_of(one, other) == ["interviews.statement-asked"]
    assert codes_of(other, one) == ["interviews.statement-asked"]
    assert codes_of(one | {"text": "Born in May?"}) == ["interviews.statement-asked"]


def test_an_unknown_share_needs_two_groups():
    unrelated = [{"kind": "unrelated", "p": p} for p in ("2/3", "1/3")]
    groups = {"columns": {"group": "g"}, "groups": {"codes": ["a", "b"]}}
    question = {key: each for key, each in QUESTION.items() if key != "design"}
    asked = incrowd.InterviewSurvey.of(
        SURVEY | groups | {"question": [question | {"designs": unrelated}]}
    )
    assert asked.item("armed").design.matrices.names == ("unrelated",)
    assert codes_of({"design": unrelated[0]}) == ["interviews.needs-two-groups"]


def test_a_file_with_options_beside_it(tmp_path):
    (tmp_path / "parties.txt").write_text("red\ngreen\nblue\n")
    text = """name = "Votes"
device = { kind = "spinner", sectors = 10 }
[[question]]
id = "vote"
type = "choice"
options_file = "parties.txt"
design = { kind = "forced", forced = { red = "1/10", green = "1/10", blue = "0.2" } }
"""
    (tmp_path / "survey.toml").write_text(text)
    asked = incrowd.InterviewSurvey.load(tmp_path / "survey.toml")
    assert asked.item("vote").design.designs[0].truth == Fraction(3, 5)


def test_nothing_of_other_surveys_meets_interviews():
    """Each key of a survey or a question that changes what is sent or promised is refused."""
    ours = {"name", "language", "question", "codes"}
    keys = {field.alias or name for name, field in incrowd.Survey.model_fields.items()} - ours
    assert {"crowd", "privacy", "rounds", "copies", "message", "people", "colluding"} <= keys
    assert all(codes_of(**{key: 1}) == ["interviews.key-of-others"] for key in keys)
    words = {"id", "type", "text", "help", "labels"}
    keys = {field.alias or name for name, field in AnyQuestion.model_fields.items()} - words
    assert {"open", "memoized", "randomizer", "optional", "asked_if"} <= keys
    assert all(codes_of({key: 1}) == ["interviews.key-of-others"] for key in keys)


@pytest.mark.parametrize("kind", TYPES)
def test_only_questions_with_one_of_several_answers_are_randomized_by_hand(kind):
    keys = {"choice": {"options": ["no", "yes"]}, "yesno": {}}
    found = None if kind in keys else codes_of({"type": kind})
    assert found is None or "interviews.no-choice" in found
    assert kind not in keys or survey({"type": kind, **keys[kind]})


def test_other_surveys_say_what_interviews_need():
    plain = {"name": "x", "crowd": 100, "privacy": {"epsilon": 1}}
    question = {"id": "a", "type": "yesno"}
    with pytest.raises(incrowd.SurveyError) as error:
        incrowd.Survey.of(plain | {"question": [question], "device": {"kind": "die"}})
    assert [each.code for each in error.value.problems] == ["survey.of-interviews"]
    with pytest.raises(incrowd.SurveyError) as error:
        incrowd.Survey.of(plain | {"question": [question | {"design": FORCED}]})
    assert [each.code for each in error.value.problems] == ["survey.design-by-hand"]
    with pytest.raises(incrowd.SurveyError) as error:
        incrowd.InterviewSurvey.of(plain | {"question": [question]})
    assert [each.code for each in error.value.problems] == ["interviews.no-device"]


def test_every_key_is_in_the_manual():
    text = (Path(__file__).parents[2] / "docs" / "interviews.md").read_text()
    models = [*DEVICES.values(), *DESIGNS.values(), InterviewColumns]
    keys = {field.alias or name for model in models for name, field in model.model_fields.items()}
    planned = {"kind", "forced", "expected"}
    assert {"dice", "sectors", "repeats", "weight"} <= keys
    assert [key for key in sorted(keys - planned) if f"`{key}`" not in text] == []
    assert [kind for kind in (*DEVICES, *DESIGNS) if f"| `{kind}`" not in text] == []
