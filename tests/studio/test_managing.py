"""A survey is renamed, copied, put away, and deleted; nothing is lost that was not named."""

import html
import re
from types import SimpleNamespace

import pytest

from incrowd.studio.home import summaries
from incrowd.studio.managing import copied, parts_of
from incrowd.studio.projects import Project
from incrowd.studio.work import Job
from tests.conftest import run

SURVEY = """\
# Ours.
name = "Smoking"
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "smokes"
type = "yesno"
"""
PAGE = "/p/smoking/manage"


@pytest.fixture
def project(studio):
    return studio.projects.create("Smoking", SURVEY)


def put(project, *names):
    for name in names:
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def hidden(page, name):
    return html.unescape(re.search(f'name="{name}" value="([^"]*)"', page)[1])


class TestRenaming:
    def test_a_new_name_changes_one_line_and_can_be_undone(self, browser, project):
        form = {"seen": hidden(browser.get(PAGE).text, "seen"), "title": " Smoking & drinking "}
        assert browser.post(f"{PAGE}/rename", data=form).headers["location"] == "/"
        assert project.text() == SURVEY.replace('"Smoking"', '"Smoking & drinking"')
        assert "Smoking &amp; drinking" in browser.get("/").text
        assert project.undo() and project.text() == SURVEY

    def test_without_a_name_or_in_an_old_window_nothing_changes(self, browser, project):
        seen = hidden(browser.get(PAGE).text, "seen")
        assert browser.post(f"{PAGE}/rename", data={"seen": seen, "title": " "}).status_code == 422
        project.survey_path.write_text(SURVEY.replace("1000", "2000"))
        response = browser.post(f"{PAGE}/rename", data={"seen": seen, "title": "B"})
        assert response.status_code == 409 and '"Smoking"' in project.text()


class TestCopying:
    def test_a_copy_has_the_survey_and_nothing_else(self, browser, project, studio):
        put(project, "data.csv", "plan.json", "collector/private.key", "rehearsal/summary.json")
        answer = browser.post(f"{PAGE}/copy", data={"title": "Smoking again"})
        assert answer.headers["location"] == "/p/smoking-again/design"
        new = studio.projects.open("smoking-again")
        assert new.text() == SURVEY.replace('"Smoking"', '"Smoking again"')
        assert {each.name for each in new.path.iterdir()} == {"survey.toml", ".studio"}
        assert not new.undo()
        assert (project.path / "collector" / "private.key").exists()

    def test_a_copy_with_the_same_name_has_another_folder(self, browser, project, studio):
        browser.post(f"{PAGE}/copy", data={"title": "Smoking"})
        assert studio.projects.names() == ("smoking", "smoking-2")

    def test_lists_of_options_are_copied(self, project, studio):
        text = SURVEY.replace('"yesno"', '"choice"\noptions_file = "lists/towns.txt"')
        project.survey_path.write_text(text)
        put(project, "lists/towns.txt")
        (project.path / "lists" / "towns.txt").write_text("A\nB\n")
        new = copied(studio.projects, project, "New")
        assert (new.path / "lists" / "towns.txt").read_text() == "A\nB\n"
        assert new.survey().questions[0].options == project.survey().questions[0].options

    def test_files_outside_of_the_folder_are_not_copied(self, project, studio):
        text = SURVEY.replace('"yesno"', '"choice"\noptions_file = "../secret.txt"')
        project.survey_path.write_text(text)
        (studio.projects.folder / "secret.txt").write_text("A\nB\n")
        new = copied(studio.projects, project, "B")
        assert {each.name for each in new.path.iterdir()} == {"survey.toml", ".studio"}


class TestArchiving:
    def test_an_archived_survey_is_listed_apart_and_comes_back(self, browser, project, studio):
        before = {path: path.read_bytes() for path in project.path.rglob("*") if path.is_file()}
        browser.post(f"{PAGE}/archive", data={"archived": "yes"})
        assert [each.archived for each in summaries(studio.projects)] == [True]
        page = browser.get("/").text
        assert "Archived surveys: 1" in page and "Bring it back" in page
        assert all(path.read_bytes() == content for path, content in before.items())
        assert browser.get("/p/smoking/design").status_code == 200
        browser.post(f"{PAGE}/archive", data={"archived": "no"})
        assert [each.archived for each in summaries(studio.projects)] == [False]
        assert "Archived" not in browser.get("/").text


class TestDeleting:
    def test_what_is_lost_is_said_and_then_deleted(self, browser, project, studio):
        put(project, "data.csv", "plan.json", "notes.txt", "rehearsal/summary.json")
        put(project, "reports.reports")
        page = browser.get(f"{PAGE}/delete").text
        for each in ("data.csv", "notes.txt", "rehearsal", "reports.reports", "plan"):
            assert each in page
        assert "Private keys" not in page and 'name="keys"' not in page
        answer = browser.post(f"{PAGE}/delete", data={"shown": hidden(page, "shown")})
        assert answer.headers["location"] == "/"
        assert studio.projects.names() == () and [*studio.projects.folder.iterdir()] == []

    def test_nothing_is_deleted_without_the_page_that_says_what_is_lost(self, browser, project):
        assert browser.post(f"{PAGE}/delete").status_code == 409
        assert browser.get(f"{PAGE}/delete").status_code == 200
        assert project.text() == SURVEY

    @pytest.mark.parametrize("key", ["collector", "shuffler", "inviter", "codes.csv"])
    def test_keys_are_deleted_only_if_that_is_chosen(self, browser, project, key):
        put(project, key if "." in key else f"{key}/private.key")
        page = browser.get(f"{PAGE}/delete").text
        assert "Private keys" in page and key in page
        form = {"shown": hidden(page, "shown")}
        refused = browser.post(f"{PAGE}/delete", data=form)
        assert refused.status_code == 422 and "choose to delete" in refused.text
        assert (project.path / key).exists()
        browser.post(f"{PAGE}/delete", data=form | {"keys": "yes"})
        assert not project.path.exists()

    def test_keys_that_were_made_meanwhile_are_shown_first(self, browser, project):
        form = {"shown": hidden(browser.get(f"{PAGE}/delete").text, "shown"), "keys": "yes"}
        made = run("collector", "init", project.path / "collector")
        assert made.returncode == 0, made.stderr
        again = browser.post(f"{PAGE}/delete", data=form)
        assert again.status_code == 409 and "in the meantime" in again.text
        assert (project.path / "collector" / "private.key").exists()
        assert parts_of(project)[-1].is_key

    def test_a_survey_that_cannot_be_read_can_be_deleted(self, browser, project):
        project.survey_path.write_bytes(b"\xff")
        assert browser.get(PAGE).status_code == 200
        shown = hidden(browser.get(f"{PAGE}/delete").text, "shown")
        browser.post(f"{PAGE}/delete", data={"shown": shown})
        assert not project.path.exists()

    def test_a_link_is_removed_and_its_target_stays(self, studio, project, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        project.path.rename(elsewhere)
        project.path.symlink_to(elsewhere)
        studio.projects.remove("smoking")
        assert not project.path.exists() and Project(elsewhere).text() == SURVEY

    def test_jobs_of_the_survey_are_stopped_first(self, browser, project, studio):
        stopped = []
        studio.jobs.stop_within = stopped.append
        shown = hidden(browser.get(f"{PAGE}/delete").text, "shown")
        browser.post(f"{PAGE}/delete", data={"shown": shown})
        assert stopped == [project.path]

    def test_what_an_interrupted_deletion_leaves_is_swept(self, studio, project, monkeypatch):
        monkeypatch.setattr("incrowd.studio.projects.shutil.rmtree", lambda _: None)
        studio.projects.remove("smoking")
        assert studio.projects.names() == ()
        monkeypatch.undo()
        monkeypatch.setattr("incrowd.studio.projects.ABANDONED", -1.0)
        studio.projects.sweep()
        assert [*studio.projects.folder.iterdir()] == []


def test_the_jobs_of_one_project_are_stopped(studio, tmp_path):
    jobs = {}
    for name in ("a", "b"):
        jobs[name] = Job(process=SimpleNamespace(terminate=lambda: None))
        studio.jobs._jobs[tmp_path / name, "plan"] = jobs[name]
    studio.jobs.stop_within(tmp_path / "a")
    assert (jobs["a"].state, jobs["b"].state) == ("stopped", "running")
