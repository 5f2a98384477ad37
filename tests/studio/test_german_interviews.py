"""No page of German interviews has an English sentence."""

import pytest

from tests.conftest import one_in
from tests.oracles.german_pages import english_in, texts_of_page

SURVEY = """\
name = "Gruppen"
language = "de"

[device]
kind = "die"

[groups]
codes = ["1", "2"]

[columns]
group = "gruppe"

[[question]]
id = "bewaffnet"
type = "yesno"
text = "Haben Sie mit einer bewaffneten Gruppe gearbeitet?"
designs = [
  { kind = "forced", yes = "1/6", no = "1/6" },
  { kind = "crosswise", p = "1/6", statement = "Meine Mutter hat im Mai Geburtstag." },
]
"""
ANSWERS = "gruppe,bewaffnet,alter\n" + "1,ja,31\n2,gleich,40\n1,nein,22\n2,verschieden,55\n" * 20
PAGES = (
    "interview?open=bewaffnet",
    "kit",
    "answers",
    "report",
    "report?view=regress&outcome=bewaffnet&on=alter",
    "report?view=sensitivity&question=bewaffnet",
    "precision",
    "report?view=honesty",
)


@pytest.mark.parametrize("page", one_in(3, PAGES))
def test_no_page_has_an_english_sentence(browser, studio, page):
    browser.headers["Accept-Language"] = "de"
    studio.projects.create("Gruppen", SURVEY)
    typed = browser.post("/p/gruppen/answers", files={"file": ("daten.csv", ANSWERS)})
    assert typed.status_code == 303
    answer = browser.get(f"/p/gruppen/{page}")
    assert answer.status_code == 200, answer.text
    texts = texts_of_page(answer.text)
    assert len(texts) > 5
    assert {text: why for text in texts if (why := english_in(text))} == {}


def test_german_mistakes(browser, studio):
    browser.headers["Accept-Language"] = "de"
    studio.projects.create("Gruppen", SURVEY.replace('yes = "1/6"', 'yes = "1/7"'))
    page = browser.get("/p/gruppen/interview?open=bewaffnet").text
    assert {text: why for text in texts_of_page(page) if (why := english_in(text))} == {}
