"""Surveys, plans and results in notebooks: pages in frames, with the style of pages."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from incrowd import views
from incrowd.accountant.composition import PrivacyCurve
from incrowd.estimation.compare import TwoWay
from incrowd.estimation.correlate import Correlations
from incrowd.estimation.regression.results import Regression
from incrowd.estimation.results import Estimates
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.words import WordEstimates
from incrowd.plans import Plan
from incrowd.presentation import comparisons, correlations, regression_page, regressions, sentences
from incrowd.presentation.data import as_table
from incrowd.presentation.plan_text import message_texts, wording
from incrowd.presentation.shell import rendered
from incrowd.presentation.shown import word_rows
from incrowd.presentation.table_view import table_view, words_view
from incrowd.presentation.view import view_page
from incrowd.survey import AnyQuestion, Survey

LOW, HIGH = "28em", "40em"  # of the frame


def _framed(page: str, height: str) -> str:
    """A page in a frame: the style of neither reaches the other."""
    return rendered("frame.html", page=page, height=height)


@views.as_html.register
def survey_html(survey: Survey) -> str:
    """The questions of a survey, its crowd, and the guarantee and tables it requests."""
    privacy = survey.privacy
    delta = f", delta {privacy.delta:g}" if privacy.delta else ""
    wanted = list(map(str, survey.regressions))
    facts = {
        "Crowd": [_crowd(survey)],
        "Wanted guarantee": [f"epsilon {privacy.epsilon:g}{delta}, analysis {privacy.analysis}"],
        "Questions": [_question(survey, question) for question in survey.questions],
        "Wanted tables": [" × ".join(ids) for ids in survey.wanted],
        **({"Wanted regressions": wanted} if wanted else {}),
    }
    return _framed(rendered("facts.html", title=survey.name, facts=facts), LOW)


def _question(survey: Survey, question: AnyQuestion) -> str:
    words = wording(survey, question.id)
    return f"{question.id}: {words}{' – ' if words else ''}{survey.answers_of(question.id)}"


@views.as_html.register
def plan_html(plan: Plan) -> str:
    """The guarantee of a plan and its noise."""
    promise = plan.guarantee
    facts = {
        "Guarantee": [
            sentences.guarantee_heading(promise),
            sentences.guarantee_sentence(promise),
            sentences.guarantee_symbols(promise),
            *(f"Warning: {text}." for text in sentences.warnings(promise)),
        ],
        "Crowd": [_crowd(plan.survey)],
        "Noise": message_texts(plan),
        "Plan, SHA-256": [plan.digest],
    }
    return _framed(rendered("facts.html", title=plan.survey.name, facts=facts), LOW)


def _crowd(survey: Survey) -> str:
    each = " in each released stratum" if survey.open else ""
    return f"{survey.crowd:,} people{each}, {survey.colluding:,} of whom may collude"


@views.as_html.register
def estimates_html(estimates: Estimates) -> str:
    """The page of estimates."""
    from incrowd.presentation.page import page  # drawing is slow to import

    return _framed(page(estimates), HIGH)


@views.as_html.register
def table_html(table: TableEstimate) -> str:
    """Each cell in percent, with its error and interval."""
    return _framed(view_page(table_view(table)), LOW)


@views.as_html.register
def words_html(words: WordEstimates) -> str:
    """The words that are present."""
    return _framed(view_page(words_view(words)), LOW)


@views.as_arrow.register
def words_table(words: WordEstimates) -> pa.Table:
    """A row for each candidate: the fields of `incrowd.presentation.shown.WordRow`."""
    return pa.Table.from_pylist([row._asdict() for row in word_rows(words)])


@views.as_chart.register
def table_chart(table: TableEstimate) -> Any:
    """A point and an interval for each cell."""
    from incrowd.presentation import plots  # drawing is slow to import

    return plots.of_table(table)


@views.as_chart.register
def curve_chart(curve: PrivacyCurve) -> Any:
    """delta against epsilon."""
    from incrowd.presentation import plots  # drawing is slow to import

    return plots.of_curve(curve)


views.as_arrow.register(Estimates, as_table)  # the table that .csv and .parquet hold


@views.as_html.register
def two_way_html(result: TwoWay) -> str:
    """The view of two questions."""
    return _framed(view_page(comparisons.view(result)), LOW)


@views.as_html.register
def correlations_html(result: Correlations) -> str:
    """The view of correlations."""
    return _framed(view_page(correlations.view(result)), LOW)


@views.as_arrow.register
def two_way_table(result: TwoWay) -> pa.Table:
    """A row for each figure: its kind, and the fields of `Comparison`."""
    return comparisons.comparison_table(result.kinds(), result.seed)


@views.as_html.register
def regression_html(result: Regression) -> str:
    """The page of the regression: the forest plot and the numbers."""
    return _framed(regression_page.page(result), HIGH)


views.as_arrow.register(Regression, regressions.regression_table)
views.as_arrow.register(Correlations, correlations.correlation_table)
