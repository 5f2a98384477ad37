"""The command line: one function a command, each a thin layer over the public functions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli import privacy, show
from incrowd.cli.console import print_json, progress, say, working
from incrowd.cli.demo import run
from incrowd.errors import IncrowdError, PlanError, UsageError
from incrowd.report.write import check_ending
from incrowd.reports.files import replaced

app = typer.Typer(
    name="incrowd",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Ask a sensitive question of many people.

    Every answer is randomised on the device, travels without a name and hides in the crowd; it
    still adds up to unbiased tables with honest errors, under a guarantee that is computed.

    \b
    Example:
      incrowd plan survey.toml -o plan.json
      incrowd randomize plan.json answers.csv -o reports.parquet
      incrowd estimate plan.json reports.parquet -o report.html""",
)

app.add_typer(privacy.app, name="privacy")

SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY", help="Survey, a TOML file.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan, made by `incrowd plan`.")]
AnswersFile = Annotated[
    Path, typer.Argument(metavar="ANSWERS", help="Answers, one row a person: .csv or .parquet.")
]
ReportsFile = Annotated[
    Path, typer.Argument(metavar="REPORTS", help="Reports, made by `incrowd randomize`.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]


def _keep(output: Path, *inputs: Path) -> None:
    """Raises UsageError if the output would overwrite an input."""
    for path in inputs:
        if output.resolve() == path.resolve():
            raise UsageError.of("-o", str(output), "is an input of this command; name another file")


def _certified(path: Path) -> incrowd.Plan:
    """A plan that keeps what it says. Raises PlanError: a digest alone can be made by anybody."""
    made = incrowd.Plan.load(path)
    with working("checking the plan's certificate"):
        if not incrowd.verify(made).plan_holds:
            raise PlanError.of("plan", str(path), "does not hold: its noise is below its promise")
    return made


@app.command()
def plan(survey: SurveyFile, output: Output = None, json: AsJson = False) -> None:
    """Find the smallest noise that keeps a survey's promise.

    \b
    Example:
      incrowd plan examples/health.toml -o plan.json
    """
    if output:
        _keep(output, survey)
    read = incrowd.Survey.load(survey)
    with working("searching the smallest noise"):
        made = incrowd.plan(read)
    if output:
        with replaced(output) as temporary:
            temporary.write_text(made.dumps(), encoding="utf-8")
        say(f"wrote {output}")
    show.plan(made, json)


@app.command()
def randomize(
    plan: PlanFile,
    answers: AnswersFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="Parquet file to write.")],
    simulation_seed: Annotated[
        int | None,
        typer.Option(help="Repeatable randomness, for simulation only: such reports hide nothing."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Randomise and shuffle answers; one row is taken as one person.

    \b
    Example:
      incrowd randomize plan.json answers.csv -o reports.parquet
    """
    _keep(output, plan, answers)
    made = _certified(plan)
    table = incrowd.load_answers(answers, made.survey)
    if simulation_seed is not None:
        say("simulation: reports made with a known seed hide nothing")
    say(f"randomising {table.num_rows:,} answers")
    reports = incrowd.randomize(made, table, simulation_seed)
    incrowd.save_reports(reports, output)
    summary = {"reports": len(reports), "people": table.num_rows, "bits": reports.bits}
    summary |= {"simulation_seed": reports.seed, "plan": reports.plan, "output": str(output)}
    if json:
        print_json(summary)
    else:
        say(f"wrote {len(reports):,} reports to {output}")


@app.command()
def estimate(
    plan: PlanFile,
    reports: ReportsFile,
    table: Annotated[
        list[str] | None,
        typer.Option(help="Questions of a table, as a,b; may be repeated. Default: the survey's."),
    ] = None,
    noise_only: Annotated[
        bool, typer.Option(help="Errors of the noise alone, the people being fixed.")
    ] = False,
    accept_smaller_crowd: Annotated[
        bool, typer.Option(help="Go on with fewer people than planned; recompute the guarantee.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File: .html, .csv, .json or .parquet.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Estimate tables from reports, unbiased, with standard errors and 95% intervals.

    \b
    Example:
      incrowd estimate plan.json reports.parquet --table smoker,health -o report.html
    """
    if output:
        check_ending(output)
        _keep(output, plan, reports)
    made = _certified(plan)
    tables = [[id.strip() for id in ids.split(",")] for ids in table] if table else None
    estimates = incrowd.estimate(
        made, incrowd.load_reports(reports), tables, noise_only, accept_smaller_crowd
    )
    if output:
        incrowd.save_estimates(estimates, output)
        say(f"wrote {output}")
    show.estimates(estimates, json)


@app.command()
def compare(
    plan: PlanFile,
    reports: ReportsFile,
    first: Annotated[str, typer.Argument(metavar="FIRST", help="Question that makes the groups.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Question that is compared.")],
    noise_only: Annotated[
        bool, typer.Option(help="Errors of the noise alone, the people being fixed.")
    ] = False,
    accept_smaller_crowd: Annotated[
        bool, typer.Option(help="Go on with fewer people than planned; recompute the guarantee.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Compare groups: independence, Cramer's V, shares, differences, odds ratios, with errors.

    \b
    Example:
      incrowd compare plan.json reports.parquet physical_limitation self_rated_health
    """
    made, loaded = incrowd.Plan.load(plan), incrowd.load_reports(reports)
    found = incrowd.compare(made, loaded, first, second, noise_only, accept_smaller_crowd)
    show.comparison(found, json)


@app.command()
def verify(
    plan: PlanFile,
    reports: Annotated[
        Path | None, typer.Argument(metavar="[REPORTS]", help="Reports to check as well.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Recompute a plan's certificate; check that reports can come from the plan.

    Exit code 1 if the plan's promise does not hold or the reports cannot come from it.

    \b
    Example:
      incrowd verify plan.json reports.parquet
    """
    made = incrowd.Plan.load(plan)
    found = incrowd.verify(made, incrowd.load_reports(reports) if reports else None)
    show.verification(made, found, json)
    if not found.holds:
        raise typer.Exit(1)


@app.command()
def simulate(
    survey: SurveyFile,
    answers: AnswersFile,
    trials: Annotated[int, typer.Option(help="Collections to draw.")] = 1000,
    fixed_people: Annotated[
        bool, typer.Option(help="Keep the people fixed; check the noise-only errors.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    json: AsJson = False,
) -> None:
    """Check a survey on known answers: bias, spread and coverage of its estimates.

    Plans once; each trial draws `crowd` people from the answers with replacement, randomises and
    estimates.

    \b
    Example:
      incrowd simulate examples/health.toml examples/rand_hie.csv --trials 200
    """
    read = incrowd.Survey.load(survey)
    table = incrowd.load_answers(answers, read)
    with progress("simulating", trials) as advance:
        result = incrowd.simulate(read, table, trials, fixed_people, seed, advance)
    show.simulation(result, json)


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; made if missing.")
    ] = Path("demo"),
    json: AsJson = False,
) -> None:
    """Run the whole path on real data, and compare with the truth.

    \b
    Example:
      incrowd demo -o demo
    """
    show.estimates(run(output), json)


def main() -> None:
    """Run the command line; a mistake gives its message and exit code, never a traceback."""
    try:
        app()
    except IncrowdError as error:
        for problem in error.problems:
            say(f"error: {problem}")
        sys.exit(error.exit_code)
    except (OSError, MemoryError) as error:
        say(f"error: {str(error) or 'out of memory'}")
        sys.exit(1)
    except Exception as error:
        if os.environ.get("INCROWD_DEBUG"):
            raise
        say(f"error: this is a fault in incrowd: {type(error).__name__}: {error}")
        say("set INCROWD_DEBUG=1 to see where, and please report it")
        sys.exit(1)
