"""Five questions become a survey, and the ways to collect it have their errors."""

import re
import tomllib
from html import unescape
from math import exp

import pytest

from incrowd.guarantees.strength import strength_of
from incrowd.planner.outlook import estimate
from incrowd.studio.document import changed
from incrowd.studio.language import in_language
from incrowd.studio.wizard import DEFAULTS, LEVELS, delta_for, survey_text, ways_of
from incrowd.survey import Survey

TYPED = {
    "title": "Climate at work",
    "question": "Have you been bullied?",
    "everybody": "yes",
    "invited": "450",
    "expected": "60",
    "level": "strong",
    "group-1": "Department",
    "answers-1": "Office\nWorkshop\n\n Canteen ",
    "mixing": "shuffler",
}


def walk(browser, typed):
    """Answer the questions one by one, each page with what the last one sent along."""
    page, names = browser.get("/plan").text, set()
    for _ in range(5):
        page = unescape(page[page.index('class="wizard"') :])
        sent = dict(
            re.findall(r'<input type="hidden" name="([^"]+)" value="(.*?)">\n', page, re.DOTALL)
        )
        shown = {*re.findall(r'name="([\w-]+)"', page)} - sent.keys()
        names |= shown
        response = browser.post("/plan", data=sent | {k: v for k, v in typed.items() if k in shown})
        if response.status_code != 200:
            break
        page = response.text
    assert typed.keys() <= names
    return response


def test_five_questions_make_a_survey_and_three_ways(browser, studio):
    response = walk(browser, TYPED)
    assert response.status_code == 303
    assert response.headers["location"] == "/p/climate-at-work/ways?mixing=shuffler"
    survey = studio.projects.open("climate-at-work").survey()
    assert (survey.people.invited, survey.people.expected, survey.census) == (450, 0.6, True)
    assert [each.id for each in survey.questions] == ["department", "have_you_been_bullied"]
    assert survey.question("department").answers == ("Office", "Workshop", "Canteen")
    assert survey.wanted[-1] == ("department", "have_you_been_bullied")
    assert survey.privacy.epsilon == 1.0

    page = browser.get(response.headers["location"]).text
    assert page.count("270 answers: ±") == 3 and page.count("Choose this way") == 3
    overall = 196 * estimate(survey).margins[0]
    assert f"± {overall:.1f} points overall" in page


def test_the_sizes_of_groups_count_in_the_comparison_of_ways(browser, studio):
    sized = "Office: 200\nWorkshop: 140\nCanteen: 60\n Drivers :50"
    page = browser.get(walk(browser, TYPED | {"answers-1": sized}).headers["location"]).text
    survey = studio.projects.open("climate-at-work").survey()
    assert survey.question("department").answers == ("Office", "Workshop", "Canteen", "Drivers")
    shares = survey.question("department").stated_shares
    assert shares == pytest.approx([each / 450 for each in (200, 140, 60, 50)], abs=1e-5)
    assert page.count("among the 30 people with “Drivers” (Department)") == 2  # 60% of 50
    assert "equally common" not in page and "In the smallest group" in page
    margin = 196 * estimate(survey).margins[1]
    assert margin > 25 and f"± {margin:.1f} among" in page


def test_groups_without_sizes_are_said_to_be_taken_as_equal(browser):
    page = browser.get(walk(browser, TYPED).headers["location"]).text
    assert "all answers to “Department” are equally common" in page


@pytest.mark.parametrize(
    "line", ["Shift 1", "9:30 or later", "Other: whatever", ": 12", "Nobody: 0", "Half: 1.5"]
)
def test_an_answer_without_a_number_after_its_end_stays_as_it_is(line):
    text = survey_text(DEFAULTS | TYPED | {"answers-1": f"{line}\nOffice"}, "en")
    asked = Survey.of(tomllib.loads(text)).question("department")
    assert asked.answers == (line, "Office") and asked.shares is None


@pytest.mark.parametrize(
    ("way", "kept"),
    [
        ("devices", {"noise": "devices", "epsilon": 1.0, "tables": 1}),
        ("services", {"noise": "services", "epsilon": 1.0, "tables": 1}),
        ("fewer", {"noise": "devices", "epsilon": 1.0, "tables": 0}),
    ],
)
def test_one_button_chooses_a_way(browser, studio, way, kept):
    project = studio.projects.create("Work", survey_text(DEFAULTS | TYPED, "en"))
    page = browser.get("/p/work/ways").text
    seen = re.search(r'name="seen" value="(\w+)"', page)[1]
    response = browser.post("/p/work/ways", data={"way": way, "seen": seen})
    assert response.headers["location"] == "/p/work/precision"
    survey, privacy = project.survey(), project.survey().privacy
    assert kept == {
        "noise": privacy.noise,
        "epsilon": privacy.epsilon,
        "tables": len(survey.joint_tables),
    }


def test_a_way_that_was_compared_for_another_survey_is_not_chosen(browser, studio):
    project = studio.projects.create("Work", survey_text(DEFAULTS | TYPED, "en"))
    page = browser.get("/p/work/ways").text
    seen = re.search(r'name="seen" value="(\w+)"', page)[1]
    text = project.text().replace("450", "900")
    project.save(text, expected=project.current_version())
    response = browser.post("/p/work/ways", data={"way": "services", "seen": seen})
    assert response.status_code == 409 or "changed" in response.text
    assert project.text() == text


def test_few_people_get_noise_from_services(browser, studio):
    response = walk(browser, TYPED | {"invited": "40"})
    survey = studio.projects.open("climate-at-work").survey()
    assert survey.privacy.noise == "services"
    page = browser.get(response.headers["location"]).text
    assert "24 answers: ±" in page and "Noise from two services" in page
    assert "Noise from the devices" not in page  # nobody could hide


@pytest.mark.parametrize(
    ("step", "typed", "words"),
    [
        ("who", {"title": ""}, "Give the survey a name."),
        ("who", {"question": " "}, "Write down the question"),
        ("how-many", {"invited": "many"}, "such as 450"),
        ("how-many", {"expected": "160"}, "such as 60"),
        ("comparisons", {"answers-1": "Office"}, "at least two answers"),
        ("comparisons", {"group-1": ""}, "needs a name"),
        ("comparisons", {"answers-1": "a\na"}, "each answer should be different"),
        ("comparisons", {"answers-1": "a: 3\na: 4"}, "each answer should be different"),
        ("comparisons", {"answers-1": "a: 3\nb"}, "of all answers, or of none"),
    ],
)
def test_what_is_missing_is_said_and_what_was_typed_stays(browser, studio, step, typed, words):
    sent = TYPED | typed | {"step": step}
    response = browser.post("/plan", data=sent)
    assert response.status_code == 422 and words in response.text
    assert studio.projects.names() == ()
    back = browser.post("/plan", data=sent | {"back": "yes"})
    assert (back.status_code == 200 and 'value="Department"' in back.text) or "group-1" in typed


def test_two_mixers_cannot_add_noise():
    raw = tomllib.loads(survey_text(DEFAULTS | TYPED, "en"))
    assert "services" in [way.name for way in ways_of(raw)]
    assert "services" not in [way.name for way in ways_of(raw, "mixers")]


def test_nobody_who_mixes_leaves_the_local_guarantee():
    raw = tomllib.loads(survey_text(DEFAULTS | TYPED | {"mixing": "nobody"}, "en"))
    assert Survey.of(raw).privacy.analysis == "local"
    assert [way.name for way in ways_of(raw)] == ["devices", "fewer", "moderate"]
    for way in ways_of(raw):
        Survey.of(changed(raw, *way.changes))


def test_levels_state_how_far_a_guess_can_improve_rounded_up():
    for level in LEVELS:
        said = in_language(level.about, "en", **level.chances)
        stated = int(re.search(r"a chance of 20% .*?(\d+)% at most", said)[1])
        odds = exp(level.epsilon) * 0.2 / 0.8
        assert stated - 1 < 100 * odds / (1 + odds) <= stated
        assert strength_of(level.epsilon, float(delta_for(450)), 450) == level.strength


@pytest.mark.parametrize("people", [2, 450, 9_999, 20_000, 10**7])
def test_delta_is_at_most_a_hundredth_of_one_person(people):
    assert float(delta_for(people)) <= 0.01 / people
    assert float(delta_for(people)) <= 1e-6


def test_hostile_words_are_escaped(browser, studio):
    response = walk(browser, TYPED | {"title": '<b>"x', "question": 'a"]\n<i>?'})
    page = browser.get(response.headers["location"]).text
    assert "<b>" not in page and "<i>" not in page


def test_a_survey_that_only_says_who_is_invited_is_not_broken(browser, studio):
    text = survey_text(DEFAULTS | TYPED, "en").partition("[[question]]")[0]
    studio.projects.create("Begun", text)
    page = browser.get("/").text
    assert "Climate at work" in page and "question: is missing" not in page
