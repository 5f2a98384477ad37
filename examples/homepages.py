"""A survey of home pages with 50,000 possible answers.

One report of 50,000 bits would be long and would need much noise, because its bits reveal a lot
together. So the question is sent as cells: after the flips, each set bit is a separate report that
cannot be linked to the others. Two answers then differ in only two single bits. At each of these,
all people hide each other, so flipping one in thousands of bits is enough noise. Each person sends
a couple of dozen short messages, nearly all of which are noise. (The total noise is the same for
any number of people: with fewer people, each sends more.)

The answers are fictional: a few sites have most of the people, as in reality (Zipf's law).

    python examples/homepages.py FOLDER [--people 200000]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import incrowd

SITES = tuple(f"site-{number:05d}.example" for number in range(1, 50_001))
PEOPLE = 200_000
SEED = 2016  # for the fictional answers; the noise comes from the operating system
SHOWN = 10


class Detections(NamedTuple):
    """How many detected sites are used by someone (true) and by no one (false)."""

    true: int
    false: int


def main(folder: Path, people: int = PEOPLE) -> Detections:
    """Plan, randomize, estimate; write the plan, the reports, and all estimates."""
    survey = incrowd.Survey.of(
        {
            "name": "Home pages",
            "crowd": people,
            "privacy": {"epsilon": 1.0, "delta": 1e-7},
            "question": [{"id": "homepage", "type": "choice", "options": SITES}],
        }
    )
    plan = incrowd.plan(survey)
    (folder / "plan.json").write_text(plan.dumps(), encoding="utf-8")
    print(f"noise {plan.messages[0].noise.q:.2g} on each of {len(SITES):,} bits")

    places = homepages(people)
    answers = pa.table({"homepage": np.array(SITES)[places]})
    reports = incrowd.randomize(plan, answers)
    incrowd.save_reports(reports, folder / "reports.parquet")
    sent = len(reports[0])
    print(f"{people:,} people sent {sent:,} reports, {sent / people:.1f} each")

    estimates = incrowd.estimate(plan, reports)
    incrowd.save_estimates(estimates, folder / "estimates.csv")
    return show(estimates.tables[0], np.bincount(places, minlength=len(SITES)))


def homepages(people: int) -> np.ndarray:
    """Return the index of each person's home page;
    the n-th site has a share proportional to 1 / n."""
    shares = 1 / np.arange(1, len(SITES) + 1)
    return np.random.default_rng(SEED).choice(len(SITES), people, p=shares / shares.sum())


def show(table: incrowd.TableEstimate, counts: np.ndarray) -> Detections:
    """Print the largest sites with their true numbers, and how many rise above the noise."""
    people = counts.sum()
    for place in np.argsort(-table.estimate)[:SHOWN]:
        people_there, error = people * table.estimate[place], people * table.error.noise[place]
        print(f"  {SITES[place]} {people_there:8,.0f} ± {error:.0f}   (true: {counts[place]:,})")

    # A 5% chance of any false detection among all 50,000 tested sites.
    visible = table.above_noise(0.05)
    used = counts > 0
    detections = Detections(int((visible & used).sum()), int((visible & ~used).sum()))
    print(f"{sum(detections):,} sites rise above the noise:")
    print(f"{detections.true:,} that someone uses, {detections.false:,} that no one uses.")
    print(f"In all, {np.count_nonzero(used):,} sites are used.")
    return detections


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write to; created if missing")
    parser.add_argument("--people", type=int, default=PEOPLE)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    main(arguments.folder, arguments.people)
