"""The command `regress`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

import incrowd
from incrowd.cli.completion import question, question_is, questions_joined
from incrowd.cli.console import all_parts, say, working
from incrowd.cli.naming import naming
from incrowd.cli.options import (
    AcceptSmaller,
    AsJson,
    Margins,
    MergeAnswers,
    NoiseOnly,
    Output,
    PlanFile,
    ReportsFiles,
    beside,
    certified,
    check_reports,
    choice,
    keep,
)
from incrowd.cli.words import (
    BETWEEN,
    FAMILIES,
    PENALTIES,
    REGRESSION_METHODS,
    TABLE_SEPARATOR,
    Family,
    Penalty,
    RegressionMethod,
)
from incrowd.errors import MISSING, UsageError

Outcome = Annotated[
    str | None,
    typer.Option(
        help="What is explained: a question, or QUESTION=ANSWER; by default as the survey wants.",
        autocompletion=question,
    ),
]
On = Annotated[
    list[str] | None,
    typer.Option(
        help="Predictors, as a,b,c; a=yes for one answer; score(a) for one slope over all; a:b for "
        "an interaction.",
        autocompletion=questions_joined(BETWEEN),
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
PredictorScores = Annotated[
    list[str] | None,
    typer.Option(
        help="Score of each answer to a predictor score(QUESTION), as QUESTION=1,2,5; may be "
        "repeated.",
        autocompletion=question_is,
    ),
]
Penalized = Annotated[
    Penalty | None,
    choice("--penalty", PENALTIES, "firth: penalized likelihood, where groups are separated."),
]
By = Annotated[
    RegressionMethod | None,
    choice(
        "--method", REGRESSION_METHODS, "table, pairs or likelihood; by default what is possible."
    ),
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
    outcome: Outcome = None,
    on: On = None,
    reference: References = None,
    family: Chosen = None,
    scores: Scores = None,
    predictor_scores: PredictorScores = None,
    merge: MergeAnswers = None,
    penalty: Penalized = None,
    method: By = None,
    margins: Margins = None,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    forecast: Forecast = False,
    share: Shares = None,
    output: Output = None,
    json: AsJson = False,
) -> None:
    """Explain one answer by others: logistic and linear regression.

    The coefficients have no bias from the noise. The default is the regression of the survey.

    \b
    Example:
      incrowd regress plan.json reports.parquet --outcome smoker --on sex,age --margins known.toml
      incrowd regress plan.json --forecast --outcome smoker --on sex,age

    The ending of -o says what is written: .html (with a forest plot), .csv or .json.
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in

    _check_files(plan, files := reports or [], forecast, output, margins, share or [])
    made = certified(plan)
    asked = _read(made, on, reference, scores, predictor_scores, merge)
    asked |= {"outcome": outcome, "family": family, "penalty": penalty}
    asked |= {"method": method, "noise_only": noise_only}
    received = receipts_of(made, files)
    if forecast:
        asked["shares"] = _shares(made, share or [])
        with working("forecasting the errors"):
            found = incrowd.forecast_regression(made, **asked)
    else:
        asked |= {"accept_smaller_crowd": accept_smaller_crowd, "received": received}
        asked["margins"] = incrowd.load_margins(margins) if margins else None
        loaded = all_parts(files)
        with working("fitting the model"), naming(*files):
            found = incrowd.regress(made, loaded, **asked)
    _give(found, output, json)
    show.receipts(received, releases_in(files))
    _end(found)


def _read(
    made: incrowd.Plan,
    on: list[str] | None,
    reference: list[str] | None,
    scores: str | None,
    predictor_scores: list[str] | None,
    merge: list[str] | None,
) -> dict[str, Any]:
    """What options say of a model, as the library takes it."""
    from incrowd.survey.merging import parsed_merges

    return {
        "on": _predictors(made, on) if on else None,
        "reference": _of_questions(made, "--reference", reference or []),
        "scores": None if scores is None else _numbers("--scores", scores),
        "predictor_scores": scores_of_questions(made, "--predictor-scores", predictor_scores or []),
        "merge": parsed_merges(made.survey.questions, merge or []),
    }


def _end(found: incrowd.Regression) -> None:
    """Without coefficients, with exit code 1."""
    if not found.estimable:
        raise typer.Exit(1)


def _give(found: incrowd.Regression, output: Path | None, json: bool) -> None:
    """Write what was found, if wanted, and show it."""
    from incrowd.presentation import regression_page

    if output:
        wrote = regression_page.save_regression(found, output)
        say(f"wrote {output}" if wrote else f"{output} is not written: there are no coefficients")
    with beside(output):
        _show(found, json)


def _check_files(
    plan: Path,
    reports: list[Path],
    forecast: bool,
    output: Path | None,
    margins: Path | None,
    share: list[str],
) -> None:
    """Raises UsageError before any work is done."""
    from incrowd.presentation import regression_page

    if output:
        regression_page.check_regression_ending(output)
        keep(output, plan, *reports, *([margins] if margins else []))
    if forecast and margins:
        allowed = "a forecast has no people to weight; leave it out, or leave --forecast out"
        raise UsageError.of("--margins", str(margins), allowed)
    if share and not forecast:
        allowed = "it is what to expect of answers before there are any; use it with --forecast"
        raise UsageError.of("--share", share[0], allowed)
    check_reports(*reports)
    if bool(reports) == forecast:
        allowed = "leave them out, or --forecast" if reports else "name them, or use --forecast"
        raise UsageError.of("REPORTS", str(reports[0]) if reports else MISSING, allowed)


def _predictors(made: incrowd.Plan, on: list[str]) -> list[str]:
    """What --on names: a comma separates, unless it is part of an answer."""
    from incrowd.survey.formulas import IS

    named = {f"{q.id}{IS}{answer}" for q in made.survey.questions for answer in q.answers}
    parts = ([text] if text in named else text.split(TABLE_SEPARATOR) for text in on)
    return [part.strip() for part in chain.from_iterable(parts)]


def _of_questions(made: incrowd.Plan, option: str, texts: list[str]) -> dict[str, str]:
    """QUESTION=TEXT by question, which may have that sign in its name."""
    from incrowd.survey.formulas import IS

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


def scores_of_questions(
    made: incrowd.Plan, option: str, texts: list[str]
) -> dict[str, list[float]]:
    """QUESTION=1,2,5 by question."""
    said = _of_questions(made, option, texts)
    return {id: _numbers(option, values) for id, values in said.items()}


def _numbers(option: str, text: str) -> list[float]:
    """0,1,2 into numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError.of(option, text, "should be numbers, as in 0,1,2") from None


def _show(found: incrowd.Regression, json: bool) -> None:
    """A table, or JSON."""
    from incrowd.cli import show
    from incrowd.presentation import regressions

    show.result(regressions.view(found), json)


# The command `correlate`.


Among = Annotated[
    str | None,
    typer.Option(
        help="Questions, as a,b,c; by default all yes/no and number questions.",
        autocompletion=questions_joined(TABLE_SEPARATOR),
    ),
]
QuestionScores = Annotated[
    list[str] | None,
    typer.Option(
        help="The number of each answer, as QUESTION=1,2,5; may be repeated.",
        autocompletion=question_is,
    ),
]


def correlate(
    plan: PlanFile,
    reports: ReportsFiles,
    among: Among = None,
    scores: QuestionScores = None,
    merge: MergeAnswers = None,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    json: AsJson = False,
) -> None:
    """Correlations of all pairs, with errors. Of two yes/no questions it is phi.

    \b
    Example:
      incrowd correlate plan.json reports.parquet
      incrowd correlate plan.json reports.parquet --among smoker,visits,health --scores health=1,2,3
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in
    from incrowd.presentation import correlations

    check_reports(*reports)
    made = certified(plan, merge)
    received, parts = receipts_of(made, reports), all_parts(reports)
    with working("correlating"), naming(*reports):
        found = incrowd.correlate(
            made,
            parts,
            [id.strip() for id in among.split(TABLE_SEPARATOR)] if among else None,
            scores=scores_of_questions(made, "--scores", scores or []),
            noise_only=noise_only,
            accept_smaller_crowd=accept_smaller_crowd,
            received=received,
        )
    show.result(correlations.view(found), json)
    show.receipts(received, releases_in(reports))
