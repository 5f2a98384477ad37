"""The history of a survey: every change in words, versions with names, and the way back."""

import html
import json
import re

import pytest

from incrowd.studio.document import SurveyDocument, version
from incrowd.studio.history import (
    KeptVersion,
    changes_between,
    kept_versions,
    lines_of_history,
    named_versions,
    save_name,
    version_of,
)
from incrowd.studio.operations import (
    AddQuestion,
    MoveQuestion,
    RemoveQuestion,
    SetQuestion,
    SetValue,
)

SURVEY = """\
# Ours.
name = "Smoking"
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "smokes"
type = "yesno"

[[question]]
id = "drinks"
type = "yesno"
"""
PAGE = "/p/smoking/history"


@pytest.fixture
def project(studio):
    return studio.projects.create("Smoking", SURVEY)


def edit(project, operation):
    return project.change(operation, expected=version(project.text())).after.version


def text_of(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def words(before, after):
    return [str(each) for each in changes_between(SurveyDocument(before), SurveyDocument(after))]


class TestWords:
    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            (SetValue(("crowd",), 2000), "crowd was 1000, and is now 2000."),
            (SetValue(("privacy", "delta"), 1e-6), "privacy.delta is now 1e-06."),
            (SetValue(("privacy",), None), "privacy was { epsilon = 1.0 }, and was removed."),
            (SetQuestion("smokes", {"text": "Do you?"}), 'smokes.text is now "Do you?".'),
            (AddQuestion({"id": "age", "type": "yesno"}), "Question age was added."),
            (RemoveQuestion("smokes"), "Question smokes was removed."),
            (MoveQuestion("smokes", 1), "The order was changed: drinks, smokes."),
        ],
    )
    def test_each_kind_of_change(self, project, change, expected):
        before = project.text()
        edit(project, change)
        (line,) = words(before, project.text())
        assert re.sub(r"\{ *", "{ ", re.sub(r" *\}", " }", line)) == expected

    def test_comments_and_texts_that_are_not_toml(self):
        assert words(SURVEY, SURVEY.replace("Ours", "Mine")) == [
            "Only comments or spaces were changed."
        ]
        assert "not a valid survey file" in words(SURVEY, "name =")[0]
        assert words(SURVEY, SURVEY) == []

    def test_a_long_value_is_shortened(self):
        (line,) = words(SURVEY, SURVEY.replace("Smoking", "x" * 5000))
        assert len(line) < 300 and line.endswith(" ….")

    def test_sections_and_matrices_are_named(self):
        text = SURVEY + '\n[[section]]\nid = "a"\ntitle = "A"\n\n[[matrix]]\nid = "m"\n'
        assert words(SURVEY, text) == ["Section a was added.", "Matrix m was added."]
        assert words(text, SURVEY) == ["Section a was removed.", "Matrix m was removed."]

    def test_the_first_questions_are_named(self):
        begun = SURVEY[: SURVEY.index("[[question]]")]
        assert words(begun, SURVEY) == ["Question smokes was added.", "Question drinks was added."]


class TestTheList:
    def test_it_says_when_and_what(self, browser, project):
        edit(project, SetValue(("crowd",), 2000))
        edit(project, RemoveQuestion("drinks"))
        page = text_of(browser.get(PAGE).text)
        last, middle, first = (
            page.index("drinks was removed"),
            page.index("crowd was 1000"),
            page.index("The survey was begun"),
        )
        assert last < middle < first
        assert page.count("the survey as it is now") == 2  # once in the explanation above

    def test_the_current_one_is_marked_after_undo(self, project):
        edit(project, SetValue(("crowd",), 2000))
        project.undo()
        listed = lines_of_history([*kept_versions(project)], project.current_version())
        assert [each.is_current for each in listed] == [False, True]

    def test_many_versions_are_listed_in_part_and_on_request_as_a_whole(self, browser, project):
        for number in range(1, 61):
            text = SURVEY.replace("1000", f"{2000 + number}")
            (project.hidden / "versions" / f"{number:06}.toml").write_text(text)
        project.survey_path.write_text(text)
        (project.hidden / "position").write_text("60")
        page = browser.get(PAGE).text
        assert page.count("<li class=") == 50 and "Show all 61 versions" in page
        assert "was begun" not in page  # the last of the list is not the first version
        every = browser.get(f"{PAGE}?all=1").text
        assert every.count("<li class=") == 61 and "was begun" in every

    def test_german(self, browser, project):
        edit(project, SetValue(("crowd",), 2000))
        page = text_of(browser.get(PAGE, headers={"Accept-Language": "de"}).text)
        assert "crowd war 1000 und ist jetzt 2000." in page

    def test_the_design_leads_here(self, browser, project):
        assert f'href="{PAGE}"' in browser.get("/p/smoking/design").text


class TestNames:
    def name(self, browser, of, label):
        return browser.post(f"{PAGE}/{of}/name", data={"label": label})

    def test_a_version_gets_a_name_and_loses_it(self, browser, project):
        first = version(SURVEY)
        browser.get(PAGE)
        assert self.name(browser, first, " Sent to  the <board> ").status_code == 303
        assert [each.label for each in named_versions(project)] == ["Sent to the <board>"]
        assert "Sent to the &lt;board&gt;" in browser.get(PAGE).text
        assert "Sent to the &lt;board&gt;" in browser.get(f"{PAGE}/{first}").text
        self.name(browser, first, "")
        assert named_versions(project) == [] and "board" not in browser.get(PAGE).text

    def test_a_named_version_survives_an_edit_after_undo(self, browser, project):
        wanted = edit(project, SetValue(("crowd",), 2000))
        unnamed = edit(project, SetValue(("crowd",), 3000))
        self.name(browser, wanted, "Good")
        project.undo()
        project.undo()
        edit(project, SetValue(("crowd",), 4000))
        assert browser.get(f"{PAGE}/{unnamed}").status_code == 422
        assert "crowd = 2000" in version_of(project, wanted).document.text
        answer = browser.post(f"{PAGE}/{wanted}/restore", data={"seen": version(project.text())})
        assert answer.status_code == 303 and "crowd = 2000" in project.text()

    def test_a_name_is_private_and_a_damaged_one_hides_nothing(self, project):
        kept = next(kept_versions(project))
        save_name(project, kept, "A")
        (path,) = (project.hidden / "named").iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        (path.parent / "broken.json").write_text(json.dumps({"label": 1}))
        (path.parent / "no.json").write_text("{")
        assert [each.label for each in named_versions(project)] == ["A"]

    @pytest.mark.parametrize("wanted", ["0" * 64, "..", "x.json"])
    def test_an_unknown_version_is_refused(self, browser, project, wanted):
        for path in (wanted, f"{wanted}/name", f"{wanted}/restore"):
            send = browser.get if path == wanted else browser.post
            assert send(f"{PAGE}/{path}").status_code in (404, 405, 422)
        assert project.text() == SURVEY and not (project.hidden / "named").exists()


class TestRestoring:
    def test_an_old_version_becomes_the_newest(self, browser, project):
        edit(project, SetValue(("crowd",), 2000))
        edit(project, RemoveQuestion("drinks"))
        page = browser.get(f"{PAGE}/{version(SURVEY)}").text
        assert "crowd was 2000, and is now 1000." in text_of(page)
        assert "Question drinks was added." in text_of(page)
        seen = re.search('name="seen" value="([0-9a-f]+)"', page)[1]
        answer = browser.post(f"{PAGE}/{version(SURVEY)}/restore", data={"seen": seen})
        assert answer.headers["location"] == "/p/smoking/design"
        assert project.text() == SURVEY and len([*kept_versions(project)]) == 4
        assert project.undo() and "drinks" not in project.text()

    def test_in_an_old_window_nothing_is_restored(self, browser, project):
        seen = version(project.text())
        edit(project, SetValue(("crowd",), 2000))
        answer = browser.post(f"{PAGE}/{seen}/restore", data={"seen": seen})
        assert answer.status_code == 409 and "crowd = 2000" in project.text()

    def test_the_current_one_is_not_restored(self, browser, project):
        assert "/restore" not in browser.get(f"{PAGE}/{version(SURVEY)}").text

    def test_a_published_survey_is_not_changed(self, browser, project):
        edit(project, SetValue(("crowd",), 2000))
        (project.path / "collector").mkdir()
        (project.path / "collector" / "bundle.json").write_bytes(b"")
        page = browser.get(f"{PAGE}/{version(SURVEY)}").text
        assert "/restore" not in page and "can no longer be changed" in page
        form = {"seen": version(project.text())}
        assert browser.post(f"{PAGE}/{version(SURVEY)}/restore", data=form).status_code == 422
        assert "crowd = 2000" in project.text()
        assert "/rename" not in browser.get("/p/smoking/manage").text


def test_a_kept_version_knows_its_digest(project):
    kept = next(kept_versions(project))
    assert isinstance(kept, KeptVersion) and kept.version == version(SURVEY)
