"""A study in two rounds, and a question that is asked repeatedly.

Asking the same people twice reveals more than either round alone. There are two ways to keep a
guarantee:

- *A ledger.* It records what was asked and how many people took part. The next round is planned so
  that its guarantee covers everything that these people have been asked so far.
- *Permanent responses* (RAPPOR). The device draws the noise for an answer once and keeps it, so
  asking again reveals nothing new as long as the answer stays the same.

The people are fictional.

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
PANEL = 2_000  # people whose devices keep their responses
SEED = 7  # for the fictional people; the noise comes from the operating system
SMOKES = {"id": "smokes", "type": "yesno"}
QUITS = {"id": "wants_to_quit", "type": "yesno"}
DRINKS = {
    "id": "drinks_daily",
    "type": "yesno",
    # Kept: each bit is flipped with probability f / 2. Each report: 1 with these probabilities.
    "randomizer": {
        "kind": "rappor",
        "f": 0.5,
        "one_if_zero": 0.25,
        "one_if_one": 0.75,
        "memoized": True,
    },
}


class Rounds(NamedTuple):
    """The plans of both rounds, and the panel's estimated share in each month."""

    first: incrowd.Plan
    second: incrowd.Plan
    panel: tuple[float, float]


def main(folder: Path) -> Rounds:
    """Run two rounds with a ledger, then one question twice with device keys."""
    people = pa.table({"smokes": answers(PEOPLE, 0.2), "wants_to_quit": answers(PEOPLE, 0.1)})
    first = round_one(folder, people)
    second = round_two(folder, people)
    return Rounds(first, second, panel(folder))


def survey(name: str, epsilon: float, question: dict, people: int = PEOPLE) -> incrowd.Survey:
    """Return a survey of one question with this epsilon."""
    privacy = {"epsilon": epsilon, "delta": 1e-6}
    raw = {"name": name, "crowd": people, "privacy": privacy, "question": [question]}
    return incrowd.Survey.of(raw)


def answers(people: int, share: float) -> np.ndarray:
    """Return fictional answers: about this share of the people say yes."""
    return np.random.default_rng(SEED).random(people) < share


def round_one(folder: Path, people: pa.Table) -> incrowd.Plan:
    """Plan and carry out the first round, and record it in a new ledger."""
    plan = incrowd.plan(survey("Smoking, round one", 0.5, SMOKES))
    reports = carry_out(plan, people, "in round one")
    (folder / "ledger.json").unlink(missing_ok=True)  # from an earlier run; these people are new
    incrowd.new_ledger(folder / "ledger.json")
    incrowd.note(folder / "ledger.json", plan, reports)
    return plan


def round_two(folder: Path, people: pa.Table) -> incrowd.Plan:
    """Plan with the ledger: epsilon 1 now covers both rounds together."""
    ledger = incrowd.Ledger.load(folder / "ledger.json")
    second = survey("Smoking, round two", 1.0, QUITS)
    plan = incrowd.plan(second, earlier=ledger.asked)
    reports = carry_out(plan, people, "in round two, which covers both")

    alone = incrowd.plan(second).messages[0].noise
    noise = plan.messages[0].noise
    print(f"  noise: {alone.q:.4f} for round two alone, {noise.q:.4f} for both rounds")
    incrowd.note(folder / "ledger.json", plan, reports)
    return plan


def carry_out(plan: incrowd.Plan, people: pa.Table, when: str) -> tuple[incrowd.Collection, ...]:
    """Randomize on the devices and estimate; return the reports."""
    reports = incrowd.randomize(plan, people)
    table = incrowd.estimate(plan, reports).tables[0]
    print(f"{when}: epsilon {plan.guarantee.epsilon:g}, {table.questions[0]}: {yes(table)}")
    return reports


def yes(table: incrowd.TableEstimate) -> str:
    """Format the share of yes with its standard error."""
    return f"{table.estimate[1]:.1%} ± {table.standard_error[1]:.1%}"


def panel(folder: Path) -> tuple[float, float]:
    """Ask the same devices the same question twice; they keep their noise."""
    plan = incrowd.plan(survey("Drinking", 2.0, DRINKS, PANEL))
    key_file = folder / "devices.key"
    if not key_file.exists():
        incrowd.DeviceKey.create().save(key_file)
    key = incrowd.DeviceKey.load(key_file)  # here, one key serves all devices

    ids = [f"device {number}" for number in range(PANEL)]
    rows = pa.table({"device": ids, "drinks_daily": answers(PANEL, 0.3)})
    shares = []
    for month in ("March", "April"):
        reports = incrowd.randomize(plan, rows, id="device", device_key=key)
        table = incrowd.estimate(plan, reports).tables[0]
        shares.append(float(table.estimate[1]))
        print(f"drinks_daily in {month}: {yes(table)}")
    print(f"  {incrowd.assumption_text(plan.guarantee)}")
    return shares[0], shares[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write to; created if missing")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    main(arguments.folder)
