"""What the tests of several rooms build on."""

import subprocess
import sys

import numpy as np
import pyarrow as pa

import incrowd


def run(*arguments, cwd=None):
    """The command line in a process of its own."""
    command = [sys.executable, "-c", "from incrowd.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


# A survey with one question of each kind.
GOOD = {
    "name": "A",
    "crowd": 100,
    "privacy": {"epsilon": 2.0, "analysis": "local"},
    "question": [
        {"id": "a", "type": "yesno"},
        {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
        {"id": "c", "type": "multi", "options": ["u", "v", "w"], "at_most": 2},
        {"id": "d", "type": "number", "edges": [0, 1, 3.5]},
    ],
    "table": [{"questions": ["a", "b"]}],
}


# Surveys by how their reports are made.
KINDS = {
    "bits": {
        "question": [
            {"id": "a", "type": "yesno"},
            {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
            {"id": "c", "type": "multi", "options": ["u", "v", "w"], "at_most": 2},
            {"id": "d", "type": "number", "edges": [0, 1, 3.5]},
        ],
        "copies": 3,
    },
    "messages": {
        "question": [
            {"id": "a", "type": "yesno", "optional": True},
            {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
        ],
        "message": [{"questions": ["a"], "copies": 2}, {"questions": ["b"]}],
    },
    "apart": {
        "question": [
            {"id": "b", "type": "choice", "options": ["x", "y", "z"], "apart": True},
        ],
    },
    "k-ary": {
        "question": [
            {
                "id": "b",
                "type": "choice",
                "options": ["x", "y", "z"],
                "randomizer": {"kind": "k-ary", "keep": 0.7},
            },
            {"id": "a", "type": "yesno", "randomizer": {"kind": "warner", "spinner": 0.8}},
        ],
    },
    "text": {
        "question": [
            {"id": "t", "type": "text", "block": 16, "cohorts": 4},
            {"id": "a", "type": "yesno"},
        ],
    },
}


def plan_of(kind):
    """Plans with a generous promise, so that few reports tell a lot."""
    raw = {"name": kind, "crowd": 1000, "privacy": {"epsilon": 8.0, "delta": 1e-3}}
    return incrowd.plan(incrowd.Survey.of(raw | KINDS[kind]))


def people(rows=3000):
    """Answers in order: whoever comes first says yes, x, u and 0."""
    late = np.arange(rows) >= rows // 2
    said = {"a": np.where(late, "no", "yes"), "b": np.where(late, "z", "x")}
    said |= {"c": np.where(late, "v;w", "u"), "d": np.where(late, "9", "0")}
    return pa.table(said | {"t": np.where(late, "oslo", "paris")})
