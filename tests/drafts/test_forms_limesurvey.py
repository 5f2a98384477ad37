"""Survey structures of LimeSurvey, with texts in tables of their own and in the rows before."""

import tomllib

import pytest

import incrowd

Q, SUB = "questions", "subquestions"


def rows(table, *entries):
    """A table of a structure."""
    cells = (
        "".join(f"<{key}><![CDATA[{value}]]></{key}>" for key, value in entry.items())
        for entry in entries
    )
    inside = "".join(f"<row>{each}</row>" for each in cells)
    return f"<{table}><fields><fieldname>qid</fieldname></fields><rows>{inside}</rows></{table}>"


def structure(*tables, languages=("en",), doctype=""):
    named = "".join(f"<language>{each}</language>" for each in languages)
    settings = {"sid": 7, "language": languages[0], "additional_languages": " ".join(languages[1:])}
    title = {"surveyls_language": languages[0], "surveyls_title": "Street <b>life</b>"}
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{doctype}<document>'
        "<LimeSurveyDocType>Survey</LimeSurveyDocType><DBVersion>600</DBVersion>"
        f"<languages>{named}</languages>{''.join(tables)}{rows('surveys', settings)}"
        f"{rows('surveys_languagesettings', title)}</document>"
    )


def question(qid, kind, title, **more):
    base = {"qid": qid, "parent_qid": 0, "gid": 1, "type": kind, "title": title}
    return base | {"question_order": qid, "mandatory": "Y", "relevance": "1"} | more


def below(qid, parent, title, **more):
    base = {"qid": qid, "parent_qid": parent, "gid": 1, "title": title, "scale_id": 0}
    return base | {"question_order": qid} | more


def say(qid, text, language="en", **more):
    return {"qid": qid, "question": text, "language": language} | more


MODERN = structure(
    rows(
        Q,
        question(1, "Y", "smokes"),
        question(2, "L", "travel", other="Y", mandatory="N"),
        question(3, "M", "pets"),
        question(4, "F", "trust"),
        question(5, "S", "why"),
        question(6, "N", "age", relevance="smokes.NAOK == 'Y'"),
        question(7, "X", "hello"),
        question(8, "R", "order"),
    ),
    rows(SUB, below(31, 3, "cat"), below(32, 3, "dog"), below(42, 4, "b"), below(41, 4, "a")),
    rows(
        "question_l10ns",
        say(1, "<p>Do you <em>smoke</em>?</p>", help="Ever."),
        say(2, "How do you get here, {TOKEN:FIRSTNAME}?"),
        say(3, "Which pets do you have?"),
        say(4, "How much do you trust"),
        say(31, "a cat"),
        say(32, "a dog"),
        say(41, "the police"),
        say(42, "the press"),
    ),
    rows(
        "answers",
        {"aid": 1, "qid": 2, "code": "A2", "sortorder": 2, "scale_id": 0},
        {"aid": 2, "qid": 2, "code": "A1", "sortorder": 1, "scale_id": 0},
        {"aid": 3, "qid": 4, "code": "1", "sortorder": 1, "scale_id": 0},
        {"aid": 4, "qid": 4, "code": "2", "sortorder": 2, "scale_id": 0},
    ),
    rows(
        "answer_l10ns",
        {"aid": 1, "answer": "by bike", "language": "en"},
        {"aid": 2, "answer": "on foot", "language": "en"},
        {"aid": 3, "answer": "little", "language": "en"},
        {"aid": 4, "answer": "much", "language": "en"},
    ),
    rows(
        "question_attributes",
        {"qid": 3, "attribute": "max_answers", "value": "1"},
        {"qid": 6, "attribute": "min_num_value_n", "value": "20"},
        {"qid": 6, "attribute": "max_num_value_n", "value": "60"},
    ),
)


def test_a_structure_becomes_a_survey(text, drafted):
    draft, questions = drafted(text("limesurvey_survey_7.lss", MODERN), plan=True)
    survey = incrowd.Survey.of(tomllib.loads(draft.toml))
    assert draft.name == "Street life"
    assert [*questions] == ["smokes", "travel", "pets", "trust_a", "trust_b", "age"]
    assert questions["smokes"].text == "Do you smoke?" and questions["smokes"].help == "Ever."
    assert survey.codes_of("smokes").values == {"Y": "yes", "N": "no"}
    assert questions["travel"].options == ("on foot", "by bike", "Other")
    assert survey.codes_of("travel").values["-oth-"] == "Other"
    assert questions["travel"].text == "How do you get here, …?"
    assert questions["pets"].options == ("a cat", "a dog") and questions["pets"].at_most == 1
    assert questions["trust_b"].text == "the press" and questions["trust_b"].matrix == "trust"
    assert survey.matrices[0].text == "How much do you trust"
    assert survey.codes_of("trust_b").column == "trust[b]"
    assert questions["age"].edges == (20, 30, 40, 50)
    assert [questions[id].optional for id in ("smokes", "travel", "age")] == [False, True, False]
    assert str(questions["age"].asked_if) == "smokes = yes"
    assert questions["travel"].other == "Other"
    assert {gone.id for gone in draft.left_out} == {"why", "order"}
    assert "the text refers to {TOKEN:FIRSTNAME}" in draft.toml


def test_the_older_layout_repeats_rows_in_each_language(text, drafted):
    asked = question(1, "L", "home") | {"question": "Where?", "language": "de", "help": "Heute"}
    answers = [
        {"qid": 1, "code": code, "sortorder": n, "answer": word, "language": tag}
        for tag, words in (("de", ("Stadt", "Land")), ("fr", ("Ville", "Campagne")))
        for n, (code, word) in enumerate(zip("SL", words, strict=True))
    ]
    asked |= {"question": "Wo wohnen Sie?"}
    other = asked | {"question": "Où habitez-vous ?", "language": "fr"}
    source = structure(rows(Q, asked, other), rows("answers", *answers), languages=("de", "fr"))
    draft, questions = drafted(text("old.lss", source))
    assert draft.language == "de" and [*questions] == ["home"]
    assert questions["home"].text == {"de": "Wo wohnen Sie?", "fr": "Où habitez-vous ?"}
    assert questions["home"].options == ("Stadt", "Land")
    assert questions["home"].labels["Stadt"] == {"de": "Stadt", "fr": "Ville"}


SUBS = rows(SUB, below(11, 1, "a"), below(12, 1, "b", scale_id=1), below(13, 1, "c", scale_id=1))
ANSWERS = rows(
    "answers",
    *[
        {"qid": 1, "code": f"A{n}", "sortorder": n, "answer": word, "scale_id": scale}
        for scale, words in ((0, ("low", "high")), (1, ("never", "often")))
        for n, word in enumerate(words)
    ],
)


@pytest.mark.parametrize(
    ("kind", "columns", "type", "options"),
    [
        ("L", ["q"], "choice", ("low", "high")),
        ("!", ["q"], "choice", ("low", "high")),
        ("O", ["q"], "choice", ("low", "high")),
        ("5", ["q"], "choice", ("1", "2", "3", "4", "5")),
        ("G", ["q"], "choice", ("Female", "Male")),
        ("Y", ["q"], "yesno", None),
        ("N", ["q"], "number", None),
        ("K", ["q_a"], "number", None),
        ("F", ["q_a"], "choice", ("low", "high")),
        ("H", ["q_a"], "choice", ("low", "high")),
        ("A", ["q_a"], "choice", ("1", "2", "3", "4", "5")),
        ("B", ["q_a"], "choice", tuple(str(n) for n in range(1, 11))),
        ("C", ["q_a"], "choice", ("Yes", "Uncertain", "No")),
        ("E", ["q_a"], "choice", ("Increase", "Same", "Decrease")),
        ("1", ["q_a_1", "q_a_2"], "choice", ("low", "high")),
        (":", ["q_a_b", "q_a_c"], "number", None),
    ],
)
def test_every_type_that_can_be_counted(text, drafted, kind, columns, type, options):
    source = structure(rows(Q, question(1, kind, "q")), SUBS, ANSWERS)
    _, questions = drafted(text("a.lss", source))
    assert [*questions] == columns
    first = questions[columns[0]]
    assert first.type == type and getattr(first, "options", None) == options
    if kind == "1":
        assert questions["q_a_2"].options == ("never", "often")


@pytest.mark.parametrize("kind", [*"STUQD;R|XI*?"])
def test_every_type_that_cannot_be_counted(text, drafted, kind):
    asked = rows(Q, question(1, kind, "q"), question(2, "Y", "other"))
    draft, questions = drafted(text("a.lss", structure(asked, SUBS, ANSWERS)))
    assert [*questions] == ["other"]
    assert [gone.id for gone in draft.left_out] == ([] if kind in "XI*" else ["q"])


def test_hidden_questions_and_conditions_of_groups(text, drafted):
    source = structure(
        rows("groups", {"gid": 1, "group_order": 2, "grelevance": "a == 1"}, {"gid": 2}),
        rows(Q, question(1, "Y", "late"), question(2, "Y", "first", gid=2), question(3, "Y", "no")),
        rows("question_attributes", {"qid": 3, "attribute": "hidden", "value": "1"}),
    )
    draft, questions = drafted(text("a.lss", source))
    assert [*questions] == ["first", "late"] and draft.left_out[0].id == "no"
    assert questions["late"].optional and not questions["first"].optional
    doubt = "late: the form asks it only if a == 1, but a is not a question of this draft"
    assert any(each.startswith(doubt) for each in draft.undecided)


ENTITY = '<!DOCTYPE document [<!ENTITY x "y"><!ENTITY z SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (structure(rows(Q, question(1, "Y", "a")), doctype=ENTITY), "is damaged"),
        (structure(rows(Q, question(1, "Y", "a")), doctype="<!DOCTYPE document>"), "is damaged"),
        (structure(rows(Q, question(1, "Y", "a")))[:-20], "is damaged"),
        (structure("<a>" * 100 + "</a>" * 100), "is damaged"),
        (structure(rows(Q, question(1, "S", "a"))), "a LimeSurvey structure without a question"),
        (structure(), "a LimeSurvey structure without a question"),
        ("<?xml version='1.0'?><other/>", "XML"),
    ],
)
def test_what_cannot_be_used_is_refused(text, refusal, content, said):
    assert said in refusal(text("a.lss", content))


def test_a_structure_is_not_read_as_answers(text):
    path = text("a.lss", MODERN)
    survey = incrowd.Survey.of(tomllib.loads(incrowd.draft(path).toml))
    with pytest.raises(incrowd.AnswersError, match="XML"):
        incrowd.load_answers(path, survey)


EARLIER = (
    question(1, "Y", "smokes"),
    question(2, "L", "home", mandatory="N", relevance='smokes.NAOK == "Y"'),
    question(3, "M", "pets"),
    question(4, "F", "trust"),
    question(5, "N", "age"),
    question(6, "S", "why"),
)
BELOW = (below(31, 3, "cat"), below(32, 3, "dog"), below(41, 4, "a"), below(42, 4, "b"))
CODED = [
    {"qid": qid, "code": code, "sortorder": n, "answer": word, "scale_id": 0}
    for qid, words in ((2, {"A1": "town", "A2": "village"}), (4, {"1": "little", "2": "much"}))
    for n, (code, word) in enumerate(words.items())
]
WHOLE = {"qid": 5, "attribute": "num_value_int_only", "value": "1"}
EXPRESSED = {
    'smokes.NAOK == "Y"': "smokes = yes",
    "((smokes.NAOK == 'N'))": "smokes = no",
    'smokes == "Y"': "smokes = yes",
    'smokes.NAOK != "Y"': "smokes != yes",
    'smokes.NAOK eq "Y" and age.NAOK ge 18': "smokes = yes and age >= 18",
    '((pets_cat.NAOK == "Y"))': "pets = cat",
    'pets_cat.NAOK == ""': "pets != cat",
    '((home.NAOK == "A2"))': "home = village",
    '((trust_b.NAOK == "2"))': "trust_b = much",
    'trust_a.NAOK >= "2"': "trust_a = much",
    'smokes.NAOK == "Y" && !(age.NAOK < 18)': "smokes = yes and not age < 18",
    'smokes.NAOK == "Y" || age.NAOK > 17': "smokes = yes or age >= 18",
    "!is_empty(home.NAOK)": 'not (home = "no answer" or home = "not asked")',
    "is_empty(home.NAOK)": 'home = "no answer" or home = "not asked"',
    'home.NAOK != "A1"': "home != town",
    'home != "A1"': 'home != town and home != "not asked"',
    "is_empty(home)": '(home = "no answer" or home = "not asked") and home != "not asked"',
    "(age.NAOK) <= 30": "age < 31",
}
DECIDED = {
    'why.NAOK == "x"': "why is not a question of this draft",
    'last.NAOK == "Y"': "last is not an earlier question",
    'home.NAOK == "A9"': "no answer with the code 'A9'",
    "count(pets_cat, pets_dog) > 1": "count()",
    "age.NAOK * 2 > 30": "a part that conditions",
    "strlen(why) > 0": "strlen()",
    'smokes.shown == "Yes"': "a part that conditions",
    "{TOKEN:AGE} > 3": "a part that conditions",
}


def test_relevance_in_the_names_of_the_draft(text, conditions):
    every = [*EXPRESSED, *DECIDED]
    asked = [question(100 + n, "Y", f"q{n}", relevance=each) for n, each in enumerate(every)]
    source = structure(
        rows(Q, *EARLIER, *asked, question(900, "Y", "last")),
        rows(SUB, *BELOW),
        rows("question_l10ns", say(31, "cat"), say(32, "dog")),
        rows("answers", *CODED),
        rows("question_attributes", WHOLE),
    )
    stated = conditions(text("a.lss", source), len(every))
    assert dict(zip(every, stated, strict=True)).items() >= EXPRESSED.items()
    for expression, doubt in zip(DECIDED, stated[len(EXPRESSED) :], strict=True):
        assert f"only if {expression}, but " in doubt and DECIDED[expression] in doubt, expression


@pytest.mark.parametrize(("policy", "consent"), [("2", True), ("1", True), ("0", False)])
def test_groups_as_sections_with_the_texts_around_them(text, drafted, policy, consent):
    settings = {"showsurveypolicynotice": policy, "language": "en"}
    words = {
        "surveyls_language": "en",
        "surveyls_title": "Street",
        "surveyls_endtext": "<p>Thank you!</p>",
        "surveyls_policy_notice": "We ask about smoking.",
    }
    source = (
        "<document><LimeSurveyDocType>Survey</LimeSurveyDocType>"
        + rows("surveys", settings)
        + rows("surveys_languagesettings", words)
        + rows(
            "groups",
            {"gid": 1, "group_order": 1},
            {"gid": 2, "group_order": 2, "grelevance": "smokes.NAOK == 'Y'"},
        )
        + rows(
            "group_l10ns",
            {"gid": 1, "group_name": "About you", "language": "en"},
            {"gid": 2, "group_name": "Smoking", "description": "<b>Now</b>.", "language": "en"},
        )
        + rows(Q, question(1, "Y", "smokes"), question(2, "Y", "pipe", gid=2))
        + "</document>"
    )
    draft, questions = drafted(text("a.lss", source))
    raw = tomllib.loads(draft.toml)
    assert raw["section"] == [
        {"id": "about_you", "title": "About you"},
        {"id": "smoking", "title": "Smoking", "text": "Now.", "asked_if": "smokes = yes"},
    ]
    page = {"consent": "We ask about smoking."} if consent else {}
    assert raw["page"] == page | {"thanks": "Thank you!"}
    assert not questions["pipe"].optional and str(questions["pipe"].asked_if) == "smokes = yes"


@pytest.mark.parametrize("part", ["Group", "Question"])
def test_a_part_of_a_survey_is_a_form(text, drafted, part):
    slider = {"slider_layout": "1", "slider_min": "1", "slider_max": "5"}
    settings = [{"qid": "1", "attribute": key, "value": value} for key, value in slider.items()]
    content = structure(
        rows("questions", question("1", "K", "k")),
        rows("subquestions", below("2", "1", "a")),
        rows("question_l10ns", say("1", "How good?"), say("2", "Food")),
        rows("question_attributes", *settings),
    ).replace(">Survey<", f">{part}<")
    assert f">{part}<" in content
    _, questions = drafted(text("part.lsg", content))
    assert questions["k_a"].edges == (1, 2, 3, 4)


def test_rows_and_options_that_some_people_see(text, drafted):
    """A row has a condition of its own; of an option, the form's condition is noted."""
    source = structure(
        rows(
            Q,
            question(1, "M", "pets"),
            question(2, "F", "costs"),
            question(3, "F", "rare"),
            question(4, "M", "more"),
        ),
        rows(
            SUB,
            *(
                below(10 * qid + n, qid, code)
                for qid in (1, 2, 3, 4)
                for n, code in enumerate(("cat", "dog"))
            ),
            below(50, 2, "cow", relevance='pets_cat.NAOK == "Y" && pets_dog.NAOK == "Y"'),
        ),
        rows(
            "answers",
            *[
                {"qid": qid, "code": c, "sortorder": c, "answer": c, "scale_id": 0}
                for qid in (2, 3)
                for c in "12"
            ],
        ),
        rows(
            "question_attributes",
            *({"qid": qid, "attribute": "array_filter", "value": "pets"} for qid in (2, 4)),
            {"qid": 3, "attribute": "array_filter_exclude", "value": "pets;nothing"},
        ),
    )
    draft, questions = drafted(text("a.lss", source))
    conditions = {id: str(each.asked_if) for id, each in questions.items() if each.asked_if}
    cow = "pets = cat and pets = dog"  # what can be stated of two conditions
    assert conditions == {"costs_cat": "pets = cat", "costs_dog": "pets = dog", "costs_cow": cow}
    filtered = 'costs_cow: the form asks it only if pets_cow.NAOK == "Y", but pets_cow is not a'
    excluded = 'rare_cat: the form asks it only if pets_cat.NAOK != "Y" and nothing_cat.NAOK != "Y"'
    assert all(any(d.startswith(each) for d in draft.undecided) for each in (filtered, excluded))
    shown = 'pets_cat.NAOK == "Y"; pets_dog.NAOK == "Y"'
    assert f"# In the form, other answers decide which are shown: {shown}." in draft.toml
