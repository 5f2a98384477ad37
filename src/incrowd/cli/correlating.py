"""The command `correlate`."""

from __future__ import annotations

from typing import Annotated

import typer

import incrowd
from incrowd.cli import show
from incrowd.cli.completion import question_is, questions_joined
from incrowd.cli.console import all_parts, working
from incrowd.cli.naming import naming
from incrowd.cli.options import (
    AcceptSmaller,
    AsJson,
    MergeAnswers,
    NoiseOnly,
    PlanFile,
    ReportsFiles,
    certified,
    check_reports,
)
from incrowd.cli.regressing import scores_of_questions
from incrowd.collection.collector.receipt import receipts_of, releases_in
from incrowd.survey.question import TABLE_SEPARATOR

Among = Annotated[
    str | None,
    typer.Option(
        help="Questions, as a,b,c; by default all yes/no and number questions.",
        autocompletion=questions_joined(TABLE_SEPARATOR),
    ),
]
Scores = Annotated[
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
    scores: Scores = None,
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
    show.correlations(found, json)
    show.receipts(received, releases_in(reports))
