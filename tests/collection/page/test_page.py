"""A person answers in Chromium: every type of question, by keyboard alone, and what goes wrong."""

import base64

import numpy as np

import incrowd
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.protocol.addresses import short
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.upload import parse_upload

PEOPLE = 60
AXE = ("axeAnswered", "axeAsking", "axeReviewing", "axeGerman", "axeSent", "axeFailed")
ORIGINS = ("host", "shuffler")


def uploads(seen):
    return [each for each in seen.asked if each["url"].startswith(seen.shuffler)]


class TestAnswering:
    def test_every_type_of_question_is_answered_by_keyboard(self, seen):
        assert seen.answers == [
            "No",
            "good",
            "beer; milk",
            "4 (3 to less than 6)",
            "Ärger",
            "place 1234",
            "number 3; number 7",
            "12.5 (counts as 10 or 1,000.5, chosen at random)",
            "-3 (counts as 0)",
        ]
        assert seen.range == "3 to less than 6"
        assert seen.becomes == ["counts as 10 or 1,000.5, chosen at random", "counts as 0"]

    def test_what_is_missing_is_listed(self, seen):
        assert seen.mistakes == 5  # four questions may stay as they are

    def test_wording_is_text_in_the_wanted_language(self, seen):
        assert (seen.question, seen.german, seen.lang) == (
            "Do you smoke <at all>?",
            "Rauchen Sie?",
            "de",
        )
        assert seen.germanAnswers[7:] == [
            "12,5 (zählt als 10 oder 1.000,5, je nach Zufall)",
            "-3 (zählt als 0)",
        ]
        assert seen.browsers == "de" and seen.title == "Every type of question"

    def test_examples_differ_and_read_well(self, seen):
        assert seen.examples > 2
        assert not any("object" in said for said in seen.example)

    def test_axe_finds_no_violation(self, seen):
        assert {name: getattr(seen, name) for name in AXE} == {name: [] for name in AXE}

    def test_nothing_stands_out_at_320_pixels(self, seen):
        assert not seen.tooWide


class TestSending:
    def test_released_opened_and_estimated(self, seen):
        """With this little noise the two who answered at the page are counted exactly."""
        receipt, _ = load_receipt(seen.opened, seen.bundle.plan)
        assert receipt.people == receipt.opened_people == PEOPLE
        assert sum(receipt.rejected.values()) == 0
        reports = incrowd.load_reports(seen.opened)
        words = {"mood": ("calm", "Ärger", "word", "nobody's")}
        found = incrowd.estimate(seen.bundle.plan, reports, candidates=words)
        counts = {
            table.questions[0]: dict(zip(table.answers[0], table.estimate * PEOPLE, strict=True))
            for table in found.tables
        }
        for id, answer, people in [
            ("smokes", "yes", 1),
            ("health", "good", 1),
            ("drinks", "beer", 1),
            ("visits", "3 to <6", 1),
            ("visits", "1 to <3", 1),
            ("place", "place 1234", 1),
            ("place", "place 7", PEOPLE - 1),
            ("numbers", "number 3", 1),
            ("hours", "0", 0),
            ("saved", "0", 1),
            ("saved", "no answer", PEOPLE - 1),
        ]:
            table = next(t for t in found.tables if t.questions == (id,))
            error = float(np.max(table.error.noise)) * PEOPLE
            assert abs(counts[id][answer] - people) < 5 * error + 1e-9, id

    def test_the_same_bytes_until_they_are_taken(self, seen):
        assert seen.tries > 2 and seen.sameBytes and seen.locked
        assert "counted once" in seen.unreachable

    def test_taken_back_for_good(self, seen):
        assert "taken back" in seen.withdrawn and "cannot answer again" in seen.withdrawn
        before = "This survey was already answered on this device"
        assert seen.returning == [before, 0], "no questions"
        assert seen.another == [before, 1] and seen.mayAnswer, "on a shared computer"
        assert seen.last == "Your answers were sent"

    def test_a_mistyped_invitation_draws_no_new_noise(self, seen):
        """What is stored is sent first, as it is: it might have been accepted."""
        *wrong, right = map(base64.b64decode, seen.mistyped)
        assert {body[32:48] for body in wrong} == {b"0" * 16}
        assert right[32:48] == b"0" * 12 + b"1" * 4
        assert len({body[:32] + body[48:] for body in (*wrong, right)}) == 1

    def test_only_a_mark_is_kept_and_nobody_else_is_asked(self, seen):
        assert seen.kept == [0, 0, "", 1] and seen.records == [["closes", "key"]]
        origins = tuple(getattr(seen, name) for name in ORIGINS)
        assert all(each["url"].startswith(origins) for each in seen.asked)
        assert not any(each["referrer"] for each in seen.asked)
        assert seen.complaints == []

    def test_the_link_leaves_the_address_bar_and_no_request_holds_it(self, seen):
        assert seen.bar == seen.host
        digest = seen.bundle.digest.hex()
        assert not any(digest in each["url"] for each in seen.asked) and uploads(seen)


class TestFailures:
    def test_each_has_a_sentence_that_helps(self, seen):
        assert "Check that you are connected" in seen.dead
        assert seen.back == "Every type of question"
        assert "closed" in seen.closed and "already used" in seen.used
        assert "not the survey" in seen.refused and "new link" in seen.refused
        assert "Copy it again" in seen.broken
        assert "16 letters" in seen.noCode and "same sealed answers" in seen.unknown

    def test_a_wrong_digest_asks_nothing(self, seen):
        assert seen.refusedAsks == 0

    def test_without_a_link_the_short_form_is_shown(self, seen):
        assert seen.byHand == short(seen.bundle.digest)


class TestOthers:
    def test_other_origins_and_markup_are_blocked(self, seen):
        assert seen.blocked == "connect-src" and seen.markup == "TypeError"

    def test_a_changed_script_is_not_run(self, seen):
        assert seen.tampered == 0


class TestPostQuantum:
    """A survey with a key of X-Wing, whose file the other survey does not load."""

    def test_the_collector_opens_what_the_page_sealed(self, seen):
        assert seen.quantumSent == 1 and seen.quantumComplaints == []
        bundle, private = seen.quantum_bundle, seen.quantum_private
        sealed = parse_upload(base64.b64decode(seen.quantum), bundle).sealed
        assert all(len(each) == 1143 + bundle.shape.length for each in sealed)
        plaintexts = [unseal(each, private, bundle.key, bundle.digest) for each in sealed]
        assert [bundle.shape.read(each).message for each in plaintexts] == [0] * bundle.places

    def test_its_file_is_loaded_on_demand(self, seen):
        assert sum(url.endswith("/x-wing.js") for url in seen.quantumFiles) == 1
        assert not any("x-wing" in each["url"] for each in seen.asked)
