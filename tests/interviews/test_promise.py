"""What is promised: factors by Bayes' rule on a grid of guesses, and words that fit them."""

import math
from fractions import Fraction as F
from itertools import product
from pathlib import Path

import pytest

import incrowd
from incrowd.catalog.sentences import in_words, sentence, translated
from incrowd.interviews.designs import design_of
from incrowd.interviews.devices import DEVICES
from incrowd.interviews.procedures import procedure
from incrowd.interviews.promise import (
    GroupPromise,
    InterviewPromise,
    device_assumptions,
    factor_text,
    group_promises,
    promise_of,
    question_promise,
)
from incrowd.version import __version__

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
    assert "more than 4 times as sure as before that your true answer is “yes”" in most
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


def test_the_sentences_on_methods_name_device_wording_design_and_source():
    asked = incrowd.InterviewSurvey.of(
        {
            "name": "Minarets",
            "device": {"kind": "die", "dice": 2},
            "columns": {"group": "g"},
            "groups": {"codes": [0, 1]},
            "question": [
                {
                    "id": "ban",
                    "type": "yesno",
                    "text": {"en": "Ban them?", "de": "Verbieten?"},
                    "designs": [{"kind": "direct"}, {"kind": "warner", "p": "2/12"}],
                },
                {
                    "id": "vote",
                    "type": "yesno",
                    "designs": [{"kind": "forced", "yes": "1/6"}] * 2,
                },
            ],
        }
    )
    text = str(promise_of(asked).method)
    assert "“Minarets”, respondents randomize their answers with two dice" in text
    first, second = "asked openly", "two opposite statements (Warner 1965) with p 1/6"
    assert f"ban (“Ban them?”): {first} in one group and {second} in the next" in text
    assert "forced response (Boruch 1971) with yes 1/6" in text and __version__ in text
    german = in_words(promise_of(asked, language="de").method, "de")
    assert "mit zwei Würfeln" in german and "„Verbieten?“" in german


@pytest.mark.parametrize("kind", DEVICES)
def test_every_device_has_words_for_a_methods_section(kind):
    question = {"id": "a", "type": "yesno", "design": {"kind": "direct"}}
    raw = {"name": "x", "device": {"kind": kind}, "question": [question]}
    assert "“x”, respondents" in str(promise_of(incrowd.InterviewSurvey.of(raw)).method)


@pytest.mark.parametrize("raw", DESIGNS, ids=str)
def test_every_design_has_words_for_a_methods_section(raw):
    question = {"id": "a", "type": "yesno", "design": raw}
    device = {"kind": "spinner", "sectors": 12}
    asked = incrowd.InterviewSurvey.of({"name": "x", "device": device, "question": [question]})
    assert "a (“a”): " in str(promise_of(asked).method)


def test_groups_with_other_probabilities_but_one_promise_are_one():
    groups = [
        GroupPromise(code, (promised({"kind": "warner", "p": p}),))
        for code, p in (("1", "2/12"), ("2", "10/12"))
    ]
    (one,) = group_promises(groups)
    assert (one.group, one.ratio) == ("", 5)
    direct = GroupPromise("0", (promised({"kind": "direct"}),))
    three = InterviewPromise(group_promises([direct, *groups]), (), sentence("shared.none"))
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


# Everything that is heard in an interview, by enumeration of what cards say.

UNRELATED = {"kind": "unrelated", "p": "1/2", "prevalence": "1/3"}
CROSSWISE = {"kind": "crosswise", "p": "1/4"}
KUK = {"kind": "kuk", "yes": "1/6", "no": "2/3"}
THREE = {"kind": "forced", "forced": {"a": "1/6", "b": "1/6", "c": "1/6"}}
INTERVIEWS = {
    "two dice": ("die", [DESIGNS[0], DESIGNS[1]]),
    "repeated draws": ("die", [KUK | {"repeats": 3}, DESIGNS[0]]),
    "several answers": ("die", [THREE, DESIGNS[2] | {"p": "5/6"}]),
    "another question": ("die", [UNRELATED | {"question": "A?"}, THREE]),
    "two statements": ("coin", [CROSSWISE | {"statement": "A"}, CROSSWISE | {"statement": "B"}]),
    "the device asks": ("coin", [CROSSWISE, CROSSWISE]),
    "one-sided": ("die", [{"kind": "mangat", "p": "5/6"}]),
    "triangular": ("coin", [{"kind": "triangular", "p": "1/4"}]),
    "forced in one way": ("die", [{"kind": "forced", "yes": "1/6"}, DESIGNS[0]]),
    "open question": ("die", [DESIGNS[0], {"kind": "direct"}]),
    "pack of one color": ("die", [{"kind": "kuk", "yes": 1, "no": "1/6"}]),
}  # fmt: skip


def interviews_of(device, designs):
    questions = []
    for number, raw in enumerate(designs):
        kind = {"type": "choice", "options": ["a", "b", "c"]} if raw is THREE else {"type": "yesno"}
        questions.append(kind | {"id": f"q{number}", "design": raw})
    raw = {"name": "N", "device": {"kind": device}, "question": questions}
    return incrowd.InterviewSurvey.of(raw)


def heard(survey, place, true):
    """The probability of everything that a person with a true answer says to one question."""
    item = survey.items[place].design
    design, laws = item.designs[0], {(): F(1)}
    for _ in range(design.repeats):
        drawn = procedure(design, survey.device, item.answers).outcomes(true)
        after = {}
        for said, chance in laws.items():
            for each in drawn:
                after[*said, each.report] = after.get((*said, each.report), F()) + (
                    chance * each.probability
                )
        laws = after
    return laws


def largest_ratio(survey):
    """The largest ratio for two lists of true answers; None if it is infinite."""
    places = range(len(survey.items))
    answers = product(*(range(len(each.design.answers)) for each in survey.items))
    laws = []
    for trues in answers:
        each = [
            heard(survey, place, true).items() for place, true in zip(places, trues, strict=True)
        ]
        laws.append(
            {
                tuple(said for said, _ in parts): math.prod(chance for _, chance in parts)
                for parts in product(*each)
            }
        )
    most = F(1)
    for one, other in product(laws, repeat=2):
        for said, chance in one.items():
            if not other.get(said):
                return None
            most = max(most, chance / other[said])
    return most


@pytest.mark.parametrize("name", INTERVIEWS)
def test_the_promise_is_the_largest_ratio_of_everything_that_is_heard(name):
    survey = interviews_of(*INTERVIEWS[name])
    (group,) = promise_of(survey).groups
    truth = largest_ratio(survey)
    assert group.ratio == truth
    if truth is None:
        assert group.epsilon == math.inf
        return
    assert F(math.exp(group.epsilon)) >= truth * (1 - F(1, 10**14))
    assert F(str(factor_text(truth))) >= truth > group.ratio - F(1, 10)
    assert f"more than {factor_text(truth)} times" in english(group.to_respondent())


def test_a_printed_factor_is_the_exact_one_where_it_has_few_digits():
    assert factor_text(F(6, 5)) == "1.2" and factor_text(F(44, 5)) == "8.8"
    assert factor_text(F(6, 5) + F(1, 10**30)) == "1.21"


def test_a_bound_for_one_answer_does_not_stand_alone_where_none_holds_for_all():
    """Answers to several questions may be about the same matter: their factors multiply."""
    forced = DESIGNS[0]
    for designs in ([forced, {"kind": "direct"}], [forced] * 8):
        (group,) = promise_of(interviews_of("die", designs)).groups
        text = english(group.to_respondent())
        assert "5 times as sure" in text
        assert text.endswith(
            "All your answers together can reveal more: no such limit holds for them."
        )
    (direct,) = promise_of(interviews_of("die", [{"kind": "direct"}] * 2)).groups
    assert "such limit" not in english(direct.to_respondent())


@pytest.mark.parametrize("language", ["en", "de"])
def test_an_expected_share_is_named_wherever_a_factor_rests_on_it(language):
    """By hand: 1 + p / ((1 - p) share) with p = 1/2 and a share of 1/4."""
    promise = promised({"kind": "unrelated", "p": "1/2", "expected": "1/4"})
    (text,) = [translated(each, language) for each in promise.to_respondent()]
    assert promise.ratio == 5 and " 25 " in text and "5" in text.split(" 25 ")[1]
    group = GroupPromise("", (promise, promised(DESIGNS[0], "b")))
    assert any(" 25 " in translated(each, language) for each in group.to_respondent())


def assumed(device, designs):
    return english(promise_of(interviews_of(device, designs)).assumptions)


def test_facts_that_decide_are_unrelated_and_are_not_asked_about_again():
    """With one statement for two waves, an answer that changes proves that the truth changed."""
    apart = "decide in q0 and q1 have nothing to do with each other"
    for name in ("two statements", "another question", "the device asks", "two dice"):
        device, designs = INTERVIEWS[name]
        text = assumed(device, designs)
        assert (apart in text) == (name == "two statements")
        fact = name in ("two statements", "another question")
        assert ("with the same one, no bound holds" in text) == fact
        assert "factors multiply" in text and "asked openly, such as age, is not protected" in text


def test_the_manual_says_what_months_of_unequal_length_do():
    """By hand: four years have 1461 days, 361 of them in January, February, and March."""
    truth, share = F(361, 1461), F(1, 10)
    same = share * truth + (1 - share) * (1 - truth)
    estimate = (same - F(3, 4)) / (2 * F(1, 4) - 1)
    assert estimate - share == (truth - F(1, 4)) * (1 - 2 * share) / (1 - 2 * F(1, 4))
    text = Path("docs/interviews.md").read_text(encoding="utf-8")
    for number in (
        f"{float(truth):.1%}",
        factor_text((1 - truth) / truth),
        f"{float(estimate):.1%}",
    ):
        assert str(number) in text
