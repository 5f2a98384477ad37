"""What is said of models of an outcome that a randomized item predicts."""

import numpy as np
import pyarrow as pa

import incrowd
from incrowd.interviews.outcome_models import regress_outcome
from incrowd.interviews.varying import regress_with_intercepts

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}
ITEMS = [{"id": id, "type": "yesno", "design": FORCED} for id in ("armed", "paid")]
COLOR = {"id": "color", "type": "choice", "options": ["red", "green", "blue"]}
ITEMS.append(COLOR | {"design": {"kind": "forced", "forced": {"red": "1/6", "green": "1/6"}}})
ROWS = np.arange(60)
TABLE = pa.table(
    {
        "armed": np.array(["no", "yes"])[ROWS % 3 % 2],
        "paid": np.array(["no", "yes"])[ROWS % 5 % 2],
        "color": np.array(["red", "green", "blue"])[ROWS % 3],
        "civic": ROWS % 7 % 2,
        "never": ROWS * 0,
        "doubled": 10 * (ROWS % 3 % 2) + ROWS % 2,
        "seven": 10 * (ROWS % 7 % 2) + ROWS % 2,
        "vote": np.array(["for", "against"])[ROWS % 4 // 2],
        "party": np.array(["red", "green", "blue"])[ROWS % 11 % 3],
        "age": 18 + ROWS,
        "here": ["one village"] * 60,
        "six": ROWS % 6,
        "w": 1 + ROWS / 60,
    }
)


def model(formula, columns=None, **options):
    survey = {"name": "Arms", "device": {"kind": "die"}, "question": ITEMS}

    def call(_):
        asked = incrowd.InterviewSurvey.of(survey | ({"columns": columns} if columns else {}))
        return regress_outcome(incrowd.read_answers(asked, TABLE), formula, **options)

    return call


def varying(formula, intercepts, columns=None):
    survey = {"name": "Arms", "device": {"kind": "die"}, "question": ITEMS}

    def call(_):
        asked = incrowd.InterviewSurvey.of(survey | ({"columns": columns} if columns else {}))
        return regress_with_intercepts(incrowd.read_answers(asked, TABLE), formula, intercepts)

    return call


CASES = {
    "intercepts of several answers": varying("color ~ age", "party"),
    "varying with weights": varying("armed ~ age", "party", {"weight": "w"}),
    "varying with other clusters": varying("armed ~ age", "party", {"cluster": "vote"}),
    "varying in one group": varying("armed ~ age", "here"),
    "varying between groups of one answer": varying("armed ~ age", "six"),
    "varying and undetermined": varying("armed ~ doubled", "party"),
    "randomized outcome": model("armed ~ age"),
    "no such predictor": model("civic ~ armd"),
    "no item": model("civic ~ age"),
    "two items": model("civic ~ armed + paid"),
    "no such outcome": model("civik ~ armed"),
    "unknown family": model("civic ~ armed", family="probit"),
    "unknown errors": model("civic ~ armed", errors="expected"),
    "logistic model of a number": model("age ~ armed", family="logistic"),
    "linear model of names": model("vote ~ armed", family="linear"),
    "three names": model("party ~ armed"),
    "unknown reference of the outcome": model("vote ~ armed", reference={"vote": "agains"}),
    "model of another item": model("civic ~ armed", item="paid ~ age"),
    "item explained by itself": model("civic ~ armed", item="armed ~ armed + age"),
    "item explained by the outcome": model("civic ~ armed", item="armed ~ civic"),
    "no such groups": model("civic ~ armed", intercepts="vilage"),
    "one group": model("age ~ armed", intercepts="here"),
    "intercepts with weights": model("civic ~ armed", {"weight": "w"}, intercepts="party"),
    "outcome in one cluster": model("civic ~ armed", {"cluster": "here"}),
    "outcome in two clusters": model("civic ~ armed", {"cluster": "vote"}),
    "intercepts with other clusters": model(
        "civic ~ armed", {"cluster": "vote"}, intercepts="party"
    ),
    "intercepts with robust errors": model("civic ~ armed", intercepts="party", errors="robust"),
    "clustered errors without clusters": model("civic ~ armed", errors="cluster"),
    "errors that ignore weights": model("civic ~ armed", {"weight": "w"}, errors="observed"),
    "unknown method": model("civic ~ armed", method="em"),
    "rr with robust errors": model("civic ~ armed", method="rr", errors="robust"),
    "rr with a number": model("age ~ armed", method="rr"),
    "rr with several answers": model("civic ~ color", method="rr"),
    "rr with an interaction": model("civic ~ armed + armed:age", method="rr"),
    "constant outcome": model("never ~ armed"),
    "undetermined": model("civic ~ armed + seven"),
}
