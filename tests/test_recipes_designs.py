"""A design of interviews that the package does not have, by a class, a line, and a name.

What follows from them: the survey, its promise, the card of a respondent, the kit, reading,
estimates, the choice of probabilities, and the form of the studio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal
from unittest import mock

import pyarrow as pa
import pytest

import incrowd
from incrowd import interviews
from incrowd.errors import SurveyError
from incrowd.interviews.assignment import random_lists
from incrowd.interviews.designs import DESIGNS, Chain, DeviceStep, ResponseDesign
from incrowd.interviews.probabilities import ExactProbability
from incrowd.interviews.procedures import procedure
from incrowd.presentation.interview_kit import kit_files
from incrowd.studio import interview_words
from incrowd.studio.interview_designs import DesignSetting, Expectation, form_of_design
from incrowd.studio.language import phrase

ANSWERS = ("no", "yes", "often")


class KeptAnswer(ResponseDesign):
    """The true answer with probability p; otherwise the device names one of the others."""

    kind: Literal["kept"] = "kept"
    decided_by: ClassVar[tuple[str, ...]] = ("p",)
    binary: ClassVar[bool] = False
    p: ExactProbability

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Tell the truth, or say another answer."""
        each = (1 - self.p) / (len(answers) - 1)
        others = [answer for place, answer in enumerate(answers) if place != true]
        return (DeviceStep(self.p, "truth"), *(DeviceStep(each, "say", name) for name in others))

    @classmethod
    def chains(cls, answers: Sequence[str], outcomes: int) -> Iterator[Chain]:
        """Yield p from 1 downwards, where the rest is shared equally by whole outcomes."""
        counts = range(0, outcomes * (len(answers) - 1) // len(answers), len(answers) - 1)
        yield [{"p": Fraction(outcomes - changed, outcomes)} for changed in counts]


@pytest.fixture(autouse=True)
def design():
    """Add the design: a line in `DESIGNS`, and what the studio calls it."""
    name = interview_words.DesignName(phrase("Kept answer"), phrase("The device may change it."))
    with (
        mock.patch.dict(DESIGNS, {"kept": KeptAnswer}),
        mock.patch.dict(interview_words.DESIGN_NAMES, {"kept": name}),
    ):
        yield


def survey(p: str | None = "2/3", **more: Any) -> dict[str, Any]:
    asked = {"id": "smokes", "type": "choice", "options": [*ANSWERS]}
    kept = {"kind": "kept"} if p is None else {"kind": "kept", "p": p}
    return {
        "name": "Habits",
        "device": {"kind": "die"},
        "question": [{**asked, "text": "Do you smoke?", "design": kept}],
        **more,
    }


def test_a_survey_promises_what_the_matrix_does():
    item = incrowd.InterviewSurvey.of(survey()).item("smokes").design
    kept, other = Fraction(2, 3), Fraction(1, 6)
    assert item.exact == (((kept, other, other), (other, kept, other), (other, other, kept)),)
    assert item.ratio == 4 and math.log(4) <= item.epsilon < math.log(4) + 1e-12
    with pytest.raises(SurveyError, match="5/8"):  # a die has no such outcomes
        incrowd.InterviewSurvey.of(survey("5/8"))


def test_the_card_and_the_kit_follow_from_the_steps():
    made = incrowd.InterviewSurvey.of(survey())
    rules = procedure(made.item("smokes").design.designs[0], made.device, ANSWERS).rules
    assert len(rules) == len(ANSWERS)  # what to do depends on the true answer
    assert all(len(rule.lines) == len(ANSWERS) for rule in rules)
    files = kit_files(made, random_lists(3, made.groups), "en")
    assert "often" in files["cards-for-respondents.html"].decode()


def test_estimates_invert_it():
    counts = {"no": 60, "yes": 90, "often": 50}
    column = [name for name, number in counts.items() for _ in range(number)]
    answers = incrowd.read_answers(
        incrowd.InterviewSurvey.of(survey()), pa.table({"smokes": column})
    )
    shares = {each.answer: each.estimate for each in interviews.prevalence(answers).figures}
    # reported = 1/6 + (2/3 - 1/6) true
    expected = {name: (number / 200 - 1 / 6) / (1 / 2) for name, number in counts.items()}
    assert shares == pytest.approx(expected)


def test_the_planner_chooses_its_probability():
    """Within epsilon = ln 4, p = 2/3 is the most that a die realizes: 1 proves the answer."""
    plan = interviews.plan_interviews(survey(None, aim={"epsilon": 1.4}))
    assert plan.survey.item("smokes").design.designs[0].p == Fraction(2, 3)


def test_the_studio_offers_what_the_device_realizes():
    device = incrowd.InterviewSurvey.of(survey()).device
    setting = DesignSetting(device, ANSWERS, ANSWERS, Expectation(), (None,))
    form = form_of_design(0, {"kind": "kept"}, setting)
    assert [each.value for each in form.choices] == ["2/3"]
    assert [each.key for each in form.fields] == ["p"]
