"""The command `regress`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import incrowd
from incrowd.cli.completion import question, question_is, questions_joined
from incrowd.cli.console import all_parts, working
from incrowd.cli.options import (
    AcceptSmaller,
    AsJson,
    Language,
    Margins,
    MergeAnswers,
    NoiseOnly,
    Outputs,
    PlanArgument,
    Verbose,
    beside,
    certified,
    check_outputs,
    check_reports,
    choice,
    saved,
)
from incrowd.cli.words import BETWEEN, TABLE_SEPARATOR
from incrowd.errors import UsageError, naming
from incrowd.methods import (
    FAMILIES,
    PENALTIES,
    REGRESSION_METHODS,
    Family,
    Penalty,
    RegressionMethod,
)

if TYPE_CHECKING:
    from incrowd.survey import AnyQuestion

OutcomeOption = Annotated[
    str | None,
    typer.Option(
        help="Outcome: a question, or QUESTION=ANSWER; default: the survey's.",
        autocompletion=question,
    ),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        help="Predictors, such as a,b,c; a=yes for one answer; score(a) for one slope over all "
        "answers; a:b for an interaction.",
        autocompletion=questions_joined(BETWEEN),
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        help="Reference answer of a predictor, as QUESTION=ANSWER; repeatable.",
        autocompletion=question_is,
    ),
]

FamilyOption = Annotated[
    Family | None,
    choice("--family", FAMILIES, "logistic or linear; by default chosen by the outcome."),
]
ScoresOption = Annotated[
    str | None,
    typer.Option(help="Value of each answer to the outcome of a linear model, such as 0,1,2."),
]
PredictorScores = Annotated[
    list[str] | None,
    typer.Option(
        help="Scores of the answers to a predictor score(QUESTION), as QUESTION=1,2,5; repeatable.",
        autocompletion=question_is,
    ),
]
Penalized = Annotated[
    Penalty | None,
    choice("--penalty", PENALTIES, "firth: penalized likelihood, for separated groups."),
]
By = Annotated[
    RegressionMethod | None,
    choice(
        "--method", REGRESSION_METHODS, "table, pairs or likelihood; by default chosen by the plan."
    ),
]
ReportsArgument = Annotated[
    list[Path] | None, typer.Argument(metavar="REPORTS", help="Reports; leave out with --forecast.")
]
Forecast = Annotated[
    bool, typer.Option("--forecast", help="Forecast the standard errors; needs no reports.")
]
SharesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--share",
        help="With --forecast: shares of the answers, as smoker=0.8,0.2; repeatable.",
        autocompletion=question_is,
    ),
]


def regress(
    plan: PlanArgument,
    reports: ReportsArgument = None,
    outcome: OutcomeOption = None,
    on: On = None,
    reference: References = None,
    family: FamilyOption = None,
    scores: ScoresOption = None,
    predictor_scores: PredictorScores = None,
    merge: MergeAnswers = None,
    penalty: Penalized = None,
    method: By = None,
    margins: Margins = None,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    forecast: Forecast = False,
    share: SharesOption = None,
    output: Outputs = None,
    language: Language = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Fit a logistic or linear regression.

    The noise does not bias the coefficients. The default is the survey's regression.

    \b
    Example:
      incrowd regress plan.json reports.parquet --outcome smoker --on sex,age --margins known.toml
      incrowd regress plan.json --forecast --outcome smoker --on sex,age

    The ending of -o chooses the format: .html (with a forest plot), .csv, .json, .parquet, .xlsx,
    .docx, or .R (with the covariance).
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in

    outputs = output or []
    _check_files(plan, files := reports or [], forecast, outputs, margins, share or [])
    checked_plan = certified(plan)
    arguments = _read(checked_plan, on, reference, scores, predictor_scores, merge)
    arguments |= {"outcome": outcome, "family": family, "penalty": penalty}
    arguments |= {"method": method, "noise_only": noise_only}
    received = receipts_of(checked_plan, files)
    if forecast:
        arguments["shares"] = numbers_of_questions(
            checked_plan.survey.questions, "--share", share or []
        )
        with working("forecasting the errors"):
            regression = incrowd.forecast_regression(checked_plan, **arguments)
    else:
        arguments |= {"accept_smaller_crowd": accept_smaller_crowd, "received": received}
        arguments["margins"] = incrowd.load_margins(margins) if margins else None
        parts = all_parts(files)
        with working("fitting the model"), naming(*files):
            regression = incrowd.regress(checked_plan, parts, **arguments)
    saved(regression, outputs, checked_plan, language)
    with beside(*outputs):
        show.result(regression, json, verbose)
    show.receipts(received, releases_in(files))
    if not regression.estimable:
        raise typer.Exit(1)


def _read(
    plan: incrowd.Plan,
    on: list[str] | None,
    reference: list[str] | None,
    scores: str | None,
    predictor_scores: list[str] | None,
    merge: list[str] | None,
) -> dict[str, Any]:
    """Return the arguments of the library for the options of a model."""
    from incrowd.survey.merging import parsed_merges

    return {
        "on": _predictors(plan, on) if on else None,
        "reference": _of_questions(plan.survey.questions, "--reference", reference or []),
        "scores": None if scores is None else _numbers("--scores", scores),
        "predictor_scores": numbers_of_questions(
            plan.survey.questions, "--predictor-scores", predictor_scores or []
        ),
        "merge": parsed_merges(plan.survey.questions, merge or []),
    }


def _check_files(
    plan: Path,
    reports: list[Path],
    forecast: bool,
    outputs: list[Path],
    margins: Path | None,
    share: list[str],
) -> None:
    """Raise UsageError, before any work is done, for options that do not go together."""
    check_outputs(outputs, plan, *reports, *([margins] if margins else []))
    if forecast and margins:
        raise UsageError.of("--margins", "cli.margins-of-forecast", path=str(margins))
    if share and not forecast:
        raise UsageError.of("--share", "cli.share-without-forecast", value=share[0])
    check_reports(*reports)
    if reports and forecast:
        raise UsageError.of("REPORTS", "cli.forecast-and-reports", path=str(reports[0]))
    if not reports and not forecast:
        raise UsageError.of("REPORTS", "cli.forecast-or-reports")


def _predictors(plan: incrowd.Plan, on: list[str]) -> list[str]:
    """Return the predictors that --on names, split at commas that are not part of an answer."""
    from incrowd.survey.formulas import IS

    named = {f"{q.id}{IS}{answer}" for q in plan.survey.questions for answer in q.answers}
    parts = ([text] if text in named else text.split(TABLE_SEPARATOR) for text in on)
    return [part.strip() for part in chain.from_iterable(parts)]


def _of_questions(
    questions: Sequence[AnyQuestion], option: str, texts: list[str]
) -> dict[str, str]:
    """Parse texts QUESTION=TEXT into a table by question, whose id may contain = itself."""
    from incrowd.survey.formulas import IS

    by_question = {}
    for text in texts:
        ids = [q.id for q in questions if text.startswith(f"{q.id}{IS}")]
        if not ids:
            every = [question.id for question in questions]
            raise UsageError.of(option, "cli.of-no-question", value=text, ids=every)
        id = max(ids, key=len)
        by_question[id] = text[len(id) + 1 :]
    return by_question


def numbers_of_questions(
    questions: Sequence[AnyQuestion], option: str, texts: list[str]
) -> dict[str, list[float]]:
    """Parse texts QUESTION=1,2,5 into a table by question."""
    by_question = _of_questions(questions, option, texts)
    return {id: _numbers(option, values) for id, values in by_question.items()}


def _numbers(option: str, text: str) -> list[float]:
    """Parse a text such as 0,1,2."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError.of(option, "cli.not-numbers", value=text) from None
