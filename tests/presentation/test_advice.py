"""The first lines of a plan: how well people's answers will be known, and what would help."""

import dataclasses
import math
import tomllib
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from scipy.stats import norm

import incrowd
from incrowd.catalog.sentences import in_words
from incrowd.number_text import chance, short_percent, written_out
from incrowd.planner.alternatives import alternatives
from incrowd.planner.precision import least_effective_sample
from incrowd.planner.solving import with_budget
from incrowd.presentation import advice
from incrowd.presentation.terminal_tables import open_table_lines

EXAMPLE = Path(__file__).parents[2] / "examples" / "health.toml"
WORDS = {"million": 10**6, "billion": 10**9, "trillion": 10**12}


def value(text):
    """What "one in 2.5 million" is as a number."""
    if text == "less than one in a quadrillion":
        return Fraction(1, 10**15)
    if not text.startswith("one in "):
        return Fraction(text)
    number, _, word = text.removeprefix("one in ").partition(" ")
    return 1 / (Fraction(number.replace("a", "1").replace(",", "")) * WORDS.get(word, 1))


@pytest.mark.parametrize("power", range(-20, 0))
@pytest.mark.parametrize("digits", ["1", "1.001", "2.5", "3", "9.99", "9.999"])
def test_a_chance_is_rounded_up_and_close(power, digits):
    text = f"{digits}e{power}"
    shown, exact = value(str(chance(float(text)))), Fraction(text)
    assert exact <= shown
    assert exact < Fraction(1, 10**15) or shown <= exact * Fraction(102, 100)


def test_a_chance_reads_as_people_say_it():
    assert str(chance(1e-6)) == "one in a million"
    assert str(chance(1e-9)) == "one in a billion"
    assert str(chance(1e-8)) == "one in 100 million"
    assert str(chance(1 / 2500)) == "one in 2,500"
    assert in_words(chance(1 / 2500), "de") == "eins zu 2.500"
    assert in_words(chance(0.3), "de") == "0,3"
    assert in_words(chance(4e-10), "de") == "eins zu 2,5 Milliarden"


def expected(*ids, even=0.0255, uneven=0.0255):
    return SimpleNamespace(questions=ids, standard_error_even=even, standard_error_uneven=uneven)


def test_the_margin_is_half_of_the_interval():
    """1.96 x 0.0051 = 0.0100, and 1.96 x 0.01 = 0.0196."""
    assert math.isclose(advice.HALF_WIDTH, norm.interval(0.95)[1], rel_tol=1e-12)
    survey = SimpleNamespace(
        crowd=10, objective="largest", open=(), questions=[1, 2], counted=[("a",)]
    )
    made = SimpleNamespace(survey=survey)
    for even, uneven, said in ((0.0051, 0.0051, "±1.00"), (0.01, 0.0051, "±1.00 to ±2.0")):
        line = advice.first_line(made, [expected("a", even=even, uneven=uneven)])
        assert f"each share of a single question is accurate to {said} percentage points." in line


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(1.7, "1.7 times"), (1.97, "two times"), (10.2, "ten times"), (23.4, "23 times")],
)
def test_ratios_in_words(ratio, said):
    assert advice.times(ratio) == said


@pytest.mark.parametrize(
    ("effective", "said"), [(998, "hardly larger errors"), (500, "errors 1.4 times as large")]
)
def test_a_smaller_local_epsilon_has_its_price_in_words(effective, said):
    """Wrong: "errors 1 times as large"."""
    plan = SimpleNamespace(guarantee=SimpleNamespace(local_epsilon=21.0))
    (line,) = advice.shuffler_trade(plan, 1000, [("local ε at most 8", 1, 1, effective, 8.0)])
    assert line.endswith(f"local_epsilon = 8 in [privacy] limits it to that, with {said}.")


@pytest.mark.slow
def test_what_is_advised_is_as_sharp_as_it_says():
    """The survey planned anew with as many reports a person is at least that much sharper."""
    survey = incrowd.Survey.of(tomllib.loads(Path(EXAMPLE).read_text()) | {"tables": "any"})
    made = incrowd.plan(survey)
    effective = least_effective_sample(survey, made.messages)
    ways = [(way.code, *way[1:5]) for way in alternatives(made)]
    (line,) = advice.sharper(made, effective, ways)
    reports = int(line.split()[1].replace(",", ""))
    assert f"--reports-per-person {reports}; " in line
    anew = incrowd.plan(with_budget(survey, reports))
    ratio = math.sqrt(least_effective_sample(survey, anew.messages) / effective)
    assert advice._cut(ratio) in line
    assert ratio > advice.WORTH_IT
    local = [written_out(each.guarantee.local_epsilon) for each in (anew, made)]
    assert f"ε {local[0]} would remain instead of {local[1]}" in line
    split = f", and {len(anew.messages)} messages instead of {len(made.messages)}"
    assert line.endswith(split) == (len(anew.messages) > len(made.messages))


def test_nothing_is_advised_that_hardly_helps():
    promise = SimpleNamespace(local_epsilon=9.0)
    survey = SimpleNamespace(privacy=SimpleNamespace(local_epsilon=None))
    made = SimpleNamespace(messages=[None, None], guarantee=promise, survey=survey)
    none = ("none", 1, 0, None, math.inf)
    assert not list(advice.sharper(made, 100.0, [none]))
    assert not list(advice.sharper(made, 100.0, [("way", 1, 5, 120.0, 20.0), none]))
    (line,) = advice.sharper(made, 100.0, [("way", 2, 4.2, 400.0, 36.0), none])
    assert line == (
        "sending 5 reports per person would halve the error: --reports-per-person 5; without "
        "the shuffler, ε 36.0 would remain instead of 9.00"
    )
    (line,) = advice.sharper(made, 100.0, [("way", 5, 4.2, 400.0, 36.0)])
    assert line.endswith("ε 36.0 would remain instead of 9.00, and 5 messages instead of 2")
    survey.privacy.local_epsilon = 35.0  # which that way would not keep
    assert not list(advice.sharper(made, 100.0, [("way", 5, 4.2, 400.0, 36.0)]))


def panel(**more):
    """Eight questions, one joint table of three of them, and a regression on five others."""
    raw = {"name": "A", "crowd": 800, "privacy": {"epsilon": 20.0, "analysis": "local"}}
    raw["question"] = [{"id": id, "type": "yesno"} for id in "abcdefgh"]
    raw["table"] = [{"questions": ["a", "b", "c"]}]
    raw["regression"] = [{"outcome": "d", "on": list("efgh")}]
    return incrowd.plan(incrowd.Survey.of(raw | more))


def test_the_headline_tells_questions_joint_tables_and_regressions_apart():
    """The table of five questions that the regression is read from is far less precise than all
    that is wanted, and stands in no clause; each clause is checked with the closed form."""
    made = panel()
    tables, models = incrowd.forecast(made), incrowd.forecast_regressions(made)
    line = advice.first_line(made, tables, models)
    q = made.messages[0].noise.q
    v = q * (1 - q) / (1 - 2 * q) ** 2

    def error(share, questions):
        noise = (share + v) ** questions - share**questions
        return math.sqrt((noise + share**questions * (1 - share**questions)) / 800)

    def text(error):
        return short_percent(norm.ppf(0.975) * error).removesuffix("%")

    single = sorted([error(0.5, 1), math.sqrt((v + 0.09) / 800)])
    joint = error(0.5, 3), error(0.9, 3)
    of = f"{models[0].refusal:.0%} of surveys"
    assert models[0].refusal > 0.2
    assert line == (
        f"With 800 people, each share of a single question is accurate to ±{text(single[0])} to "
        f"±{text(single[1])} percentage points; the largest joint table to ±{text(joint[0])} to "
        f"±{text(joint[1])}; regression of d=yes: not supported by the reports in {of}."
    )
    assert max(table.standard_error for table in tables) > 1.1 * joint[1]


def test_what_tells_next_to_nothing_is_named():
    """±25 percentage points: of all single questions, or else of a joint table."""
    made = panel()
    good, bad = {"even": 0.01, "uneven": 0.02}, {"even": 0.05, "uneven": 0.35}
    assert not list(advice.of_no_use(made, [expected("a", **good), expected(*"abc", **good)]))
    (line,) = map(str, advice.of_no_use(made, [expected("a", **good), expected(*"abc", **bad)]))
    assert line.startswith(
        "the joint table a, b, c is accurate only to ±9.8 to ±69 percentage points"
    )
    (line,) = map(str, advice.of_no_use(made, [expected("a", **bad), expected(*"abc", **bad)]))
    assert line.startswith("single questions are accurate only to ±9.8 to ±69 percentage points")
    of_regression = expected(*"defgh", **bad)
    assert not list(advice.of_no_use(made, [expected("a", **good), of_regression]))


def test_a_share_to_explore_that_was_not_used_is_named():
    def lines(explore, *cells, local_epsilon=8.0, reports=None):
        privacy = SimpleNamespace(local_epsilon=local_epsilon, analysis="local")
        limits = {"reports_per_person": reports, "upload_bytes": None, "privacy": privacy}
        survey = SimpleNamespace(explore=explore, **limits)
        sent = [SimpleNamespace(cells=each) for each in cells]
        return [*map(str, advice.without_cells(SimpleNamespace(survey=survey, messages=sent)))]

    assert not lines(None, False) and not lines(0.3, False, True)
    (line,) = lines(0.3, False, False, reports=5)
    assert line.startswith("explore = 0.3 has no effect: with reports_per_person = 5 and local_eps")
    (line,) = lines(0.3, False, local_epsilon=None)
    assert 'with analysis = "local", the planner found nothing more precise' in line


def test_what_was_solved_for_is_said_first():
    privacy = SimpleNamespace(epsilon=0.7012)
    asked = {"questions": [1], "counted": [("a",)], "open": ()}
    survey = SimpleNamespace(crowd=168_411, objective="largest", privacy=privacy, **asked)
    made, tables = SimpleNamespace(survey=survey), [expected("a")]
    assert advice.first_line(made, tables, solved="crowd").startswith("You need 168,411 people")
    assert "epsilon 0.701" in advice.first_line(made, tables, solved="epsilon")


def test_a_crowd_of_each_stratum_is_said_with_that_of_all():
    """Two open questions of 3 and 2 answers make six strata."""
    questions = [
        {"id": "faculty", "type": "choice", "options": ["law", "arts", "music"], "open": True},
        {"id": "new", "type": "yesno", "open": True},
        {"id": "drugs", "type": "yesno"},
    ]
    table = {"questions": ["faculty", "drugs"]}
    raw = {"name": "s", "crowd": 1500, "privacy": {"epsilon": 1.0, "analysis": "local"}}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": questions, "table": [table]}))
    crowd = "1,500 people in each stratum (9,000 or more in all 6 strata)"
    known = "is accurate to ±5.0 percentage points there."
    for solved, start in ((None, f"With {crowd}, "), ("crowd", f"You need {crowd}: ")):
        line = advice.first_line(made, [expected("drugs")], solved=solved)
        assert line.startswith(start) and line.endswith(known)
    assert list(open_table_lines(made.survey)) == [
        "faculty: sent openly, so there is no noise",
        "new: sent openly, so there is no noise",
        "faculty, drugs: in each stratum, as precise as drugs",
    ]


# --- regressions -----------------------------------------------------------------------------


def explained(crowd, shares=None, **changed):
    """shares: of yes, for some questions."""
    raw = {"name": "A", "crowd": crowd, "privacy": {"epsilon": 8.0, "analysis": "local"}}
    stated = {id: {"shares": {"yes": share}} for id, share in (shares or {}).items()}
    ids = ("ill", "smokes", "moves")
    raw["question"] = [{"id": id, "type": "yesno"} | stated.get(id, {}) for id in ids]
    raw["regression"] = [{"outcome": "ill", "on": ["smokes", "moves"], **changed}]
    return incrowd.plan(incrowd.Survey.of(raw))


def test_how_many_people_tell_an_odds_ratio_is_enough_and_needed():
    """With so many people and the same noise it is told; with a hundredth fewer it is not."""
    plan = explained(400, shares={"ill": 0.5, "smokes": 0.5, "moves": 0.2})
    (line,) = advice.odds_seen(plan, incrowd.forecast_regressions(plan))
    assert line.startswith("ill=yes: an odds ratio of ") and "for moves=yes, the least" in line
    people = int(line.split(" takes ")[1].split()[0].replace(",", ""))
    for crowd, told in ((people, True), (int(0.99 * people), False)):
        survey = plan.survey.model_copy(update={"crowd": crowd})
        (found,) = incrowd.forecast_regressions(plan.model_copy(update={"survey": survey}))
        error = max(each.standard_error for each in found.coefficients[1:])
        size = norm.ppf(0.975) + norm.ppf(0.8)
        assert (size * error <= math.log(1.5)) == told


def test_nothing_is_said_of_the_odds_of_a_linear_model():
    plan = explained(2000, family="linear")
    assert list(advice.odds_seen(plan, incrowd.forecast_regressions(plan))) == []


@pytest.mark.parametrize("often", [True, False])
def test_a_model_that_is_refused_is_one_of_the_first_things_said(often):
    """The first of all, if it is refused in more than one of five surveys. Wrong: the odds ratio
    that is then detected, alone."""
    shares = {"ill": 0.03, "smokes": 0.5, "moves": 0.5}
    (found,) = incrowd.forecast_regressions(plan := explained(3000, shares=shares))
    found = dataclasses.replace(found, refusal=0.21 if often else 0.19)
    first, second = list(advice.refusals([found])), list(advice.odds_seen(plan, [found]))
    line = f"ill=yes: reports will not support this model in {found.refusal:.0%} "
    assert (first if often else second)[0].startswith(line)
    assert not (second if often else first)


def test_odds_are_given_for_uneven_answers_too():
    """Wrong: those of equally common answers alone, which are the favorable end."""
    (found,) = incrowd.forecast_regressions(explained(30000), power=0.9)
    largest = max(each.standard_error for each in found.coefficients[1:])
    sizes = (
        (norm.ppf(0.975) + norm.ppf(0.9)) * each for each in (found.even.largest_error, largest)
    )
    least, worst = map(math.exp, sizes)
    assert worst > 1.05 * least
    line = f"regression of ill=yes: odds ratios of {least:.3g} to {worst:.3g} or more"
    assert advice._detected(found) == line


def test_a_model_that_most_surveys_refuse_detects_nothing():
    """Wrong: an odds ratio that is detected in some surveys."""
    plan = explained(3000, shares={"ill": 0.03, "smokes": 0.5, "moves": 0.5})
    (found,) = incrowd.forecast_regressions(plan)
    often = dataclasses.replace(found, refusal=0.89)
    assert (
        advice._detected(often)
        == "regression of ill=yes: not supported by the reports in 89% of surveys"
    )
    (said,) = [*advice.refusals([often]), *advice.odds_seen(plan, [often])]
    assert "89% of surveys" in said and "detected" not in said
    seldom = dataclasses.replace(found, refusal=0.2)
    assert any(
        "80% of the surveys that support the model" in line
        for line in advice.odds_seen(plan, [seldom])
    )
    rare = dataclasses.replace(found, refusal=0.01)
    assert any("80% of all surveys" in line for line in advice.odds_seen(plan, [rare]))


def test_nothing_is_said_of_odds_that_are_told():
    plan = explained(10**6)
    assert list(advice.odds_seen(plan, incrowd.forecast_regressions(plan))) == []
