"""The command line: one function a command, each a thin layer over the public functions."""

from __future__ import annotations

import os
import sys
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

import incrowd
from incrowd.cli import privacy, show
from incrowd.cli.card import card
from incrowd.cli.console import counting, progress, say, working
from incrowd.cli.demo import run
from incrowd.cli.options import (
    AcceptSmaller,
    AnswersFile,
    AsJson,
    NoiseOnly,
    Output,
    PlanFile,
    ReportsFiles,
    SurveyFile,
    Tables,
    certified,
    keep,
)
from incrowd.cli.papers import papers
from incrowd.cli.planning import ledger, plan
from incrowd.errors import IncrowdError, UsageError
from incrowd.estimation.simultaneous import Method as SimultaneousMethod
from incrowd.report.write import check_ending
from incrowd.tally.files import ENDING as TALLY_ENDING
from incrowd.tally.files import load_tally, save_tally
from incrowd.tally.spark import THIS_MACHINE
from incrowd.tally.tally import Kind
from incrowd.workflow.cluster import count_on_spark
from incrowd.workflow.postprocess import checked_method as postprocessing_method
from incrowd.workflow.stream import randomize_files

ENGINES = ("here", "spark")

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
app.command()(plan)
app.command()(ledger)
app.command()(papers)
app.command()(card)


@app.command()
def randomize(
    plan: PlanFile,
    answers: AnswersFile,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="Parquet file to write; a folder, if the plan has many messages."
        ),
    ],
    id: Annotated[
        str | None,
        typer.Option(
            help="Column that says whose row it is: one set of reports for each id. "
            "The whole file is then held in memory."
        ),
    ] = None,
    device_key: Annotated[
        Path | None,
        typer.Option(help="File with the secret of permanent responses; made if missing."),
    ] = None,
    simulation_seed: Annotated[
        int | None,
        typer.Option(help="Repeatable randomness, for simulation only: such reports hide nothing."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Randomise and shuffle answers; without --id one row is taken as one person.

    \b
    Example:
      incrowd randomize plan.json answers.csv -o reports.parquet
    """
    keep(output, plan, answers)
    made = certified(plan)
    _check_reports_path(made, output)
    key = _device_key(device_key) if device_key else None
    if simulation_seed is not None:
        say("simulation: reports made with a known seed hide nothing")
    written = randomize_files(made, answers, output, simulation_seed, id, key, progress)
    show.randomized(made, written, json)


def _check_reports_path(made: incrowd.Plan, output: Path) -> None:
    """Raises UsageError before any work is done for a path that cannot be right."""
    if len(made.messages) == 1 and output.suffix.lower() != ".parquet":
        raise UsageError.of("-o", str(output), "should end in .parquet: that is what is written")
    if len(made.messages) > 1 and output.suffix:
        messages = f"the plan has {len(made.messages)} messages"
        raise UsageError.of("-o", str(output), f"should name a folder: {messages}")


def _device_key(path: Path) -> incrowd.DeviceKey:
    """The key in a file; a new one from the operating system if there is no such file."""
    if path.exists():
        return incrowd.DeviceKey.load(path)
    key = incrowd.DeviceKey.create()
    key.save(path)
    say(f"wrote a new secret to {path}: keep it on the device, and use it in every round")
    return key


def _asked(tables: list[str] | None) -> list[list[str]] | None:
    """Tables as a,b into lists of ids."""
    return [[id.strip() for id in ids.split(",")] for ids in tables] if tables else None


def _counted(
    made: incrowd.Plan,
    paths: list[Path],
    tables: list[list[str]] | None,
    kind: Kind = "singles",
    spark: str | None = None,
) -> incrowd.Tally:
    """The tally of reports in files and folders, and of tallies; spark: where it counts, if so."""
    found = [load_tally(path) for path in paths if path.suffix == TALLY_ENDING]
    reports = [path for path in paths if path.suffix != TALLY_ENDING]
    if spark and reports:
        say(f"counting on Spark: {spark}")
        return sum(found, count_on_spark(made, reports, tables, kind, spark))
    for path in reports:
        with counting(path) as parts:
            found.append(incrowd.count(made, parts, tables, kind))
    return reduce(add, found)


def _check_engine(name: str) -> None:
    if name not in ENGINES:
        raise UsageError.of("--engine", name, f"use one of {', '.join(ENGINES)}")


@app.command()
def tally(
    plan: PlanFile,
    reports: ReportsFiles,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write: .json.")],
    table: Tables = None,
    json: AsJson = False,
) -> None:
    """Count reports where they lie; tallies are small, and `estimate` adds them up.

    \b
    Example:
      incrowd tally plan.json part-1.parquet -o part-1.json
      incrowd estimate plan.json part-1.json part-2.json
    """
    keep(output, plan, *reports)
    if output.suffix != TALLY_ENDING:
        raise UsageError.of("-o", str(output), f"should end in {TALLY_ENDING}")
    made = incrowd.Plan.load(plan)
    counted = _counted(made, reports, _asked(table))
    save_tally(counted, output)
    show.counted(counted, output, json)


Words = Annotated[
    list[str] | None,
    typer.Option(help="Words to look for, as QUESTION=FILE, one a line; may be repeated."),
]
Simultaneous = Annotated[
    str | None, typer.Option(help="Intervals for all cells at once: max-t or bonferroni.")
]
Covariance = Annotated[bool, typer.Option(help="The covariance of all cells, in JSON.")]
Engine = Annotated[
    str, typer.Option(help="What counts the reports: here, or spark (needs the extra).")
]
Master = Annotated[
    str, typer.Option(help="Where Spark runs: by default on all cores of this machine.")
]


@app.command()
def estimate(
    plan: PlanFile,
    reports: ReportsFiles,
    table: Tables = None,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    words: Words = None,
    simultaneous: Simultaneous = None,
    covariance: Covariance = False,
    engine: Engine = "here",
    master: Master = THIS_MACHINE,
    output: Output = None,
    json: AsJson = False,
) -> None:
    """Estimate tables from reports, unbiased, with standard errors and 95% intervals.

    \b
    Example:
      incrowd estimate plan.json reports.parquet --table smoker,health -o report.html

    The ending of -o says what is written: .html, .csv, .json or .parquet.
    """
    if output:
        check_ending(output)
        keep(output, plan, *reports)
    _check_engine(engine)
    made = certified(plan)
    method = _method(simultaneous)
    asked, kind = _asked(table), _kind(covariance or method is not None)
    counted = _counted(made, reports, asked, kind, master if engine == "spark" else None)
    estimates = incrowd.estimate(
        made,
        counted,
        asked,
        noise_only,
        accept_smaller_crowd,
        _candidates(made, words or []),
        method,
        covariance,
    )
    if output:
        incrowd.save_estimates(estimates, output)
        say(f"wrote {output}")
    show.estimates(estimates, json)


def _kind(joined: bool) -> Kind:
    """What has to be counted: pairs of bits as well, if errors of cells are wanted together."""
    return "pairs" if joined else "singles"


def _method(name: str | None) -> SimultaneousMethod | None:
    for method in get_args(SimultaneousMethod):
        if name == method:
            return cast(SimultaneousMethod, method)
    if name is not None:
        allowed = f"use one of {', '.join(get_args(SimultaneousMethod))}"
        raise UsageError.of("--simultaneous", name, allowed)
    return None


def _candidates(made: incrowd.Plan, words: list[str]) -> dict[str, tuple[str, ...]]:
    """QUESTION=FILE into the words of each text question."""
    texts = [q.id for q in made.survey.questions if q.type == "text"]
    found = {}
    for word in words:
        id, _, path = word.partition("=")
        if id not in texts or not path:
            known = ", ".join(texts) or "none in this survey"
            raise UsageError.of(
                "--words", word, f"should be QUESTION=FILE; text questions: {known}"
            )
        found[id] = incrowd.load_words(path)
    for id in texts:
        if id not in found:
            say(f"{id}: a text question; name words to look for with --words {id}=FILE")
    return found


@app.command()
def postprocess(
    plan: PlanFile,
    reports: ReportsFiles,
    table: Tables = None,
    method: Annotated[
        str, typer.Option(help="simplex, likelihood or consistent; all of them are biased.")
    ] = "likelihood",
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Simulated collections that tell the bias; 0 for none.")
    ] = 0,
    accept_smaller_crowd: AcceptSmaller = False,
    json: AsJson = False,
) -> None:
    """Shares that look like proportions, by a named, biased method.

    \b
    Example:
      incrowd postprocess plan.json reports.parquet --table smoker,health --bootstrap 100
    """
    made = certified(plan)
    asked = _asked(table) or [list(ids) for ids in made.survey.wanted]
    with working("post-processing"):
        found = incrowd.postprocess(
            made,
            [part for path in reports for part in incrowd.load_reports(path)],
            asked,
            postprocessing_method(method),
            bootstrap,
            accept_smaller_crowd,
        )
    show.postprocessed(found, json)


@app.command()
def compare(
    plan: PlanFile,
    reports: Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports.")],
    first: Annotated[str, typer.Argument(metavar="FIRST", help="Question that makes the groups.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Question that is compared.")],
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    json: AsJson = False,
) -> None:
    """Compare groups: independence, Cramer's V, shares, differences, odds ratios, with errors.

    \b
    Example:
      incrowd compare plan.json reports.parquet physical_limitation self_rated_health
    """
    made = certified(plan)
    with counting(reports) as parts:
        found = incrowd.compare(made, parts, first, second, noise_only, accept_smaller_crowd)
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

    Exit code 1 if the plan's promise does not hold, the reports cannot come from it, or they were
    made in a simulation and protect nobody.

    \b
    Example:
      incrowd verify plan.json reports.parquet
    """
    made = incrowd.Plan.load(plan)
    with working("recomputing the certificate"):
        found = incrowd.verify(made, incrowd.stream_reports(reports) if reports else None)
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
