"""Answers of interviews in the studio: a file is added, read, and shown; nothing is lost."""

import os
import tomllib

import pytest

from incrowd.interviews.answers import InterviewAnswers
from incrowd.studio.document import version
from tests.oracles.interview_studio import SURVEY

PATH = "/p/groups/answers"
GOOD = "armed,paid,age,village\n" + "yes,never,31,A\nno,once,,B\n,often,40,A\nno,never,99,B\n" * 20


@pytest.fixture
def project(studio):
    return studio.projects.create("Groups", SURVEY)


@pytest.fixture
def add(browser, project):
    """Add a file; return the page afterward."""

    def adding(content, name="typed.csv", **fields):
        answer = browser.post(PATH, files={"file": (name, content)}, data=fields)
        return browser.get(PATH) if answer.status_code == 303 else answer

    return adding


def test_what_was_read_is_shown_and_written_for_the_commands(add, project):
    page = add(GOOD)
    assert page.status_code == 200
    for text in ("What arrived in 80 interviews", "16.7 to 83.3", "village", "31 to 99"):
        assert text in page.text
    answers = InterviewAnswers.load(project.path / "interviews.parquet")
    assert answers.people == 80 and (answers.reports["armed"] == -1).sum() == 20


def test_mistakes_are_named_by_row_and_column_and_the_file_stays(add, project):
    page = add("armed,paid\nyes,never\nperhaps,once\n")
    assert page.status_code == 422
    assert "row 2, armed: got &#39;perhaps&#39;" in page.text
    assert (project.path / "answers.csv").read_text().endswith("perhaps,once\n")
    assert not (project.path / "interviews.parquet").exists()


def test_a_wrong_file_is_refused_and_the_right_one_stays(add, project):
    add(GOOD)
    page = add(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), name="photo.csv")
    assert page.status_code == 422 and "photo.csv" in page.text
    assert "What arrived in 80 interviews" in page.text
    assert project.typed_answers.name == "answers.csv"
    nothing = add("", name="")
    assert nothing.status_code == 422


@pytest.mark.slow
def test_another_file_does_not_replace_an_earlier_one(add, project):
    add(GOOD)
    os.utime(project.path / "answers.csv", (1, 1))
    page = add("armed,paid\nyes,never\nno,once\n", name="Second.TSV")
    assert "answers.tsv" in page.text and "What arrived in 2 interviews" in page.text
    page = add("armed,paid\nyes,never\n" * 1, name="third.csv")
    assert "answers-2.csv" in page.text
    assert (project.path / "answers.csv").read_text() == GOOD


def test_what_was_not_read_as_usual_is_said(browser, add):
    page = add(GOOD.replace("yes,never,31", "NA,never,31"))
    assert page.status_code == 200 and "20 &#39;NA&#39; in armed" in page.text
    german = browser.get(PATH, headers={"Accept-Language": "de"}).text
    assert "fehlende Werte" in german and "read as missing" not in german


def test_answers_are_private(add, project):
    add(GOOD)
    assert project.typed_answers.stat().st_mode & 0o077 == 0


def test_columns_and_codes_are_written_into_the_survey(browser, add, project):
    add(GOOD)
    data = {"seen": version(project.text()), "cluster": "village", "missing": "99, 98"}
    assert browser.post(f"{PATH}/columns", data=data).status_code == 303
    columns = tomllib.loads(project.text())["columns"]
    assert columns == {"cluster": "village", "missing": ["99", "98"]}
    page = browser.get(PATH).text
    assert "31 to 40" in page and "31 to 99" not in page
    data = {"seen": version(project.text()), "cluster": "", "missing": ""}
    browser.post(f"{PATH}/columns", data=data)
    assert project.text() == SURVEY


def test_columns_of_another_window_are_refused(browser, add, project):
    add(GOOD)
    seen = version(project.text())
    project.survey_path.write_text(SURVEY.replace("300", "400"))
    data = {"seen": seen, "cluster": "village", "missing": ""}
    answer = browser.post(f"{PATH}/columns", data=data)
    assert answer.status_code == 409 and "400" in answer.text
    assert "columns" not in project.text()


def test_answers_follow_the_survey(browser, add, project):
    """They are read again if the design has changed, and not if nothing has."""
    add(GOOD)
    written = project.path / "interviews.parquet"
    before = written.stat().st_mtime_ns
    browser.get(PATH)
    assert written.stat().st_mtime_ns == before
    other = SURVEY.replace('yes = "1/6", no = "1/6"', 'yes = "2/6", no = "1/6"')
    project.survey_path.write_text(other)
    assert "33.3 to 83.3" in browser.get(PATH).text
    assert InterviewAnswers.load(written).survey.item("armed").design.ratio == 4  # (4/6) / (1/6)


def test_answers_of_the_command_are_shown(browser, studio, add, project):
    add(GOOD)
    other = studio.projects.create("Other", SURVEY)
    (project.path / "interviews.parquet").rename(other.path / "interviews.parquet")
    assert "What arrived in 80 interviews" in browser.get("/p/other/answers").text


def test_a_survey_with_mistakes_comes_first(browser, add, project):
    add(GOOD)
    project.survey_path.write_text(SURVEY.replace('"1/6", no', '"1/7", no'))
    page = browser.get(PATH)
    assert page.status_code == 422
    assert "The survey has to be corrected first." in page.text
    assert 'href="/p/groups/interview"' in page.text
