"""What is said of regressions that cannot be meant, or that reports do not tell."""

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.estimation.regression.formula import model_of
from tests.messages.shared import (
    YESNO,
    command,
    made,
    options,
    plan_file,
    reports,
    reports_file,
    survey,
)

COST = {"id": "cost", "type": "amount", "edges": [0, 10, 50]}
SPENT = survey(YESNO, COST)
SMALL = survey(YESNO, YESNO | {"id": "b"})


def model(outcome="d", on=("a",), **options):
    """A regression of reports of a survey with one question of each kind."""
    return lambda _: incrowd.regress(made(), reports(), outcome=outcome, on=on, **options)


def expected(shares):
    return lambda _: incrowd.forecast_regression(made(), outcome="a", on=["b"], shares=shares)


def of(kind, outcome, *on, **options):
    return lambda _: incrowd.regress(made(kind), reports(kind), outcome=outcome, on=on, **options)


MANY = {"outcome": "a", "on": ["c", "d", "e"]}


def wide():
    """A plan of questions with so many answers that no table holds them."""
    asked = survey(YESNO, options(20), options(20, id="d"), options(20, id="e"), crowd=10)
    return incrowd.plan(asked)


def too_many(_):
    said = {id: ["o1"] * 20 for id in "cde"} | {"a": ["yes"] * 20}
    sent = incrowd.randomize(wide(), pa.table(said), simulation_seed=1)
    incrowd.regress(wide(), sent, **MANY)


def likelihood_of_many(_):
    wide = [{"id": f"q{n}", "type": "choice", "options": ["x", "y", "z"]} for n in range(5)]
    raw = {"name": "wide", "crowd": 50, "privacy": {"epsilon": 60.0, "analysis": "local"}}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": [YESNO, *wide]}))
    generator = np.random.default_rng(1)
    answers = {f"q{n}": generator.choice(list("xyz"), 4000) for n in range(5)}
    answers["a"] = generator.choice(["yes", "no"], 4000)
    sent = incrowd.randomize(plan, pa.table(answers), simulation_seed=1)
    on = [f"q{n}" for n in range(5)]
    incrowd.regress(plan, sent, outcome="a", on=on, method="likelihood")


def released_as_one(_):
    """Two towns, both below the crowd."""
    towns = {"id": "t", "type": "choice", "options": ["x", "y"], "open": True}
    plan = incrowd.plan(survey(YESNO, towns, small_strata="merge"))
    said = {"a": ["yes", "no"] * 60, "t": ["x"] * 60 + ["y"] * 60}
    sent = incrowd.randomize(plan, pa.table(said), simulation_seed=1)
    incrowd.regress(plan, sent, outcome="a", on=["t"])


def regress(*words, with_reports=True):
    def run(folder):
        files = [reports_file(folder)] if with_reports else []
        command("regress", plan_file(folder), *files, *words)

    return run


CASES = {
    "an outcome of no question": model("z"),
    "a predictor that overlaps": model("a", ["c"]),
    "a predictor of an unknown answer": model("a", ["b=q"]),
    "a question twice in a model": model("a", ["a"]),
    "nothing to explain by": model("a", []),
    "an interaction without its parts": model("a", ["b", "b:d"]),
    "an interaction of one predictor": model("a", ["b", "b:b"]),
    "a reference of no predictor": model("a", ["b"], reference={"d": "x"}),
    "a reference of one answer alone": model("a", ["b=x"], reference={"b": "x"}),
    "a reference that is no answer": model("a", ["b"], reference={"b": "q"}),
    "an unknown family": model("a", ["b"], family="probit"),
    "an unknown way to fit": model("a", ["b"], method="magic"),
    "an outcome of many answers": model("b", ["a"]),
    "scores of a logistic model": model("a", ["b"], family="logistic", scores=[0, 1]),
    "scores that are too few": model("b", ["a"], scores=[0, 1]),
    "pairs for a logistic model": model("a", ["b"], method="pairs"),
    "likelihood of copies": model("a", ["b"], method="likelihood"),
    "likelihood of many patterns": likelihood_of_many,
    "likelihood of the noise alone": of("k-ary", "a", "b", method="likelihood", noise_only=True),
    "a table of many answers": too_many,
    "a forecast of many answers": lambda _: incrowd.forecast_regression(wide(), **MANY),
    "an outcome whose bits travel unlinked": of("apart", "b", "b=x"),
    "towns that were released as one": released_as_one,
    "a text question in a model": of("text", "a", "t"),
    "a model of questions that travel apart": of("messages", "a", "b"),
    "shares of what is no question": expected({"z": [0.5, 0.5]}),
    "shares of answers that overlap": expected({"c": [0.5, 0.3, 0.2]}),
    "shares that do not sum to one": expected({"b": [0.5, 0.3, 0.3]}),
    "an amount as a predictor": lambda _: model_of(SPENT, "a", ["cost"]),
    "log odds of an amount": lambda _: model_of(SPENT, "cost=10", ["a"]),
    "an outcome that is asked in clear": lambda _: model_of(SMALL, "a", ["b"], open=["a"]),
}
COMMANDS = {
    "no reports and no forecast": regress("--outcome", "a", "--on", "b", with_reports=False),
    "reports and a forecast": regress("--outcome", "a", "--on", "b", "--forecast"),
    "an interaction and nothing beside it": regress("--outcome", "a", "--on", "b:c"),
    "a reference without a question": regress("--outcome", "a", "--on", "b", "--reference", "x"),
    "scores that are no numbers": regress("--outcome", "b", "--on", "a", "--scores", "few,many"),
    "a regression with another ending": regress("--outcome", "a", "--on", "b", "-o", "model.txt"),
}
