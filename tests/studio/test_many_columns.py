"""Surveys of several hundred columns: the pages answer in time, and take all fields."""

import time

import pytest

from incrowd.studio import imports
from incrowd.studio.precision import screen

COLUMNS = 400
HEAD = 'name = "Wide"\ncrowd = 100000\n\n[privacy]\nepsilon = 1.0\ndelta = 1e-6\n'
FEW = "# DECIDE: few different numbers; if 1, 2 are codes, name the options."
HTMX = {"HX-Request": "true"}


@pytest.fixture
def project(studio):
    questions = (
        f'\n{FEW}\n[[question]]\nid = "q{n}"\ntype = "choice"\n'
        'options = ["1", "2", "3", "4", "5"]\n'
        for n in range(COLUMNS)
    )
    return studio.projects.create("Wide", HEAD + "".join(questions))


@pytest.mark.slow
def test_all_columns_are_decided_within_two_seconds(browser, project):
    (group,) = imports.grouped(imports.decisions(project.document()))
    assert len(group) == COLUMNS
    first = group[0]
    form = {"do": "decide", "seen": project.document().version, "all": "1", "answer": "done"}
    form |= {"of": first.id, "code": first.code, "comment": first.comment}
    begun = time.process_time()
    answer = browser.post("/p/wide/design", data=form, headers=HTMX)
    assert time.process_time() - begun < 2
    assert answer.status_code == 200 and "Decided for 400 columns." in answer.text
    assert imports.decisions(project.document()) == ()


@pytest.mark.slow
def test_all_expected_shares_are_taken(browser, project):
    fields = screen(project).typed
    shares = {name: "20" for name in fields if name.startswith("share-")}
    assert len(shares) == 5 * COLUMNS
    form = {**fields, **shares, "seen": project.document().version}
    assert browser.post("/p/wide/precision/keep", data=form).status_code == 303
    asked = project.document().content["question"]
    assert all(each["shares"] == dict.fromkeys("12345", 0.2) for each in asked)
