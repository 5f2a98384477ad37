"""The command that writes a first survey: `init`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.characters import visible
from incrowd.cli.console import print_json, say, working
from incrowd.cli.options import (
    AnswersFile,
    AsJson,
    Encoding,
    Format,
    Output,
    Sheet,
    SurveyFile,
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
        _show_draft(made, output, json)


def _check_output(output: Path, data: Path, force: bool) -> None:
    keep(output, data)
    if output.exists() and not force and not is_stream(output):
        allowed = "it is there already; name another file, or add --force"
        raise UsageError.of("-o", str(output), allowed)


def _show_draft(made: incrowd.Draft, output: Path | None, json: bool) -> None:
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


# The command that looks at answers before anything is planned: `check`.


def check(
    survey: SurveyFile,
    answers: AnswersFile,
    id: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None,
    format: Format = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    json: AsJson = False,
) -> None:
    """Find what `randomize` would refuse in a file of answers. All of it at once, without a plan.

    Each kind of mistake is listed with its number of rows and the first of them. What `randomize`
    accepts with a warning is listed too: missing answers to optional questions, amounts beyond the
    edges, numbers that look like codes, fewer people than the crowd.

    Exit code 1 if `randomize` would refuse the answers.

    \b
    Example:
      incrowd check survey.toml answers.csv
    """
    read = incrowd.Survey.load(survey)
    check_answers(answers)
    with working("reading the answers"):
        result = incrowd.check(read, source(answers, format, encoding, sheet), id=id)
    if json:
        facts = {"rows": result.rows, "people": result.people, "crowd": result.crowd}
        findings = [asdict(finding) for finding in result.findings]
        print_json({"accepted": result.accepted, **facts, "findings": findings})
    else:
        _show_check(result)
    if not result.accepted:
        raise typer.Exit(1)


def _show_check(result: incrowd.AnswersCheck) -> None:
    for finding in sorted(result.findings, key=lambda each: not each.refused):
        typer.echo(f"{'refused' if finding.refused else 'note   '}  {visible(str(finding))}")
    counted = f"{result.rows:,} rows, {result.people:,} people, a crowd of {result.crowd:,}"
    verdict = "would accept" if result.accepted else "would refuse"
    typer.echo(f"`incrowd randomize` {verdict} these answers: {counted}")
