"""The results in the studio: the same bytes as the commands, and answers to wrong choices."""

import html
import io
import pickle
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode
from xml.etree import ElementTree

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from starlette.datastructures import QueryParams

import incrowd
from incrowd.cli.app import main
from incrowd.reports.tally_files import save_tally
from incrowd.studio import results, sources
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.calculations import CalculationOrder
from incrowd.studio.calls import CallChoice, choice_of
from incrowd.studio.pages import Studio
from incrowd.studio.preparation import certify
from incrowd.studio.projects import Projects
from incrowd.studio.work import Job, Jobs
from tests.conftest import local_plan, one_in, slowly, slowly_except, yes_no_question
from tests.oracles.english import english_runs, words_of
from tests.oracles.studio import PORT, Browser

EVIL = "<script>alert('x')</script>"
PEOPLE = 6000
HEALTH = {"id": "health", "type": "choice", "options": ["good", "fair", "=1+1"], "text": EVIL}
VISITS = {"id": "visits", "type": "number", "edges": [0, 2, 5]}
MARGINS = "[sick]\nyes = 0.3\nno = 0.7\n"


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A project with a plan, reports, a tally and margins."""
    folder = tmp_path_factory.mktemp("ready") / "health"
    folder.mkdir()
    tables = {"table": [{"questions": ["sick", "health", "visits"]}]}
    privacy = {"epsilon": 14.0, "analysis": "local"}
    plan = local_plan(
        yes_no_question("sick"), HEALTH, VISITS, name="Health", privacy=privacy, **tables
    )
    random = np.random.default_rng(3)
    sick = random.random(PEOPLE) < 0.3
    place = np.where(sick & (random.random(PEOPLE) < 0.4), 2, random.integers(0, 3, PEOPLE))
    answers = {
        "sick": np.where(sick, "yes", "no"),
        "health": np.array(HEALTH["options"])[place],
        "visits": random.integers(0, 9, PEOPLE),
    }
    reports = incrowd.randomize(plan, pa.table(answers))
    (folder / "plan.json").write_text(plan.dumps())
    incrowd.save_reports(reports, folder / "reports.parquet")
    (folder / "survey.toml").write_text(
        'name = "Health"\ncrowd = 5000\n[privacy]\nepsilon = 2.0\nanalysis = "local"\n'
        '[[question]]\nid = "sick"\ntype = "yesno"\n'
    )
    return folder


@pytest.fixture(scope="module")
def shared(ready):
    """The project, and a browser on a studio with it, for tests that change nothing."""
    (ready / "margins.toml").write_text(MARGINS)
    studio, keys = Studio(Projects(ready.parent), Jobs()), SessionKeys(PORT)
    browser = Browser(application(studio, keys))
    assert browser.get(keys.address).status_code == 303
    return browser, ready


@pytest.fixture
def project(studio, ready):
    """The same project in a studio."""
    path = studio.projects.folder / "health"
    shutil.copytree(ready, path)
    (path / "margins.toml").unlink(missing_ok=True)
    return path


def address(kind="", **query):
    return f"/p/health/results{kind}?{urlencode(query, doseq=True)}"


def problems(response):
    shown = response.text.partition("<template")[0]  # what a script shows later
    (found,) = re.findall(r'<div class="problems">(.*?)</div>', shown, re.DOTALL)
    return [html.unescape(each) for each in re.findall(r"<li>(.*?)</li>", found)]


def shown(response, heading):
    """The lines below a heading, as a person would copy them."""
    return html.unescape(
        re.search(rf"<h3>{heading}.*?</h3>\n<pre tabindex=\"0\">(.*?)</pre>", response.text, re.S)[
            1
        ]
    )


CHOICES = {
    "tables": {},
    "one": {"tables": "sick,health", "noise_only": "1"},
    "weighted": {"others": "health ; visits", "margins": "margins.toml"},
    "crosstab": {"view": "crosstab", "first": "sick", "second": "health"},
    "compare": {"view": "compare", "first": "health", "second": "sick", "reference": "fair"},
    "of all people": {
        "view": "compare",
        "first": "health",
        "second": "sick",
        "of_all_people": "1",
    },
    "correlate": {"view": "correlate"},
    "regress": {"view": "regress", "outcome": "sick", "on": ["health", "visits"]},
    "formula": {"view": "regress", "formula": "visits ~ sick + health=good"},
    "merged": {
        "view": "regress",
        "outcome": "sick",
        "on": "health",
        "merge": "health: fair + =1+1",
    },
    "all proportions": {"view": "proportions"},
    "proportions": {"view": "proportions", "method": "simplex", "tables": ["sick", "health"]},
}


def test_each_view_has_its_own_choice_of_the_people_whom_it_describes():
    """Comparisons leave out who did not answer, tables do not; a choice for one view has no effect
    on the other."""
    flags = {"of_those_who_answered": "--of-those-who-answered", "of_all_people": "--of-all-people"}
    for view, own in (("tables", 0), ("crosstab", 1), ("compare", 1)):
        for place, (flag, option) in enumerate(flags.items()):
            choice = CallChoice(view=view, first="a", second="b", flags=(flag,))
            words = choice.call.command("plan.json", "reports", "o.csv").split()
            assert [word for word in words if word.startswith("--of")] == [option] * (place == own)


ENDINGS = dict.fromkeys(("one", "crosstab", "regress"), ("html", "csv", "json", "xlsx", "R"))


@pytest.mark.parametrize("name", slowly_except(CHOICES, "correlate", "proportions"))
def test_files_are_those_of_the_command_that_the_page_shows(
    shared, tmp_path, monkeypatch, capsys, name
):
    browser, project = shared
    page = browser.get(address(**CHOICES[name]))
    assert page.status_code == 200, problems(page)
    folder, line = shown(page, "On the command line").splitlines()
    assert folder == f"cd {project}"
    monkeypatch.chdir(project)
    program, *arguments = shlex.split(line)
    assert program == "incrowd"
    for ending in ENDINGS.get(name, ("csv", "R")):
        arguments[-1] = str(tmp_path / f"out.{ending}")
        monkeypatch.setattr(sys, "argv", ["incrowd", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, capsys.readouterr().err
        saved = browser.get(address("/file", format=ending, **CHOICES[name]))
        assert saved.status_code == 200
        assert saved.content == Path(arguments[-1]).read_bytes()
        assert saved.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("name", slowly_except(CHOICES, "crosstab", "correlate", "regress"))
def test_the_lines_of_python_run(shared, monkeypatch, tmp_path, name):
    browser, project = shared
    for file in project.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    names = {}
    page = browser.get(address(**CHOICES[name]))
    exec(shown(page, "In Python"), names)
    if (tmp_path / "tables.html").exists():
        saved = browser.get(address("/file", format="html", **CHOICES[name]))
        assert saved.content == (tmp_path / "tables.html").read_bytes()
    else:
        assert names["result"]


@pytest.mark.parametrize("name", one_in(3, CHOICES))
def test_the_page_has_the_guarantee_and_tables_that_can_be_read(shared, name):
    browser, project = shared
    page = browser.get(address(**CHOICES[name])).text
    plan = incrowd.Plan.load(project / "plan.json")
    assert incrowd.guarantee_sentence(plan.guarantee)[:60] in html.unescape(page)
    assert EVIL not in page and " style=" not in page
    tables = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    assert len(tables) > 1  # that of the reports is one
    for table in tables:
        assert "<caption" in table and 'scope="col"' in table and 'scope="row"' in table
    assert len(re.findall(r'class="scroll" tabindex="0" role="group" aria-label="', page)) == len(
        tables
    )
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert ("Weighted." in page) == (name == "weighted")
    assert ("Biased." in page) == (CHOICES[name].get("view") == "proportions")


def test_a_table_of_two_questions_says_whose_shares_it_has_and_leads_to_those_of_groups(shared):
    browser, _ = shared
    whose = "Each figure is a share of all of them, not of one group."
    single = browser.get(address(tables="health")).text
    assert whose not in single and "Shares within each group" not in single
    page = browser.get(address(tables="sick,health")).text
    assert page.count(whose) == 1
    link = re.search(r'<a href="([^"]+)">Shares within each group</a>', page)[1]
    groups = browser.get(html.unescape(link)).text
    assert "Percent of each row" in groups and "Crosstab" in groups
    assert page.count('<section class="table">') == 1


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("one", {"table": [{"questions": ["sick", "health"]}]}),
        ("crosstab", {"table": [{"questions": ["sick", "health"]}]}),
        ("regress", {"regression": [{"outcome": "sick", "on": ["health", "visits"]}]}),
        ("formula", {"regression": [{"outcome": "visits", "on": ["sick", "health=good"]}]}),
    ],
)
def test_the_lines_of_toml_ask_for_what_is_shown(shared, name, block):
    browser, _ = shared
    text = shown(browser.get(address(**CHOICES[name])), "In the survey file")
    assert tomllib.loads(text) == block


def test_a_crosstab_adds_up(shared):
    browser, _ = shared
    saved = browser.get(address("/file", format="xlsx", **CHOICES["crosstab"]))
    book = openpyxl.load_workbook(io.BytesIO(saved.content))
    (headings, *rows) = book["crosstab"].values
    cells = {row[:2]: dict(zip(headings[2:], row[2:], strict=True)) for row in rows}
    inner = {key: cell for key, cell in cells.items() if "any answer" not in key}
    assert len(inner) == 6 and len(cells) == 12
    assert sum(cell["count"] for cell in inner.values()) == pytest.approx(PEOPLE, rel=0.02)
    for row in ("no", "yes"):
        shares = [cell["of_row"] for key, cell in inner.items() if key[0] == row]
        assert sum(shares) == pytest.approx(1, abs=0.1)
    for (row, column), cell in inner.items():
        of_row = cell["count"] / cells[row, "any answer"]["count"]
        of_column = cell["count"] / cells["any answer", column]["count"]
        assert (cell["of_row"], cell["of_column"]) == pytest.approx((of_row, of_column))


# --- reports --------------------------------------------------------------------------------


def test_without_reports_the_page_says_what_comes_first(browser, project):
    (project / "reports.parquet").unlink()
    page = browser.get(address(tables="sick"))
    assert page.status_code == 200 and 'href="/p/health/publish"' in page.text
    assert "No reports yet" in page.text and "<table>" not in page.text


def test_of_two_files_one_has_to_be_chosen(browser, project):
    shutil.copy(project / "reports.parquet", project / "reports-2.parquet")
    page = browser.get(address(tables="sick"))
    assert page.status_code == 200 and "Choose the one" in page.text
    assert 'id="result-title"' not in page.text
    page = browser.get(address(source="reports-2.parquet", tables="sick"))
    assert 'id="result-title"' in page.text
    assert "reports-2.parquet" in shown(page, "On the command line")


def test_real_reports_are_used_before_those_of_invented_people(browser, project):
    plan = incrowd.Plan.load(project / "plan.json")
    people = {"sick": ["yes", "no"] * 3000, "health": ["good"] * 6000, "visits": [1] * 6000}
    simulated = incrowd.randomize(plan, pa.table(people), simulation_seed=5)
    incrowd.save_reports(simulated, project / "reports-2.parquet")
    page = browser.get(address(tables="sick")).text
    assert re.search(r'value="reports.parquet" checked', page)
    assert 'id="result-title"' in page and "Choose the one" not in page
    page = browser.get(address(source="reports-2.parquet", tables="sick")).text
    assert re.search(r'value="reports-2.parquet" checked', page)


def test_files_that_are_no_reports_are_listed_with_their_problem(browser, project):
    (project / "reports-empty.parquet").write_bytes(b"")
    (project / "reports-folder").mkdir()
    (project / "tally.json").write_text("{}")
    page = browser.get(address(tables="sick")).text
    assert len(re.findall(r'name="source"[^>]* disabled', page)) == 3
    assert 'id="result-title"' in page  # the only usable one is used
    page = browser.get(address(source="reports-empty.parquet"))
    assert page.status_code == 422 and "reports-empty.parquet" in problems(page)[0]
    page = browser.get(address(source="../../etc/passwd"))
    assert page.status_code == 200 and 'id="result-title"' not in page.text


def test_reports_of_another_plan_are_refused_as_the_command_does(
    browser, project, monkeypatch, capsys
):
    (project / "plan.json").write_text(local_plan(yes_no_question("other")).dumps())
    page = browser.get(address())
    assert page.status_code == 422
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "argv", shlex.split("incrowd estimate plan.json reports.parquet"))
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err.removeprefix("error: ").strip()
    assert "another plan" in said and problems(page) == [said]


@pytest.mark.slow
def test_reports_stay_readable_when_the_survey_is_planned_again(browser, project):
    before = browser.get(address("/file", format="json")).content
    text = (project / "survey.toml").read_text()
    (project / "survey.toml").write_text(text.replace("epsilon = 2.0", "epsilon = 3.0"))
    certify(lambda _: None, project)
    assert incrowd.Plan.load(project / "plan.json").survey.privacy.epsilon == 3.0
    assert browser.get(address("/file", format="json")).content == before
    page = browser.get(address()).text
    assert "incrowd estimate .studio/plans/" in html.unescape(page)


def test_correlations_wait_for_a_choice_unless_the_plan_has_every_pair(shared, monkeypatch):
    browser, _ = shared
    query = {"view": "correlate", "source": "reports.parquet"}
    assert 'id="result-title"' in browser.get(address(**query)).text
    monkeypatch.setattr(results, "unsupported", lambda _, ids: "no" if "sick" in ids else "")
    page = browser.get(address(**query))
    assert page.status_code == 200 and 'id="result-title"' not in page.text
    assert "no table of two questions" in page.text  # sick and visits are the only numbers


def test_without_a_plan_it_says_so(browser, project):
    (project / "plan.json").unlink()
    page = browser.get(address(tables="sick"))
    assert page.status_code == 422 and "publish the survey first" in problems(page)[0]


def test_too_few_people_are_accepted_only_if_that_is_chosen(browser, project):
    plan = incrowd.Plan.load(project / "plan.json")
    few = {"sick": ["yes"] * 99, "health": ["good"] * 99, "visits": [1] * 99}
    (project / "reports.parquet").unlink()
    incrowd.save_reports(incrowd.randomize(plan, pa.table(few)), project / "reports.parquet")
    page = browser.get(address(tables="sick"))
    assert page.status_code == 422 and "a crowd of 99" in problems(page)[0]
    page = browser.get(address(tables="sick", accept_smaller_crowd="1"))
    assert page.status_code == 200 and 'name="accept_smaller_crowd" value="1" checked' in page.text


def test_a_tally_has_tables_and_nothing_else(browser, project):
    plan = incrowd.Plan.load(project / "plan.json")
    counted = incrowd.count(plan, incrowd.load_reports(project / "reports.parquet"))
    save_tally(counted, project / "tally.json")
    page = browser.get(address(source="tally.json", tables="sick"))
    assert page.status_code == 200, problems(page)
    page = browser.get(address(source="tally.json", **CHOICES["regress"]))
    assert page.status_code == 422 and "counts for tables only" in problems(page)[0]


def test_a_simulation_is_named_as_such(browser, project):
    plan = incrowd.Plan.load(project / "plan.json")
    people = {"sick": ["yes", "no"] * 3000, "health": ["good"] * 6000, "visits": [1] * 6000}
    reports = incrowd.randomize(plan, pa.table(people), simulation_seed=5)
    (project / "reports.parquet").unlink()
    incrowd.save_reports(reports, project / "reports.parquet")
    page = browser.get(address(tables="sick")).text
    assert "Simulation with a known seed" in page and "known seed 5" in page


# --- uploads --------------------------------------------------------------------------------


def upload(browser, kind, name, content, **query):
    return browser.post(address(f"/{kind}", **query), files={"file": (name, content)})


def test_an_uploaded_file_is_used(browser, project):
    content = (project / "reports.parquet").read_bytes()
    (project / "reports.parquet").unlink()
    response = upload(browser, "reports", "../../From Us.parquet", content)
    assert response.status_code == 303
    assert (project / "reports.parquet").read_bytes() == content
    assert 'id="result-title"' in browser.get(response.headers["location"]).text
    assert upload(browser, "reports", "again.parquet", content).status_code == 303
    assert len(list(project.glob("reports*"))) == 1  # the same file again


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.parquet", b"", "not a reports file"),
        ("a.parquet", b"PAR1" * 99, "not a reports file"),
        ("a.json", b"{}", "not a tally"),
        ("a.exe", b"MZ", "should end in"),
        ("", b"", "choose a file"),
    ],
)
def test_a_wrong_file_is_refused_and_not_left(browser, project, name, content, why):
    before = sorted(project.rglob("*"))
    response = upload(browser, "reports", name, content)
    assert response.status_code == 422 and why in problems(response)[0]
    assert sorted(each for each in project.rglob("*") if ".studio" not in str(each)) == before


def test_a_huge_file_belongs_into_the_folder(browser, project, monkeypatch):
    monkeypatch.setattr(results, "MOST_UPLOADED", 9)
    response = upload(browser, "reports", "a.parquet", b"x" * 10)
    assert response.status_code == 422 and "has 10 bytes; copy it" in problems(response)[0]
    assert not list(project.glob("reports-2*"))


def test_a_full_disk_is_said(browser, project, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sources, "write_bytes", full)
    response = upload(browser, "reports", "a.parquet", b"x")
    assert response.status_code == 422 and problems(response) == [
        "No space left on device; make room on this disk, then try again"
    ]


def test_margins_that_do_not_fit_leave_the_choices(browser, project):
    chosen = {"tables": "sick,health"}
    response = upload(browser, "margins", "m.toml", b"[sick]\nyes = 2\nmaybe = 1\n", **chosen)
    assert response.status_code == 303
    page = browser.get(response.headers["location"])
    assert page.status_code == 422 and "maybe" in problems(page)[0]
    assert 'value="sick,health" checked' in page.text
    assert '<option value="margins.toml" selected>' in page.text
    response = upload(browser, "margins", "m.toml", b"[sick", **chosen)
    assert response.status_code == 422 and not (project / "margins-2.toml").exists()
    page = browser.get(address(margins="../x.toml"))
    assert page.status_code == 422 and "use one of margins.toml" in problems(page)[0]


# --- wrong choices ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"others": "sick,nothing"}, "no question has this id"),
        ({"others": "sick,sick"}, "each question once"),
        ({"view": "crosstab", "first": "x", "second": "sick"}, "no question has this id"),
        ({"view": "compare", "first": "sick", "second": "health", "reference": "x"}, "reference"),
        ({"view": "regress", "formula": "sick"}, "should be an outcome and predictors"),
        ({"view": "regress", "formula": "sick ~ + health"}, "should be an outcome"),
        ({"view": "regress", "formula": "sick ~ nothing"}, "nothing"),
        ({"view": "regress", "outcome": "sick", "on": "health", "family": "x"}, "family"),
        ({"view": "correlate", "among": "health"}, "at least two"),
        ({"view": "proportions", "method": "x"}, "method"),
        ({"merge": "health: good"}, "merge"),
        ({"merge": "nothing: a + b"}, "QUESTION"),
    ],
)
def test_a_wrong_choice_says_what_would_work_and_stays(shared, query, why):
    browser, _ = shared
    page = browser.get(address(**query))
    assert page.status_code == 422 and why in "\n".join(problems(page))
    for name, value in query.items():
        if name in ("others", "formula", "merge"):
            assert html.escape(value) in page.text
    assert browser.get(address("/file", format="csv", **query)).status_code == 422


def test_an_unknown_view_or_format_is_refused(shared):
    browser, _ = shared
    assert browser.get(address(view="x")).status_code == 422
    assert browser.get(address("/file", format="exe")).status_code == 422
    assert browser.get(address("/picture", format="png", number="99")).status_code == 422
    assert browser.get(address("/picture", format="gif")).status_code == 422


def test_a_requested_regression_is_one_click(browser, project):
    """One that can be ticked, one that is a formula, and one that only the command has."""
    requested = [
        {"outcome": "sick", "on": ["health", "visits"], "penalty": "firth"},
        {"outcome": "sick", "on": ["health=fair", "score(visits)"]},
        {"outcome": "sick", "on": ["health"], "reference": {"health": "fair"}},
    ]
    plan = local_plan(yes_no_question("sick"), HEALTH, VISITS, regression=requested)
    (project / "plan.json").write_text(plan.dumps())
    text = browser.get(
        address(view="regress", source="reports.parquet", merge="health: good + fair")
    ).text
    _, _, block = text.partition('<ul aria-labelledby="requested">')
    links = re.findall('<a href="[^?]*[?]([^"]*)"', block.partition("</ul>")[0])
    chosen = [choice_of(QueryParams(html.unescape(each))) for each in links]
    assert [each.formula_text for each in chosen] == [
        "sick ~ health + visits",
        "sick ~ health=fair + score(visits)",
    ]
    assert [(each.outcome, each.on, each.penalty, each.merge) for each in chosen] == [
        ("sick", ("health", "visits"), "firth", ""),
        ("", (), "", ""),
    ]
    assert "with reference of its own" in block
    shown = f">sick ~ {EVIL} + visits</a> <code>sick ~ health + visits<"
    assert shown in html.unescape(block) and EVIL not in block


def test_predictors_that_the_plan_does_not_support_cannot_be_chosen(browser, project):
    plan = local_plan(
        yes_no_question("sick"), HEALTH, VISITS, table=[{"questions": ["sick", "visits"]}]
    )
    held = [set(message.ids) for message in plan.messages]
    (project / "plan.json").write_text(plan.dumps())
    page = browser.get(address(view="regress", outcome="sick")).text
    for id in ("health", "visits"):
        together = any({"sick", id} <= ids for ids in held)
        (box,) = re.findall(rf'<input[^>]*id="on-{id}"[^>]*>', page)
        assert ("disabled" in box) != together


# --- pictures, and what is computed when --------------------------------------------------------


@pytest.mark.parametrize("name", ["one", "crosstab", "compare", "correlate", "regress"])
def test_pictures_are_files_of_their_own(shared, name):
    browser, _ = shared
    svg = browser.get(address("/picture", format="svg", **CHOICES[name]))
    root = ElementTree.fromstring(svg.text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert EVIL not in svg.text
    png = browser.get(address("/picture", format="png", **CHOICES[name]))
    assert png.content[:8] == b"\x89PNG\r\n\x1a\n"
    width = int.from_bytes(png.content[16:20])
    assert width == pytest.approx(3 * float(root.get("width")), abs=3)


@pytest.fixture
def collected(studio):
    """A project with a plan and random answers to it."""

    def made(*questions, epsilon, people, **rest):
        path = studio.projects.folder / "health"
        path.mkdir()
        privacy = {"epsilon": epsilon, "analysis": "local"}
        plan = local_plan(*questions, crowd=people, privacy=privacy, **rest)
        random = np.random.default_rng(5)
        answers = {q.id: random.choice(q.answers, people) for q in plan.survey.questions}
        (path / "plan.json").write_text(plan.dumps())
        reports = incrowd.randomize(plan, pa.table(answers))
        incrowd.save_reports(reports, path / "reports.parquet")
        (path / "survey.toml").write_text("")
        return path

    return made


def test_every_offered_format_of_a_regression_without_coefficients_can_be_saved(browser, collected):
    regression = [{"outcome": "sick", "on": ["health"]}]
    collected(yes_no_question("sick"), HEALTH, epsilon=0.1, people=100, regression=regression)
    choice = {"view": "regress", "outcome": "sick", "on": "health"}
    page = browser.get(address(**choice))
    assert page.status_code == 200 and "cannot be distinguished" in page.text
    links = re.findall(r'download href="([^"]*/file[^"]*)"', page.text)
    offered = [re.search(r"format=(\w+)", each)[1] for each in links]
    assert offered == ["html", "docx", "xlsx", "json", "R"]
    assert [browser.get(html.unescape(each)).status_code for each in links] == [200] * 5
    refused = browser.get(address("/file", format="csv", **choice))
    assert refused.status_code == 422 and "there are no figures: cannot" in refused.text


WORDED = (
    {
        "id": "sick",
        "type": "yesno",
        "text": {"en": "Are you ill?", "de": "Sind Sie krank?"},
        "labels": {"yes": {"en": "Ill", "de": "Krank"}, "no": {"en": "Well"}},
    },
    {
        "id": "place",
        "type": "choice",
        "options": ["home", "work", "road"],
        "text": "Where are you?",
        "labels": {"home": {"en": "At home", "de": "Zu Hause"}, "work": "At work"},
    },
)
ENGLISH = ("Are you ill?", "Ill", "At home")
GERMAN = ("Sind Sie krank?", "Krank", "Zu Hause")


@pytest.mark.parametrize(
    ("choice", "seen"),
    [
        *slowly(
            ({}, (0, 1, 2)),
            ({"view": "crosstab", "first": "sick", "second": "place"}, (0,)),
            ({"view": "compare", "first": "sick", "second": "place"}, (0, 1)),
            ({"view": "regress", "outcome": "sick", "on": "place"}, (0, 2)),
        ),
        ({"view": "proportions"}, (0, 1, 2)),
        ({"merge": "place: work + road", "tables": "place"}, (0, 2)),
    ],
)
def test_a_german_page_has_the_german_wording_where_there_is_one(browser, collected, choice, seen):
    collected(*WORDED, epsilon=14.0, people=5000, table=[{"questions": ["sick", "place"]}])
    for language, words, others in (("de", GERMAN, ENGLISH), ("en", ENGLISH, GERMAN)):
        page = browser.get(address(**choice), headers={"Accept-Language": language})
        assert page.status_code == 200
        text = html.unescape(page.text)
        for place in seen:
            assert re.search(rf"\b{re.escape(words[place])}", text), words[place]
        for other in others:
            assert not re.search(rf">[^<]*\b{re.escape(other)}\b", text), other
        assert "Where are you?" in text  # has only the wording of the survey's language


@pytest.mark.slow
def test_files_and_pictures_of_a_german_page(browser, collected):
    """Files for programs are those of the command; others and pictures are in its language."""
    collected(*WORDED, epsilon=14.0, people=5000, table=[{"questions": ["sick", "place"]}])
    german = {"Accept-Language": "de"}
    for format in ("csv", "json", "R"):
        link = address("/file", format=format, tables="sick,place")
        assert browser.get(link, headers=german).content == browser.get(link).content
    saved = browser.get(address("/file", format="html", tables="sick,place"), headers=german)
    assert '<html lang="de">' in saved.text and "Krank" in saved.text
    svg = browser.get(address("/picture", format="svg", tables="sick"), headers=german).text
    assert "Krank" in svg and ">Ill<" not in svg


def test_a_choice_is_computed_once_while_the_files_stay_the_same(browser, project, monkeypatch):
    calls = []

    def counted(progress, order):
        calls.append(order.call)
        return real(progress, order)

    real = results.computed
    monkeypatch.setattr(results, "computed", counted)
    for _ in range(2):
        assert browser.get(address(tables="sick")).status_code == 200
        assert browser.get(address("/file", format="csv", tables="sick")).status_code == 200
    assert len(calls) == 1
    browser.get(address(tables="health"))
    assert len(calls) == 2
    content = (project / "reports.parquet").read_bytes()
    (project / "reports.parquet").unlink()
    (project / "reports.parquet").write_bytes(content)
    assert browser.get(address(tables="sick")).status_code == 200
    assert len(calls) == 3


def test_many_reports_are_counted_in_a_process_that_can_be_stopped(
    browser, project, studio, monkeypatch
):
    started = []

    def start(key, work, order):
        assert key == (project, "results")
        started.append(Job(process=SimpleNamespace(terminate=lambda: None)))
        # What goes to the process and comes back from it has to survive that.
        started[-1].work = lambda: pickle.loads(pickle.dumps(work(print, order)))
        return started[-1]

    monkeypatch.setattr(results, "LARGE", 0)
    monkeypatch.setattr(studio.jobs, "start", start)
    monkeypatch.setattr(studio.jobs, "get", lambda _: started[-1] if started else None)
    page = browser.get(address(tables="sick"))
    assert page.status_code == 200 and "The reports are being counted." in page.text
    assert 'http-equiv="refresh"' in page.text  # without a script
    assert browser.get(address("/file", format="csv", tables="sick")).status_code == 422
    assert browser.post(address("/stop", tables="sick")).status_code == 303
    assert "Counting was stopped." in browser.get(address(tables="sick")).text
    assert len(started) == 1
    assert browser.post(address("/again", tables="sick")).status_code == 303
    browser.get(address(tables="sick"))
    started[1].result, started[1].state = started[1].work(), "done"
    assert 'id="result-title"' in browser.get(address(tables="sick")).text
    browser.get(address(tables="health"))
    started[2].error, started[2].state = (
        incrowd.TableError.of("table", "shared.no-path", type="gone"),
        "failed",
    )
    page = browser.get(address(tables="health"))
    assert page.status_code == 422
    assert problems(page) == ["table: got a value of type gone; should be the path of a file"]
    assert len(started) == 3


@pytest.mark.parametrize("name", one_in(3, CHOICES))
def test_every_result_can_be_sent_from_a_process(shared, name):
    _, project = shared
    choice = choice_of(QueryParams(urlencode({"view": "tables"} | CHOICES[name], doseq=True)))
    margins = project / choice.margins if choice.margins else None
    order = CalculationOrder(
        project / "plan.json", project / "reports.parquet", margins, choice.call
    )
    result = results.computed(lambda _: None, pickle.loads(pickle.dumps(order)))
    assert repr(pickle.loads(pickle.dumps(result))) == repr(result)


@pytest.mark.slow
def test_files_of_invented_people_have_it_in_their_names(browser, project):
    """Reports of a simulation in the place of real ones."""
    plan = incrowd.Plan.load(project / "plan.json")
    answers = {
        "sick": ["yes", "no"] * 3000,
        "health": ["good", "fair"] * 3000,
        "visits": [1] * 6000,
    }
    (project / "reports.parquet").unlink()
    simulated = incrowd.randomize(plan, pa.table(answers), simulation_seed=1)
    incrowd.save_reports(simulated, project / "reports.parquet")
    for language, words in (("en", "Invented people: "), ("de", "Erfundene Personen: ")):
        spoken = {"Accept-Language": language}
        for format in ("html", "docx", "csv"):
            link = address("/file", format=format, source="reports.parquet", tables="sick")
            name = browser.get(link, headers=spoken).headers["content-disposition"]
            assert f"''invented-health-tables.{format}" in name
        link = address("/picture", format="svg", source="reports.parquet", tables="sick")
        drawn = browser.get(link, headers=spoken)
        assert "''invented-health-" in drawn.headers["content-disposition"]
        assert words in drawn.text


@pytest.mark.parametrize("name", ["one", "crosstab", "compare", "correlate", "regress"])
def test_a_german_page_of_results_has_no_english_sentence_of_the_engine(shared, name):
    browser, _ = shared
    page = browser.get(address(**CHOICES[name]), headers={"Accept-Language": "de"}).text
    without = re.sub(r"<(style|svg|pre|script).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    said = " ".join(words_of(html.unescape(without)))
    assert len(said) > 500
    assert [each for each in english_runs() if each in said] == []
