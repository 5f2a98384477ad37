"""Weights to known margins where several messages travel: what can be weighted is, and the rest is
listed with the reasons."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import incrowd
from incrowd.cli.app import main
from incrowd.errors import TableError
from incrowd.presentation.layouts import page

MARGINS = {"sex": {"f": 0.5, "m": 0.5}}
SURVEY = """
name = "Two messages"
crowd = 500
privacy = { epsilon = 16.0, analysis = "local" }

[[question]]
id = "sex"
type = "choice"
options = ["f", "m"]

[[question]]
id = "ill"
type = "yesno"

[[question]]
id = "tired"
type = "yesno"

[[message]]
questions = ["sex", "ill"]

[[message]]
questions = ["tired"]
"""


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command here; gives its exit code and what it wrote to both outputs."""

    def called(*arguments):
        monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return called


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    (folder / "survey.toml").write_text(SURVEY)
    (folder / "margins.toml").write_text("[sex]\nf = 0.5\nm = 0.5\n")
    (folder / "tired.toml").write_text("[tired]\nno = 0.5\nyes = 0.5\n")
    male = np.arange(2000) % 4 == 0
    ill = np.where(male, np.arange(2000) % 8 == 0, np.arange(2000) % 3 == 0)
    sex = np.where(male, "m", "f")
    answers = pa.table({"sex": sex, "ill": ill, "tired": np.arange(2000) % 5 == 0})
    plan = incrowd.plan(incrowd.Survey.load(folder / "survey.toml"))
    (folder / "plan.json").write_text(plan.dumps())
    incrowd.save_reports(incrowd.randomize(plan, answers, simulation_seed=3), folder / "reports")
    return folder


@pytest.fixture(scope="module")
def estimates(folder):
    plan, reports = incrowd.Plan.load(folder / "plan.json"), folder / "reports"
    return incrowd.estimate(plan, incrowd.load_reports(reports), margins=MARGINS)


def test_what_can_be_weighted_is_and_the_rest_has_a_reason(estimates):
    """Half of the men are ill, and a third of the women; a quarter of the people are men."""
    sex, ill = estimates.tables
    assert sex.estimate == pytest.approx([0.5, 0.5]) and ill.provenance.weighted_to == ("sex",)
    assert abs(ill.estimate[1] - (0.5 / 2 + 0.5 / 3)) < 4 * ill.standard_error[1]
    (missing,) = estimates.not_made
    assert missing.questions == ("tired",)
    assert missing.sentence.startswith("tired: no report has it together with sex")


def test_the_rest_is_listed_in_text_json_and_page(estimates, folder, tmp_path, run):
    paths = str(folder / "plan.json"), str(folder / "reports")
    margins = ("--margins", str(folder / "margins.toml"))
    code, out, _ = run("estimate", *paths, *margins)
    text = " ".join(out.split())
    assert code == 0 and "Left out" in text and "tired: no report has it together" in text
    code, out, _ = run("estimate", *paths, *margins, "--json")
    facts = json.loads(out)
    assert code == 0 and [table["questions"] for table in facts["tables"]] == [["sex"], ["ill"]]
    (missing,) = facts["not_made"]
    assert missing["questions"] == ["tired"]
    assert "no report has it together with sex" in missing["reason"]
    assert "tired: no report has it together with sex" in page(estimates)
    tally = tmp_path / "part.tally.json"
    code, _, _ = run("tally", *paths, *margins, "-o", str(tally))
    assert code == 0
    code, out, _ = run("estimate", paths[0], str(tally), *margins, "--json")
    assert code == 0 and json.loads(out)["not_made"] == facts["not_made"]


def test_where_nothing_can_be_weighted_it_is_refused(folder, run):
    """Nothing travels with both; and each reason stands once."""
    plan = incrowd.Plan.load(folder / "plan.json")
    reports = list(incrowd.load_reports(folder / "reports"))
    both = MARGINS | {"tired": {"no": 0.5, "yes": 0.5}}
    with pytest.raises(TableError, match="no report has it together with sex, tired") as raised:
        incrowd.estimate(plan, reports, margins=both)
    assert len(raised.value.problems) == 3
    code, _, err = run(
        "estimate",
        str(folder / "plan.json"),
        str(folder / "reports"),
        "--margins",
        str(folder / "tired.toml"),
        "--table",
        "ill",
    )
    assert code == 2 and "no report has it together with tired" in " ".join(err.split())


def test_a_share_that_the_noise_hides_leaves_out_what_is_divided_by_it(folder):
    """Hardly anybody is tired in this survey: that margin is refused once, for all tables."""
    raw = incrowd.Survey.load(folder / "survey.toml").model_dump(by_alias=True)
    raw |= {"message": (), "privacy": raw["privacy"] | {"epsilon": 2.0}}
    plan = incrowd.plan(incrowd.Survey.of(raw))
    few = np.arange(2000) < 20
    answers = pa.table({"sex": ["f", "m"] * 1000, "ill": few, "tired": few})
    reports = incrowd.randomize(plan, answers, simulation_seed=4)
    with pytest.raises(TableError, match="tired = yes") as raised:
        incrowd.estimate(plan, reports, margins={"tired": {"no": 0.5, "yes": 0.5}})
    assert len(raised.value.problems) <= 3
