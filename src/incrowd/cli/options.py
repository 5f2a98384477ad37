"""Arguments and options that several commands share, and their checks."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

import incrowd
from incrowd.catalog.sentences import ENGLISH, LANGUAGES, system_words
from incrowd.cli.completion import one_of, questions
from incrowd.cli.console import say, working
from incrowd.encoding.formats.registry import FORMATS, name_one
from incrowd.errors import UsageError
from incrowd.files import is_stream
from incrowd.methods import SIMULTANEOUS_METHODS, SimultaneousMethod

if TYPE_CHECKING:
    from incrowd.encoding.sources import AnswersSource
    from incrowd.views import Result

STANDARD_OUTPUT = 1


def choice(name: str, choices: Sequence[str], help: str) -> Any:
    """Return an option with a few allowed words. Raises UsageError for any other."""

    def chosen(word: str) -> str:
        if word not in choices:
            raise UsageError.of(name, "shared.use-one-of", value=word, choices=choices)
        return word

    completion = one_of(choices)
    return typer.Option(help=help, parser=chosen, metavar="<str>", autocompletion=completion)


_FORMATS = ", ".join(FORMATS)
SurveyArgument = Annotated[Path, typer.Argument(metavar="SURVEY", help="Survey, a TOML file.")]
PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan, from `incrowd plan`.")]
AnswersFile = Annotated[
    Path,
    typer.Argument(metavar="ANSWERS", help="Answers, one row per person; - reads standard input."),
]
FormatOption = Annotated[
    str | None,
    choice(
        "--format", tuple(FORMATS), f"File format, if name and content do not show it: {_FORMATS}."
    ),
]
EncodingOption = Annotated[
    str | None, typer.Option(help="Encoding of text that is not UTF-8, such as cp1252.")
]
SheetOption = Annotated[
    str | None, typer.Option(help="Sheet of an Excel file; the first by default.")
]
ReportsFiles = Annotated[
    list[Path],
    typer.Argument(metavar="REPORTS", help="Reports, from `incrowd randomize` or `incrowd tally`."),
]
TablesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        help="Questions of a table, such as a,b; repeatable.",
        autocompletion=questions,
    ),
]
Margins = Annotated[
    Path | None,
    typer.Option(help="Weight to known margins: .toml or .csv file with the share of each answer."),
]
OfThoseWhoAnswered = Annotated[
    bool,
    typer.Option(
        "--of-those-who-answered/--of-all-people",
        help='Leave "no answer" out: figures of those who answered, or of all people.',
    ),
]
MergeAnswers = Annotated[
    list[str] | None,
    typer.Option(
        "--merge",
        help='Answers to merge, as "QUESTION: a + b" or "QUESTION: NAME = a + b"; repeatable.',
    ),
]
NoiseOnly = Annotated[
    bool,
    typer.Option("--noise-only", help="Standard errors from the noise only, without sampling."),
]
AcceptSmaller = Annotated[
    bool,
    typer.Option(
        "--accept-smaller-crowd",
        help="Accept fewer people than planned; recompute the guarantee.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Explain everything: the guarantee in full, all notes."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Simultaneous = Annotated[
    SimultaneousMethod | None,
    choice(
        "--simultaneous",
        SIMULTANEOUS_METHODS,
        "Simultaneous intervals for all cells: max-t or bonferroni.",
    ),
]
Language = Annotated[
    str | None,
    choice("--language", LANGUAGES, "Language of pages, documents and workbooks: en or de."),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]
Outputs = Annotated[
    list[Path] | None, typer.Option("-o", "--output", help="File to write; repeatable.")
]


def share(name: str, help: str) -> Any:
    """Return an option with a share of people:
    "2%" or "0.02". Raises UsageError for anything else."""

    def parsed(text: str) -> float:
        return proportion(name, text)

    return typer.Option(help=help, parser=parsed, metavar="<share>")


def proportion(name: str, text: str) -> float:
    """Return a share of people that an option has. Raises UsageError for anything else."""
    number, percent, rest = text.partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = 0.0
    if rest.strip() or not 0 < value < 1:
        raise UsageError.of(name, "cli.share-of-people", value=text)
    return value


def proportions(name: str, text: str | None) -> list[float] | None:
    """Return the shares of people that an option has, with commas between them."""
    return None if text is None else [proportion(name, part) for part in text.split(",")]


def numbers(name: str, text: str | None) -> list[float] | None:
    """Return the numbers that an option has, with commas between them. Raises UsageError for
    anything else."""
    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError.of(name, "cli.no-numbers", value=text) from None


def keep(output: Path, *inputs: Path) -> None:
    """Raise UsageError if the output would overwrite an input."""
    for path in inputs:
        if output.resolve() == path.resolve():
            raise UsageError.of("-o", "cli.output-over-input", path=str(output))


def check_outputs(outputs: Sequence[Path], *inputs: Path) -> None:
    """Raise UsageError, before any work is done, for an output that cannot be written."""
    for output in outputs:
        from incrowd.presentation.write import check_ending  # slow to load

        check_ending(output)
        keep(output, *inputs)


def saved(
    result: Result, outputs: Sequence[Path], plan: incrowd.Plan, language: str | None = None
) -> None:
    """Write a result to each of the named files. language: of the texts for readers; None for
    English, with the questions in the language of the survey."""
    from incrowd.survey.surveys import worded  # slow to load, as all below

    shown = result if language is None else result.worded(worded(plan.survey, language))
    for output in outputs:
        from incrowd.presentation.write import save  # slow to load

        wrote = save(shown, output, language or ENGLISH)
        say(f"wrote {output}" if wrote else f"did not write {output}: there are no figures")


def beside(*outputs: Path | None) -> AbstractContextManager[object]:
    """Redirect shown results to standard error if an output file is standard output."""
    shared = any(path and _is_standard_output(path) and is_stream(path) for path in outputs)
    return redirect_stdout(sys.stderr) if shared else nullcontext()


def _is_standard_output(path: Path) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(STANDARD_OUTPUT))
    except OSError:  # standard output is closed
        return False


def load_survey(path: Path) -> incrowd.Survey:
    """Load a survey. Raises SurveyError, and UsageError for an example that is not here."""
    check_example("survey", path)
    return incrowd.Survey.load(path)


def check_example(field: str, path: Path) -> None:
    """Raise UsageError for a file that does not exist, but is one of an example."""
    from incrowd.drafts.examples import example_with

    if not path.exists() and (example := example_with(path.name)):
        code, name = "cli.example-missing", example.name
        raise UsageError.of(field, code, path=str(path), name=name)


def check_answers(path: Path) -> None:
    """Raise UsageError, before any work is done, if the file does not exist."""
    if is_standard_input(path):
        return
    check_example("answers", path)
    if path.is_dir() or not path.exists():
        code = "cli.answers-folder" if path.is_dir() else "cli.answers-missing"
        raise UsageError.of("answers", code, path=str(path), formats=name_one())


def is_standard_input(path: Path) -> bool:
    """Return whether an argument means standard input."""
    return str(path) == "-"


def opened(path: Path) -> Path | IO[bytes]:
    """Return the file of an argument, or standard input."""
    return sys.stdin.buffer if is_standard_input(path) else path


def source(
    path: Path,
    format: str | None,
    encoding: str | None,
    sheet: str | None,
    *,
    forms: bool = False,
) -> AnswersSource:
    """Return the answers named by an argument and its options. Raises as `source_of`."""
    from incrowd.encoding.sources import source_of  # slow to load, and `plan` reads no answers

    return source_of(opened(path), format, encoding, sheet, forms=forms)


def check_reports(*paths: Path) -> None:
    """Raise UsageError, before any work is done, for a path that does not exist."""
    for path in paths:
        if not path.exists():
            raise UsageError.of("reports", "cli.no-reports", path=str(path))


def make_folder(folder: Path, field: str = "-o", mode: int = 0o777) -> None:
    """Create a folder before the work starts. field: the argument that names it.

    Raises UsageError if it is a file or cannot be created.
    """
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError.of(field, "cli.folder-is-file", path=str(folder)) from None
    except OSError as error:
        reason = system_words(error)
        raise UsageError.of(field, "cli.no-folder", path=str(folder), reason=reason) from None


def certified(path: Path, merge: Sequence[str] | None = None) -> incrowd.Plan:
    """Load a plan and check its certificate. merge: answers to merge, as --merge names them.

    Raises PlanError if the certificate fails, UsageError for answers that cannot be merged.
    """
    from incrowd.plans.plan import with_merged
    from incrowd.survey.merging import parsed_merges

    plan = incrowd.Plan.load(path)
    check_certificate(plan, path)
    return with_merged(plan, parsed_merges(plan.survey.questions, merge or []))


def check_certificate(plan: incrowd.Plan, path: Path) -> None:
    """Check the certificate of a plan. Raises PlanError if it fails."""
    from incrowd import verification  # slow to load

    with working("checking the plan's certificate"):
        verification.check_certificate(plan, str(path))


EngineOption = Annotated[
    str,
    choice(
        "--engine", ("here", "spark"), "Where to compute: here, or spark (needs the extra `spark`)."
    ),
]
Master = Annotated[str, typer.Option(help="Spark master; by default all cores of this machine.")]
