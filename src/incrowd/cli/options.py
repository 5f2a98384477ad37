"""Arguments and options that several commands have, and the checks that belong to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

import incrowd
from incrowd.cli.completion import one_of, questions
from incrowd.cli.console import working
from incrowd.cli.words import SIMULTANEOUS_METHODS, SimultaneousMethod
from incrowd.encoding.formats.registry import FORMATS, name_one
from incrowd.errors import PlanError, UsageError
from incrowd.files import is_stream

if TYPE_CHECKING:
    from incrowd.encoding.sources import Source

STANDARD_OUTPUT = 1


def choice(name: str, choices: Sequence[str], help: str) -> Any:
    """An option that is one of a few words. Raises UsageError for another."""

    def chosen(word: str) -> str:
        if word not in choices:
            raise UsageError.of(name, word, f"use one of {', '.join(choices)}")
        return word

    completion = one_of(choices)
    return typer.Option(help=help, parser=chosen, metavar="<str>", autocompletion=completion)


_FORMATS = ", ".join(FORMATS)
SurveyFile = Annotated[Path, typer.Argument(metavar="SURVEY", help="Survey, a TOML file.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan, made by `incrowd plan`.")]
AnswersFile = Annotated[
    Path,
    typer.Argument(metavar="ANSWERS", help="Answers, one row a person; - reads standard input."),
]
Format = Annotated[
    str | None,
    choice(
        "--format", tuple(FORMATS), f"What it is, where name and content do not say: {_FORMATS}."
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of text that is not UTF-8, such as latin-1.")
]
Sheet = Annotated[
    str | None, typer.Option(help="Sheet of an Excel file; the first, if none is named.")
]
ReportsFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS", help="Reports: what `incrowd randomize` or `incrowd tally` wrote."
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help="Questions of a table, as a,b; may be repeated.",
        autocompletion=questions,
    ),
]
Margins = Annotated[
    Path | None,
    typer.Option(help="Weight to known margins: a .toml or .csv file with each answer's share."),
]
OfThoseWhoAnswered = Annotated[
    bool,
    typer.Option(
        "--of-those-who-answered", help='Percent of those who answered: "no answer" is left out.'
    ),
]
MergeAnswers = Annotated[
    list[str] | None,
    typer.Option(
        "--merge",
        help='Answers to read as one, as "QUESTION: a + b" or "QUESTION: NAME = a + b"; may be '
        "repeated.",
    ),
]
NoiseOnly = Annotated[
    bool, typer.Option("--noise-only", help="Errors of the noise alone, the people being fixed.")
]
AcceptSmaller = Annotated[
    bool,
    typer.Option(
        "--accept-smaller-crowd",
        help="Go on with fewer people than planned; recompute the guarantee.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Simultaneous = Annotated[
    SimultaneousMethod | None,
    choice(
        "--simultaneous",
        SIMULTANEOUS_METHODS,
        "Intervals for all cells at once: max-t or bonferroni.",
    ),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]


def share(name: str, help: str) -> Any:
    """An option that is a share of people: "2%" or "0.02". Raises UsageError for another."""

    def proportion(text: str) -> float:
        number, percent, rest = text.partition("%")
        try:
            value = float(number) / (100 if percent else 1)
        except ValueError:
            value = 0.0
        if rest.strip() or not 0 < value < 1:
            raise UsageError.of(name, text, "should be a share of people, as 2% or 0.02")
        return value

    return typer.Option(help=help, parser=proportion, metavar="<share>")


def keep(output: Path, *inputs: Path) -> None:
    """Raises UsageError if the output would overwrite an input."""
    for path in inputs:
        if output.resolve() == path.resolve():
            raise UsageError.of(
                "-o", str(output), "it is an input of this command; name another file"
            )


def beside(output: Path | None) -> AbstractContextManager[object]:
    """Where results are shown: on standard error, if the output goes to standard output."""
    shared = output is not None and _is_standard_output(output) and is_stream(output)
    return redirect_stdout(sys.stderr) if shared else nullcontext()


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(STANDARD_OUTPUT))
    except OSError:  # it is closed
        return False


def check_answers(path: Path) -> None:
    """Raises UsageError before any work is done if there is no such file."""
    if is_standard_input(path):
        return
    if path.is_dir() or not path.exists():
        reason = "it is a folder" if path.is_dir() else "it does not exist"
        raise UsageError.of("answers", str(path), f"{reason}; {name_one()}")


def is_standard_input(path: Path) -> bool:
    """Whether an argument stands for what is piped into the command."""
    return str(path) == "-"


def opened(path: Path) -> Path | IO[bytes]:
    """What an argument stands for."""
    return sys.stdin.buffer if is_standard_input(path) else path


def source(path: Path, format: str | None, encoding: str | None, sheet: str | None) -> Source:
    """The answers that an argument and its options stand for. Raises as `source_of`."""
    from incrowd.encoding.sources import source_of  # slow to load, and a plan reads no answers

    return source_of(opened(path), format, encoding, sheet)


def check_reports(*paths: Path) -> None:
    """Raises UsageError before any work is done for a file or folder that is not there."""
    for path in paths:
        if not path.exists():
            allowed = "it does not exist; name what `incrowd randomize` or `incrowd tally` wrote"
            raise UsageError.of("reports", str(path), allowed)


def make_folder(folder: Path, field: str = "-o", mode: int = 0o777) -> None:
    """Make the folder before the work starts. field: what names it, in a message.

    Raises UsageError if it is none or cannot be made.
    """
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError.of(field, str(folder), "it is a file; name a folder") from None
    except OSError as error:
        allowed = f"it cannot be made: {error.strerror}; name another"
        raise UsageError.of(field, str(folder), allowed) from None


def certified(path: Path, merge: Sequence[str] | None = None) -> incrowd.Plan:
    """A plan that keeps what it says. merge: answers that are read as one, as --merge names them.

    Raises PlanError: a digest alone can be made by anybody; UsageError for what cannot be merged.
    """
    from incrowd.plans.plan import with_merged
    from incrowd.survey.merging import parsed_merges

    made = incrowd.Plan.load(path)
    check_certificate(made, path)
    return with_merged(made, parsed_merges(made.survey.questions, merge or []))


def check_certificate(made: incrowd.Plan, path: Path) -> None:
    """Raises PlanError if the plan of that file does not keep what it says."""
    with working("checking the plan's certificate"):
        if not incrowd.verify(made).plan_holds:
            allowed = "it does not keep its promise: its noise is too small; make a new plan"
            raise PlanError.of("plan", str(path), allowed)


Engine = Annotated[
    str,
    choice("--engine", ("here", "spark"), "What does the work: here, or spark (needs the extra)."),
]
Master = Annotated[
    str, typer.Option(help="Where Spark runs: by default on all cores of this machine.")
]
