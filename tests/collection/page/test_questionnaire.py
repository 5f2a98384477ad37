"""A person answers a survey with parts, conditions, a matrix and consent, by keyboard alone."""

import base64
import socket
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.collection.collector.places import CollectorPlaces, load_private
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.upload import parse_upload
from incrowd.encoding.records import EncodedAnswers, pack
from tests.oracles.node import has_browser
from tests.oracles.pages import bundle_at, hosted, in_browser, served, written

pytestmark = pytest.mark.slow


def both(english, german):
    return {"en": english, "de": german}


NEVER = {"never": both("Never", "Nie"), "sometimes": both("Sometimes", "Manchmal")}
SURVEY = {
    "name": "Smoking",
    "crowd": 60,
    "privacy": {"epsilon": 300.0, "analysis": "local"},
    "page": {
        "consent": both(
            "The university asks about your habits.\nYou may stop at any time.",
            "Die Universität fragt nach Ihren Gewohnheiten.\nSie können jederzeit aufhören.",
        ),
        "thanks": both("You helped us.\nGoodbye!", "Sie haben uns geholfen.\nAuf Wiedersehen!"),
    },
    "section": [
        {"id": "you", "title": both("About you", "Über Sie")},
        {
            "id": "habits",
            "title": both("Your habits", "Ihre Gewohnheiten"),
            "text": both("Think of the last year.", "Denken Sie an das letzte Jahr."),
        },
        {"id": "week", "title": both("Last week", "Letzte Woche")},
        {"id": "work", "title": both("Your work", "Ihre Arbeit"), "asked_if": "age >= 18"},
    ],
    "matrix": [
        {
            "id": "mood",
            "text": both("How was last week?", "Wie war die letzte Woche?"),
            "help": both("Choose one answer in each line.", "Wählen Sie eine Antwort je Zeile."),
            "type": "choice",
            "options": ["never", "sometimes", "often"],
            "labels": NEVER | {"often": both("Nearly every day", "Fast jeden Tag")},
            "section": "week",
        },
        {
            "id": "content",
            "text": both("How content are you?", "Wie zufrieden sind Sie?"),
            "type": "choice",
            "options": [str(number) for number in range(11)],
            "section": "work",
        },
    ],
    "question": [
        {
            "id": "age",
            "type": "number",
            "edges": [0, 18, 65],
            "maximum": 120,
            "whole": True,
            "section": "you",
            "text": both("How old are you?", "Wie alt sind Sie?"),
        },
        {
            "id": "home",
            "type": "choice",
            "options": ["town", "village", "elsewhere"],
            "other": "elsewhere",
            "section": "you",
            "text": both("Where do you live?", "Wo wohnen Sie?"),
            "labels": {
                "town": both("In a town", "In einer Stadt"),
                "village": both("In a village", "In einem Dorf"),
                "elsewhere": both("Elsewhere", "Anderswo"),
            },
        },
        {
            "id": "smokes",
            "type": "yesno",
            "section": "habits",
            "text": both("Do you smoke?", "Rauchen Sie?"),
        },
        {
            "id": "daily",
            "type": "yesno",
            "section": "habits",
            "asked_if": "smokes = yes",
            "text": both("Every day?", "Täglich?"),
        },
        {
            "id": "brand",
            "type": "text",
            "block": 16,
            "cohorts": 1,
            "section": "habits",
            "asked_if": "daily = yes",
            "text": both("Which brand?", "Welche Marke?"),
        },
        {
            "id": "quit",
            "type": "yesno",
            "section": "habits",
            "asked_if": "smokes = yes and age >= 18",
            "text": both("Have you tried to quit?", "Haben Sie versucht, aufzuhören?"),
        },
        {"id": "calm", "matrix": "mood", "text": both("I was calm", "Ich war gelassen")},
        {"id": "tired", "matrix": "mood", "text": both("I was tired", "Ich war müde")},
        {
            "id": "more",
            "matrix": "mood",
            "asked_if": "smokes = yes",
            "text": both("I smoked more than usual", "Ich rauchte mehr als sonst"),
        },
        {
            "id": "works",
            "type": "yesno",
            "section": "work",
            "text": both("Do you work?", "Arbeiten Sie?"),
        },
        {
            "id": "nights",
            "type": "yesno",
            "section": "work",
            "text": both("At night, too?", "Auch nachts?"),
        },
        {"id": "pay", "matrix": "content", "text": both("With the pay", "Mit dem Lohn")},
    ],
}
OTHERS = [each["id"] for each in SURVEY["question"] if each["id"] != "brand"]
SURVEY |= {"message": [{"questions": ["brand"]}, {"questions": OTHERS}]}
SENT = {"age": 17, "home": "village", "smokes": "no", "calm": "never", "tired": "never"}
NOT_ASKED = ["daily", "brand", "quit", "more", "works", "nights", "pay"]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What two people noticed."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    return visit(tmp_path_factory.mktemp("questionnaire"))


def visit(folder, shots=None):
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        shuffler = f"http://127.0.0.1:{door.getsockname()[1]}"
        survey = incrowd.Survey.of(SURVEY)
        bundle, signer = bundle_at(shuffler, survey, folder, local_only=True)
        codes = running.enter_context(served(bundle, signer, folder, door, 2))
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        host = running.enter_context(hosted(written(folder / "public", files)))
        given = {"page": host, "digest": bundle.digest.hex(), "codes": codes, "shots": shots}
        found = in_browser("questionnaire.mjs", given)
    private = load_private(CollectorPlaces(folder / "collector").private, bundle)
    return found | {"bundle": bundle, "private": private}


def test_nothing_is_sent_without_consent_and_numbers_name_their_limits(seen):
    narrow = seen["narrow"]
    assert narrow["missing"] == ["Your consent", "How old are you?", "Where do you live?"]
    message = "Enter a whole number from 0 to 120."
    assert narrow["limits"] == [message, message, ""]


def test_each_part_says_where_it_stands_and_gets_the_focus(seen):
    narrow, german = seen["narrow"], seen["german"]
    assert narrow["second"] == ["Your habits", "Part 2 of 3"]  # the fourth is for adults
    assert narrow["third"] == "Last week" and narrow["back"] == "Your habits"
    assert german["part"] == "Teil 2 von 4"


def test_questions_follow_and_go_and_the_focus_stays(seen):
    narrow = seen["narrow"]
    assert narrow["news"] == [
        "2 more questions follow.",
        "One more question follows.",
        "3 questions no longer apply.",
    ]
    assert narrow["kept"] == "q3-1"
    assert seen["german"]["news"] == "3 weitere Fragen folgen."


def test_a_screen_reader_finds_what_is_asked_and_nothing_else(seen):
    narrow = seen["narrow"]
    for name in ("Every day?", "Which brand?"):
        assert name in narrow["shown"] and name not in narrow["hidden"]
    for tree in (narrow["shown"], narrow["hidden"]):
        assert "Do you smoke?" in tree
        assert not any(other in tree for other in ("How old", "quit", "calm", "consent"))
    assert narrow["again"] == "Camel"  # what was typed comes back with its question


def test_a_matrix_is_a_table_in_a_wide_window_and_groups_for_a_screen_reader(seen):
    german = seen["german"]
    assert german["rows"] == 3 and german["group"] == 3
    assert german["heads"] == [str(number) for number in range(11)]


def test_the_review_lists_what_was_asked_and_counts_the_rest(seen):
    narrow, german = seen["narrow"], seen["german"]
    assert narrow["reviewed"] == [
        ["How old are you?", "17 (0 to less than 18)"],
        ["Where do you live?", "In a village"],
        ["Do you smoke?", "No"],
        ["I was calm", "Never"],
        ["I was tired", "Never"],
    ]
    assert "you were not asked 7 questions" in narrow["unasked"]
    assert "wurde Ihnen eine Frage nicht gestellt" in german["unasked"]


def test_not_asked_is_sent_and_not_what_was_typed_before(seen):
    """With so little noise, what is sent is the record."""
    bundle, private = seen["bundle"], seen["private"]
    upload = parse_upload(base64.b64decode(seen["narrow"]["upload"]), bundle)
    inside = [unseal(each, private, bundle.key, bundle.digest) for each in upload.sealed]
    reports = {}
    for each in map(bundle.shape.read, inside):
        reports.setdefault(each.message, []).append(each.packed)
    survey = bundle.plan.survey
    answers = {each.id: SENT.get(each.id) for each in survey.questions}
    assert [id for id, answer in answers.items() if answer is None] == NOT_ASKED
    table = {id: pa.array([a], None if a else pa.string()) for id, a in answers.items()}
    people = EncodedAnswers.of(survey, pa.table(table)).encoded
    brand, others = bundle.plan.messages
    cohort = {"brand": np.zeros(1, np.int64)}
    for number, message in enumerate((brand, others)):
        record = pack(message.questions, people, 1, cohort)[0].tobytes()
        assert reports[number] == [record]


def test_thanks_are_shown_when_everything_is_sent(seen):
    assert seen["narrow"]["thanks"] == "You helped us.\nGoodbye!"


def test_an_option_for_other_answers_says_that_no_text_is_collected(seen):
    assert "Wenn Sie „Anderswo“ wählen" in seen["german"]["other"]


def test_the_part_and_the_answers_stay_in_another_language(seen):
    german = seen["german"]
    assert german["stays"] == ["Last week", True] and german["leaving"] == 0


@pytest.mark.parametrize("who", ["narrow", "german"])
def test_axe_finds_nothing_and_nothing_stands_out(seen, who):
    assert (seen[who]["axe"], seen[who]["tooWide"], seen[who]["complaints"]) == ([], [], [])
