"""The two kinds of message: what each knows of its questions, and that files stay as they were."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

import incrowd
from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.k_ary import KAry
from incrowd.errors import PlanError
from incrowd.plans import JointReport, UnlinkedBits
from incrowd.survey import Choice, Multi, Text, YesNo

OLD = Path(__file__).parents[1] / "data" / "format-1"
HALF = 2**31

SMOKES = YesNo(id="smokes")
REGION = Choice(id="region", options=("north", "east", "south"))
WORD = Text(id="word", block=4, hashes=2, cohorts=8)
OWN = Choice(id="own", options=("a", "b"), randomizer={"kind": "k-ary", "keep": 0.75})
KEPT = YesNo(id="kept", randomizer={"kind": "rappor", "f": 0.5, "memoised": True})
SITE = Multi(id="site", options=tuple("abcde"), at_most=2, apart=True)


def joint(*questions, **more):
    return JointReport(questions=questions, **more)


def unlinked(*questions, **more):
    return UnlinkedBits(questions=questions, **{"noise_numerator": 2**30} | more)


class TestOldFiles:
    def test_a_plan_is_read_as_both_kinds_and_written_byte_for_byte(self):
        text = (OLD / "plan.json").read_text()
        plan = incrowd.Plan.loads(text)
        assert [type(message) for message in plan.messages] == [JointReport, UnlinkedBits]
        assert plan.dumps() == text and plan.digest == json.loads(text)["digest"]


NOT_OF_IT = "it does not follow from the survey"


def changed(number, key, value):
    """The old plan's text with one value of a message replaced."""
    data = json.loads((OLD / "plan.json").read_text())
    data["plan"]["messages"][number][key] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("number", "key", "value", "said"),
    [
        (0, "noise_numerator", -1, "plan.messages.0.noise_numerator: got -1; should be greater"),
        (1, "noise_numerator", None, "plan.messages.1.noise_numerator: got None; should be"),
        (
            0,
            "noise_numerator",
            None,
            f"{NOT_OF_IT}: messages.noise_numerator",
        ),
        (0, "apart", True, f"{NOT_OF_IT}: messages.apart"),
        (1, "apart", False, f"{NOT_OF_IT}: messages.apart"),
        (1, "apart", "maybe", "plan.messages.1"),
        (0, "copies", 0, "plan.messages.0.copies: got 0; should be at least 1"),
        (0, "questions", ["smokes", "unknown"], "a message names an unknown question"),
        (0, "questions", "smokes", "plan.messages.0.questions"),
        (0, "questions", [], "plan.messages.0.questions"),
    ],
)
def test_what_is_wrong_in_a_message_is_named(number, key, value, said):
    with pytest.raises(PlanError) as error:
        incrowd.Plan.loads(changed(number, key, value))
    assert said in str(error.value)


class TestJointReport:
    def test_its_questions_share_one_record(self):
        message = joint(SMOKES, REGION, WORD, noise_numerator=2**30, copies=3)
        assert message.ids == ("smokes", "region", "word")
        assert message.layout == {
            "smokes": slice(0, 1),
            "region": slice(1, 4),
            "word": slice(4, 4 + 3 + 2 * 4),
        }
        assert message.bits == message.record_bits == 15
        assert message.reports_each == message.repeats == 3
        assert message.holds(["word", "smokes"]) and not message.holds(["word", "site"])
        assert message.parts == [((b, f, m), BitFlip(2**30)) for b, f, m in PARTS]

    def test_a_question_with_a_randomizer_keeps_its_channel(self):
        message = joint(SMOKES, OWN, noise_numerator=2**30)
        assert message.channels == {"smokes": BitFlip(2**30), "own": KAry(3 * 2**30, 2)}
        alone = joint(OWN)
        assert alone.noise is None and alone.channels == {"own": KAry(3 * 2**30, 2)}

    def test_memoised_responses_count_once_however_many_copies(self):
        assert joint(KEPT, copies=7).repeats == 1
        assert joint(KEPT, SMOKES, noise_numerator=1, copies=7).repeats == 7

    def test_accepted_reports_tell_the_people(self):
        message = joint(SMOKES, noise_numerator=1, copies=3)
        assert message.people(accepted=11, declared=0) == 3
        assert message.declared(people=5) is None


PARTS = [(1, 0, 1), (3, 1, 1), (4, 1, 1), (4, 1, 1)]  # of a bit, three options, two blocks


class TestUnlinkedBits:
    def test_a_report_is_the_number_of_a_bit(self):
        message = unlinked(SITE, copies=2)
        assert (message.record_bits, message.bits) == (5, 3)
        two = Choice(id="two", options=("a", "b"), apart=True)
        assert unlinked(two).bits == 1

    def test_about_so_many_reports_as_bits_are_set(self):
        """At most 2 of 5 options: 2 answers, and 5 flips of chance 1/4; twice."""
        assert unlinked(SITE, copies=2).reports_each == 2 * (2 + 5 / 4)

    def test_each_differing_bit_is_a_collection(self):
        """Two answers of two options each differ in four bits."""
        message = unlinked(SITE, copies=2)
        assert message.parts == [((1, 0, 1), BitFlip(2**30))] and message.repeats == 8

    def test_people_are_declared(self):
        message = unlinked(SITE)
        assert message.people(accepted=11, declared=4) == 4
        assert message.declared(people=5) == 5

    def test_there_is_noise(self):
        with pytest.raises(ValidationError):
            unlinked(SITE, noise_numerator=None)


@pytest.mark.parametrize("numerator", [0, HALF])
def test_noise_is_below_a_half(numerator):
    for kind in (joint, unlinked):
        with pytest.raises(ValidationError):
            kind(SITE, noise_numerator=numerator)


def test_a_message_of_another_surveys_questions_is_refused():
    """The same ids, but one more option: bits and noise would be another's."""
    plan = incrowd.Plan.load(OLD / "plan.json")
    other = REGION.model_copy(update={"options": ("north", "east", "south", "west")})
    wrong = plan.messages[0].model_copy(update={"questions": (SMOKES, other)})
    with pytest.raises(ValidationError, match="a message names an unknown question"):
        incrowd.Plan(
            survey=plan.survey, messages=(wrong, plan.messages[1]), guarantee=plan.guarantee
        )
