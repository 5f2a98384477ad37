"""The expected shares of the answers, as a survey states them."""

import time

import pytest

import incrowd
from incrowd.errors import SurveyError
from tests.conftest import GOOD

YESNO = {"id": "q", "type": "yesno"}
CHOICE = {"id": "q", "type": "choice", "options": ["x", "y", "z"]}
MULTI = CHOICE | {"type": "multi", "at_most": 2}
NUMBER = {"id": "q", "type": "number", "edges": [0, 5]}


def asked(question, shares):
    raw = GOOD | {"question": [question | {"shares": shares}], "table": []}
    return incrowd.Survey.of(raw)


@pytest.mark.parametrize(
    ("question", "shares", "stated"),
    [
        (YESNO, {"yes": 0.05, "no": 0.95}, (0.95, 0.05)),
        (YESNO, {"yes": 0.05}, (0.95, 0.05)),
        (YESNO, {"yes": 0}, (1.0, 0.0)),
        (YESNO | {"optional": True}, {"yes": 0.1, "no answer": 0.2}, (0.7, 0.1, 0.2)),
        (CHOICE, {"z": 0.33, "y": 0.33, "x": 0.33}, (1 / 3, 1 / 3, 1 / 3)),  # rounded
        (MULTI, {"x": 0.9, "y": 0.8, "z": 0.1}, (0.9, 0.8, 0.1)),
        (NUMBER, {"0 to <5": 0.75, "5 or more": 0.25}, (0.75, 0.25)),
    ],
)
def test_stated_shares_are_those_of_the_answers_in_order(question, shares, stated):
    survey = asked(question, shares)
    assert survey.shares == {"q": pytest.approx(stated)}
    assert sum(survey.shares["q"]) == pytest.approx(sum(stated))


def test_a_survey_without_shares_is_written_as_before():
    survey = incrowd.Survey.of(GOOD)
    assert survey.shares == {}
    assert all("shares" not in question for question in survey.model_dump()["questions"])


@pytest.mark.parametrize(
    ("question", "shares", "said"),
    [
        (YESNO, {"yes": 0.1, "no": 0.8}, "should sum to 1; the sum is 0.9"),
        (YESNO, {"yes": 1.1}, "'yes' should be between 0 and 1"),
        (YESNO, {"ja": 0.1}, "it is not one of the answers; use no, yes"),
        (CHOICE, {"x": 0.5}, "missing: y, z"),
        (MULTI, {"x": 0.9, "y": 0.9, "z": 0.9}, "should sum to 2 at most; the sum is 2.7"),
        (MULTI, {"x": 0.9, "y": 0.9}, "missing: z"),
        (YESNO | {"open": True}, {"yes": 0.5}, "forecasts are made for each stratum"),
        ({"id": "q", "type": "text"}, {"cat": 0.5}, "words are not known in advance"),
    ],
)
def test_shares_that_cannot_be(question, shares, said):
    with pytest.raises(SurveyError) as raised:
        asked(question, shares)
    assert "question[1].shares of q" in str(raised.value) and said in str(raised.value)


def test_shares_change_nothing_that_is_sent_or_promised():
    """They are in the survey of a plan, hence in its digest: whoever holds the plan can check its
    forecast. Messages and guarantee are those without them."""
    plain = incrowd.Survey.of(GOOD)
    first = GOOD["question"][0] | {"shares": {"yes": 0.05}}
    stated = incrowd.Survey.of(GOOD | {"question": [first, *GOOD["question"][1:]]})
    plans = [incrowd.plan(each) for each in (plain, stated)]
    sent = [[message.model_dump() for message in plan.messages] for plan in plans]
    assert sent[0] == sent[1] and plans[0].guarantee == plans[1].guarantee
    assert plans[0].digest != plans[1].digest
    assert incrowd.Plan.loads(plans[1].dumps()) == plans[1]


def test_assumed_shares_take_time_in_proportion_to_the_options():
    """Halves of halves, until they are too small for a number; 20,000 options take milliseconds,
    and would take 10 s if each share summed all of them again."""
    options = [f"o{n}" for n in range(20_000)]
    question = asked({"id": "q", "type": "choice", "options": options}, None).questions[0]
    start = time.process_time()
    shares = question.uneven_shares
    assert time.process_time() - start < 1
    assert len(shares) == 20_000 and sum(shares) == 1
    assert shares[:3] == (0.5, 0.25, 0.125) and shares[1073] == 2.0**-1074 and shares[1074] == 0
