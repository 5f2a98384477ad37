"""The first page: how far each survey is, what to do next, and ways to begin."""

import html
import os
import re
import time
import tomllib
from datetime import UTC, datetime, timedelta

import pytest

import incrowd
from incrowd.collection.protocol.bundle import as_time
from incrowd.drafts import ready_surveys as ready_texts
from incrowd.guarantees.strength import strength
from incrowd.reports.folder import ENDING
from incrowd.studio import rehearsal, stages
from incrowd.studio.home import chosen, summaries
from incrowd.studio.language import day, in_language
from incrowd.studio.ready_surveys import EXAMPLES, READY_SURVEYS, begun
from incrowd.studio.stages import NEXT, STAGES, stage_of
from incrowd.survey import Survey
from incrowd.survey.surveys import survey_in
from tests.conftest import one_in
from tests.oracles.make_vectors import INVITED

SURVEY = """\
name = "Smoking & <drinking>"
crowd = 1000

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "smokes"
type = "yesno"
"""
OPENS, CLOSES = as_time(INVITED.opens), as_time(INVITED.closes)
SECOND = timedelta(seconds=1)


@pytest.fixture
def project(studio):
    return studio.projects.create("Smoking", SURVEY)


@pytest.fixture
def published(project):
    """A survey whose bundle is here; which plan it has does not matter for the list."""
    (project.path / "collector").mkdir()
    (project.path / "collector" / "bundle.json").write_bytes(INVITED.encoded)
    return project


def stage(project, now=None):
    return stage_of(project, project.survey(), now)


def text_of(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


class TestStages:
    def test_a_survey_is_a_draft_until_its_plan_is_there(self, project):
        assert stage(project).name == "draft"
        project.plan_path.write_text(incrowd.plan(project.survey()).dumps())
        assert stage(project).name == "certified"
        project.survey_path.write_text(SURVEY.replace("1000", "2000"))
        assert stage(project).name == "draft"

    def test_a_rehearsed_survey_is_to_be_published(self, project):
        project.plan_path.write_text(incrowd.plan(project.survey()).dumps())
        assert stage(project).next.step == "publish/rehearsal"
        (project.path / "rehearsal").mkdir()
        summary = project.path / "rehearsal" / "summary.json"
        summary.write_text("{}")
        os.utime(summary, (0, 86_400 * 365))
        assert stage(project).next.step == "publish"
        assert stage(project).rehearsed == datetime(1971, 1, 1, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("now", "name", "since"),
        [
            (OPENS - SECOND, "scheduled", OPENS),
            (OPENS, "collecting", OPENS),
            (CLOSES - SECOND, "collecting", OPENS),
            (CLOSES, "closed", CLOSES),
        ],
    )
    def test_a_published_survey_is_collecting_between_two_times(self, published, now, name, since):
        assert (stage(published, now).name, stage(published, now).since) == (name, since)

    def test_an_opened_release_is_released(self, published):
        (published.path / "collector" / "opened" / "release-1").mkdir(parents=True)
        assert stage(published, OPENS).name == "released"
        assert stage(published).next.step == "results"

    def test_reports_without_a_collection_can_be_read(self, project):
        (project.path / f"reports{ENDING}").write_bytes(b"")
        assert stage(project).name == "answered"

    def test_a_damaged_bundle_is_named_with_its_reason(self, published, browser):
        (published.path / "collector" / "bundle.json").write_bytes(b"{}")
        assert stage(published).name == "broken"
        assert str(stage(published).problem) in text_of(browser.get("/").text)

    def test_each_stage_leads_to_a_page_that_exists(self, browser, project):
        assert NEXT.keys() == STAGES.keys()
        for each in NEXT.values():
            assert browser.get(f"/p/smoking/{each.step}").status_code == 200


class TestTheList:
    def test_a_line_says_how_far_a_survey_is(self, browser, published, monkeypatch):
        monkeypatch.setattr(stages, "system", lambda: CLOSES + SECOND)
        (published.path / "publication.toml").write_text("invitations = 1200\n")
        page = text_of(browser.get("/").text)
        assert "Smoking & <drinking>" in page
        assert f"Closed since {day(CLOSES, 'en')}" in page
        assert "1 question · 1,200 people invited · 1,000 answers expected" in page
        assert f"changed on {day(datetime.now(UTC), 'en')}" in page

    def test_who_is_invited_and_how_many_will_answer(self, browser, studio):
        people = '[people]\ninvited = 450\nexpected = "60%"\n\n[privacy]'
        text = SURVEY.replace("crowd = 1000\n", "").replace("[privacy]", people)
        studio.projects.create("A", text)
        assert "450 people invited · 270 answers expected" in text_of(browser.get("/").text)

    def test_a_broken_survey_is_listed_with_the_reason(self, browser, studio):
        studio.projects.create("A", SURVEY.replace('"yesno"', '"never"'))
        studio.projects.create("B", "name = ")
        page = text_of(browser.get("/").text)
        assert page.count("Needs a correction") == 2
        assert "never" in page and "is not TOML" in page

    def test_a_survey_without_questions_is_only_unfinished(self, browser):
        browser.post("/new", data={"title": "New"})
        page = text_of(browser.get("/").text)
        assert "No questions yet" in page and "Add questions" in page
        assert "Needs a correction" not in page

    @pytest.mark.parametrize("people", ["crowd = 100\n", "[people]\ninvited = 450\n"])
    def test_a_survey_is_unfinished_whatever_it_states_about_people(self, studio, people):
        studio.projects.create("A", f'name = "A"\n{people}')
        assert [each.stage.name for each in summaries(studio.projects)] == ["empty"]

    def test_many_surveys_can_be_searched_and_sorted(self, browser, studio):
        for number in range(15):
            text = SURVEY.replace("Smoking & <drinking>", f"Survey {number:02}")
            project = studio.projects.create(f"Survey {number:02}", text)
            os.utime(project.survey_path, (time.time() - number * 1000,) * 2)
        titles = re.compile(r"<h3><a[^>]*>(Survey \d+)")
        assert titles.findall(browser.get("/").text) == [f"Survey {n:02}" for n in range(15)]
        found = titles.findall(browser.get("/?q=survey+4&order=title").text)
        with_4 = [f"Survey {number:02}" for number in range(15) if "4" in f"{number:02}"]
        assert found == with_4
        assert titles.findall(browser.get("/?order=nonsense").text)[0] == "Survey 00"

    @pytest.mark.slow
    def test_fifty_certified_surveys_are_listed_quickly(self, studio):
        plan = incrowd.plan(Survey.of(tomllib.loads(SURVEY))).dumps()
        for number in range(50):
            studio.projects.create(f"S {number}", SURVEY).plan_path.write_text(plan)
        summaries(studio.projects)
        began = time.process_time()
        assert {each.stage.name for each in summaries(studio.projects)} == {"certified"}
        assert time.process_time() - began < 1.5

    def test_a_release_is_a_change(self, studio, published):
        for path in published.path.rglob("*"):
            os.utime(path, (0, 0))
        release = published.path / "collector" / "opened" / "release-1"
        release.mkdir(parents=True)
        os.utime(release, (86_400 * 365,) * 2)
        for folder in ("collector/opened", "collector", "."):
            os.utime(published.path / folder, (0, 0))
        (line,) = summaries(studio.projects)
        assert line.changed == datetime(1971, 1, 1, tzinfo=UTC)

    def test_a_survey_is_found_by_its_folder_as_well(self, studio, project):
        every = summaries(studio.projects)
        assert chosen(every, "DRINK", "title") == every == chosen(every, "smoking", "stage")
        assert chosen(every, "drink tea", "title") == []


class TestBeginning:
    def test_an_empty_folder_says_what_incrowd_is_and_how_to_begin(self, browser):
        page = browser.get("/").text
        assert "asks many people a sensitive question" in page
        for each in EXAMPLES:
            assert f'value="{each.name}"' in page
        german = browser.get("/", headers={"Accept-Language": "de"}).text
        assert "Ihre erste Umfrage" in german and "Neu hier?" in german

    def test_an_empty_survey_has_the_language_of_the_studio(self, browser, studio):
        browser.post("/new", data={"title": "A"}, headers={"Accept-Language": "de"})
        browser.post("/new", data={"title": "B"})
        texts = [studio.projects.open(name).text() for name in ("a", "b")]
        assert 'language = "de"' in texts[0] and "language" not in texts[1]

    @pytest.mark.parametrize("ready", READY_SURVEYS, ids=lambda each: each.name)
    @pytest.mark.parametrize("language", ["en", "de"])
    def test_one_click_opens_a_ready_survey_in_the_language(self, browser, studio, ready, language):
        headers = {"Accept-Language": language}
        answer = browser.post("/ready", data={"survey": ready.name}, headers=headers)
        (name,) = studio.projects.names()
        assert answer.headers["location"] == f"/p/{name}/design"
        survey = studio.projects.open(name).survey()
        assert survey.language == language
        assert survey.name == in_language(ready.title, language)
        assert {*survey.questions[0].text} == {"en", "de"}

    def test_a_template_gets_a_name(self, browser, studio):
        browser.post("/ready", data={"survey": "students", "title": " Chemistry "})
        (name,) = studio.projects.names()
        assert name == "chemistry" and studio.projects.open(name).survey().name == "Chemistry"

    def test_an_unknown_template_is_refused(self, browser, studio):
        answer = browser.post("/ready", data={"survey": "../health"})
        assert answer.status_code == 422 and studio.projects.names() == ()

    @pytest.mark.parametrize("ready", READY_SURVEYS, ids=lambda each: each.name)
    def test_every_text_is_in_both_languages_and_comments_explain(self, ready):
        content = ready.document().content
        assert ready.document().text.startswith("# ")
        worded = [*content["question"], *content.get("matrix", ()), content.get("page", {})]
        for table in worded:
            labels = table.get("labels", {}).values()
            for words in (*labels, *(table[k] for k in ("text", "help", "consent") if k in table)):
                assert {*words} == {"en", "de"} and words["en"] != words["de"]

    @pytest.mark.parametrize("ready", one_in(3, READY_SURVEYS), ids=lambda each: each.name)
    def test_a_ready_survey_is_certified_for_its_people(self, ready, tmp_path):
        survey = survey_in(ready.document().content, tmp_path)
        guarantee = incrowd.plan(survey).guarantee
        assert guarantee.epsilon <= survey.privacy.epsilon <= 2
        assert strength(guarantee) in ("strong", "moderate")
        if survey.privacy.noise == "services":
            assert guarantee.crowd is None
        else:
            assert guarantee.crowd == survey.crowd
            assert survey.people is None or survey.crowd < survey.people.answering(
                survey.people.invited
            )
            assert survey.privacy.local_epsilon <= 8

    @pytest.mark.slow
    @pytest.mark.parametrize("ready", READY_SURVEYS, ids=lambda each: each.name)
    def test_a_ready_survey_can_be_rehearsed(self, ready, studio):
        project = studio.projects.create("A", begun(ready, "A", "de"))
        people = rehearsal.usual_people(project.survey())
        rehearsal.run(lambda _: None, project.path, people, 1)
        assert stage(project).rehearsed is not None

    def test_the_text_keeps_its_comments(self):
        text = begun(READY_SURVEYS[1], 'The "best" company', "de")
        assert "# no sample of a larger group" in text and 'language = "de"' in text
        assert tomllib.loads(text)["name"] == 'The "best" company'

    def test_every_file_is_listed(self):
        folder = os.path.join(os.path.dirname(ready_texts.__file__), "ready")
        assert {f"{each.name}.toml" for each in READY_SURVEYS} == {*os.listdir(folder)}
