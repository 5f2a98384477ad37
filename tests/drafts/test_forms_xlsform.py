"""XLSForms as people write them: names of sheets, aliases of types, groups, markup, CSV."""

import tomllib

import pandas
import pytest

import incrowd
from tests.conftest import one_in

CHOICES = [
    ("list_name", "name", "label"),
    ("yn", "1", "Yes"),
    ("yn", "0", "No"),
    ("fuel", "wood", "Wood"),
    ("fuel", "gas", "Gas"),
    ("fuel", "sun", "Sunlight"),
]
TYPES = {
    "select_one yn": "yesno",
    "select one yn": "yesno",
    "Select One from yn": "yesno",
    "SELECT1  YN": "yesno",
    "select_one\tyn": "yesno",
    "select_one fuel or_other": "choice",
    "select one from fuel or specify other": "choice",
    "add select one prompt using fuel": "choice",
    "select_multiple fuel": "multi",
    "select multiple  fuel": "multi",
    "select all that apply from fuel": "multi",
    "Select_Multiple from fuel or other": "multi",
    "int": "number",
    " Integer ": "number",
    "decimal": "number",
    "range": "number",
    "acknowledge": "yesno",
    "Trigger": "yesno",
}
LEFT_OUT = {
    "rank fuel": "it is a ranking",
    "select_one_from_file places.csv": "in another file, 'places.csv'",
    "select multiple from file places.xml": "in another file, 'places.xml'",
    "select_one_external streets": "in another file, 'streets'",
    "select_one roofs": "its list of choices, 'roofs', is not in the form",
    "text": "answers of type text cannot be counted",
    "date": "answers of type date",
    "dateTime": "answers of type datetime",
    "geopoint": "answers of type geopoint",
    "image": "answers of type image",
    "audio": "answers of type audio",
    "barcode": "answers of type barcode",
    "sellect_one yn": "answers of type sellect_one yn",
}
NO_QUESTIONS = (
    *("note", "calculate", "hidden", "start", "end", "today", "deviceid", "audit", "username"),
    *("csv-external", "xml-external"),
)


def rows(types, *more):
    """The sheet `survey` with a question of each type, named after its place."""
    return [("type", "name", "label"), *((t, f"q{n}", f"Text {n}") for n, t in enumerate(types))]


def test_every_spelling_of_a_type(sections, drafted):
    survey = rows([*TYPES, *LEFT_OUT, *NO_QUESTIONS])
    draft, questions = drafted(sections(survey=survey, choices=CHOICES))
    assert [questions[f"q{n}"].type for n in range(len(TYPES))] == [*TYPES.values()]
    assert len(questions) == len(TYPES)
    reasons = [gone.reason for gone in draft.left_out]
    assert len(reasons) == len(LEFT_OUT)
    assert all(part in reason for part, reason in zip(LEFT_OUT.values(), reasons, strict=True))
    assert questions["q5"].options == ("Wood", "Gas", "Sunlight", "other")
    assert questions["q11"].options == ("Wood", "Gas", "Sunlight", "other")


@pytest.mark.parametrize(
    ("survey", "choices", "header"),
    one_in(
        2,
        [
            ("Survey", "Choices", ("Type", "Name", "Label")),
            ("SURVEY", "CHOICES", ("TYPE", "NAME", "LABEL")),
            ("survey_", "choices_", (" type", "name ", "label")),
            ("survey_2", "choices_2", ("type", "name", "caption")),
            ("Survey_(v1)", "Choices_(v1)", ("type", "name", "label")),
        ],
    ),
)
def test_sheets_and_columns_in_any_spelling(workbook, drafted, survey, choices, header):
    sheets = {
        survey: [header, ("select_one yn", "cooks", "Do you cook?")],
        choices: [("List Name", "Value", "Label"), *CHOICES[1:3]],
        "read_me": [("Instructions",), ("Fill in both sheets",)],
    }
    _, questions = drafted(workbook(**sheets))
    assert questions["cooks"].type == "yesno" and questions["cooks"].text == "Do you cook?"


def test_other_sheets_may_come_first(workbook, drafted):
    sheets = {"About": [("Version", 3)], "survey": rows(["int"]), "choices": CHOICES}
    _, questions = drafted(workbook(**sheets))
    assert [*questions] == ["q0"]


def test_a_sheet_of_another_name_with_the_columns_of_a_form(workbook, drafted):
    _, questions = drafted(workbook(Household_2025=rows(["integer", "acknowledge"])))
    assert [*questions] == ["q0", "q1"]


def test_a_form_without_choices(workbook, drafted):
    settings = [("form_title", "form_id"), ("Milk", "m1")]
    draft, questions = drafted(workbook(survey=rows(["int", "text"]), settings=settings), plan=True)
    assert draft.name == "Milk" and [*questions] == ["q0"]


@pytest.mark.parametrize(
    ("sheets", "said"),
    [
        ({"survey": rows(["note", "calculate"]), "choices": CHOICES}, "that people answer; name"),
        ({"survey": rows(["text", "date"]), "choices": CHOICES}, "q0: answers of type text"),
        ({"survey": rows(["text", "note"])}, "q0: answers of type text"),
        ({"Survey": [("type", "name", "label")], "Choices": CHOICES}, "that people answer; name"),
        ({"survey": [("type", "name"), ("begin repeat", "a"), ("int", "b")]}, "in the repeat 'a'"),
    ],
)
def test_a_form_without_a_question_is_refused_as_a_form(sections, refusal, sheets, said):
    message = refusal(sections(**sheets))
    assert "it is an XLSForm without a question" in message and said in message


def test_answers_about_types_and_names_are_no_form(workbook, table):
    animals = [("type", "name", "label"), *[("dog", "Rex", "A"), ("cat", "Tom", "B")] * 30]
    assert incrowd.draft(workbook(survey=animals)).people == 60
    assert incrowd.draft(table(animals)).people == 60


def test_groups_name_questions_apart(sections, drafted):
    survey = [
        ("type", "name", "label", "relevant"),
        ("begin_group", "cow", "Cow", None),
        ("select_one yn", "sick", "Sick?", None),
        ("begin group", "calf", "Calf", None),
        ("select_one yn", "sick", "Sick?", None),
        ("end group",),
        ("end_group",),
        ("Begin Group", "goat", "Goat", "${has_goat} = 1"),
        ("select_one yn", "sick", "Sick?", None),
        ("select_one yn", "fed", "Fed?", None),
        ("end group",),
        ("integer", "age", "How old are you?", None),
    ]
    draft, questions = drafted(sections(survey=survey, choices=CHOICES))
    assert [*questions] == ["cow_sick", "calf_sick", "goat_sick", "fed", "age"]
    assert "it is named cow/calf/sick or cow-calf-sick; set `column` to that name" in draft.toml
    assert draft.toml.count("Asked only if ${has_goat} = 1") == 2
    assert questions["fed"].optional


def test_equal_names_that_groups_do_not_tell_apart_are_left_out(sections, drafted):
    survey = rows(["int", "select_one yn", "select_one fuel"])
    survey[2] = (survey[2][0], "q0", "Again?")
    draft, questions = drafted(sections(survey=survey, choices=CHOICES))
    assert questions["q0"].type == "number" and [*questions] == ["q0", "q2"]
    assert [gone.reason for gone in draft.left_out] == [
        "an earlier question has the same name; rename one of them"
    ]


@pytest.mark.parametrize("begin", ["begin repeat", "begin_repeat", "Begin Repeat"])
def test_what_is_asked_several_times_is_left_out(sections, drafted, begin):
    survey = [
        ("type", "name", "label"),
        ("int", "plots", "How many plots?"),
        (begin, "plot", "Plot"),
        ("begin group", "soil", "Soil"),
        ("select_one yn", "wet", "Is it wet?"),
        ("end group",),
        (begin.replace("egin", "nd").replace("Bnd", "End").replace("bnd", "end"),),
        ("select_one yn", "wet", "Was the year wet?"),
    ]
    draft, questions = drafted(sections(survey=survey, choices=CHOICES))
    assert [*questions] == ["plots", "wet"] and questions["wet"].text == "Was the year wet?"
    assert [gone.id for gone in draft.left_out] == ["wet"]
    assert "several times for each person, in the repeat 'plot'" in draft.left_out[0].reason


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("<p>Is the <b>well</b> dry?</p>", "Is the well dry?"),
        ("Salt &amp; water<br/>daily?", "Salt & water daily?"),
        ('<span style="color:red">Red</span> soil?', "Red soil?"),
        ("Less than 5 < 6 and a<b?", "Less than 5 < 6 and a<b?"),
        ("**Very** _important_ *point*?", "Very important point?"),
        ("# Part 2\nSee [here](https://a.example/b)", "Part 2 See here"),
        ("snake_case_name and 3 * 4 * 5", "snake_case_name and 3 * 4 * 5"),
        (r"5 \* 3", "5 * 3"),
        ("Is ${crop}\u200b ripe?", "Is … ripe?"),
    ],
)
def test_texts_have_no_markup(sections, drafted, label, shown):
    survey = [("type", "name", "label", "hint"), ("select_one yn", "q", label, label)]
    choices = [CHOICES[0], ("yn", "a", label), ("yn", "b", "Else")]
    draft, questions = drafted(sections(survey=survey, choices=choices))
    question = questions["q"]
    assert (question.text, question.help, question.options[0]) == (shown, shown, shown)
    assert ("the text refers to ${crop}" in draft.toml) == ("${crop}" in label)


@pytest.mark.parametrize(
    ("required", "optional"),
    [
        *[(word, False) for word in ("yes", "YES", "true", "TRUE", "true()", "True()", 1, "1")],
        *[(word, True) for word in ("no", "false()", 0, None, "${age} > 17")],
    ],
)
def test_required_in_any_spelling(sections, drafted, required, optional):
    survey = [("type", "name", "Required"), ("int", "q", required)]
    draft, questions = drafted(sections(survey=survey))
    assert questions["q"].optional == optional
    assert ("Required only if ${age} > 17" in draft.toml) == (required == "${age} > 17")


@pytest.mark.parametrize("column", ["relevant", "Relevance", "bind::relevant", "bind:relevant"])
def test_a_condition_is_kept_with_its_expression(sections, drafted, column):
    condition = "selected(${fuel}, 'gas')"
    survey = [("type", "name", column, "required"), ("int", "q", condition, "yes")]
    draft, questions = drafted(sections(survey=survey))
    assert questions["q"].optional and f"Asked only if {condition}" in draft.toml


@pytest.mark.parametrize(
    ("parameters", "edges"),
    [
        ("start=0 end=40 step=1", (0, 10, 20, 30)),
        ("start=20;end=60;step=0.5", (20, 30, 40, 50)),
        ("end = 80, start = 40", (40, 50, 60, 70)),
        ("start=40 end=0", (0, 10, 20, 30)),
    ],
)
def test_the_ends_of_a_range(sections, drafted, parameters, edges):
    survey = [("type", "name", "parameters"), ("range", "q", parameters)]
    draft, questions = drafted(sections(survey=survey))
    assert questions["q"].edges == edges and "both bounds" not in draft.toml


@pytest.mark.parametrize(
    ("constraint", "edges"),
    [
        (".>=20 and .<=60", (20, 30, 40, 50)),
        ("${year} > 3 and . > 0 and . < 40", (0, 10, 20, 30)),
        (". >= 20 and . <= 60 or . = -99", None),
        (". <= ${other}", None),
    ],
)
def test_the_bounds_of_a_number(sections, drafted, constraint, edges):
    survey = [("type", "name", "constraint"), ("integer", "q", constraint)]
    draft, questions = drafted(sections(survey=survey))
    assert ("both bounds" in draft.toml) == (edges is None)
    assert edges is None or questions["q"].edges == edges


def test_choices_as_people_write_them(sections, drafted):
    """Codes that are fractions to Excel, codes with two labels, and labels with two codes."""
    choices = [
        ("list_name", "name", "label", "region"),
        ("town", 1.0, "Springfield", "n"),
        ("town", 2.0, "Springfield", "s"),
        ("town", 3.0, "Salem", "s"),
        ("street", "main", "Main Street", "1"),
        ("street", "main", "Main Road", "2"),
        ("street", "oak", "Oak Street", "2"),
        ("day", "a", "Mon; Tue"),
        ("day", "b", "none"),
        ("day", "c", "No answer"),
        ("day", "d", "Sun"),
    ]
    survey = [
        ("type", "name", "label", "choice_filter"),
        ("select_one town", "town", "Town?", None),
        ("select_one street", "street", "Street?", "region=${town}"),
        ("select_multiple day", "days", "Days?", None),
    ]
    draft, questions = drafted(sections(survey=survey, choices=choices), plan=True)
    survey = incrowd.Survey.of(tomllib.loads(draft.toml))
    assert questions["town"].options == ("Springfield (1)", "Springfield (2)", "Salem")
    assert [*survey.codes_of("town").values] == ["1", "2", "3"]
    assert questions["street"].options == ("Main Street", "Oak Street")
    assert "street: the code main has several labels" in "\n".join(draft.undecided)
    assert "other answers decide which are shown: region=${town}" in draft.toml
    assert questions["days"].options == ("Mon, Tue", "None", "Sun")
    assert survey.codes_of("days").missing == ("c",) and questions["days"].optional
    answers = pandas.DataFrame(
        {"town": ["1", "2"], "street": ["main", "oak"], "days": ["a d", "c"]}
    )
    assert incrowd.check(survey, answers).accepted


def test_disabled_rows_are_left_out(sections, drafted):
    survey = [("type", "name", "disabled"), ("int", "old", "yes"), ("int", "new", "no")]
    draft, questions = drafted(sections(survey=survey))
    assert [*questions] == ["new"] and draft.left_out[0].reason == "it is disabled in the form"


SURVEY_ROWS = [("type", "name", "label"), ("select_one yn", "cooks", "Do you cook?")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    "parts",
    [
        [*SURVEY_ROWS, *CHOICES],
        [("survey",), *SURVEY_ROWS, ("choices",), *CHOICES],
        [("survey",), *(("", *r) for r in SURVEY_ROWS), ("choices",), *(("", *r) for r in CHOICES)],
        [
            ("type", "list_name", "name", "label"),
            ("select_one yn", "", "cooks", "Do you cook?"),
            *(("", *row) for row in CHOICES[1:]),
        ],
        [*SURVEY_ROWS, *CHOICES, ("form_title", "form_id"), ("Kitchens", "k")],
    ],
)
def test_a_form_as_one_csv_file(table, drafted, parts, separator):
    draft, questions = drafted(table(parts, separator=separator))
    assert questions["cooks"].type == "yesno" and questions["cooks"].text == "Do you cook?"
    assert (draft.name == "Kitchens") == (("Kitchens", "k") in parts)


def test_a_form_as_several_csv_files(table, drafted, refusal):
    table(CHOICES, "Kitchen-Choices.csv")
    draft, questions = drafted(table(SURVEY_ROWS, "kitchen-survey.csv"))
    assert questions["cooks"].type == "yesno"
    assert "the choices were read from Kitchen-Choices.csv" in draft.notes
    assert "only the choices of an XLSForm" in refusal(table(CHOICES, "choices.csv"))


def test_a_csv_file_of_questions_alone(table, drafted, refusal):
    numbers = [*SURVEY_ROWS, ("integer", "meals", "How many meals?")]
    draft, questions = drafted(table(numbers))
    assert [*questions] == ["meals"] and "'yn', is not in the form" in draft.left_out[0].reason
    assert "cooks: its list of choices" in refusal(table(SURVEY_ROWS))


@pytest.mark.parametrize("joint", ["/", "-", "."])
def test_exports_with_groups_in_their_names_are_answers(table, joint):
    names = [f"home{joint}roof", f"home{joint}wall{joint}age", "fed"]
    rows = [("tin", n, "yes") if n % 2 else ("tile", n, "no") for n in range(60)]
    draft = incrowd.draft(table([names, *rows]))
    assert draft.people == 60
    assert {names[0], "fed"} <= {question.id for question in draft.questions}
    assert incrowd.Survey.of(tomllib.loads(draft.toml)).question(names[0])


def test_tables_may_have_titles_and_other_names(workbook, drafted):
    survey = [["Household survey"], [], ("type", "name", "label"), ("select_one yn", "a", "A?")]
    path = workbook(Fragen=survey, Auswahl=[["Answers"], [], *CHOICES])
    _, questions = drafted(path)
    assert questions["a"].type == "yesno"


def test_rows_that_nobody_answers_are_no_questions(sections, drafted):
    survey = [
        ("type", "name", "label", "appearance", "parameters"),
        ("select_one fuel", "head", "", "label", ""),
        ("select_one fuel", "first", "First?", "list-nolabel", ""),
        ("begin_kobomatrix", "grid", "", "", ""),
        ("select_one yn", "cell", "Cell?", "", ""),
        ("end_kobomatrix", "", "", "", ""),
        ("select_one fuel", "second", "", "", ""),
        ("range", "share", "Share?", "", "start=0 end=1 step=0.25"),
    ]
    draft, questions = drafted(sections(survey=survey, choices=CHOICES))
    assert [*questions] == ["first", "second", "share"]
    assert questions["share"].edges == (0, 0.25, 0.5, 0.75)
    assert any(each.startswith("second: ") and "no text" in each for each in draft.undecided)
    assert {each.id for each in draft.left_out} == {"cell"}


def test_lists_may_have_names_of_several_words(sections, drafted):
    choices = [("list_name", "name", "label"), ("yes no", "1", "Yes"), ("yes no", "0", "No")]
    rows = [("type", "name", "label"), ("select_one yes no", "a", "A?")]
    rows.append(("select_multiple yes no or_other", "b", "B?"))
    _, questions = drafted(sections(survey=rows, choices=choices))
    assert (questions["a"].type, questions["b"].options) == ("yesno", ("Yes", "No", "other"))
