"""The command that looks at answers before anything is planned: `check`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import incrowd
from incrowd.characters import visible
from incrowd.cli.console import print_json, working
from incrowd.cli.options import (
    AnswersFile,
    AsJson,
    Encoding,
    Format,
    Sheet,
    SurveyFile,
    check_answers,
    source,
)


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
        _show(result)
    if not result.accepted:
        raise typer.Exit(1)


def _show(result: incrowd.AnswersCheck) -> None:
    for finding in sorted(result.findings, key=lambda each: not each.refused):
        typer.echo(f"{'refused' if finding.refused else 'note   '}  {visible(str(finding))}")
    counted = f"{result.rows:,} rows, {result.people:,} people, a crowd of {result.crowd:,}"
    verdict = "would accept" if result.accepted else "would refuse"
    typer.echo(f"`incrowd randomize` {verdict} these answers: {counted}")
