"""What a notebook shows of a survey, a plan and estimates: what the pages show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import pyarrow as pa

from incrowd import views
from incrowd.estimation.results import Estimates
from incrowd.plans import Plan
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
    return heading(survey.name) + _list(facts.items())


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
    return heading(plan.survey.name) + _list(facts.items())


@views.as_html.register
def estimates_html(estimates: Estimates) -> str:
    """The page of estimates, in a frame: its style stays its own."""
    from incrowd.presentation.page import page  # drawing is slow to import

    return f'<iframe srcdoc="{escape(page(estimates))}" style="{FRAME}"></iframe>'


@views.as_arrow.register
def estimates_table(estimates: Estimates) -> pa.Table:
    """The table that .csv and .parquet hold."""
    return as_table(estimates)


def heading(title: str) -> str:
    """A title as HTML."""
    return f"<h3>{escape(title)}</h3>\n"


def paragraphs(texts: Iterable[str]) -> str:
    """Texts as HTML, a paragraph each."""
    return rendered("paragraphs.html", texts=list(texts))


def figures(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML."""
    return rendered("figures.html", headings=headings, rows=list(rows))


def _list(facts: Iterable[tuple[str, Iterable[str]]]) -> str:
    rows = (
        f"<dt>{escape(name)}</dt>{''.join(f'<dd>{escape(line)}</dd>' for line in lines)}"
        for name, lines in facts
    )
    return f"<dl>{''.join(rows)}</dl>\n"
