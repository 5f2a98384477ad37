"""The page of precision: what it shows, saves and refuses."""

import re
import tomllib

import pytest

import incrowd
from incrowd.errors import UsageError
from incrowd.planner.outlook import estimate
from incrowd.studio.certifying import certified_crowd, certified_plan
from incrowd.studio.chosen_values import number, share_operations, typed_values, value_operations
from incrowd.studio.document import SurveyDocument, apply, changed, version
from incrowd.studio.what_if import operation_of
from incrowd.studio.work import Jobs
from incrowd.survey import Survey
from tests.conftest import slowly
from tests.studio.conftest import fields

HTMX = {"HX-Request": "true"}
SURVEY = """\
# who asks
name = "Work"
crowd = 5000  # all of us

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "bullied"
type = "yesno"

[[question]]
id = "stress"  # last year's words
type = "choice"
options = ["low", "medium", "high"]
labels = { low = "little", medium = "some", high = "much" }
shares = { low = 0.5, medium = 0.3, high = 0.2 }
values = { 1 = "low", 2 = "medium", 3 = "high" }

[[question]]
id = "sex"
type = "choice"
options = ["f", "m"]

[[table]]
questions = ["bullied", "stress"]

[[regression]]
outcome = "bullied"
on = ["stress"]
"""


@pytest.fixture
def project(studio):
    project = studio.projects.create("Work", "")
    project.survey_path.write_text(SURVEY)
    return project


def margins(html):
    return re.findall(r"At most ± ([\d.]+) points", html)


def test_each_table_has_a_picture_of_what_the_engine_expects(browser, project):
    page = browser.get("/p/work/precision").text
    seen = estimate(Survey.load(project.survey_path))
    expected = [f"{196 * table.forecast.standard_error:.1f}" for table in seen.tables]
    assert margins(page) == expected and len(expected) == 4
    rows = sum(len(table.cells) for table in seen.tables) + len(seen.regressions[0].terms)
    assert page.count("<svg") == rows
    assert "style=" not in page and "<style" not in page
    assert ">estimate</span>" in page and ">certified</span>" not in page


def test_a_conditional_question_is_also_forecast_among_those_who_are_asked(browser, project):
    """Of 5,000 people of whom 40% are asked, a share of a half has 0.5 / sqrt(2000) from sampling
    alone, a margin of 2.2 points. Of 10 who are asked, hardly anything is seen."""
    asked_if = 'id = "sex"\nasked_if = "bullied = yes"'

    def shown(share):
        yes = f'type = "yesno"\nshares = {{ yes = {share} }}'
        text = SURVEY.replace('type = "yesno"', yes).replace('id = "sex"', asked_if)
        project.survey_path.write_text(text)
        return browser.get("/p/work/precision").text

    margin = r"Among those who are asked: at most ± ([\d.]+) points, if about ([\d.]+)% of"
    page = shown(0.4)
    among, share = map(float, re.search(margin, page).groups())
    assert 2.2 <= among < 4 and share == 40
    assert page.count("Among those who are asked") == 1 and "So few people are asked" not in page
    assert "So few people are asked this question" in shown(0.002)


def test_open_questions_need_so_many_people_in_each_group(browser, project):
    assert "groups of equal size" not in browser.get("/p/work/precision").text
    lines = 'options = ["f", "m"]\n'
    project.survey_path.write_text(SURVEY.replace(lines, f"{lines}open = true\n"))
    page = browser.get("/p/work/precision").text
    assert "10,000 answers: ±" in page and "in a group (5,000 answers)" in page
    assert "2 groups of equal size" in page and "fewer than 5,050 people" in page
    margins = re.search(r"± ([\d.]+) points overall, ± ([\d.]+) in a group", page)
    overall, group = map(float, margins.groups())
    assert overall == pytest.approx(group / 2**0.5, abs=0.1)  # twice as many people
    assert "These intervals: in one group." in page and "All groups together" in page


def test_a_slider_changes_the_pictures_and_not_the_file(browser, project):
    sent = fields(browser.get("/p/work/precision").text) | {"crowd": "50000", "epsilon": "0.4"}
    response = browser.post("/p/work/precision", data=sent, headers=HTMX)
    other = SURVEY.replace("5000 ", "50000 ").replace("epsilon = 1.0", "epsilon = 0.4")
    seen = estimate(Survey.of(tomllib.loads(other)))
    assert margins(response.text) == [
        f"{196 * table.forecast.standard_error:.1f}" for table in seen.tables
    ]
    assert "<html" not in response.text
    assert project.survey_path.read_text() == SURVEY


def test_kept_values_change_only_their_own_lines(browser, project):
    page = browser.get("/p/work/precision").text
    changed = {"crowd": "8000", "delta": "1e-8", "local_epsilon": "6", "share-1-0": "60"}
    response = browser.post("/p/work/precision/keep", data=fields(page) | changed)
    assert response.status_code == 303  # the shares sum to 1.1, and are not saved
    assert Survey.load(project.survey_path).shares["stress"] == (0.5, 0.3, 0.2)
    response = browser.post("/p/work/precision", data=fields(page) | changed)
    assert 'value="8000"' in response.text and "the shares add up to 110%" in response.text
    assert "<svg" in response.text
    project.save(SURVEY, expected=project.current_version())
    changed |= {"share-1-1": "20"}
    response = browser.post("/p/work/precision/keep", data=fields(page) | changed)
    assert response.status_code == 303
    text = project.survey_path.read_text()
    lines, before = text.splitlines(), SURVEY.splitlines()
    assert [each for each in before if each not in lines] == [
        "crowd = 5000  # all of us",
        "delta = 1e-6",
        "shares = { low = 0.5, medium = 0.3, high = 0.2 }",
    ]
    survey = Survey.load(project.survey_path)
    assert (survey.crowd, survey.privacy.delta, survey.privacy.local_epsilon) == (8000, 1e-8, 6.0)
    assert survey.shares["stress"] == (0.6, 0.2, 0.2)
    assert "# all of us" in text and "# last year's words" in text


def operations(text, typed):
    raw = tomllib.loads(text)
    return [*value_operations(raw, typed), *share_operations(raw, typed)]


def edited(text, *operations):
    return apply(SurveyDocument(text), *operations).text


def test_the_shown_survey_is_the_one_that_is_kept():
    raw = tomllib.loads(SURVEY)
    typed = typed_values(raw) | {
        "crowd": "700",
        "epsilon": "2,5",
        "reports_per_person": "3",
        "share-0-0": "10",
        "share-1-2": "",
    }
    shown = Survey.of(changed(raw, *operations(SURVEY, typed)))
    text = edited(SURVEY, *operations(SURVEY, typed))
    assert shown == Survey.of(tomllib.loads(text))
    assert shown.reports_per_person == 3 and shown.shares["bullied"] == (0.9, 0.1)
    emptied = typed_values(tomllib.loads(text)) | {"reports_per_person": ""}
    assert "reports_per_person" not in edited(text, *operations(text, emptied))


def test_unchanged_values_leave_every_byte():
    assert edited(SURVEY, *operations(SURVEY, typed_values(tomllib.loads(SURVEY)))) == SURVEY


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("20.000", int, 20_000),
        ("1 234 567", int, 1_234_567),
        ("1.5", int, 1.5),
        ("many", int, "many"),
        ("1e400", float, "1e400"),
        ("0,5", float, 0.5),
        ("1e-6", float, 1e-6),
        ("nan", float, "nan"),
    ],
)
def test_numbers_are_read_as_people_write_them(text, kind, value):
    assert number(text, kind) == value


def design(browser, project, **fields):
    """Save a change in the window of the design."""
    sent = {"seen": version(project.text())} | fields
    assert browser.post("/p/work/design", data=sent, headers=HTMX).status_code == 200


def keep(browser, sent, **changed):
    return browser.post("/p/work/precision/keep", data=sent | changed)


def test_a_value_is_saved_when_it_is_typed(browser, project):
    sent = fields(browser.get("/p/work/precision").text)
    first = browser.post("/p/work/precision/keep", data=sent | {"epsilon": "2"}, headers=HTMX)
    assert first.status_code == 200 and "<html" not in first.text and "figures" in first.text
    assert project.survey().privacy.epsilon == 2.0
    sent |= {"epsilon": "2", "crowd": "9000"}
    late = browser.post("/p/work/precision/keep", data=sent, headers=HTMX)
    assert late.status_code == 409  # without the version of the response before it
    sent["at"] = first.headers["survey-version"]
    assert browser.post("/p/work/precision/keep", data=sent, headers=HTMX).status_code == 200
    assert project.survey().crowd == 9000
    page = browser.get("/p/work/precision").text
    assert 'value="9000"' in page and 'value="2"' in page
    response = browser.post("/p/work/precision/undo", data=fields(page))
    assert response.status_code == 303 and project.survey().crowd == 5000


@pytest.mark.slow
def test_the_pictures_are_of_what_would_be_saved(browser, project):
    sent = fields(browser.get("/p/work/precision").text)
    design(browser, project, do="survey", name="Work", epsilon="0.4")
    response = browser.post("/p/work/precision", data=sent | {"crowd": "50000"}, headers=HTMX)
    expected = estimate(Survey.of(tomllib.loads(project.text()) | {"crowd": 50_000}))
    assert margins(response.text) == [
        f"{196 * table.forecast.standard_error:.1f}" for table in expected.tables
    ]


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_values_of_an_older_version_are_refused_with_what_was_changed(browser, project, headers):
    sent = fields(browser.get("/p/work/precision").text)
    design(browser, project, do="order", up="sex")  # the numbers of the questions change as well
    design(browser, project, do="survey", name="Work", crowd="7000", epsilon="0.5")
    sent |= {"crowd": "9000", "local_epsilon": "8", "share-1-0": "60", "share-1-1": "20"}
    response = browser.post("/p/work/precision/keep", data=sent, headers=headers)
    assert response.status_code == 409 and project.survey().crowd == 7000
    for was, now in (("5000", "7000"), ("1.0", "0.5")):
        assert f"was {was} and was changed elsewhere to {now}" in response.text
    if not headers:
        again = fields(response.text)
        assert [again[name] for name in ("crowd", "epsilon")] == ["9000", "1"]
        assert again["seen"] == sent["seen"]
    button = re.search(r'formaction="[^"]*/keep" name="insist" value="(\w+)"', response.text)
    assert keep(browser, sent, insist=button[1]).status_code == 303
    survey = project.survey()
    assert (survey.crowd, survey.privacy.local_epsilon) == (9000, 8.0)
    assert survey.privacy.epsilon == 0.5  # it was not touched here
    assert survey.shares == {"stress": (0.6, 0.2, 0.2)}
    assert [each.id for each in survey.questions] == ["bullied", "sex", "stress"]


def test_an_applied_change_of_an_older_version_is_refused(browser, project):
    page = browser.get("/p/work/precision").text
    sent = fields(page) | {"kind": "drop", "drop-chosen": "stress"}
    project.survey_path.write_text(project.text().replace('high = "much"', 'high = "a lot"'))
    response = browser.post("/p/work/precision/apply", data=sent)
    assert response.status_code == 409
    assert "much" in response.text and "a lot" in response.text
    insisting = re.findall(r'form="values" name="([^"]+)" value="([^"]+)"', response.text)
    assert dict(insisting) == {"kind": "drop", "drop-chosen": "stress"}
    button = re.search(r'formaction="[^"]*/apply" name="insist" value="(\w+)"', response.text)
    again = fields(response.text) | dict(insisting) | {"insist": button[1]}
    assert browser.post("/p/work/precision/apply", data=again).status_code == 303
    assert [each.id for each in project.survey().questions] == ["bullied", "sex"]


def test_a_page_whose_version_is_gone_asks_before_it_saves(browser, project):
    sent = fields(browser.get("/p/work/precision").text) | {"seen": "0" * 64}
    assert keep(browser, sent, crowd="9000").status_code == 409
    assert project.text() == SURVEY
    assert keep(browser, sent, crowd="9000", insist=version(SURVEY)).status_code == 303
    assert project.survey().crowd == 9000


def test_a_full_disk_keeps_the_file_and_the_typed_values(browser, project, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    sent = fields(browser.get("/p/work/precision").text) | {"crowd": "9000"}
    monkeypatch.setattr("incrowd.studio.projects.write_bytes", full)
    response = browser.post("/p/work/precision/keep", data=sent)
    assert response.status_code == 422
    assert "No space left" in response.text and 'value="9000"' in response.text
    assert project.survey_path.read_text() == SURVEY


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"crowd": "many"}, "whole number"),
        *slowly(
            ({"crowd": "10.5"}, "whole number"),
            ({"crowd": "1e400"}, "whole number"),
            ({"epsilon": "-1"}, "privacy.epsilon"),
            ({"epsilon": "nan"}, "a number"),
            ({"delta": "2"}, "privacy.delta"),
        ),
    ],
)
def test_mistakes_say_what_would_work(browser, project, typed, words):
    sent = fields(browser.get("/p/work/precision").text) | typed
    response = browser.post("/p/work/precision", data=sent, headers=HTMX)
    assert response.status_code == 422
    assert words in response.text and "/p/work/design" in response.text
    whole = browser.post("/p/work/precision", data=sent)
    assert all(f'value="{text}"' in whole.text for text in typed.values())


def test_a_crowd_that_is_too_small_is_shown_with_what_would_work(browser, project):
    sent = fields(browser.get("/p/work/precision").text) | {"crowd": "40"}
    response = browser.post("/p/work/precision", data=sent, headers=HTMX)
    assert response.status_code == 200
    assert response.text.count("Ask more people, allow") == 4  # one for each table
    assert "The results would show almost nothing." in response.text
    assert "ask more people" not in browser.get("/p/work/precision").text


MISTAKEN = (
    *("", "name = ", 'name = "x"\ncrowd = 5\n', "\0", "[[" * 1000, "privacy = 3", "question = 4"),
    *("question = [3]", "crowd = [1]", 'table = "x"', "[question]\nid = 1"),
    *(
        "[[question]]\ntype='choice'\noptions=3",
        "[[question]]\nid=['a']\ntype='choice'\noptions=[1,2]",
    ),
    "[[question]]\nshares = 3\ntype = 'yesno'",
    "[[table]]\nquestions = 3\n[[question]]\nid='a'\n[[question]]\nid='b'",
)


@pytest.mark.parametrize("text", MISTAKEN)
def test_a_survey_that_cannot_be_planned_leads_to_the_design(browser, project, text):
    project.survey_path.write_text(text)
    response = browser.get("/p/work/precision")
    assert response.status_code in (200, 422)
    assert "This survey cannot be planned yet" in response.text
    assert "/p/work/design" in response.text
    sent = {"crowd": "70", "share-0-0": "20", "kind": "drop", "drop-chosen": "a"}
    for action in ("", "/keep", "/certify", "/people", "/what-if", "/apply"):
        response = browser.post(f"/p/work/precision{action}", data=sent)
        assert response.status_code in (200, 422) and "has a bug" not in response.text
    assert project.survey_path.read_text() == text


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [Jobs], indirect=True)
def test_a_certificate_is_the_plan_of_the_command(browser, project, studio):
    page = browser.get("/p/work/precision").text
    sent = fields(page) | {"crowd": "6000"}
    started = browser.post("/p/work/precision/certify", data=sent, headers=HTMX)
    of = re.search(r"certificate\?of=(\w+)", started.text)[1]
    job = studio.jobs.get((project.path, "certify"))
    assert job.ended.wait(60)
    expected = incrowd.plan(Survey.of(tomllib.loads(SURVEY) | {"crowd": 6000}))
    assert job.result.dumps() == expected.dumps()
    address = f"/p/work/precision/certificate?of={of}"
    response = browser.get(address, params=sent | {"of": of}, headers=HTMX)
    assert ">certified</span>" in response.text and ">estimate</span>" not in response.text
    assert "removes every link between a report and its sender" in response.text
    other = browser.get("/p/work/precision/certificate?of=another", headers=HTMX)
    assert ">certified</span>" not in other.text


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [Jobs], indirect=True)
def test_a_new_change_stops_the_certificate_before_it(browser, project, studio):
    sent = fields(browser.get("/p/work/precision").text)
    browser.post("/p/work/precision/certify", data=sent, headers=HTMX)
    first = studio.jobs.get((project.path, "certify"))
    browser.post("/p/work/precision/certify", data=sent, headers=HTMX)
    assert studio.jobs.get((project.path, "certify")) is first  # the same values: not again
    browser.post("/p/work/precision/certify", data=sent | {"crowd": "6000"}, headers=HTMX)
    second = studio.jobs.get((project.path, "certify"))
    assert second is not first and first.state in ("stopped", "done")
    stopped = browser.post("/p/work/precision/stop", headers=HTMX)
    assert second.state in ("stopped", "done")
    assert "calculation was stopped" in stopped.text or second.state == "done"


@pytest.mark.slow
def test_the_number_of_people_is_certified_like_the_command_solve(browser, project):
    sent = fields(browser.get("/p/work/precision").text) | {"margin": "2"}
    response = browser.post("/p/work/precision/people", data=sent)  # without script: waits
    expected = incrowd.solve(Survey.of(tomllib.loads(SURVEY)), "crowd", margin=0.02)
    assert f"{expected.survey.crowd:,} people" in response.text
    wrong = browser.post("/p/work/precision/people", data=sent | {"margin": "x"}, headers=HTMX)
    assert wrong.status_code == 422 and "points" in wrong.text


def asked(kind, *chosen, text=SURVEY):
    return tomllib.loads(edited(text, operation_of(tomllib.loads(text), kind, chosen)))


def test_a_dropped_question_takes_its_tables_and_regressions_along():
    raw = asked("drop", "stress")
    assert [each["id"] for each in raw["question"]] == ["bullied", "sex"]
    assert "table" not in raw and "regression" not in raw
    assert Survey.of(raw)
    assert asked("drop", "sex")["regression"] == tomllib.loads(SURVEY)["regression"]


def test_merged_answers_are_one_option_with_labels_shares_and_codes():
    question = asked("merge", "stress", "high", "medium")["question"][1]
    assert question["options"] == ["low", "medium + high"]
    assert question["labels"] == {"low": "little", "medium + high": "some + much"}
    assert question["shares"] == {"low": 0.5, "medium + high": 0.5}
    assert question["values"] == {"1": "low", "2": "medium + high", "3": "medium + high"}
    assert Survey.of(asked("merge", "stress", "high", "medium"))


@pytest.mark.parametrize(
    ("kind", "chosen"),
    [
        ("merge", ("stress", "low")),
        *slowly(
            ("merge", ("stress", "low", "medium", "high")),
            ("merge", ("stress", "low", "none")),
            ("merge", ("bullied", "yes", "no")),
            ("merge", ()),
            ("drop", ("nothing",)),
            ("table", ("sex", "sex")),
            ("table", ("stress", "bullied")),  # it is wanted already
            ("other", ("sex",)),
        ),
    ],
)
def test_changes_that_are_impossible_are_refused(browser, project, kind, chosen):
    sent = fields(browser.get("/p/work/precision").text)
    sent |= {"kind": kind, f"{kind}-chosen": list(chosen)}
    for action in ("what-if", "apply"):
        response = browser.post(f"/p/work/precision/{action}", data=sent)
        assert response.status_code == 422
    assert project.survey_path.read_text() == SURVEY


def test_a_comparison_without_a_change_is_refused(browser, project):
    sent = fields(browser.get("/p/work/precision").text) | {"kind": ""}
    for headers in (HTMX, {}):
        response = browser.post("/p/work/precision/what-if", data=sent, headers=headers)
        assert response.status_code == 422 and "kind" in response.text


def test_a_wanted_table_is_compared_and_applied(browser, project):
    sent = fields(browser.get("/p/work/precision").text) | {"crowd": "7000"}
    sent |= {"kind": "table", "table-chosen": ["bullied", "sex"]}
    response = browser.post("/p/work/precision/what-if", data=sent, headers=HTMX)
    assert "bullied × sex" in response.text and ">new<" in re.sub(r"\s+", "", response.text)
    assert project.survey_path.read_text() == SURVEY
    assert browser.post("/p/work/precision/apply", data=sent).status_code == 303
    text = project.survey_path.read_text()
    assert project.survey().wanted[-1] == ("bullied", "sex") and project.survey().crowd == 7000
    assert "# who asks" in text and text.count("[[table]]") == 2


def test_a_dropped_question_helps_the_others(browser, project):
    sent = fields(browser.get("/p/work/precision").text) | {"kind": "drop", "drop-chosen": "sex"}
    response = browser.post("/p/work/precision/what-if", data=sent, headers=HTMX)
    assert "removed" in response.text and re.search(r"\d+% smaller", response.text)
    assert "larger" not in response.text


def test_another_project_is_not_reached(browser, project):
    assert browser.get("/p/other/precision").status_code == 422
    assert browser.get("/p/..%2Fwork/precision").status_code in (404, 422)


def test_answers_and_names_are_escaped(browser, project):
    project.survey_path.write_text(SURVEY.replace('"f"', '"<b>f"').replace("bullied", "<i>b"))
    page = browser.get("/p/work/precision").text
    assert "<b>f" not in page and "<i>b" not in page and "&lt;i&gt;b" in page


def test_german_numbers_are_written_in_german(browser, project):
    page = browser.get("/p/work/precision", headers={"Accept-Language": "de"}).text
    assert re.search(r"Höchstens ± \d+,\d Prozentpunkte", page) and "5.000 Personen" in page


@pytest.mark.parametrize(
    ("language", "nothing"),
    [("en", "is not a guarantee. Such"), *slowly(("de", "ist keine Garantie"))],
)
def test_what_is_not_a_guarantee_is_not_certified_or_promised(browser, project, language, nothing):
    """By the analysis of homogeneous crowds: estimates with their mark, and nothing for people."""
    analysis = 'delta = 1e-6\nanalysis = "outlier"'
    project.survey_path.write_text(SURVEY.replace("delta = 1e-6", analysis, 1))
    browser.headers["Accept-Language"] = language
    page = browser.post("/p/work/precision/certify").text  # without script: it waits
    assert nothing in page and 'id="certificate"' not in page
    assert not re.search(r'class="(good|[^"]*certified)"', page)
    marks = {"en": "estimate", "de": "Schätzung"}
    assert set(re.findall(r'<span class="mark">(.*?)</span>', page)) == {marks[language]}
    assert "2.72" not in page and "2,72" not in page  # e, which the texts of a promise would have
    shown = browser.post("/p/work/precision/people", data={**fields(page), "margin": "3"}).text
    assert ">certified</span>" not in shown


def test_a_job_of_certifying_ends_with_why_there_is_no_guarantee():
    survey = Survey.of(tomllib.loads(SURVEY) | {"privacy": {"epsilon": 1.0, "analysis": "outlier"}})
    for job in (certified_plan, lambda *asked: certified_crowd(*asked, 0.02)):
        with pytest.raises(UsageError, match=r"privacy\.analysis: got 'outlier'"):
            job(lambda _: None, survey)


def invited(text=SURVEY, groups=""):
    """The survey with who is invited in place of the crowd."""
    people = f'[people]\ninvited = 10000\nexpected = "60%"\n{groups}\n[privacy]'
    return text.replace("crowd = 5000  # all of us\n", "").replace("[privacy]", people)


def test_who_is_invited_replaces_the_crowd_when_it_is_first_stated(browser, project):
    page = browser.get("/p/work/precision").text
    typed = {"invited": "450", "expected": "60"}
    browser.post("/p/work/precision/keep", data=fields(page) | typed)
    survey = Survey.load(project.survey_path)
    assert (survey.people.invited, survey.people.expected, survey.crowd) == (450, 0.6, 196)
    assert "crowd" not in tomllib.loads(project.text())
    page = browser.get("/p/work/precision").text
    assert "270 answers: ±" in page and "fewer than 216 people" in page
    browser.post("/p/work/precision/keep", data=fields(page) | {"crowd": "300"})
    page = browser.get("/p/work/precision").text
    assert "Only 270 answers are expected where a release needs 320" in page


def test_the_sizes_of_groups_are_typed(browser, project):
    lines = 'options = ["f", "m"]\n'
    project.survey_path.write_text(invited(SURVEY.replace(lines, f"{lines}open = true\n")))
    page = browser.get("/p/work/precision").text
    assert "2 groups of equal size" in page
    sizes = {"group.f": "9000", "group.m": "1000"}
    browser.post("/p/work/precision/keep", data=fields(page) | sizes)
    survey = Survey.load(project.survey_path)
    assert survey.people.groups == {"f": 9000, "m": 1000} and survey.people.invited == 10_000
    page = browser.get("/p/work/precision").text
    assert "in the smallest group (m, 600 answers)" in page


def answered_for(html, kind):
    return re.findall(rf'data-{kind}="(\w+)"', html)


@pytest.mark.slow
def test_an_answer_names_the_values_that_it_is_for(browser, project):
    """The page marks answers whose values are not those of the figures as outdated."""
    sent = fields(browser.get("/p/work/precision").text)
    (people,) = answered_for(
        browser.post("/p/work/precision/people", data=sent | {"margin": "4"}, headers=HTMX).text,
        "inputs",
    )
    dropped = sent | {"kind": "drop", "drop-chosen": "sex"}
    (compared,) = answered_for(
        browser.post("/p/work/precision/what-if", data=dropped, headers=HTMX).text, "values"
    )

    def shown(**typed):
        html = browser.post("/p/work/precision", data=sent | typed, headers=HTMX).text
        return answered_for(html, "inputs"), answered_for(html, "values")

    assert shown() == ([people], [compared])
    for_more_people = shown(crowd="6000")
    assert for_more_people[0] == [people] and for_more_people[1] != [compared]
    for_less_privacy = shown(epsilon="2")
    assert for_less_privacy[0] != [people] and for_less_privacy[1] != [compared]


@pytest.mark.slow
def test_certified_people_of_another_question_are_not_shown(browser, project):
    sent = fields(browser.get("/p/work/precision").text)
    first = browser.post("/p/work/precision/people", data=sent | {"margin": "4"}, headers=HTMX).text
    other = sent | {"margin": "4", "epsilon": "2"}
    browser.post("/p/work/precision/people", data=other, headers=HTMX)
    (of,) = answered_for(first, "inputs")
    page = browser.get(f"/p/work/precision/people?margin=4&of={of}", headers=HTMX).text
    assert "certified</span>" not in page and "stopped" in page


@pytest.mark.slow
def test_people_to_invite_follow_from_who_answers(browser, project):
    project.survey_path.write_text(invited())
    sent = fields(browser.get("/p/work/precision").text) | {"margin": "4"}
    page = browser.post("/p/work/precision/people", data=sent, headers=HTMX).text
    needed = int(re.search(r"<strong>([\d,]+) people", page)[1].replace(",", ""))
    invite = int(re.search(r'name="invited" value="(\d+)"', page)[1])
    text = invited().replace("10000", str(invite))
    assert Survey.of(tomllib.loads(text)).crowd >= needed
    fewer = invited().replace("10000", str(invite - 4))
    assert Survey.of(tomllib.loads(fewer)).crowd < needed


def test_one_share_leaves_equal_parts_of_the_rest():
    raw = tomllib.loads(SURVEY)
    (edit,) = share_operations(raw, {"share-2-0": "70"})
    assert edit.entries == {"shares": {"f": 0.7, "m": 0.3}}
    optional = tomllib.loads(SURVEY.replace('["f", "m"]', '["f", "m"]\noptional = true'))
    (edit,) = share_operations(optional, {"share-2-0": "70", "share-2-2": "10"})
    assert edit.entries == {"shares": {"f": 0.7, "m": 0.2, "no answer": 0.1}}


@pytest.mark.parametrize(("typed", "words"), [("half", "“half” is not a share"), ("95", "145%")])
def test_a_share_that_cannot_be_leaves_the_charts(browser, project, typed, words):
    sent = fields(browser.get("/p/work/precision").text) | {"share-1-0": typed}
    response = browser.post("/p/work/precision", data=sent, headers=HTMX)
    assert response.status_code == 200 and words in response.text
    assert margins(response.text) == margins(browser.get("/p/work/precision").text)


def test_joint_tables_show_shares_within_groups(browser, project):
    page = browser.get("/p/work/precision").text
    assert "Among those with stress = much (20% of all): at most ±" in page
    assert "Shares of everybody: At most ±" in page


@pytest.mark.slow
def test_a_value_that_returns_to_the_first_one_is_saved(browser, project):
    sent = fields(browser.get("/p/work/precision").text)

    def keep(**typed):
        sent.update(typed)
        response = browser.post("/p/work/precision/keep", data=sent, headers=HTMX)
        sent["at"] = response.headers["survey-version"]
        return Survey.load(project.survey_path)

    assert keep(epsilon="2").privacy.epsilon == 2
    assert keep(epsilon="1").privacy.epsilon == 1
    assert keep(invited="10000").crowd == 3960  # half of them, four fifths, less the reserve
    assert keep(epsilon="2").crowd == 3960  # the field still has the first number


def test_imported_data_supply_the_expected_shares(browser, project):
    rows = ["bullied,stress,sex", *["yes,1,f"] * 30, *["no,2,m"] * 50, *["no,3,m"] * 20]
    (project.path / "data.csv").write_text("\n".join(rows) + "\n")
    page = browser.get("/p/work/precision").text
    assert "Expected shares from your data: bullied, sex." in page  # those of stress are stated
    assert re.search(r'name="share-0-1"[^>]*value="" placeholder="30"', page)
    assert re.search(r'name="share-2-1"[^>]*value="" placeholder="70"', page)
    stated = SURVEY.replace('["f", "m"]', '["f", "m"]\nshares = { f = 0.3 }')
    stated = stated.replace('type = "yesno"', 'type = "yesno"\nshares = { yes = 0.3 }')
    seen = estimate(Survey.of(tomllib.loads(stated)))
    assert margins(page) == [f"{196 * each.forecast.standard_error:.1f}" for each in seen.tables]
    browser.post("/p/work/precision/keep", data=fields(page) | {"epsilon": "2"})
    assert [*Survey.load(project.survey_path).shares] == ["stress"]
    (project.path / "data.csv").write_text("bullied,stress,sex\nmaybe,1,f\n")
    assert "from your data" not in browser.get("/p/work/precision").text


def test_a_census_is_not_said_to_be_perfect(browser, project):
    of_those_who_answer = "the results describe only the people who answer"
    sent = fields(browser.get("/p/work/precision").text)
    redrawn = browser.post("/p/work/precision", data=sent, headers=HTMX).text
    assert of_those_who_answer not in redrawn
    sent |= {"invited": "3000", "expected": "40", "census": "yes"}
    redrawn = browser.post("/p/work/precision", data=sent, headers=HTMX).text
    assert of_those_who_answer in redrawn, redrawn
