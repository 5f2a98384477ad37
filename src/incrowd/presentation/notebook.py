"""What a notebook shows of surveys, plans and results: what their pages show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from html import escape

import pyarrow as pa

from incrowd import views
from incrowd.estimation.results import Estimates
from incrowd.estimation.two_way import TwoWay
from incrowd.plans import Plan
from incrowd.presentation import comparisons
from incrowd.presentation.card_text import answers
from incrowd.presentation.data import as_table
from incrowd.presentation.guarantees import (
    guarantee_heading,
    guarantee_sentence,
    guarantee_symbols,
    warnings,
)
from incrowd.presentation.messages import message_texts
from incrowd.presentation.shell import rendered
from incrowd.presentation.simulated import marked_table, simulation_warning
from incrowd.survey import Survey

FRAME = "width:100%;height:40em;border:0"


@views.as_html.register
def survey_html(survey: Survey) -> str:
    """The questions of a survey, the crowd, and what it wants."""
    privacy = survey.privacy
    delta = f", delta {privacy.delta:g}" if privacy.delta else ""
    promise = f"epsilon {privacy.epsilon:g}{delta}, analysis {privacy.analysis}"
    facts = {
        "Crowd": [f"{survey.crowd:,} people, {survey.colluding:,} of whom may collude"],
        "Wanted guarantee": [promise],
        "Questions": [f"{question.id}: {answers(question)}" for question in survey.questions],
        "Wanted tables": [" × ".join(ids) for ids in survey.wanted],
    }
    return _heading(survey.name) + _list(facts.items())


@views.as_html.register
def plan_html(plan: Plan) -> str:
    """The guarantee of a plan and its noise."""
    promise = plan.guarantee
    said = (guarantee_heading, guarantee_sentence, guarantee_symbols)
    facts = {
        "Guarantee": [*(words(promise) for words in said), *warnings(promise)],
        "Crowd": [f"{plan.survey.crowd:,} people, {plan.survey.colluding:,} of whom may collude"],
        "Noise": message_texts(plan),
        "Plan, SHA-256": [plan.digest],
    }
    return _heading(plan.survey.name) + _list(facts.items())


@views.as_html.register
def estimates_html(estimates: Estimates) -> str:
    """The page of estimates, in a frame: its style stays its own."""
    from incrowd.presentation.page import page  # drawing is slow to import

    return f'<iframe srcdoc="{escape(page(estimates))}" style="{FRAME}"></iframe>'


@views.as_arrow.register
def estimates_table(estimates: Estimates) -> pa.Table:
    """The table that .csv and .parquet hold."""
    return as_table(estimates)


@views.as_html.register
def two_way_html(found: TwoWay) -> str:
    """What the terminal shows of two questions."""
    warned = [] if found.seed is None else [simulation_warning(found.seed)]
    test = comparisons.independence_words(found.independence)
    said = [*warned, guarantee_sentence(found.guarantee), test]
    rows = list(map(comparisons.row, found.figures))
    return (
        _heading(comparisons.title(found.questions))
        + rendered("paragraphs.html", texts=said)
        + rendered("figures.html", headings=comparisons.HEADINGS, rows=rows)
        + rendered("paragraphs.html", texts=comparisons.notes(found.figures))
    )


@views.as_arrow.register
def two_way_table(found: TwoWay) -> pa.Table:
    """A row for each figure: its kind, and the fields of `Comparison`."""
    rows = [{"kind": kind, **asdict(figure)} for kind, figure in found.kinds()]
    return marked_table(pa.Table.from_pylist(rows), found.seed)


def _heading(title: str) -> str:
    return f"<h3>{escape(title)}</h3>\n"


def _list(facts: Iterable[tuple[str, Iterable[str]]]) -> str:
    rows = (
        f"<dt>{escape(name)}</dt>{''.join(f'<dd>{escape(line)}</dd>' for line in lines)}"
        for name, lines in facts
    )
    return f"<dl>{''.join(rows)}</dl>\n"
