"""What is said of regressions and correlations that cannot be meant, or not be told."""

import warnings
from itertools import combinations

import numpy as np
import pyarrow as pa

import incrowd
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
CLEAR = survey(YESNO | {"open": True}, YESNO | {"id": "b"})


def model(outcome="d", on=("a",), **options):
    """A regression of reports of a survey with one question of each kind."""
    return lambda _: incrowd.regress(made(), reports(), outcome=outcome, on=on, **options)


def correlated(questions=None, **options):
    return lambda _: incrowd.correlate(made(), reports(), questions, **options)


def expected(shares):
    return lambda _: incrowd.forecast_regression(made(), outcome="a", on=["b"], shares=shares)


def several():
    wanted = [{"outcome": "a", "on": ["b"]}, {"outcome": "b", "on": ["a"]}]
    return incrowd.plan(survey(YESNO, YESNO | {"id": "b"}, regression=wanted))


def planned(asked, outcome, *on, **options):
    return lambda _: incrowd.forecast_regression(
        incrowd.plan(asked), outcome=outcome, on=on, **options
    )


def of(kind, outcome, *on, **options):
    return lambda _: incrowd.regress(made(kind), reports(kind), outcome=outcome, on=on, **options)


def by_pairs(asked, **model):
    """A forecast of the first question, where cells hold every two of all."""
    pairs = [
        {"questions": [one["id"], other["id"]], "cells": True}
        for one, other in combinations(asked, 2)
    ]
    return lambda _: incrowd.forecast_regression(
        incrowd.plan(survey(*asked, message=pairs)), outcome="a", **model
    )


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


def released(on, *letters):
    """People who say one letter to each of some open questions."""
    answers = {id: list(said) for id, said in zip("tu", letters, strict=False)}
    clear = [
        {"id": id, "type": "choice", "options": sorted(set(said)), "open": True}
        for id, said in answers.items()
    ]
    plan = incrowd.plan(survey(YESNO, *clear, crowd=50))
    answers["a"] = ["yes", "no"] * (len(letters[0]) // 2)

    def run(_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sent = incrowd.randomize(plan, pa.table(answers), simulation_seed=1)
        incrowd.regress(plan, sent, outcome="a", on=on)

    return run


def regress(*words, with_reports=True):
    def run(folder):
        files = [reports_file(folder)] if with_reports else []
        command("regress", plan_file(folder), *files, *words)

    return run


CASES = {
    "no regression of a survey that wants none": lambda _: incrowd.regress(made(), reports()),
    "one of several regressions": lambda _: incrowd.forecast_regression(several()),
    "predictors without an outcome": lambda _: incrowd.regress(made(), reports(), on=["b"]),
    "an outcome of no question": model("z"),
    "a formula without predictors": model("a ~", None),
    "a formula and predictors": model("a ~ b", ["b"]),
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
    "no scores of answers that are no numbers": model("b", ["a"], family="linear"),
    "an interaction alone": model("a", ["b:d"]),
    "a score as an outcome": model("score(b)", ["a"]),
    "scores of a predictor without a slope": model("a", ["b"], predictor_scores={"b": [1, 2, 3]}),
    "scores of a predictor that are too few": model(
        "a", ["score(b)"], predictor_scores={"b": [1, 2]}
    ),
    "scores of merged bins": planned(
        survey(YESNO, {"id": "n", "type": "number", "edges": [0, 1, 3]}),
        "a",
        "score(n)",
        merge={"n": [["0 to <1", "1 to <3"]]},
    ),
    "an unknown penalty": model("a", ["b"], penalty="lasso"),
    "a penalty of a linear model": model("b", ["a"], scores=[0, 1, 2], penalty="firth"),
    "a penalty with another method": model("a", ["b"], penalty="firth", method="likelihood"),
    "answers of no question merged": model("a", ["b"], merge={"z": [["x", "y"]]}),
    "answers that are not there merged": model("a", ["b"], merge={"b": [["x", "q"]]}),
    "one answer merged": model("a", ["b"], merge={"b": [["x"]]}),
    "answers merged twice": model("a", ["b"], merge={"b": {"u": ["x", "y"], "v": ["y", "z"]}}),
    "all answers merged": model("a", ["b"], merge={"b": [["x", "y", "z"]]}),
    "answers merged under the name of an answer": model("a", ["b"], merge={"b": {"x": ["x", "y"]}}),
    "two groups of one name": model("a", ["b"], merge={"b": [["x", "y"], ["x", "y"]]}),
    "answers merged as text": model("a", ["b"], merge={"b": "x + y"}),
    "answers that overlap merged": model("a", ["b"], merge={"c": [["x", "y"]]}),
    "words merged": of("text", "a", "b", merge={"t": [["x", "y"]]}),
    "edges merged": planned(SPENT, "cost", "a", merge={"cost": [["0", "10"]]}),
    "scores that are too few": model("b", ["a"], scores=[0, 1]),
    "weights for a model of pairs": model(
        "b", ["a"], method="pairs", scores=[0, 1, 2], margins={"a": {"no": 1, "yes": 1}}
    ),
    "pairs of cells of options that overlap": by_pairs(
        [YESNO, {"id": "b", "type": "multi", "options": ["x", "y"], "at_most": 2}],
        on=["b=x"],
        family="linear",
        method="pairs",
    ),
    "a logistic model of pairs of cells": by_pairs(
        [YESNO | {"id": id} for id in "abc"], on=["b", "c"]
    ),
    "a law of too many questions": by_pairs(
        [YESNO, *(options(102, id=id) for id in "bcd")], on=list("bcd"), family="linear"
    ),
    "pairs for a logistic model": model("a", ["b"], method="pairs"),
    "a forecast of likelihood": lambda _: incrowd.forecast_regression(
        incrowd.plan(SMALL), outcome="a", on=["b"], method="likelihood"
    ),
    "likelihood of copies": model("a", ["b"], method="likelihood"),
    "likelihood of many patterns": likelihood_of_many,
    "likelihood of the noise alone": of("k-ary", "a", "b", method="likelihood", noise_only=True),
    "a table of many answers": too_many,
    "a forecast of many answers": lambda _: incrowd.forecast_regression(wide(), **MANY),
    "an outcome that is sent as cells": of("cells", "b", "b=x"),
    "towns that were released as one": released_as_one,
    "a town that alone was released": released(["t"], "x" * 100 + "y" * 10),
    "two towns and years that nobody was released of": released(
        ["t", "u", "t:u"], "x" * 200 + "y" * 100, "v" * 100 + "w" * 100 + "v" * 100
    ),
    "a text question in a model": of("text", "a", "t"),
    "a model of questions that travel apart": of("messages", "a", "b"),
    "shares of what is no question": expected({"z": [0.5, 0.5]}),
    "shares of answers that overlap": expected({"c": [0.5, 0.3, 0.2]}),
    "shares that do not sum to one": expected({"b": [0.5, 0.3, 0.3]}),
    "an amount as a predictor": planned(SPENT, "a", "cost"),
    "log odds of an amount": planned(SPENT, "cost=10", "a"),
    "an outcome that is asked in clear": planned(CLEAR, "a", "b"),
    "correlations of one question": correlated(["a"]),
    "correlations of no question": correlated(["a", "z"]),
    "correlations of answers that are no numbers": correlated(["a", "b"]),
    "scores of a correlation that are too few": correlated(scores={"b": [1, 2]}),
}
COMMANDS = {
    "no reports and no forecast": regress("--outcome", "a", "--on", "b", with_reports=False),
    "reports and a forecast": regress("--outcome", "a", "--on", "b", "--forecast"),
    "a forecast with margins": regress(
        "--outcome", "a", "--on", "b", "--forecast", "--margins", "m.toml", with_reports=False
    ),
    "a reference without a question": regress("--outcome", "a", "--on", "b", "--reference", "x"),
    "scores that are no numbers": regress("--outcome", "b", "--on", "a", "--scores", "few,many"),
    "shares that are expected of reports": regress(
        "--outcome", "a", "--on", "b", "--share", "b=0.5,0.3,0.2"
    ),
    "merges of no question": regress("--outcome", "a", "--on", "b", "--merge", "x + y"),
    "two merges of one name": regress(
        *("--outcome", "a", "--on", "b", "--merge", "b: u = x + y", "--merge", "b: u = y + z")
    ),
    "a penalty that is not known": regress("--outcome", "a", "--on", "b", "--penalty", "lasso"),
    "scores of predictors that are no numbers": regress(
        *("--outcome", "a", "--on", "score(b)", "--predictor-scores", "b=few,many,all")
    ),
    "a regression with another ending": regress("--outcome", "a", "--on", "b", "-o", "model.txt"),
}
