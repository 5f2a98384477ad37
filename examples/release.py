"""Releasing a table of records: randomize every record once, shuffle, publish; anyone may analyze.

A data owner holds 20,190 records and wants to allow any analysis of them. Each record is randomized
once, and the randomized records are published in random order, with the plan. After that, no one
needs to ask the owner, and further analyses cost no more privacy.

The guarantee depends on who can link a published record to a person:

- no one can (the owner shuffles and does not keep the order): the records hide each other, and
  little noise is enough ("blanket");
- anyone can (the order is known, or a record is recognized): each record has to be hidden by its
  noise alone ("local"). For the same epsilon, this takes so much noise that almost nothing can be
  seen.

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
    """Publish both releases as the owner, and analyze both as an outsider."""
    survey = incrowd.Survey.load(HERE / "health.toml")
    records = incrowd.load_answers(HERE / "rand_hie.csv", survey)  # these stay with the owner
    releases = {}
    for analysis in ("blanket", "local"):
        plan = incrowd.plan(release(survey, analysis, records.num_rows))
        (folder / analysis).mkdir(exist_ok=True)
        (folder / analysis / "plan.json").write_text(plan.dumps(), encoding="utf-8")
        published = incrowd.randomize(plan, records)
        incrowd.save_reports(published, folder / analysis / "records.parquet")
        releases[analysis] = analyze(folder / analysis)
    compare(releases, incrowd.truth(plan, records, tables=[JOINT])[0])
    return releases


def release(survey: incrowd.Survey, analysis: str, records: int) -> incrowd.Survey:
    """Return the survey as a release at epsilon 1, from which any table can be computed.

    The crowd is exact, because the owner knows the number of records.
    """
    privacy = {"epsilon": 1.0, "delta": 1e-6, "analysis": analysis}
    raw = survey.model_dump(by_alias=True)
    return incrowd.Survey.of(raw | {"crowd": records, "privacy": privacy, "tables": "any"})


def analyze(folder: Path) -> incrowd.Estimates:
    """Check the guarantee as an outsider, and estimate the tables of all pairs of questions."""
    plan = incrowd.Plan.load(folder / "plan.json")
    records = incrowd.load_reports(folder / "records.parquet")
    checked = incrowd.verify(plan, records)
    print(f"\n{folder.name}: the guarantee {'holds' if checked.holds else 'DOES NOT HOLD'}")
    ids = [question.id for question in plan.survey.questions]
    # The tables describe only these people, so the errors are those of the noise alone.
    return incrowd.estimate(plan, records, tables=list(combinations(ids, 2)), noise_only=True)


def compare(releases: dict[str, incrowd.Estimates], true: np.ndarray) -> None:
    """Print noise, guarantee, and one joint table of both releases, with the true shares."""
    for analysis, estimates in releases.items():
        guarantee, noise = estimates.guarantee, estimates.plan.messages[0].noise
        print(f"\n{analysis}: each bit flipped with probability {noise.q:.4f}")
        rests_on = incrowd.assumption_text(guarantee)
        print(f"  epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g}: {rests_on}")
        print(f"  with names on the records: epsilon {guarantee.local_epsilon:.2f}, delta 0")
        print(f"  {' x '.join(JOINT)}, in percent (true share):")
        table = next(table for table in estimates.tables if table.questions == JOINT)
        for place, answers in enumerate(np.ndindex(table.estimate.shape)):
            names = ", ".join(a[i] for a, i in zip(table.answers, answers, strict=True))
            share, error = 100 * table.estimate.flat[place], 100 * table.error.noise.flat[place]
            print(f"    {names:14} {share:7.1f} ± {error:4.1f}  ({100 * true.flat[place]:.1f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write to; created if missing")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    main(arguments.folder)
