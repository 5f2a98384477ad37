"""A survey to which services add the noise: designed, published and described in the studio."""

import re
import tomllib
from unittest import mock

import pytest

import incrowd
from incrowd.errors import UsageError
from incrowd.guarantees.certified import requested
from incrowd.planner.outlook import outlook
from incrowd.planner.plan import limit_outline
from incrowd.plans.slots import invented
from incrowd.studio import rehearsal, rehearsing
from incrowd.studio.certifying import promise
from incrowd.studio.language import LANGUAGES, in_language
from incrowd.studio.noise_kinds import noise_kinds, shown, with_noise
from incrowd.studio.packages import sheet_of
from incrowd.studio.publication import (
    Publication,
    needed_people,
    parsed,
    problems_of,
    terms_text,
)
from incrowd.studio.publishing import CHOICES, choices
from incrowd.survey import Survey
from tests.conftest import services_plan

TEXT = """\
name = "Bullying"
crowd = 60  # the whole house

[privacy]
epsilon = 2.0
delta = 1e-5

[[question]]
id = "bullied"
type = "yesno"
text = "Were you bullied?"
"""
TIMES = {"period": "May", "opens": "2027-05-01T00:00:00Z", "closes": "2027-05-09T00:00:00Z"}
ADDRESSES = {"shuffler": "https://mix.example", "collector": "https://count.example"}
PUBLICATION = parsed({"addresses": ADDRESSES, "invitations": 60, **TIMES})


@pytest.fixture
def project(studio):
    return studio.projects.create("Bullying", TEXT)


def chosen(browser, project, **values):
    form = {"do": "survey", "seen": project.document().version, **values}
    assert browser.post(f"/p/{project.name}/design", data=form).status_code == 303
    return tomllib.loads(project.text())


def test_the_form_writes_who_adds_the_noise_and_takes_it_back(browser, project):
    values = {"noise": "services", "service_epsilon": "3", "least": "20", "census": "yes"}
    raw = chosen(browser, project, **values)
    assert raw["privacy"]["noise"] == "services" and raw["privacy"]["service_epsilon"] == 3.0
    assert raw["least"] == 20 and raw["census"] is True
    assert "# the whole house" in project.text()
    page = browser.get(f"/p/{project.name}/design").text
    assert '<option value="services" selected>' in page and 'value="20"' in page
    emptied = chosen(browser, project, noise="devices", service_epsilon="", least="", census="")
    assert "service_epsilon" not in emptied["privacy"]
    assert "least" not in emptied and "census" not in emptied


def test_defaults_are_not_written(browser, project):
    values = {"noise": "devices", "service_epsilon": "", "least": "10", "census": ""}
    chosen(browser, project, **values)
    assert project.text() == TEXT


def test_a_mistake_is_shown_where_it_was_made(browser, project):
    chosen(browser, project, least="1")
    page = browser.get(f"/p/{project.name}/design").text
    assert "least" in page and 'class="warn fault"' in page


def test_a_release_needs_the_least_and_no_reserve():
    plan = services_plan()
    survey = plan.survey
    assert needed_people(survey) == needed_people(survey, plan) == 10
    assert problems_of(PUBLICATION, survey, plan) == []
    few = PUBLICATION.model_copy(update={"invitations": 9})
    assert [each.code for each in problems_of(few, survey, plan)] == ["studio.few-invitations"]
    assert needed_people(services_plan(joint=True).survey, services_plan(joint=True)) > 60


def test_nobody_has_to_be_invited_for_privacy():
    anybody = PUBLICATION.model_copy(update={"invitations": 0})
    assert problems_of(anybody, services_plan().survey, services_plan()) == []


@pytest.mark.parametrize("plan", [None, services_plan()])
def test_two_mixers_are_refused_with_the_reason(plan):
    two = PUBLICATION.model_copy(update={"mixers": 2})
    codes = [each.code for each in problems_of(two, services_plan().survey, plan)]
    assert "studio.mixers-add-nothing" in codes
    with pytest.raises(UsageError, match=r"two mixers, services cannot add noise"):
        terms_text(two, services_plan().survey, {})


def test_strata_are_not_merged_where_services_add_noise():
    survey = services_plan().survey.model_copy(update={"small_strata": "merge"})
    codes = [each.code for each in problems_of(PUBLICATION, survey)]
    assert codes == ["collection.services-merge-no-strata"]


def test_each_choice_says_who_adds_what():
    assert choices(False) == CHOICES
    shuffler, mixers, both = (str(each.text) for each in choices(True))
    assert "adds invented ones" in shuffler and "Not possible" in mixers
    assert "read every answer" in both and "local guarantee" not in both


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("service", ["shuffler", "collector"])
def test_the_sheet_tells_a_colleague_what_is_invented(language, service):
    plan = services_plan()
    assert invented(plan) == 360
    publication = Publication.model_validate(PUBLICATION.model_dump())
    sheet = sheet_of(publication, plan.survey, plan, service, language)
    words = {
        ("shuffler", "en"): "Your service also adds invented answers",
        ("collector", "en"): "adds noise of its own to each count",
        ("shuffler", "de"): "Ihr Dienst fügt außerdem erfundene Antworten hinzu",
        ("collector", "de"): "Ihr Dienst fügt jeder Anzahl eigenes Rauschen hinzu",
    }
    assert words[service, language] in sheet
    assert ("360" in sheet) is (service == "shuffler")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("plan", [None, services_plan(), services_plan(3.0)])
def test_the_promise_names_both_services_and_no_factor_for_them(language, plan):
    survey, certified = (plan or services_plan()).survey, plan is not None
    outline = plan or limit_outline(survey)
    guarantee = plan.guarantee if plan else requested(survey, outline.messages)
    box = promise(outline, guarantee, language, certified=certified)
    said = " ".join((*box.respondents, box.shuffler_fails))
    together = "work together" if language == "en" else "zusammenarbeiten"
    assert box.services and box.local_epsilon == "" and together in box.shuffler_fails
    assert "60" not in said and "inf" not in said.replace("information", "")
    factors = {"7.39", "20.1"} if survey.privacy.service_epsilon else {"7.39"}
    for factor in factors:
        assert factor.replace(".", "," if language == "de" else ".") in said


@pytest.mark.slow
def test_both_kinds_of_noise_are_compared_by_their_plans():
    """In a lone question, services are more precise; a limited local epsilon rules them out."""
    survey = Survey.of(tomllib.loads(TEXT))
    devices, services = noise_kinds(lambda _: None, survey)
    assert (devices.kind, services.kind) == ("devices", "services")
    assert 0 < services.error < devices.error and services.effective > devices.effective
    limited = survey.model_copy(
        update={"privacy": survey.privacy.model_copy(update={"local_epsilon": 4.0})}
    )
    devices, services = noise_kinds(lambda _: None, limited)
    assert devices.error > 0 and services.problems[0].path == ("privacy", "local_epsilon")
    german = [in_language(each.trusted, "de") for each in shown((devices, services), "de")]
    assert "Sonst bleibt nichts" in german[1] and shown((services,), "en")[0].margin == ""


@pytest.mark.slow
def test_the_page_of_precision_shows_both_kinds(browser, studio, project):
    page = f"/p/{project.name}/precision"
    form = {"seen": project.document().version}
    certified = browser.post(f"{page}/certify", data=form)
    assert certified.status_code == 200
    studio.jobs.get((project.path, "certify")).ended.wait(60)
    asked = browser.post(f"{page}/noise", data=form, headers={"HX-Request": "true"}).text
    (of,) = set(re.findall(r"noise\?of=(\w+)", asked))
    studio.jobs.get((project.path, "noise")).ended.wait(60)
    both = browser.get(f"{page}/noise?of={of}").text
    assert both.count("<tr>") == 3 and "two services" in both and "chosen" in both
    assert browser.get(f"{page}/noise?of=other").text.count("<tr>") == 0


def test_a_rehearsal_takes_few_people_and_one_shuffler():
    survey = services_plan().survey
    assert rehearsing.chosen({"people": "10"}, survey) == (10, 1)
    with pytest.raises(UsageError, match="9"):
        rehearsing.chosen({"people": "9"}, survey)
    with pytest.raises(UsageError, match="services cannot add noise"):
        rehearsing.chosen({"people": "60", "mixers": "2"}, survey)


def test_a_rehearsal_uses_the_plan_for_any_number_of_people(project):
    plan = services_plan()
    current = mock.Mock(plan=plan, state="current")
    with mock.patch.object(rehearsal, "plan_file", return_value=current):
        assert rehearsal._plan(project, plan.survey, 25) == (plan, True)


def test_both_kinds_are_compared_for_the_people_who_will_answer():
    asked = {"id": "a", "type": "yesno"}
    raw = {"name": "A", "people": {"invited": 450, "expected": 0.6}, "question": [asked]}
    devices = Survey.of(raw | {"privacy": {"epsilon": 2.0}})
    services = Survey.of(raw | {"privacy": {"epsilon": 2.0, "noise": "services"}})
    assert (devices.crowd, services.crowd) == (196, 270)
    assert with_noise(devices, "services").crowd == 270
    assert with_noise(services, "devices").crowd == 196  # the promise counts on no more
    stated = Survey.of(raw | {"crowd": 150, "privacy": {"epsilon": 2.0}})
    assert with_noise(stated, "services").crowd == 150
    few = Survey.of(
        raw | {"crowd": 15, "people": {"invited": 40, "expected": 0.5}, "privacy": {"epsilon": 2.0}}
    )
    assert with_noise(few, "services").crowd == 15
    assert noise_kinds(lambda _: None, devices) == noise_kinds(lambda _: None, services)
    kinds = {each.kind: each for each in noise_kinds(lambda _: None, devices)}
    plan = incrowd.plan(devices)
    (table,) = outlook(plan, devices.expected_answers).tables
    assert kinds["devices"].error == table.forecast.standard_error
