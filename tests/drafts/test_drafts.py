"""Drafts of surveys: each can be loaded, planned and used to randomize the data it came from."""

import tomllib
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyreadstat
import pytest

import incrowd
from incrowd.encoding.records import EncodedAnswers
from incrowd.presentation.card import certified_card, markdown
from incrowd.survey import Multi
from incrowd.survey.codes import KEYS
from tests.conftest import slowly

EXAMPLE = Path(__file__).parents[2] / "examples" / "rand_hie.csv"
ROWS = 400
GENERATOR = np.random.default_rng(3)


def survey_of(draft):
    return incrowd.Survey.of(tomllib.loads(draft.toml))


def frame(rows=ROWS):
    pick = GENERATOR.choice
    made = {
        "resp_id": np.arange(1001, 1001 + rows),
        "smokes": pick([1.0, 2.0, 9.0], rows, p=[0.3, 0.6, 0.1]),
        "health": pick([1.0, 2.0, 3.0], rows),
        "visits": GENERATOR.poisson(4, rows).astype(float),
        "age": GENERATOR.integers(18, 90, rows).astype(float),
        "region": pick(["north", "south", "east"], rows),
        "device": pick(["phone;radio", "phone", "tv", "none"], rows),
        "german": pick(["ja", "nein", "k.A."], rows),
        "gaps": pick([1.0, 0.0, np.nan], rows),
        "odd, name": pick(["x", "y"], rows),
        "always": "x",
        "when": [f"2024-01-{row % 28 + 1:02}" for row in range(rows)],
        "said": [f"word {row // 2}" for row in range(rows)],
        "weight": GENERATOR.normal(70, 10, rows).round(2),
    }
    table = pandas.DataFrame(made)
    table.loc[5:9, "age"] = -99
    return table


FRAME = frame()
LABELS = {
    "smokes": {1: "Yes", 2: "No", 9: "Refused"},
    "health": {1: "good", 2: 'so "so"', 3: "bad"},
}
TYPES = {
    "smokes": "choice",
    "health": "choice",
    "visits": "number",
    "age": "number",
    "region": "choice",
    "device": "multi",
    "german": "yesno",
    "gaps": "yesno",
    "odd_name": "choice",
    "weight": "number",
}


def written(folder, name):
    path = folder / name
    narrow = FRAME.drop(columns=["odd, name"])
    if name == "a.sav":
        texts = {"smokes": "Do you smoke?"}
        pyreadstat.write_sav(
            narrow,
            path,
            column_labels=texts,
            variable_value_labels=LABELS,
            missing_ranges={"smokes": [9]},
        )
    elif name == "a.dta":
        pyreadstat.write_dta(narrow, path, variable_value_labels=LABELS)
    else:
        save = {"csv": "to_csv", "xlsx": "to_excel", "parquet": "to_parquet"}[name.split(".")[1]]
        getattr(FRAME, save)(path, index=False)
    return path


@pytest.mark.parametrize(
    "name", ["a.csv", *slowly("a.xlsx", "a.sav"), "frame", *slowly("a.parquet", "a.dta")]
)
def test_a_draft_of_data_takes_these_data(tmp_path, name):
    data = polars.from_pandas(FRAME) if name == "frame" else written(tmp_path, name)
    draft = incrowd.draft(data)
    survey = survey_of(draft)
    expected = dict(TYPES)
    if name in ("a.sav", "a.dta"):  # with labels, and without a column whose name has a comma
        expected["smokes"] = "yesno"
        del expected["odd_name"]
    assert {q.id: q.type for q in survey.questions} == expected
    assert EncodedAnswers.of(survey, incrowd.load_answers(data, survey)).number == ROWS
    gone = {each.id for each in draft.left_out}
    assert gone == {"resp_id", "always", "when", "said"}
    assert survey.codes_of("age").missing == ("-99",)
    assert survey.codes_of("german").values == {"ja": "yes", "nein": "no"}


def test_a_draft_offers_a_limit_to_what_is_left_without_the_shuffler():
    """In a comment, which makes a survey with that limit once it is none."""
    text = incrowd.draft(FRAME).toml
    assert survey_of(incrowd.draft(FRAME)).privacy.local_epsilon is None
    limited = tomllib.loads(text.replace("# local_epsilon", "local_epsilon"))
    assert incrowd.Survey.of(limited).privacy.local_epsilon == 8.0
    (before,) = (part for part in text.split("\n\n") if "local_epsilon" in part)
    assert "if the mixing of reports fails" in before


@pytest.mark.slow
def test_labels_become_the_answers_of_data_with_codes_alone(tmp_path):
    """Drafted from SPSS, used on the CSV file that somebody exported."""
    survey = survey_of(incrowd.draft(written(tmp_path, "a.sav")))
    sav, text = (
        EncodedAnswers.of(survey, incrowd.load_answers(written(tmp_path, name), survey)).encoded
        for name in ("a.sav", "a.csv")
    )
    for question in survey.questions:
        same = zip(sav[question.id][:2], text[question.id][:2], strict=True)
        assert all(np.array_equal(*each) for each in same), question.id
    yes = int((FRAME["smokes"] == 1).sum())
    assert np.count_nonzero(sav["smokes"].places == 1) == yes
    assert survey.question("health").options == ("good", 'so "so"', "bad")
    assert survey.codes_of("smokes").missing == ("9",)
    assert 'text = "Do you smoke?"' in incrowd.draft(tmp_path / "a.sav").toml


@pytest.mark.slow
def test_a_draft_of_the_example_is_planned_and_randomizes_it(tmp_path):
    (tmp_path / "s.toml").write_text(incrowd.draft(EXAMPLE).toml)
    survey = incrowd.Survey.load(tmp_path / "s.toml")
    plan = incrowd.plan(survey)
    assert len(survey.questions) == 5 and survey.crowd == 20_000
    estimates = incrowd.estimate(plan, incrowd.randomize(plan, EXAMPLE, simulation_seed=1))
    for table, true in zip(estimates.tables, incrowd.truth(plan, EXAMPLE), strict=True):
        assert np.abs(table.estimate - true).max() < 6 * table.standard_error.max()


def test_open_decisions_are_listed():
    said = "\n".join(incrowd.draft(FRAME).undecided)
    for part in (
        "options and edges were taken from the data",
        "400 people are few",
        "smokes: if 1, 2 are codes",
        "smokes: 9 was taken to mean no answer",
        "age: -99 was taken to mean no answer",
        "region: this may be public knowledge",
        "resp_id: left out: it looks like an id; name resp_id as the id",
        "when: left out: it contains dates",
    ):
        assert part in said, part


def test_bins_do_not_reveal_the_largest_number():
    numbers = FRAME["weight"]
    edges = survey_of(incrowd.draft(FRAME)).question("weight").edges
    assert edges[0] <= numbers.min() and edges[-1] < numbers.max()
    assert all(edge == round(edge) for edge in edges)
    shares = np.histogram(numbers, [*edges, np.inf])[0] / ROWS
    assert shares.max() < 0.4


def test_codes_among_words_stand_for_no_answer():
    data = pandas.DataFrame(
        {"land": ["north", "south", "-99", "999"] * 20, "n": [5, 70, 8, 9] * 20}
    )
    draft = incrowd.draft(data)
    assert survey_of(draft).codes_of("land").missing == ("-99", "999")
    assert "land: -99 was taken to mean no answer" in draft.undecided
    assert 'type = "amount"' not in draft.toml  # of four whole numbers nobody knows what they are


def test_a_name_of_two_columns_is_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\nyes,1,no\nno,0,yes\n")
    table = pa.Table.from_arrays([pa.array(["yes", "no"])] * 3, names=["a", "b", "a"])
    for data in (tmp_path / "a.csv", table):
        draft = incrowd.draft(data)
        assert [each.id for each in draft.questions] == ["b"]
        assert "a: left out: 2 columns have this name; rename them" in draft.undecided
        assert (
            EncodedAnswers.of(survey_of(draft), incrowd.load_answers(data, survey_of(draft))).number
            == 2
        )


def test_a_draft_explains_how_to_estimate_means():
    assert 'For the mean, use type = "amount" with edges' in incrowd.draft(FRAME).toml


NASTY = ['say "x"', "back\\slash", "# no comment", "new\nline", "tab\there", "\x7f", "{}", "'"]


def test_any_text_is_written_so_that_it_is_read_again():
    data = pandas.DataFrame({name: [*NASTY] * 30 for name in ['q "1"', "a\nb", "#", "x = 3"]})
    draft = incrowd.draft(data)
    survey = survey_of(draft)
    assert [question.id for question in survey.questions] == ['q "1"', "#", "x = 3"]
    assert "a\nb: left out: its name contains U+000A; rename it" in draft.undecided
    seen = {"new\nline": "new line", "tab\there": "tab here", "\x7f": "U+007F"}
    shown = sorted(seen.get(text, text) for text in NASTY)
    assert all(sorted(question.options) == shown for question in survey.questions)
    for question in survey.questions:
        assert seen.items() <= survey.codes_of(question.id).values.items()
    assert EncodedAnswers.of(survey, incrowd.load_answers(data, survey)).number == len(data)


ODD = {
    "numbers as names": pandas.DataFrame([[1, 0], [0, 1]]),
    "space alone": pandas.DataFrame({"a": ["x", " ", "y", "\t", ""]}),
    "bytes": pa.table({"a": [b"x", b"\xff"], "b": [True, False]}),
    "tables": pa.table({"a": [{"x": 1}, {"x": 2}], "b": [True, False]}),
    "lists with gaps": pa.table({"a": [["x", "y"], None, [], ["y"]]}),
    "infinite and huge": pa.table({"a": [1e300, -1e300, 5.5, float("inf"), None]}),
    "nothing but codes for no answer": pa.table({"a": [-9, -99], "b": ["x", "y"]}),
    "no answer as an option": pa.table({"a": ["no answer", "x", "none"]}),
    "one word in two spellings": pa.table({"a": ["A", "a", " a"]}),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_columns_are_drafted_or_left_out(name):
    survey = survey_of(incrowd.draft(ODD[name]))
    number = EncodedAnswers.of(survey, incrowd.load_answers(ODD[name], survey)).number
    assert number == len(ODD[name])


LONG = {
    "field_name": "Variable / Field Name",
    "field_type": "Field Type",
    "field_label": "Field Label",
    "select_choices_or_calculations": "Choices, Calculations, OR Slider Labels",
    "text_validation_type_or_show_slider_number": "Text Validation Type OR Show Slider Number",
    "text_validation_min": "Text Validation Min",
    "text_validation_max": "Text Validation Max",
    "identifier": "Identifier?",
    "required_field": "Required Field?",
    "branching_logic": "Branching Logic (Show field only if...)",
}
FIELDS = (
    ("record_id", "text", "Record", "", "", "", "", "", "", ""),
    ("mail", "text", "Mail", "", "email", "", "", "y", "", ""),
    ("smokes", "yesno", "Do you smoke?", "", "", "", "", "", "y", ""),
    (
        "health",
        "radio",
        "How are you?",
        "1, Good, thanks | 2, Bad",
        "",
        "",
        "",
        "",
        "",
        "[smokes]=1",
    ),
    ("drugs", "checkbox", "Which?", "A, Aspirin | B, Other", "", "", "", "", "", ""),
    ("age", "text", "Age", "", "integer", "20", "100", "", "y", ""),
    ("pain", "slider", "Pain", "none | much", "", "", "", "", "", ""),
    ("total", "calc", "Sum", "[age]+1", "", "", "", "", "", ""),
    ("story", "notes", "Tell", "", "", "", "", "", "", ""),
)


@pytest.mark.parametrize("data", [EXAMPLE, FRAME], ids=["example", "frame"])
def test_what_a_draft_proposes_can_be_wanted(data):
    """The commented table and regression, with the marks of the comments taken off."""
    text, marks = incrowd.draft(data).toml, ("[[", "questions =", "outcome =", "on =")
    lines = text.splitlines()
    wanted = [line[2:] if line[2:].startswith(marks) else line for line in lines]
    survey = incrowd.Survey.of(tomllib.loads("\n".join(wanted)))
    assert len(survey.joint_tables) == len(survey.regressions) == 1
    assert len(survey.regressed[0]) == 3


@pytest.mark.parametrize("long", [True, False])
def test_a_redcap_dictionary_becomes_a_survey(tmp_path, long):
    table = pandas.DataFrame(FIELDS, columns=list(LONG.values()) if long else list(LONG))
    table.to_csv(tmp_path / "dictionary.csv", index=False)
    draft = incrowd.draft(tmp_path / "dictionary.csv")
    survey = survey_of(draft)
    assert {q.id: q.type for q in survey.questions} == {
        "smokes": "yesno",
        "health": "choice",
        "drugs___a": "yesno",
        "drugs___b": "yesno",
        "age": "number",
        "pain": "number",
    }
    assert survey.question("health").options == ("Good, thanks", "Bad")
    assert survey.codes_of("health").values == {"1": "Good, thanks", "2": "Bad"}
    assert survey.question("age").edges == (20, 40, 60, 80)
    assert {gone.id for gone in draft.left_out} == {"record_id", "mail", "total", "story"}
    assert not survey.question("smokes").optional and survey.question("health").optional


def test_every_key_that_a_draft_writes_is_one_of_a_survey():
    fields = {*Multi.model_json_schema()["properties"], *KEYS}
    keys = {key for each in incrowd.draft(FRAME).questions for key in each.keys}
    assert keys - fields <= {"edges"}


def test_a_wording_and_labels_of_spss_are_what_the_card_shows(tmp_path):
    data = pandas.DataFrame({"smokes": [1.0, 2.0] * 30, "sleep": [1.0, 2.0, 3.0] * 20})
    pyreadstat.write_sav(
        data,
        tmp_path / "a.sav",
        column_labels={"smokes": "Rauchen Sie?", "sleep": " "},
        variable_value_labels={
            "smokes": {1: "Ja", 2: "Nein"},
            "sleep": {1: "bad", 2: "good", 3: "fine"},
        },
    )
    survey = survey_of(incrowd.draft(tmp_path / "a.sav"))
    smokes, sleep = survey.questions
    assert (smokes.text, smokes.labels) == ("Rauchen Sie?", {"yes": "Ja", "no": "Nein"})
    assert (sleep.text, sleep.labels) == (None, None)
    privacy = survey.privacy.model_copy(update={"analysis": "local", "epsilon": 8.0})
    shown = markdown(certified_card(incrowd.plan(survey.model_copy(update={"privacy": privacy}))))
    (row,) = (line for line in shown.splitlines() if line.startswith("| smokes | Rauchen"))
    assert row == "| smokes | Rauchen Sie? | Nein or Ja |"


def test_numbers_with_a_decimal_comma_are_numbers(tmp_path):
    """As a German or French export has them, with tabs or semicolons, or with points."""
    data = pandas.DataFrame({"weight": np.linspace(50, 99.5, 100), "sex": ["f", "m"] * 50})
    data.to_csv(tmp_path / "a.csv", sep="\t", decimal=",", index=False)
    survey = survey_of(incrowd.draft(tmp_path / "a.csv"))
    assert survey.question("weight").type == "number"
    assert survey.codes_of("weight").decimal == ","
    assert incrowd.check(survey, tmp_path / "a.csv").accepted
    for decimal in ".,":
        data.to_csv(tmp_path / "b.csv", sep=";", decimal=decimal, index=False)
        assert survey_of(incrowd.draft(tmp_path / "b.csv")).question("weight").type == "number"


def test_a_dictionary_is_read_without_marks_of_a_web_page(tmp_path):
    head = "field_name,field_type,field_label,select_choices_or_calculations,branching_logic"
    rows = [
        "id,text,Record,,",
        'sex,radio,"<b>Sex</b> <br/> at birth","1, Female | 2, Male",',
        'drugs,checkbox,If 3 < 4 which?,"1, One | 2, Two",[sex] = 1',
        'empty,yesno," ",,',
    ]
    (tmp_path / "d.csv").write_text("\n".join([head, *rows]) + "\n")
    found = incrowd.draft(tmp_path / "d.csv")
    texts = {question.id: question.text for question in survey_of(found).questions}
    boxes = {"drugs___1": "If 3 < 4 which? (One)", "drugs___2": "If 3 < 4 which? (Two)"}
    assert texts == {"sex": "Sex at birth", **boxes, "empty": None}
    assert found.toml.count('asked_if = "sex = Female"') == 2
