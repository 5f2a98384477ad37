"""What is said of formulas and models of interviews."""

import numpy as np
import pyarrow

import incrowd
from incrowd.interviews.columns import Factor
from incrowd.interviews.covariates import model_matrix
from incrowd.interviews.formula import parse_formula
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.regression import regress_item

COLUMNS = {
    "age": np.array([20.0, 31, 42, 55, 55, 66]),
    "female": np.array([0.0, 1, 1, 0, 0, 1]),
    "same": np.ones(6),
    "region": Factor(("north", "south"), np.array([0, 1, 1, 0, 1, 0])),
    "country": Factor(("here",), np.zeros(6, int)),
}


def formula(text, used=6, **options):
    return lambda _: model_matrix(parse_formula(text), COLUMNS, np.arange(6) < used, **options)


def model(formula="armed ~ age + region", **options):
    """The regression of an item with a device that is nearly always truthful."""
    matrices = ItemMatrices(np.array([[[0.9, 0.1], [0.1, 0.9]]]))
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.uniform(0, 9, 60),
        "region": Factor(("north", "south"), rng.integers(2, size=60)),
        "carries": np.arange(60) % 2.0,
    }
    reported = np.where(np.arange(60) % 2, 1, rng.random(60) < 0.4).astype(int)
    item = ReportedItem(reported, np.zeros(60, int), matrices)
    return lambda _: regress_item(
        "armed", ("no", "yes"), item, columns, parse_formula(formula), **options
    )


DESIGN = {"kind": "forced", "yes": "1/6", "no": "1/6"}


def read(formula, design=DESIGN, **options):
    """The regression of answers that were read."""

    def call(_):
        asked = [{"id": id, "type": "yesno", "design": design} for id in ("smokes", "drinks")]
        survey = incrowd.InterviewSurvey.of(
            {"name": "Habits", "device": {"kind": "die"}, "question": asked}
        )
        columns = {"smokes": [0, 1] * 9, "drinks": [0, 1] * 9, "age": [*range(18)]}
        return incrowd.interviews.regress(
            incrowd.read_answers(survey, pyarrow.table(columns)), formula, **options
        )

    return call


CASES = {
    "no tilde": formula("armed age"),
    "incomplete": formula("armed ~ age +"),
    "two signs": formula("armed ~ age + + female"),
    "incomplete function": formula("armed ~ log(age"),
    "minus": formula("armed ~ age - female"),
    "a sign that formulas do not have": formula("armed ~ age $ female"),
    "no outcome": formula("2 ~ age"),
    "a sum in parentheses": formula("armed ~ (age + female)"),
    "divided by a column": formula("armed ~ age/female"),
    "negative power": formula("armed ~ age^-1"),
    "power of a column": formula("armed ~ age^female"),
    "unknown function": formula("armed ~ exp(age)"),
    "a number": formula("armed ~ 0 + age"),
    "two terms without a sign": formula("armed ~ age female"),
    "unknown column": formula("armed ~ femal"),
    "only in an interaction": formula("armed ~ age + age:female"),
    "factor of a calculation": formula("armed ~ factor(age/10)"),
    "power of categories": formula("armed ~ region^2"),
    "reference of a number": formula("armed ~ age + region", reference={"age": "20"}),
    "unknown reference": formula("armed ~ region", reference={"region": "nort"}),
    "no rows": formula("armed ~ age", used=0),
    "logarithm of zero": formula("armed ~ log(female)"),
    "constant": formula("armed ~ same"),
    "constant category": formula("armed ~ country"),
    "dependent": formula("armed ~ age + I(2*age)"),
    "diverging": model("armed ~ carries"),
    "ordinal of two answers": model(ordinal=True),
    "unknown errors": read("smokes ~ age", errors="exact"),
    "unknown intervals": read("smokes ~ age", intervals="exact"),
    "lies about a count": read("smokes ~ age", DESIGN | {"repeats": 2}, lies=True),
    "lies in one group": read("smokes ~ age", lies=True),
    "an open outcome": read("age ~ 1"),
    "a randomized predictor": read("smokes ~ drinks"),
    "no clusters": model(errors="cluster"),
    "few clusters": model(errors="cluster", clusters=np.arange(60) // 30),
    "errors of weights": model(errors="observed", weights=np.ones(60)),
    "profile of robust errors": model(errors="robust", intervals="profile"),
    "not in the model": model(at=[{"agee": 1}]),
    "unknown category": model(at=[{"region": "nort"}]),
    "no number": model(at=[{"age": "old"}]),
    "no value there": model("armed ~ log(age + 1)", at=[{"age": -1}]),
}
