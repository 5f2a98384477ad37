"""The commands that start from data: `init` drafts a survey, `check` tests answers against one."""

from __future__ import annotations

import dataclasses
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.characters import visible
from incrowd.cli.console import print_json, say, working
from incrowd.cli.options import (
    AsJson,
    EncodingOption,
    FormatOption,
    Output,
    SheetOption,
    SurveyArgument,
    beside,
    check_answers,
    keep,
    load_survey,
    share,
    source,
)
from incrowd.errors import IncrowdError, UsageError, quantity
from incrowd.files import is_stream, write_text

FEW_PEOPLE, FEW_QUESTIONS = 2000, 20  # up to so many, the other kind of noise is looked at
SHOWN = 20  # open decisions on the terminal; the file has all of them


def init(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Answers, or a form of XLSForm, REDCap, LimeSurvey, Qualtrics, or text; "
            "- reads standard input.",
        ),
    ],
    output: Output = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    format: FormatOption = None,
    encoding: EncodingOption = None,
    sheet: SheetOption = None,
    invited: Annotated[
        int | None,
        typer.Option(help="How many people will be invited; the crowd follows from it."),
    ] = None,
    expected: Annotated[
        float | None,
        share("--expected", "The share of them that will probably answer, such as 60%."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Draft a survey from data or a questionnaire.

    Types, options, bins and codes are taken from the data. Whatever is left for you to decide is
    marked in comments, and listed. Without -o the survey is printed.

    \b
    Example:
      incrowd init answers.sav -o survey.toml
      incrowd init form.xlsx -o survey.toml --invited 450 --expected 60%
      incrowd plan survey.toml
    """
    check_answers(data)
    if output:
        keep(output, data)
        if output.exists() and not force and not is_stream(output):
            raise UsageError.of("-o", "cli.exists", path=str(output))
    with working("reading the data"):
        draft = incrowd.draft(source(data, format, encoding, sheet, forms=True))
        draft = _for_people(draft, invited, expected)
    if output:
        write_text(output, draft.toml)
        questions = quantity(len(draft.questions), "questions")
        say(f"wrote {output}: {questions}, a crowd of {draft.crowd:,}")
    with beside(output):
        _show_draft(draft, output, json)


def _for_people(draft: incrowd.Draft, invited: int | None, expected: float | None) -> incrowd.Draft:
    """Return the draft for the people who are invited. Raises UsageError or SurveyError."""
    if invited is None and expected is None:
        return draft
    if expected is None:
        raise UsageError.of("--invited", "cli.needs-option", value=invited, option="--expected")
    if invited is None:
        raise UsageError.of("--expected", "cli.needs-option", value=expected, option="--invited")
    from incrowd.survey.participation import LEAST_CROWD, Participation  # loads what plans need

    if invited < LEAST_CROWD:
        raise UsageError.of("--invited", "cli.too-few", value=invited, least=LEAST_CROWD)
    people = Participation(invited=invited, expected=expected)
    drafted = dataclasses.replace(draft, invited=people)
    incrowd.Survey.of(tomllib.loads(drafted.toml))
    return drafted


def noise_advice(survey: incrowd.Survey) -> list[str]:
    """Return a line about the other kind of noise, if few people answer and it is clearly better.

    It is computed in the large-crowd limit, so that nobody waits for a certificate.
    """
    if survey.crowd > FEW_PEOPLE or len(survey.questions) > FEW_QUESTIONS:
        return []
    from incrowd.planner.plan import limit_plan, other_kind  # slow to load
    from incrowd.presentation.advice import other_noise

    with suppress(IncrowdError):
        return list(other_noise(other_kind(limit_plan(survey))))
    return []


def _show_draft(draft: incrowd.Draft, output: Path | None, json: bool) -> None:
    advice: list[str] = []
    with suppress(IncrowdError):
        advice = noise_advice(incrowd.Survey.of(tomllib.loads(draft.toml)))
    if json:
        facts = {
            "survey": draft.toml,
            "questions": [question.id for question in draft.questions],
            "left_out": {column.id: column.reason for column in draft.left_out},
            "undecided": list(draft.undecided),
            "advice": advice,
        }
        print_json(facts)
        return
    if not output:
        sys.stdout.write(draft.toml)
    for line in draft.undecided[:SHOWN]:
        say(f"to decide: {line}")
    if (more := len(draft.undecided) - SHOWN) > 0:
        say(f"to decide: {more} more, marked in the survey")
    for line in advice:
        say(line)


def check(
    survey: SurveyArgument,
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="[ANSWERS]",
            help="Answers, one row per person; - reads standard input. Without them, only a survey "
            "of interviews is checked.",
        ),
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column that identifies the person.")] = None,
    format: FormatOption = None,
    encoding: EncodingOption = None,
    sheet: SheetOption = None,
    json: AsJson = False,
) -> None:
    """Check whether answers fit a survey. Lists what `randomize` would refuse; no plan is needed.

    Each kind of mistake is listed with the number of rows and the first of them. The list includes
    what `randomize` accepts with a warning: missing answers to optional questions, amounts beyond
    the edges, numbers that look like codes, fewer people than the crowd, and questions with a
    randomizer of their own, whose answers should not be randomized yet.

    Exit code 1 if `randomize` would refuse the answers. For a survey of interviews, lists what
    `read` would refuse, and writes nothing; exit code 1 if it would.

    \b
    Example:
      incrowd check survey.toml answers.csv
    """
    from incrowd.survey.surveys import is_of_interviews  # slow to load

    if is_of_interviews(survey):
        from incrowd.cli.interviewing import check_interviews

        check_interviews(survey, answers, id, format, encoding, sheet, json)
        return
    if answers is None:
        raise UsageError.of("answers", "cli.missing-argument")
    loaded_survey = load_survey(survey)
    check_answers(answers)
    with working("reading the answers"):
        result = incrowd.check(loaded_survey, source(answers, format, encoding, sheet), id=id)
    if json:
        facts = {"rows": result.rows, "people": result.people, "crowd": result.crowd}
        findings = [finding.facts() for finding in result.findings]
        print_json({"accepted": result.accepted, **facts, "findings": findings})
    else:
        _show_check(result)
    if not result.accepted:
        raise typer.Exit(1)


def _show_check(result: incrowd.AnswersCheck) -> None:
    for finding in sorted(result.findings, key=lambda each: not each.refused):
        typer.echo(f"{'refused' if finding.refused else 'note   '}  {visible(str(finding))}")
    rows, people = quantity(result.rows, "rows"), quantity(result.people, "people")
    counts = f"{rows}, {people}, a crowd of {result.crowd:,}"
    verdict = "would accept" if result.accepted else "would refuse"
    typer.echo(f"`incrowd randomize` {verdict} these answers: {counts}")
