"""A five-point item as a predictor: what refuses it, what is said of it beforehand and afterwards,
and that every way out that is named works."""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

import incrowd

SCALE = ["very bad", "bad", "neither", "good", "very good"]
SHARES = [0.03, 0.10, 0.30, 0.40, 0.17]
PEOPLE = 30_000
SURVEY = """
name = "afternoon"
crowd = 30000
privacy = {{ epsilon = 6.0, analysis = "local" }}
question = [
    {{ id = "depressed", type = "yesno", shares = {{ yes = 0.08 }} }},
    {{ id = "wellbeing", type = "choice", options = {scale} {shares} }},
    {{ id = "smokes", type = "yesno", shares = {{ yes = 0.5 }} }},
]
regression = [ {{ outcome = "depressed", on = ["wellbeing", "smokes"] }} ]
"""
STATED = (
    ", shares = {" + ", ".join(f'"{a}" = {s}' for a, s in zip(SCALE, SHARES, strict=True)) + "}"
)
MERGE = ("--merge", "wellbeing: very bad + bad + neither", "--merge", "wellbeing: good + very good")


def drawn(seed=4):
    """People who are depressed the more often the worse they feel."""
    generator = np.random.default_rng(seed)
    well = generator.choice(5, PEOPLE, p=SHARES)
    ill = generator.random(PEOPLE) < expit(-1.2 - 0.55 * well)
    yes = np.array(["no", "yes"])
    smokes = yes[generator.integers(2, size=PEOPLE)]
    return {"depressed": yes[ill * 1], "wellbeing": np.array(SCALE)[well], "smokes": smokes}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("afternoon")
    for name, shares in (("guessed", ""), ("stated", STATED)):
        text = SURVEY.format(scale=json.dumps(SCALE), shares=shares)
        (folder / f"{name}.toml").write_text(text)
        plan = incrowd.plan(incrowd.Survey.load(folder / f"{name}.toml"))
        (folder / f"{name}.json").write_text(plan.dumps())
    made = incrowd.randomize(
        incrowd.Plan.load(folder / "guessed.json"), pa.table(drawn()), simulation_seed=4
    )
    incrowd.save_reports(made, folder / "reports.parquet")
    return folder


@pytest.fixture
def regress(folder, call, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda *arguments: call("regress", "guessed.json", *arguments)


@pytest.mark.slow
def test_firths_fit_names_what_works_without_a_penalty_and_it_works(regress):
    """What used to be advised, "put answers together", could not be followed."""
    code, _, err = regress("reports.parquet")
    assert code == 0 and "close to separation" in err
    assert "what works here without a penalty: merge answers" in err
    assert "score(wellbeing)" in err and "Firth" in err
    merges = err.split("(merge ")[1].split(")")[0].split(", ")
    asked = [word for merge in merges for word in ("--merge", merge.strip('"'))]
    for ways in (asked, ["--outcome", "depressed", "--on", "score(wellbeing),smokes"]):
        code, out, err = regress("reports.parquet", *ways, "--json")
        assert code == 0, err
        assert json.loads(out)["estimable"] and json.loads(out)["penalty"] is None
    code, out, _ = regress("reports.parquet", "--penalty", "firth", "--json")
    found = json.loads(out)
    assert code == 0 and found["penalty"] == "firth" and len(found["coefficients"]) == 6


def test_the_slope_is_what_people_have(regress):
    """The scores are 1 to 5, the truth a slope of -.55; others scale it. Oracle: the truth that the
    answers were drawn from, within four standard errors."""
    on = ("--outcome", "depressed", "--on", "score(wellbeing),smokes", "--json")
    found = json.loads(regress("reports.parquet", *on)[1])
    slope = found["coefficients"][1]
    assert slope["term"] == "score(wellbeing)"
    assert found["slopes"] == {"wellbeing": dict(zip(SCALE, range(1, 6), strict=True))}
    assert abs(slope["estimate"] + 0.55) < 4 * slope["standard_error"]
    wide = ("--predictor-scores", "wellbeing=2010,2020,2030,2040,2050")
    scaled = json.loads(regress("reports.parquet", *on, *wide)[1])["coefficients"][1]
    for name in ("estimate", "standard_error", "low", "high"):
        assert 10 * scaled[name] == pytest.approx(slope[name], rel=1e-6)


@pytest.mark.slow
def test_a_forecast_says_that_it_will_be_refused(call, folder, monkeypatch):
    """With the shares that are stated. Without them the errors look small."""
    monkeypatch.chdir(folder)
    stated = json.loads(call("plan", "stated.toml", "-o", "p.json", "--json")[1])
    (found,) = stated["regressions"]
    assert found["refusal"] > 0.5 and found["shares"]["wellbeing"] == pytest.approx(SHARES)
    _, _, err = call("plan", "stated.toml", "-o", "p.json", "--no-side-by-side")
    assert f"about {found['refusal']:.0%} of surveys" in err and "what would work" in err
    assert "score(wellbeing)" in err and f"{found['enough']:,} people" in err
    code, _, err = call("regress", "stated.json", "--forecast", *MERGE, "--json")
    assert code == 0


def test_the_ways_out_are_forecast(call, folder, monkeypatch):
    monkeypatch.chdir(folder)
    on = ("--outcome", "depressed", "--on", "score(wellbeing),smokes")
    for ways in (MERGE, on, ("--penalty", "firth")):
        code, out, err = call("regress", "stated.json", "--forecast", *ways, "--json")
        assert code == 0 and json.loads(out)["refusal"] <= 0.05, err


@pytest.mark.slow
def test_open_ends_are_words_and_null(regress, folder):
    code, out, _ = regress("reports.parquet", "--penalty", "firth", "-o", "model.html")
    table = out + (folder / "model.html").read_text()
    found = json.loads(regress("reports.parquet", "--penalty", "firth", "--json")[1])
    sides = {each["unbounded"]: each for each in found["coefficients"]}
    assert code == 0 and {"below", "above", "everywhere"} & set(sides)
    assert "inf" not in out and ("below " in table or "above " in table or "anything" in table)
    for each in found["coefficients"]:
        assert (each["low"] is None) == (each["unbounded"] in ("below", "everywhere"))
        assert (each["high"] is None) == (each["unbounded"] in ("above", "everywhere"))


def test_tables_and_comparisons_have_merged_answers_too(call, folder, monkeypatch):
    monkeypatch.chdir(folder)
    files = ("guessed.json", "reports.parquet")
    named = ("--merge", "wellbeing: poor = bad + very bad")
    code, out, _ = call("estimate", *files, *named, "--json")
    tables = json.loads(out)["tables"]
    answers = [cell["answer"] for cell in tables[1]["cells"]]
    assert code == 0 and answers[0] == ["poor"] and len(answers) == 4
    code, out, _ = call("estimate", *files, *named)
    assert "poor (bad + very bad)" in out
    code, out, err = call("compare", *files, "wellbeing", "depressed", *named)
    assert code == 0 and "poor" in out + err
    code, out, _ = call("postprocess", *files, "--table", "wellbeing", *named, "--json")
    assert code == 0 and "poor" in out
    code, _, err = call("estimate", *files, "--merge", "wellbeing: bad + baad")
    assert code == 2 and "did you mean bad?" in err
