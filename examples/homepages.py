"""Which home pages do people have? A survey with 50,000 answers to choose from.

One report of 50,000 bits would be long, and would need much noise: its bits stand together, and
together they tell a lot. So the question is sent as cells: after the flips each set bit is a
report of its own, which nothing joins to the others. Two answers then differ in two single bits
only, at each of which all people hide each other, and one flip in thousands of bits is noise
enough. Each person sends a couple of dozen short messages; nearly all of them are noise. (The
whole noise is the same for any number of people: of fewer people, each sends more.)

The answers are made up: a few sites have most of the people, as they do in truth (Zipf's law).

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
SEED = 2016  # of the made-up answers; the noise comes from the operating system
SHOWN = 10


class Found(NamedTuple):
    """How many sites rise above the noise: those that somebody has, and those that nobody has."""

    true: int
    false: int


def main(folder: Path, people: int = PEOPLE) -> Found:
    """Plan, randomize, estimate; write the plan, the reports and all estimates."""
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
    """The place of each person's home page among the sites: the n-th has a share like 1 / n."""
    shares = 1 / np.arange(1, len(SITES) + 1)
    return np.random.default_rng(SEED).choice(len(SITES), people, p=shares / shares.sum())


def show(table: incrowd.TableEstimate, counts: np.ndarray) -> Found:
    """The largest sites beside their true numbers, and how many rise above the noise."""
    people = counts.sum()
    for place in np.argsort(-table.estimate)[:SHOWN]:
        people_there, error = people * table.estimate[place], people * table.noise_error[place]
        print(f"  {SITES[place]} {people_there:8,.0f} ± {error:.0f}   (in truth {counts[place]:,})")

    # 5% for any false site among all 50,000 that are tested.
    visible = table.above_noise(0.05)
    found = Found(int((visible & (counts > 0)).sum()), int((visible & (counts == 0)).sum()))
    print(f"{sum(found):,} sites rise above the noise: {found.true:,} that somebody has, and")
    print(f"{found.false:,} that nobody has. {np.count_nonzero(counts):,} sites have somebody.")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write to; made if missing")
    parser.add_argument("--people", type=int, default=PEOPLE)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    main(arguments.folder, arguments.people)
