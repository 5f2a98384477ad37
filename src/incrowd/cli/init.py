"""The command that writes a first survey: `init`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import print_json, say, working
from incrowd.cli.options import (
    AsJson,
    Encoding,
    Format,
    Output,
    Sheet,
    beside,
    check_answers,
    keep,
    source,
)
from incrowd.errors import UsageError
from incrowd.files import is_stream, write_text

SHOWN = 20  # of what is not decided; all of it stands in the file


def init(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Answers, an XLSForm, a REDCap data dictionary; - reads standard input.",
        ),
    ],
    output: Output = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a survey that is there.")] = False,
    format: Format = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    json: AsJson = False,
) -> None:
    """Write a survey from data. Or from a questionnaire that you have.

    Types, options, bins and codes are what the data say; what they do not say stands in comments,
    and in a list. Without -o it prints the survey.

    \b
    Example:
      incrowd init answers.sav -o survey.toml
      incrowd plan survey.toml
    """
    check_answers(data)
    if output:
        _check_output(output, data, force)
    with working("looking at the data"):
        made = incrowd.draft(source(data, format, encoding, sheet))
    if output:
        write_text(output, made.toml)
        say(f"wrote {output}: {len(made.asked)} questions, a crowd of {made.crowd:,}")
    with beside(output):
        _show(made, output, json)


def _check_output(output: Path, data: Path, force: bool) -> None:
    keep(output, data)
    if output.exists() and not force and not is_stream(output):
        allowed = "it is there already; name another file, or add --force"
        raise UsageError.of("-o", str(output), allowed)


def _show(made: incrowd.Draft, output: Path | None, json: bool) -> None:
    if json:
        facts = {
            "survey": made.toml,
            "questions": [asked.id for asked in made.asked],
            "left_out": {gone.id: gone.reason for gone in made.left_out},
            "undecided": list(made.undecided),
        }
        print_json(facts)
        return
    if not output:
        sys.stdout.write(made.toml)
    for line in made.undecided[:SHOWN]:
        say(f"look at: {line}")
    if (more := len(made.undecided) - SHOWN) > 0:
        say(f"look at: {more} more, marked in the survey")
