"""A promise that is practically none: marked wherever it is shown, and not published."""

import html
import re

import pytest

import incrowd
from incrowd.collection.page.files import PageContent, page_files, shipped
from incrowd.errors import UsageError
from incrowd.planner.outlook import outlook
from incrowd.plans import Plan
from incrowd.studio.preparation import perform
from incrowd.studio.publication import load_publication, problems_of

PEOPLE = 250
WEAK = "epsilon = 20.0\ndelta = 0.01"  # delta is 2.5 / 250
SURVEY = f"""name = "Work"
crowd = {PEOPLE}

[privacy]
{WEAK}

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"
"""
CHOICES = {
    "choice": "shuffler",
    "here-1": "collector",
    "organization-shuffler": "Computing Center",
    "address-shuffler": "https://mix.example",
    "organization-collector": "Institute",
    "address-collector": "https://count.example",
    "period": "March 2027",
    "opens": "2027-03-01T08:00",
    "closes": "2027-03-31T20:00",
    "invitations": "400",
    "version": "",
}
NONE = {"en": "practically no protection", "de": "praktisch kein Schutz"}
REFUSED = {"en": "the studio does not publish that", "de": "das veröffentlicht das Studio nicht"}


@pytest.fixture
def project(studio):
    return studio.projects.create("work", SURVEY)


@pytest.fixture
def planned(browser, studio, project):
    """The project with its plan and with choices: certifying is possible."""
    assert browser.post("/p/work/publish/plan").status_code == 303
    assert studio.jobs.get((project.path, "plan")).ended.wait(60)
    page = browser.get("/p/work/publish").text
    version = re.search('name="version" value="([0-9a-f]*)"', page)[1]
    browser.post("/p/work/publish/choices", data=CHOICES | {"version": version})
    perform(project, "collector-key", "en")
    return project


def praised(page):
    """What is marked as good: the class of a part, and its text."""
    return re.findall(r'class="((?:mark )?(?:good|certified))"[^>]*>\s*(?:<strong>)?([^<]*)', page)


@pytest.mark.parametrize("language", ["en", "de"])
def test_precision_says_what_is_practically_none(browser, project, language):
    browser.headers["Accept-Language"] = language
    for page in (
        browser.get("/p/work/precision").text,
        browser.post("/p/work/precision/certify").text,  # without script: it waits
    ):
        assert f'class="mark strength none">{NONE[language]}<' in page
        assert praised(page) == [] and "10^" not in page
        assert {"en": "Warning: delta 0.01", "de": "Warnung: Delta 0,01"}[language] in page
        assert {"en": "Warning: epsilon 20", "de": "Warnung: Epsilon 20"}[language] in page
    word = {"en": "computed", "de": "berechnet"}[language]
    assert word in re.findall(r'<span class="mark">([^<]*)</span>', page)


@pytest.mark.parametrize("language", ["en", "de"])
def test_publish_refuses_and_says_what_would_work(browser, planned, language):
    browser.headers["Accept-Language"] = language
    page = html.unescape(browser.get("/p/work/publish").text)
    assert NONE[language] in page and REFUSED[language] in page and "10^" not in page
    assert [text for kind, text in praised(page) if "plan.json" in text] == []
    assert "privacy.epsilon" in page and "privacy.delta" in page
    assert "4e-05" in page  # a hundredth of 1 / 250
    for step in ("package", "bundle"):
        answer = browser.post(f"/p/work/publish/do/{step}")
        assert answer.status_code == 422
        assert REFUSED[language] in html.unescape(answer.text)
    assert not (planned.path / "collection.toml").exists()


def test_a_smaller_epsilon_and_delta_are_published(browser, studio, planned):
    strong = SURVEY.replace(WEAK, "epsilon = 1.0\ndelta = 4e-5")
    planned.survey_path.write_text(strong)
    publication = load_publication(planned)[0]
    assert problems_of(publication, planned.survey(), Plan.load(planned.plan_path)) == []
    browser.post("/p/work/publish/plan")
    assert studio.jobs.get((planned.path, "plan")).ended.wait(60)
    assert browser.post("/p/work/publish/do/package").status_code == 303
    assert "strong protection" in browser.get("/p/work/publish?step=who").text


def test_one_organization_is_refused_where_nothing_is_left_then(planned):
    """Three tables of cells at epsilon 1: without mixing, the local epsilon is far above 10."""
    planned.survey_path.write_text(
        SURVEY.replace(WEAK, "epsilon = 1.0\ndelta = 1e-6")
        .replace("250", "20000")
        .replace('type = "yesno"', 'type = "choice"\noptions = ["a", "b", "c"]')
    )
    from incrowd.planner.plan import plan as make

    planned.plan_path.write_text(make(planned.survey()).dumps())
    alone = load_publication(planned)[0].model_copy(update={"here": "both", "addresses": {}})
    problems = problems_of(alone, planned.survey(), Plan.load(planned.plan_path))
    assert "studio.one-party" in [problem.code for problem in problems]
    with pytest.raises(UsageError, match="local_epsilon"):
        raise UsageError(*problems)


@pytest.mark.parametrize(
    ("privacy", "strength", "key"),
    [
        ({"epsilon": 20.0, "delta": 0.01}, "practically-none", "promise_none"),
        ({"epsilon": 1.0, "delta": 0.01}, "practically-none", "strength_delta"),
        ({"epsilon": 1.0, "delta": 1e-6}, "strong", "strength_strong"),
    ],
)
def test_the_survey_page_has_the_strength(planned, privacy, strength, key):
    plan = Plan.load(planned.plan_path)
    promise = plan.guarantee.model_copy(update=privacy)
    content = PageContent(plan, ("https://mix.example",), promise)
    text = page_files(content, shipped())["index.html"].decode()
    assert f'"strength": "{strength}"' in text and key in shipped()["de"]
    assert "10^" not in text


GROUPS = """name = "Work"

[people]
invited = 300
expected = 0.4
groups = { day = 260, night = 40 }

[privacy]
epsilon = 0.7
delta = 1e-6
noise = "services"

[[question]]
id = "shift"
type = "choice"
options = ["day", "night"]
open = true

[[question]]
id = "smokes"
type = "yesno"
"""


def test_the_page_of_the_plan_warns_that_a_group_shows_nothing(browser, studio):
    project = studio.projects.create("work", GROUPS)
    project.plan_path.write_text(incrowd.plan(project.survey()).dumps())
    seen = outlook(Plan.load(project.plan_path), project.survey().expected_answers)
    assert 1.96 * seen.margins[1] > 0.25  # in the smallest group
    page = browser.get("/p/work/publish?step=certify").text
    assert "show almost nothing" in page
