"""A health survey from the plan to the report: the RAND Health Insurance Experiment.

Five questions about health and insurance, asked in such a way that people do not have to trust the
analyst. Here the answers are known (rand_hie.csv; each row is treated as one person), so the script
can show the true shares next to the estimates. In a real survey, they are not known.

    python examples/health.py FOLDER
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import incrowd

HERE = Path(__file__).parent


def main(folder: Path) -> incrowd.Estimates:
    """Plan, randomize, estimate, compare, and post-process; write plan, reports, and page."""
    survey = incrowd.Survey.load(HERE / "health.toml")
    answers = incrowd.load_answers(HERE / "rand_hie.csv", survey)
    plan = incrowd.plan(survey)
    (folder / "plan.json").write_text(plan.dumps(), encoding="utf-8")

    # On the devices, every bit is flipped at random. Then the shuffler mixes the reports.
    reports = incrowd.randomize(plan, answers)
    for earlier in (folder / "reports").glob("message-*.parquet"):
        earlier.unlink()  # from an earlier run, perhaps with another plan
    incrowd.save_reports(reports, folder / "reports")

    # The analyst has only the plan and the reports.
    estimates = incrowd.estimate(plan, reports)
    show(estimates, incrowd.truth(plan, answers))
    compared(plan, reports)
    postprocessed(plan, reports)

    page = replace(estimates, truth=incrowd.truth(plan, answers))
    incrowd.save_estimates(page, folder / "report.html")
    print(f"\nwrote {folder / 'report.html'}: open it in a browser")
    return estimates


def show(estimates: incrowd.Estimates, truth: tuple) -> None:
    """Print each one-way table: estimate, standard error, and the true share."""
    for table, true in zip(estimates.tables, truth, strict=True):
        if len(table.questions) == 1:
            print(f"\n{table.questions[0]}")
            rows = zip(table.answers[0], table.estimate, table.standard_error, true, strict=True)
            for answer, share, error, true_share in rows:
                print(f"  {answer:12} {share:7.1%} ± {error:.1%}   (true: {true_share:.1%})")


def compared(plan: incrowd.Plan, reports: tuple[incrowd.Collection, ...]) -> None:
    """Test whether people with a physical limitation rate their health differently."""
    comparison = incrowd.compare(plan, reports, "physical_limitation", "self_rated_health")
    test = comparison.independence
    print(f"\nindependent of physical_limitation? p = {test.p_value:.2g}")
    for share in comparison.shares:
        print(f"  {share.name}: {share.low:.1%} to {share.high:.1%}")


def postprocessed(plan: incrowd.Plan, reports: tuple[incrowd.Collection, ...]) -> None:
    """Print the joint table as nonnegative shares with sum one, and the resulting bias."""
    tables = [["physical_limitation", "self_rated_health"]]
    (table,) = incrowd.postprocess(plan, reports, tables=tables, method="likelihood", bootstrap=20)
    print(f"\n{', '.join(table.questions)}, by {table.method}: {table.estimate.round(3).tolist()}")
    print(f"  unbiased (the default): {table.raw.round(3).tolist()}")
    print(f"  {table.statement}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder to write to; created if missing")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    main(arguments.folder)
