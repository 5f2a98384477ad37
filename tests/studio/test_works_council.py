"""A works council asks 90 colleagues, from an empty folder to a report, without a command line.

Everything is in German. A colleague of another organization unpacks the package and starts what it
says; 60 people answer, some of them in a browser. The test writes a page with the time of each step
and everything that people read, for a reader who knows German: `texts.md` in its folder.

The pictures: STUDIO_PICTURES=folder pytest -m slow THIS_FILE.
"""

import csv
import html
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
import zipfile
from datetime import timedelta
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import docx
import pyarrow as pa
import pytest

from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.device.sending import fetch
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.upload import code_field
from incrowd.encoding.records import EncodedAnswers
from tests.oracles.german_pages import english_in
from tests.oracles.node import BROWSER, has_browser, node
from tests.oracles.packages import started, unpacked
from tests.oracles.pages import hosted
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
NAME = "klima-im-betrieb"
QUESTION = "Wurden Sie in den letzten zwölf Monaten am Arbeitsplatz gemobbt?"
ASKED = "Haben Sie deswegen mit jemandem gesprochen?"
INTRODUCTION = """Liebe Kolleginnen und Kollegen,

wir möchten wissen, wie es Ihnen bei der Arbeit geht.
Ihr Betriebsrat"""
INCROWD = (sys.executable, "-m", "incrowd")
LATER = Path(__file__).parents[1] / "oracles" / "later"
LONG = 120.0
PEOPLE, LEAST = 60, 10
# Where the answers of three people are on the page: their group, bullied or not, what then.
IN_BROWSER = {"mouse": (0, 0, 1), "phone": (1, 1), "keyboard": (1, 0, 0)}
EXPECTED = ["Verwaltung", "Produktion"], ["yes", "no"], ["yes", "no", None]
# Of all 60, 42 are bullied: 25 of 30 in the administration, and 17 of 30 in the production. Of
# these, 30 spoke about it, 10 did not, and two do not say.
OTHERS = [
    *[("Verwaltung", "yes", "yes")] * 20,
    *[("Verwaltung", "yes", "no")] * 4,
    *[("Verwaltung", "no", None)] * 5,
    *[("Produktion", "yes", "yes")] * 9,
    *[("Produktion", "yes", "no")] * 5,
    *[("Produktion", "yes", None)] * 2,
    *[("Produktion", "no", None)] * 12,
]
STEP = "| {name} | {seconds:.1f} |"


def acted(act, **given):
    """What was read in one act."""
    (program,), _ = node()
    run = subprocess.run(
        [program, str(BROWSER / "works_council.mjs")],
        input=json.dumps({"act": act, "shots": os.environ.get("STUDIO_PICTURES"), **given}),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("works-council")


@pytest.fixture(scope="module")
def journey(folder):
    """What was read in each act."""
    acts = Acts(folder)
    try:
        acts.play()
    finally:
        (folder / "texts.md").write_text(written(acts.seen))
        print(f"{folder / 'texts.md'} has the time and the texts of each step")
    return acts.seen


class Acts:
    """The whole way. seen: what was read in each act, by its name."""

    def __init__(self, folder):
        self.folder, self.seen = folder, {}
        self.shuffler = f"http://localhost:{free_port()}"
        self.survey = f"http://127.0.0.1:{free_port()}"
        self.shared = {"state": str(folder / "state.json"), "folder": str(folder)}

    def act(self, act, name="", **given):
        self.seen[name or act] = acted(act, **self.shared, **given)

    def play(self):
        surveys, elsewhere = self.folder / "surveys", self.folder / "elsewhere"
        with running_studio(surveys) as address:
            project = f"{urljoin(address, '/p/')}{NAME}"
            self.act("design", address=address, question=QUESTION, asked=ASKED)
            introduced = {"introduction": INTRODUCTION}
            self.act(
                "publish",
                project=project,
                shuffler=self.shuffler,
                survey=self.survey,
                **introduced,
            )
            package = unpacked((self.folder / "for-shuffler.zip").read_bytes(), elsewhere)
            sheet = package / "sheet.html"
            self.act("sheet", sheet=str(sheet), title="the colleague's sheet")
            with started(package, self.shuffler):
                invited = colleague_invites(package)
                self.act(
                    "bundle",
                    project=project,
                    plan=str(surveys / NAME / "plan.json"),
                    bundle=str(package / "shuffler" / "bundle.json"),
                )
                self.answers(invited)
            with started(package, self.shuffler, **later(hours=2)):
                self.act("watch", project=project)
        with started(package, self.shuffler, **later(days=22)):
            release = waited_for(package / "shuffler" / "handover")
            with running_studio(surveys, **later(days=22)) as address:
                project = f"{urljoin(address, '/p/')}{NAME}"
                self.act("read", address=address, project=project, release=str(release))
            code = self.seen["read"]["code"]
            confirm = [*INCROWD, "acknowledge", code, "shuffler"]
            subprocess.run(confirm, cwd=package, check=True, capture_output=True)

    def answers(self, invited):
        """60 of those who are invited answer at the page of the web host, three in a browser."""
        with zipfile.ZipFile(self.folder / "page.zip") as archive:
            archive.extractall(self.folder / "host")
        sheet = self.folder / "host" / "sheet.html"
        self.act("sheet", "page sheet", sheet=str(sheet), title="the sheet for the web host")
        with hosted(self.folder / "host" / "page", urlsplit(self.survey).port) as host:
            assert {each["link"].partition("#")[0].rstrip("/") for each in invited} == {
                host.rstrip("/")
            }
            people = [
                {"link": person["link"], "way": way, "answers": [*places]}
                for person, (way, places) in zip(invited, IN_BROWSER.items(), strict=False)
            ]
            self.act("answer", people=people)
        codes = [code_field(each["code"]) for each in invited[len(IN_BROWSER) : PEOPLE]]
        digest = bytes.fromhex(invited[0]["link"].partition("#")[2].partition(".")[0])
        fetched = fetch(Link(self.shuffler, digest), Connection())
        others = EncodedAnswers.of(fetched.plan.survey, pa.table(self.others(fetched.plan.survey)))
        sent = send_each(fetched, others, Connection(), codes=codes)
        assert sent.people == sent.stored == PEOPLE - len(IN_BROWSER)

    def others(self, survey):
        ids = [question.id for question in survey.questions]
        return dict(zip(ids, zip(*OTHERS, strict=True), strict=True))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


def later(**passed):
    """The environment of a process on whose machine some time has passed."""
    seconds = timedelta(**passed).total_seconds()
    return {"PYTHONPATH": str(LATER), "TESTS_SECONDS_LATER": str(seconds)}


def colleague_invites(package):
    """The invitations that the colleague creates with the command of her sheet."""
    sheet = html.unescape((package / "sheet.html").read_text())
    [command] = re.findall(r"^incrowd (invitations [0-9].*?)(?:</code>|$)", sheet, re.MULTILINE)
    subprocess.run([*INCROWD, *shlex.split(command)], cwd=package, check=True, capture_output=True)
    with (package / "codes.csv").open(newline="", encoding="utf-8-sig") as file:
        return [*csv.DictReader(file)]


def waited_for(folder):
    """The release in a folder, once it is there."""
    end = time.monotonic() + LONG
    while not (files := [*folder.glob("*.release")]):
        assert time.monotonic() < end
        time.sleep(0.2)
    return files[0]


def written(acts):
    """A page with the time of each step, and each text where it is read first."""
    steps = [step for seen in acts.values() for step in seen["steps"]]
    lines = ["| step | seconds |", "|---|---|", *(STEP.format(**step) for step in steps)]
    known = set()
    for step in steps:
        lines += ["", f"## {step['name']}", ""]
        for kind, text in step["texts"]:
            if (kind, text) not in known:
                lines.append(f"- {kind}: {text}")
            known.add((kind, text))
    return "\n".join([*lines, ""])


def of_all(journey, kind):
    """What was noticed of one kind, by the names of the states."""
    return {name: wrong for seen in journey.values() for name, wrong in seen[kind].items() if wrong}


def test_every_state_is_accessible_and_fits_on_a_phone(journey):
    assert sum(len(seen["axe"]) for seen in journey.values()) >= 80
    assert of_all(journey, "axe") == {}
    assert of_all(journey, "wide") == {}


def test_nothing_is_fetched_from_elsewhere_and_no_page_complains(journey):
    assert {host for seen in journey.values() for host in seen["asked"]} == {
        "127.0.0.1",
        "localhost",
        "",
    }
    complaints = [each for seen in journey.values() for each in seen["complaints"]]
    assert [each for each in complaints if "status of 422" not in each] == []


def test_no_sentence_is_english(journey):
    for text in ("Every change is saved in survey.toml.", "You have to know that."):
        assert english_in(text)
    found = {
        text: english_in(text)
        for seen in journey.values()
        for step in seen["steps"]
        for _, text in step["texts"]
    }
    assert {text: reason for text, reason in found.items() if reason} == {}


def test_the_survey_is_what_she_typed(journey, folder):
    survey = tomllib.loads((folder / "surveys" / NAME / "survey.toml").read_text())
    assert survey["people"] == {"invited": 90, "expected": 0.67, "everybody": True}
    group, bullied, asked = survey["question"]
    assert (group["options"], survey["privacy"]["noise"]) == (
        ["Verwaltung", "Produktion"],
        "services",
    )
    assert (bullied["text"], asked["text"]) == (QUESTION, ASKED)
    assert asked["asked_if"] == f"{bullied['id']} = yes"
    assert survey["language"] == "de"


def test_a_file_that_is_no_bundle_is_refused(journey):
    assert "bundle" in journey["bundle"]["refused"]


def test_colleagues_and_hosts_get_packages(journey, folder):
    assert journey["publish"]["package"] == "for-shuffler.zip"
    with zipfile.ZipFile(folder / "page.zip") as archive:
        assert {"sheet.html", "page/index.html"} <= set(archive.namelist())


def test_people_read_the_introduction_in_lines(journey):
    read = {text for step in journey["answer"]["steps"] for _, text in step["texts"]}
    assert any("bei der Arbeit geht. Ihr Betriebsrat" in text for text in read)
    assert [text for text in read if ".invalid" in text] == []
    assert any("auswertende Stelle (die eine Datei bekommt)" in text for text in read)


def test_answers_are_watched_against_the_threshold(journey):
    """The number is rounded down by as much as 20 people."""
    [people, least] = re.findall(r"[0-9]+", journey["watch"]["watched"].split(".")[0])[:2]
    assert PEOPLE - 20 <= int(people) <= PEOPLE and int(least) == LEAST


def answered():
    """What all 60 have answered, as tuples."""
    in_browser = [
        tuple(EXPECTED[place][chosen] for place, chosen in enumerate(places))
        for places in IN_BROWSER.values()
    ]
    everybody = [*OTHERS, *((*each, None)[:3] for each in in_browser)]
    return [
        (group, bullied, (spoke or "no answer") if bullied == "yes" else "not asked")
        for group, bullied, spoke in everybody
    ]


def disagreements(tables, people):
    """Cells of which the estimate is far from a share: farther than eight standard errors.

    The noise of two services has the tails of a geometric distribution: fewer than one in 10,000
    of a cell's estimates are as far away.
    """
    for columns, table in tables.items():
        given = [tuple(each[column] for column in columns) for each in people]
        for answer, cell in table.items():
            share = given.count(answer) / len(given)
            if abs(cell["estimate"] - share) > 8 * cell["standard_error"]:
                yield columns, answer


@pytest.fixture(scope="module")
def estimates(folder, journey):
    """The tables of everybody, by the places of their questions."""
    document = json.loads((folder / f"{NAME}-tables.json").read_text())
    survey = tomllib.loads((folder / "surveys" / NAME / "survey.toml").read_text())
    ids = [question["id"] for question in survey["question"]]
    return {
        tuple(map(ids.index, table["questions"])): {
            tuple(cell["answer"]): cell for cell in table["cells"]
        }
        for table in document["tables"]
        if "shares_of" not in table
    }


def test_the_estimates_are_those_of_what_people_answered(journey, estimates):
    assert [*map(len, answered())] == [3] * PEOPLE
    assert set(estimates) == {(0,), (1,), (2,), (0, 1)}
    assert list(disagreements(estimates, answered())) == []
    other = {"yes": "no", "no": "yes"}
    exchanged = [(group, other[bullied], spoke) for group, bullied, spoke in answered()]
    assert {columns for columns, _ in disagreements(estimates, exchanged)} == {(1,), (0, 1)}


def test_most_intervals_contain_the_truth(estimates):
    """15 of 95%: fewer than 10 do in less than one of 10,000 collections, if they are independent;
    those of a table depend on each other, and fewer than 8 are as rare."""
    inside = [
        cell["low"] <= share <= cell["high"]
        for columns, table in estimates.items()
        for answer, cell in table.items()
        for given in [[tuple(each[column] for column in columns) for each in answered()]]
        for share in [given.count(answer) / PEOPLE]
    ]
    assert len(inside) == 12 and sum(inside) >= 6


def test_the_report_for_word_has_the_same_numbers(journey, folder, estimates):
    document = docx.Document(str(folder / f"{NAME}-tables.docx"))
    rows = [[cell.text for cell in row.cells] for table in document.tables for row in table.rows]
    written = {(row[0], row[-1]) for row in rows}
    for answer, cell in estimates[(0,)].items():
        assert (answer[0], f"{100 * cell['estimate']:.1f}".replace(".", ",")) in written
    for answer, cell in estimates[(1,)].items():
        word = {"yes": "ja", "no": "nein"}[answer[0]]
        assert (word, f"{100 * cell['estimate']:.1f}".replace(".", ",")) in written
    texts = [paragraph.text for paragraph in document.paragraphs]
    assert QUESTION in texts and "60 Personen haben teilgenommen." in texts
    assert [text for text in texts if english_in(text)] == []


def test_the_results_are_those_of_the_colleagues_and_not_of_the_rehearsal(journey):
    assert journey["read"]["source"] == "collector/opened/release-0"
    assert "60 Personen haben teilgenommen" in journey["read"]["report"]
    assert min(journey["read"]["pages"]) >= 1


def test_the_keys_are_destroyed(journey, folder):
    assert not (folder / "surveys" / NAME / "collector" / "private.key").exists()


def test_the_wizard_says_what_is_missing(journey):
    assert "wie viele Personen Sie einladen" in journey["design"]["missing"]


def test_the_promise_is_certified_and_in_words(journey):
    promised = journey["design"]["promised"]
    assert "zertifiziert" in promised and "Schätzung" not in promised
    assert "60 Antworten" in promised
