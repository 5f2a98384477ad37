"""Designs that meet a local epsilon, against all that a device can realize."""

import json
import math
from fractions import Fraction as F
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.stats import norm

import incrowd
from incrowd import interviews
from incrowd.catalog.sentences import translated
from incrowd.errors import SurveyError
from incrowd.interviews.designs import DESIGNS, ItemDesign, design_of
from incrowd.interviews.planning import best_design
from incrowd.interviews.survey import device_of

YES_NO = ("no", "yes")


def raw(*designs, device="die", aim=None, **more):
    asked = [{"id": f"q{n}", "type": "yesno", "design": each} for n, each in enumerate(designs)]
    aim = {"epsilon": 1.7, "share": 0.2} if aim is None else aim
    return {"name": "Plan", "device": {"kind": device}, "aim": aim, "question": asked, **more}


def chosen(plan):
    return [each for each in plan.forecasts if each.chosen]


def variance(if_no, if_yes, share):
    says = if_no + (if_yes - if_no) * share
    return float(says * (1 - says)) / float(if_yes - if_no) ** 2


# --- all that a device can realize ------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.2, 1.7, 2.5])
@pytest.mark.parametrize(("kind", "outcomes"), [("die", 6), ("coin", 4)])
def test_no_design_of_two_answers_is_better(kind, outcomes, epsilon):
    """All matrices of multiples of one outcome, by ratios of whole numbers."""
    share, possible = F(1, 5), []
    for no, yes in product(range(outcomes + 1), repeat=2):
        if not 0 < no < yes < outcomes:
            continue
        ratio = max(F(yes, no), F(outcomes - no, outcomes - yes))
        if math.log(ratio) <= epsilon:
            possible.append(variance(F(no, outcomes), F(yes, outcomes), share))
    found = best_design(device_of({"kind": kind}), YES_NO, {"kind": "auto"}, epsilon, 0.2)
    if not possible:
        assert found is None
        return
    assert found.variance == pytest.approx(min(possible))
    assert found.design.epsilon <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.4, 1.0, 1.7, 2.3])
@pytest.mark.parametrize("outcomes", [36, 20, 15])
def test_no_design_of_a_pack_of_cards_is_better(outcomes, epsilon):
    possible = [
        variance(F(no, outcomes), F(yes, outcomes), F(1, 10))
        for no, yes in product(range(1, outcomes), repeat=2)
        if no < yes and math.log(max(F(yes, no), F(outcomes - no, outcomes - yes))) <= epsilon
    ]
    device = device_of({"kind": "cards", "cards": outcomes})
    for kind in ("auto", "kuk"):
        found = best_design(device, YES_NO, {"kind": kind}, epsilon, 0.1)
        assert found.variance == pytest.approx(min(possible))


def test_no_forced_response_of_three_answers_with_equal_chances_is_better():
    """All ways to force three answers with a spinner, in which no two differ by more than one."""
    outcomes, epsilon, found = 12, 1.2, []
    for counts in combinations_with_replacement(range(outcomes), 3):
        truth = outcomes - sum(counts)
        if truth < 1 or counts[0] < 1 or counts[2] - counts[0] > 1:
            continue
        ratio = max(F(each + truth, each) for each in counts)
        if math.log(ratio) > epsilon:
            continue
        says = [F(each, outcomes) + F(truth, 3 * outcomes) for each in counts]
        found.append(max(float(s * (1 - s)) for s in says) / (truth / outcomes) ** 2)
    device = device_of({"kind": "spinner", "sectors": outcomes})
    best = best_design(device, ("a", "b", "c"), {"kind": "forced"}, epsilon)
    assert best.variance == pytest.approx(min(found))


@pytest.mark.parametrize("kind", [kind for kind in DESIGNS if DESIGNS[kind].decided_by])
def test_along_a_chain_errors_grow_and_epsilons_fall(kind):
    keys = {"kind": kind} | ({"prevalence": "1/3"} if kind == "unrelated" else {})
    for chain in DESIGNS[kind].chains(YES_NO, 6):
        each = [ItemDesign(YES_NO, (design_of(keys | more),)) for more in chain]
        epsilons = [design.epsilon for design in each]
        assert epsilons == sorted(epsilons, reverse=True)
        matrices = [design.matrices.base[0] for design in each]
        errors = [variance(m[1, 0], m[1, 1], 0.3) for m in matrices if abs(np.linalg.det(m)) > 1e-9]
        assert errors == pytest.approx(sorted(errors))


def test_a_birthday_is_asked_crosswise():
    (found,) = chosen(interviews.plan_interviews(raw({"kind": "auto"}, device="birthday")))
    assert found.design == "crosswise, p 1/6"
    assert found.epsilon == pytest.approx(math.log(5))


# --- whole surveys ----------------------------------------------------------------------------


def test_a_plan_decides_what_is_open_and_nothing_else():
    stated = {"kind": "warner", "p": "2/3"}
    plan = interviews.plan_interviews(raw({"kind": "forced"}, stated, aim={"epsilon": 2.4}))
    first, second = plan.survey.items
    assert first.design.ratio == 5 and second.design.ratio == 2  # ln 10 is 2.31
    assert plan.epsilon == pytest.approx(math.log(10)) and plan.epsilon >= math.log(10)
    again = incrowd.InterviewSurvey.of(json.loads(plan.survey.dumps()))
    assert [each.design for each in again.items] == [each.design for each in plan.survey.items]


@pytest.mark.parametrize(
    ("device", "p", "epsilon"),
    [
        ("die", "2/3", 2.2),
        ("die", "2/3", 4.0),
        *(pytest.param("cards", "5/9", e, marks=pytest.mark.slow) for e in (0.9, 1.5, 3.3)),
    ],
)
def test_all_questions_together_never_exceed_the_epsilon(device, p, epsilon):
    designs = [{"kind": "auto"}, {"kind": "warner", "p": p}, {"kind": "auto"}]
    survey = raw(*designs, aim={"epsilon": epsilon}, device=device)
    plan = interviews.plan_interviews(survey)
    ratio = math.prod(item.design.ratio for item in plan.survey.items)
    assert math.log(ratio) <= epsilon


def test_people_and_margins_are_those_of_the_formulas():
    aim = {"epsilon": 1.7, "share": 0.2, "people": 900, "margin": 0.04, "difference": 0.1}
    plan = interviews.plan_interviews(raw({"kind": "auto"}, aim=aim | {"power": 0.9}))
    (found,) = chosen(plan)
    one, z = variance(F(1, 6), F(5, 6), F(1, 5)), norm.isf(0.025)
    assert found.standard_error == pytest.approx(math.sqrt(one / 900))
    assert found.margin == pytest.approx(z * math.sqrt(one / 900))
    assert found.margin_people == math.ceil(z**2 * one / 0.04**2)
    two = 2 * sum(variance(F(1, 6), F(5, 6), share) for share in (F(3, 20), F(1, 4)))
    assert found.difference_people == math.ceil((z + norm.ppf(0.9)) ** 2 * two / 0.1**2)
    (openly,) = (each for each in plan.forecasts if each.design == "direct")
    assert openly.margin_people == math.ceil(z**2 * 0.16 / 0.04**2)
    assert openly.epsilon == math.inf


def test_an_epsilon_that_the_device_cannot_have_names_the_smallest():
    with pytest.raises(SurveyError, match=r"design of q0: got 0\.3 .* is 0\.4055"):  # ln 1.5
        interviews.plan_interviews(raw({"kind": "auto"}, aim={"epsilon": 0.3}))
    assert math.log(1.5) < 0.4055


def test_a_one_sided_design_is_not_chosen():
    with pytest.raises(SurveyError, match="can prove an answer"):
        interviews.plan_interviews(raw({"kind": "mangat"}))


def test_a_survey_in_german_has_german_tables():
    plan = interviews.plan_interviews(raw({"kind": "auto"}, {"kind": "auto"}, aim={"epsilon": 4}))
    shown = plan.view()
    words = " ".join(str(translated(each, "de")) for each in (shown.title, *shown.notes))
    assert "Was die Verfahren von Plan leisten" in words
    assert "Alle Fragen eines Interviews zusammen" in words


# --- power of a survey ------------------------------------------------------------------------

DIE = {"kind": "forced", "yes": "1/6", "no": "1/6"}


def test_the_power_of_a_survey_is_that_of_its_matrices():
    survey = incrowd.InterviewSurvey.of(raw(DIE))
    found = interviews.power_curves(
        survey, people=[500, 1500], shares=[0.2], differences=[0.1], odds_ratios=[2.0], null=0.1
    )
    difference, ratio, share = found.forecasts
    z = norm.isf(0.025)
    two = 2 * sum(variance(F(1, 6), F(5, 6), each) for each in (F(3, 20), F(1, 4)))
    power = norm.cdf(0.1 / np.sqrt(two / np.array([500, 1500])) - z)
    assert difference.power == pytest.approx(power)
    one = variance(F(1, 6), F(5, 6), F(1, 5))
    assert share.people_needed == math.ceil((z + norm.ppf(0.8)) ** 2 * one / 0.1**2)
    assert share.openly_needed == math.ceil((z + norm.ppf(0.8)) ** 2 * 0.16 / 0.1**2)
    assert (ratio.goal, ratio.size) == ("odds ratio", 2.0)
    assert ratio.people_needed > ratio.openly_needed
    rows = found.long_table().rows
    assert len(rows) == 6 and {row[1] for row in rows} == {"share", "difference", "odds ratio"}


def test_people_who_break_the_rules_cost_power():
    survey = incrowd.InterviewSurvey.of(raw(DIE))
    (kept,) = interviews.power_curves(survey, differences=[0.1]).forecasts
    (lost,) = interviews.power_curves(
        survey, differences=[0.1], at_random=0.1, evasive=0.1
    ).forecasts
    assert lost.effect == pytest.approx(0.8 * kept.effect)
    assert lost.people_needed > kept.people_needed
    assert lost.openly_needed == kept.openly_needed


def test_curves_pass_through_the_figures():
    survey = incrowd.InterviewSurvey.of(raw(DIE))
    found = interviews.power_curves(survey, people=[10, 2000], differences=[0.1])
    (plot,) = found.plots()
    (_, curve), (_, openly) = plot.curves
    assert curve[0] == (10, pytest.approx(found.forecasts[0].power[0]))
    assert curve[-1] == (2000, pytest.approx(found.forecasts[0].power[1]))
    assert all(one[1] < other[1] for one, other in zip(curve, openly, strict=True))


def test_the_expected_share_of_an_unrelated_question_counts():
    """Two groups; by hand from the two equations of Greenberg et al. 1969."""
    groups = {"columns": {"group": "g"}, "groups": {"codes": ["0", "1"]}}
    designs = [{"kind": "unrelated", "p": p, "expected": "1/4"} for p in ("2/3", "1/3")]
    question = {"id": "q", "type": "yesno", "designs": designs}
    survey = incrowd.InterviewSurvey.of(raw() | groups | {"question": [question]})
    (found,) = interviews.power_curves(survey, people=[1000], shares=[0.2]).forecasts
    says = [p * 0.2 + (1 - p) * 0.25 for p in (2 / 3, 1 / 3)]
    spread = says[0] * (1 - says[0]) * (2 / 3) ** 2 + says[1] * (1 - says[1]) * (1 / 3) ** 2
    assert found.standard_error == pytest.approx((math.sqrt(2 * spread / 1000) / (1 / 3),))


def test_a_plan_states_the_promise_of_its_designs():
    plan = interviews.plan_interviews(raw(DIE))
    assert plan.facts()["guarantee"].epsilon == plan.epsilon


@pytest.mark.slow
def test_a_page_of_power_has_its_curves():
    survey = incrowd.InterviewSurvey.of(raw(DIE))
    drawn = interviews.power_curves(survey, differences=[0.1])._repr_html_()
    assert drawn.count("&lt;svg") == 2  # one for wide pages, and one for narrow ones
