"""Releasing a table of records: flip every record once, shuffle, publish; anyone may analyze.

A data owner holds 20,190 records and wants others to be able to ask any question of them. Each
record is randomized once, and the randomized records are published, in random order, with the
plan. From then on nobody has to ask the owner anything, and no question costs more privacy.

What is promised depends on who may link a published record to a person:

- nobody can (the owner shuffles, and keeps no order): the records hide each other, and little
  noise does ("blanket");
- anybody can (the order is known, or a record is recognized): each record has to hide by itself
  ("local"). For the same epsilon that takes so much noise that hardly anything is left to see.

    python examples/release.py FOLDER
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np

import incrowd

HERE = Path(__file__).parent
JOINT = ("physical_limitation", "self_rated_health")


def main(folder: Path) -> dict[str, incrowd.Estimates]:
    """The owner publishes both releases; a stranger analyses both."""
    survey = incrowd.Survey.load(HERE / "health.toml")
    records = incrowd.load_answers(HERE / "rand_hie.csv", survey)  # these stay with the owner
    found = {}
    for analysis in ("blanket", "local"):
        plan = incrowd.plan(release(survey, analysis, records.num_rows))
        (folder / analysis).mkdir(exist_ok=True)
        (folder / analysis / "plan.json").write_text(plan.dumps(), encoding="utf-8")
        published = incrowd.randomize(plan, records)
        incrowd.save_reports(published, folder / analysis / "records.parquet")
        found[analysis] = analyze(folder / analysis)
    compare(found, incrowd.truth(plan, records, tables=[JOINT])[0])
    return found


def release(survey: incrowd.Survey, analysis: str, records: int) -> incrowd.Survey:
    """The survey as a release at epsilon 1, of which any table can be made.

    Who holds all records knows how many they are.
    """
    privacy = {"epsilon": 1.0, "delta": 1e-6, "analysis": analysis}
    raw = survey.model_dump(by_alias=True)
    return incrowd.Survey.of(raw | {"crowd": records, "privacy": privacy, "tables": "any"})


def analyze(folder: Path) -> incrowd.Estimates:
    """A stranger: check what is promised, then estimate the joint table of every two questions."""
    plan = incrowd.Plan.load(folder / "plan.json")
    records = incrowd.load_reports(folder / "records.parquet")
    checked = incrowd.verify(plan, records)
    print(f"\n{folder.name}: the promise {'holds' if checked.holds else 'DOES NOT HOLD'}")
    ids = [question.id for question in plan.survey.questions]
    # The table of these people: the noise alone, for there is nobody else whom it is about.
    return incrowd.estimate(plan, records, tables=list(combinations(ids, 2)), noise_only=True)


def compare(found: dict[str, incrowd.Estimates], true: np.ndarray) -> None:
    """Both releases side by side: noise, promise, and one joint table with the truth."""
    for analysis, estimates in found.items():
        promise, noise = estimates.guarantee, estimates.plan.messages[0].noise
        print(f"\n{analysis}: each bit flipped with probability {noise.q:.4f}")
        rests_on = incrowd.assumption_text(promise)
        print(f"  epsilon {promise.epsilon:g}, delta {promise.delta:g}: {rests_on}")
        print(f"  with names on the records: epsilon {promise.local_epsilon:.2f}, delta 0")
        print(f"  {' x '.join(JOINT)}, in percent (in truth):")
        table = next(table for table in estimates.tables if table.questions == JOINT)
        for place, answers in enumerate(np.ndindex(table.estimate.shape)):
            names = ", ".join(a[i] for a, i in zip(table.answers, answers, strict=True))
            share, error = 100 * table.estimate.flat[place], 100 * table.noise_error.flat[place]
            print(f"    {names:14} {share:7.1f} ± {error:4.1f}  ({100 * true.flat[place]:.1f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write to; made if missing")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    main(arguments.folder)
