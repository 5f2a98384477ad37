"""Survey files of Qualtrics: choices, matrices, recoded values, blocks and branches."""

import tomllib

import pandas
import pytest

import incrowd


def shown(*labels):
    return {str(n): {"Display": label} for n, label in enumerate(labels, start=1)}


def question(id, kind="MC", selector="SAVR", force="ON", **more):
    settings = {"ForceResponse": force, "ForceResponseType": force, "Type": "None"}
    payload = {
        "QuestionText": f"Text of {id}",
        "DataExportTag": f"tag_{id}",
        "QuestionType": kind,
        "Selector": selector,
        "QuestionID": id,
        "Language": [],
        "Validation": {"Settings": settings},
    }
    return {"Element": "SQ", "PrimaryAttribute": id, "Payload": payload | more}


def survey(*elements, language="EN"):
    entry = {"SurveyID": "SV_1", "SurveyName": "Water &amp; power", "SurveyLanguage": language}
    return {"SurveyEntry": entry, "SurveyElements": [*elements]}


def blocks(*each):
    return {"Element": "BL", "Payload": {str(n): block for n, block in enumerate(each)}}


def block(id, *questions, kind="Standard", **more):
    elements = [{"Type": "Question", "QuestionID": each} for each in questions]
    return {"Type": kind, "ID": id, "Description": id, "BlockElements": elements} | more


AB = {"Choices": shown("Tap", "Well"), "ChoiceOrder": ["2", "1"]}


def test_a_survey_file_becomes_a_survey(text, drafted):
    content = survey(
        question("QID1", QuestionText="<p>Where from, ${e://Field/name}?</p>", **AB),
        question("QID2", selector="MAVR", force="OFF", RecodeValues={"1": 10, "2": 20}, **AB),
        question(
            "QID3",
            "Matrix",
            "Likert",
            SubSelector="SingleAnswer",
            QuestionText="How good is",
            Choices=shown("the <b>taste</b>", "the smell"),
            ChoiceOrder=[1, 2],
            Answers=shown("bad", "good"),
            AnswerOrder=[2, 1],
            RecodeValues={"1": "-1", "2": "1"},
        ),
        question("QID4", "TE", "SL"),
        question("QID5", "DB", "TB"),
        question("QID6", "RO", "DND", **AB),
        question("QID7", "Timing", "PageTimer"),
    )
    draft, questions = drafted(text("Water.qsf", content), plan=True)
    codes = incrowd.Survey.of(tomllib.loads(draft.toml)).codes_of
    assert draft.name == "Water & power"
    assert [*questions] == ["tag_QID1", "tag_QID2", "tag_QID3_1", "tag_QID3_2"]
    assert questions["tag_QID1"].options == ("Well", "Tap")
    assert questions["tag_QID1"].text == "Where from, …?"
    assert codes("tag_QID1").values == {"2": "Well", "1": "Tap"}
    assert codes("tag_QID2").values == {"20": "Well", "10": "Tap"}
    answers = pandas.DataFrame({"tag_QID1": ["1", "2"], "tag_QID2": ["10,20", None]})
    answers[["tag_QID3_1", "tag_QID3_2"]] = "-1"
    assert incrowd.check(incrowd.Survey.of(tomllib.loads(draft.toml)), answers).accepted
    assert questions["tag_QID2"].type == "multi" and questions["tag_QID2"].optional
    assert not questions["tag_QID1"].optional
    assert questions["tag_QID3_1"].text == "the taste"
    (matrix,) = incrowd.Survey.of(tomllib.loads(draft.toml)).matrices
    assert (matrix.id, matrix.text) == ("tag_QID3", "How good is")
    assert codes("tag_QID3_2").values == {"1": "good", "-1": "bad"}
    assert {gone.id for gone in draft.left_out} == {"tag_QID4", "tag_QID6"}


ROWS, XY = {"Choices": shown("a", "b")}, {"Answers": shown("x", "y")}


@pytest.mark.parametrize(
    ("kind", "selector", "more", "columns", "type"),
    [
        ("MC", "SAHR", AB, ["tag_Q"], "choice"),
        ("MC", "SACOL", AB, ["tag_Q"], "choice"),
        ("MC", "DL", AB, ["tag_Q"], "choice"),
        ("MC", "SB", AB, ["tag_Q"], "choice"),
        ("MC", "MACOL", AB, ["tag_Q"], "multi"),
        ("MC", "MSB", AB, ["tag_Q"], "multi"),
        ("MC", "NPS", {}, ["tag_Q"], "choice"),
        ("MC", "SAVR", {"Choices": [*shown("Yes", "No").values()]}, ["tag_Q"], "yesno"),
        (
            "Matrix",
            "Bipolar",
            ROWS | {"Answers": shown("x", "y")},
            ["tag_Q_1", "tag_Q_2"],
            "choice",
        ),
        (
            "Matrix",
            "Likert",
            ROWS | {"Answers": shown("x", "y"), "SubSelector": "MultipleAnswer"},
            ["tag_Q_1", "tag_Q_2"],
            "multi",
        ),
        (
            "Matrix",
            "Likert",
            ROWS
            | {"Answers": shown("x", "y"), "ChoiceDataExportTags": {"1": "police", "2": "press"}},
            ["police", "press"],
            "choice",
        ),
        ("Slider", "HSLIDER", ROWS, ["tag_Q_1", "tag_Q_2"], "number"),
        (
            "TE",
            "SL",
            {"Validation": {"Settings": {"ContentType": "ValidNumber"}}},
            ["tag_Q"],
            "number",
        ),
    ],
)
def test_every_type_that_can_be_counted(text, drafted, kind, selector, more, columns, type):
    _, questions = drafted(text("a.qsf", survey(question("Q", kind, selector, **more))))
    assert [*questions] == columns and {each.type for each in questions.values()} == {type}


def test_bounds(text, drafted):
    valid = {"ContentType": "ValidNumber", "ValidNumber": {"Min": "20", "Max": "60"}}
    ends = {"CSSliderMin": 0, "CSSliderMax": 40}
    content = survey(
        question("n", "TE", "SL", Validation={"Settings": valid}),
        question("s", "Slider", "HBAR", Configuration=ends, **ROWS),
        question("m", selector="MAVR", Validation={"Settings": {"MaxChoices": "1"}}, **AB),
    )
    _, questions = drafted(text("a.qsf", content))
    assert questions["tag_n"].edges == (20, 30, 40, 50)
    assert questions["tag_s_1"].edges == (0, 10, 20, 30)
    assert questions["tag_m"].at_most == 1


@pytest.mark.parametrize("kind", ["RO", "PGR", "FileUpload", "Draw", "CS", "SBS", "DD", "HotSpot"])
def test_every_type_that_cannot_be_counted(text, drafted, kind):
    content = survey(question("Q", kind, "X", **AB), question("R", **AB))
    draft, questions = drafted(text("a.qsf", content))
    assert [*questions] == ["tag_R"] and [gone.id for gone in draft.left_out] == ["tag_Q"]


def test_blocks_order_and_condition_questions(text, drafted):
    logic = {"0": {"0": {"Description": "<span>If Where is Tap</span>", "Type": "Expression"}}}
    flow = [
        {"Type": "Block", "ID": "B2"},
        {"Type": "Branch", "BranchLogic": logic, "Flow": [{"Type": "Standard", "ID": "B1"}]},
    ]
    content = survey(
        question("Q1", **AB),
        question("Q2", DisplayLogic=logic, **AB),
        question("Q3", **AB),
        question("Q4", **AB),
        blocks(
            block("B2", "Q2"),
            block("B1", "Q1"),
            block("T", "Q3", kind="Trash"),
            block("L", "Q4", Options={"Looping": "Static"}),
        ),
        {"Element": "FL", "Payload": {"Type": "Root", "Flow": flow}},
    )
    draft, questions = drafted(text("a.qsf", content))
    assert [*questions] == ["tag_Q2", "tag_Q1"]
    assert draft.toml.count("the form asks it only if If Where is Tap, but") == 2
    assert all(question.optional for question in questions.values())
    assert "in the repeat 'L'" in draft.left_out[0].reason


def test_translations(text, drafted):
    german = {"QuestionText": "Woher?", "Choices": shown("Hahn", "Brunnen")}
    content = survey(
        question("Q", QuestionText="Where from?", Language={"DE": german, "PT-BR": []}, **AB)
    )
    _, questions = drafted(text("a.qsf", content))
    assert questions["tag_Q"].text == {"en": "Where from?", "de": "Woher?"}
    assert questions["tag_Q"].labels["Tap"] == {"en": "Tap", "de": "Hahn"}
    assert drafted(text("b.qsf", survey(question("Q", **AB), language="DE")))[0].language == "de"


DEEP = '{"SurveyEntry": ' + '{"a": ' * 5000 + "1" + "}" * 5001


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (survey(question("Q", "TE", "SL")), "a Qualtrics survey file without a question"),
        (survey(), "a Qualtrics survey file without a question"),
        ({"SurveyEntry": [], "SurveyElements": {"a": 1}}, "without a question"),
        ({"SurveyEntry": 3, "SurveyElements": [{"Element": "SQ", "Payload": 5}]}, "without a"),
        ('{"SurveyEntry": {"SurveyName": ', "is damaged"),
        (DEEP, "is damaged"),
        ('{"SurveyEntry": ' + "[" * 100_000, "is damaged"),
    ],
)
def test_what_cannot_be_used_is_refused(text, refusal, content, said):
    assert said in refusal(text("a.qsf", content))


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, [1], {"1": 2}, [{}], {"a": [None]}])
@pytest.mark.parametrize(
    "key",
    [
        *("Choices", "ChoiceOrder", "Answers", "RecodeValues", "Language", "Validation"),
        *("DisplayLogic", "QuestionText", "DataExportTag", "Selector", "Configuration"),
    ],
)
def test_parts_of_any_kind_never_break_the_draft(text, drafted, key, odd):
    matrix = question("M", "Matrix", "Likert", Answers=shown("x", "y"), **ROWS)
    for each in (question("Q", **AB), matrix):
        each["Payload"][key] = odd
        drafted(text("a.qsf", survey(each, question("R", **AB))))


def logic(*sets, kind="Question"):
    """Sets of comparisons, each with the words before them."""
    written = {"Type": "BooleanExpression"}
    for n, (word, *comparisons) in enumerate(sets):
        written[str(n)] = {"Type": word}
        for m, (before, operand, operator, *right) in enumerate(comparisons):
            one = {"LogicType": kind, "LeftOperand": f"q://{operand}", "Operator": operator}
            one |= {"Description": f"If {operand} {operator}", "Type": "Expression"}
            one |= {"RightOperand": right[0]} if right else {}
            written[str(n)][str(m)] = one | ({"Conjuction": before} if before else {})
    return written


CHOSEN, TAP, WELL = "Selected", "Q1/SelectableChoice/1", "Q1/SelectableChoice/2"
MATRIX = {"SubSelector": "SingleAnswer", "Answers": shown("bad", "good")}
WHOLE = {
    "ForceResponse": "ON",
    "ForceResponseType": "ON",
    "ContentType": "ValidNumber",
    "ValidNumber": {"Min": "0", "Max": "120", "NumDecimals": "0"},
}
EARLIER = (
    question("Q1", RecodeValues={"1": 7, "2": 8}, **AB),
    question("Q2", selector="MAVR", force="ON", **AB),
    question("Q3", "Matrix", "Likert", **MATRIX, Choices=shown("taste", "smell")),
    question("Q4", "TE", "SL", Validation={"Settings": WHOLE}),
    question("Q5", "TE", "SL"),
    question("Q6", force="OFF", **AB),
)
EXPRESSED = [
    (logic(("If", ("", TAP, CHOSEN))), "tag_Q1 = Tap"),
    (logic(("If", ("", WELL, "NotSelected"))), "tag_Q1 != Well"),
    (logic(("If", ("", "Q2/SelectableChoice/2", CHOSEN))), "tag_Q2 = Well"),
    (logic(("If", ("", "Q3/SelectableChoice/2/1", CHOSEN))), "tag_Q3_2 = bad"),
    (logic(("If", ("", "Q4/ChoiceTextEntryValue", "GreaterThan", "17"))), "tag_Q4 >= 18"),
    (logic(("If", ("", "Q4/ChoiceTextEntryValue", "LessThanOrEqual", 64))), "tag_Q4 < 65"),
    (
        logic(("If", ("", "Q4/ChoiceTextEntryValue", "EqualTo", "40"))),
        "tag_Q4 >= 40 and tag_Q4 < 41",
    ),
    (
        logic(("If", ("", TAP, CHOSEN), ("And", "Q2/SelectableChoice/1", CHOSEN))),
        "tag_Q1 = Tap and tag_Q2 = Tap",
    ),
    (
        logic(
            ("If", ("", TAP, CHOSEN), ("Or", WELL, CHOSEN)),
            ("AndIf", ("", "Q2/SelectableChoice/1", CHOSEN)),
        ),
        "(tag_Q1 = Tap or tag_Q1 = Well) and tag_Q2 = Tap",
    ),
    (
        logic(("If", ("", TAP, CHOSEN)), ("OrIf", ("", "Q2/SelectableChoice/1", CHOSEN))),
        "tag_Q1 = Tap or tag_Q2 = Tap",
    ),
    (logic(("If", ("", "Q6/ChoiceTextEntryValue", "Empty"))), 'tag_Q6 = "no answer"'),
    (logic(("If", ("", "Q6/ChoiceTextEntryValue", "NotEmpty"))), 'tag_Q6 != "no answer"'),
]
DECIDED = [
    (logic(("If", ("", TAP, CHOSEN)), kind="EmbeddedField"), "something other than answers"),
    (logic(("If", ("", TAP, CHOSEN)), kind="Quota"), "something other than answers"),
    (logic(("If", ("", "Q5/ChoiceTextEntryValue", "EqualTo", "a"))), "Q5 is not a question"),
    (logic(("If", ("", "Q9/SelectableChoice/1", CHOSEN))), "Q9 is not an earlier question"),
    (logic(("If", ("", "Q1/SelectableChoice/9", CHOSEN))), "no answer with the code '9'"),
    (logic(("If", ("", "Q2/SelectedChoicesCount", "GreaterThan", "1"))), "does not have"),
    (logic(("If", ("", "Q4/ChoiceTextEntryValue", "MatchesRegex", "x"))), "MatchesRegex"),
    (logic(("If", ("", TAP, CHOSEN), ("Xor", WELL, CHOSEN))), "'xor'"),
]


def test_display_logic_in_the_names_of_the_draft(text, conditions):
    every = [*EXPRESSED, *DECIDED]
    asked = [
        question(f"X{n}", DisplayLogic=each, **AB | {"DataExportTag": f"q{n}"})
        for n, (each, _) in enumerate(every)
    ]
    content = survey(*EARLIER, *asked, question("Q9", **AB))
    stated = conditions(text("a.qsf", content), len(every))
    assert stated[: len(EXPRESSED)] == [expected for _, expected in EXPRESSED]
    for (each, reason), doubt in zip(DECIDED, stated[len(EXPRESSED) :], strict=True):
        assert f"only if {each['0']['0']['Description']}" in doubt and reason in doubt


def test_blocks_as_sections_in_the_order_of_the_flow(text, drafted):
    branch = logic(("If", ("", TAP, CHOSEN)))
    flow = [
        {"Type": "Block", "ID": "You"},
        {
            "Type": "Branch",
            "BranchLogic": branch,
            "Flow": [
                {"Type": "Standard", "ID": "Tap water"},
                {"Type": "BlockRandomizer", "SubSet": 1, "Flow": [{"ID": "Draw"}]},
            ],
        },
    ]
    choices = {"Choices": shown("a", "b") | {"3": {"Display": "Else", "TextEntry": "true"}}}
    content = survey(
        question("Q1", **AB),
        question("Q2", **choices),
        question("Q3", DisplayLogic=logic(("If", ("", "Q2/SelectableChoice/1", CHOSEN))), **AB),
        question("Q4", **AB),
        question("Q5", "TE", "SL", Validation={"Settings": WHOLE}),
        blocks(block("Draw", "Q4"), block("Tap water", "Q2", "Q3"), block("You", "Q1", "Q5")),
        {"Element": "FL", "Payload": {"Type": "Root", "Flow": flow}},
    )
    draft, questions = drafted(text("a.qsf", content))
    raw = tomllib.loads(draft.toml)
    assert raw["section"] == [
        {"id": "you", "title": "You"},
        {"id": "tap_water", "title": "Tap water", "asked_if": "tag_Q1 = Tap"},
        {"id": "draw", "title": "Draw"},
    ]
    assert str(questions["tag_Q3"].asked_if) == "tag_Q1 = Tap and tag_Q2 = a"
    assert str(questions["tag_Q4"].asked_if) == "tag_Q1 = Tap" and questions["tag_Q4"].optional
    assert "only if the block is drawn at random, but" in draft.toml
    assert questions["tag_Q2"].other == "Else"
    age = questions["tag_Q5"]
    assert (age.minimum, age.maximum, age.whole) == (0, 120, True)


def test_stars_have_their_number_as_a_bound(text, drafted):
    stars = question("s", "Slider", "STAR", Configuration={"StarCount": 4}, Choices=shown("Food"))
    _, questions = drafted(text("s.qsf", survey(stars)))
    assert questions["tag_s_1"].edges == (0, 1, 2, 3)


def test_a_survey_file_may_begin_with_its_elements(text, drafted):
    file = survey(*(question(f"Q{n}", Choices=shown("Yes", "No")) for n in range(200)))
    path = text("s.qsf", {key: file[key] for key in ("SurveyElements", "SurveyEntry")})
    draft, questions = drafted(path)
    assert len(questions) == 200 and draft.name == "Water & power"


def test_blocks_at_several_places_and_ends_of_the_survey(text, drafted):
    """A block of two branches is seen in either; nobody sees a block after an end."""
    tap, well = (logic(("If", ("", each, CHOSEN))) for each in (TAP, WELL))
    other = logic(("If", ("", "Q2/SelectableChoice/1", CHOSEN)))
    flow = [
        {"Type": "Block", "ID": "A"},
        {"Type": "Branch", "BranchLogic": tap, "Flow": [{"ID": "B"}, {"ID": "D"}]},
        {"Type": "Branch", "BranchLogic": other, "Flow": [{"Type": "EndSurvey"}]},
        {"Type": "Branch", "BranchLogic": well, "Flow": [{"ID": "B"}]},
        {"Type": "Block", "ID": "C"},
        {"Type": "EndSurvey"},
    ]
    content = survey(
        *(question(f"Q{n}", **AB) for n in range(1, 6)),
        blocks(block("A", "Q1", "Q2"), block("B", "Q3"), block("C", "Q4"), block("D", "Q5")),
        {"Element": "FL", "Payload": {"Type": "Root", "Flow": flow}},
    )
    draft, _ = drafted(text("a.qsf", content))
    conditions = {each["id"]: each.get("asked_if") for each in draft.sections}
    assert conditions == {
        "a": None,
        "b": "tag_Q1 = Tap or (tag_Q1 = Well and tag_Q2 != Tap)",
        "d": "tag_Q1 = Tap",
        "c": "tag_Q2 != Tap",
    }
    assert "names of blocks" in draft.notes[1]


def test_rows_and_choices_that_some_people_see(text, drafted):
    """A row has a condition of its own; of a choice, the form's condition is noted."""
    tap = logic(("If", ("", TAP, CHOSEN)))
    some = shown("a", "b") | {"3": {"Display": "c", "DisplayLogic": tap}}
    content = survey(
        question("Q1", **AB),
        question("Q2", "Matrix", "Likert", **MATRIX, Choices=some),
        question("Q3", Choices=some),
    )
    draft, questions = drafted(text("a.qsf", content))
    conditions = {id: str(each.asked_if) for id, each in questions.items() if each.asked_if}
    assert conditions == {"tag_Q2_3": "tag_Q1 = Tap"}
    assert {id for id, each in questions.items() if each.matrix} == {
        f"tag_Q2_{n}" for n in (1, 2, 3)
    }
    assert draft.toml.count(f"other answers decide which are shown: If {TAP} {CHOSEN}.") == 1
