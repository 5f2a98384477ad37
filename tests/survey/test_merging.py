"""Answers that an analysis reads as one: how they are written, and what does not change."""

import pytest

import incrowd
from incrowd.errors import UsageError
from incrowd.plans.plan import with_merged
from incrowd.survey import Choice, Survey, YesNo
from incrowd.survey.merging import merged_questions, parsed_merges

AGREE = ("disagree", "neither", "agree", "strongly agree")
WELL = Choice(id="well", options=AGREE)
AGE = Choice(id="age: years", options=("under 18", "18+", "65+", "a = b"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("well: disagree + neither", {"disagree + neither": ("disagree", "neither")}),
        ("well:agree+strongly agree", {"agree + strongly agree": AGREE[2:]}),
        ("well: negative = neither + disagree", {"negative": ("neither", "disagree")}),
    ],
)
def test_a_merge_is_written_as_a_sum(text, found):
    assert parsed_merges([WELL, AGE], [text]) == {"well": found}


def test_signs_in_answers_are_part_of_them():
    """Wrong: cut at every plus, colon, or equals sign."""
    texts = ["age: years: 18+ + 65+", "age: years: odd = under 18 + a = b"]
    found = {"18+ + 65+": ("18+", "65+"), "odd": ("under 18", "a = b")}
    assert parsed_merges([WELL, AGE], texts) == {"age: years": found}


def test_merged_answers_stand_where_the_first_of_them_stood():
    groups = {"well": {"yes": ["strongly agree", "agree"]}}
    read = merged_questions([WELL], groups)["well"]
    assert read.answers == read.substantive == ("disagree", "neither", "yes")
    assert read.recorded == AGREE and read.domain == WELL.domain and read.bits == WELL.bits
    assert [read.read_as(each) for each in AGREE] == ["disagree", "neither", "yes", "yes"]
    optional = Choice(id="o", options=("a", "b"), optional=True)
    with_none = merged_questions([optional], {"o": [["b", "no answer"]]})["o"]
    assert with_none.answers == ("a", "b + no answer")


@pytest.mark.parametrize(
    ("merge", "said"),
    [
        ({"wel": [["agree", "neither"]]}, "no question has this id; did you mean well?"),
        ({"well": [["agree", "neithr"]]}, "did you mean neither?"),
        ({"well": [["agree", "agree"]]}, "at least two answers"),
        ({"well": [["agree", "neither"], ["neither", "disagree"]]}, "in more than one group"),
        ({"well": {"agree": ["neither", "disagree"]}}, "already the name of an answer"),
        ({"well": [AGREE]}, "leave at least two answers"),
        ({"ill": [["yes", "no"]]}, "leave at least two answers"),
        ({"few": [["no answer", "not asked"]]}, "neither is an answer"),
    ],
)
def test_what_cannot_be_merged_is_said(merge, said):
    few = YesNo(id="few", optional=True, asked_if="ill = yes")
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        merged_questions([WELL, YesNo(id="ill"), few], merge)


def test_people_who_were_not_asked_count_as_an_answer_if_that_is_wanted():
    few = YesNo(id="few", asked_if="ill = yes")
    assert merged_questions([few], {"few": [["no", "not asked"]]})["few"].answers == (
        "no + not asked",
        "yes",
    )


def test_a_plan_stays_the_plan_that_reports_are_of():
    """Its digest, its promise, its channels and its record layout."""
    raw = {"name": "w", "crowd": 100, "privacy": {"epsilon": 4.0, "analysis": "local"}}
    keep = {"randomizer": {"kind": "k-ary", "keep": 0.8}}
    asked = [{"id": "well", "type": "choice", "options": AGREE}, {"id": "ill", "type": "yesno"}]
    asked.append({"id": "k", "type": "choice", "options": ["x", "y", "z"]} | keep)
    plan = incrowd.plan(Survey.of(raw | {"question": asked}))
    read = with_merged(plan, {"well": [["disagree", "neither"]], "k": [["x", "y"]]})
    assert read.digest == plan.digest and read.guarantee == plan.guarantee
    (message,), (other,) = plan.messages, read.messages
    assert (message.layout, message.channels, message.parts) == (
        *(other.layout, other.channels, other.parts),
    )
    assert read.survey.question("well").answers == ("disagree + neither", "agree", "strongly agree")
    assert plan.survey.question("well").answers == AGREE
