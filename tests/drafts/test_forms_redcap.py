"""Data dictionaries of REDCap: names of boxes, markup, bounds, annotations, other headers."""

import tomllib

import pandas
import pytest

import incrowd

LONG = [
    *("Variable / Field Name", "Form Name", "Section Header", "Field Type", "Field Label"),
    *("Choices, Calculations, OR Slider Labels", "Field Note"),
    *("Text Validation Type OR Show Slider Number", "Text Validation Min", "Text Validation Max"),
    *("Identifier?", "Branching Logic (Show field only if...)", "Required Field?"),
    *("Custom Alignment", "Question Number (surveys only)", "Matrix Group Name"),
    *("Matrix Ranking?", "Field Annotation"),
]
API = [
    *("field_name", "form_name", "section_header", "field_type", "field_label"),
    *("select_choices_or_calculations", "field_note", "text_validation_type_or_show_slider_number"),
    *("text_validation_min", "text_validation_max", "identifier", "branching_logic"),
    *("required_field", "custom_alignment", "question_number", "matrix_group_name"),
    *("matrix_ranking", "field_annotation"),
]
GERMAN = [f"Spalte {n}" for n in range(18)]
PLACES = {name.split("_")[-1]: n for n, name in enumerate(API)}
RECORD = ("record_id", "text", "Record")


def dictionary(*fields, header=LONG):
    """The rows of a dictionary. fields: name, type, label, then the other columns by their keys."""
    rows = [header]
    for name, kind, label, *more in (RECORD, *fields):
        row = [""] * 18
        row[0], row[1], row[3], row[4] = name, "f", kind, label
        for key, value in (more[0] if more else {}).items():
            row[API.index(key)] = value
        rows.append(row)
    return rows


CODES = "select_choices_or_calculations"
NOTE = "field_annotation"
VALIDATED = "text_validation_type_or_show_slider_number"


@pytest.mark.parametrize(
    ("choices", "boxes"),
    [
        ("-1, Fish | 2, Nuts", ["a____1", "a___2"]),
        ("1.5, Fish | 2.5, Nuts", ["a___1_5", "a___2_5"]),
        ("-7.5, Fish | UNK, Nuts", ["a____7_5", "a___unk"]),
        ("a-b, Fish|C, Nuts", ["a___a_b", "a___c"]),
        ("1, Fish\n2, Nuts", ["a___1", "a___2"]),
    ],
)
def test_the_names_of_boxes_are_those_of_exports(table, drafted, choices, boxes):
    rows = dictionary(("a", "checkbox", "Allergies", {CODES: choices}))
    _, questions = drafted(table(rows))
    assert [*questions] == boxes
    assert [question.text for question in questions.values()] == [
        "Allergies (Fish)",
        "Allergies (Nuts)",
    ]


@pytest.mark.parametrize(
    ("choices", "options"),
    [
        ("1, Cat | 2, Dog, or wolf", ("Cat", "Dog, or wolf")),
        ("1,Cat|2,Dog|3,Cow", ("Cat", "Dog", "Cow")),
        ("1, Cat |or| Lynx | 2, Dog", ("Cat | or | Lynx", "Dog")),
        ("1, Cat | Two words, here | 2, Dog", ("Cat | Two words, here", "Dog")),
        ("Cat | Dog | Cow", ("Cat", "Dog", "Cow")),
        ("1, <b>Cat</b> | 2, Dog &amp; wolf", ("Cat", "Dog & wolf")),
        ("1, Cat | 2, Cat | 3, Dog", ("Cat (1)", "Cat (2)", "Dog")),
        ("1, Cat | 2, Dog | -9, No answer", ("Cat", "Dog")),
        ("1, Cat | | 2, Dog |", ("Cat", "Dog")),
    ],
)
def test_choices_with_commas_bars_and_markup(table, drafted, choices, options):
    for kind in ("radio", "dropdown", "dropdown autocomplete"):
        _, questions = drafted(table(dictionary(("pet", kind, "Pet?", {CODES: choices}))))
        assert questions["pet"].options == options


@pytest.mark.parametrize(
    ("validation", "low", "high", "edges"),
    [
        ("integer", "20", "60", (20, 30, 40, 50)),
        ("number_comma_decimal", "0,5", "8,5", (0.5, 2.5, 4.5, 6.5)),
        ("number_1dp", "-4.0", "4.0", (-4, -2, 0, 2)),
        ("integer", "[start]", "today", None),
        ("number", "", "", None),
    ],
)
def test_bounds(table, drafted, validation, low, high, edges):
    bounds = {VALIDATED: validation, "text_validation_min": low, "text_validation_max": high}
    draft, questions = drafted(table(dictionary(("n", "text", "N", bounds))))
    assert ("both bounds" in draft.toml) == (edges is None)
    assert edges is None or questions["n"].edges == edges
    assert ("have a decimal comma" in draft.toml) == ("comma" in validation)


def test_what_people_do_not_answer_is_left_out(table, drafted):
    rows = dictionary(
        ("a", "radio", "A", {CODES: "1, x | 2, y", NOTE: "@HIDDEN"}),
        ("b", "radio", "B", {CODES: "1, x | 2, y", NOTE: "@DEFAULT='1' @HIDDEN-SURVEY"}),
        ("c", "radio", "C", {CODES: "1, x | 2, y", NOTE: "@HIDDEN-PDF"}),
        ("d", "text", "D", {VALIDATED: "integer", NOTE: "@CALCTEXT(1+1)"}),
        ("e", "calc", "E", {CODES: "1+1"}),
        ("f", "yesno", "F", {NOTE: "@READONLY"}),
        ("g", "yesno", "G", {"identifier": "Y"}),
        ("redcap_repeat_instance", "text", "H", {VALIDATED: "integer"}),
        ("i", "file", "I"),
        ("j", "descriptive", "J"),
        ("k", "sql", "K"),
        ("l", "notes", "L"),
    )
    draft, questions = drafted(table(rows))
    assert [*questions] == ["c"]
    reasons = {gone.id: gone.reason for gone in draft.left_out}
    assert "hidden" in reasons["a"] and "hidden" in reasons["b"]
    assert "calculated" in reasons["d"] and "calculated" in reasons["e"]
    assert "read-only" in reasons["f"] and "identifier" in reasons["g"]
    assert "the record" in reasons["redcap_repeat_instance"] and "j" not in reasons


def test_kinds_of_fields(table, drafted):
    scale = {CODES: "1, never | 2, often", "matrix_group_name": "m"}
    rows = dictionary(
        ("true", "truefalse", "The earth is flat."),
        ("pain", "slider", "Pain", {CODES: "none | some | worst", VALIDATED: "number"}),
        ("s1", "radio", "sad", scale | {"section_header": "<i>How often</i> are you"}),
        ("s2", "radio", "glad", scale | {"field_note": "Last week"}),
        ("more", "yesno", "Hello [s1], do you go on?", {"branching_logic": "[true]='1'"}),
        ("brackets", "yesno", "Do you [sometimes] smoke?", {"required_field": "y"}),
    )
    draft, questions = drafted(table(rows))
    assert questions["true"].labels == {"yes": "True", "no": "False"}
    assert questions["pain"].edges[0] == 0 and "slider: none | some | worst." in draft.toml
    assert [questions[id].text for id in ("s1", "s2")] == ["sad", "glad"]
    assert 'text = "How often are you"' in draft.toml and questions["s1"].matrix == "m"
    assert questions["s2"].help == "Last week"
    assert str(questions["more"].asked_if) == "true = yes"
    assert questions["more"].text == "Hello …, do you go on?"
    assert "the text refers to [s1]" in draft.toml
    assert questions["brackets"].text == "Do you [sometimes] smoke?"
    assert not questions["brackets"].optional


def test_a_dictionary_says_what_it_does_not_know(table, drafted):
    draft, _ = drafted(table(dictionary(("a", "yesno", "A"))))
    notes = " ".join(draft.notes)
    assert "set the crowd" in notes and "several rows" in notes and "missing data" in notes


@pytest.mark.parametrize(
    "header",
    [
        LONG,
        API,
        GERMAN,
        [f'"{name}"' for name in LONG],
        [name.upper() for name in LONG],
        [f" {name}  " for name in LONG],
    ],
)
@pytest.mark.parametrize("separator", [",", ";"])
def test_headers_in_any_spelling(table, drafted, header, separator):
    fields = ("a", "yesno", "A"), ("b", "radio", "B", {CODES: "1, x | 2, y"})
    _, questions = drafted(table(dictionary(*fields, header=header), separator=separator))
    assert [*questions] == ["a", "b"]


def test_a_part_of_a_dictionary_may_begin_with_a_question(table, drafted):
    rows = dictionary(("a", "yesno", "A"))
    del rows[1]
    _, questions = drafted(table(rows))
    assert [*questions] == ["a"]


def test_a_dictionary_without_a_question_is_refused_as_one(table, refusal):
    message = refusal(table(dictionary(("a", "notes", "A"))))
    assert "it is a REDCap data dictionary without a question" in message and "a: it is" in message


def test_eighteen_columns_of_answers_are_no_dictionary(table):
    names, answers = [f"q{n}" for n in range(18)], ["radio", "text"] * 20
    assert incrowd.draft(table([names, *([a] * 18 for a in answers[:-1]), ["x"] * 18])).people == 40


RACE, LEVEL = "1, Asian | 2, White | 3, Black", "1, low | 2, middle | 3, high | -9, no answer"
INTEGER = {VALIDATED: "integer", "required_field": "y"}
EARLIER = (
    ("smokes", "yesno", "Do you smoke?", {"required_field": "y"}),
    ("race", "checkbox", "Race", {CODES: RACE}),
    ("level", "radio", "Level", {CODES: LEVEL}),
    ("age", "text", "Age", INTEGER),
    ("weight", "text", "Weight", {VALIDATED: "number", "required_field": "y"}),
    ("born", "text", "Born", {VALIDATED: "date_dmy", "required_field": "y"}),
)
EXPRESSED = {
    "[smokes] = '1'": "smokes = yes",
    '[smokes]="0"': "smokes = no",
    "[smokes] = 1": "smokes = yes",
    "[smokes] <> '1'": "smokes != yes",
    "[smokes] != 1": "smokes != yes",
    "[race(3)] = '1'": "race___3 = yes",
    "[race(2)] = 0": "race___2 = no",
    "[race(1)]<>'1'": "race___1 != yes",
    "[smokes] = '1' and [race(3)] = '1'": "smokes = yes and race___3 = yes",
    "[smokes] = '1' AND ([level]='1' OR [level]='3')": (
        "smokes = yes and (level = low or level = high)"
    ),
    "[level] >= 2": "level = middle or level = high",
    "[level] < 2": "level = low",
    "[level] = '-9'": 'level = "no answer"',
    "[level] = ''": 'level = "no answer"',
    '[level] <> ""': 'level != "no answer"',
    "not([level] = '1')": "level != low",
    "[age] > 17": "age >= 18",
    "[age] <= 64": "age < 65",
    "[weight] >= 50.5": "weight >= 50.5",
}
DECIDED = {
    "[visit_1_arm_1][smokes] = '1'": "names in a row",
    "[weight] > 50": "may be a fraction",
    "[born] > '2000-01-01'": "born is not a question of this draft",
    "datediff([born], 'today', 'y') >= 18": "datediff()",
    "[age] + 1 > 18": "a part that conditions",
    "[user-role-name] = 'a'": "a part that conditions",
    "[race(7)] = '1'": "race(7) is not a question",
    "[last] = '1'": "last is not an earlier question",
    "[race] = '1'": "race is not a question",
}


def test_branching_in_the_names_of_the_draft(table, conditions):
    every = [*EXPRESSED, *DECIDED]
    asked = {"required_field": "y"}
    fields = [
        (f"q{n}", "yesno", "Q", asked | {"branching_logic": each}) for n, each in enumerate(every)
    ]
    rows = dictionary(*EARLIER, *fields, ("last", "yesno", "Last", asked))
    stated = conditions(table(rows), len(every))
    assert dict(zip(every, stated, strict=True)).items() >= EXPRESSED.items()
    for expression, doubt in zip(DECIDED, stated[len(EXPRESSED) :], strict=True):
        assert f"only if {expression}, but " in doubt and DECIDED[expression] in doubt, expression


def test_headers_as_sections_and_matrices_with_their_text(table, drafted):
    scale = {CODES: "1, never | 2, often", "matrix_group_name": "mood", "required_field": "y"}
    bounds = {"text_validation_min": "0", "text_validation_max": "120"}
    rows = dictionary(
        ("sex", "yesno", "A?", {"section_header": "About <i>you</i>"}),
        ("age", "text", "Age?", INTEGER | bounds),
        ("m1", "radio", "sad", scale | {"section_header": "How often?"}),
        ("m2", "radio", "glad", scale | {"branching_logic": "[sex] = '1'"}),
        ("work", "yesno", "B?", {"section_header": "Work"}),
        ("n1", "radio", "x", scale | {"matrix_group_name": "bare"}),
        ("n2", "radio", "y", scale | {"matrix_group_name": "bare"}),
    )
    rows[-1][1] = rows[-2][1] = "another"
    draft, questions = drafted(table(rows))
    raw = tomllib.loads(draft.toml)
    assert [each["title"] for each in raw["section"]] == ["About you", "Work"]
    assert [(each["id"], each["text"]) for each in raw["matrix"]] == [("mood", "How often?")]
    you, work = (each["id"] for each in raw["section"])
    assert [q.section for q in questions.values()] == [you, you, you, you, work, None, None]
    assert [q.matrix for q in questions.values()] == [None, None, "mood", "mood", *[None] * 3]
    assert str(questions["m2"].asked_if) == "sex = yes"
    age = questions["age"]
    assert (age.minimum, age.maximum, age.whole) == (0, 120, True)


def test_exported_answers_of_people_who_were_not_asked_are_accepted(table, drafted):
    """Their cells are blank, and 0 for boxes."""
    rows = dictionary(
        ("smokes", "yesno", "A?", {"required_field": "y"}),
        ("pipe", "yesno", "B?", {"required_field": "y", "branching_logic": "[smokes] = '1'"}),
        ("how", "checkbox", "C?", {CODES: "1, a | 2, b", "branching_logic": "[pipe] = '1'"}),
    )
    draft, _ = drafted(table(rows))
    survey = incrowd.Survey.of(tomllib.loads(draft.toml))
    answers = pandas.DataFrame(
        {
            "smokes": ["1", "1", "0"],
            "pipe": ["1", "0", ""],
            "how___1": ["1", "0", "0"],
            "how___2": ["0", "0", "0"],
        }
    )
    assert incrowd.check(survey, answers).accepted
    answers.loc[1, "pipe"] = ""  # a person who was asked
    assert not incrowd.check(survey, answers).accepted


FIELD = ("mood", "radio", "How do you feel?", {CODES: "1, Good | 2, Bad"})


@pytest.mark.parametrize("before", ["My dictionary\n\n", "sep=,\n", '"sep=,"\r\n', "\ufeff\n"])
def test_a_dictionary_may_begin_with_other_lines(table, text, drafted, before):
    path = table(dictionary(FIELD))
    path = text("dictionary.csv", before + path.read_text("utf-8"))
    _, questions = drafted(path)
    assert questions["mood"].options == ("Good", "Bad")


def test_a_dictionary_may_be_a_workbook(workbook, drafted):
    _, questions = drafted(workbook(Codebook=[["Codebook"], [], *dictionary(FIELD)]))
    assert questions["mood"].options == ("Good", "Bad")


def test_the_likely_encoding_of_a_dictionary_is_shown(tmp_path, table, refusal):
    path = table(dictionary(("a", "radio", "Größe", {CODES: "1, groß | 2, klein"})))
    path.write_bytes(path.read_text("utf-8").encode("cp1252"))
    assert "encoding='cp1252' if this is right" in refusal(path)


@pytest.mark.parametrize("word", ["[survey-date-completed]", "[first_name]", "[user-name:x]"])
def test_what_replaces_a_word_is_not_shown(table, drafted, word):
    draft, questions = drafted(table(dictionary(("a", "yesno", f"Are you {word} [or not]?"))))
    assert questions["a"].text == "Are you … [or not]?"
    assert any(word in each and "reword" in each for each in draft.undecided)


def test_a_code_with_two_labels_is_asked_about(table, drafted):
    field = ("a", "radio", "A?", {CODES: "1, Tea | 2, Coffee | 1, Water"})
    draft, questions = drafted(table(dictionary(field)))
    assert questions["a"].options == ("Tea", "Coffee")
    assert any("the code 1 has several labels" in each for each in draft.undecided)
