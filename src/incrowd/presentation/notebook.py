"""What a notebook shows of a survey, a plan and estimates: what the pages show."""

from __future__ import annotations

from incrowd import views
from incrowd.estimation.results import Estimates
from incrowd.plans import Plan
from incrowd.presentation import guarantees
from incrowd.presentation.data import as_table
from incrowd.presentation.plan_text import answers, message_texts
from incrowd.presentation.shell import rendered
from incrowd.survey import Survey


@views.as_html.register
def survey_html(survey: Survey) -> str:
    """The questions of a survey, the crowd, and what it wants."""
    privacy = survey.privacy
    delta = f", delta {privacy.delta:g}" if privacy.delta else ""
    facts = {
        "Crowd": [_crowd(survey)],
        "Wanted guarantee": [f"epsilon {privacy.epsilon:g}{delta}, analysis {privacy.analysis}"],
        "Questions": [f"{question.id}: {answers(question)}" for question in survey.questions],
        "Wanted tables": [" × ".join(ids) for ids in survey.wanted],
    }
    return rendered("facts.html", title=survey.name, facts=facts)


@views.as_html.register
def plan_html(plan: Plan) -> str:
    """The guarantee of a plan and its noise."""
    promise = plan.guarantee
    facts = {
        "Guarantee": [
            guarantees.guarantee_heading(promise),
            guarantees.guarantee_sentence(promise),
            guarantees.guarantee_symbols(promise),
            *guarantees.warnings(promise),
        ],
        "Crowd": [_crowd(plan.survey)],
        "Noise": message_texts(plan),
        "Plan, SHA-256": [plan.digest],
    }
    return rendered("facts.html", title=plan.survey.name, facts=facts)


def _crowd(survey: Survey) -> str:
    return f"{survey.crowd:,} people, {survey.colluding:,} of whom may collude"


@views.as_html.register
def estimates_html(estimates: Estimates) -> str:
    """The page of estimates, in a frame: its style stays its own."""
    from incrowd.presentation.page import page  # drawing is slow to import

    return rendered("frame.html", page=page(estimates))


views.as_arrow.register(as_table)  # the table that .csv and .parquet hold
