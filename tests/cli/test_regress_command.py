"""The command `regress`: a table, JSON, files, and how it ends."""

import json

import numpy as np
import pyarrow as pa
import pytest

import incrowd

ILL = "ill=0.9,0.1"
MODEL = ("--outcome", "ill", "--on", "smokes,age", "--reference", "age=old")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A plan with little noise, reports of 4,000 people, and of 8."""
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
    few = {id: answers[:8] for id, answers in said.items()}
    for name, answers in (("reports", said), ("few", few)):
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
    figures = {"term", "estimate", "standard_error", "low", "high", "unbounded", "odds_ratio"}
    figures |= {"p_value", "design_effect"}
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


def test_how_rare_answers_are_is_asked_of_nobody_who_said_so(regress):
    every = ["--share", ILL, "--share", "smokes=0.5,0.5", "--share", "age=0.3,0.3,0.4"]
    alike, stated = (regress("--forecast", *MODEL, *more)[2] for more in ([], every))
    assert "state how common answers are with shares" in alike and "equally common" in alike
    assert "state how common" not in stated
    assert "the shares of ill, smokes, age are as stated" in stated


def test_a_forecast_takes_the_method_that_is_named(regress):
    linear = ("--forecast", *MODEL, "--family", "linear", "--json")
    table, pairs = (json.loads(regress(*linear, "--method", m)[1]) for m in ("table", "pairs"))
    assert (table["method"], pairs["method"]) == ("table", "pairs")
    errors = [[c["standard_error"] for c in each["coefficients"]] for each in (table, pairs)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-9)
    assert regress(*linear, "--method", "likelihood")[0] == 2


def test_what_cannot_be_estimated_ends_with_1_and_writes_no_empty_table(regress, folder):
    model = ("few.parquet", "--outcome", "ill", "--on", "age=old", "--accept-smaller-crowd")
    code, _, err = regress(*model)
    assert code == 1 and "cannot be estimated" in err
    code, _, err = regress(*model, "-o", "none.csv")
    assert code == 1 and "did not write none.csv" in err and "separation" in err
    assert not (folder / "none.csv").exists()
    assert regress(*model, "-o", "why.html")[0] == regress(*model, "-o", "why.json")[0] == 1
    assert "Cannot be estimated" in (folder / "why.html").read_text()
    assert "separation" in json.loads((folder / "why.json").read_text())["reason"]
    code, out, _ = regress(*model, "--json")
    found = json.loads(out)
    assert code == 1 and not found["estimable"] and found["coefficients"] == []
    assert "separation" in found["reason"]


def test_wrong_use_ends_with_2(regress):
    code, _, err = regress("reports.parquet", "--outcome", "ill", "--on", "ill")
    assert code == 2 and "more than once" in err
    assert regress(*MODEL)[0] == 2
    assert regress("reports.parquet", *MODEL, "-o", "model.txt")[0] == 2
    code, _, err = regress("reports.parquet", *MODEL, "--share", ILL)
    assert code == 2 and "use it with --forecast" in err


def test_what_is_missing_is_named_and_nothing_is_said_to_be_empty(regress):
    code, _, err = regress("reports.parquet", "--outcome", "ill", "--on", "age:smokes")
    assert code == 2 and "'age' should also be a predictor by itself" in err
    assert "name at least one" not in err
    linear = ("--outcome", "age", "--on", "smokes", "--family", "linear")
    code, _, err = regress("reports.parquet", *linear)
    assert code == 2 and "--scores: is missing; should be a number for each of young, old" in err


def test_the_scores_of_answers_are_shown(regress):
    linear = ("--outcome", "age", "--on", "smokes", "--scores", "0,2,5")
    _, _, err = regress("reports.parquet", *linear)
    assert "answers to age count as young = 0, old = 2, yes, very = 5" in err
    _, out, _ = regress("reports.parquet", *linear, "--json")
    assert json.loads(out)["scores"] == {"young": 0, "old": 2, "yes, very": 5}
    assert json.loads(regress("reports.parquet", *MODEL, "--json")[1])["scores"] == {}


# --- regressions that the survey wants -------------------------------------------------------

WANTED = """
[[regression]]
outcome = "ill"
on = ["smokes", "age"]
reference = { age = "old" }
"""
SURVEY = """name = "health"
crowd = 4000
privacy = { epsilon = 16.0, analysis = "local" }
question = [
    { id = "ill", type = "yesno", shares = { yes = 0.1 } },
    { id = "smokes", type = "yesno" },
    { id = "age", type = "choice", options = ["young", "old", "yes, very"] },
]
"""


@pytest.fixture
def planned(folder, call, monkeypatch):
    """Plan a survey that wants regressions, and say what the command said."""
    monkeypatch.chdir(folder)

    def plan(wanted, *options, survey=SURVEY):
        (folder / "wanted.toml").write_text(survey + wanted)
        return call("plan", "wanted.toml", "-o", "wanted.json", "--no-side-by-side", *options)

    return plan


def test_a_plan_shows_what_regress_forecasts(planned, call):
    code, out, err = planned(WANTED)
    assert code == 0 and "age=yes, very" in out and "detectable odds ratio" in out
    assert "the shares of ill are as stated" in err
    _, out, _ = planned(WANTED, "--json")
    (found,) = json.loads(out)["regressions"]
    assert (found["outcome"], found["family"], found["people"]) == ("ill=yes", "logistic", 4000)
    assert found["shares"] == {"ill": [0.9, 0.1]} and "reason" not in found
    for asked in ((), (*MODEL, "--share", ILL)):
        _, out, _ = call("regress", "wanted.json", "--forecast", "--json", *asked)
        expected = json.loads(out)["coefficients"]
        names = ("term", "standard_error")
        assert [[e[n] for n in names] for e in expected] == [
            [c[n] for n in names] for c in found["coefficients"]
        ]
    slope = found["coefficients"][1]
    assert slope["detectable"] == pytest.approx(np.exp(2.801585 * slope["standard_error"]))
    _, out, _ = planned(WANTED, "--json", "--power", "50%")
    (found,) = json.loads(out)["regressions"]
    slope, _ = found["coefficients"][1], found["power"]
    assert slope["detectable"] == pytest.approx(np.exp(1.959964 * slope["standard_error"]))


@pytest.mark.slow
def test_reports_are_explained_as_the_survey_wants(planned, call, folder):
    planned(WANTED)
    plan = incrowd.Plan.load(folder / "wanted.json")
    generator = np.random.default_rng(3)
    said = {id: generator.choice(["yes", "no"], 4000) for id in ("ill", "smokes")}
    said["age"] = generator.choice(["young", "old", "yes, very"], 4000)
    reports = incrowd.randomize(plan, pa.table(said), simulation_seed=2)
    incrowd.save_reports(reports, folder / "wanted.parquet")
    written, named = (
        json.loads(call("regress", "wanted.json", "wanted.parquet", *asked, "--json")[1])
        for asked in ((), MODEL)
    )
    assert written == named
    changed = call("regress", "wanted.json", "wanted.parquet", "--reference", "age=young", "--json")
    assert json.loads(changed[1])["references"] == ["smokes=no", "age=young"]


@pytest.mark.slow
def test_of_several_regressions_one_is_named(planned, call):
    planned(WANTED + '[[regression]]\noutcome = "smokes"\non = ["age=old"]\n')
    code, _, err = call("regress", "wanted.json", "--forecast")
    assert code == 2 and "'ill on smokes, age', 'smokes on age=old'" in err
    code, out, _ = call("regress", "wanted.json", "--forecast", "--outcome", "smokes", "--json")
    assert code == 0 and json.loads(out)["outcome"] == "smokes=yes"
    code, _, err = call("regress", "wanted.json", "--forecast", "--on", "age")
    assert code == 2 and err.startswith("error: --outcome: is missing")


@pytest.mark.slow
def test_a_plan_says_why_a_regression_will_tell_nothing(planned):
    """And how many people with this noise would be enough."""
    code, _, err = planned(WANTED, survey=(rare := SURVEY.replace("yes = 0.1 ", "yes = 0.0001 ")))
    assert code == 0 and "cannot be estimated: the share of people" in err
    (found,) = json.loads(planned(WANTED, "--json", survey=rare)[1])["regressions"]
    assert found["coefficients"] == [] and "separation" in found["reason"]
    assert f"what would work: {found['enough']:,} people with this noise" in err
    assert json.loads(planned("", "--json")[1])["regressions"] == []
