"""The kit of interviews: pages that print alone, and a spreadsheet that is read as it is."""

import csv
import io
import json
import re
import sys
from fractions import Fraction as F
from html import unescape

import openpyxl
import pytest

import incrowd
from incrowd.errors import SurveyError
from incrowd.interviews.assignment import BLOCK, random_lists
from incrowd.presentation.interview_kit import kit_files
from tests.oracles.german_pages import english_in, texts_of_page

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}
TEXT = {"en": "Did you ever pay a bribe?", "de": "Haben Sie je Bestechungsgeld gezahlt?"}
OTHER = {"en": "Is your house number even?", "de": "Ist Ihre Hausnummer gerade?"}
TAX = {"en": "Did you evade taxes?", "de": "Haben Sie Steuern hinterzogen?"}
UNRELATED = {"kind": "unrelated", "p": "3/4", "prevalence": "1/2"}
UNRELATED |= {"question": {"en": "Is your phone number even?", "de": "Ist Ihre Nummer gerade?"}}
WARNER = [{"kind": "warner", "p": p} for p in ("2/12", "10/12")]
OPTIONS = ["never", "once", "often"]
LABELS = {"never": {"en": "never", "de": "nie"}, "once": {"en": "once", "de": "einmal"}}
LABELS |= {"often": {"en": "often", "de": "oft"}}
BRIBE = {"id": "bribe", "type": "yesno", "text": TEXT}
GROUPS = {"columns": {"group": "arm", "weight": "w", "cluster": "place"}}
GROUPS |= {"groups": {"codes": ["0", "1", "2"]}}
SURVEYS = {
    "die": (
        {"kind": "die"},
        [
            BRIBE | {"design": FORCED},
            {"id": "how", "type": "choice", "options": OPTIONS, "labels": LABELS}
            | {"text": {"en": "How often?", "de": "Wie oft?"}}
            | {"design": {"kind": "forced", "forced": dict.fromkeys(OPTIONS, "1/6")}},
        ],
        {},
    ),
    "groups": (
        {"kind": "birthday"},
        [BRIBE | {"designs": [{"kind": "direct"}, *WARNER]}],
        GROUPS,
    ),
    "spinner": ({"kind": "spinner"}, [BRIBE | {"design": {"kind": "mangat", "p": "70/100"}}], {}),
    "cards": (
        {"kind": "cards"},
        [BRIBE | {"design": {"kind": "kuk", "yes": "2/3", "no": "1/6", "repeats": 3}}],
        {},
    ),
    "statement": (
        {"kind": "coin"},
        [
            BRIBE | {"design": {"kind": "crosswise", "p": "0.3", "statement": OTHER}},
            BRIBE | {"id": "tax", "text": TAX, "design": UNRELATED},
        ],
        {},
    ),
}  # fmt: skip


def survey(name, text=None):
    device, questions, more = SURVEYS[name]
    if text is not None:
        questions = [questions[0] | {"text": text}]
    raw = {"name": "Bribes", "device": device, "question": questions} | more
    return incrowd.InterviewSurvey.of(raw)


def kit(name, language="en", interviews=7, interviewers=1, text=None):
    asked = survey(name, text)
    lists = random_lists(interviews, asked.groups, interviewers=interviewers)
    return kit_files(asked, lists, language)


def page(name, file, **options):
    return unescape(kit(name, **options)[file].decode())


def data_of(name, **options):
    text = kit(name, **options)["demonstration.html"].decode()
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.parametrize("name", SURVEYS)
def test_a_kit_has_what_its_device_needs(name):
    always = {"instructions.html", "self-test.html", "cards-for-respondents.html"}
    always |= {"interview-sheets.html", "demonstration.html", "answers.xlsx"}
    own = {"spinner": {"spinner.html"}, "cards": {"cards-to-cut-out.html"}}
    own["groups"] = {"random-list.html", "random-list.csv"}
    assert set(kit(name)) == always | own.get(name, set())


@pytest.mark.parametrize("name", SURVEYS)
def test_pages_need_nothing_else_and_escape_what_the_survey_says(name):
    nasty = "<script>alert(1)</script> & {link} </textarea>"
    for file, content in kit(name, text=nasty).items():
        if not file.endswith(".html"):
            continue
        text = content.decode()
        assert nasty not in text and "<script>alert" not in text
        assert not re.search(r"\b(src|href)=|url\(|@import", text)
        scripts = len(re.findall("<script", text))
        assert scripts == (2 if file == "demonstration.html" else 0)
        assert "@page" in text or file == "demonstration.html"


@pytest.mark.parametrize("name", SURVEYS)
def test_german_kits_are_german(name):
    for file, content in kit(name, language="de").items():
        if file.endswith(".html"):
            texts = [each for each in texts_of_page(content.decode()) if each != "Bribes"]
            assert [each for each in texts if english_in(each)] == []
            assert '<html lang="de">' in content.decode()


def test_every_interview_has_a_sheet_that_names_its_card():
    files = kit("groups", interviews=9)
    rows = [*csv.DictReader(io.StringIO(files["random-list.csv"].decode()))]
    text = files["interview-sheets.html"].decode()
    sheets = re.findall(r'<article class="sheet">.*?</article>', text, re.DOTALL)
    assert len(rows) == len(sheets) == 9
    cards = files["cards-for-respondents.html"].decode()
    for row, sheet in zip(rows, sheets, strict=True):
        assert f"Interview {row['interview']}" in sheet and f"Group {row['group']}" in sheet
        if row["group"] == "0":
            assert "no card" in sheet
        else:
            assert f"Hand over card 1, group {row['group']}." in sheet
            assert f"Card 1, group {row['group']}</h2>" in cards
        assert "place<i>" in sheet and "w<i>" in sheet


def test_a_repeated_question_has_boxes_for_each_draw():
    sheet = page("cards", "interview-sheets.html", interviews=1)
    assert sheet.count('class="boxes"') == 3 and sheet.count("black") == sheet.count("red") == 3


def test_the_card_of_a_die_names_all_faces_and_the_promise():
    card = page("die", "cards-for-respondents.html")
    assert [*re.findall(r'aria-label="(\d)"', card)][:6] == ["1", "2", "3", "4", "5", "6"]
    assert "nobody can be more than 5 times as sure" in card


def test_the_self_test_has_ten_questions_and_their_answers():
    text = page("die", "self-test.html")
    parts = text.split("</section>")[0].split('class="answers"')
    questions, answers = (re.findall("<li>(.*?)</li>", part) for part in parts)
    assert len(questions) == len(answers) == 10
    case = re.compile(r"Card 1: the true answer to .* is “(.+)”\. The die shows (\d)")
    matches = zip(map(case.match, questions), answers, strict=True)
    cases = [(found.groups(), answer) for found, answer in matches if found]
    assert cases
    for (true, face), answer in cases:  # 1 forces no, 6 forces yes
        assert answer == f"“{ {'1': 'no', '6': 'yes'}.get(face, true) }”."


def test_packs_have_the_shares_of_the_design():
    text = page("cards", "cards-to-cut-out.html")
    first, second = re.split("Pack “B”", text)
    assert [part.count('<b class="word">red') for part in (first, second)] == [24, 6]
    assert [part.count('<b class="word">black') for part in (first, second)] == [12, 30]


def test_a_spinner_has_equal_sectors():
    text = page("spinner", "spinner.html")
    angles = [float(each) for each in re.findall(r'<g transform="rotate\(([\d.]+)\)"><line', text)]
    assert len(angles) == 100
    assert all(abs(angle - 3.6 * place) < 1e-4 for place, angle in enumerate(angles))
    assert len(re.findall(r"<text [^>]*>\d+</text>", text)) == 100


@pytest.mark.parametrize("name", SURVEYS)
def test_the_demonstration_draws_with_the_probabilities_of_the_design(name):
    asked = survey(name)
    shown = data_of(name)["questions"]
    designs = [
        (item, design)
        for item in asked.items
        for design in item.design.designs
        if design.kind != "direct"
    ]
    assert len(shown) == len(designs)
    for one, (item, design) in zip(shown, designs, strict=True):
        matrix = design.matrix(item.design.answers)
        assert one["matrix"] == [[float(each) for each in row] for row in matrix]
        single = design.model_copy(update={"repeats": 1}).matrix(item.design.answers)
        for true, outcomes in enumerate(one["outcomes"]):
            for report, row in enumerate(single):
                share = sum(o["probability"] for o in outcomes if o["report"] == report)
                assert share == pytest.approx(float(row[true]))


def test_the_demonstration_says_that_it_is_one_and_cannot_send():
    text = page("die", "demonstration.html")
    assert "This page is a demonstration. It sends nothing" in text
    assert "default-src 'none'" in text and "connect-src" not in text
    assert "Why nobody can know your answer" in text
    one_sided = page("spinner", "demonstration.html")
    assert "What your answer reveals" in one_sided and "Why nobody" not in one_sided


def test_a_card_without_the_other_question_is_refused():
    raw = {"name": "x", "device": {"kind": "die"}}
    raw["question"] = [BRIBE | {"design": {"kind": "crosswise", "p": "0.3"}}]
    asked = incrowd.InterviewSurvey.of(raw)
    with pytest.raises(SurveyError, match="no wording of the other question"):
        kit_files(asked, random_lists(1, ()), "en")


# --- the spreadsheet --------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("name", SURVEYS)
def test_the_spreadsheet_is_read_as_it_is_typed(name, language):
    asked = survey(name)
    content = kit(name, language, interviews=6, interviewers=2)["answers.xlsx"]
    book = openpyxl.load_workbook(io.BytesIO(content))
    (sheet,) = book.worksheets
    heads = [cell.value for cell in sheet[1]]
    rules = {str(r.sqref): r for r in sheet.data_validations.dataValidation}
    typed = {}
    for place, head in enumerate(heads, 1):
        letter = openpyxl.utils.get_column_letter(place)
        rule = rules[f"{letter}2:{letter}7"]
        if head in ("w", "place"):
            for row in range(2, 8):
                sheet.cell(row, place).value = row if head == "w" else f"P{row}"
        elif rule.type == "list" and head != "arm":
            values = rule.formula1.strip('"').split(",")
            typed[head] = values
            for row in range(2, 8):
                sheet.cell(row, place).value = values[row % len(values)]
    filled = io.BytesIO()
    book.save(filled)
    filled.seek(0)
    answers = incrowd.read_answers(asked, filled, format="xlsx")
    assert answers.people == 6
    assert answers.column("interview").tolist() == [1, 2, 3, 4, 5, 6]
    assert answers.column("interviewer").tolist() == [1, 1, 1, 2, 2, 2]
    for item in asked.items:
        draws = [head for head in typed if head == item.id or head.startswith(f"{item.id}_")]
        places = [[row % len(typed[draw]) for row in range(2, 8)] for draw in draws]
        expected = [sum(each) if len(draws) > 1 else each[0] for each in zip(*places, strict=True)]
        assert answers.item(item.id).reported.tolist() == expected


def test_an_empty_spreadsheet_is_read_without_answers():
    content = io.BytesIO(kit("die", interviews=4)["answers.xlsx"])
    answers = incrowd.read_answers(survey("die"), content, format="xlsx")
    assert answers.item("bribe").reported.tolist() == [-1] * 4


def test_without_openpyxl_the_answers_are_typed_into_a_csv_file(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    files = kit("groups", interviews=3)
    assert "answers.xlsx" not in files
    rows = [*csv.DictReader(io.StringIO(files["answers.csv"].decode()))]
    assert [each["interview"] for each in rows] == ["1", "2", "3"]
    assert {*rows[0]} == {"interview", "arm", "place", "w", "bribe"}


# --- random lists -----------------------------------------------------------------------------


def test_groups_are_balanced_at_any_time():
    groups = ("a", "b", "c")
    (whole,) = random_lists(100, groups)
    assert [number for number, _ in whole.numbered] == [*range(1, 101)]
    for end in range(101):
        counts = [whole.groups[:end].count(each) for each in groups]
        assert max(counts) - min(counts) <= BLOCK
        assert max(counts) - min(counts) <= (end % (3 * BLOCK) != 0) * BLOCK
    ends = [whole.groups.count(each) for each in groups]
    assert max(ends) - min(ends) <= 1


def test_each_interviewer_has_a_list_and_no_two_draws_are_alike():
    lists = random_lists(50, ("a", "b"), interviewers=3)
    assert [len(each.groups) for each in lists] == [17, 17, 16]
    numbers = [number for each in lists for number, _ in each.numbered]
    assert numbers == [*range(1, 51)]
    drawn = {random_lists(50, ("a", "b"))[0].groups for _ in range(5)}
    assert len(drawn) == 5  # two are alike with a probability of 6^-12 each


def test_every_group_is_as_likely_at_each_place():
    """A false alarm has a probability below 1e-6: five standard deviations, ten places."""
    draws = 4000
    lists = [random_lists(10, ("a", "b"))[0].groups for _ in range(draws)]
    for place in range(10):
        share = F(sum(each[place] == "a" for each in lists), draws)
        assert abs(share - F(1, 2)) < 5 * 0.5 / draws**0.5
    always_first = [("a", "b") * 5] * draws  # the wrong variant
    assert abs(sum(each[0] == "a" for each in always_first) / draws - 0.5) > 5 * 0.5 / draws**0.5


def test_each_card_says_what_all_answers_together_reveal():
    card = page("die", "cards-for-respondents.html")
    assert card.count("All 2 answers together: nobody can be more than 20 times as sure") == 2
    one = page("spinner", "cards-for-respondents.html")
    assert "together" not in one


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_fact_that_is_known_is_not_drawn_again(language):
    """A die is rolled again if the interviewer saw it; a birthday stays the same."""
    again = {"en": "starts this question again", "de": "beginnt mit dieser Frage von vorn"}[
        language
    ]
    never = {"en": "Asking again would not help", "de": "Noch einmal zu fragen hilft nicht"}[
        language
    ]
    expected = {"die": (True, False), "groups": (False, True), "statement": (True, True)}
    for name, (redrawn, fact) in expected.items():
        text = page(name, "instructions.html", language=language)
        assert ((again in text), (never in text)) == (redrawn, fact)
        test = page(name, "self-test.html", language=language)
        assert ((again in test), (never in test)) == (redrawn, fact and not redrawn)


def test_a_long_card_is_printed_small_and_no_title_promises_what_does_not_hold():
    """A card has to fit on a page, and ten forced responses protect practically nothing."""
    question = {"type": "yesno", "text": "Did you ever pay a bribe? " * 8, "design": FORCED}
    assert 'class="card"' in page("die", "cards-for-respondents.html")
    for many, title in ((1, "Why nobody can know"), (10, "What your answer reveals")):
        questions = [question | {"id": f"q{number}"} for number in range(many)]
        raw = {"name": "N", "device": {"kind": "die"}, "question": questions}
        files = kit_files(incrowd.InterviewSurvey.of(raw), random_lists(1, ()), "en")
        assert files["cards-for-respondents.html"].count(b'class="card long"') == many
        assert title.encode() in files["demonstration.html"]
