"""Drafts from XLSForm workbooks: questions, choices, and what people read in several languages."""

import tomllib

import openpyxl
import pandas
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers
from tests.conftest import slowly


def survey_of(draft):
    return incrowd.Survey.of(tomllib.loads(draft.toml))


def xlsform(path):
    book = openpyxl.Workbook()
    form, choices = book.active, book.create_sheet("choices")
    form.title = "survey"
    for row in (
        ("type", "name", "label::English (en)", "required", "constraint", "relevant"),
        ("start", "start"),
        ("note", "hello", "Welcome"),
        ("select_one yn", "smokes", "Do you smoke?", "yes"),
        ("select_one region", "region", "Where do you live?"),
        (
            "select_multiple tools or_other",
            "tools",
            "What do you use?",
            "",
            "count-selected(.) <= 2",
        ),
        ("integer", "age", "How old are you?", "yes", ". >= 16 and . <= 96"),
        ("decimal", "wage", "What do you earn?", None, None, "${smokes} = '1'"),
        ("text", "why", "Why?"),
    ):
        form.append(row)
    for row in (
        ("list_name", "name", "label::English (en)"),
        ("yn", 1, "Yes"),
        ("yn", 2, "No"),
        ("region", "n", "North"),
        ("region", "s", "South"),
        ("tools", "a", "Axe"),
        ("tools", "b", "Bow"),
    ):
        choices.append(row)
    book.save(path)
    return path


def test_an_xlsform_becomes_a_survey(tmp_path):
    draft = incrowd.draft(xlsform(tmp_path / "form.xlsx"))
    survey = survey_of(draft)
    assert {q.id: q.type for q in survey.questions} == {
        "smokes": "yesno",
        "region": "choice",
        "tools": "multi",
        "age": "number",
        "wage": "number",
    }
    assert [q.optional for q in survey.questions] == [False, True, True, False, True]
    assert survey.codes_of("smokes").values == {"1": "yes", "2": "no"}
    assert survey.question("tools").options == ("Axe", "Bow", "other")
    assert survey.question("tools").at_most == 2
    assert survey.question("age").edges == (16, 36, 56, 76)
    assert [gone.id for gone in draft.left_out] == ["why"]
    assert (
        "wage: the form does not state both bounds of the number; set the edges" in draft.undecided
    )
    answers = {"smokes": ["1", "2"], "region": ["n", None], "tools": ["a;other", "none"]}
    table = pandas.DataFrame(answers | {"age": [16, 40], "wage": [3.5, None]})
    assert EncodedAnswers.of(survey, incrowd.load_answers(table, survey)).number == 2


def form(path, survey, choices, settings=()):
    book = openpyxl.Workbook()
    book.active.title = "survey"
    for title, rows in (("choices", choices), ("settings", settings)):
        book.create_sheet(title)
        for row in rows:
            book[title].append(row)
    for row in survey:
        book["survey"].append(row)
    book.save(path)
    return incrowd.draft(path)


EN, DE, FR = "label::English (en)", "label::Deutsch (DE)", "label::fr"


@pytest.mark.slow
def test_an_xlsform_in_several_languages_becomes_tables_of_words(tmp_path):
    draft = form(
        tmp_path / "form.xlsx",
        [
            ("type", "name", EN, DE, FR, "hint::English (en)", "hint :: Deutsch (de)"),
            (
                "select_one yn",
                "smokes",
                "Do you smoke?",
                "Rauchen Sie?",
                "Vous fumez ?",
                "Ever.",
                "Je.",
            ),
            ("select_one place", "place", "Where?", "Wo?", None, None, "Heute."),
            ("integer", "age", "How old?", None, None, "In years."),
            ("integer", "visits", None, "Wie oft?"),
        ],
        [
            ("list_name", "name", DE, EN, FR),
            ("yn", 1, "Ja", "Yes", "Oui"),
            ("yn", 2, "Nein", "No", "Non"),
            ("place", "n", "Norden", "North", "Nord"),
            ("place", "s", "Süden", "South", "Nord"),
            ("place", "x", None, "Elsewhere"),
        ],
    )
    survey = survey_of(draft)
    assert survey.language == "en" and survey.languages == ("en", "de", "fr")
    smokes, place, age, visits = survey.questions
    assert smokes.text == {"en": "Do you smoke?", "de": "Rauchen Sie?", "fr": "Vous fumez ?"}
    assert smokes.help == {"en": "Ever.", "de": "Je."}
    assert survey.label_of("smokes", "yes", "fr") == "Oui"
    assert place.options == ("North", "South", "Elsewhere") and place.help == "Heute."
    assert place.labels == {
        "North": {"en": "North", "de": "Norden"},
        "South": {"en": "South", "de": "Süden"},
    }
    assert (age.text, age.help, visits.text) == ("How old?", "In years.", "Wie oft?")
    said = "\n".join(draft.undecided)
    assert "place: two answers have the same label in 'fr'" in said
    assert "place: some texts are missing in 'en'" in said and "visits: some texts" in said
    assert "age: some" not in said and "smokes: some" not in said
    assert incrowd.draft(tmp_path / "form.xlsx").toml == draft.toml


@pytest.mark.parametrize(
    ("columns", "default", "language", "texts", "said"),
    [
        ([EN, DE], "Deutsch (DE)", "de", ["b", "a"], []),
        *slowly(
            (["label"], "", "en", ["a"], []),
            (
                ["label", FR],
                "",
                "en",
                ["a", "b"],
                ["columns without a language: the language has no tag"],
            ),
            (["label"], "French (fr)", "fr", ["a"], []),
            (["label::Deutsch (de-AT)"], "", "de-AT", ["a"], []),
            (
                ["label::Klingon"],
                "",
                "en",
                ["a"],
                ["'Klingon': the language has no tag; 'en' was assumed"],
            ),
            ([EN, "label::Klingon"], "", "en", ["a"], ["'Klingon': left out"]),
            (["label::Klingon", EN], "", "en", ["b"], ["'Klingon': left out"]),
            (["label", EN], "", "en", ["b"], ["columns without a language: left out"]),
            (["label:English (en)", "label:fr"], "", "en", ["a", "b"], []),
            (["label", DE], "Deutsch (DE)", "de", ["b"], []),
        ),
    ],
)
def test_the_language_of_an_xlsform(tmp_path, columns, default, language, texts, said):
    """The first one, that of columns without one, or the form's default; others are told."""
    settings = [("form_title", "default_language"), ("F", default)]
    rows = [("type", "name", *columns), ("integer", "q", "a", "b")]
    draft = form(tmp_path / "form.xlsx", rows, [("list_name", "name")], settings)
    survey = survey_of(draft)
    assert survey.language == language
    found = survey.questions[0].text
    assert (list(found.values()) if isinstance(found, dict) else [found]) == texts
    notes = [note for note in draft.notes if "crowd" not in note]
    assert len(notes) == len(said) and all(part in "".join(notes) for part in said)


def test_the_exports_of_a_form_are_answers_to_its_survey(tmp_path):
    """Its title is the survey's name, and what several were chosen of has spaces between."""
    book = openpyxl.load_workbook(xlsform(tmp_path / "form.xlsx"))
    settings = book.create_sheet("settings")
    for row in (("form_title", "form_id"), ("How we live", "f1")):
        settings.append(row)
    book.save(tmp_path / "form.xlsx")
    survey = survey_of(incrowd.draft(tmp_path / "form.xlsx"))
    assert survey.name == "How we live"
    (tmp_path / "export.csv").write_text(
        "smokes,region,tools,age,wage\n1,n,a b,16,\n2,,other a,40,3.5\n2,s,,40,3.5\n"
    )
    tools = EncodedAnswers.of(
        survey, incrowd.load_answers(tmp_path / "export.csv", survey)
    ).encoded["tools"]
    assert tools.rows.tolist() == [0, 0, 1, 1, 2] and tools.places.tolist() == [0, 1, 0, 2, 3]
