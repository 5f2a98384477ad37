"""Sections, matrices, consent and thanks: what a questionnaire has besides its questions."""

from __future__ import annotations

from typing import Any

import pytest

import incrowd
from incrowd.errors import SurveyError

SCALE = {"id": "m", "text": "How much do you agree?", "type": "choice", "options": ["yes", "no"]}
RAW: dict[str, Any] = {
    "name": "Work",
    "crowd": 1000,
    "privacy": {"epsilon": 1.0},
    "page": {"consent": "I am 18 or older.", "thanks": {"en": "Thank you.\n\nBye", "de": "Danke."}},
    "section": [
        {"id": "you", "title": "You"},
        {
            "id": "work",
            "title": {"en": "Work", "de": "Arbeit"},
            "asked_if": "works = yes or sick = yes",
        },
    ],
    "matrix": [SCALE],
    "question": [
        {"id": "works", "type": "yesno", "section": "you"},
        {"id": "sick", "type": "yesno", "section": "you"},
        {"id": "fair", "matrix": "m", "section": "work"},
        {"id": "safe", "matrix": "m", "section": "work", "asked_if": "fair = no"},
        {"id": "reason", "type": "choice", "options": ["pay", "else"], "other": "else"},
        {
            "id": "hours",
            "type": "number",
            "edges": [0, 20],
            "minimum": 1,
            "maximum": 80,
            "whole": True,
        },
    ],
}


def changed(**keys: Any) -> dict[str, Any]:
    return RAW | keys


def test_what_a_section_or_a_matrix_states_holds_for_its_questions():
    survey = incrowd.Survey.of(RAW)
    fair, safe = survey.question("fair"), survey.question("safe")
    assert fair.recorded == safe.recorded == ("yes", "no", "not asked")
    assert str(fair.asked_if) == "works = yes or sick = yes"
    assert str(safe.asked_if) == "(works = yes or sick = yes) and fair = no"
    assert survey.question("reason").asked_if is None
    assert survey.languages == ("en", "de")


def test_a_plan_keeps_all_of_it():
    plan = incrowd.plan(incrowd.Survey.of(RAW))
    again = incrowd.Plan.model_validate_json(plan.model_dump_json(by_alias=True))
    assert again == plan and again.digest == plan.digest
    assert [each.id for each in again.survey.sections] == ["you", "work"]
    assert again.survey.frame.thanks == RAW["page"]["thanks"]


def test_the_layout_has_no_part_in_the_guarantee():
    """The same questions without sections, matrices, consent and thanks have the same messages."""
    with_layout = incrowd.plan(incrowd.Survey.of(RAW))
    asked_if = "(works = yes or sick = yes)"
    scale = {"type": "choice", "options": ["yes", "no"]}
    plain = [
        {"id": "works", "type": "yesno"},
        {"id": "sick", "type": "yesno"},
        {"id": "fair", **scale, "asked_if": asked_if},
        {"id": "safe", **scale, "asked_if": f"{asked_if} and fair = no"},
        {"id": "reason", "type": "choice", "options": ["pay", "else"]},
        {"id": "hours", "type": "number", "edges": [0, 20]},
    ]
    keys = {key: RAW[key] for key in ("name", "crowd", "privacy")}
    without = incrowd.plan(incrowd.Survey.of(keys | {"question": plain}))
    assert with_layout.guarantee == without.guarantee
    assert [m.noise_numerator for m in with_layout.messages] == [
        m.noise_numerator for m in without.messages
    ]


def test_mistakes_in_the_layout_are_named():
    first, second, fair, safe, *rest = RAW["question"]
    wrong = {
        "used twice": changed(section=[*RAW["section"], RAW["section"][0]]),
        "no question belongs": changed(section=[*RAW["section"], {"id": "end", "title": "End"}]),
        "matrix.* with this id": changed(matrix=[SCALE | {"id": "n"}]),
        "no .*section.* has this id": changed(section=RAW["section"][1:]),
        "not together": changed(question=[first, fair, safe, second, *rest]),
        "differ": changed(
            question=[first, second, fair, safe | {"options": ["yes", "maybe"]}, *rest]
        ),
        "only questions": changed(
            question=[first, second, fair, safe | {"type": "multi", "at_most": 1}, *rest]
        ),
        "title": changed(section=[{"id": "you"}, RAW["section"][1]]),
        "condition": changed(
            section=[RAW["section"][0], RAW["section"][1] | {"asked_if": "works"}]
        ),
        "'en'": changed(page={"thanks": {"de": "Danke."}}),
        "not one of the options": changed(
            question=[first, second, fair, safe, rest[0] | {"other": "no"}]
        ),
        "above the maximum": changed(
            question=[first, second, fair, safe, rest[1] | {"minimum": 90}]
        ),
    }
    for message, raw in wrong.items():
        with pytest.raises(SurveyError, match=message):
            incrowd.Survey.of(raw)


def test_texts_may_have_paragraphs_and_titles_may_not():
    incrowd.Survey.of(changed(page={"consent": "One.\n\nTwo."}))
    with pytest.raises(SurveyError, match="U\\+000A"):
        incrowd.Survey.of(changed(section=[{"id": "you", "title": "A\nB"}, RAW["section"][1]]))
