"""What goes to the terminal: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.characters import visible
from incrowd.cli.naming import naming
from incrowd.errors import MISSING, IncrowdError, IncrowdWarning, InWords, Problem

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from incrowd.reports.collection import Collection

    out: Console
    err: Console

# What the library calls a parameter, the command line calls an option.


_ALIKE = (
    "accept_smaller_crowd as_planned bootstrap code codes device_key encoding engine error family "
    "format id keep margin margins master memory merge method of_those_who_answered on outcome "
    "people reference scores seed sheet short simulation_seed stratum trials words"
)
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _ALIKE.split()} | {
    "candidates": "--words",
    "earlier": "--ledger",
    "path": "-o",
    "shares": "--share",
    "unknown": "--solve",
}
# An argument as it is written in Python: a flag is True, text stands in quotation marks.
_ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(?:True|'([\w-]+)'|(\w+))")


def as_typed(problem: Problem) -> Problem:
    """A problem of the library in the words of the command line."""
    field = OPTIONS.get(problem.field, problem.field)
    return Problem(field, problem.value, _ARGUMENT.sub(_option, problem.allowed))


def _option(found: re.Match[str]) -> str:
    """unknown='crowd' is "--solve crowd", as_planned=True is "--as-planned"."""
    name, text, word = found.groups()
    return " ".join(filter(None, (OPTIONS[name], text, word)))


# How errors and warnings are shown: lines for people, or JSON for machines.


INTERRUPTED = 128 + signal.SIGINT
BEYOND_FILES = frozenset({"send", "shuffler", "collector", "open", "demo", "invitations"})


def wants_json() -> bool:
    """Whether the command was asked for JSON: then standard error has an object in each line."""
    return "--json" in sys.argv[1:]


def line(kind: str, text: str, /, **more: Any) -> str:
    """A line of standard error: an error, a warning or a note."""
    if wants_json():
        facts = {kind: {"message": text, **more} if more else text}
        return visible(json.dumps(facts, ensure_ascii=False))
    return visible(text if kind == "note" else f"{kind}: {text}")


def error_lines(error: IncrowdError) -> list[str]:
    """What is said of an error: a line for each problem; as JSON one object with all of them."""
    problems = [as_typed(problem) for problem in error.problems]
    if not wants_json():
        return [line("error", str(problem)) for problem in problems]
    name, code = type(error).__name__, error.exit_code
    facts = [_facts(problem) for problem in problems]
    text = "\n".join(map(str, problems))
    return [line("error", text, kind=name, exit_code=code, problems=facts)]


def _facts(problem: Problem) -> dict[str, str]:
    return {"field": problem.field, "found": problem.shown, "allowed": problem.allowed}


def other_error(text: str, kind: str, code: int, *problems: Problem) -> str:
    """The line for an error that is none of ours."""
    facts = [_facts(problem) for problem in problems]
    more = {"kind": kind, "exit_code": code, "problems": facts} if wants_json() else {}
    return line("error", text, **more)


def interrupted(wrote: bool) -> str:
    """The line for a command that was interrupted. wrote: whether it had written a file.

    What was sent, or kept in a database, no file tells: of such commands nothing is claimed.
    """
    silent = wrote or not BEYOND_FILES.isdisjoint(sys.argv[1:])
    text = "interrupted" if silent else "interrupted; nothing was written"
    return other_error(text, "KeyboardInterrupt", INTERRUPTED) if wants_json() else text


def usage_problem(error: Any) -> Problem | None:
    """What is wrong with an option or argument by the parser of the command line, if it says."""
    if option := getattr(error, "option_name", ""):
        known = sorted(getattr(error, "possibilities", None) or ())
        meant = f"did you mean {' or '.join(known)}? " if known else ""
        unknown = hasattr(error, "possibilities")
        found = InWords("is no option") if unknown else MISSING
        return Problem(
            option, found, f"{meant}use one that --help lists" if unknown else "give a value"
        )
    if (param := getattr(error, "param", None)) is None:
        return None
    name = str(param.get_error_hint()).split(" / ")[-1].strip("'")
    if hasattr(error, "param_type"):
        return Problem(name, MISSING, "name it; --help says what it is")
    reasons: Any = getattr(error.__cause__, "errors", None)
    found = reasons()[0]["input"] if reasons else InWords("cannot be used")
    return Problem(name, found, error.message.removeprefix("Input ").partition(", unable")[0])


def say_warnings(say: Any) -> None:
    """What the library warns of is said in a line of its own; other warnings as always."""
    show = warnings.showwarning

    def shown(message: Warning | str, *about: Any, **more: Any) -> None:
        if isinstance(message, IncrowdWarning):
            say(line("warning", str(message)))
        else:
            show(message, *about, **more)

    warnings.showwarning = shown


@cache
def _console(name: str) -> Console:
    from rich.console import Console  # no help needs it

    return Console(stderr=name == "err")


def __getattr__(name: str) -> Console:
    """`out` and `err`, what prints to the two outputs, made when first used (PEP 562)."""
    if name not in ("out", "err"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _console(name)


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(f"{visible(text)}\n")


def printed_as_json(json: bool, facts: dict[str, Any], seed: int | None) -> bool:
    """Whether the facts were printed as JSON; else, of a simulation, the warning above the result.

    Every result that comes from reports goes through here, so that all of them say so.
    """
    from incrowd.presentation.receipts import marked, simulation_warning  # slow to load

    if json:
        print_json(marked(facts, seed))
    elif seed is not None:
        text = simulation_warning(seed)
        _console("out").print(text, style="bold yellow", markup=False, highlight=False)
    return json


def say(text: str) -> None:
    """A line about what is being done, on standard error."""
    print_line(line("note", text))


def print_line(text: str) -> None:
    """A line on standard error as it is."""
    _console("err").print(text, markup=False, highlight=False, soft_wrap=True)


def working(text: str) -> Status:
    """A sign of life on standard error for work of unknown length; a context manager."""
    return _console("err").status(text)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error; yields the function that advances it."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    err = _console("err")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = not err.is_terminal  # elsewhere a bar would leave empty lines
    with Progress(
        *columns, TimeRemainingColumn(), console=err, transient=True, disable=hidden
    ) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def counting(path: Path) -> Iterator[Iterator[Collection]]:
    """The parts of reports, with a progress bar over their number; errors in them name the file."""
    from incrowd.reports.collection import row_groups  # slow to load, and no service reads reports
    from incrowd.reports.folder import report_files, stream_reports

    with (
        naming(path),
        progress("counting reports", sum(map(row_groups, report_files(path)))) as advance,
    ):
        yield _advancing(stream_reports(path), advance)


def all_parts(paths: Sequence[Path]) -> list[Collection]:
    """The parts of all reports together, counted one file or folder after the other."""
    collections: list[Collection] = []
    for path in paths:
        with counting(path) as parts:
            collections += parts
    return collections


def _advancing(parts: Iterator[Collection], advance: Callable[[int], None]) -> Iterator[Collection]:
    for part in parts:
        yield part
        advance(1)
