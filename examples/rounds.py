"""A study in two rounds, and a question that is asked again and again.

Whoever asks the same people twice learns more than from either round. Two ways to keep a promise:

- *A ledger.* What was asked is written down, and how many people came; the next round is planned
  so that its promise covers everything the people have been asked so far, as it was.
- *Permanent responses* (RAPPOR). The device draws the noise on an answer once and keeps it, so
  that asking again tells nothing new for as long as the answer stays the same.

The people are made up.

    python examples/rounds.py FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import incrowd

PEOPLE = 20_000
PANEL = 2_000  # people whose devices remember
SEED = 7  # of the made-up people; the noise comes from the operating system
SMOKES = {"id": "smokes", "type": "yesno"}
QUITS = {"id": "wants_to_quit", "type": "yesno"}
DRINKS = {
    "id": "drinks_daily",
    "type": "yesno",
    # Kept: each bit flipped with probability f / 2. Of each report: 1 with these probabilities.
    "randomizer": {
        "kind": "rappor",
        "f": 0.5,
        "one_if_zero": 0.25,
        "one_if_one": 0.75,
        "memoized": True,
    },
}


class Rounds(NamedTuple):
    """The plans of both rounds, and the shares that the panel gave in each round."""

    first: incrowd.Plan
    second: incrowd.Plan
    panel: tuple[float, float]


def main(folder: Path) -> Rounds:
    """Two rounds with a ledger, then one question asked twice with device keys."""
    people = pa.table({"smokes": said(PEOPLE, 0.2), "wants_to_quit": said(PEOPLE, 0.1)})
    first = round_one(folder, people)
    second = round_two(folder, people)
    return Rounds(first, second, panel(folder))


def survey(name: str, epsilon: float, question: dict, people: int = PEOPLE) -> incrowd.Survey:
    """One question, under a promise."""
    privacy = {"epsilon": epsilon, "delta": 1e-6}
    raw = {"name": name, "crowd": people, "privacy": privacy, "question": [question]}
    return incrowd.Survey.of(raw)


def said(people: int, share: float) -> np.ndarray:
    """Made-up answers: yes from about that share of the people."""
    return np.random.default_rng(SEED).random(people) < share


def round_one(folder: Path, people: pa.Table) -> incrowd.Plan:
    """Plan, carry out, and note in a new ledger that it was, and who came."""
    plan = incrowd.plan(survey("Smoking, round one", 0.5, SMOKES))
    reports = carry_out(plan, people, "in round one")
    (folder / "ledger.json").unlink(missing_ok=True)  # of an earlier run: these people are new
    incrowd.new_ledger(folder / "ledger.json")
    incrowd.note(folder / "ledger.json", plan, reports)
    return plan


def round_two(folder: Path, people: pa.Table) -> incrowd.Plan:
    """Plan with the ledger: epsilon 1 is now the promise of both rounds together."""
    ledger = incrowd.Ledger.load(folder / "ledger.json")
    wanted = survey("Smoking, round two", 1.0, QUITS)
    plan = incrowd.plan(wanted, earlier=ledger.asked)
    reports = carry_out(plan, people, "in round two, which covers both")

    alone = incrowd.plan(wanted).messages[0].noise
    noise = plan.messages[0].noise
    print(f"  without round one {alone.q:.4f} would do; {noise.q:.4f} is needed for both")
    incrowd.note(folder / "ledger.json", plan, reports)
    return plan


def carry_out(plan: incrowd.Plan, people: pa.Table, when: str) -> tuple[incrowd.Collection, ...]:
    """Randomize on the devices, estimate; the reports that arrived."""
    reports = incrowd.randomize(plan, people)
    table = incrowd.estimate(plan, reports).tables[0]
    promise = plan.guarantee
    print(f"{when}: epsilon {promise.epsilon:g}, {table.questions[0]}: {yes(table)}")
    return reports


def yes(table: incrowd.TableEstimate) -> str:
    """The share of yes with its standard error."""
    return f"{table.estimate[1]:.1%} ± {table.standard_error[1]:.1%}"


def panel(folder: Path) -> tuple[float, float]:
    """The same question twice, to the same devices, which keep their noise."""
    plan = incrowd.plan(survey("Drinking", 2.0, DRINKS, PANEL))
    key_file = folder / "devices.key"
    if not key_file.exists():
        incrowd.DeviceKey.create().save(key_file)
    key = incrowd.DeviceKey.load(key_file)  # each device has its own; here one stands for all

    ids = [f"device {number}" for number in range(PANEL)]
    answers = pa.table({"device": ids, "drinks_daily": said(PANEL, 0.3)})
    shares = []
    for month in ("March", "April"):
        reports = incrowd.randomize(plan, answers, id="device", device_key=key)
        table = incrowd.estimate(plan, reports).tables[0]
        shares.append(float(table.estimate[1]))
        print(f"drinks_daily in {month}: {yes(table)}")
    print(f"  {incrowd.assumption_text(plan.guarantee)}")
    return shares[0], shares[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write to; made if missing")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    main(arguments.folder)
