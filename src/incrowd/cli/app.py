"""The command line as a whole: its help, and what happens to errors and warnings."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from incrowd.cli.later import Commands
from incrowd.cli.names import as_typed
from incrowd.errors import IncrowdError, IncrowdWarning

app = typer.Typer(
    name="incrowd",
    cls=Commands,
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
        from importlib.metadata import version  # slow to import

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


def say(text: str) -> None:
    """A line on standard error; what prints it is slow to import."""
    from incrowd.cli.console import say

    say(text)


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
            say(f"error: {as_typed(problem)}")
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
