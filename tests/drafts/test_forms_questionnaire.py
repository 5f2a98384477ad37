"""Questions as plain text: answers on the line and below it, boxes, scales, several languages."""

import pytest

import incrowd

YES_NO = [
    "Do you smoke? yes / no",
    "Do you smoke? (yes/no)",
    "Do you smoke? [Yes | No]",
    "Do you smoke? yes, no",
    "Do you smoke? yes or no",
    "Do you smoke? [ ] yes [ ] no",
    "Do you smoke? ( ) yes ( ) no",
    "Do you smoke? ☐ Yes ☐ No",
    "Do you smoke (yes/no)?",
    "Do you smoke?\n- yes\n- no",
    "Do you smoke?\n  [ ] Yes\n  [ ] No",
    "Do you smoke?\n\na) yes\nb) no",
    "1. Do you smoke? Ja / Nein",
    "Q1: Fumez-vous ? oui / non",
    "**2.** ¿Fuma? sí / no",
    "### Do you smoke?\n* yes\n* no",
    "Do you smoke?\n  O yes\n  O no",
    "Do you smoke?\nYes\nNo\n",
    "smokes: Do you smoke? yes / no",
    "Smoker (yes / no)",
]
WORDED = {"Do you smoke?", "Fumez-vous ?", "¿Fuma?", "Smoker"}
CHOICES = [
    ("Which do you like? tea / coffee / milk", "choice"),
    ("Which do you like?\n- tea\n- coffee\n- milk", "choice"),
    ("Which do you like?\n( ) tea\n( ) coffee\n( ) milk", "choice"),
    ("Which do you like?\n[ ] tea\n[ ] coffee\n[ ] milk", "multi"),
    ("Which do you like?\n- [ ] tea\n- [ ] coffee\n- [ ] milk", "multi"),
    ("Which do you like? ☐ tea ☐ coffee ☐ milk", "multi"),
    ("Which do you like? (choose one)\n[ ] tea\n[ ] coffee\n[ ] milk", "choice"),
    ("Which do you like? (select all that apply) tea / coffee / milk", "multi"),
    ("Was mögen Sie? (Mehrfachnennung möglich)\n- tea\n- coffee\n- milk", "multi"),
    ("1. Which do you like?\n   1) tea\n   2) coffee\n   3) milk", "choice"),
    ("Which do you like?\n1. tea\n2. coffee\n3. milk", "choice"),
    ("Favorite drink:\na) tea\nb) coffee\nc) milk", "choice"),
    ("Which do you like? tea, coffee or milk", "choice"),
    ("Which do you like?\ntea\ncoffee\nmilk\n\nThank you.", "choice"),
]


@pytest.mark.parametrize("line", YES_NO)
def test_yes_or_no(text, drafted, line):
    _, questions = drafted(text("questions.txt", f"{line}\n"))
    ((id, question),) = questions.items()
    assert question.type == "yesno" and question.text in WORDED
    assert id == "smokes" or not line.startswith("smokes:")


@pytest.mark.parametrize(("written", "type"), CHOICES)
@pytest.mark.parametrize("ending", ["txt", "md"])
def test_one_of_several_or_several(text, drafted, written, type, ending):
    _, questions = drafted(text(f"questions.{ending}", written))
    (question,) = questions.values()
    assert question.type == type and question.options == ("tea", "coffee", "milk")


@pytest.mark.parametrize(
    ("instruction", "most"),
    [
        ("(choose up to 2)", 2),
        ("(at most two)", 2),
        ("[max. 1]", 1),
        ("(bis zu 2 Antworten)", 2),
        ("(jusqu'à 2 réponses)", 2),
        ("Choose up to 2", 2),
    ],
)
def test_the_most_answers(text, drafted, instruction, most):
    written = f"Which do you use? {instruction}\n- bus\n- train\n- bike\n"
    draft, questions = drafted(text("q.txt", written))
    (question,) = questions.values()
    assert question.type == "multi" and question.at_most == most
    assert "at_most allows all" not in draft.toml


@pytest.mark.parametrize(
    "line",
    [
        "How many cups do you drink? 0-40",
        "How many cups do you drink? 0 to 40",
        "How many cups do you drink? (0–40)",
        "How many cups do you drink? from 0 to 40 cups",
        "Wie viele Tassen trinken Sie? 0 bis 40",
        "Number of cups: 0-40",
    ],
)
def test_amounts(text, drafted, line):
    _, questions = drafted(text("q.txt", line))
    (question,) = questions.values()
    assert question.type == "number" and question.edges == (0, 10, 20, 30)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("How often? 1 (never) to 3 (always)", ("1 (never)", "2", "3 (always)")),
        ("How often? 1 = never - 3 = always", ("1 (never)", "2", "3 (always)")),
        ("How good is it? 1-4", ("1", "2", "3", "4")),
        ("On a scale from 1 to 3, how good is it?\nDo you drive? yes / no", ("1", "2", "3")),
        ("Wie zufrieden? 0 (gar nicht) bis 2 (sehr)", ("0 (gar nicht)", "1", "2 (sehr)")),
    ],
)
def test_scales(text, drafted, line, options):
    draft, questions = drafted(text("q.txt", line))
    question, *_ = questions.values()
    assert question.options == options
    assert ("was taken for a scale" in draft.toml) == ("(" not in "".join(options))


@pytest.mark.parametrize("line", ["Rate the food: 1 2 3", "How good is it? 1 2 3"])
def test_a_series_of_numbers(text, drafted, line):
    _, questions = drafted(text("q.txt", line))
    (question,) = questions.values()
    assert question.options == ("1", "2", "3")


def test_numbered_lines_without_answers_are_named(text, drafted):
    draft, _ = drafted(text("q.txt", "1. Tell us about you.\n2. Do you smoke? yes / no\n"))
    assert [gone.id for gone in draft.left_out] == ["tell_us_about_you"]


def test_codes_of_answers(text, drafted):
    _, questions = drafted(text("q.txt", "How often? 1 = never / 2 = sometimes / 3 = often"))
    (question,) = questions.values()
    assert question.options == ("never", "sometimes", "often")


@pytest.mark.parametrize(
    ("line", "type", "doubt"),
    [
        ("Do you smoke?", "yesno", "no answers are listed; yes and no were assumed"),
        ("How old are you? ____", "number", "both bounds"),
        ("How many children do you have?", "number", "both bounds"),
        ("Which? red, green or blue", "choice", "divided at commas"),
        ("Which? [ ] red [ ] blue", "multi", "at_most allows all options"),
    ],
)
def test_doubt_is_a_decision(text, drafted, line, type, doubt):
    draft, questions = drafted(text("q.md", f"{line}\nDo you drive? yes / no\n"))
    first, _ = questions.values()
    assert first.type == type and doubt in " ".join(draft.undecided)


WHOLE = """# Life in the street

Thank you for taking part. It takes two minutes.

1. Do you live here? yes / no
2. How do you get to work? (choose up to 2)
   - on foot
   - by bike
   - Other: ____
3. How safe do you feel? 1 (not at all) to 5 (very)

4. How many people live with you? 0-8
5. What would you change? ________
6. Do you live here? yes / no / don't know (required)
"""


@pytest.mark.parametrize("name", ["street.md", "street.txt"])
def test_a_whole_questionnaire(text, drafted, name):
    draft, questions = drafted(text(name, WHOLE), plan=name.endswith("md"))
    assert draft.name == "Life in the street"
    assert [*questions] == [
        "do_you_live_here",
        "how_do_you_get_to",
        "how_safe_do_you_feel",
        "how_many_people_live_with",
        "do_you_live_here_2",
    ]
    work, last = questions["how_do_you_get_to"], questions["do_you_live_here_2"]
    assert (work.at_most, work.options) == (2, ("on foot", "by bike", "Other"))
    assert not last.optional and last.options == ("yes", "no", "don't know")
    assert [gone.id for gone in draft.left_out] == ["what_would_you_change"]


def test_another_language_is_a_decision(text, drafted):
    draft, questions = drafted(text("q.txt", "Rauchen Sie? ja / nein\nTrinken Sie? ja / nein\n"))
    assert "the texts do not seem to be English; set `language`" in draft.notes
    assert questions["rauchen_sie"].labels == {"yes": "ja", "no": "nein"}


ROWS = "".join(f"{n % 2},{20 + n}\n" for n in range(40))


@pytest.mark.parametrize(
    "content",
    [
        f"smokes,age\n{ROWS}",
        f"Do you smoke?,How old are you?\n{ROWS}",
        "Do you smoke? yes/no\tAge\n" + "yes\t40\nno\t30\n" * 20,
        "smokes\n" + "yes\nno\n" * 20,
        "Which town?\n" + "Ayr\nBonn\nCork\nDax\n" * 10,
        "Do you smoke?\n" + "yes\nno\n" * 20,
        "comment;rated\n" + "What is this? a / b;good\nFine;bad\n" * 20,
    ],
)
def test_answers_in_a_text_file_stay_answers(text, content):
    assert incrowd.draft(text("answers.txt", content)).people == 40


def test_a_text_without_questions_is_refused(text, refusal):
    assert "a text of questions without a question" in refusal(text("a.md", "Hello.\n\nBye.\n"))
    message = refusal(text("b.md", "What do you think?\n"))
    assert "what_do_you_think: the text lists no answers" in message


WITH_CODES = {
    "brackets": "1. Do you smoke?\n(1) Yes\n(2) Rarely\n(9) Never\n2. Sex?\n(1) F\n(2) M\n",
    "dots": "1. Do you smoke?\n  Yes ..... 1\n  Rarely .. . 2\n  Never .... 9\n",
    "letters": "A1. Do you smoke?\n[1] Yes\n[2] Rarely\n[9] Never\n",
}


@pytest.mark.parametrize("name", WITH_CODES)
def test_printed_codes_are_codes(text, drafted, name):
    """The wrong variant reads the lines as a table of answers, or the codes as words."""
    draft, questions = drafted(text("form.txt", WITH_CODES[name]))
    first, *_ = questions.values()
    assert first.options == ("Yes", "Rarely", "Never")
    assert draft.questions[0].keys["values"] == {"1": "Yes", "2": "Rarely", "9": "Never"}


def test_boxes_on_one_line_are_answers(text, drafted):
    form = "1. How often?\n○ never ○ rarely ○ often\n2. Which?\n☐ tea ☐ coffee ☐ milk\n"
    _, questions = drafted(text("form.txt", form))
    assert questions["how_often"].options == ("never", "rarely", "often")
    assert questions["which"].options == ("tea", "coffee", "milk")


@pytest.mark.parametrize(
    "line", ["Are you male or female?", "Do you live in a city, a town, or a village?"]
)
def test_a_question_with_alternatives_is_not_about_yes_and_no(text, drafted, line):
    draft, questions = drafted(text("form.txt", f"1. Do you smoke? yes / no\n2. {line}\n"))
    assert [*questions] == ["do_you_smoke"] and len(draft.left_out) == 1


def test_letters_before_questions_and_answers_are_not_words(text, drafted):
    form = "Q: Do you smoke?\nA: yes\nA: no\n\nQ: How often?\nA: never\nA: often\n"
    _, questions = drafted(text("form.txt", form))
    assert questions["do_you_smoke"].type == "yesno"
    assert questions["how_often"].options == ("never", "often")
