"""The promise of drafts of forms: whatever a form contains, its draft loads and can be planned."""

import csv
import io
import json
import tomllib

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import incrowd
from tests.conftest import examples

WORDS = st.sampled_from(
    [
        *("yes", "no", "No answer", "no answer", "none", "None", "a;b", "a, b", "x|y", "1", "-99"),
        *("", " ", "<b>bold</b>", "<br>", "**x**", "${name}", "{x}", "[q]", "\u200b", "\u202e"),
        *('"', "\\", "\n", "#", "=1+1", "\x07", "é", "e\u0301", "１", "&amp;lt;", "a" * 300, "?"),
    ]
)
LETTERS = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])  # NUL is binary
TEXTS = st.lists(WORDS, min_size=1, max_size=3).map("".join) | st.text(LETTERS, max_size=20)
PARTS = st.sampled_from(
    [
        *(
            "${one}",
            "${n}",
            "[q0]",
            "[q1(1)]",
            "q0",
            "q0.NAOK",
            "q4",
            "'1'",
            '""',
            "18",
            "1.5",
            "-1",
        ),
        *(
            "=",
            "==",
            "!=",
            "<>",
            "<",
            ">=",
            "and",
            "or",
            "not",
            "!",
            "&&",
            "(",
            ")",
            ",",
            "selected(",
        ),
        *("is_empty(", "true()", ".", "'", "regex(", "+"),
    ]
)
CONDITIONS = st.lists(PARTS, max_size=9).map(" ".join) | TEXTS
OPTIONS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6)


def table(rows):
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue()


def xlsform(text, options, condition):
    survey = [("select_one a", "one", text), ("select_multiple a", "some", text), ("int", "n", "")]
    survey += [("begin_group", "g", text, condition), ("int", "m", text, condition)]
    choices = [("a", code, label) for code, label in options]
    header, below = ("type", "name", "label", "relevant"), ("list_name", "name", "label")
    return "f.csv", table([("survey",), header, *survey, ("choices",), below, *choices])


def redcap(text, options, condition):
    header = ["field_name", "field_type", "field_label", "select_choices_or_calculations"]
    header.append("branching_logic")
    listed = " | ".join(f"{code}, {label}" for code, label in options)
    kinds = ("radio", "checkbox", "yesno")
    fields = [(f"q{n}", kind, text, listed) for n, kind in enumerate(kinds)]
    fields.append(("last", "yesno", text, "", condition))
    return "f.csv", table([header, ("id", "text", "", ""), *fields])


def limesurvey(text, options, condition):
    def cell(key, value):
        safe = "".join(c for c in value if c in "\t\n\r" or 0x20 <= ord(c) < 0xD800)
        return f"<{key}><![CDATA[{safe.replace(']]>', '')}]]></{key}>"

    def rows(name, *every):
        cells = ("".join(cell(*pair) for pair in each.items()) for each in every)
        return f"<{name}><rows>{''.join(f'<row>{each}</row>' for each in cells)}</rows></{name}>"

    asked = [
        {"qid": f"{n}", "parent_qid": "0", "type": kind, "title": f"q{n}", "question": text}
        for n, kind in enumerate("LMFYN1")
    ]
    asked.append({"qid": "99", "type": "Y", "title": "last", "relevance": condition})
    answers = [
        {"qid": f"{n}", "code": code, "answer": label} for n in range(6) for code, label in options
    ]
    below = [
        {"qid": f"{n}{place}", "parent_qid": f"{n}", "title": code, "question": label}
        for n in range(6)
        for place, (code, label) in enumerate(options)
    ]
    kind = "<LimeSurveyDocType>Survey</LimeSurveyDocType>"
    tables = rows("questions", *asked) + rows("subquestions", *below) + rows("answers", *answers)
    return "f.lss", f"<?xml version='1.0'?><document>{kind}{tables}</document>"


def qualtrics(text, options, condition):
    shown = {code: {"Display": label} for code, label in options}
    logic = {"LogicType": "Question", "Operator": "Selected"}
    logic["LeftOperand"] = f"q://QID0/SelectableChoice/{condition}"
    kinds = [("MC", "SAVR"), ("MC", "MAVR"), ("Matrix", "Likert"), ("Slider", "HSLIDER")]
    elements = [
        {
            "Element": "SQ",
            "PrimaryAttribute": f"QID{n}",
            "Payload": {
                "QuestionType": kind,
                "Selector": selector,
                "DataExportTag": f"q{n}",
                "QuestionText": text,
                "Choices": shown,
                "Answers": shown,
                "QuestionID": f"QID{n}",
                "DisplayLogic": {"0": {"0": logic}} if n else None,
            },
        }
        for n, (kind, selector) in enumerate(kinds)
    ]
    return "f.qsf", json.dumps({"SurveyEntry": {"SurveyName": text}, "SurveyElements": elements})


def questionnaire(text, options, condition):
    listed = "\n".join(f"- {label}" for _, label in options)
    inline = " / ".join(label for _, label in options)
    return "f.md", f"# {text}\n\n1. {text}?\n{listed}\n\n2. What? {inline}\n3. Ok? yes / no\n"


FORMS = [xlsform, redcap, limesurvey, qualtrics, questionnaire]


def survey_of(folder, form, *parts):
    """The survey of a form; None if the form is refused as one."""
    name, content = form(*parts)
    path = folder / name
    path.write_bytes(content.encode())
    try:
        draft = incrowd.draft(path)
    except incrowd.AnswersError as error:
        assert "without a question" in str(error)
        return None
    assert draft.people is None, "it was read as answers"
    return incrowd.Survey.of(tomllib.loads(draft.toml))


@pytest.mark.parametrize("form", FORMS)
def test_the_draft_of_any_form_loads(tmp_path, form):
    @settings(examples(60), suppress_health_check=[HealthCheck.too_slow])
    @given(TEXTS, OPTIONS, CONDITIONS)
    def checked(text, options, condition):
        survey_of(tmp_path, form, text, options, condition)

    checked()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_draft_of_any_form_can_be_planned(tmp_path, form):
    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(TEXTS, OPTIONS, CONDITIONS)
    def checked(text, options, condition):
        if survey := survey_of(tmp_path, form, text, options, condition):
            assert incrowd.plan(survey).survey == survey

    checked()


def test_signs_in_labels_do_not_separate_the_cells_below_a_title(tmp_path):
    """Two labels have more semicolons than the title and the header have commas."""
    parts = ("a, b&amp;lt;", [("x", "a, b"), ("y", "a;b")], "")
    assert survey_of(tmp_path, xlsform, *parts).questions[0].id == "one"
