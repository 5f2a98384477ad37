"""A German studio shows German errors; an English one shows English ones."""

import errno
import html
import re

import pytest

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.errors import FileDigest, Place, Problem, UsageError
from incrowd.studio.names import renamed, within
from incrowd.studio.pages import lines
from tests.messages.grammar import ENGLISH
from tests.studio.conftest import fields

GERMAN = {"Accept-Language": "de"}
SURVEY = """\
name = "Work"
crowd = 1000
privacy = { epsilon = 1.0 }

[[question]]
id = "smokes"
type = "yesno"
"""
MISTAKEN = SURVEY.replace("yesno", "maybe").replace("1000", '"many"')


def shown(page):
    """The problems on a page."""
    texts = re.findall(r'<li>(.*?)</li>|<span class="warn fault">(.*?)</span>', page)
    return [html.unescape(one or other) for one, other in texts]


def import_of(browser, name, content):
    return lambda **more: browser.post("/import", files={"file": (name, content)}, **more)


def design_of(browser, studio):
    project = studio.projects.create("Mistaken", SURVEY)
    project.survey_path.write_text(MISTAKEN)
    return lambda **more: browser.get(f"/p/{project.name}/design?open=smokes", **more)


def precision_of(browser, studio):
    project = studio.projects.create("Work", SURVEY)
    page = browser.get(f"/p/{project.name}/precision").text
    typed = fields(page) | {"margin": "2", "crowd": "many"}
    return lambda **more: browser.post(f"/p/{project.name}/precision/keep", data=typed, **more)


def margin_of(browser, studio):
    project = studio.projects.create("Wide", SURVEY)
    typed = fields(browser.get(f"/p/{project.name}/precision").text) | {"margin": "wide"}
    return lambda **more: browser.post(f"/p/{project.name}/precision/people", data=typed, **more)


REQUESTS = {
    "a mistaken survey": (design_of, "crowd: got 'many'", "crowd: "),
    "a refused file": (
        lambda browser, _: import_of(browser, "a.toml", "name = 'ä'".encode("latin-1")),
        "a.toml: is not UTF-8; save it as UTF-8",
        "a.toml: ist nicht in UTF-8; speichern Sie die Datei als UTF-8",
    ),
    "a file of no format": (
        lambda browser, _: import_of(browser, "a.png", b"\x89PNG\r\n\x1a\n" + bytes(99)),
        "answers: got 'a.png'; ",
        "answers: ",
    ),
    "a wrong value of precision": (precision_of, "crowd: got 'many'", "crowd: "),
    "a wrong margin": (
        margin_of,
        "margin: got 'wide'; should be a number of points, such as 2",
        "margin: angegeben ist 'wide'; nötig ist eine Zahl von Prozentpunkten, etwa 2",
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_errors_are_in_the_language_of_the_studio(browser, studio, name):
    prepare, english, german = REQUESTS[name]
    request = prepare(browser, studio)
    said, *_ = [each for each in shown(request().text) if english in each]
    translated = shown(request(headers=GERMAN).text)
    assert said not in translated
    twin, *_ = [each for each in translated if german in each]
    assert not ENGLISH.search(twin), twin


def test_a_full_disk_is_said_in_german():
    (text,) = lines(OSError(errno.ENOSPC, "No space left on device", "survey.toml"), "de")
    assert text.startswith("survey.toml: auf dem Gerät ist kein Speicherplatz mehr verfügbar; ")


def test_a_problem_names_files_as_the_person_knows_them(tmp_path):
    inner = sentence("shared.use-one-of", value=tmp_path / "a.csv", choices=[f"{tmp_path}/b"])
    digest = FileDigest("00" * 16)
    problem = Problem(
        (f"{tmp_path}/a.csv", Place("row", 5)), "survey.unfit", value=digest, reason=inner
    )
    known = within(problem, tmp_path)
    assert known.path == ("a.csv", Place("row", 5))
    assert known.arguments["value"] == digest
    reason = known.arguments["reason"]
    assert isinstance(reason, Sentence)
    assert reason.arguments == {"value": "a.csv", "choices": ["b"]}
    other = renamed(known, lambda name: "answers.csv" if name == "a.csv" else name)
    assert str(UsageError(other)).startswith("answers.csv, row 5: ")
