"""XLSForms as people write them: names of sheets, aliases of types, groups, markup, CSV."""

import math
import re
import tomllib
from itertools import product

import numpy as np
import pandas
import pytest

import incrowd
from incrowd.survey.conditions import AtLeast, IsAnswer, holds
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
    assert draft.toml.count("only if ${has_goat} = 1, but has_goat is not a question") == 2
    assert [questions[id].section for id in questions] == ["cow", "cow", "goat", "goat", None]
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
    doubt = f"q: the form asks it only if {condition}, but fuel is not a question of this draft"
    assert questions["q"].optional and any(each.startswith(doubt) for each in draft.undecided)


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


EARLIER = [
    ("type", "name", "label", "required", "relevant"),
    ("select_one yn", "cooks", "Do you cook?", "yes", None),
    ("select_one fuel", "fuel", "Which fuel?", "no", "${cooks} = 1"),
    ("select_multiple fuel", "fuels", "Which fuels?", "yes", None),
    ("integer", "age", "How old are you?", "yes", None),
    ("decimal", "wage", "What do you earn?", "yes", None),
    ("text", "why", "Why?", "yes", None),
]
EXPRESSED = {
    "${cooks} = '1'": "cooks = yes",
    "${cooks}=1": "cooks = yes",
    '"1" = ${cooks}': "cooks = yes",
    "${cooks} != '1'": "cooks != yes",
    "selected(${cooks}, '0')": "cooks = no",
    "${fuel} = 'sun'": "fuel = Sunlight",
    "selected(${fuels}, 'gas')": "fuels = Gas",
    "not(selected(${fuels}, 'gas'))": "fuels != Gas",
    "${fuels} = 'gas'": "fuels = Gas and fuels != Wood and fuels != Sunlight",
    "${cooks} = '1' and ${fuel} = 'gas'": "cooks = yes and fuel = Gas",
    "${cooks} = '1' or ${fuel} = 'gas'": "cooks = yes or fuel = Gas",
    "${cooks}='1' or ${fuel}='gas' and ${age}<9": "cooks = yes or (fuel = Gas and age < 9)",
    "(${cooks}='1' or ${fuel}='gas') and ${age}<9": "(cooks = yes or fuel = Gas) and age < 9",
    "not(${cooks} = '1' and ${age} >= 18)": "not (cooks = yes and age >= 18)",
    "not(not(${cooks} = '1'))": "cooks = yes",
    "${age} >= 18": "age >= 18",
    "${age} > 17": "age >= 18",
    "${age} < 18": "age < 18",
    "${age} <= 17": "age < 18",
    "17 < ${age}": "age >= 18",
    "${age} > 17.5": "age >= 18",
    "${age} = 40": "age >= 40 and age < 41",
    "number(${age}) >= 18": "age >= 18",
    "${wage} >= 9.5": "wage >= 9.5",
    "${fuel} = ''": 'fuel = "no answer" or fuel = "not asked"',
    "${fuel} != ''": 'not (fuel = "no answer" or fuel = "not asked")',
    "${age} != '' and ${cooks} = '1'": "cooks = yes",
    "true()": "None",
}
DECIDED = {
    "${wage} > 9.5": "wage may be a fraction",
    "${why} = 'x'": "why is not a question of this draft",
    "${last} = '1'": "last is not an earlier question",
    "${q0} = ${cooks}": "two answers with each other",
    "${nobody} = '1'": "nobody is not a question of this draft",
    "${fuel} = 'coal'": "fuel has no answer with the code 'coal'",
    "regex(${why}, '[a-z]+')": "regex()",
    "${age} * 2 > 36": "a part that conditions of a survey do not have",
    "${age} > today()": "today()",
    "${age} > '2020-01-01'": "'2020-01-01'",
    "count-selected(${fuels}) > 1": "count-selected()",
    "if(${cooks} = '1', 'a', 'b') = 'a'": "if()",
    "${cooks}": "an answer as a condition",
    "${cooks} = '1' and": "cannot be read",
    "(${cooks} = '1'": "cannot be read",
    "${age} = ''": "it never holds",
    "false()": "it never holds",
    "(" * 200 + "${cooks} = '1'" + ")" * 200: "nested too deeply",
}


def test_conditions_in_the_names_of_the_draft(sections, conditions):
    """What a survey cannot state is never dropped: the user decides about the whole expression."""
    every = [*EXPRESSED, *DECIDED]
    rows = [("int", f"q{n}", "Text", "yes", each) for n, each in enumerate(every)]
    survey = [*EARLIER, *rows, ("select_one yn", "last", "Last?", "yes", None)]
    stated = conditions(sections(survey=survey, choices=CHOICES), len(every))
    assert dict(zip(every, stated, strict=True)).items() >= EXPRESSED.items()
    for expression, doubt in zip(DECIDED, stated[len(EXPRESSED) :], strict=True):
        assert f"only if {expression}, but " in doubt and DECIDED[expression] in doubt, expression


def test_an_edge_for_each_number_that_a_condition_compares_with(sections, drafted):
    survey = [
        ("type", "name", "relevant", "constraint", "required"),
        ("integer", "age", None, ". >= 0 and . <= 80", "yes"),
        ("select_one yn", "drives", "${age} > 17", None, "yes"),
        ("select_one yn", "retired", "${age} >= 67 and ${age} <= 70", None, "yes"),
    ]
    draft, questions = drafted(sections(survey=survey, choices=CHOICES))
    age = questions["age"]
    assert age.edges == (0, 18, 20, 40, 60, 67, 71)
    assert (age.minimum, age.maximum, age.whole) == (0, 80, True)
    assert "depends on the edges 18, 67, 71." in draft.toml


@pytest.mark.parametrize(
    ("kind", "constraint", "limits"),
    [
        ("integer", ". > 0 and . < 40", (1, 39, True)),
        ("int", "(. >= 0) and (. <= 120)", (0, 120, True)),
        ("decimal", ". >= 0.5 and . < 3", (0.5, 3, False)),
        ("integer", ". > 3 and . < 4", (None, None, True)),
        ("integer", ". >= 5 and . <= 4", (None, None, True)),
        ("integer", None, (None, None, True)),
    ],
)
def test_limits_of_what_people_can_type(sections, drafted, kind, constraint, limits):
    survey = [("type", "name", "constraint"), (kind, "q", constraint)]
    draft, questions = drafted(sections(survey=survey))
    asked = questions["q"]
    assert (asked.minimum, asked.maximum, asked.whole) == limits
    assert "accepts only" not in draft.toml


def test_a_constraint_that_is_no_limit_is_decided(sections, drafted):
    constraints = {
        "integer": ". >= 0 and . < ${other}",
        "decimal": "regex(., '^[0-9]+$')",
        "select_multiple fuel": "not(selected(., 'sun')) or count-selected(.) = 1",
    }
    rows = [(kind, f"q{n}", each) for n, (kind, each) in enumerate(constraints.items())]
    draft, _ = drafted(sections(survey=[("type", "name", "constraint"), *rows], choices=CHOICES))
    for n, each in enumerate(constraints.values()):
        doubt = f"q{n}: the form accepts only answers with {each}, which a survey does not check"
        assert doubt in draft.undecided


def test_groups_as_sections_with_conditions(sections, drafted):
    """The outermost group with a label is a section; conditions of groups inside are of questions,
    and names that groups tell apart are those of the draft."""
    survey = [
        ("type", "name", "label", "relevant", "required"),
        ("select_one yn", "cow", "A cow?", None, "yes"),
        ("begin_group", "outer", None, None),
        ("begin_group", "cows", "Your <b>cow</b>", "${cow} = '1'"),
        ("select_one yn", "sick", "Sick?", None, "yes"),
        ("begin_group", "more", "More", "${sick} = '1'"),
        ("select_one yn", "vet", "A vet?", "${sick} = '1'", "yes"),
        ("select_one yn", "cured", "Cured?", "${vet} = '1'", "yes"),
        ("end_group",),
        ("end_group",),
        ("end_group",),
        ("begin_group", "goats", "Your goat", "regex(${cow}, 'x')"),
        ("select_one yn", "sick", "Sick?", None, "yes"),
        ("select_one yn", "fed", "Fed?", "${sick} = '0'", "yes"),
        ("end_group",),
        ("begin_group", "empty", "Nothing here", None),
        ("end_group",),
    ]
    draft, questions = drafted(sections(survey=survey, choices=CHOICES))
    raw = tomllib.loads(draft.toml)
    assert raw["section"] == [
        {"id": "cows", "title": "Your cow", "asked_if": "cow = yes"},
        {"id": "goats", "title": "Your goat"},
    ]
    asked = {each["id"]: each.get("asked_if") for each in raw["question"]}
    assert asked == {
        "cow": None,
        "cows_sick": None,
        "vet": "cows_sick = yes",
        "cured": "cows_sick = yes and vet = yes",
        "goats_sick": None,
        "fed": "goats_sick = no",
    }
    assert str(questions["cured"].asked_if) == "cow = yes and (cows_sick = yes and vet = yes)"
    assert [q.optional for q in questions.values()] == [False, False, False, False, True, True]
    assert draft.toml.count("only if regex(${cow}, 'x'), but it uses regex()") == 2


TABLE_CHOICES = [CHOICES[0], *(("often", c, w) for c, w in (("n", "Never"), ("o", "Often")))]


@pytest.mark.parametrize(
    ("rows", "text", "items", "others"),
    [
        (
            [
                ("begin_group", "t", "How often?", "table-list", None),
                ("select_one often", "sad", "sad", None, "yes"),
                ("select_one often", "glad", "glad", None, "yes"),
                ("end_group",),
            ],
            "How often?",
            {"sad": "sad", "glad": "glad"},
            {},
        ),
        (
            [
                ("begin_group", "t", "Feelings", "field-list", None),
                ("select_one often", "head", "How often?", "label", None),
                ("select_one often", "sad", "sad", "list-nolabel", None),
                ("select_one often", "glad", "glad", "list-nolabel", None),
                ("select_one often", "after", "After", None, None),
                ("end_group",),
            ],
            "How often?",
            {"sad": "sad", "glad": "glad"},
            {"after": "After"},
        ),
        (
            [
                ("begin_group", "t", "How often?", "table-list", None),
                ("select_one often", "sad", "sad", None, "yes"),
                ("select_one often", "glad", "glad", None, "no"),
                ("end_group",),
            ],
            None,
            {},
            {"sad": "How often? sad", "glad": "How often? glad"},
        ),
    ],
)
def test_tables_as_matrices(sections, drafted, rows, text, items, others):
    header = ("type", "name", "label", "appearance", "required")
    draft, questions = drafted(sections(survey=[header, *rows], choices=TABLE_CHOICES))
    raw = tomllib.loads(draft.toml)
    assert [matrix["text"] for matrix in raw.get("matrix", ())] == ([text] if text else [])
    in_matrix = {id: q.text for id, q in questions.items() if q.matrix}
    assert in_matrix == items
    assert {id: q.text for id, q in questions.items() if not q.matrix} == others


def test_other_consent_and_thanks(sections, drafted):
    survey = [
        ("type", "name", "label", "required", "relevant"),
        ("note", "welcome", "Welcome!", None, None),
        ("note", "consent", "We ask about **fuel**.", None, None),
        ("acknowledge", "agree", "I take part.", "yes", None),
        ("select_one fuel or_other", "fuel", "Fuel?", "yes", "${agree} = 'OK'"),
        ("select_multiple place", "place", "Where?", "yes", None),
        ("acknowledge", "later", "I am done.", "yes", None),
        ("note", "bye", "Thank you!", None, None),
    ]
    places = [("place", "in", "Inside"), ("place", "x", "Other")]
    draft, questions = drafted(sections(survey=survey, choices=[*CHOICES, *places]))
    assert tomllib.loads(draft.toml)["page"] == {
        "consent": "We ask about fuel.\nI take part.",
        "thanks": "Thank you!",
    }
    assert [*questions] == ["fuel", "place", "later"] and questions["fuel"].asked_if is None
    assert (questions["fuel"].other, questions["place"].other) == ("other", "Other")


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


class Cell:
    """A value in an expression, compared as XPath does: = compares texts or numbers, all others
    compare numbers, and a blank is no number."""

    def __init__(self, text):
        self.text = str(text)

    def number(self):
        return float(self.text) if self.text else math.nan

    def __eq__(self, other):
        other = other if isinstance(other, Cell) else Cell(other)
        numbers = [each.text.replace(".", "").isdigit() for each in (self, other)]
        return self.number() == other.number() if all(numbers) else self.text == other.text

    def __lt__(self, other):
        return self.number() < float(other)

    def __le__(self, other):
        return self.number() <= float(other)

    def __gt__(self, other):
        return self.number() > float(other)

    def __ge__(self, other):
        return self.number() >= float(other)


def holds_in_the_form(expression, person):
    """Whether a person is asked, by the form's expression as Python reads it."""
    python = re.sub(r"\$\{(\w+)\}", r"Cell(person['\1'])", expression)
    python = re.sub(r"(?<![<>!=])=(?!=)", "==", python)
    names = {"Cell": Cell, "person": person, "number": lambda cell: cell, "true": lambda: True}
    names["selected"] = lambda cell, code: code in cell.text.split()
    return bool(eval(python, names))


def holds_in_the_survey(condition, person):
    """Whether a person is asked, by the answers that are sent."""
    fuels = {"wood": "Wood", "gas": "Gas", "sun": "Sunlight"}
    sent = {"cooks": ["yes" if person["cooks"] == "1" else "no"]}
    sent["fuel"] = [fuels.get(person["fuel"], "no answer")]
    sent["fuel"] = sent["fuel"] if person["cooks"] == "1" else ["not asked"]
    sent["fuels"] = [fuels[code] for code in person["fuels"].split()]

    def compared(one):
        if isinstance(one, IsAnswer):
            return np.array(one.answer in sent[one.question])
        above = float(person[one.question]) >= one.edge
        return np.array(above if isinstance(one, AtLeast) else not above)

    return condition is None or bool(holds(condition, compared))


def test_conditions_hold_for_the_people_for_whom_those_of_the_form_do(sections, drafted):
    """For every combination of answers, by a reader of its own."""
    rows = [("int", f"q{n}", "Text", "yes", each) for n, each in enumerate(EXPRESSED)]
    _, questions = drafted(sections(survey=[*EARLIER, *rows], choices=CHOICES))
    fuels = ("wood", "gas", "sun gas", "wood gas sun")
    values = [("1", "0"), ("", "wood", "gas", "sun"), fuels, ("8", "17", "18", "40", "41")]
    every = [
        dict(zip(("cooks", "fuel", "fuels", "age"), each, strict=True)) | {"wage": wage}
        for each in product(*values)
        for wage in ("9", "9.5")
        if each[0] == "1" or not each[1]
    ]
    for n, expression in enumerate(EXPRESSED):
        condition = questions[f"q{n}"].asked_if
        form = [holds_in_the_form(expression, person) for person in every]
        assert form == [holds_in_the_survey(condition, person) for person in every], expression
        assert len({*form}) == (1 if expression == "true()" else 2), expression
