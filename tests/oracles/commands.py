"""The numbers that 87 commands print, so that two versions of the code can be compared.

    python -m tests.oracles.commands before.json       (with the old code)
    python -m tests.oracles.commands after.json before.json

The second form exits with 1, and names the command, where a number differs in its last digit.
Words, and the names of fields, may change. The randomness of the operating system is replaced by a
fixed stream, so that the reports are for nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
from itertools import count
from pathlib import Path

import numpy as np

SURVEYS = {
    "cells": "",
    "any": 'tables = "any"',
    "pairs": 'tables = "pairs"',
    "explore": "explore = 0.2",
    "weights": 'weights = ["sex"]',
    "budget": "reports_per_person = 2",
    "copies": "copies = 3",
    "fixed": "",
    "capped": "",
    "local": "",
    "open": "",
    "rounds": "rounds = 2",
    "rows": "rows_per_person = 2",
    "multi": "",
    "amounts": "",
    "memoised": "",
    "own": "",
    "text": "",
    "regression": "",
}
PRIVACY = {"capped": "local_epsilon = 8.0", "local": 'analysis = "local"'}
QUESTIONS = {
    "sex": 'type = "choice"\noptions = ["female", "male"]',
    "smokes": 'type = "yesno"',
    "stress": 'type = "choice"\noptions = ["low", "medium", "high"]\noptional = true',
}
MORE = {
    "multi": {"tools": 'type = "multi"\noptions = ["a", "b", "c", "d"]\nat_most = 2'},
    "amounts": {"days": 'type = "amount"\nedges = [0, 5, 20]'},
    "memoised": {"kept": 'type = "yesno"\nmemoized = true'},
    "own": {
        "warned": 'type = "yesno"\nrandomizer = { kind = "warner", spinner = 0.8 }',
        "kept": 'type = "yesno"\nrandomizer = { kind = "bit flip", noise = 0.2 }',
    },
    "text": {"page": 'type = "text"\nblock = 32\nhashes = 2\ncohorts = 8'},
}
TABLE = '[[table]]\nquestions = ["sex", "smokes"]\n'
ENDINGS = {
    "fixed": '[[message]]\nquestions = ["sex", "smokes"]\ncopies = 2\n'
    '[[message]]\nquestions = ["stress"]\ncells = true\n',
    "regression": '[[regression]]\noutcome = "smokes"\non = ["sex", "stress"]\n',
}
PEOPLE = 3000
CROWD = 2900


def survey(name: str) -> str:
    """The text of a survey."""
    asked = QUESTIONS | MORE.get(name, {})
    if name == "open":
        asked = asked | {"sex": asked["sex"] + "\nopen = true"}
    questions = "\n".join(f'[[question]]\nid = "{id}"\n{text}' for id, text in asked.items())
    crowd = CROWD // 3 if name == "open" else CROWD
    head = f'name = "{name}"\ncrowd = {crowd}\n{SURVEYS[name]}\n'
    privacy = f"[privacy]\nepsilon = 2.0\ndelta = 1e-5\n{PRIVACY.get(name, '')}\n"
    return "\n".join(
        [head, privacy, questions, "" if name == "open" else TABLE, ENDINGS.get(name, "")]
    )


def answers() -> str:
    """A CSV file of people who answer all questions of all surveys."""
    drawn = np.random.default_rng(20)
    rows = ["person,sex,smokes,stress,tools,days,kept,warned,page"]
    for person in range(PEOPLE):
        sex = int(drawn.random() < 0.45)
        smokes = drawn.random() < (0.2, 0.35)[sex]
        stress = drawn.choice(["low", "medium", "high", ""], p=[0.4, 0.3, 0.2, 0.1])
        tools = ";".join(sorted(drawn.choice(list("abcd"), drawn.integers(1, 3), replace=False)))
        days = round(float(min(drawn.exponential(4), 20)), 1)
        kept, warned = drawn.random(2) < (0.3, 0.1)
        page = drawn.choice(["home", "news", "mail"], p=[0.5, 0.3, 0.2])
        words = [
            ["female", "male"][sex],
            _yes(smokes),
            stress,
            tools,
            days,
            _yes(kept),
            _yes(warned),
        ]
        rows.append(",".join(map(str, [person, *words, page])))
    return "\n".join(rows) + "\n"


def reports(name: str, folder: Path) -> str:
    """What `randomize` writes by a plan: one file, or a folder of files."""
    plan = folder / f"{name}.json"
    text = plan.read_text(encoding="utf-8") if plan.exists() else ""
    several = text.count('"noise_numerator"') > 1 or name == "open"
    return name if several else f"{name}.parquet"


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def commands() -> list[str]:
    """What is run, one after the other, in one folder."""
    made = []
    for name in SURVEYS:
        made.append(f"plan {name}.toml -o {name}.json --json --no-side-by-side")
        key = " --device-key key.json --id person" if name == "memoised" else ""
        made.append(f"randomize {name}.json answers.csv -o @{name}{key}")
        words = " --words page=words.txt" if name == "text" else ""
        made.append(f"estimate {name}.json @{name} --json{words}")
    made += [
        "plan cells.toml --json",
        "plan any.toml --json",
        "plan any.toml --solve crowd --error 0.02 --json",
        "plan cells.toml --solve epsilon --margin 3% --json",
        "verify cells.json @cells --json",
        "verify memoised.json @memoised --json",
        "verify any.json --json",
        "tally any.json @any -o any-tally.json --table sex,stress --pairs --json",
        "estimate any.json any-tally.json --table sex,stress --json --covariance",
        "estimate any.json @any --simultaneous max-t --json",
        "estimate cells.json @cells --of-those-who-answered --noise-only --json",
        "estimate weights.json @weights --margins margins.toml --json",
        "estimate any.json @any --merge 'stress: low + medium' --json",
        "compare any.json @any smokes sex --json",
        "compare cells.json @cells smokes sex --json",
        "regress any.json @any --outcome smokes --on sex,stress --json",
        "regress regression.json @regression --outcome smokes --on sex,stress --json",
        "regress regression.json @regression --outcome smokes --on sex --penalty firth --json",
        "regress regression.json --outcome smokes --on sex,stress --forecast --json",
        "regress pairs.json @pairs --outcome smokes --on sex,stress --family linear --json",
        "postprocess any.json @any --method simplex --bootstrap 20 --json",
        "postprocess cells.json @cells --method likelihood --json",
        "simulate cells.toml answers.csv --trials 20 --json",
        "simulate any.toml answers.csv --trials 20 --json",
        "privacy delta --noise 0.37 --bits 40 --crowd 100000 --epsilon 2 --json",
        "privacy epsilon --noise 0.2 --bits 3 --crowd 1000 --delta 1e-6 --json",
        "privacy noise --survey cells.toml --json",
        "ledger people.json --new",
        "ledger people.json rounds.json @rounds --json",
        "plan copies.toml --ledger people.json --json --no-side-by-side",
    ]
    return made


def recorded(folder: Path) -> dict[str, list[float]]:
    """The numbers of every command, in the order in which they are printed."""
    from typer.testing import CliRunner

    from incrowd.cli.app import app

    for name in SURVEYS:
        (folder / f"{name}.toml").write_text(survey(name), encoding="utf-8")
    (folder / "answers.csv").write_text(answers(), encoding="utf-8")
    (folder / "words.txt").write_text("home\nnews\nmail\nsports\n", encoding="utf-8")
    (folder / "margins.toml").write_text("[sex]\nfemale = 0.5\nmale = 0.5\n", encoding="utf-8")
    found = {}
    for command in commands():
        parts = [part.strip("'") for part in re.findall(r"'[^']*'|\S+", command)]
        arguments = [reports(part[1:], folder) if part[0] == "@" else part for part in parts]
        with fixed_randomness(command), contextlib.chdir(folder):
            result = CliRunner().invoke(app, arguments)
        if result.exit_code:
            print(f"exit code {result.exit_code}: {command}\n{result.exception}", file=sys.stderr)
        found[command] = [float(result.exit_code), *numbers(result.stdout)]
    return found


@contextlib.contextmanager
def fixed_randomness(name: str):
    """The operating system's randomness, replaced by a stream that the name alone determines."""
    place, true = count(), os.urandom

    def drawn(size: int) -> bytes:
        return hashlib.shake_256(f"{name} {next(place)}".encode()).digest(size)

    os.urandom = drawn
    try:
        yield
    finally:
        os.urandom = true


def numbers(text: str) -> list[float]:
    """All numbers of a JSON document, or of a text that is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]
    return list(_numbers_of(value))


CODES = {"assumptions", "worst", "limit"}  # their numbers stood in sentences before


def _numbers_of(value):
    if isinstance(value, dict):
        for key in sorted(value.keys() - CODES):
            yield from _numbers_of(value[key])
    elif isinstance(value, list):
        for each in value:
            yield from _numbers_of(each)
    elif isinstance(value, bool | int | float):
        yield float(value)


def main(target: str, before: str | None = None) -> int:
    """Record, and compare with what was recorded before, if that is given."""
    with tempfile.TemporaryDirectory() as folder:
        found = recorded(Path(folder))
    Path(target).write_text(json.dumps(found, indent=0), encoding="utf-8")
    print(f"{len(found)} commands, {sum(map(len, found.values())):,} numbers")
    if before is None:
        return 0
    known, wrong = json.loads(Path(before).read_text(encoding="utf-8")), 0
    for command, values in known.items():
        if sorted(values) != sorted(found.get(command, [])):
            wrong += 1
            print(f"other numbers: {command}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
