"""The command line: one function a command, each a thin layer over the public functions."""

from __future__ import annotations

import os
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

import incrowd
from incrowd.cli import privacy, show
from incrowd.cli.card import card
from incrowd.cli.console import progress, say, working
from incrowd.cli.demo import run
from incrowd.cli.estimating import compare, estimate, postprocess, tally
from incrowd.cli.options import (
    AnswersFile,
    AsJson,
    PlanFile,
    SurveyFile,
    check_answers,
    check_reports,
)
from incrowd.cli.planning import ledger, plan
from incrowd.cli.randomizing import randomize
from incrowd.cli.simulations import simulation
from incrowd.errors import IncrowdError, IncrowdWarning

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


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"incrowd {version('incrowd')}")
        raise typer.Exit()


@app.callback()
def _every_command(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """What comes before the name of a command."""


app.command()(plan)
app.command()(randomize)
app.command()(estimate)
app.command()(compare)
app.command()(postprocess)
app.command()(tally)
app.command()(card)
app.command()(ledger)
app.add_typer(privacy.app, name="privacy")


@app.command()
def verify(
    plan: PlanFile,
    reports: Annotated[
        Path | None, typer.Argument(metavar="REPORTS", help="Reports to check as well.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Recompute a plan's certificate. Check that reports can come from the plan.

    Exit code 1 if the plan's promise does not hold, the reports cannot come from it, or they were
    made in a simulation and protect nobody.

    \b
    Example:
      incrowd verify plan.json reports.parquet
    """
    check_reports(*([reports] if reports else []))
    made = incrowd.Plan.load(plan)
    with working("recomputing the certificate"):
        parts = incrowd.stream_reports(reports, check=True) if reports else None
        found = incrowd.verify(made, parts)
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
    """Check a survey on known answers. Bias, spread and coverage of its estimates are shown.

    Plans once; each trial draws `crowd` people from the answers with replacement, randomises and
    estimates.

    \b
    Example:
      incrowd simulate examples/health.toml examples/rand_hie.csv --trials 200
    """
    check_answers(answers)
    read = incrowd.Survey.load(survey)
    table = incrowd.load_answers(answers, read)
    with progress("simulating", trials) as advance:
        result = incrowd.simulate(
            read, table, trials=trials, fixed_people=fixed_people, seed=seed, progress=advance
        )
    simulation(result, json)


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


def _say_warnings() -> None:
    """What the library warns of is said in a line of its own; other warnings as always."""
    show = warnings.showwarning

    def shown(message: Warning | str, *about: Any, **more: Any) -> None:
        if isinstance(message, IncrowdWarning):
            say(f"warning: {message}")
        else:
            show(message, *about, **more)

    warnings.showwarning = shown


def main() -> None:
    """Run the command line."""
    guarded(app, "incrowd")


def guarded(command: typer.Typer, name: str) -> None:
    """Run a command; a mistake gives its message and exit code, never a traceback."""
    _say_warnings()
    try:
        command(prog_name=name)
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
