"""People who answer three questions, and the cells of all pairs of these."""

from functools import cache
from itertools import combinations

import numpy as np
import pyarrow as pa

import incrowd

PEOPLE = 6000
PRIVACY = {"epsilon": 2.0, "analysis": "blanket"}
IDS = ("ill", "smokes", "old")
ON = ["smokes", "old"]
QUESTIONS = [
    *({"id": id, "type": "yesno"} for id in ("ill", "smokes")),
    {"id": "old", "type": "choice", "options": ["no", "nearly", "yes"]},
]
PAIRS = [{"questions": list(pair), "cells": True} for pair in combinations(IDS, 2)]
LINEAR = {"outcome": "ill", "on": ON, "family": "linear"}


def people():
    generator = np.random.default_rng(4)
    old = generator.integers(0, 3, PEOPLE)
    smokes = generator.random(PEOPLE) < 0.5 - 0.1 * old
    ill = generator.random(PEOPLE) < 0.1 + 0.2 * smokes + 0.1 * old
    return ill, smokes, old


@cache
def collected():
    """The plan, and the reports of these people."""
    raw = {"name": "pairs", "crowd": PEOPLE, "privacy": PRIVACY, "question": QUESTIONS}
    wanted = {"outcome": "ill", "on": ON, "family": "linear"}
    plan = incrowd.plan(incrowd.Survey.of(raw | {"message": PAIRS, "regression": [wanted]}))
    ill, smokes, old = people()
    said = {"old": np.array(["no", "nearly", "yes"])[old]}
    yes = {"ill": ill, "smokes": smokes}
    said |= {id: np.where(values, "yes", "no") for id, values in yes.items()}
    reports = incrowd.randomize(plan, pa.table(said), simulation_seed=3)
    return plan, reports
