"""Terminal output: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.catalog.sentences import Keyword, Placeholder, Sentence, in_words, likely, shown
from incrowd.characters import visible
from incrowd.errors import (
    IncrowdError,
    IncrowdWarning,
    Of,
    Place,
    Problem,
    ProtocolError,
    naming,
    spelled,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from incrowd.collection.machine import MachineFinding
    from incrowd.reports.collection import Collection

    out: Console
    err: Console

# The parameters of the library, and the options of the command line for them.
_ALIKE = (
    "accept_smaller_crowd as_planned at bootstrap by code codes device_key encoding engine error "
    "errors family format id intervals keep lies margin margins master memory merge method "
    "noise_only of_those_who_answered on ordinal outcome people reference scores seed sheet short "
    "simulation_seed stratum threshold trials words"
)
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _ALIKE.split()} | {
    "candidates": "--words",
    "earlier": "--ledger",
    "path": "-o",
    "shares": "--share",
    "unknown": "--solve",
}
# What is True unless another option says otherwise.
_WITHOUT = {"of_those_who_answered": "--of-all-people"}


def as_option(argument: Keyword) -> str:
    """Return an argument of the library as the command line spells it.

    unknown='crowd' is "--solve crowd", as_planned=True is "--as-planned", and sheet='Wave 2' is
    "--sheet 'Wave 2'", as the shell has to read it.
    """
    if argument.value is False and argument.name in _WITHOUT:
        return _WITHOUT[argument.name]
    option = OPTIONS.get(argument.name, argument.name)
    return option if argument.value in (None, True) else f"{option} {_word(argument.value)}"


def _word(value: Any) -> str:
    """Return a value as one word of a command; a placeholder stays as it is."""
    if isinstance(value, Placeholder):
        return value
    text = str(value)
    return subprocess.list2cmdline([text]) if os.name == "nt" else shlex.quote(text)


def as_typed(problem: Problem) -> Problem:
    """Return a problem at the option of a parameter, if it is at one."""
    first, *rest = problem.path
    path = problem.path if rest or not isinstance(first, str) else (OPTIONS.get(first, first),)
    return Problem(path, problem.message)


def problems_as_typed(error: IncrowdError) -> list[Problem]:
    """Return the problems of an error, with options in place of the library's parameters.

    The fields of a ProtocolError are parts and problem types of the protocol, not parameters.
    """
    if isinstance(error, ProtocolError):
        return [*error.problems]
    return [as_typed(problem) for problem in error.problems]


# Errors and warnings: lines for people, or JSON for machines.

LONGEST = 10_000  # characters of an argument in the JSON of an error
INTERRUPTED = 128 + signal.SIGINT
BEYOND_FILES = frozenset(
    {"send", "inviter", "shuffler", "first-mixer", "second-mixer", "collector", "open", "demo"}
    | {"invitations"}
)


def wants_json() -> bool:
    """Return whether --json was given: then each line of standard error is an object."""
    return "--json" in sys.argv[1:]


def line(kind: str, text: str, /, **more: Any) -> str:
    """Format a line of standard error: an error, a warning or a note."""
    if wants_json():
        facts = {kind: {"message": text, **more} if more else text}
        return visible(json.dumps(facts, ensure_ascii=False))
    return visible(text if kind == "note" else f"{kind}: {text}")


def error_lines(error: IncrowdError) -> list[str]:
    """Format an error: a line for each problem; as JSON, one object with all of them."""
    problems = problems_as_typed(error)
    texts = [problem.text(option=as_option) for problem in problems]
    if not wants_json():
        return [line("error", text) for text in texts]
    name, code = type(error).__name__, error.exit_code
    facts = [_facts(problem) for problem in problems]
    return [line("error", "\n".join(texts), kind=name, exit_code=code, problems=facts)]


def _facts(problem: Problem) -> dict[str, Any]:
    """Return a problem as data: where it is, and its code and arguments, beside its text."""
    return {
        "path": [_plain(part) for part in problem.path],
        "field": spelled(problem.path),
        "code": problem.code,
        "arguments": {name: _plain(value) for name, value in problem.arguments.items()},
        "message": in_words(problem.message, option=as_option),
    }


def _plain(value: Any) -> Any:
    """Return a value of a problem as JSON has it; as a shortened text if that is impossible."""
    try:
        text = json.dumps(value, default=_data, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return shown(value)
    return json.loads(text) if len(text) <= LONGEST else shown(value)


def _data(value: Any) -> Any:
    if isinstance(value, Sentence):
        return {"code": value.code, "arguments": dict(value.arguments)}
    if isinstance(value, Of):
        return {"of": value.id}
    if isinstance(value, Place):
        return {value.kind: value.name}
    return as_option(value) if isinstance(value, Keyword) else str(value)


def other_error(text: str, kind: str, code: int, *problems: Problem) -> str:
    """Return the line for an error that is not an IncrowdError."""
    facts = [_facts(problem) for problem in problems]
    more = {"kind": kind, "exit_code": code, "problems": facts} if wants_json() else {}
    return line("error", text, **more)


def interrupted(wrote: bool) -> str:
    """Return the line for a command that was interrupted. wrote: whether it had written a file.

    Commands in BEYOND_FILES also send data or write to a database: for those no claim is made.
    """
    silent = wrote or not BEYOND_FILES.isdisjoint(sys.argv[1:])
    text = "interrupted" if silent else "interrupted; nothing was written"
    return other_error(text, "KeyboardInterrupt", INTERRUPTED) if wants_json() else text


def shows_help(error: Any) -> bool:
    """Return whether an error of the parser is a request for help:
    a command without any argument."""
    return type(error).__name__ == "NoArgsIsHelpError"  # a private class


def usage_problem(error: Any) -> Problem | None:
    """Return the option or argument that the parser rejected, and why; None if it does not say."""
    if option := getattr(error, "option_name", ""):
        if not hasattr(error, "possibilities"):
            return Problem(option, "cli.no-value")
        similar = likely(option, error.possibilities or ())
        return Problem(option, "cli.unknown-option", similar=similar)
    if (param := getattr(error, "param", None)) is None:
        if shows_help(error):
            return None
        return Problem("arguments", "cli.not-expected", found=error.message.removeprefix("Got "))
    name = str(param.get_error_hint()).split(" / ")[-1].strip("'")
    if hasattr(error, "param_type"):
        return Problem(name, "cli.missing-argument")
    reason = error.message.removeprefix("Input ").partition(", unable")[0]
    causes: Any = getattr(error.__cause__, "errors", None)
    if causes is None:
        return Problem(name, "cli.cannot-be-used", reason=reason)
    return Problem(name, "cli.not-accepted", value=causes()[0]["input"], reason=reason)


def say_warnings(say: Any) -> None:
    """Show each warning of the library as a line; show other warnings as usual."""
    show = warnings.showwarning

    def shown(message: Warning | str, *about: Any, **more: Any) -> None:
        if isinstance(message, IncrowdWarning):
            say(line("warning", str(message)))
        else:
            show(message, *about, **more)

    warnings.showwarning = shown


@cache
def _console(name: str) -> Console:
    from rich.console import Console  # slow to load, and --help does not need it

    return Console(stderr=name == "err")


def __getattr__(name: str) -> Console:
    """Return the consoles `out` and `err`, created when first used (PEP 562)."""
    if name not in ("out", "err"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _console(name)


def print_json(data: Any) -> None:
    """Print one JSON document on standard output."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(f"{visible(text)}\n")


def printed_as_json(json: bool, facts: dict[str, Any], seed: int | None) -> bool:
    """Print the facts if JSON was requested, and return whether it was; otherwise warn of a
    simulation.

    Every result from reports goes through here, so that none lacks the warning.
    """
    from incrowd.presentation.receipts import marked, simulation_warning  # slow to load

    if json:
        print_json(marked(facts, seed))
    elif seed is not None:
        text = simulation_warning(seed)
        _console("out").print(text, style="bold yellow", markup=False, highlight=False)
    return json


def say(text: str) -> None:
    """Print a note on standard error."""
    print_line(line("note", text))


def print_line(text: str) -> None:
    """Print a line on standard error, unchanged."""
    _console("err").print(text, markup=False, highlight=False, soft_wrap=True)


def working(text: str) -> Status:
    """Show a spinner on standard error while the context lasts."""
    return _console("err").status(text)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error; yield the function that advances it."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    err = _console("err")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = not err.is_terminal  # in a file, a bar would leave empty lines
    with Progress(
        *columns, TimeRemainingColumn(), console=err, transient=True, disable=hidden
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def counting(path: Path) -> Iterator[Iterator[Collection]]:
    """Yield the parts of a file of reports, with a progress bar; errors name the file."""
    from incrowd.reports.collection import row_groups  # slow to load; services do not need it
    from incrowd.reports.folder import report_files, stream_reports

    with (
        naming(path),
        progress("counting reports", sum(map(row_groups, report_files(path)))) as advance,
    ):
        yield _advancing(stream_reports(path), advance)


def _advancing(parts: Iterator[Collection], advance: Callable[[int], None]) -> Iterator[Collection]:
    for part in parts:
        yield part
        advance(1)


def all_parts(paths: Sequence[Path]) -> list[Collection]:
    """Return the parts of all files and folders of reports."""
    collections: list[Collection] = []
    for path in paths:
        with counting(path) as parts:
            collections += parts
    return collections


def print_findings(findings: Sequence[MachineFinding], json: bool) -> None:
    """Print the checks of a service's machine. Exit code 1 if one fails."""
    import typer  # slow to load, and an interrupt is reported without it

    if json:
        print_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            typer.echo(f"{'ok  ' if finding.good else 'look'}  {finding.subject}: {finding.text}")
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)
