"""A type of question that the package does not have: a rating by stars, from survey to results.

The class below states only what is different about it, and so does its twin in the client; every
command, the survey page and the studio follow from that.
"""

import re
import shutil
import socket
import subprocess
from contextlib import ExitStack
from typing import ClassVar, Literal
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from pydantic import Field, model_validator

import incrowd
from incrowd.catalog.sentences import Sentence, sentence
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.places import CollectorPlaces, load_private
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.page import files as page
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.upload import code_field
from incrowd.collection.rehearsal import crowd_of
from incrowd.collection.taking import read_start
from incrowd.encoding.records import EncodedAnswers
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from incrowd.studio.work import Jobs
from incrowd.survey.forms import DesignForm, KeyInput, PageField
from incrowd.survey.question import AnyQuestion
from incrowd.survey.questions import TYPES
from incrowd.survey.toml import Mistake
from tests.conftest import run
from tests.oracles.node import CLIENT, has_browser, node
from tests.oracles.pages import bundle_at, hosted, in_browser, served, written
from tests.oracles.studio import ORIGIN, PORT, Browser


class Rating(AnyQuestion):
    """One to `stars` stars."""

    type: Literal["rating"] = "rating"
    not_open: ClassVar[Sentence | None] = sentence("survey.open-numbers")
    design_form: ClassVar[DesignForm] = DesignForm(
        {"en": "Stars", "de": "Sterne"},
        {"en": "More stars are better.", "de": "Mehr Sterne sind besser."},
        (KeyInput("stars", "count", {"en": "Number of stars", "de": "Anzahl der Sterne"}, 5),),
    )
    stars: int = Field(default=5, ge=2, strict=True)

    @model_validator(mode="after")
    def _few(self):
        if self.stars > 10:
            raise Mistake("stars", "survey.more-than-options", value=self.stars, most=10)
        return self

    @property
    def choices(self):
        return tuple(str(star) for star in range(1, self.stars + 1))

    @property
    def values(self):
        return tuple(float(star) for star in range(1, self.stars + 1))

    @property
    def page_field(self):
        hint = {"en": "One star is the worst.", "de": "Ein Stern ist am schlechtesten."}
        return PageField("one", self.choices[::-1], hint=hint)

    def described(self, named):
        return f"a rating by {named[0]} to {named[-1]} stars"


@pytest.fixture(autouse=True)
def registered():
    with mock.patch.dict(TYPES, {"rating": Rating}):
        yield


TOML = """
name = "Visits"
crowd = 3000
[privacy]
epsilon = 1.0
[[question]]
id = "service"
type = "rating"
optional = true
shares = { 1 = 0.1, 2 = 0.1, 3 = 0.2, 4 = 0.2, 5 = 0.3, "no answer" = 0.1 }
[[question]]
id = "returns"
type = "yesno"
[[table]]
questions = ["service", "returns"]
"""
SHARES = np.array([0.1, 0.1, 0.2, 0.2, 0.3, 0.1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rating")
    (folder / "survey.toml").write_text(TOML)
    drawn = np.random.default_rng(1)
    stars = drawn.choice(6, 3000, p=SHARES)
    returns = drawn.random(3000) < 0.1 + 0.1 * stars
    answers = pa.table(
        {
            "service": [None if each == 5 else str(each + 1) for each in stars],
            "returns": np.where(returns, "yes", "no"),
        }
    )
    pa.csv.write_csv(answers, folder / "answers.csv")
    return folder


def test_its_table_is_that_of_the_answers(folder):
    """All cells within 4.8 of their errors: together a false alarm rate of 1e-5. Those of another
    order of the answers are not."""
    survey = incrowd.Survey.load(folder / "survey.toml")
    plan = incrowd.plan(survey)
    assert incrowd.Survey.of({**survey.model_dump(by_alias=True)}) == survey
    assert incrowd.Plan.loads(plan.dumps()) == plan
    reports = incrowd.randomize(plan, folder / "answers.csv", simulation_seed=2)
    table = incrowd.estimate(plan, reports).table("service")
    assert table.answers == (("1", "2", "3", "4", "5", "no answer"),)
    off = abs(table.estimate - SHARES) / table.standard_error
    wrong = abs(table.estimate - SHARES[::-1]) / table.standard_error
    assert off.max() < 4.8 < wrong.max()


def test_its_answers_count_as_their_values(folder):
    plan = incrowd.plan(incrowd.Survey.load(folder / "survey.toml"))
    reports = incrowd.randomize(plan, folder / "answers.csv", simulation_seed=3)
    found = incrowd.correlate(plan, reports)
    answers = pa.csv.read_csv(folder / "answers.csv")
    given = np.array(answers["service"].is_valid())
    stars = np.array(answers["service"].to_pylist(), float)[given]
    returns = np.array(answers["returns"].to_pylist())[given] == "yes"
    truth = np.corrcoef(stars, returns)[0, 1]
    (pair,) = found.pairs
    assert truth > 0.2 and pair.low < truth < pair.high


def test_from_the_file_to_the_page(folder):
    for command in (
        "check survey.toml answers.csv",
        "plan survey.toml -o plan.json",
        "verify plan.json",
        "card plan.json -o card.html",
        "randomize plan.json answers.csv -o reports.parquet",
        "estimate plan.json reports.parquet -o report.html",
    ):
        ended = run(*command.split(), cwd=folder)
        assert ended.returncode == 0, ended.stderr + ended.stdout
    card, page = ((folder / f"{name}.html").read_text() for name in ("card", "report"))
    assert "a rating by 1 to 5 stars; or no answer" in card
    assert "service" in page and "no answer" in page


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("stars = 1", "question[1].stars of service: got 1; should be at least 2"),
        ("stars = 11", "question[1].stars of service: got 11; should be at most 10"),
        ("star = 3", "question[1].star of service: got 3; this key is unknown here; did you mean"),
        ("open = true", "question[1].open of service: got True; only named answers can be sent"),
    ],
)
def test_its_mistakes_are_told_where_they_are(keys, says, tmp_path):
    text = TOML.replace('type = "rating"', f'type = "rating"\n{keys}').split("shares")[0]
    (tmp_path / "survey.toml").write_text(text + '[[question]]\nid = "x"\ntype = "yesno"\n')
    with pytest.raises(incrowd.SurveyError) as error:
        incrowd.Survey.load(tmp_path / "survey.toml")
    assert says in str(error.value)


def test_wrong_answers_say_what_works(folder):
    survey = incrowd.Survey.load(folder / "survey.toml")
    with pytest.raises(incrowd.AnswersError, match="use one of 1, 2, 3, 4, 5"):
        incrowd.randomize(incrowd.plan(survey), pa.table({"service": ["6"], "returns": ["no"]}))


def test_without_registration_it_is_unknown(folder):
    with mock.patch.dict(TYPES), pytest.raises(incrowd.SurveyError) as error:
        del TYPES["rating"]
        incrowd.Survey.load(folder / "survey.toml")
    assert "got 'rating'; use one of yesno, choice, multi" in str(error.value)


TWIN = """
import { isCount } from "../shapes.js"
import { place, type Common, type QuestionType } from "./type.js"

export type Rating = Common & { readonly type: "rating"; readonly stars: number }

const answers = ({ stars }: Rating): string[] => Array.from({ length: stars }, (_, i) => `${i + 1}`)

export const rating: QuestionType<Rating> = {
  answers,
  fits: ({ stars }) => isCount(stars, 2, 10),
  encode: (question, answer) => place(question, answers(question), answer),
  memoized: true,
}
"""


def page_folder(folder):
    """The files that a page is made of, with a client that has the type."""
    shutil.copytree(page._HERE, folder / "page")
    shutil.copytree(CLIENT, folder / "js", ignore=shutil.ignore_patterns("node_modules", "lib"))
    (folder / "js" / "node_modules").symlink_to(CLIENT / "node_modules")
    types = folder / "js" / "src" / "types"
    (types / "rating.ts").write_text(TWIN)
    listed = (types / "all.ts").read_text()
    assert listed.count("amount, text }") == 1
    line = 'import { rating } from "./rating.js"\n'
    (types / "all.ts").write_text(line + listed.replace("amount, text }", "amount, text, rating }"))
    (program,), _ = node()
    subprocess.run([program, "build.js", folder / "dist"], cwd=folder / "js", check=True)
    shutil.copy(folder / "dist" / "incrowd.js", folder / "page" / "static" / "incrowd-sdk.js")
    return folder / "page"


PEOPLE = 60
SURVEY = f"""name = "Visits"
crowd = {crowd_of(PEOPLE)}
[privacy]
epsilon = 40.0
analysis = "local"
"""


def in_studio(folder):
    """A studio, and a client that is admitted to it."""
    studio, keys = Studio(Projects(folder), Jobs()), SessionKeys(PORT)
    client = Browser(application(studio, keys))
    client.get(keys.address)
    client.headers["Origin"] = ORIGIN
    return studio, client


def designed(studio, client):
    """The project of a survey that is written with the forms of the studio."""
    project = studio.projects.create("Visits", SURVEY)
    design = f"/p/{project.name}/design"
    assert 'name="stars"' in client.get(design).text
    rated = {"type": "rating", "short_name": "service", "text": "How was it?", "stars": "4"}
    for question in (rated, {"type": "yesno", "short_name": "returns", "text": "Will you return?"}):
        (seen, *_) = re.findall(r'name="seen" value="(\w+)"', client.get(design).text)
        assert client.post(design, data={"do": "add", "seen": seen, **question}).status_code == 303
    page = client.get(f"{design}?open=service", headers={"Accept-Language": "de"}).text
    assert "Anzahl der Sterne" in page and 'id="stars" name="stars"' in page
    assert re.findall(r'name="option.\d" id="option-\d" value="(\d)"', page) == list("4321")
    survey = incrowd.Survey.load(project.survey_path)
    assert survey.questions[0].stars == 4 and survey.questions[0].text == "How was it?"
    return project, survey


@pytest.mark.slow
def test_from_the_studio_over_a_page_to_the_results(tmp_path):
    """Everybody gives one star with the program, and one person four at the page. With this little
    noise, she is counted."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    (tmp_path / "studio").mkdir()
    studio, client = in_studio(tmp_path / "studio")
    project, survey = designed(studio, client)
    folder = page_folder(tmp_path)
    with ExitStack() as running:
        running.enter_context(mock.patch.object(page, "_HERE", folder))
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        shuffler = f"http://127.0.0.1:{door.getsockname()[1]}"
        bundle, signer = bundle_at(shuffler, survey, tmp_path, wanted=PEOPLE, local_only=True)
        codes = running.enter_context(served(bundle, signer, tmp_path, door, PEOPLE))
        others = pa.table({"service": ["1"] * (PEOPLE - 1), "returns": ["no"] * (PEOPLE - 1)})
        encoded = EncodedAnswers.of(bundle.plan.survey, others)
        send_each(bundle, encoded, Connection(), codes=list(map(code_field, codes[1:])))
        content = page.asked_in(tmp_path / "bundle.json", None)
        public = written(tmp_path / "public", page.page_files(content, page.shipped()))
        link = f"{running.enter_context(hosted(public))}#{bundle.digest.hex()}.{codes[0]}"
        person = {"link": link, "checked": ["#q1-0", "#q2-1"], "locale": "en-GB"}
        (seen,) = in_browser("together.mjs", {"people": [person]})
    assert seen["outcome"] == "Your answers were sent" and not seen["complaints"]
    assert "How was it?" in seen["questions"] and "One star is the worst." in seen["questions"]
    assert seen["review"][0] == "4"
    signed, start = read_start(tmp_path / "0.release", Header)
    private = load_private(CollectorPlaces(tmp_path / "collector").private, bundle)
    opened = project.path / "collector" / "opened" / "release-0"
    opened.parent.mkdir(parents=True)
    open_release(tmp_path / "0.release", start, signed, bundle, private, opened, workers=1)
    (project.path / "plan.json").write_text(bundle.plan.dumps())
    results = client.get(f"/p/{project.name}/results").text
    row = r'<tr><th scope="row">(\d)[^\n]*?<td class="main">(.*?)</td>'
    everybody, one = (f"{100 * people / PEOPLE:.1f}" for people in (PEOPLE - 1, 1))
    assert re.findall(row, results) == [("1", everybody), ("2", "0.0"), ("3", "0.0"), ("4", one)]
