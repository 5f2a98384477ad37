"""A type of question that the package does not have: a rating by stars, from survey to page.

The class below says only what is different about it; every command that follows asks it.
"""

from typing import ClassVar, Literal
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from pydantic import Field, model_validator

import incrowd
from incrowd.survey.question import AnyQuestion
from incrowd.survey.questions import TYPES
from incrowd.survey.toml import Mistake
from tests.conftest import run


class Rating(AnyQuestion):
    """One to `stars` stars."""

    type: Literal["rating"] = "rating"
    not_open: ClassVar[str] = "stars are not strata; use a choice"
    stars: int = Field(default=5, ge=2, strict=True)

    @model_validator(mode="after")
    def _few(self):
        if self.stars > 10:
            raise Mistake("stars", self.stars, "should be 10 at most")
        return self

    @property
    def choices(self):
        return tuple(str(star) for star in range(1, self.stars + 1))

    @property
    def values(self):
        return tuple(float(star) for star in range(1, self.stars + 1))

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
        ("stars = 11", "question[1].stars of service: got 11; should be 10 at most"),
        ("star = 3", "question[1].star of service: got 3; this key is unknown here; did you mean"),
        ("open = true", "question[1].open of service: got True; stars are not strata"),
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
