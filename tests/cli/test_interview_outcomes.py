"""`incrowd interviews outcome`, and `regress` with random intercepts."""

import json

import pytest

from incrowd import interviews

SURVEY = """name = "Arms"
device = {kind = "die"}
question = [{id = "armed", type = "yesno", design = {kind = "forced", yes = "1/6", no = "1/6"}}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    rows = [f"{('no', 'yes')[n % 3 % 2]},{n % 5 % 2},{18 + n % 40},v{n % 7}" for n in range(240)]
    (tmp_path / "survey.toml").write_text(SURVEY)
    (tmp_path / "data.csv").write_text("\n".join(["armed,civic,age,village", *rows, ""]))
    assert call("read", "survey.toml", "data.csv", "-o", "i.parquet")[0] == 0
    return tmp_path


def answers(folder):
    return interviews.InterviewAnswers.load(folder / "i.parquet")


def test_an_outcome_is_that_of_the_library(call, folder):
    formula = "civic ~ age + armed"
    options = ("--reference", "armed=yes", "--item", "armed ~ 1")
    code, out, _ = call("interviews", "outcome", "i.parquet", formula, *options, "--json")
    wanted = interviews.regress_outcome(
        answers(folder), formula, reference={"armed": "yes"}, item="armed ~ 1"
    )
    facts = json.loads(out)
    assert code == 0
    estimates = {each["term"]: each["estimate"] for each in facts["coefficients"]}
    assert estimates == {each.term: each.estimate for each in wanted.coefficients}
    assert list(estimates) == ["(intercept)", "age", "armed=no"]
    assert facts["item_formula"] == "armed ~ 1"


def test_an_outcome_is_shown_and_written(call, folder):
    written = [word for ending in ("html", "csv", "xlsx", "R") for word in ("-o", f"o.{ending}")]
    code, out, err = call("interviews", "outcome", "i.parquet", "age ~ armed", *written)
    assert code == 0 and "linear model of age, 240 interviews" in out
    assert "wrote o.R" in err and "follow the rules of the device" in err
    assert "standard deviation" in (folder / "o.html").read_text()
    assert (folder / "o.csv").read_text().count("outcome") == 2


def test_a_regression_has_random_intercepts(call, folder):
    options = ("--intercepts", "village", "--json")
    code, out, _ = call("interviews", "regress", "i.parquet", "armed ~ age", *options)
    facts = json.loads(out)
    assert code == 0
    assert (facts["intercepts"]["column"], facts["intercepts"]["groups"]) == ("village", 7)
    assert [each["term"] for each in facts["coefficients"]] == ["(intercept)", "age"]


def test_an_outcome_has_the_figures_of_rr(call, folder):
    formula = "civic ~ age + armed"
    code, out, _ = call("interviews", "outcome", "i.parquet", formula, "--method", "rr", "--json")
    wanted = interviews.regress_outcome(answers(folder), formula, method="rr")
    facts = json.loads(out)
    assert (code, facts["method"], facts["limit"]) == (0, "rr", list(wanted.limit))
    assert facts["coefficients"][2]["estimate"] == wanted.coefficients[2].estimate


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("outcome", "i.parquet", "civic ~ age"), "none of its predictors is a randomized"),
        (("outcome", "i.parquet", "civic ~ armed", "--family", "probit"), "logistic, linear"),
        (("outcome", "i.parquet", "age ~ armed", "--method", "rr"), "need a logistic model"),
        (("outcome", "i.parquet", "civic ~ armed", "--method", "em"), "likelihood, rr"),
        (("outcome", "none.parquet", "civic ~ armed"), "incrowd read"),
        (("regress", "i.parquet", "armed ~ age", "--intercepts", "v"), "no column has this name"),
        (("regress", "i.parquet", "armed ~ 1", "--intercepts", "village", "--ordinal"), "leave it"),
    ],
)
def test_wrong_use_says_what_would_work(call, folder, arguments, problem):
    code, out, err = call("interviews", *arguments)
    assert (code, out) == (2, "")
    assert problem in err
