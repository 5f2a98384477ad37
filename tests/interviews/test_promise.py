"""What is promised: factors by Bayes' rule on a grid of guesses, and words that fit them."""

import math
from fractions import Fraction as F

import pytest

from incrowd.catalog.sentences import translated
from incrowd.interviews.designs import design_of
from incrowd.interviews.devices import DEVICES
from incrowd.interviews.promise import (
    GroupPromise,
    InterviewPromise,
    device_assumptions,
    factor_text,
    group_promises,
    question_promise,
)

YES_NO = ("no", "yes")
DESIGNS = [
    {"kind": "forced", "yes": "1/6", "no": "1/6"},
    {"kind": "forced", "yes": "1/6", "no": "1/3"},
    {"kind": "warner", "p": "10/12"},
    {"kind": "crosswise", "p": "1/4"},
    {"kind": "triangular", "p": "1/4"},
    {"kind": "mangat", "p": "3/4"},
    {"kind": "kuk", "yes": "2/3", "no": "1/6", "repeats": 2},
    {"kind": "unrelated", "p": "1/2", "prevalence": "1/3"},
    {"kind": "direct"},
]


def promised(raw, id="armed"):
    return question_promise(id, YES_NO, design_of(raw))


def english(texts):
    return " ".join(translated(each, "en") for each in texts)


def raised(raw, true):
    """The largest factor by which what is heard raises the odds of an answer, by Bayes' rule."""
    factors = []
    for report in design_of(raw).matrix(YES_NO):
        for guess in (F(1, 100), F(1, 5), F(1, 2), F(9, 10)):
            for_it, against = guess * report[true], (1 - guess) * report[1 - true]
            if for_it and not against:
                return None
            if for_it:
                factors.append(for_it / against / (guess / (1 - guess)))
    return max(factors)


@pytest.mark.parametrize("raw", DESIGNS)
def test_factors_bound_what_anybody_can_conclude(raw):
    promise = promised(raw)
    assert promise.evidence == tuple(raised(raw, true) for true in (0, 1))
    stated = english([promise.sentence()])
    if raw["kind"] == "direct":
        assert "nothing protects" in stated
    elif promise.ratio is None:
        assert promise.one_sided and "can prove" in stated and "one-sided" in stated
    else:
        assert f"at most {factor_text(promise.ratio)}." in stated


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_one_sided_promise_has_both_numbers_and_says_whom_it_protects(language):
    promise = promised({"kind": "mangat", "p": "3/4"})
    for text in (promise.sentence(), *promise.to_respondent()):
        assert "{" not in translated(text, language)
    assert english([promise.sentence()]) == (
        "The protection is one-sided. What a person says can prove that her true answer is “no”. "
        "The odds that it is “yes” can rise by a factor of at most 4."
    )
    shown, most = (translated(each, "en") for each in promise.to_respondent())
    assert "can show that your true answer is “no”" in shown
    assert "more than 4 times as sure that your true answer is “yes”" in most
    assert "nobody can know" not in english(promise.to_respondent())


def test_people_read_how_sure_anybody_can_become():
    alone, most = promised(DESIGNS[0]).to_respondent()
    assert "nobody can know whether your answer is the truth" in translated(alone, "en")
    assert translated(most, "en") == (
        "Whatever you say, nobody can be more than 5 times as sure of your true answer as before."
    )
    assert "mehr als 5-mal so sicher" in translated(most, "de")


def test_factors_are_rounded_up_never_down():
    assert factor_text(F(25, 3)) == "8.34" and factor_text(F(5)) == "5"
    assert factor_text(3 + F(1, 10**30)) == "3.01"
    assert factor_text(F(10**5)) is None


def test_the_factors_of_an_interview_multiply():
    whole = GroupPromise("", (promised(DESIGNS[0], "a"), promised(DESIGNS[1], "b")))
    assert whole.ratio == 20 and 0 <= whole.epsilon - math.log(20) < 1e-14
    assert "factor of at most 20." in english(whole.sentences())
    open_too = GroupPromise("", (*whole.questions, promised({"kind": "direct"}, "c")))
    assert open_too.ratio is None and "none holds for c" in english(open_too.sentences())


def test_an_unknown_share_promises_what_holds_for_usual_shares_only():
    """By hand: 1 + p / ((1 - p) min(share, 1 - share)) with p = 1/2 and a share of 1/5."""
    promise = promised({"kind": "unrelated", "p": "1/2"})
    assert promise.ratio is None and promise.usual == 6
    assert "at most 6." in english([promise.sentence()])
    expected = promised({"kind": "unrelated", "p": "1/2", "expected": "1/2"})
    assert expected.ratio == 3


def test_groups_with_other_probabilities_but_one_promise_are_one():
    groups = [
        GroupPromise(code, (promised({"kind": "warner", "p": p}),))
        for code, p in (("1", "2/12"), ("2", "10/12"))
    ]
    (one,) = group_promises(groups)
    assert (one.group, one.ratio) == ("", 5)
    direct = GroupPromise("0", (promised({"kind": "direct"}),))
    three = InterviewPromise(group_promises([direct, *groups]), ())
    assert [each.group for each in three.groups] == ["0", "1", "2"] and three.epsilon == math.inf
    assert three.facts()["epsilon"] is None
    assert "Group 0: This question is asked directly" in english(three.sentences())


@pytest.mark.parametrize(
    ("device", "raw", "words"),
    [
        ({"kind": "die"}, DESIGNS[0], ["die is fair", "only the respondent sees it"]),
        ({"kind": "die", "dice": 2}, DESIGNS[0], ["dice are fair"]),
        ({"kind": "coin"}, DESIGNS[0], ["tossed 2 times"]),
        ({"kind": "birthday"}, DESIGNS[3], ["month of birth", "knows the birthday"]),
        ({"kind": "die"}, DESIGNS[7], ["33.3% of all people", "how the respondent would answer"]),
        ({"kind": "die"}, {"kind": "unrelated", "p": "1/2"}, ["is estimated by the survey"]),
        (
            {"kind": "die"},
            {"kind": "unrelated", "p": "1/2", "expected": "0.4"},
            ["assumed", "40.0%", "larger if the share is further from 50%"],
        ),
    ],
)
def test_every_promise_names_what_it_rests_on(device, raw, words):
    hand = DEVICES[device["kind"]](**device)
    texts = device_assumptions(hand, [("armed", YES_NO, design_of(raw))] * 2, {"armed": "yes"})
    text = english(texts)
    assert all(each in text for each in [*words, "says nothing but the answer", "answered once"])
    assert len(set(map(str, texts))) == len(texts)


def test_a_statement_of_the_survey_rests_on_its_share_and_on_no_die():
    raw = {"kind": "crosswise", "p": "1/4", "statement": "Born in May?"}
    texts = device_assumptions(
        DEVICES["die"](kind="die"), [("a", YES_NO, design_of(raw))], {"a": "yes"}
    )
    assert "die" not in english(texts) and "true for 25.0% of all people" in english(texts)
