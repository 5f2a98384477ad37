"""The command `regress`: a table, JSON, files, and how it ends."""

import json

import numpy as np
import pyarrow as pa
import pytest

import incrowd

MODEL = ("--outcome", "ill", "--on", "smokes,age", "--reference", "age=old")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A plan with little noise, reports of 4,000 people, and some in which nobody old is ill."""
    folder = tmp_path_factory.mktemp("regress")
    questions = [
        {"id": "ill", "type": "yesno"},
        {"id": "smokes", "type": "yesno"},
        {"id": "age", "type": "choice", "options": ["young", "old", "yes, very"]},
    ]
    privacy = {"epsilon": 16.0, "analysis": "local"}
    raw = {"name": "health", "crowd": 4000, "privacy": privacy, "question": questions}
    plan = incrowd.plan(incrowd.Survey.of(raw))
    (folder / "plan.json").write_text(plan.dumps())
    generator = np.random.default_rng(1)
    said = {id: generator.choice(["yes", "no"], 4000) for id in ("ill", "smokes")}
    said["age"] = generator.choice(["young", "old", "yes, very"], 4000)
    healthy = said | {"ill": np.where(said["age"] == "old", "no", said["ill"])}
    for name, answers in (("reports", said), ("healthy", healthy)):
        made = incrowd.randomize(plan, pa.table(answers), simulation_seed=2)
        incrowd.save_reports(made, folder / f"{name}.parquet")
    return folder


@pytest.fixture
def regress(folder, call, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda *arguments: call("regress", "plan.json", *arguments)


def test_machines_get_json(regress, folder):
    code, out, _ = regress("reports.parquet", *MODEL, "--json")
    data = json.loads(out)
    assert code == 0 and data["family"] == "logistic" and data["people"] == 4000
    names = ["(intercept)", "smokes=yes", "age=young", "age=yes, very"]
    assert [each["term"] for each in data["coefficients"]] == names
    figures = {"term", "estimate", "standard_error", "low", "high", "odds_ratio"}
    assert set(data["coefficients"][0]) == figures
    found = incrowd.regress(
        incrowd.Plan.load(folder / "plan.json"),
        incrowd.load_reports(folder / "reports.parquet"),
        outcome="ill",
        on=["smokes", "age"],
        reference={"age": "old"},
    )
    assert data["coefficients"][2]["estimate"] == found.coefficients[2].estimate


def test_people_get_a_table_and_a_page(regress, folder):
    code, out, _ = regress("reports.parquet", *MODEL, "-o", "model.html")
    assert code == 0 and "age=young" in out and "odds ratio" in out
    assert "<svg" in (folder / "model.html").read_text()


def test_a_comma_of_an_answer_separates_nothing(regress):
    code, out, _ = regress(
        *("reports.parquet", "--outcome", "ill", "--on", "age=yes, very", "--on", "smokes"),
        "--json",
    )
    terms = [each["term"] for each in json.loads(out)["coefficients"]]
    assert code == 0 and terms[1:] == ["age=yes, very", "smokes=yes"]


def test_what_to_expect_needs_no_reports(regress):
    code, out, _ = regress("--forecast", *MODEL, "--json")
    assert code == 0 and json.loads(out)["expected"] is True
    assert regress("--forecast", *MODEL)[0] == 0


def test_what_cannot_be_estimated_ends_with_1(regress):
    model = ("healthy.parquet", "--outcome", "ill", "--on", "age=old")
    code, _, err = regress(*model)
    assert code == 1 and "cannot be estimated" in err
    code, out, _ = regress(*model, "--json")
    found = json.loads(out)
    assert code == 1 and not found["estimable"] and found["coefficients"] == []
    assert "separation" in found["reason"]


def test_wrong_use_ends_with_2(regress):
    code, _, err = regress("reports.parquet", "--outcome", "ill", "--on", "ill")
    assert code == 2 and "more than once" in err
    assert regress(*MODEL)[0] == 2
    assert regress("reports.parquet", *MODEL, "-o", "model.txt")[0] == 2
