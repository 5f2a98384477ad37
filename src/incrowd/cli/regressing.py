"""The command `regress`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

import incrowd
from incrowd.cli import show
from incrowd.cli.completion import question, question_is, questions
from incrowd.cli.console import counting, out, printed_as_json, say
from incrowd.cli.naming import naming
from incrowd.cli.options import (
    AcceptSmaller,
    AsJson,
    NoiseOnly,
    Output,
    PlanFile,
    beside,
    certified,
    check_reports,
    choice,
    keep,
)
from incrowd.collection.collector.receipt import receipts_of
from incrowd.errors import MISSING, UsageError
from incrowd.estimation.regression.formula import BETWEEN, FAMILIES, IS
from incrowd.estimation.regression.model import Family
from incrowd.estimation.regression.results import Method
from incrowd.presentation import regressions
from incrowd.presentation.guarantees import guarantee_sentence
from incrowd.presentation.terminal_tables import LIGHT, table
from incrowd.survey.questions import TABLE_SEPARATOR
from incrowd.workflow.regress import METHODS

Outcome = Annotated[
    str,
    typer.Option(
        help="What is explained: a question, or QUESTION=ANSWER against all others.",
        autocompletion=question,
    ),
]
On = Annotated[
    list[str],
    typer.Option(
        help="Predictors, as a,b,c; a=yes for one answer; a:b for an interaction.",
        autocompletion=questions,
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        help="Answer that others are compared with, as QUESTION=ANSWER; may be repeated.",
        autocompletion=question_is,
    ),
]

Chosen = Annotated[
    Family | None,
    choice("--family", FAMILIES, "logistic or linear; by default what the outcome asks for."),
]
Scores = Annotated[
    str | None,
    typer.Option(help="Value of each answer to the outcome of a linear model, as 0,1,2."),
]
By = Annotated[
    Method | None,
    choice("--method", METHODS, "table, pairs or likelihood; by default what is possible."),
]
Reports = Annotated[
    list[Path] | None, typer.Argument(metavar="REPORTS", help="Reports; none with --forecast.")
]
Forecast = Annotated[
    bool, typer.Option("--forecast", help="What errors to expect; needs no reports.")
]
Shares = Annotated[
    list[str] | None,
    typer.Option(
        "--share",
        help="With --forecast: shares of a question's answers, as smoker=0.8,0.2; may be repeated.",
        autocompletion=question_is,
    ),
]


def regress(
    plan: PlanFile,
    reports: Reports = None,
    outcome: Outcome = ...,  # type: ignore[assignment]
    on: On = ...,  # type: ignore[assignment]
    reference: References = None,
    family: Chosen = None,
    scores: Scores = None,
    method: By = None,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    forecast: Forecast = False,
    share: Shares = None,
    output: Output = None,
    json: AsJson = False,
) -> None:
    """Explain one answer by others: logistic and linear regression.

    The coefficients have no bias from the noise.

    \b
    Example:
      incrowd regress plan.json reports.parquet --outcome smoker --on sex,age
      incrowd regress plan.json --forecast --outcome smoker --on sex,age

    The ending of -o says what is written: .html (with a forest plot), .csv or .json.
    """
    files = reports or []
    _check_files(plan, files, forecast, output)
    made = certified(plan)
    asked: dict[str, Any] = {
        "outcome": outcome,
        "on": _predictors(made, on),
        "reference": _of_questions(made, "--reference", reference or []),
        "family": family,
        "scores": None if scores is None else _numbers("--scores", scores),
        "noise_only": noise_only,
    }
    if forecast:
        asked["shares"] = _shares(made, share or [])
        found = incrowd.forecast_regression(made, **asked)
    else:
        asked |= {"method": method, "accept_smaller_crowd": accept_smaller_crowd}
        with naming(*files):
            found = incrowd.regress(made, _loaded(files), **asked)
    _give(found, output, json)
    show.receipts(receipts_of(made, files))
    if not found.estimable:
        raise typer.Exit(1)


def _give(found: incrowd.Regression, output: Path | None, json: bool) -> None:
    """Write what was found, if wanted, and show it."""
    if output:
        regressions.save_regression(found, output)
        say(f"wrote {output}")
    with beside(output):
        _show(found, json)


def _check_files(plan: Path, reports: list[Path], forecast: bool, output: Path | None) -> None:
    """Raises UsageError before any work is done."""
    if output:
        regressions.check_regression_ending(output)
        keep(output, plan, *reports)
    check_reports(*reports)
    if bool(reports) == forecast:
        allowed = "leave them out, or --forecast" if reports else "name them, or use --forecast"
        raise UsageError.of("REPORTS", str(reports[0]) if reports else MISSING, allowed)


def _loaded(paths: list[Path]) -> list[incrowd.Collection]:
    found = []
    for path in paths:
        with counting(path) as parts:
            found += list(parts)
    return found


def _predictors(made: incrowd.Plan, on: list[str]) -> list[str]:
    """What --on names: a comma separates, unless it is part of an answer."""
    ids = {question.id for question in made.survey.questions}
    named = ids | {f"{q.id}{IS}{answer}" for q in made.survey.questions for answer in q.answers}
    parts = ([text] if text in named else text.split(TABLE_SEPARATOR) for text in on)
    found = [part.strip() for part in chain.from_iterable(parts)]
    if found and all(BETWEEN in part and part not in named for part in found):
        beside = ",".join([*found[0].split(BETWEEN), found[0]])
        allowed = f"name what interacts beside it, as in {beside}"
        raise UsageError.of("--on", ",".join(on), allowed)
    return found


def _of_questions(made: incrowd.Plan, option: str, texts: list[str]) -> dict[str, str]:
    """QUESTION=TEXT by question, which may have that sign in its name."""
    found = {}
    for text in texts:
        ids = [q.id for q in made.survey.questions if text.startswith(f"{q.id}{IS}")]
        if not ids:
            known = ", ".join(question.id for question in made.survey.questions)
            allowed = f"should begin with QUESTION=; the questions are {known}"
            raise UsageError.of(option, text, allowed)
        id = max(ids, key=len)
        found[id] = text[len(id) + 1 :]
    return found


def _shares(made: incrowd.Plan, texts: list[str]) -> dict[str, list[float]]:
    said = _of_questions(made, "--share", texts)
    return {id: _numbers("--share", values) for id, values in said.items()}


def _numbers(option: str, text: str) -> list[float]:
    """0,1,2 into numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError.of(option, text, "should be numbers, as in 0,1,2") from None


def _show(found: incrowd.Regression, json: bool) -> None:
    """A table, or JSON."""
    if printed_as_json(json, regressions.facts(found), found.seed):
        return
    say(guarantee_sentence(found.guarantee))
    if found.estimable:
        look = {"padding": (0, 2, 0, 0), **LIGHT}
        shown = table(regressions.title(found), *regressions.headings(found), **look)
        for row in regressions.rows(found):
            shown.add_row(*row)
        out.print(shown)
    for note in regressions.notes(found):
        say(note)
