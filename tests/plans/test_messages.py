"""The two kinds of message: what each knows of its questions, and what a file says of them."""

import json
from functools import cache

import pytest
from pydantic import ValidationError

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.errors import PlanError
from incrowd.plans import CellsMessage, JointReport
from incrowd.survey import Choice, Multi, Text, YesNo
from tests.conftest import planned

HALF = 2**31

SMOKES = YesNo(id="smokes")
REGION = Choice(id="region", options=("north", "east", "south"))
WORD = Text(id="word", block=4, hashes=2, cohorts=8)
OWN = Choice(id="own", options=("a", "b"), randomizer={"kind": "k-ary", "keep": 0.75})
KEPT = YesNo(id="kept", randomizer={"kind": "rappor", "f": 0.5, "memoized": True})
SITE = Multi(id="site", options=tuple("abcde"), at_most=2)


def joint(*questions, **more):
    return JointReport(questions=questions, **more)


def cells(*questions, **more):
    return CellsMessage(questions=questions, **{"noise_numerator": 2**30} | more)


@cache
def plan():
    """A joint report, and the cells of a question."""
    asked = [
        {"id": "smokes", "type": "yesno"},
        {"id": "region", "type": "choice", "options": list(REGION.options)},
        {"id": "site", "type": "multi", "options": list("abcde"), "at_most": 2, "cells": True},
    ]
    return planned(asked, privacy={"epsilon": 3.0, "delta": 1e-3, "analysis": "blanket"})


@pytest.mark.slow
def test_a_file_is_read_as_both_kinds_and_written_byte_for_byte():
    text = plan().dumps()
    again = incrowd.Plan.loads(text)
    assert [type(message) for message in again.messages] == [JointReport, CellsMessage]
    assert again.dumps() == text and again.digest == json.loads(text)["digest"]


NOT_OF_IT = "it does not follow from the survey"


def changed(number, key, value):
    """The plan's text with one value of a message replaced."""
    data = json.loads(plan().dumps())
    data["plan"]["messages"][number][key] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("number", "key", "value", "said"),
    [
        (0, "noise_numerator", -1, "plan.messages[1].noise_numerator: got -1; should be greater"),
        (
            1,
            "noise_numerator",
            None,
            "should have either the noise of the devices",
        ),
        (
            0,
            "noise_numerator",
            None,
            f"{NOT_OF_IT}: messages.noise_numerator",
        ),
        (0, "cells", True, f"{NOT_OF_IT}: the messages are not those of the survey"),
        (1, "cells", False, f"{NOT_OF_IT}: the messages are not those of the survey"),
        (1, "cells", "maybe", "plan.messages[2]"),
        (1, "copies", 2, "plan.messages[2].copies: got 2; should be 1"),
        (0, "copies", 0, "plan.messages[1].copies: got 0; should be at least 1"),
        (0, "questions", ["smokes", "unknown"], "a message names an unknown question"),
        (0, "questions", "smokes", "plan.messages[1].questions"),
        (0, "questions", [], "plan.messages[1].questions"),
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

    def test_memoized_responses_count_once_however_many_copies(self):
        assert joint(KEPT, copies=7).repeats == 1
        assert joint(KEPT, SMOKES, noise_numerator=1, copies=7).repeats == 7

    def test_accepted_reports_tell_the_people(self):
        message = joint(SMOKES, noise_numerator=1, copies=3)
        assert message.people(accepted=11, declared=0) == 3
        assert message.declared(people=5) is None


PARTS = [(1, 0, 1), (3, 1, 1), (4, 1, 1), (4, 1, 1)]  # of a bit, three options, two blocks


class TestCells:
    def test_a_report_is_the_number_of_a_cell(self):
        """The fewest bits that hold every number from 0 on; two answers have a single cell."""
        assert (cells(SITE).record_bits, cells(SITE).bits) == (5, 3)
        crossed = cells(REGION, SMOKES)
        assert (crossed.record_bits, crossed.bits) == (6, 3)
        with_any = cells(REGION, SITE)  # 15 cells, and "any" of each region
        assert (with_any.record_bits, with_any.bits) == (18, 5)
        for two in (Choice(id="two", options=("a", "b")), SMOKES):
            assert (cells(two).record_bits, cells(two).bits) == (1, 1)

    def test_about_so_many_reports_as_cells_are_set(self):
        """At most 2 of 5 options: 2 answers, and 5 flips of chance 1/4. Crossed, "any" as well."""
        assert cells(SITE).reports_each == 2 + 5 / 4
        assert cells(REGION, SMOKES).reports_each == 1 + 6 / 4
        assert cells(REGION, SITE).reports_each == 3 + 18 / 4

    def test_each_differing_cell_is_a_collection(self):
        """Two answers of two options each differ in four cells; the regions of two people may
        differ as well, so that their cells "any" are two others."""
        for message, differing in (
            (cells(SITE), 4),
            (cells(SMOKES), 1),
            (cells(REGION), 2),
            (cells(REGION, SMOKES), 2),
            (cells(REGION, SITE), 6),
        ):
            assert message.parts == [((1, 0, 1), BitFlip(2**30))] and message.repeats == differing

    def test_they_are_sent_once(self):
        with pytest.raises(ValidationError):
            cells(SITE, copies=2)

    def test_people_are_declared(self):
        message = cells(SITE)
        assert message.people(accepted=11, declared=4) == 4
        assert message.declared(people=5) == 5

    def test_there_is_noise(self):
        with pytest.raises(ValidationError):
            cells(SITE, noise_numerator=None)


@pytest.mark.parametrize("numerator", [0, HALF])
def test_noise_is_below_a_half(numerator):
    for kind in (joint, cells):
        with pytest.raises(ValidationError):
            kind(SITE, noise_numerator=numerator)


def test_a_message_of_another_surveys_questions_is_refused():
    """The same ids, but one more option: bits and noise would be another's."""
    other = REGION.model_copy(update={"options": ("north", "east", "south", "west")})
    joint_report, sites = plan().messages
    wrong = joint_report.model_copy(update={"questions": (SMOKES, other)})
    with pytest.raises(ValidationError, match="a message names an unknown question"):
        incrowd.Plan(survey=plan().survey, messages=(wrong, sites), guarantee=plan().guarantee)
