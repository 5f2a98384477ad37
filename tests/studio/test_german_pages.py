"""No page of a German studio has an English sentence: one project, from the design to its files."""

import io

import docx
import numpy as np
import pytest

import incrowd
from incrowd.simulation import invented
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.evidence import WIZARD
from incrowd.studio.packages import page_sheet, sheet_of
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from incrowd.studio.publication import load_publication, parsed, save_publication
from tests.conftest import one_in
from tests.oracles.german_pages import english_in, texts_of_page
from tests.oracles.studio import ORIGIN, PORT, Browser, JobsHere

SURVEY = """\
name = "Klima"
language = "de"
crowd = 3000
census = true
tables = "any"

[privacy]
epsilon = 14.0
delta = 1e-5
analysis = "local"

[[section]]
id = "privat"
title = "Privates"

[[question]]
id = "ort"
type = "choice"
options = ["nord", "süd"]
open = true
text = "Wo arbeiten Sie?"

[[question]]
id = "raucht"
type = "yesno"
text = "Rauchen Sie?"
labels = { yes = "Ja", no = "Nein" }

[[question]]
id = "laune"
type = "choice"
options = ["gut", "mittel", "schlecht"]
optional = true
text = "Wie ist Ihre Laune?"

[[question]]
id = "sorten"
type = "multi"
options = ["rot", "blau"]
at_most = 2
text = "Welche Farben?"
section = "privat"
asked_if = "raucht = yes"

[[question]]
id = "alter"
type = "number"
edges = [0, 30, 65]
text = "Wie alt?"

[[question]]
id = "lohn"
type = "amount"
edges = [0, 3000]
text = "Wie viel Lohn?"

[[question]]
id = "wort"
type = "text"
text = "Welches Wort?"

[[regression]]
outcome = "raucht"
on = ["laune", "alter"]
"""
GERMAN = {"Accept-Language": "de"}
TIMES = {"opens": "2027-05-01T00:00:00Z", "closes": "2027-05-09T00:00:00Z", "period": "Mai"}
NAMES = ("shuffler", "inviter", "first", "second", "collector")
TERMS = {
    "addresses": {name: f"https://{name}.example" for name in NAMES},
    "organizations": {name: f"Haus {name}" for name in NAMES},
    "survey_page": "https://umfrage.example",
    "invitations": 4000,
    "language": "de",
    **TIMES,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with a plan and reports of every type of question."""
    project = Projects(tmp_path_factory.mktemp("german")).create("klima", SURVEY)
    plan = incrowd.plan(project.survey())
    project.plan_path.write_text(plan.dumps(), "utf-8")
    answers = invented(plan.survey, 8000, np.random.default_rng(1))
    reports = incrowd.randomize(plan, answers)
    incrowd.save_reports(reports, project.path / "reports.parquet")
    return project


@pytest.fixture(scope="module")
def page(project):
    """What a German browser gets."""
    studio, keys = Studio(Projects(project.path.parent), JobsHere()), SessionKeys(PORT)
    browser = Browser(application(studio, keys))
    browser.get(keys.address)
    browser.headers |= {"Origin": ORIGIN, **GERMAN}

    def content(path, status=200):
        answer = browser.get(path)
        assert answer.status_code == status, (path, answer.text[-2000:])
        return answer

    yield content
    studio.jobs.stop_all()


def english(texts):
    """The texts that are English, and why."""
    return {text: why for text in texts if (why := english_in(text))}


RESULTS = "/p/klima/results?source=reports.parquet&"
PAGES = (
    "/",
    "/plan",
    *(f"/p/klima/{each}" for each in ("design", "precision", "publish", "watch", "results")),
    *(f"/p/klima/design?open={id}" for id in ("ort", "raucht", "laune", "sorten", "alter")),
    *(f"/p/klima/design?open={id}" for id in ("lohn", "wort")),
    *(f"/p/klima/{each}" for each in ("history", "manage", "ways", "paste", "question-bank")),
    "/p/klima/publish/rehearsal",
    *(f"{RESULTS}view={view}" for view in ("tables", "correlate", "regress")),
    f"{RESULTS}view=proportions&tables=raucht",
    f"{RESULTS}view=crosstab&first=raucht&second=laune",
    f"{RESULTS}view=compare&first=laune&second=raucht",
    f"{RESULTS}view=regress&outcome=raucht&on=laune&on=alter",
)


@pytest.mark.parametrize("path", one_in(3, PAGES))
def test_no_page_has_an_english_sentence(page, path):
    texts = texts_of_page(page(path).text)
    assert len(texts) > 10
    assert english(texts) == {}


EXPORTS = (
    "view=tables&tables=raucht&tables=laune,raucht",
    "view=regress&outcome=raucht&on=laune",
    "view=compare&first=laune&second=raucht",
)
MOST_LETTERS = 60  # of what need not be a sentence


def texts_of_document(content):
    """The texts of a Word document: those of its paragraphs, and of the cells of its tables."""
    document = docx.Document(io.BytesIO(content))
    cells = [cell for table in document.tables for row in table.rows for cell in row.cells]
    paragraphs = [each.text for each in document.paragraphs if each.text.strip()]
    return paragraphs, [each.text for each in cells if each.text.strip()]


@pytest.mark.parametrize("choice", one_in(3, EXPORTS))
def test_no_document_of_results_has_an_english_sentence(page, choice):
    answer = page(f"/p/klima/results/file?source=reports.parquet&format=docx&{choice}")
    paragraphs, cells = texts_of_document(answer.content)
    assert len(paragraphs) > 5
    assert english([*paragraphs, *cells]) == {}
    sentences = [text for text in paragraphs if len(text) > MOST_LETTERS]
    questions = ("laune: ", "raucht: ")
    small = [text for text in sentences if text[0].islower()]
    assert [text for text in small if not text.startswith(questions)] == []


@pytest.mark.parametrize("mixers", [1, 2])
def test_no_step_of_publishing_and_no_sheet_has_an_english_sentence(project, page, mixers):
    publication = parsed({"mixers": mixers, "here": "collector", **TERMS})
    save_publication(project, publication, load_publication(project)[1])
    for step in WIZARD:
        assert english(texts_of_page(page(f"/p/klima/publish?step={step}").text)) == {}, step
    survey, plan = project.survey(), incrowd.Plan.load(project.plan_path)
    for service in publication.theirs:
        sheet = sheet_of(publication, survey, plan, service, "de")
        assert english(texts_of_page(sheet)) == {}, service
    assert english(texts_of_page(page_sheet(survey, publication, "de"))) == {}
