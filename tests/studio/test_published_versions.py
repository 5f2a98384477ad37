"""A published survey is locked; a new version of it is a project of its own."""

import html
import tomllib

import pytest

from incrowd.errors import UsageError
from incrowd.studio.document import version
from incrowd.studio.operations import SetValue
from incrowd.studio.publication import Publication, load_publication, save_publication
from incrowd.studio.published_versions import new_title, versions_of
from tests.oracles import locked_survey

LOCKED = "is published and can no longer be changed; start a new version of it"
DESIGN = "/p/smoking/design"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def project(studio):
    """A survey with a bundle, as the steps of the page leave it."""
    return locked_survey.published_survey(studio.projects)


def edits(seen):
    """Requests that change a survey: where to, and what is sent."""
    design = {
        "survey": {"name": "Drinking"},
        "add": {"type": "yesno", "text": "Do you drink?"},
        "order": {"remove": "smokes"},
        "set": {"of": "smokes", "short_name": "smokes", "type": "yesno", "text.en": "Really?"},
        "page": {"consent.en": "I agree.", "tags": "en"},
        "text": {"toml": 'name = "x"'},
        "undo": {},
        "redo": {},
        "decide": {"of": "smokes", "answer": "answer", "code": "9"},
    }
    forms = [(DESIGN, {"do": do, "seen": seen, **fields}) for do, fields in design.items()]
    precision = [
        ("/p/smoking/precision/keep", {"seen": seen, "crowd": "2000"}),
        ("/p/smoking/precision/undo", {"seen": seen}),
        ("/p/smoking/precision/apply", {"seen": seen, "kind": "drop", "drop-chosen": "drinks"}),
    ]
    others = [
        ("/p/smoking/question-bank", {"item": "yes-no"}),
        ("/p/smoking/manage/rename", {"title": "Drinking", "seen": seen}),
        (f"/p/smoking/history/{seen}/restore", {"seen": seen}),
    ]
    return [*forms, *precision, *others]


def test_every_edit_is_refused_and_says_why(browser, project):
    text = project.text()
    for path, fields in edits(version(text)):
        answer = browser.post(path, data=fields, headers=HTMX)
        assert answer.status_code == 422 and LOCKED in answer.text, (path, fields)
    assert project.text() == text


def test_before_publication_no_edit_is_refused_for_this_reason(browser, studio):
    project = studio.projects.create("Smoking", locked_survey.SURVEY)
    for path, fields in edits(version(project.text())):
        assert LOCKED not in browser.post(path, data=fields).text, (path, fields)


@pytest.mark.parametrize("page", ["design", "precision", "publish"])
def test_the_pages_show_that_it_is_locked(browser, project, page):
    text = html.unescape(browser.get(f"/p/smoking/{page}").text)
    assert "This survey is published and can no longer be changed." in text
    assert 'action="/p/smoking/new-version"' in text
    if page != "publish":
        assert '<fieldset class="whole" disabled>' in text


def test_an_edit_of_the_file_elsewhere_is_said_and_can_be_undone(browser, project):
    assert "was changed outside" not in browser.get(DESIGN).text
    project.survey_path.write_text(project.text().replace("Do you smoke?", "Did you ever smoke?"))
    assert "was changed outside of the studio" in browser.get(DESIGN).text
    assert browser.post("/p/smoking/restore").status_code == 303
    assert project.text() == locked_survey.SURVEY
    assert "was changed outside" not in browser.get(DESIGN).text
    project.survey_path.write_text("[")
    assert "was changed outside of the studio" in browser.get(DESIGN).text
    assert browser.post("/p/smoking/restore").status_code == 303
    assert project.text() == locked_survey.SURVEY


def test_a_comment_in_the_file_is_no_change_of_the_survey(browser, project):
    project.survey_path.write_text(project.text() + "# for the archive\n")
    assert "was changed outside" not in browser.get(DESIGN).text


def test_the_people_who_are_invited_are_no_change_of_the_survey(browser, studio):
    """Plans do not contain their number."""
    invited = locked_survey.SURVEY.replace(
        "crowd = 1000", "people = { invited = 90, expected = 0.6 }\ncrowd = 30"
    )
    project = studio.projects.create(
        "Invited", invited.replace('options_file = "drinks.txt"', 'options = ["tea", "coffee"]')
    )
    locked_survey.publish(project, invitations=90)
    assert "was changed outside" not in browser.get("/p/invited/design").text
    text = project.text()
    project.survey_path.write_text(text.replace("Do you smoke?", "Did you ever smoke?"))
    assert "was changed outside of the studio" in browser.get("/p/invited/design").text
    assert browser.post("/p/invited/restore").status_code == 303
    assert project.text() == text


def test_what_is_not_known_cannot_be_restored(browser, project):
    for path in (project.hidden / "versions").iterdir():
        path.unlink()
    project.survey_path.write_text("[")
    answer = browser.post("/p/smoking/restore")
    assert answer.status_code == 422 and "no longer has the published text" in answer.text


def test_a_new_version_has_texts_and_expectations_and_can_be_edited(browser, studio, project):
    publication, _ = load_publication(project)
    assert publication.introduction == "Thank you." and publication.period
    answer = browser.post("/p/smoking/new-version")
    assert answer.headers["location"] == "/p/smoking-version-2/design"
    new = studio.projects.open("smoking-version-2")
    before, after = tomllib.loads(project.text()), tomllib.loads(new.text())
    assert after == {**before, "name": "Smoking, version 2"}
    assert "# a comment" in new.text()
    assert (new.path / "drinks.txt").read_text() == (project.path / "drinks.txt").read_text()
    assert load_publication(new)[0] == Publication(
        here=publication.here, organizations=publication.organizations, introduction="Thank you."
    )
    assert not new.is_published and sorted(each.name for each in new.path.iterdir()) == [
        ".studio",
        "drinks.txt",
        "publication.toml",
        "survey.toml",
    ]
    new.change(SetValue(("crowd",), 2000), expected=version(new.text()))
    assert "A new version of:" in browser.get("/p/smoking-version-2/design").text
    assert 'href="/p/smoking-version-2/design">Smoking, version 2</a>' in browser.get(DESIGN).text
    assert versions_of(studio.projects, project).newer == (new,)
    assert versions_of(studio.projects, new).former == project


def test_versions_are_numbered(studio, project):
    projects = studio.projects
    assert new_title(projects, "Smoking", "de") == "Smoking, Version 2"
    assert new_title(projects, "Smoking, version 2", "en") == "Smoking, version 3"
    assert new_title(projects, "Smoking, edition 2", "en") == "Smoking, edition 2, version 2"
    projects.create("Smoking, version 2", 'name = "Smoking, version 2"')
    assert new_title(projects, "Smoking", "en") == "Smoking, version 3"


def test_choices_that_cannot_be_read_are_not_taken(browser, studio, project):
    (project.path / "publication.toml").write_text("mixers = 3")
    browser.post("/p/smoking/new-version")
    new = studio.projects.open("smoking-version-2")
    assert not (new.path / "publication.toml").exists()


def test_a_version_of_a_survey_that_is_gone_is_a_survey_like_others(browser, studio, project):
    browser.post("/p/smoking/new-version")
    new = studio.projects.open("smoking-version-2")
    for name in ("gone", "../smoking", ""):
        (new.hidden / "former").write_text(name)
        assert versions_of(studio.projects, new).former is None
    (new.hidden / "former").write_bytes(b"\xff")
    assert new.former == ""


def test_a_bundle_that_cannot_be_read_locks_as_well(browser, project):
    (project.path / "collector" / "bundle.json").write_bytes(b"{}")
    (project.path / "shuffler" / "bundle.json").write_bytes(b"{}")
    with pytest.raises(UsageError):
        project.change(SetValue(("crowd",), 2), expected=version(project.text()))
    assert "was changed outside" not in browser.get(DESIGN).text


def test_choices_can_still_be_saved(project):
    publication, at = load_publication(project)
    page = {"survey_page": "https://survey.example", "organizations": {"shuffler": "Uni"}}
    save_publication(project, publication.model_copy(update=page), at)
