"""The kit of interviews in the studio: made once, looked at, and saved."""

import io
import os
import re
import zipfile

import pytest

from tests.oracles.interview_studio import SURVEY

PATH = "/p/groups/kit"
ASKED = {"interviews": "4", "interviewers": "1", "language": "en"}


@pytest.fixture
def project(studio):
    return studio.projects.create("Groups", SURVEY)


@pytest.fixture
def make(browser, project):
    def making(**form):
        return browser.post(PATH, data=ASKED | form)

    return making


def test_a_kit_is_made_in_a_folder_and_every_file_can_be_saved(browser, project, make):
    assert 'value="300"' in browser.get(PATH).text  # the interviews that are expected
    assert make().status_code == 303
    page = browser.get(PATH).text
    files = {each.name for each in (project.path / "kit").iterdir()}
    assert "interview-sheets.html" in files and len(files) >= 6
    for name in files:
        saved = browser.get(f"{PATH}/kit/{name}?save=1")
        assert saved.content == (project.path / "kit" / name).read_bytes()
        assert saved.headers["content-disposition"].startswith("attachment")
        assert f"{PATH}/kit/{name}?save=1" in page
    archive = zipfile.ZipFile(io.BytesIO(browser.get(f"{PATH}/kit").content))
    assert {*archive.namelist()} == {f"kit/{name}" for name in files}


def test_pages_open_apart_from_the_studio(browser, make):
    """A page of the kit runs a script, but with no access to the studio or any network."""
    make()
    page = browser.get(f"{PATH}/kit/demonstration.html")
    policy = page.headers["content-security-policy"]
    assert "sandbox" in policy and "allow-same-origin" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.slow
def test_another_kit_gets_a_folder_of_its_own(browser, project, make):
    make()
    first = (project.path / "kit" / "interview-sheets.html").read_text()
    os.utime(project.path / "kit", (1, 1))
    make(language="de")
    page = browser.get(PATH).text
    assert page.index(f"{PATH}/kit-2/") < page.index(f"{PATH}/kit/")
    assert (project.path / "kit" / "interview-sheets.html").read_text() == first
    assert 'lang="de"' in (project.path / "kit-2" / "interview-sheets.html").read_text()


def test_a_kit_that_is_older_than_the_survey_is_marked(browser, project, make):
    make()
    assert "was changed afterward" not in browser.get(PATH).text
    os.utime(project.path / "kit", (1, 1))
    assert "was changed afterward" in browser.get(PATH).text


@pytest.mark.slow
def test_the_spreadsheet_of_the_kit_is_read_as_it_is(browser, project, make):
    pytest.importorskip("openpyxl")
    make()
    (path,) = (each for each in (project.path / "kit").iterdir() if each.suffix == ".xlsx")
    import openpyxl

    book = openpyxl.load_workbook(path)
    sheet = book.worksheets[0]
    header = next(row for row in sheet.iter_rows() if "armed" in [cell.value for cell in row])
    places = {cell.value: cell.column for cell in header}
    for row, (armed, paid) in enumerate((("yes", "never"), ("no", "once")), header[0].row + 1):
        sheet.cell(row, places["armed"], armed)
        sheet.cell(row, places["paid"], paid)
    content = io.BytesIO()
    book.save(content)
    answer = browser.post("/p/groups/answers", files={"file": (path.name, content.getvalue())})
    assert answer.status_code == 303
    page = browser.get("/p/groups/answers")
    assert page.status_code == 200, re.findall(r"<li>(.*)</li>", page.text)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"interviews": "many"}, "many"),
        ({"interviews": "2", "interviewers": "3"}, "3"),
        ({"language": "tlh"}, "tlh"),
        ({"interviews": "1000000"}, "10,000"),
    ],
)
def test_wrong_input_is_named_and_stays(project, make, form, said):
    page = make(**form)
    assert page.status_code == 422 and said in page.text
    assert not (project.path / "kit").exists()


@pytest.mark.parametrize("address", ["kit-9", "kit/dice.html", "kit/..%2F..%2Fsurvey.toml"])
def test_nothing_else_is_served(browser, make, address):
    make()
    assert browser.get(f"{PATH}/{address}").status_code in (404, 422)


def test_a_survey_with_mistakes_has_no_kit(browser, project, make):
    project.survey_path.write_text(SURVEY.replace('"1/6", no', '"1/7", no'))
    page = browser.get(PATH).text
    assert (
        "The survey has to be corrected first." in page
        and '<form method="post" action="/p/groups/kit"' not in page
    )
    assert make().status_code == 422
