"""The command line as a whole: its help, and how errors and warnings are shown."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import (
    INTERRUPTED,
    error_lines,
    interrupted,
    line,
    other_error,
    say_warnings,
    usage_problem,
    wants_json,
)
from incrowd.cli.later import Commands
from incrowd.errors import IncrowdError, UsageError

OUTPUTS = "incrowd.files"  # the logger that records every file written
LEVELS = ("debug", "info", "warning")

app = typer.Typer(
    name="incrowd",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Ask many people sensitive questions, with a privacy guarantee.

    Each answer is randomized on the device and sent without a name, so it hides in the crowd.
    Together the answers give unbiased tables with standard errors.

    \b
    Example:
      incrowd example health
      incrowd plan health.toml -o plan.json
      incrowd randomize plan.json rand_hie.csv -o reports
      incrowd estimate plan.json reports -o report.html""",
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"incrowd {incrowd.__version__}")
        raise typer.Exit()


def _log(level: str | None) -> None:
    """Show the library's log on standard error."""
    if level is None:
        return
    if level not in LEVELS:
        raise UsageError.of("--log", "shared.use-one-of", value=level, choices=LEVELS)
    handler = logging.Handler(level.upper())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.emit = lambda record: say(line("note", handler.format(record)))  # type: ignore[method-assign]
    logger = logging.getLogger("incrowd")
    logger.handlers = [handler]
    logger.setLevel(level.upper())


@app.callback()
def _every_command(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    log: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            callback=_log,
            help="Show progress messages: info, or debug for more. They contain no answers.",
        ),
    ] = None,
) -> None:
    """Take the options that come before the name of a command."""


def say(text: str) -> None:
    """Print a line on standard error; the console is slow to import."""
    from incrowd.cli.console import print_line

    print_line(text)


def main() -> None:
    """Run the command line."""
    guarded(app, "incrowd")


@contextmanager
def watching() -> Iterator[list[str]]:
    """Collect a log record for each file written in the meantime."""
    written: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: written.append(record.getMessage())  # type: ignore[method-assign]
    log, level = logging.getLogger(OUTPUTS), logging.getLogger(OUTPUTS).level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield written
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _say_usage(error: typer.TyperException) -> None:
    """Print what is wrong with the arguments that were typed."""
    if problem := usage_problem(error):
        say(other_error(str(problem), "UsageError", 2, problem))
    elif wants_json():
        say(other_error(error.format_message(), "UsageError", 2))
    else:
        error.show()  # type: ignore[attr-defined]


def guarded(command: typer.Typer, name: str) -> None:
    """Run a command; an error gives a message and an exit code, never a traceback."""
    say_warnings(say)
    try:
        with watching() as files:
            code = command(prog_name=name, standalone_mode=False)
        if code == INTERRUPTED:
            say(interrupted(bool(files)))
        sys.exit(code if isinstance(code, int) else 0)
    except IncrowdError as error:
        for text in error_lines(error):
            say(text)
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        _say_usage(error)
        sys.exit(2)
    except typer.Abort:
        say(other_error("aborted", "Abort", 1))
        sys.exit(1)
    except (OSError, MemoryError) as error:
        say(other_error(str(error) or "out of memory", type(error).__name__, 1))
        sys.exit(1)
    except Exception as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):  # during an import
            say(interrupted(bool(files)))
            sys.exit(INTERRUPTED)
        if os.environ.get("INCROWD_DEBUG"):
            raise
        fault = f"this is a bug in incrowd: {type(error).__name__}: {error}"
        say(other_error(fault, "fault", 1))
        say(line("note", "set INCROWD_DEBUG=1 to see the traceback, and please report it"))
        sys.exit(1)
