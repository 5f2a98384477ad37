"""The recipes of docs/architecture.md for a command and for a statistical method, carried out once.

Those for a channel, a type of question and a format of files have tests of their own.
"""

import html
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, Unpack
from unittest import mock

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
import typer

import incrowd
from incrowd import views
from incrowd.cli import later
from incrowd.cli.console import print_json, say
from incrowd.cli.options import AsJson, PlanArgument
from incrowd.errors import UsageError
from incrowd.estimation.options import ErrorOptions
from incrowd.methods import METHODS, Method, MethodOption
from incrowd.plans import Guarantee
from incrowd.studio.access import SessionKeys
from incrowd.studio.app import application
from incrowd.studio.pages import Studio
from incrowd.studio.projects import Projects
from incrowd.studio.work import Jobs
from tests.conftest import run
from tests.oracles.studio import PORT, Browser

# --- a command: a function in a module of cli, and a line of COMMANDS ----------------------------


def bits(
    plan: PlanArgument,
    least: Annotated[int, typer.Option(help="Leave out what is shorter.")] = 0,
    json: AsJson = False,
) -> None:
    """Show how many bits each person sends."""
    if least < 0:
        raise UsageError.of("least", "sampling.negative-seed", value=least)
    sizes = [m.bits for m in incrowd.Plan.load(plan).messages if m.bits >= least]
    if json:
        print_json({"bits": sizes})
    else:
        say(f"bits: {', '.join(map(str, sizes))}")


@pytest.fixture
def command():
    module = ModuleType("incrowd.cli.sizes")
    module.bits = bits
    line = ("Read", "sizes:bits", "Show how many bits each person sends.")
    with (
        mock.patch.dict(sys.modules, {module.__name__: module}),
        mock.patch.dict(later.COMMANDS, {"bits": line}),
    ):
        yield


def test_a_command_runs_prints_json_and_says_what_is_wrong(command, tmp_path, tiny):
    (tmp_path / "plan.json").write_text(tiny.dumps())
    done = run("bits", tmp_path / "plan.json")
    assert (done.returncode, done.stderr.strip()) == (0, "bits: 1")
    assert json.loads(run("bits", tmp_path / "plan.json", "--json").stdout) == {"bits": [1]}
    wrong = run("bits", tmp_path / "plan.json", "--least", "-1")
    assert wrong.returncode == 2 and "least: got -1; should be at least 0" in wrong.stderr
    assert "how many bits" in run("--help").stdout
    assert "Leave out what is shorter" in run("bits", "--help").stdout


# --- a statistical method: a module with a function and its result, and a declaration ------------


@dataclass(frozen=True)
class Odds(views.Result):
    """The odds of one answer. standard_error: of noise plus sampling, by the delta method."""

    question: str
    answer: str
    estimate: float
    standard_error: float
    guarantee: Guarantee
    seed: int | None = None

    def facts(self) -> dict[str, Any]:
        """Return the odds with their standard error."""
        return {"odds": self.estimate, "standard_error": self.standard_error}

    def long_table(self) -> views.Sheet:
        """Return the answer and its odds."""
        return views.Sheet("odds", ("answer", "odds"), ((self.answer, self.estimate),))

    def view(self) -> views.View:
        """Return the odds, rounded."""
        line = (self.answer, f"{self.estimate:.3f} ({self.standard_error:.3f})")
        table = views.Numbers(f"Odds of {self.question}", ("answer", "odds"), (line,))
        return views.View("Odds", tables=(table,))

    @property
    def in_r(self) -> str:
        """Lines of R that use the odds."""
        return "log(incrowd$sheets$odds$odds)"


def odds(
    plan: incrowd.Plan,
    reports: Sequence[incrowd.Collection],
    *,
    question: str,
    answer: str = "yes",
    **options: Unpack[ErrorOptions],
) -> Odds:
    """Estimate the odds of an answer, p / (1 - p). Raises UsageError if there is no such answer."""
    estimates = incrowd.estimate(plan, reports, tables=[[question]], **options)
    table = estimates[question]
    (answers,) = table.answers
    if answer not in answers:
        raise UsageError.of("answer", "shared.use-one-of", value=answer, choices=answers)
    share, error = (
        float(values[answers.index(answer)]) for values in (table.estimate, table.standard_error)
    )
    figures = share / (1 - share), error / (1 - share) ** 2
    return Odds(question, answer, *figures, estimates.guarantee, estimates.seed)


ODDS = Method(
    "odds",
    "estimation.odds",
    {"en": "Odds", "de": "Chancen"},
    results=("estimation.odds:Odds",),
    options=(
        MethodOption(
            "question",
            "question",
            "Question.",
            {"en": "Question", "de": "Frage"},
            required=True,
        ),
        MethodOption(
            "answer",
            "line",
            "Answer; yes by default.",
            {"en": "Answer", "de": "Antwort"},
        ),
    ),
    line="Estimate the odds of an answer.",
    help="Noise does not bias the share.",
)


@pytest.fixture
def method():
    module = ModuleType("incrowd.estimation.odds")
    module.odds, module.Odds = odds, Odds
    with (
        mock.patch.dict(sys.modules, {module.__name__: module}),
        mock.patch.dict(METHODS, {"odds": ODDS}),
        mock.patch.dict(later.COMMANDS),
    ):
        later.COMMANDS |= later.method_commands()
        yield
    for name in ("odds", "Odds"):
        vars(incrowd).pop(name, None)


@pytest.fixture(scope="module")
def tiny():
    question = {"id": "a", "type": "yesno", "text": "Do you?"}
    privacy = {"epsilon": 1.0, "delta": 1e-6, "analysis": "blanket"}
    raw = {"name": "one", "crowd": 5000, "privacy": privacy, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(raw | {"tables": "any"}))


ANSWERS = pa.table({"a": np.where(np.arange(5000) < 1500, "yes", "no")})


@pytest.mark.slow
def test_a_method_covers_the_truth_and_is_handed_on_as_a_table(tiny):
    """100 collections of 5,000 people, 30% yes. Fewer than 86 intervals that cover the
    odds have a chance of 2e-4 at 95%; errors that are half as large must be found."""
    estimates = [
        odds(
            tiny,
            incrowd.randomize(tiny, ANSWERS, simulation_seed=n),
            question="a",
            noise_only=True,
        )
        for n in range(100)
    ]
    distances = np.array([abs(each.estimate - 3 / 7) / each.standard_error for each in estimates])
    assert (distances < 1.96).sum() >= 86
    assert (distances < 0.98).sum() < 86, "wrong: half the error"
    assert estimates[0].to_arrow().column_names == ["answer", "odds", views.SIMULATION]
    with pytest.raises(UsageError, match="use one of"):
        odds(tiny, incrowd.randomize(tiny, ANSWERS, simulation_seed=0), question="a", answer="x")


@pytest.fixture
def folder(tiny, tmp_path):
    """A project of the studio, with a plan and reports."""
    made = tmp_path / "one"
    made.mkdir()
    (made / "survey.toml").write_text(SURVEY)
    (made / "plan.json").write_text(tiny.dumps())
    incrowd.save_reports(incrowd.randomize(tiny, ANSWERS), made / "reports.parquet")
    return made


SURVEY = """
name = "one"
crowd = 5000
tables = "any"
[privacy]
epsilon = 1.0
delta = 1e-6
analysis = "blanket"
[[question]]
id = "a"
type = "yesno"
text = "Do you?"
"""


def test_a_method_is_a_public_function_and_a_command(method, folder):
    plan, reports = folder / "plan.json", folder / "reports.parquet"
    found = incrowd.odds(incrowd.Plan.load(plan), incrowd.load_reports(reports), question="a")
    assert isinstance(found, incrowd.Odds) and found.estimate == pytest.approx(3 / 7, rel=0.5)
    given = "odds", plan, reports, "--question", "a"
    assert json.loads(run(*given, "--json").stdout).items() >= found.facts().items()
    shown = run(*given)
    assert f"{found.estimate:.3f}" in shown.stdout, shown.stderr
    assert "Estimate the odds of an answer" in run("--help").stdout
    assert "yes by default" in run("odds", "--help").stdout
    assert run("odds", plan, reports).returncode == 2
    wrong = run(*given, "--answer", "x")
    assert wrong.returncode == 2 and "answer: got 'x'; use one of" in wrong.stderr


def test_a_result_is_written_in_every_format(method, folder):
    plan, reports = folder / "plan.json", folder / "reports.parquet"
    files = [folder / f"odds.{ending}" for ending in ("html", "xlsx", "R", "csv")]
    outputs = [word for file in files for word in ("-o", file)]
    done = run("odds", plan, reports, "--question", "a", "--answer", "no", *outputs)
    assert done.returncode == 0, done.stderr
    page, book, script, rows = files
    assert "Odds of a" in page.read_text()
    sheets = openpyxl.load_workbook(book)
    assert next(iter(sheets["odds"].values)) == ("answer", "odds")
    assert "log(incrowd$sheets$odds$odds)" in script.read_text()
    assert rows.read_text().splitlines()[1].startswith('"no",')


def opened(folder):
    """A client that is admitted to a studio."""
    studio, keys = Studio(Projects(folder), Jobs()), SessionKeys(PORT)
    browser = Browser(application(studio, keys))
    assert browser.get(keys.address).status_code == 303
    return browser


def test_the_studio_has_the_form_and_the_result_of_a_method(method, folder):
    browser = opened(folder.parent)
    page = browser.get("/p/one/results?view=odds")
    assert "Odds</a>" in page.text and 'id="result-title"' not in page.text
    assert '<option value="a">Do you?</option>' in page.text and "Answer" in page.text
    page = browser.get("/p/one/results?view=odds&option.question=a&option.answer=no&noise_only=1")
    assert page.status_code == 200 and "Odds of a" in page.text
    shown = html.unescape(page.text)
    line = "incrowd odds plan.json reports.parquet --question a --answer no --noise-only -o"
    assert line in shown
    assert "incrowd.odds(plan, reports, question='a', answer='no', noise_only=True)" in shown
    assert 'questions = ["a"]' in shown
